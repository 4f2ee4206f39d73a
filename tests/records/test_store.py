"""Records on disk: round trips, damage, forgeries, replacing, attached files."""

from __future__ import annotations

import io
import json
import math
import os
import pickle
import shutil
import time
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from votewise import InputError
from votewise.records import DamagedRecordError, Fault, RecordStore, RunRecord, _folder, record_differences, run_id

DONE = RunRecord(
    config={"method": "sls", "votes": None, "seed": 3, "recipe": {"epochs": 2}},
    status="done",
    curves={"soft_nll": [0.9, 0.7]},
    numbers={"best_epoch": 2.0, "soft_nll_best": 0.7},
    arrays={"rows": np.arange(2), "logits": np.array([[1, 0.5]], np.float32)},
    environment={"python": "3.11"},
    timing={"seconds": 1.5},
)


def changed(record: RunRecord, **changes: Any) -> RunRecord:
    return RunRecord(**(vars(record) | changes))


FAILED = changed(DONE, status="failed", failure="the loss became NaN in epoch 1", arrays={})


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path / "runs")


@pytest.fixture
def place(store: RecordStore) -> Path:
    """The folder of a record that was written."""
    store.write(DONE)
    return store.folder / DONE.run_id


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def remedy(place: Path, got: str) -> str:
    return f"the record in {str(place)!r} must be undamaged, but {got}. Delete the folder and rerun to repeat this run."


def sealed(content: bytes) -> bytes:
    """record.json around a content, as documented."""
    return b'{"checksum": "%s",\n"record": %s}\n' % (sha256(content).hexdigest().encode(), content)


def forge(place: Path, arrays: bytes | None = None, **changes: Any) -> None:
    """Change a record on disk and fix all checksums."""
    fields = json.loads((place / "record.json").read_bytes())["record"]
    if arrays is not None:
        (place / "arrays.npz").write_bytes(arrays)
        fields["files"]["arrays.npz"] = [len(arrays), sha256(arrays).hexdigest()]
    (place / "record.json").write_bytes(sealed(json.dumps(fields | changes).encode()))


