"""A student of a teacher that was trained on votes, on real words: `benchmarks/teacher.py` on a third of them."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch

from votewise import SLS, HardDelivery, Soft, Targets
from votewise.data import load_vader

SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "teacher.py"))


@pytest.fixture(scope="module")
def scores() -> dict[str, np.ndarray]:
    """Soft NLL at the chosen and the last epoch by student, (seeds, 2)."""
    torch.set_num_threads(1)
    table = np.array([SCRIPT["scores_of"](SCRIPT["Job"](seed, 3, 20)) for seed in range(3)])
    return {name: table[:, row] for row, name in enumerate(("teacher", *SCRIPT["STUDENTS"]))}


def test_a_student_of_teacher_and_votes_is_ahead_of_students_of_either(scores: dict[str, np.ndarray]) -> None:
    """On every seed, at the chosen and the last epoch."""
    of_both = scores["multipass, the teacher as prior"]
    for name in ("soft labels of the teacher", "SLS from the teacher", "multipass on three votes"):
        assert (of_both < scores[name]).all(), name


def test_sls_learns_from_a_teacher_alone(scores: dict[str, np.ndarray]) -> None:
    """Nearly as much as from its soft labels, and far more than nothing: five equal shares have ln 5."""
    apart = scores["SLS from the teacher"] - scores["soft labels of the teacher"]
    assert np.abs(apart).max() < 0.1
    assert scores["SLS from the teacher"].max() < np.log(5) - 0.1


def test_the_parts_of_teacher_and_students_do_not_overlap() -> None:
    parts = [set(part.votes.item_ids.tolist()) for part in SCRIPT["parts_of"](load_vader().votes, seed=1)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == load_vader().votes.n_items


def test_a_teachers_predictions_are_targets_like_any_other() -> None:
    told = Targets(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array(["a", "b"]), ("x", "y"), "a teacher")
    draws = SLS(told, seed=0)
    assert isinstance(draws, HardDelivery)
    mean = np.mean([draws.targets(epoch) for epoch in range(5000)], axis=0)
    np.testing.assert_allclose(mean, Soft(told).targets(0), atol=0.035)
