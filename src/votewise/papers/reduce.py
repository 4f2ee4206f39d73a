"""Reducing a store of a paper's runs to results: all that its tables and figures need, at a hundredth of the size.

Curves, scores and measurements are copied; what needs the votes, and what compares runs, is computed here, once. Only
this step may need the data and torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from votewise._errors import InputError
from votewise.data.dataset import Prepared
from votewise.experiments.measure import (
    DIAGNOSIS_VERSION,
    common_measured_items,
    is_measurement_current,
    measurement_store,
)
from votewise.experiments.run import softmax
from votewise.papers.between import View, reduce_barriers, reduce_similarity
from votewise.papers.paper import Numbers, Paper, Series
from votewise.papers.suites import Name, paper_run_matches
from votewise.records import (
    DEVICES,
    STORED,
    Array,
    Between,
    RecordStore,
    Results,
    RunRecord,
    join_results,
    result_columns,
    result_number_columns,
    results_beyond,
    run_id,
)

# Losses of training images at the best epoch, which some runs record and results keep in half precision.
TRAINING_LOSSES = "train_soft_nll"


@dataclass(frozen=True, eq=False)
class PaperRun:
    """A finished run of a paper.

    Attributes:
        name: what results call it, its value by factor.
        record: what was recorded in training.
        diagnosis: what was measured of its models later; None if nothing was.
    """

    name: Name
    record: RunRecord
    diagnosis: RunRecord | None = None


def reduce_runs(
    paper: Paper,
    store: RecordStore,
    data: Prepared | None,
    *,
    dataset: str | None = None,
    suite: str = "all",
    precision: str = "bf16",
    known: Results | None = None,
) -> Results:
    """Everything that a paper's tables and figures need of the finished runs of a store.

    Args:
        paper: the paper.
        store: runs, perhaps among others; diagnoses in its sub-folder.
        data: the votes; without them what needs them is left out.
        dataset: name of the data set whose runs are taken; None if the paper has one.
        suite: suite whose recipe the runs to take follow.
        precision: precision of the runs to take; others are another experiment.
        known: stored results of other runs, with which these are compared; what their predictions allow to compute,
            and was not, is added.
    """
    runs = [
        run
        for run in paper_runs(paper, store, suite=suite, precision=precision)
        if dataset is None or run.record.config["dataset"] == dataset
    ]
    if not runs and known is None:
        raise InputError(
            f"{str(store.folder)!r} must hold finished runs of the paper's recipe in {precision}",
            "none is there",
            f"Do some with votewise reproduce {paper.name}, or name another folder or precision",
        )
    _check_data_of_paper_runs({str(run.record.config["data"]) for run in runs}, None)
    parts = {} if known is None else {STORED: known}
    if runs:
        parts["these runs"] = _results_of_paper_runs(paper, runs, store, data, precision)
    _check_data_of_paper_runs({part.origin["data"] for part in parts.values()}, data)
    *_, newest = parts.values()
    reduced = {"these runs": newest}
    if data is not None:
        # Comparisons of two runs are all made here, so that it does not matter in which batch each of them came.
        whole = join_results(parts)
        numbers = [
            {name: value for derived in paper.numbers_of_results(whole, row, data) for name, value in derived.items()}
            for row in range(len(whole))
        ]
        kept = Results(whole.factors, result_number_columns(numbers), origin=whole.origin)
        reduced["their predictions"] = results_beyond(kept, whole)
    return join_results(reduced)


def paper_runs(paper: Paper, store: RecordStore, *, suite: str = "all", precision: str = "bf16") -> list[PaperRun]:
    """The finished runs of a suite's recipe in a store."""
    finished = [record for record in store.records() if record.status == "done"]
    named = [(paper.name_of(record.config, suite=suite, precision=precision), record) for record in finished]
    return [PaperRun(name, record) for name, record in named if name is not None]


def _check_data_of_paper_runs(checksums: set[str], data: Prepared | None) -> None:
    """Refuse runs on several data sets, or on another than the one at hand."""
    different = checksums | ({data.checksum} if data is not None else set())
    if len(different) > 1:
        raise InputError(
            "runs and votes must be of the same data",
            f"got checksums {', '.join(sorted(name[:8] for name in different))}",
            "Pass the data the runs were made on, and keep runs on other data in another folder",
        )


