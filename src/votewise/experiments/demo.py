"""The demo: deliveries compared on real votes in a minute, with all votes of an item and with three."""

from __future__ import annotations

from dataclasses import replace

from votewise.data import Dataset, Prepared, load_vader, prepare
from votewise.experiments.defaults import default_grid
from votewise.experiments.grid import Grid

# All ten votes, and three. arXiv 2605.20642 finds soft and hard labels level with many votes, apart with few.
VOTES = (None, 3)


def demo_data() -> tuple[Dataset, Prepared]:
    """The words and emoticons of VADER with their ten votes each, as texts and as n-grams."""
    from votewise.models import find_model

    words = load_vader()
    return words, prepare(words, find_model("ngram", "text"))


def demo_grid(seeds: int) -> Grid:
    """The runs of the demo: those of a comparison of one's own data, with all votes and with few."""
    grid = default_grid(("soft", "multipass", "sls", "majority"), seeds, model="ngram")
    return replace(grid, votes=VOTES)
