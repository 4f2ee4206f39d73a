"""Benchmarks against peers, in one run, with ratios: `make bench`, or `python benchmarks/run.py [--toy] [PART ...]`.

Parts: reading, dawid-skene, delivery, score. Nothing here is a test: times depend on the machine. Reading is
measured in separate processes, to measure its peak memory. Both sides of a ratio are timed equally often, and the best
time counts. --toy takes seconds: it shows that every part runs, and its ratios say nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from votewise import SLS, Multipass, Votes, dawid_skene, read_votes, score
from votewise.metrics import METRICS

CLASSES = np.array(["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"])
HERE = Path(__file__).resolve()


@dataclass(frozen=True)
class Size:
    """How much to measure.

    Attributes:
        votes: votes in the tables that are read.
        items: items of CIFAR-10H whose votes are aggregated and delivered.
        workers: annotators that those votes are spread over.
        epochs: epochs of labels that are delivered.
        predictions: predictions that are scored, a multiple of `items`.
        times: how often each side of a ratio is timed.
    """

    votes: int
    items: int
    workers: int
    epochs: int
    predictions: int
    times: int


FULL = Size(votes=20_000_000, items=10_000, workers=2571, epochs=1000, predictions=1_000_000, times=3)
TOY = Size(votes=20_000, items=200, workers=60, epochs=10, predictions=2000, times=1)


def main() -> None:
    """Run the parts that were asked for."""
    parts: dict[str, Callable[[Size], None]] = {
        "reading": reading,
        "dawid-skene": dawid_skene_part,
        "delivery": delivery,
        "score": scoring,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--toy", action="store_true", help="small data, to see that all runs")
    parser.add_argument("--read", nargs=2, metavar=("WHO", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        read_once(*arguments.read)
        return
    unknown = set(arguments.parts) - set(parts)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; the parts are {', '.join(parts)}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}")
    for name in arguments.parts or parts:
        print(f"\n== {name}")
        parts[name](TOY if arguments.toy else FULL)


def reading(size: Size, an_item: int = 10, annotators: int = 5_000) -> None:
    """A long table of 20 million votes: votewise.read_votes against pandas read and groupby."""
    votes = size.votes
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(votes // an_item), an_item)
    # Ten different annotators per item: one from each tenth of them.
    annotator = rng.integers(0, annotators // an_item, size=votes) * an_item + np.tile(
        np.arange(an_item), votes // an_item
    )
    label = rng.integers(0, 10, size=votes)
    arrival = rng.permutation(votes)
    with tempfile.TemporaryDirectory() as folder:
        for order, rows in (("as votes arrive", arrival), ("grouped by item", np.arange(votes))):
            table = pl.DataFrame(
                {
                    "task": ("img_" + pl.Series(item[rows]).cast(pl.String).str.zfill(7)),
                    "worker": ("w" + pl.Series(annotator[rows]).cast(pl.String)),
                    "label": pl.Series(CLASSES[label[rows]]),
                }
            )
            for suffix in (".parquet", ".csv"):
                path = Path(folder) / f"votes{suffix}"
                table.write_parquet(path) if suffix == ".parquet" else table.write_csv(path)
                ours, theirs = measure_reading(path, size.times)
                print(
                    f"{votes:,} votes, {order}, {suffix}: votewise {ours[0]:.2f} s, {ours[1]:.2f} GB; "
                    f"pandas {theirs[0]:.2f} s, {theirs[1]:.2f} GB; "
                    f"{theirs[0] / ours[0]:.3g} x as fast, {theirs[1] / ours[1]:.3g} x less memory",
                    flush=True,
                )
                path.unlink()


def measure_reading(path: Path, times: int) -> list[tuple[float, float]]:
    """Best seconds and least peak gigabytes of votewise and of pandas, in fresh processes that take turns."""
    runs = np.empty((times, 2, 2))
    for time_of in runs:
        for who, numbers in zip(("votewise", "pandas"), time_of, strict=True):
            command: list[str | Path] = [sys.executable, HERE, "--read", who, path]
            numbers[:] = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return [(float(seconds), float(memory)) for seconds, memory in runs.min(axis=0)]


def read_once(who: str, file: str) -> None:
    """Read in this process and print seconds and peak gigabytes; imports are not counted."""
    if who == "pandas":
        import pandas as pd

        start = time.perf_counter()
        frame = pd.read_parquet(file) if file.endswith(".parquet") else pd.read_csv(file)
        frame.groupby(["task", "label"]).size().unstack(fill_value=0)
    else:
        import pyarrow.parquet  # type: ignore[import-untyped]  # noqa: F401 - like pandas', imports are not counted

        start = time.perf_counter()
        read_votes(
            file
        )  # does more than groupby: keeps every single vote, and checks that no annotator votes twice on an item
    seconds = time.perf_counter() - start
    print(seconds, peak_gigabytes())


def peak_gigabytes() -> float:
    """Peak memory of this process alone (`getrusage` would include what its parent held when it started)."""
    status = Path("/proc/self/status")
    if status.is_file():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def dawid_skene_part(size: Size, steps: int = 10) -> None:
    """The votes of CIFAR-10H spread over workers: from one table to each item's class, against crowd-kit."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    frame = spread_over_workers(cifar10h_counts(size.items), size.workers)
    table = pd.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
    # Steps of EM never lose likelihood but for rounding, so these tolerances let both take all steps.
    peer = DawidSkene(n_iter=steps, tol=-1.0)
    fitted = dawid_skene(read_votes(table), most_steps=steps, tolerance=0)
    shares = peer.fit_predict_proba(table)
    if not len(fitted.log_likelihood) == len(peer.loss_history_) == steps:
        raise SystemExit(f"not {steps} steps: {len(fitted.log_likelihood)} and {len(peer.loss_history_)} of crowd-kit")
    items, classes = ([int(name) for name in names] for names in (fitted.targets.item_ids, fitted.targets.classes))
    apart = np.abs(fitted.targets.probs - shares.loc[items, classes].to_numpy()).max()
    ours = best(lambda: dawid_skene(read_votes(table), most_steps=steps, tolerance=0), size.times)
    theirs = best(lambda: peer.fit(table), size.times)
    print(f"{len(frame):,} votes, {size.items:,} items, {size.workers:,} workers, {steps} steps: {ours * 1e3:.0f} ms")
    print(f"crowd-kit: {theirs * 1e3:.0f} ms; votewise is {theirs / ours:.3g} x as fast")
    print(f"largest difference between their posteriors: {apart:.1e}")


