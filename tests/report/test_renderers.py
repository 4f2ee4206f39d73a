"""Every renderer on every block: nothing is lost, nothing that users typed does anything."""

from __future__ import annotations

import json
import math
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from limits import HANGS
from votewise.report import (
    Block,
    Curve,
    Document,
    Figure,
    Item,
    Items,
    Panel,
    Table,
    Text,
    to_html,
    to_json,
    to_markdown,
    to_terminal,
)

EVIL = "<script>alert('x')</script>"
CHROMIUM = Path("/usr/bin/chromium")


def figure(name: str = "learning-1", *methods: str) -> Figure:
    x = np.array([1.0, 2.0])
    curves = tuple(Curve(method, x, x, x - 0.1, x + 0.1) for method in methods or ("soft",))
    return Figure(name, "Learning of soft labels", (Panel("", "epoch", "soft NLL", curves),), "Mean over seeds.")


TABLE = Table(
    ("method", "soft NLL", "what it is"),
    (("soft", "-1.083 ± 0.039", "the vote share"), ("no model", "1.608\n+0.5", "averages of all | others")),
    names=("method",), words=("what it is",), bold=frozenset({(1, 1)}),
)  # fmt: skip
ITEMS = Items(
    "Where people disagree", ("cat", "dog"),
    (Item("item 7", (0.5, 0.5), {"soft": (0.25, 0.75)}, "a small animal", "data:image/png;base64,AAAA", "mean of 2"),),
)  # fmt: skip
BLOCKS: dict[str, Block] = {
    "summary": Text(("Soft labels lead.", "By much."), role="summary"),
    "facts": Text(("Sixty items.",), role="facts"),
    "aside": Text(("One row was dropped.",), role="aside"),
    "heading": Text(heading="All votes"),
    "subheading": Text(("Below it.",), heading="In detail", level=3),
    "plain": Text(("A sentence.",)),
    "list": Text(("first", "second"), bullets=True),
    "note": Text(("Means of three.",), role="note"),
    "table": TABLE,
    "figure": figure(),
    "items": ITEMS,
    "legend": Text(("SD over seeds.",), role="legend"),
}
SHOWN = {
    "summary": ("Soft labels lead.", "By much."), "facts": ("Sixty items.",), "aside": ("One row was dropped.",),
    "heading": ("All votes",), "subheading": ("In detail", "Below it."), "plain": ("A sentence.",),
    "list": ("first", "second"), "note": ("Means of three.",), "table": ("no model", "the vote share", "what it is"),
    "figure": ("Learning of soft labels", "Mean over seeds."), "items": ("item 7", "a small animal", "mean of 2"),
    "legend": ("SD over seeds.",),
}  # fmt: skip
DOCUMENT = Document("A title", tuple(BLOCKS.values()))


