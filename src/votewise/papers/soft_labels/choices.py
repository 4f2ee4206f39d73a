"""What the paper leaves open: how it averages, which epoch it scores, how it correlates entropies, and with what."""

from __future__ import annotations

from votewise.papers.paper import Choice
from votewise.papers.soft_labels.averages import BEST, CHANGES, LAST, OWN_LOSS, SETS
from votewise.papers.soft_labels.suites import FROZEN, MINILM, MPNET
from votewise.papers.soft_labels.tables import AVERAGE, CORRELATIONS

EPOCHS = {"by the method's own loss": OWN_LOSS, "by soft NLL": BEST, "the last": LAST}
MODELS = {f"{MPNET}, tuned": MPNET, f"{MINILM}, tuned": MINILM, f"{MINILM}, frozen": FROZEN}

CHOICES = (
    Choice("sets", "which data sets are averaged", SETS, next(iter(SETS)), AVERAGE),
    Choice("change", "how changes are averaged", CHANGES, next(iter(CHANGES)), AVERAGE),
    Choice("epoch", "which epoch is scored", EPOCHS, next(iter(EPOCHS)), AVERAGE),
    Choice("correlation", "how entropies are correlated", CORRELATIONS, "Spearman", AVERAGE),
    Choice("encoder", "which encoder of texts", MODELS, next(iter(MODELS)), AVERAGE),
)
