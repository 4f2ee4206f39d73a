"""What a comparison shows, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from votewise._advice import Advice, advise_on_curves, advise_on_levels
from votewise._text import counted, format_number, format_p, listed
from votewise.report.findings import Findings
from votewise.report.look import in_words
from votewise.statistics import Sample
from votewise.statistics.decide import FEWEST, MARGINS

# A difference in soft NLL that three digits do not show.
_LEVEL = 0.0005

# More methods than these are counted, not named.
_MOST_NAMED = 6


def verdict(findings: Findings) -> str:
    """The result of a comparison: who does worse than no model, how close the rest is, who leads, and how sure that is.

    Soft NLL decides; methods are compared with the baseline on the seeds that both have.
    """
    first, *others = [*_levels_in_verdict(findings), *_lead_in_verdict(findings), *_tests_in_verdict(findings)]
    opening = findings.condition.opening
    begun = opening.endswith(", ")  # else the sentence begins here, or after a title and a colon
    return " ".join([opening + (first if begun else _capital(first)), *map(_capital, others)])


def advice_on(findings: Findings) -> list[Advice]:
    """What the curves and levels of a comparison say about its training, and what to change."""
    methods, settings = findings.methods, findings.condition.factors
    words = {method.name: in_words(method.name) for method in methods}
    return [
        *advise_on_levels(
            {method.name: Sample(method.by_seed) for method in methods},
            no_model=findings.no_model.mean, people=findings.people, model=str(settings.get("model")), words=words,
        ),
        *advise_on_curves(
            {method.name: method.shape for method in methods},
            epochs=len(methods[0].learning.x), at=findings.at, baseline=methods[0].name, words=words,
        ),
    ]  # fmt: skip


def coverage_sentence(findings: Findings) -> str:
    """How many models that had not seen an item scored it, in a sentence; empty where that is not known."""
    scored = findings.coverage
    if scored is None:
        return ""
    if scored.items == scored.of:
        subject = "Every item was scored"
    else:
        things = "items" if scored.of is None else f"of {counted(scored.of, 'item')}"
        subject = f"{scored.items:,} {things} were scored, each"
    low, high = scored.fewest, scored.most
    models = counted(high, "model") if low == high else f"{low} to {high} models"
    return f"{subject} by {models} per method that had not seen it."


def _levels_in_verdict(findings: Findings) -> Iterator[str]:
    """The level that methods reach, and which do no better than the mean vote shares of other items."""
    means = {method.name: method.soft_nll.mean for method in findings.methods}
    floor = findings.no_model.mean if findings.no_model.n else None
    behind = [method for method in means if floor is not None and means[method] >= floor]
    ahead = [method for method in means if method not in behind]
    if behind and not ahead:
        best = min(means, key=lambda method: means[method])
        yield (
            f"no method beats the average vote shares, which need no model: these score {format_number(floor)}, and "
            f"{in_words(best)}, the best method, {format_number(means[best])} (soft NLL, lower is better)."
        )
        return
    if behind:
        shown = listed([format_number(means[method]) for method in behind])
        yield (
            f"{listed(list(map(in_words, behind)))} {_verb(behind, 'do', 'does')} worse than no model at all "
            f"({shown} against {format_number(floor)}; soft NLL, lower is better)."
        )
    low, high = (format_number(level(means[method] for method in ahead)) for level in (min, max))
    named = listed(list(map(in_words, ahead)))
    subject = f"{named if len(ahead) <= _MOST_NAMED else f'{len(ahead)} methods'} {_verb(ahead, 'reach', 'reaches')}"
    range_ = low if low == high else f"{low} to {high}"
    if behind:
        yield f"{subject} {range_}."
    else:
        without = "" if floor is None else f"; {format_number(floor)} without a model"
        yield f"{subject} a soft NLL of {range_} (lower is better{without})."


def _lead_in_verdict(findings: Findings) -> Iterator[str]:
    """The best method beside the baseline."""
    if len(findings.methods) == 1:
        return
    baseline = in_words(findings.methods[0].name)
    compared = {method.name: method.test for method in findings.methods if method.test and method.test.n}
    if not compared:
        yield f"no method shares a seed with {baseline}, so none can be compared with it."
        return
    method = min(compared, key=lambda name: compared[name].difference)
    test, best = compared[method], in_words(method)
    is_ = _verb([method], "are", "is")
    gap, average = format_number(abs(test.difference)), "" if test.wins in (0, test.n) else " on average"
    if abs(test.difference) < _LEVEL:
        yield f"{best} {is_} level with {baseline} (lower on {test.wins} of {counted(test.n, 'seed')})."
    elif test.difference < 0:
        seeds = f"on all {test.n} seeds" if test.wins == test.n > 1 else f"on {test.wins} of {counted(test.n, 'seed')}"
        yield f"{best} {is_} ahead of {baseline} {seeds}, by {gap}{average}."
    elif len(compared) == 1:
        yield f"{best} {is_} {gap} behind {baseline}{average} (ahead on {test.wins} of {counted(test.n, 'seed')})."
    else:
        yield (
            f"no method is ahead of {baseline}: the closest, {best}, {is_} {gap} behind{average} "
            f"(ahead on {test.wins} of {counted(test.n, 'seed')})."
        )


def _tests_in_verdict(findings: Findings) -> Iterator[str]:
    """What the seeds confirm of the differences from the baseline, by the rule of `statistics.decide`."""
    compared = [method for method in findings.methods if method.lower is not None and method.verdict]
    if not compared:
        return
    seeds = max(method.lower.estimates[0].n for method in compared if method.lower is not None)
    if seeds < FEWEST:
        several = "one seed is" if seeds == 1 else f"{seeds} seeds are"
        yield f"{several} too few to confirm any difference; it takes {FEWEST}."
        return
    baseline = in_words(findings.methods[0].name)
    sides: dict[str, list[str]] = {}
    undecided, reaches, dependent = [], [], []
    for method in compared:
        name, lower = in_words(method.name), method.lower
        assert lower is not None
        if method.verdict in ("ahead", "behind"):
            sides.setdefault(method.verdict, []).append(f"{name} ({_p_in_words(lower.p_holm)})")
            dependent += [name] if lower.rests_on_independence else []
        elif method.verdict == "level":
            sides.setdefault(method.verdict, []).append(name)
        else:
            undecided.append(name)
            reaches += [] if lower.reach is None else [lower.reach]
    confirmed = [
        f"{listed(sides[side])} {side} {preposition} {baseline}"
        for side, preposition in (("ahead", "of"), ("behind", ""), ("level", "with"))
        if side in sides
    ]
    if confirmed:
        margin = f" (within {MARGINS['soft NLL']:g})" if "level" in sides else ""
        yield f"{seeds} seeds confirm {'; '.join(confirmed)}{margin}.".replace("  ", " ")
    if undecided:
        enough = f": it would have taken a difference of {format_number(max(reaches))}" if reaches else ""
        differ = _verb(undecided, "differ", "differs")
        yield f"whether {listed(undecided)} {differ} from {baseline} is undecided{enough}."
    if dependent:
        yield f"allowing for the training items that seeds share, {listed(dependent)} would be undecided."


def _p_in_words(value: float | None) -> str:
    shown = format_p(value)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def _verb(methods: Sequence[str], plural: str, singular: str) -> str:
    return plural if len(methods) > 1 or in_words(methods[0]).endswith("labels") else singular


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
