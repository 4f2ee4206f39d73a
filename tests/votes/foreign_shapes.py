"""Tables of human annotations in the shapes that tools and research releases give them.

Every ``Shape`` holds the bytes of one file and what a careful reader who knows the tool would take
from it.  All content is invented and deterministic.

Reading the truth
-----------------
* ``votes`` is set: the file lists single votes ``(item, annotator or None, label)``, in file order.
* ``counts`` is set: the file lists only how often each class was chosen.
* neither is set: no votes can be read; ``awkward`` says why, and a reader should refuse.
* ``ask`` is empty when the file speaks for itself.  Otherwise it names what the file alone cannot
  settle, after ``Here:`` the answer on which this truth rests.  Shapes that share the part of their
  name before ``__`` share their bytes and differ only in that answer.
* Items, annotators and labels are strings as they stand in the file.  JSON and Parquet numbers are
  written as ``str`` writes them.  An item named by several columns together is a tuple.
* Where two columns name the same items (an id and a text, say) the truth uses one of them and
  ``awkward`` says which; compare such results by grouping, not by name.
"""

from __future__ import annotations

import csv
import io
import json
import math
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

Item = str | tuple[str, ...]
Vote = tuple[Item, str | None, str]


@dataclass(frozen=True)
class Shape:
    name: str
    filename: str
    content: bytes
    votes: tuple[Vote, ...] | None
    counts: dict[Item, dict[str, int]] | None
    ask: str
    awkward: str


# --------------------------------------------------------------------------------------------------
# Helpers: invented people, texts and answers, and the writers of the common file formats


OPENINGS = (
    "The room was clean", "Honestly, the update broke everything", "My order arrived two days late",
    "I asked for a refund", 'She wrote "never again" on the card', "We waited 45 minutes, then left",
    "Café Zoë is back", "The new mayor, of all people, apologised", "Battery lasts a full day",
    "Nobody told us about the fee", "It's fine", "Great camera; poor screen",
)
MIDDLES = (
    ", but the staff were kind", " and nobody answered the phone", ", which surprised me", " again",
    " – at least for the price", ", as the review said", " (see photo)", " & I would buy it again",
    ' and they called it "normal"', ", 3 out of 5", " 😀", " — naïve of me to hope",
)
ENDINGS = (".", "!", "...", "?", ". Thanks, Peter", ", sadly.", " #fail", ". 10/10", '. "Wow".')

NAMES = ("anna", "ben", "chloe", "david", "emre", "fatima", "george", "hanna", "ivan", "julia")


def texts(rng: Random, n: int, newlines: bool = False, plain: bool = False) -> list[str]:
    """``n`` different short texts; some with line breaks, or none with quotes and commas."""
    found: dict[str, None] = {}
    while len(found) < n:
        text = rng.choice(OPENINGS) + rng.choice(MIDDLES) + rng.choice(ENDINGS)
        if newlines and rng.random() < 0.2:
            text = text.replace(", ", ",\n", 1)
        if plain:
            text = "".join(c for c in text if c.isalnum() or c == " ").encode("ascii", "ignore").decode()
            text = " ".join(text.split())
        found[text] = None
    return list(found)


def code(rng: Random, length: int, alphabet: str = string.ascii_uppercase + string.digits) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


def codes(rng: Random, n: int, length: int, alphabet: str = string.ascii_uppercase + string.digits,
          prefix: str = "") -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found[prefix + code(rng, length, alphabet)] = None
    return list(found)


def numbers(rng: Random, n: int, low: int, high: int) -> list[str]:
    return [str(k) for k in rng.sample(range(low, high), n)]


