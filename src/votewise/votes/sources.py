"""Files and frames to lazy tables: the one place where votewise touches a file format."""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._checks import first_few
from votewise._errors import InputError, VotewiseError
from votewise._files import as_path, cannot_find
from votewise._npz import check_letters, read_npy
from votewise.votes.bounds import (
    check_categories,
    check_cells,
    check_json_table,
    check_names,
    check_parquet,
    check_room,
    check_short_rows,
    check_start,
    check_text,
    read_unpacked,
)
from votewise.votes.columns import INDEX_COLUMN, has_known
from votewise.votes.layout import (
    TEXT_SUFFIXES,
    Layout,
    decode,
    has_odd_quotes,
    read_by_csv,
    see_layout,
    table_suffix,
)
from votewise.votes.reading import Reading
from votewise.votes.sheets import read_sheet

if TYPE_CHECKING:
    import polars as pl

TABLE_SUFFIXES = (*TEXT_SUFFIXES, ".parquet", ".jsonl", ".xlsx", ".npy", ".json")

_CSV_ADVICE = "Check that it is whole, UTF-8 and properly quoted"


@dataclass(frozen=True)
class Table:
    """A table of named columns, opened as often as needed.

    Attributes:
        source: path, or lazy frame.
        layout: the layout of a text file; None of anything else.
        names: its columns.
    """

    source: Any
    layout: Layout | None
    names: tuple[str, ...]

    def lazy(self, columns: Sequence[str] | None = None, few: Sequence[str] = ()) -> pl.LazyFrame:
        """The rows.

        Args:
            columns: those that will be used, if that is known; others need not be read.
            few: columns of few distinct texts, read straight into categories so that they never fill memory.
        """
        if isinstance(self.source, Path):
            if self.layout is not None:
                check_text(self.source, len(self.names if columns is None else columns))
            return _scan(self.source, self.layout, columns, few)
        return self.source if columns is None else self.source.select(columns)

    def head(self, rows: int) -> pl.DataFrame:
        """The first rows, all columns."""
        import polars as pl

        with engine_errors("the table"):
            if not isinstance(self.source, Path):
                return self.lazy().head(rows).collect()
            if self.layout is not None:
                return _scan(self.source, self.layout, None, ()).head(rows).collect()
            from pyarrow import Table as ArrowTable  # type: ignore[import-untyped]
            from pyarrow import parquet

            batches = []
            with parquet.ParquetFile(self.source) as file:
                for batch in file.iter_batches(batch_size=rows):
                    batches.append(batch)
                    if sum(map(len, batches)) >= rows:
                        break
                found = ArrowTable.from_batches(batches, file.schema_arrow).slice(0, rows)
            found.validate(full=True)  # a damaged text would end in a panic where it is used
            frame = pl.from_arrow(found)
        assert isinstance(frame, pl.DataFrame)
        return frame


def open_table(source: Any, asked: Reading) -> Table | npt.NDArray[Any]:
    """A path, a frame or an array, as a table or an array.

    Args:
        source: where the table is.
        asked: may say what separates cells, which encoding a text file has, and where its rows begin.
    """
    if isinstance(source, np.ndarray):
        return _checked(source)
    if not isinstance(source, (str, os.PathLike)):
        frame = _open_frame(source)
        return Table(frame, None, tuple(column_names(frame, "the table")))
    path = as_path(source)
    check_table_file(path)
    if path.suffix.lower() == ".npy":
        return _load_array(path)
    check_start(arrow=path.suffix.lower() == ".parquet")
    with named_file(path):
        layout = see_layout(path, asked) if table_suffix(path) in TEXT_SUFFIXES else None
        if layout is not None and layout.encoding in ("utf-8", "utf-8-sig"):
            check_short_rows(path, layout.columns)
        rows = _rows(path, layout)
        kept: Any = path if rows is None else rows.lazy()
        names = column_names(_scan(path, layout, None, ()) if rows is None else kept, "the table")
    return Table(kept, layout, tuple(names))


