"""The parts of the paper by name: tables, figures, quoted numbers, claims; and how many of its runs are done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from votewise._checks import check_choice
from votewise.papers.same_target.cells import Cell, Claim, Table
from votewise.papers.same_target.choices import Choice, Choices, choices
from votewise.papers.same_target.cost import Cost, cost
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.figures import FIGURES, Figure
from votewise.papers.same_target.names import row_name
from votewise.papers.same_target.orderings import orderings
from votewise.papers.same_target.scalars import scalars
from votewise.papers.same_target.sparse import sparse
from votewise.papers.same_target.suites import all_runs
from votewise.papers.same_target.summary import Summary, summary
from votewise.papers.same_target.tables import TABLES


@dataclass(frozen=True)
class Claims:
    """What the paper says in words, each with a verdict."""

    name: str
    title: str
    claims: tuple[Claim, ...]


Part = Summary | Table | Figure | Claims | Choices | Cost


@dataclass(frozen=True)
class Coverage:
    """How many of the paper's runs are done, and which are not.

    Attributes:
        there: of the paper's runs.
        wanted: how many the paper did.
        missing: runs not there, by row.
    """

    there: int
    wanted: int
    missing: dict[str, int]


def find_parts(name: str, evidence: Evidence) -> list[Part]:
    """A part by name, made from evidence; "all" is every one, in the paper's order."""
    check_choice("the part of the paper", name, (*PARTS, "all"))
    return [_MAKERS[one](evidence) for one in (PARTS if name == "all" else (name,))]


def coverage(evidence: Evidence) -> Coverage:
    """The runs done, of those the paper did."""
    wanted, there = all_runs(), set(evidence.runs)
    absent = [run for run in wanted if run not in there]
    missing = Counter(row_name(Group(run.method, run.votes, run.hold)) for run in absent)
    return Coverage(len(wanted) - len(absent), len(wanted), dict(missing))


def as_json(part: Part) -> dict[str, Any]:
    """A part in plain values."""
    return {"name": part.name, "title": part.title, **_contents(part)}


def _contents(part: Part) -> dict[str, Any]:
    match part:
        case Summary() | Cost():
            return asdict(part)
        case Claims():
            return {"claims": [{**asdict(claim), "verdict": claim.verdict} for claim in part.claims]}
        case Choices():
            return {"choices": [_choice_as_json(one) for one in part.choices]}
        case Table():
            tests = [asdict(test) for test in part.tests]
            return {"cells": _cells_as_json(part.cells), "tests": tests, "notes": list(part.notes)}
        case Figure():
            panels = [_arrays_as_lists(asdict(panel)) for panel in part.panels]
            return {"cells": _cells_as_json(part.cells), "said": part.said, "panels": panels}


def _choice_as_json(choice: Choice) -> dict[str, Any]:
    found = [
        {"reading": name, "misfit": choice.misfit(name), "cells": _cells_as_json(cells)}
        for name, cells in choice.interpretations.items()
    ]
    return {"question": choice.question, "used": choice.used, "readings": found}


def _claims(evidence: Evidence) -> Claims:
    return Claims("orderings", "what the paper says in words", orderings(evidence))


def _summary(evidence: Evidence) -> Summary:
    tables = [make(evidence) for make in (*TABLES.values(), scalars)]
    return summary(tables, orderings(evidence))


_MAKERS: dict[str, Callable[[Evidence], Part]] = {
    "summary": _summary,
    **TABLES,
    **FIGURES,
    "scalars": scalars,
    "orderings": _claims,
    "choices": choices,
    "sparse": sparse,
    "cost": cost,
}
PARTS = tuple(_MAKERS)


def _cells_as_json(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    printed = ("row", "column", "ours", "published")
    return [
        {**{name: asdict(cell)[name] for name in printed}, "distance": cell.distance, "verdict": cell.verdict}
        for cell in cells
    ]


def _arrays_as_lists(panel: dict[str, Any]) -> dict[str, Any]:
    curves = [
        {name: value if isinstance(value, str) else value.tolist() for name, value in curve.items()}
        for curve in panel["curves"]
    ]
    return {**panel, "curves": curves}
