"""Does a model know what it was not trained on? Scores of single inputs, and how well they tell two sets apart.

Every score is higher for what looks more like the training data. Those of logits are computed in float64 on the host;
what runs the model keeps to its device and precision: call it within `torch.autocast(...)` to have that.
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
    """What one pass of a model leaves for all scores, on the model's device.

    Attributes:
        logits: (N, K).
        features: (N, D), what the head took in.
    """

    logits: Tensor
    features: Tensor


@dataclass(frozen=True)
class Detection:
    """How well a score tells familiar inputs from strange ones.

    Attributes:
        auroc: chance that a familiar input scores higher than a strange one; equal scores count half.
        fpr95: share of strange inputs let in by the threshold that lets in 95 % of the familiar ones.
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
    """Greatest logit less the second greatest, (N,)."""
    z = check_matrix("logits", _on_host(logits))
    if z.shape[1] < 2:
        raise InputError("a margin needs the logits of two classes or more", "got one column", "Use another score")
    second, first = np.partition(z, -2, axis=1)[:, -2:].T
    return np.asarray(first - second)


def knn(
    features: npt.ArrayLike | Tensor,
    bank: npt.ArrayLike | Tensor,
    *,
    k: int = 50,
    normalise: bool = True,
    squared: bool = False,
) -> FloatArray:
    """Minus the Euclidean distance to the k-th nearest training feature, (N,) (Sun et al. 2022, arXiv 2204.06507).

    All distances are computed, in float64, where the features lie.

    Args:
        features: (N, D) of the inputs to score.
        bank: (M, D) of the training items, as they are without augmentation.
        k: which neighbour; a training item that is scored itself is its own first.
        normalise: whether to divide each feature vector by its length first; one of length 0 stays as it is.
        squared: whether to give the squared distance. The order is the same.
    """
    x, memory = (check_numbers(name, given, 2).double() for name, given in (("features", features), ("bank", bank)))
    _check_bank(x, memory, check_whole_number("k", k, least=1))
    memory = memory.to(x.device)
    if normalise:
        x, memory = functional.normalize(x), functional.normalize(memory)
    rows = max(_MOST_DISTANCES // len(memory), 1)
    distance = torch.cat([_kth_distance(part, memory, k) for part in torch.split(x, rows)])
    return np.asarray(-(distance**2 if squared else distance).cpu().numpy())


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

    x' = x + epsilon / std * sign(d/dx log max_k softmax(z(x) / T)_k). So where inputs are (pixels - mean) / std, with
    pixels from 0 to 1, the step is one of pixels: each moves by epsilon, and is not clipped. It takes a pass in eval
    mode, its derivative by the inputs, and a second pass.

    Args:
        model: any module from inputs to (B, K) logits; its device is used.
        inputs: (N, ...) as the model takes them, floating-point.
        std: what pixels were divided by, one number or one for each channel (axis 1); 1 where epsilon is meant in the
            space of the inputs themselves.
        temperature: T.
        epsilon: the step, in pixels from 0 to 1.
        batch_size: rows of a pass.
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
    """Logits and penultimate features of inputs by one pass in eval mode, on the model's device and in its precision.

    Args:
        model: any module from inputs to (B, K) logits.
        inputs: (N, ...) as the model takes them.
        head: the layer whose input are the features; by default the linear layer that runs last.
        batch_size: rows of a pass.
    """
    batches = _batches(model, inputs, batch_size)
    if head is not None:
        check_kind("head", head, nn.Module, "Pass the layer itself, as model.head")
    layers = [head] if head is not None else [each for each in model.modules() if isinstance(each, nn.Linear)]
    logits, features = [], []
    with evaluating(model), _watching(layers) as seen:
        for batch in batches:
            logits.append(_logits(model, batch))
            # Copied: a view would keep all of what it is a view of, and the model may use its memory again.
            features.append(_taken_in(seen, logits[-1].shape[1], head).clone())
    return Outputs(torch.cat(logits), torch.cat(features))


def ood_scores(
    outputs: Outputs,
    bank: npt.ArrayLike | Tensor,
    *,
    k: int = 50,
    normalise: bool = True,
    squared: bool = False,
) -> dict[str, FloatArray]:
    """All scores, by name, that need no further pass of the model; `odin` does.

    Args:
        outputs: from `collect_outputs`.
        bank: (M, D) features of the training items, for `knn`.
        k: as in `knn`.
        normalise: as in `knn`.
        squared: as in `knn`.
    """
    check_kind("outputs", outputs, Outputs, "Pass what collect_outputs gives")
    logits = _on_host(outputs.logits)
    return {
        "energy": energy(logits),
        "msp": msp(logits),
        "predictive_entropy": predictive_entropy(logits),
        "logit_margin": logit_margin(logits),
        "knn": knn(outputs.features, bank, k=k, normalise=normalise, squared=squared),
    }


def ood_table(
    in_scores: Mapping[str, npt.ArrayLike | Tensor], out_scores: Mapping[str, npt.ArrayLike | Tensor]
) -> dict[str, Detection]:
    """How well each score, by name, tells the familiar inputs from the strange ones."""
    if set(in_scores) != set(out_scores):
        raise InputError(
            "both sets must have the same scores",
            f"one alone has {first_few(sorted(set(in_scores) ^ set(out_scores)))}",
            "Score both alike",
        )
    return {
        name: Detection(auroc(scores, out_scores[name]), fpr95(scores, out_scores[name]))
        for name, scores in in_scores.items()
    }


def auroc(in_scores: npt.ArrayLike | Tensor, out_scores: npt.ArrayLike | Tensor) -> float:
    """Chance that a familiar input scores higher than a strange one, ties counting half; exact, by ranks.

    Example:
        >>> auroc([3, 2], [2, 1])
        0.875
    """
    familiar, strange = _check_scores("in_scores", in_scores), _check_scores("out_scores", out_scores)
    n, m = len(familiar), len(strange)
    ranks = average_ranks(np.concatenate([familiar, strange]))[:n]
    return float((ranks.sum() - n * (n + 1) / 2) / (n * m))


def fpr95(in_scores: npt.ArrayLike | Tensor, out_scores: npt.ArrayLike | Tensor) -> float:
    """Share of strange inputs that score at least t, the highest value which 95 % or more of the familiar ones reach.

    The threshold is itself a familiar input's score, and all that equals it is let in.

    Example:
        >>> fpr95([4, 3, 2], [2, 1])
        0.5
    """
    familiar, strange = _check_scores("in_scores", in_scores), _check_scores("out_scores", out_scores)
    let_in = -(-95 * len(familiar) // 100)
    threshold = np.partition(familiar, -let_in)[-let_in]
    return float((strange >= threshold).mean())


def _on_host(values: npt.ArrayLike | Tensor) -> npt.ArrayLike:
    return values.detach().cpu().double().numpy() if isinstance(values, Tensor) else values


def _from_peak(logits: npt.ArrayLike | Tensor, temperature: float) -> tuple[FloatArray, FloatArray]:
    """The greatest logit, (N,), and how far each is from it, (N, K), divided by the temperature: never above zero."""
    z = check_matrix("logits", _on_host(logits))
    check_number("temperature", temperature, _COLDEST, _HOTTEST)
    peak = z.max(axis=1)
    return peak, (z - peak[:, None]) / temperature


def _check_scores(name: str, values: npt.ArrayLike | Tensor) -> FloatArray:
    """Scores (N,), N at least one; infinities have their rank, NaN has none."""
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


def _check_bank(features: Tensor, bank: Tensor, k: int) -> None:
    if features.shape[1] != bank.shape[1]:
        raise InputError(
            "features and bank must have equally many columns",
            f"got {features.shape[1]:,} and {bank.shape[1]:,}",
            "Take both from the same layer",
        )
    if k > len(bank):
        raise InputError(
            f"k must be at most {len(bank):,}, the training features in the bank",
            f"got {k:,}",
            "Lower k, or pass more training features",
        )


def _kth_distance(features: Tensor, bank: Tensor, k: int) -> Tensor:
    """Distance of each of (B, D) features to the k-th nearest of (M, D), (B,)."""
    # |x - y|^2 / 2 less |x|^2 / 2, which does not change the order; the distance itself is then taken without
    # cancellation.
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
    raise InputError(f"the model must give logits ({rows}, K) of {rows} inputs", f"it gave {got}", "Wrap the model")


def _per_channel(std: float | Sequence[float], inputs: Tensor) -> Tensor:
    """The std of each channel, shaped to divide inputs (N, C, ...)."""
    try:
        values = np.atleast_1d(np.asarray(std, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.zeros(0)
    channels = inputs.shape[1] if inputs.ndim > 1 else 1
    if values.ndim != 1 or len(values) not in {1, channels} or not (values > 0).all() or not np.isfinite(values).all():
        raise InputError(
            f"std must be one positive number, or {channels}, one for each channel",
            f"got {std!r}",
            "Pass what the pixels were divided by",
        )
    return torch.from_numpy(values).to(inputs.dtype).view(-1, *(1,) * (inputs.ndim - 2))


def _more_certain(model: nn.Module, batch: Tensor, step: Tensor, temperature: float) -> Tensor:
    """Inputs moved by a step, in each coordinate, to where the model's top class is more probable."""
    with torch.enable_grad():
        x = batch.detach().requires_grad_()
        scaled = _check_logits(outputs_of(model, x), len(x)) / temperature
        # Times the temperature: the sign is the same, and small derivatives are not lost in half precision.
        certainty = temperature * torch.log_softmax(scaled, dim=1).max(dim=1).values.sum()
        slope = _derivative(certainty, x)
    return batch + step.to(batch.device) * slope.sign()


def _derivative(value: Tensor, by: Tensor) -> Tensor:
    if not value.requires_grad:
        raise InputError(
            "the logits must have a derivative by the inputs",
            "they have none",
            "Take no_grad and detach out of the model",
        )
    return torch.autograd.grad(value, by)[0]


@contextmanager
def _watching(layers: Sequence[nn.Module]) -> Iterator[list[tuple[nn.Module, Tensor]]]:
    """A list of the layer among these that ran last and what it took in; empty until one has run."""
    seen: list[tuple[nn.Module, Tensor]] = []

    def note(layer: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Tensor]) -> None:
        seen[:] = [(layer, (*args, *kwargs.values())[0])]

    handles = [layer.register_forward_pre_hook(note, with_kwargs=True) for layer in layers]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _taken_in(seen: list[tuple[nn.Module, Tensor]], n_classes: int, head: nn.Module | None) -> Tensor:
    """The features, if they were seen and, where the head was guessed, it does give the logits."""
    wanted = "the features are what the head takes in"
    remedy = "Pass head=, the layer of the model, not compiled, that turns features into logits"
    if not seen:
        raise InputError(wanted, f"no {'linear layer' if head is None else 'such layer'} ran", remedy)
    layer, features = seen.pop()
    if head is None and layer.out_features != n_classes:
        raise InputError(
            wanted, f"the last linear layer gives {layer.out_features} columns and the model {n_classes}", remedy
        )
    return features
