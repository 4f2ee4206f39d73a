"""What the paper leaves open: each interpretation beside the published numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from votewise.experiments.measure import SLICES
from votewise.papers.same_target import interpretations, published
from votewise.papers.same_target.cells import Cell, sharing_sd, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.names import BOTH, COLUMNS, HARD, METHODS, MIXED
from votewise.papers.same_target.published import METRICS, QUOTED, SWEEP, Published
from votewise.papers.same_target.scalars import similarity, soft_less_sls

_SCORED = ("soft", "sls", "majority", "label-smoothing", "mixup")

_CORRECT = {"the true label": "ece/15", "the share of votes for the top class": "ece/shares"}
_LABELS = {"true": "accuracy_best", "majority": "accuracy_majority_best"}

ODIN = {"odin": "step in pixels", "odin_in_inputs": "step in the network's inputs", "odin_without_step": "no step"}
KNN = {
    "knn_1": "k 1, unit features",
    "knn_5": "k 5, unit features",
    "knn_10": "k 10, unit features",
    "knn": "k 50, unit features",
    "knn_200": "k 200, unit features",
    "knn_by_length": "k 50, features as they are",
}
GRADIENTS = {
    "spearman": "closed form",
    "spearman_sampled": "100 drawn labels",
    "spearman_disputed": "closed form, images with H > 0",
}
NEARNESS = {
    "quotient": "loss at most best / 0.95",
    "excess": "loss at most 1.05 best",
    "descent": "95 % of the way down",
}
IMAGES = {"shared": "images all runs share", "held_out": "images both held out"}
MAPS = {
    "maps": "class of most votes, 32 x 32",
    "maps_raw": "class of most votes, 4 x 4",
    "maps_of_predicted": "predicted class, 32 x 32",
}


@dataclass(frozen=True)
class Choice:
    """A question the paper leaves open.

    Attributes:
        question: what is not said.
        interpretations: the numbers that each one gives.
        used: the interpretation that tables and figures take.
    """

    question: str
    interpretations: Mapping[str, tuple[Cell, ...]]
    used: str

    def misfit(self, name: str) -> float:
        """Root mean square distance of an interpretation's numbers from the published, in standard errors; NaN of none.

        Where the paper prints no SD, all use that of the interpretation used, so that a noisy one does not seem to fit.
        """
        cells = zip(self.interpretations[name], self.interpretations[self.used], strict=True)
        distances = [_distance(cell, used) for cell, used in cells]
        found = [distance for distance in distances if distance is not None]
        return math.sqrt(np.mean(np.square(found))) if found else math.nan


def _distance(cell: Cell, used: Cell) -> float | None:
    """How far a number is from the published, by the spread of the interpretation used where the paper prints none."""
    if cell.ours is None or used.ours is None:
        return cell.distance
    return replace(cell, ours=replace(cell.ours, sd=used.ours.sd), deviation=used.deviation).distance


@dataclass(frozen=True)
class Choices:
    """All that the paper leaves open."""

    name: str
    title: str
    choices: tuple[Choice, ...]


def choices(evidence: Evidence) -> Choices:
    """Every open choice on which the runs have something to say."""
    found = (
        _of_scores(evidence, "which epoch is scored", {"best": "soft_nll_best", "last": "soft_nll_last"}, "soft_nll"),
        _epoch_with_few_votes(evidence),
        _of_scores(evidence, "label that accuracy refers to", _LABELS, "accuracy", used="true"),
        _of_scores(evidence, "bins of ECE", {str(n): f"ece/{n}" for n in (10, 15, 20)}, "ece", used="15"),
        _of_scores(evidence, "what ECE calls correct", _CORRECT, "ece", used="the true label"),
        _mixups(evidence),
        _slices(evidence),
        _ood_scores(evidence, "odin", ODIN),
        _ood_scores(evidence, "knn", KNN),
        _features(evidence),
        _maps(evidence),
        _barrier(evidence),
        _gradients(evidence),
        _nearness(evidence),
    )  # fmt: skip
    return Choices("choices", "what the paper leaves open", found)


def _of_scores(
    evidence: Evidence, question: str, names: Mapping[str, str], column: str, *, used: str = "best"
) -> Choice:
    """Interpretations of a column of Table 2."""

    def cells(name: str) -> Iterator[Cell]:
        for method in _SCORED:
            yield _cell(evidence, method, name, METHODS[method], published.TABLE_2[method, 10, column])

    return Choice(question, {reading: tuple(cells(name)) for reading, name in names.items()}, used)


def _epoch_with_few_votes(evidence: Evidence) -> Choice:
    """Interpretations of Table 1."""

    def cells(name: str) -> tuple[Cell, ...]:
        found = [
            Cell(
                "",
                f"{METHODS[method]}, {votes} votes",
                spread(evidence.values(Group(method, votes), name).values()),
                published.TABLE_1[method, 5, str(votes)],
            )
            for method in ("soft", *HARD)
            for votes in SWEEP
        ]
        return sharing_sd(found, lambda cell: cell.column.rpartition(", ")[2])

    found = {"best": cells("soft_nll_best"), "last": cells("soft_nll_last")}
    return Choice("which epoch is scored, few votes", found, "best")


def _mixups(evidence: Evidence) -> Choice:
    """Interpretations of a row of Table 2, each from the first seed."""

    def cells(name: str) -> Iterator[Cell]:
        for metric in METRICS:
            ours = spread(evidence.values(Group(name, first=1), f"{metric}_best").values())
            yield Cell("", COLUMNS[metric], ours, published.TABLE_2["mixup", 10, metric])

    found = {words: tuple(cells(name)) for name, words in MIXED.items()}
    return Choice("what mixup mixes, one seed", found, MIXED["mixup"])


def _slices(evidence: Evidence) -> Choice:
    """On the seeds on which every slice was measured."""

    def cells(part: str) -> Iterator[Cell]:
        for method in BOTH:
            for what, words in (("largest", "λmax"), ("trace", "trace")):
                values = {name: evidence.values(Group(method), f"best/{name}/{what}") for name in SLICES}
                ours = spread(_on_common_seeds(values)[part])
                yield Cell("", f"{words}, {METHODS[method]}", ours, published.TABLE_4[method, 10, f"high/{what}"])

    return Choice("slice of high disagreement", {part: tuple(cells(part)) for part in SLICES}, interpretations.SLICE)


def _on_common_seeds(values: Mapping[str, Mapping[int, float]]) -> dict[str, list[float]]:
    """Values of several interpretations, on the seeds shared by all that have any."""
    seeds = set.intersection(*map(set, filter(None, values.values()))) if any(values.values()) else set()
    return {name: [value for seed, value in found.items() if seed in seeds] for name, found in values.items()}


def _ood_scores(evidence: Evidence, score: str, names: Mapping[str, str]) -> Choice:
    def cells(name: str) -> Iterator[Cell]:
        yield _cell(evidence, "soft", f"svhn/{name}/auroc", "SVHN, soft labels", published.TABLE_7["soft", 10, score])
        few = spread(evidence.values(Group("sls", first=5), f"svhn/{name}/auroc").values())
        yield Cell("", "SVHN, SLS", few, published.TABLE_7["sls", 5, score])
        for method in BOTH:
            printed = published.TABLE_8[method, 10, score]
            yield _cell(evidence, method, f"cifar100/{name}/auroc", f"CIFAR-100, {METHODS[method]}", printed)

    found = {words: tuple(cells(name)) for name, words in names.items()}
    return Choice(f"settings of {score.upper()}", found, names[interpretations.score_interpretation(score)])


def _features(evidence: Evidence) -> Choice:
    def cells(where: str) -> Iterator[Cell]:
        for method in BOTH:
            yield Cell("", METHODS[method], similarity(evidence, method, where, "cka"), QUOTED["cka", method])

    found = {words: tuple(cells(where)) for where, words in IMAGES.items()}
    return Choice("images on which features are compared", found, IMAGES[interpretations.FEATURE_IMAGES])


def _maps(evidence: Evidence) -> Choice:
    def cells(what: str, where: str) -> Iterator[Cell]:
        for high, words in (("", ""), ("_high", ", fifth of highest entropy")):
            for method in BOTH:
                ours = similarity(evidence, method, where, f"{what}{high}")
                yield Cell("", f"{METHODS[method]}{words}", ours, QUOTED[f"maps{high}", method])

    found = {
        f"{words}, {images}": tuple(cells(what, where))
        for what, words in MAPS.items()
        for where, images in IMAGES.items()
    }
    return Choice("maps of Grad-CAM", found, f"{MAPS[interpretations.MAPS]}, {IMAGES[interpretations.MAP_IMAGES]}")


def _barrier(evidence: Evidence) -> Choice:
    names = {"plain": "weights and statistics on the line", "recalibrated": "norms recalibrated"}

    def cell(name: str) -> Cell:
        heights = evidence.across.get(f"barrier.{name}.heights", np.zeros(0))
        return Cell("", "barrier", spread(heights), QUOTED["barrier", "sls"])

    return Choice("norms between two models", {names[name]: (cell(name),) for name in names}, names["plain"])


def _gradients(evidence: Evidence) -> Choice:
    printed = QUOTED["gradient_spearman", "sls"]
    found = {
        words: (_cell(evidence, "sls", f"gradient/{name}", "Spearman, SLS", printed),)
        for name, words in GRADIENTS.items()
    }
    return Choice("variance of the last layer's gradient", found, GRADIENTS[interpretations.GRADIENT])


def _nearness(evidence: Evidence) -> Choice:
    printed = QUOTED["near_best_earlier", "sls"]
    found = {
        words: (
            Cell("", "epochs SLS is earlier", spread(soft_less_sls(evidence, f"near_best/{name}").values()), printed),
        )
        for name, words in NEARNESS.items()
    }
    return Choice("95 % of its best", found, NEARNESS[interpretations.NEARNESS])


def _cell(evidence: Evidence, method: str, name: str, column: str, printed: Published) -> Cell:
    return Cell("", column, spread(evidence.values(Group(method), name).values()), printed)
