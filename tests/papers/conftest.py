"""One small store of the paper's runs, and what it shows, for all tests of the paper."""

from __future__ import annotations

import pytest

from paper_runs import paper_material, write_store
from votewise.experiments.material import Material
from votewise.papers.same_target.evidence import Evidence
from votewise.papers.same_target.reduce import reduce_runs
from votewise.records import RecordStore


@pytest.fixture(scope="session")
def votes_and_images() -> Material:
    return paper_material()


@pytest.fixture(scope="session")
def store(votes_and_images: Material, tmp_path_factory: pytest.TempPathFactory) -> RecordStore:
    """Three seeds of all suites, and the ways of mixup."""
    store = RecordStore(tmp_path_factory.mktemp("runs"))
    write_store(store, votes_and_images, seeds=3)
    write_store(store, votes_and_images, seeds=1, suite="mixup")
    return store


@pytest.fixture(scope="session")
def evidence(store: RecordStore, votes_and_images: Material) -> Evidence:
    return reduce_runs(store, votes_and_images)
