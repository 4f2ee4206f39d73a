"""What arXiv 2511.14117 says in words, and what arXiv 2605.20642 leaves open beyond its one data set."""

from __future__ import annotations

from votewise.papers.claims import (
    Claim,
    Contrast,
    claim_level,
    claim_lower,
    claim_positive,
    claim_value,
    claim_within,
)
from votewise.papers.soft_labels.averages import BEST, OWN_LOSS, SETS, average_change, epoch_on
from votewise.papers.soft_labels.suites import (
    ABUSE,
    FEW_VOTES,
    FROZEN,
    IMAGES,
    METHODS,
    MPNET,
    TEXTS,
    runs,
    runs_on,
)
from votewise.papers.soft_labels.tables import NAMES, TITLES
from votewise.papers.suites import Where
from votewise.statistics.decide import MARGINS

SETS_OF_PAPER = ("snli", "mnli", "popquorn", IMAGES)
ALL = (*TEXTS, IMAGES)


def claimed_average_change(number: str) -> Contrast:
    """The average relative change of a number, SNLI and MNLI apart."""
    where: Where = {
        "sets": next(iter(SETS.values())), "change": "relative", "epoch": OWN_LOSS, "model": MPNET, "number": number
    }  # fmt: skip
    return claim_value(average_change, where)


def claimed_gap(short: str, number: str, first: str, second: str) -> Contrast:
    """A number of one method less that of another, at the epoch of each method's own loss."""
    at = f"{number}_{epoch_on(short, OWN_LOSS)}"
    return claim_value(at, runs_on(short, first)) - claim_value(at, runs_on(short, second))


def claimed_fall(short: str, number: str, method: str) -> Contrast:
    """How much a loss rises from its best epoch to the last."""
    where = runs_on(short, method)
    return claim_value(f"{number}_last", where) - claim_value(f"{number}_best", where)


def claimed_runs_with_few_votes(method: str, number: int | None) -> Where:
    """Runs on SNLI with few votes, or all hundred."""
    return runs(TEXTS["snli"], method, MPNET, number)


# fmt: off
CLAIMS = (
    # What the paper says.
    *(Claim(f"Soft labels are below majority labels in KL on {TITLES[short]}",
            *claim_positive(claimed_gap(short, "kl", "majority", "soft")), "Abstract", family="KL")
      for short in SETS_OF_PAPER),
    *(Claim(f"Soft labels are above majority labels in entropy correlation on {TITLES[short]}",
            *claim_positive(claimed_gap(short, "entropy_correlation", "soft", "majority")), "Abstract",
            family="entropy correlation") for short in SETS_OF_PAPER),
    *(Claim(f"Soft labels are level with majority labels in accuracy on {TITLES[short]}",
            *claim_within(-MARGINS["accuracy"], MARGINS["accuracy"],
                          claimed_gap(short, "accuracy_majority", "soft", "majority")),
            "Abstract", family="accuracy") for short in SETS_OF_PAPER),
    Claim("KL is lower by 22 to 42 % on average",
          *claim_within(-0.42, -0.22, claimed_average_change("kl")), "Abstract", family="average"),
    Claim("Entropy correlation is higher by 41 to 81 % on average",
          *claim_within(0.41, 0.81, claimed_average_change("entropy_correlation")), "Abstract", family="average"),
    *(Claim(f"From its best epoch to the last, majority labels lose more KL than soft labels on {TITLES[short]}",
            *claim_positive(claimed_fall(short, "kl", "majority") - claimed_fall(short, "kl", "soft")), "Figure 4",
            family="overfitting") for short in SETS_OF_PAPER),
    # A temperature alone may do what soft labels do.
    *(Claim(f"Soft labels are below majority labels with a fitted temperature in soft NLL on {TITLES[short]}",
            *claim_positive(claim_value("scaled_soft_nll_best", runs_on(short, "majority"))
                            - claim_value("soft_nll_best", runs_on(short, "soft"))),
            "temperatures", "ours", "temperature") for short in ALL),
    # Whether hard deliveries match soft labels where an encoder is tuned.
    *(Claim(f"{NAMES[hard]} is level with soft labels in soft NLL on {TITLES[short]}",
            *claim_within(-MARGINS["soft NLL"], MARGINS["soft NLL"], claimed_gap(short, "soft_nll", hard, "soft")),
            "scores", "ours", "hard deliveries") for short in TEXTS for hard in METHODS[2:]),
    *(Claim(f"From its best epoch to the last, soft labels lose more soft NLL than multipass on {TITLES[short]}",
            *claim_positive(claimed_fall(short, "soft_nll", "soft") - claimed_fall(short, "soft_nll", "multipass")),
            "epochs", "ours", "overfitting of soft labels") for short in ALL),
    # The same with an encoder that is frozen, on the four sets of LeWiDi 2023.
    *(Claim(f"Soft labels are below majority labels in soft NLL on {TITLES[part]}",
            *claim_lower(f"soft_nll_{OWN_LOSS}", runs(dataset, "soft", FROZEN), runs(dataset, "majority", FROZEN)),
            "abuse", "ours", "soft NLL of LeWiDi") for part, dataset in ABUSE.items()),
    *(Claim(f"{NAMES[hard]} is level with soft labels in soft NLL on {TITLES[part]}",
            *claim_level(MARGINS["soft NLL"], claim_value(f"soft_nll_{OWN_LOSS}", runs(dataset, hard, FROZEN)),
                         claim_value(f"soft_nll_{OWN_LOSS}", runs(dataset, "soft", FROZEN))),
            "abuse", "ours", "hard deliveries of LeWiDi") for part, dataset in ABUSE.items() for hard in METHODS[2:]),
    # How many votes are enough (arXiv 2605.29797 says 10 for KL, 20 to 50 for entropy correlation).
    *(Claim(f"With {NAMES[method]}, KL is level from 10 to 20 votes",
            *claim_level(MARGINS["soft NLL"], claim_value(f"kl_{OWN_LOSS}", claimed_runs_with_few_votes(method, 10)),
                         claim_value(f"kl_{OWN_LOSS}", claimed_runs_with_few_votes(method, 20))),
            "votes", "ours", "KL with few votes") for method in ("soft", "multipass")),
    *(Claim(f"With {NAMES[method]}, entropy correlation is higher with 50 than with 10 votes",
            *claim_positive(claim_value(f"entropy_correlation_{OWN_LOSS}", claimed_runs_with_few_votes(method, 50))
                            - claim_value(f"entropy_correlation_{OWN_LOSS}", claimed_runs_with_few_votes(method, 10))),
            "votes", "ours", "entropy correlation with few votes") for method in ("soft", "multipass")),
    *(Claim(f"Multipass is below soft labels in soft NLL with {number} votes",
            *claim_lower(f"soft_nll_{BEST}", claimed_runs_with_few_votes("multipass", number),
                         claimed_runs_with_few_votes("soft", number)),
            "votes", "ours", "few votes") for number in FEW_VOTES),
)
# fmt: on
