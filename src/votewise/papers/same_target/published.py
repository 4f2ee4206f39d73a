"""Every number the paper prints, as literal rows: mean and standard deviation over seeds, at the best epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """One printed number.

    Attributes:
        mean: over seeds.
        sd: over seeds, divisor n - 1; None where it is not printed.
        seeds: n.
        place: table and row, or section.
    """

    mean: float
    sd: float | None
    seeds: int
    place: str


# (method, votes per item or None for all, epochs a label is kept, metric) -> what the paper says.
Key = tuple[str, int | None, int, str]

# (method, number of seeds, column) -> what a table says.
PaperTable = dict[tuple[str, int, str], Published]

Printed = float | tuple[float, float]
Rows = Mapping[tuple[str, int], Sequence[Printed]]

SWEEP = (5, 10, 25, 50)
METRICS = ("soft_nll", "accuracy", "ece", "entropy_correlation")
SCORES = ("energy", "msp", "odin", "predictive_entropy", "logit_margin", "knn")


def _table(name: str, columns: Sequence[str], rows: Rows) -> PaperTable:
    return {
        (method, seeds, column): Published(*_mean_and_sd(printed), seeds, f"{name}, {method}")
        for (method, seeds), row in rows.items()
        for column, printed in zip(columns, row, strict=True)
    }


def _mean_and_sd(printed: Printed) -> tuple[float, float | None]:
    return printed if isinstance(printed, tuple) else (printed, None)


TABLE_1 = _table(
    "Table 1",
    [str(votes) for votes in SWEEP],
    {
        ("soft", 5): (0.5860, 0.5785, 0.5388, 0.5628),
        ("sls", 5): (0.5599, 0.5485, 0.5169, 0.5291),
        ("multipass", 5): (0.5649, 0.5371, 0.5117, 0.5241),
        ("deterministic-control", 5): (0.5555, 0.5388, 0.5077, 0.5231),
    },
)
# One-sided exact paired Wilcoxon against soft labels, for each number of votes.
TABLE_1_P = {
    "sls": (0.031, 0.031, 0.063, 0.094),
    "multipass": (0.063, 0.031, 0.031, 0.031),
    "deterministic-control": (0.031, 0.031, 0.031, 0.031),
}

TABLE_2 = _table(
    "Table 2",
    METRICS,
    {
        ("label-smoothing", 10): ((0.6263, 0.0204), (0.8590, 0.0088), (0.0598, 0.0059), (0.2117, 0.0218)),
        ("majority", 10): ((0.7284, 0.0401), (0.8570, 0.0107), (0.0704, 0.0058), (0.2902, 0.0219)),
        ("mixup", 10): ((0.5526, 0.0129), (0.8824, 0.0046), (0.0977, 0.0063), (0.2499, 0.0145)),
        ("sls", 10): ((0.5052, 0.0263), (0.8695, 0.0105), (0.0186, 0.0039), (0.3946, 0.0192)),
        ("soft", 10): ((0.5096, 0.0233), (0.8687, 0.0081), (0.0185, 0.0040), (0.3909, 0.0190)),
    },
)
# SLS against soft labels, two-sided.
TABLE_2_P = dict(zip(METRICS, (0.6953, 0.6250, 0.9219, 0.3750), strict=True))

TABLE_3 = _table(
    "Table 3",
    METRICS,
    {
        ("soft", 10): ((0.5096, 0.0233), (0.8687, 0.0081), (0.0185, 0.0040), (0.3909, 0.0190)),
        ("sls", 5): ((0.5035, 0.0335), (0.8710, 0.0129), (0.0193, 0.0045), (0.3956, 0.0159)),
        ("deterministic-control", 5): ((0.4921, 0.0162), (0.8724, 0.0050), (0.0209, 0.0022), (0.3963, 0.0160)),
        ("multipass", 5): ((0.4942, 0.0123), (0.8714, 0.0063), (0.0191, 0.0044), (0.4000, 0.0287)),
        ("shuffled-sls", 5): ((2.2973, 0.0024), (0.1199, 0.0128), (0.0293, 0.0099), (-0.0058, 0.0556)),
    },
)
# Against SLS, two-sided; of the others the text says only that they are at least 0.625, or "alike".
TABLE_3_P = {("multipass", "soft_nll"): 0.4375}

TABLE_4 = _table(
    "Table 4",
    ("full/largest", "full/trace", "high/largest", "high/trace"),
    {
        ("sls", 10): ((104.9, 8.8), (1633.9, 50.6), (314.0, 57.3), (3496.8, 360.3)),
        ("soft", 10): ((242.2, 36.2), (4946.0, 943.2), (780.6, 103.3), (10779.6, 1811.9)),
        ("sls", 5): ((107.8, 9.9), (1642.9, 25.7), (310.3, 22.0), (3480.4, 255.2)),
        ("deterministic-control", 5): ((101.6, 8.1), (1581.6, 61.2), (314.6, 30.4), (3481.8, 250.7)),
        ("multipass", 5): ((103.8, 4.3), (1571.4, 72.4), (302.2, 29.6), (3438.4, 339.5)),
        ("shuffled-sls", 5): ((18.4, 13.3), (33.9, 26.0), (20.5, 18.1), (38.8, 44.9)),
    },
)

TABLE_5 = _table(
    "Table 5",
    ("kl", "soft_brier"),
    {
        ("sls", 10): ((0.3515, 0.0260), (0.1553, 0.0110)),
        ("soft", 10): ((0.3558, 0.0228), (0.1548, 0.0096)),
        ("majority", 10): ((0.5746, 0.0397), (0.1943, 0.0152)),
        ("label-smoothing", 10): ((0.4726, 0.0204), (0.1786, 0.0094)),
        ("mixup", 10): ((0.3988, 0.0123), (0.1500, 0.0049)),
    },
)

# Columns are the slice and the number of votes.
TABLE_6 = _table(
    "Table 6",
    [f"{part}/{votes}" for part in ("full", "high") for votes in SWEEP],
    {
        ("sls", 5): (
            (114.0, 4.5), (114.1, 8.0), (97.5, 4.0), (98.9, 1.2),
            (478.7, 76.6), (369.1, 52.2), (277.8, 35.8), (312.4, 45.8),
        ),
        ("soft", 5): (
            (241.4, 36.6), (243.6, 47.9), (267.1, 43.7), (218.4, 20.0),
            (1203.1, 158.2), (849.7, 296.3), (876.1, 235.4), (626.4, 38.3),
        ),
    },
)  # fmt: skip

TABLE_7 = _table(
    "Table 7",
    SCORES,
    {
        ("soft", 10): (
            (0.8634, 0.0429), (0.8364, 0.0432), (0.8650, 0.0429),
            (0.8527, 0.0445), (0.8112, 0.0436), (0.7974, 0.0284),
        ),
        ("multipass", 5): (
            (0.8858, 0.0255), (0.8553, 0.0182), (0.8871, 0.0242),
            (0.8714, 0.0212), (0.8323, 0.0126), (0.7836, 0.0250),
        ),
        ("deterministic-control", 5): (
            (0.8890, 0.0253), (0.8643, 0.0193), (0.8921, 0.0233),
            (0.8793, 0.0233), (0.8419, 0.0136), (0.7788, 0.0354),
        ),
        ("sls", 5): (
            (0.8788, 0.0261), (0.8520, 0.0183), (0.8812, 0.0254),
            (0.8660, 0.0208), (0.8326, 0.0177), (0.7741, 0.0295),
        ),
    },
)  # fmt: skip

TABLE_8 = _table(
    "Table 8",
    SCORES,
    {
        ("sls", 10): (0.8185, 0.8029, 0.8189, 0.8132, 0.7833, 0.8031),
        ("soft", 10): (0.8096, 0.7972, 0.8107, 0.8082, 0.7779, 0.8009),
    },
)
# SLS above soft labels. The values are attainable with ten pairs as one-sided p alone.
TABLE_8_P = dict(zip(SCORES, (0.0186, 0.0654, 0.0186, 0.0801, 0.0801, 0.3125), strict=True))

TABLE_9 = _table(
    "Table 9",
    ("energy", "msp", "knn"),
    {
        ("soft", 10): (0.8096, 0.7972, 0.8009),
        ("multipass", 5): (0.8185, 0.8032, 0.8053),
        ("deterministic-control", 5): (0.8183, 0.8006, 0.8050),
        ("sls", 5): (0.8163, 0.8003, 0.8019),
    },
)

# Numbers in the text, by what is measured and of which method.
QUOTED: dict[tuple[str, str], Published] = {
    # Soft NLL less KL, 0.1537 or 0.1538 in every row: the entropy of the votes on the held-out images.
    ("entropy", "votes"): Published(0.15375, None, 10, "Tables 2 and 5"),
    ("smooth_ece", "sls"): Published(0.019, None, 10, "Figure 3"),
    ("smooth_ece", "soft"): Published(0.019, None, 10, "Figure 3"),
    ("smooth_ece", "majority"): Published(0.082, None, 10, "Figure 3"),
    ("resampling", "1"): Published(0.5027, None, 5, "Figure 4"),
    ("resampling", "5"): Published(0.5458, None, 5, "Figure 4"),
    ("resampling", "10"): Published(0.6054, None, 5, "Figure 4"),
    ("resampling", "50"): Published(0.6689, None, 5, "Figure 4"),
    ("gradient_spearman", "sls"): Published(0.939, None, 10, "Figure 7"),
    ("near_best_earlier", "sls"): Published(35.7, None, 10, "Figure 8"),
    ("best_earlier", "sls"): Published(47.2, None, 10, "Figure 8"),
    ("maps", "sls"): Published(0.901, None, 10, "Figure 9"),
    ("maps", "soft"): Published(0.804, None, 10, "Figure 9"),
    ("maps_high", "sls"): Published(0.861, None, 10, "Figure 9"),
    ("maps_high", "soft"): Published(0.756, None, 10, "Figure 9"),
    ("barrier", "sls"): Published(2.05, None, 10, "Figure 11"),
    ("cka", "sls"): Published(0.920, None, 10, "Figure 12"),
    ("cka", "soft"): Published(0.887, None, 10, "Figure 12"),
}

# Lowest and highest printed values of correlations over seeds, or over methods and numbers of votes.
GRADIENT_SPEARMAN_RANGE = (0.919, 0.953)
IMPROVEMENT_SPEARMAN_RANGE = (0.05, 0.16)

# What Table 3 repeats of Table 2 (soft labels), or has of fewer of its seeds (SLS), stands under Table 2 alone.
PUBLISHED: dict[Key, Published] = {
    **{
        (method, None, 1, column): published
        for table in (TABLE_3, TABLE_2)
        for (method, _, column), published in table.items()
    },
    **{(method, int(votes), 1, "soft_nll"): published for (method, _, votes), published in TABLE_1.items()},
    **{("sls", None, hold, "soft_nll"): QUOTED["resampling", str(hold)] for hold in (5, 10, 50)},
}
