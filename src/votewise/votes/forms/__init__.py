"""Tables to votes by a finished plan, one file per form."""

from __future__ import annotations

from collections.abc import Callable

from votewise.votes.forms import counts, lists, long, one_hot, wide
from votewise.votes.forms.rows import Rules as Rules
from votewise.votes.reading import Reading
from votewise.votes.sources import Table
from votewise.votes.table import Votes

READERS: dict[str, Callable[[Table, Reading, Rules], Votes]] = {
    "long": long.read,
    "one-hot": one_hot.read,
    "wide": wide.read,
    "survey": wide.read_survey,
    "lists": lists.read,
    "counts": counts.read,
    "probabilities": counts.read,
}
