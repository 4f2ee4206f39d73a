"""One small store of the paper's runs, and what it shows, for all tests of the paper."""

from __future__ import annotations

import pytest

from paper_runs import paper_material, write_store
from votewise.data.dataset import Prepared
from votewise.papers.reduce import reduce_runs
from votewise.papers.same_target import PAPER
from votewise.records import RecordStore, Results


@pytest.fixture(scope="session")
def votes_and_images() -> Prepared:
    return paper_material()


@pytest.fixture(scope="session")
def store(votes_and_images: Prepared, tmp_path_factory: pytest.TempPathFactory) -> RecordStore:
    """Three seeds of all suites, and the ways of mixup."""
    store = RecordStore(tmp_path_factory.mktemp("runs"))
    write_store(store, votes_and_images, seeds=3)
    write_store(store, votes_and_images, seeds=1, suite="mixup")
    return store


@pytest.fixture(scope="session")
def reduced(store: RecordStore, votes_and_images: Prepared) -> Results:
    return reduce_runs(PAPER, store, votes_and_images)
