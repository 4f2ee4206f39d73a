# ruff: noqa: C901, PERF401
# fmt: off
"""Tables as tools, studies and spreadsheets leave them, written down before anybody looked at what the reader makes of them."""

from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from .shapes import Shape, Truth, Vote, by_item, long_rows, shuffled, table, tally, text, votes, wide_rows

UNSEEN: list[Shape] = []


def shape(name: str, file: str, content: bytes | str, truth: Truth | None, *choices: Truth) -> None:
    """Add a table to the corpus."""
    UNSEEN.append(Shape(name, file, content.encode() if isinstance(content, str) else content, truth, choices))


def lines(rows: Sequence[Sequence[Any]], separator: str = ",") -> str:
    """Rows of cells as a text file."""
    out = io.StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(rows)
    return out.getvalue()


def answers(seed: int, people: int, items: Sequence[str], classes: Sequence[str]) -> dict[str, list[str]]:
    """What each person says of every item; items differ in what most say."""
    rng = random.Random(seed)
    liked = [rng.choice(classes) for _ in items]
    return {f"p{n + 1:02}": [best if rng.random() < 0.6 else rng.choice(classes) for best in liked] for n in range(people)}


def of_answers(said: dict[str, list[str]], items: Sequence[str]) -> Truth:
    """The truth of answers."""
    return tally([Vote(item, who, label) for who, row in said.items() for item, label in zip(items, row, strict=True) if label])


def day(rng: random.Random) -> str:
    return f"2023-{rng.randint(1, 9):02}-{rng.randint(1, 28):02} {rng.randint(8, 18):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"


AGREE = ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"]


def _preferences() -> None:
    rng = random.Random(1)
    models = ["alpaca-13b", "claude-v1", "gpt-4", "llama-13b"]
    rows, made = [], []
    for question in range(81, 93):
        for turn in (1, 2):
            a, b = rng.sample(models, 2)
            for judge in rng.sample([f"expert_{n}" for n in range(9)] + ["author_1", "author_2"], 3):
                won = rng.choice(["model_a", "model_b", "tie"])
                rows.append({"question_id": question, "model_a": a, "model_b": b, "winner": won, "judge": judge, "conversation_a": json.dumps([{"role": "user", "content": text(rng)}]), "conversation_b": json.dumps([{"role": "user", "content": text(rng)}]), "turn": turn})
                made.append(Vote(f"{question} | {turn}", judge, won))
    conversations = {r["question_id"] * 10 + r["turn"]: (r["conversation_a"], r["conversation_b"]) for r in rows}
    rows = [{**r, "conversation_a": conversations[r["question_id"] * 10 + r["turn"]][0], "conversation_b": conversations[r["question_id"] * 10 + r["turn"]][1]} for r in rows]
    shape("judgments of two models over two turns", "human.csv", table(rows), tally(made))
    v = votes(2, classes=("A", "B", "tie"), prefix="pair")
    shape("pair, judge, winner", "prefs.csv", table(long_rows(v, "pair_id", "judge", "winner")), tally(v))
    best = {i: max(c, key=c.get) for i, c in tally(v).items()}  # type: ignore[arg-type]
    shape("votes beside the winner of the pair", "prefs.csv", table([{"pair_id": x.item, "assessor": x.annotator, "preferred": x.label, "winner": best[x.item]} for x in v]), tally(v))
    rows = [{"prompt": n, "chosen": text(rng), "rejected": text(rng)} for n in range(30)]
    shape("chosen and rejected texts", "dpo.csv", table(rows), None)
    rows, made = [], []
    for n in range(20):
        for who in rng.sample(["ann", "bob", "cy", "di"], 3):
            order = rng.sample(["A", "B", "C"], 3)
            rows.append({"prompt_id": f"q{n}", "rater": who, "rank_1": order[0], "rank_2": order[1], "rank_3": order[2]})
            made.append((f"q{n}", who, order))
    shape("ranks of three answers", "ranks.csv", table(rows), *(tally([Vote(i, w, o[k]) for i, w, o in made]) for k in range(3)))


