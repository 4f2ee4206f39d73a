"""Stored results: batches of what runs gave, written once and joined on reading, without torch or data.

A batch is one record of plain arrays. docs/results.md describes the layout.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from votewise._checks import first_few
from votewise._errors import InputError
from votewise.records._folder import DamagedRecordError
from votewise.records.joining import join_results, known_result_values, results_beyond
from votewise.records.record import JSON, RunRecord, RunSummary
from votewise.records.results import POSITIONS, Array, Between, Results, results_of
from votewise.records.rows import row_sort_key
from votewise.records.store import Fault, RecordStore

# The form of new batches. Form 1, a single one, had a row of every series for every run, and every number of every run.
FORM = 2

# What messages call the results that are in a folder already.
STORED = "the stored results"

# Arrays of the factors that every stored run has; others are JSON values in an array named for them.
_FACTORS = {"method": "methods", "votes": "votes", "hold": "holds", "seed": "seeds"}
_ALL_VOTES = 0
_FACTOR = "factor"

_SERIES, _LOG_PROBS, _HELD_OUT = "series", "_log_probs", "held_out"
_ACROSS, _SEEDS = "across", ".seeds"
# For each array of runs: which runs have it; and, where their values differ in size, the shapes.
_ROWS, _SHAPES = "rows", "shapes"

# What a record says of the batch, apart from the origin of its runs.
_ABOUT_BATCH = ("form", "after", "contents", "pairs")

# What was measured of each seed rather than of pairs of seeds in batches that do not say which is which.
_NOT_OF_PAIRS = "barrier"

# Names of numbers in form 1.
_RENAMED = {
    "scaled/soft_nll": "scaled_soft_nll_best",
    "scaled/temperature": "temperature_best",
    "ece/shares": "vote_ece_best",
}
_FORGOTTEN = ("diagnosis_as_planned",)

# What is kept of every run, for later questions.
_SCORES = ("soft_nll", "scaled_soft_nll", "vote_ece", "vote_ece_floor", "ece", "entropy_correlation", "accuracy")
KEPT = (*(f"{score}_{at}" for at in ("best", "last") for score in _SCORES), "train_soft_nll")


@dataclass(frozen=True, eq=False)
class Batch:
    """What was added to stored results at once.

    Attributes:
        id: the id of its record.
        after: ids of the batches that were there before.
        results: its runs, what it adds to runs of earlier batches, and what was measured between runs.
    """

    id: str
    after: tuple[str, ...]
    results: Results

    @property
    def number(self) -> int:
        """Its place in the order of batches, from 1; two that were added apart and brought together share one."""
        return len(self.after) + 1

    @property
    def name(self) -> str:
        """Its number and the beginning of its id."""
        return f"batch {self.number} ({self.id[:10]})"

    @property
    def new_runs(self) -> Results:
        """The runs that came with this batch, which are those whose predictions it holds, in order."""
        predicted = self.results.predicted.values()
        rows = [row for row in range(len(self.results)) if any(arrays[row] is not None for arrays in predicted)]
        return self.results.take(sorted(rows, key=lambda row: row_sort_key(self.results.run(row))))

    @property
    def completed(self) -> int:
        """How many runs of earlier batches it adds numbers to."""
        return len(self.results) - len(self.new_runs)

    @property
    def compared(self) -> dict[str, tuple[int, ...]]:
        """What it measures between runs, such as "barrier", and the seeds of these."""
        return {group: between.seeds for group, between in sorted(self.results.between.items())}


def is_batch(summary: RunSummary) -> bool:
    """Whether a record is a batch of results rather than a run."""
    return "form" in summary.config and "paper" in summary.config


def read_results(folder: str | os.PathLike[str], *others: str | os.PathLike[str]) -> Results:
    """The results in one or more folders, each of stored batches or of recorded runs.

    Results of one origin (paper, data, precision) are joined run by run, and two values of one number are an error.
    Where origins differ, what they differ in becomes a factor of the runs, and what belongs to no single run goes by
    the folder's name, too, such as "same-target/barrier", unless its origin is that of the first folder.
    """
    parts: dict[str, Results] = {}
    for path in (folder, *others):
        store = RecordStore(path)
        summaries, _ = store.survey()
        if summaries and not any(map(is_batch, summaries)):
            parts[str(path)] = results_of(store.records())
        elif batches := read_batches(path):
            parts[str(path)] = join_batches(batches)
        else:
            raise InputError(f"{str(path)!r} must hold results", "there are none", "Reduce runs into it")
    return unite_results(parts)


def unite_results(parts: Mapping[str, Results]) -> Results:
    """Results by their folder, joined as `read_results` does it."""
    own = next(iter(parts.values())).origin
    keys = {key for part in parts.values() for key in part.origin}
    apart = [key for key in sorted(keys) if len({part.origin.get(key) for part in parts.values()}) > 1]
    united = {}
    for path, part in parts.items():
        prefix = "" if part.origin == own else f"{Path(path).name}/"
        united[path] = replace(
            part,
            factors={**{key: (part.origin.get(key),) * len(part) for key in apart}, **part.factors},
            between={f"{prefix}{name}": between for name, between in part.between.items()},
            shared={f"{prefix}{name}": array for name, array in part.shared.items()},
            origin={key: value for key, value in part.origin.items() if key not in apart},
        )
    return join_results(united)


def read_batches(folder: str | os.PathLike[str]) -> list[Batch]:
    """The batches in a folder, every byte of them checked, in the order in which they were added."""
    store = RecordStore(folder)
    batches = _batches_in_order(_read_batch_record(store, name) for name in store.ids())
    known = {batch.id for batch in batches}
    for batch in batches:
        if lost := [name for name in batch.after if name not in known]:
            raise InputError(
                f"the results in {str(folder)!r} must hold all that {batch.name} was added to",
                f"the batch {first_few(lost)} is missing",
                "Restore its folder from version control or another copy",
            )
    return batches


def survey_batches(folder: str | os.PathLike[str]) -> tuple[list[Batch], list[Fault]]:
    """The batches in a folder that can be read, in order, and the records that cannot, or are no batches."""
    store, batches, faults = RecordStore(folder), [], []
    for name in store.ids():
        try:
            batches.append(_read_batch_record(store, name))
        except (InputError, OSError) as error:
            faults.append(Fault(name, str(error)))
    return _batches_in_order(batches), faults


def join_batches(batches: Sequence[Batch]) -> Results:
    """The results of at least one batch."""
    return join_results({batch.name: batch.results for batch in batches})


def add_batch(results: Results, folder: str | os.PathLike[str]) -> Batch | None:
    """Write what the results in a folder lack, as one batch, whole or not at all; None if they lack nothing.

    Results that contradict them are an error, and nothing is written.

    Args:
        results: what a paper's runs gave; each has at least the factors method, votes, hold and seed.
        folder: the stored results.
    """
    if "paper" not in results.origin or not results.factors.keys() >= _FACTORS.keys():
        raise InputError(
            f"stored results must name their paper, and {', '.join(_FACTORS)} of each run",
            f"these are of {first_few(sorted({*results.origin, *results.factors}))}",
            "Store what reducing a paper's runs gives",
        )

    def record() -> RunRecord | None:
        batches = read_batches(folder)
        new = join_results({"these runs": results})
        if batches:
            known = join_batches(batches)
            join_results({STORED: known, "these runs": new})
            new = results_beyond(new, known)
        if not len(new) and not new.between:
            return None
        arrays, contents = _batch_arrays(new), sha256()
        for name, array in sorted(arrays.items()):
            contents.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            contents.update(np.ascontiguousarray(array).tobytes())
        after: list[JSON] = [batch.id for batch in batches]
        pairs: list[JSON] = [group for group, between in new.between.items() if between.pairs]
        about: dict[str, JSON] = {"form": FORM, "after": after, "contents": contents.hexdigest(), "pairs": pairs}
        return RunRecord(config={**about, **new.origin}, status="done", arrays=arrays)

    store = RecordStore(folder)
    added = store.write_next(record, compressed=True)
    return None if added is None else _batch_of_record(added, store)


def missing_in_batches(batches: Sequence[Batch]) -> dict[str, dict[str, int]]:
    """What of `KEPT` the runs of each batch lack in all batches: by the batch's id, how many runs lack what."""
    places = {batch.id: [place for place, _ in known_result_values(batch.results)] for batch in batches}
    known = {(place.way[-1], place.owner) for in_batch in places.values() for place in in_batch}
    missing = {}
    for name, in_batch in places.items():
        new_runs = {place.owner for place in in_batch if place.way[0] == "predicted"}
        counts = {kind: sum((kind, run) not in known for run in new_runs) for kind in KEPT}
        missing[name] = {kind: count for kind, count in counts.items() if count}
    return missing


