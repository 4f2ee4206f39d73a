"""Errors travel between processes."""

from __future__ import annotations

import pickle

import pytest

from votewise._errors import DivergedError, InputError, MissingExtraError, VotewiseError


@pytest.mark.parametrize(
    "error",
    [
        VotewiseError("it was not its day."),
        InputError("votes must be numbers", "got 'a'", "Count them"),
        MissingExtraError("training", "torch", "train"),
        DivergedError(3),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_being_pickled(error: VotewiseError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (str(copy), copy.args, vars(copy)) == (str(error), error.args, vars(error))
