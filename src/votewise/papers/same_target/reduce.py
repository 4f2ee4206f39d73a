"""Reduce a store of the paper's runs to `Evidence`: all that tables and figures need, at a hundredth of the size.

Curves, scores and diagnostics are copied; what needs the votes, and what compares runs, is computed here, once. Only
this step may need CIFAR-10H and torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray
from votewise._errors import InputError
from votewise.experiments.diagnosis_store import DIAGNOSIS_VERSION, diagnoses_of, ends_of, is_loss_of, is_of_models
from votewise.experiments.material import Material
from votewise.experiments.measure import shared_items
from votewise.experiments.run import RUN_VERSION, softmax
from votewise.papers.same_target import vote_statistics
from votewise.papers.same_target.between_runs import ModelView, barriers, similarity_within
from votewise.papers.same_target.diagnoses import plan_of
from votewise.papers.same_target.evidence import Evidence, Run
from votewise.papers.same_target.suites import MIXUPS, paper_recipe, run_of
from votewise.records import RecordStore, RunRecord, run_id

PAPER = "arXiv 2605.20642"

_FEATURED = ("soft", "sls")

Records = dict[Run, RunRecord]
Numbers = dict[str, float]
Series = dict[str, FloatArray]


def reduce_runs(store: RecordStore, material: Material | None, *, precision: str = "bf16") -> Evidence:
    """Everything the paper's tables and figures need of the finished runs of a store.

    Args:
        store: runs, perhaps among others; diagnoses in its sub-folder.
        material: CIFAR-10H; without it what needs the votes themselves is left out.
        precision: of the runs to take; others are another experiment.
    """
    records = paper_runs(store, precision)
    if not records:
        raise InputError(
            f"{str(store.folder)!r} must hold finished runs of the paper's recipe in {precision}",
            "none is there",
            "Do some with votewise reproduce same-target, or name another folder or precision",
        )
    data = _checksum(records.values(), material)
    measured = [record for record in diagnoses_of(store).records() if record.status == "done"]
    diagnoses = _diagnoses(measured, records)
    found = [_reduced(run, records, diagnoses.get(run), material) for run in records]
    return Evidence(
        tuple(records),
        _columns([numbers for numbers, _ in found]),
        _stacked([series for _, series in found]),
        _across(measured, records, diagnoses, material),
        _log_probs(records.values()),
        {"paper": PAPER, "data": data, "precision": precision},
    )


def paper_runs(store: RecordStore, precision: str) -> Records:
    """The finished runs of the paper's recipe, in the order of method, votes, period and seed."""
    theirs = [record for record in store.records() if _is_paper_run(record, precision)]
    _checksum(theirs, None)
    found = {run_of(record.config): record for record in theirs}
    return {run: found[run] for run in sorted(found, key=lambda run: (run.method, run.votes or 0, run.hold, run.seed))}


def _is_paper_run(record: RunRecord, precision: str) -> bool:
    config = record.config
    if record.status != "done" or config.get("model") != "resnet18" or config.get("dataset") != "cifar10h":
        return False
    alpha = MIXUPS.get(run_of(config).method, (config["method"], 0.0))[1]
    recipe = replace(paper_recipe(), precision=precision, mixup=alpha).to_dict()
    common = (config["held_out"], config["selected"], config["version"]) == (0.2, 0.0, RUN_VERSION)
    return common and config["recipe"] == recipe


def _checksum(records: Any, material: Material | None) -> str:
    """The checksum of the data, which must be the same for all runs and for the votes at hand."""
    sums = {str(record.config["data"]) for record in records} | ({material.checksum} if material else set())
    if len(sums) > 1:
        raise InputError(
            "runs and votes must be of the same data",
            f"got checksums {', '.join(sorted(name[:8] for name in sums))}",
            "Pass the data the runs were made on, and keep runs on other data in another folder",
        )
    return sums.pop() if sums else ""


def _diagnoses(measured: Sequence[RunRecord], records: Records) -> dict[Run, RunRecord]:
    """The diagnosis of each run; of several, the one with the most numbers.

    Diagnoses of an earlier version, or of models that were retrained since, do not count.
    """
    of_run = {run_id(record.config): run for run, record in records.items()}
    found: dict[Run, RunRecord] = {}
    for record in measured:
        run = of_run.get(run_id(record.config["run"])) if "run" in record.config else None  # type: ignore[arg-type]
        if run is not None and record.config.get("version") == DIAGNOSIS_VERSION and is_of_models(record, records[run]):
            found[run] = max(found.get(run, record), record, key=lambda one: len(one.numbers))
    return found


def _reduced(
    run: Run, records: Records, diagnosis: RunRecord | None, material: Material | None
) -> tuple[Numbers, Series]:
    from votewise.diagnostics import training_dynamics

    record = records[run]
    dynamics = training_dynamics(record.curves["soft_nll"])
    numbers = {
        **record.numbers,
        **(diagnosis.numbers if diagnosis else {}),
        **_times(record, diagnosis, material),
        "near_best/quotient": dynamics.near_by_quotient + 1.0,
        "near_best/excess": dynamics.near_by_excess + 1.0,
        "near_best/descent": dynamics.near_by_descent + 1.0,
    }
    series = {f"curve_{name}": curve for name, curve in record.curves.items()}
    if material is not None:
        for more_numbers, more_series in _of_votes(run, records, diagnosis, material):
            numbers |= more_numbers
            series |= more_series
    return numbers, series