def open_source(source: Any) -> pl.LazyFrame | npt.NDArray[Any]:
    """A path, a pandas, polars or pyarrow frame, or an array, as a lazy table or an array.

    CSV and TSV columns come as text, exactly as written: '007' stays '007'.
    """
    table = open_table(source, Reading())
    return table if isinstance(table, np.ndarray) else table.lazy()


class UnreadableError(InputError):
    """A table that the engine cannot read."""


@contextmanager
def named_file(source: Any) -> Iterator[None]:
    """Put the name of a file into errors about reading it, with advice for its format."""
    try:
        yield
    except UnreadableError as error:
        if not isinstance(source, (str, os.PathLike)):
            raise
        path = Path(source)
        raise UnreadableError(f"the file {str(path)!r} must be readable", error.got, _advice(path)) from None


def _advice(path: Path) -> str:
    match table_suffix(path):
        case ".parquet":
            return "Check that it is whole"
        case ".jsonl":
            return "Check that it is whole and UTF-8, with one JSON object per line"
        case ".xlsx":
            return "Check that it is whole, or save the sheet as CSV"
        case _:
            return f"{_CSV_ADVICE}, or name its encoding: encoding='latin-1' (--encoding latin-1)"


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn the table engine's errors into votewise's, with the engine's first line as the reason."""
    import polars as pl

    try:
        yield
    except VotewiseError:
        raise
    # Arrow's errors are kinds of OSError, ValueError, KeyError, TypeError and NotImplementedError.
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        NotImplementedError,
    ) as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise UnreadableError(f"{what} must be readable", f"reading it failed: {reason}", _CSV_ADVICE) from None


def column_names(table: pl.LazyFrame, what: str) -> list[str]:
    """The table's column names, which must be distinct."""
    with engine_errors(what):
        names = table.collect_schema().names()
    # Polars renames a repeated CSV column silently; a class or annotator given twice is a mistake to report.
    known = set(names)
    repeated = [name for name in names if (stem := re.sub(r"_duplicated_\d+$", "", name)) != name and stem in known]
    if repeated:
        stems = [re.sub(r"_duplicated_\d+$", "", name) for name in repeated]
        raise InputError("column names must be different", f"{first_few(stems)} appears twice", "Rename one of them")
    return names


def check_file(path: Path) -> None:
    """Refuse a path that is not a file."""
    if path.is_dir():
        raise InputError("the table must be a file", f"{str(path)!r} is a folder", "Name a file inside it")
    if not path.exists():
        raise cannot_find(path)
    if not path.is_file():
        raise InputError(
            "the table must be a regular file", f"{str(path)!r} is a pipe or device", "Save what it holds as a file"
        )


def check_table_file(path: Path) -> None:
    """Refuse a path that is not a file with a table."""
    check_file(path)
    if table_suffix(path) not in TABLE_SUFFIXES:
        raise InputError(
            f"a table must end in {', '.join(TABLE_SUFFIXES)}", f"got {str(path)!r}", "Convert it to one of those"
        )
    if path.stat().st_size == 0:
        raise InputError("the table must hold rows", f"{str(path)!r} is empty", "Check how it was made")


def _rows(path: Path, layout: Layout | None) -> pl.DataFrame | None:
    """The rows of a file that the table engine cannot scan: None if it can."""
    import polars as pl

    suffix = table_suffix(path)
    with engine_errors("the table"):
        if suffix in (".jsonl", ".json"):
            content = read_unpacked(path)
            check_json_table(content, lines=suffix == ".jsonl")
            # The engine takes other bytes for text, and fails where the text is used.
            if not content.isascii():
                content.decode()
            read = pl.read_ndjson if suffix == ".jsonl" else pl.read_json
            return _with_fields(read(io.BytesIO(content), infer_schema_length=None), len(content))
        if suffix == ".xlsx":
            return read_sheet(path)
        if layout is None:
            check_parquet(path)
            return None
        plain = layout.encoding in ("utf-8", "utf-8-sig") and path.suffix.lower() != ".gz"
        odd = plain and has_odd_quotes(path, layout.separator)
        if layout.quote == "none":
            return None if plain else _decoded(path, layout)
        if plain and not odd:
            return None
        names, rows = read_by_csv(path, layout, f"the file {str(path)!r}")
        # A row shorter than the names has no value in the last columns.
        columns = (
            zip(*(row + [None] * (len(names) - len(row)) for row in rows), strict=True) if rows else [[]] * len(names)
        )
        return _named(names, [pl.Series([cell or None for cell in column], dtype=pl.String) for column in columns])