def runs_in_batches(batches: Sequence[Batch]) -> dict[str, list[RunSummary]]:
    """The runs that came with each batch, by its id, as rows of a table: with all that any batch knows of them."""
    whole = join_batches(batches) if batches else Results({})
    runs: dict[str, list[RunSummary]] = {}
    for batch in batches:
        runs[batch.id] = []
        for run in batch.new_runs.runs:
            (row,) = whole.rows({**dict.fromkeys(whole.factors), **run})
            numbers = {name: column[row] for name, column in whole.numbers.items() if not math.isnan(column[row])}
            config: dict[str, JSON] = {**whole.origin, "batch": batch.number, **run}
            runs[batch.id].append(RunSummary(config=config, status="done", numbers=numbers))
    return runs


def _batches_in_order(batches: Iterable[Batch]) -> list[Batch]:
    return sorted(batches, key=lambda batch: (batch.number, batch.id))


def _read_batch_record(store: RecordStore, name: str) -> Batch:
    try:
        return _batch_of_record(store.read(name), store)
    except DamagedRecordError as error:
        raise InputError(
            f"the batch of results in {str(store.folder / name)!r} must be undamaged",
            error.got,
            "Restore its folder from version control or another copy",
        ) from None


def _batch_of_record(record: RunRecord, store: RecordStore) -> Batch:
    where = f"{str(store.folder)!r} must hold results of form {FORM} or older"
    if not is_batch(record):
        raise InputError(where, f"{record.run_id} is another record", "Move it to another folder")
    form, after = record.config["form"], record.config.get("after", [])
    if form not in (1, FORM) or not isinstance(after, list):
        raise InputError(where, f"the form of {record.run_id} is {form!r}", "Read them with a newer votewise")
    try:
        return Batch(record.run_id, tuple(map(str, after)), _results_of_batch(record))
    # Arrays that are not there, or of another shape or kind than the others.
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise DamagedRecordError(store.folder / record.run_id, f"its arrays do not fit together ({error})") from None


