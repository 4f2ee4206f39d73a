"""How much soft labels change a number on average over data sets, in each way in which the paper may have averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from votewise.papers.soft_labels.suites import IMAGES, runs_on
from votewise.papers.suites import Where
from votewise.records import Results
from votewise.statistics import Sample, common_seeds

# The data sets that are averaged: groups separated by semicolons, of which each counts once.
SETS = {
    "SNLI and MNLI apart": "snli; mnli; popquorn; cifar10h",
    "ChaosNLI as one set": "snli mnli; popquorn; cifar10h",
    "SNLI, MNLI and αNLI apart": "snli; mnli; alphanli; popquorn; cifar10h",
    "ChaosNLI with αNLI as one set": "snli mnli alphanli; popquorn; cifar10h",
}

# How two numbers are compared, and in which order that and averaging come.
CHANGES = {
    "mean of the relative changes": "relative",
    "relative change of the means": "of means",
    "mean of the differences": "difference",
}

OWN_LOSS, BEST, LAST = "own", "best", "last"


def epoch_on(short: str, epoch: str) -> str:
    """The epoch that is scored on a data set. Runs on images held no items out to compute their own loss on."""
    return BEST if short == IMAGES and epoch == OWN_LOSS else epoch


def average_change(results: Results, where: Where) -> Sample:
    """Average change of a number from majority to soft labels.

    A ratio of means has no value of its own on a seed, so seeds get the values of the jackknife: the average of all
    seeds, plus n - 1 times how far the average without this one is below the mean of such averages.

    Args:
        results: the runs.
        where: "sets", "change", "epoch" and "model", and the "number" without its epoch.
    """
    groups = [group.split() for group in where["sets"].split(";")]
    samples = {
        (short, method): results.sample(
            f"{where['number']}_{epoch_on(short, where['epoch'])}", runs_on(short, method, where["model"])
        )
        for group in groups
        for short in group
        for method in ("soft", "majority")
    }
    seeds = common_seeds(list(samples.values()))
    if not seeds:
        return Sample({})
    whole = _average_change(groups, where["change"], samples, seeds)
    if len(seeds) == 1:
        return Sample({seeds[0]: whole})
    without = np.array(
        [_average_change(groups, where["change"], samples, [one for one in seeds if one != seed]) for seed in seeds]
    )
    values = whole + (len(seeds) - 1) * (without.mean() - without)
    return Sample(dict(zip(seeds, values.tolist(), strict=True)))


def _average_change(
    groups: Sequence[Sequence[str]], how: str, samples: Mapping[tuple[str, str], Sample], seeds: Sequence[int]
) -> float:
    """The average change over groups of data sets, from means over some seeds."""
    soft, majority = (
        np.array([np.mean([samples[short, method].on(seeds).mean for short in group]) for group in groups])
        for method in ("soft", "majority")
    )
    if how == "relative":
        return float((soft / majority - 1).mean())
    return float(soft.mean() / majority.mean() - 1 if how == "of means" else (soft - majority).mean())
