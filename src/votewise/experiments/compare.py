"""Compare methods on any data: the runs of a comparison, and its report."""

from __future__ import annotations

import io
import math
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from votewise import __version__
from votewise._checks import check_choice, check_number, check_whole_number, first_few
from votewise._errors import InputError, VotewiseError
from votewise.experiments.catalog import METHODS, find_method
from votewise.experiments.material import Material
from votewise.experiments.run import RunConfig, softmax
from votewise.experiments.summarise import Outcome, compare_methods, hardest_items, in_words, least_p
from votewise.records import RunRecord
from votewise.report.content import Content, Example
from votewise.report.numbers import counted

if TYPE_CHECKING:
    from votewise.training import TrainConfig

EPOCHS = ("last", "best")

# Share of the items used to choose the best epoch. They are neither trained on nor scored.
_CHOOSING = 0.1

_LONGEST_CAPTION = 280


@dataclass(frozen=True)
class ComparisonPlan:
    """What to compare.

    Attributes:
        methods: names, the baseline first.
        seeds: how many, counted from 0; with the same seed, methods share everything but the labels.
        model: name of the model.
        recipe: the training recipe.
        held_out: share of the items that are scored.
        at: the epoch that is scored: the "last", or the "best" on a further tenth of the items.
    """

    methods: tuple[str, ...]
    seeds: int
    model: str
    recipe: TrainConfig
    held_out: float = 0.2
    at: str = "last"

    def __post_init__(self) -> None:
        """Refuse plans that cannot be compared."""
        for method in self.methods:
            find_method(method)
        if not self.methods:
            raise InputError("a comparison needs at least one method", "got none", f"Name some of {', '.join(METHODS)}")
        if len(set(self.methods)) < len(self.methods):
            raise InputError("methods must be different", f"got {first_few(self.methods)}", "Name each once")
        check_whole_number("seeds", self.seeds, least=1)
        check_choice("at", self.at, EPOCHS)
        check_number("the share held out", self.held_out, 0.01, 0.8)


def comparison_runs(plan: ComparisonPlan, material: Material) -> list[RunConfig]:
    """Every run of a comparison; votes that a method cannot deliver are refused before anything is trained.

    Args:
        plan: what to compare.
        material: the data.
    """
    from votewise.models import check_inputs

    check_inputs(plan.model, material.kind, material.inputs.shape[1:])
    if material.votes.n_classes < 2:
        raise InputError(
            "a comparison needs at least two classes",
            f"the votes have only {first_few(material.votes.classes)}",
            "Name those that nobody chose with classes= (--classes)",
        )
    for method in plan.methods:
        find_method(method).build(material.votes, 0, 1)
    return [
        RunConfig(
            dataset=material.name,
            data=material.checksum,
            method=method,
            seed=seed,
            recipe=plan.recipe,
            model=plan.model,
            held_out=plan.held_out,
            selected=_CHOOSING if plan.at == "best" else 0.0,
        )
        for seed in range(plan.seeds)
        for method in plan.methods
    ]


def summarise_comparison(
    plan: ComparisonPlan,
    material: Material,
    records: Sequence[RunRecord],
    *,
    caption: Callable[[str], str] = lambda _: "",
) -> Content:
    """The report of a comparison. A seed on which any run failed is left out, since its runs cannot be paired.

    Args:
        plan: what was compared.
        material: the data.
        records: one for each run.
        caption: from an item's id to the text shown for it.
    """
    lost = {_seed(record) for record in records if _fault(record, plan.at)}
    outcomes = [_outcome(record, plan.at) for record in records if _seed(record) not in lost]
    if not outcomes:
        raise _nothing_left(plan, records)
    seeds = len({outcome.seed for outcome in outcomes})
    result = compare_methods(material.votes, outcomes, plan.methods, _title(plan, material))
    return Content(
        title=f"Deliveries compared on {material.name}",
        summary=(in_words(result),),
        data=(*_facts(plan, material, seeds), *failures(plan, records)),
        classes=material.votes.classes,
        comparisons=(result,),
        examples_title="Where people disagree most (held-out items of the first seed)",
        examples=tuple(_shown(example, material, caption) for example in hardest_items(material.votes, outcomes)),
        version=__version__,
        notes=material.notes,
    )


