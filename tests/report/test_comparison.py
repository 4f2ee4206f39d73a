"""Methods compared from results: every number again by NumPy and SciPy, and what the page says where something lacks."""

from __future__ import annotations

import math
from base64 import b64encode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from compared import CLASSES, DATA, finished_run, items_of, predictions, results_for, some_votes
from votewise import InputError, Votes, VotewiseError
from votewise.records import RunRecord, results_of
from votewise.report import Document, Figure, Items, Table, Text, compare_results, to_html, to_json, to_terminal

WEIGHTS = {"soft": 0.6, "sls": 0.7, "majority": 0.3}


@pytest.fixture(scope="module")
def votes() -> Votes:
    return some_votes()


@pytest.fixture(scope="module")
def document(votes: Votes) -> Document:
    return compare_results(results_for(votes, WEIGHTS), items_of(votes), notes=("a note",))


def blocks(document: Document, kind: type) -> list[Any]:
    return [block for block in document.blocks if isinstance(block, kind)]


def sentences(document: Document, role: str) -> str:
    return " ".join(sentence for text in blocks(document, Text) if text.role == role for sentence in text.sentences)


def soft_nll(votes: Votes, method: str, seed: int) -> float:
    rows, probs = predictions(votes, method, seed, WEIGHTS[method])
    return float(-(votes.probs[rows] * np.log(probs)).sum(axis=1).mean())


# --- numbers


def test_scores_are_means_over_seeds(document: Document, votes: Votes) -> None:
    (comparison,) = to_json(document)["comparisons"]
    assert [row["method"] for row in comparison["rows"]] == ["soft", "sls", "majority"]
    for row in comparison["rows"]:
        losses = [soft_nll(votes, row["method"], seed) for seed in range(4)]
        assert (row["seeds"], row["per_seed"]) == ([0, 1, 2, 3], pytest.approx(losses))
        expected = {"mean": np.mean(losses), "sd": np.std(losses, ddof=1), "n": 4}
        assert row["metrics"]["soft NLL"] == pytest.approx(expected)
        hits = []
        for seed in range(4):
            rows, probs = predictions(votes, row["method"], seed, WEIGHTS[row["method"]])
            hits.append((probs.argmax(axis=1) == votes.probs[rows].argmax(axis=1)).mean())
        assert row["metrics"]["accuracy"]["mean"] == pytest.approx(np.mean(hits))


def test_methods_are_tested_against_the_baseline_seed_by_seed(document: Document, votes: Votes) -> None:
    baseline, *others = to_json(document)["comparisons"][0]["rows"]
    assert [baseline[name] for name in ("pairs", "difference", "wins", "p_value", "p_holm")] == [0, *[None] * 4]
    differences = {
        row["method"]: np.array([soft_nll(votes, row["method"], seed) - soft_nll(votes, "soft", seed) for seed in range(4)])
        for row in others
    }  # fmt: skip
    p_values = [stats.wilcoxon(gaps, method="exact").pvalue for gaps in differences.values()]
    smaller, larger = np.sort(p_values)
    holm = {smaller: min(1, 2 * smaller), larger: min(1, max(2 * smaller, larger))}
    for row, p_value in zip(others, p_values, strict=True):
        gaps = differences[row["method"]]
        assert (row["pairs"], row["wins"]) == (4, int((gaps < 0).sum()))
        assert row["difference"] == pytest.approx(gaps.mean())
        assert (row["p_value"], row["p_holm"]) == (pytest.approx(p_value), pytest.approx(holm[p_value]))


def no_model(votes: Votes, seed: int) -> float:
    rest, held_out = votes.split(0.4, seed=seed)
    return float(-(votes.probs[held_out] * np.log(votes.probs[rest].mean(axis=0))).sum(axis=1).mean())


def test_predicting_without_a_model_is_a_row_of_the_table(document: Document, votes: Votes) -> None:
    losses = [no_model(votes, seed) for seed in range(4)]
    told = to_json(document)["comparisons"][0]["no_model"]
    assert told == pytest.approx({"mean": np.mean(losses), "sd": np.std(losses, ddof=1), "n": 4})
    (table,) = blocks(document, Table)
    gap = np.mean([losses[seed] - soft_nll(votes, "soft", seed) for seed in range(4)])
    row = table.rows[-1]
    assert row[:2] == ("no model", f"{np.mean(losses):.3f} ± {np.std(losses, ddof=1):.3f}")
    assert row[table.header.index("NLL vs\nsoft")] == f"{gap:+.3f}"


