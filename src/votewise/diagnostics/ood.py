"""Out-of-distribution (OOD) scores of single inputs, and how well they separate two sets.

Every score is higher for inputs that look more like the training data. Those of logits are computed in float64 on the
host; functions that run the model use its device and precision: call them within `torch.autocast(...)` for another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from votewise._checks import FloatArray, check_kind, check_matrix, check_number, check_whole_number, first_few
from votewise._errors import InputError
from votewise._numerics import average_ranks
from votewise.diagnostics._measuring import evaluating
from votewise.diagnostics._tensors import check_derivable, check_inputs, check_numbers, device_of, outputs_of

# Distances held at once: 128 MiB of float64.
_MOST_DISTANCES = 1 << 24

_COLDEST, _HOTTEST = 1e-6, 1e12


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of one pass of a model that all scores need, on the model's device.

    Attributes:
        logits: (N, K).
        features: (N, D), the input of the head.
    """

    logits: Tensor
    features: Tensor


@dataclass(frozen=True)
class Detection:
    """How well a score separates in-distribution from out-of-distribution inputs.

    Attributes:
        auroc: chance that an in-distribution input scores higher than an OOD input; equal scores count half.
        fpr95: share of OOD inputs accepted by the threshold that accepts 95 % of the in-distribution ones.
    """

    auroc: float
    fpr95: float


def energy(logits: npt.ArrayLike | Tensor, *, temperature: float = 1.0) -> FloatArray:
    """T logsumexp(z / T), (N,): minus the free energy of Liu et al. 2020 (arXiv 2010.03759)."""
    peak, below = _from_peak(logits, temperature)
    return np.asarray(peak + temperature * np.log(np.exp(below).sum(axis=1)))


def msp(logits: npt.ArrayLike | Tensor, *, temperature: float = 1.0) -> FloatArray:
    """Greatest softmax probability max_k softmax(z / T)_k, (N,) (Hendrycks and Gimpel 2017, arXiv 1610.02136)."""
    _, below = _from_peak(logits, temperature)
    return np.asarray(1 / np.exp(below).sum(axis=1))


def predictive_entropy(logits: npt.ArrayLike | Tensor) -> FloatArray:
    """Minus the entropy of softmax(z) in nats, (N,)."""
    _, below = _from_peak(logits, 1.0)
    weight = np.exp(below)
    total = weight.sum(axis=1)
    return np.minimum((weight * below).sum(axis=1) / total - np.log(total), 0.0)


def logit_margin(logits: npt.ArrayLike | Tensor) -> FloatArray:
    """Greatest logit minus the second greatest, (N,)."""
    z = check_matrix("logits", _on_host(logits))
    if z.shape[1] < 2:
        raise InputError("a margin needs the logits of two classes or more", "got one column", "Use another score")
    second, first = np.partition(z, -2, axis=1)[:, -2:].T
    with np.errstate(over="ignore"):
        return np.asarray(first - second)


