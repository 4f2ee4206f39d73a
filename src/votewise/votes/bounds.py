"""What a table may cost: checked before memory is taken for it, since the table engine ends the process without any."""

from __future__ import annotations

import gzip
import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from votewise._errors import InputError
from votewise._json import nesting

if TYPE_CHECKING:
    from pyarrow import parquet  # type: ignore[import-untyped]

MOST_COLUMNS = 2**17

# A packed file may unpack to as many times its size, and a small one to the second number of bytes.
_MOST_UNPACKED = 50
_SMALL_UNPACKED = 2**25

# A table may have as many cells for each byte of its file, and a small one the second number of them. Only files that
# say "the same again" have more cells than bytes.
_MOST_CELLS = 32
_SMALL_CELLS = 2**22

# The texts of a Parquet file, and the names of fields within fields, may unpack to as many times its size, and those of
# a small one to the second number.
_MOST_TEXT = 100
_SMALL_TEXT = 2**26

# Objects times different keys that lines of JSON may have for each byte, and a few lines in all: each object has a
# place for each key in memory. Nesting costs the engine more than its square.
_MOST_PLACES = 8
_SMALL_PLACES = 2**22
_MOST_NESTED = 16
_MOST_NESTED_KEYS = 2**18

# Classes times items for each vote, and for few votes in all; ImageNet's 50,000 pictures have 1,000 classes.
_MOST_COUNTS = 256
_SMALL_COUNTS = 2**26

# What reading takes, measured: bytes for each cell, at most; and addresses that libraries reserve when first used,
# some of it for each core.
_CELL = 110
_CATEGORY = 20
_MEGABYTE = 2**20
_IMPORT = 400 * _MEGABYTE
_START = (600 * _MEGABYTE, 170 * _MEGABYTE)
_ARROW = (900 * _MEGABYTE, 170 * _MEGABYTE)
_LEAST_ROOM = 160 * _MEGABYTE  # what its threads take to look at the first rows of any table

_KEYS = re.compile(rb'("(?:[^"\\\n]++|\\[^\n])*+"?+)[ \t\r]*+(:?+)')
_START_OF_LINES = 2**16
_BLOCK = 2**20
_PART = 2**24

_started = False


