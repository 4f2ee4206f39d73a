"""Tables 1 to 9, the numbers quoted in the text, and a table of what the paper does not try."""

from __future__ import annotations

from pathlib import Path

from votewise.papers.notes import note_on_unconverged_curvature, note_on_widest_agreement_with_paper
from votewise.papers.paper import Axis, Entry, Pairing, TableSpec, paper_entries
from votewise.papers.published import read_printed
from votewise.papers.same_target.suites import BOTH, HOLDS, MIXUPS, SUITES, SWEEP
from votewise.papers.suites import Where

PRINTED = read_printed(Path(__file__).with_name("published.toml"))

# The hard deliveries that the paper compares with soft labels.
HARD = ("sls", "multipass", "deterministic-control")

# What each variant of mixup mixes, and its alpha.
MIXED = {
    name: f"{'soft labels' if method == 'soft' else 'majority vote'}, α {changes['mixup']:g}"
    for name, (method, changes) in MIXUPS.items()
}
NAMES = {
    "soft": "soft labels", "sls": "SLS", "multipass": "multipass", "deterministic-control": "deterministic control",
    "shuffled-sls": "shuffled SLS", "majority": "majority vote", "label-smoothing": "label smoothing", "mixup": "mixup",
    "soft-smoothed": "soft labels, smoothed", "dirichlet": "soft labels, Dirichlet prior",
    "dirichlet-fitted": "soft labels, fitted Dirichlet prior",
    "multipass-prior": "multipass, fitted Dirichlet prior", "multipass-crossfit": "multipass, cross-fitted prior",
    **{name: f"mixup of {words}" for name, words in MIXED.items() if name != "mixup"},
}  # fmt: skip

# Columns of scores. The paper does not say whether accuracy is by the true or the majority label, so both stand beside
# its number. The floor is the ECE that a perfectly calibrated model would show.
SCORES = {
    "soft_nll": Axis("soft NLL", number="soft_nll_best", key=("soft_nll",)),
    "scaled": Axis("soft NLL, temperature fitted", number="scaled_soft_nll_best"),
    "accuracy": Axis("accuracy", number="accuracy_best", key=("accuracy",)),
    "accuracy_majority": Axis("accuracy by majority", number="accuracy_majority_best", key=("accuracy",)),
    "ece": Axis("ECE", number="ece_best", key=("ece",)),
    "ece_floor": Axis("ECE floor", number="ece_floor_best"),
    "entropy_correlation": Axis("entropy correlation", number="entropy_correlation_best", key=("entropy_correlation",)),
}
FURTHER_SCORES = tuple(
    Axis(title, number=f"{name}_best", key=(name,)) for name, title in (("kl", "KL"), ("soft_brier", "soft Brier"))
)
METRICS = ("soft_nll", "accuracy", "ece", "entropy_correlation")
LOWER_IS_BETTER = ("soft_nll", "scaled", "ece")

# Detection scores: the name of each, in words and among the numbers.
DETECTION = {
    "energy": ("energy", "energy"), "msp": ("MSP", "msp"), "odin": ("ODIN", "{odin}"),
    "predictive_entropy": ("predictive entropy", "predictive_entropy"),
    "logit_margin": ("logit margin", "logit_margin"), "knn": ("KNN", "{knn}"),
}  # fmt: skip
CURVATURE = {"largest": "λmax", "trace": "trace"}

# Images that curvature is shown of, by what the paper calls them. It does not define its slice of high disagreement.
SLICES = {"full": "full", "top-10%": "", "{slice}": "high"}

OUR_SD = "The paper prints no SD here: distances are in units of ours, pooled over the methods of a column."
OTHERS = "Beyond the paper: majority vote, label smoothing and mixup."
SLICE = (
    "The paper does not define its slice of high disagreement. Of those that were tried {slice} fits its numbers best "
    "(see Choices) and stands beside them."
)
SETTINGS = (
    "ODIN and KNN have settings the paper does not print. Here: ODIN, T 1000 and a step of 0.0014 in the network's "
    "inputs; KNN, k 50 and features as they are (see Choices)."
)


def runs(method: str, votes: int | None = None, *, hold: int = 1, first: int | None = None) -> Where:
    """The runs of a method, with all votes or some, and of all seeds or the first few."""
    return {"method": method, "votes": votes, "hold": hold, **({} if first is None else {"seed": range(first)})}


def paper_rows(*methods: str, seeds: int = 10) -> tuple[Axis, ...]:
    """A row for each method, which the paper gives for that many seeds."""
    return tuple(Axis(NAMES[method], runs(method), key=(method, seeds)) for method in methods)


# The paper's SLS of five seeds: those it shares with the other hard deliveries.
FIVE = Axis("SLS, first 5 seeds", runs("sls", first=5), key=("sls", 5))
CONTROLS = ("deterministic-control", "multipass", "shuffled-sls")
DETECTORS = (
    *paper_rows("soft"),
    *paper_rows("multipass", "deterministic-control", seeds=5),
    FIVE,
    *paper_rows("majority", "label-smoothing", "mixup"),
)


