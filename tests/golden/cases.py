"""What is compared: each case gives plain values, which lie beside this file as NAME.json."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from golden import adapter
from golden.comparing import EXACT, TRAINED, page_lines, with_placeholders, without_machine
from golden.inputs import write_inputs

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "results" / "same-target"

METHODS = (
    "soft", "multipass", "deterministic-control", "sls", "shuffled-sls", "majority", "label-smoothing",
    "soft-smoothed", "dirichlet", "dirichlet-fitted",
)  # fmt: skip

Values = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A golden file.

    Attributes:
        make: gives its values, in an empty current folder.
        tolerance: of its numbers.
        slow: whether it takes more than a few seconds.
    """

    make: Callable[[], Values]
    tolerance: float = EXACT
    slow: bool = False


def golden_path(name: str) -> Path:
    """Where the golden values of a case lie."""
    return HERE / f"{name}.json"


def values_now(name: str) -> Values:
    """What a case gives now, as JSON returns it."""
    with _quiet_place():
        return json.loads(json.dumps(CASES[name].make()))


@contextmanager
def _quiet_place() -> Iterator[None]:
    """An empty current folder, one thread, and nothing from the environment."""
    import torch

    before, threads = Path.cwd(), torch.get_num_threads()
    with TemporaryDirectory() as folder, patch.dict(os.environ):
        os.environ.pop("VOTEWISE_DATA", None)
        torch.set_num_threads(1)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            torch.set_num_threads(threads)


# --- commands


def call(line: str) -> Values:
    """A command's exit code, what it prints (JSON as values, text as lines) and what it says on standard error."""
    arguments = shlex.split(line)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = int(adapter.main(arguments))
    text = out.getvalue()
    shown = with_placeholders(json.loads(text)) if "--json" in arguments and text else _lines(text)
    return {"exit": code, "output": shown, "errors": _lines(err.getvalue())}


def calls(*lines: str) -> Values:
    """Several commands, by their command lines."""
    return {line: call(line) for line in lines}


def both(*lines: str) -> Values:
    """Several commands, each with --json and without."""
    return calls(*(each for line in lines for each in (f"{line} --json", line)))


def _lines(text: str) -> list[str]:
    return [without_machine(line.rstrip()) for line in text.splitlines()]