class Page(HTMLParser):
    """What a browser would fetch, the elements it would make, and the text it would show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text[max(text.find("<body>"), 0) :])
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [
            value
            for name, value in attrs
            if name in ("src", "href", "xlink:href") and value and not value.startswith(("#", "data:"))
        ]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


# --- every block


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_is_shown(name: str) -> None:
    alone = Document("A title", (BLOCKS[name],))
    page = Page(to_html(alone))
    assert all(words in page.text for words in SHOWN[name])
    markdown = to_markdown(alone)
    assert all(words in markdown for words in SHOWN[name])
    terminal = to_terminal(alone)
    assert all((words in terminal) == (name not in ("figure", "items", "aside")) for words in SHOWN[name])
    assert all("A title" in text for text in (page.text, markdown, terminal))


def test_blocks_keep_their_order_but_a_terminal_ends_with_the_summary() -> None:
    for text, last in ((Page(to_html(DOCUMENT)).text, "SD over seeds."), (to_markdown(DOCUMENT), "SD over seeds.")):
        places = [text.index(words[0]) for words in SHOWN.values()]
        assert places == sorted(places)
        assert text.strip().endswith(last)
    assert to_terminal(DOCUMENT).strip().endswith("Soft labels lead.\nBy much.")


def test_an_empty_document() -> None:
    assert Page(to_html(Document("T", ()))).tags.count("h1") == 1
    assert to_markdown(Document("", ())) == "\n"
    assert to_terminal(Document("", ())) == "\n"


# --- HTML


def test_the_page_needs_no_network_and_no_script() -> None:
    page = Page(to_html(DOCUMENT))
    assert page.fetched == []
    assert "script" not in page.tags
    assert "link" not in page.tags


def test_elements_of_the_page_are_closed_in_order() -> None:
    class Nested(HTMLParser):
        open: list[str]

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "img", "br"):
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    parser = Nested()
    parser.open = []
    parser.feed(to_html(DOCUMENT))
    assert parser.open == []


def test_a_page_has_no_id_twice() -> None:
    page = to_html(Document("T", (figure("learning-1"), figure("reliability-1"), figure("learning-2"))))
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)) > 10


def test_figures_that_follow_each_other_stand_side_by_side() -> None:
    blocks = (figure("a"), figure("b"), Text(("between",)), figure("c"))
    page = to_html(Document("T", blocks))
    assert page.count('<div class="figures">') == 2


def test_sections_begin_at_headings() -> None:
    blocks = (Text(("before",)), Text(heading="One"), TABLE, Text(heading="Two"), ITEMS)
    page = to_html(Document("T", blocks))
    assert page.count("<section>") == page.count("</section>") == 3
    assert page.index("before") < page.index("<section>")
    assert Page(to_html(Document("T", (Text(heading="One"),)))).tags.count("section") == 1


def test_minus_signs_are_typographic_and_spreads_small() -> None:
    page = to_html(Document("T", (TABLE,)))
    assert "<td>−1.083 <small>± 0.039</small></td>" in page
    assert '<td>1.608<br><b class="best">+0.5</b></td>' in page
    assert '<td class="words">the vote share</td>' in page


def test_the_legend_at_the_end_is_the_footer() -> None:
    page = to_html(DOCUMENT)
    assert "SD over seeds.</footer>" in page
    assert page.count("SD over seeds.") == 1


def test_what_users_typed_is_escaped_in_html() -> None:
    evil_item = Item(EVIL, (0.5, 0.5), {EVIL: (1.0, 0.0)}, EVIL, '"><script>', EVIL)
    blocks = (
        *(Text((EVIL,), EVIL, role=role) for role in ("summary", "facts", "plain", "note", "legend", "aside")),
        Text((EVIL,), bullets=True),
        Table((EVIL, "b", "c"), ((EVIL, EVIL, f"{EVIL} ± {EVIL}"),), names=(EVIL,), words=("b",)),
        figure("f", EVIL),
        Items(EVIL, (EVIL, "b"), (evil_item,)),
        Text((EVIL,), role="legend"),
    )
    page = to_html(Document(EVIL, blocks))
    assert EVIL not in page
    assert "script" not in Page(page).tags
    assert Page(page).text.count("alert('x')") >= 20


@pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed; pages are parsed by other tests")
def test_the_page_shows_in_a_browser(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(to_html(DOCUMENT), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
    out = subprocess.run(
        [CHROMIUM, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / 'page.html'}"],
        capture_output=True, text=True, timeout=HANGS, check=False,
    )  # fmt: skip
    assert "<h1>A title</h1>" in out.stdout
    assert out.stdout.count("<svg") == 1


# --- Markdown


def test_markdown_tables() -> None:
    lines = to_markdown(Document("", (TABLE,))).splitlines()
    assert lines == [
        "| method | soft NLL | what it is |",
        "| --- | --- | --- |",
        "| soft | -1.083 ± 0.039 | the vote share |",
        "| no model | 1.608<br>**+0.5** | averages of all \\| others |",
    ]


def test_markdown_links_figures_and_lists_shares() -> None:
    text = to_markdown(Document("", (figure("figure-4"), ITEMS)), figures="reproduction")
    assert "![Learning of soft labels](reproduction/figure-4.svg)" in text
    assert "| item 7<br>a small animal<br>mean of 2 | cat 50%<br>dog 50% | dog 75%<br>cat 25% |" in text


def test_headings_have_their_level_and_lists_their_bullets() -> None:
    text = to_markdown(Document("T", (BLOCKS["subheading"], BLOCKS["list"])))
    assert text == "# T\n\n### In detail\n\nBelow it.\n\n- first\n- second\n"


def test_markdown_shows_tags_and_leaves_numbers_alone() -> None:
    text = to_markdown(Document(EVIL, (Text((f"{EVIL} p < 0.05 and **bold**",)), Table(("a",), ((EVIL,),)))))
    assert "<script" not in text
    assert "</script" not in text
    assert "p < 0.05 and **bold**" in text


# --- terminal


WIDE = Table(
    ("method", "soft NLL", "accuracy\n(majority)", "ECE\nfloor", "NLL vs\nsoft", "p"),
    (("deterministic-control", "1.083 ± 0.039", "0.907 ± 0.038", "0.200 ± 0.003", "–", "–"),
     ("no model", "1.608 ± 0.003", "–", "–", "+0.525", "0.0625")),
    names=("method",), optional=("±", "p", "ECE\nfloor"),
)  # fmt: skip


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_a_wide_terminal_shows_everything_in_one_line_a_row() -> None:
    text = to_terminal(Document("", (WIDE,)), width=120)
    assert "deterministic-control  1.083 ± 0.039  0.907 ± 0.038  0.200 ± 0.003" in text
    assert "For want of room" not in text
    assert widest(text) <= 120


def test_a_narrow_terminal_leaves_out_what_is_optional_in_order_and_says_so() -> None:
    text = to_terminal(Document("", (WIDE,)), width=72)
    assert "deterministic-control" in text
    assert "1.083 ± 0.039" in text
    assert "0.907 ±" not in text
    assert "0.0625" in text
    assert "For want of room, without the spreads of all but soft NLL.\n" in text
    narrower = to_terminal(Document("", (WIDE,)), width=54)
    assert "without the spreads of all but soft NLL, p, ECE floor." in " ".join(narrower.split())
    assert widest(narrower) <= 54


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    long = " ".join(["a long sentence about votes"] * 12)
    blocks = (Text((long,), role="summary"), Text((long,), long, role="facts"), WIDE, TABLE, Text((long,), role="note"))
    assert widest(to_terminal(Document(long, blocks), width=width)) <= width


def test_names_are_never_wrapped_and_numbers_align_right() -> None:
    table = Table(("a name", "number"), (("deterministic-control", "1.0"), ("x", "10.25")), names=("a name",))
    lines = to_terminal(Document("", (table,)), width=80).splitlines()
    assert lines == ["a name                 number", "deterministic-control     1.0", "x                       10.25"]


def test_control_characters_do_nothing_in_a_terminal() -> None:
    evil = "a\x1b[31mred\x07 \x9b2J \u202edrow \x00[bold]b[/bold] :smile:\r\tend"
    blocks = (Text((evil,), evil), Table((evil, "b"), ((evil, evil),), names=(evil,), words=("b",)))
    text = to_terminal(Document(evil, blocks), colour=True)
    for one in ("\x07", "\x9b", "\u202e", "\x00", "\r", "\t", "[31mred\x1b"):
        assert one not in text
    assert not re.search(r"\x1b\[31m", text)
    assert "[bold]b[/bold] :smile:" in text, "neither markup nor emoji"


def test_colour_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" not in to_terminal(DOCUMENT)
    assert "\x1b[1m" in to_terminal(DOCUMENT, colour=True)
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b[" not in to_terminal(DOCUMENT, colour=True)


# --- JSON


def test_json_has_no_infinite_numbers_and_no_tuples() -> None:
    data = {"summary": ("a",), "rows": [{"sd": math.nan, "n": 3, "low": -math.inf, "ok": True, "none": None}]}
    plain = to_json(Document("", (), data))
    assert plain == {"summary": ["a"], "rows": [{"sd": None, "n": 3, "low": None, "ok": True, "none": None}]}
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
