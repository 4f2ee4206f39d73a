"""What arXiv 2605.20642 says in words, what must hold if its numbers do, and what it leaves open.

A family is the statements that ask one question in several ways; Holm adjusts them together.
"""

from __future__ import annotations

import math

import numpy as np

from votewise.papers.claims import (
    Claim,
    Contrast,
    chosen_on_other_seeds,
    claim_gap,
    claim_level,
    claim_lower,
    claim_mean,
    claim_negative,
    claim_order,
    claim_positive,
    claim_ratio,
    claim_slope,
    claim_value,
    claim_within,
)
from votewise.papers.same_target.choices import USED
from votewise.papers.same_target.suites import HELD_OUT, HOLDS, SUITES, SWEEP
from votewise.papers.same_target.tables import DETECTION, HARD, NAMES, PRINTED, runs
from votewise.statistics.decide import MARGINS, RATIOS

# Every seed splits the same images anew.
OVERLAP = HELD_OUT / (1 - HELD_OUT)

SLS, SOFT, MIXUP, SMOOTHED, MAJORITY = map(runs, ("sls", "soft", "mixup", "label-smoothing", "majority"))
SHUFFLED = runs("shuffled-sls")
CELLS = [(hard, votes) for hard in HARD for votes in SWEEP]
NLL, SCALED = "soft_nll_best", "scaled_soft_nll_best"
FITTED_WORDS = "with temperatures fitted on other images"
LARGEST = "best/full/largest"
# Of the slices of high disagreement the one that was measured on all runs.
HIGH, DISPUTED = "best/top-10%/largest", "on the tenth of images of highest entropy"


def claimed_gains(number: str) -> list[Contrast]:
    """How far each hard delivery is below soft labels, in each cell of Table 1."""
    return [
        claim_gap(number, runs("soft", votes), runs(hard, votes), f"{NAMES[hard]}, {votes} votes")
        for hard, votes in CELLS
    ]


def claimed_correlations(number: str) -> list[Contrast]:
    """A correlation of the gain over soft labels, in each cell of Figure 2."""
    return [claim_value(number, runs(*cell)) for cell in CELLS]


GAINS = claimed_gains(NLL)
BY_VOTES = [claim_mean(GAINS[place :: len(SWEEP)]) for place in range(len(SWEEP))]
ALL, FIFTY, TWENTY_FIVE = (
    claim_mean([claim_value(NLL, runs(method, votes)) for method in ("soft", *HARD)]) for votes in (None, 50, 25)
)
TRAILING = [claim_gap(NLL, runs("soft", votes), runs("sls", votes)) for votes in (None, 50)]
CORRELATED = [
    claim_mean(
        [claim_gap("entropy_correlation_best", runs(hard, votes), runs("soft", votes)) for hard in HARD],
        f"{votes} votes",
    )
    for votes in SWEEP
]
KEPT = [claim_value(NLL, runs("sls", hold=hold, first=5), f"{hold} epochs") for hold in HOLDS]
NEAR, REACHED = (claim_gap(name, SOFT, SLS) for name in (f"near_best/{USED['nearness']}", "best_epoch"))
HARD_AGAINST_SOFT = {NAMES[hard]: (runs(hard), SOFT) for hard in HARD}
SLS_BY_VOTES = {f"{votes} votes": (runs("sls", votes), runs("soft", votes)) for votes in SWEEP}
SLS_AGAINST_SOFT = (
    ("soft NLL", NLL, "at the best epoch", "paper"),
    ("accuracy", "accuracy_best", "at the best epoch", "paper"),
    ("ECE", "ece_best", "at the best epoch", "paper"),
    ("entropy correlation", "entropy_correlation_best", "at the best epoch", "paper"),
    ("soft NLL", "soft_nll_last", "after the last epoch", "ours"),
    ("soft NLL", SCALED, FITTED_WORDS, "ours"),
    ("soft NLL", chosen_on_other_seeds("curve_soft_nll"), "at an epoch chosen on the other seeds", "ours"),
)


def claimed_detection_gains(outliers: str, first: str, second: str) -> list[Contrast]:
    """How far the first method's AUROC is above the second's, by each score."""
    return [
        claim_gap(f"{outliers}/{number.format(**USED)}/auroc", runs(first), runs(second), words)
        for words, number in DETECTION.values()
    ]


CIFAR100 = claimed_detection_gains("cifar100", "sls", "soft")

# Soft NLL of a prior less that of another method with five votes, in earlier runs of eight seeds, which are not stored;
# what is said of priors rests on them. Errors were 0.007: the margin is twice the error of a difference of two such.
FEW = {
    "multipass": "plain multipass", "soft-smoothed": "smoothed soft labels",
    "multipass-prior": "multipass with a fitted prior", "multipass-crossfit": "multipass with a cross-fitted prior",
}  # fmt: skip
EARLIER_PRIORS = {
    ("multipass-crossfit", "multipass"): -0.031, ("multipass-crossfit", "soft-smoothed"): -0.042,
    ("multipass-prior", "multipass"): -0.024, ("multipass-prior", "soft-smoothed"): -0.034,
}  # fmt: skip
EARLIER_MARGIN = 0.02

