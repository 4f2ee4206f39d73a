"""What a comparison says in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from compared import finished_run, items_of, results_for, some_votes
from votewise.records import results_of
from votewise.report import compare_results


def said(numbers: dict[str, list[float]], *, no_model: float | None = None, **changes: Any) -> str:
    """The summary of methods with these soft NLLs on seeds 0, 1, ...; and of "no model", by way of the same votes."""
    votes = some_votes()
    runs = [
        finished_run(votes, method, seed, numbers={"soft_nll": loss})
        for method, losses in numbers.items()
        for seed, loss in enumerate(losses)
        if loss == loss
    ]
    items = items_of(votes) if no_model is not None else {}
    (sentence,) = compare_results(results_of(runs), items, **changes).data["summary"]
    return str(sentence)


def test_the_verdict_comes_first() -> None:
    assert said({"soft": [1.1] * 5, "multipass": [1.08] * 5, "sls": [1.2] * 5}) == (
        "Soft labels, multipass and SLS reach a soft NLL of 1.080 to 1.200 (lower is better). "
        "Multipass is ahead of soft labels on all 5 seeds, by 0.020. "
        "5 seeds confirm multipass (p < 0.0001) ahead of soft labels; SLS (p < 0.0001) behind soft labels."
    )


def test_methods_that_do_worse_than_no_model_are_named_first() -> None:
    text = said({"soft": [0.9] * 3, "majority": [2.368] * 3, "sls": [0.8, 0.9, 0.95]}, no_model=1.0)
    assert text.startswith("Majority vote does worse than no model at all (2.368 against 1.")
    assert "; soft NLL, lower is better). Soft labels and SLS reach 0.883 to 0.900. SLS is ahead of" in text


def test_several_methods_do_worse() -> None:
    text = said({"soft": [0.9], "majority": [2.368], "sls": [1.9]}, no_model=1.0)
    assert text.startswith("SLS and majority vote do worse than no model at all (1.900 and 2.368 against 1.")


def test_nothing_beats_no_model() -> None:
    text = said({"soft": [2.5], "majority": [2.368]}, no_model=1.0)
    assert text.startswith("No method beats the average vote shares, which need no model: these score 1.")
    assert ", and majority vote, the best method, 2.368 (soft NLL, lower is better). " in text


def test_the_level_without_a_model_stands_beside_the_scores() -> None:
    assert " without a model)." in said({"soft": [0.9], "sls": [0.8]}, no_model=1.0)


def test_one_method_alone() -> None:
    assert said({"soft": [0.9, 0.9]}) == "Soft labels reach a soft NLL of 0.900 (lower is better)."
    assert said({"sls": [0.9]}) == "SLS reaches a soft NLL of 0.900 (lower is better)."


@pytest.mark.parametrize(
    ("sls", "sentence"),
    [
        ([1.0, 0.8, 0.9], "SLS is ahead of soft labels on 2 of 3 seeds, by 0.100 on average."),
        (
            [0.9],
            "SLS is ahead of soft labels on 1 of 1 seed, by 0.100. One seed is too few to confirm any difference; it takes 3.",
        ),
        ([1.1, 1.1, 0.9], "SLS is 0.033 behind soft labels on average (ahead on 1 of 3 seeds)."),
        ([1.2, 1.2, 1.2], "SLS is 0.200 behind soft labels (ahead on 0 of 3 seeds)."),
        ([1.0001, 0.9998, 1.0], "SLS is level with soft labels (lower on 1 of 3 seeds)."),
    ],
)
def test_the_best_beside_the_baseline(sls: list[float], sentence: str) -> None:
    assert sentence in said({"soft": [1.0, 1.0, 1.0], "sls": sls})


def test_a_baseline_that_leads() -> None:
    text = said({"soft": [1.0, 1.0], "sls": [1.1, 1.2], "majority": [2.0, 2.0]})
    assert "No method is ahead of soft labels: the closest, SLS, is 0.150 behind (ahead on 0 of 2 seeds)." in text


def test_methods_are_ranked_by_the_seeds_that_both_have() -> None:
    """By means alone SLS would be ahead."""
    assert "SLS is 0.100 behind soft labels (ahead on 0 of 1 seed). One seed is too few" in said(
        {"soft": [0.5, 0.9, 0.9], "sls": [0.6]}
    )


def test_methods_without_a_seed_in_common() -> None:
    text = said({"soft": [0.5], "sls": [float("nan"), 0.6]})
    assert text.endswith("No method shares a seed with soft labels, so none can be compared with it.")


def told(text: str, start: str) -> str:
    """The sentence that begins so."""
    (sentence,) = (one for one in text.split(". ") if one.startswith(start))
    return sentence.removesuffix(".")


def t_test(gaps: Any, bound: float, alternative: str) -> float:
    return float(stats.ttest_1samp(gaps, bound, alternative=alternative).pvalue)


def test_confirmed_differences_are_named_with_their_direction() -> None:
    sls, majority = [0.9 - seed / 100 for seed in range(7)], [1.5 + seed / 10 for seed in range(7)]
    text = said({"soft": [1.0] * 7, "sls": sls, "majority": majority})
    raw = [t_test(np.array(losses) - 1.0, 0.0, "two-sided") for losses in (sls, majority)]
    assert (multipletests(raw, method="holm")[1] < 1e-4).all()
    assert told(text, "7 seeds confirm") == (
        "7 seeds confirm SLS (p < 0.0001) ahead of soft labels; majority vote (p < 0.0001) behind soft labels"
    )


def test_p_is_adjusted_over_the_methods() -> None:
    numbers = {"sls": [0.9, 0.97, 0.95, 0.99, 0.96], "multipass": [0.93, 0.99, 0.94, 0.97, 0.95]}
    raw = [t_test(np.array(losses) - 1.0, 0.0, "two-sided") for losses in numbers.values()]
    text = said({"soft": [1.0] * 5, **numbers})
    for name, p in zip(("SLS", "multipass"), multipletests(raw, method="holm")[1], strict=True):
        assert f"{name} (p = {p:.4f})" in text


def test_level_takes_two_one_sided_tests_within_the_margin() -> None:
    """Level although the paired test finds no difference, and only if the differences are small for certain."""
    gaps = [0.001, -0.002, 0.003, -0.001, 0.002, -0.003]
    assert max(t_test(gaps, -0.01, "greater"), t_test(gaps, 0.01, "less")) < 0.05 < t_test(gaps, 0.0, "two-sided")
    text = said({"soft": [1.0] * 6, "sls": [1.0 + gap for gap in gaps]})
    assert text.endswith("6 seeds confirm SLS level with soft labels (within 0.01).")
    wide = [10 * gap for gap in gaps]
    assert t_test(wide, 0.0, "two-sided") > 0.05
    assert "whether" in said({"soft": [1.0] * 6, "sls": [1.0 + gap for gap in wide]}).lower()


def test_what_is_undecided_says_what_would_have_been_confirmed() -> None:
    losses = [0.9, 1.1, 0.95, 1.02, 0.97, 1.01, 0.99]
    text = said({"soft": [1.0] * 7, "sls": losses})
    reach = stats.t.ppf(0.975, 6) * np.std(losses, ddof=1) / np.sqrt(7)
    assert text.endswith(
        f"Whether SLS differs from soft labels is undecided: it would have taken a difference of {reach:.3f}."
    )
    # Such a difference is what a test confirms.
    shifted = np.array(losses) - np.mean(losses) - 1.001 * reach
    assert t_test(shifted, 0.0, "two-sided") < 0.05 < t_test(shifted * 0.999 + 0.01 * reach, 0.0, "two-sided")


def test_seeds_that_share_training_items_are_allowed_for() -> None:
    """Nadeau and Bengio: with 40 % scored, the variance of the mean has 2/3 beside 1/n."""
    gaps = np.array([-0.02, -0.05, -0.03, -0.06, -0.01])
    t = gaps.mean() / gaps.std(ddof=1)
    assert 2 * stats.t.sf(-t * np.sqrt(5), 4) < 0.05 < 2 * stats.t.sf(-t / np.sqrt(1 / 5 + 0.4 / 0.6), 4)
    text = said({"soft": [1.0] * 5, "sls": (1.0 + gaps).tolist()})
    assert text.endswith("Allowing for the training items that seeds share, SLS would be undecided.")


def test_two_seeds_decide_nothing() -> None:
    text = said({"soft": [1.0, 1.0], "sls": [0.9, 0.8], "majority": [2.0, 2.1]})
    assert text.endswith("2 seeds are too few to confirm any difference; it takes 3.")


def test_many_methods_are_counted() -> None:
    losses = {name: [1.0 + place / 10] for place, name in enumerate("abcdefgh")}
    assert said(losses).startswith("8 methods reach a soft NLL of 1.000 to 1.700 (lower is better).")


def test_several_conditions_are_told_apart() -> None:
    votes = some_votes()
    few = [finished_run(votes, "soft", 0, votes=number) for number in (None, 3)]
    first, second = compare_results(results_of(few), {}).data["summary"]
    assert (first[:15], second[:22]) == ("With all votes,", "With 3 votes per item,")
    other = [*few, replace(few[0], config={**few[0].config, "dataset": "toys"})]
    summary = compare_results(results_of(other), {}).data["summary"]
    assert summary[2].startswith("toys, all votes: Soft labels reach")


def test_the_summary_of_trained_like_models() -> None:
    votes = some_votes()
    results = results_for(votes, {"soft": 0.9, "sls": 0.0, "majority": 0.1})
    (text,) = compare_results(results, items_of(votes)).data["summary"]
    assert text.startswith("SLS and majority vote do worse than no model at all (")