def test_mean_shares_that_rule_out_what_people_chose_are_no_measure() -> None:
    votes = Votes.from_counts([[3, 0]] * 9 + [[0, 3]], classes=["a", "b"])
    run = replace(
        finished_run(some_votes(), "soft", 0),
        arrays={"held_out": np.array([8, 9]), "last_logits": np.zeros((2, 2))},
    )
    document = compare_results(results_of([run]), items_of(votes))
    assert to_json(document)["comparisons"][0]["no_model"] is None
    assert [row[0] for row in blocks(document, Table)[0].rows] == ["soft"]


def test_the_table_shows_the_same_numbers(document: Document) -> None:
    (table,), (comparison,) = blocks(document, Table), to_json(document)["comparisons"]
    names = (
        "soft NLL", "accuracy", "ECE (votes)", "ECE floor (votes)", "ECE", "ECE floor", "entropy correlation",
    )  # fmt: skip
    for cells, row in zip(table.rows, comparison["rows"], strict=False):
        shown = [f"{row['metrics'][name]['mean']:.3f} ± {row['metrics'][name]['sd']:.3f}" for name in names]
        assert list(row["metrics"]) == list(names)
        assert list(cells[:8]) == [row["method"], *shown]
    assert table.header[2:5] == ("accuracy\n(majority)", "ECE\n(votes)", "ECE floor\n(votes)")
    assert table.header[5] == "ECE\n(majority)"
    baseline, *others = (np.array(row["per_seed"]) for row in comparison["rows"])
    at = table.header.index("interval")
    gaps = [losses - baseline for losses in others]
    holm = multipletests([stats.ttest_1samp(gap, 0).pvalue for gap in gaps], method="holm")[1]
    for cells, row, gap, p in zip(table.rows[1:], comparison["rows"][1:], gaps, holm, strict=False):
        low, high = stats.ttest_1samp(gap, 0).confidence_interval(0.95)
        verdict = "undecided" if p > 0.05 else "ahead" if gap.mean() < 0 else "behind"
        assert cells[at:] == (f"{low:+.3f} to {high:+.3f}", f"{row['wins']}/4", verdict, f"{p:.4f}")
        assert row["decision"]["interval"] == pytest.approx([low, high])
        assert (row["decision"]["verdict"], row["decision"]["p_holm"]) == (verdict, pytest.approx(p))


def test_a_metric_that_no_run_has_is_left_out_of_the_table(votes: Votes) -> None:
    run = finished_run(votes, "soft", 0, numbers={"vote_ece_floor": math.nan})  # of shares instead of votes
    document = compare_results(results_of([run]), {})
    (table,) = blocks(document, Table)
    assert "ECE\n(votes)" in table.header
    assert "ECE floor\n(votes)" not in table.header
    told = to_json(document)["comparisons"][0]["rows"][0]["metrics"]["ECE floor (votes)"]
    assert told == {"mean": None, "sd": None, "n": 0}


def test_learning_curves_are_means_with_their_range(document: Document, votes: Votes) -> None:
    learning = blocks(document, Figure)[0].panels[0]
    assert [curve.name for curve in learning.curves] == ["soft", "sls", "majority"]
    last = [soft_nll(votes, "soft", seed) for seed in range(4)]
    curve = learning.curves[0]
    assert curve.x.tolist() == [1, 2, 3]
    assert curve.y == pytest.approx([3.5, 1.5, np.mean(last)])
    assert (curve.low[0], curve.high[0]) == (2.0, 5.0)
    assert curve.low[2] == pytest.approx(min(last))