def npz(content: bytes, name: str = "x.npy", compression: int = zipfile.ZIP_STORED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def npy(header: str, data: bytes = b"") -> bytes:
    """An array file with any header."""
    line = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + data


# Round trips

any_float = st.floats(width=64)
arrays = hnp.arrays(
    st.sampled_from(["?", "i1", "u1", "<i8", ">i4", "u8", "<f2", "<f4", "<f8", ">f8", "<U3"]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
array_names = st.text(
    st.characters(categories=["L", "N", "P", "S", "M"], exclude_characters="/\\"), min_size=1, max_size=5
).filter(str.isprintable)


@settings(max_examples=150)
@given(
    curves=st.dictionaries(st.text(max_size=5), st.lists(any_float, max_size=4), max_size=3),
    numbers=st.dictionaries(st.text(max_size=5), any_float | st.integers(-(2**70), 2**70), max_size=3),
    texts=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    arrays=st.dictionaries(array_names, arrays, max_size=3),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, curves: Any, numbers: Any, texts: Any, arrays: Any
) -> None:
    store = RecordStore(tmp_path_factory.mktemp("store"))
    record = RunRecord(
        config={"texts": texts}, status="done", curves=curves, numbers=numbers, arrays=arrays, environment=texts,
        timing=numbers,
    )  # fmt: skip
    store.write(record)
    back = store.read(record.run_id)
    assert record_differences(record, back) == []
    assert {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in back.arrays.items()} == {
        name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()
    }
    assert (back.config, back.environment) == ({"texts": texts}, texts)
    assert repr(sorted(back.timing.items())) == repr(sorted(record.timing.items()))
    with np.load(
        store.folder / record.run_id / "arrays.npz", allow_pickle=False
    ) as plain:  # for anyone without votewise
        assert set(plain) == set(arrays)
    shutil.rmtree(store.folder)


def test_the_same_run_leaves_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once, again = RecordStore(tmp_path / "once"), RecordStore(tmp_path / "again")
    once.write(DONE)
    monkeypatch.setattr(time, "time", lambda: 2e9)
    again.write(changed(DONE, arrays={"logits": np.asfortranarray(DONE.arrays["logits"]), "rows": np.arange(2)}))
    for name in ("record.json", "arrays.npz"):
        assert (once.folder / DONE.run_id / name).read_bytes() == (again.folder / DONE.run_id / name).read_bytes()


def test_a_store(store: RecordStore, place: Path) -> None:
    other = changed(DONE, config={"seed": 4})
    store.write(other)
    (store.folder / "notes.txt").write_text("not a run", encoding="utf-8")
    assert store.ids() == sorted([DONE.run_id, other.run_id])
    assert store.has(DONE.run_id)
    assert not store.has("0" * 32)
    assert [record.run_id for record in store.records()] == store.ids()
    assert store.faults() == []
    assert names(place) == ["arrays.npz", "record.json"]
    summary = store.read_summary(DONE.run_id)
    assert (summary.config, summary.numbers, summary.epochs) == (DONE.config, DONE.numbers, 2)
    assert not hasattr(summary, "arrays")


def test_no_folder_is_an_empty_store(store: RecordStore) -> None:
    assert (store.ids(), list(store.records()), store.faults(), store.survey()) == ([], [], [], ([], []))
    assert not store.has(DONE.run_id)
    assert not store.folder.exists()


@pytest.mark.parametrize("name", ["0" * 32, "x", "../runs", "", "0" * 31 + "A", 5])
def test_unknown_runs(store: RecordStore, place: Path, name: Any) -> None:
    assert not store.has(name)
    for ask in (store.read, store.read_summary, lambda name: store.attachment(name, "x")):
        with pytest.raises(InputError) as error:
            ask(name)
        assert str(error.value) == (
            f"the run must be in {str(store.folder)!r}, but no record there has the id {name!r}. Check the id."
        )


# --- names of its own and of others


STRAYS: dict[str, Callable[[Path], None]] = {
    "a folder": lambda path: path.mkdir(),
    "a file": lambda path: path.touch(),
    "a link to a file": lambda path: path.symlink_to(__file__),
    "a link to a folder": lambda path: path.symlink_to(Path(__file__).parent),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a pipe": lambda path: os.mkfifo(path),
}


@pytest.mark.parametrize("stray", STRAYS)
@pytest.mark.parametrize("stem", [".part-", ".old-"])
def test_names_of_others_are_left_alone(store: RecordStore, place: Path, stem: str, stray: str) -> None:
    path = store.folder / f"{stem}holidays"
    STRAYS[stray](path)
    if path.is_dir() and not path.is_symlink():
        (path / "photo.jpg").write_bytes(b"irreplaceable")
    before = path.lstat()
    store.write(DONE, replace=True)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert names(store.folder) == sorted([".lock", DONE.run_id, path.name])
    if stray == "a folder":
        assert (path / "photo.jpg").read_bytes() == b"irreplaceable"


@pytest.mark.parametrize("stray", [name for name in STRAYS if name != "a folder"])
@pytest.mark.parametrize("stem", [".part-", ".old-", ""])
@pytest.mark.parametrize("there", [False, True], ids=["first", "again"])
def test_no_stray_under_a_name_of_its_own_blocks_a_run(store: RecordStore, stem: str, stray: str, there: bool) -> None:
    """The stray is kept under another name, since the store did not make it."""
    if there:
        store.write(DONE)
        (store.folder / DONE.run_id).rename(kept := store.folder / "kept")
    store.folder.mkdir(exist_ok=True)
    path = store.folder / f"{stem}{DONE.run_id}"
    STRAYS[stray](path)
    before = path.lstat()
    if there and stem:
        kept.rename(store.folder / DONE.run_id)
    assert store.has(DONE.run_id) == (there and stem != "")
    seen = stem == "" or (stem == ".old-" and not there)  # where readers look for the record
    assert [fault.run_id for fault in store.faults()] == [DONE.run_id] * seen
    store.write(DONE, replace=True)
    assert record_differences(store.read(DONE.run_id), DONE) == []
    assert store.faults() == []
    aside = store.folder / f".corrupt-{DONE.run_id}-1"
    assert (aside.lstat().st_ino, aside.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert set(names(store.folder)) - {"kept"} == {".lock", DONE.run_id, aside.name}


@pytest.mark.parametrize("stray", [name for name in STRAYS if name != "a file"])
def test_a_lock_that_is_no_file(store: RecordStore, stray: str) -> None:
    store.folder.mkdir()
    lock = store.folder / ".lock"
    STRAYS[stray](lock)
    with pytest.raises(InputError) as error:
        store.write(DONE)
    assert str(error.value) == (
        f"{str(lock)!r} must be a file, but it is a folder, a link or a pipe. Move it out of the store."
    )
    assert names(store.folder) == [".lock"]


def test_a_folder_that_is_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to("nothing")
    with pytest.raises(InputError) as error:
        RecordStore(tmp_path / "runs")
    assert str(error.value) == (
        f"{str(tmp_path / 'runs')!r} must be a folder for records, but it is a link to nothing. Name another."
    )


def test_a_list_of_runs_reads_no_arrays(store: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        store.write(changed(DONE, config={"seed": seed}))
    monkeypatch.setattr("votewise.records._folder.read_arrays", lambda *_: pytest.fail("an array was read"))
    found, faults = store.survey()
    assert (len(found), faults) == (3, [])


# Attached files that come and go


def test_files_can_be_attached_listed_and_let_go(store: RecordStore) -> None:
    store.write(DONE, {"best.bin": lambda path: path.write_bytes(b"weights") and None})
    assert store.attached(DONE.run_id) == ("best.bin",)
    store.detach(DONE.run_id)
    assert store.attached(DONE.run_id) == ()
    assert record_differences(store.read(DONE.run_id), DONE) == []
    store.detach(DONE.run_id)  # nothing is left to do
    assert [path.name for path in store.folder.iterdir() if path.name != ".lock"] == [DONE.run_id]


def test_a_finished_run_is_replaced_only_when_asked_to(store: RecordStore) -> None:
    other = changed(DONE, numbers={"soft_nll_best": 0.25})
    store.write(DONE)
    with pytest.raises(InputError, match="a run done twice must give the same result"):
        store.write(other)
    store.write(other, replace=True)
    assert record_differences(store.read(DONE.run_id), other) == []


# Damage


@pytest.mark.parametrize("name", ["record.json", "arrays.npz"])
@pytest.mark.parametrize("flip", [0x01, 0x20, 0xFF])
def test_every_flipped_byte_is_found(store: RecordStore, place: Path, name: str, flip: int) -> None:
    whole = (place / name).read_bytes()
    for position in range(len(whole)):
        broken = bytearray(whole)
        broken[position] ^= flip
        (place / name).write_bytes(broken)
        with pytest.raises(DamagedRecordError) as error:
            store.read(DONE.run_id)
        assert str(error.value) == remedy(place, f"the bytes of {name} have changed")
    assert not store.has(DONE.run_id)
    (place / name).write_bytes(whole)
    assert store.has(DONE.run_id)


@pytest.mark.parametrize("name", ["record.json", "arrays.npz"])
def test_every_truncation_is_found(store: RecordStore, place: Path, name: str) -> None:
    whole = (place / name).read_bytes()
    for length in [*range(len(whole)), len(whole) + 1]:
        (place / name).write_bytes((whole + b"\n")[:length])
        for read in (store.read, store.read_summary):  # a list of runs finds it, too
            with pytest.raises(DamagedRecordError) as error:
                read(DONE.run_id)
            fault = f"arrays.npz has {length:,} bytes instead of {len(whole):,}"
            assert error.value.got == (fault if name == "arrays.npz" else "the bytes of record.json have changed")


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_empty_file(path: Path) -> None:
    shutil.rmtree(path)
    path.touch()


@pytest.mark.parametrize(
    ("harm", "got"),
    [
        (lambda place: (place / "arrays.npz").unlink(), "arrays.npz is missing"),
        (lambda place: (place / "record.json").unlink(), "record.json is missing"),
        (lambda place: as_folder(place / "arrays.npz"), "arrays.npz is missing"),
        (lambda place: as_folder(place / "record.json"), "record.json is missing"),
        (as_empty_file, "record.json is missing"),
        (lambda place: forge(place, config={"seed": 9}), f"it holds the run {run_id({'seed': 9})}"),
        (lambda place: forge(place, config=None), "record.json does not hold a record"),
        (lambda place: forge(place, curves=[1]), "record.json does not hold a record"),
        (lambda place: forge(place, files={}), "record.json does not hold a record"),
        (lambda place: (place / "record.json").write_bytes(sealed(b"[" * 100_000)), "record.json does not hold a record"),
        (lambda place: (place / "record.json").write_bytes(sealed(b"[]")), "record.json does not hold a record"),
    ],
)  # fmt: skip
def test_damage_is_named(store: RecordStore, place: Path, harm: Callable[[Path], None], got: str) -> None:
    harm(place)
    assert not store.has(DONE.run_id)
    assert store.ids() == [DONE.run_id]
    assert list(store.records()) == []
    assert store.faults() == [Fault(DONE.run_id, remedy(place, got))]
    assert store.survey() == ([], store.faults())
    store.write(DONE)  # the damaged one is kept aside
    assert store.has(DONE.run_id)
    assert names(store.folder) == [f".corrupt-{DONE.run_id}-1", ".lock", DONE.run_id]
    shutil.rmtree(place)
    place.mkdir()
    store.write(DONE)
    assert names(store.folder) == [f".corrupt-{DONE.run_id}-1", f".corrupt-{DONE.run_id}-2", ".lock", DONE.run_id]


def test_a_newer_schema_is_left_alone(store: RecordStore, place: Path) -> None:
    forge(place, schema=2, config="of a kind yet to come")
    before = (place / "record.json").read_bytes()
    message = (
        f"the record in {str(place)!r} must have schema version 1 or older, but got version 2. "
        "Read it with a newer votewise."
    )
    for use in (store.read, store.read_summary, store.has, lambda _: store.write(DONE)):
        with pytest.raises(InputError) as error:
            use(DONE.run_id)
        assert str(error.value) == message
    assert store.faults() == [Fault(DONE.run_id, message)]
    assert (place / "record.json").read_bytes() == before
    assert names(store.folder) == [".lock", DONE.run_id]


# Forgeries: right checksums, wrong content


class Bomb:
    """Unpickled, it would leave a trace."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("unpickled",)


def overlapping() -> bytes:
    """Two members that are the same bytes, though the file has them once."""
    content = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4096,), }", bytes(4096))
    packed = bytearray(npz(content, "a.npy"))
    start, end = packed.index(b"PK\x01\x02"), packed.index(b"PK\x05\x06")
    entry, tail = packed[start:end], packed[end:]
    packed[start:] = entry + entry.replace(b"a.npy", b"b.npy") + tail
    packed[-22 + 8 : -22 + 12] = b"\x02\x00\x02\x00"
    packed[-22 + 12 : -22 + 16] = (2 * len(entry)).to_bytes(4, "little")
    return bytes(packed)


def claiming(size: int) -> bytes:
    """A member whose entry in the directory claims a size."""
    packed = bytearray(npz(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", b"x")))
    entry = packed.index(b"PK\x01\x02")
    packed[entry + 20 : entry + 28] = size.to_bytes(4, "little") * 2
    return bytes(packed)


FORGED = {
    "pickled": npz(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", pickle.dumps([Bomb()]))),
    "a bare pickle": pickle.dumps(Bomb()),
    "a pickle as member": npz(pickle.dumps(Bomb())),
    "no zip": b"nothing",
    "empty": b"",
    "huge shape": npz(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }", bytes(8))),
    "more than any address": npz(npy(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**18}, {10**18}), }}", bytes(8))),
    "negative shape": npz(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", bytes(8))),
    "bytes left over": npz(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", bytes(16))),
    "a structured type": npz(npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", bytes(8))),
    "a header that is code": npz(npy("__import__('os').mkdir('unpickled')", bytes(8))),
    "a header that is no Python": npz(npy("{'descr': '<f8', (((", bytes(8))),
    "a compressed bomb": npz(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (100000000,), }", bytes(10**8)), compression=zipfile.ZIP_DEFLATED),
    "overlapping members": overlapping(),
    "a member of 4 GB": claiming(2**32 - 2),
    "a name with a path": npz(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", b"x"), name="../x.npy"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Reading `.npy` or `.npz` file required additional header parsing")
@pytest.mark.parametrize("case", FORGED)
def test_forged_arrays_are_refused(
    store: RecordStore, place: Path, case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    forge(place, FORGED[case])
    with pytest.raises(DamagedRecordError) as error:
        store.read(DONE.run_id)
    assert error.value.got in ("arrays.npz does not hold plain arrays", "arrays.npz does not hold arrays of a record")
    assert not (tmp_path / "unpickled").exists()
    assert not (tmp_path / "x.npy").exists()


def test_the_forger_can_forge(store: RecordStore, place: Path) -> None:
    """Else the tests above would prove nothing."""
    forge(place, npz(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", b"x")))
    assert store.read(DONE.run_id).arrays["x"].tolist() == [ord("x")]
    forge(place, numbers={"a": "nan"})
    assert math.isnan(store.read(DONE.run_id).numbers["a"])


# Writing what is there already


def test_a_record_written_again_is_kept(store: RecordStore, place: Path) -> None:
    before = place.stat().st_ino, (place / "record.json").read_bytes()
    store.write(changed(DONE, timing={"seconds": 99.0}, environment={"device": "another"}))
    assert (place.stat().st_ino, (place / "record.json").read_bytes()) == before


def test_a_failed_run_gives_way(store: RecordStore) -> None:
    store.write(FAILED)
    place = store.folder / FAILED.run_id
    before = place.stat().st_ino
    store.write(changed(FAILED, timing={}))
    assert place.stat().st_ino == before
    store.write(changed(FAILED, failure="no memory"))
    assert store.read(DONE.run_id).failure == "no memory"
    store.write(DONE)
    assert store.read(DONE.run_id).status == "done"
    store.write(FAILED)  # a finished run does not give way
    assert record_differences(store.read(DONE.run_id), DONE) == []
    assert names(store.folder) == [".lock", DONE.run_id]


def test_a_record_replaced_while_it_is_read(store: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(FAILED)
    read_arrays = _folder.read_arrays

    def read_too_late(*arguments: Any) -> Any:
        monkeypatch.undo()
        store.write(DONE)
        return read_arrays(*arguments)

    monkeypatch.setattr(_folder, "read_arrays", read_too_late)
    assert record_differences(store.read(DONE.run_id), DONE) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the names of open files")
def test_what_is_renamed_is_durable(store: RecordStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of operations on which surviving a loss of power rests."""
    store.write(FAILED)
    done: list[str] = []
    sync, rename, rmtree = os.fsync, Path.rename, shutil.rmtree

    def name_of(path: str | Path) -> str:
        return str(Path(path).relative_to(store.folder)).replace(DONE.run_id, "ID")

    def noted_sync(handle: int) -> None:
        done.append("sync " + name_of(Path(f"/proc/self/fd/{handle}").readlink()))
        sync(handle)

    def noted_rename(self: Path, target: Path) -> Path:
        done.append(f"{name_of(self)} to {name_of(target)}")
        return rename(self, target)

    def noted_rmtree(path: Path, ignore_errors: bool) -> None:
        done.append(f"remove {name_of(path)}")
        rmtree(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "rename", noted_rename)
    monkeypatch.setattr(shutil, "rmtree", noted_rmtree)
    store.write(DONE, {"best": save_weights})
    assert done == [
        "sync .part-ID/arrays.npz", "sync .part-ID/best", "sync .part-ID/record.json", "sync .part-ID",
        "ID to .old-ID", ".part-ID to ID", "sync .", "remove .old-ID", "remove .part-ID",
    ]  # fmt: skip


def test_another_result_of_the_same_run_is_an_error(store: RecordStore, place: Path) -> None:
    with pytest.raises(InputError) as error:
        store.write(changed(DONE, numbers={"soft_nll_best": 0.8}))
    assert str(error.value) == (
        f"a run done twice must give the same result as in {str(place)!r}, "
        "but 'numbers.best_epoch', 'numbers.soft_nll_best' differ. "
        "Something outside the config affects the result; find it, or delete that folder."
    )
    assert record_differences(store.read(DONE.run_id), DONE) == []


def test_only_records_are_written(store: RecordStore) -> None:
    with pytest.raises(InputError, match=r"^record must be RunRecord, but got dict\. Build a RunRecord\.$"):
        store.write({"config": {}})  # type: ignore[arg-type]


# Attached files


def save_weights(path: Path) -> None:
    path.write_bytes(b"weights")


def test_attached_files(store: RecordStore) -> None:
    store.write(DONE, {"best.safetensors": save_weights})
    path = store.attachment(DONE.run_id, "best.safetensors")
    assert path == store.folder / DONE.run_id / "best.safetensors"
    assert path.read_bytes() == b"weights"
    path.write_bytes(b"weightz")
    assert store.has(DONE.run_id)  # whose own bytes are right
    with pytest.raises(DamagedRecordError) as error:
        store.attachment(DONE.run_id, "best.safetensors")
    assert str(error.value) == remedy(path.parent, "the bytes of best.safetensors have changed")
    path.unlink()
    assert store.faults() == [Fault(DONE.run_id, remedy(path.parent, "best.safetensors is missing"))]


@pytest.mark.parametrize("name", ["best.safetensors", "arrays.npz", "record.json", "../x"])
def test_files_that_are_not_attached(store: RecordStore, place: Path, name: str) -> None:
    with pytest.raises(InputError) as error:
        store.attachment(DONE.run_id, name)
    assert str(error.value) == (
        f"the record in {str(place)!r} must have a file {name!r}, but no file is attached to it. Check the name."
    )
    store.write(FAILED)
    store.write(changed(DONE, config={}), {"a": Path.touch, "b": Path.touch})
    with pytest.raises(InputError, match=r"but it has 'a', 'b'\. Check the name\.$"):
        store.attachment(run_id({}), name)


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "", ".", "..", ".hidden", "/tmp/x", "record.json", "ARRAYS.npz", "a\0", "a\n", "é", "x" * 101, 3])  # fmt: skip
def test_names_of_files_that_are_refused(store: RecordStore, name: Any) -> None:
    with pytest.raises(InputError) as error:
        store.write(DONE, {name: Path.touch})
    assert str(error.value) == (
        "names of attached files must be letters, digits, '.', '_' and '-', at most 100, start with a letter or digit "
        f"and be neither record.json nor arrays.npz, but got {name if name == 3 else repr(name)}. Rename them."
    )
    assert not store.folder.exists()


def test_names_of_files_in_a_forged_record(store: RecordStore, place: Path) -> None:
    secret = store.folder / "secret"
    secret.write_bytes(b"s")
    mark = [1, sha256(b"s").hexdigest()]
    files = json.loads((place / "record.json").read_bytes())["record"]["files"]
    forge(place, files={**files, "../secret": mark})
    with pytest.raises(DamagedRecordError, match=r"record\.json does not hold a record"):
        store.attachment(DONE.run_id, "../secret")


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_file_that_cannot_be_attached(store: RecordStore, place: Path, error: BaseException) -> None:
    def write(path: Path) -> None:
        path.write_bytes(b"half")
        raise error

    with pytest.raises(type(error)):
        store.write(changed(DONE, config={}), {"x": write})
    with pytest.raises(FileNotFoundError):
        store.write(changed(DONE, config={}), {"x": lambda path: None})
    assert names(store.folder) == [".lock", DONE.run_id]
    assert store.has(DONE.run_id)
