"""Doing a paper's runs: what a store lacks of a suite, how long that will take, and doing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from votewise._errors import InputError
from votewise._text import counted
from votewise.data import Outliers, Prepared
from votewise.experiments.backends import Tell, find_backend
from votewise.experiments.execution import execute
from votewise.experiments.measure import Measurement, Plan, missing_measurements, runs_to_repeat
from votewise.experiments.planning import expected_seconds, missing_helper_runs, missing_runs
from votewise.experiments.run import Run, choose_device
from votewise.papers.paper import Paper
from votewise.papers.progress import paper_finished_part
from votewise.papers.sources import USUAL_RUNS, read_paper_results_on_dataset
from votewise.papers.suites import Name, Suite, pairs_of
from votewise.records import RecordStore, RunRecord, result_columns, results_of
from votewise.report.document import Document

Note = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class DatasetWork:
    """The runs on one data set as one model takes it, and what of them the store lacks.

    Attributes:
        runs: every run, and what results call it.
        wanted: what to measure of them; empty without diagnostics.
        to_train: the missing runs, and finished ones whose weights must be made again to be measured.
        to_measure: the missing measurements.
        data: what the runs are trained on.
        outliers: out-of-distribution images at hand.
    """

    runs: Mapping[Run, Name]
    wanted: Sequence[Measurement]
    to_train: Sequence[Run]
    to_measure: Sequence[Measurement]
    data: Prepared
    outliers: Sequence[Outliers]


@dataclass(frozen=True, eq=False)
class PaperWork:
    """Everything a suite asks for, and what of it the store lacks.

    Attributes:
        paper: the paper.
        suite: name of the suite.
        parts: the runs on each data set.
        store: where the records lie.
        device: "cpu" or "cuda".
        retry_failed: whether failed runs and measurements count as missing.
    """

    paper: Paper
    suite: str
    parts: Sequence[DatasetWork]
    store: RecordStore
    device: str
    retry_failed: bool

    def to_json(self, jobs: int | None = None) -> dict[str, Any]:
        """How much is to be done, how long it will take with so many processes, and every run of it."""
        runs = sum(len(part.runs) for part in self.parts)
        todo = [run.to_dict() for part in self.parts for run in part.to_train]
        seconds = [
            expected_seconds(part.to_train, part.data, self.store, device=self.device, jobs=jobs) for part in self.parts
        ]
        return {
            "runs": runs,
            "done": runs - len(todo),
            "helper_runs": sum(
                len(missing_helper_runs(part.to_train, self.store, retry_failed=self.retry_failed))
                for part in self.parts
            ),
            "device": self.device,
            "expected_seconds": sum(seconds),
            "diagnoses": sum(len(part.to_measure) for part in self.parts),
            "todo": todo,
        }

    def in_words(self, jobs: int | None = None) -> str:
        """The same in lines, with runs that differ only by seed in one."""
        plan = self.to_json(jobs)
        names = [{**part.runs[run], "seed": None} for part in self.parts for run in part.to_train]
        rows = Counter(self.paper.run_label(name) for name in names)
        lines = [f"  {row}: {counted(seeds, 'run')}" for row, seeds in rows.items()]
        if rows:
            seconds = _work_time_in_words(plan["expected_seconds"])
            helpers = f", after {counted(plan['helper_runs'], 'helper run')}" if plan["helper_runs"] else ""
            lines.append(f"{rows.total()} of {plan['runs']} runs to do on {self.device}{helpers}, in about {seconds}.")
        else:
            lines.append(f"All {plan['runs']} runs are there already.")
        if plan["diagnoses"]:
            lines.append(f"{counted(plan['diagnoses'], 'diagnosis', 'diagnoses')} to make.")
        return "\n".join(lines)


def plan_paper_work(
    paper: Paper,
    suite: str,
    runs: Path | None,
    *,
    beyond: Path | None = None,
    folder: Path | None = None,
    seeds: int | None = None,
    device: str = "auto",
    precision: str | None = None,
    diagnostics: bool = False,
    retry_failed: bool = False,
    on_note: Note = lambda _: None,
) -> PaperWork:
    """Find what a store lacks of a suite; nothing is written.

    Args:
        paper: the paper.
        suite: name of the suite.
        runs: folder of records; "runs" if None.
        beyond: folder of stored results to extend: their runs are left out, the others are trained in their precision.
        folder: with the data and the OOD images; the usual one if omitted.
        seeds: how many; each suite's own number if omitted.
        device: "cpu", "cuda" or "auto".
        precision: precision of training; if omitted that of the stored results, or else bf16 on a GPU, fp32 on a CPU.
        diagnostics: whether the models are measured, too.
        retry_failed: whether failed runs and diagnoses count as missing.
        on_note: called with what a user should know.
    """
    suites, chosen, store = paper.find_suites(suite), choose_device(device), RecordStore(runs or USUAL_RUNS)
    groups: dict[tuple[object, ...], list[Suite]] = {}
    for each in suites:
        groups.setdefault((each.dataset, each.model, each.items, str(each.plan)), []).append(each)
    parts = []
    for alike in groups.values():
        data = paper.load(alike[0], folder)
        stored = None if beyond is None else read_paper_results_on_dataset(paper, beyond, alike[0].dataset)
        used = precision or ("bf16" if chosen == "cuda" else "fp32")
        if stored is not None:
            used = precision or stored.origin["precision"]
            theirs, ours = (stored.origin["data"], stored.origin["precision"]), (data.checksum, used)
            if theirs != ours:
                raise InputError(
                    f"runs that extend stored results must be on their data {theirs[0][:8]} in {theirs[1]}",
                    f"those of the suite {suite} are on {ours[0][:8]} in {ours[1]}",
                    "Name other results, or leave out --extend",
                )
        known = [] if stored is None else [paper.named(run) for run in stored.runs]
        outliers = load_paper_outliers(paper, alike[0], folder, on_note) if diagnostics else []
        named = suite_runs(paper, alike, data, seeds=seeds, precision=used)
        todo = {run: name for run, name in named.items() if name not in known}
        wanted = paper_measurements(paper, todo, alike[0].plan) if diagnostics else []
        lacking = missing_measurements(wanted, store, outliers=outliers, retry_failed=retry_failed)
        missing = missing_runs(todo, store, retry_failed=retry_failed)
        repeated = runs_to_repeat(lacking, wanted, missing, store)
        parts.append(DatasetWork(todo, wanted, [*missing, *repeated], lacking, data, outliers))
    return PaperWork(paper, suite, parts, store, chosen, retry_failed)


def suite_runs(
    paper: Paper, suites: Sequence[Suite], data: Prepared, *, seeds: int | None = None, precision: str = "fp32"
) -> dict[Run, Name]:
    """Every run of some suites on one data set, and what results call it; by seed, so that early seeds are complete."""
    runs = [run for suite in suites for run in suite.runs(data, seeds=seeds, precision=precision).items()]
    return {run: paper.named(name) for run, name in sorted(runs, key=lambda run: run[0].seed)}


def paper_measurements(paper: Paper, runs: Mapping[Run, Name], plan: Plan | None = None) -> list[Measurement]:
    """What is measured of a paper's runs: of each by itself, by one plan for all if it is given, and loss barriers."""
    plans = [(run, paper.measure(name) if plan is None else plan) for run, name in runs.items()]
    ordered, names = list(runs), list(runs.values())
    pairs = [pair for ends in paper.barriers.values() for pair in pairs_of(names, *ends)]
    return [
        *(Measurement((run,), plan) for run, plan in plans if not plan.is_empty),
        *(Measurement((ordered[first], ordered[second])) for first, second in pairs),
    ]