def test_reliability_is_the_vote_share_by_confidence(document: Document, votes: Votes) -> None:
    reliability = blocks(document, Figure)[1].panels[0]
    assert [curve.name for curve in reliability.curves] == ["soft", "sls", "majority"]
    assert (reliability.x_label, reliability.y_label) == ("confidence", "share of votes, same class")
    for curve in reliability.curves:
        assert (curve.low <= curve.y).all()
        assert (curve.y <= curve.high).all()
        assert (np.diff(curve.x) > 0).all()
    # Oracle: of two runs together, the lower and the upper half of their items by confidence.
    both = [predictions(votes, "sls", seed, 0.7) for seed in range(2)]
    rows, probs = (np.concatenate(parts) for parts in zip(*both, strict=True))
    alone = compare_results(results_for(votes, {"sls": 0.7}, seeds=2), items_of(votes))
    (curve,) = blocks(alone, Figure)[1].panels[0].curves
    order = sorted(range(len(rows)), key=lambda row: probs[row].max())
    halves = order[: len(order) // 2], order[len(order) // 2 :]
    shares = votes.probs[rows][np.arange(len(rows)), probs.argmax(axis=1)]
    assert curve.x == pytest.approx([probs.max(axis=1)[half].mean() for half in halves])
    assert curve.y == pytest.approx([shares[half].mean() for half in halves])


def test_a_model_that_says_what_people_said_lies_on_the_line_although_it_misses_labels(votes: Votes) -> None:
    document = compare_results(results_for(votes, {"soft": 1 - 1e-9}), items_of(votes))
    (curve,) = blocks(document, Figure)[1].panels[0].curves
    assert curve.y == pytest.approx(curve.x, abs=1e-8)
    scores = to_json(document)["comparisons"][0]["rows"][0]["metrics"]
    assert scores["ECE (votes)"]["mean"] == pytest.approx(0, abs=1e-8)
    assert scores["ECE"]["mean"] > 0.2


def test_a_method_that_overfits_does_not_squeeze_the_others(votes: Votes) -> None:
    poor = replace(finished_run(votes, "majority", 0), curves={"soft_nll": np.array([2.0, 9.0, 30.0])})
    results = results_of([finished_run(votes, "soft", 0), poor])
    learning, *_ = blocks(compare_results(results, items_of(votes)), Figure)
    assert learning.panels[0].y_top == pytest.approx(2.0 * 1.08)


# --- what accuracy and ECE refer to


def test_true_labels_are_named_where_the_data_have_them(votes: Votes) -> None:
    labels = np.zeros(votes.n_items, dtype=np.int64)
    document = compare_results(results_for(votes, {"soft": 0.6}), items_of(votes, labels=labels))
    (table,) = blocks(document, Table)
    assert (table.header[2], table.header[5]) == ("accuracy\n(true label)", "ECE\n(true label)")
    assert to_json(document)["comparisons"][0]["against"] == "true label"


@pytest.mark.parametrize(("accuracy", "against"), [(0.5, "true label"), (None, "majority"), (math.nan, "majority")])
def test_without_the_data_the_two_accuracies_tell(votes: Votes, accuracy: float | None, against: str) -> None:
    numbers = {} if accuracy is None else {"accuracy": accuracy}
    document = compare_results(results_for(votes, {"soft": 0.6}, numbers=numbers), {})
    assert to_json(document)["comparisons"][0]["against"] == against


# --- items


def test_items_are_those_people_disagree_on_most_with_mean_predictions(document: Document, votes: Votes) -> None:
    (shown,) = blocks(document, Items)
    assert shown.classes == CLASSES
    assert len(shown.items) == 12
    scored = {seed: predictions(votes, "sls", seed, 0.7) for seed in range(4)}
    entropy = -np.where(votes.probs > 0, votes.probs * np.log(np.where(votes.probs > 0, votes.probs, 1)), 0).sum(axis=1)
    seen = np.unique(np.concatenate([rows for rows, _ in scored.values()]))
    ids = [f"item {row}" for row in seen[np.argsort(-entropy[seen].round(12), kind="stable")[:12]]]
    assert [item.id for item in shown.items] == ids
    for item in shown.items:
        row = int(item.id.removeprefix("item "))
        assert item.people == tuple(votes.probs[row])
        found = [probs[rows == row][0] for rows, probs in scored.values() if (rows == row).any()]
        assert item.models["sls"] == pytest.approx(np.mean(found, axis=0))
        assert list(item.models) == ["soft", "sls", "majority"]
        assert item.note == (f"mean of {len(found)} models of each method" if len(found) > 1 else "")


def test_items_are_shown_as_they_are(votes: Votes) -> None:
    results = results_for(votes, {"soft": 0.6}, seeds=1)
    texts = tuple(f"text of {name} " + "x" * 400 for name in votes.item_ids)
    item = blocks(compare_results(results, items_of(votes, texts=texts)), Items)[0].items[0]
    assert item.text == f"text of {item.id} " + "x" * (280 - len(f"text of {item.id} ")) + "…"
    paths = tuple(f"folder/{name}.png" for name in votes.item_ids)
    item = blocks(compare_results(results, items_of(votes, paths=paths)), Items)[0].items[0]
    assert item.path == f"folder/{item.id}.png"
    png, webp = b"\x89PNG\r\n\x1a\n..", b"RIFF....WEBPVP8 "
    for picture, kind in ((png, "png"), (webp, "webp")):
        shown = blocks(compare_results(results, items_of(votes, pictures=(picture,) * votes.n_items)), Items)[0]
        assert shown.items[0].picture == f"data:image/{kind};base64,{b64encode(picture).decode()}"


def test_both_texts_of_a_pair_are_shown(votes: Votes) -> None:
    pairs = tuple((f"first of {name} " + "x" * 400, "<second>") for name in votes.item_ids)
    document = compare_results(results_for(votes, {"soft": 0.6}, seeds=1), items_of(votes, texts=pairs))
    shown = blocks(document, Items)[0]
    item = shown.items[0]
    first = f"first of {item.id} "
    assert item.text == (first + "x" * (280 - len(first)) + "…", "<second>")
    assert shown.table().rows[0][0].split("\n")[:3] == [item.id, *item.text]
    page = to_html(document)
    assert f'<p class="caption">{item.text[0]}</p>\n<p class="caption">&lt;second&gt;</p>' in page


# --- which items were scored, and by how many models


@pytest.mark.parametrize(
    ("folds", "sentence", "scored"),
    [
        ([[0, 1], [2, 3]], "Every item was scored by 1 model per method that had not seen it.", (4, [1, 1])),
        ([[0, 1], [2, 3], [1, 2], [0, 3]], "Every item was scored by 2 models per method that had not seen it.", (4, [2, 2])),
        ([[0, 1], [2, 3], [1, 3]], "Every item was scored by 1 to 2 models per method that had not seen it.", (4, [1, 2])),
        ([[0, 1], [1, 2]], "3 of 4 items were scored, each by 1 to 2 models per method that had not seen it.", (3, [1, 2])),
    ],
)  # fmt: skip
def test_pages_say_how_many_models_scored_an_item(folds: list[list[int]], sentence: str, scored: Any) -> None:
    votes = Votes.from_counts([[3, 1], [1, 3], [2, 2], [2, 1]], classes=["a", "b"])
    runs = [
        replace(
            finished_run(some_votes(), "soft", seed),
            arrays={"held_out": np.array(rows), "last_logits": np.zeros((len(rows), 2))},
        )
        for seed, rows in enumerate(folds)
    ]
    document = compare_results(results_of(runs), items_of(votes))
    assert sentences(document, "note") == sentence
    told = to_json(document)["comparisons"][0]["scored"]
    assert (told["items"], told["models"]) == scored


# --- conditions


def titles(document: Document) -> dict[str, list[str]]:
    return {one["title"]: [row["method"] for row in one["rows"]] for one in document.data["comparisons"]}


def test_what_differs_in_more_than_method_and_seed_is_not_compared(votes: Votes) -> None:
    runs = [
        finished_run(votes, "sls", 0, votes=5),
        finished_run(votes, "soft", 0),
        finished_run(votes, "sls", 0, hold=5),
        finished_run(votes, "soft-smoothed", 0, options={"epsilon": 0.2}),
        finished_run(votes, "majority", 0, recipe={"epochs": 3, "mixup": 1.0}),
        finished_run(votes, "soft", 0, recipe={"epochs": 9, "mixup": 0.0}),
        finished_run(votes, "soft", 0, dataset="toys", data="d" * 64),
    ]
    assert titles(compare_results(results_of(runs), {})) == {
        "pets, all votes, data cccccccc, epochs 3": [
            "soft",
            "sls:hold=5",
            "majority, α 1",
            "soft-smoothed:epsilon=0.2",
        ],
        "pets, all votes, data cccccccc, epochs 9": ["soft"],
        "pets, 5 votes per item, data cccccccc, epochs 3": ["sls"],
        "toys, all votes, data dddddddd, epochs 3": ["soft"],
    }


def test_methods_stand_in_the_order_of_the_catalogue_after_the_baseline(votes: Votes) -> None:
    results = results_for(votes, {"my-own": 0.5, "majority": 0.3, "sls": 0.7, "soft": 0.6})
    assert titles(compare_results(results, {})) == {"pets, all votes": ["soft", "sls", "majority", "my-own"]}
    chosen = compare_results(results, {}, baseline="majority")
    assert titles(chosen) == {"pets, all votes": ["majority", "soft", "sls", "my-own"]}
    with pytest.raises(InputError, match=r"the baseline must be one of my-own, majority, sls, soft, but got 'slss'"):
        compare_results(results, {}, baseline="slss")


def test_the_epoch_that_is_scored(votes: Votes) -> None:
    run = finished_run(votes, "soft", 0)
    changed = replace(run, numbers={**run.numbers, "soft_nll_best": 0.25})
    document = compare_results(results_of([changed]), {}, at="best")
    assert document.data["comparisons"][0]["rows"][0]["per_seed"] == (0.25,)
    assert "after the best epoch, which was chosen on the items that are scored." in sentences(document, "facts")
    apart = replace(changed, config={**changed.config, "selected": 0.1})
    assert "after the best epoch, chosen on further items." in sentences(
        compare_results(results_of([apart]), {}, at="best"), "facts"
    )
    with pytest.raises(InputError, match="at must be one of last, best"):
        compare_results(results_of([run]), {}, at="first")


def test_items_are_those_of_the_condition_with_fewest_votes(votes: Votes) -> None:
    runs = [finished_run(votes, "soft", 0, weight, votes=few) for few, weight in ((None, 0.9), (5, 0.2))]
    (shown,) = blocks(compare_results(results_of(runs), items_of(votes)), Items)
    assert shown.heading == "Where people disagree most (held-out items; models of pets, 5 votes per item)"
    rows, probs = predictions(votes, "soft", 0, 0.2)
    row = int(shown.items[0].id.removeprefix("item "))
    assert shown.items[0].models["soft"] == pytest.approx(probs[rows == row][0])


def test_a_baseline_without_a_finished_run_gives_way(votes: Votes) -> None:
    failed = RunRecord(config=finished_run(votes, "soft", 0).config, status="failed", failure="no.")
    results = results_of([failed, finished_run(votes, "sls", 0), finished_run(votes, "majority", 0)])
    assert titles(compare_results(results, {}, baseline="soft")) == {"pets, all votes": ["sls", "majority"]}


# --- what cannot be compared


def test_failures_are_left_out_and_told(votes: Votes) -> None:
    runs = [finished_run(votes, method, seed, WEIGHTS[method]) for method in ("soft", "sls") for seed in range(3)]
    failed = replace(
        runs[4], status="failed", failure="the loss became NaN in epoch 1.", numbers={}, curves={}, arrays={}
    )
    runs[4] = failed
    runs[2] = replace(runs[2], numbers={**runs[2].numbers, "soft_nll_last": math.inf})
    runs.append(RunRecord(config={"paper": "same-target"}, status="done"))
    document = compare_results(results_of(runs), items_of(votes), notes=("an unreadable record",))
    told = to_json(document)
    assert sorted(told["failed"]) == [
        "a record, seed –, is left out: it is no finished training run.",
        "sls, seed 1, is left out: the loss became NaN in epoch 1.",
        "soft, seed 2, is left out: its soft NLL is not finite, as when classes that people chose get probability 0.",
    ]
    assert told["notes"] == [*told["failed"], "an unreadable record"]
    soft, sls = told["comparisons"][0]["rows"]
    assert (soft["seeds"], sls["seeds"], sls["pairs"]) == ([0, 1], [0, 2], 1)
    (table,) = blocks(document, Table)
    assert "seeds" not in table.header, "both have two"
    assert all(sentence in sentences(document, "facts") for sentence in told["failed"])


def test_rows_with_different_seeds_say_how_many(votes: Votes) -> None:
    runs = [finished_run(votes, "soft", seed) for seed in range(3)] + [finished_run(votes, "sls", 1, 0.7)]
    (table,) = blocks(compare_results(results_of(runs), {}), Table)
    assert [row[1] for row in table.rows] == ["3", "1"]
    assert table.header[1] == "seeds"


def test_a_number_that_some_seeds_lack_says_on_how_many_it_rests(votes: Votes) -> None:
    runs = [finished_run(votes, "soft", seed) for seed in range(3)]
    runs[0] = replace(runs[0], numbers={**runs[0].numbers, "entropy_correlation_last": math.nan})
    (table,) = blocks(compare_results(results_of(runs), {}), Table)
    assert table.rows[0][7].endswith(" (2)")
    assert "(" not in table.rows[0][1]


def test_without_votes_the_page_says_what_it_leaves_out(votes: Votes) -> None:
    document = compare_results(results_for(votes, WEIGHTS), {})
    assert "The votes behind these runs are not stored with them" in sentences(document, "facts")
    assert [figure.name for figure in blocks(document, Figure)] == ["learning-1"]
    assert blocks(document, Items) == []
    assert to_json(document)["comparisons"][0]["no_model"] is None
    assert "no model" not in to_terminal(replace(document, blocks=tuple(blocks(document, Table))))


def test_runs_without_predictions_are_compared_by_their_scores(votes: Votes) -> None:
    run = replace(finished_run(votes, "soft", 0), arrays={})
    document = compare_results(results_of([run]), items_of(votes))
    assert [figure.name for figure in blocks(document, Figure)] == ["learning-1"]
    assert blocks(document, Items) == []
    assert to_json(document)["comparisons"][0]["scored"] is None


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (
            [],
            "a report needs finished training runs, but there are no records. Train with compare --runs or reproduce "
            "--runs; votewise runs lists what is there.",
        ),
        (
            [RunRecord(config={"paper": "x"}, status="done")],
            "a report needs finished training runs, but none of 1 record is one. Train with compare --runs or reproduce "
            "--runs; votewise runs lists what is there.",
        ),
        (
            [
                RunRecord(config={"method": "sls", "seed": seed}, status="failed", failure="it was not its day.")
                for seed in (0, 1)
            ],
            "nothing can be compared, since no run has a finite score (sls; the first: it was not its day). Change the "
            "recipe; --retry-failed repeats failed runs.",
        ),
    ],
)
def test_nothing_to_compare_is_an_error(records: list[RunRecord], message: str) -> None:
    with pytest.raises(VotewiseError) as caught:
        compare_results(results_of(records), {})
    assert str(caught.value) == message