def failures(plan: ComparisonPlan, records: Sequence[RunRecord]) -> tuple[str, ...]:
    """A sentence for each run that failed or has no finite score."""
    faults = ((record.config, _fault(record, plan.at)) for record in records)
    return tuple(
        f"{config['method']}, seed {config['seed']}, failed and its seed is left out: {fault}"
        for config, fault in faults
        if fault
    )


def _fault(record: RunRecord, at: str) -> str:
    """Why a run cannot be compared; empty if it can."""
    if record.failure is not None:
        return record.failure
    if not math.isfinite(record.numbers[f"soft_nll_{at}"]):
        return "its soft NLL is infinite, since it gives probability 0 to classes that people chose."
    return ""


def _nothing_left(plan: ComparisonPlan, records: Sequence[RunRecord]) -> VotewiseError:
    """The error when no seed can be compared."""
    faults = [(record.config["method"], fault) for record in records if (fault := _fault(record, plan.at))]
    methods = ", ".join(dict.fromkeys(str(method) for method, _ in faults))
    return VotewiseError(
        f"nothing can be compared, since a run failed on every seed ({methods}; the first: "
        f"{faults[0][1].removesuffix('.')}). Change the recipe; --retry-failed repeats failed runs."
    )


def _outcome(record: RunRecord, at: str) -> Outcome:
    return Outcome(
        str(record.config["method"]),
        _seed(record),
        record.arrays["held_out"],
        softmax(record.arrays[f"{at}_logits"]),
        record.curves["soft_nll"],
    )


def _shown(example: Example, material: Material, caption: Callable[[str], str]) -> Example:
    """An example with the item itself: its text, shortened if long, or its image."""
    text = caption(example.item)
    if len(text) > _LONGEST_CAPTION:
        text = text[:_LONGEST_CAPTION] + "…"
    row = int((material.votes.item_ids == example.item).argmax())
    picture = _data_uri(material.inputs[row]) if material.kind == "images" else ""
    return replace(example, caption=text, picture=picture)


def _data_uri(image: npt.NDArray[np.uint8]) -> str:
    try:
        from PIL import Image
    except ImportError:  # images from a .npz can be trained on without Pillow
        return ""
    png = io.BytesIO()
    Image.fromarray(image.squeeze(axis=2) if image.shape[2] == 1 else image).save(png, "PNG")
    return "data:image/png;base64," + b64encode(png.getvalue()).decode()


def _seed(record: RunRecord) -> int:
    return RunConfig.from_dict(record.config).seed


def _title(plan: ComparisonPlan, material: Material) -> str:
    when = "the last epoch" if plan.at == "last" else "the best epoch"
    return f"{material.name}, after {when}"


def _facts(plan: ComparisonPlan, material: Material, seeds: int) -> tuple[str, ...]:
    votes, recipe = material.votes, plan.recipe
    given = "" if votes.counts is None else f", {counted(int(votes.counts.sum()), 'vote')}"
    chosen = f" A further {_CHOOSING:.0%} chooses the best epoch." if plan.at == "best" else ""
    return (
        f"{counted(votes.n_items, 'item')} with {material.kind}{given}, in {votes.n_classes} classes "
        f"({votes.provenance}).",
        f"{counted(seeds, 'seed')}; each holds out {plan.held_out:.0%} of the items and scores "
        f"against all their votes.{chosen} "
        "With the same seed, methods share split, initial weights and order: only the labels differ.",
        f"Model {plan.model}, {counted(recipe.epochs, 'epoch')}, batches of {recipe.batch_size}, {recipe.optimizer} at "
        f"{recipe.learning_rate:g}. {least_p(seeds)}",
    )