def _corpora() -> None:
    rng = random.Random(11)
    raters = {f"{296000 + 7 * n}": (rng.choice(["Man", "Woman"]), rng.choice(["US", "IN"]), rng.choice(["White", "Asian", "Latine", "Black"]), rng.choice(["gen z", "millenial", "gen x+"])) for n in range(14)}
    harm = {n: (text(rng), text(rng), rng.choice(["Benign", "Moderate", "Extreme"]), rng.choice(["Legal", "Health", "Bias"])) for n in range(18)}
    rows = []
    questions = ["Q1_whole_conversation_evaluation", "Q2_harmful_content", "Q3_bias_overall", "Q_overall"]
    for who in raters:
        for n in rng.sample(sorted(harm), 10):
            rows.append({"rater_id": who, "rater_gender": raters[who][0], "rater_locale": raters[who][1], "rater_race": raters[who][2], "rater_age": raters[who][3], "phase": "Phase1", "item_id": n, "context": harm[n][0], "response": harm[n][1], "degree_of_harm": harm[n][2], "harm_type": harm[n][3], "answer_time_ms": rng.randint(9000, 99999), **{q: rng.choice(["Yes", "No", "No", "Unsure"]) for q in questions}})
    shape("safety of conversations, four questions", "diverse.csv", table(rows), *(tally([Vote(str(r["item_id"]), r["rater_id"], r[q]) for r in rows]) for q in questions))
    v = votes(12, items=25, people=8, classes=("iron", "not"))
    place = {i: (f"t3_{rng.randint(10**5, 10**6)}", f"t1_{rng.randint(10**5, 10**6)}", text(rng), text(rng), rng.choice(["reddit", "twitter"]), rng.choice(["it", "fr", "de"])) for i in tally(v)}
    people = {w: (rng.choice(["Male", "Female"]), str(rng.randint(19, 60)), rng.choice(["Italy", "France"])) for w in sorted({x.annotator for x in v})}
    rows = [{"": n, "post_id": place[x.item][0], "reply_id": place[x.item][1], "source": place[x.item][4], "level": 1.0, "language": place[x.item][5], "post": place[x.item][2], "reply": place[x.item][3], "annotator_id": f"user_{x.annotator}", "label": x.label, "Sex": people[x.annotator][0], "Age": people[x.annotator][1], "Nationality": people[x.annotator][2]} for n, x in enumerate(v)]
    shape("irony of replies to posts", "pico.csv", table(rows), {place[i][1]: c for i, c in tally(v).items()})
    v = votes(13, items=20, people=8, classes=("0", "1"))
    rows = [{"id": 59848 + int(x.item[4:]), "worker": x.annotator, "toxic": x.label, **{q: int(rng.random() < 0.15 and x.label == "1") for q in ("severe_toxic", "obscene", "threat", "insult")}} for x in v]
    shape("toxicity with four kinds of it", "toxicity_individual_annotations.csv", table(rows), *(tally([Vote(str(r["id"]), r["worker"], str(r[q])) for r in rows]) for q in ("toxic", "severe_toxic", "obscene", "threat", "insult")))
    several: dict[str, Counter[str]] = defaultdict(Counter)
    records = {}
    for n in range(20):
        said = {}
        for who in range(1, 5):
            chosen = sorted(rng.sample(["contradiction", "entailment", "neutral"], 1 if rng.random() < 0.8 else 2))
            said[f"Ann{who}"] = ",".join(chosen)
            several[str(n)].update(chosen)
        records[str(n)] = {"number of annotations": 4, "annotation task": "NLI", "number of annotators": 4, "annotations": said, "annotators": ",".join(said), "lang": "en", "text": {"context": text(rng), "statement": text(rng)}, "hard_label": "", "soft_label": {}, "split": "train", "other_info": {"explanations": [text(rng)]}}
    shape("LeWiDi 2025, several classes per answer", "VariErrNLI_train.json", json.dumps(records), {i: dict(c) for i, c in several.items()})
    v = votes(14, classes=("hate", "offensive", "normal"), each=3)
    rows = [{"id": i, "post_text": text(rng), "annotators": json.dumps({x.annotator: x.label for x in g})} for i, g in by_item(v).items()]
    shape("a cell of annotators and their labels", "hate.csv", table(rows), tally(v))
    rows = [{"id": i, "tweet": text(rng), "votes": str({c: int(n) for c, n in row.items()})} for i, row in tally(v).items()]
    shape("a cell of classes and their counts", "hate.csv", table(rows), tally(v))
    rows = [{"id": i, "tweet": text(rng), "annotations": "|".join(x.label for x in g)} for i, g in by_item(v).items()]
    shape("labels joined by bars", "hate.csv", table(rows), tally(v))
    d = votes(15, each=6, classes=("1", "2", "3", "4"))
    rows = [{"word": f"{i}", "ratings": " ".join(x.label for x in g), "mean": round(sum(int(x.label) for x in g) / 6, 2)} for i, g in by_item(d).items()]
    shape("numbers joined by blanks, with their mean", "words.tsv", table(rows, "\t"), tally(d))
    w = votes(16, items=40, people=7, classes=("favor", "against", "none"))
    author = {i: f"@user{rng.randint(1, 9)}" for i in tally(w)}
    rows = [{"tweet_id": 10**17 + int(x.item[4:]), "user_id": author[x.item], "coder": x.annotator, "stance": x.label, "tweet": f"Tweet {x.item}"} for x in w]
    shape("authors called user_id beside coders", "stance.csv", table(rows), {str(10**17 + int(i[4:])): c for i, c in tally(w).items()})
    tokens, made = [], []
    for doc in ("d1", "d2"):
        for sentence in range(1, 5):
            for place_ in range(1, 9):
                tag = rng.choice(["O", "O", "O", "B-PER", "B-LOC"])
                tags = [tag if rng.random() < 0.8 else rng.choice(["O", "B-PER", "B-LOC"]) for _ in range(3)]
                tokens.append({"doc": doc, "sent": sentence, "token_id": place_, "token": rng.choice(["the", "Anna", "in", "Rome", "saw", "a", "."]), "anno1": tags[0], "anno2": tags[1], "anno3": tags[2]})
                made += [Vote(f"{doc} | {sentence} | {place_}", f"anno{k}", t) for k, t in enumerate(tags)]
    shape("tags of tokens", "ner.tsv", table(tokens, "\t"), tally(made))
    rows, made = [], []
    for n in range(15):
        for who in ("rater1", "rater2", "rater3"):
            for _ in range(rng.choice([1, 1, 2])):
                category, severity = rng.choice(["Accuracy/Omission", "Fluency/Grammar", "Style/Awkward"]), rng.choice(["Major", "Minor"])
                rows.append({"system": "Online-A", "doc": "news.1", "seg_id": n, "rater": who, "source": f"Source {n}.", "target": f"Target {n}.", "category": category, "severity": severity})
                made.append((str(n), who, category, severity))
    shape("errors of translations, several per rater", "mqm.tsv", table(rows, "\t"), tally([Vote(i, w_, s) for i, w_, _, s in made]), tally([Vote(i, w_, c) for i, w_, c, _ in made]), tally([Vote(i, w_, c) for (i, w_), c in {(i, w_): c for i, w_, c, _ in made}.items()]))
    rows = [{"sys": rng.choice(["A", "B"]), "seg_id": n % 20, "annotator": f"t{n // 20}", "score": rng.randint(0, 100)} for n in range(160)]
    shape("direct assessment from 0 to 100", "da.csv", table(rows), None)
    rows = [{"paper": f"{x.item}", "reviewer": f"R_{x.annotator}", "rating": {"1": "3: Clear rejection", "2": "6: Marginally above", "3": "8: Top 50%", "4": "5: Marginally below"}[x.label], "confidence": rng.choice(["3: Fairly confident", "4: Confident"])} for x in votes(17, each=3, people=30, classes=("1", "2", "3", "4"))]
    shape("ratings of papers with confidence", "reviews.csv", table(rows), tally([Vote(r["paper"], r["reviewer"], r["rating"]) for r in rows]), tally([Vote(r["paper"], r["reviewer"], r["confidence"]) for r in rows]))
    rows = [{"id": n, "text": text(rng), "pct_yes": n_yes / 10, "n_raters": 10} for n in range(30) for n_yes in [rng.randint(0, 10)]]
    shape("share of yes and number of raters", "agg.csv", table(rows), {str(r["id"]): {"pct_yes": round(r["pct_yes"] * 10), "not pct_yes": 10 - round(r["pct_yes"] * 10)} for r in rows})
    rows = [{"post": n, "upvotes": up, "downvotes": down, "score": up - down} for n in range(30) for up, down in [(rng.randint(0, 20), rng.randint(0, 20))]]
    shape("votes up and down with their difference", "posts.csv", table(rows), {str(r["post"]): {"upvotes": r["upvotes"], "downvotes": r["downvotes"]} for r in rows})


def _surveys() -> None:
    rng = random.Random(21)
    items = [f"Q{n}" for n in range(1, 11)]
    said = answers(22, 14, items, AGREE)
    truth = of_answers(said, items)
    head, second = ["respondent", *items, "age", "comments"], ["Respondent", *(f"{n}. I find this {word} pleasant" for n, word in enumerate(["room", "lamp", "song", "chair", "cup", "door", "tree", "car", "film", "book"], 1)), "How old are you?", "Anything else?"]
    body = [[who, *row, rng.randint(18, 70), rng.choice(["", "", "Nice survey.", "Too long"])] for who, row in said.items()]
    shape("survey with a row of questions under the names", "survey.csv", lines([head, second, *body]), truth)
    shape("survey with names and no second row", "survey.csv", lines([head, *body]), truth)
    codes = [[who, *(str(AGREE.index(x) + 1) for x in row), 30] for who, row in said.items()]
    numbers = {i: {str(AGREE.index(c) + 1): n for c, n in row.items()} for i, row in truth.items()}
    shape("survey in numbers", "survey.csv", lines([["id", *items, "age"], *codes]), numbers)
    ids = [[json.dumps({"ImportId": f"QID{n}"}) for n in range(len(items) + 2)]]
    loop = [f"{n}_Q3" for n in range(1, 11)]
    shape("Qualtrics with a loop", "loop.csv", lines([["ResponseId", *loop, "Q9"], ["Response ID", *(f"{t}.png - How real is it?" for t in loop), "Age"], *ids, *([f"R_{who}", *row, rng.randint(18, 60)] for who, row in said.items())]), {f"{n}_Q3": truth[f"Q{n}"] for n in range(1, 11)})
    lime = [f"G02Q05[SQ{n:03}]" for n in range(1, 11)]
    shape("LimeSurvey array", "results-survey.csv", lines([["id", "submitdate", "lastpage", "startlanguage", "seed", *lime], *([n, day(rng), 3, "en", rng.randint(10**8, 10**9), *(f"A{AGREE.index(x) + 1}" for x in row)] for n, row in enumerate(said.values(), 4))]), {f"G02Q05[SQ{n:03}]": {f"A{AGREE.index(c) + 1}": k for c, k in truth[f"Q{n}"].items()} for n in range(1, 11)})
    named = [f"Text {n}: {text(rng, 5)}" for n in range(1, 11)]
    shape("Google Forms, a question per text", "Responses.csv", lines([["Timestamp", "Email Address", *named], *([day(rng), f"{who}@example.org", *row] for who, row in said.items())]), {named[n]: truth[f"Q{n + 1}"] for n in range(10)})
    monkey = ["Respondent ID", "Collector ID", "Start Date", "End Date", "IP Address", "Email Address", "First Name", "Last Name", "Custom Data 1"]
    shape("SurveyMonkey, two rows of names", "monkey.csv", lines([[*monkey, "Please rate each picture.", *[""] * 9], [*[""] * 9, *(f"Picture {n}" for n in range(1, 11))], *([11 * 10**9 + n, 420000001, day(rng), day(rng), "0.0.0.0", "", "", "", "", *row] for n, row in enumerate(said.values()))]), {f"Picture {n}": truth[f"Q{n}"] for n in range(1, 11)})
    redcap = votes(23, items=20, people=5, each=3, classes=("1", "2", "3", "4", "5"), prefix="")
    rows = [{"record_id": x.item, "redcap_event_name": "reading_arm_1", "redcap_repeat_instrument": "read", "redcap_repeat_instance": k, "reader": x.annotator, "birads": x.label, "read_complete": 2} for g in by_item(redcap).values() for k, x in enumerate(g, 1)]
    shape("REDCap, repeated instrument", "redcap.csv", table(rows), tally(redcap))
    transposed = [["coder", *items], *([who, *row] for who, row in said.items()), ["gold", *(rng.choice(AGREE) for _ in items)]]
    shape("people in rows, the last row is gold", "t.csv", lines(transposed), truth)
    units = [str(n) for n in range(1, 13)]
    nominal = answers(24, 4, units, ["1", "2", "3", "4"])
    gaps = {who: [x if rng.random() < 0.85 else "" for x in row] for who, row in nominal.items()}
    shape("units in columns, coders in rows, stars for gaps", "kripp.csv", lines([["", *units], *([who, *(x or "*" for x in row)] for who, row in gaps.items())]), of_answers(gaps, units))
    many = [{"person": f"p{n:02}", "item": f"i{n % 9}", "said": rng.choice(["yes", "no"])} for n in range(90)]
    shape("each person saw one item", "p.csv", table(many), tally([Vote(r["item"], r["person"], r["said"]) for r in many]))
    boxes, made = [], []
    for n in range(20):
        for who in rng.sample(["u1", "u2", "u3", "u4", "u5"], 3):
            chosen = rng.sample(["Anger", "Joy", "Fear", "Sadness"], rng.choice([1, 1, 2]))
            boxes.append({"Timestamp": day(rng), "Username": f"{who}@x.org", "Which post?": f"Post {n}", "Which emotions do you see?": ", ".join(chosen)})
            made += [Vote(f"Post {n}", who, c) for c in chosen]
    shape("Google Forms, ticked boxes", "boxes.csv", table(boxes), tally(made))


