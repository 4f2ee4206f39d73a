"""Items with what people and models say of them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping

import numpy as np

from votewise._checks import FloatArray, IntArray
from votewise._numerics import entropy_rows, rankable
from votewise._text import shortened
from votewise.records import ItemData
from votewise.report.document import Item

# Characters shown of a text, and of each text of a pair.
_LONGEST_TEXT = 280
_MOST = 12


def hardest_items(data: ItemData, predicted: Mapping[str, Iterable[tuple[IntArray, FloatArray]]]) -> tuple[Item, ...]:
    """The items scored by every method that people disagree on most, with each method's mean prediction.

    Args:
        data: votes and items.
        predicted: held-out rows (m,) and predicted shares (m, K) of each run, by method.
    """
    shares = data.votes.probs
    means, models = {}, np.full(len(shares), np.iinfo(np.int64).max)
    for method, by_run in predicted.items():
        total, times = np.zeros(shares.shape), np.zeros(len(shares), dtype=np.int64)
        for rows, probs in by_run:
            total[rows] += probs
            times[rows] += 1
        means[method] = total / np.maximum(times, 1)[:, None]
        models = np.minimum(models, times)
    scored = np.flatnonzero(models)
    hardest = scored[np.argsort(-rankable(entropy_rows(shares[scored])), kind="stable")[:_MOST]]
    items = []
    for row in hardest.tolist():
        text = "" if data.texts is None else data.texts[row]
        picture = b"" if data.pictures is None else data.pictures[row]
        kind = "webp" if picture[8:12] == b"WEBP" else "png"
        items.append(
            Item(
                str(data.votes.item_ids[row]),
                tuple(shares[row].tolist()),
                {method: tuple(mean[row].tolist()) for method, mean in means.items()},
                shortened(text, _LONGEST_TEXT),
                f"data:image/{kind};base64,{b64encode(picture).decode()}" if picture else "",
                f"mean of {models[row]} models of each method" if models[row] > 1 else "",
                "" if data.paths is None else data.paths[row],
            )
        )
    return tuple(items)