def paper_detection(outliers: str, *scores: str) -> tuple[Axis, ...]:
    """A column for each detection score."""
    return tuple(
        Axis(DETECTION[score][0], number=f"{outliers}/{DETECTION[score][1]}/auroc", key=(score,)) for score in scores
    )


def paper_detection_pairings(table: str, outliers: str, *alternatives: str) -> tuple[Pairing, ...]:
    """SLS against soft labels by each detection score; the paper's p-values are one-sided."""
    return tuple(
        Pairing(runs("sls"), runs("soft"), column.title, column.number, alternative, lower_is_better=False,
                key=(table, "sls", *column.key) if alternative == "greater" else ())
        for column in paper_detection(outliers, *DETECTION)
        for alternative in alternatives
    )  # fmt: skip


def paper_pairing(first: Where, second: Where, score: str, alternative: str = "two-sided", *key: str) -> Pairing:
    """Two methods compared by a score."""
    column = SCORES[score]
    return Pairing(first, second, column.title, column.number, alternative, score in LOWER_IS_BETTER, key)


def paper_curvature(epoch: str, *slices: str) -> tuple[Axis, ...]:
    """Columns of curvature at an epoch, on some slices of the images."""
    return tuple(
        Axis(f"{words}, {part}", number=f"{epoch}/{part}/{what}", key=(f"{SLICES[part]}/{what}",))
        for part in slices
        for what, words in CURVATURE.items()
    )


TABLES = (
    TableSpec(
        "table-1", "soft NLL with few votes per item",
        paper_entries(
            "table-1",
            paper_rows("soft", *HARD, seeds=5),
            [Axis(f"{votes} votes", {"votes": votes}, "soft_nll_best", (str(votes),)) for votes in SWEEP],
        ),
        alike=lambda entry: entry.column,
        pairings=tuple(
            paper_pairing(runs(method, votes), runs("soft", votes), "soft_nll", "less", "table-1", method, str(votes))
            for method in HARD
            for votes in SWEEP
        ),
        holm=True,
        notes=(OUR_SD, note_on_widest_agreement_with_paper),
    ),
    TableSpec(
        "table-2", "the main comparison on all votes",
        paper_entries("table-2", paper_rows("label-smoothing", "majority", "mixup", "sls", "soft"), [*SCORES.values()]),
        pairings=tuple(
            paper_pairing(runs("sls"), runs("soft"), score, "two-sided", "table-2", "sls", score) for score in METRICS
        ),
        holm=True,
    ),
    TableSpec(
        "table-3", "the hard deliveries and their controls",
        paper_entries("table-3", (*paper_rows("soft"), FIVE, *paper_rows(*CONTROLS, seeds=5)), [*SCORES.values()]),
        pairings=tuple(
            paper_pairing(runs(method), FIVE.where, score, "two-sided", "table-3", method, score)
            for method in CONTROLS
            for score in METRICS
        ),
        repeated=(NAMES["soft"],),
    ),
    TableSpec(
        "table-4", "curvature of the best models",
        (
            *paper_entries("table-4", (*paper_rows("sls", "soft"), FIVE, *paper_rows(*CONTROLS, seeds=5)),
                           paper_curvature("best", *SLICES)),
            *(entry for when in ("last", "common")
              for entry in paper_entries("", [Axis(f"{NAMES[m]}, {when} epoch", runs(m)) for m in BOTH],
                                         paper_curvature(when, "full"))),
        ),
        notes=(
            note_on_unconverged_curvature(("full", "top-10%", "top-5%"), "shuffled-sls", NAMES["shuffled-sls"]),
            SLICE,
            "Beyond the paper: the same at the last epoch, and at one epoch for all methods (150 of 200), since the "
            "best epochs of methods differ.",
        ),
    ),
    TableSpec(
        "table-5", "further scoring rules",
        paper_entries("table-5", paper_rows("sls", "soft", "majority", "label-smoothing", "mixup"), FURTHER_SCORES),
    ),
    TableSpec(
        "table-6", "largest curvature with few votes per item",
        tuple(
            Entry(f"{NAMES[method]}, {votes} votes", f"λmax, {part}", f"best/{part}/largest", runs(method, votes),
                  ("table-6", method, 5, f"{printed}/{votes}"))
            for votes in SWEEP
            for method in BOTH
            for part, printed in SLICES.items()
        ),
        alike=lambda entry: (entry.where["method"], entry.column),
        notes=(
            "Distances are in units of one SD for the four numbers of votes of a method, pooled from ours and the "
            "paper's, since SDs of single cells, of three to six seeds, vary much by chance.",
            SLICE,
        ),
    ),
    TableSpec(
        "table-7", "AUROC against SVHN",
        paper_entries("table-7", DETECTORS, paper_detection("svhn", *DETECTION)),
        pairings=paper_detection_pairings("table-7", "svhn", "two-sided"),
        holm=True,
        notes=(SETTINGS, OTHERS),
    ),
    TableSpec(
        "table-8", "AUROC against CIFAR-100",
        paper_entries("table-8", paper_rows("sls", "soft"), paper_detection("cifar100", *DETECTION)),
        alike=lambda entry: entry.column,
        pairings=paper_detection_pairings("table-8", "cifar100", "greater", "two-sided"),
        notes=("The printed p values can only be one-sided; the two-sided test stands beside them.", OUR_SD),
    ),
    TableSpec(
        "table-9", "AUROC against CIFAR-100, hard deliveries",
        paper_entries("table-9", DETECTORS, paper_detection("cifar100", "energy", "msp", "knn")),
        alike=lambda entry: entry.column,
        notes=(OUR_SD, OTHERS),
        repeated=(NAMES["soft"],),
    ),
)  # fmt: skip

