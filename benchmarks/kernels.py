"""Time of each GPU kernel of stacked ResNet-18s by stage, and of the library's convolutions with one stream per run.

    python benchmarks/kernels.py [--runs 8] [--toy]

Prints microseconds per run and step of 128 images, with TFLOP/s of convolutions and TB/s of norms (least bytes moved).
--toy takes 8 images and 2 runs; without a GPU it times the library's convolutions alone, since the kernels need one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.benchmark import Timer

STAGES = ((64, 32), (128, 16), (256, 8), (512, 4))  # channels and places each way
DTYPE = torch.bfloat16
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def main() -> None:
    """Measure each stage."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--toy", action="store_true", help="a small batch, to see that all runs")
    arguments = parser.parse_args()
    if DEVICE == "cpu" and not arguments.toy:
        parser.error("torch finds no GPU; --toy times what runs without one")
    if DEVICE == "cpu":
        print("no GPU: the kernels, which need one, are left out")
    runs, batch = (arguments.runs or 2, 8) if arguments.toy else (arguments.runs or 8, 128)
    for channels, side in STAGES:
        print(f"{channels} channels, {side} x {side}")
        x = torch.randn(runs, batch, side, side, channels, device=DEVICE, dtype=DTYPE)
        weight = torch.randn(runs, channels, 3, 3, channels, device=DEVICE, dtype=DTYPE) / channels
        if DEVICE == "cuda":
            time_convolutions(x, weight)
        time_library(x, weight)
        if DEVICE == "cuda":
            time_norms(x)


def time_convolutions(x: Tensor, weight: Tensor) -> None:
    """Forward pass with statistics, and gradient of the input."""
    from votewise.training import kernels

    flop = flop_of(x)
    report("convolve", lambda: kernels.convolve(x, weight, parts=True), len(x), flop=flop)
    report("  gradient of its input", lambda: kernels.convolve(x, weight, transposed=True), len(x), flop=flop)


def time_library(x: Tensor, weight: Tensor) -> None:
    """The library's forward pass; on a GPU with a stream for each run."""
    pairs = [(images.permute(0, 3, 1, 2), kernel.permute(0, 3, 1, 2)) for images, kernel in zip(x, weight, strict=True)]

    def in_turn() -> None:
        for images, kernel in pairs:
            functional.conv2d(images, kernel, padding=1)

    streams = [torch.cuda.Stream() for _ in pairs] if DEVICE == "cuda" else []  # type: ignore[no-untyped-call]

    def in_streams() -> None:
        main_stream = torch.cuda.current_stream()
        for stream, (images, kernel) in zip(streams, pairs, strict=True):
            stream.wait_stream(main_stream)
            with torch.cuda.stream(stream):
                functional.conv2d(images, kernel, padding=1)
        for stream in streams:
            main_stream.wait_stream(stream)

    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        if streams:
            report("  the library's, a stream a run", in_streams, len(x), flop=flop_of(x))
        else:
            report("  the library's, run by run", in_turn, len(x), flop=flop_of(x))


def flop_of(x: Tensor) -> float:
    """Operations of a 3 x 3 convolution of one run's inputs that keeps their shape."""
    return 2 * 9 * x.shape[-1] * x[0].numel()


def time_norms(x: Tensor) -> None:
    """The passes of a norm with its relu."""
    import triton

    from votewise.training import kernels

    runs, channels = len(x), x.shape[-1]
    d, e, y = (torch.randn_like(x) for _ in range(3))
    norm = kernels.Norm(*torch.rand(4, runs, channels, device=DEVICE).unbind())
    places = x[0].numel() // channels
    parts = torch.rand(runs, triton.cdiv(places, 128), 2, channels, device=DEVICE)
    size = x[0].numel() * 2
    report("statistics from parts", lambda: norm.measure(parts, places), runs, moved=parts[0].numel() * 4)
    report("line and relu", lambda: kernels.norm_relu(norm, x), runs, moved=2 * size)
    report("line, shortcut and relu", lambda: kernels.norm_relu(norm, x, y), runs, moved=3 * size)
    report("their gradients", lambda: kernels.norm_relu_back(norm, x, d), runs, moved=5 * size)
    report("  with a shortcut", lambda: kernels.norm_relu_back(norm, x, d, e, y=y), runs, moved=10 * size)


def report(name: str, work: Callable[[], object], runs: int, *, flop: float = 0, moved: float = 0) -> None:
    """Print the median time of some work per run, and the resulting rate."""
    seconds = median_seconds(work) / runs
    rate = f"{flop / seconds / 1e12:.3g} TFLOP/s" if flop else f"{moved / seconds / 1e12:.2f} TB/s"
    print(f"  {name:35} {seconds * 1e6:7.1f} us  {rate}", flush=True)


def median_seconds(work: Callable[[], object]) -> float:
    """The median time of some work; on a GPU that of its captured graph."""
    if DEVICE == "cpu":
        return Timer("work()", globals={"work": work}).blocked_autorange(min_run_time=0.02).median
    import triton

    return triton.testing.do_bench_cudagraph(work, return_mode="median") / 1000


if __name__ == "__main__":
    main()