def _results_of_paper_runs(
    paper: Paper, runs: Sequence[PaperRun], store: RecordStore, data: Prepared | None, precision: str
) -> Results:
    """What runs show by themselves, and what was measured between the models of two."""
    runs, ways = paper_runs_with_measurements(runs, store)
    numbers, series = zip(*(_reduce_run(paper, run, data) for run in runs), strict=True)
    with np.errstate(divide="ignore"):
        logs = [np.log(softmax(run.record.arrays["best_logits"])) for run in runs]
    devices = {run.record.environment.get("device", "not recorded") for run in runs}
    between: dict[str, Between] = {}
    for name, (first, _) in paper.barriers.items():
        if measured := [record for run, record in ways if paper_run_matches(run.name, first)]:
            between[name] = reduce_barriers(measured)
    for name, where in paper.similar.items():
        for images in ("shared", "held_out"):
            views = _views_of_paper_models([run for run in runs if paper_run_matches(run.name, where)], images, data)
            if len(views) > 1:
                between[f"{name}.{images}"] = reduce_similarity(views, None if data is None else data.votes.probs)
    return Results(
        result_columns([run.name for run in runs]),
        result_number_columns(numbers),
        result_columns(series),
        {"best": tuple(np.maximum(log, np.finfo(np.float16).min).astype(np.float16) for log in logs)},
        between=between,
        shared={DEVICES: np.array(sorted(devices)), **paper.shared()},
        origin={"paper": paper.reference, "data": str(runs[0].record.config["data"]), "precision": precision},
    )


def _views_of_paper_models(runs: Sequence[PaperRun], images: str, data: Prepared | None) -> dict[int, View]:
    """What was kept of each seed's best model on some images.

    Args:
        runs: runs that differ by seed.
        images: "shared" for the images that all runs share, "held_out" for those that each held out.
        data: the votes, if they are at hand.
    """
    views: dict[int, View] = {}
    for run in runs:
        arrays = run.diagnosis.arrays if run.diagnosis else {}
        if f"{images}_maps" in arrays:
            rows = run.record.arrays["held_out"]
            if images == "shared":
                rows = np.arange(len(arrays["shared_maps"])) if data is None else common_measured_items(data)
            parts = {part: arrays[f"{images}_{part}"] for part in ("features", "maps", "maps_of_predicted")}
            views[int(run.name["seed"])] = {"rows": rows, **parts}  # type: ignore[arg-type]
    return views


def paper_runs_with_measurements(
    runs: Sequence[PaperRun], store: RecordStore
) -> tuple[list[PaperRun], list[tuple[PaperRun, RunRecord]]]:
    """The runs, each with its diagnosis of most numbers, and the loss barriers with the first of their two runs.

    Measurements of an earlier version, or of models that were trained again since, do not count.
    """
    by_id = {run.record.run_id: run for run in runs}
    diagnoses: dict[str, RunRecord] = {}
    ways: list[tuple[PaperRun, RunRecord]] = []
    for measured in measurement_store(store).records():
        config: Any = measured.config
        ends = [by_id.get(run_id(end)) for end in config.get("barrier", [config.get("run", {})])]
        known = [end for end in ends if end is not None]
        if measured.status != "done" or config.get("version") != DIAGNOSIS_VERSION or len(known) < len(ends):
            continue
        if not is_measurement_current(measured, [end.record for end in known]):
            continue
        if "barrier" in config:
            ways.append((known[0], measured))
        else:
            name = known[0].record.run_id
            diagnoses[name] = max(diagnoses.get(name, measured), measured, key=lambda one: len(one.numbers))
    return [replace(run, diagnosis=diagnoses.get(run.record.run_id)) for run in runs], ways


def _reduce_run(paper: Paper, run: PaperRun, data: Prepared | None) -> tuple[Numbers, Series]:
    """Numbers and series of one run: what was recorded and measured, its times, and what the paper derives."""
    from votewise.diagnostics import training_dynamics

    record, diagnosis = run.record, run.diagnosis
    seconds = record.timing.get("seconds", math.nan) / record.timing.get("at_once", math.nan)
    dynamics = training_dynamics(record.curves["soft_nll"])
    numbers: dict[str, float] = {
        **record.numbers,
        **(diagnosis.numbers if diagnosis else {}),
        "seconds": seconds,
        "near_best/quotient": dynamics.near_by_quotient + 1.0,
        "near_best/excess": dynamics.near_by_excess + 1.0,
        "near_best/descent": dynamics.near_by_descent + 1.0,
    }
    if diagnosis is not None:
        numbers["diagnosis_seconds"] = diagnosis.timing.get("seconds", math.nan)
    if data is not None:
        trained_on = data.votes.n_items - len(record.arrays["held_out"])
        numbers["images_per_second"] = trained_on * record.epochs / seconds
    series: dict[str, Array] = {f"curve_{name}": curve for name, curve in record.curves.items()}
    for more_numbers, more_series in paper.numbers_of_run(run, data):
        numbers |= more_numbers
        series |= more_series
    series = {name: values.astype(np.float32) for name, values in series.items()}
    if paper.training_losses and TRAINING_LOSSES in record.arrays:
        series[TRAINING_LOSSES] = record.arrays[TRAINING_LOSSES].astype(np.float16)
    return numbers, series
