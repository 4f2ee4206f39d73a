"""Broken JSON and unclear content: a sentence each, never a traceback, never a guess."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from votewise import InputError, VotewiseError, read_votes
from votewise.cli.main import main
from votewise.votes import FORMATS

SAMPLES = Path(__file__).parent / "samples"
FILES = sorted(path for path in SAMPLES.rglob("*.json*") if path.name != "metadata.json")
WHOLE = "Check that it is whole; one object per line belongs in a .jsonl file."
TABLE = "Export the answers of an annotation tool, or make a long table (.csv, .jsonl) of them."

BROKEN = {
    "empty": (b"", "the file {} must be JSON, but it is empty. " + WHOLE),
    "blank": (b" \n", "the file {} must be JSON, but it is empty. " + WHOLE),
    "byte order mark alone": (b"\xef\xbb\xbf", "the file {} must be JSON, but it is empty. " + WHOLE),
    "UTF-16": ('{"a": {"b": 1}}'.encode("utf-16"), "the file {} must be UTF-8, but it is UTF-16. Save it as UTF-8."),
    "bytes": (b'["\xff"]', "the file {} must be UTF-8, but it is something else. Save it as UTF-8."),
    "cut off": (b'[{"id": 1,', "the file {} must be JSON, but reading it failed: Expecting property name enclosed in double quotes: line 1 column 11 (char 10). " + WHOLE),
    "lines": (b'{"a": 1}\n{"a": 1}', "the file {} must be JSON, but reading it failed: Extra data: line 2 column 1 (char 9). " + WHOLE),
    "deep": (b"[" * 100_000, "the file {} must be JSON nested to a reasonable depth, but it is nested too deeply. Check the file."),
    "huge number": (b'{"a": {"b": ' + b"9" * 5000 + b"}}", "the file {} must be JSON, but reading it failed: Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits. " + WHOLE),
    "NaN": (b'{"a": {"b": NaN}}', "the file {} must be JSON, but it holds NaN, which is not JSON. Write null instead."),
    "infinity": (b'{"a": {"b": -Infinity}}', "the file {} must be JSON, but it holds -Infinity, which is not JSON. Write null instead."),
    "a key twice": (b'{"1": {"7": 0, "8": 1, "7": 2}}', "the file {} must name each key of an object once, but '7' appears twice. Fix it."),
    "text": (b'"hello"', "the file {} must hold objects, in a list or by name, but got text. " + TABLE),
    "a number": (b"3", "the file {} must hold objects, in a list or by name, but got a number. " + TABLE),
    "null": (b"null", "the file {} must hold objects, in a list or by name, but got null. " + TABLE),
    "an empty list": (b"[]", "the file {} must hold objects, in a list or by name, but got a list without any. " + TABLE),
    "an empty object": (b"{}", "the file {} must hold objects, in a list or by name, but got an object without any. " + TABLE),
    "a list of lists": (b"[[1], [2]]", "the file {} must hold objects, in a list or by name, but got a list of a list. " + TABLE),
    "a mixed list": (b'[{"a": 1}, 2]', "the file {} must hold objects, in a list or by name, but got a list of a number. " + TABLE),
    "something else": (b'[{"colour": "red"}]', "a .json file must be a known export, but this one is not (its objects have 'colour'). Name the format with format= (--format: label-studio, label-studio-min, argilla, argilla-1, prodigy, doccano, lewidi, chaosnli, peerannot, potato-jsonl), or make a long table (.csv, .jsonl) of it."),
    "people, not labels": (b'{"Ann1": {"Age": 30, "Gender": "f"}}', "a .json file must be a known export, but this one is not"),
    "half a character": (b'{"\\ud800": {"annotations": "1", "annotators": "Ann1"}}', "the export must be readable, but reading it failed: "),
}  # fmt: skip


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_files(tmp_path: Path, fault: str) -> None:
    content, message = BROKEN[fault]
    path = tmp_path / "votes.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_votes(path)
    whole = message.format(repr(str(path)))
    assert str(error.value) == whole if whole.endswith(".") else str(error.value).startswith(whole)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    lines = (SAMPLES / "doccano.jsonl").read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], "", *lines[1:] * 50, '{"id": 1']), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_votes(path)
    assert str(error.value).startswith(f"the file {str(path)!r}, line 153, must be JSON, but reading it failed: ")


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot find '.*'\.$"):
        read_votes(tmp_path / "votes.json")
    (tmp_path / "votes.json").mkdir()
    with pytest.raises(InputError, match=r"the table must be a file, but .* is a folder"):
        read_votes(tmp_path / "votes.json")


def test_byte_order_marks_mean_nothing(tmp_path: Path) -> None:
    for name in ("lewidi_2023.json", "doccano.jsonl"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + (SAMPLES / name).read_bytes())
        np.testing.assert_array_equal(read_votes(tmp_path / name).counts, read_votes(SAMPLES / name).counts)


def test_content_that_fits_two_exports_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    both = {"id": 1, "text": "x", "label": ["a"], "answer": "accept", "_input_hash": 7}
    path.write_text(json.dumps(both), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_votes(path)
    assert str(error.value) == (
        "the content must show which export it is, but it may be prodigy or doccano. Choose one with format= (--format prodigy)."
    )
    assert read_votes(path, format="doccano").classes == ("a",)
    columns = {
        "id": [1],
        "annotation": ["a"],
        "annotation_agent": ["x"],
        "status": ["Validated"],
        "q.responses": [["b"]],
    }
    with pytest.raises(InputError, match="it may be argilla or argilla-1"):
        read_votes(pd.DataFrame(columns))
    assert read_votes(pd.DataFrame(columns), format="argilla-1").classes == ("a",)


def test_counts_of_classes_are_not_taken_for_labels_of_workers(tmp_path: Path) -> None:
    counts = {"img1": {"cat": 3, "dog": 7}, "img2": {"cat": 10, "dog": 0}}
    (tmp_path / "counts.json").write_text(json.dumps(counts), encoding="utf-8")
    with pytest.raises(InputError, match=r"this one is not \(its objects have 'cat', 'dog'\)"):
        read_votes(tmp_path / "counts.json")
    assert read_votes(tmp_path / "counts.json", format="peerannot").classes == ("0", "3", "7", "10")


@pytest.mark.parametrize("label", [[5, 5], [0.3, 0.7]])
def test_lists_of_numbers_are_not_taken_for_labels_of_documents(tmp_path: Path, label: list[float]) -> None:
    (tmp_path / "shares.jsonl").write_text(json.dumps({"id": 1, "text": "x", "label": label}), encoding="utf-8")
    with pytest.raises(InputError, match="the label column must hold text or numbers, but it holds List"):
        read_votes(tmp_path / "shares.jsonl")


def test_plain_lines_stay_plain(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text('{"id": 1, "text": "x", "label": "a", "annotator": "p"}\n{"id": 1, "text": "x", "label": "b", "annotator": "q"}', encoding="utf-8")  # fmt: skip
    assert read_votes(path).provenance == "long table, items in 'id', annotators in 'annotator', labels in 'label'"


USES = {
    "form with format": ({"form": "long", "format": "doccano"}, "format and question are for exports of annotation tools, but form is given too. Leave them out."),
    "label with question": ({"label": "label", "question": "q"}, "format and question are for exports of annotation tools, but label is given too. Leave them out."),
    "unknown": ({"format": "labelstudio"}, f"format must be one of {', '.join(FORMATS)}, but got 'labelstudio'. Did you mean 'label-studio'?"),
    "another kind": ({"format": "peerannot"}, "this file must be an export in the format 'peerannot', but it is another .jsonl file. Leave format out."),
    "a table's": ({"format": "popquorn"}, "this file must be an export in the format 'popquorn', but it is another .jsonl file. Leave format out."),
    "several": ({"several": "some"}, "several must be one of error, drop, each, but got 'some'. Pick one of those."),
    "no questions": ({"question": "q"}, "a doccano export has one question, without a name, but got 'q'. Leave question out."),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_options_that_do_not_fit(use: str) -> None:
    options, message = USES[use]
    with pytest.raises(InputError) as error:
        read_votes(SAMPLES / "doccano.jsonl", **options)
    assert str(error.value) == message


def test_options_of_exports_on_other_sources(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="format and question are for exports of annotation tools, but an array is given too"
    ):
        read_votes(np.eye(2), question="q")
    table = pd.DataFrame({"item": [1, 2], "label": ["a", "b"]})
    with pytest.raises(InputError) as error:
        read_votes(table, question="q")
    assert str(error.value) == (
        "question is for exports of annotation tools, but this is a plain table. Name its column with label= (--label)."
    )
    with pytest.raises(InputError) as error:
        read_votes(table, format="prodigy")
    assert str(error.value) == (
        "this table must be an export in the format 'prodigy', but its columns are 'item', 'label'. Leave format out."
    )
    for name in ("lewidi_2023.json", "peerannot/answers.json"):
        with pytest.raises(InputError, match="by key, but got 'text'"):
            read_votes(SAMPLES / name, item="text")


def test_the_command_line_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "votes.json").write_text("[]", encoding="utf-8")
    assert main(["inspect", str(tmp_path / "votes.json")]) == 2
    out, told = capsys.readouterr()
    assert (out, told.startswith("votewise: the file ")) == ("", True)


def test_every_command_reports_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["deliver", str(SAMPLES / "doccano.jsonl"), "-m", "soft", "-o", str(tmp_path / "targets.npy")]
    assert main([*command, "--format", "doccano"]) == 0
    quiet_told = capsys.readouterr().err
    assert "left out" not in quiet_told
    command[1] = str(SAMPLES / "popquorn.csv")
    assert main([*command, "--question", "offensiveness", "--several", "error", "--duplicates", "last"]) == 0
    assert "votewise: answers left out: 1 empty.\n" in capsys.readouterr().err


VALUES: list[Any] = [None, True, 0, -1, 1.5, 10**30, 1e308, "", " ", "a", "a,b", "\x00", "\ud800", [], [[]], ["a", "b"], [None], [{}], {}, {"id": None}, {"choices": 3}, {"a": {"b": []}}]  # fmt: skip


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every container of a tree with each of its keys."""
    inside = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    return [(tree, key) for key, _ in inside] + [place for _, child in inside for place in places(child)]


