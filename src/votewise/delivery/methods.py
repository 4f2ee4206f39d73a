"""The methods by name, for the command line and stored runs. Python code imports the classes.

A method is one row of `METHODS`. Its options have names and defaults, and are written behind its name:
`sls:hold=5`, or several as `name:one=1,two=2`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from votewise._checks import FloatArray, check_choice, check_number
from votewise._errors import InputError
from votewise._options import Options as Options
from votewise._options import OptionValue as OptionValue
from votewise._options import chosen_options, join_label, split_label
from votewise.delivery.fixed import LabelSmoothing, Majority
from votewise.delivery.multipass import Multipass, deterministic_control, multipass_crossfit, multipass_prior
from votewise.delivery.protocol import Delivery
from votewise.delivery.sls import SLS, shuffled_sls
from votewise.delivery.soft import Soft, soft_dirichlet, soft_smoothed
from votewise.votes import Votes

_NO_OPTIONS: Options = MappingProxyType({})


@dataclass(frozen=True)
class Method:
    """One way to deliver votes.

    Attributes:
        summary: the target of item i at epoch t, in a line.
        gives: "labels" (one class per item and epoch), "fixed" targets, or targets "changing" from epoch to epoch.
        build: makes the delivery from `votes`, `seed=` and the method's options; and from `logits=`, (N, K)
            out-of-fold predictions for the items, if it has helper runs. A function or class that other processes can
            import, since runs may be done in them.
        options: names and defaults of its options.
        limits: least and most value of options that are numbers, by name.
        seeded: whether `build` takes the seed; a method without chance may do without.
        single_votes: whether it needs the single votes, not only their shares.
        repeated_votes: whether some items must have two votes or more, without which no prior can be fitted.
        helper: method of the runs whose out-of-fold predictions it needs; empty if it needs none. Its options must
            then have "folds", each of which one of these runs leaves out and predicts, and "share", their share of the
            epochs; and may have "seeds", how often the items are put into new folds.
    """

    summary: str
    gives: Literal["labels", "fixed", "changing"]
    build: Callable[..., Delivery]
    options: Options = field(default_factory=dict)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    seeded: bool = True
    single_votes: bool = False
    repeated_votes: bool = False
    helper: str = ""

    def suits(self, votes: Votes) -> bool:
        """Whether it can deliver these votes: their numbers are known, and some item has two, where it needs that."""
        if votes.counts is None:
            return not self.single_votes
        return not self.repeated_votes or int(votes.counts.sum(axis=1).max()) > 1

    def deliver(
        self, votes: Votes, *, seed: int, options: Options = _NO_OPTIONS, logits: FloatArray | None = None
    ) -> Delivery:
        """The delivery of some votes.

        Args:
            votes: what people said.
            seed: root seed of whatever is drawn.
            options: those that differ from their defaults.
            logits: (N, K) out-of-fold predictions for the items, where the method has helper runs.
        """
        drawn = {"seed": seed} if self.seeded else {}
        helped = {"logits": logits} if self.helper else {}
        return self.build(votes, **drawn, **{**self.options, **options}, **helped)


# The most epochs for which a draw can be kept.
_LONGEST_HOLD = 1_000_000

METHODS: dict[str, Method] = {
    "soft": Method("the vote share p_i", "fixed", Soft, seeded=False),
    "multipass": Method("vote t mod m_i of the item's votes, shuffled once", "labels", Multipass, single_votes=True),
    "multipass-prior": Method(
        "multipass, mixed with pseudo-votes fitted to all items",
        "changing",
        multipass_prior,
        single_votes=True,
        repeated_votes=True,
    ),
    # Two models, each of half of the items for 0.3 of the epochs: 0.3 of a run more.
    "multipass-crossfit": Method(
        "multipass, mixed with what models of other items predict",
        "changing",
        multipass_crossfit,
        {"folds": 2, "share": 0.3, "seeds": 1},
        {"folds": (2, 100), "share": (0.01, 1), "seeds": (1, 100)},
        single_votes=True,
        repeated_votes=True,
        helper="soft",
    ),
    "deterministic-control": Method(
        "multipass in the order of seed + 1000", "labels", deterministic_control, single_votes=True
    ),
    "sls": Method("one draw from p_i", "labels", SLS, {"hold": 1}, {"hold": (1, _LONGEST_HOLD)}),
    "shuffled-sls": Method(
        "sls after one permutation of the p_i", "labels", shuffled_sls, {"hold": 1}, {"hold": (1, _LONGEST_HOLD)}
    ),
    "majority": Method("the class with most votes, lowest in a tie", "labels", Majority, seeded=False),
    "label-smoothing": Method(
        "the majority, smoothed by 0.1", "fixed", LabelSmoothing, {"epsilon": 0.1}, {"epsilon": (0, 1)}, seeded=False
    ),
    "soft-smoothed": Method(
        "the vote share, smoothed by 0.1", "fixed", soft_smoothed, {"epsilon": 0.1}, {"epsilon": (0, 1)}, seeded=False
    ),
    # One pseudo-vote in total, spread evenly (Perks 1947), so that a few real votes outweigh it.
    "dirichlet": Method(
        "the vote share with one vote more, spread over all classes",
        "fixed",
        soft_dirichlet,
        {"weight": 1.0},
        {"weight": (1e-6, 1e6)},
        seeded=False,
        single_votes=True,
    ),
    "dirichlet-fitted": Method(
        "the vote share with pseudo-votes fitted to all items",
        "fixed",
        soft_dirichlet,
        seeded=False,
        single_votes=True,
        repeated_votes=True,
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


def parse_method(text: str) -> tuple[str, dict[str, OptionValue]]:
    """A method's name and its options, without those that have their default.

    >>> parse_method("sls:hold=5")
    ('sls', {'hold': 5})
    >>> parse_method("soft-smoothed:epsilon=0.1")
    ('soft-smoothed', {})
    """
    name, options = split_label(text)
    return name, check_options(name, options)


def parse_methods(text: str) -> tuple[str, ...]:
    """Several methods, separated by commas, as their labels.

    >>> parse_methods("sls:hold=5, soft")
    ('sls:hold=5', 'soft')
    """
    # A comma ends a method unless an option follows it: "sls:hold=5,soft", but "name:one=1,two=2".
    parts = re.split(r",(?![^,:]*=)", text)
    return tuple(method_label(*parse_method(part)) for part in parts if part.strip())


def check_options(name: str, options: Options) -> dict[str, OptionValue]:
    """The options of a method as values of the kinds of their defaults, without those that have their default.

    Args:
        name: the method's name.
        options: values, or texts that are read as values.
    """
    method = find_method(name)
    chosen = chosen_options(name, method.options, options)
    for option in chosen.keys() & method.limits.keys():
        check_number(f"{name}:{option}", chosen[option], *method.limits[option])
    return chosen


def method_label(name: str, options: Options) -> str:
    """A method as it is written on the command line.

    >>> method_label("sls", {"hold": 5})
    'sls:hold=5'
    """
    return join_label(name, options)