def delivery(size: Size) -> None:
    """Ten million labels of ten classes."""
    counts = cifar10h_counts(size.items)
    people = Votes.from_counts(counts)
    rows = np.arange(people.n_items)
    sls, multipass = SLS(people, seed=0), Multipass(people, seed=0)
    cumulated = people.probs.cumsum(axis=1)

    def plain() -> None:
        rng = np.random.default_rng(0)
        for _ in range(size.epochs):
            (cumulated > rng.random((people.n_items, 1))).argmax(axis=1)

    def epochs(method: SLS | Multipass) -> None:
        for epoch in range(size.epochs):
            method.labels(epoch, rows)

    of_sls, of_multipass, of_plain = (
        best(work, size.times) for work in (lambda: epochs(sls), lambda: epochs(multipass), plain)
    )
    print(
        f"{size.epochs * size.items:,} labels ({size.epochs:,} epochs x {size.items:,} items): "
        f"sls {of_sls:.3g} s, multipass {of_multipass:.3g} s"
    )
    print(f"a plain NumPy draw from one generator: {of_plain:.3g} s; sls is {of_plain / of_sls:.3g} x as fast")
    building = best(lambda: Multipass(people, seed=0), size.times)
    print(f"building multipass ({counts.sum():,} votes shuffled): {building * 1e3:.0f} ms")


def scoring(size: Size) -> None:
    """All metrics with intervals on a million predictions."""
    rng = np.random.default_rng(0)
    items = size.predictions
    people = np.tile(Votes.from_counts(cifar10h_counts(size.items)).probs, (items // size.items, 1))
    probs = 0.7 * people + 0.3 * rng.dirichlet(np.full(10, 0.3), size=items)
    ours = best(lambda: score(people, probs), size.times)

    def per_item() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return -(people * np.log(probs)).sum(axis=1)

    nll = per_item()

    def resample() -> None:
        for _ in range(20):
            nll[rng.integers(0, items, size=items)].mean()

    theirs = len(METRICS) * (best(per_item, size.times) + 50 * best(resample, size.times))
    print(f"{items:,} x 10 predictions, {len(METRICS)} metrics with intervals from 1,000 resamples: {ours:.3g} s")
    print(
        f"a plain bootstrap of {len(METRICS)} means: {theirs:.3g} s (20 resamples of one measured); "
        f"votewise is {theirs / ours:.3g} x as fast"
    )


def cifar10h_counts(items: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """The counts of the first items if they are available, else simulated ones of the same shape."""
    folder = Path(os.environ.get("VOTEWISE_DATA") or HERE.parents[2] / "shared" / "data")
    if (folder / "cifar10h-counts.npy").is_file():
        return np.load(folder / "cifar10h-counts.npy")[:items]
    print("(no cifar10h-counts.npy in $VOTEWISE_DATA: simulated votes of the same number)")
    rng = np.random.default_rng(0)
    return rng.multinomial(51, rng.dirichlet(np.full(10, 0.02), size=items))


def spread_over_workers(counts: np.ndarray[tuple[int, int], np.dtype[np.int64]], workers: int) -> pl.DataFrame:
    """One row per vote; workers take votes in turn, so each gives about 200."""
    item, label = (np.repeat(index, counts.ravel()) for index in np.indices(counts.shape).reshape(2, -1))
    worker = np.random.default_rng(0).permutation(workers)[np.arange(len(item)) % workers]
    return pl.DataFrame({"task": item, "worker": worker, "label": label})


def best(work: Callable[[], object], times: int) -> float:
    """The shortest of several times, in seconds."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took)


if __name__ == "__main__":
    main()
