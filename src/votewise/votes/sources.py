"""Files and frames to lazy tables: the one place where votewise touches a file format."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._checks import first_few
from votewise._errors import InputError, VotewiseError
from votewise.votes.columns import INDEX_COLUMN, has_known

if TYPE_CHECKING:
    import polars as pl

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl", ".npy")

_CSV_ADVICE = "Check that it is whole, UTF-8 and properly quoted"


def open_source(
    source: Any, columns: Sequence[str] | None = None, few: Sequence[str] = ()
) -> pl.LazyFrame | npt.NDArray[Any]:
    """A path, a pandas, polars or pyarrow frame, or an array, as a lazy table or an array.

    CSV and TSV columns come as text, exactly as written: '007' stays '007'.

    Args:
        source: where the table is.
        columns: those that will be used, if that is known; others need not be read.
        few: columns of few distinct texts, to be read straight into categories so that they never fill memory.
    """
    if isinstance(source, np.ndarray):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _open_file(Path(source), columns, few)
    return _open_frame(source)


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
        raise InputError(f"the file {str(path)!r} must be readable", error.got, _advice(path)) from None


def _advice(path: Path) -> str:
    match path.suffix.lower():
        case ".parquet":
            return "Check that it is whole"
        case ".jsonl":
            return "Check that it is whole and UTF-8, with one JSON object per line"
        case _:
            return _CSV_ADVICE


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
    repeated = [name for name in names if (stem := re.sub(r"_duplicated_\d+$", "", name)) != name and stem in names]
    if repeated:
        stems = [re.sub(r"_duplicated_\d+$", "", name) for name in repeated]
        raise InputError("column names must be different", f"{first_few(stems)} appears twice", "Rename one of them")
    return names


def check_file(path: Path) -> None:
    """Refuse a path that is not a file."""
    if path.is_dir():
        raise InputError("the table must be a file", f"{str(path)!r} is a folder", "Name a file inside it")
    if not path.exists():
        raise InputError("the table must be a file", f"{str(path)!r} does not exist", "Check the path")
    if not path.is_file():
        raise InputError(
            "the table must be a regular file", f"{str(path)!r} is a pipe or device", "Save what it holds as a file"
        )


def _check_encoding(path: Path) -> None:
    """Refuse text that says of itself that it is not UTF-8."""
    with path.open("rb") as file:
        start = file.read(2)
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise InputError(f"the file {str(path)!r} must be UTF-8", "it is UTF-16", "Save it as UTF-8")


def _open_file(path: Path, columns: Sequence[str] | None, few: Sequence[str]) -> pl.LazyFrame | npt.NDArray[Any]:
    check_file(path)
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise InputError(
            f"a table must end in {', '.join(TABLE_SUFFIXES)}", f"got {str(path)!r}", "Convert it to one of those"
        )
    if path.stat().st_size == 0:
        raise InputError("the table must hold rows", f"{str(path)!r} is empty", "Check how it was made")
    if path.suffix.lower() == ".npy":
        return _load_array(path)
    import polars as pl

    if path.suffix.lower() != ".parquet":
        _check_encoding(path)
    with named_file(path), engine_errors("the table"):
        match path.suffix.lower():
            case ".parquet":
                return _open_parquet(path, columns, few)
            case ".jsonl":
                return pl.read_ndjson(path, infer_schema_length=None).lazy()
            case suffix:
                return pl.scan_csv(
                    path,
                    separator="," if suffix == ".csv" else "\t",
                    infer_schema=False,
                    schema_overrides={name: pl.Categorical(pl.Categories.random()) for name in few},
                    glob=False,
                )


def _open_parquet(path: Path, columns: Sequence[str] | None, few: Sequence[str]) -> pl.LazyFrame:
    """A Parquet file read through Arrow: on a damaged page Polars would end the whole process, while Arrow raises."""
    import polars as pl
    from pyarrow import dataset, parquet  # type: ignore[import-untyped]

    if columns is None:
        return pl.scan_pyarrow_dataset(dataset.dataset(path, format="parquet"))
    texts = {field.name for field in parquet.read_schema(path) if str(field.type) in ("string", "large_string")}
    with parquet.ParquetFile(path, read_dictionary=[name for name in few if name in texts]) as file:
        # Group by group, Arrow's buffers are used again instead of holding the table a second time.
        groups = [
            pl.DataFrame(file.read_row_group(group, columns=list(columns))) for group in range(file.num_row_groups)
        ]
        empty = pl.DataFrame(file.schema_arrow.empty_table().select(list(columns)))
    return pl.concat(groups).lazy() if groups else empty.lazy()


def _load_array(path: Path) -> npt.NDArray[Any]:
    try:
        # Pickled arrays can run code when loaded, so they are refused.
        loaded = np.load(path, allow_pickle=False)
    except Exception as error:  # a damaged header makes NumPy's parser raise anything, TokenError among it
        raise InputError(
            f"{str(path)!r} must be a NumPy array of numbers", f"reading it failed: {error}", "Save it with np.save"
        ) from None
    if not isinstance(loaded, np.ndarray):
        raise InputError(
            f"{str(path)!r} must be one NumPy array", "got an archive of several", "Save the one array with np.save"
        )
    return loaded


def _open_frame(source: Any) -> pl.LazyFrame:
    import polars as pl

    if isinstance(source, pl.LazyFrame):
        return source
    module = type(source).__module__.partition(".")[0]
    if module not in ("pandas", "polars", "pyarrow") or not hasattr(source, "__arrow_c_stream__"):
        raise InputError(
            "a table must be a path, a pandas, polars or pyarrow frame, or a NumPy array",
            f"got {type(source).__name__}",
            "Convert it to one of those, e.g. a tensor with .numpy()",
        )
    with engine_errors("the frame"):
        return pl.DataFrame(source).lazy() if module != "pandas" else _from_pandas(source)


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
        return pl.from_pandas(frame.rename(columns=str)).lazy()
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            "a pandas frame must have distinct column names and one type per column",
            f"reading it failed: {error}",
            "Fix those columns",
        ) from None