def _table(path: str) -> Any:
    """A table that was written: its header, and its rows with numbers as numbers."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return [[_number(cell) for cell in row] for row in csv.reader(file)]


def _number(cell: str) -> Any:
    return float(cell) if re.fullmatch(r"-?\d+\.\d+(e-?\d+)?", cell) else cell


def _array(path: str) -> Values:
    """An array that was written, by its bytes."""
    array = np.load(path)
    return {"type": array.dtype.str, "shape": list(array.shape), "sha256": sha256(array.tobytes()).hexdigest()}


# --- cases


def options() -> Values:
    return adapter.command_options()


def paper_ids() -> Values:
    return {
        f"{suite}, {precision}": adapter.paper_ids(suite, precision)
        for precision in ("bf16", "fp32")
        for suite in ("all", "sparse", "mixup", "tiny")
    }


def comparison_ids() -> Values:
    write_inputs(Path())
    files = {"features": "features.csv", "text": "texts.csv", "images": "images.npz"}
    ids: Values = {}
    for kind, file in files.items():
        ids |= adapter.comparison_ids(Path("votes.csv"), Path(file), kind)
    return ids


def inspect() -> Values:
    write_inputs(Path())
    return both(
        "inspect votes.csv",
        "inspect counts.csv",
        "inspect shares.csv",
        "inspect votes.csv --classes cat,dog,bird,fish",
        "inspect missing.csv",
        "inspect features.csv",
    )


def deliver() -> Values:
    write_inputs(Path())
    found: Values = {}
    for method in METHODS:
        line = f"deliver votes.csv --method {method} --seed 3 --epochs 4 -o {method}.npy --json"
        found[line] = {**call(line), "file": _array(f"{method}.npy")}
    line = "deliver votes.csv --method sls --seed 3 --epochs 6 --hold 3 -o held.npy"
    found[line] = {**call(line), "file": _array("held.npy")}
    return found | calls("deliver shares.csv --method multipass --seed 3 --epochs 4 -o none.npy --json")


def score() -> Values:
    write_inputs(Path())
    return both(
        "score votes.csv predictions.csv",
        "score votes.csv predictions.npy --classes cat,dog,bird",
        "score votes.csv predictions.csv --labels labels.csv --bins 5 --seed 2",
        "score counts.csv shares.csv",
        "score votes.csv features.csv",
    )


def datasets() -> Values:
    Path("data").mkdir()
    return both("datasets --data data", "datasets cifar10h --data data", "datasets cifar-10h --data data") | calls(
        "datasets fetch vader --data data --json"
    )


def compare_features() -> Values:
    write_inputs(Path())
    compare = (
        "compare votes.csv --features features.csv --epochs 3 --seeds 2 --methods soft,multipass,sls --runs runs "
        "--jobs 1 --device cpu -o compared.html"
    )
    found = calls(f"{compare} --json", compare)  # the second finds all runs
    page = page_lines(Path("compared.html").read_text(encoding="utf-8"))
    return found | {"compared.html": page} | calls("runs runs --json", "report runs -o report.html --json")


def compare_images() -> Values:
    write_inputs(Path())
    line = (
        "compare votes.csv --images images --size 8 --epochs 2 --seeds 1 --methods soft,majority --at best "
        "--jobs 1 --device cpu -o compared.html --json"
    )
    return calls(line) | {"compared.html": page_lines(Path("compared.html").read_text(encoding="utf-8"))}


def train_and_predict() -> Values:
    """One model for each kind of inputs, used on its own inputs."""
    write_inputs(Path())
    found: Values = {}
    for kind, file, more in (
        ("features", "features.csv", "-m multipass"),
        ("text", "texts.csv", "-m soft --seed 2 --held-out 0"),
        ("images", "images", "-m sls --size 8"),
    ):
        held = "" if "--held-out 0" in more else f"--predictions held-{kind}.csv "
        found |= calls(
            f"train votes.csv --{kind} {file} {more} --epochs 2 {held}-o {kind}.safetensors --device cpu --json"
        )
        found |= calls(f"predict {kind}.safetensors --{kind} {file} -o all-{kind}.csv --device cpu --json")
        found[f"all-{kind}.csv"] = _table(f"all-{kind}.csv")
    found["held-features.csv"] = _table("held-features.csv")
    return found | calls(
        "predict features.safetensors --images images -o none.csv --json",
        "train votes.csv --features features.csv --epochs 2 -o features.safetensors --device cpu",
        "predict features.safetensors --features features.csv -o again.csv --device cpu",
    )


def recorded_runs() -> Values:
    """`runs` and `report` on records with made-up numbers."""
    adapter.write_made_up_runs(Path("runs"))
    found = both("runs runs", "runs runs --method sls --status done", "runs nowhere")
    found |= calls("runs runs --export runs.csv -q") | {"runs.csv": _table("runs.csv")}
    for line in ("report runs -o last.html", "report runs -o best.html --at best --baseline sls"):
        found |= both(line)
    pages = {name: page_lines(Path(name).read_text(encoding="utf-8")) for name in ("last.html", "best.html")}
    return found | pages


def dry_runs() -> Values:
    """What `reproduce` would do. One run is there, so that the time is known."""
    Path("data").mkdir()
    with adapter.cifar10h_as(adapter.write_one_paper_run(Path("runs"))):
        common = "reproduce same-target --dry-run --data data --runs runs --device cpu --jobs 1"
        return calls(
            f"{common} --json",
            f"{common}",
            f"{common} --suite family --seeds 1 --diagnostics --json",
            f"{common} --suite main --diagnostics",
        )


def finished_paper() -> Values:
    """`reproduce` when everything has been done."""
    Path("data").mkdir()
    with adapter.cifar10h_as(adapter.write_trained_paper_runs(Path("runs"))):
        return both("reproduce same-target --suite main --seeds 2 --data data --runs runs --device cpu --jobs 1")


def paper_from_runs() -> Values:
    """Runs reduced to results, and all parts of the paper from these."""
    Path("data").mkdir()
    with adapter.cifar10h_as(adapter.write_paper_runs(Path("runs"))):
        line = "reproduce same-target --data data --runs runs --results results --reduce --only all --json"
        return _without_names(calls(line, "runs results --json"))


def _without_names(found: Values) -> Values:
    """The same without the names and sizes of stored batches, which depend on how arrays are compressed."""
    for one in found.values():
        if "written" in one["output"]:
            one["output"]["written"] = [f"{Path(path).parent}/<batch>" for path in one["output"]["written"]]
        for batch in one["output"].get("batches", ()):
            batch |= {"id": "<batch>", "bytes": "<bytes>"}
    return found


def paper_from_results() -> Values:
    """All parts of the paper from the stored results, as values."""
    Path("results").symlink_to(RESULTS.parent)
    return calls("reproduce same-target --only all --json")


def paper_as_text() -> Values:
    """The same as a terminal shows it, and what the stored results hold."""
    Path("results").symlink_to(RESULTS.parent)
    return calls("reproduce same-target --only all", "runs results/same-target --json", "runs results/same-target")


def demo() -> Values:
    found = calls("demo --seeds 1 --jobs 1 --json")
    return found | {"report.html": page_lines(Path("report.html").read_text(encoding="utf-8"))}


CASES: dict[str, Case] = {
    "options": Case(options),
    "paper-ids": Case(paper_ids),
    "comparison-ids": Case(comparison_ids),
    "inspect": Case(inspect),
    "deliver": Case(deliver),
    "score": Case(score),
    "datasets": Case(datasets),
    "compare-features": Case(compare_features, TRAINED, slow=True),
    "compare-images": Case(compare_images, TRAINED, slow=True),
    "train-and-predict": Case(train_and_predict, TRAINED),
    "recorded-runs": Case(recorded_runs),
    "dry-runs": Case(dry_runs),
    "finished-paper": Case(finished_paper),
    "paper-from-runs": Case(paper_from_runs),
    "paper-from-results": Case(paper_from_results),
    "paper-as-text": Case(paper_as_text),
    "demo": Case(demo, TRAINED, slow=True),
}


# --- bit for bit

BITS = HERE / "bits.json"


def machine_kind() -> str:
    """What decides how a CPU rounds: the release of torch, the maker and the instructions."""
    import torch

    maker = re.search(r"^vendor_id\s*:\s*(\S+)", _cpu_facts(), re.MULTILINE)
    facts = (platform.machine(), maker[1] if maker else "unknown", torch.backends.cpu.get_cpu_capability())
    return f"torch {torch.__version__}, {', '.join(facts)}"


def _cpu_facts() -> str:
    path = Path("/proc/cpuinfo")
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def bits_now() -> dict[str, dict[str, str]]:
    """SHA-256 of what each small training computes."""
    with _quiet_place():
        return {
            name: {
                part: sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
                for part, array in adapter.trained_arrays(name).items()
            }
            for name in adapter.TRAININGS
        }
