"""Correction for several tests at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_values
from votewise._errors import InputError


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Holm's (1979) adjusted p-values, (n,), in the order given: step-down Bonferroni.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        array([0.03, 0.06, 0.06])
    """
    p = check_values("p-values", p_values)
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError(
            "p-values must be a list of numbers between 0 and 1", f"got {p_values!r}", "Pass one family of tests"
        )
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted
