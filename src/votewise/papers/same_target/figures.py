"""Figures 1 to 12 as data: what each panel draws of the results."""

from __future__ import annotations

from votewise.papers.claims import claim_value
from votewise.papers.panels import (
    Draw,
    paper_barrier_panel,
    paper_gradient_variance_panel,
    paper_panel_by_condition,
    paper_panel_by_epoch,
    paper_reliability_panel,
)
from votewise.papers.paper import Entry, FigureSpec
from votewise.papers.same_target.choices import IMAGES, USED
from votewise.papers.same_target.claims import KEPT
from votewise.papers.same_target.suites import BOTH, HOLDS, SWEEP
from votewise.papers.same_target.tables import HARD, NAMES, PRINTED, QUOTED, SCORES, runs

# Which images a gain is measured on, by the beginning of its name.
GAINED_ON = {"train/": "training", "": "held-out"}
BINS = ("none", "1", "2", "3", "4", "5")
BRIER = {"correctness": "of the top class's correctness", "shares": "of people's shares"}
BRIER_PARTS = ("reliability", "resolution")
KIND_OF_MAP = USED["maps"].partition(":")[2]

# Rank correlation of the improvement with the distance of a redraw that no run was trained on.
OTHER = "js/spearman_of_other_redraw"


def gain_by_redraw(name: str, distance: str) -> tuple[Draw, ...]:
    """Gain in bins of distance, on training images where runs kept it, and on held-out images.

    Args:
        name: name of the distance among the numbers.
        distance: its name in words.
    """
    return tuple(
        paper_panel_by_condition(
            f"{votes} votes, {images} images", "gain over soft labels (soft NLL)",
            {
                NAMES[hard]: [claim_value(f"{of}{name}/gain/{place}", runs(hard, votes)) for place in range(len(BINS))]
                for hard in HARD
            },
            BINS, f"bin of {distance}", zero=True, same_scale=True,
        )
        for of, images in GAINED_ON.items()
        for votes in SWEEP
    )  # fmt: skip


def spearman_by_redraw(name: str, **further: str) -> tuple[Entry, ...]:
    """Correlations of gain and distance.

    Args:
        name: name of the distance among the numbers.
        further: names of other correlations, in words.
    """
    kinds = {f"{of}{name}/spearman": f"Spearman, {images} images" for of, images in GAINED_ON.items()}
    return tuple(
        Entry(f"{words}, {votes} votes", NAMES[hard], number, runs(hard, votes))
        for number, words in {**kinds, **further}.items()
        for votes in SWEEP
        for hard in HARD
    )


def quoted_beside_figure(place: str) -> tuple[Entry, ...]:
    """The numbers that the text quotes of a figure."""
    return tuple(entry for entry in QUOTED.entries if PRINTED.numbers[entry.key].place == place)


