"""How inputs were read, as it is saved with a model."""

from __future__ import annotations

from own_data import refusal
from votewise.data import InputForm


def test_how_inputs_were_read_is_kept_and_checked() -> None:
    form = InputForm(size=7, suffixes=True, columns=("a", "b"), text_column="t")
    assert InputForm.from_dict(form.to_dict()) == form
    assert form.to_dict() == {"size": 7, "suffixes": True, "columns": ["a", "b"], "text_column": "t"}
    assert "how inputs are read must be one of size, suffixes, columns, text_column" in refusal(
        InputForm.from_dict, {"x": 1}
    )
    assert "the columns of features must be list, but got int" in refusal(InputForm.from_dict, {"columns": 5})
    pairs = InputForm(text_column=("premise", "hypothesis"))
    assert InputForm.from_dict(pairs.to_dict()) == pairs
    assert pairs.to_dict()["text_column"] == ["premise", "hypothesis"]
    assert refusal(InputForm.from_dict, {"text_column": ["a", "b", "c"]}) == (
        "the text column must be one name or two, but got 'a', 'b', 'c'. Train the model again."
    )
    for size in ("x", 0, True, 1.5):
        assert "the size of images must be a whole number of at least 1" in refusal(InputForm.from_dict, {"size": size})