def _platforms() -> None:
    rng = random.Random(31)
    v = votes(32, items=24, people=8, classes=("cat", "dog", "other"))
    rows = [{"INPUT:image_id": x.item, "INPUT:url": f"https://e.org/{x.item}.jpg", "OUTPUT:label": x.label, "ASSIGNMENT:worker_id": f"{x.annotator}ab", "ASSIGNMENT:started": day(rng)} for x in v]
    shape("Toloka without tasks", "toloka.tsv", table(rows, "\t"), tally(v))
    rows = [{"hitid": f"H{x.item}", "hittypeid": "T1", "title": "Label it", "reward": "$0.02", "assignmentid": f"AS{n}", "assignmentstatus": "Approved", "workerid": x.annotator.upper(), "assignmentsubmittime": day(rng), "Answer.q1": x.label} for n, x in enumerate(v)]
    shape("Mechanical Turk command line tools", "job_results.tsv", table(rows, "\t", quoting=csv.QUOTE_ALL), {f"H{i}": c for i, c in tally(v).items()})
    full = [{"_unit_id": 700 + int(x.item[4:]), "_golden": "FALSE", "_id": n, "_tainted": "TRUE" if n % 12 == 5 else "FALSE", "_trust": round(rng.uniform(0.5, 1), 3), "_worker_id": f"4{x.annotator[1:]}", "what_do_you_see": x.label, "what_do_you_see_gold": "", "image_url": f"https://e.org/{x.item}.jpg"} for n, x in enumerate(v)]
    kept = tally([Vote(str(r["_unit_id"]), "", r["what_do_you_see"]) for r in full])
    shape("Figure Eight, tainted rows", "f8.csv", table(full), kept, tally([Vote(str(r["_unit_id"]), "", r["what_do_you_see"]) for r in full if r["_tainted"] == "FALSE"]))
    jspsych = [{"rt": rng.randint(300, 4000), "stimulus": f"img/{x.item}.png", "response": {"cat": "f", "dog": "j", "other": "k"}[x.label], "trial_type": "image-keyboard-response", "trial_index": n % 7 + 2, "time_elapsed": rng.randint(10**4, 10**6), "internal_node_id": f"0.0-{n % 7 + 2}.0", "subject": f"{x.annotator}zz", "task": "test"} for n, x in enumerate(v)]
    keyed = {f"img/{i}.png": {{"cat": "f", "dog": "j", "other": "k"}[c]: k for c, k in row.items()} for i, row in tally(v).items()}
    shape("jsPsych trials", "jspsych.csv", table(jspsych), keyed)
    intro = [{**jspsych[0], "rt": rng.randint(900, 9000), "stimulus": "<p>Welcome! Press a key.</p>", "response": "", "trial_type": "html-button-response", "trial_index": 0, "internal_node_id": "0.0-0.0", "subject": f"{who}zz", "task": ""} for who in sorted({x.annotator for x in v})]
    shape("jsPsych trials after a welcome", "jspsych.csv", table([*intro, *jspsych]), keyed)
    psychopy = [{"image": f"{x.item}.jpg", "trials.thisN": n % 9, "key_resp.keys": {"cat": "left", "dog": "right", "other": "up"}[x.label], "key_resp.rt": round(rng.uniform(0.3, 3), 4), "participant": x.annotator, "session": "001", "date": "2023_May_03_1012", "expName": "cats", "psychopyVersion": "2022.2.5", "frameRate": 59.98} for n, x in enumerate(v)]
    shape("PsychoPy trials", "psychopy.csv", table(psychopy), {f"{i}.jpg": {{"cat": "left", "dog": "right", "other": "up"}[c]: k for c, k in row.items()} for i, row in tally(v).items()})
    files = [{"id": int(x.item[4:]), "text": f"This is {x.item}, he said.", "label": x.label, "file": f"{x.annotator}.jsonl"} for x in v]
    shape("one export per annotator, put together", "all.csv", table(sorted(files, key=lambda r: r["file"])), {i[4:]: c for i, c in tally(v).items()})
    spans, made = [], []
    for n in range(16):
        for k, start in enumerate(sorted(rng.sample(range(0, 200, 9), 3))):
            liked = rng.choice(["PER", "LOC", "ORG"])
            for who in ("anna", "ben", "cleo"):
                label = liked if rng.random() < 0.7 else rng.choice(["PER", "LOC", "ORG"])
                spans.append({"doc": f"doc{n}.txt", "ann": f"T{k + 1}", "type": label, "start": start, "end": start + 6, "text": f"w{n}{start}", "annotator": who})
                made.append(Vote(f"doc{n}.txt | {start}", who, label))
    shape("spans of brat as a table", "spans.tsv", table(spans, "\t"), tally(made))
    shape("WebAnno", "curated.tsv", "#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.Mood|value\n\n\n#Text=I like it\n1-1\t0-1\tI\t_\t\n1-2\t2-6\tlike\tPOS\t\n1-3\t7-9\tit\t_\t\n", None)
    tags = [{"image": f"{x.item}.jpg", "frame": int(x.item[4:]), "job_id": 3, "assignee": x.annotator, "label": x.label, "source": "manual", "occluded": 0} for x in v]
    shape("tags of CVAT as a table", "cvat.csv", table(tags), {f"{i}.jpg": c for i, c in tally(v).items()})
    voice = [{"clip_id": x.item, "validator": x.annotator * 5, "is_valid": {"cat": "true", "dog": "false", "other": "true"}[x.label], "voted_at": day(rng), "locale": "cy"} for x in v]
    shape("a log of validations", "votes.csv", table(voice), tally([Vote(r["clip_id"], r["validator"], r["is_valid"]) for r in voice]))
    labelbox = [{"data_row": {"id": i}, "projects": {"p1": {"labels": [{"label_details": {"created_by": f"{x.annotator}@x.org"}, "annotations": {"objects": [], "classifications": [{"name": "What?", "radio_answer": {"name": x.label}}]}} for x in g]}}} for i, g in by_item(v).items()]
    shape("Labelbox", "export.jsonl", "\n".join(map(json.dumps, labelbox)), None)
    own = [{"id": i, "text": text(rng), "annotations": [{"annotator": x.annotator, "label": x.label} for x in g]} for i, g in by_item(v).items()]
    shape("records with a list of annotations", "own.json", json.dumps(own), tally(v))
    shape("records with a list of annotations, a line each", "own.jsonl", "\n".join(map(json.dumps, own)), tally(v))
    shape("items and who said what", "who.json", json.dumps({i: {x.annotator: x.label for x in g} for i, g in by_item(v).items()}), tally(v))
    shape("records with counts", "c.jsonl", "\n".join(json.dumps({"uid": i, "premise": text(rng), "label_counts": row}) for i, row in tally(v).items()), tally(v))