EARLIER = "epochs SLS is earlier than soft labels"
QUOTED = TableSpec(
    "scalars", "numbers quoted in the text",
    (
        # The votes on the held-out images are the same for all methods.
        Entry("entropy of the votes", "held-out images", "soft_nll_best", runs("soft"), ("quoted", "entropy", "votes"),
              less=("kl_best", runs("soft"))),
        *(Entry("smooth ECE", NAMES[method], "smooth_ece_best", runs(method), ("quoted", "smooth_ece", method))
          for method in ("sls", "soft", "majority")),
        *(Entry("soft NLL of SLS by period", f"{hold} epoch{'s' * (hold > 1)}", "soft_nll_best",
                runs("sls", hold=hold, first=5), ("quoted", "resampling", str(hold)))
          for hold in HOLDS),
        Entry("Spearman of entropy and gradient variance", NAMES["sls"], "gradient/{gradient}", runs("sls"),
              ("quoted", "gradient_spearman", "sls")),
        *(Entry(EARLIER, words, number, runs("soft"), ("quoted", printed, "sls"), less=(number, runs("sls")))
          for number, words, printed in (("near_best/{nearness}", "near its best", "near_best_earlier"),
                                         ("best_epoch", "at its best", "best_earlier"))),
        *(Entry(f"Grad-CAM between seeds, {words}", NAMES[method], f"{method}.{{maps}}{high}", {},
                ("quoted", f"maps{high}", method))
          for high, words in (("", "all images"), ("_high", "the fifth of highest entropy"))
          for method in BOTH),
        Entry("barrier", "SLS to soft labels", "barrier:plain.heights", {}, ("quoted", "barrier", "sls")),
        *(Entry("CKA between seeds", NAMES[method], f"{method}.{{features}}:cka", {}, ("quoted", "cka", method))
          for method in BOTH),
    ),
    notes=(
        "The paper prints no SD of these: distances are in units of ours. Similarity of maps and features is the mean "
        "over pairs of seeds; n counts seeds, and SD is √n times the jackknife's standard error over seeds.",
    ),
)  # fmt: skip

# Few votes beyond the paper: all methods of the suites "sparse" and "priors", by every score at both epochs. All are
# compared with soft labels and multipass by soft NLL, and smoothed shares and priors with multipass by the others.
SPARSE_METHODS = tuple(dict.fromkeys((*SUITES["sparse"].methods, *SUITES["priors"].methods)))
SMOOTHED = ("soft-smoothed", "dirichlet-fitted", "multipass-prior", "multipass-crossfit")
SPARSE_SCORES = {
    "soft_nll": "soft NLL", "scaled_soft_nll": "soft NLL, temperature fitted", "vote_ece": "vote ECE", "ece": "ECE",
    "entropy_correlation": "entropy correlation", "accuracy": "accuracy",
}  # fmt: skip
SPARSE = TableSpec(
    "sparse", "beyond the paper, few votes with smoothed shares and priors",
    tuple(
        Entry(f"{NAMES[method]}, {votes} votes{when}", title, f"{number}_{at}", runs(method, votes))
        for at, when in (("best", ""), ("last", ", last epoch"))
        for votes in SUITES["sparse"].votes
        for method in SPARSE_METHODS
        for number, title in SPARSE_SCORES.items()
    ),
    pairings=tuple(
        Pairing(runs(method, votes), runs(other, votes), title, f"{number}_best",
                lower_is_better=number != "entropy_correlation")
        for votes in SUITES["sparse"].votes
        for number, title in SPARSE_SCORES.items() if number != "accuracy"
        for other in (("soft", "multipass") if number == "soft_nll" else ("multipass",))
        for method in (SPARSE_METHODS if number == "soft_nll" else SMOOTHED)
        if method not in ("soft", other)
    ),
    notes=(
        "Smoothed: 0.9 of the share and 0.1 spread evenly. Dirichlet: one more vote, spread over all classes, or as "
        "many as fit the votes of all items. Inside multipass a prior is mixed with the vote of each epoch: the fitted "
        "one, or one of each item's own, made of predictions by models that did not see its votes. Vote ECE: mean "
        "confidence against the share of votes for the predicted class, in bins of equal mass. p is raw; pairs are of "
        "seeds that both have. Some runs did not record all numbers of the last epoch.",
    ),
)  # fmt: skip
