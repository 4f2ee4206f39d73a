"""A paper as data: its runs, its printed numbers, and the tables, figures and claims in which ours stand beside them.

Everything that is the same for every paper is in this room; what one paper is stands in a folder of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise._checks import check_choice
from votewise.data import Dataset, Outliers, Prepared, prepare
from votewise.experiments.measure import Plan
from votewise.papers.published import Key, PaperCell, Printed
from votewise.papers.suites import CONDITION, SETTINGS, Name, Number, Suite, Where, pairs_of
from votewise.records import Array, Results
from votewise.report.document import Panel
from votewise.statistics import PairedTest, Sample, adjusted, common_seeds, paired_test
from votewise.statistics.decide import agreements

if TYPE_CHECKING:
    from votewise.papers.claims import Claim
    from votewise.papers.reduce import PaperRun

Numbers = Mapping[str, float]
Series = Mapping[str, Array]

# How each open choice is taken: what stands for {NAME} in titles, numbers and factors, by the choice's name.
Settings = Mapping[str, str]


@dataclass(frozen=True)
class Axis:
    """A row or a column of a table.

    Attributes:
        title: its name in the table.
        where: the runs that it selects.
        number: the number that it shows; given by rows or by columns.
        key: its part of the key under which the paper prints it.
    """

    title: str
    where: Where = field(default_factory=dict)
    number: str = ""
    key: Key = ()


@dataclass(frozen=True)
class Entry:
    """One number to show, and where the paper prints it.

    Attributes:
        row: what the number is of.
        column: what it says.
        number: its name in the results, or a function that gives it by seed from results and `where`.
        where: its runs.
        key: its key among the printed numbers; any other says that the paper prints none.
        less: name and runs of a number that is subtracted, seed by seed.
    """

    row: str
    column: str
    number: Number
    where: Where
    key: Key = ()
    less: tuple[Number, Where] | None = None

    def sample(self, results: Results, settings: Settings) -> Sample:
        """The number by seed."""
        terms = []
        for number, of in ((self.number, self.where), *((self.less,) if self.less else ())):
            where = {factor: fill_open_choices(value, settings) for factor, value in of.items()}
            if isinstance(number, str):
                terms.append(results.sample(number.format(**settings), where))
            else:
                terms.append(number(results, where))
        return terms[0].less(terms[1]) if self.less else terms[0]


def fill_open_choices(value: Any, settings: Settings) -> Any:
    """A text with open choices as they are taken; anything else as it is."""
    return value.format(**settings) if isinstance(value, str) else value


def paper_entries(table: str, rows: Sequence[Axis], columns: Sequence[Axis]) -> tuple[Entry, ...]:
    """A number for each row in each column.

    Args:
        table: the table whose printed numbers stand beside them.
        rows: rows, whose order is kept.
        columns: columns; where both say which runs or number, these count.
    """
    return tuple(
        Entry(
            row.title,
            column.title,
            column.number or row.number,
            {**row.where, **column.where},
            (table, *row.key, *column.key),
        )
        for row in rows
        for column in columns
    )


@dataclass(frozen=True)
class Pairing:
    """A number of some runs, to be tested against that of others seed by seed.

    Attributes:
        first: the runs tested.
        second: the runs they are tested against.
        column: the number in words.
        number: its name in the results.
        alternative: "two-sided", or whether the first is expected to be "less" or "greater".
        lower_is_better: whether a seed is won by the lower number.
        key: the key of a printed p-value; any other says that there is none.
    """

    first: Where
    second: Where
    column: str
    number: str
    alternative: str = "two-sided"
    lower_is_better: bool = True
    key: Key = ()


# A note below a table: fixed words, or what the results and the table's cells call for.
Note = str | Callable[[Results, Sequence[PaperCell]], Iterable[str]]


@dataclass(frozen=True)
class TableSpec:
    """A table of a paper, or one that goes beyond it.

    Attributes:
        name: such as "table-4".
        title: what it shows.
        entries: its numbers.
        alike: what entries that share an SD have in common; None where each number has its own.
        pairings: tests that belong to it.
        holm: whether the tests are one family, adjusted together.
        notes: what a reader needs to know.
        repeated: rows that the paper prints in another table as well, which are counted there.
    """

    name: str
    title: str
    entries: tuple[Entry, ...]
    alike: Callable[[Entry], Hashable] | None = None
    pairings: tuple[Pairing, ...] = ()
    holm: bool = False
    notes: tuple[Note, ...] = ()
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True)
class FigureSpec:
    """Our version of one of a paper's figures.

    Attributes:
        name: such as "figure-4".
        title: what it shows.
        said: what the paper says of its own.
        panels: what each panel draws; those without curves are left out.
        entries: the numbers that belong to it.
    """

    name: str
    title: str
    said: str
    panels: tuple[Callable[[Results], Panel], ...]
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class Choice:
    """A question that a paper leaves open.

    Attributes:
        name: what stands for the answer, as {NAME}, in titles, numbers and factors of tables and figures.
        question: what the paper does not say.
        interpretations: the possible answers: what stands for {NAME}, by the answer in words.
        used: the answer that fits the paper's numbers best, which tables and figures take.
        entries: printed numbers that depend on it.
        usual: the answer by the usual definitions, if it is another.
        alike: what entries that share an SD have in common; None where each number has its own.
        same_seeds: whether to compare all answers on the seeds that have all of them.
    """

    name: str
    question: str
    interpretations: Mapping[str, str]
    used: str
    entries: tuple[Entry, ...]
    usual: str = ""
    alike: Callable[[Entry], Hashable] | None = None
    same_seeds: bool = False


@dataclass(frozen=True, eq=False)
class Paper:
    """A paper whose results are repeated.

    Attributes:
        name: its name on the command line, as in "reproduce NAME".
        reference: where it is to be found; stored results are named by it.
        cite: authors, year and reference.
        names: methods in words.
        published: all that it prints.
        datasets: what its runs are trained on by name, each loaded from a folder or the usual one.
        suites: its comparisons, and what is done beyond them, by name.
        sources: names of papers whose stored results it reads besides its own; the factor "paper" tells them apart.
        tables: its tables.
        figures: its figures.
        quoted: numbers in its text.
        claims: what it says in words.
        overlap: held-out items per training item, where seeds split the same items anew; 0 where seeds are independent.
        choices: what it leaves open.
        beyond: tables of what it does not try.
        scores: the numbers that are shown of finished runs, without "_best" and "_last".
        outliers: loaders of OOD images, from a folder or the usual one.
        measure: gives what is measured of a run.
        barriers: selections of the first and the second run of each loss barrier, by the name of the barriers.
        similar: selections of runs whose features and Grad-CAM maps are compared between seeds, by name.
        numbers_of_run: gives numbers and series of one run beyond those recorded, with the data if they are at hand.
        numbers_of_results: gives numbers that the run in one row may lack, from what results keep of all runs.
        shared: gives arrays that belong to no run.
        training_losses: whether its results keep the loss of each training item, where runs recorded it.
    """

    name: str
    reference: str
    cite: str
    names: Mapping[str, str]
    published: Printed
    datasets: Mapping[str, Callable[[Path | None], Dataset]] = field(default_factory=dict)
    suites: Mapping[str, Suite] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    tables: tuple[TableSpec, ...] = ()
    figures: tuple[FigureSpec, ...] = ()
    quoted: TableSpec | None = None
    claims: tuple[Claim, ...] = ()
    overlap: float = 0.0
    choices: tuple[Choice, ...] = ()
    beyond: tuple[TableSpec, ...] = ()
    scores: tuple[str, ...] = ("soft_nll", "accuracy", "ece", "entropy_correlation")
    outliers: tuple[Callable[[Path | None], Outliers], ...] = ()
    measure: Callable[[Where], Plan] = lambda _: Plan()
    barriers: Mapping[str, tuple[Where, Where]] = field(default_factory=dict)
    similar: Mapping[str, Where] = field(default_factory=dict)
    numbers_of_run: Callable[[PaperRun, Prepared | None], Iterable[tuple[Numbers, Series]]] = lambda *_: ()
    numbers_of_results: Callable[[Results, int, Prepared], Iterable[Numbers]] = lambda *_: ()
    shared: Callable[[], Mapping[str, Array]] = dict
    training_losses: bool = True

    # --- its runs

    @property
    def suite_names(self) -> tuple[str, ...]:
        """Its own suites, "all" of these, and what goes beyond them."""
        own, beyond = ([name for name, one in self.suites.items() if one.beyond == far] for far in (False, True))
        return (*own, "all", *beyond)

    def find_suites(self, name: str) -> tuple[Suite, ...]:
        """The suites of a name; "all" is every one of the paper's."""
        check_choice("the suite", name, self.suite_names)
        return tuple(one for one in self.suites.values() if not one.beyond) if name == "all" else (self.suites[name],)

    @property
    def factors(self) -> tuple[str, ...]:
        """What its runs differ in: method, votes, hold and seed, and what its suites, or its sources, do not share."""
        own = [one for one in self.suites.values() if not one.beyond]
        varied = [name for name in SETTINGS if len({getattr(suite, name) for suite in own}) > 1]
        return (*(("paper",) if self.sources else ()), *varied, *CONDITION, "seed")

    def named(self, name: Name) -> Name:
        """A run as this paper's results call it."""
        whole = {"paper": self.reference, **name}
        return {factor: whole[factor] for factor in self.factors}

    def runs_of(self, *suites: str) -> list[Name]:
        """Every run of some suites, each once; "all" for the paper's."""
        names = [self.named(name) for each in suites for suite in self.find_suites(each) for name in suite.names]
        return list({tuple(name.items()): name for name in names}.values())

    def name_of(self, config: Mapping[str, Any], *, suite: str = "all", precision: str = "bf16") -> Name | None:
        """What results call the run of a stored config; None if it follows no recipe of a suite in that precision."""
        names = (one.name_of(config, precision) for one in self.find_suites(suite))
        return next((self.named(name) for name in names if name is not None), None)

    def own(self, results: Results) -> Results:
        """Its own runs, without those of its sources."""
        return results.where({"paper": self.reference}) if self.sources else results

    def load(self, suite: Suite, folder: Path | None) -> Prepared:
        """What the runs of a suite are trained on, from a folder of data or the usual one."""
        from votewise.models import find_model

        dataset = self.datasets[suite.dataset](folder)
        if suite.items is not None:
            dataset = dataset.take(np.arange(suite.items))
        label = suite.model if suite.encoder is None else suite.encoder.find(folder)
        return prepare(dataset, find_model(label, dataset.source.kind))

    def load_votes(self, suite: Suite, folder: Path | None) -> Prepared:
        """The same without the inputs, for what is computed of finished runs."""
        dataset = self.datasets[suite.dataset](folder)
        if suite.items is not None:
            dataset = dataset.take(np.arange(suite.items))
        nothing = np.empty((len(dataset.source), 0), dtype=np.float32)
        return Prepared(dataset.name, dataset.source.kind, dataset.checksum, nothing, dataset.votes, dataset.labels)

    def measured(self, names: Sequence[Where]) -> list[str]:
        """A name for each measurement that some runs ask for; those of one name take equally long."""
        plans = [plan for name in names if not (plan := self.measure(name)).is_empty]
        ways = [kind for kind, ends in self.barriers.items() for _ in pairs_of(names, *ends)]
        return [*(str(plan.to_dict()) for plan in plans), *ways]

    # --- its numbers

    @property
    def settings(self) -> Settings:
        """Every open choice by the answer that fits the paper's numbers best."""
        return {choice.name: choice.interpretations[choice.used] for choice in self.choices}

    @property
    def usual_settings(self) -> Settings:
        """Every open choice by the usual definitions."""
        return {choice.name: choice.interpretations[choice.usual or choice.used] for choice in self.choices}

    def row_name(self, where: Where) -> str:
        """Runs as a row of a table, such as "SLS, 10 votes, first 5 seeds"."""
        return self.run_label({**where, "method": self.names.get(where["method"], where["method"])})

    def run_label(self, where: Where) -> str:
        """Runs by the name of their method, such as "sls, 10 votes"."""
        return ", ".join(filter(None, (str(where["method"]), self.condition(where))))

    def condition(self, where: Where) -> str:
        """What runs have in common beside their method, such as "10 votes, first 5 seeds"."""
        parts = [str(where[name]) for name in ("dataset", "model") if where.get(name) is not None]
        if where.get("selected"):
            parts.append(f"best epoch chosen on {where['selected']:.0%} of the items")
        if where.get("votes") is not None:
            parts.append(f"{where['votes']} votes")
        if where.get("hold", 1) != 1:
            parts.append(f"kept {where['hold']} epochs")
        if isinstance(where.get("seed"), range):
            parts.append(f"first {len(where['seed'])} seeds")
        return ", ".join(parts)

    def cells(
        self,
        entries: Sequence[Entry],
        results: Results,
        settings: Settings | None = None,
        alike: Callable[[Entry], Hashable] | None = None,
        seeds: Sequence[Sequence[int]] | None = None,
    ) -> tuple[PaperCell, ...]:
        """Our numbers beside the printed ones.

        Args:
            entries: which numbers.
            results: our runs.
            settings: how open choices are taken; as in tables if omitted.
            alike: what entries that share an SD have in common; None where each number has its own.
            seeds: the seeds to take for each number; all if omitted.
        """
        chosen = self.settings if settings is None else settings
        samples = [entry.sample(results, chosen) for entry in entries]
        if seeds is not None:
            samples = [sample.on(each) for sample, each in zip(samples, seeds, strict=True)]
        published = [self.published.numbers.get(entry.key) for entry in entries]
        found = agreements(samples, published, [alike(entry) for entry in entries] if alike else None)
        return tuple(
            PaperCell(
                fill_open_choices(entry.row, chosen),
                fill_open_choices(entry.column, chosen),
                ours if ours.by_seed else None,
                printed,
                agreement,
            )
            for entry, ours, printed, agreement in zip(entries, samples, published, found, strict=True)
        )

    def interpretations(self, choice: Choice, results: Results) -> dict[str, tuple[PaperCell, ...]]:
        """What each answer to an open question gives, by the answer in words."""
        chosen = {words: {**self.settings, choice.name: value} for words, value in choice.interpretations.items()}
        seeds = None
        if choice.same_seeds:
            samples = [[entry.sample(results, settings) for settings in chosen.values()] for entry in choice.entries]
            seeds = [common_seeds([one for one in each if one.n]) for each in samples]
        return {
            words: self.cells(choice.entries, results, settings, choice.alike, seeds)
            for words, settings in chosen.items()
        }

    def paired_tests(self, table: TableSpec, results: Results) -> tuple[PairedTest, ...]:
        """The tests of a table, in its order."""
        tests = []
        for pairing in table.pairings:
            number = pairing.number.format(**self.settings)
            first, second = (results.sample(number, of) for of in (pairing.first, pairing.second))
            alternative, lower = pairing.alternative, pairing.lower_is_better
            tests.append(paired_test(first, second, alternative=alternative, smaller_is_better=lower))
        return adjusted(tests) if table.holm else tuple(tests)