def _studies() -> None:
    rng = random.Random(41)
    v = votes(42, items=20, people=6, each=4, classes=("benign", "malignant", "unclear"), prefix="")
    lesion = {i: f"{int(i) // 4}" for i in tally(v)}
    number = {i: int(i) % 4 + 1 for i in tally(v)}
    rows = [{"patient_id": f"PT{lesion[x.item]}", "lesion": number[x.item], "reader": f"R{x.annotator[1:]}", "confidence": rng.randint(1, 5), "diagnosis": x.label, "time_sec": rng.randint(10, 200)} for x in v]
    by_name = {i: f"PT{lesion[i]} | {number[i]}" for i in tally(v)}
    shape("lesions of patients, confidence beside", "readers.csv", table(rows), {by_name[i]: c for i, c in tally(v).items()})
    twice = [{**r, "session": s, "diagnosis": r["diagnosis"] if s == 1 or rng.random() < 0.8 else "unclear"} for r in rows for s in (1, 2)]
    shape("each lesion read twice", "readers.csv", table(twice), *(tally([Vote(key(r), r["reader"], r["diagnosis"]) for r in twice]) for key in (lambda r: (r["patient_id"], r["lesion"]), lambda r: (r["patient_id"], r["lesion"], r["session"]))), tally([Vote((r["patient_id"], r["lesion"]), r["reader"], r["diagnosis"]) for r in twice if r["session"] == 2]))  # type: ignore[arg-type]
    full = answers(43, 5, [f"case{n}" for n in range(24)], ["benign", "malignant"])
    cases = [f"case{n}" for n in range(24)]
    truth = of_answers(full, cases)
    shape("reads beside confidences", "reads.csv", table([{"case": c, **{k: x for j, (who, row) in enumerate(full.items(), 1) for k, x in ((f"R{j}", row[n]), (f"R{j}_conf", rng.randint(0, 100)))}} for n, c in enumerate(cases)]), truth)
    shape("initials beside a comment", "coded.csv", table([{"item": c, "text": text(rng), **{w: row[n] for w, row in zip(("AB", "CD", "EF", "KL", "MN"), full.values(), strict=True)}, "comment": rng.choice(["", "", "", "blurry", "ask Tom", "see note 3"])} for n, c in enumerate(cases)]), truth)
    shape("initials beside remarks that recur", "coded.csv", table([{"item": c, **{w: row[n] for w, row in zip(("AB", "CD", "EF", "KL", "MN"), full.values(), strict=True)}, "status": rng.choice(["done", "check", "done"])} for n, c in enumerate(cases)]), truth)
    pathology = [{"slide": f"S{n}", "n_pathologists": 9, **c, "consensus": max(c, key=c.get)} for n in range(30) for c in [dict(zip(("benign", "atypia", "dcis", "invasive"), _parts(rng, 9, 4), strict=True))]]
    shape("slides counted, with consensus", "slides.csv", table(pathology), {r["slide"]: {k: r[k] for k in ("benign", "atypia", "dcis", "invasive")} for r in pathology})
    diagnoses = answers(44, 6, [str(n) for n in range(1, 31)], ["1. Depression", "2. Personality Disorder", "3. Schizophrenia", "4. Neurosis", "5. Other"])
    shape("diagnoses of six raters, R row names", "diagnoses.csv", lines([["", *(f"rater{n}" for n in range(1, 7))], *([str(k + 1), *(row[k] for row in diagnoses.values())] for k in range(30))]), of_answers(diagnoses, [str(n) for n in range(1, 31)]))
    likert = answers(45, 6, cases, AGREE)
    shape("Likert texts in columns, notes beside", "likert.csv", table([{"Statement": text(rng), **{f"R{j}": row[n] for j, row in enumerate(likert.values(), 1)}, "Notes": rng.choice(["", "odd", "discuss?"])} for n in range(24)]), of_answers(likert, cases))
    shape("Likert with numbers in front", "likert.csv", table([{"rater": who, "statement": c, "answer": f"{AGREE.index(row[n]) + 1} - {row[n]}"} for who, row in likert.items() for n, c in enumerate(cases)]), {i: {f"{AGREE.index(c) + 1} - {c}": k for c, k in row.items()} for i, row in of_answers(likert, cases).items()})
    stars = votes(46, classes=("★☆☆☆☆", "★★☆☆☆", "★★★☆☆", "★★★★☆", "★★★★★"))
    shape("stars", "stars.csv", table(long_rows(stars, "product", "customer", "stars")), tally(stars))
    shape("sliders in percent", "sliders.csv", table([{"claim": f"c{n % 25}", "participant": f"p{n // 25}", "belief": f"{rng.randint(0, 100)}%"} for n in range(200)]), None)
    half = [[rng.choice(["1,0", "1,5", "2,0", "2,5", "3,0", "3,5", "4,0"]) for _ in range(4)] for _ in cases]
    shape("half points with decimal commas", "noten.csv", lines([["Aufsatz", "Lehrer 1", "Lehrer 2", "Lehrer 3", "Lehrer 4"], *([c, *row] for c, row in zip(cases, half, strict=True))], ";"), tally([Vote(c, "", x) for c, row in zip(cases, half, strict=True) for x in row]), tally([Vote(c, "", x.replace(",", ".")) for c, row in zip(cases, half, strict=True) for x in row]))
    shares = [[n / 20 for n in _parts(rng, 20, 3)] for _ in cases]
    shape("shares with decimal commas", "anteile.csv", lines([["Beitrag", "positiv", "neutral", "negativ"], *([c, *(str(x).replace(".", ",") for x in row)] for c, row in zip(cases, shares, strict=True))], ";"), {c: dict(zip(("positiv", "neutral", "negativ"), row, strict=True)) for c, row in zip(cases, shares, strict=True)})
    german = votes(47, classes=("Lob", "Kritik", "Frage"))
    shape("German names, semicolons, a mark of UTF-8", "kodierung.csv", b"\xef\xbb\xbf" + table(long_rows(german, "Beitrag", "Kodierer", "Kategorie"), ";"), tally(german))
    shape("Japanese names", "hyouka.csv", table(long_rows(german, "項目", "評価者", "ラベル")), tally(german))
    merged = answers(48, 3, cases, ["yes", "no", "?"])
    shape("a merged header over readers", "sheet.csv", lines([["Case", "Readers", "", ""], ["", "Ann", "Bo", "Cy"], *([c, *(row[n] for row in merged.values())] for n, c in enumerate(cases))]), of_answers(merged, cases))
    other = answers(49, 3, cases, ["low", "mid", "high"])
    shape("questions and people in one name", "sheet.csv", table([{"case": c, **{f"{q} - {w}": row[n] for q, source in (("Valid", merged), ("Risk", other)) for w, row in zip(("Ann", "Bo", "Cy"), source.values(), strict=True)}} for n, c in enumerate(cases)]), of_answers(merged, cases), of_answers(other, cases))
    shape("id and label of each annotator", "slots.csv", table([{"doc_id": i, **{k: x for j, y in enumerate(g, 1) for k, x in ((f"annotator_{j}_id", y.annotator), (f"annotator_{j}_label", y.label))}} for i, g in by_item(v).items()]), tally(v))
    signed = answers(50, 4, cases, ["-1", "0", "1"])
    shape("minus one, zero and one in columns", "w.csv", table([{"text": text(rng), **{f"ann{j}": row[n] for j, row in enumerate(signed.values(), 1)}} for n in range(24)]), of_answers(signed, cases))
    asked = {who: [x if rng.random() < 0.7 else "-1" for x in row] for who, row in answers(51, 7, cases, ["0", "1", "2", "3"]).items()}
    shape("minus one for not asked", "w.csv", table([{"item": c, **{f"ann{j}": row[n] for j, row in enumerate(asked.values(), 1)}} for n, c in enumerate(cases)]), of_answers({w: ["" if x == "-1" else x for x in row] for w, row in asked.items()}, cases))
    three = [[row[n] for row in merged.values()] for n in range(24)]
    top = [Counter(r).most_common(1)[0] for r in three]
    shape("majority and agreement beside three annotators", "agg.csv", table([{"id": c, "A1": r[0], "A2": r[1], "A3": r[2], "majority": m, "agreement": round(k / 3, 2)} for c, r, (m, k) in zip(cases, three, top, strict=True)]), of_answers(merged, cases))
    shape("two coders, agreement and kappa below", "kappa.csv", lines([["Item", "Coder 1", "Coder 2", "Agree?"], *([c, r[0], r[1], r[0] == r[1]] for c, r in zip(cases, three, strict=True)), ["", "", "", ""], ["Kappa", "", "", "0.41"]]), tally([Vote(c, "", x) for c, r in zip(cases, three, strict=True) for x in r[:2]]))
    facts = {i: (max(c, key=c.get), sum(c.values()), round(max(c.values()) / sum(c.values()), 2)) for i, c in tally(v).items()}  # type: ignore[arg-type]
    shape("votes with facts of their item", "m.csv", table([{"item": x.item, "worker": x.annotator, "label": x.label, "majority_label": facts[x.item][0], "n_annotators": facts[x.item][1], "agreement": facts[x.item][2]} for x in v]), tally(v))
    shape("a row per class with a tick", "ticks.csv", table([{"image": x.item, "annotator": x.annotator, "class": c, "chosen": int(c == x.label)} for x in v for c in ("benign", "malignant", "unclear")]), tally(v))
    revised = [{"doc": x.item, "coder": x.annotator, "code": x.label, "version": 1, "saved_at": day(rng)} for x in v]
    redone = [{**r, "code": "unclear", "version": 2, "saved_at": "2024-01-01 10:00:00"} for r in revised[::9]]
    final = {(r["doc"], r["coder"]): r["code"] for r in [*revised, *redone]}
    shape("labels that were revised", "rev.csv", table([*revised, *redone]), tally([Vote(i, w, c) for (i, w), c in final.items()]), tally([Vote(r["doc"], "", r["code"]) for r in [*revised, *redone]]))
    deleted = [{**r, "is_deleted": False} for r in revised] + [{**r, "is_deleted": True, "code": "benign"} for r in revised[::8]]
    shape("deleted votes among the others", "del.csv", table(shuffled(deleted)), tally(v))
    hits = [{"hit_id": f"h{int(x.item) // 5}", "item_id": x.item, "worker_id": x.annotator, "verdict": x.label, "bonus": rng.choice([0, 0.1])} for x in v]
    shape("several items in a hit", "hits.csv", table(hits), tally(v))
    tickets = [{"ticket": f"T-{x.item}", "opened_at": day(rng), "agent": x.annotator, "decision": x.label, "closed_at": day(rng)} for x in v]
    shape("decisions between two times", "tickets.csv", table(tickets), {f"T-{i}": c for i, c in tally(v).items()})
    triage = [{"issue": int(x.item), "reviewer": x.annotator, "decision": x.label, "comment": text(rng, 4) if rng.random() < 0.4 else ""} for x in v]
    shape("decisions with comments", "triage.csv", table(triage), tally(v))
    subjects = [{"subject": x.annotator, "stimulus": f"{x.item}.wav", "block": n % 2, "resp": x.label} for n, x in enumerate(sorted(v, key=lambda x: x.annotator))]
    shape("subjects are people", "exp.csv", table(subjects), {f"{i}.wav": c for i, c in tally(v).items()})
    small = [("q1", "yes", "no", "yes"), ("q2", "no", "no", "no"), ("q3", "yes", "yes", "no"), ("q4", "yes", "yes", "yes"), ("q5", "no", "yes", "no")]
    shape("five items, three people", "small.csv", lines([["question", "Alice", "Bob", "Carol"], *small]), {r[0]: dict(Counter(r[1:])) for r in small})
    shape("five items, three people, by vote", "small.csv", lines([["question", "person", "vote"], *([r[0], w, x] for r in small for w, x in zip(("Alice", "Bob", "Carol"), r[1:], strict=True))]), {r[0]: dict(Counter(r[1:])) for r in small})
    flags = [{"post": x.item, "moderator": x.annotator, **{c: str(x.label == c).upper() for c in ("benign", "malignant", "unclear")}} for x in v]
    shape("flags TRUE and FALSE per class", "flags.csv", table(flags), tally(v))
    ticked = [{"post": x.item, "moderator": x.annotator, **{c: "x" if x.label == c else "" for c in ("benign", "malignant", "unclear")}} for x in v]
    shape("crosses per class", "crosses.csv", table(ticked), tally(v))
    stretched = [{"item": i if k == 0 else "", "rater": x.annotator, "label": x.label} for i, g in by_item(v).items() for k, x in enumerate(g)]
    shape("merged cells: the item stands in its first row", "merged.csv", table(stretched), tally(v))



