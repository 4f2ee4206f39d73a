"""Temperature: how far logits are too large or too small, which a model can be told afterwards."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_number, check_simplex
from votewise._errors import InputError

# Temperatures are sought between these. A model that is always right would be scaled to 0, which no data can justify,
# and one that knows nothing to infinity; at either end the fit has said all it can.
LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.01, 100.0

# Halvings of the range of the logarithm, which leave an error of 1e-14.
_HALVINGS = 50


def fit_temperature(reference: npt.ArrayLike, logits: npt.ArrayLike) -> float:
    """The temperature T at which softmax(logits / T) has the least soft NLL, between 0.01 and 100.

    Fit it on items that the model was not trained on, and apply it to others. Soft NLL is convex in 1 / T, so its slope
    there, the mean of sum_k (softmax(z / T)_k - p_k) z_k, has one sign change, found by halving. Where no temperature
    matters, as for constant logits, it is 1.

    Args:
        reference: (N, K) vote shares.
        logits: (N, K) logits, or logarithms of probabilities; -inf for classes that the model rules out, which must
            have no votes.

    Example:
        >>> round(fit_temperature([[0.75, 0.25], [0.25, 0.75]], [[math.log(9), 0], [0, math.log(9)]]), 4)
        2.0
    """
    p, z = check_simplex("reference", reference), check_logits(logits)
    if p.shape != z.shape:
        raise InputError("reference and logits must have one shape", f"got {p.shape} and {z.shape}", "Line them up")
    impossible = np.isneginf(z)
    if (wrong := np.flatnonzero((impossible & (p > 0)).any(axis=1))).size:
        raise InputError(
            "no temperature helps where people chose a class of logit -inf",
            f"row {wrong[0]} is the first of {len(wrong):,} such items",
            "Give each class a small probability before taking logarithms",
        )
    centred = z - z.max(axis=1, keepdims=True)
    finite = np.where(impossible, 0.0, centred)

    def slope(log_temperature: float) -> float:
        """Derivative of soft NLL in 1 / T."""
        weights = np.exp(centred * math.exp(-log_temperature))
        model = weights / weights.sum(axis=1, keepdims=True)
        return float(((model - p) * finite).sum(axis=1).mean())

    low, high = math.log(LEAST_TEMPERATURE), math.log(MOST_TEMPERATURE)
    if abs(slope(low)) + abs(slope(high)) <= 1e-12 * max(1.0, float(np.abs(finite).max(initial=0.0))):
        return 1.0
    if slope(low) <= 0:
        return LEAST_TEMPERATURE
    if slope(high) >= 0:
        return MOST_TEMPERATURE
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return math.exp((low + high) / 2)


def scaled_softmax(logits: npt.ArrayLike, temperature: float = 1.0) -> FloatArray:
    """Probabilities (N, K) float64 of logits over a temperature.

    Args:
        logits: (N, K); -inf stays impossible at any temperature.
        temperature: between 0.01 and 100.
    """
    check_number("the temperature", temperature, LEAST_TEMPERATURE, MOST_TEMPERATURE)
    z = check_logits(logits)
    weights = np.exp((z - z.max(axis=1, keepdims=True)) / temperature)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def check_logits(logits: npt.ArrayLike) -> FloatArray:
    """Logits as (N, K) float64; NaN, +inf and rows of -inf alone are refused."""
    try:
        z = np.asarray(logits, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("logits must be numbers", f"got {type(logits).__name__}", "Pass an (N, K) array") from None
    if z.ndim != 2 or 0 in z.shape:
        raise InputError("logits must have shape (N, K)", f"got {z.shape}", "Pass one row for each item")
    wrong = np.flatnonzero(np.isnan(z).any(axis=1) | np.isposinf(z).any(axis=1) | np.isneginf(z).all(axis=1))
    if wrong.size:
        raise InputError(
            "logits must be finite, or -inf for some classes of an item",
            f"row {wrong[0]} is {z[wrong[0]].tolist()[:8]}",
            "Check the model that gave them",
        )
    return z
