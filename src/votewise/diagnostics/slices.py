"""Items on which people disagree most."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray
from votewise._numerics import entropy_rows, rankable
from votewise.diagnostics._tensors import check_distributions

# The paper does not define its slice; these are the definitions that its numbers allow.
_SHARES = {"top-20%": 0.2, "top-10%": 0.1, "top-5%": 0.05}
_NATS = 0.5


def high_disagreement_slices(reference: npt.ArrayLike) -> dict[str, IntArray]:
    """Rows of the items with the highest entropy of votes, ascending: "top-20%", "top-10%", "top-5%", "H>0.5" (nats).

    Items of equal entropy are taken in order; a share is at least one item. "H>0.5" is left out if no item is above
    it.

    Args:
        reference: (N, K) vote shares.

    Example:
        >>> high_disagreement_slices([[1, 0], [0.5, 0.5], [0.9, 0.1]])
        {'top-20%': array([1]), 'top-10%': array([1]), 'top-5%': array([1]), 'H>0.5': array([1])}
    """
    entropy = rankable(entropy_rows(check_distributions("reference", reference)))
    falling = np.argsort(-entropy, kind="stable")
    slices = {name: np.sort(falling[: max(1, round(share * len(entropy)))]) for name, share in _SHARES.items()}
    above = np.flatnonzero(entropy > _NATS)
    return slices | ({f"H>{_NATS}": above} if above.size else {})
