"""Singh, Tiwari, Hasanbeig & Gupta 2025, arXiv 2511.14117: training on vote shares against training on their majority.

Known of the paper are its abstract and the captions of its figures. Its encoders, splits, recipes, seeds and tables are
not.
"""

from functools import partial

from votewise.data import load_chaosnli, load_cifar10h, load_popquorn
from votewise.data.lewidi import load_lewidi
from votewise.papers.paper import Paper
from votewise.papers.soft_labels.choices import CHOICES
from votewise.papers.soft_labels.claims import CLAIMS
from votewise.papers.soft_labels.derive import numbers_of_run
from votewise.papers.soft_labels.figures import FIGURES
from votewise.papers.soft_labels.suites import ABUSE, HELD_OUT, IMAGES, REFERENCE, SELECTED, SUITES, TEXTS
from votewise.papers.soft_labels.tables import BEYOND, NAMES, PRINTED, QUOTED, TABLES

PAPER = Paper(
    name="soft-labels",
    reference=REFERENCE,
    cite="Singh, Tiwari, Hasanbeig & Gupta 2025, arXiv 2511.14117",
    names=NAMES,
    published=PRINTED,
    datasets={
        **{f"chaosnli-{part}": partial(load_chaosnli, part) for part in ("snli", "mnli", "alphanli")},
        TEXTS["popquorn"]: partial(load_popquorn, "offensiveness"),
        IMAGES: load_cifar10h,
        **{dataset: partial(load_lewidi, part) for part, dataset in ABUSE.items()},
    },
    suites=SUITES,
    sources=("same-target",),
    tables=TABLES,
    figures=FIGURES,
    quoted=QUOTED,
    claims=CLAIMS,
    overlap=HELD_OUT / (1 - HELD_OUT - SELECTED),
    choices=CHOICES,
    beyond=BEYOND,
    scores=("kl", "entropy_correlation", "accuracy_majority", "soft_nll", "vote_ece"),
    numbers_of_run=numbers_of_run,
    training_losses=False,
)
