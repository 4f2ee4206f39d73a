"""JSON and TOML that anyone may have written: what could end the process or take forever is an error like any other."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import numpy as np

# Brackets within brackets; what people and tools write has a dozen.
MOST_NESTED = 64

# TOML's parser takes the square of the parts of a name, and half a second for each megabyte.
_MOST_TOML = 2**22
_LONG_KEY = re.compile(r"""(?:\.[ \t]*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+){32}""")

_STRINGS = re.compile(rb'"(?:[^"\\\n]++|\\[^\n])*+"?+')


class NestedError(ValueError):
    """JSON with more brackets within brackets than anyone means."""


def parse_json(text: str | bytes, **hooks: Any) -> Any:
    """What `json.loads` makes of a text; whatever is wrong with it is a `ValueError`."""
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if content.count(b"[") + content.count(b"{") > MOST_NESTED < nesting(content):
        raise NestedError("it is nested too deeply")
    return json.loads(text, **hooks)


def parse_toml(content: bytes) -> dict[str, Any]:
    """What `tomllib.loads` makes of UTF-8; whatever is wrong with it is a `ValueError`."""
    if len(content) > _MOST_TOML:
        raise ValueError(f"it has more than {_MOST_TOML:,} bytes")
    text = content.decode()
    if _LONG_KEY.search(text):
        raise ValueError("a name has too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise NestedError("it is nested too deeply") from None


def nesting(content: bytes, *, lines: bool = False) -> int:
    """How deep brackets stand within brackets, at most; those within texts do not count.

    Args:
        content: JSON.
        lines: whether each line is a value of its own, so that none is deeper for one before it that is not whole.
    """
    letters = np.frombuffer(_STRINGS.sub(b"", content), dtype=np.uint8)
    opening, closing = (((letters == ord(a)) | (letters == ord(b))).view(np.int8) for a, b in ("[{", "]}"))
    depth = np.cumsum(opening - closing, dtype=np.int32)
    if lines and len(depth):
        ends = np.flatnonzero(letters == ord("\n"))
        depth -= np.repeat(np.append(0, depth[ends]), np.diff(ends, prepend=-1, append=len(depth) - 1))
    return int(depth.max(initial=0))