def test_records_made_by_hand_are_no_trouble(votes: Votes) -> None:
    runs = [
        finished_run(votes, "soft", 0),
        replace(finished_run(votes, "soft", 1), curves={"soft_nll": [0.6]}),
        finished_run(votes, "sls", 0, votes="5", hold="x"),
        finished_run(votes, "sls", 0, votes=5),
    ]
    found = [one["title"] for one in compare_results(results_of(runs), items_of(votes)).data["comparisons"]]
    assert found == ["pets, all votes", "pets, 5 votes per item", "pets, 5 votes per item"]


# --- the whole page


def test_facts_and_notes(document: Document) -> None:
    facts = sentences(document, "facts")
    assert "pets: 50 items, 300 votes, 3 classes." in facts
    assert "12 runs in 1 comparison, trained on an abacus." in facts
    assert "All runs share: model mlp, held out 0.4, epochs 3." in facts
    assert sentences(document, "aside") == "a note"
    assert document.data["notes"] == ("a note",)
    assert list(document.data) == ["failed", "notes", "summary", "comparisons"]


def test_names_of_users_do_nothing_in_the_page() -> None:
    evil = "<script>alert(1)</script>"
    plain = some_votes()
    votes = Votes.from_counts(plain.counts, classes=[evil, "b", "c"], item_ids=[f"{evil}{row}" for row in range(50)])
    texts = (evil,) * votes.n_items
    results = results_for(plain, {"soft": 0.6, evil: 0.5}, dataset=evil)
    page = to_html(compare_results(results, items_of(votes, texts=texts, notes=(evil,)), title=evil))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;, all votes" in page


@pytest.mark.parametrize("width", [80, 120])
def test_a_comparison_fits_the_terminal(document: Document, width: int) -> None:
    text = to_terminal(document, width=width)
    assert max(map(len, text.splitlines())) <= width
    rows = [line for line in text.splitlines() if line.startswith(("soft ", "sls ", "majority ", "no model "))]
    assert len(rows) == 4, "one line a method"
    assert text.rstrip().endswith(to_terminal(Document("", (Text(document.data["summary"]),)), width=width).strip())


def test_twelve_methods_all_have_curves(votes: Votes) -> None:
    weights = {f"method {number}": 0.5 + number / 30 for number in range(12)}
    document = compare_results(results_for(votes, weights, seeds=2), items_of(votes))
    assert all(len(figure.panels[0].curves) == 12 for figure in blocks(document, Figure))
    page = to_html(document)
    assert all(page.count(f">{name}</text>") == 2 for name in weights)
    assert DATA not in page
