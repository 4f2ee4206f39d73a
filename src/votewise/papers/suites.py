"""The runs of a paper by suite, and what results call each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from votewise.experiments.measure import Plan
from votewise.experiments.run import RUN_VERSION, Run
from votewise.papers.encoders import PaperEncoder
from votewise.records import JSON, Results
from votewise.statistics import Sample

if TYPE_CHECKING:
    from votewise.data import Prepared
    from votewise.training import TrainConfig

# Which runs are meant: value by factor, as `Results.sample` takes it.
Where = Mapping[str, Any]

# A number by its name, or as a function of results and the runs that are meant.
Number = str | Callable[[Results, Where], Sample]

# What results call a run: value by factor.
Name = dict[str, JSON]

# What makes runs of several seeds repetitions of each other; what suites of one paper may differ in besides.
CONDITION = ("method", "votes", "hold")
SETTINGS = ("dataset", "model", "selected")


@dataclass(frozen=True)
class Suite:
    """One comparison: every method on every seed under every condition, on one data set by one recipe.

    Attributes:
        dataset: name of what is trained on, one of the paper's data sets.
        model: name of the model.
        recipe: gives the training recipe.
        methods: names of methods or variants.
        seeds: how many, from 0; suites share the runs of their common seeds.
        votes: numbers of votes per item, each its own condition; None for all.
        holds: numbers of epochs for which a drawn label is kept, likewise.
        variants: method, and changes of the recipe, by the name under which the paper has both.
        held_out: share of the items that a run is scored on.
        selected: share of the items that choose the best epoch; 0 to choose it on the held-out items.
        beyond: whether the paper did not do it, so that "all" leaves it out.
        items: how many of the items are used, the first ones; None for all.
        outliers: how many of the OOD images are used, likewise.
        plan: what is measured of each run; None for what the paper measures.
        encoder: the pretrained encoder that the model is; None if it is none.
    """

    dataset: str
    model: str
    recipe: Callable[[], TrainConfig]
    methods: tuple[str, ...]
    seeds: int
    votes: tuple[int | None, ...] = (None,)
    holds: tuple[int, ...] = (1,)
    variants: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    held_out: float = 0.2
    selected: float = 0.0
    beyond: bool = False
    items: int | None = None
    outliers: int | None = None
    plan: Plan | None = None
    encoder: PaperEncoder | None = None

    @property
    def names(self) -> list[Name]:
        """What its runs are called, method by method."""
        values = product(self.methods, self.votes, self.holds, range(self.seeds))
        return [{**self.settings, **dict(zip((*CONDITION, "seed"), each, strict=True))} for each in values]

    @property
    def settings(self) -> Name:
        """What all its runs have in common, as factors."""
        return {name: getattr(self, name) for name in SETTINGS}

    def runs(self, data: Prepared, *, seeds: int | None = None, precision: str = "fp32") -> dict[Run, Name]:
        """Its runs, seed by seed, and what each is called.

        Args:
            data: what they are trained on.
            seeds: how many; the suite's own number if left out.
            precision: of training.
        """
        runs: dict[Run, Name] = {}
        model = self.model if data.encoder is None else data.encoder[0]
        numbers = range(self.seeds if seeds is None else seeds)
        for seed, votes, hold, name in product(numbers, self.votes, self.holds, self.methods):
            method, _ = self.variants.get(name, (name, {}))
            run = Run(
                data.name, data.checksum, method, seed, self.recipe_of(name, precision), model, votes,
                self.held_out, self.selected, options=() if hold == 1 else (("hold", hold),),
            )  # fmt: skip
            runs[run] = {**self.settings, "method": name, "votes": votes, "hold": hold, "seed": seed}
        return runs

    def recipe_of(self, name: str, precision: str) -> TrainConfig:
        """The recipe of a method or variant."""
        _, changes = self.variants.get(name, (name, {}))
        return replace(self.recipe(), precision=precision, **changes)

    def name_of(self, config: Mapping[str, Any], precision: str) -> Name | None:
        """What the run of a stored config is called; None if it does not follow the suite's recipe.

        Args:
            config: what a run's record says it was.
            precision: the precision of training.
        """
        if (config.get("dataset"), config.get("version")) != (self.dataset, RUN_VERSION):
            return None
        name = config["method"]
        for variant, (method, changes) in self.variants.items():
            if config["method"] == method and changes.items() <= config["recipe"].items():
                name = variant
        if config["model"] not in ((self.model,) if self.encoder is None else self.encoder.labels):
            return None
        followed = {
            "recipe": self.recipe_of(name, precision).to_dict(), "held_out": self.held_out, "selected": self.selected
        }  # fmt: skip
        if any(config[part] != value for part, value in followed.items()):
            return None
        condition = {part: config[part] for part in ("votes", "hold", "seed")}
        return {**self.settings, "method": name, **condition}


def paper_run_matches(name: Where, where: Where) -> bool:
    """Whether a run is among those that are meant."""
    return all(name.get(factor) == value for factor, value in where.items())


def pairs_of(names: Iterable[Where], first: Where, second: Where) -> list[tuple[int, int]]:
    """Places of two runs that differ only in what two selections differ in, the first and the second of them.

    Args:
        names: what runs are called.
        first: selects the first run of each pair.
        second: what its partner has instead.
    """
    names = list(names)
    places = {frozenset(name.items()): place for place, name in enumerate(names)}
    partners = [
        (place, frozenset({**name, **second}.items()))
        for place, name in enumerate(names)
        if paper_run_matches(name, first)
    ]
    return [(place, places[partner]) for place, partner in partners if partner in places]
