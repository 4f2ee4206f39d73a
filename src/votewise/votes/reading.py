"""The plan by which a table of votes is read: which column is what, in which form, and what was left out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from votewise._checks import check_choice, first_few
from votewise._errors import InputError
from votewise._files import as_path, cannot_find
from votewise._json import parse_json, parse_toml

FORMS = ("long", "wide", "counts", "probabilities", "one-hot", "lists", "survey")

_ROWS = {
    "long": "one row per vote",
    "one-hot": "one row per vote, one column per class",
    "wide": "one row per item, one column per annotator",
    "lists": "one row per item, its votes in one cell",
    "counts": "one row per item, one column of counts per class",
    "probabilities": "one row per item, one column of shares per class",
    "survey": "one row per annotator, one column per item",
}

# The rules that decide about single votes, and what they may be.
CHOICES = {
    "duplicates": ("error", "last", "all"),
    "several": ("error", "drop", "each"),
    "missing": ("error", "drop"),
    "empty": ("error", "drop"),
}


@dataclass(frozen=True)
class Reading:
    """How a table of votes is read. Whatever is left out is filled in by looking at the table.

    Attributes:
        form: one of `FORMS`.
        format: name of the export of a tool, one of `votewise.votes.FORMATS`.
        question: the question of an export whose answers are votes.
        item: the columns that together name the item; usually one.
        annotator: column of the annotator.
        label: column of the label, or of the lists of labels.
        raters: the columns of a wide table, one for each annotator; patterns such as 'Score*' are allowed.
        rater_ids: the columns with the annotators' ids, parallel to `raters`.
        item_columns: the columns of a survey, one for each item.
        item_ids: the columns with the items' ids, parallel to `item_columns`.
        classes: all class names in order; where classes are columns, those columns, or patterns for them.
        count: column that says how many votes a row stands for; in a table of shares, how many they are shares of.
        weight: column of fractional weights, which make shares of the votes.
        ignored: columns known not to matter.
        without: rows to leave out, as 'column=value'.
        fill: columns in which a blank cell stands for the cell above, as merged cells of a spreadsheet do.
        split: what separates the labels in a cell: a separator, "lines", "json" or "chars"; "counts" or "people" where
            it is an object that says how often each class was chosen, or what each annotator said.
        gaps: what stands for "no answer".
        bins: the number of equal bins for numbers, or their edges.
        duplicates: an annotator's second vote on an item: "error", "last" or "all".
        several: an answer with several classes: "error", "drop" or "each".
        missing: a row without a label: "error" or "drop".
        empty: an item without votes: "error" or "drop".
        separator: what separates the cells of a text file.
        quote: '"', or "none" where quotes are plain text.
        encoding: encoding of a text file.
        header_rows: rows of column names; 0 if there are none. The first counts, unless it has merged cells.
        skip_rows: rows above the column names.
    """

    form: str | None = None
    format: str | None = None
    question: str | None = None
    item: tuple[str, ...] = ()
    annotator: str | None = None
    label: str | None = None
    raters: tuple[str, ...] = ()
    rater_ids: tuple[str, ...] = ()
    item_columns: tuple[str, ...] = ()
    item_ids: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    count: str | None = None
    weight: str | None = None
    ignored: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    fill: tuple[str, ...] = ()
    split: str | None = None
    gaps: tuple[str, ...] = ()
    bins: tuple[float, ...] = ()
    duplicates: str | None = None
    several: str | None = None
    missing: str | None = None
    empty: str | None = None
    separator: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header_rows: int | None = None
    skip_rows: int | None = None

    def __post_init__(self) -> None:
        """Check the choices, and make lists tuples."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _LISTS:
                as_list = [value] if isinstance(value, (str, int, float)) else list(value or ())
                object.__setattr__(self, field.name, tuple(as_list))
        for name, choices in CHOICES.items():
            if getattr(self, name) is not None:
                check_choice(name, getattr(self, name), choices)
        if self.form is not None:
            check_choice("form", self.form, FORMS)

    @property
    def given(self) -> dict[str, Any]:
        """The fields that are filled."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, ())}

    def over(self, other: Reading) -> Reading:
        """This reading, with the fields it leaves out taken from another."""
        return replace(other, **self.given)

    @property
    def sentence(self) -> str:
        """The plan in one line."""
        parts = [_ROWS.get(self.form or "", f"export of {self.format}")]
        for role in ("item", "annotator", "label", "count", "weight", "question"):
            value = getattr(self, role)
            if value:
                parts.append(f"{role} = {' + '.join(value) if isinstance(value, tuple) else value}")
        for role, many in (
            ("raters", "raters"),
            ("rater_ids", "rater ids"),
            ("item_columns", "item columns"),
            ("item_ids", "item ids"),
            ("classes", "classes"),
        ):
            value = getattr(self, role)
            if value:
                parts.append(f"{many} = {_shortened(value)}")
        if self.fill:
            parts.append(f"blanks in {_shortened(self.fill)} as above")
        if self.without:
            parts.append(f"without {', '.join(self.without)}")
        if self.ignored:
            parts.append(f"ignored: {_shortened(self.ignored)}")
        return " · ".join(parts)

    def options(self) -> str:
        """The plan as options of the command line."""
        words = []
        for name, value in self.given.items():
            if name == "header_rows" and value == 0:
                words.append("--no-header")
                continue
            text = (
                ",".join(f"{one:g}" if isinstance(one, float) else one for one in value)
                if name in _LISTS
                else str(value)
            )
            words.append(f"--{_OPTIONS.get(name, name.replace('_', '-'))} {_quoted(text)}")
        return " ".join(words)

    def arguments(self) -> str:
        """The plan as arguments of `read_votes`."""
        shown = {
            _ARGUMENTS.get(name, name): (value[0] if len(value) == 1 and name != "classes" else list(value))
            if isinstance(value, tuple)
            else value
            for name, value in self.given.items()
        }
        return ", ".join(f"{name}={value!r}" for name, value in shown.items())

    def to_dict(self) -> dict[str, Any]:
        """The filled fields, as JSON and TOML know them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self.given.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Reading:
        """A reading from its fields; unknown ones are refused."""
        known = [field.name for field in fields(cls)]
        unknown = [name for name in values if name not in known]
        if unknown:
            raise InputError(
                f"a reading has the fields {', '.join(known)}", f"got {first_few(unknown)}", "Leave those out"
            )
        return cls(**values)

    def save(self, path: str | Path) -> None:
        """Write the plan as TOML, or as JSON if the name ends in .json."""
        path = Path(path)
        if path.suffix == ".json":
            path.write_text(json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            return
        lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in self.to_dict().items()]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Reading:
        """Read a plan that `save` or a person wrote."""
        path = as_path(path)
        if not path.exists():
            raise cannot_find(path)
        try:
            content = path.read_bytes()
            values = parse_json(content.decode()) if path.suffix == ".json" else parse_toml(content)
            if not isinstance(values, dict):
                raise ValueError("it holds no fields")
            _check_plain(values)
        except ValueError as error:
            raise InputError(
                f"the reading {str(path)!r} must be TOML or JSON", f"reading it failed: {error}", "Fix it"
            ) from None
        return cls.from_dict(values)


def _check_plain(values: Mapping[str, Any]) -> None:
    """Refuse fields other than text, numbers, and lists of those."""
    for name, value in values.items():
        plain = all(isinstance(one, (str, int, float)) for one in (value if isinstance(value, list) else [value]))
        if not plain and value is not None:
            raise ValueError(f"{name!r} must be text, a number, or a list of those")


_LISTS = frozenset(field.name for field in fields(Reading) if str(field.type).startswith("tuple"))

# Options whose name is not that of the field, in Python and on the command line, where --bins are those of calibration.
_ARGUMENTS = {"ignored": "ignore", "gaps": "gap"}
_OPTIONS = {**_ARGUMENTS, "bins": "label-bins"}


def names_in(text: str | Iterable[object] | None) -> tuple[str, ...]:
    """Names separated by commas, or a list of them."""
    if text is None:
        return ()
    if isinstance(text, str):
        return tuple(name.strip() for name in text.split(",") if name.strip())
    return tuple(str(name) for name in text)


def _shortened(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} columns ({names[0]}, {names[1]}, … {names[-1]})"


def _quoted(text: str) -> str:
    return shlex.quote(text)
