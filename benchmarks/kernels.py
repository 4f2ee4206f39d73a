"""Time of each GPU kernel of stacked ResNet-18s by stage, and of the library's convolutions with one stream per run.

    python benchmarks/kernels.py [--runs 8]

Prints microseconds per run and step of 128 images, with TFLOP/s of convolutions and TB/s of norms (least bytes moved).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
import triton
from torch.nn import functional

from votewise.training import kernels

BATCH = 128
STAGES = ((64, 32), (128, 16), (256, 8), (512, 4))  # channels and places each way
DTYPE = torch.bfloat16


def main() -> None:
    """Measure each stage."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=8)
    runs: int = parser.parse_args().runs
    for channels, side in STAGES:
        print(f"{channels} channels, {side} x {side}")
        time_convolutions(runs, channels, side)
        time_norms(runs, channels, side)


def time_convolutions(runs: int, channels: int, side: int) -> None:
    """Forward pass with statistics, and gradient of the input: ours and the library's."""
    x = torch.randn(runs, BATCH, side, side, channels, device="cuda", dtype=DTYPE)
    weight = torch.randn(runs, channels, 3, 3, channels, device="cuda", dtype=DTYPE) / channels
    flop = 2 * 9 * channels**2 * BATCH * side**2
    report("convolve", lambda: kernels.convolve(x, weight, parts=True), runs, flop=flop)
    report("  gradient of its input", lambda: kernels.convolve(x, weight, transposed=True), runs, flop=flop)
    pairs = [(x[run].permute(0, 3, 1, 2), weight[run].permute(0, 3, 1, 2)) for run in range(runs)]
    streams = [torch.cuda.Stream() for _ in range(runs)]  # type: ignore[no-untyped-call]

    def library() -> None:
        main_stream = torch.cuda.current_stream()
        for stream, (images, kernel) in zip(streams, pairs, strict=True):
            stream.wait_stream(main_stream)
            with torch.cuda.stream(stream):
                functional.conv2d(images, kernel, padding=1)
        for stream in streams:
            main_stream.wait_stream(stream)

    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        report("  the library's, a stream a run", library, runs, flop=flop)


def time_norms(runs: int, channels: int, side: int) -> None:
    """The passes of a norm with its relu."""
    x, d, e, y = (torch.randn(runs, BATCH, side, side, channels, device="cuda", dtype=DTYPE) for _ in range(4))
    norm = kernels.Norm(*torch.rand(4, runs, channels, device="cuda").unbind())
    places = BATCH * side**2
    parts = torch.rand(runs, triton.cdiv(places, 128), 2, channels, device="cuda")
    size = x[0].numel() * 2
    report("statistics from parts", lambda: norm.measure(parts, places), runs, moved=parts[0].numel() * 4)
    report("line and relu", lambda: kernels.norm_relu(norm, x), runs, moved=2 * size)
    report("line, shortcut and relu", lambda: kernels.norm_relu(norm, x, y), runs, moved=3 * size)
    report("their gradients", lambda: kernels.norm_relu_back(norm, x, d), runs, moved=5 * size)
    report("  with a shortcut", lambda: kernels.norm_relu_back(norm, x, d, e, y=y), runs, moved=10 * size)


def report(name: str, work: Callable[[], object], runs: int, *, flop: float = 0, moved: float = 0) -> None:
    """Print the median time of some work per run, and the resulting rate."""
    seconds = triton.testing.do_bench_cudagraph(work, return_mode="median") / 1000 / runs
    rate = f"{flop / seconds / 1e12:.0f} TFLOP/s" if flop else f"{moved / seconds / 1e12:.2f} TB/s"
    print(f"  {name:35} {seconds * 1e6:7.1f} us  {rate}", flush=True)


if __name__ == "__main__":
    main()
