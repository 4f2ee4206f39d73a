"""A made-up paper: soft labels beside majority labels, four seeds each, at the best epoch or the last."""

from pathlib import Path

import numpy as np

from votewise import Votes
from votewise.data import Dataset
from votewise.data.tables import Features
from votewise.papers.claims import Claim, claim_lower
from votewise.papers.paper import Axis, Choice, Entry, FigureSpec, Pairing, Paper, TableSpec, paper_entries
from votewise.papers.published import read_published
from votewise.papers.suites import Suite
from votewise.report.document import Curve, Panel
from votewise.training import TrainConfig

SOFT, MAJORITY = ({"method": method, "votes": None, "hold": 1} for method in ("soft", "majority"))
GAIN = Entry(
    "gain", "soft NLL", "soft_nll_{epoch}", MAJORITY, ("quoted", "gain", "soft"), less=("soft_nll_{epoch}", SOFT)
)


def load(name, seed):
    rng = np.random.default_rng(seed)
    votes = Votes.from_counts(rng.multinomial(6, [0.5, 0.3, 0.2], size=60))
    return Dataset(name, Features(None, rng.normal(size=(60, 4)).astype(np.float32)), votes, f"{seed:064x}")


def recipe():
    return TrainConfig(epochs=2, batch_size=16)


def panel(results):
    values = results.sample("soft_nll_best", SOFT).values
    seeds = np.arange(len(values), dtype=float)
    curves = (Curve("soft labels", seeds, values, values, values),) if len(values) else ()
    return Panel("", "seed", "soft NLL", curves)


PAPER = Paper(
    name="made-up",
    reference="Nobody 2026",
    cite="Nobody 2026",
    names={"soft": "soft labels", "majority": "majority labels"},
    datasets={"toy": lambda _: load("toy", 1)},
    suites={"main": Suite("toy", "mlp", recipe, ("soft", "majority"), 4)},
    published=read_published(Path(__file__).with_name("published.toml")),
    tables=(
        TableSpec(
            "table-1", "both methods",
            paper_entries(
                "table-1",
                [Axis("soft labels", SOFT, key=("soft", 4)), Axis("majority labels", MAJORITY, key=("majority", 4))],
                [Axis(name, number=f"{name}_{{epoch}}", key=(name,)) for name in ("soft_nll", "accuracy")],
            ),
            pairings=(Pairing(SOFT, MAJORITY, "soft NLL", "soft_nll_{epoch}", key=("table-1", "soft", "soft_nll")),),
        ),
    ),
    figures=(FigureSpec("figure-1", "soft NLL by seed", "Seeds differ little.", (panel,), (GAIN,)),),
    quoted=TableSpec("scalars", "numbers in the text", (GAIN,)),
    claims=(
        Claim("soft labels are below majority labels in soft NLL", *claim_lower("soft_nll_best", SOFT, MAJORITY), "Table 1"),
        Claim("majority labels are below soft labels in soft NLL", *claim_lower("soft_nll_best", MAJORITY, SOFT), "Table 1"),
    ),
    choices=(Choice("epoch", "which epoch", {"best": "best", "last": "last"}, "best", (GAIN,), usual="last"),),
)  # fmt: skip