# fmt: off
CLAIMS: tuple[Claim, ...] = (
    Claim("With few votes every hard delivery is below soft labels in soft NLL, in each of the 12 cells",
          *claim_positive(*GAINS), "Table 1", family="hard deliveries with few votes"),
    Claim("With few votes a hard delivery is below soft labels in soft NLL on every seed, in at least 9 of 12 cells",
          *claim_positive(*GAINS), "Table 1", family="hard deliveries with few votes", at_least=9, each_seed=True),
    Claim("With few votes a hard delivery is below soft labels in soft NLL in at least one of 12 cells, after "
          "Holm (the paper: in none, as exact tests of five pairs cannot show one)",
          *claim_positive(*GAINS), "Table 1", "ours", "hard deliveries with few votes", at_least=1),
    Claim("The gain of hard deliveries over soft labels in soft NLL, mean of the 12 cells, is positive",
          *claim_positive(claim_mean(GAINS)), "Table 1", "ours", "hard deliveries with few votes"),
    Claim(f"The gain of hard deliveries over soft labels in soft NLL, mean of the 12 cells, is positive {FITTED_WORDS}",
          *claim_positive(claim_mean(claimed_gains(SCALED))), "Table 1", "ours", "hard deliveries with few votes"),
    Claim("With few votes hard deliveries are above soft labels in entropy correlation, at each number of votes",
          *claim_positive(*CORRELATED), "Figure 1", family="hard deliveries with few votes"),
    Claim("The gain of hard deliveries over soft labels in soft NLL falls with more votes (slope by doubling)",
          *claim_negative(claim_slope(BY_VOTES, np.log2(SWEEP))), "Table 1", family="number of votes"),
    Claim("Soft NLL is lower with all votes (about 51) than with 50 redrawn, mean of four methods",
          *claim_positive(FIFTY - ALL), "Tables 1 to 3", "ours", "number of votes"),
    Claim("Soft NLL is higher with 50 redrawn votes than with 25, mean of four methods",
          *claim_positive(FIFTY - TWENTY_FIVE), "Table 1", family="number of votes"),
    Claim("Soft labels trail SLS by more in soft NLL with 50 redrawn votes than with all",
          *claim_positive(TRAILING[1] - TRAILING[0]), "Tables 1 and 2", "ours", "number of votes"),
    *(Claim(f"With {votes} votes {words} are below multipass in {what}",
            *claim_lower(number, runs(method, votes), runs("multipass", votes)), "Sparse", "ours", "smoothed shares")
      for votes in (5, 10)
      for method, words in (("soft-smoothed", "smoothed soft labels"),
                            ("dirichlet-fitted", "soft labels with a fitted Dirichlet prior"))
      for number, what in ((NLL, "soft NLL"), (SCALED, f"soft NLL {FITTED_WORDS}"), ("ece_best", "ECE"))),
    *(Claim(f"With {votes} votes {FEW[prior]} is below {FEW[other]} in {what} {when}",
            *claim_lower(number, runs(prior, votes), runs(other, votes)), "Sparse", "ours", f"priors, {votes} votes")
      for votes in SUITES["priors"].votes
      for prior, other in EARLIER_PRIORS
      for number, what, when in ((NLL, "soft NLL", "at the best epoch"),
                                 ("soft_nll_last", "soft NLL", "after the last epoch"),
                                 ("vote_ece_best", "vote ECE", "at the best epoch"))
      if what == "soft NLL" or prior == "multipass-crossfit"),
    *(Claim(f"With {votes} votes {FEW['multipass-crossfit']} is level with plain multipass in {what} "
            f"(within ±{MARGINS[margin]:g})",
            *claim_level(MARGINS[margin], *(claim_value(number, runs(method, votes))
                                            for method in ("multipass-crossfit", "multipass"))),
            "Sparse", "ours", f"priors, {votes} votes")
      for votes in SUITES["priors"].votes
      for number, what, margin in ((SCALED, f"soft NLL {FITTED_WORDS}", "soft NLL"),
                                   ("entropy_correlation_best", "entropy correlation", "entropy correlation"))),
    *(Claim(f"With 5 votes soft NLL of {FEW[prior]} less that of {FEW[other]} is {found:g}, as eight "
            f"earlier seeds gave (within ±{EARLIER_MARGIN:g})",
            *claim_within(found - EARLIER_MARGIN, found + EARLIER_MARGIN,
                          claim_gap(NLL, runs(prior, 5), runs(other, 5))), "Sparse", "ours", "priors, as before")
      for (prior, other), found in EARLIER_PRIORS.items()),
    Claim("On all votes mixup of soft labels (α 0.2) is below soft labels in soft NLL",
          *claim_lower(NLL, runs("mixup-soft-0.2"), SOFT), "Choices", "ours"),
    Claim("Soft NLL: {SLS, soft labels} < mixup < label smoothing < majority vote",
          *claim_order(NLL, [SLS, SOFT], [MIXUP], [SMOOTHED], [MAJORITY]), "Table 2", family="order of methods"),
    Claim(f"Soft NLL {FITTED_WORDS}: {{SLS, soft labels}} < mixup < majority vote < label smoothing",
          *claim_order(SCALED, [SLS, SOFT], [MIXUP], [MAJORITY], [SMOOTHED]), "Table 2", "ours", "order of methods"),
    Claim("Soft Brier: mixup < {soft labels, SLS} < label smoothing < majority vote",
          *claim_order("soft_brier_best", [MIXUP], [SOFT, SLS], [SMOOTHED], [MAJORITY]), "Table 5",
          family="order of methods"),
    Claim("Entropy correlation: label smoothing < mixup < majority vote < {SLS, soft labels}",
          *claim_order("entropy_correlation_best", [SMOOTHED], [MIXUP], [MAJORITY], [SLS, SOFT]), "Table 2",
          family="order of methods"),
    Claim("Accuracy: {SLS, soft labels, label smoothing, majority vote} < mixup",
          *claim_order("accuracy_best", [SLS, SOFT, SMOOTHED, MAJORITY], [MIXUP]), "Table 2",
          family="order of methods"),
    *(Claim(f"SLS and soft labels are level in {what} on all votes {when} (within ±{MARGINS[what]:g})",
            *claim_level(MARGINS[what], claim_value(number, SLS), claim_value(number, SOFT)), "Table 2", source,
            "SLS and soft labels on all votes")
      for what, number, when, source in SLS_AGAINST_SOFT),
    *(Claim(f"SLS is below soft labels in {what} on all votes {when}",
            *claim_lower(number, SLS, SOFT), "Table 2", "ours", "SLS and soft labels on all votes")
      for what, number, when, _ in SLS_AGAINST_SOFT if what == "soft NLL"),
    *(Claim(f"The resolution of SLS is above that of soft labels ({words})",
            *claim_positive(claim_gap(f"brier/{of}/resolution", SLS, SOFT)), "Figure 10", family="resolution")
      for of, words in (("correctness", "correctness of the top class"), ("shares", "shares of votes"))),
    *(Claim(f"ECE of {NAMES[method]} is level with that of perfect calibration (within ±{MARGINS['ECE']:g})",
            *claim_level(MARGINS["ECE"], claim_value("ece_best", runs(method)),
                         claim_value("ece_floor_best", runs(method))), "Table 2", "ours", "ECE and its floor")
      for method in ("sls", "soft")),
    *(Claim(f"ECE of {NAMES[method]} is above that of perfect calibration",
            *claim_positive(claim_value("ece_best", runs(method)) - claim_value("ece_floor_best", runs(method))),
            "Table 2", "ours", "ECE and its floor")
      for method in ("majority", "label-smoothing", "mixup")),
    Claim("Soft NLL of shuffled SLS is within 0.01 of ln 10, that of chance",
          *claim_within(math.log(10) - 0.01, math.log(10) + 0.01, claim_value(NLL, SHUFFLED)), "Table 3",
          family="shuffled SLS"),
    Claim("Accuracy of shuffled SLS is within 0.01 of 12 %",
          *claim_within(0.11, 0.13, claim_value("accuracy_best", SHUFFLED)), "Table 3", family="shuffled SLS"),
    Claim("λmax of SLS, multipass and deterministic control is below that of soft labels at the best epoch",
          *claim_ratio(LARGEST, HARD_AGAINST_SOFT, high=1), "Table 4", family="flatness"),
    *(Claim(f"λmax of {name} is below half of that of soft labels at the best epoch",
            *claim_ratio(LARGEST, {"": pair}, high=0.5), "Table 4", "ours", "half the curvature")
      for name, pair in HARD_AGAINST_SOFT.items()),
    *(Claim(f"λmax of SLS is below {part}that of soft labels {words}",
            *claim_ratio(f"{when}/full/largest", {"": (SLS, SOFT)}, high=factor), "Table 4", "ours", family)
      for when, words in (("last", "after the last epoch"), ("common", "at one epoch for both"))
      for factor, part, family in ((1, "", "flatness"), (0.5, "half of ", "half the curvature"))),
    *(Claim(f"With few votes λmax of SLS is below {part}that of soft labels, at each number of votes",
            *claim_ratio(LARGEST, SLS_BY_VOTES, high=factor), "Table 6", source, family)
      for factor, part, source, family in ((1, "", "paper", "flatness with few votes"),
                                           (0.5, "half of ", "ours", "half the curvature"))),
    Claim(f"λmax of SLS, multipass and deterministic control is below that of soft labels {DISPUTED}",
          *claim_ratio(HIGH, HARD_AGAINST_SOFT, high=1), "Table 4", family="flatness"),
    Claim(f"With few votes λmax of SLS is below that of soft labels {DISPUTED}, at each number of votes",
          *claim_ratio(HIGH, SLS_BY_VOTES, high=1), "Table 6", family="flatness with few votes"),
    Claim("The trace of SLS, multipass and deterministic control is below that of soft labels at the best epoch",
          *claim_ratio("best/full/trace", HARD_AGAINST_SOFT, high=1), "Table 4", family="flatness"),
    *(Claim(f"{words} of multipass and deterministic control is level with that of SLS "
            f"(ratio {RATIOS[0]} to {RATIOS[1]})",
            *claim_ratio(number, {NAMES[hard]: (runs(hard), SLS) for hard in HARD[1:]}, *RATIOS), "Table 4",
            family="one flatness")
      for number, words in ((LARGEST, "λmax"), ("best/full/trace", "The trace"))),
    Claim("Soft NLL rises with the time for which a drawn label is kept: 1, 5, 10, 50 epochs (slope by tenfold time)",
          *claim_positive(claim_slope(KEPT, np.log10(HOLDS))), "Figure 4", family="kept labels"),
    Claim("Labels kept for 5, 10 or 50 epochs have a higher soft NLL than fresh ones, on every seed",
          *claim_positive(*(kept - KEPT[0] for kept in KEPT[1:])), "Figure 4", family="kept labels", each_seed=True),
    *(Claim(f"{reading}: Spearman of redraw distance and improvement is 0.05 to 0.16, in each of the 12 cells",
            *claim_within(*PRINTED.ranges["improvement_spearman"], *claimed_correlations(number)),
            "Figure 2", family="effect of the redraw")
      for reading, number in (("If Figure 2 is of training images", "train/js/spearman"),
                              ("If Figure 2 is of held-out images, where no run saw the redraw", "js/spearman"))),
    Claim("Improvement on training images rises with redraw distance at equal entropy (partial Spearman, 12 cells)",
          *claim_positive(claim_mean(claimed_correlations("train/js/spearman_given_entropy"))),
          "Figure 2", "ours", "effect of the redraw"),
    *(Claim(f"Spearman of entropy and gradient variance is 0.919 to 0.953, {words}",
            *claim_within(*PRINTED.ranges["gradient_spearman"], claim_value(f"gradient/{USED['gradient']}", SLS)),
            "Figure 7", family="gradient variance", each_seed=each)
      for each, words in ((False, "on average over seeds"), (True, "on each seed"))),
    *(Claim(f"SLS {words} its best soft NLL earlier than soft labels (epochs of lead)",
            *claim_positive(lead), "Figure 8", family="epochs of lead")
      for lead, words in ((NEAR, "comes near"), (REACHED, "reaches"))),
    *(Claim(f"Soft labels {words} {printed} epochs before SLS, the printed gap with the methods exchanged "
            f"(within ±{MARGINS['epochs']:g})",
            *claim_within(printed - MARGINS["epochs"], printed + MARGINS["epochs"], -1 * lead), "Figure 8", "ours",
            "epochs of lead")
      for lead, words, printed in ((NEAR, "come 95 % of the way to their best", 35.7),
                                   (REACHED, "reach their best", 47.2))),
    *(Claim(f"{words} of SLS are more similar between seeds than those of soft labels",
            *claim_positive(claim_value(f"sls.{number}", {}) - claim_value(f"soft.{number}", {})),
            place, family="similarity of seeds")
      for number, words, place in (
          (USED["maps"], "Grad-CAM maps", "Figure 9"),
          (f"{USED['maps']}_high", "Grad-CAM maps of the fifth of highest entropy", "Figure 9"),
          (f"{USED['features']}:cka", "Features", "Figure 12"))),
    Claim("SLS detects CIFAR-100 better than soft labels, by each of the six scores",
          *claim_positive(*CIFAR100), "Table 8"),
    *(Claim(f"SLS detects CIFAR-100 better than soft labels, by {score.name}",
            *claim_positive(score), "Table 8", "ours", "scores of CIFAR-100") for score in CIFAR100),
    *(Claim(f"On SVHN {NAMES[first]} detects better than {NAMES[second]}, by at least five of the six scores",
            *claim_positive(*claimed_detection_gains("svhn", first, second)), "Table 7", family="SVHN", at_least=5)
      for first, second in (*((hard, "soft") for hard in HARD),
                            *(("deterministic-control", hard) for hard in HARD[:2]))),
)
# fmt: on