def _with_fields(frame: pl.DataFrame, size: int) -> pl.DataFrame:
    """A table in which the fields of objects are columns, unless the objects hold votes."""
    import polars as pl

    from votewise.votes.profile import as_words, split_of

    records = [
        name
        for name, kind in frame.schema.items()
        if isinstance(kind, pl.Struct) and split_of(as_words(frame[name].head(500)).drop_nulls().to_list()) is None
    ]
    letters = 0
    for name in records:
        letters += len(name) * len(frame.schema[name].fields)  # type: ignore[attr-defined]
    check_names(letters, size)
    for name in records:
        fields = [f"{name}.{field.name}" for field in frame.schema[name].fields]  # type: ignore[attr-defined]
        frame = frame.with_columns(pl.col(name).struct.rename_fields(fields)).unnest(name)
    return frame


def _named(names: Sequence[str], columns: Sequence[pl.Series]) -> pl.DataFrame:
    import polars as pl

    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise InputError("column names must be different", f"{first_few(repeated)} appears twice", "Rename one of them")
    return pl.DataFrame([column.alias(name) for name, column in zip(names, columns, strict=True)])


def _decoded(path: Path, layout: Layout) -> pl.DataFrame:
    import polars as pl

    content = read_unpacked(path)
    check_cells((content.count(b"\n") + 1) * layout.columns, len(content))
    check_room(4 * len(content), len(content) // 2)
    text = decode(content, layout.encoding, f"the file {str(path)!r}")
    table = pl.read_csv(io.BytesIO(text.encode()), infer_schema=False, **_csv_options(layout))
    if layout.names:
        return table.rename(dict(zip(table.columns, layout.names, strict=True)))
    return table if layout.header_rows else table.rename(_numbered)


def _scan(path: Path, layout: Layout | None, columns: Sequence[str] | None, few: Sequence[str]) -> pl.LazyFrame:
    import polars as pl

    with engine_errors("the table"):
        if layout is None:
            return _open_parquet(path, columns, few)
        # Columns without names are numbered from 1; the engine numbers them from 0.
        names = [f"column_{int(name) - 1}" for name in few] if layout.header_rows == 0 else few
        table = pl.scan_csv(
            path,
            infer_schema=False,
            schema_overrides={name: pl.Categorical(pl.Categories.random()) for name in names if not layout.names},
            glob=False,
            **_csv_options(layout),
        )
        if layout.names:
            return table.rename(dict(zip(table.collect_schema().names(), layout.names, strict=True)))
        return table if layout.header_rows else table.rename(_numbered)


def _numbered(name: str) -> str:
    return str(int(name.removeprefix("column_")) + 1)


def _csv_options(layout: Layout) -> dict[str, Any]:
    """A layout in the words of the table engine."""
    return {
        "separator": layout.separator,
        "quote_char": None if layout.quote == "none" else '"',
        "has_header": layout.header_rows > 0,
        "skip_lines": layout.skip_rows,
        "skip_rows_after_header": max(layout.header_rows - 1, 0),
    }


def _open_parquet(path: Path, columns: Sequence[str] | None, few: Sequence[str]) -> pl.LazyFrame:
    """A Parquet file read through Arrow: on a damaged page Polars would end the whole process, while Arrow raises."""
    import polars as pl
    from pyarrow import dataset, parquet

    if columns is None:
        meta = parquet.read_metadata(path)
        check_room(path.stat().st_size, meta.num_rows * meta.num_columns)
        return pl.scan_pyarrow_dataset(dataset.dataset(path, format="parquet"))
    texts = {field.name for field in parquet.read_schema(path) if str(field.type) in ("string", "large_string")}
    with parquet.ParquetFile(path, read_dictionary=[name for name in few if name in texts]) as file:
        check_room(path.stat().st_size, file.metadata.num_rows * len(columns))
        # Group by group, Arrow's buffers are used again instead of holding the table a second time.
        groups = [
            pl.DataFrame(file.read_row_group(group, columns=list(columns))) for group in range(file.num_row_groups)
        ]
        empty = pl.DataFrame(file.schema_arrow.empty_table().select(list(columns)))
    return pl.concat(groups).lazy() if groups else empty.lazy()


def _load_array(path: Path) -> npt.NDArray[Any]:
    try:
        return read_npy(path)
    except MemoryError:
        raise
    except Exception as error:  # a damaged header makes NumPy's parser raise anything, TokenError among it
        raise InputError(
            f"{str(path)!r} must be a NumPy array of numbers", f"reading it failed: {error}", "Save it with np.save"
        ) from None


def _checked(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        check_letters(array)
    except ValueError as error:
        raise InputError("an array must be of numbers or text", str(error), "Check how it was made") from None
    return array


def _open_frame(source: Any) -> pl.LazyFrame:
    import polars as pl

    if isinstance(source, pl.LazyFrame):
        return source
    module = type(source).__module__.partition(".")[0]
    if module == "datasets" and hasattr(source, "with_format"):  # of Hugging Face
        return _from_hugging_face(source)
    if module not in ("pandas", "polars", "pyarrow") or not hasattr(source, "__arrow_c_stream__"):
        raise InputError(
            "a table must be a path, a pandas, polars or pyarrow frame, or a NumPy array",
            f"got {type(source).__name__}",
            "Convert it to one of those, e.g. a tensor with .numpy()",
        )
    if hasattr(source, "columns") and hasattr(source, "__len__"):  # not a single column, nor a stream
        check_categories(list(source.schema.types if module == "pyarrow" else source.dtypes), len(source))
    with engine_errors("the frame"):
        return pl.DataFrame(source).lazy() if module != "pandas" else _from_pandas(source)


def _from_hugging_face(source: Any) -> pl.LazyFrame:
    """A data set of Hugging Face; numbers that stand for names of classes become those names."""
    import polars as pl

    if isinstance(source, dict):
        raise InputError(
            "a table must be one split of a data set",
            f"got {type(source).__name__} with {first_few(list(source))}",
            f"Choose one, e.g. data[{next(iter(source), 'train')!r}]",
        )
    with engine_errors("the data set"):
        frame = pl.DataFrame(source.with_format("arrow")[:])
        for name, kind in source.features.items():
            names = getattr(kind, "names", None)
            if names is not None and frame.schema[name].is_integer():
                frame = frame.with_columns(pl.col(name).replace_strict(dict(enumerate(names)), default=None))
    return frame.lazy()


def _from_pandas(frame: Any) -> pl.LazyFrame:
    """A pandas frame; an index that carries names or numbers of items becomes a column like any other."""
    import polars as pl

    try:
        index = frame.index
        named = [name for name in index.names if name is not None]
        if index.nlevels == 1 and type(index).__name__ != "RangeIndex":
            known = named and any(has_known(role, named) for role in ("item", "annotator", "label"))
            nameless = INDEX_COLUMN if not named else "item"  # an index with an unknown name surely names items
            taken = has_known("item", frame.columns)
            name = named[0] if known or (named and taken) else nameless
            frame = frame.reset_index(names=name) if name not in frame.columns else frame
        elif named and not set(named) & set(frame.columns):
            frame = frame.reset_index()
        frame = frame.rename(columns=str)
        for name, dtype in frame.dtypes.items() if frame.columns.is_unique else ():
            # Arrow has no text for these kinds; pandas writes '2020-01' and '(0, 1]'.
            kind = str(getattr(dtype, "categories", dtype).dtype if hasattr(dtype, "categories") else dtype)
            if kind.startswith(("period", "interval")):
                frame = frame.assign(**{name: frame[name].astype(object).map(str, na_action="ignore")})
        return pl.from_pandas(frame).lazy()
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            "a pandas frame must have distinct column names and one type per column",
            f"reading it failed: {error}",
            "Fix those columns",
        ) from None
