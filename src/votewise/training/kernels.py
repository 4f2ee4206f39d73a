"""GPU kernels for several networks at once: the leading axis is the run, and one launch does a layer of all runs.

Tensors are contiguous: activations (runs, items, height, width, channels), weights (runs, out, k, k, in), statistics
(runs, channels). Sums are taken in fp32. While a tile of the output is still in registers, the kernel also computes its
part of the batch statistics, which saves another pass over memory.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc, untyped-decorator"
# ruff: noqa: N803, N806

_ROWS = 128  # rows of a tile of a convolution's output


@triton.jit
def _convolve(
    X, W, Y, PARTS,
    M, STEP_OF_W, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, OUT_HEIGHT: tl.constexpr, OUT_WIDTH: tl.constexpr,
    C_IN: tl.constexpr, C_OUT: tl.constexpr, SIZE: tl.constexpr, STRIDE: tl.constexpr,
    TRANSPOSED: tl.constexpr, STATISTICS: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Y = X * W, a matrix product with a gathered left side; TRANSPOSED: W's channels swapped and taps mirrored."""
    run = tl.program_id(1).to(tl.int64)
    tile, column = tl.program_id(0) // (C_OUT // COLUMNS), tl.program_id(0) % (C_OUT // COLUMNS)
    X += run * (M // (OUT_HEIGHT * OUT_WIDTH)) * HEIGHT * WIDTH * C_IN
    W += run * STEP_OF_W
    m = tile * ROWS + tl.arange(0, ROWS)
    n = column * COLUMNS + tl.arange(0, COLUMNS)
    k = tl.arange(0, DEPTH)
    item, place = m // (OUT_HEIGHT * OUT_WIDTH), m % (OUT_HEIGHT * OUT_WIDTH)
    top, left = place // OUT_WIDTH * STRIDE - SIZE // 2, place % OUT_WIDTH * STRIDE - SIZE // 2
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    PARTS_OF_DEPTH: tl.constexpr = C_IN // DEPTH
    for part in range(SIZE * SIZE * PARTS_OF_DEPTH):
        tap, channel = part // PARTS_OF_DEPTH, part % PARTS_OF_DEPTH * DEPTH + k
        y, x = top + tap // SIZE, left + tap % SIZE
        inside = (y >= 0) & (y < HEIGHT) & (x >= 0) & (x < WIDTH) & (m < M)
        source = ((item * HEIGHT + y) * WIDTH + x) * C_IN
        given = tl.load(X + source[:, None] + channel[None, :], mask=inside[:, None], other=0.0)
        if TRANSPOSED:
            weight = tl.load(W + (channel[:, None] * (SIZE * SIZE) + SIZE * SIZE - 1 - tap) * C_OUT + n[None, :])
        else:
            weight = tl.load(W + (n[None, :] * (SIZE * SIZE) + tap) * C_IN + channel[:, None])
        total = tl.dot(given, weight, total, input_precision="ieee")
    rounded = total.to(Y.dtype.element_ty)
    tl.store(Y + run * M * C_OUT + m[:, None] * C_OUT + n[None, :], rounded, mask=(m < M)[:, None])
    if STATISTICS:
        count = tl.minimum(M - tile * ROWS, ROWS).to(tl.float32)
        value = rounded.to(tl.float32)  # rows beyond M are zeros
        mean = tl.sum(value, axis=0) / count
        apart = tl.where((m < M)[:, None], value - mean[None, :], 0.0)
        place_of_part = (run * tl.cdiv(M, ROWS) + tile) * 2 * C_OUT + n
        tl.store(PARTS + place_of_part, mean)
        tl.store(PARTS + place_of_part + C_OUT, tl.sum(apart * apart, axis=0))


@triton.jit
def _convolve_back_strided(
    D, W, DS, WS, Y,
    M, STEP_OF_W, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, C_IN: tl.constexpr, C_OUT: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Gradient Y of the common input of a 3 x 3 and a 1 x 1 convolution of stride 2, from D and DS, of their outputs.

    Pixels are done in four groups, by whether their row and column are odd: each group meets only a few of the nine
    taps. D has C_IN channels and HEIGHT x WIDTH places, Y has C_OUT channels and twice the places each way, M a group.
    """
    run = (tl.program_id(1) // 4).to(tl.int64)
    odd_y, odd_x = tl.program_id(1) % 4 // 2, tl.program_id(1) % 2
    tile, column = tl.program_id(0) // (C_OUT // COLUMNS), tl.program_id(0) % (C_OUT // COLUMNS)
    m = tile * ROWS + tl.arange(0, ROWS)
    n = column * COLUMNS + tl.arange(0, COLUMNS)
    k = tl.arange(0, DEPTH)
    item, half_y, half_x = m // (HEIGHT * WIDTH), m % (HEIGHT * WIDTH) // WIDTH, m % WIDTH
    D += run * M * C_IN
    DS += run * M * C_IN
    W += run * STEP_OF_W
    WS += run * STEP_OF_W
    total = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    PARTS_OF_DEPTH: tl.constexpr = C_IN // DEPTH
    taps_x = 1 + odd_x
    for part in range((1 + odd_y) * taps_x * PARTS_OF_DEPTH):
        tap, channel = part // PARTS_OF_DEPTH, part % PARTS_OF_DEPTH * DEPTH + k
        # An even row met the middle tap; an odd one met the last tap of the place before and the first of the next.
        tap_y = tl.where(odd_y == 1, tap // taps_x * 2, 1)
        tap_x = tl.where(odd_x == 1, tap % taps_x * 2, 1)
        y, x = half_y + tl.where(tap_y == 0, 1, 0), half_x + tl.where(tap_x == 0, 1, 0)
        inside = (y < HEIGHT) & (x < WIDTH) & (m < M)
        source = ((item * HEIGHT + y) * WIDTH + x) * C_IN
        given = tl.load(D + source[:, None] + channel[None, :], mask=inside[:, None], other=0.0)
        weight = tl.load(W + (channel[:, None] * 9 + tap_y * 3 + tap_x) * C_OUT + n[None, :])
        total = tl.dot(given, weight, total, input_precision="ieee")
    if (odd_y == 0) & (odd_x == 0):
        for part in range(PARTS_OF_DEPTH):
            channel = part * DEPTH + k
            given = tl.load(DS + m[:, None] * C_IN + channel[None, :], mask=(m < M)[:, None], other=0.0)
            weight = tl.load(WS + channel[:, None] * C_OUT + n[None, :])
            total = tl.dot(given, weight, total, input_precision="ieee")
    place = (item * 2 * HEIGHT + 2 * half_y + odd_y) * 2 * WIDTH + 2 * half_x + odd_x
    target = Y + run * 4 * M * C_OUT + place[:, None] * C_OUT + n[None, :]
    tl.store(target, total.to(Y.dtype.element_ty), mask=(m < M)[:, None])


@triton.jit
def _norm_statistics(
    PARTS, GAMMA, BETA, MEAN, RSTD, SCALE, SHIFT, RUNNING_MEAN, RUNNING_VAR,
    M, STEP_OF_GAMMA, C: tl.constexpr, ROWS: tl.constexpr, TILES: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Mean, 1 / deviation, and the scale and shift of a norm that follow, from the parts of all tiles."""
    run = tl.program_id(1).to(tl.int64)
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    tiles = tl.cdiv(M, ROWS)
    PARTS += run * tiles * 2 * C
    middle = tl.load(PARTS + c)  # the first tile's mean: differences from it, and so their squares, are small
    sums = tl.zeros((TILES, CHANNELS), dtype=tl.float32)
    squares = tl.zeros((TILES, CHANNELS), dtype=tl.float32)
    for first in range(0, tiles, TILES):
        t = first + tl.arange(0, TILES)
        there = (t < tiles)[:, None]
        count = tl.minimum(M - t * ROWS, ROWS).to(tl.float32)[:, None]
        apart = tl.load(PARTS + t[:, None] * 2 * C + c[None, :], mask=there, other=0.0) - middle[None, :]
        within = tl.load(PARTS + t[:, None] * 2 * C + C + c[None, :], mask=there, other=0.0)
        sums += tl.where(there, count * apart, 0.0)
        squares += tl.where(there, within + count * apart * apart, 0.0)
    shift = tl.sum(sums, axis=0) / M
    mean = middle + shift
    square = tl.sum(squares, axis=0) - M * shift * shift
    rstd = 1 / tl.sqrt(square / M + 1e-5)
    scale = tl.load(GAMMA + run * STEP_OF_GAMMA + c) * rstd
    tl.store(MEAN + run * C + c, mean)
    tl.store(RSTD + run * C + c, rstd)
    tl.store(SCALE + run * C + c, scale)
    tl.store(SHIFT + run * C + c, tl.load(BETA + run * STEP_OF_GAMMA + c) - mean * scale)
    old_mean, old_var = tl.load(RUNNING_MEAN + run * C + c), tl.load(RUNNING_VAR + run * C + c)
    tl.store(RUNNING_MEAN + run * C + c, old_mean + 0.1 * (mean - old_mean))
    tl.store(RUNNING_VAR + run * C + c, old_var + 0.1 * (square / (M - 1) - old_var))


@triton.jit
def _norm_apply(
    X, SCALE, SHIFT, S, S_SCALE, S_SHIFT, Y,
    M, C: tl.constexpr, SHORTCUT: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Y = relu(scaled and shifted X + shortcut); SHORTCUT 0: none, 1: S as it is, 2: S with its own scale and shift."""
    run = tl.program_id(2).to(tl.int64)
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    place = run * M * C + m[:, None] * C + c[None, :]
    there = (m < M)[:, None]
    value = tl.load(X + place, mask=there, other=0.0).to(tl.float32)
    value = value * tl.load(SCALE + run * C + c)[None, :] + tl.load(SHIFT + run * C + c)[None, :]
    if SHORTCUT > 0:
        shortcut = tl.load(S + place, mask=there, other=0.0).to(tl.float32)
        if SHORTCUT == 2:
            shortcut = shortcut * tl.load(S_SCALE + run * C + c)[None, :] + tl.load(S_SHIFT + run * C + c)[None, :]
        value += shortcut
    tl.store(Y + place, tl.maximum(value, 0.0).to(Y.dtype.element_ty), mask=there)


@triton.jit
def _gradient(D, E, Y, X, SCALE, SHIFT, place, there, at, TWO: tl.constexpr, MASK: tl.constexpr):
    """The gradient before the relu: D (plus E) where the output Y, or X scaled and shifted, is positive."""
    gradient = tl.load(D + place, mask=there, other=0.0).to(tl.float32)
    if TWO:
        gradient += tl.load(E + place, mask=there, other=0.0).to(tl.float32)
    if MASK:
        open_ = tl.load(Y + place, mask=there, other=0.0).to(tl.float32) > 0
    else:
        line = tl.load(SCALE + at)[None, :] * tl.load(X + place, mask=there, other=0.0).to(tl.float32)
        open_ = line + tl.load(SHIFT + at)[None, :] > 0
    return tl.where(open_, gradient, 0.0)


@triton.jit
def _norm_back_sums(
    D, E, Y, X, SCALE, SHIFT, MEAN, RSTD, S, S_MEAN, S_RSTD, PARTS,
    M, C: tl.constexpr, TWO: tl.constexpr, MASK: tl.constexpr, SHORTCUT: tl.constexpr,
    REPEATS: tl.constexpr, ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Parts of the sums, over items and places, of the gradient and of its product with the normalised X (and S)."""
    run = tl.program_id(2).to(tl.int64)
    c = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    at = run * C + c
    sum_g = tl.zeros((ROWS, CHANNELS), dtype=tl.float32)
    sum_gx = tl.zeros((ROWS, CHANNELS), dtype=tl.float32)
    sum_gs = tl.zeros((ROWS, CHANNELS), dtype=tl.float32)
    mean, rstd = tl.load(MEAN + at), tl.load(RSTD + at)
    for repeat in range(REPEATS):
        m = (tl.program_id(0) * REPEATS + repeat) * ROWS + tl.arange(0, ROWS)
        there = (m < M)[:, None]
        place = run * M * C + m[:, None] * C + c[None, :]
        gradient = _gradient(D, E, Y, X, SCALE, SHIFT, place, there, at, TWO, MASK)
        value = tl.load(X + place, mask=there, other=0.0).to(tl.float32)
        sum_g += gradient
        sum_gx += gradient * (value - mean[None, :]) * rstd[None, :]
        if SHORTCUT:
            value = tl.load(S + place, mask=there, other=0.0).to(tl.float32)
            sum_gs += gradient * (value - tl.load(S_MEAN + at)[None, :]) * tl.load(S_RSTD + at)[None, :]
    part = (run * tl.num_programs(0) + tl.program_id(0)) * 3 * C + c
    tl.store(PARTS + part, tl.sum(sum_g, axis=0))
    tl.store(PARTS + part + C, tl.sum(sum_gx, axis=0))
    tl.store(PARTS + part + 2 * C, tl.sum(sum_gs, axis=0))


@triton.jit
def _norm_back_totals(
    PARTS, TOTALS, D_GAMMA, D_BETA, S_GAMMA, S_BETA,
    STEP_OF_GAMMA, PROGRAMS, C: tl.constexpr, SHORTCUT: tl.constexpr, TILES: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """The total sums (runs, 3, C), which are also the gradients of the norms' parameters."""
    run = tl.program_id(1).to(tl.int64)
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    for which in tl.static_range(3):
        total = tl.zeros((TILES, CHANNELS), dtype=tl.float32)
        for first in range(0, PROGRAMS, TILES):
            t = first + tl.arange(0, TILES)
            source = PARTS + (run * PROGRAMS + t[:, None]) * 3 * C + which * C + c[None, :]
            total += tl.load(source, mask=(t < PROGRAMS)[:, None], other=0.0)
        whole = tl.sum(total, axis=0)
        tl.store(TOTALS + (run * 3 + which) * C + c, whole)
        if which == 0:
            tl.store(D_BETA + run * STEP_OF_GAMMA + c, whole)
            if SHORTCUT:
                tl.store(S_BETA + run * STEP_OF_GAMMA + c, whole)
        if which == 1:
            tl.store(D_GAMMA + run * STEP_OF_GAMMA + c, whole)
        if (which == 2) & SHORTCUT:
            tl.store(S_GAMMA + run * STEP_OF_GAMMA + c, whole)


@triton.jit
def _norm_back_apply(
    D, E, Y, X, SCALE, SHIFT, MEAN, RSTD, S, S_SCALE, S_MEAN, S_RSTD, TOTALS, DX, DS,
    M, C: tl.constexpr, TWO: tl.constexpr, MASK: tl.constexpr, SHORTCUT: tl.constexpr,
    ROWS: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """DX: the gradient before the norm. DS, by SHORTCUT: 1 the gradient after it, 2 that before the shortcut's norm."""
    run = tl.program_id(2).to(tl.int64)
    m = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.program_id(1) * CHANNELS + tl.arange(0, CHANNELS)
    at = run * C + c
    there = (m < M)[:, None]
    place = run * M * C + m[:, None] * C + c[None, :]
    gradient = _gradient(D, E, Y, X, SCALE, SHIFT, place, there, at, TWO, MASK)
    centred = gradient - (tl.load(TOTALS + run * 3 * C + c) / M)[None, :]
    normal = tl.load(X + place, mask=there, other=0.0).to(tl.float32) - tl.load(MEAN + at)[None, :]
    slope = tl.load(TOTALS + run * 3 * C + C + c) / M * tl.load(RSTD + at)
    back = (centred - normal * slope[None, :]) * tl.load(SCALE + at)[None, :]
    tl.store(DX + place, back.to(DX.dtype.element_ty), mask=there)
    if SHORTCUT == 1:
        tl.store(DS + place, gradient.to(DS.dtype.element_ty), mask=there)
    if SHORTCUT == 2:
        normal = tl.load(S + place, mask=there, other=0.0).to(tl.float32) - tl.load(S_MEAN + at)[None, :]
        slope = tl.load(TOTALS + run * 3 * C + 2 * C + c) / M * tl.load(S_RSTD + at)
        back = (centred - normal * slope[None, :]) * tl.load(S_SCALE + at)[None, :]
        tl.store(DS + place, back.to(DS.dtype.element_ty), mask=there)


@triton.jit
def _update(
    P, V, G, W, RATE,
    N, momentum, decay, NESTEROV: tl.constexpr, ROUNDED: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One step of SGD: weights P and momenta V in fp32, gradients G, and W, the weights in the network's precision."""
    run = tl.program_id(1).to(tl.int64)
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = n < N
    weight = tl.load(P + run * N + n, mask=there)
    gradient = tl.load(G + run * N + n, mask=there).to(tl.float32) + decay * weight
    speed = momentum * tl.load(V + run * N + n, mask=there) + gradient
    weight -= tl.load(RATE) * (gradient + momentum * speed if NESTEROV else speed)
    tl.store(P + run * N + n, weight, mask=there)
    tl.store(V + run * N + n, speed, mask=there)
    if ROUNDED:
        tl.store(W + run * N + n, weight.to(W.dtype.element_ty), mask=there)


def convolve(x: Tensor, weight: Tensor, *, stride: int = 1, transposed: bool = False, parts: bool = False) -> Any:
    """Convolve the items of each run with its weights; padding keeps the size.

    Args:
        x: (R, B, H, W, C).
        weight: (R, out, k, k, in); may be a slice of a larger table, with any stride between runs.
        stride: the convolution's stride.
        transposed: compute the gradient of the input instead, from x, that of the output; stride 1.
        parts: also return the mean and squared deviations of each tile, (R, tiles, 2, out).
    """
    runs, items, height, width, c_in = x.shape
    size, c_out = weight.shape[2], weight.shape[4] if transposed else weight.shape[1]
    out_height, out_width = height // stride, width // stride
    y = x.new_empty(runs, items, out_height, out_width, c_out)
    m = items * out_height * out_width
    found = x.new_empty(runs, triton.cdiv(m, _ROWS), 2, c_out, dtype=torch.float32) if parts else y
    tile = _tile(x, c_in, c_out)
    _convolve[(triton.cdiv(m, _ROWS) * (c_out // tile["COLUMNS"]), runs)](
        x, weight, y, found,
        m, weight.stride(0), height, width, out_height, out_width,
        c_in, c_out, size, stride, transposed, parts, _ROWS, **tile,
    )  # fmt: skip
    return (y, found) if parts else y


def convolve_back_strided(d: Tensor, weight: Tensor, d_shortcut: Tensor, weight_shortcut: Tensor) -> Tensor:
    """The gradient of the input of a block of stride 2, from its first convolution and its shortcut.

    Args:
        d: (R, B, H, W, out) gradient of the 3 x 3 convolution's output.
        weight: (R, out, 3, 3, in).
        d_shortcut: (R, B, H, W, out) gradient of the 1 x 1 convolution's output.
        weight_shortcut: (R, out, 1, 1, in), with the same stride between runs as `weight`.
    """
    runs, items, height, width, c_in = d.shape
    c_out = weight.shape[4]
    y = d.new_empty(runs, items, 2 * height, 2 * width, c_out)
    m, tile = items * height * width, _tile(d, c_in, c_out)
    _convolve_back_strided[(triton.cdiv(m, _ROWS) * (c_out // tile["COLUMNS"]), 4 * runs)](
        d, weight, d_shortcut, weight_shortcut, y,
        m, weight.stride(0), height, width, c_in, c_out, _ROWS, **tile,
    )  # fmt: skip
    return y


def _tile(x: Tensor, c_in: int, c_out: int) -> dict[str, int]:
    """Output and input channels that a program handles at a time, and its launch settings."""
    if x.dtype == torch.float32:  # for tests only: without matrix units, large tiles take minutes to compile
        return {"COLUMNS": 32, "DEPTH": 16, "num_warps": 4, "num_stages": 2}
    columns = min(c_out, 256)
    return {"COLUMNS": columns, "DEPTH": min(c_in, 64), "num_warps": 4 if columns == 64 else 8, "num_stages": 3}


class Norm:
    """A batch norm of each run: its parameters, its running statistics, and the statistics of the last batch."""

    def __init__(self, gamma: Tensor, beta: Tensor, d_gamma: Tensor, d_beta: Tensor) -> None:
        """Take slices (R, C) of tables of parameters and their gradients, all with the same stride between runs."""
        self.gamma, self.beta, self.d_gamma, self.d_beta = gamma, beta, d_gamma, d_beta
        self.runs, self.channels = gamma.shape
        make = gamma.new_zeros
        self.mean, self.rstd, self.scale, self.shift = (make(self.runs, self.channels) for _ in range(4))
        self.running_mean, self.running_var = (make(self.runs, self.channels) for _ in range(2))

    def measure(self, parts: Tensor, m: int) -> None:
        """Compute a batch's statistics from the parts that the convolution returned."""
        _norm_statistics[(self.channels // 16, self.runs)](
            parts, self.gamma, self.beta, self.mean, self.rstd, self.scale, self.shift,
            self.running_mean, self.running_var,
            m, self.gamma.stride(0), self.channels, _ROWS, 128, 16,
        )  # fmt: skip

    def recall(self) -> None:
        """Use the running statistics, as in evaluation."""
        torch.mul(self.gamma, (self.running_var + 1e-5).rsqrt(), out=self.scale)
        torch.sub(self.beta, self.running_mean * self.scale, out=self.shift)


_TILE = (32, 64)  # rows and channels of a norm's tile


def norm_relu(norm: Norm, x: Tensor, shortcut: Tensor | None = None, shortcut_norm: Norm | None = None) -> Tensor:
    """The relu of the normalised x (R, B, H, W, C) plus a shortcut, which may be normalised too."""
    y = torch.empty_like(x)
    other = shortcut_norm or norm
    kind = 0 if shortcut is None else 1 if shortcut_norm is None else 2
    m = x[0].numel() // norm.channels
    _norm_apply[_grid(m, norm)](
        x, norm.scale, norm.shift, x if shortcut is None else shortcut, other.scale, other.shift, y,
        m, norm.channels, kind, *_TILE,
    )  # fmt: skip
    return y


def norm_relu_back(
    norm: Norm,
    x: Tensor,
    d: Tensor,
    e: Tensor | None = None,
    *,
    y: Tensor | None = None,
    shortcut: Tensor | None = None,
    shortcut_norm: Norm | None = None,
) -> tuple[Tensor, Tensor]:
    """Gradients of x and of the shortcut, if any; those of the norms' parameters are left in their tables.

    Args:
        norm: the norm of x.
        x: the input of the norm.
        d: gradient of the output.
        e: a second part of it, to add.
        y: the output, if a shortcut was added.
        shortcut: the input of `shortcut_norm`.
        shortcut_norm: the norm of the shortcut.
    """
    other, s = shortcut_norm or norm, x if shortcut is None else shortcut
    two, mask = e is not None, y is not None
    kind = 0 if y is None else 1 if shortcut_norm is None else 2
    m, c = x[0].numel() // norm.channels, norm.channels
    tiles = triton.cdiv(m, _TILE[0])
    repeats = max(1, min(16, tiles // 16))
    programs = triton.cdiv(tiles, repeats)
    parts = x.new_empty(norm.runs, programs, 3, c, dtype=torch.float32)
    totals = x.new_empty(norm.runs, 3, c, dtype=torch.float32)
    given = (d, d if e is None else e, x if y is None else y, x, norm.scale, norm.shift, norm.mean, norm.rstd, s)
    _norm_back_sums[(programs, c // _TILE[1], norm.runs)](
        *given, other.mean, other.rstd, parts, m, c, two, mask, kind == 2, repeats, *_TILE
    )
    _norm_back_totals[(c // 16, norm.runs)](
        parts, totals, norm.d_gamma, norm.d_beta, other.d_gamma, other.d_beta,
        norm.d_gamma.stride(0), programs, c, kind == 2, 16, 16,
    )  # fmt: skip
    dx, ds = torch.empty_like(x), torch.empty_like(x) if kind else x
    _norm_back_apply[_grid(m, norm)](
        *given, other.scale, other.mean, other.rstd, totals, dx, ds, m, c, two, mask, kind, *_TILE
    )
    return dx, ds


def _grid(m: int, norm: Norm) -> tuple[int, int, int]:
    return triton.cdiv(m, _TILE[0]), norm.channels // _TILE[1], norm.runs


def update(
    weights: Tensor,
    momenta: Tensor,
    gradients: Tensor,
    rounded: Tensor | None,
    rate: Tensor,
    *,
    momentum: float,
    decay: float,
    nesterov: bool,
) -> None:
    """One step of SGD for each run, in place.

    Args:
        weights: (R, N) fp32.
        momenta: (R, N) fp32.
        gradients: (R, N).
        rounded: (R, N) the weights in the network's precision, if that is not fp32.
        rate: () the learning rate.
        momentum: momentum of SGD.
        decay: weight decay, added to the gradient.
        nesterov: whether to use Nesterov momentum.
    """
    runs, n = weights.shape
    _update[(triton.cdiv(n, 1024), runs)](
        weights, momenta, gradients, weights if rounded is None else rounded, rate,
        n, momentum, decay, nesterov, rounded is not None, 1024,
    )  # fmt: skip
