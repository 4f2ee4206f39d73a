"""Names of methods, scores and columns in tables and figures."""

from __future__ import annotations

from votewise.papers.same_target.evidence import Group
from votewise.papers.same_target.suites import MIXUPS

# The hard deliveries that the paper compares with soft labels, and the two methods it studies most closely.
HARD = ("sls", "multipass", "deterministic-control")
BOTH = ("sls", "soft")

# What each variant of mixup mixes, and its alpha.
MIXED = {
    name: f"{'soft labels' if method == 'soft' else 'majority vote'}, α {alpha:g}"
    for name, (method, alpha) in MIXUPS.items()
}

METHODS = {
    "soft": "soft labels",
    "sls": "SLS",
    "multipass": "multipass",
    "deterministic-control": "deterministic control",
    "shuffled-sls": "shuffled SLS",
    "majority": "majority vote",
    "label-smoothing": "label smoothing",
    "mixup": "mixup",
    "soft-smoothed": "soft labels, smoothed",
    "dirichlet": "soft labels, Dirichlet prior",
    "dirichlet-fitted": "soft labels, fitted Dirichlet prior",
    **{name: f"mixup of {words}" for name, words in MIXED.items() if name != "mixup"},
}

COLUMNS = {
    "soft_nll": "soft NLL",
    "scaled": "soft NLL, temperature fitted",
    "accuracy": "accuracy",
    "accuracy_majority": "accuracy by majority",
    "ece": "ECE",
    "ece_floor": "ECE floor",
    "entropy_correlation": "entropy correlation",
    "kl": "KL",
    "soft_brier": "soft Brier",
    "energy": "energy",
    "msp": "MSP",
    "odin": "ODIN",
    "predictive_entropy": "predictive entropy",
    "logit_margin": "logit margin",
    "knn": "KNN",
    "largest": "λmax",
    "trace": "trace",
    "resolution": "resolution",
}


def row_name(group: Group) -> str:
    """A row of a table, such as "SLS, 10 votes, first 5 seeds"."""
    parts = [METHODS[group.method]]
    if group.votes is not None:
        parts.append(f"{group.votes} votes")
    if group.hold != 1:
        parts.append(f"kept {group.hold} epochs")
    if group.first is not None:
        parts.append(f"first {group.first} seeds")
    return ", ".join(parts)