def _daily() -> None:
    rng = random.Random(61)
    cases = [f"c{n:02}" for n in range(30)]
    two = answers(62, 2, cases, ["0", "1"])
    shape("two coders, 0 and 1", "two.csv", table([{"id": c, **{f"coder{j}": r[n] for j, r in enumerate(two.values(), 1)}} for n, c in enumerate(cases)]), of_answers(two, cases))
    shape("two names, 0 and 1", "two.csv", table([{"id": c, **{w: r[n] for w, r in zip(("Anna", "Ben"), two.values(), strict=True)}} for n, c in enumerate(cases)]), of_answers(two, cases))
    v = votes(63, items=60, people=40, each=3, classes=("0", "1"), prefix="")
    shape("is it toxic, few votes of many", "t.csv", table(long_rows(v, "comment_id", "rater_id", "is_toxic")), tally(v))
    w = votes(64, items=25, people=12, each=5, classes=tuple("1234567"), prefix="7")
    shape("numbers for everything", "exp2.csv", table([{"stim": x.item, "ppt": x.annotator[1:], "rating": x.label} for x in w]), tally(w))
    shape("numbers for everything, letters for names", "exp2.csv", table([{"s": x.item, "p": x.annotator[1:], "y": x.label} for x in w]), tally(w))
    rare = [Vote(x.item, x.annotator, "yes" if rng.random() < 0.05 else "no") for x in votes(65, items=50, people=10, each=5)]
    shape("nearly all say no", "rare.csv", table(long_rows(rare, "post", "moderator", "remove")), tally(rare))
    sparse = votes(66, items=40, people=25, each=3, classes=("pos", "neg", "neu"))
    hashed = {w_: "".join(rng.choice("0123456789abcdef") for _ in range(8)) for w_ in sorted({x.annotator for x in sparse})}
    coded = [Vote(x.item, hashed[x.annotator], x.label) for x in sparse]
    shape("a column per hashed annotator, mostly blank", "pivot.csv", table(wide_rows(coded, item="tweet")), tally(sparse))
    shape("a column per address", "pivot.csv", table(wide_rows([Vote(x.item, f"{x.annotator}@lab.org", x.label) for x in sparse], item="tweet")), tally(sparse))
    scale = answers(67, 4, cases, list("12345"))
    names = ("Anna", "Ben", "Cleo", "Dan")
    rows = []
    for n, c in enumerate(cases):
        said = [int(r[n]) for r in scale.values()]
        rows.append({"essay": c, **dict(zip(names, said, strict=True)), "mean": sum(said) / 4, "sd": round((sum((x - sum(said) / 4) ** 2 for x in said) / 4) ** 0.5, 3)})
    shape("names, mean and deviation", "essays.csv", table(rows), of_answers(scale, cases))
    stars = [{"asin": f"B00{n}", **dict(zip("54321", _parts(rng, rng.randint(5, 60), 5), strict=True))} for n in range(25)]
    for r in stars:
        r["avg"] = round(sum(int(k) * r[k] for k in "54321") / max(sum(r[k] for k in "54321"), 1), 1)
    shape("numbers of stars with their average", "stars.csv", table(stars), {r["asin"]: {k: r[k] for k in "54321"} for r in stars})
    polls = [(c, y, 20 - y) for c in cases for y in [rng.randint(0, 20)]]
    shape("counts and percent", "poll.csv", table([{"statement": c, "yes": y, "yes %": f"{y * 5}%", "no": n, "no %": f"{n * 5}%"} for c, y, n in polls]), {c: {"yes": y, "no": n} for c, y, n in polls})
    shape("percent alone", "poll.csv", table([{"statement": c, "yes": f"{y * 5}%", "no": f"{n * 5}%"} for c, y, n in polls]), {c: {"yes": y / 20, "no": n / 20} for c, y, n in polls})
    shape("a line that names the separator", "excel.csv", "sep=;\n" + table(long_rows(sparse), ";").decode(), tally(sparse))
    shape("comments above", "log.tsv", "# annotated in May\n# two rounds\n" + table(long_rows(sparse), "\t").decode(), tally(sparse))
    shape("true and false", "tf.csv", table([{"claim": x.item, "checker": x.annotator, "supported": "TRUE" if x.label == "pos" else "FALSE"} for x in sparse]), tally([Vote(x.item, "", "TRUE" if x.label == "pos" else "FALSE") for x in sparse]))
    shape("true and false of JSON", "tf.jsonl", "\n".join(json.dumps({"claim": x.item, "checker": x.annotator, "supported": x.label == "pos"}) for x in sparse), tally([Vote(x.item, "", str(x.label == "pos").lower()) for x in sparse]))
    shape("objects in records", "n.jsonl", "\n".join(json.dumps({"item": {"id": x.item, "lang": "en"}, "annotator": {"id": x.annotator, "age": 20 + int(x.annotator[1:])}, "answer": x.label}) for x in sparse), tally(sparse))
    shape("a list of records", "records.json", json.dumps([{"text_id": x.item, "worker": x.annotator, "label": x.label} for x in sparse]), tally(sparse))
    shape("columns of pandas", "columns.json", json.dumps({"item": {str(n): x.item for n, x in enumerate(sparse)}, "worker": {str(n): x.annotator for n, x in enumerate(sparse)}, "label": {str(n): x.label for n, x in enumerate(sparse)}}), None)
    likert = answers(68, 6, cases, AGREE)
    unsure = {w_: [x if rng.random() < 0.85 else "N/A" for x in r] for w_, r in likert.items()}
    shape("not applicable among Likert", "l.csv", table([{"case": c, **{f"Expert {j}": r[n] for j, r in enumerate(unsure.values(), 1)}} for n, c in enumerate(cases)]), of_answers({w_: ["" if x == "N/A" else x for x in r] for w_, r in unsure.items()}, cases))
    again = [*sparse, *sparse[::10]]
    shape("the same answer sent twice", "dup.csv", table(long_rows(again, "photo", "player", "tag")), tally(sparse), tally(again))
    rounds = [{"round": k, "text": x.item, "annotator": x.annotator, "label": x.label if rng.random() < 0.8 else "neu"} for k in (1, 2) for x in sparse]
    shape("two rounds by the same people", "rounds.csv", table(rounds), tally([Vote((r["text"], r["round"]), "", r["label"]) for r in rounds]), tally([Vote(r["text"], "", r["label"]) for r in rounds]), tally([Vote(r["text"], "", r["label"]) for r in rounds if r["round"] == 2]))  # type: ignore[arg-type]
    pairs = {x.item: (text(random.Random(x.item), 5), text(random.Random(x.item + "b"), 5)) for x in w}
    shape("similarity of two sentences", "sts.tsv", table([{"sentence1": pairs[x.item][0], "sentence2": pairs[x.item][1], "annotator": x.annotator, "similarity": x.label} for x in w], "\t"), tally(w))
    shape("first and second annotator", "pass.csv", table([{"doc": i, "first_annotator": g[0].annotator, "first_label": g[0].label, "second_annotator": g[1].annotator, "second_label": g[1].label} for i, g in by_item(sparse).items()]), tally([x for g in by_item(sparse).values() for x in g[:2]]))
    shape("label_ and a name", "w.csv", table([{"text_id": c, **{f"label_{w_.lower()}": r[n] for w_, r in zip(names, scale.values(), strict=True)}} for n, c in enumerate(cases)]), of_answers(scale, cases))
    three = answers(69, 5, cases, ["entailment", "neutral", "contradiction"])
    shape("gold label before five labels", "nli.csv", table([{"gold_label": Counter(r[n] for r in three.values()).most_common(1)[0][0], "sentence1": text(rng), "sentence2": text(rng), "pairID": c, **{f"label{j}": r[n] for j, r in enumerate(three.values(), 1)}} for n, c in enumerate(cases)]), of_answers(three, cases))
    confusion = [["", "cat", "dog", "bird"], ["cat", 20, 3, 1], ["dog", 4, 18, 2], ["bird", 0, 2, 22]]
    shape("agreement of two coders, crossed", "confusion.csv", lines(confusion), None)
    shape("flowers", "iris.csv", table([{"sepal_length": round(rng.gauss(5.8, 0.8), 1), "sepal_width": round(rng.gauss(3, 0.4), 1), "petal_length": round(rng.gauss(3.7, 1.7), 1), "petal_width": round(rng.gauss(1.2, 0.7), 1), "species": rng.choice(["setosa", "virginica"])} for _ in range(60)]), None)
    shape("sales", "sales.csv", table([{"date": day(rng)[:10], "store": rng.choice(["N", "S", "W"]), "product": rng.choice(["tea", "jam", "rice"]), "units": rng.randint(1, 40), "price": round(rng.uniform(1, 9), 2)} for _ in range(80)]), None)
    shape("passengers", "titanic.csv", table([{"PassengerId": n, "Survived": rng.randint(0, 1), "Pclass": rng.randint(1, 3), "Name": f"Smith, Mr. {text(rng, 1)}", "Sex": rng.choice(["male", "female"]), "Age": rng.randint(1, 80), "Fare": round(rng.uniform(5, 90), 2)} for n in range(70)]), None)
    films = votes(70, items=30, people=20, each=6, classes=("0.5", "1.0", "2.0", "3.5", "4.0", "5.0"), prefix="", person="")
    shape("films rated by users", "ratings.csv", table([{"userId": x.annotator, "movieId": x.item, "rating": x.label, "timestamp": 964982703 + n * 37} for n, x in enumerate(sorted(films, key=lambda x: int(x.annotator)))]), tally(films))
    shape("films rated by users, no names", "u.data.tsv", table([{"userId": x.annotator, "movieId": x.item, "rating": x.label[0], "timestamp": 964982703 + n * 37} for n, x in enumerate(sorted(films, key=lambda x: int(x.annotator)))], "\t", header=False), tally([Vote(x.item, x.annotator, x.label[0]) for x in films]))
    products = votes(71, items=30, people=35, each=4, classes=tuple("12345"), prefix="B0")
    shape("reviews of products", "reviews.jsonl", "\n".join(json.dumps({"reviewerID": x.annotator, "asin": x.item, "reviewerName": f"Mx {x.annotator}", "helpful": [rng.randint(0, 3), 3], "reviewText": text(rng), "overall": float(x.label), "summary": text(rng, 3), "unixReviewTime": 10**9 + n}) for n, x in enumerate(products)), tally(products))
    doctors = answers(72, 7, cases, list("1234"))
    shape("one doctor three times, others once", "anesthesia.csv", table([{"patient": c, **dict(zip(("doc1_1", "doc1_2", "doc1_3", "doc2", "doc3", "doc4", "doc5"), (r[n] for r in doctors.values()), strict=True))} for n, c in enumerate(cases)]), of_answers(doctors, cases))
    shape("listeners' scores", "mos.csv", table([{"wav": f"a/{x.item}.wav", "listener": x.annotator, "MOS": x.label} for x in products]), {f"a/{i}.wav": c for i, c in tally(products).items()})
    decide = answers(73, 2, cases, ["include", "exclude", "maybe"])
    shape("decisions and reasons of two reviewers", "screening.csv", table([{"Title": text(rng), **{k: x for j, r in enumerate(decide.values(), 1) for k, x in ((f"Reviewer {j} decision", r[n]), (f"Reviewer {j} reason", rng.choice(["", "wrong design", "wrong outcome"])))}, "Final decision": rng.choice(["include", "exclude"])} for n in range(30)]), of_answers(decide, cases))
    good = {c: rng.randint(0, 2) for c in cases}
    skate = [{"skater": c, **{f"J{j}": good[c] + rng.choice([-1, 0, 0, 1]) for j in range(1, 10)}, "panel": good[c] + 0.25} for c in cases]
    shape("marks of nine judges", "skating.csv", table(skate), tally([Vote(r["skater"], "", str(r[f"J{j}"])) for r in skate for j in range(1, 10)]))
    wine = [{"wine": f"w{n % 20}", "taster": f"t{n // 20}", "points": min(100, max(80, round(rng.gauss(88, 3))))} for n in range(160)]
    shape("points for wine", "wine.csv", table(wine), tally([Vote(r["wine"], "", str(r["points"])) for r in wine]))
    shape("votes for options", "poll.csv", table([{"option": o, "votes": n} for o, n in (("A", 12), ("B", 30), ("C", 7))]), None)
    five = [[rng.choice(["yes", "no"]) for _ in range(3)] for _ in range(8)]
    shape("eight items, numbers for people", "n.csv", lines([["", "1", "2", "3"], *([f"i{n}", *r] for n, r in enumerate(five))]), {f"i{n}": dict(Counter(r)) for n, r in enumerate(five)})
    shape("trailing empty columns", "excel2.csv", "\n".join(line + ",,," for line in table(long_rows(sparse)).decode().splitlines()) + "\n", tally(sparse))
    shape("blank lines and an empty sheet end", "excel3.csv", table(long_rows(sparse)).decode() + ",,\n" * 20, tally(sparse))
    onehot = [{"id": c, "anger": int(r == "pos"), "joy": int(r == "neg"), "none": int(r == "neu")} for c, r in zip(cases, answers(74, 1, cases, ["pos", "neg", "neu"])["p01"], strict=True)]
    shape("one class marked per item", "single.csv", table(onehot), {r["id"]: {k: 1 for k in ("anger", "joy", "none") if r[k]} for r in onehot})
    shape("annotator column first, shuffled, quotes everywhere", "q.csv", table(shuffled([{"annotator": x.annotator, "label": x.label, "text": f'"{x.item}", he said'} for x in sparse]), quoting=csv.QUOTE_ALL), {f'"{i}", he said': c for i, c in tally(sparse).items()})
    gold = {i: max(c, key=c.get) for i, c in tally(sparse).items()}  # type: ignore[arg-type]
    shape("right or wrong beside the answer", "quiz.csv", table([{"question": x.item, "student": x.annotator, "answer": x.label, "key": gold[x.item], "correct": x.label == gold[x.item], "score": int(x.label == gold[x.item])} for x in sparse]), tally(sparse))
    shape("comparisons of systems", "ab.csv", table([{"source": x.item, "system_a": "ours", "system_b": rng.choice(["base", "gpt"]), "evaluator": x.annotator, "better": {"pos": "a", "neg": "b", "neu": "same"}[x.label]} for x in sparse]), tally([Vote(x.item, "", {"pos": "a", "neg": "b", "neu": "same"}[x.label]) for x in sparse]))



