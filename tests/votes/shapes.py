# ruff: noqa: PERF401
# fmt: off
"""Tables of many shapes with the votes they hold: each form, platform and awkward part, alone and in pairs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Truth = dict[str, dict[str, float]]

WORDS = ["river", "stone", "lamp", "garden", "window", "copper", "silent", "morning", "paper", "orange", "travel", "engine", "forest", "simple"]


@dataclass(frozen=True)
class Shape:
    """A table.

    Attributes:
        name: what it is.
        file: name of its file.
        content: its bytes.
        truth: number (or share) of votes by item and class; None if it holds no votes that can be read.
        choices: other truths, where the table has several questions and any may be meant.
    """

    name: str
    file: str
    content: bytes
    truth: Truth | None
    choices: tuple[Truth, ...] = field(default=())


@dataclass(frozen=True)
class Vote:
    """Who said what about what."""

    item: str
    annotator: str
    label: str


def votes(
    seed: int, items: int = 30, people: int = 9, each: int = 4, classes: Sequence[str] = ("cat", "dog", "bird"), prefix: str = "img_", person: str = "w"
) -> list[Vote]:
    """Votes of random people; items differ in how far people agree."""
    rng = random.Random(seed)
    made = []
    for number in range(items):
        liked = rng.choice(classes)
        for who in sorted(rng.sample(range(people), each)):
            label = liked if rng.random() < 0.6 else rng.choice(classes)
            made.append(Vote(f"{prefix}{number + 101}", f"{person}{who + 11}", label))
    return made


def tally(made: Sequence[Vote]) -> Truth:
    """The truth of votes."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for vote in made:
        counted[vote.item][vote.label] += 1
    return {item: dict(counts) for item, counts in counted.items()}


def text(rng: random.Random, words: int = 9) -> str:
    """A sentence."""
    return " ".join(rng.choice(WORDS) for _ in range(words)).capitalize() + "."


