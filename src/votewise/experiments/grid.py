"""Grids of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from votewise._checks import check_number, first_few
from votewise._errors import InputError
from votewise.data.dataset import Prepared
from votewise.delivery.methods import METHODS, method_label, parse_method
from votewise.experiments.run import Run, check_votes_for_runs

if TYPE_CHECKING:
    from votewise.training import TrainConfig


@dataclass(frozen=True)
class Grid:
    """Runs of every method on every seed, number of votes and model. With the same seed only the labels differ.

    Attributes:
        methods: names, perhaps with options ("sls:hold=5"), the baseline first.
        seeds: root seeds.
        votes: numbers of votes per item, redrawn for training; None for the votes as they are.
        models: names of models, perhaps with options; the default of the data's kind if empty, or the encoder that the
            data are prepared for.
        held_out: share of the items that are scored.
        selected: share of the items that choose the best epoch; 0 to choose it on the held-out items.
        folds: n, if the seeds are to hold out every item in turn, n seeds each item once; 0 if each seed draws its own.
        blind: whether splits look at no votes, not even to give each side its share of each majority.
    """

    methods: tuple[str, ...]
    seeds: range
    votes: tuple[int | None, ...] = (None,)
    models: tuple[str, ...] = ()
    held_out: float = 0.2
    selected: float = 0.0
    folds: int = 0
    blind: bool = False

    def __post_init__(self) -> None:
        """Refuse grids that cannot be compared."""
        labels = [method_label(*parse_method(method)) for method in self.methods]
        if not labels:
            raise InputError("a comparison needs at least one method", "got none", f"Name some of {', '.join(METHODS)}")
        if len(set(labels)) < len(labels):
            raise InputError("methods must be different", f"got {first_few(labels)}", "Name each once")
        if not self.seeds:
            raise InputError("a comparison needs at least one seed", "got none", "Pass range(5)")
        check_number("the share held out", self.held_out, 0.01, 0.8)

    def runs(self, data: Prepared, recipe: TrainConfig) -> list[Run]:
        """Every run, seed by seed; votes that a method cannot deliver are refused before anything is trained.

        Args:
            data: what is trained on.
            recipe: the training recipe.
        """
        from votewise.models import default_model, find_model, run_label

        models = self.models or (data.encoder[0] if data.encoder else default_model(data.kind),)
        for model in models:
            if data.encoder is None:  # which made the inputs itself
                find_model(model, data.kind).check(data.inputs.shape[1:])
        if len(data.votes.classes) < 2:
            raise InputError(
                "a comparison needs at least two classes",
                f"the votes have only {first_few(data.votes.classes)}",
                "Name those that nobody chose with classes= (--classes)",
            )
        methods = [parse_method(method) for method in self.methods]
        labels = [run_label(model, data.kind) for model in models]
        runs = [
            Run(
                data.name, data.checksum, name, seed, recipe, model, votes,
                self.held_out, self.selected, self.folds, options=tuple(options.items()), blind=self.blind,
            )
            for seed in self.seeds
            for model in labels
            for votes in self.votes
            for name, options in methods
        ]  # fmt: skip
        check_votes_for_runs(runs, data.votes)
        return runs
