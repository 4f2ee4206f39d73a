# ruff: noqa: PERF401
# fmt: off
"""Tables as people of many fields keep them, written down before anybody looked at what the reader makes of them.

The first group holds tables that were once misread without a word; the others are one group for each kind of field.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from .shapes import Shape, Truth, Vote, by_item, long_rows, shuffled, slot_rows, table, tally, text, votes, wide_rows
from .unseen_shapes import AGREE, answers, day, lines, of_answers

FIELDS: list[Shape] = []


def shape(name: str, file: str, content: bytes | str, truth: Truth | None, *choices: Truth) -> None:
    """Add a table to the corpus."""
    FIELDS.append(Shape(name, file, content.encode() if isinstance(content, str) else content, truth, choices))


def chosen(v: list[Vote]) -> dict[str, str]:
    """The most frequent label of each item."""
    return {i: max(sorted(c), key=c.get) for i, c in tally(v).items()}  # type: ignore[arg-type]


def blocks(people: list[str], items: list[str], classes: list[str], seed: int) -> tuple[list[dict[str, dict[str, int]]], Truth, dict[str, Truth]]:
    """What each person marks of each item: any number of classes; the votes by class, and those on each class alone."""
    rng = random.Random(seed)
    rows, of_classes, alone = [], {}, {c: {} for c in classes}  # type: ignore[var-annotated]
    for item in items:
        liked = rng.choice(classes)
        said = {who: {c: int(rng.random() < (0.75 if c == liked else 0.12)) for c in classes} for who in people}
        for row in said.values():
            if not any(row.values()):
                row[liked] = 1
        rows.append(said)
        of_classes[item] = {c: float(sum(said[who][c] for who in people)) for c in classes}
        for c in classes:
            alone[c][item] = dict(Counter(str(said[who][c]) for who in people))
    return rows, of_classes, alone  # type: ignore[return-value]


def _once_misread() -> None:
    rng = random.Random(201)
    made, rows = [], []
    for batch in range(1, 6):
        team = [f"w{batch}{n}" for n in range(4)]
        for idx in range(8):
            words = text(rng)
            liked = rng.choice(("pos", "neg", "neu"))
            for who in rng.sample(team, 3):
                label = liked if rng.random() < 0.6 else rng.choice(("pos", "neg", "neu"))
                rows.append({"batch": f"b{batch}", "idx": idx, "text": words, "annotator": who, "label": label})
                made.append(Vote(f"b{batch} | {idx}", who, label))
    shape("numbers that restart in each batch, other people, texts", "batches.csv", table(rows), tally(made))
    shape("numbers that restart in each batch, item_id", "batches.csv", table([{"batch": r["batch"], "item_id": r["idx"], "text": r["text"], "annotator_id": r["annotator"], "label": r["label"]} for r in rows]), tally(made))
    shape("numbers that restart in each batch, other people, no texts", "batches.csv", table([{"batch": r["batch"], "item": r["idx"], "worker": r["annotator"], "answer": r["label"]} for r in rows]), tally(made))
    shape("sentence numbers that restart in each document", "docs.csv", table([{"doc": r["batch"], "sent_id": r["idx"], "sentence": r["text"], "coder": r["annotator"], "code": r["label"]} for r in rows]), tally(made))

    classes, people, items = ["joy", "anger", "fear", "none"], ["R1", "R2", "R3"], [f"t{n}" for n in range(30)]
    said, of_classes, alone = blocks(people, items, classes, 202)
    shape("0 and 1 for each rater and class", "multi.csv", table([{"text_id": i, **{f"{w}_{c}": r[w][c] for w in people for c in classes}} for i, r in zip(items, said, strict=True)]), of_classes, *alone.values())
    names = dict(zip(people, ("anna", "ben", "cleo"), strict=True))
    shape("0 and 1 for each class and name", "multi.csv", table([{"id": i, "text": text(rng), **{f"{c}_{names[w]}": r[w][c] for w in people for c in classes}} for i, r in zip(items, said, strict=True)]), of_classes, *alone.values())
    only, once, each = blocks(people, items, ["joy"], 203)[0], {}, []
    for item, _ in zip(items, only, strict=True):
        liked = rng.choice(classes)
        row = {w: liked if rng.random() < 0.6 else rng.choice(classes) for w in people}
        each.append({"item": item, **{f"{w}.{c}": int(row[w] == c) for w in people for c in classes}})
        once[item] = {c: float(n) for c, n in Counter(row.values()).items()}
    shape("one class for each rater, as 0 and 1", "onehot.csv", table(each), once, *({i: dict(Counter(str(int(r[f"{w}.{c}"])) for w in people)) for i, r in zip(items, each, strict=True)} for c in classes))

    for word in ("not read", "NR", "?", "n.d.", "abstain"):
        liked = answers(210, 5, [f"x{n}" for n in range(40)], ["normal", "abnormal", "borderline"])
        gone = {w: [c if rng.random() < 0.85 else word for c in r] for w, r in liked.items()}
        with_gaps = of_answers({w: ["" if c == word else c for c in r] for w, r in gone.items()}, [f"x{n}" for n in range(40)])
        as_class = of_answers(gone, [f"x{n}" for n in range(40)])
        shape(f"a word for no reading: {word}", "reads.csv", table([{"scan": f"x{n}", **{f"reader{j}": r[n] for j, r in enumerate(gone.values(), 1)}} for n in range(40)]), with_gaps, as_class)

    first, second = answers(221, 3, items, ["yes", "no"]), answers(222, 3, items, ["1", "2", "3", "4", "5"])
    initials = ("JK", "AB", "MS")
    shape("readers' initials before two findings", "ct.csv", table([{"scan_id": i, **{k: x for w, r, q in zip(initials, first.values(), second.values(), strict=True) for k, x in ((f"{w}_nodule", r[n]), (f"{w}_quality", q[n]))}} for n, i in enumerate(items)]), of_answers(first, items), of_answers(second, items))
    third = answers(223, 3, items, ["yes", "no"])
    shape("readers' initials before two findings of yes and no", "ct.csv", table([{"scan_id": i, **{k: x for w, r, q in zip(initials, first.values(), third.values(), strict=True) for k, x in ((f"{w}_nodule", r[n]), (f"{w}_effusion", q[n]))}} for n, i in enumerate(items)]), of_answers(first, items), of_answers(third, items))

    rated = votes(224, items=30, people=15, each=4, classes=tuple("12345"), prefix="B0", person="u")
    shape("stars beside helpful votes", "reviews.csv", table([{"user_id": v.annotator, "product_id": v.item, "stars": v.label, "helpful_votes": rng.choice([0, 0, 0, 1, 1, 2, 3, 7])} for v in rated]), tally(rated))
    shape("helpful votes before stars", "reviews.csv", table([{"helpful_votes": rng.choice([0, 0, 0, 1, 1, 2, 3, 7, 12]), "customer": v.annotator, "asin": v.item, "overall": v.label} for v in rated]), tally(rated))

    pairs = votes(225, items=24, people=9, each=4, classes=("left", "right"))
    shown = {i: (f"sys{n % 4}", f"sys{(n + 1 + n // 4) % 5}x") for n, i in enumerate(tally(pairs))}
    rows, by_system = [], []
    for v in pairs:
        turned = rng.random() < 0.5
        a, b = shown[v.item][::-1] if turned else shown[v.item]
        rows.append({"item": v.item, "rater": v.annotator, "left": a, "right": b, "choice": v.label})
        by_system.append(Vote(v.item, v.annotator, a if v.label == "left" else b))
    shape("left or right, sides change", "pairs.csv", table(rows), None, tally(by_system))
    shape("A or B, sides change", "pairs.csv", table([{"prompt_id": r["item"], "worker_id": r["rater"], "response_A": r["left"], "response_B": r["right"], "preference": "A" if r["choice"] == "left" else "B"} for r in rows]), None, tally(by_system))
    shape("pairs in both orders", "pairs.csv", table([{"model_a": r["left"], "model_b": r["right"], "judge": f"{r['rater']}{n}", "winner": "model_a" if r["choice"] == "left" else "model_b"} for n, r in enumerate(rows)]), None)
    shape("left or right, sides fixed", "pairs.csv", table([{"item": v.item, "rater": v.annotator, "left": shown[v.item][0], "right": shown[v.item][1], "choice": v.label} for v in pairs]), tally(pairs), tally([Vote(v.item, v.annotator, shown[v.item][v.label == "right"]) for v in pairs]))

    v = votes(226, items=30, people=9, each=4)
    old = [{"item_id": x.item, "worker_id": x.annotator, "label": x.label, "submitted_at": f"2023-05-{10 + n % 9:02} 10:00:00"} for n, x in enumerate(v)]
    redone = [{**r, "label": rng.choice(["cat", "dog", "bird"]), "submitted_at": f"2023-05-{21 + n % 5:02} 10:00:00"} for n, r in enumerate(old[::6])]
    final = {(r["item_id"], r["worker_id"]): r["label"] for r in [*old, *redone]}
    shape("answers given again, the newest first", "redone.csv", table([*redone, *old]), tally([Vote(i, w, c) for (i, w), c in final.items()]))

    matrix = answers(227, 6, items, list("1234"))
    shape("numbers without names", "matrix.csv", lines([[r[n] for r in matrix.values()] for n in range(30)]), of_answers(matrix, items))
    shape("numbers without names, blanks between", "matrix.txt", lines([[r[n] for r in matrix.values()] for n in range(30)], " "), of_answers(matrix, items))
    some = votes(228, items=30, people=8, each=4, classes=tuple("12345"), person="p")
    shape("objects of people in cells", "objects.csv", table([{"item": i, "ratings": json.dumps({f"name{'abcdefghijklmnopqrst'[int(x.annotator[1:])]}": int(x.label) for x in g})} for i, g in by_item(some).items()]), tally(some))
    shape("objects of people in records", "objects.jsonl", "\n".join(json.dumps({"item": i, "ratings": {f"name{'abcdefghijklmnopqrst'[int(x.annotator[1:])]}": int(x.label) for x in g}}) for i, g in by_item(some).items()), tally(some))
    same = answers(229, 2, items, list("12345"))
    shape("objects of the same two people", "objects.csv", table([{"item": i, "scores": json.dumps({"anna": int(same["p01"][n]), "ben": int(same["p02"][n])})} for n, i in enumerate(items)]), of_answers(same, items))


def _health() -> None:
    rng = random.Random(301)
    v = votes(302, items=30, people=6, each=3, classes=("benign", "malignant", "indeterminate"), prefix="P", person="Dr ")
    seen = {i: (rng.randint(30, 88), rng.choice("FM"), rng.choice(["CT", "MRI"])) for i in tally(v)}
    shape("histology reads with the patient's data", "path.csv", table([{"accession": x.item, "age": seen[x.item][0], "sex": seen[x.item][1], "modality": seen[x.item][2], "pathologist": x.annotator, "dx": x.label, "read_date": day(rng)[:10]} for x in v]), tally(v))
    birads = answers(303, 4, [f"M{n:03}" for n in range(40)], ["1", "2", "3", "4A", "4B", "5"])
    shape("BI-RADS of four readers, biopsy beside", "birads.csv", table([{"exam": f"M{n:03}", **{f"Reader {c}": r[n] for c, r in zip("ABCD", birads.values(), strict=True)}, "biopsy": rng.choice(["neg", "pos", ""])} for n in range(40)]), of_answers(birads, [f"M{n:03}" for n in range(40)]))
    eyes = [Vote(f"{n} | {eye}", w, str(min(4, max(0, g + rng.choice([-1, 0, 0, 1]))))) for n in range(15) for eye in ("OD", "OS") for g in [rng.randint(0, 4)] for w in ("g1", "g2", "g3")]
    shape("grades of both eyes", "dr.csv", table([{"patient": x.item.split(" | ")[0], "eye": x.item.split(" | ")[1], "grader": x.annotator, "dr_grade": x.label} for x in eyes]), tally(eyes))
    sleep = answers(304, 6, [str(n) for n in range(60)], ["W", "N1", "N2", "N3", "R"])
    shape("sleep stages of epochs", "sleep.csv", table([{"epoch": n + 1, **{f"scorer_{j}": r[n] for j, r in enumerate(sleep.values(), 1)}} for n in range(60)]), of_answers(sleep, [str(n + 1) for n in range(60)]))
    two = [{"study": f"s{n}", "read": k, "reader": w, "finding": rng.choice(["present", "absent"])} for n in range(20) for w in ("AB", "CD", "EF") for k in (1, 2)]
    shape("each reader reads twice", "intra.csv", table(two), tally([Vote(r["study"], "", r["finding"]) for r in two]), tally([Vote(f"{r['study']} {r['read']}", "", r["finding"]) for r in two]), tally([Vote(r["study"], "", r["finding"]) for r in two if r["read"] == 2]))
    drug = [{"case_id": f"c{n}", "assessor1_causality": (a := rng.choice(["certain", "probable", "possible", "unlikely"])), "assessor2_causality": a if rng.random() < 0.6 else "possible", "assessor1_serious": rng.choice("YN"), "assessor2_serious": rng.choice("YN")} for n in range(30)]
    shape("two assessors, two questions", "adr.csv", table(drug), *({r["case_id"]: dict(Counter([r[f"assessor1_{q}"], r[f"assessor2_{q}"]])) for r in drug} for q in ("causality", "serious")))


def _sky_and_field() -> None:
    rng = random.Random(311)
    galaxies = [{"objid": f"{587722981741363328 + 131 * n}", "ra": round(rng.uniform(0, 360), 5), "dec": round(rng.uniform(-10, 70), 5), **dict(zip(("P_EL", "P_CW", "P_ACW", "P_EDGE", "P_DK", "P_MG"), (n_ / 40 for n_ in (10, 8, 8, 6, 4, 4)), strict=True)), "NVOTE": 40} for n in range(20)]
    for g in galaxies:
        cut = sorted(rng.randint(0, 40) for _ in range(5))
        parts = [b - a for a, b in zip([0, *cut], [*cut, 40], strict=True)]
        g.update({k: p / 40 for k, p in zip(("P_EL", "P_CW", "P_ACW", "P_EDGE", "P_DK", "P_MG"), parts, strict=True)})
    keys = ("P_EL", "P_CW", "P_ACW", "P_EDGE", "P_DK", "P_MG")
    shape("galaxies with shares of votes and places", "zoo.csv", table(galaxies), {g["objid"]: {k: g[k] for k in keys} for g in galaxies}, {g["objid"]: {k: round(g[k] * 40) for k in keys} for g in galaxies})
    v = votes(312, items=30, people=12, each=5, classes=("planet", "binary", "noise"), prefix="TIC", person="u")
    shape("light curves, no name of a role", "tess.csv", table([{"target": x.item, "sector": int(x.item[3:]) % 5, "vetter": x.annotator, "disposition": x.label, "snr": round(rng.uniform(5, 40), 1)} for x in v]), tally(v))
    camera = votes(313, items=30, people=10, each=4, classes=("deer", "fox", "boar", "empty"), prefix="IMG_", person="vol")
    shape("camera traps, animals counted beside", "cams.csv", table([{"site": f"S{int(x.item[4:]) % 6}", "capture": x.item, "volunteer": x.annotator, "species": x.label, "count": rng.choice([1, 1, 1, 2, 3]) if x.label != "empty" else 0} for x in camera]), tally(camera))
    cover = answers(314, 5, [f"q{n}" for n in range(30)], ["0-5%", "5-25%", "25-50%", "50-75%", "75-100%"])
    shape("cover classes of five observers", "quadrats.csv", table([{"quadrat": f"q{n}", "date": day(rng)[:10], **{f"obs_{w}": r[n] for w, r in zip(("KL", "MN", "OP", "QR", "ST"), cover.values(), strict=True)}} for n in range(30)]), of_answers(cover, [f"q{n}" for n in range(30)]))
    leaf = [{"plot": p, "plant": k, "observer": w, "damage": str(min(9, max(1, d + rng.choice([-1, 0, 1]))))} for p in "ABCD" for k in range(1, 8) for d in [rng.randint(1, 9)] for w in ("ann", "bob", "cyd", "dee")]
    shape("plants numbered in each plot", "damage.csv", table(leaf), tally([Vote(f"{r['plot']} | {r['plant']}", r["observer"], r["damage"]) for r in leaf]))


def _words_and_law() -> None:
    rng = random.Random(321)
    people = [f"L{n}" for n in range(12)]
    rows = []
    for listed in "ABC":
        for k in range(1, 11):
            liked = rng.choice(list("1234567"))
            for w in people[" ABC".index(listed) * 4 - 4:" ABC".index(listed) * 4]:
                rows.append({"participant": w, "list": listed, "sentence": k, "condition": "gram" if k % 2 else "ungram", "rating": liked if rng.random() < 0.5 else rng.choice(list("1234567"))})
    shape("sentences numbered within lists, Latin square", "latin.csv", table(rows), tally([Vote(f"{r['list']} | {r['sentence']}", r["participant"], r["rating"]) for r in rows]))
    v = votes(322, items=20, people=5, each=5, classes=("NOUN", "VERB", "ADJ", "X"))
    shape("tokens numbered in sentences", "pos.tsv", table([{"sent": int(x.item[4:]) % 4, "tok": int(x.item[4:]) // 4, "form": f"w{x.item}", "ann": x.annotator, "upos": x.label} for x in v], "\t"), tally(v))
    judges = answers(323, 9, [f"{n}-{100 + n}" for n in range(30)], ["affirm", "reverse"])
    gone = {w: [c if rng.random() < 0.92 else "recused" for c in r] for w, r in judges.items()}
    shape("judges who recuse themselves", "court.csv", table([{"docket": f"{n}-{100 + n}", "term": 1990 + n % 4, **{w: r[n] for w, r in zip(("Rehnquist", "Stevens", "OConnor", "Scalia", "Kennedy", "Souter", "Thomas", "Ginsburg", "Breyer"), gone.values(), strict=True)}} for n in range(30)]), of_answers({w: ["" if c == "recused" else c for c in r] for w, r in gone.items()}, [f"{n}-{100 + n}" for n in range(30)]), of_answers(gone, [f"{n}-{100 + n}" for n in range(30)]))
    clauses = [{"contract": c, "clause": k, "attorney": w, "unfair": rng.choice([0, 0, 1]), "category": rng.choice(["LTD", "TER", "CH"])} for c in ("Air", "Bnb", "Cab", "Dro") for k in range(1, 7) for w in ("a1", "a2", "a3")]
    shape("clauses numbered in contracts, two questions", "tos.csv", table(clauses), *(tally([Vote(f"{r['contract']} | {r['clause']}", r["attorney"], str(r[q])) for r in clauses]) for q in ("unfair", "category")))
    v = votes(324, items=30, people=9, each=3, classes=("a", "b", "same"), prefix="u")
    shape("metaphors, annotators named in a list", "meta.jsonl", "\n".join(json.dumps({"lemma": i, "ctx": text(rng), "annotators": [x.annotator for x in g], "labels": [x.label for x in g]}) for i, g in by_item(v).items()), tally(v))
    senses = votes(325, items=30, people=6, each=3, classes=("bank.1", "bank.2", "bank.3"), prefix="br-k")
    shape("senses, annotator and time in front", "wsd.csv", table([{"t": 1_600_000_000 + 7 * n, "by": x.annotator, "ref": x.item, "sense": x.label} for n, x in enumerate(senses)]), tally(senses))


def _screens() -> None:
    rng = random.Random(331)
    v = votes(332, items=30, people=12, each=4, classes=("ok", "spam", "hate", "nsfw"), prefix="post_", person="mod")
    shape("moderation with reports counted", "mod.csv", table([{"post_id": x.item, "reports": {i: n % 5 for n, i in enumerate(tally(v))}[x.item], "moderator": x.annotator, "action": x.label, "handled_at": day(rng)} for x in v]), tally(v))
    shape("moderation, appeals overturn", "mod.csv", table([{"content_id": x.item, "reviewer_id": x.annotator, "decision": x.label, "appealed": rng.random() < 0.1, "final_decision": chosen(v)[x.item]} for x in v]), tally(v))
    flags = [{"comment_id": i, "text": text(rng), "n_annotators": 10, **{k: rng.randint(0, 10) / 10 for k in ("toxicity", "insult", "threat")}} for i in range(30)]
    shape("shares of annotators for several questions", "civil.csv", table(flags), *({str(r["comment_id"]): {k: round(10 * r[k]), f"not {k}": 10 - round(10 * r[k])} for r in flags} for k in ("toxicity", "insult", "threat")))
    sus = [{"participant": f"P{n}", **{f"SUS{k}": rng.choice("12345") for k in range(1, 11)}} for n in range(16)]
    shape("answers of users to ten questions", "sus.csv", table(sus), tally([Vote(f"SUS{k}", r["participant"], r[f"SUS{k}"]) for r in sus for k in range(1, 11)]))
    cards = [{"card": c, "participant": w, "group": rng.choice(["Account", "Help", "Shop"])} for c in (f"card {n}" for n in range(20)) for w in (f"P{n}" for n in range(8))]
    shape("card sorting", "cards.csv", table(cards), tally([Vote(r["card"], r["participant"], r["group"]) for r in cards]))
    heur = answers(333, 4, [f"issue {n}" for n in range(20)], list("01234"))
    shape("severity of issues by evaluators, mean below", "heuristics.csv", lines([["Issue", "Description", "Eva", "Finn", "Gus", "Hal"], *([f"issue {n}", text(rng), *(r[n] for r in heur.values())] for n in range(20)), ["Mean", "", *(round(sum(map(int, r)) / 20, 2) for r in heur.values())]]), of_answers(heur, [f"issue {n}" for n in range(20)]))
    rounds = [{"session_id": f"{rng.getrandbits(32):08x}", "rater": w, "page": f"p{n}", "variant": rng.choice("AB"), "pref": rng.choice(["old", "new", "none"])} for n in range(25) for w in rng.sample([f"r{k}" for k in range(9)], 4)]
    shape("preferences on pages, a session per row", "prefs.csv", table(rounds), tally([Vote(r["page"], r["rater"], r["pref"]) for r in rounds]))


def _juries() -> None:
    rng = random.Random(341)
    boxing = [{"bout": b, "round": k, "judge": j, "red": r, "blue": 19 - r} for b in range(1, 6) for k in range(1, 5) for j in ("J1", "J2", "J3") for r in [rng.choice([9, 10])]]
    shape("boxing rounds, points for both corners", "boxing.csv", table(boxing), *(tally([Vote(f"{r['bout']} | {r['round']}", r["judge"], str(r[c])) for r in boxing]) for c in ("red", "blue")))
    dive = [{"dive": n, "diver": f"D{n % 8}", **{f"J{k}": x for k, x in enumerate((rng.choice([6.5, 7.0, 7.5, 8.0]) for _ in range(7)), 1)}, "DD": rng.choice([2.8, 3.0, 3.4])} for n in range(1, 33)]
    for r in dive:
        r["score"] = round(sum(sorted(r[f"J{k}"] for k in range(1, 8))[2:5]) * r["DD"], 2)
    shape("dives, difficulty and score beside", "diving.csv", table(dive), {str(r["dive"]): dict(Counter(f"{r[f'J{k}']:g}" if False else str(r[f"J{k}"]) for k in range(1, 8))) for r in dive})
    medal = votes(342, items=25, people=8, each=4, classes=("gold", "silver", "bronze", "none"), prefix="W", person="T")
    shape("medals for wines", "medals.csv", table([{"flight": int(x.item[1:]) % 5, "wine": x.item, "taster": x.annotator, "medal": x.label} for x in medal]), tally(medal))
    blind = [Vote(f"{f} | {g}", w, rng.choice(["fault", "sound", "fine"])) for f in range(1, 7) for g in "ABCDE" for w in rng.sample([f"t{n}" for n in range(8)], 4)]
    shape("glasses lettered in each flight", "flights.csv", table([{"Flight": x.item.split(" | ")[0], "Glass": x.item.split(" | ")[1], "Taster": x.annotator, "Verdict": x.label} for x in blind]), tally(blind))
    papers = votes(343, items=30, people=20, each=3, classes=("reject", "weak reject", "weak accept", "accept"), prefix="", person="R")
    shape("reviews with confidence and decision", "reviews.csv", table([{"paper": x.item, "reviewer": x.annotator, "recommendation": x.label, "confidence": rng.randint(1, 5), "decision": "accept" if "accept" in chosen(papers)[x.item] else "reject"} for x in papers]), tally(papers))
    shape("reviews in slots, reviewer numbers restart", "openreview.csv", table([{"forum": x.item, "reviewer_no": n, "rating": {"reject": "3: reject", "weak reject": "5: weak reject", "weak accept": "6: weak accept", "accept": "8: accept"}[x.label]} for g in by_item(papers).values() for n, x in enumerate(g, 1)]), tally(papers))
    theses = answers(344, 3, [f"T{n}" for n in range(24)], ["1,0", "1,3", "1,7", "2,0", "2,3"])
    shape("grades of theses, decimal commas", "noten.csv", lines([["Arbeit", "Erstgutachten", "Zweitgutachten", "Drittgutachten"], *([f"T{n}", *(r[n] for r in theses.values())] for n in range(24))], ";"), of_answers(theses, [f"T{n}" for n in range(24)]))
    bake = answers(345, 4, [f"cake {n}" for n in range(20)], ["yes", "maybe", "no"])
    shape("no-shows among jurors", "bake.csv", table([{"entry": f"cake {n}", **{w: ("absent" if (n + k) % 7 == 0 else r[n]) for k, (w, r) in enumerate(zip(("Paul", "Mary", "Prue", "Nel"), bake.values(), strict=True))}} for n in range(20)]), of_answers({w: ["" if (n + k) % 7 == 0 else c for n, c in enumerate(r)] for k, (w, r) in enumerate(bake.items())}, [f"cake {n}" for n in range(20)]), of_answers({w: ["absent" if (n + k) % 7 == 0 else c for n, c in enumerate(r)] for k, (w, r) in enumerate(bake.items())}, [f"cake {n}" for n in range(20)]))


def _sheets() -> None:
    rng = random.Random(351)
    v = votes(352, items=20, people=6, each=3, classes=("in", "out", "unsure"))
    shape("votes as a sentence of the voter", "log.csv", table([{"who": x.annotator, "what": x.item, "said": x.label, "when": day(rng)} for x in v]), tally(v))
    shape("votes in slots with their dates", "slots.csv", table([{"study": i, **{k: y for j, x in enumerate(g, 1) for k, y in ((f"vote{j}", x.label), (f"date{j}", day(rng)[:10]))}} for i, g in by_item(v).items()]), tally(v))
    shape("slots with another number of votes each", "slots.csv", table([{k: y for k, y in r.items() if k != "none"} for r in ({**r, "vote3": "" if n % 4 == 0 else r["vote3"]} for n, r in enumerate(slot_rows(v, "vote")))]), tally([x for n, (_, g) in enumerate(by_item(v).items()) for k, x in enumerate(g) if not (k == 2 and n % 4 == 0)]))
    crowd = votes(353, items=40, people=30, each=5, classes=("0", "1"), prefix="", person="A")
    shape("triples without a header, tabs", "labels.tsv", table([{"a": f"q{x.item}", "b": x.annotator, "c": x.label} for x in crowd], "\t", header=False), {f"q{i}": c for i, c in tally(crowd).items()})
    shape("triples of numbers without a header", "answers.txt", table([{"a": x.annotator[1:], "b": x.item, "c": x.label} for x in crowd], "\t", header=False), tally(crowd))
    shape("counts of yes and asked", "yes.csv", table([{"claim": i, "agree": c.get("1", 0), "asked": sum(c.values())} for i, c in tally(crowd).items()]), {i: {{"1": "agree", "0": "not agree"}[c]: n for c, n in row.items()} for i, row in tally(crowd).items()})
    many = [(i, y, rng.randint(y, 30)) for i in range(30) for y in [rng.randint(0, 15)]]
    shape("counts of yes and another number asked each", "yes.csv", table([{"claim": f"c{i}", "yes": y, "n": n} for i, y, n in many]), {f"c{i}": {c: k for c, k in (("yes", y), ("no", n - y)) if k} for i, y, n in many})
    shape("Pareto of names, votes in brackets", "names.csv", table([{"item": i, "label": f"{c} ({n})"} for i, row in tally(v).items() for c, n in row.items()]), None)
    shape("weights of panel members", "panel.csv", table([{"issue": x.item, "member": x.annotator, "vote": x.label, "weight": 1 + int(x.annotator[1:]) % 3 * 0.5} for x in v]), _weighted(v))
    shape("wide with a column of notes for each", "w.csv", table([{"case": i, **{k: y for w, said in sorted((x.annotator, x.label) for x in g) for k, y in ((f"{w}", said), (f"{w} notes", text(rng, 4)))}} for i, g in by_item([Vote(c, w, r[n]) for w, r in answers(354, 3, [f"k{n}" for n in range(25)], ["A", "B", "C"]).items() for n, c in enumerate(f"k{n}" for n in range(25))]).items()]), of_answers(answers(354, 3, [f"k{n}" for n in range(25)], ["A", "B", "C"]), [f"k{n}" for n in range(25)]))
    shape("shuffled rows, item last, capitals", "v.csv", table(shuffled([{"RATING": x.label, "RATER": x.annotator, "ITEM": x.item} for x in v])), tally(v))
    shape("wide with an answer key of another name", "quiz.csv", table([{**r, "expert_panel": chosen(crowd)[r["item_id"]]} for r in wide_rows(crowd)]), None)
    FIELDS.pop()  # nobody can tell an expert panel from one more annotator by looking
    sparse = long_rows(v, "clip", "listener", "heard")
    shape("two questions, one of them mostly blank", "two.csv", table([{**r, "accent": rng.choice(["N", "S"]) if rng.random() < 0.1 else ""} for r in sparse]), tally(v))


def _weighted(v: list[Vote]) -> Truth:
    found: dict[str, dict[str, Any]] = {}
    for x in v:
        row = found.setdefault(x.item, {})
        row[x.label] = row.get(x.label, 0) + 1 + int(x.annotator[1:]) % 3 * 0.5
    return {i: {c: n / sum(row.values()) for c, n in row.items()} for i, row in found.items()}


def _once_more() -> None:
    rng = random.Random(401)
    ids = [f"k{n}" for n in range(30)]
    v = votes(402, items=30, people=9, each=4, classes=("good", "bad", "so so"), prefix="m", person="p")
    shape("weights in whole numbers, no people", "w.csv", table([{"item": i, "label": c, "weight": n} for i, row in tally(v).items() for c, n in row.items()]), {i: {c: n / sum(row.values()) for c, n in row.items()} for i, row in tally(v).items()}, tally(v))
    shape("cuppers' scores in steps of a quarter", "cupping.csv", table([{"lot": x.item, "cupper": x.annotator, "aroma": {"good": 8.25, "bad": 6.5, "so so": 7.75}[x.label], "notes": text(rng, 3)} for x in v]), {i: {{"good": "8.25", "bad": "6.5", "so so": "7.75"}[c]: n for c, n in row.items()} for i, row in tally(v).items()})
    shape("name and surname of raters", "names.csv", table([{"Last": f"Last{int(x.annotator[1:]) % 4}", "First": f"First{x.annotator}", "Song": x.item, "Judgement": x.label} for x in v]), tally(v))
    shape("mails of raters, first and last seen", "mails.csv", table([{"first_seen": day(rng), "last_seen": day(rng), "email": f"{x.annotator}@uni.edu", "poster": x.item, "vote": x.label} for x in v]), tally(v))
    shape("a row per pair of annotators", "pairs.csv", table([{"doc": i, "coder_1": g[a].annotator, "code_1": g[a].label, "coder_2": g[b].annotator, "code_2": g[b].label} for i, g in by_item(v).items() for a in range(4) for b in range(a + 1, 4)]), None)
    two = {w: [r, q] for (w, r), q in zip(answers(403, 4, ids, ["0", "1"]).items(), answers(404, 4, ids, ["0", "1"]).values(), strict=True)}
    who = ("ana", "bo", "cy", "dee")
    shape("questions in front, people behind, a colon between", "q.csv", table([{"url": f"http://x.org/{i}", **{f"{q}:{w}": r[k][n] for k, q in enumerate(("spam", "rude")) for w, r in zip(who, two.values(), strict=True)}} for n, i in enumerate(ids)]), of_answers({w: r[0] for w, r in two.items()}, ids), of_answers({w: r[1] for w, r in two.items()}, ids))
    shape("camel case of readers and questions", "q.csv", table([{"Case": i, **{f"reader{j}.{q}": r[k][n] for j, r in enumerate(two.values(), 1) for k, q in enumerate(("Lesion", "Motion"))}} for n, i in enumerate(ids)]), of_answers({w: r[0] for w, r in two.items()}, ids), of_answers({w: r[1] for w, r in two.items()}, ids))
    frames = [Vote(f"{vid} | {t}", w, c) for vid in ("a.mp4", "b.mp4", "c.mp4") for t in range(0, 50, 5) for liked in [rng.choice(["fight", "none", "run"])] for w in ("x1", "x2", "x3") for c in [liked if rng.random() < 0.7 else "none"]]
    shape("frames by time within clips", "frames.csv", table([{"clip": x.item.split(" | ")[0], "t": x.item.split(" | ")[1], "rater": x.annotator, "event": x.label} for x in frames]), tally(frames))
    shape("frames by time within clips, a column per rater", "frames.csv", table([{"clip": i.split(" | ")[0], "second": i.split(" | ")[1], **{x.annotator: x.label for x in g}} for i, g in by_item(frames).items()]), tally(frames))
    pages = []
    for book in ("I", "II", "III", "IV"):
        for page in range(1, 9):
            line, best = text(rng), rng.choice(["verse", "prose"])
            pages += [(book, page, line, w, best if rng.random() < 0.75 else "list") for w in rng.sample([f"{book}-{c}" for c in "abcde"], 3)]
    shape("pages of books, readers of each book", "books.csv", table([{"reader": w, "page": p, "book": b, "first_line": t, "kind": c} for b, p, t, w, c in pages]), tally([Vote(f"{b} | {p}", w, c) for b, p, _, w, c in pages]))
    shape("pages of books, readers of each book, no lines", "books.csv", table([{"reader": w, "page_id": p, "book": b, "label": c} for b, p, t, w, c in pages]), tally([Vote(f"{b} | {p}", w, c) for b, p, _, w, c in pages]))
    gone = {w: [c if rng.random() < 0.8 else "not assessed" for c in r] for w, r in answers(405, 5, ids, ["I", "II", "III", "IV"]).items()}
    shape("stages, some not assessed, a row per doctor", "tnm.csv", lines([["doctor", *ids], *([w, *r] for w, r in gone.items())]), of_answers({w: ["" if c == "not assessed" else c for c in r] for w, r in gone.items()}, ids))
    shape("stages, some not assessed, long", "tnm.csv", table([{"case": i, "doctor": w, "stage": r[n]} for w, r in gone.items() for n, i in enumerate(ids)]), of_answers({w: ["" if c == "not assessed" else c for c in r] for w, r in gone.items()}, ids), of_answers(gone, ids))
    taste = [(a, b, w, a if rng.random() < 0.6 else b) for a in "PQRS" for b in "PQRS" if a < b for w in (f"t{n}" for n in range(9))]
    turned = [(b, a, w, x) if rng.random() < 0.5 else (a, b, w, x) for a, b, w, x in taste]
    shape("tasted in either order, first or second", "ab.csv", table([{"first": a, "second": b, "taster": w, "preferred": "first" if x == a else "second"} for a, b, w, x in turned]), None, tally([Vote(f"{a} | {b}", w, "first" if x == a else "second") for a, b, w, x in turned]))
    shape("tasted in either order, named", "ab.csv", table([{"pair": "".join(sorted(a + b)), "first": a, "second": b, "taster": w, "preferred": x} for a, b, w, x in turned]), tally([Vote("".join(sorted(a + b)), w, x) for a, b, w, x in turned]))
    shape("answers of a quiz, changed later, newest on top", "quiz.csv", table(sorted([{"when": f"{5 + n % 20:02}.03.2024 {8 + k:02}:00", "player": x.annotator, "question": x.item, "answer": x.label if k else "bad"} for n, x in enumerate(v) for k in ((0, 1) if n % 5 == 0 else (1,))], key=lambda r: r["when"], reverse=True)), tally(v), tally([x for n, x in enumerate(v) for x in ((x, Vote(x.item, x.annotator, "bad")) if n % 5 == 0 else (x,))]))
    shape("people and their words in one cell", "cell.csv", table([{"id": i, "votes": "; ".join(f"{x.annotator}: {x.label}" for x in g)} for i, g in by_item(v).items()]), tally(v))
    shape("lists of objects", "objs.jsonl", "\n".join(json.dumps({"id": i, "annotations": [{"who": x.annotator, "label": x.label} for x in g]}) for i, g in by_item(v).items()), tally(v))
    shape("shares of a hundred", "pct.csv", table([{"photo": i, **{c: 25 * row.get(c, 0) for c in ("good", "bad", "so so")}} for i, row in tally(v).items()]), {i: {c: 25.0 * n for c, n in row.items()} for i, row in tally(v).items()}, {i: {c: n / 4 for c, n in row.items()} for i, row in tally(v).items()})
    shape("numbers of yes for several questions and those asked", "yes.csv", table([{"img": i, "n_raters": 10, "blurry": rng.randint(0, 10), "dark": rng.randint(0, 10), "tilted": rng.randint(0, 10)} for i in ids]), None)
    shape("levels in letters with plus and minus", "grades.csv", table([{"essay": i, **{f"marker {c}": rng.choice(["A-", "B+", "B", "B-", "C+"]) for c in "XYZ"}} for i in ids[:0] or ids]), None)
    FIELDS.pop()
    plus = answers(406, 3, ids, ["A-", "B+", "B", "C"])
    shape("grades with plus and minus", "grades.csv", table([{"essay": i, **{f"marker {c}": r[n] for c, r in zip("XYZ", plus.values(), strict=True)}} for n, i in enumerate(ids)]), of_answers(plus, ids))
    shape("a column of weeks between", "weekly.csv", table([{"week": n % 4, "beach": x.item, "volunteer": x.annotator, "litter": x.label} for n, x in enumerate(v)]), tally(v))
    shape("numbers before classes in a cell", "tallies.csv", table([{"motion": i, "result": ", ".join(f"{n} {c}" for c, n in row.items())} for i, row in tally(v).items()]), tally(v))
    wide = answers(407, 3, [f"{b} | {n}" for b in range(1, 5) for n in range(8)], ["ham", "spam"])
    shape("numbers that restart in each batch, a column per rater", "wide.csv", table([{"batch": n // 8 + 1, "item": n % 8, **{f"rater_{j}": r[n] for j, r in enumerate(wide.values(), 1)}} for n in range(32)]), of_answers(wide, [f"{b} | {n}" for b in range(1, 5) for n in range(8)]))
    statements = answers(408, 25, [f"S{k}" for k in range(1, 9)], AGREE)
    shape("forms that people filled in", "form.csv", lines([["ResponseId", "Duration", *(f"S{k}" for k in range(1, 9))], *([f"R_{w}", rng.randint(50, 900), *r] for w, r in statements.items())]), of_answers(statements, [f"S{k}" for k in range(1, 9)]))
    funded = [(f"app{n}", w, rng.choice(["fund", "reject"]), rng.choice(["fund", "reject"])) for n in range(15) for w in ("r1", "r2", "r3")]
    shape("votes before and after a discussion", "panel.csv", table([{"application": i, "reviewer": w, "pre": a, "post": b} for i, w, a, b in funded]), tally([Vote(i, w, a) for i, w, a, _ in funded]), tally([Vote(i, w, b) for i, w, _, b in funded]))


def _results_beside_votes() -> None:
    rng = random.Random(501)
    ids, kinds = [f"P{n:03}" for n in range(24)], ["fact", "holding", "dicta", "procedural"]
    three = dict(zip(("AB", "CN", "RT"), answers(502, 3, ids, kinds).values(), strict=True))
    truth = of_answers(three, ids)
    rows = list(zip(*three.values(), strict=True))
    settled = ["" if len({*row}) == 1 else max(sorted({*row}), key=row.count) for row in rows]
    full = [made or row[0] for made, row in zip(settled, rows, strict=True)]
    human = [made if rng.random() < 0.8 else rng.choice(kinds) for made in full]
    for name, made in (("Reconciled", settled), ("Reconciled", full), ("Reconciled", human), ("XQ", settled), ("Konsens", human), ("Final code", human), ("Gold standard", full)):
        kind = "blank where all agree" if made is settled else "what most say" if made is full else "what somebody settled"
        beside = [{"Para ID": i, **{w: r[n] for w, r in three.items()}, name: made[n]} for n, i in enumerate(ids)]
        shape(f"{name}, {kind}", "paras.csv", table(beside), truth)
        shape(f"{name}, {kind}, beside texts", "paras.csv", table([{"Para ID": r["Para ID"], "Excerpt": f"The court finds {text(rng)}", **r} for r in beside]), truth)
    merged = [["Case", "Para", "Excerpt", *three, "Reconciled"], *([f"Smith v {n}" if n % 4 == 0 else "", n % 4 + 1, text(rng), *rows[n], settled[n]] for n in range(24))]
    shape("reconciled, merged cells", "paras.csv", lines(merged), {f"Smith v {n // 4 * 4} | {n % 4 + 1}": row for n, row in enumerate(truth.values())})

    slides, findings = [f"S{n}" for n in range(101, 119)], ["benign", "atypical", "DCIS", "invasive"]
    read = dict(zip("ABCDE", answers(503, 5, slides, findings).values(), strict=True))
    most = [max(sorted({*said}), key=said.count) for said in zip(*read.values(), strict=True)]
    for name in ("Expert panel", "Consensus", "Gold standard", "Mehrheit"):
        shape(f"a row of {name} among pathologists", "slides.csv", lines([["Pathologist", *slides], *([w, *r] for w, r in read.items()), [name, *most]]), of_answers(read, slides))
    shape("a row of an expert panel, experience beside", "slides.csv", lines([["Pathologist", "Experience (y)", *slides], *([w, 10 + 3 * n, *r] for n, (w, r) in enumerate(read.items())), ["Expert panel", "", *most]]), of_answers(read, slides))
    shape("a row of an expert panel on top", "slides.csv", lines([["Pathologist", *slides], ["Expert panel", *most], *([w, *r] for w, r in read.items())]), of_answers(read, slides))

    fouls = [f"Foul {n}" for n in range(1, 15)]
    refs = answers(504, 4, fouls, ["0", "1", "2"])
    head, body = ["Clip", *(f"Ref {n}" for n in range(1, 5))], [[i, *(r[n] for r in refs.values())] for n, i in enumerate(fouls)]
    legend = ["0 = no foul, 1 = foul, 2 = foul + card", "", "", "", ""]
    for name in ("Kappa", "Fleiss' kappa", "Statistik"):
        shape(f"{name} below the votes", "fouls.csv", lines([head, *body, [name, "0.41", "", "", ""]]), of_answers(refs, fouls))
    shape("a legend and kappa below the votes", "fouls.csv", lines([head, *body, [""] * 5, legend, ["Kappa", "0.41", "", "", ""]]), of_answers(refs, fouls))
    shape("a legend below the votes", "fouls.csv", lines([head, *body, [""] * 5, legend]), of_answers(refs, fouls))
    shape("means of referees below the votes", "fouls.csv", lines([head, *body, ["Mittelwert", "0,7", "0,9", "1,2", "1,0"]], ";"), of_answers(refs, fouls))


def _tastings() -> None:
    rng = random.Random(511)
    wines = [f"Wein {n:02}" for n in range(1, 15)]
    best = [rng.randint(26, 36) / 2 for _ in wines]
    said = {w: [f"{b + rng.choice((-0.5, 0, 0, 0.5)):g}" for b in best] for w in ("Huber", "Lang", "Moser", "Prinz", "Steiner")}
    truth = of_answers(said, wines)
    mean = [f"{sum(map(float, one)) / 5:.2f}" for one in zip(*said.values(), strict=True)]
    for person in ("Prüfer", "Judge", "Juez", "Verkoster"):
        for last, name in ((None, "no means"), ("Mittelwert", "a row of means"), ("Ø", "means with a sign for a name")):
            rows = [[person, *wines], *([w, *r] for w, r in said.items()), *([[last, *mean]] if last else [])]
            shape(f"tasters called {person}, {name}", "wine.csv", lines(rows), truth)
            shape(f"tasters called {person}, {name}, decimal commas", "wine.csv", lines([[c.replace(".", ",") for c in r] for r in rows], ";"), truth)
    shape("tasters, decimal commas, latin-1", "wine.csv", lines([["Prüfer", *wines], *([w, *(c.replace(".", ",") for c in r)] for w, r in said.items()), ["Mittelwert", *(c.replace(".", ",") for c in mean)]], ";").encode("latin-1"), truth)
    shape("tasters whose column has no name that tells", "wine.csv", lines([["Wer", *wines], *([w, *r] for w, r in said.items())]), truth)


def _words_for_no_answer() -> None:
    rng = random.Random(521)
    ids = [f"x{n}" for n in range(40)]
    for word in ("NE", "N/E", "UNK", "unknown", "unsure", "NK", "don't know"):
        said = {w: [c if rng.random() < 0.85 else word for c in r] for w, r in answers(522, 4, ids, ["normal", "abnormal", "borderline"]).items()}
        gone = of_answers({w: ["" if c == word and word not in ("unsure", "don't know") else c for c in r] for w, r in said.items()}, ids)
        shape(f"{word}, a column per reader", "reads.csv", table([{"scan": i, **{f"reader{j}": r[n] for j, r in enumerate(said.values(), 1)}} for n, i in enumerate(ids)]), gone)
        shape(f"{word}, columns called by initials, beside texts", "reads.csv", table([{"scan": i, "notes": text(rng), **{w: r[n] for w, r in zip(("AK", "BT", "CD", "EF"), said.values(), strict=True)}} for n, i in enumerate(ids)]), gone)
        shape(f"{word}, long", "reads.csv", table([{"scan": i, "reader": w, "finding": r[n]} for w, r in said.items() for n, i in enumerate(ids)]), gone)
        shape(f"{word}, a row per reader", "reads.csv", lines([["reader", *ids], *([w, *r] for w, r in said.items())]), gone)
    agreed = answers(523, 4, ids, ["yes", "no", "unknown"])
    shape("unknown on which readers agree", "reads.csv", table([{"scan": i, **{f"reader{j}": r[n] for j, r in enumerate(agreed.values(), 1)}} for n, i in enumerate(ids)]), of_answers(agreed, ids))
    shape("unknown on which readers agree, long", "reads.csv", table([{"scan": i, "reader": w, "finding": r[n]} for w, r in agreed.items() for n, i in enumerate(ids)]), of_answers(agreed, ids))
    winds = answers(524, 4, ids, ["N", "NE", "E", "S"])
    shape("winds, of which one is north-east", "winds.csv", table([{"scan": i, **{f"observer{j}": r[n] for j, r in enumerate(winds.values(), 1)}} for n, i in enumerate(ids)]), of_answers(winds, ids))


def _runs_of_tasks() -> None:
    rng = random.Random(531)
    v = votes(532, items=24, people=6, each=4, classes=("vase", "lamp", "bowl"), prefix="1923.", person="anon-")
    again = [Vote(x.item, x.annotator, rng.choice(("vase", "lamp", "bowl"))) for x in rng.sample(v, 3)]
    kept = {(x.item, x.annotator): x for x in (*v, *again)}
    rows = [{"task_run_id": 88127 + 7 * n, "created": f"2022-05-{1 + n // 8:02}T{10 + n % 8:02}:50:03Z", "object_no": x.item, "image_url": f"https://coll.museum.org/iiif/{x.item}/full.jpg", "contributor": x.annotator, "chosen_tag": x.label, "remark": "broken rim" if n % 9 == 0 else ""} for n, x in enumerate([*v, *again])]
    shape("runs of tasks at a museum, some again", "museum.csv", table(rows), tally(list(kept.values())), tally([*v, *again]))
    shape("runs of tasks at a museum", "museum.csv", table(rows[:-3]), tally(v))


for _group in (_runs_of_tasks, _words_for_no_answer, _tastings, _results_beside_votes, _once_misread, _health, _sky_and_field, _words_and_law, _screens, _juries, _sheets, _once_more):
    _group()