def table(rows: Sequence[dict[str, Any]], separator: str = ",", header: bool = True, quoting: int = csv.QUOTE_MINIMAL) -> bytes:
    """Rows as a text file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=separator, lineterminator="\n", quoting=quoting)  # type: ignore[arg-type]
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def long_rows(made: Sequence[Vote], item: str = "item_id", annotator: str | None = "worker_id", label: str = "label") -> list[dict[str, Any]]:
    """A row for each vote."""
    return [{item: v.item, **({annotator: v.annotator} if annotator else {}), label: v.label} for v in made]


def by_item(made: Sequence[Vote]) -> dict[str, list[Vote]]:
    """The votes of each item."""
    grouped: dict[str, list[Vote]] = defaultdict(list)
    for vote in made:
        grouped[vote.item].append(vote)
    return grouped


def wide_rows(made: Sequence[Vote], gap: str = "", item: str = "item_id", prefix: str = "") -> list[dict[str, Any]]:
    """A row for each item, a column for each annotator."""
    people = sorted({v.annotator for v in made})
    rows = []
    for name, group in by_item(made).items():
        said = {v.annotator: v.label for v in group}
        rows.append({item: name, **{f"{prefix}{who}": said.get(who, gap) for who in people}})
    return rows


def slot_rows(made: Sequence[Vote], stem: str = "label", ids: str | None = None, item: str = "item_id") -> list[dict[str, Any]]:
    """A row for each item, a column for the first vote, the second, ..."""
    rows = []
    for name, group in by_item(made).items():
        row: dict[str, Any] = {item: name}
        row |= {f"{stem}{place}": v.label for place, v in enumerate(group, 1)}
        row |= {f"{ids}{place}": v.annotator for place, v in enumerate(group, 1)} if ids else {}
        rows.append(row)
    return rows


def count_rows(made: Sequence[Vote], item: str = "item_id") -> list[dict[str, Any]]:
    """A row for each item, a column of counts for each class."""
    classes = sorted({v.label for v in made})
    return [
        {item: name, **{c: sum(v.label == c for v in group) for c in classes}} for name, group in by_item(made).items()
    ]


def described(rows: list[dict[str, Any]], key: str, seed: int = 5) -> list[dict[str, Any]]:
    """Rows with a sentence for each value of a column."""
    rng = random.Random(seed)
    texts = {value: text(rng) for value in dict.fromkeys(row[key] for row in rows)}
    return [{**row, "text": texts[row[key]]} for row in rows]


def shuffled(rows: list[dict[str, Any]], seed: int = 3) -> list[dict[str, Any]]:
    """Rows in another order."""
    rows = list(rows)
    random.Random(seed).shuffle(rows)
    return rows


SHAPES: list[Shape] = []


def shape(name: str, file: str, content: bytes, truth: Truth | None, *choices: Truth) -> None:
    """Add a table to the corpus."""
    SHAPES.append(Shape(name, file, content, truth, choices))


def _renamed(rows: list[dict[str, Any]], names: dict[str, str]) -> list[dict[str, Any]]:
    return [{names.get(key, key): value for key, value in row.items()} for row in rows]


def _long() -> None:
    v = votes(1)
    truth = tally(v)
    shape("long, usual names", "a.csv", table(long_rows(v)), truth)
    shape("long, shuffled", "a.csv", table(shuffled(long_rows(v))), truth)
    shape("long, text beside", "a.csv", table(described(long_rows(v), "item_id")), truth)
    shape("long, house names", "a.csv", table(_renamed(long_rows(v), {"item_id": "stimulus", "worker_id": "subj", "label": "verdict"})), truth)
    shape("long, neutral names", "a.csv", table(_renamed(long_rows(v), {"item_id": "a", "worker_id": "b", "label": "c"})), truth)
    shape("long, prefixed names", "a.csv", table(_renamed(long_rows(v), {"item_id": "!image_id", "worker_id": "!amt_worker_ids", "label": "_answer"})), truth)
    parts = []
    for vote in v:
        parts.append({"task": f"part {int(vote.item[4:]) % 4}", "unit": vote.item, "_worker": vote.annotator, "label": vote.label})
    shape("long, a describing column called task", "a.csv", table(parts), truth)
    rng = random.Random(7)
    ages = {who: rng.choice(["18-29", "30-49", "50+"]) for who in sorted({x.annotator for x in v})}
    gender = {who: rng.choice(["f", "m"]) for who in sorted(ages)}
    rows = [{"comment_id": x.item, "user_id": x.annotator, "age": ages[x.annotator], "gender": gender[x.annotator], "seconds": rng.randint(3, 90), "offensive": x.label} for x in v]
    shape("long, demographics, label of unknown name", "a.csv", table(rows), truth)
    rows = [{"row": n, "headline_id": x.item, "rater": x.annotator, "rating": x.label, "submitted_at": f"2021-03-{n % 28 + 1:02} 10:{n % 60:02}:00"} for n, x in enumerate(v)]
    shape("long, row number and time", "a.csv", table(rows), truth)
    shape("long, an index column", "a.csv", table([{"": n, **row} for n, row in enumerate(long_rows(v))]), truth)
    shape("long, row number called id", "a.csv", table([{"id": n, **row} for n, row in enumerate(long_rows(v, item="sentence", annotator="annotator"))]), truth)
    shape("long, no annotators", "a.csv", table(long_rows(v, annotator=None)), truth)
    anon = [{"item_id": x.item, "label": x.label, "coder_key": x.annotator[::-1]} for x in v]
    shape("long, annotators under a vague name", "a.csv", table(anon), truth)
    hidden = [{"item_id": x.item, "label": x.label, "zz": x.annotator} for x in v]
    shape("long, annotators under no name at all", "a.csv", table(hidden), truth)
    shape("long, tabs in a .csv", "a.csv", table(long_rows(v), "\t"), truth)
    shape("long, semicolons", "a.csv", table(described(long_rows(v), "item_id"), ";"), truth)
    shape("long, bars in a .txt", "a.txt", table(long_rows(v), "|"), truth)
    shape("long, everything quoted", "a.csv", table(described(long_rows(v), "item_id"), quoting=csv.QUOTE_ALL), truth)
    shape("long, compressed", "a.csv.gz", gzip.compress(table(long_rows(v))), truth)
    shape("long, UTF-16", "a.csv", table(long_rows(v)).decode().encode("utf-16"), truth)
    accented = [{**row, "label": {"cat": "chatte", "dog": "chien", "bird": "pâté"}[row["label"]]} for row in long_rows(v)]
    renamed = {item: {{"cat": "chatte", "dog": "chien", "bird": "pâté"}[c]: n for c, n in row.items()} for item, row in truth.items()}
    shape("long, latin-1", "a.csv", table(accented).decode().encode("latin-1"), renamed)
    shape("long, no header", "a.csv", table(long_rows(v), header=False), truth)
    shape("long, a title above", "a.csv", b"Export of 3 May\n\n" + table(long_rows(v)), truth)
    again = table(long_rows(v)).split(b"\n")
    shape("long, header repeated inside", "a.csv", b"\n".join([*again[:40], again[0], *again[40:]]), truth)
    shape("long, blank rows inside", "a.csv", b"\n".join([*again[:40], b",,", b",,", *again[40:]]), truth)
    lost = [{**row, "label": "." if n % 11 == 3 else row["label"]} for n, row in enumerate(long_rows(v))]
    kept = tally([x for n, x in enumerate(v) if n % 11 != 3])
    shape("long, a dot for no answer", "a.csv", table(lost), kept)
    lost = [{**row, "label": "" if n % 11 == 3 else row["label"]} for n, row in enumerate(long_rows(v))]
    shape("long, blanks for no answer", "a.csv", table(lost), kept)
    shape("long, jsonl", "a.jsonl", "\n".join(json.dumps(row) for row in long_rows(v)).encode(), truth)


def _items() -> None:
    rng = random.Random(11)
    made = []
    for story in range(8):
        for sentence in range(5):
            for who in rng.sample(range(6), 4):
                made.append((f"s{story}", str(sentence), f"a{who}", rng.choice(["yes", "no", "maybe"])))
    truth: Truth = tally([Vote(f"{a} | {b}", c, d) for a, b, c, d in made])
    keys = ("story", "sentence", "annotator", "label")
    shape("long, the item is a pair", "a.csv", table([dict(zip(keys, row, strict=True)) for row in made]), truth)
    keys = ("document", "sentence_number", "annotator", "answer")
    shape("long, the item's number restarts", "a.csv", table([dict(zip(keys, row, strict=True)) for row in made]), truth)
    keys = ("group", "item", "rater", "label")
    shape("long, the item restarts in each group", "a.csv", table([dict(zip(keys, row, strict=True)) for row in made]), truth)
    v = votes(12)
    pairs = described(long_rows(v, item="pair"), "pair")
    shape("long, text that names the item, too", "a.csv", table(pairs), tally(v))
    only = [{"sentence": row["text"], "annotator": row["worker_id"], "label": row["label"]} for row in pairs]
    named = {row["pair"]: row["text"] for row in pairs}
    shape("long, only the text names the item", "a.csv", table(only), {named[i]: c for i, c in tally(v).items()})


def _labels() -> None:
    v = votes(21, classes=("1", "2", "3", "4", "5"))
    shape("long, a rating scale", "a.csv", table(long_rows(v, label="rating")), tally(v))
    signed = votes(22, classes=("-2", "-1", "0", "1", "2"))
    shape("long, a scale around 0", "a.csv", table(long_rows(signed, label="score")), tally(signed))
    rng = random.Random(23)
    fine = [{"item": x.item, "worker": x.annotator, "rating": f"{rng.random():.3f}"} for x in v]
    shape("long, continuous ratings", "a.csv", table(fine), None)
    free = [{"item": x.item, "worker": x.annotator, "answer": text(rng, 5)} for x in v]
    shape("long, free text", "a.csv", table(free), None)
    both = [{"item": x.item, "worker": x.annotator, "answer": text(rng, 6), "rating": x.label} for x in v]
    shape("long, free text beside a rating", "a.csv", table(both), tally(v))
    questions = [{"item": x.item, "worker": x.annotator, "fluency": x.label, "adequacy": rng.choice("12345")} for x in v]
    other = tally([Vote(r["item"], r["worker"], r["adequacy"]) for r in questions])
    shape("long, two questions", "a.csv", table(questions), tally(v), other)
    gold = {i: rng.choice("12345") for i in tally(v)}
    rows = [{"item": x.item, "worker": x.annotator, "gold": gold[x.item], "answer": x.label, "correct": int(gold[x.item] == x.label)} for x in v]
    shape("long, gold and correctness beside", "a.csv", table(rows), tally(v))
    w = votes(24)
    several = []
    truth: dict[str, Counter[str]] = defaultdict(Counter)
    for x in w:
        chosen = sorted({x.label, rng.choice(["cat", "dog", "bird", "fish"])}) if rng.random() < 0.3 else [x.label]
        several.append({"item": x.item, "worker": x.annotator, "label": ";".join(chosen)})
        truth[x.item].update(chosen)
    shape("long, several classes in an answer", "a.csv", table(several), {k: dict(c) for k, c in truth.items()})
    as_json = [{**row, "label": json.dumps(row["label"].split(";"))} for row in several]
    shape("long, answers as JSON lists", "a.csv", table(as_json), {k: dict(c) for k, c in truth.items()})
    counted = [{"item": i, "label": c, "count": n} for i, row in tally(w).items() for c, n in row.items()]
    shape("long, counts of each label", "a.csv", table(counted), tally(w))
    weights = [{"item": x.item, "worker": x.annotator, "label": x.label, "weight": rng.choice([0.25, 0.5, 1.5])} for x in w]
    shares: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in weights:
        shares[row["item"]][row["label"]] += row["weight"]
    truth_w = {i: {c: n / sum(row.values()) for c, n in row.items()} for i, row in shares.items()}
    shape("long, fractional weights", "a.csv", table(weights), truth_w)


def _one_hot() -> None:
    v = votes(31)
    classes = ["bird", "cat", "dog"]
    rows = [{"text": f"{x.item} said so.", "id": x.item, "rater_id": x.annotator, **{c: int(c == x.label) for c in classes}} for x in v]
    shape("one-hot", "a.csv", table(rows), tally(v))
    rng = random.Random(32)
    truth: dict[str, Counter[str]] = defaultdict(Counter)
    more = []
    for x in v:
        chosen = {x.label} | ({rng.choice(classes)} if rng.random() < 0.3 else set())
        unclear = rng.random() < 0.05
        chosen = set() if unclear else chosen
        truth[x.item].update(chosen)
        more.append({"text": f"{x.item} said so.", "id": x.item, "author": f"u{rng.randint(0, 999)}", "created_utc": 1.5e9 + rng.randint(0, 9**6), "rater_id": x.annotator[1:], "very_unclear": unclear, **{c: int(c in chosen) for c in classes}})
    shape("one-hot, several and none", "a.csv", table(more), {k: dict(c) for k, c in truth.items()})


def _wide() -> None:
    v = votes(41)
    truth = tally(v)
    numbered = [Vote(x.item, f"annotator_{int(x.annotator[1:]) - 10}", x.label) for x in v]
    shape("wide, numbered annotators", "a.csv", table(wide_rows(numbered)), truth)
    shape("wide, text beside", "a.csv", table(described(wide_rows(numbered), "item_id")), truth)
    shape("wide, dots for gaps", "a.csv", table(wide_rows(numbered, ".")), truth)
    shape("wide, NULL for gaps", "a.csv", table(wide_rows(numbered, "NULL")), truth)
    names = dict(zip(sorted({x.annotator for x in v}), ["anna", "ben", "cleo", "dan", "eva", "finn", "gita", "hugo", "ida"], strict=True))
    people = [Vote(x.item, names[x.annotator], x.label) for x in v]
    shape("wide, names of people", "a.csv", table(wide_rows(people)), truth)
    shape("wide, names of people, text beside", "a.csv", table(described(wide_rows(people), "item_id")), truth)
    slots = slot_rows(v, "label")
    winner = {i: max(row, key=lambda c: (row[c], c)) for i, row in truth.items()}
    shape("wide, labels 1 to n with gold", "a.tsv", table([{"gold_label": winner[r["item_id"]], **described([r], "item_id", n)[0]} for n, r in enumerate(slots)], "\t"), truth)
    shape("wide, parallel ids", "a.csv", table(slot_rows(v, "Score", "TurkId", item="sentence_id")), truth)
    r = votes(42, classes=("1", "2", "3", "4", "5"), each=5)
    rng = random.Random(43)
    rows = slot_rows(r, "Score", item="idx")
    mean = [sum(int(row[f"Score{k}"]) for k in range(1, 6)) / 5 for row in rows]
    rows = [{"ID": row["idx"], "Sentence": text(rng), "Mean": m, **{k: x for k, x in row.items() if k != "idx"}} for row, m in zip(rows, mean, strict=True)]
    shape("wide, scores beside their mean and a text", "a.csv", table(rows), tally(r))
    rows = [{"q": n, **{k: x for k, x in row.items() if k != "item_id"}} for n, row in enumerate(wide_rows([Vote(x.item, f"rater_{x.annotator[1:]}", x.label) for x in v]))]
    shape("wide, items 0, 1, 2 in a column q", "a.csv", table(rows), {str(n): truth[i] for n, i in enumerate(truth)})
    ids = [{"text_id": n, **{f"rater_{k + 1}": str(rng.randint(0, 2)) for k in range(4)}} for n in range(20)]
    truth_ids: Truth = {str(row["text_id"]): dict(Counter(row[f"rater_{k + 1}"] for k in range(4))) for row in ids}
    shape("wide, items 0, 1, 2 beside labels 0, 1, 2", "a.csv", table(ids), truth_ids)
    nos = [{"comment": n, **{f"coder{k + 1}": rng.choice(["-1", "0", "1"]) for k in range(4)}} for n in range(20)]
    truth_nos: Truth = {str(row["comment"]): dict(Counter(row[f"coder{k + 1}"] for k in range(4))) for row in nos}
    shape("wide, -1 beside 1", "a.csv", table(nos), truth_nos)
    gaps = [{"item": f"t{n}", **{f"rater_{k}": rng.choice(["-1", "0", "1", "2", "3"]) for k in range(1, 6)}} for n in range(20)]
    truth_gaps: Truth = {str(row["item"]): dict(Counter(row[f"rater_{k}"] for k in range(1, 6) if row[f"rater_{k}"] != "-1")) for row in gaps}
    shape("wide, -1 for gaps", "a.csv", table(gaps), truth_gaps)
    likert = [{"item": f"t{n}", **{who: min(5, max(1, n % 5 + 1 + rng.choice([-1, 0, 0, 1]))) for who in ("anna", "ben", "cleo", "dan")}} for n in range(25)]
    truth_likert: Truth = {row["item"]: dict(Counter(str(row[w]) for w in ("anna", "ben", "cleo", "dan"))) for row in likert}
    shape("wide, ratings by people, which look like counts", "a.csv", table(likert), truth_likert)
    expert = [{**row, "expert": rng.choice(["cat", "dog", "bird"])} for row in wide_rows(numbered)]
    shape("wide, an expert beside", "a.csv", table(expert), truth, {i: dict(Counter(row) + Counter({e["expert"]: 1})) for (i, row), e in zip(truth.items(), expert, strict=True)})


def _lists() -> None:
    v = votes(51, each=5, people=7)
    truth = tally(v)
    groups = by_item(v)
    joined = [{"id": i, "text": text(random.Random(i)), "labels": ", ".join(x.label for x in g)} for i, g in groups.items()]
    shape("lists, joined by commas", "a.csv", table(joined), truth)
    both = [{"id": i, "annotators": " ".join(x.annotator for x in g), "annotations": " ".join(x.label for x in g)} for i, g in groups.items()]
    shape("lists, annotators parallel", "a.tsv", table(both, "\t"), truth)
    shape("lists, JSON", "a.csv", table([{**r, "labels": json.dumps(r["labels"].split(", "))} for r in joined]), truth)
    shape("lists, as Python prints them", "a.csv", table([{**r, "labels": str(r["labels"].split(", "))} for r in joined]), truth)
    lines = [{"pairID": i, "gold_label": g[0].label, "annotator_labels": [x.label for x in g], "sentence1": text(random.Random(i))} for i, g in groups.items()]
    shape("lists, SNLI", "a.jsonl", "\n".join(map(json.dumps, lines)).encode(), truth)
    d = votes(52, each=5, people=7, classes=("0", "1", "2", "3"))
    digits = [{"id": i, "ratings": "".join(x.label for x in g)} for i, g in by_item(d).items()]
    shape("lists, digits", "a.csv", table(digits), tally(d))


def _counts() -> None:
    v = votes(61, each=7, people=12)
    truth = tally(v)
    rows = count_rows(v)
    classes = ["bird", "cat", "dog"]
    shape("counts", "a.csv", table(rows), truth)
    shape("counts, text beside", "a.csv", table(described(rows, "item_id")), truth)
    winner = [max(range(3), key=lambda k: row[classes[k]]) for row in rows]
    davidson = [{"": n, "count": 7, **{c: row[c] for c in classes}, "class": w, "tweet": text(random.Random(n))} for n, (row, w) in enumerate(zip(rows, winner, strict=True))]
    shape("counts, total, winner and text beside", "a.csv", table(davidson), {str(n): truth[row["item_id"]] for n, row in enumerate(rows)})
    uneven = [x for n, x in enumerate(v) if n % 5]
    urows = count_rows(uneven, "image")
    shape("counts, uneven", "a.csv", table(urows), tally(uneven))
    total = [{**row, "n_votes": sum(row[c] for c in classes), "majority": max(classes, key=lambda c: row[c])} for row in urows]
    shape("counts, uneven, total and majority", "a.csv", table(total), tally(uneven))
    shares = [{**{k: x for k, x in row.items() if k == "item_id"}, **{c: round(row[c] / 7, 7) for c in classes}} for row in rows]
    truth_s: Truth = {row["item_id"]: {c: float(row[c]) for c in classes} for row in shares}
    shape("shares", "a.csv", table(shares), truth_s)
    shape("shares, text beside", "a.csv", table(described(shares, "item_id")), truth_s)
    both = [{**row, **{f"p_{c}": round(row[c] / 7, 3) for c in classes}} for row in rows]
    shape("counts with shares", "a.csv", table(both), truth)


def _platforms() -> None:
    v = votes(71, classes=("positive", "negative", "neutral"))
    truth = tally(v)
    rng = random.Random(72)
    texts = {i: text(rng) for i in truth}
    turk = []
    for n, x in enumerate(v):
        turk.append({"HITId": f"3HIT{x.item}", "HITTypeId": "3TYPE", "Title": "Judge", "Reward": "$0.05", "AssignmentId": f"3ASS{n}", "WorkerId": f"A{x.annotator}", "AssignmentStatus": "Approved", "SubmitTime": "Mon May 03 10:00:00 PDT 2021", "WorkTimeInSeconds": rng.randint(4, 99), "LifetimeApprovalRate": "100% (1/1)", "Input.text": texts[x.item], "Answer.sentiment": x.label})
    hit_truth = {f"3HIT{i}": c for i, c in truth.items()}
    shape("mturk", "Batch_1_batch_results.csv", table(turk, quoting=csv.QUOTE_ALL), hit_truth)
    rejected = [*turk, *({**row, "WorkerId": "ABAD", "AssignmentStatus": "Rejected", "Answer.sentiment": "neutral"} for row in turk[::4])]
    shape("mturk, rejected", "Batch_1_batch_results.csv", table(rejected, quoting=csv.QUOTE_ALL), hit_truth)
    radio = [{**{k: y for k, y in row.items() if k != "Answer.sentiment"}, **{f"Answer.mood.{c}": str(c == row["Answer.sentiment"]).lower() for c in ("negative", "neutral", "positive")}} for row in turk]
    shape("mturk, radio buttons", "Batch_1_batch_results.csv", table(radio, quoting=csv.QUOTE_ALL), hit_truth)
    items = list(truth)
    said = {(x.item, x.annotator): x.label for x in v}
    many, made = [], []
    for start in range(0, 30, 5):
        for who in ("A1", "A2", "A3"):
            row: dict[str, Any] = {"HITId": f"H{start}", "AssignmentId": f"{start}{who}", "WorkerId": who, "AssignmentStatus": "Submitted"}
            for k in range(5):
                row[f"Input.id_{k + 1}"] = items[start + k]
                row[f"Input.text_{k + 1}"] = texts[items[start + k]]
            for k in range(5):
                label = said.get((items[start + k], "w11"), rng.choice(["positive", "negative", "neutral"]))
                row[f"Answer.rating_{k + 1}"] = label
                made.append(Vote(items[start + k], who, label))
            many.append(row)
    shape("mturk, many items in a row", "Batch_2_batch_results.csv", table(many), tally(made))
    full = [{"_unit_id": 800 + int(x.item[4:]), "_created_at": "5/3/2021 10:00:00", "_golden": "false", "_id": 90000 + n, "_missed": "", "_started_at": "5/3/2021 09:59:00", "_tainted": "false", "_channel": "elite", "_trust": round(rng.uniform(0.7, 1), 4), "_worker_id": 44000 + int(x.annotator[1:]), "_country": "GBR", "_city": "", "_ip": "0.0.0.0", "sentiment": x.label, "sentiment_gold": "", "text": texts[x.item]} for n, x in enumerate(v)]
    gold = [{**row, "_unit_id": 1, "_golden": "true", "sentiment": "neutral", "sentiment_gold": "neutral", "text": "Test.", "_worker_id": 44011 + n} for n, row in enumerate(full[:9])]
    shape("figure eight, full report", "f123.csv", table([*full, *gold]), {str(800 + int(i[4:])): c for i, c in truth.items()})
    aggregated = [{"_unit_id": 800 + n, "_golden": "false", "_unit_state": "finalized", "_trusted_judgments": 4, "_last_judgment_at": "5/3/2021", "sentiment": "neutral", "sentiment:confidence": 0.75, "text": texts[i]} for n, i in enumerate(truth)]
    shape("figure eight, aggregated", "a123.csv", table(aggregated), None)
    toloka = [{"INPUT:image": f"https://x.org/{x.item}.png", "OUTPUT:result": x.label, "GOLDEN:result": "", "HINT:text": "", "ASSIGNMENT:link": f"https://t.org/{n}", "ASSIGNMENT:task_id": f"t--{x.item}", "ASSIGNMENT:assignment_id": f"as{n}", "ASSIGNMENT:worker_id": f"{x.annotator}f", "ASSIGNMENT:status": "APPROVED", "ASSIGNMENT:started": "2021-05-03T10:00:00"} for n, x in enumerate(v)]
    control = [{**row, "ASSIGNMENT:task_id": "t--gold", "GOLDEN:result": "neutral", "OUTPUT:result": "neutral", "ASSIGNMENT:worker_id": f"w{11 + n}f"} for n, row in enumerate(toloka[:9])]
    shape("toloka", "assignments.tsv", table([*toloka, *control], "\t"), {f"t--{i}": c for i, c in truth.items()})
    zoo = [{"classification_id": 5000 + n, "user_name": f"u_{x.annotator}", "user_id": "", "user_ip": "ab12", "workflow_id": 7, "workflow_name": "Which?", "workflow_version": "1.2", "created_at": "2021-05-03 10:00:00 UTC", "gold_standard": "", "expert": "", "metadata": "{}", "annotations": json.dumps([{"task": "T0", "task_label": "Which?", "value": x.label}]), "subject_data": json.dumps({x.item: {"retired": None}}), "subject_ids": x.item} for n, x in enumerate(v)]
    shape("zooniverse", "which-classifications.csv", table(zoo), truth)
    answers: dict[str, dict[str, str]] = {f"R_{k}": {} for k in range(12)}
    survey_truth: dict[str, Counter[str]] = defaultdict(Counter)
    for q in range(1, 9):
        for who in answers:
            said_q = rng.choice(["Agree", "Neutral", "Disagree"])
            answers[who][f"Q{q}"] = said_q
            survey_truth[f"Q{q}"][said_q] += 1
    head = ["StartDate", "EndDate", "Status", "IPAddress", "Progress", "Duration (in seconds)", "Finished", "RecordedDate", "ResponseId", *(f"Q{q}" for q in range(1, 9)), "Age", "PROLIFIC_PID"]
    third = [json.dumps({"ImportId": name}) for name in head]
    second = ["Start Date", "End Date", "Response Type", "IP Address", "Progress", "Duration", "Finished", "Recorded Date", "Response ID", *(f"Is statement {q} right?" for q in range(1, 9)), "How old are you?", "PROLIFIC_PID"]
    people = [["2021-05-03 10:00:00", "2021-05-03 10:09:00", "IP Address", "0.0.0.0", "100", str(300 + n), "True", "2021-05-03 10:09:01", who, *said.values(), str(20 + n), f"5f{n:04}"] for n, (who, said) in enumerate(answers.items())]  # type: ignore[attr-defined]
    preview = [people[0].copy()]
    preview[0][2], preview[0][8] = "Survey Preview", "R_p"
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([head, second, third, *preview, *people])
    shape("qualtrics", "survey.csv", out.getvalue().encode(), {k: dict(c) for k, c in survey_truth.items()})
    crowd = [{"job": "j1", "unit": x.item, "worker": x.annotator, "judgment": n, "started": "2021-05-03", "submitted": "2021-05-03", "duration": rng.randint(3, 50), "input.sentence": texts[x.item], "output.relation": x.label} for n, x in enumerate(v)]
    shape("crowdtruth", "judgments.csv", table(crowd), truth)
    potato = [{"user": x.annotator, "instance_id": x.item, "displayed_text": texts[x.item], **{f"mood:::{c}": "1" if c == x.label else "" for c in ("negative", "neutral", "positive")}} for x in v]
    shape("potato", "annotated_instances.tsv", table(potato, "\t"), truth)


def _pairs() -> None:
    v = votes(81)
    truth = tally(v)
    house = {"item_id": "stimulus_nr", "worker_id": "Versuchsperson", "label": "urteil"}
    shape("house names, semicolons, latin-1 safe", "a.csv", table(_renamed(long_rows(v), house), ";"), truth)
    shape("tabs in a .txt, no header", "a.txt", table(long_rows(v), "\t", header=False), truth)
    numbered = [Vote(x.item, f"annotator_{int(x.annotator[1:]) - 10}", x.label) for x in v]
    shape("wide, dots for gaps, semicolons, text beside", "a.csv", table(described(wide_rows(numbered, "."), "item_id"), ";"), truth)
    shape("wide, gaps n/a, compressed", "a.csv.gz", gzip.compress(table(wide_rows(numbered, "n/a"))), truth)
    shape("counts, tabs, text and total", "a.csv", table([{**row, "total": 4} for row in described(count_rows(v), "item_id")], "\t"), truth)
    rows = [{"": n, "pos": n % 4 + 1, **row} for n, row in enumerate(described(long_rows(v, item="snippet", annotator="judge"), "snippet"))]
    shape("index, order, text", "a.csv", table(rows), truth)
    rows = [{"item": x.item, "label": x.label, "trial": n % 4} for n, x in enumerate(v)]
    shape("no annotators, an order that looks like them", "a.csv", table(rows), truth)
    slots = slot_rows(v, "rating_", "worker_")
    shape("slots with ids, title above", "a.csv", b"Study 2\n" + table(slots), truth)
    quoted = [{**row, "text": f'He said "{row["text"]}", twice\nand left'} for row in described(long_rows(v), "item_id")]
    shape("quotes and line ends in texts", "a.csv", table(quoted), truth)
    upper = _renamed(long_rows(v), {"item_id": "Item ID", "worker_id": "Annotator Name", "label": "Final Answer"})
    shape("names with blanks", "a.csv", table(upper), truth)


for _make in (_long, _items, _labels, _one_hot, _wide, _lists, _counts, _platforms, _pairs):
    _make()
