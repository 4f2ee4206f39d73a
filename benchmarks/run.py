"""Benchmarks against peers, in one run, with ratios: `make bench`, or `python benchmarks/run.py [PART ...]`.

Parts: reading, dawid-skene, delivery, score. Nothing here is a test: times depend on the machine. Reading is
measured in separate processes, to measure its peak memory; the other parts take the best of several times.
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
from pathlib import Path

import numpy as np
import polars as pl

from votewise import SLS, Multipass, Votes, dawid_skene, read_votes, score

CLASSES = np.array(["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"])
HERE = Path(__file__).resolve()


def main() -> None:
    """Run the parts that were asked for."""
    parts: dict[str, Callable[[], None]] = {
        "reading": reading,
        "dawid-skene": dawid_skene_part,
        "delivery": delivery,
        "score": scoring,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
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
        parts[name]()


def reading(votes: int = 20_000_000, an_item: int = 10, annotators: int = 5_000) -> None:
    """A long table of 20 million votes: votewise.read_votes against pandas read and groupby."""
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
                ours, theirs = (measure_reading(who, path) for who in ("votewise", "pandas"))
                print(
                    f"{votes:,} votes, {order}, {suffix}: votewise {ours[0]:.2f} s, {ours[1]:.2f} GB; "
                    f"pandas {theirs[0]:.2f} s, {theirs[1]:.2f} GB; "
                    f"{theirs[0] / ours[0]:.1f} x as fast, {theirs[1] / ours[1]:.1f} x less memory"
                )
                path.unlink()


def measure_reading(who: str, path: Path, times: int = 2) -> tuple[float, float]:
    """Best time in seconds and least peak memory in GB over fresh processes."""
    runs = []
    for _ in range(times):
        out = subprocess.run([sys.executable, HERE, "--read", who, path], capture_output=True, text=True, check=True)
        runs.append([float(number) for number in out.stdout.split()])
    seconds, memory = np.min(runs, axis=0)
    return float(seconds), float(memory)


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


def dawid_skene_part() -> None:
    """The votes of CIFAR-10H spread over 2,571 workers: EM steps against crowd-kit's."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    counts = cifar10h_counts()
    frame = spread_over_workers(counts, workers=2571)
    votes = read_votes(frame)
    steps = 10  # both include set-up, spread over the steps of one fit
    ours = best(lambda: dawid_skene(votes, most_steps=steps, tolerance=-np.inf)) / steps
    table = pd.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
    model = DawidSkene(n_iter=steps, tol=-1.0)
    theirs = best(lambda: model.fit(table), times=2) / len(model.loss_history_)
    print(f"{len(frame):,} votes, {len(counts):,} items, 2,571 workers: {ours * 1e3:.1f} ms per step (best of 5)")
    print(f"crowd-kit: {theirs * 1e3:.0f} ms per step; {theirs / ours:.0f} x as fast")


def delivery() -> None:
    """Ten million labels of ten classes."""
    people = Votes.from_counts(cifar10h_counts())
    rows = np.arange(people.n_items)
    sls, multipass = SLS(people, seed=0), Multipass(people, seed=0)

    def plain() -> None:
        rng = np.random.default_rng(0)
        for _ in range(1000):
            (people.probs.cumsum(axis=1) > rng.random((people.n_items, 1))).argmax(axis=1)

    def epochs(method: SLS | Multipass) -> None:
        for epoch in range(1000):
            method.labels(epoch, rows)

    of_sls, of_multipass, of_plain = best(lambda: epochs(sls), 3), best(lambda: epochs(multipass), 3), best(plain, 1)
    print(f"10,000,000 labels (1,000 epochs x 10,000 items): sls {of_sls:.2f} s, multipass {of_multipass:.2f} s")
    print(f"a plain NumPy draw from one generator: {of_plain:.2f} s; sls is {of_plain / of_sls:.1f} x as fast")
    print(f"building multipass (511,000 votes shuffled): {best(lambda: Multipass(people, seed=0)) * 1e3:.0f} ms")


def scoring(items: int = 1_000_000) -> None:
    """All metrics with intervals on a million predictions."""
    rng = np.random.default_rng(0)
    people = np.tile(Votes.from_counts(cifar10h_counts()).probs, (items // 10_000, 1))
    probs = 0.7 * people + 0.3 * rng.dirichlet(np.full(10, 0.3), size=items)
    ours = best(lambda: score(people, probs), 2)

    def per_item() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return -(people * np.log(probs)).sum(axis=1)

    nll = per_item()

    def resample() -> None:
        for _ in range(20):
            nll[rng.integers(0, items, size=items)].mean()

    theirs = 14 * (best(per_item, 2) + 50 * best(resample, 2))
    print(f"{items:,} x 10 predictions, 14 metrics with intervals from 1,000 resamples: {ours:.1f} s")
    print(
        f"a plain bootstrap of 14 means: {theirs:.0f} s (20 resamples of one measured); {theirs / ours:.0f} x as fast"
    )


def cifar10h_counts() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """The real counts if they are available, else simulated ones of the same shape."""
    folder = Path(os.environ.get("VOTEWISE_DATA") or HERE.parents[2] / "shared" / "data")
    if (folder / "cifar10h-counts.npy").is_file():
        return np.load(folder / "cifar10h-counts.npy")
    print("(no cifar10h-counts.npy in $VOTEWISE_DATA: simulated votes of the same number)")
    rng = np.random.default_rng(0)
    return rng.multinomial(51, rng.dirichlet(np.full(10, 0.02), size=10_000))


def spread_over_workers(counts: np.ndarray[tuple[int, int], np.dtype[np.int64]], workers: int) -> pl.DataFrame:
    """One row per vote; workers take votes in turn, so each gives about 200."""
    item, label = (np.repeat(index, counts.ravel()) for index in np.indices(counts.shape).reshape(2, -1))
    worker = np.random.default_rng(0).permutation(workers)[np.arange(len(item)) % workers]
    return pl.DataFrame({"task": item, "worker": worker, "label": label})


def best(work: Callable[[], object], times: int = 5) -> float:
    """The shortest of several times, in seconds."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took)


if __name__ == "__main__":
    main()