def load_paper_outliers(paper: Paper, suite: Suite, folder: Path | None, on_note: Note) -> list[Outliers]:
    """The OOD images in a folder of data, as many as a suite takes; a note names those that are missing."""
    loaded = []
    for load in paper.outliers:
        try:
            whole = load(folder)
        except InputError as error:
            on_note(f"skipping these OOD images: {error}")
        else:
            first = slice(suite.outliers)
            loaded.append(replace(whole, images=whole.images[first], labels=whole.labels[first]))
    return loaded


@dataclass(frozen=True, eq=False)
class Done:
    """What a suite gave.

    Attributes:
        document: scores of its finished runs.
        failure: how many of its runs failed, in a sentence; empty if none did.
        complete: whether every run and measurement succeeded.
    """

    document: Document
    failure: str
    complete: bool


def do_paper_work(
    work: PaperWork,
    *,
    tell: Tell,
    backend: str | None = None,
    jobs: int | None = None,
    keep_weights: bool = False,
) -> Done:
    """Train and measure what is missing.

    Args:
        work: as planned.
        tell: called with what happens, as it happens.
        backend: name of the backend; chosen by the device if left out.
        jobs: processes or workers on CPUs, simultaneous runs on a GPU.
        keep_weights: whether weights are kept after they were measured.
    """
    records: list[RunRecord] = []
    names: dict[str, Name] = {}
    complete = True
    for part in work.parts:
        records += execute(
            [*part.runs, *part.wanted], part.data, work.store,
            backend=find_backend(backend, device=work.device, jobs=jobs), outliers=part.outliers,
            keep_weights=keep_weights, retry_failed=work.retry_failed, tell=tell,
        )  # fmt: skip
        names |= {run.id: name for run, name in part.runs.items()}
        # Failed measurements count, too, whether or not they were to be tried again.
        complete &= not missing_measurements(part.wanted, work.store, outliers=part.outliers, retry_failed=True)
    failed = sum(record.status == "failed" for record in records)
    done = [record for record in records if record.status == "done"]
    factors = dict.fromkeys(work.paper.factors, ()) | result_columns([names[record.run_id] for record in done])
    results = replace(results_of(done), factors=factors)
    beside_paper = all(suite.items is None for suite in work.paper.find_suites(work.suite))
    document = paper_finished_part(work.paper, results, beside_paper=beside_paper)
    about = {"runs": len(records), "failed": failed}
    failure = f"{failed} of {len(records)} runs failed; 'votewise runs' shows why." if failed else ""
    return Done(replace(document, data={**about, **document.data}), failure, complete and not failed)


def _work_time_in_words(seconds: float) -> str:
    """An estimate of a time, rounded."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds > 2 * length:
            return f"{float(f'{seconds / length:.2g}'):g} {unit}"
    return f"{seconds:.0f} seconds"
