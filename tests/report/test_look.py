"""Every method has a look of its own, which grey prints and colour-blind readers can tell from the others."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from votewise.delivery import METHODS
from votewise.report.look import LOOKS, STROKES, Look, in_words, looks_of

# Linear RGB as protanopes, deuteranopes and tritanopes see it (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHT = {
    "all cones": np.eye(3),
    "no long cones": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "no middle cones": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "no short cones": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    scaled = TO_XYZ @ np.clip(rgb, 0, 1) / [0.9505, 1.0, 1.089]
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def lightness(look: Look) -> float:
    return float(lab(linear(look.colour))[0])


def test_every_method_has_a_look() -> None:
    assert set(METHODS) | {"mixup"} == set(LOOKS)
    assert len({(look.colour, look.dash) for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.words for look in LOOKS.values()}) == len(LOOKS)
    assert len({dash for dash, _ in STROKES}) == len({marker for _, marker in STROKES}) == len(STROKES)


@pytest.mark.parametrize("pair", list(combinations(LOOKS, 2)), ids=" and ".join)
def test_grey_prints_tell_methods_apart(pair: tuple[str, str]) -> None:
    one, other = (LOOKS[name] for name in pair)
    assert one.dash != other.dash or abs(lightness(one) - lightness(other)) > 15


@pytest.mark.parametrize("sight", SIGHT)
def test_the_colour_blind_tell_methods_apart(sight: str) -> None:
    for one, other in combinations(LOOKS.values(), 2):
        seen = [lab(SIGHT[sight] @ linear(look.colour)) for look in (one, other)]
        assert one.dash != other.dash or np.linalg.norm(seen[0] - seen[1]) > 25


@pytest.mark.parametrize("name", LOOKS)
def test_lines_stand_out_from_the_paper(name: str) -> None:
    luminance = float((TO_XYZ @ linear(LOOKS[name].colour))[1])
    assert 1.05 / (luminance + 0.05) >= 3


def test_methods_keep_their_look_in_any_company() -> None:
    alone = looks_of(["sls"])["sls"]
    assert alone == LOOKS["sls"] == looks_of(["my-own", "soft", "sls"])["sls"] == looks_of(["SLS"])["SLS"]


def test_made_up_methods_get_a_stable_look_of_their_own() -> None:
    looks = looks_of(["soft", "my-own", "sls:hold=5", "mixup, α 0.2"])
    assert looks == {name: looks_of([name])[name] for name in looks}
    assert len({(look.colour, look.dash) for look in [*looks.values(), *LOOKS.values()]}) == len(LOOKS) + 3
    assert looks["sls:hold=5"].colour == LOOKS["sls"].colour
    assert looks["my-own"].words == "my-own"


def test_many_made_up_methods_differ() -> None:
    assert len({(look.colour, look.dash) for look in looks_of(f"method {n}" for n in range(40)).values()}) == 40


def test_more_methods_than_looks_still_get_one() -> None:
    assert len(looks_of(f"method {n}" for n in range(200))) == 200


def test_names_in_words() -> None:
    assert [in_words(name) for name in ("soft", "sls:hold=5", "my-own")] == ["soft labels", "SLS (hold=5)", "my-own"]