def mutilated(tree: Any, rng: random.Random) -> Any:
    for _ in range(rng.choice([1, 1, 2, 5])):
        if not (found := places(tree)):
            return tree
        container, key = rng.choice(found)
        if rng.random() < 0.3:
            del container[key]
        elif rng.random() < 0.2 and isinstance(container, dict):
            container[rng.choice(["id", "label", "annotations", "x.responses", "answer", "accept", "spans"])] = (
                container.pop(key)
            )
        else:
            container[key] = copy.deepcopy(rng.choice(VALUES))
    return tree


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_mutilated_exports_raise_nothing_but_our_own_errors(path: Path, tmp_path: Path) -> None:
    rng = random.Random(path.name)
    text = path.read_text(encoding="utf-8")
    lines = path.suffix == ".jsonl"
    good = [json.loads(line) for line in text.splitlines() if line] if lines else json.loads(text)
    question = "label" if path.name == "argilla_flat.jsonl" else None
    read, messages = 0, []
    for case in range(100):
        tree = mutilated(json.loads(json.dumps(good)), rng)
        content = "\n".join(map(json.dumps, tree)) if lines else json.dumps(tree)
        (tmp_path / path.name).write_text(content, encoding="utf-8")
        options = {"format": rng.choice([None] * 10 + [*FORMATS]), "item": rng.choice([None] * 7 + ["text"])}
        options |= {
            "question": rng.choice([question] * 4 + ["label", "sentiment"]),
            "duplicates": rng.choice([None, "all", "error"]),
            "several": rng.choice(["error", "each", "drop"]),
        }
        try:
            votes = read_votes(tmp_path / path.name, empty=rng.choice(["error", "drop"]), **options)
            assert votes.counts.any(axis=1).all()
            read += 1
        except VotewiseError as error:
            messages.append(str(error))
        except BaseException as error:
            error.add_note(f"case {case}: {options} {content}")
            raise
    assert all(", but " in message and message.endswith((".", "?")) for message in messages)
    assert read > 5  # they must not all be so broken that no reader is reached
