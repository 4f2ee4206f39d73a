"""Where a paper's numbers come from: finished runs, or stored results, and adding the one to the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from votewise._errors import InputError, MissingExtraError
from votewise.data import Prepared
from votewise.experiments.measure import measurement_store
from votewise.papers import find_paper
from votewise.papers.paper import Paper
from votewise.papers.reduce import paper_runs, reduce_runs
from votewise.records import Batch, RecordStore, Results, add_batch, check_record_folder, read_results, unite_results

USUAL_RUNS = Path("runs")

Note = Callable[[str], None]


@dataclass(frozen=True)
class Sources:
    """Where the numbers come from.

    Attributes:
        runs: folder of records; if None, those in "runs" or, if it has none of the paper, `results`.
        results: folder of stored results.
        data: folder with the paper's data, for what needs the votes themselves.
        precision: precision of the runs to take.
        suite: suite whose recipe the runs follow.
    """

    runs: Path | None
    results: Path
    data: Path | None
    precision: str
    suite: str


def paper_result_folders(paper: Paper, folder: Path) -> dict[str | None, Path]:
    """The folder of stored results of each data set; that of the paper itself where it has one data set."""
    return {name: folder / name for name in paper.datasets} if len(paper.datasets) > 1 else {None: folder}


def stored_paper_folders(paper: Paper, folder: Path) -> list[Path]:
    """The folders that hold any stored results of a paper."""
    return [one for one in paper_result_folders(paper, folder).values() if RecordStore(one).ids()]


def folders_of_other_papers(paper: Paper, folder: Path) -> list[Path]:
    """The folders of stored results of other papers that a paper reads; they lie beside its own."""
    return [other for name in paper.sources for other in stored_paper_folders(find_paper(name), folder.parent / name)]


def read_paper_results(paper: Paper, folder: Path) -> Results:
    """The stored results of a paper, and of those that it reads besides, which lie beside its own."""
    others = folders_of_other_papers(paper, folder)
    folders = [*stored_paper_folders(paper, folder), *others]
    if not folders:
        raise InputError(
            "there must be runs or stored results to show",
            f"neither {str(USUAL_RUNS)!r} nor {str(folder)!r} has any",
            f"The stored results are in the project's repository (results/{paper.name}): pass that folder with "
            "--results, name a folder of runs with --runs, or do the runs (leave out --only)",
        )
    results = read_results(*folders)
    # Results of one other paper alone do not name what they would share with others.
    given = {"paper": results.origin.get("paper")}
    absent = {name: (given.get(name),) * len(results) for name in paper.factors if name not in results.factors}
    return replace(results, factors={**results.factors, **absent})


def read_paper_results_on_dataset(paper: Paper, folder: Path, dataset: str) -> Results | None:
    """The stored results of a paper on one data set; None if there are none yet of this one among several."""
    own = paper_result_folders(paper, folder)
    if None in own:
        return read_results(own[None])
    return read_results(own[dataset]) if RecordStore(own[dataset]).ids() else None


def read_paper_sources(paper: Paper, sources: Sources, on_note: Note) -> tuple[Results, bool]:
    """What the runs show or, if none are named or found, the stored results; and whether it is these.

    The usual folder of runs may hold a user's own comparisons only.
    """
    recipe = {"suite": sources.suite, "precision": sources.precision}
    if sources.runs is not None or (USUAL_RUNS.is_dir() and paper_runs(paper, RecordStore(USUAL_RUNS), **recipe)):
        parts = {name or "these runs": part for name, part in _reduced_sources(paper, sources, {}, on_note).items()}
        others = folders_of_other_papers(paper, sources.results)
        return unite_results({**parts, **{folder.name: read_results(folder) for folder in others}}), False
    results = read_paper_results(paper, sources.results)
    on_note(f"from the results in {sources.results}")
    return results, True


def add_paper_runs(paper: Paper, sources: Sources, on_note: Note) -> list[tuple[Path, Batch]]:
    """Add what the runs show, and the stored results lack, to these; the batches and where each of them lies."""
    folders = paper_result_folders(paper, sources.results)
    known = {name: read_results(folder) for name, folder in folders.items() if RecordStore(folder).ids()}
    added = [
        (folders[name], add_batch(results, folders[name]))
        for name, results in _reduced_sources(paper, sources, known, on_note).items()
    ]
    return [(folder / batch.id, batch) for folder, batch in added if batch is not None]


def _reduced_sources(
    paper: Paper, sources: Sources, known: dict[str | None, Results], on_note: Note
) -> dict[str | None, Results]:
    """What the runs on each data set show, beside stored results that they complete."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError("reading what was measured of models", "torch", "demo") from None
    folder = sources.runs or USUAL_RUNS
    if sources.runs is not None or not known:
        check_record_folder(folder)
    store = RecordStore(folder)
    for records in (store, measurement_store(store)):
        _, faults = records.survey()
        if faults:
            counts = f"{len(faults)} of {len(records.ids())} records in {records.folder}"
            on_note(f"{counts} cannot be read and are left out; the first: {faults[0].reason}")
    suites = {suite.dataset: suite for suite in reversed(paper.find_suites(sources.suite))}
    several = len(paper.datasets) > 1
    if several:
        runs = paper_runs(paper, store, suite=sources.suite, precision=sources.precision)
        done = {str(run.record.config["dataset"]) for run in runs}
        suites = {name: suite for name, suite in suites.items() if name in done | known.keys()} or suites
    reduced: dict[str | None, Results] = {}
    for name, suite in suites.items():
        data: Prepared | None = None
        try:
            data = paper.load_votes(suite, sources.data)
        except InputError as error:
            on_note(f"skipping what needs the votes themselves: {error}")
        key = name if several else None
        reduced[key] = reduce_runs(
            paper, store, data, dataset=key, suite=sources.suite, precision=sources.precision, known=known.get(key)
        )
    return reduced
