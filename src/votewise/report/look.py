"""One look for every method: its name in words, and how its line is drawn in every figure.

Colours are by lightness as well as by hue (from Okabe and Ito 2008, and Tol 2021), each at least three times as dark
or light as paper. Methods that share a dash differ by at least 15 in CIE lightness, so that grey prints and
colour-blind readers tell all of them apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True)
class Look:
    """How a method is called and drawn.

    Attributes:
        words: its name in a sentence.
        colour: "#rrggbb".
        dash: lengths of strokes and gaps in line widths; empty for a solid line.
        marker: shape of its points, by Matplotlib's name; one for each dash.
    """

    words: str
    colour: str
    dash: tuple[float, ...]
    marker: str


# Dashes with their markers.
_SOLID, _DASHED, _DASH_DOT = ((), "o"), ((5.0, 2.0), "s"), ((6.0, 1.5, 1.2, 1.5), "^")
_DOTTED, _TWO_DOTS, _LONG = ((1.2, 1.5), "D"), ((6.0, 1.5, 1.2, 1.5, 1.2, 1.5), "v"), ((11.0, 2.5), "P")
STROKES = (_SOLID, _DASHED, _DASH_DOT, _DOTTED, _TWO_DOTS, _LONG)

LOOKS: dict[str, Look] = {
    "soft": Look("soft labels", "#0072B2", *_SOLID),
    "multipass": Look("multipass", "#009E73", *_DASHED),
    "multipass-prior": Look("multipass with a fitted prior", "#00441B", *_LONG),
    "multipass-crossfit": Look("multipass with a cross-fitted prior", "#4A0E4E", *_SOLID),
    "deterministic-control": Look("deterministic control", "#3A93C9", *_DOTTED),
    "sls": Look("SLS", "#D55E00", *_DASH_DOT),
    "shuffled-sls": Look("shuffled SLS", "#882255", *_DASH_DOT),
    "majority": Look("majority vote", "#222222", *_DOTTED),
    "label-smoothing": Look("label smoothing", "#CC8400", *_SOLID),
    "soft-smoothed": Look("smoothed soft labels", "#332288", *_DASHED),
    "dirichlet": Look("Dirichlet-smoothed labels", "#CC79A7", *_TWO_DOTS),
    "dirichlet-fitted": Look("labels with a fitted Dirichlet prior", "#7A3B00", *_TWO_DOTS),
    "mixup": Look("mixup", "#777777", *_LONG),
}

_BY_WORDS = {look.words: name for name, look in LOOKS.items()}


def in_words(name: str) -> str:
    """A method's name in a sentence.

    >>> in_words("sls"), in_words("sls:hold=5"), in_words("my-own")
    ('SLS', 'SLS (hold=5)', 'my-own')
    """
    method, _, options = name.partition(":")
    words = LOOKS[method].words if method in LOOKS else method
    return f"{words} ({options})" if options else words


def looks_of(names: Iterable[str]) -> dict[str, Look]:
    """The looks of some methods, all different.

    A method of the table always has its own look. Any other gets one by its name, and a variant, such as "sls:hold=5",
    the colour of its method; where two names would get the same, the later one gets the next that is free.

    Args:
        names: methods by name or in words, perhaps with options.
    """
    names = tuple(dict.fromkeys(names))
    looks = {name: LOOKS[_BY_WORDS.get(name, name)] for name in names if _BY_WORDS.get(name, name) in LOOKS}
    taken = {(look.colour, look.dash) for look in LOOKS.values()}
    colours = [look.colour for look in LOOKS.values()]
    for name in names:
        if name in looks:
            continue
        method = name.partition(":")[0]
        own = [LOOKS[method].colour] if method in LOOKS else []
        first = int.from_bytes(sha256(name.encode()).digest()[:4], "big")
        every = [(colour, stroke) for colour in colours for stroke in STROKES]
        turned = every[first % len(every) :] + every[: first % len(every)]
        wanted = [one for one in turned if one[0] in own] + turned
        free = next((one for one in wanted if (one[0], one[1][0]) not in taken), wanted[0])
        taken.add((free[0], free[1][0]))
        looks[name] = Look(in_words(name), free[0], *free[1])
    return {name: looks[name] for name in names}