def read_unpacked(path: Path) -> bytes:
    """A file's bytes, decompressed if its name ends in .gz."""
    if path.suffix.lower() != ".gz":
        return path.read_bytes()
    most = max(_MOST_UNPACKED * path.stat().st_size, _SMALL_UNPACKED)
    with gzip.open(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise InputError(
            f"a packed table may unpack to {_MOST_UNPACKED} times its size",
            f"{str(path)!r} has more than {most:,} bytes",
            "Unpack it first",
        )
    return content


def check_columns(number: int) -> None:
    """Refuse a table of more columns than can be looked at."""
    if number > MOST_COLUMNS:
        raise InputError(
            f"a table may have {MOST_COLUMNS:,} columns",
            f"it has {number:,}",
            "Make a long table of it, with one row per vote",
        )


def check_cells(cells: int, size: int) -> None:
    """Refuse a file that claims far more cells than its bytes can tell apart."""
    if cells > max(_MOST_CELLS * size, _SMALL_CELLS):
        raise InputError(
            f"a table may have {_MOST_CELLS} cells for each byte of its file",
            f"it has {cells:,} in {size:,} bytes",
            "Save it without the rows and columns that only repeat others",
        )


def check_counts(items: int, classes: int, votes: int) -> None:
    """Refuse votes whose table of counts, items x classes, would be almost empty and fill memory."""
    if items * classes > max(_MOST_COUNTS * votes, _SMALL_COUNTS):
        raise InputError(
            "labels must name classes that many items share, as each item has a count for each",
            f"{votes:,} votes have {classes:,} different labels on {items:,} items",
            "Check which column holds the labels, or leave out rare ones",
        )
    check_memory(8 * items * classes)


def check_json_table(content: bytes, *, lines: bool) -> None:
    """Refuse objects that are nested deeply, or have different keys: both fill memory.

    Args:
        content: JSON.
        lines: whether each line is an object, rather than all of it a list of objects.
    """
    keys = _keys(content)
    check_columns(len(keys))
    objects = _times(content, "{")
    check_places(objects, len(keys), len(content))
    check_memory(4 * len(content) + 40 * objects * len(keys))
    if objects <= _times(content, "\n") + 1 and b"[" not in content:
        return
    depth = nesting(content, lines=lines) - (not lines)
    if depth > _MOST_NESTED or depth**2 * len(keys) > _MOST_NESTED_KEYS:
        raise InputError(
            f"the cells of a table may be nested {_MOST_NESTED} deep, and less where many are",
            f"those of {len(keys):,} keys are nested {depth} deep",
            "Make a long table of it, with one row per vote",
        )


def check_places(objects: int, keys: int, size: int) -> None:
    """Refuse objects that have different keys: as a table, each has a place for each key."""
    if objects * keys > max(_MOST_PLACES * size, _SMALL_PLACES):
        raise InputError(
            "the objects of a JSON table must have the same keys",
            f"{objects:,} have {keys:,} different ones",
            "Make a long table of it, with one row per vote",
        )


def check_names(letters: int, size: int) -> None:
    """Refuse fields within fields whose names, as columns, would repeat a long outer name very often."""
    if letters > max(_MOST_TEXT * size, _SMALL_TEXT):
        raise InputError(
            f"the names of fields within fields may have {_MOST_TEXT} letters for each byte of the table",
            f"they have more than {max(_MOST_TEXT * size, _SMALL_TEXT):,}",
            "Give the outer fields short names",
        )


def _keys(content: bytes) -> set[bytes]:
    """The different keys of objects, or more than a table may have."""
    start = {text for text, colon in _KEYS.findall(content[:_START_OF_LINES]) if colon}
    # Most tables have the same few keys in each line. If they account for all colons, there are no others.
    if len(start) < 50 and _times(content, ":") == sum(content.count(key + b":") for key in start):
        return start
    place = 0
    while place < len(content) and len(start) <= MOST_COLUMNS:
        end = content.find(b"\n", place + _BLOCK)
        end = len(content) if end < 0 else end
        start.update(text for text, colon in _KEYS.findall(content[place:end]) if colon)
        place = end
    return start


def _times(content: bytes, letter: str) -> int:
    """How often a letter occurs; four times as fast as the method of bytes where it often does."""
    return int(np.count_nonzero(np.frombuffer(content, dtype=np.uint8) == ord(letter)))


def check_parquet(path: Path) -> None:
    """Refuse a Parquet file whose pages would unpack to far more than the file can tell, before any is read."""
    from pyarrow import parquet

    size = path.stat().st_size
    with parquet.ParquetFile(path) as file, path.open("rb") as raw:
        meta = file.metadata
        check_columns(meta.num_columns)
        unpacked = cells = 0
        texts: list[tuple[int, int, int, bool]] = []
        for group in range(meta.num_row_groups):
            for place in range(meta.num_columns):
                chunk = meta.row_group(group).column(place)
                values = max(chunk.num_values, meta.row_group(group).num_rows)
                told, longest = 0, 0
                for page_size, page_values, is_dictionary in _pages(raw, chunk, size):
                    unpacked += page_size
                    told += 0 if is_dictionary else page_values
                    longest = max(longest, page_size if is_dictionary else 0)
                cells += max(values, told)
                is_text = chunk.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
                # An encoding by differences lets each text repeat the whole of the one before.
                by_difference = "DELTA_BYTE_ARRAY" in chunk.encodings
                longest = chunk.total_uncompressed_size if by_difference else longest
                if is_text and longest * max(values, told) > _SMALL_TEXT:
                    texts.append((group, place, longest, by_difference))
        check_cells(cells, size)
        if unpacked > max(_MOST_TEXT * size, _SMALL_TEXT):
            raise _too_long(size)
        names = {file.schema.column(place).path for _, place, _, _ in texts}
        total = 0
        with parquet.ParquetFile(path, read_dictionary=sorted(names), pre_buffer=False) as packed:
            for text in texts:
                total += _letters(file, packed, *text, max(_MOST_TEXT * size, _SMALL_TEXT) - total)
                if total > max(_MOST_TEXT * size, _SMALL_TEXT):
                    raise _too_long(size)


def _too_long(size: int) -> InputError:
    return InputError(
        f"the cells of a table may unpack to {_MOST_TEXT} times the size of its file",
        f"those of this one have more than {max(_MOST_TEXT * size, _SMALL_TEXT):,} bytes",
        "Save it without the columns of long texts",
    )


def _letters(
    file: parquet.ParquetFile,
    packed: parquet.ParquetFile,
    group: int,
    place: int,
    longest: int,
    by_difference: bool,
    most: int,
) -> int:
    """The bytes of a chunk's texts, or more than `most`; `packed` is the same file, with texts as dictionaries."""
    column, values = file.schema.column(place), file.metadata.row_group(group).column(place).num_values
    if not by_difference:
        longest = _longest_entry(packed, group, column.path) or longest
        if longest * values <= _SMALL_TEXT:
            return longest * values
    if column.max_repetition_level:  # a single row may hold all values
        return most + 1
    found = 0
    for batch in file.iter_batches(max(_SMALL_TEXT // longest, 1), row_groups=[group], columns=[column.path]):
        found += batch.nbytes
        if found > most:
            break
    return found


def _longest_entry(packed: parquet.ParquetFile, group: int, column: str) -> int | None:
    """The length of the longest text in a column's dictionary; None if it has none, or stands within lists."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]
    from pyarrow import types

    # Threads take longer to start than this takes.
    first = next(packed.iter_batches(1, row_groups=[group], columns=[column], use_threads=False), None)
    cells = None if first is None or not first.num_columns else first.column(0)
    if cells is None or not types.is_dictionary(cells.type):
        return None
    return pc.max(pc.binary_length(cells.dictionary)).as_py()


def _pages(raw: IO[bytes], chunk: parquet.ColumnChunkMetaData, size: int) -> Iterator[tuple[int, int, bool]]:
    """Of each page its unpacked size and number of values, as its header claims, and whether it is a dictionary."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    end = min(start + chunk.total_compressed_size, size)
    while 0 <= start < end:
        raw.seek(start)
        header, length = _read_header(raw, end - start)
        unpacked, packed = header.get(2, 0), header.get(3, 0)
        inner = header.get(5) or header.get(7) or header.get(8) or {}
        if not isinstance(unpacked, int) or not isinstance(packed, int) or not isinstance(inner, dict):
            raise ValueError("the header of a page is damaged")
        values = inner.get(1, 0)
        if min(unpacked, packed) < 0 or not isinstance(values, int) or values < 0:
            raise ValueError("the header of a page is damaged")
        yield unpacked, values, header.get(1) == 2
        start += length + packed


def _read_header(raw: IO[bytes], most: int) -> tuple[dict[int, Any], int]:
    """A page's header, and its length: a struct in Thrift's compact protocol."""
    content = raw.read(min(most, 1024))
    while True:
        try:
            reader = _Thrift(content)
            return reader.struct(0), reader.place
        except IndexError:
            further = raw.read(min(most, 2**24) - len(content)) if len(content) < min(most, 2**24) else b""
            if not further:
                raise ValueError("the header of a page is damaged") from None
            content += further


class _Thrift:
    """Numbers of a struct in Thrift's compact protocol, by field; texts and lists are passed over."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.place = 0

    def struct(self, depth: int) -> dict[int, Any]:
        if depth > 4:
            raise ValueError("the header of a page is damaged")
        found: dict[int, Any] = {}
        field = 0
        while True:
            head = self.byte()
            if not head:
                return found
            step, kind = head >> 4, head & 15
            field = field + step if step else self.number()
            found[field] = self.value(kind, depth)

    def value(self, kind: int, depth: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self.byte()
            case 4 | 5 | 6:
                return self.number()
            case 7:
                self.skip(8)
            case 8:
                self.skip(self.unsigned())
            case 12:
                return self.struct(depth + 1)
            case _:
                raise ValueError("the header of a page is damaged")
        return None

    def byte(self) -> int:
        self.place += 1
        return self.content[self.place - 1]

    def skip(self, number: int) -> None:
        self.place += number
        if self.place > len(self.content):
            raise IndexError

    def unsigned(self) -> int:
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
            if shift > 63:
                raise ValueError("the header of a page is damaged")

    def number(self) -> int:
        found = self.unsigned()
        return (found >> 1) ^ -(found & 1)


def check_start(*, arrow: bool) -> None:
    """Refuse to start the table engine where the process may not reserve what it reserves at first."""
    global _started
    room = _addresses_left()
    if _started and not (arrow and "pyarrow.dataset" not in sys.modules):
        if room is not None and room < _LEAST_ROOM:
            raise _no_room(_LEAST_ROOM, room)
        return
    if room is not None:
        cores = os.cpu_count() or 1
        need = 0 if "polars" in sys.modules else _IMPORT
        need += 0 if _started else _START[0] + cores * _START[1]
        need += _ARROW[0] + cores * _ARROW[1] if arrow and "pyarrow.dataset" not in sys.modules else 0
        if need > room:
            raise _no_room(need, room)
    _started = True


def check_memory(need: int) -> None:
    """Refuse what needs more memory than there is."""
    rooms = [room for room in (_addresses_left(), _memory_left()) if room is not None]
    if rooms and need > min(rooms):
        raise _no_room(need, min(rooms))


def check_room(size: int, cells: int) -> None:
    """Refuse a table that needs more memory than there is.

    Args:
        size: bytes of text.
        cells: the cells that will be read.
    """
    check_memory(2 * size + _CELL * cells)


def check_categories(kinds: Sequence[Any], rows: int) -> None:
    """Refuse a frame in memory whose categories, a byte or so for each cell, would become more texts than memory holds.

    Args:
        kinds: of its columns, of pandas, polars or pyarrow.
        rows: how many it has.
    """
    packed = sum(str(kind).lower().startswith(("category", "categorical", "enum", "dictionary")) for kind in kinds)
    check_memory(_CATEGORY * rows * packed)


def check_short_rows(path: Path, columns: int) -> None:
    """Refuse a text file with so many rows that lack most cells: memory has a place for each cell."""
    size = path.stat().st_size
    if columns <= _MOST_CELLS or path.suffix.lower() == ".gz":  # what is packed is checked when it is unpacked
        return
    check_cells(_lines(path) * columns, size)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(part.count(b"\n") for part in iter(partial(file.read, _PART), b"")) + 1


def check_text(path: Path, columns: int) -> None:
    """Refuse a text file that needs more memory than there is, if that many of its columns are read."""
    size = path.stat().st_size
    rooms = [room for room in (_addresses_left(), _memory_left()) if room is not None]
    if not rooms or 2 * size + _CELL * (size // 2 + 1) <= min(rooms):  # no cell has less than two bytes
        return
    rows = _lines(path)
    check_room(size, min(rows * columns, size))


def _no_room(need: int, room: int) -> InputError:
    return InputError(
        "a table must fit into memory",
        f"reading this one may take {need / 2**30:,.1f} GiB, and {room / 2**30:,.1f} GiB are left",
        "Give the process more memory, or read the table in parts",
    )


def _addresses_left() -> int | None:
    """The bytes that the process may still reserve; None where nothing limits it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    limits = [resource.getrlimit(one)[0] for one in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    known = [limit for limit in limits if limit != resource.RLIM_INFINITY]
    if not known:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return None
    return max(min(known) - pages * resource.getpagesize(), 0)


def _memory_left() -> int | None:
    """The bytes of memory that are free or can be freed, for all processes or for those of the same container."""
    rooms = []
    try:
        told = Path("/proc/meminfo").read_text(encoding="ascii")
        rooms.append(int(re.search(r"MemAvailable:\s+(\d+)", told)[1]) * 1024)  # type: ignore[index]
    except (OSError, TypeError):
        return None
    try:
        most = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii")
        freed = re.search(
            r"^inactive_file (\d+)", Path("/sys/fs/cgroup/memory.stat").read_text(encoding="ascii"), re.MULTILINE
        )
        if most != "max":
            rooms.append(max(int(most) - int(used) + int(freed[1] if freed else 0), 0))
    except OSError:
        pass
    return min(rooms)