FIGURES: tuple[FigureSpec, ...] = (
    FigureSpec(
        "figure-1", "scores by the number of votes per item",
        "At each number of votes every hard delivery has a lower soft NLL than soft labels.",
        tuple(
            paper_panel_by_condition(
                SCORES[metric].title, SCORES[metric].title,
                {
                    NAMES[method]: [claim_value(f"{metric}_best", runs(method, votes)) for votes in SWEEP]
                    for method in ("soft", *HARD)
                },
                tuple(map(str, SWEEP)), "votes per item",
            )
            for metric in ("soft_nll", "accuracy", "entropy_correlation")
        ),
    ),
    FigureSpec(
        "figure-2", "improvement on soft labels by JS distance of the redraw",
        "Hard deliveries improve a little more where the redraw is further off: Spearman about 0.05 to 0.16. It does "
        "not say on which images. On held-out images, whose redrawn votes no run saw, both follow the entropy of the "
        "votes, and any other redraw gives such a correlation as well; only training images can show an effect.",
        gain_by_redraw("js", "JS distance"),
        spearman_by_redraw(
            "js",
            **{
                f"train/{OTHER}": "Spearman with another redraw, training images",
                OTHER: "Spearman with another redraw, held-out images",
                "train/js/spearman_given_entropy": "Spearman given entropy, training images",
                f"train/{OTHER}_given_entropy": "Spearman given entropy, another redraw, training images",
            },
        ),
    ),
    FigureSpec(
        "figure-3", "smooth reliability diagrams",
        "Majority vote is over-confident; soft labels and SLS lie near the diagonal.",
        (paper_reliability_panel({NAMES[method]: runs(method) for method in ("majority", "soft", "sls")}),),
        quoted_beside_figure("Figure 3"),
    ),
    FigureSpec(
        "figure-4", "stale labels", "The longer labels are kept, the worse, on every seed.",
        (paper_panel_by_condition("", "soft NLL", {"SLS": KEPT}, tuple(map(str, HOLDS)), "epochs a label is kept"),),
        quoted_beside_figure("Figure 4"),
    ),
    FigureSpec(
        "figure-5", "improvement on soft labels by L1 distance of the redraw", "As in Figure 2.",
        gain_by_redraw("l1", "L1 distance"), spearman_by_redraw("l1"),
    ),
    FigureSpec(
        "figure-6", "improvement on soft labels by JS distance of the redraw, fifth of highest entropy",
        "As in Figure 2.",
        gain_by_redraw("js-high", "JS distance"), spearman_by_redraw("js-high"),
    ),
    FigureSpec(
        "figure-7", "label-sampling variance by disagreement: middle and outer tenths",
        "The two go together: Spearman 0.939 on average, 0.919 to 0.953 over seeds.",
        (paper_gradient_variance_panel("SLS", runs("sls")),), quoted_beside_figure("Figure 7"),
    ),
    FigureSpec(
        "figure-8", "soft NLL by epoch",
        "SLS comes near its best 35.7 epochs before soft labels, and is best 47.2 epochs before them.",
        tuple(
            paper_panel_by_epoch(title, "soft NLL", "curve_soft_nll", {NAMES[m]: runs(m) for m in BOTH}, since)
            for title, since in (("all epochs", 0.0), ("the last two fifths", 0.6))
        ),
        quoted_beside_figure("Figure 8"),
    ),
    FigureSpec(
        "figure-9", "Grad-CAM between seeds",
        "Maps of SLS are more similar between seeds: 0.901 to 0.804, on images of high entropy 0.861 to 0.756.",
        tuple(
            paper_panel_by_condition(
                title, "correlation of Grad-CAM maps",
                {
                    NAMES[method]: [claim_value(f"{method}.{images}:{KIND_OF_MAP}{high}", {}) for high in ("", "_high")]
                    for method in BOTH
                },
                ("all images", "fifth of highest entropy"), joined=False, same_scale=True,
            )
            for title, images in IMAGES.items()
        ),
        quoted_beside_figure("Figure 9"),
    ),
    FigureSpec(
        "figure-10", "Brier score in parts", "Reliability is similar; the resolution of SLS is slightly higher.",
        tuple(
            paper_panel_by_condition(
                title, "part of the Brier score",
                {NAMES[m]: [claim_value(f"brier/{of}/{part}", runs(m)) for part in BRIER_PARTS] for m in BOTH},
                BRIER_PARTS, joined=False,
            )
            for of, title in BRIER.items()
        ),
        tuple(
            Entry(f"{part} {title}", NAMES[method], f"brier/{of}/{part}", runs(method))
            for of, title in BRIER.items()
            for part in BRIER_PARTS
            for method in BOTH
        ),
    ),
    FigureSpec(
        "figure-11", "loss between SLS and soft labels of one seed",
        "A barrier of 2.05 nats on average lies between SLS and soft labels of one seed.",
        (paper_barrier_panel("from SLS (0) to soft labels (1)", "barrier"),), quoted_beside_figure("Figure 11"),
    ),
    FigureSpec(
        "figure-12", "CKA between seeds", "Features of SLS are more similar between seeds: 0.920 to 0.887.",
        (
            paper_panel_by_condition(
                "", "linear CKA between seeds",
                {
                    NAMES[method]: [claim_value(f"{method}.{images}:cka", {}) for images in IMAGES.values()]
                    for method in BOTH
                },
                tuple(IMAGES), joined=False,
            ),
        ),
        quoted_beside_figure("Figure 12"),
    ),
)  # fmt: skip
