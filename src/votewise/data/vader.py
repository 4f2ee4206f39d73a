"""Sentiment of words and emoticons, each rated by ten people: the votes that come with votewise's demo.

Hutto and Gilbert (2014), "VADER: a parsimonious rule-based model for sentiment analysis of social media text".
The ratings are read from the MIT-licensed package `vaderSentiment`; nothing is downloaded.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np

from votewise._errors import InputError, MissingExtraError
from votewise.data.dataset import Dataset
from votewise.data.joining import join_inputs
from votewise.data.texts import Texts
from votewise.votes import Votes

CLASSES = ("very negative", "negative", "neutral", "positive", "very positive")

# Ratings run from -4 to 4; two of each sign make a class, so that each of the five gets votes.
_CLASS_OF_RATING = {-4: 0, -3: 0, -2: 1, -1: 1, 0: 2, 1: 3, 2: 3, 3: 4, 4: 4}


def load_vader() -> Dataset:
    """7,506 words and emoticons with ten votes each over five ordered classes; the item ids are the texts.

    Fourteen of the lexicon's 7,520 lines repeat a text; its first ratings are taken.
    """
    # The lexicon's file is found without running the package's code.
    spec = importlib.util.find_spec("vaderSentiment")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("the embedded vote data", "vaderSentiment", "demo")
    path = Path(spec.submodule_search_locations[0]) / "vader_lexicon.txt"
    if not path.is_file():
        raise InputError("vaderSentiment must contain vader_lexicon.txt", "it does not", "Install vaderSentiment 3.3.2")
    counts: dict[str, list[int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) != 4 or fields[0] in counts:
            continue
        tally = [0] * len(CLASSES)
        for rating in json.loads(fields[3]):
            tally[_CLASS_OF_RATING[rating]] += 1
        counts[fields[0]] = tally
    votes = Votes.from_counts(np.array(list(counts.values())), item_ids=list(counts), classes=CLASSES)
    return join_inputs(votes, Texts(votes.item_ids, tuple(counts)), name="vader")
