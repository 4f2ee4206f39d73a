"""Figures 1 to 5 as data. Stored results hold no images, texts or votes, so means stand for the paper's examples."""

from __future__ import annotations

import numpy as np

from votewise.papers.claims import claim_value
from votewise.papers.panels import Draw, paper_curve_over_seeds, paper_panel_by_condition, paper_panel_by_epoch
from votewise.papers.paper import Entry, FigureSpec
from votewise.papers.soft_labels.derive import BINS, QUANTILES
from votewise.papers.soft_labels.suites import IMAGES, TEXTS, image_runs, runs_on
from votewise.papers.soft_labels.tables import NAMES, TITLES
from votewise.papers.suites import Where
from votewise.records import Results
from votewise.report.document import Panel

BOTH = ("soft", "majority")
SHOWN = tuple(TEXTS)
MIDDLES = ((BINS[1:] + BINS[:-1]) / 2).tolist()


def entropy_panel(x_label: str, y_label: str, series: str, x: list[float]) -> Draw:
    """A series of the held-out items of each data set, mean and SD over seeds."""

    def draw(results: Results) -> Panel:
        lines = {TITLES[short]: results.lines(series, runs_on(short, "soft")) for short in SHOWN}
        curves = tuple(
            paper_curve_over_seeds(title, x, by_seed.values()) for title, by_seed in lines.items() if by_seed
        )
        return Panel("", x_label, y_label, curves)

    return draw


def distribution_panel(short: str) -> Draw:
    """Mean distributions on items of high entropy: of people, and of two methods, classes in people's order."""

    def draw(results: Results) -> Panel:
        rows: dict[str, tuple[str, Where]] = {"people": ("drawn_people", runs_on(short, "soft"))}
        rows |= {NAMES[method]: ("drawn_model", runs_on(short, method)) for method in BOTH}
        curves = tuple(
            paper_curve_over_seeds(name, np.arange(len(next(iter(lines.values())))), lines.values())
            for name, (series, where) in rows.items()
            if (lines := results.lines(series, where))
        )
        classes = len(curves[0].x) if curves else 0
        ticks = tuple(str(place + 1) for place in range(classes))
        return Panel(TITLES[short], "class, most votes first", "share", curves, ticks, joined=False)

    return draw


FIGURES = (
    FigureSpec(
        "figure-1", "entropy of the votes, from the items of lowest to those of highest",
        "It shows images from low to high entropy of annotators; stored results hold no images.",
        (entropy_panel("share of items with less entropy", "entropy / ln K", "entropy_quantiles", QUANTILES.tolist()),),
    ),
    FigureSpec(
        "figure-2", "KL where the model's top class is people's",
        "One item whose top class both models predict: KL 0.01 with soft labels, 0.08 with hard ones. Ours is the mean "
        "over all such items.",
        (
            paper_panel_by_condition(
                "", "KL",
                {
                    NAMES[method]: [claim_value("agreed_kl_best", runs_on(short, method)) for short in SHOWN]
                    for method in BOTH
                },
                tuple(TITLES[short] for short in SHOWN), joined=False,
            ),
        ),
        tuple(
            Entry(TITLES[short], NAMES[method], "agreed_kl_best", runs_on(short, method))
            for short in SHOWN
            for method in BOTH
        ),
    ),
    FigureSpec(
        "figure-3", "entropy of the votes as a share of ln K",
        "Histograms of each data set's entropies.",
        (entropy_panel("entropy / ln K", "share of items", "entropy_histogram", MIDDLES),),
    ),
    FigureSpec(
        "figure-4", "loss by epoch",
        "The validation loss of hard labels stops falling or rises earlier than that of soft labels. Each is the "
        "method's own, so that levels do not compare.",
        (
            *(
                paper_panel_by_epoch(
                    TITLES[short], "the method's own loss", "curve_selection_own_loss",
                    {NAMES[method]: runs_on(short, method) for method in BOTH},
                )
                for short in SHOWN
            ),
            *(
                paper_panel_by_epoch(
                    TITLES[short], "soft NLL", "curve_soft_nll",
                    {NAMES[method]: runs_on(short, method) for method in (*BOTH, "multipass")},
                )
                for short in SHOWN
            ),
            paper_panel_by_epoch(
                TITLES[IMAGES], "soft NLL", "curve_soft_nll",
                {NAMES[method]: image_runs(method) for method in (*BOTH, "multipass")},
            ),
        ),
    ),
    FigureSpec(
        "figure-5", "distributions on the tenth of items of highest entropy",
        "Bars of people's, soft and hard models' shares on single items of high entropy: soft labels are near people, "
        "hard ones too sure. Ours are means over the items, classes in the order of people's shares.",
        tuple(distribution_panel(short) for short in SHOWN),
    ),
)  # fmt: skip
