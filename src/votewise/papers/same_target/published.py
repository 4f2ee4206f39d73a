"""Numbers as the paper prints them: mean and standard deviation over seeds, at the best epoch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One printed number.

    Attributes:
        mean: over seeds.
        sd: over seeds, divisor n - 1.
        seeds: n.
        place: table and row.
    """

    mean: float
    sd: float
    seeds: int
    place: str


# (method, votes an item or None for all, epochs a label is kept, metric) -> what the paper says.
Key = tuple[str, int | None, int, str]

_METRICS = ("soft_nll", "accuracy", "ece", "entropy_correlation")

# Rows of Table 2 (10 seeds) and Table 3 (5 seeds): mean and SD of each metric.
_TABLE_2 = {
    "label-smoothing": ((0.6263, 0.0204), (0.8590, 0.0088), (0.0598, 0.0059), (0.2117, 0.0218)),
    "majority": ((0.7284, 0.0401), (0.8570, 0.0107), (0.0704, 0.0058), (0.2902, 0.0219)),
    "mixup": ((0.5526, 0.0129), (0.8824, 0.0046), (0.0977, 0.0063), (0.2499, 0.0145)),
    "sls": ((0.5052, 0.0263), (0.8695, 0.0105), (0.0186, 0.0039), (0.3946, 0.0192)),
    "soft": ((0.5096, 0.0233), (0.8687, 0.0081), (0.0185, 0.0040), (0.3909, 0.0190)),
}
_TABLE_3 = {
    "deterministic-control": ((0.4921, 0.0162), (0.8724, 0.0050), (0.0209, 0.0022), (0.3963, 0.0160)),
    "multipass": ((0.4942, 0.0123), (0.8714, 0.0063), (0.0191, 0.0044), (0.4000, 0.0287)),
    "shuffled-sls": ((2.2973, 0.0024), (0.1199, 0.0128), (0.0293, 0.0099), (-0.0058, 0.0556)),
}

PUBLISHED: dict[Key, Published] = {
    (method, None, 1, metric): Published(mean, sd, seeds, f"{table}, {method}")
    for table, rows, seeds in (("Table 2", _TABLE_2, 10), ("Table 3", _TABLE_3, 5))
    for method, row in rows.items()
    for metric, (mean, sd) in zip(_METRICS, row, strict=True)
}