def _batch_arrays(results: Results) -> dict[str, Array]:
    """Results as the arrays of a batch."""
    votes = [_ALL_VOTES if votes is None else votes for votes in results.factors["votes"]]
    arrays: dict[str, Array] = {
        array: np.array(
            votes if name == "votes" else results.factors[name], dtype=np.str_ if name == "method" else np.int64
        )
        for name, array in _FACTORS.items()
    }
    for name in results.factors.keys() - _FACTORS:
        arrays[f"{_FACTOR}.{name}"] = np.array(list(map(json.dumps, results.factors[name])), dtype=np.str_)

    names = sorted(results.numbers)
    numbers = np.array([results.numbers[name] for name in names]).reshape(len(names), len(results)).T
    places = np.argwhere(~np.isnan(numbers)).T
    arrays |= {
        "number_names": np.array(names, dtype=np.str_),
        "number_places": places,
        "numbers": numbers[tuple(places)],
    }

    tables = {f"{_SERIES}.{name}": values for name, values in results.series.items()}
    tables |= {f"{at}{_LOG_PROBS}": values for at, values in results.predicted.items()}
    tables |= {_HELD_OUT: results.held_out} if results.held_out else {}
    for name, values in tables.items():
        known = [(row, value) for row, value in enumerate(values) if value is not None]
        shapes = np.array([value.shape for _, value in known])
        arrays[f"{_ROWS}.{name}"] = np.array([row for row, _ in known])
        arrays[name] = np.zeros((len(known), *shapes.max(axis=0)), dtype=np.result_type(*(value for _, value in known)))
        for place, (_, value) in enumerate(known):
            arrays[name][place][tuple(map(slice, value.shape))] = value
        if (shapes != shapes[0]).any():
            arrays[f"{_SHAPES}.{name}"] = shapes

    for group, between in results.between.items():
        arrays[f"{_ACROSS}.{group}{_SEEDS}"] = np.array(between.seeds)
        arrays |= {f"{_ACROSS}.{group}.{name}": array for name, array in between.arrays.items()}
    return arrays | {f"{_ACROSS}.{name}": array for name, array in results.shared.items()}


