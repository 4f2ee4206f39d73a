"""Writers that are killed, run by test_crashes.py in a process of their own, from which they are forked.

`python crashing.py random FOLDER` kills writers at random moments, `python crashing.py everywhere FOLDER` at every
operation on files that a write makes; `python crashing.py together FOLDER` lets several write and one read at once.
Each fails on the first record that is lost or half there.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from votewise.records import RecordStore, RunRecord, run_id

KILLS = 100
RUNS = 40


def record(seed: int, status: str = "done") -> RunRecord:
    return RunRecord(
        config={"seed": seed},
        status=status,
        failure=None if status == "done" else "NaN",
        curves={"soft_nll": [1.0, 0.5]},
        arrays={"logits": np.full((50, 10), seed, np.float32)},
    )


def save(path: Path) -> None:
    path.write_bytes(b"weights" * 1000)


def fork(work: Callable[[], None]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException as error:
        os.write(2, repr(error).encode())
        os._exit(1)
    os._exit(0)


def statuses(store: RecordStore) -> dict[str, str]:
    """Every record there, read to the last byte; none may be half."""
    listed = store.ids()
    found = {found.run_id: found.status for found in store.records()}
    assert found.keys() >= set(listed), store.faults()
    for name in found:
        assert weights(store, name) == b"weights" * 1000
    return found


def weights(store: RecordStore, name: str) -> bytes:
    """The attached file; asked for again where the record was replaced between its path and its bytes."""
    for _ in range(2):  # a failed run gives way once, to a finished one
        try:
            return store.attachment(name, "best").read_bytes()
        except FileNotFoundError:
            continue
    return store.attachment(name, "best").read_bytes()


def assert_nothing_lost(before: dict[str, str], after: dict[str, str]) -> None:
    for name, status in before.items():
        assert name in after, f"{name} is lost"
        assert status == "failed" or after[name] == "done", f"{name} was done"


def leftovers(store: RecordStore) -> list[str]:
    return [path.name for pattern in (".part-*", ".old-*") for path in store.folder.glob(pattern)]


def write_all(store: RecordStore, rng: random.Random, begun: int) -> None:
    """New runs, failed ones, finished ones in the place of failed ones, and the same again; says when it begins."""
    os.write(begun, b"!")
    while True:
        store.write(record(rng.randrange(RUNS), rng.choice(["done", "failed", "failed"])), {"best": save})


def kill_at_random(folder: Path) -> None:
    store, rng = RecordStore(folder), random.Random(0)
    store.write(record(0), {"best": save})
    before, interrupted = statuses(store), 0
    for kill in range(KILLS):
        begun, its = os.pipe()
        child = fork(lambda kill=kill, its=its: write_all(RecordStore(folder), random.Random(kill), its))
        os.read(begun, 1)
        os.close(begun)
        os.close(its)
        time.sleep(rng.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        after = statuses(store)
        assert_nothing_lost(before, after)
        interrupted += bool(leftovers(store))
        before = after
        if len(after) == RUNS and set(after.values()) == {"done"}:  # nothing left to write: start again
            shutil.rmtree(folder)
            before = {}
    store.write(record(RUNS + 1), {"best": save})
    assert leftovers(store) == []
    assert interrupted > KILLS / 10, f"only {interrupted} of {KILLS} kills fell into a write"


def kill_everywhere(folder: Path) -> None:
    name = run_id(record(0).config)
    for old in (None, "failed", "damaged"):
        for operation in range(1000):
            store = prepared(folder, old)
            child = fork(lambda store=store, operation=operation: write_and_die(store, operation))
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            check_after_death(store, name, old, done=code == 0)
            if code == 0:
                break
            assert code == -signal.SIGKILL
        assert operation > 10, f"only {operation} operations were seen"


def prepared(folder: Path, old: str | None) -> RecordStore:
    shutil.rmtree(folder, ignore_errors=True)
    store = RecordStore(folder)
    store.write(record(1), {"best": save})
    if old is not None:
        store.write(record(0, "failed"), {"best": save})
    if old == "damaged":
        (folder / run_id(record(0).config) / "arrays.npz").write_bytes(b"")
    return store


def write_and_die(store: RecordStore, operation: int) -> None:
    """Write a record, and die before the given of the operations on files."""
    seen = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event == "open" or event.startswith(("os.", "shutil.", "fcntl.")):
            seen += 1
            if seen == operation + 1:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    store.write(record(0), {"best": save})


def check_after_death(store: RecordStore, name: str, old: str | None, done: bool) -> None:
    if old != "damaged" or done:
        after = statuses(store)
        assert after[run_id(record(1).config)] == "done"
        assert after.get(name) in ({"done"} if done else {"done", old})
    else:
        assert store.has(run_id(record(1).config))
    aside = list(store.folder.glob(".corrupt-*"))
    damaged = [*aside, *([store.folder / name] if not store.has(name) and (store.folder / name).exists() else [])]
    assert len(damaged) == (old == "damaged"), "a damaged record is never deleted"
    before = store.ids()
    store.write(record(2), {"best": save})
    assert leftovers(store) == []
    assert set(store.ids()) >= set(before), "what was in force is lost"
    store.write(record(0), {"best": save})
    assert set(statuses(store).values()) == {"done"}


def write_together(folder: Path) -> None:
    """The same and different runs at once, failed ones giving way to finished ones, and a reader in between."""
    store = RecordStore(folder)
    writers = [
        fork(lambda writer=writer: write_each(RecordStore(folder), random.Random(writer))) for writer in range(4)
    ]
    before: dict[str, str] = {}
    while writers:
        after = statuses(store)
        assert_nothing_lost(before, after)
        before = after
        done, code = os.waitpid(writers[0], os.WNOHANG)
        if done:
            assert code == 0
            del writers[0]
    assert statuses(store) == {run_id(record(seed).config): "done" for seed in range(RUNS)}
    assert leftovers(store) == []


def write_each(store: RecordStore, rng: random.Random) -> None:
    for status in ("failed", "done"):
        for seed in rng.sample(range(RUNS), RUNS):
            store.write(record(seed, status), {"best": save})


if __name__ == "__main__":
    {"random": kill_at_random, "everywhere": kill_everywhere, "together": write_together}[sys.argv[1]](
        Path(sys.argv[2])
    )
