"""Reproducing the paper: which of a suite's runs and measurements a store lacks, and doing them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from votewise._errors import InputError
from votewise.datasets import OutlierImages, load_cifar10h, load_cifar100, load_svhn
from votewise.experiments.diagnose import run_and_diagnose
from votewise.experiments.diagnosis_plan import Pair, to_train_again, undiagnosed, unmeasured
from votewise.experiments.estimate import expected_seconds
from votewise.experiments.execution import NOBODY, Listener, execute, missing_runs
from votewise.experiments.material import Material
from votewise.experiments.measure import Plan
from votewise.experiments.run import RunConfig, choose_device
from votewise.papers.same_target.diagnoses import TINY_PLAN, barrier_pairs, common_epoch, plan_of
from votewise.papers.same_target.suites import find_suites, run_of, suite_runs, tiny_material, tiny_outliers
from votewise.records import RecordStore, RunRecord


@dataclass(frozen=True, eq=False)
class Work:
    """Everything a suite asks for, and what of it the store lacks.

    Attributes:
        configs: every run of the suite.
        plans: what to measure of which run; empty without diagnostics.
        pairs: runs between whose models the loss barrier is measured; likewise.
        to_train: the missing runs, and finished ones whose weights must be made again to be measured.
        to_diagnose: the runs whose diagnosis is missing.
        barriers: the pairs whose barrier is missing.
        material: what the runs are trained on.
        outliers: out-of-distribution images at hand.
        store: where the records lie.
        device: "cpu" or "cuda".
        retry_failed: whether failed runs and diagnoses count as missing.
    """

    configs: Sequence[RunConfig]
    plans: dict[RunConfig, Plan]
    pairs: Sequence[Pair]
    to_train: Sequence[RunConfig]
    to_diagnose: dict[RunConfig, Plan]
    barriers: Sequence[Pair]
    material: Material
    outliers: Sequence[OutlierImages]
    store: RecordStore
    device: str
    retry_failed: bool

    @property
    def measurements(self) -> int:
        """How many diagnoses and barriers are missing."""
        return len(self.to_diagnose) + len(self.barriers)

    def expected_seconds(self, jobs: int | None = None) -> float:
        """How long training will take, from finished runs or else from a few steps of training.

        Args:
            jobs: processes, on a CPU.
        """
        return expected_seconds(self.to_train, self.material, self.store, device=self.device, jobs=jobs)


@dataclass(frozen=True)
class Done:
    """What a suite gave.

    Attributes:
        records: of its runs, in order.
        complete: whether every run and measurement succeeded.
    """

    records: Sequence[RunRecord]
    complete: bool


def plan_work(
    suite: str,
    store: RecordStore,
    *,
    data: Path | None = None,
    seeds: int | None = None,
    device: str = "auto",
    precision: str | None = None,
    diagnostics: bool = False,
    retry_failed: bool = False,
    on_note: Callable[[str], None] = lambda _: None,
) -> Work:
    """Find what a store lacks of a suite; nothing is written.

    Args:
        suite: by name.
        store: where the records lie.
        data: folder with CIFAR-10H and the OOD images; the usual one if omitted.
        seeds: how many; each suite's own number if omitted.
        device: "cpu", "cuda" or "auto".
        precision: of training; bf16 on a GPU and fp32 on a CPU if omitted.
        diagnostics: whether the models are measured, too.
        retry_failed: whether failed runs and diagnoses count as missing.
        on_note: called with what a user should know.
    """
    find_suites(suite)
    chosen = choose_device(device)
    material = Material.of_images("cifar10h", load_cifar10h(data))
    outliers = load_outliers(data, on_note) if diagnostics else []
    tiny = suite == "tiny"
    if tiny:
        material, outliers = tiny_material(material), [tiny_outliers(images) for images in outliers]
    configs = suite_runs(suite, material, seeds=seeds, precision=precision or ("bf16" if chosen == "cuda" else "fp32"))
    measured = configs if diagnostics else []
    plans = {config: TINY_PLAN if tiny else plan_of(run_of(config.to_dict())) for config in measured}
    pairs = barrier_pairs(measured)
    to_diagnose = undiagnosed(plans, store, outliers=outliers, retry_failed=retry_failed)
    again = to_train_again(to_diagnose, pairs, store, retry_failed=retry_failed)
    return Work(
        configs,
        plans,
        pairs,
        list(dict.fromkeys([*missing_runs(configs, store, retry_failed=retry_failed), *again])),
        to_diagnose,
        unmeasured(pairs, store, retry_failed=retry_failed),
        material,
        outliers,
        store,
        chosen,
        retry_failed,
    )


def load_outliers(data: Path | None, on_note: Callable[[str], None]) -> list[OutlierImages]:
    """The out-of-distribution images that are in the data folder; a note names those that are not.

    Args:
        data: the folder; the usual one if omitted.
        on_note: called with the notes.
    """
    found = []
    for load in (load_svhn, load_cifar100):
        try:
            found.append(load(data))
        except InputError as error:
            on_note(f"skipping these OOD images: {error}")
    return found


def do_work(work: Work, *, jobs: int | None = None, keep_models: bool = False, listener: Listener = NOBODY) -> Done:
    """Train and measure what is missing.

    Args:
        work: as planned.
        jobs: processes on a CPU, simultaneous runs on a GPU.
        keep_models: whether weights are kept after they were measured.
        listener: is called as runs and diagnoses end.
    """
    if not work.plans:
        records = execute(
            work.configs, work.material, work.store,
            device=work.device, jobs=jobs, retry_failed=work.retry_failed, listener=listener,
        )  # fmt: skip
    else:
        records = run_and_diagnose(
            work.plans, work.pairs, work.material, work.store,
            common_epoch=common_epoch(work.configs[0].recipe.epochs), keep_models=keep_models, outliers=work.outliers,
            device=work.device, jobs=jobs, retry_failed=work.retry_failed, listener=listener,
        )  # fmt: skip
    # Failed measurements count, too, whether or not they were to be tried again.
    failed = (
        any(record.status == "failed" for record in records)
        or undiagnosed(work.plans, work.store, outliers=work.outliers, retry_failed=True)
        or unmeasured(work.pairs, work.store, retry_failed=True)
    )
    return Done(records, not failed)
