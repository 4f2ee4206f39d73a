"""What the paper measures of its models: curvature (Tables 4, 6), the unknown (7 to 9), Figures 7, 9, 11 and 12."""

from __future__ import annotations

from collections.abc import Sequence

from votewise.experiments.diagnose import FULL, SLICES, Plan
from votewise.experiments.run import RunConfig
from votewise.papers.same_target.evidence import Run

# The paper does not define its slice: soft labels and SLS on all votes tell which fits, others have the likely ones.
_WHOLE = (FULL, *SLICES)
_LIKELY = (FULL, "top-10%", "top-5%")
_BRIEF = (FULL,)

_IN_TABLE_4 = ("soft", "sls", "multipass", "deterministic-control", "shuffled-sls")
_IN_TABLE_6 = ("soft", "sls")

# The paper looks at the best epoch alone, which comes earlier for some methods than for others. A model of the same
# epoch for all, and the last, tell what is due to the method from what is due to the learning rate.
_COMMON_SHARE = 0.75


# Of models that are trained to see that all works.
TINY_PLAN = Plan({"best": _BRIEF}, unknown=True, features=True)


def plan_of(config: RunConfig | Run) -> Plan:
    """What is measured of a run: most for soft labels and SLS on full votes; slices where the paper prints them."""
    on_all_votes = config.votes is None and config.hold == 1
    if on_all_votes and config.method in ("soft", "sls"):
        return Plan({"best": _WHOLE, "last": (FULL,), "common": (FULL,)}, unknown=True, features=True)
    printed = config.hold == 1 and config.method in (_IN_TABLE_4 if config.votes is None else _IN_TABLE_6)
    return Plan({"best": _LIKELY if printed else _BRIEF}, unknown=on_all_votes)


def common_epoch(epochs: int) -> int:
    """The epoch, counted from 0, after which the weights of all runs are compared."""
    return round(_COMMON_SHARE * epochs) - 1


def barrier_pairs(configs: Sequence[RunConfig]) -> list[tuple[RunConfig, RunConfig]]:
    """SLS and soft labels of the same seed on full votes (Figure 11)."""
    full = {(config.method, config.seed): config for config in configs if config.votes is None and config.hold == 1}
    return [
        (full["sls", seed], full["soft", seed]) for method, seed in full if method == "sls" and ("soft", seed) in full
    ]
