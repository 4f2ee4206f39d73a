"""Write golden files anew: python tests/golden/write.py [NAME ...], all if none is named."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from golden.cases import BITS, CASES, bits_now, golden_path, machine_kind, values_now
from golden.comparing import pretty


def write(name: str) -> None:
    """Write one golden file; of the bits only those of this kind of machine."""
    start = time.perf_counter()
    if name == "bits":
        known = json.loads(BITS.read_text(encoding="utf-8")) if BITS.is_file() else {}
        path, values = BITS, known | {machine_kind(): bits_now()}
    else:
        path, values = golden_path(name), values_now(name)
    path.write_text(pretty(values) + "\n", encoding="utf-8")
    sys.stdout.write(f"{path.name}: {path.stat().st_size / 1e3:,.0f} kB, {time.perf_counter() - start:.1f} s\n")


def main(names: list[str]) -> None:
    """Write the named files."""
    known = [*CASES, "bits"]
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"no such golden file: {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names or known:
        write(name)


if __name__ == "__main__":
    main(sys.argv[1:])
