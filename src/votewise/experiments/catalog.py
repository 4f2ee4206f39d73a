"""The methods by name, for the command line and stored configs. Python code imports the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.delivery import (
    SLS,
    Delivery,
    LabelSmoothing,
    Majority,
    Multipass,
    Soft,
    deterministic_control,
    shuffled_sls,
)
from votewise.targets import dirichlet_smoothed, smoothed_share
from votewise.votes import Votes, check_votes


@dataclass(frozen=True)
class Method:
    """One way to deliver votes.

    Attributes:
        summary: the target of item i at epoch t, in a line.
        hard: whether it gives one class per item and epoch.
        build: from votes, seed and hold (epochs that a draw is kept for; only methods that draw use it).
    """

    summary: str
    hard: bool
    build: Callable[[Votes, int, int], Delivery]


METHODS: dict[str, Method] = {
    "soft": Method("the vote share p_i", False, lambda votes, _seed, _hold: Soft(votes)),
    "multipass": Method(
        "vote t mod m_i of the item's votes, shuffled once",
        True,
        lambda votes, seed, _hold: Multipass(votes, seed=seed),
    ),
    "deterministic-control": Method(
        "multipass in the order of seed + 1000",
        True,
        lambda votes, seed, _hold: deterministic_control(votes, seed=seed),
    ),
    "sls": Method("one draw from p_i", True, lambda votes, seed, hold: SLS(votes, seed=seed, hold=hold)),
    "shuffled-sls": Method(
        "sls after one permutation of the p_i",
        True,
        lambda votes, seed, hold: shuffled_sls(votes, seed=seed, hold=hold),
    ),
    "majority": Method("the class with most votes, lowest in a tie", True, lambda votes, _seed, _hold: Majority(votes)),
    "label-smoothing": Method(
        "the majority, smoothed by 0.1", False, lambda votes, _seed, _hold: LabelSmoothing(votes)
    ),
    "soft-smoothed": Method(
        "the vote share, smoothed by 0.1", False, lambda votes, _seed, _hold: Soft(smoothed_share(votes))
    ),
    # One pseudo-vote in total, spread evenly (Perks 1947), so that a few real votes outweigh it.
    "dirichlet": Method(
        "the vote share with one vote more, spread over all classes",
        False,
        lambda votes, _seed, _hold: Soft(dirichlet_smoothed(votes, prior=1 / check_votes(votes).n_classes)),
    ),
    "dirichlet-fitted": Method(
        "the vote share with pseudo-votes fitted to all items",
        False,
        lambda votes, _seed, _hold: Soft(dirichlet_smoothed(votes)),
    ),
}


def find_method(name: str) -> Method:
    """The method with this name; an unknown name is an error that lists them all."""
    if name == "mixup":
        raise InputError(
            "the method must be a delivery",
            "mixup mixes batches",
            "Deliver majority, and mix with votewise.Mixup in training",
        )
    return METHODS[check_choice("the method", name, tuple(METHODS))]


def build_delivery(name: str, votes: Votes, seed: int, hold: int = 1) -> Delivery:
    """The delivery of a method by name; for mixup the majority labels, which the recipe then mixes."""
    return find_method("majority" if name == "mixup" else name).build(votes, seed, hold)
