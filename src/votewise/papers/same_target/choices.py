"""What the paper leaves open: every answer that was tried, which tables and figures take, and which is usual.

The answer taken is the one that fits the paper's numbers best. How many of these agree is counted by the usual answers
as well, since an answer chosen because it fits says less.
"""

from __future__ import annotations

from votewise.papers.paper import Choice, Entry
from votewise.papers.same_target.suites import BOTH, SLICE, SWEEP
from votewise.papers.same_target.tables import CURVATURE, FIVE, HARD, METRICS, MIXED, NAMES, SCORES, runs
from votewise.papers.suites import Where

ODIN = {"step in pixels": "odin", "step in the network's inputs": "odin_in_inputs", "no step": "odin_without_step"}
KNN = {
    "k 1, unit features": "knn_1",
    "k 5, unit features": "knn_5",
    "k 10, unit features": "knn_10",
    "k 50, unit features": "knn",
    "k 200, unit features": "knn_200",
    "k 50, features as they are": "knn_by_length",
}
IMAGES = {"images all runs share": "shared", "images both held out": "held_out"}
MAPS = {
    "class of most votes, 32 x 32": "maps",
    "class of most votes, 4 x 4": "maps_raw",
    "predicted class, 32 x 32": "maps_of_predicted",
}

SCORED = ("soft", "sls", "majority", "label-smoothing", "mixup")


def choice_entry(title: str, number: str, where: Where, *key: str | int, less: Where | None = None) -> Entry:
    """A printed number that depends on an open choice; with `less`, that of other runs is subtracted."""
    return Entry("", title, number, where, key, None if less is None else (number, less))


def printed_scores(number: str, column: str) -> tuple[Entry, ...]:
    """A column of Table 2."""
    return tuple(choice_entry(NAMES[method], number, runs(method), "table-2", method, 10, column) for method in SCORED)


def printed_detection(number: str, score: str) -> tuple[Entry, ...]:
    """A detection score of SLS and soft labels in Tables 7 and 8."""
    svhn, cifar100 = f"svhn/{number}/auroc", f"cifar100/{number}/auroc"
    return (
        choice_entry("SVHN, soft labels", svhn, runs("soft"), "table-7", "soft", 10, score),
        choice_entry("SVHN, SLS", svhn, FIVE.where, "table-7", "sls", 5, score),
        choice_entry("CIFAR-100, SLS", cifar100, runs("sls"), "table-8", "sls", 10, score),
        choice_entry("CIFAR-100, soft labels", cifar100, runs("soft"), "table-8", "soft", 10, score),
    )


EPOCHS = {"best": "best", "last": "last"}
CHOICES = (
    Choice("epoch", "which epoch is scored", EPOCHS, "best", printed_scores("soft_nll_{epoch}", "soft_nll")),
    Choice(
        "epoch", "which epoch is scored, few votes", EPOCHS, "best",
        tuple(
            choice_entry(f"{NAMES[m]}, {votes} votes", "soft_nll_{epoch}", runs(m, votes), "table-1", m, 5, str(votes))
            for m in ("soft", *HARD)
            for votes in SWEEP
        ),
        alike=lambda entry: entry.where["votes"],
    ),
    Choice("label", "label that accuracy refers to",
           {"true": "accuracy_best", "majority": "accuracy_majority_best"}, "true",
           printed_scores("{label}", "accuracy")),
    Choice("bins", "bins of ECE", {"10": "ece/10", "15": "ece/15", "20": "ece/20"}, "15",
           printed_scores("{bins}", "ece")),
    Choice("correct", "what ECE calls correct",
           {"the true label": "ece/15", "the share of votes for the top class": "vote_ece_best"}, "the true label",
           printed_scores("{correct}", "ece")),
    Choice(
        "mixup", "what mixup mixes, one seed", {words: name for name, words in MIXED.items()}, MIXED["mixup"],
        tuple(
            choice_entry(SCORES[one].title, SCORES[one].number, runs("{mixup}", first=1), "table-2", "mixup", 10, one)
            for one in METRICS
        ),
    ),
    # Images of high disagreement in Tables 4 and 6. Figures 6 and 9 take the top fifth.
    Choice(
        "slice", "slice of high disagreement",
        {part: part for part in ("top-20%", "top-10%", "top-5%", "H>0.5")}, SLICE,
        tuple(
            choice_entry(f"{words}, {NAMES[m]}", f"best/{{slice}}/{what}", runs(m), "table-4", m, 10, f"high/{what}")
            for m in BOTH
            for what, words in CURVATURE.items()
        ),
        usual="top-20%", same_seeds=True,
    ),
    Choice("odin", "settings of ODIN", ODIN, "step in the network's inputs", printed_detection("{odin}", "odin"),
           usual="step in pixels"),
    Choice("knn", "settings of KNN", KNN, "k 50, features as they are", printed_detection("{knn}", "knn"),
           usual="k 50, unit features"),
    Choice("features", "images on which features are compared", IMAGES, "images both held out",
           tuple(choice_entry(NAMES[m], f"{m}.{{features}}:cka", {}, "quoted", "cka", m) for m in BOTH),
           usual="images all runs share"),
    # Of maps no answer fits well.
    Choice(
        "maps", "maps of Grad-CAM",
        {f"{words}, {images}": f"{where}:{maps}" for words, maps in MAPS.items() for images, where in IMAGES.items()},
        "class of most votes, 4 x 4, images all runs share",
        tuple(
            choice_entry(f"{NAMES[method]}{words}", f"{method}.{{maps}}{high}", {}, "quoted", f"maps{high}", method)
            for high, words in (("", ""), ("_high", ", fifth of highest entropy"))
            for method in BOTH
        ),
        usual="class of most votes, 32 x 32, images all runs share",
    ),
    Choice("norms", "norms between two models",
           {"weights and statistics on the line": "plain", "norms recalibrated": "recalibrated"},
           "weights and statistics on the line",
           (choice_entry("barrier", "barrier:{norms}.heights", {}, "quoted", "barrier", "sls"),)),
    Choice(
        "gradient", "variance of the last layer's gradient",
        {
            "closed form": "spearman", "100 drawn labels": "spearman_sampled",
            "closed form, images with H > 0": "spearman_disputed",
        },
        "100 drawn labels",
        (choice_entry("Spearman, SLS", "gradient/{gradient}", runs("sls"), "quoted", "gradient_spearman", "sls"),),
        usual="closed form",
    ),
    # If the paper exchanged SLS and soft labels, only 95 % of the total descent gives its number.
    Choice(
        "nearness", "95 % of its best",
        {"loss at most best / 0.95": "quotient", "loss at most 1.05 best": "excess", "95 % of the way down": "descent"},
        "95 % of the way down",
        (choice_entry("epochs SLS is earlier", "near_best/{nearness}", runs("soft"), "quoted", "near_best_earlier",
                      "sls", less=runs("sls")),),
        usual="loss at most best / 0.95",
    ),
)  # fmt: skip

# Every choice as tables and figures take it, by its name.
USED = {choice.name: choice.interpretations[choice.used] for choice in CHOICES}