def knn(
    features: npt.ArrayLike | Tensor,
    bank: npt.ArrayLike | Tensor,
    *,
    k: int = 50,
    normalize: bool = True,
) -> FloatArray:
    """Minus the Euclidean distance to the k-th nearest training feature, (N,) (Sun et al. 2022, arXiv 2204.06507).

    All distances are computed, in float64, on the device of the features.

    Args:
        features: (N, D) of the inputs to score.
        bank: (M, D) of the training items, as they are without augmentation.
        k: which neighbour; a training item that is itself scored is its own first.
        normalize: whether to divide each feature vector by its length first; one of length 0 stays as it is.
    """
    x, memory = (check_numbers(name, given, 2).double() for name, given in (("features", features), ("bank", bank)))
    _check_bank(x, memory, check_whole_number("k", k, least=1))
    memory = memory.to(x.device)
    if normalize:
        x, memory = _unit_rows(x), _unit_rows(memory)
    centre = memory.mean(dim=0)  # distances are the same from there, and lose less to cancellation
    x, memory = x - centre, memory - centre
    rows = max(_MOST_DISTANCES // len(memory), 1)
    distance = torch.cat([_kth_distance(part, memory, k) for part in torch.split(x, rows)])
    return np.asarray(-distance.cpu().numpy())


def odin(
    model: nn.Module,
    inputs: Tensor,
    *,
    std: float | Sequence[float],
    temperature: float = 1000.0,
    epsilon: float = 0.0014,
    batch_size: int = 1000,
) -> FloatArray:
    """max_k softmax(z(x') / T)_k, (N,), after a step x' towards certainty (Liang et al. 2018, arXiv 1706.02690).

    x' = x + epsilon / std * sign(d/dx log max_k softmax(z(x) / T)_k). If inputs are (pixels - mean) / std, with pixels
    from 0 to 1, each pixel moves by epsilon, and is not clipped. It takes a forward and backward pass in eval mode, and
    a second forward pass.

    Args:
        model: any module from inputs to (B, K) logits; its device is used.
        inputs: (N, ...) as the model takes them, floating-point.
        std: divisor of the pixels, one number or one per channel (axis 1); 1 if epsilon is a step of the inputs
            themselves.
        temperature: T.
        epsilon: the step, in pixels from 0 to 1.
        batch_size: rows per pass.
    """
    check_derivable()
    check_number("temperature", temperature, _COLDEST, _HOTTEST)
    batches = _batches(model, inputs, batch_size)
    if not inputs.is_floating_point():
        raise InputError("inputs must be floating-point to take a step", f"got {inputs.dtype}", "Normalise them first")
    step = check_number("epsilon", epsilon, 0, 1e6) / _per_channel(std, inputs)
    with evaluating(model):
        logits = [_logits(model, _more_certain(model, batch, step, temperature)) for batch in batches]
    return msp(torch.cat(logits), temperature=temperature)


def collect_outputs(
    model: nn.Module, inputs: Tensor, *, head: nn.Module | None = None, batch_size: int = 1000
) -> Outputs:
    """Logits and penultimate features of inputs from one pass in eval mode, on the model's device and in its precision.

    Args:
        model: any module from inputs to (B, K) logits.
        inputs: (N, ...) as the model takes them.
        head: the layer whose input is the features; by default the linear layer that runs last.
        batch_size: rows per pass.
    """
    batches = _batches(model, inputs, batch_size)
    if head is not None:
        check_kind("head", head, nn.Module, "Pass the layer itself, as model.head")
    layers = [head] if head is not None else [each for each in model.modules() if isinstance(each, nn.Linear)]
    logits, features = [], []
    with evaluating(model), _watching(layers) as seen:
        for batch in batches:
            logits.append(_logits(model, batch))
            # Copied: a view would keep its whole base alive, and the model may reuse its memory.
            features.append(_features(seen, logits[-1], head).clone())
    return Outputs(torch.cat(logits), torch.cat(features))


def ood_scores(
    outputs: Outputs,
    bank: npt.ArrayLike | Tensor,
    *,
    k: int = 50,
    normalize: bool = True,
) -> dict[str, FloatArray]:
    """All scores, by name, except `odin`, which needs further passes of the model.

    Args:
        outputs: what `collect_outputs` returned.
        bank: (M, D) features of the training items, for `knn`.
        k: the neighbour whose distance `knn` takes.
        normalize: whether `knn` scales features to unit length.
    """
    check_kind("outputs", outputs, Outputs, "Pass what collect_outputs gives")
    logits = _on_host(outputs.logits)
    return {
        "energy": energy(logits),
        "msp": msp(logits),
        "predictive_entropy": predictive_entropy(logits),
        "logit_margin": logit_margin(logits),
        "knn": knn(outputs.features, bank, k=k, normalize=normalize),
    }


def ood_table(
    in_scores: Mapping[str, npt.ArrayLike | Tensor], out_scores: Mapping[str, npt.ArrayLike | Tensor]
) -> dict[str, Detection]:
    """How well each score, by name, separates in-distribution from out-of-distribution inputs."""
    if set(in_scores) != set(out_scores):
        raise InputError(
            "both sets must have the same scores",
            f"only one has {first_few(sorted(set(in_scores) ^ set(out_scores)))}",
            "Score both in the same way",
        )
    _check_table("in_scores", in_scores)
    _check_table("out_scores", out_scores)
    return {
        name: Detection(auroc(scores, out_scores[name]), fpr95(scores, out_scores[name]))
        for name, scores in in_scores.items()
    }


def auroc(in_scores: npt.ArrayLike | Tensor, out_scores: npt.ArrayLike | Tensor) -> float:
    """Chance that an in-distribution input scores higher than an OOD one, ties counting half; exact, by ranks.

    Example:
        >>> auroc([3, 2], [2, 1])
        0.875
    """
    inside, outside = _check_scores("in_scores", in_scores), _check_scores("out_scores", out_scores)
    n, m = len(inside), len(outside)
    ranks = average_ranks(np.concatenate([inside, outside]))[:n]
    return float((ranks.sum() - n * (n + 1) / 2) / (n * m))


def fpr95(in_scores: npt.ArrayLike | Tensor, out_scores: npt.ArrayLike | Tensor) -> float:
    """Share of OOD inputs that score at least t, the highest value that 95 % or more of the in-distribution ones reach.

    The threshold is itself the score of an in-distribution input, and scores equal to it are accepted.

    Example:
        >>> fpr95([4, 3, 2], [2, 1])
        0.5
    """
    inside, outside = _check_scores("in_scores", in_scores), _check_scores("out_scores", out_scores)
    accepted = -(-95 * len(inside) // 100)
    threshold = np.partition(inside, -accepted)[-accepted]
    return float((outside >= threshold).mean())


def _on_host(values: npt.ArrayLike | Tensor) -> npt.ArrayLike:
    if not isinstance(values, Tensor):
        return values
    host = values.detach().cpu()
    return host.numpy() if host.is_complex() else host.double().numpy()  # complex numbers are refused as such


def _from_peak(logits: npt.ArrayLike | Tensor, temperature: float) -> tuple[FloatArray, FloatArray]:
    """The greatest logit, (N,), and (z - greatest) / temperature, (N, K): finite, and never above zero."""
    z = check_matrix("logits", _on_host(logits))
    check_number("temperature", temperature, _COLDEST, _HOTTEST)
    peak = z.max(axis=1)
    with np.errstate(over="ignore"):
        return peak, np.maximum((z - peak[:, None]) / temperature, np.finfo(np.float64).min)


def _check_scores(name: str, values: npt.ArrayLike | Tensor) -> FloatArray:
    """Scores (N,), N at least one; infinities can be ranked, NaN cannot."""
    try:
        scores = np.asarray(_on_host(values))
    except ValueError:
        scores = np.zeros((0, 0))
    if scores.ndim != 1 or scores.dtype.kind not in "biuf" or not scores.size:
        raise InputError(
            f"{name} must be a list of numbers, at least one",
            f"got {scores.dtype} of shape {scores.shape}",
            "Pass one score for each input",
        )
    missing = np.flatnonzero(np.isnan(scores))
    if missing.size:
        raise InputError(
            f"{name} must not hold NaN",
            f"{missing.size:,} of {scores.size:,} are NaN (rows {first_few(missing[:5], missing.size)})",
            "Look for NaN in the model's outputs",
        )
    return scores.astype(np.float64, copy=False)


def _check_table(name: str, scores: Mapping[str, npt.ArrayLike | Tensor]) -> None:
    """Refuse scores that are not of the same inputs."""
    lengths = {score: len(_check_scores(f"{name}[{score!r}]", values)) for score, values in scores.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"all {name} must be of the same inputs",
            "they have " + ", ".join(f"{length:,} ({score})" for score, length in lengths.items()) + " rows",
            "Score the same inputs each time",
        )


def _check_bank(features: Tensor, bank: Tensor, k: int) -> None:
    if features.shape[1] != bank.shape[1]:
        raise InputError(
            "features and bank must have the same number of columns",
            f"got {features.shape[1]:,} and {bank.shape[1]:,}",
            "Take both from the same layer",
        )
    if k > len(bank):
        raise InputError(
            f"k must be at most {len(bank):,}, the training features in the bank",
            f"got {k:,}",
            "Lower k, or pass more training features",
        )


def _unit_rows(rows: Tensor) -> Tensor:
    """Each row divided by its length, however large or small; zeros stay."""
    peak = rows.abs().amax(dim=1, keepdim=True)
    scaled = rows / torch.where(peak > 0, peak, 1)
    return functional.normalize(scaled, dim=1)


def _kth_distance(features: Tensor, bank: Tensor, k: int) -> Tensor:
    """Distance of each of (B, D) features to the k-th nearest of (M, D), (B,)."""
    # |x - y|^2 / 2 minus |x|^2 / 2 has the same order; the distance itself is then computed without cancellation.
    order = bank.square().sum(dim=1) / 2 - features @ bank.T
    nearest = order.topk(k, dim=1, largest=False).indices[:, -1]
    return (features - bank[nearest]).norm(dim=1)


def _batches(model: nn.Module, inputs: Tensor, batch_size: int) -> Iterator[Tensor]:
    """Parts of the inputs on the model's device."""
    device, rows = device_of(model), check_whole_number("batch_size", batch_size, least=1)
    return (batch.to(device) for batch in torch.split(check_inputs("inputs", inputs), rows))


@torch.no_grad()
def _logits(model: nn.Module, batch: Tensor) -> Tensor:
    return _check_logits(outputs_of(model, batch), len(batch))


def _check_logits(logits: object, rows: int) -> Tensor:
    if isinstance(logits, Tensor) and logits.ndim == 2 and len(logits) == rows:
        return logits
    got = f"a tensor of shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
    raise InputError(f"the model must give logits ({rows}, K) for {rows} inputs", f"it gave {got}", "Wrap the model")


def _per_channel(std: float | Sequence[float], inputs: Tensor) -> Tensor:
    """The std of each channel, shaped to divide inputs (N, C, ...)."""
    try:
        values = np.atleast_1d(np.asarray(std, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.zeros(0)
    channels = inputs.shape[1] if inputs.ndim > 1 else 1
    if values.ndim != 1 or len(values) not in {1, channels} or not (values > 0).all() or not np.isfinite(values).all():
        raise InputError(
            f"std must be one positive number, or {channels}, one per channel",
            f"got {std!r}",
            "Pass the divisor of the pixels",
        )
    return torch.from_numpy(values).to(inputs.dtype).view(-1, *(1,) * (inputs.ndim - 2))


def _more_certain(model: nn.Module, batch: Tensor, step: Tensor, temperature: float) -> Tensor:
    """Inputs moved by a step, in each coordinate, so that the model's top class becomes more probable."""
    with torch.enable_grad():
        x = batch.detach().requires_grad_()
        scaled = _check_logits(outputs_of(model, x), len(x)) / temperature
        # Times the temperature: the sign is the same, and small derivatives are not lost in half precision.
        certainty = temperature * torch.log_softmax(scaled, dim=1).max(dim=1).values.sum()
        slope = _derivative(certainty, x)
    return batch + step.to(batch.device) * slope.sign()


def _derivative(value: Tensor, by: Tensor) -> Tensor:
    slope = torch.autograd.grad(value, by, allow_unused=True)[0] if value.requires_grad else None
    if slope is None:
        raise InputError(
            "the logits must have a derivative with respect to the inputs",
            "they have none",
            "Remove no_grad(), detach() and conversions to whole numbers from the model",
        )
    return slope


@contextmanager
def _watching(layers: Sequence[nn.Module]) -> Iterator[list[tuple[nn.Module, Tensor]]]:
    """A list of the layer among these that ran last, with its input; empty until one has run."""
    seen: list[tuple[nn.Module, Tensor]] = []

    def note(layer: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Tensor]) -> None:
        seen[:] = [(layer, (*args, *kwargs.values())[0])]

    handles = [layer.register_forward_pre_hook(note, with_kwargs=True) for layer in layers]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _features(seen: list[tuple[nn.Module, Tensor]], logits: Tensor, head: nn.Module | None) -> Tensor:
    """The features, if a head has run on one row per item and, if it was guessed, it does give the logits."""
    wanted = "the features are the input of the head"
    remedy = "Pass head=, the layer of the model, not compiled, that turns features into logits"
    if not seen:
        raise InputError(wanted, f"no {'linear layer' if head is None else 'such layer'} ran", remedy)
    layer, features = seen.pop()
    n_items, n_classes = logits.shape
    if head is None and layer.out_features != n_classes:
        raise InputError(
            wanted, f"the last linear layer gives {layer.out_features} columns and the model {n_classes}", remedy
        )
    if len(features) != n_items:
        raise InputError(
            wanted,
            f"it took {len(features):,} rows for {n_items:,} items",
            "Pass head=, a layer whose input has one row per item",
        )
    return features
