"""Our tables of what the paper measures. Its own four were not to be had."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from votewise.data.corruptions import CORRUPTIONS
from votewise.papers.paper import Entry, Pairing, TableSpec
from votewise.papers.published import read_published
from votewise.papers.soft_labels.averages import BEST, OWN_LOSS, average_change
from votewise.papers.soft_labels.suites import (
    ABUSE,
    FEW_VOTES,
    FROZEN,
    IMAGES,
    METHODS,
    MINILM,
    MPNET,
    TEXTS,
    image_runs,
    runs,
    runs_on,
)
from votewise.papers.suites import Where

PRINTED = read_published(Path(__file__).with_name("published.toml"))

NAMES = {"soft": "soft labels", "majority": "majority labels", "sls": "SLS", "multipass": "multipass"}
TITLES = {
    "snli": "SNLI", "mnli": "MNLI", "alphanli": "αNLI", "popquorn": "POPQUORN", IMAGES: "CIFAR-10H",
    "armis": "ArMIS", "convabuse": "ConvAbuse", "hs-brexit": "HS-Brexit", "md-agreement": "MD-Agreement",
}  # fmt: skip

# The scores of every table by their titles. The paper leaves open how entropies are correlated.
CORRELATIONS = {"Spearman": "entropy_correlation", "Pearson": "entropy_pearson"}
SCORES = {
    "KL": "kl",
    **{f"entropy correlation ({words})": name for words, name in CORRELATIONS.items()},
    "accuracy": "accuracy_majority",
    "soft NLL": "soft_nll",
    "vote ECE": "vote_ece",
}

ON_IMAGES = (
    "CIFAR-10H: ResNet-18, the stored runs of arXiv 2605.20642, whose epochs are chosen by soft NLL on the images that "
    "are scored, as none were held out for choosing."
)
TRAINED_ON = (
    "all-mpnet-base-v2 and all-MiniLM-L6-v2 were trained on sentence pairs that include the training parts of SNLI and "
    "MNLI, not the development parts that ChaosNLI is drawn from. The paper's encoders, splits, recipes and seeds are "
    "not known."
)


def table_entries(rows: Mapping[str, Where], epoch: str) -> tuple[Entry, ...]:
    """All scores of some runs at one epoch.

    Args:
        rows: the runs by the name of their row.
        epoch: the epoch as numbers are named by it.
    """
    return tuple(
        Entry(row, title, f"{number}_{epoch}", where) for row, where in rows.items() for title, number in SCORES.items()
    )


def table_rows(datasets: Mapping[str, str], model: str) -> dict[str, Where]:
    """The runs of every method on some data sets, by the name of their row."""
    return {
        f"{TITLES[short]}, {NAMES[method]}": runs(dataset, method, model)
        for short, dataset in datasets.items()
        for method in METHODS
    }


def table_against_majority(short: str, score: str, *, lower_is_better: bool) -> Pairing:
    """Soft labels against majority labels on one data set, at the epoch of their own loss."""
    title = next(title for title, number in SCORES.items() if number == score)
    epoch = BEST if short == IMAGES else "{epoch}"
    soft, majority = (runs_on(short, method) for method in METHODS[:2])
    return Pairing(soft, majority, f"{TITLES[short]}, {title}", f"{score}_{epoch}", lower_is_better=lower_is_better)


def table_change_entries(title: str, sets: str, *, printed: bool = False) -> tuple[Entry, ...]:
    """How much soft labels change each number over some data sets.

    Args:
        title: name of the row.
        sets: the data sets, as `SETS` gives them.
        printed: whether it is the average that the paper prints.
    """
    asked = {"sets": sets, "epoch": "{epoch}", "model": "{encoder}"}
    key = ("average",) if printed else ()
    return (
        Entry(title, "KL", average_change, {**asked, "number": "kl", "change": "{change}"}, (*key, "kl")),
        Entry(
            title, "entropy correlation", average_change, {**asked, "number": "{correlation}", "change": "{change}"},
            (*key, "entropy_correlation"),
        ),
        Entry(
            title, "accuracy, difference", average_change,
            {**asked, "number": "accuracy_majority", "change": "difference"},
        ),
    )  # fmt: skip


# The average that the paper prints depends on all open choices at once.
AVERAGE = table_change_entries("average over data sets", "{sets}", printed=True)[:2]

QUOTED = TableSpec(
    "averages",
    "change from majority to soft labels",
    (
        *table_change_entries("average over data sets", "{sets}", printed=True),
        *(entry for short in (*TEXTS, IMAGES) for entry in table_change_entries(TITLES[short], short)),
    ),
    notes=(
        "Of means over seeds; SD is √n times the jackknife's standard error over seeds. The paper gives no number of "
        "seeds, and its average is taken as that of one.",
        "A relative change of a correlation near zero says little: see the differences under Choices.",
        ON_IMAGES,
        TRAINED_ON,
    ),
)

TABLES = (
    TableSpec(
        "scores", f"all votes, {MPNET} tuned, the epoch of each method's own loss",
        (
            *table_entries(table_rows(TEXTS, MPNET), "{epoch}"),
            *table_entries({f"{TITLES[IMAGES]}, {NAMES[method]}": image_runs(method) for method in METHODS}, BEST),
        ),
        pairings=tuple(
            table_against_majority(short, score, lower_is_better=lower)
            for short in (*TEXTS, IMAGES)
            for score, lower in (("kl", True), ("entropy_correlation", False), ("accuracy_majority", False))
        ),
        holm=True,
        notes=(ON_IMAGES, TRAINED_ON),
    ),
    TableSpec(
        "epochs", "KL by the epoch that is scored",
        tuple(
            Entry(f"{TITLES[short]}, {NAMES[method]}", words, f"kl_{epoch}", runs_on(short, method))
            for short in (*TEXTS, IMAGES)
            for method in METHODS
            for words, epoch in (("own loss", OWN_LOSS), ("soft NLL", BEST), ("last", "last"))
            if (short, epoch) != (IMAGES, OWN_LOSS)
        ),
    ),
    TableSpec(
        "temperatures", "soft NLL as it is, and with a temperature fitted on other items",
        tuple(
            Entry(f"{TITLES[short]}, {NAMES[method]}", words, number, runs_on(short, method))
            for short in (*TEXTS, IMAGES)
            for method in METHODS
            for words, number in (
                ("soft NLL", "soft_nll_best"),
                ("temperature fitted", "scaled_soft_nll_best"),
                ("temperature", "temperature_best"),
            )
        ),
        notes=("At the epoch of the best soft NLL. Half of the scored items fit the temperature of the other half.",),
    ),
)  # fmt: skip

BEYOND = (
    TableSpec(
        "minilm", f"all votes, {MINILM} tuned", table_entries(table_rows(TEXTS, MINILM), "{epoch}"), notes=(TRAINED_ON,)
    ),
    TableSpec(
        "frozen", f"all votes, {FROZEN}", table_entries(table_rows(TEXTS, FROZEN), "{epoch}"), notes=(TRAINED_ON,)
    ),
    TableSpec(
        "abuse", f"the four sets of LeWiDi 2023, {FROZEN}", table_entries(table_rows(ABUSE, FROZEN), "{epoch}"),
        pairings=tuple(
            Pairing(
                runs(dataset, first, FROZEN), runs(dataset, second, FROZEN),
                f"{TITLES[short]}, soft NLL", "soft_nll_{epoch}",
            )
            for short, dataset in ABUSE.items()
            for first, second in (("soft", "majority"), ("multipass", "soft"), ("sls", "soft"))
        ),
        holm=True,
        notes=("ArMIS is in Arabic, which the encoder was not trained on.",),
    ),
    TableSpec(
        "robustness", "CIFAR-10H, corrupted images, ResNet-18",
        tuple(
            Entry(
                f"{corruption}, strength {strength}, {NAMES[method]}", title, f"{corruption}/{strength}/{score}",
                runs(IMAGES, method, "resnet18"),
            )
            for corruption in CORRUPTIONS
            for strength in (1, 2, 3)
            for method in METHODS
            for title, score in (("soft NLL", "soft_nll"), ("vote ECE", "vote_ece"), ("accuracy", "accuracy"))
        ),
        pairings=tuple(
            Pairing(
                runs(IMAGES, "soft", "resnet18"), runs(IMAGES, "majority", "resnet18"),
                f"{corruption}, strength {strength}, soft NLL", f"{corruption}/{strength}/soft_nll",
            )
            for corruption in CORRUPTIONS
            for strength in (1, 2, 3)
        ),
        holm=True,
        notes=("Five seeds, trained again as no models were kept. Accuracy is by the true label.",),
    ),
    TableSpec(
        "high-entropy", "items with an entropy of at least 0.25 bits",
        tuple(
            Entry(f"{title}, {NAMES[method]}", words, f"high_{number}_best", where)
            for title, method, where in (
                *((TITLES[short], method, runs(TEXTS[short], method)) for short in TEXTS for method in METHODS),
                *((TITLES[IMAGES], method, runs(IMAGES, method, "resnet18")) for method in METHODS),
            )
            for words, number in (
                ("KL", "kl"), ("entropy correlation (Spearman)", "entropy_correlation"),
                ("accuracy", "accuracy_majority"),
            )
        ),
        notes=("The paper's CIFAR-10H-Hard has a threshold that is not known; this one keeps 28 % of the images.",),
    ),
    TableSpec(
        "votes", f"few votes on SNLI, {MPNET} tuned",
        tuple(
            entry
            for votes in (*FEW_VOTES, None)
            for method in ("soft", "sls", "multipass")
            for entry in table_entries(
                {f"{NAMES[method]}, {votes or 100} votes": runs(TEXTS["snli"], method, MPNET, votes)}, "{epoch}"
            )
        ),
    ),
)  # fmt: skip