def stamp(rng: Random, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return (datetime(2021, 3, 1, 8) + timedelta(seconds=rng.randrange(2_000_000))).strftime(form)


def simulate(rng: Random, items: Sequence[Item], people: Sequence[str], classes: Sequence[str],
             least: int = 3, most: int = 5, skill: float = 0.75) -> list[Vote]:
    """Answers of people of different skill: ``least`` to ``most`` of them for every item."""
    skills = {person: min(0.97, max(0.4, rng.gauss(skill, 0.12))) for person in people}
    votes: list[Vote] = []
    for item in items:
        right = rng.choice(classes)
        for person in rng.sample(list(people), rng.randint(least, most)):
            votes.append((item, person, right if rng.random() < skills[person] else rng.choice(classes)))
    return votes


def shuffled(rng: Random, votes: Sequence[Vote]) -> list[Vote]:
    mixed = list(votes)
    rng.shuffle(mixed)
    return mixed


def by_item(votes: Iterable[Vote]) -> dict[Item, list[Vote]]:
    groups: dict[Item, list[Vote]] = {}
    for vote in votes:
        groups.setdefault(vote[0], []).append(vote)
    return groups


def anonymous(votes: Iterable[Vote]) -> tuple[Vote, ...]:
    return tuple((item, None, label) for item, _, label in votes)


def tally(votes: Iterable[Vote], classes: Sequence[str]) -> dict[Item, dict[str, int]]:
    counts: dict[Item, dict[str, int]] = {}
    for item, _, label in votes:
        counts.setdefault(item, dict.fromkeys(classes, 0))[label] += 1
    return counts


def winner(labels: Iterable[str]) -> str:
    return Counter(labels).most_common(1)[0][0]


def table(rows: Iterable[Sequence[object]], delimiter: str = ",", end: str = "\r\n",
          encoding: str = "utf-8", quote_all: bool = False) -> bytes:
    out = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return out.getvalue().encode(encoding)


def jsonl(records: Iterable[object], ascii_only: bool = False) -> bytes:
    return "".join(json.dumps(r, ensure_ascii=ascii_only) + "\n" for r in records).encode()


def cells(votes: Iterable[Vote], people: Sequence[str], gap: str = "") -> list[str]:
    """One item's labels in the order of the rater columns."""
    given = {person: label for _, person, label in votes}
    return [given.get(person, gap) for person in people]


def in_columns(votes: Iterable[Vote], people: Sequence[str]) -> tuple[Vote, ...]:
    """The votes in the order in which a table with one column per rater shows them."""
    return tuple(v for group in by_item(votes).values()
                 for v in sorted(group, key=lambda vote: people.index(vote[1])))


# --------------------------------------------------------------------------------------------------
# Crowdsourcing platforms


MTURK_HEAD = [
    "HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime",
    "MaxAssignments", "RequesterAnnotation", "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds", "Expiration", "NumberOfSimilarHITs", "LifetimeInSeconds",
    "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime", "AutoApprovalTime",
    "ApprovalTime", "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds",
    "LifetimeApprovalRate", "Last30DaysApprovalRate", "Last7DaysApprovalRate",
]
MTURK_TIME = "%a %b %d %H:%M:%S PDT 2021"


def mturk_meta(rng: Random, hit: str, worker: str, status: str = "Approved") -> list[str]:
    when = stamp(rng, MTURK_TIME)
    return [
        hit, "3QZ9Y7L1K0B5U2VQ8W4N6M1XHTD3RE", "Judge short texts", "Read a text, then judge it",
        "text, sentiment, quick", "$0.05", when, "5",
        "BatchId:4312077;OriginalHitTemplateId:928390927;", "3600", "259200", when, "", "",
        "3" + code(rng, 29), worker, status, when, when, when,
        when if status == "Approved" else "", when if status == "Rejected" else "",
        "Too many wrong answers, sorry." if status == "Rejected" else "",
        str(rng.randint(9, 240)), "0% (0/0)", "0% (0/0)", "0% (0/0)",
    ]


def mturk_one_item() -> Iterator[Shape]:
    rng = Random("mturk_one_item")
    items = codes(rng, 30, 18, string.digits[1:])
    text = dict(zip(items, texts(rng, 30, newlines=True)))
    hit = dict(zip(items, codes(rng, 30, 29, prefix="3")))
    workers = codes(rng, 14, 13, prefix="A")
    votes = simulate(rng, items, workers, ["negative", "neutral", "positive"], 5, 5)
    rows: list[list[str]] = [
        MTURK_HEAD + ["Input.tweet_id", "Input.text", "Answer.comment", "Answer.sentiment", "Approve",
                      "Reject"]]
    accepted: list[Vote] = []
    for vote in votes:
        item, worker, label = vote
        status = "Rejected" if worker in workers[:2] and rng.random() < 0.8 else "Approved"
        if status == "Approved":
            accepted.append(vote)
        comment = rng.choice(["", "", "", "{}", "not sure, sarcasm?", 'typo in "recieve"'])
        rows.append(mturk_meta(rng, hit[item], worker, status)
                    + [item, text[item], comment, label, "", ""])
    content = table(rows, quote_all=True, end="\n")
    note = ("31 platform columns around one answer; HITId, Input.tweet_id and Input.text name the same "
            "items (truth: Input.tweet_id); ids too long for a float; line breaks in cells.")
    for tag, kept, answer in (("approved", accepted, "leave rejected assignments out"),
                              ("all", votes, "keep every assignment")):
        yield Shape(f"mturk_one_item__{tag}", "Batch_4312077_batch_results.csv", content, tuple(kept),
                    None, f"Do rejected assignments count? Here: {answer}.", note)


def mturk_numbered_items() -> Iterator[Shape]:
    rng = Random("mturk_numbered_items")
    items = [f"rev_{k:04d}" for k in rng.sample(range(10_000), 40)]
    text = dict(zip(items, texts(rng, 40)))
    workers = codes(rng, 9, 12, prefix="A")
    heads = [f"Input.{what}{k}" for k in range(1, 6) for what in ("id", "text")]
    rows = [MTURK_HEAD + heads + [f"Answer.q{k}" for k in range(1, 6)] + ["Approve", "Reject"]]
    votes: list[Vote] = []
    for start in range(0, 40, 5):
        page = items[start:start + 5]
        hit = "3" + code(rng, 29)
        right = {item: rng.choice(["Yes", "No", "Can't tell"]) for item in page}
        for worker in rng.sample(workers, 4):
            answers = [right[i] if rng.random() < 0.8 else rng.choice(["Yes", "No", "Can't tell"])
                       for i in page]
            if rng.random() < 0.15:
                answers[rng.randrange(5)] = ""
            rows.append(mturk_meta(rng, hit, worker)
                        + [x for item in page for x in (item, text[item])] + answers + ["", ""])
            votes += [(item, worker, a) for item, a in zip(page, answers) if a]
    yield Shape("mturk_numbered_items", "Batch_4318855_batch_results.csv",
                table(rows, quote_all=True, end="\n"), tuple(votes), None, "",
                "five items in one row: Input.id1 goes with Answer.q1, and so on; HITId is a page of "
                "five items, not an item; a few answers are blank.")


def mturk_radio_flags() -> Iterator[Shape]:
    rng = Random("mturk_radio_flags")
    items = [f"https://example.org/img/{k:05d}.jpg" for k in rng.sample(range(99_999), 25)]
    hit = dict(zip(items, codes(rng, 25, 29, prefix="3")))
    classes = ["crack", "no_damage", "spalling"]
    votes = simulate(rng, items, codes(rng, 8, 13, prefix="A"), classes, 3, 3)
    rows = [MTURK_HEAD + ["Input.image_url"] + [f"Answer.damage.{c}" for c in classes]
            + ["Approve", "Reject"]]
    rows += [mturk_meta(rng, hit[i], w) + [i] + ["true" if c == label else "false" for c in classes]
             + ["", ""] for i, w, label in votes]
    yield Shape("mturk_radio_flags", "Batch_4500201_batch_results.csv",
                table(rows, quote_all=True, end="\n"), tuple(votes), None, "",
                "radio buttons come out as one true/false column per choice; the label is the last part "
                "of the column's name.")


def mturk_task_answers() -> Iterator[Shape]:
    rng = Random("mturk_task_answers")
    items = texts(rng, 20)
    hit = dict(zip(items, codes(rng, 20, 29, prefix="3")))
    votes = simulate(rng, items, codes(rng, 7, 13, prefix="A"), ["Spam", "Not spam"], 3, 3)
    rows = [MTURK_HEAD + ["Input.text", "Answer.taskAnswers", "Approve", "Reject"]]
    rows += [mturk_meta(rng, hit[i], w)
             + [i, json.dumps([{"category": {"label": label}, "note": ""}]), "", ""]
             for i, w, label in votes]
    yield Shape("mturk_task_answers", "Batch_4500977_batch_results.csv",
                table(rows, quote_all=True, end="\n"), tuple(votes), None, "",
                "the answer is JSON in a cell: a list of one object, the label two levels down; item is "
                "Input.text (HITId is equivalent).")


def appen_full_report() -> Iterator[Shape]:
    rng = Random("appen_full_report")
    units = numbers(rng, 28, 1_800_000_000, 1_899_999_999)
    gold = dict.fromkeys(units[:4])
    text = dict(zip(units, texts(rng, 28, newlines=True)))
    workers = numbers(rng, 12, 30_000_000, 46_000_000)
    tainted = set(workers[:2])
    base = (simulate(rng, units[:4], workers, ["yes", "no"], 7, 7)
            + simulate(rng, units[4:], workers, ["yes", "no"], 3, 5))
    rows: list[list[str]] = [
        ["_unit_id", "_created_at", "_golden", "_id", "_missed", "_started_at", "_tainted", "_channel",
         "_trust", "_worker_id", "_country", "_region", "_city", "_ip", "relevant_yn", "sentiment",
         "orig__golden", "relevant_yn_gold", "relevant_yn_gold_reason", "sentiment_gold", "tweet_text"]]
    answers: dict[str, list[tuple[Vote, bool]]] = {"relevant_yn": [], "sentiment": []}
    for unit, worker, relevant in base:
        sentiment = rng.choice(["Positive", "Negative", "Neutral / author is just sharing information"])
        sentiment = sentiment if relevant == "yes" else ""
        is_gold, is_tainted = unit in gold, worker in tainted
        rows.append([
            unit, stamp(rng, "%m/%d/%Y %H:%M:%S"), str(is_gold).lower(), code(rng, 10, "123456789"),
            "true" if is_gold and relevant == "no" else "", stamp(rng, "%m/%d/%Y %H:%M:%S"),
            str(is_tainted).lower(), rng.choice(["clixsense", "neodev", "elite"]),
            str(round(0.55 if is_tainted else rng.uniform(0.75, 1), 4)), worker,
            rng.choice(["USA", "GBR", "CAN"]), rng.choice(["CA", "12", "ON", ""]),
            rng.choice(["Ottawa", "London", "San José"]), "203.0.113." + str(rng.randrange(255)),
            relevant, sentiment, "true" if is_gold else "", "yes" if is_gold else "",
            "It names the brand." if is_gold else "", "Positive\nNegative" if is_gold else "",
            text[unit]])
        clean = not is_gold and not is_tainted
        answers["relevant_yn"].append(((unit, worker, relevant), clean))
        if sentiment:
            answers["sentiment"].append(((unit, worker, sentiment), clean))
    content = table(rows, end="\n")
    note = ("two questions, the second blank where the first says no; test questions (_golden), "
            "untrusted contributors (_tainted) and *_gold columns that are not votes; item is _unit_id, "
            "_id is the judgment.")
    for question, pairs in answers.items():
        yield Shape(f"appen_full_report__{question}_all", "f1812345.csv", content,
                    tuple(v for v, _ in pairs), None,
                    f"Which question, and do test questions and tainted judgments count? Here: "
                    f"{question}, every judgment.", note)
        yield Shape(f"appen_full_report__{question}_clean", "f1812345.csv", content,
                    tuple(v for v, clean in pairs if clean), None,
                    f"Which question, and do test questions and tainted judgments count? Here: "
                    f"{question}, without either.", note)


def appen_all_answers() -> Iterator[Shape]:
    rng = Random("appen_all_answers")
    units = numbers(rng, 22, 700_000_000, 799_999_999)
    groups = by_item(simulate(rng, units, NAMES, ["informative", "not informative", "unclear"], 3, 5))
    rows = [["_unit_id", "_golden", "_unit_state", "_trusted_judgments", "_last_judgment_at", "info",
             "message"]]
    rows += [[u, "FALSE", "finalized", str(len(g)), stamp(rng, "%m/%d/%y %H:%M"),
              "\n".join(label for *_, label in g), t]
             for (u, g), t in zip(groups.items(), texts(rng, 22))]
    yield Shape("appen_all_answers", "a712345.csv", table(rows, end="\n"),
                anonymous(v for g in groups.values() for v in g), None, "",
                "aggregation 'all answers': every answer of a unit in one cell, one per line; no people.")


def toloka_assignments() -> Iterator[Shape]:
    rng = Random("toloka_assignments")
    items = [f"/s3proxy/photos/{k:06d}.jpg" for k in rng.sample(range(999_999), 30)]
    golden = {item: rng.choice(["cat", "dog", "none"]) for item in items[:3]}
    task = dict(zip(items, codes(rng, 30, 24, "0123456789abcdef")))
    workers = codes(rng, 8, 32, "0123456789abcdef")
    rows: list[list[str]] = [
        ["INPUT:image", "OUTPUT:animal", "OUTPUT:comment", "GOLDEN:animal", "HINT:text",
         "HINT:default_language", "ASSIGNMENT:link", "ASSIGNMENT:task_id", "ASSIGNMENT:assignment_id",
         "ASSIGNMENT:task_suite_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status",
         "ASSIGNMENT:started", "ASSIGNMENT:submitted", "ASSIGNMENT:accepted", "ASSIGNMENT:reward"]]
    kept: list[tuple[Vote, bool, bool]] = []
    for start in range(0, 30, 5):
        page, suite = items[start:start + 5], code(rng, 26, "0123456789abcdef-")
        for worker in rng.sample(workers, 4):
            assignment = code(rng, 26, "0123456789abcdef-")
            status = "REJECTED" if rng.random() < 0.12 else "APPROVED"
            start_time = datetime(2021, 3, 12, 8) + timedelta(seconds=rng.randrange(30_000))
            times = [(start_time + timedelta(seconds=s)).isoformat(timespec="milliseconds")
                     for s in (0, rng.randrange(20, 200), 86_400)]
            for item in page:
                label = rng.choice([golden.get(item, "cat"), "cat", "dog", "none"])
                rows.append([
                    item, label, rng.choice(["", "", "blurry, dark"]), golden.get(item, ""), "", "",
                    "https://example.org/task/1/" + assignment, task[item], assignment, suite, worker,
                    status, *times, "0.010"])
                kept.append(((item, worker, label), status == "APPROVED", item in golden))
            rows.append([])
    content = table(rows, "\t", "\n")
    note = ("prefixed columns; a blank line after every page of tasks; GOLDEN is the control answer, not "
            "a vote; 'none' is a class; item is INPUT:image (ASSIGNMENT:task_id is equivalent).")
    yield Shape("toloka_assignments__all", "assignments_from_pool_36512__12-03-2021.tsv", content,
                tuple(v for v, *_ in kept), None,
                "Do rejected assignments and control tasks count? Here: everything.", note)
    yield Shape("toloka_assignments__clean", "assignments_from_pool_36512__12-03-2021.tsv", content,
                tuple(v for v, fine, control in kept if fine and not control), None,
                "Do rejected assignments and control tasks count? Here: neither.", note)


def zooniverse() -> Iterator[Shape]:
    rng = Random("zooniverse")
    subjects = numbers(rng, 24, 60_000_000, 69_999_999)
    users = [f"{n}_{rng.randrange(99)}" for n in NAMES[:6]] + [
        "not-logged-in-" + code(rng, 20, "0123456789abcdef") for _ in range(4)]
    user_id = {u: "" if u.startswith("not-") else str(rng.randrange(10**6)) for u in users}
    rows: list[list[str]] = [
        ["classification_id", "user_name", "user_id", "user_ip", "workflow_id", "workflow_name",
         "workflow_version", "created_at", "gold_standard", "expert", "metadata", "annotations",
         "subject_data", "subject_ids"]]
    first: list[Vote] = []
    second: list[Vote] = []
    for n, (subject, user, seen) in enumerate(
            shuffled(rng, simulate(rng, subjects, users, ["Yes", "No"], 3, 6))):
        species = rng.choice(["Deer", "Red fox", "Badger", "Other / can't tell"]) if seen == "Yes" else None
        first.append((subject, user, seen))
        if species:
            second.append((subject, user, species))
        annotations = [{"task": "T0", "task_label": "Is there an animal?", "value": seen}]
        if seen == "Yes":
            annotations.append({"task": "T1", "task_label": 'Which one? Pick the "main" animal.',
                                "value": species})
        when = stamp(rng)
        rows.append([
            str(310_000_000 + n), user, user_id[user], code(rng, 20, "0123456789abcdef"), "14512",
            "Night cameras", "12.47", when + " UTC", "", "",
            json.dumps({"source": "api", "session": code(rng, 16, "0123456789abcdef"),
                        "started_at": when, "user_agent": "Mozilla/5.0 (X11; Linux x86_64)"}),
            json.dumps(annotations, separators=(",", ":")),
            json.dumps({subject: {"retired": None, "Filename": f"IMG_{subject[-4:]}.JPG"}}), subject])
    content = table(rows, end="\n")
    note = ("the answers are JSON in a cell, keyed by task; subject ids stand in subject_ids and as keys "
            "of subject_data; volunteers without an account have no user_id, only a user_name.")
    yield Shape("zooniverse__T0", "night-cameras-classifications.csv", content, tuple(first), None,
                "Which task? Here: T0.", note)
    yield Shape("zooniverse__T1", "night-cameras-classifications.csv", content, tuple(second), None,
                "Which task? Here: T1, asked only after Yes.", note)


def crowdtruth_relations() -> Iterator[Shape]:
    rng = Random("crowdtruth_relations")
    sids = [f"{k}-FS1" for k in rng.sample(range(900_000, 999_999), 20)]
    workers = numbers(rng, 10, 5_000_000, 30_000_000)
    kinds = ["[TREATS]", "[CAUSES]", "[SYMPTOM]", "[NONE]"]
    second = {"[TREATS]": "[CAUSES]", "[CAUSES]": "[SYMPTOM]"}
    rows: list[list[str]] = [["_unit_id", "_created_at", "_worker_id", "_trust", "relations",
                              "explain_none", "SID", "sentence", "term1", "term2"]]
    single: list[Vote] = []
    whole: list[Vote] = []
    unit = dict(zip(sids, numbers(rng, 20, 500_000_000, 599_999_999)))
    text = dict(zip(sids, texts(rng, 20)))
    for sid, worker, kind in simulate(rng, sids, workers, kinds, 5, 7):
        chosen = [kind]
        if kind in second and rng.random() < 0.3:
            chosen.append(second[kind])
        cell = "\n".join(chosen)
        rows.append([unit[sid], stamp(rng), worker, "1", cell,
                     "no relation, just a list" if kind == "[NONE]" else "", sid, text[sid], "aspirin",
                     "headache, chronic"])
        single += [(sid, worker, k) for k in chosen]
        whole.append((sid, worker, cell))
    content = table(rows, end="\n")
    note = "people tick several boxes; the cell holds one choice per line; item is SID or _unit_id."
    yield Shape("crowdtruth_relations__each", "f1234_relations.csv", content, tuple(single), None,
                "Is every ticked box a vote, or the set of boxes one? Here: every box.", note)
    yield Shape("crowdtruth_relations__set", "f1234_relations.csv", content, tuple(whole), None,
                "Is every ticked box a vote, or the set of boxes one? Here: the whole cell.", note)


def sagemaker_worker_answers() -> Iterator[Shape]:
    rng = Random("sagemaker_worker_answers")
    items = [str(k) for k in range(18)]
    body = texts(rng, 18)
    workers = codes(rng, 6, 16, "0123456789abcdef", prefix="private.eu-west-1.")
    groups = by_item(simulate(rng, items, workers, ["complaint", "praise", "question"], 3, 3))
    records = [{
        "datasetObjectId": item,
        "dataObject": {"content": body[int(item)]},
        "annotations": [{"workerId": w, "annotationData": {"content": json.dumps(
            {"crowd-classifier": {"label": label}})}} for _, w, label in group],
    } for item, group in groups.items()]
    yield Shape("sagemaker_worker_answers", "consolidation-request.json",
                json.dumps(records, indent=1, ensure_ascii=False).encode(),
                tuple(v for g in groups.values() for v in g), None, "",
                "votes nested under the item, and each answer is JSON inside a JSON string.")


# --------------------------------------------------------------------------------------------------
# Surveys


QUALTRICS_META = [
    ("StartDate", "Start Date"), ("EndDate", "End Date"), ("Status", "Response Type"),
    ("IPAddress", "IP Address"), ("Progress", "Progress"),
    ("Duration (in seconds)", "Duration (in seconds)"), ("Finished", "Finished"),
    ("RecordedDate", "Recorded Date"), ("ResponseId", "Response ID"),
    ("DistributionChannel", "Distribution Channel"), ("UserLanguage", "User Language"),
]


def qualtrics_meta(rng: Random, response: str, status: str, finished: bool) -> list[str]:
    return [stamp(rng), stamp(rng), status, "198.51.100." + str(rng.randrange(255)),
            "100" if finished else str(rng.randrange(20, 90)), str(rng.randrange(200, 1500)),
            str(finished), stamp(rng), response,
            "preview" if status == "Survey Preview" else "anonymous", "EN"]


def import_ids(columns: Sequence[str]) -> list[str]:
    return [json.dumps({"ImportId": c}, separators=(",", ":")) for c in columns]


def qualtrics_survey() -> Iterator[Shape]:
    rng = Random("qualtrics_survey")
    items = [f"Q{k}" for k in range(3, 23)]
    wording = [f'How much do you agree?\n\n"{t}"' for t in texts(rng, 20)]
    people = ["R_" + code(rng, 15, string.ascii_letters + string.digits) for _ in range(7)]
    scale = ["Disagree", "Neither agree nor disagree", "Agree"]
    names = [a for a, _ in QUALTRICS_META] + ["Q1"] + items + ["Q99"]
    rows = [names, [b for _, b in QUALTRICS_META] + ["Do you agree to take part?"] + wording
            + ["Any comments?"],
            import_ids([n[0].lower() + n[1:] if n[0] != "Q" else "QID" + n[1:] for n in names])]
    right = {item: rng.choice(scale) for item in items}
    everyone: list[Vote] = []
    real: list[Vote] = []
    for n, person in enumerate(people):
        preview = n == 0
        finished = n != 3
        answers = [right[i] if rng.random() < 0.6 else rng.choice(scale) for i in items]
        if not finished:
            answers[9:] = [""] * 11
        given = [(i, person, a) for i, a in zip(items, answers) if a]
        everyone += given
        real += [] if preview else given
        rows.append(qualtrics_meta(rng, person, "Survey Preview" if preview else "IP Address", finished)
                    + ["Yes"] + answers + [rng.choice(["", "No", "Too long, and Q7 is unclear"])])
    content = table(rows, end="\n")
    note = ("three header rows; people in rows and items in columns; the consent question Q1 and the "
            "comment Q99 are not items; one person stopped half-way; the wording of an item stands in "
            "the second header row (truth: the column's name).")
    for tag, votes, answer in (("responses", real, "no"), ("all", everyone, "yes")):
        yield Shape(f"qualtrics_survey__{tag}", "Agreement+study_March+21,+2021_14.05.csv", content,
                    tuple(votes), None, f"Do survey previews count? Here: {answer}.", note)


def prolific_qualtrics() -> Iterator[Shape]:
    rng = Random("prolific_qualtrics")
    loops = [str(k) for k in range(1, 19)]
    body = texts(rng, 18)
    heads = [f"{k}_{q}" for k in loops for q in ("attack", "conf")]
    words = [w for t in body for w in (f"{t} - Does this comment attack someone?",
                                       f"{t} - How sure are you?")]
    names = [a for a, _ in QUALTRICS_META] + ["PID", "AC1"] + heads + ["PROLIFIC_PID", "STUDY_ID"]
    rows = [names, [b for _, b in QUALTRICS_META] + ["Your Prolific ID", "Please choose Never"] + words
            + ["PROLIFIC_PID", "STUDY_ID"], import_ids(names)]
    truth: dict[str, list[Vote]] = {"attack": [], "conf": []}
    right = {k: rng.choice(["Yes", "No"]) for k in loops}
    for pid in codes(rng, 10, 24, "0123456789abcdef"):
        seen = set(rng.sample(loops, 9))
        line: list[str] = []
        for k in loops:
            attack = (right[k] if rng.random() < 0.8 else "Unsure") if k in seen else ""
            conf = rng.choice("12345") if k in seen else ""
            line += [attack, conf]
            if k in seen:
                truth["attack"].append((k, pid, attack))
                truth["conf"].append((k, pid, conf))
        rows.append(qualtrics_meta(rng, "R_" + code(rng, 15), "IP Address", True)
                    + [pid, rng.choice(["Never", "Never", "Often"])] + line + [pid, "60f1c0ffee"])
    content = table(rows, end="\n")
    for question, votes in truth.items():
        yield Shape(f"prolific_qualtrics__{question}", "loop+study.csv", content, tuple(votes), None,
                    "Which of the two looped questions, and do people who fail the attention check AC1 "
                    f"count? Here: {question}, everybody.",
                    "loop-and-merge: column 7_attack is question 'attack' about item 7; everyone sees "
                    "half of the items; annotator is PROLIFIC_PID (PID and ResponseId are equivalent).")


def google_forms_grid() -> Iterator[Shape]:
    rng = Random("google_forms_grid")
    heads = [f"How polite is each message? [{t}]" for t in texts(rng, 16)]
    rows = [["Timestamp", "Email Address", "What is your age?"] + heads + ["Anything else?"]]
    votes: list[Vote] = []
    right = {h: rng.choice(["rude", "neutral", "polite"]) for h in heads}
    for name in NAMES[:6]:
        mail = f"{name}@example.org"
        answers = [rng.choice([right[h], right[h], "rude", "neutral", "polite", ""]) for h in heads]
        votes += [(h, mail, a) for h, a in zip(heads, answers) if a]
        rows.append([stamp(rng, "%Y/%m/%d %I:%M:%S %p GMT+1"), mail, rng.choice(["18-24", "25-34"])]
                    + answers + [rng.choice(["", "nope", "fun, thanks"])])
    yield Shape("google_forms_grid", "Politeness (Responses) - Form Responses 1.csv", table(rows),
                tuple(votes), None, "",
                "people in rows, items in columns; an item's text stands in square brackets in the "
                "header (truth: the whole header); age looks like an answer but is not about an item.")


# --------------------------------------------------------------------------------------------------
# Annotation tools


def label_studio_csv() -> Iterator[Shape]:
    rng = Random("label_studio_csv")
    ids = [str(k) for k in range(2041, 2071)]
    text = dict(zip(ids, texts(rng, 30, newlines=True)))
    people = [f"{n}@example.com" for n in NAMES[:5]]
    rows = [["annotation_id", "annotator", "created_at", "id", "lead_time", "sentiment", "text",
             "updated_at"]]
    votes: list[Vote] = []
    for n, (item, person, label) in enumerate(
            simulate(rng, ids, people, ["Positive", "Negative", "Neutral"], 2, 4)):
        if rng.random() < 0.05:
            label = ""
        else:
            votes.append((item, person, label))
        when = stamp(rng, "%Y-%m-%dT%H:%M:%S.%fZ")
        rows.append([str(9001 + n), person, when, item, f"{rng.uniform(2, 60):.3f}", label, text[item],
                     when])
    yield Shape("label_studio_csv", "project-12-at-2021-04-02-09-11-ab12cd34.csv", table(rows, end="\n"),
                tuple(votes), None, "",
                "columns in alphabetical order, so the first is the id of the annotation; an empty choice "
                "is a submitted task without an answer; item is id (text is equivalent).")


def label_studio_json() -> Iterator[Shape]:
    rng = Random("label_studio_json")
    ids = [str(k) for k in range(301, 321)]
    groups = by_item(simulate(rng, ids, [str(k) for k in (1, 4, 7, 9)], ["Toxic", "Fine"], 2, 4))
    votes: list[Vote] = []
    tasks = []
    for (item, group), text in zip(groups.items(), texts(rng, 20)):
        annotations = []
        for _, person, label in group:
            skipped = rng.random() < 0.08
            result = [] if skipped else [{
                "id": code(rng, 10), "type": "choices", "from_name": "toxicity", "to_name": "text",
                "origin": "manual", "value": {"choices": [label]}}]
            annotations.append({"id": rng.randrange(10**5), "completed_by": int(person),
                                "result": result, "was_cancelled": skipped, "ground_truth": False,
                                "lead_time": round(rng.uniform(1, 50), 2)})
            if not skipped:
                votes.append((item, person, label))
        tasks.append({
            "id": int(item), "annotations": annotations, "data": {"text": text},
            "predictions": [{"model_version": "v2", "score": 0.7, "result": [
                {"type": "choices", "from_name": "toxicity", "to_name": "text",
                 "value": {"choices": ["Fine"]}}]}]})
    yield Shape("label_studio_json", "project-12.json", json.dumps(tasks, ensure_ascii=False).encode(),
                tuple(votes), None, "",
                "deeply nested; skipped tasks (was_cancelled) have an empty result; 'predictions' are a "
                "model's, not votes.")


def doccano_jsonl() -> Iterator[Shape]:
    rng = Random("doccano_jsonl")
    ids = [str(k) for k in range(1, 27)]
    groups = by_item(simulate(rng, ids, ["2", "3", "5"], ["11", "12", "13"], 2, 3))
    records = [{
        "id": int(item), "text": text, "meta": {"source": "forum"}, "annotation_approver": None,
        "annotations": [{"id": rng.randrange(9999), "prob": 0.0, "label": int(label), "user": int(user),
                         "document": int(item)} for _, user, label in group],
    } for (item, group), text in zip(groups.items(), texts(rng, 26, newlines=True))]
    yield Shape("doccano_jsonl", "file.jsonl", jsonl(records),
                tuple(v for g in groups.values() for v in g), None, "",
                "labels and users are database numbers; their names are not in the file.")


def prodigy_choice() -> Iterator[Shape]:
    rng = Random("prodigy_choice")
    body = texts(rng, 24)
    hashes = dict(zip(body, rng.sample(range(-2**31, 2**31), 24)))
    people = [f"topics-{n}" for n in NAMES[:4]]
    options = ["SPORT", "POLITICS", "CULTURE"]
    records = []
    votes: list[Vote] = []
    for text, person, label in simulate(rng, body, people, options, 2, 4):
        answer = rng.choices(["accept", "ignore"], [9, 1])[0]
        records.append({
            "text": text, "meta": {"source": "news"}, "_input_hash": hashes[text],
            "_task_hash": hashes[text] ^ 77, "options": [{"id": o, "text": o.title()} for o in options],
            "_view_id": "choice", "accept": [label] if answer == "accept" else [],
            "config": {"choice_style": "single"}, "answer": answer,
            "_timestamp": 1_616_000_000 + rng.randrange(10**6), "_annotator_id": person,
            "_session_id": person})
        if answer == "accept":
            votes.append((str(hashes[text]), person, label))
    yield Shape("prodigy_choice", "topics.jsonl", jsonl(records, ascii_only=True), tuple(votes), None, "",
                "the label stands in the list 'accept'; 'answer' is the state of the task; ignored tasks "
                "are no votes; item is _input_hash (text is equivalent), often negative.")


def prodigy_binary() -> Iterator[Shape]:
    rng = Random("prodigy_binary")
    body = texts(rng, 30)
    hashes = {t: str(rng.randrange(2**31)) for t in body}
    records = []
    votes: list[Vote] = []
    for text, person, answer in simulate(rng, body, ["db-anna", "db-ben", "db-cem"],
                                         ["accept", "reject", "accept", "reject", "ignore"], 2, 3):
        records.append({"text": text, "label": "SPAM", "_input_hash": int(hashes[text]),
                        "_view_id": "classification", "answer": answer, "_session_id": person})
        if answer != "ignore":
            votes.append((hashes[text], person, answer))
    yield Shape("prodigy_binary", "spam_binary.jsonl", jsonl(records), tuple(votes), None, "",
                "'label' is the same in every row: the question, not the answer; the vote is 'answer', "
                "where 'ignore' means skipped.")


def potato_tsv() -> Iterator[Shape]:
    rng = Random("potato_tsv")
    ids = [f"item_{k}" for k in range(1, 31)]
    text = dict(zip(ids, texts(rng, 30)))
    classes = ["positive", "neutral", "negative"]
    votes = simulate(rng, ids, [f"{n}@example.edu" for n in NAMES[:6]], classes, 3, 4)
    rows = [["user", "instance_id", "displayed_text"] + [f"sentiment:::{c}" for c in classes]
            + ["reason:::text_box"]]
    rows += [[u, i, text[i]] + [str(1 + classes.index(c)) if c == label else "" for c in classes]
             + [rng.choice(["", "the tone, mostly"])] for i, u, label in votes]
    yield Shape("potato_tsv", "annotated_instances.tsv", table(rows, "\t", "\n"), tuple(votes), None, "",
                "one column per choice, schema:::choice; the chosen one holds the choice's number (1, 2 "
                "or 3), the others are blank.")


def potato_jsonl() -> Iterator[Shape]:
    rng = Random("potato_jsonl")
    ids = [f"post-{k:03d}" for k in range(25)]
    text = dict(zip(ids, texts(rng, 25)))
    first = simulate(rng, ids, codes(rng, 7, 24, "0123456789abcdef"), ["low", "medium", "high"], 2, 4)
    second = [(i, u, rng.choice(["personal", "public"])) for i, u, _ in first]
    records = [{
        "user_id": u, "instance_id": i, "displayed_text": text[i],
        "label_annotations": {"empathy": {a: "1"}, "scope": {b: "true"}},
        "span_annotations": {}, "behavioral_data": {"time_string": "Time spent: 0d 0h 0m 9s"},
    } for (i, u, a), (_, _, b) in zip(first, second)]
    for question, votes in (("empathy", first), ("scope", second)):
        yield Shape(f"potato_jsonl__{question}", "annotated_instances.jsonl", jsonl(records),
                    tuple(votes), None, f"Which scheme? Here: {question}.",
                    "the label is a key, its value only says that it was chosen.")


def argilla_records() -> Iterator[Shape]:
    rng = Random("argilla_records")
    ids = [code(rng, 8, "0123456789abcdef") for _ in range(20)]
    groups = by_item(simulate(rng, ids, codes(rng, 5, 12, "0123456789abcdef"), ["yes", "no"], 2, 4))
    records = []
    votes: list[Vote] = []
    for (item, group), text in zip(groups.items(), texts(rng, 20)):
        responses = []
        for vote in group:
            status = rng.choices(["submitted", "draft", "discarded"], [8, 1, 1])[0]
            responses.append({"value": vote[2], "user_id": vote[1], "status": status})
            if status == "submitted":
                votes.append(vote)
        records.append({"id": item, "fields": {"text": text}, "metadata": {},
                        "suggestions": {"correct": {"value": "yes", "agent": "model-a"}},
                        "responses": {"correct": responses}})
    yield Shape("argilla_records", "records.jsonl", jsonl(records), tuple(votes), None, "",
                "a list of responses under the question's name; drafts and discarded answers are no "
                "votes, nor are the suggestions of a model.")


# --------------------------------------------------------------------------------------------------
# Research releases


NLI = ["entailment", "neutral", "contradiction"]


def with_author(pair: str, labels: Sequence[str]) -> list[str]:
    """The first label is the one the author of the pair wrote it for: the last letter of its id."""
    return [next(n for n in NLI if n[0] == pair[-1]), *labels[1:]]


def snli_tsv() -> Iterator[Shape]:
    rng = Random("snli_tsv")
    pairs = [f"{rng.randrange(10**9, 5 * 10**9)}.jpg#{k % 5}r1{'enc'[k % 3]}" for k in range(30)]
    groups = by_item(simulate(rng, pairs, NAMES, NLI, 5, 5, 0.7))
    rows = [["gold_label", "sentence1", "sentence2", "captionID", "pairID"]
            + [f"label{k}" for k in range(1, 6)]]
    votes: list[Vote] = []
    one, two = texts(rng, 30, plain=True), texts(rng, 30, plain=True)
    for (pair, group), s1, s2 in zip(groups.items(), one, two):
        labels = with_author(pair, [label for *_, label in group][:5 if rng.random() < 0.7 else 1])
        top, n = Counter(labels).most_common(1)[0]
        gold = top if n >= 3 or len(labels) == 1 else "-"
        rows.append([gold, s1, s2, pair[:-3], pair] + labels + [""] * (5 - len(labels)))
        votes += [(pair, None, label) for label in labels]
    yield Shape("snli_tsv", "snli_1.0_dev.txt", table(rows, "\t", "\n"), tuple(votes), None,
                "Are label1 to label5 five people? Here: no, label1 is the author of the pair, whoever "
                "that was, and the rest are any four people.",
                "tab-separated .txt; gold_label is the majority, '-' without one; many pairs have only "
                "label1; item is pairID (sentence1 with sentence2 is equivalent).")


def snli_jsonl() -> Iterator[Shape]:
    rng = Random("snli_jsonl")
    pairs = [f"{rng.randrange(10**5)}{'enc'[k % 3]}" for k in range(25)]
    groups = by_item(simulate(rng, pairs, NAMES, NLI, 5, 5, 0.7))
    labels = {p: with_author(p, [label for *_, label in g]) for p, g in groups.items()}
    records = [{
        "annotator_labels": five, "genre": "fiction", "gold_label": winner(five), "pairID": p,
        "promptID": p[:-1], "sentence1": s1, "sentence2": s2,
        "sentence1_binary_parse": f"( {s1} . )",
    } for (p, five), s1, s2 in zip(labels.items(), texts(rng, 25), texts(rng, 25))]
    yield Shape("snli_jsonl", "multinli_1.0_dev_matched.jsonl", jsonl(records),
                tuple((p, None, label) for p, five in labels.items() for label in five), None, "",
                "the votes are a list without names; gold_label is the majority, not a vote.")


def goemotions_raw() -> Iterator[Shape]:
    rng = Random("goemotions_raw")
    emotions = ["admiration", "anger", "confusion", "joy", "sadness", "neutral"]
    ids = codes(rng, 30, 7, string.ascii_lowercase + string.digits)
    text = dict(zip(ids, texts(rng, 30)))
    author = {i: rng.choice(NAMES) + str(rng.randrange(99)) for i in ids}
    rows = [["text", "id", "author", "subreddit", "link_id", "parent_id", "created_utc", "rater_id",
             "example_very_unclear"] + emotions]
    chosen: list[Vote] = []
    anger: list[Vote] = []
    for i, rater, label in simulate(rng, ids, [str(k) for k in range(12)], emotions, 3, 5):
        unclear = rng.random() < 0.06
        ticks = set() if unclear else {label}
        if ticks and label != "neutral" and rng.random() < 0.2:
            ticks.add(rng.choice(emotions[:5]))
        rows.append([text[i], i, author[i], "mademesmile", "t3_" + i, "t1_" + i, "1548381039.0", rater,
                     str(unclear)] + ["1" if e in ticks else "0" for e in emotions])
        chosen += [(i, rater, e) for e in emotions if e in ticks]
        anger += [] if unclear else [(i, rater, "1" if "anger" in ticks else "0")]
    content = table(rows, end="\n")
    note = ("one 0/1 column per emotion, sometimes two set; 'author' wrote the text, the annotator is "
            "rater_id; rows marked very unclear have no emotion at all.")
    yield Shape("goemotions_raw__chosen", "goemotions_1.csv", content, tuple(chosen), None,
                "One vote per emotion ticked, or a yes/no question per emotion? Here: the emotions "
                "ticked.", note)
    yield Shape("goemotions_raw__anger", "goemotions_1.csv", content, tuple(anger), None,
                "One vote per emotion ticked, or a yes/no question per emotion? Here: anger as 0 or 1, "
                "without the unclear rows.", note)


def dices_like() -> Iterator[Shape]:
    rng = Random("dices_like")
    items = [str(k) for k in range(20)]
    raters = numbers(rng, 9, 296_000_000_000_000, 296_999_999_999_999)
    who = {r: [rng.choice(["Man", "Woman"]), rng.choice(["White", "Asian/Asian subcontinent"]),
               rng.choice(["gen z", "millenial", "gen x+"])] for r in raters}
    talk = dict(zip(items, texts(rng, 20)))
    harm = {i: rng.choice(["Benign", "Debatable", "Moderate", "Extreme"]) for i in items}
    base = simulate(rng, items, raters, ["No", "Yes", "Unsure"], 5, 7)
    rows = [["id", "rater_id", "rater_gender", "rater_race", "rater_age", "phase", "item_id", "context",
             "response", "degree_of_harm", "harm_type", "response_time", "Q1_whole_conversation",
             "Q2_harmful_content_overall", "Q3_unfair_bias_overall", "Q_overall"]]
    truth: dict[str, list[Vote]] = {"Q2_harmful_content_overall": [], "Q_overall": []}
    for n, (item, rater, label) in enumerate(base):
        q3 = rng.choice(["No", "No", "Yes", "Unsure"])
        overall = "Yes" if "Yes" in (label, q3) else "Unsure" if "Unsure" in (label, q3) else "No"
        rows.append([str(n), rater, *who[rater], "Phase1", item,
                     f"USER: {talk[item]}\nBOT: I see.\nUSER: And you?", "I am only a program, sorry.",
                     harm[item], "Legal", str(rng.randrange(9000, 90_000)), "No, it makes sense", label,
                     q3, overall])
        truth["Q2_harmful_content_overall"].append((item, rater, label))
        truth["Q_overall"].append((item, rater, overall))
    content = table(rows, end="\n")
    for question, votes in truth.items():
        yield Shape(f"dices_like__{question}", "diverse_safety_raters_350.csv", content, tuple(votes),
                    None, f"Which question? Here: {question}.",
                    "id is the row, item_id the item; the raters' demographics and the experts' "
                    "degree_of_harm look like answers but are not.")


def social_bias_like() -> Iterator[Shape]:
    rng = Random("social_bias_like")
    posts = texts(rng, 25)
    hit = dict(zip(posts, codes(rng, 25, 29, prefix="3")))
    rows: list[list[str]] = [
        ["whoTarget", "intentYN", "sexYN", "sexReason", "offensiveYN", "annotatorGender",
         "annotatorMinority", "sexPhrase", "speakerMinorityYN", "WorkerId", "HITId",
         "annotatorPolitics", "annotatorRace", "annotatorAge", "post", "targetMinority",
         "targetCategory", "targetStereotype", "dataSource"]]
    truth: dict[str, list[Vote]] = {"offensiveYN": [], "intentYN": []}
    for post, worker, offensive in simulate(rng, posts, codes(rng, 9, 12, prefix="A"),
                                            ["1.0", "0.5", "0.0"], 3, 3):
        intent = rng.choice(["1.0", "0.66", "0.33", "0.0"])
        groups = rng.choice([["women"], ["immigrants", "old people"]]) if offensive == "1.0" else [""]
        for group in groups:
            rows.append(["1.0" if group else "", intent, "0.0", "", offensive, "woman", "", "", "",
                         worker, hit[post], "liberal", "white", "36.0", post, group,
                         "culture" if group else "", f"{group} are all the same" if group else "",
                         "r/darkjokes"])
        truth["offensiveYN"].append((post, worker, offensive))
        truth["intentYN"].append((post, worker, intent))
    content = table(rows, end="\n")
    for question, votes in truth.items():
        yield Shape(f"social_bias_like__{question}", "SBIC.v2.trn.csv", content, tuple(votes), None,
                    f"Which question? Here: {question}.",
                    "a person's answer is repeated in one row per targeted group, and is still one vote; "
                    "answers are numbers (1.0 yes, 0.5 maybe); item is post (HITId is equivalent).")


def measuring_hate_like() -> Iterator[Shape]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = Random("measuring_hate_like")
    ids = numbers(rng, 25, 1, 50_000)
    text = dict(zip(ids, texts(rng, 25, newlines=True)))
    score = {i: round(rng.gauss(-0.5, 2), 2) for i in ids}
    hate = simulate(rng, ids, numbers(rng, 12, 1, 12_000), ["0.0", "1.0", "2.0"], 2, 5)
    sentiment = [(i, a, rng.choice(["0.0", "1.0", "2.0", "3.0", "4.0"])) for i, a, _ in hate]
    columns = {
        "comment_id": [int(i) for i, *_ in hate], "annotator_id": [int(a) for _, a, _ in hate],
        "platform": [int(i) % 4 for i, *_ in hate],
        "sentiment": [float(label) for *_, label in sentiment],
        "hatespeech": [float(label) for *_, label in hate],
        "hate_speech_score": [score[i] for i, *_ in hate], "text": [text[i] for i, *_ in hate],
        "infitms": [round(rng.uniform(0.4, 2), 2) for _ in hate],
        "annotator_severity": [round(rng.gauss(0, 0.5), 2) for _ in hate],
        "target_race": [rng.random() < 0.3 for _ in hate],
        "annotator_gender": [rng.choice(["men", "women", None]) for _ in hate],
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    for question, votes in (("hatespeech", hate), ("sentiment", sentiment)):
        yield Shape(f"measuring_hate_like__{question}", "measuring-hate-speech.parquet",
                    sink.getvalue(), tuple(votes), None, f"Which question? Here: {question}.",
                    "answers are stored as floats; hate_speech_score is a property of the comment, "
                    "infitms and annotator_severity are statistics, not answers.")


def civil_comments_like() -> Iterator[Shape]:
    rng = Random("civil_comments_like")
    ids = numbers(rng, 40, 200_000, 7_000_000)
    rows = [["id", "comment_text", "split", "created_date", "rating", "toxicity", "obscene", "female",
             "funny", "identity_annotator_count", "toxicity_annotator_count"]]
    toxic: dict[Item, dict[str, int]] = {}
    female: dict[Item, dict[str, int]] = {}

    def share(k: int, n: int) -> str:
        return f"{k / n:.15g}" if k % n else f"{k / n:.1f}"

    for i, text in zip(ids, texts(rng, 40)):
        n, m = rng.choice([4, 4, 6, 10]), rng.choice([0, 0, 4, 5])
        k, f = rng.randint(0, n), rng.randint(0, m)
        rows.append([i, text, "train", stamp(rng), "approved", share(k, n), share(rng.randint(0, k), n),
                     share(f, m) if m else "", str(rng.randrange(5)), str(m), str(n)])
        toxic[i] = {"toxicity": k, "not toxicity": n - k}
        if m:
            female[i] = {"female": f, "not female": m - f}
    content = table(rows, end="\n")
    note = ("shares of people who said yes, and how many were asked in another column; the product is "
            "whole only up to rounding; the file has no word for no (truth: 'not ' and the column); "
            "'funny' counts clicks of readers, not votes.")
    yield Shape("civil_comments_like__toxicity", "all_data.csv", content, None, toxic,
                "Which question? Here: toxicity, out of toxicity_annotator_count.", note)
    yield Shape("civil_comments_like__female", "all_data.csv", content, None, female,
                "Which question? Here: female, out of identity_annotator_count; blank if not asked.", note)


def wiki_detox_like() -> Iterator[Shape]:
    rng = Random("wiki_detox_like")
    revs = [f"{k}.0" for k in numbers(rng, 25, 2_000, 700_000_000)]
    scale = ["-2", "-1", "0", "1", "2"]
    score = simulate(rng, revs, [f"{k}.0" for k in numbers(rng, 10, 1, 4_000)], scale, 4, 7)
    binary = [(r, w, "1.0" if label.startswith("-") else "0.0") for r, w, label in score]
    rows = [["rev_id", "worker_id", "toxicity", "toxicity_score"]]
    rows += [[r, w, b, label + ".0"] for (r, w, label), (*_, b) in zip(score, binary)]
    content = table(rows, "\t", "\n")
    for question, votes in (("toxicity", binary),
                            ("toxicity_score", [(r, w, s + ".0") for r, w, s in score])):
        yield Shape(f"wiki_detox_like__{question}", "toxicity_annotations.tsv", content, tuple(votes),
                    None, f"Which question? Here: {question}.",
                    "ids are written as floats; the first answer is the sign of the second.")


def chaosnli_like() -> Iterator[Shape]:
    rng = Random("chaosnli_like")
    counts: dict[Item, dict[str, int]] = {}
    records = []
    for k, (s1, s2) in enumerate(zip(texts(rng, 20), texts(rng, 20))):
        uid = f"{rng.randrange(10**5)}{'enc'[k % 3]}"
        e = rng.randint(0, 100)
        n = rng.choice([0, rng.randint(0, 100 - e)])
        by = {"e": e, "n": n, "c": 100 - e - n}
        by = {label: c for label, c in by.items() if c}
        counts[uid] = by
        records.append({
            "uid": uid, "label_counter": by, "majority_label": max(by, key=by.__getitem__),
            "label_dist": [by.get(x, 0) / 100 for x in "enc"],
            "label_count": [by.get(x, 0) for x in "enc"],
            "entropy": round(-sum(c / 100 * math.log2(c / 100) for c in by.values()), 4),
            "example": {"uid": uid, "premise": s1, "hypothesis": s2, "source": "mnli_m"},
            "old_label": "e", "old_labels": [rng.choice(NLI) for _ in range(5)]})
    yield Shape("chaosnli_like", "chaosNLI_mnli_m.jsonl", jsonl(records), None, counts,
                "The 100 new votes or the five old ones? Here: the new, label_counter.",
                "the same counts three times (counter, list, shares); classes nobody chose are missing "
                "from label_counter; old_labels are votes from an earlier study.")


def cifar10h_raw() -> Iterator[Shape]:
    rng = Random("cifar10h_raw")
    classes = ["airplane", "automobile", "bird", "cat", "deer", "dog"]
    items = numbers(rng, 30, 0, 10_000)
    real = dict(zip(items, (rng.choice(classes) for _ in items)))
    rows = [["annotator_id", "trial_index", "is_attn_check", "true_category", "chosen_category",
             "true_label", "chosen_label", "correct_guess", "cifar10_test_test_idx", "image_filename",
             "subcategory", "reaction_time", "time_elapsed"]]
    votes: list[Vote] = []
    trial = 0
    for item, person, _ in simulate(rng, items, [str(k) for k in range(12)], classes, 4, 6):
        check = rng.random() < 0.06
        true = rng.choice(classes) if check else real[item]
        said = true if check or rng.random() < 0.85 else rng.choice(classes)
        trial += 1
        rows.append([person, str(trial), str(int(check)), true, said, str(classes.index(true)),
                     str(classes.index(said)), str(int(said == true)), "-99999" if check else item,
                     f"{true}_s_{item}.png", true, f"{rng.uniform(400, 4000):.0f}",
                     str(trial * 2500)])
        if not check:
            votes.append((item, person, said))
    yield Shape("cifar10h_raw", "cifar10h-raw.csv", table(rows, end="\n"), tuple(votes), None, "",
                "the true class stands beside the chosen one, each as name and as number (truth: "
                "chosen_category); attention checks share the false index -99999.")


def cifar10n_like() -> Iterator[Shape]:
    rng = Random("cifar10n_like")
    items = [str(k) for k in range(40)]
    columns = ["random_label1", "random_label2", "random_label3"]
    groups = by_item(simulate(rng, items, columns, list("012345"), 3, 3))
    rows = [["index", "clean_label", "aggre_label", "worse_label", *columns]]
    votes: list[Vote] = []
    for item, group in groups.items():
        labels = cells(group, columns)
        clean = winner(labels)
        wrong = [x for x in labels if x != clean]
        rows.append([item, clean, winner(labels), wrong[0] if wrong else clean, *labels])
        votes += [(item, None, label) for label in labels]
    yield Shape("cifar10n_like", "CIFAR-10_human.csv", table(rows, end="\n"), tuple(votes), None, "",
                "six label columns, of which three are votes; clean, aggregate and worst labels are "
                "derived; random_label1 is not one person.")


def snow_rte() -> Iterator[Shape]:
    rng = Random("snow_rte")
    items = [str(k) for k in rng.sample(range(1, 800), 30)]
    gold = {i: rng.choice("01") for i in items}
    votes = shuffled(rng, simulate(rng, items, codes(rng, 15, 13, prefix="A"), ["0", "1"], 5, 5))
    rows = [["!amt_annotation_ids", "!amt_worker_ids", "orig_id", "response", "gold"]]
    rows += [[code(rng, 20), w, i, label, gold[i]] for i, w, label in votes]
    yield Shape("snow_rte", "rte.standardized.tsv", table(rows, "\t", "\n"), tuple(votes), None, "",
                "header names begin with '!'; the gold answer has the same classes as the votes.")


def hatexplain_like() -> Iterator[Shape]:
    rng = Random("hatexplain_like")
    ids = [f"{rng.randrange(10**18, 2 * 10**18)}_gab" for _ in range(22)]
    groups = by_item(simulate(rng, ids, numbers(rng, 10, 1, 254), ["hatespeech", "offensive", "normal"],
                              3, 3))
    data = {item: {
        "post_id": item,
        "annotators": [{"label": label, "annotator_id": int(a), "target": ["None"]} for _, a, label in g],
        "rationales": [[0, 1, 0, 0]], "post_tokens": text.split(),
    } for (item, g), text in zip(groups.items(), texts(rng, 22))}
    yield Shape("hatexplain_like", "dataset.json", json.dumps(data).encode(),
                tuple(v for g in groups.values() for v in g), None, "",
                "a JSON object keyed by item, not a list; 'target' is a second, multiple-choice question "
                "and 'rationales' are spans.")


def lewidi_json() -> Iterator[Shape]:
    rng = Random("lewidi_json")
    ids = [str(k) for k in range(1, 31)]
    people = [f"Ann{k}" for k in range(1, 8)]
    groups = by_item(simulate(rng, ids, people, ["0", "1"], 3, 5))
    data = {item: {
        "text": text, "annotation task": "misogyny and sexism detection",
        "number of annotations": len(g), "annotations": ",".join(label for *_, label in g),
        "annotators": ",".join(a for _, a, _ in g), "lang": "en",
        "hard_label": winner(label for *_, label in g),
        "soft_label": {c: sum(label == c for *_, label in g) / len(g) for c in "01"}, "split": "train",
    } for (item, g), text in zip(groups.items(), texts(rng, 30))}
    yield Shape("lewidi_json", "MD-Agreement_train.json", json.dumps(data, indent=2).encode(),
                tuple(v for g in groups.values() for v in g), None, "",
                "annotators and their answers are two parallel comma-separated strings; the item's id is "
                "only a key.")


def galaxy_counts() -> Iterator[Shape]:
    rng = Random("galaxy_counts")
    ids = numbers(rng, 25, 587_722_981_736_120_000, 587_742_981_736_120_000)
    first = ["smooth", "features_or_disk", "star_or_artifact"]
    second = ["edgeon_yes", "edgeon_no"]
    heads: list[str] = []
    for task, answers in (("t01", first), ("t02", second)):
        for k, a in enumerate(answers, 1):
            heads += [f"{task}_a0{k}_{a}_count", f"{task}_a0{k}_{a}_fraction"]
        heads.append(f"{task}_total_count")
    rows = [["dr7objid", "ra", "dec"] + heads]
    truth: dict[str, dict[Item, dict[str, int]]] = {"t01": {}, "t02": {}}
    for i in ids:
        one = [rng.randint(0, 30), rng.randint(0, 20), rng.randint(0, 4)]
        yes = rng.randint(0, one[1])
        line: list[str] = []
        for task, answers, c in (("t01", first, one), ("t02", second, [yes, one[1] - yes])):
            for n in c:
                line += [str(n), f"{n / sum(c):.3f}" if sum(c) else "0.000"]
            line.append(str(sum(c)))
            if sum(c):
                truth[task][i] = {f"{task}_a0{k}_{a}_count": n for k, (a, n) in
                                  enumerate(zip(answers, c), 1)}
        rows.append([i, f"{rng.uniform(0, 360):.5f}", f"{rng.uniform(-10, 60):.5f}"] + line)
    content = table(rows, end="\n")
    for task, counts in truth.items():
        yield Shape(f"galaxy_counts__{task}", "gz2_counts.csv", content, None, counts,
                    f"Which question? Here: {task}.",
                    "counts, fractions and totals side by side for two questions; ids beyond 2**53; the "
                    "second question was put only to those who saw a disk, sometimes to nobody (such "
                    "items are left out); classes are named by their whole column.")


def popquorn_like() -> Iterator[Shape]:
    rng = Random("popquorn_like")
    ids = [str(k) for k in range(0, 60, 2)]
    text = dict(zip(ids, texts(rng, 30)))
    votes = simulate(rng, ids, [str(k) for k in range(20)], ["1.0", "2.0", "3.0", "4.0", "5.0"], 4, 6)
    rows = [["instance_id", "user_id", "text", "offensiveness", "gender", "age", "education"]]
    rows += [[i, u, text[i], label, "Woman" if int(u) % 2 else "Man", "35-39", "College degree"]
             for i, u, label in votes]
    yield Shape("popquorn_like", "raw_data.csv", table(rows, end="\n"), tuple(votes), None, "",
                "long and well named; items and users share the same small numbers.")


def stance_none_class() -> Iterator[Shape]:
    rng = Random("stance_none_class")
    ids = [str(k) for k in range(101, 131)]
    text = dict(zip(ids, texts(rng, 30)))
    raters = ["Annotator1", "Annotator2", "Annotator3"]
    classes = ["FAVOR", "AGAINST", "NONE", "NA"]
    groups = by_item(simulate(rng, ids, raters, classes, 2, 3))
    rows = [["ID", "Target", "Tweet", *raters]]
    rows += [[i, "Atheism", text[i], *cells(g, raters)] for i, g in groups.items()]
    yield Shape("stance_none_class", "stance_annotations.csv", table(rows, end="\n"),
                in_columns((v for g in groups.values() for v in g), raters), None,
                "Are NONE and NA classes? Here: yes, the guidelines have NONE (no stance) and NA (target "
                "not applicable); a missing answer is a blank cell.",
                "two classes that readers of tables like to take for missing values.")


# --------------------------------------------------------------------------------------------------
# Spreadsheets: one column per rater, and its relatives


def rater_columns() -> Iterator[Shape]:
    rng = Random("rater_columns")
    ids = [str(k) for k in range(1, 36)]
    raters = ["Anna", "Ben", "Chloé", "David K."]
    groups = by_item(simulate(rng, ids, raters, ["claim", "premise", "other"], 2, 4))
    rows = [["No.", "Sentence", *raters, "Comments"]]
    rows += [[i, t, *cells(g, raters), rng.choice(["", "", "discuss!", "David: claim?"])]
             for (i, g), t in zip(groups.items(), texts(rng, 35, newlines=True))]
    yield Shape("rater_columns", "annotation round 1 - Sheet1.csv", table(rows),
                in_columns((v for g in groups.values() for v in g), raters), None, "",
                "raters are known by their column's name; blanks mean not annotated; a comment column.")


def raters_and_adjudication() -> Iterator[Shape]:
    rng = Random("raters_and_adjudication")
    ids = [f"S{k:03d}" for k in range(40)]
    raters = ["Coder A", "Coder B"]
    groups = by_item(simulate(rng, ids, raters, ["0", "1", "2"], 2, 2))
    rows = [["Unit", *raters, "Agree?", "Final code", "Date"]]
    for i, g in groups.items():
        a, b = cells(g, raters)
        rows.append([i, a, b, "TRUE" if a == b else "FALSE", a if a == b else rng.choice([a, b]),
                     stamp(rng, "%d.%m.%y")])
    yield Shape("raters_and_adjudication", "coding_sheet.csv", table(rows),
                in_columns((v for g in groups.values() for v in g), raters), None,
                "Is 'Final code' a third coder's vote? Here: no, it is settled by discussion.",
                "the adjudicated column has the same values as the coders' columns.")


def radiologist_reads() -> Iterator[Shape]:
    rng = Random("radiologist_reads")
    ids = [f"1.2.840.{k}" for k in numbers(rng, 30, 10_000, 99_999)]
    readers = [f"radiologist_{k}" for k in range(1, 6)]
    groups = by_item(simulate(rng, ids, readers, ["BI-RADS 1", "BI-RADS 2", "BI-RADS 4a"], 1, 3))
    rows = [["StudyInstanceUID", "laterality", *readers, "consensus", "model_score"]]
    rows += [[i, rng.choice("LR"), *cells(g, readers), winner(label for *_, label in g),
              f"{rng.random():.4f}"] for i, g in groups.items()]
    yield Shape("radiologist_reads", "second_reads.csv", table(rows, end="\n"),
                in_columns((v for g in groups.values() for v in g), readers), None,
                "Is radiologist_1 the same person in every row? Here: yes.",
                "most cells are blank and some studies have one read only; laterality is a property of "
                "the image; consensus and the model's score are not votes.")


def reads_with_readers() -> Iterator[Shape]:
    rng = Random("reads_with_readers")
    ids = [f"slide_{k:03d}" for k in range(30)]
    groups = by_item(simulate(rng, ids, ["MK", "TS", "RW", "ÅL"], ["benign", "malignant"], 2, 2))
    rows = [["slide", "read1", "read1_by", "read2", "read2_by", "read3", "read3_by"]]
    votes: list[Vote] = []
    for i, g in groups.items():
        reads = list(g)
        if reads[0][2] != reads[1][2]:
            reads.append((i, "Prof. H", rng.choice(["benign", "malignant"])))
        votes += reads
        line = [x for _, who, label in reads for x in (label, who)]
        rows.append([i] + line + [""] * (6 - len(line)))
    yield Shape("reads_with_readers", "pathology_reads.csv", table(rows, end="\n"), tuple(votes), None,
                "Does the third read count? Here: yes, it is a person's independent answer.",
                "each answer has its reader in the next column; a third read only on disagreement.")


def dots_for_gaps() -> Iterator[Shape]:
    rng = Random("dots_for_gaps")
    units = [str(k) for k in range(1, 25)]
    coders = ["A", "B", "C", "D"]
    groups = by_item(simulate(rng, units, coders, ["1", "2", "3", "4", "5"], 2, 4))
    rows = [["unit", *coders]] + [[u, *cells(g, coders, ".")] for u, g in groups.items()]
    yield Shape("dots_for_gaps", "reliability.txt", table(rows, "\t", "\n"),
                in_columns((v for g in groups.values() for v in g), coders), None, "",
                "a full stop stands for no answer, as statistics packages write it.")


def coders_in_rows() -> Iterator[Shape]:
    rng = Random("coders_in_rows")
    units = [f"u{k}" for k in range(1, 21)]
    coders = ["Observer 1", "Observer 2", "Observer 3", "Observer 4"]
    groups = by_item(simulate(rng, units, coders, ["1", "2", "3", "4"], 2, 4))
    rows = [["", *units]]
    votes: list[Vote] = []
    for coder in coders:
        given = {u: label for u, g in groups.items() for _, c, label in g if c == coder}
        rows.append([coder] + [given.get(u, "*") for u in units])
        votes += [(u, coder, given[u]) for u in units if u in given]
    yield Shape("coders_in_rows", "alpha_matrix.csv", table(rows, end="\n"), tuple(votes), None,
                "Are the rows items or people? Here: people, as the names say; by numbers alone it "
                "could be either.",
                "the matrix of the reliability literature: people in rows, items in columns, '*' for "
                "gaps, no name for the first column.")


def minus_two_to_two() -> Iterator[Shape]:
    rng = Random("minus_two_to_two")
    ids = [f"word{k}" for k in range(1, 41)]
    raters = [f"r{k}" for k in range(1, 7)]
    scale = ["\u22122", "\u22121", "0", "1", "2"]
    groups = by_item(simulate(rng, ids, raters, scale, 5, 6))
    rows = [["item", *raters, "mean", "SD"]]
    for i, g in groups.items():
        values = [int(label.replace("\u2212", "-")) for *_, label in g]
        mean = sum(values) / len(values)
        sd = (sum((v - mean) ** 2 for v in values) / len(values)) ** 0.5
        rows.append([i, *cells(g, raters), f"{mean:.2f}", f"{sd:.2f}"])
    yield Shape("minus_two_to_two", "valence_ratings.csv", table(rows, end="\n"),
                in_columns((v for g in groups.values() for v in g), raters), None, "",
                "ratings from \u22122 to 2 with the typographic minus sign in the raters' cells and the "
                "hyphen in the mean; mean and SD are not raters.")


def similarity_pairs() -> Iterator[Shape]:
    rng = Random("similarity_pairs")
    pairs = list(zip(texts(rng, 30), texts(rng, 30)))
    raters = [f"Human {k} (0-5)" for k in range(1, 6)]
    groups = by_item(simulate(rng, pairs, raters, ["0", "1", "2", "3", "4", "5"], 5, 5))
    rows = [["Sentence 1", "Sentence 2", "Human (mean)", *raters]]
    rows += [[*p, f"{sum(int(x[2]) for x in g) / 5:.2f}", *cells(g, raters)] for p, g in groups.items()]
    yield Shape("similarity_pairs", "sts_raw_scores.tsv", table(rows, "\t", "\n"),
                in_columns((v for g in groups.values() for v in g), raters), None, "",
                "an item is a pair of sentences; the first number is the mean of the others and has a "
                "name like theirs.")


def half_point_similarity() -> Iterator[Shape]:
    rng = Random("half_point_similarity")
    words = ["car", "old", "happy", "river", "teach", "smart", "bean", "cloud", "walk", "naïve"]
    pairs = rng.sample([(a, b) for n, a in enumerate(words) for b in words[n + 1:]], 30)
    raters = [f"S{k}" for k in range(1, 8)]
    scale = [f"{k / 2:g}" for k in range(21)]
    middle = {p: rng.randrange(2, 19) for p in pairs}
    rows = [["word1", "word2", "POS", *raters, "Average"]]
    votes: list[Vote] = []
    for pair in pairs:
        near = [scale[max(0, min(20, middle[pair] + rng.randint(-3, 3)))] for _ in raters]
        given = [x if rng.random() < 0.85 else "" for x in near]
        votes += [(pair, r, x) for r, x in zip(raters, given) if x]
        known = [float(x) for x in given if x]
        rows.append([*pair, "A", *given, f"{sum(known) / len(known):.2f}"])
    yield Shape("half_point_similarity", "word_similarity_raw.csv", table(rows, end="\n"), tuple(votes),
                None, "Are 21 half points on a scale of 0 to 10 labels, or to be binned first? Here: "
                "labels as they stand.",
                "an item is a pair of words; many levels, and 6 and 6.5 in one column; the average "
                "follows the raters.")


def pivot_with_number_headers() -> Iterator[Shape]:
    rng = Random("pivot_with_number_headers")
    ids = [f"doc-{k}" for k in range(30)]
    people = ["101", "104", "107", "112", "130"]
    groups = by_item(simulate(rng, ids, people, ["0.0", "1.0"], 2, 4))
    rows = [["doc", *people]] + [[d, *cells(g, people)] for d, g in groups.items()]
    yield Shape("pivot_with_number_headers", "pivot.csv", table(rows, end="\n"),
                in_columns((v for g in groups.values() for v in g), people), None, "",
                "a pivot table: annotators are numbers in the header, labels became floats.")


def two_header_rows() -> Iterator[Shape]:
    rng = Random("two_header_rows")
    ids = [str(k) for k in range(1, 26)]
    raters = ["KM", "LB", "PW"]
    rounds = {name: by_item(simulate(rng, ids, raters, ["+", "-", "?"], 3, 3)) for name in ("one", "two")}
    rows = [["", "", "Round 1", "", "", "Round 2", "", ""], ["ID", "Text", *raters, *raters]]
    rows += [[i, t, *cells(rounds["one"][i], raters), *cells(rounds["two"][i], raters)]
             for i, t in zip(ids, texts(rng, 25))]
    for name, n in (("one", 1), ("two", 2)):
        yield Shape(f"two_header_rows__round_{name}", "coding_rounds.csv", table(rows),
                    in_columns((v for i in ids for v in rounds[name][i]), raters), None,
                    f"Which round? Here: round {n}.",
                    "merged cells made two header rows; the raters' names occur twice; labels are "
                    "+, - and ?, which formulas and gap marks look like too.")


def rater_question_columns() -> Iterator[Shape]:
    rng = Random("rater_question_columns")
    ids = [f"t{k}" for k in range(25)]
    people = ["A1", "A2", "A3"]
    questions = {"stance": ["pro", "con", "neither"], "tone": ["calm", "heated"]}
    groups = {q: by_item(simulate(rng, ids, people, c, 2, 3)) for q, c in questions.items()}
    rows = [["tweet", "text"] + [f"{p}_{q}" for p in people for q in questions]]
    for i, t in zip(ids, texts(rng, 25)):
        given = {(p, q): label for q in questions for _, p, label in groups[q][i]}
        rows.append([i, t] + [given.get((p, q), "") for p in people for q in questions])
    for question in questions:
        yield Shape(f"rater_question_columns__{question}", "tweets_annotated.csv", table(rows, end="\n"),
                    in_columns((v for i in ids for v in groups[question][i]), people), None,
                    f"Which question? Here: {question}.",
                    "person and question share a column's name: A2_tone.")


# --------------------------------------------------------------------------------------------------
# Encodings, separators and other accidents


def german_semicolons() -> Iterator[Shape]:
    rng = Random("german_semicolons")
    ids = [f"B-{k:03d}" for k in range(1, 31)]
    text = dict(zip(ids, texts(rng, 30)))
    votes = simulate(rng, ids, ["Jürgen", "Käthe", "Sören", "Ute"], ["Lob", "Kritik", "Frage"], 3, 4)
    rows = [["Beitrag-Nr.", "Beitrag", "Kodierer/in", "Kategorie", "Sicherheit", "Datum"]]
    rows += [[i, text[i], w, label, rng.choice(["0,5", "0,75", "1,0"]), stamp(rng, "%d.%m.%Y %H:%M")]
             for i, w, label in votes]
    yield Shape("german_semicolons", "Kodierung_gesamt.csv", table(rows, ";"), tuple(votes), None, "",
                "German headers, semicolons, decimal commas in a confidence column that is not the vote.")


def french_latin1() -> Iterator[Shape]:
    rng = Random("french_latin1")
    ids = [str(k) for k in range(1, 29)]
    coders = ["Annotatrice 1", "Annotateur 2", "Évaluateur 3"]
    groups = by_item(simulate(rng, ids, coders, ["0", "1", "2", "3"], 3, 3))
    words = ["C'est déjà l'été", "Où est passée la clé ?", "Ça n'a pas marché", "Très bien, merci"]
    rows = [["N°", "Énoncé", *coders, "Moyenne"]]
    rows += [[i, f"{rng.choice(words)} ({i})", *cells(g, coders),
              f"{sum(int(x[2]) for x in g) / 3:.2f}".replace(".", ",")] for i, g in groups.items()]
    yield Shape("french_latin1", "annotations_finales.csv", table(rows, ";", encoding="latin-1"),
                in_columns((v for g in groups.values() for v in g), coders), None, "",
                "Latin-1 bytes, not valid UTF-8; semicolons; a mean with a decimal comma.")


def german_decimal_ratings() -> Iterator[Shape]:
    rng = Random("german_decimal_ratings")
    ids = [f"Aufsatz {k}" for k in range(1, 26)]
    raters = ["Rater 1", "Rater 2", "Rater 3"]
    groups = by_item(simulate(rng, ids, raters, ["1", "1,5", "2", "2,5", "3"], 2, 3))
    rows = [["Aufsatz", *raters, "Mittelwert", "Bemerkung"]]
    for i, g in groups.items():
        mean = sum(float(x.replace(",", ".")) for *_, x in g) / len(g)
        rows.append([i, *cells(g, raters), f"{mean:.2f}".replace(".", ","),
                     rng.choice(["", "schwer lesbar", "Seite 2 fehlt; nachfragen"])])
    yield Shape("german_decimal_ratings", "Bewertungen.csv", table(rows, ";", encoding="cp1252"),
                in_columns((v for g in groups.values() for v in g), raters), None, "",
                "the votes themselves have decimal commas; a comment holds the separator in quotes.")


def several_gap_marks() -> Iterator[Shape]:
    rng = Random("several_gap_marks")
    ids = [f"Frame {k:03d}" for k in range(0, 300, 10)]
    raters = ["rater_1", "rater_2", "rater_3", "rater_4"]
    groups = by_item(simulate(rng, ids, raters, ["present", "absent", "unsure"], 2, 4))
    rows = [["frame", *raters]]
    rows += [[i, *(x or rng.choice(["", "-", "n/a", "#N/A"]) for x in cells(g, raters))]
             for i, g in groups.items()]
    yield Shape("several_gap_marks", "frames.csv", table(rows),
                in_columns((v for g in groups.values() for v in g), raters), None,
                "Are '-', 'n/a' and '#N/A' missing answers? Here: yes, like blank cells.",
                "four ways to leave a cell without an answer in one sheet; 'unsure' is a class.")


def plain_long(rng: Random, n: int = 24) -> tuple[list[list[str]], list[Vote]]:
    """A simple table with one vote per row, for shapes whose trouble lies elsewhere."""
    ids = [f"itm{k:02d}" for k in range(n)]
    text = dict(zip(ids, texts(rng, n)))
    votes = simulate(rng, ids, NAMES[:6], ["yes", "no", "maybe"], 3, 4)
    return [["item", "text", "annotator", "label"]] + [[i, text[i], a, x] for i, a, x in votes], votes


def excel_unicode_text() -> Iterator[Shape]:
    rows, votes = plain_long(Random("excel_unicode_text"))
    yield Shape("excel_unicode_text", "export_unicode.txt", table(rows, "\t", encoding="utf-16"),
                tuple(votes), None, "", "'Unicode text' of a spreadsheet: UTF-16 with byte order mark, "
                "tabs.")


def byte_order_mark() -> Iterator[Shape]:
    rows, votes = plain_long(Random("byte_order_mark"))
    yield Shape("byte_order_mark", "export_utf8.csv", table(rows, encoding="utf-8-sig"), tuple(votes),
                None, "", "UTF-8 with byte order mark glued to the first header, which names the item.")


def tabs_in_csv() -> Iterator[Shape]:
    rows, votes = plain_long(Random("tabs_in_csv"))
    yield Shape("tabs_in_csv", "votes.csv", table(rows, "\t"), tuple(votes), None, "",
                "named .csv, separated by tabs, and the texts are full of commas.")


def old_mac_line_ends() -> Iterator[Shape]:
    rows, votes = plain_long(Random("old_mac_line_ends"))
    yield Shape("old_mac_line_ends", "votes_mac.csv", table(rows, end="\r"), tuple(votes), None, "",
                "'CSV (Macintosh)': a bare carriage return ends a line.")


def sheet_with_total() -> Iterator[Shape]:
    rng = Random("sheet_with_total")
    ids = [f"Case {k}" for k in range(1, 31)]
    raters = ["Reader 1", "Reader 2", "Reader 3"]
    groups = by_item(simulate(rng, ids, raters, ["0", "1"], 3, 3))
    rows: list[list[str]] = [["", "Case", *raters]]
    for n, (i, g) in enumerate(groups.items()):
        rows.append([str(n), i, *cells(g, raters)])
        if n % 10 == 9:
            rows.append([""] * 5)
    sums = [str(sum(int(x[2]) for g in groups.values() for x in g if x[1] == r)) for r in raters]
    rows += [["", "Total", *sums], []]
    yield Shape("sheet_with_total", "cases.csv", table(rows, end="\n"),
                in_columns((v for g in groups.values() for v in g), raters), None, "",
                "a nameless column of row numbers, empty rows between blocks, and a last row with sums.")


def preamble_lines() -> Iterator[Shape]:
    rows, votes = plain_long(Random("preamble_lines"))
    head = b"# Annotation export, project 'Forum, spring'\n# created 2021-04-02, version 3\n\n"
    yield Shape("preamble_lines", "export_with_preamble.csv", head + table(rows, end="\n"), tuple(votes),
                None, "", "two comment lines and an empty one stand before the header.")


def no_header_triples() -> Iterator[Shape]:
    rng = Random("no_header_triples")
    items = [str(k) for k in range(1, 41)]
    votes = simulate(rng, items, [str(k) for k in range(1, 16)], ["1", "2", "3", "4"], 3, 5)
    content = table(votes, " ", "\n")
    yield Shape("no_header_triples__item_worker", "responses.txt", content, tuple(votes), None,
                "Which column is the item and which the person? Here: item, person, label.",
                "no header, three columns of small numbers, separated by blanks.")
    yield Shape("no_header_triples__worker_item", "responses.txt", content,
                tuple((w, i, x) for i, w, x in votes), None,
                "Which column is the item and which the person? Here: person, item, label.",
                "no header, three columns of small numbers, separated by blanks.")


def no_header_named() -> Iterator[Shape]:
    rng = Random("no_header_named")
    items = [f"img_{k:04d}.png" for k in rng.sample(range(9999), 30)]
    votes = simulate(rng, items, codes(rng, 8, 13, prefix="A"), ["left", "right"], 3, 5)
    yield Shape("no_header_named", "answers.csv", table([(w, i, x) for i, w, x in votes], end="\n"),
                tuple(votes), None, "",
                "no header: the first row is a vote too; worker, item and label can be told apart by "
                "their looks.")


def answered_twice() -> Iterator[Shape]:
    rng = Random("answered_twice")
    ids = [f"q{k}" for k in range(25)]
    every = simulate(rng, ids, NAMES[:6], ["A", "B", "C"], 3, 4)
    again = [(i, a, rng.choice("ABC")) for i, a, _ in rng.sample(every, 9)]
    votes = every + again
    rows = [["question", "annotator", "answer", "submitted_at"]]
    start = datetime(2021, 5, 4, 9)
    rows += [[*v, (start + timedelta(seconds=37 * n)).isoformat()] for n, v in enumerate(votes)]
    content = table(rows, end="\n")
    redone = {v[:2] for v in again}
    readings = (
        ("both", votes, "both answers"),
        ("last", [v for v in every if v[:2] not in redone] + again, "the later one"),
        ("first", every, "the earlier one"),
    )
    for tag, kept, answer in readings:
        yield Shape(f"answered_twice__{tag}", "answers_log.csv", content, tuple(kept), None,
                    f"Somebody answered an item twice: which counts? Here: {answer}.",
                    "nine repeated answers, some the same and some changed; rows are in order of time.")


def parallel_cells() -> Iterator[Shape]:
    rng = Random("parallel_cells")
    ids = [f"c{k}" for k in range(30)]
    groups = by_item(simulate(rng, ids, NAMES[:7], ["joy", "anger", "fear"], 3, 5))
    rows = [["comment_id", "comment", "annotators", "labels"]]
    rows += [[i, t, "|".join(a for _, a, _ in g), "|".join(x for *_, x in g)]
             for (i, g), t in zip(groups.items(), texts(rng, 30))]
    yield Shape("parallel_cells", "comments.csv", table(rows, end="\n"),
                tuple(v for g in groups.values() for v in g), None, "",
                "two cells per item, people and labels in the same order, separated by '|'.")


def json_list_cell() -> Iterator[Shape]:
    rng = Random("json_list_cell")
    ids = [str(k) for k in range(500, 530)]
    groups = by_item(simulate(rng, ids, NAMES, ["true", "mostly true", "false, misleading"], 2, 5))
    rows = [["claim_id", "claim", "votes"]]
    rows += [[i, t, json.dumps([x for *_, x in g])]
             for (i, g), t in zip(groups.items(), texts(rng, 30))]
    yield Shape("json_list_cell", "claims.csv", table(rows, end="\n"),
                anonymous(v for g in groups.values() for v in g), None, "",
                "a JSON list in a cell; one class has a comma in its name, another is the word true.")


def python_list_cell() -> Iterator[Shape]:
    rng = Random("python_list_cell")
    ids = [str(k) for k in range(30)]
    groups = by_item(simulate(rng, ids, NAMES, ["can't say", "yes", "no"], 3, 5))
    rows = [["", "id", "annotations"]]
    rows += [[str(n), i, str([x for *_, x in g])] for n, (i, g) in enumerate(groups.items())]
    yield Shape("python_list_cell", "df.csv", table(rows, end="\n"),
                anonymous(v for g in groups.values() for v in g), None, "",
                "a list as Python prints it, with single and (around an apostrophe) double quotes; a "
                "nameless index column equal to the id.")


def digit_string() -> Iterator[Shape]:
    rng = Random("digit_string")
    ids = [f"sent{k}" for k in range(40)]
    groups = by_item(simulate(rng, ids, NAMES, ["0", "1", "2"], 5, 5))
    rows = [["sent", "text", "votes"]]
    rows += [[i, t, "".join(x for *_, x in g)] for (i, g), t in zip(groups.items(), texts(rng, 40))]
    yield Shape("digit_string", "sentences.csv", table(rows, end="\n"),
                anonymous(v for g in groups.values() for v in g), None,
                "Is 00121 five votes or one number? Here: five votes, one digit each.",
                "leading zeros vanish if the cell is read as a number.")


def several_questions() -> Iterator[Shape]:
    rng = Random("several_questions")
    ids = [f"post{k}" for k in range(20)]
    base = simulate(rng, ids, NAMES[:5], ["yes", "no"], 3, 4)
    rows = [["timestamp", "post", "annotator", "toxic", "stance", "quality", "comment"]]
    truth: dict[str, list[Vote]] = {"toxic": [], "stance": [], "quality": []}
    for i, a, toxic in shuffled(rng, base):
        stance, quality = rng.choice(["pro", "con", ""]), rng.choice("12345")
        rows.append([stamp(rng, "%Y-%m-%dT%H:%M:%SZ"), i, a, toxic, stance, quality,
                     rng.choice(["", "", "see guideline 3, please", 'what is "con" here?'])])
        for question, label in (("toxic", toxic), ("stance", stance), ("quality", quality)):
            truth[question] += [(i, a, label)] if label else []
    content = table(rows, end="\n")
    for question, votes in truth.items():
        yield Shape(f"several_questions__{question}", "posts.csv", content, tuple(votes), None,
                    f"Which question? Here: {question}.",
                    "three questions in a row, one with blanks, and a timestamp and a comment.")


def gold_rows() -> Iterator[Shape]:
    rng = Random("gold_rows")
    ids = [f"k{k}" for k in range(28)]
    votes = shuffled(rng, simulate(rng, ids, NAMES[:8], ["relevant", "irrelevant"], 3, 5))
    tests = set(ids[:4])
    rows = [["task_id", "worker", "judgment", "is_test", "expected"]]
    rows += [[i, w, x, str(i in tests).upper(), "relevant" if i in tests else ""] for i, w, x in votes]
    content = table(rows, end="\n")
    note = "test tasks are marked, and the expected answer stands beside the judgment."
    yield Shape("gold_rows__all", "judgments.csv", content, tuple(votes), None,
                "Do test tasks count? Here: yes.", note)
    yield Shape("gold_rows__no_tests", "judgments.csv", content,
                tuple(v for v in votes if v[0] not in tests), None, "Do test tasks count? Here: no.", note)


def anonymous_votes() -> Iterator[Shape]:
    rng = Random("anonymous_votes")
    body = texts(rng, 25)
    votes = anonymous(simulate(rng, body, NAMES, ["funny", "not funny"], 3, 7))
    yield Shape("anonymous_votes", "jokes.csv",
                table([["joke", "vote"]] + [[i, x] for i, _, x in votes], end="\n"), votes, None, "",
                "one vote per row and nobody's name; the joke's text is the only id.")


def sentences_in_documents() -> Iterator[Shape]:
    rng = Random("sentences_in_documents")
    items = [(f"doc{d}", str(s)) for d in range(1, 8) for s in range(1, rng.randint(4, 7))]
    text = dict(zip(items, texts(rng, len(items))))
    votes = simulate(rng, items, ["ann1", "ann2", "ann3", "ann4"], ["OBJ", "SUBJ"], 2, 4)
    rows = [["doc_id", "sent_no", "sentence", "coder", "code"]]
    rows += [[*i, text[i], a, x] for i, a, x in votes]
    yield Shape("sentences_in_documents", "sentences.tsv", table(rows, "\t", "\n"), tuple(votes), None, "",
                "sentence numbers start again in every document: only both columns together name an "
                "item.")


def pair_preferences() -> Iterator[Shape]:
    rng = Random("pair_preferences")
    docs = [f"sys{k}" for k in range(7)]
    pairs = [(a, b) for n, a in enumerate(docs) for b in docs[n + 1:]]
    votes = simulate(rng, pairs, ["J1", "J2", "J3", "J4", "J5"], ["first", "second", "tie"], 3, 4)
    rows = [["model_a", "model_b", "judge", "preferred"]] + [[*i, j, x] for i, j, x in votes]
    yield Shape("pair_preferences", "preferences.csv", table(rows, end="\n"), tuple(votes), None,
                "Is (a, b) the same item as (b, a)? Here: pairs occur in one order only.",
                "an item is a pair of columns, and model_a alone looks like an item.")


def counts_with_total() -> Iterator[Shape]:
    rng = Random("counts_with_total")
    classes = ["yes", "no", "unsure"]
    ids = [f"stmt{k}" for k in range(30)]
    counts = tally(simulate(rng, ids, NAMES, classes, 5, 7), classes)
    rows = [["id", "statement", *[f"n_{c}" for c in classes], "total", "winner", "agreement"]]
    rows += [[i, t, *[str(c[x]) for x in classes], str(sum(c.values())), max(c, key=c.__getitem__),
              f"{max(c.values()) / sum(c.values()):.2f}"]
             for (i, c), t in zip(counts.items(), texts(rng, 30))]
    yield Shape("counts_with_total", "statement_counts.csv", table(rows, end="\n"), None,
                {i: {f"n_{x}": n for x, n in c.items()} for i, c in counts.items()}, "",
                "the total is no class, the winner no vote; classes are named by their columns (the winner "
                "column drops the 'n_', and a reader may too).")


def long_with_n() -> Iterator[Shape]:
    rng = Random("long_with_n")
    classes = ["angry", "calm", "sad"]
    ids = [f"clip_{k:02d}" for k in range(20)]
    counts = tally(simulate(rng, ids, NAMES, classes, 4, 7), classes)
    rows = [["clip", "emotion", "n", "prop"]]
    rows += [[i, x, str(n), f"{n / sum(c.values()):.3f}"] for i, c in counts.items()
             for x, n in c.items()]
    yield Shape("long_with_n", "clip_emotions.csv", table(rows, end="\n"), None, counts, "",
                "one row per item and class with how many chose it, zero among them; a share beside it.")


def long_jsonl() -> Iterator[Shape]:
    rng = Random("long_jsonl")
    ids = [str(k) for k in rng.sample(range(10**6), 25)]
    votes = simulate(rng, ids, ["12", "15", "19", "23"], ["true", "false"], 2, 4)
    records = [{"example_id": int(i), "worker": {"id": int(w), "country": "DE"}, "label": x == "true",
                "ms": rng.randrange(900, 9000)} for i, w, x in votes]
    yield Shape("long_jsonl", "labels.jsonl", jsonl(records), tuple(votes), None, "",
                "one vote per line; the worker is nested; labels are JSON booleans.")


# --------------------------------------------------------------------------------------------------
# Nothing to read: a reader should refuse, and say why


def refused(name: str, filename: str, content: bytes, why: str) -> Iterator[Shape]:
    yield Shape("refuse_" + name, filename, content, None, None, "", why)


def refuse_appen_aggregated() -> Iterator[Shape]:
    rng = Random("refuse_appen_aggregated")
    rows = [["_unit_id", "_golden", "_unit_state", "_trusted_judgments", "_last_judgment_at",
             "sentiment", "sentiment:confidence", "sentiment_gold", "text"]]
    rows += [[u, "FALSE", "finalized", rng.choice("345"), stamp(rng, "%m/%d/%y %H:%M"),
              rng.choice(["Positive", "Negative"]), f"{rng.uniform(0.5, 1):.4f}", "", t]
             for u, t in zip(numbers(rng, 30, 10**8, 2 * 10**8), texts(rng, 30))]
    yield from refused("appen_aggregated", "a555123.csv", table(rows, end="\n"),
                       "aggregated report: the winning answer and a trust-weighted confidence, from "
                       "which single votes cannot be worked back.")


def refuse_free_text() -> Iterator[Shape]:
    rng = Random("refuse_free_text")
    images = [f"img{k}.jpg" for k in range(15)]
    captions = iter(texts(rng, 45))
    rows = [["image", "worker", "caption"]]
    rows += [[i, w, next(captions)] for i in images for w in rng.sample(NAMES[:6], 3)]
    yield from refused("free_text", "captions.csv", table(rows, end="\n"),
                       "every answer is free text and different from all others; there are no classes.")


def refuse_sliders() -> Iterator[Shape]:
    rng = Random("refuse_sliders")
    rows = [["clip", "rater", "valence"]]
    rows += [[f"clip{k}", r, f"{rng.uniform(0, 100):.3f}"] for k in range(30)
             for r in rng.sample(NAMES[:8], 4)]
    yield from refused("sliders", "slider_ratings.csv", table(rows, end="\n"),
                       "continuous ratings from 0 to 100: no classes until someone chooses bins.")


def refuse_winner_only() -> Iterator[Shape]:
    rng = Random("refuse_winner_only")
    rows = [["id", "text", "label"]]
    rows += [[str(k), t, rng.choice(["pos", "neg"])] for k, t in enumerate(texts(rng, 40))]
    yield from refused("winner_only", "train.csv", table(rows, end="\n"),
                       "one row and one label per item: the settled result, not the votes.")


def refuse_codebook() -> Iterator[Shape]:
    rows = [["label", "definition", "example", "annotator instructions"],
            ["claim", "A statement that can be true or false.", "Taxes rose.", "Mark the whole clause."],
            ["premise", "A reason for a claim, given by its author.", "Because costs rose.", "See 2.3."],
            ["other", 'Everything else, e.g. "Thanks!"', "Hello all,", "If in doubt, choose this."]]
    yield from refused("codebook", "label_guide.csv", table(rows),
                       "describes the labels; no item was labelled.")


def refuse_empty() -> Iterator[Shape]:
    yield from refused("empty", "results.csv", b"", "the file has no bytes.")


def refuse_header_only() -> Iterator[Shape]:
    yield from refused("header_only", "annotations.csv", b"item_id,annotator_id,label\r\n",
                       "a header and no rows.")


def refuse_worker_statistics() -> Iterator[Shape]:
    rng = Random("refuse_worker_statistics")
    rows = [["worker_id", "n_judgments", "accuracy_on_gold", "kappa_with_majority", "flagged"]]
    rows += [[w, str(rng.randint(20, 300)), f"{rng.uniform(0.5, 1):.3f}", f"{rng.uniform(0, 1):.3f}",
              rng.choice(["TRUE", "FALSE"])] for w in codes(rng, 20, 13, prefix="A")]
    yield from refused("worker_statistics", "workers.csv", table(rows, end="\n"),
                       "one row per person with statistics; no items.")


def refuse_soft_labels() -> Iterator[Shape]:
    rng = Random("refuse_soft_labels")
    rows = [["id", "p_joy", "p_anger", "p_fear"]]
    for k in range(30):
        cut = sorted([rng.random(), rng.random()])
        rows.append([f"u{k}", *[f"{p:.6f}" for p in (cut[0], cut[1] - cut[0], 1 - cut[1])]])
    yield from refused("soft_labels", "soft_labels.tsv", table(rows, "\t", "\n"),
                       "a distribution per item without the number of votes behind it.")


def refuse_means() -> Iterator[Shape]:
    rng = Random("refuse_means")
    rows = [["Word", "V.Mean.Sum", "V.SD.Sum", "V.Rat.Sum", "A.Mean.Sum", "A.SD.Sum"]]
    rows += [[f"word{k}", f"{rng.uniform(1, 9):.2f}", f"{rng.uniform(0.8, 2.6):.2f}",
              str(rng.randint(18, 30)), f"{rng.uniform(1, 9):.2f}", f"{rng.uniform(0.8, 2.6):.2f}"]
             for k in range(40)]
    yield from refused("means", "ratings_norms.csv", table(rows, end="\n"),
                       "norms: mean, standard deviation and number of ratings, not the ratings.")


def refuse_unlabelled() -> Iterator[Shape]:
    rng = Random("refuse_unlabelled")
    rows = [["id", "text", "annotator_1", "annotator_2", "annotator_3"]]
    rows += [[str(k), t, "", "", ""] for k, t in enumerate(texts(rng, 30))]
    yield from refused("unlabelled", "to_annotate.csv", table(rows),
                       "the sheet before the work: the raters' columns are all blank.")


def refuse_event_log() -> Iterator[Shape]:
    rng = Random("refuse_event_log")
    rows = [["time", "user", "item", "event", "ms_since_last"]]
    rows += [[stamp(rng), rng.choice(NAMES[:5]), f"item{rng.randrange(20)}", event,
              str(rng.randrange(50, 9000))]
             for _ in range(40) for event in ("open", "scroll", "submit")]
    yield from refused("event_log", "interface_log.csv", table(rows, end="\n"),
                       "user, item and a column of few values, but these are events of the interface, "
                       "not answers.")


BUILDERS: tuple[Callable[[], Iterator[Shape]], ...] = (
    mturk_one_item, mturk_numbered_items, mturk_radio_flags, mturk_task_answers, appen_full_report,
    appen_all_answers, toloka_assignments, zooniverse, crowdtruth_relations,
    sagemaker_worker_answers, qualtrics_survey, prolific_qualtrics, google_forms_grid,
    label_studio_csv, label_studio_json, doccano_jsonl, prodigy_choice, prodigy_binary, potato_tsv,
    potato_jsonl, argilla_records, snli_tsv, snli_jsonl, goemotions_raw, dices_like,
    social_bias_like, measuring_hate_like, civil_comments_like, wiki_detox_like, chaosnli_like,
    cifar10h_raw, cifar10n_like, snow_rte, hatexplain_like, lewidi_json, galaxy_counts,
    popquorn_like, stance_none_class, rater_columns, raters_and_adjudication, radiologist_reads,
    reads_with_readers, dots_for_gaps, coders_in_rows, minus_two_to_two, similarity_pairs,
    half_point_similarity, pivot_with_number_headers, two_header_rows, rater_question_columns,
    german_semicolons, german_decimal_ratings, several_gap_marks, french_latin1, excel_unicode_text,
    byte_order_mark, tabs_in_csv, old_mac_line_ends, sheet_with_total, preamble_lines,
    no_header_triples, no_header_named, answered_twice, parallel_cells, json_list_cell,
    python_list_cell, digit_string, several_questions, gold_rows, anonymous_votes,
    sentences_in_documents, pair_preferences, counts_with_total, long_with_n, long_jsonl,
    refuse_appen_aggregated, refuse_free_text, refuse_sliders, refuse_winner_only, refuse_codebook,
    refuse_empty, refuse_header_only, refuse_worker_statistics, refuse_soft_labels, refuse_means,
    refuse_unlabelled, refuse_event_log,
)

SHAPES: tuple[Shape, ...] = tuple(shape for build in BUILDERS for shape in build())


if __name__ == "__main__":
    for shape in SHAPES:
        size = ("refuse" if shape.votes is None and shape.counts is None
                else f"{len(shape.votes)} votes" if shape.votes is not None
                else f"{len(shape.counts or {})} items counted")
        print(f"{shape.name:45} {shape.filename:45} {size}")
