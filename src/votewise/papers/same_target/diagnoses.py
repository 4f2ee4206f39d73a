"""What the paper measures of its models: curvature (Tables 4, 6), OOD detection (7 to 9), Figures 7, 9, 11, 12."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from votewise.experiments.measure import FULL, SLICES, Plan
from votewise.experiments.run import RunConfig
from votewise.papers.same_target import interpretations
from votewise.papers.same_target.evidence import Run
from votewise.papers.same_target.names import BOTH
from votewise.papers.same_target.suites import run_of

# The paper does not define its slice: some runs measure all candidates, others the likely ones.
_WHOLE = (FULL, *SLICES)
_LIKELY = (FULL, *interpretations.LIKELY_SLICES)
_BRIEF = (FULL,)

_IN_TABLE_4 = ("soft", "sls", "multipass", "deterministic-control", "shuffled-sls")
_IN_TABLE_6 = ("soft", "sls")

# The paper measures at the best epoch alone, which is earlier for some methods than for others. The last epoch and one
# common to all separate what is due to the method from what is due to the learning rate.
_COMMON_SHARE = 0.75

# The number of seeds of soft labels and SLS on all votes whose models are measured in every way.
_LOOKED_AT_CLOSELY = 3

# For models that are trained only to see that everything works.
TINY_PLAN = Plan({"best": _BRIEF}, ood=True, features=True, trace_error=0.1)


def plan_of(run: Run) -> Plan:
    """What is measured of a run: most for soft labels and SLS on all votes; slices where the paper prints them."""
    on_all_votes = run.votes is None and run.hold == 1
    printed = run.hold == 1 and run.method in (_IN_TABLE_4 if run.votes is None else _IN_TABLE_6)
    slices = _LIKELY if printed else _BRIEF
    if not (on_all_votes and run.method in BOTH):
        return Plan({"best": slices}, ood=on_all_votes)
    if run.seed >= _LOOKED_AT_CLOSELY:
        return Plan({"best": slices}, ood=True, features=True)
    return Plan({"best": _WHOLE, "last": (FULL,), "common": (FULL,)}, ood=True, features=True)


def common_epoch(epochs: int) -> int:
    """The epoch, counted from 0, after which the weights of all runs are compared."""
    return round(_COMMON_SHARE * epochs) - 1


def barrier_pairs(configs: Sequence[RunConfig]) -> list[tuple[RunConfig, RunConfig]]:
    """SLS and soft labels of the same seed on all votes (Figure 11)."""
    named = {run_of(config.to_dict()): config for config in configs}
    pairs = [
        (run, replace(run, method="soft"))
        for run in named
        if run.method == "sls" and (run.votes, run.hold) == (None, 1)
    ]
    return [(named[sls], named[soft]) for sls, soft in pairs if soft in named]
