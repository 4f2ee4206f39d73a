"""Gheibi & Ghazizadeh 2026, arXiv 2605.20642: hard and soft delivery of the same annotator distributions."""

from votewise.data import load_cifar10h, load_cifar100, load_svhn
from votewise.papers.derived import derive_confidences
from votewise.papers.paper import Paper
from votewise.papers.same_target.choices import CHOICES
from votewise.papers.same_target.claims import CLAIMS, OVERLAP
from votewise.papers.same_target.derive import paper_numbers_of_results, paper_numbers_of_run
from votewise.papers.same_target.figures import FIGURES
from votewise.papers.same_target.suites import BOTH, SUITES, paper_measurement_plan
from votewise.papers.same_target.tables import NAMES, PRINTED, QUOTED, SPARSE, TABLES, runs

PAPER = Paper(
    name="same-target",
    reference="arXiv 2605.20642",
    cite="Gheibi & Ghazizadeh 2026, arXiv 2605.20642",
    names=NAMES,
    published=PRINTED,
    datasets={"cifar10h": load_cifar10h},
    suites=SUITES,
    tables=TABLES,
    figures=FIGURES,
    quoted=QUOTED,
    claims=CLAIMS,
    overlap=OVERLAP,
    choices=CHOICES,
    beyond=(SPARSE,),
    outliers=(load_svhn, load_cifar100),
    measure=paper_measurement_plan,
    barriers={"barrier": (runs("sls"), runs("soft"))},
    similar={method: runs(method) for method in BOTH[::-1]},
    numbers_of_run=paper_numbers_of_run,
    numbers_of_results=paper_numbers_of_results,
    shared=lambda: {"confidence": derive_confidences()},
)
