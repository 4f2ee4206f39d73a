"""Arrays that cost much to make, kept on disk under a name that says what they were made of."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from votewise._errors import InputError
from votewise._files import whole_file
from votewise.data.inputs import InputSource, LoadedInputs


def cache_folder() -> Path:
    """Where arrays are kept: $VOTEWISE_CACHE, or votewise in $XDG_CACHE_HOME or ~/.cache. It may be removed."""
    if own := os.environ.get("VOTEWISE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "votewise"


def cached(made_by: str, source: InputSource, load: Callable[[], LoadedInputs]) -> LoadedInputs:
    """Inputs from the cache, or else loaded and kept there.

    A damaged file is made again. Where nothing can be written, nothing is kept, which a note says.

    Args:
        made_by: stands for all that the arrays depend on, except the source.
        source: what they are made of.
        load: makes them.
    """
    content = sha256()
    for piece in source.raw():
        content.update(piece)
    path = cache_folder() / "features" / f"{made_by}-{content.hexdigest()}.npz"
    known = _read_cached(path, source)
    if known is not None:
        return known
    loaded = load()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as partial, partial.open("wb") as file:
            np.savez(file, values=loaded.values, notes=np.array(loaded.notes, dtype=np.str_))
    except (OSError, InputError) as error:
        note = f"What was computed could not be kept for the next time: {str(error).rstrip('.')}."
        return replace(loaded, notes=(*loaded.notes, note))
    return loaded


def _read_cached(path: Path, source: InputSource) -> LoadedInputs | None:
    try:
        # Opened here, since NumPy leaves a damaged archive open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            values, notes = archive["values"], tuple(archive["notes"].tolist())
    except MemoryError:
        raise
    except Exception:  # a damaged archive can make NumPy and zipfile raise anything
        return None
    return LoadedInputs(values, source.form, notes) if len(values) == len(source) else None
