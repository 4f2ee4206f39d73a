"""Tables 1 to 9 from evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from votewise.papers.same_target import interpretations, published
from votewise.papers.same_target.cells import Cell, PairedTest, Table, sharing_sd, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.names import COLUMNS, HARD, METHODS, row_name
from votewise.papers.same_target.published import METRICS, SCORES, SWEEP, PaperTable
from votewise.statistics import holm, wilcoxon

_SMALLER_IS_BETTER = ("soft_nll", "scaled", "ece", "kl", "soft_brier")

# Columns of Tables 2 and 3. The paper does not say whether accuracy is by the true or the majority label, so both stand
# beside its number. The floor is the ECE that a perfectly calibrated model would show.
_SCORES_OF_RUNS = {
    "soft_nll": "soft_nll",
    "scaled": "",
    "accuracy": "accuracy",
    "accuracy_majority": "accuracy",
    "ece": "ece",
    "ece_floor": "",
    "entropy_correlation": "entropy_correlation",
}

# The items the paper prints curvature of, by the slice we take them to be.
_PRINTED = {"full": "full", interpretations.SLICE: "high"}
_SLICE_NOTE = (
    "The paper does not define its slice of high disagreement. Of those that were tried "
    f"{interpretations.SLICE} fits its numbers best (see Choices) and stands beside them."
)
_OTHERS_NOTE = "Beyond the paper: majority vote, label smoothing and mixup."
_OUR_SD_NOTE = "The paper prints no SD here: distances are in units of ours, pooled over the methods of a column."
_SCORE_NOTE = (
    "ODIN and KNN have settings the paper does not print. Here: "
    f"{'; '.join(f'{score.upper()}, {words}' for score, words in interpretations.SETTINGS.items())} (see Choices)."
)

# The paper's SLS of five seeds: those it shares with the other hard deliveries.
_FEW = 5


def table_1(evidence: Evidence) -> Table:
    """Few votes per item: soft NLL, and each hard delivery against soft labels, one-sided, raw and after Holm."""
    cells = [
        _cell(
            evidence, Group(method, votes), f"{votes} votes", "soft_nll_best", published.TABLE_1[method, 5, str(votes)]
        )
        for method in ("soft", *HARD)
        for votes in SWEEP
    ]
    tests = [
        replace(
            paired_test(evidence, Group(method, votes), Group("soft", votes), "soft_nll", "soft_nll_best", "less"),
            published_p=printed,
        )
        for method in HARD
        for votes, printed in zip(SWEEP, published.TABLE_1_P[method], strict=True)
    ]
    return Table(
        "table-1", "soft NLL with few votes per item",
        sharing_sd(_without_votes(cells), lambda cell: cell.column), adjusted(tests), (_OUR_SD_NOTE,),
    )  # fmt: skip


def table_2(evidence: Evidence) -> Table:
    """The main comparison, and SLS against soft labels, two-sided, raw and after Holm."""
    methods = ("label-smoothing", "majority", "mixup", "sls", "soft")
    rows = {Group(method): (method, 10) for method in methods}
    tests = [
        replace(
            paired_test(evidence, Group("sls"), Group("soft"), metric, f"{metric}_best", "two-sided"),
            published_p=published.TABLE_2_P[metric],
        )
        for metric in METRICS
    ]
    cells = _scored(evidence, rows, _SCORES_OF_RUNS, published.TABLE_2)
    return Table("table-2", "the main comparison on all votes", cells, adjusted(tests))


def table_3(evidence: Evidence) -> Table:
    """The hard deliveries and their controls, each against SLS, two-sided."""
    few = Group("sls", first=_FEW)
    others = ("deterministic-control", "multipass", "shuffled-sls")
    rows = {Group("soft"): ("soft", 10), few: ("sls", 5), **{Group(method): (method, 5) for method in others}}
    tests = [
        replace(
            paired_test(evidence, Group(method), few, metric, f"{metric}_best", "two-sided"),
            published_p=published.TABLE_3_P.get((method, metric)),
        )
        for method in others
        for metric in METRICS
    ]
    cells = _scored(evidence, rows, _SCORES_OF_RUNS, published.TABLE_3)
    return Table("table-3", "the hard deliveries and their controls", cells, tuple(tests))


def table_4(evidence: Evidence) -> Table:
    """Curvature at the best epoch; beyond the paper, at the last and at a common epoch."""
    family = ("deterministic-control", "multipass", "shuffled-sls")
    rows = {
        Group("sls"): ("sls", 10),
        Group("soft"): ("soft", 10),
        Group("sls", first=_FEW): ("sls", 5),
        **{Group(method): (method, 5) for method in family},
    }
    cells = [
        _cell(
            evidence,
            group,
            f"{COLUMNS[what]}, {part}",
            f"best/{part}/{what}",
            published.TABLE_4.get((*key, f"{_PRINTED.get(part)}/{what}")),
        )
        for group, key in rows.items()
        for part in ("full", *interpretations.LIKELY_SLICES)
        for what in ("largest", "trace")
    ]
    return Table(
        "table-4", "curvature of the best models", (*cells, *_other_epochs(evidence)),
        notes=(
            *_unconverged(evidence),
            _SLICE_NOTE,
            "Beyond the paper: the same at the last epoch, and at one epoch for all methods (150 of 200), since the "
            "best epochs of methods differ.",
        ),
    )  # fmt: skip


def table_5(evidence: Evidence) -> Table:
    """Further scoring rules."""
    rows = {Group(method): (method, 10) for method in ("sls", "soft", "majority", "label-smoothing", "mixup")}
    return Table(
        "table-5",
        "further scoring rules",
        _scored(evidence, rows, {"kl": "kl", "soft_brier": "soft_brier"}, published.TABLE_5),
    )


def table_6(evidence: Evidence) -> Table:
    """Largest curvature with few votes."""
    cells = [
        _cell(
            evidence, Group(method, votes), f"λmax, {part}", f"best/{part}/largest",
            published.TABLE_6.get((method, 5, f"{_PRINTED.get(part)}/{votes}")),
        )
        for votes in SWEEP
        for method in ("sls", "soft")
        for part in ("full", *interpretations.LIKELY_SLICES)
    ]  # fmt: skip
    shared = sharing_sd(cells, lambda cell: (cell.row.split(",")[0], cell.column))
    note = (
        "Distances are in units of one SD for the four numbers of votes of a method, pooled from ours and the paper's; "
        "SDs of single cells, of three or five seeds, run from 0.3 to 16 where the slice is full."
    )
    return Table("table-6", "largest curvature with few votes per item", shared, notes=(note, _SLICE_NOTE))


def table_7(evidence: Evidence) -> Table:
    """Detecting SVHN; SLS against soft labels, two-sided."""
    return Table(
        "table-7", "AUROC against SVHN", _detected(evidence, "svhn", SCORES, published.TABLE_7),
        adjusted([_detection_test(evidence, "svhn", score, "two-sided") for score in SCORES]),
        (_SCORE_NOTE, _OTHERS_NOTE),
    )  # fmt: skip


def table_8(evidence: Evidence) -> Table:
    """Detecting CIFAR-100, SLS against soft labels; one-sided as printed, and two-sided."""
    cells = [
        _cell(evidence, Group(method), COLUMNS[score], _auroc("cifar100", score), published.TABLE_8[method, 10, score])
        for method in ("sls", "soft")
        for score in SCORES
    ]
    tests = []
    for score in SCORES:
        for alternative, printed in (("greater", published.TABLE_8_P[score]), ("two-sided", None)):
            tests.append(replace(_detection_test(evidence, "cifar100", score, alternative), published_p=printed))
    return Table(
        "table-8", "AUROC against CIFAR-100", sharing_sd(cells, lambda cell: cell.column), tuple(tests),
        ("The printed p values can only be one-sided; the two-sided test stands beside them.", _OUR_SD_NOTE),
    )  # fmt: skip


def table_9(evidence: Evidence) -> Table:
    """Detecting CIFAR-100, the hard deliveries."""
    return Table(
        "table-9", "AUROC against CIFAR-100, hard deliveries",
        sharing_sd(
            _detected(evidence, "cifar100", ("energy", "msp", "knn"), published.TABLE_9), lambda cell: cell.column
        ),
        notes=(_OUR_SD_NOTE, _OTHERS_NOTE),
    )  # fmt: skip


TABLES: dict[str, Callable[[Evidence], Table]] = {
    "table-1": table_1,
    "table-2": table_2,
    "table-3": table_3,
    "table-4": table_4,
    "table-5": table_5,
    "table-6": table_6,
    "table-7": table_7,
    "table-8": table_8,
    "table-9": table_9,
}


def paired_test(
    evidence: Evidence, first: Group, second: Group, column: str, name: str, alternative: str
) -> PairedTest:
    """The first group's numbers against the second's, seed by seed.

    Args:
        evidence: all runs.
        first: the group tested.
        second: what it is tested against.
        column: what is measured, as tables call it.
        name: of the number.
        alternative: "two-sided", "less" or "greater".
    """
    one, other = evidence.values(first, name), evidence.values(second, name)
    row = f"{row_name(first)} against {METHODS[second.method]}"
    return compare_by_seed(
        one, other, row, COLUMNS[column], alternative, smaller_is_better=column in _SMALLER_IS_BETTER
    )


def compare_by_seed(
    one: Mapping[int, float],
    other: Mapping[int, float],
    row: str,
    column: str,
    alternative: str,
    *,
    smaller_is_better: bool = True,
) -> PairedTest:
    """Numbers by seed against others, on the seeds that both have.

    Args:
        one: tested.
        other: against these.
        row: name of the test.
        column: what is measured.
        alternative: "two-sided", "less" or "greater".
        smaller_is_better: which differences count as favourable.
    """
    seeds = sorted(one.keys() & other.keys())
    # Equal differences of rounded scores differ by the noise of subtraction; rounding restores the ties.
    differences = np.array([one[seed] - other[seed] for seed in seeds]).round(12)
    better = differences < 0 if smaller_is_better else differences > 0
    return PairedTest(
        row,
        column,
        alternative,
        len(seeds),
        float(differences.mean()) if seeds else math.nan,
        int(better.sum()),
        int(np.count_nonzero(differences)),
        wilcoxon(differences, alternative=alternative).p_value if len(seeds) > 1 else None,
    )


def adjusted(tests: Sequence[PairedTest]) -> tuple[PairedTest, ...]:
    """Holm over the tests of a table that could be done."""
    done = [test.p_value for test in tests if test.p_value is not None]
    adjusted = iter(holm(done).tolist() if done else ())
    return tuple(test if test.p_value is None else replace(test, p_holm=next(adjusted)) for test in tests)


def _cell(evidence: Evidence, group: Group, column: str, name: str, printed: published.Published | None = None) -> Cell:
    return Cell(row_name(group), column, spread(evidence.values(group, name).values()), printed)


def number_of(metric: str) -> str:
    """The number of a run that a column shows: its score at the best epoch."""
    return "scaled/soft_nll" if metric == "scaled" else f"{metric}_best"


def _scored(
    evidence: Evidence, rows: dict[Group, tuple[str, int]], columns: Mapping[str, str], printed: PaperTable
) -> tuple[Cell, ...]:
    """Scores at the best epoch, each beside the printed column it may be."""
    return tuple(
        _cell(evidence, group, COLUMNS[metric], number_of(metric), printed.get((*key, column)))
        for group, key in rows.items()
        for metric, column in columns.items()
    )


def _detected(evidence: Evidence, outliers: str, scores: Sequence[str], printed: PaperTable) -> tuple[Cell, ...]:
    rows = {
        Group("soft"): ("soft", 10),
        Group("multipass"): ("multipass", 5),
        Group("deterministic-control"): ("deterministic-control", 5),
        Group("sls", first=_FEW): ("sls", 5),
        **{Group(method): (method, 10) for method in ("majority", "label-smoothing", "mixup")},
    }
    return tuple(
        _cell(evidence, group, COLUMNS[score], _auroc(outliers, score), printed.get((*key, score)))
        for group, key in rows.items()
        for score in scores
    )


def _unconverged(evidence: Evidence) -> Iterator[str]:
    """How many measurements ended before they were as precise as asked for; those of shuffled SLS apart."""
    nothing_learnt = np.array([run.method == "shuffled-sls" for run in evidence.runs], dtype=bool)
    for part in ("full", *interpretations.LIKELY_SLICES):
        converged = evidence.numbers.get(f"best/{part}/converged", np.full(len(evidence.runs), np.nan))
        missed, others = converged == 0, (converged == 0) & ~nothing_learnt
        if missed.any():
            yield (
                f"{part}: {missed.sum()} of {np.isfinite(converged).sum()} measurements ended before eigenvalue and "
                f"trace were as precise as asked for: {(missed & nothing_learnt).sum()} of shuffled SLS, whose traces "
                f"are near zero, and {others.sum()} others{_largest_error(evidence, part, others)}."
            )


def _largest_error(evidence: Evidence, part: str, of: npt.NDArray[np.bool_]) -> str:
    """The largest standard error among some traces, in words; nothing where there are none."""
    error, trace = (evidence.numbers.get(f"best/{part}/{name}") for name in ("trace_error", "trace"))
    if error is None or trace is None or not of.any():
        return ""
    return f", with a standard error of the trace of at most {np.max(error[of] / trace[of]):.1%}"


def _detection_test(evidence: Evidence, outliers: str, score: str, alternative: str) -> PairedTest:
    """SLS against soft labels."""
    return paired_test(evidence, Group("sls"), Group("soft"), score, _auroc(outliers, score), alternative)


def _auroc(outliers: str, score: str) -> str:
    return f"{outliers}/{interpretations.score_interpretation(score)}/auroc"


def _other_epochs(evidence: Evidence) -> Iterable[Cell]:
    for when, words in (("last", "last epoch"), ("common", "common epoch")):
        for method in ("sls", "soft"):
            for what in ("largest", "trace"):
                ours = spread(evidence.values(Group(method), f"{when}/full/{what}").values())
                yield Cell(f"{METHODS[method]}, {words}", f"{COLUMNS[what]}, full", ours, None)


def _without_votes(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Rows named by the method alone, as columns are numbers of votes."""
    return tuple(replace(cell, row=cell.row.split(",")[0]) for cell in cells)