def _times(record: RunRecord, diagnosis: RunRecord | None, material: Material | None) -> Numbers:
    """A run's share of the device time of the runs beside it, and the time of its diagnosis."""
    seconds = record.timing.get("seconds", math.nan) / record.timing.get("at_once", math.nan)
    found = {"seconds": seconds}
    if material is not None:
        trained_on = material.votes.n_items - len(record.arrays["held_out"])
        found["images_per_second"] = trained_on * len(record.curves["soft_nll"]) / seconds
    if diagnosis is not None:
        found["diagnosis_seconds"] = diagnosis.timing.get("seconds", math.nan)
        # A diagnosis made by an earlier plan says nothing about the time that today's takes.
        found["diagnosis_as_planned"] = float(diagnosis.config["plan"] == plan_of(run_of(record.config)).to_dict())
    return found


def _of_votes(
    run: Run, records: Records, diagnosis: RunRecord | None, material: Material
) -> Iterator[tuple[Numbers, Series]]:
    """The parts that need the votes, for the runs of which the paper shows them."""
    record, baseline = records[run], records.get(replace(run, method="soft"))
    people = material.votes.probs[record.arrays["held_out"]]
    yield vote_statistics.scaled(record, material), {}
    if run.votes is None and run.hold == 1:
        yield vote_statistics.reliability(record, material)
    elif run.votes is not None and run.method != "soft" and baseline is not None:
        yield vote_statistics.improvement(record, baseline, material, _most_disputed(people)), {}
    if run.method == "sls" and diagnosis is not None and "held_out_square_length" in diagnosis.arrays:
        yield vote_statistics.gradient_variance(run.seed, diagnosis.arrays["held_out_square_length"], people)


def _most_disputed(people: FloatArray) -> IntArray:
    from votewise.diagnostics import high_disagreement_slices

    return high_disagreement_slices(people)["top-20%"]


def _across(
    measured: Sequence[RunRecord], records: Records, diagnoses: Mapping[Run, RunRecord], material: Material | None
) -> dict[str, npt.NDArray[Any]]:
    runs = {run_id(record.config): record for record in records.values()}
    pairs = [record for record in measured if _is_pair_of(record, runs)]
    devices = {record.environment.get("device", "not recorded") for record in records.values()}
    found: dict[str, npt.NDArray[Any]] = {
        "devices": np.array(sorted(devices)),
        "confidence": vote_statistics.confidence_grid(),
        **barriers(pairs),
    }
    people = None if material is None else material.votes.probs
    for method in _FEATURED:
        for where in ("shared", "held_out"):
            views = _views(method, where, records, diagnoses, material)
            if len(views) > 1:
                found[f"{method}.{where}.seeds"] = np.array(sorted(views))
                similarity = similarity_within(views, people)
                found |= {f"{method}.{where}.{name}": matrix for name, matrix in similarity.items()}
    return found


def _is_pair_of(record: RunRecord, runs: Mapping[str, RunRecord]) -> bool:
    """Whether a record is a barrier, of the current version, between the models of two of the runs."""
    pair: list[Any] = record.config.get("barrier", [])  # type: ignore[assignment]
    ends = [runs.get(run_id(run)) for run in pair]
    if not ends or record.config.get("version") != DIAGNOSIS_VERSION:
        return False
    return all(run is not None and is_loss_of(loss, run) for loss, run in zip(ends_of(record), ends, strict=True))


def _views(
    method: str, where: str, records: Records, diagnoses: Mapping[Run, RunRecord], material: Material | None
) -> dict[int, ModelView]:
    """Views of the best models of a method on the images all share, or on those each held out, by seed."""
    views = {}
    for run, diagnosis in diagnoses.items():
        arrays = diagnosis.arrays
        if run.method == method and (run.votes, run.hold) == (None, 1) and f"{where}_maps" in arrays:
            rows = records[run].arrays["held_out"]
            if where == "shared":
                rows = np.arange(len(arrays["shared_maps"])) if material is None else shared_items(material)
            views[run.seed] = ModelView(
                rows, *(arrays[f"{where}_{part}"] for part in ("features", "maps", "maps_of_predicted"))
            )
    return views


def _columns(rows: Sequence[Numbers]) -> dict[str, FloatArray]:
    names = sorted({name for row in rows for name in row})
    return {name: np.array([row.get(name, math.nan) for row in rows]) for name in names}


def _stacked(rows: Sequence[Series]) -> dict[str, FloatArray]:
    """Each series of all runs, padded to the longest, in single precision."""
    lengths: dict[str, int] = {}
    for row in rows:
        for name, values in row.items():
            lengths[name] = max(lengths.get(name, 0), len(values))
    tables = {name: np.full((len(rows), lengths[name]), math.nan, dtype=np.float32) for name in sorted(lengths)}
    for place, row in enumerate(rows):
        for name, values in row.items():
            tables[name][place, : len(values)] = values
    return tables  # type: ignore[return-value]


def _log_probs(records: Any) -> npt.NDArray[np.float16]:
    """Log-probabilities at the best epoch, clipped to the range of 16-bit floats."""
    with np.errstate(divide="ignore"):
        logs = [np.log(softmax(record.arrays["best_logits"])) for record in records]
    return np.maximum(np.stack(logs), np.finfo(np.float16).min).astype(np.float16)
