"""What is computed of a run beyond what was recorded of it: all of it needs the votes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from votewise import metrics
from votewise._numerics import top_classes
from votewise.data import Prepared
from votewise.experiments.run import softmax
from votewise.papers.derived import derive_scaled_nll
from votewise.papers.paper import Numbers, Series
from votewise.papers.reduce import PaperRun

# Entropies are shown as a share of ln K, in bins and at quantiles.
BINS = np.linspace(0, 1, 21)
QUANTILES = np.linspace(0, 1, 21)

# Items of high entropy: on CIFAR-10H this keeps 28 % of the images. The paper gives no threshold.
HIGH_BITS = 0.25

# Items whose distributions are drawn: the tenth of highest entropy.
_DRAWN = 0.9


def numbers_of_run(run: PaperRun, data: Prepared | None) -> Iterator[tuple[Numbers, Series]]:
    """Scores with a fitted temperature, scores of the items that people or models agree on, and entropies to draw."""
    if data is None:
        return
    record = run.record
    people, probs = data.votes.probs[record.arrays["held_out"]], softmax(record.arrays["best_logits"])
    entropy = metrics.entropy_per_item(people)
    # Runs recorded before there was this metric lack it.
    for at in ("best", "last", "own"):
        if f"{at}_logits" in record.arrays and f"entropy_pearson_{at}" not in record.numbers:
            predicted = softmax(record.arrays[f"{at}_logits"])
            yield {f"entropy_pearson_{at}": metrics.entropy_pearson(people, predicted)}, {}
    fitted = derive_scaled_nll(record, data)
    for at in ("best", "last"):
        fitted[f"scaled_kl_{at}"] = fitted[f"scaled_soft_nll_{at}"] - float(entropy.mean())
    yield fitted, {}

    agreed = top_classes(probs) == top_classes(people)
    high = entropy / np.log(2) >= HIGH_BITS
    numbers = {}
    if agreed.any():
        numbers["agreed_kl_best"] = metrics.kl(people[agreed], probs[agreed])
    if high.sum() > 1:
        numbers["high_kl_best"] = metrics.kl(people[high], probs[high])
        numbers["high_entropy_correlation_best"] = metrics.entropy_correlation(people[high], probs[high])
        numbers["high_accuracy_majority_best"] = metrics.accuracy(top_classes(people[high]), probs[high])
    shares = np.minimum(entropy / np.log(people.shape[1]), 1)  # rounding may lift a uniform distribution above 1
    drawn = np.flatnonzero(entropy >= np.quantile(entropy, _DRAWN))
    order = np.argsort(-people[drawn], axis=1, kind="stable")
    yield (
        numbers,
        {
            "entropy_histogram": np.histogram(shares, BINS)[0] / len(shares),
            "entropy_quantiles": np.quantile(shares, QUANTILES),
            "drawn_people": np.take_along_axis(people[drawn], order, axis=1).mean(axis=0),
            "drawn_model": np.take_along_axis(probs[drawn], order, axis=1).mean(axis=0),
        },
    )