def _studies_again() -> None:
    rng = random.Random(81)
    v = votes(82, items=30, people=9, each=4, classes=("low", "mid", "high"), prefix="", person="")
    truth = tally(v)
    shape("crop, surveyor, severity", "survey123.csv", table([{"ObjectID": n + 1, "GlobalID": f"{{{rng.getrandbits(64):x}}}", "plot": f"P{x.item}", "surveyor": f"S{x.annotator}", "severity": x.label, "CreationDate": day(rng), "x": round(rng.uniform(-2, 2), 5), "y": round(rng.uniform(50, 52), 5)} for n, x in enumerate(v)]), {f"P{i}": c for i, c in truth.items()})
    shape("birds heard on recordings", "xeno.tsv", table([{"recording": f"XC{x.item}", "offset_s": int(x.item) % 7 * 10, "listener_id": x.annotator, "species": x.label, "certain": rng.choice(["y", "n", "y"])} for x in v], "\t"), {f"XC{i}": c for i, c in truth.items()})
    shape("jury verdicts by session", "mock.csv", table([{"session": int(x.annotator) % 3, "juror": x.annotator, "case": x.item, "guilt": x.label, "minutes": rng.randint(1, 40)} for x in v]), truth)
    grades = [{"candidate": n, "grader_1": g, "grader_2": min(20, max(0, g + rng.randint(-2, 2)))} for n in range(40) for g in [rng.randint(3, 19)]]
    shape("exam graded twice, points of 20", "grades.csv", table([{**r, "final": (r["grader_1"] + r["grader_2"]) / 2} for r in grades]), {str(r["candidate"]): dict(Counter([str(r["grader_1"]), str(r["grader_2"])])) for r in grades})
    shape("emoji reactions counted", "reactions.jsonl", "\n".join(json.dumps({"message_id": i, "channel": rng.choice(["a", "b"]), "reactions": {{"low": "👎", "mid": "😐", "high": "👍"}[c]: n for c, n in row.items()}}) for i, row in truth.items()), {i: {{"low": "👎", "mid": "😐", "high": "👍"}[c]: n for c, n in row.items()} for i, row in truth.items()})
    shape("votes with names of the voters in cells", "doodle.csv", table([{"proposal": i, **{c: ", ".join(f"p{x.annotator}" for x in g if x.label == c) for c in ("low", "mid", "high")}} for i, g in by_item(v).items()]), None)
    shape("two spellings of yes", "mixed.csv", table([{"item": x.item, "rater": x.annotator, "ok": {"low": "yes", "mid": "Yes ", "high": "no"}[x.label]} for x in v]), {i: dict(Counter({"yes": c.get("low", 0), "Yes": c.get("mid", 0), "no": c.get("high", 0)})) for i, c in truth.items()})
    shape("a label in each language", "multi.csv", table([{"id": x.item, "annotatorId": x.annotator, "label_en": x.label, "label_de": {"low": "niedrig", "mid": "mittel", "high": "hoch"}[x.label]} for x in v]), truth)
    shape("class number and name", "coco.csv", table([{"image_id": x.item, "annotator": x.annotator, "category_id": {"low": 1, "mid": 2, "high": 3}[x.label], "category_name": x.label} for x in v]), truth)
    shape("annotator name and number", "who.csv", table([{"annotator_id": x.annotator, "annotator_name": f"Name {x.annotator}", "sample_id": x.item, "sample_path": f"d/{x.item}.png", "grade": x.label} for x in v]), truth)
    shape("time in the first column", "stream.csv", table([{"timestamp": 1.6e9 + 60 * n, "event": "vote", "target": f"post/{x.item}", "actor": f"u{x.annotator}", "payload": x.label} for n, x in enumerate(v)]), {f"post/{i}": c for i, c in truth.items()})
    shape("nested with several spans", "spans.jsonl", "\n".join(json.dumps({"text": text(rng), "label": [[0, 4, "PER"], [6, 9, "LOC"]]}) for _ in range(12)), None)
    wide = answers(83, 12, [f"s{n}" for n in range(40)], ["A", "B", "C", "D"])
    shape("people in columns, hundreds of blanks", "w.csv", table([{"sentence_id": f"s{n}", **{f"annotator{j:02}": (r[n] if (n + j) % 3 == 0 else "") for j, r in enumerate(wide.values())}} for n in range(40)]), tally([Vote(f"s{n}", w, r[n]) for j, (w, r) in enumerate(wide.items()) for n in range(40) if (n + j) % 3 == 0]))
    shape("people in columns, items in no column", "w.csv", lines([[f"Coder {j}" for j in range(1, 5)], *([r[n] for r in list(wide.values())[:4]] for n in range(40))]), of_answers(dict(list(wide.items())[:4]), [f"s{n}" for n in range(40)]))
    shape("a table turned, items in a first column called rater", "turned.csv", lines([["rater", *(f"s{n}" for n in range(40))], *([w, *r] for w, r in wide.items())]), of_answers(wide, [f"s{n}" for n in range(40)]))
    shape("an extra row of units", "units.csv", lines([["item", "rater", "score", "time"], ["", "", "1-4", "s"], *([x.item, x.annotator, {"low": 1, "mid": 2, "high": 4}[x.label], rng.randint(2, 60)] for x in v)]), {i: {{"low": "1", "mid": "2", "high": "4"}[c]: n for c, n in row.items()} for i, row in truth.items()})
    shape("shares of people and how many", "agg.csv", table([{"clip": i, "n": sum(row.values()), **{f"p_{c}": round(row.get(c, 0) / sum(row.values()), 3) for c in ("low", "mid", "high")}} for i, row in truth.items()]), {i: {f"p_{c}": n / sum(row.values()) for c, n in row.items()} for i, row in truth.items()}, {i: {f"p_{c}": n for c, n in row.items()} for i, row in truth.items()})
    shape("mean rating and deviation only", "norms.csv", table([{"word": f"w{n}", "V.Mean": round(rng.uniform(1, 9), 2), "V.SD": round(rng.uniform(0.5, 2), 2), "V.N": rng.randint(18, 30)} for n in range(40)]), None)
    popular = [rng.random() for _ in range(25)]
    rolls = [{"bill": f"B{n % 25}", "member": f"M{n // 25}", "party": "RDG"[n // 25 % 3], "vote": "Not Voting" if rng.random() < 0.1 else "Yea" if rng.random() < popular[n % 25] else "Nay"} for n in range(300)]
    shape("votes of a parliament", "rollcall.csv", table(rolls), tally([Vote(r["bill"], r["member"], r["vote"]) for r in rolls]))
    shape("parliament, a row per member", "rollcall_wide.csv", lines([["member", "party", *(f"B{n}" for n in range(25))], *([f"M{m}", "RDG"[m % 3], *(rolls[m * 25 + n]["vote"] for n in range(25))] for m in range(12))]), tally([Vote(r["bill"], r["member"], r["vote"]) for r in rolls]))
    fuzzy = [{"doc": x.item, "assessor": x.annotator, "topic": 300 + int(x.item) % 5, "rel": {"low": 0, "mid": 1, "high": 2}[x.label]} for x in v]
    shape("judgments of relevance", "qrels.csv", table(fuzzy), {i: {{"low": "0", "mid": "1", "high": "2"}[c]: n for c, n in row.items()} for i, row in truth.items()})
    shape("qrels without names", "qrels.txt", "\n".join(f"{r['topic']} {r['assessor']} d{r['doc']} {r['rel']}" for r in fuzzy) + "\n", {f"d{i}": {{"low": "0", "mid": "1", "high": "2"}[c]: n for c, n in row.items()} for i, row in truth.items()})



def _further() -> None:
    rng = random.Random(91)
    v = votes(92, items=36, people=11, each=5, classes=("sarcastic", "sincere"), prefix="", person="")
    truth = tally(v)
    shape("sarcasm, country of the rater and date", "s.csv", table([{"Answer ID": n + 7000, "Tweet number": x.item, "Annotator's Prolific ID": f"5f{x.annotator}c", "Country of residence": ["UK", "US", "IE"][int(x.annotator) % 3], "Submitted at": day(rng), "Sarcastic?": x.label} for n, x in enumerate(v)]), truth)
    shape("lines with quotes of apostrophes", "t.csv", table([{"utt": f"it's '{x.item}'", "who": f"O'{x.annotator}", "tone": x.label} for x in v]), {f"it's '{i}'": c for i, c in truth.items()})
    rank = answers(93, 9, [f"m{n}" for n in range(15)], ["1", "2", "3", "4", "5", "6", "7"])
    shape("heatmap of ratings, people across", "matrix.tsv", lines([["Movie", *(f"User{j}" for j in range(1, 10))], *([f"m{n}", *(r[n] for r in rank.values())] for n in range(15))], "\t"), of_answers(rank, [f"m{n}" for n in range(15)]))
    shape("heatmap with people down, ids of people numeric", "matrix.csv", lines([["user_id", *(f"m{n}" for n in range(15))], *([k + 100, *r] for k, r in enumerate(rank.values()))]), of_answers(rank, [f"m{n}" for n in range(15)]))
    shape("yes and no as columns of names", "names.csv", table([{"claim": i, "label": max(c, key=c.get), "n_sarcastic": c.get("sarcastic", 0), "n_sincere": c.get("sincere", 0)} for i, c in truth.items()]), {i: {f"n_{k}": n for k, n in c.items()} for i, c in truth.items()})  # type: ignore[arg-type]
    shape("trust beside each vote", "trust.csv", table([{"unit_id": x.item, "worker": x.annotator, "trust": round(0.6 + int(x.annotator) % 5 / 20, 2), "tainted": "false", "is_sarcastic": x.label} for x in v]), truth)
    shape("the answer in the header's language", "ru.csv", table([{"текст": f"текст {x.item}", "разметчик": x.annotator, "метка": x.label} for x in v], ";"), {f"текст {i}": c for i, c in truth.items()})
    shape("three raters and a note of who is right", "adj.csv", table([{"uid": i, "coder_a": g[0].label, "coder_b": g[1].label, "coder_c": g[2].label, "resolved": g[0].label, "resolved_by": rng.choice(["KM", "LB"])} for i, g in by_item(v).items()]), {i: dict(Counter(x.label for x in g[:3])) for i, g in by_item(v).items()})
    shape("numbers of votes with a share", "ratio.csv", table([{"post": i, "sarcastic": c.get("sarcastic", 0), "sincere": c.get("sincere", 0), "ratio": round(c.get("sarcastic", 0) / 5, 2)} for i, c in truth.items()]), truth)
    shape("answers with their free text, JSON lines", "r.jsonl", "\n".join(json.dumps({"qid": x.item, "rid": x.annotator, "choice": x.label, "why": text(rng, 8), "ms": rng.randint(900, 9000)}) for x in v), truth)
    shape("one file of many tasks", "tasks.csv", table([{"task": t, "example": f"{t}-{x.item}", "rater": x.annotator, "answer": x.label} for t in ("irony", "tone") for x in v]), {f"{t}-{i}": c for t in ("irony", "tone") for i, c in truth.items()})
    shape("who voted how, in words", "sentences.txt", "\n".join(f"On {x.item}, {x.annotator} said {x.label}." for x in v) + "\n", None)
    shape("accuracy of models", "leaderboard.csv", table([{"model": f"m{n}", "accuracy": round(rng.uniform(0.5, 0.9), 3), "f1": round(rng.uniform(0.4, 0.9), 3), "params": rng.choice([7, 13, 70])} for n in range(20)]), None)


def _parts(rng: random.Random, total: int, n: int) -> list[int]:
    """Whole numbers that sum to a total."""
    counted = Counter(rng.choices(range(n), weights=[rng.random() ** 2 for _ in range(n)], k=total))
    return [counted[k] for k in range(n)]


_makers: tuple[Callable[[], None], ...] = (_preferences, _corpora, _surveys, _platforms, _studies, _daily, _studies_again, _further)
for _make in _makers:
    _make()