def _results_of_batch(record: RunRecord) -> Results:
    """The results that the arrays of a batch hold."""
    arrays = record.arrays
    factors: dict[str, tuple[JSON, ...]] = {name: tuple(arrays[array].tolist()) for name, array in _FACTORS.items()}
    factors["votes"] = tuple(None if votes == _ALL_VOTES else votes for votes in factors["votes"])
    series: dict[str, tuple[Array | None, ...]] = {}
    predicted: dict[str, tuple[Array | None, ...]] = {}
    shared: dict[str, Array] = {}
    between: dict[str, dict[str, Array]] = {
        name.removeprefix(f"{_ACROSS}.").removesuffix(_SEEDS): {}
        for name in arrays
        if name.startswith(f"{_ACROSS}.") and name.endswith(_SEEDS)
    }
    for name, array in arrays.items():
        kind, _, rest = name.partition(".")
        if kind == _FACTOR:
            factors[rest] = tuple(map(json.loads, array.tolist()))
        elif kind == _SERIES:
            series[rest] = _of_runs(name, arrays)
        elif kind == _ACROSS and not name.endswith(_SEEDS):
            group = next((group for group in between if rest.startswith(f"{group}.")), None)
            if group is not None:
                between[group][rest.removeprefix(f"{group}.")] = array
            elif not rest.endswith(f".{POSITIONS}"):  # a grid on which nothing was measured
                shared[rest] = array
        elif not rest and kind.endswith(_LOG_PROBS):
            predicted[kind.removesuffix(_LOG_PROBS)] = _of_runs(name, arrays)
    if any(len(column) != len(arrays["seeds"]) for column in factors.values()):
        raise ValueError("they are of different numbers of runs")
    pairs: Any = record.config.get("pairs", [group for group in between if group != _NOT_OF_PAIRS])
    names = arrays["number_names"].tolist()
    if record.config["form"] == 1:
        columns = zip(names, arrays["numbers"].T, strict=True)
        numbers = {_RENAMED.get(name, name): column for name, column in columns if name not in _FORGOTTEN}
    else:
        table = np.full((len(names), len(arrays["seeds"])), np.nan)
        rows, places = arrays["number_places"]
        table[places, rows] = arrays["numbers"]
        numbers = dict(zip(names, table, strict=True))
    return Results(
        factors,
        numbers,
        series,
        predicted,
        _of_runs(_HELD_OUT, arrays) if _HELD_OUT in arrays else (),
        {
            group: Between(tuple(arrays[f"{_ACROSS}.{group}{_SEEDS}"].tolist()), tables, group in pairs)
            for group, tables in between.items()
        },
        shared,
        origin={name: str(value) for name, value in record.config.items() if name not in _ABOUT_BATCH},
    )


def _of_runs(name: str, arrays: Mapping[str, Array]) -> tuple[Array | None, ...]:
    """An array of each run that has one; in form 1 those without have NaN."""
    table, shapes = arrays[name], arrays.get(f"{_SHAPES}.{name}")
    values: list[Array | None] = [None] * len(arrays["seeds"])
    for place, row in enumerate(arrays.get(f"{_ROWS}.{name}", np.arange(len(values))).tolist()):
        value = table[place] if shapes is None else table[place][tuple(map(slice, shapes[place]))]
        values[row] = None if np.isnan(value).all() else value
    return tuple(values)
