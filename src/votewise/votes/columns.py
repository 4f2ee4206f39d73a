"""Which column is which: the names annotation tables use, or the ones the caller gives."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import lru_cache

from votewise._checks import first_few
from votewise._errors import InputError

# Of a name with more letters, which is a text or worse, only so many are looked at.
_LONGEST = 1000

# The column of an index without a name, as pandas calls it when it reads one, and (in canonical form) what it may be
# called when pandas or Arrow wrote it.
INDEX_COLUMN = "Unnamed: 0"
_UNNAMED = frozenset({"", "unnamed:_0", "_index_level_0_"})

# In each role the first group of names is unmistakable; a later one is used only if the earlier ones are absent.
_ALIASES: dict[str, tuple[frozenset[str], ...]] = {
    "item": (
        frozenset(
            [
                "task",
                "task_id",
                "item",
                "item_id",
                "uid",
                "instance_id",
                "example_id",
                "sample_id",
                "image_id",
                "question_id",
                "document_id",
                "doc_id",
                "unit_id",
                "text_id",
                "hit_id",
                "tweet_id",
                "comment_id",
                "post_id",
                "sentence_id",
            ]
        ),
        frozenset(["image", "filename", "file", "unit", "question", "example", "instance", "doc", "document"]),
        frozenset(["id", "index"]),
        _UNNAMED,
    ),
    "annotator": (
        frozenset(
            [
                "worker",
                "worker_id",
                "annotator",
                "annotator_id",
                "user_id",
                "rater",
                "rater_id",
                "coder",
                "coder_id",
                "judge",
                "judge_id",
                "labeler",
                "labeler_id",
                "labeller",
                "labeller_id",
                "participant",
                "participant_id",
            ]
        ),
        frozenset(["user", "username", "person", "expert"]),
    ),
    "label": (
        frozenset(["label", "vote", "rating", "answer", "response", "annotation", "choice", "chosen_label"]),
        frozenset(["class", "category", "value", "score"]),
    ),
    "truth": (frozenset(["label", "true_label", "gold_label", "gold", "target"]),),
}

# Names that are used for row counters as often as for items.
_ROW_COUNTERS = frozenset({"id", "index"}) | _UNNAMED

_ANNOTATOR_COLUMN = re.compile(
    r"(annotator|worker|rater|coder|judge|user|labell?er|expert|person)[_ -]?\d+", re.IGNORECASE
)


def find_column(role: str, names: Sequence[str], chosen: str | None) -> str | None:
    """The column in a role: the one chosen, else the one with a known name, else None.

    Args:
        role: "item", "annotator", "label" or "truth".
        names: the table's columns.
        chosen: the caller's own choice, if any; it must exist.
    """
    if chosen is not None:
        if chosen in names:
            return chosen
        near = difflib.get_close_matches(chosen, names, n=1)
        raise InputError(
            f"the {role} column {chosen!r} must exist",
            f"the columns are {first_few(names)}",
            f"Did you mean {near[0]!r}?" if near else f"Name one of them with {role}= (--{role})",
        )
    for known in _ALIASES[role]:
        found = [name for name in names if _canonical(name) in known]
        if len(found) > 1:
            raise InputError(
                f"one column must be the {role}",
                f"{first_few(found)} could all be",
                f"Choose one with {role}= (--{role})",
            )
        if found:
            return found[0]
    return None


def has_known(role: str, names: Sequence[object]) -> bool:
    """Whether any column has a known name for a role."""
    return any(_canonical(str(name)) in known for known in _ALIASES[role] for name in names)


# Words in the names of columns, where the whole name is unknown: `_worker_id`, `INPUT:image`, `amt_worker_ids`.
_WORDS = {
    "annotator": frozenset(
        [
            "worker",
            "workers",
            "annotator",
            "annotators",
            "rater",
            "raters",
            "coder",
            "coders",
            "judge",
            "judges",
            "user",
            "users",
            "participant",
            "respondent",
            "labeler",
            "labeller",
            "expert",
            "reviewer",
            "evaluator",
            "assessor",
            "turker",
            "crowdworker",
            "person",
            "annot",
            "player",
            "subject_id",
            "contributor",
            "informant",
            "student",
            "who",
            "turk",
            "human",
            "reader",
            "observer",
            "radiologist",
            "doctor",
            "physician",
            "clinician",
            "crowd",
            "voter",
            "subj",
            "teacher",
            "prolific",
            "pid",
            "username",
            "validator",
            "attorney",
            "lawyer",
            "taster",
            "vetter",
            "listener",
            "viewer",
            "critic",
            "panelist",
            "panellist",
            "inspector",
            "adjudicator",
            "screener",
            "surveyor",
            "linguist",
            "nurse",
            "moderator",
            "grader",
            "scorer",
            "examiner",
            "pathologist",
            "volunteer",
            "juror",
            "referee",
            "assignee",
            "userid",
            "workerid",
            "annotatorid",
            "raterid",
            "judgeid",
            # German, French, Spanish, Portuguese, Italian, Dutch
            "prüfer",
            "pruefer",
            "gutachter",
            "richter",
            "bewerter",
            "beurteiler",
            "verkoster",
            "kodierer",
            "codierer",
            "teilnehmer",
            "proband",
            "versuchsperson",
            "befunder",
            "annotateur",
            "évaluateur",
            "evaluateur",
            "codeur",
            "juge",
            "dégustateur",
            "degustateur",
            "relecteur",
            "anotador",
            "evaluador",
            "codificador",
            "juez",
            "catador",
            "revisor",
            "avaliador",
            "jurado",
            "juiz",
            "annotatore",
            "valutatore",
            "giudice",
            "beoordelaar",
            "codeerder",
            "proefpersoon",
        ]
    ),
    "item": frozenset(
        [
            "item",
            "items",
            "task",
            "unit",
            "image",
            "img",
            "picture",
            "photo",
            "sentence",
            "sent",
            "text",
            "tweet",
            "comment",
            "post",
            "document",
            "doc",
            "question",
            "example",
            "instance",
            "sample",
            "stimulus",
            "stim",
            "pair",
            "video",
            "clip",
            "audio",
            "passage",
            "review",
            "headline",
            "message",
            "utterance",
            "url",
            "file",
            "filename",
            "path",
            "hit",
            "premise",
            "snippet",
            "query",
            "word",
            "phrase",
            "claim",
            "article",
            "title",
            "dialogue",
            "turn",
            "segment",
            "trial",
            "story",
            "abstract",
            "paper",
            "case",
            "record",
            "object",
            "token",
            "content",
            "entry",
            "frame",
            "scene",
            "photo",
            "conversation",
        ]
    ),
    "label": frozenset(
        [
            "label",
            "labels",
            "vote",
            "votes",
            "rating",
            "ratings",
            "answer",
            "answers",
            "response",
            "responses",
            "annotation",
            "annotations",
            "choice",
            "choices",
            "score",
            "scores",
            "judgment",
            "judgement",
            "judgments",
            "class",
            "category",
            "value",
            "grade",
            "verdict",
            "decision",
            "preference",
            "pref",
            "preferred",
            "recommendation",
            "diagnosis",
            "selected",
            "opinion",
            "tag",
            "tags",
            "stance",
            "sentiment",
            "emotion",
            "toxicity",
            "toxic",
            "offensiveness",
            "quality",
            "level",
            "mark",
            "relevance",
        ]
    ),
    "count": frozenset(["count", "counts", "n", "freq", "frequency", "n_votes", "num_votes", "vote_count", "votes"]),
    "weight": frozenset(["weight", "weights", "vote_weight"]),
}

# Words beside them that keep a name the name of a person or an item: the rest tells something about it.
_ID_WORDS = frozenset(
    [
        "id",
        "ids",
        "uid",
        "idx",
        "no",
        "nr",
        "num",
        "number",
        "code",
        "key",
        "hash",
        "name",
        "amt",
        "mturk",
        "anon",
        "ref",
        "index",
        "nickname",
        "email",
        "by",
        "handle",
        "sid",
        "pk",
    ]
)

# Columns that are made of votes, or of something else than votes.
_DERIVED = frozenset(
    [
        "gold",
        "golden",
        "true",
        "truth",
        "majority",
        "consensus",
        "aggregated",
        "aggregate",
        "agg",
        "final",
        "correct",
        "expected",
        "reference",
        "predicted",
        "prediction",
        "pred",
        "predictions",
        "model",
        "adjudicated",
        "winner",
        "mode",
        "mean",
        "avg",
        "average",
        "median",
        "std",
        "sd",
        "sum",
        "total",
        "entropy",
        "agreement",
        "kappa",
        "soft",
        "hard",
        "confidence",
        "trust",
        "time",
        "times",
        "duration",
        "seconds",
        "sec",
        "secs",
        "date",
        "timestamp",
        "started",
        "created",
        "submitted",
        "updated",
        "status",
        "split",
        "fold",
        "batch",
        "order",
        "position",
        "test",
        "rank",
        "probability",
        "prob",
        "age",
        "gender",
        "sex",
        "race",
        "country",
        "language",
        "education",
        "device",
        "session",
        "group",
        "condition",
        "version",
        "revision",
        "deleted",
        "active",
        "lifetime",
        "approval",
        "reward",
        "length",
        "len",
        "difficulty",
        "platform",
        "browser",
        "ip",
        "city",
        "region",
        "source",
        "set",
    ]
)

# What is said where nothing was: a sign, an abbreviation, or a word for what was left undone.
_NO_ANSWER = re.compile(
    r"n\.?[adr]\.?|n\.? [adr]\.?|k\.? ?a\.?|abstain(ed|s)?|abstention|recused?|skip(ped)?|unread"
    r"|(not|un|never|no|did not|didn'?t|was not)[ _-]?(yet )?(read|rated?|seen|asked?|scored?|graded?|answer(ed)?"
    r"|response|reading|rating|vote|judg(e?ment|ed?)|evaluated?|assess(ed|able)?|reviewed?|annotated?|label(led)?"
    r"|coded?|done|available|applicable|given|provided|recorded|evaluable|gradable|ratable|readable|measured|opinion)"
)

# What may say so, and is a class as often: of a finding, absent; of an exam, pass; of a claim, a question mark.
_NO_ANSWER_PERHAPS = re.compile(
    r"\?+|absent|missing|refused?|declined|pass(ed)?|blank|empty|null|nil|n/e|n\.e\.|unk|unknown|n\.?/?k\.?"
)

# What people answer who see that they cannot: forms offer it as an answer among others.
_UNSURE = re.compile(
    r"unsure|not sure|undecided|d/?k|don'?t know|do not know|(can'?t|cannot|can not|unable to) (say|tell|judge|decide)"
)

# In capitals "not evaluated", else "no" in several languages.
_NOT_EVALUATED = "NE"

# What came of votes: what was settled, what most said, what is held to be true.
_RESULT = re.compile(
    r"recon(cil\w*)?|adjudicat(ed|ion)|harmoni[sz]ed|consens\w*|konsens\w*|consenso|final\w*|endg(ü|ue)ltig\w*"
    r"|d(é|e)finiti[fv]\w*|gold(en)?|truth|ground ?truth|verdict|agreed|resolved|majority|mehrheit\w*|mayor(í|i)a"
    r"|majorit(é|e|à)|maggioranza|maioria"
    r"|wahrheit|v(é|e)rit(é|e|à)|verdad|reference|referenz\w*|expert panel|panel|aggregated?|merged|arbitrat(ed|ion)"
)

# What is computed of numbers, as in the last row of a sheet.
_SUMMARY = re.compile(
    r"mean|average|avg|median|mode|kappa|κ|alpha|α|icc|krippendorff|fleiss|agreement|std|sd|stdev|variance|total|sum|percent"
    r"|mittel(wert)?|durchschnitt|summe|gesamt|standardabweichung|übereinstimmung|moyenne|m(é|e)diane?|m(é|e)dia|medio"
    r"|promedio|mediana|somme|suma|somma|gemiddelde|totaal|średnia|genomsnitt|medelvärde|gennemsnit|keskiarvo"
)

_ABOUT_PEOPLE = frozenset(
    [
        "age",
        "gender",
        "sex",
        "race",
        "ethnicity",
        "country",
        "nationality",
        "city",
        "region",
        "locale",
        "language",
        "education",
        "religion",
        "party",
        "profession",
        "experience",
        "device",
        "browser",
        "platform",
    ]
)

_HOW_MANY = frozenset(
    ["n", "asked", "total", "all", "annotators", "raters", "judges", "reviewers", "respondents", "seen", "trials"]
)

_WHEN = frozenset(
    [
        "time",
        "timestamp",
        "date",
        "datetime",
        "created",
        "submitted",
        "updated",
        "saved",
        "modified",
        "started",
        "finished",
        "ended",
        "completed",
        "recorded",
        "answered",
    ]
)

_ORDERS = frozenset(
    [
        "order",
        "position",
        "trial",
        "rank",
        "sequence",
        "seq",
        "round",
        "slot",
        "step",
        "turn",
        "nth",
        "index",
        "idx",
        "page",
    ]
)


def says(role: str, name: str) -> bool:
    """Whether words in a name speak for a role."""
    words = words_of(name)
    if role in ("count", "weight"):
        return "_".join(words) in _WORDS[role]
    if role == "label":
        return mentions("label", name) and not derived(name)
    found = set(words) & _WORDS[role]
    rest = set(words) - _WORDS[role] - _ID_WORDS
    if role == "annotator":
        return bool(found) and not rest
    is_id = bool(words) and words[-1] in ("id", "ids", "uid", "idx", "key", "no", "nr", "number", "name", "hash")
    return (bool(found) or is_id) and not says("annotator", name) and not derived(name)


def flags_tests(name: str) -> bool:
    """Whether a name says that a column marks rows that test annotators."""
    words = set(words_of(name))
    tests = {
        "attn",
        "attention",
        "golden",
        "gold",
        "test",
        "control",
        "training",
        "practice",
        "honeypot",
        "trap",
        "catch",
        "check",
    }
    return bool(words & tests) and not words & {"label", "answer", "score", "set", "split", "class"}


def mentions(role: str, name: str) -> bool:
    """Whether a word in a name belongs to a role, whatever else the name says."""
    return bool(set(words_of(name)) & _WORDS[role])


def derived(name: str) -> bool:
    """Whether a name says that the column is made of votes, or describes something else."""
    return bool(set(words_of(name)) & _DERIVED)


def names_a_result(name: str) -> bool:
    """Whether a name is that of what came of votes, in a few languages: Reconciled, Gold standard, Konsens."""
    words = _plain_words(name)
    if _RESULT.fullmatch(" ".join(words)):
        return True
    return 0 < len(words) <= 3 and not {*words} & _WORDS["annotator"] and any(_RESULT.fullmatch(one) for one in words)


def names_a_summary(name: str, *, wholly: bool = False) -> bool:
    """Whether a word of a name, or each, is a statistic in one of a few languages: Mean, Mittelwert, Fleiss' kappa."""
    found = [_SUMMARY.fullmatch(word) is not None for word in _plain_words(name)]
    return 0 < len(found) <= 3 and (all(found) if wholly else any(found))


def _plain_words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W\d_]+", _canonical(name)) if len(word) > 1 or word in "κα"]


def results(name: str) -> bool:
    """Whether a name is that of a result, which a vote may have as well as an item: winner, final_choice."""
    return derived(name) and set(words_of(name)) & _DERIVED <= {"winner", "final", "rank", "gold", "true", "mode"}


def orders(name: str) -> bool:
    """Whether a name says that the column counts what came when."""
    return bool(set(words_of(name)) & _ORDERS)


def known(role: str, names: Sequence[str]) -> list[str]:
    """The columns with the best known name for a role; several if it cannot tell between them."""
    for tier in _ALIASES[role]:
        found = [name for name in names if _canonical(name) in tier]
        if found:
            return found
    return []


def is_unnamed(name: str) -> bool:
    """Whether a column is an accidental index."""
    return _canonical(name) in _UNNAMED


def names_a_class(name: str) -> bool:
    """Whether a name says that a column is a class: class_3."""
    return bool(set(words_of(name)) & {"class", "category"})


def names_a_form(name: str) -> bool:
    """Whether a name is that of the id of a form that somebody filled in: ResponseId."""
    words = words_of(name)
    return len(words) > 1 and words[0] in ("response", "submission", "form") and words[-1] in ("id", "no", "number")


def says_nothing(name: str) -> bool:
    """Whether a name is only a letter or a number: a, V3, column_2."""
    return (
        re.fullmatch(r"[A-Za-z]?\d*|(v|x|col|column|var|field|unnamed:)[\s_.:-]*\d*", name.strip(), re.IGNORECASE)
        is not None
    )


def describes_people(name: str) -> bool:
    """Whether a name says that a column describes annotators: age, country."""
    return bool({*words_of(name)} & _ABOUT_PEOPLE)


def says_how_many(name: str) -> bool:
    """Whether a name is that of the number of people who were asked."""
    return says("count", name) or bool({*words_of(name)} & _HOW_MANY)


def says_when(name: str) -> bool:
    """Whether a name says that a column holds points in time."""
    words = words_of(name)
    return bool(words) and (bool({*words} & _WHEN) or words[-1] in ("at", "on", "ts", "when"))


def says_no_answer(word: str, *, perhaps: bool = False) -> bool:
    """Whether a cell says, in words that some use for a class, that somebody gave no answer: NR, not read, abstain.

    Args:
        word: a cell.
        perhaps: whether to take words for it, too, that are a class as often.
    """
    plain = " ".join(word.lower().split())
    if _NO_ANSWER.fullmatch(plain) is not None:
        return True
    return perhaps and (word.strip() == _NOT_EVALUATED or _NO_ANSWER_PERHAPS.fullmatch(plain) is not None)


def says_unsure(word: str) -> bool:
    """Whether a cell says that somebody could not decide: unsure, don't know."""
    return _UNSURE.fullmatch(" ".join(word.lower().replace("’", "'").split())) is not None


def stem(name: str) -> str | None:
    """A name with its first number, or the letter at its end, as #: 'Score#' of 'Score 7'; None if it has none."""
    name = name.strip()
    number = re.search(r"\d+", name)
    if number is not None and "\n" not in name[number.end() :]:
        before = name[: number.start()]
        between = re.match(r"[\s_.:#-]*", before[::-1])
        assert between is not None
        return f"{before[: len(before) - between.end()].strip()}#{name[number.end() :]}"
    # The last letter, after what stands between words: 'Rater B'. By hand, as a pattern may take the square of a name.
    if re.fullmatch("[A-Za-z]", name[-1:]):
        for end in range(len(name) - 2, 1, -1):
            if not re.fullmatch(r"[\s_.:-]", name[end]):
                break
            if re.fullmatch(r"\w\w", name[end - 2 : end]) and "\n" not in name[:end]:
                return f"{name[:end].strip()}#"
    return None


def speaks_of_raters(stem: str) -> bool:
    """Whether the stem of numbered columns names people or what they said."""
    words = set(words_of(re.sub(r"\(.*\)", "", stem.replace("#", " "))))
    people = {"a", "r", "ann", "anno", "w", "j", "p", "s"} if len(words) == 1 else set()
    of_classes = {"class", "category", "value", "tag", "tags", "level", "votes"}
    return bool(words & (_WORDS["annotator"] | _WORDS["label"] | people)) and not words & (_DERIVED | of_classes)


def words_of(name: str) -> list[str]:
    """The words of a name, without the prefixes and marks of tools."""
    bare = re.sub(r"^(input|output|answer|assignment|hit|task|golden)[.:]", "", name.strip(), flags=re.IGNORECASE)
    bare = re.sub(r"['’]s\b", "", bare)
    return [word for word in re.split(r"[\W_]+", _canonical(bare)) if word]


def may_count_rows(name: str) -> bool:
    """Whether a column of this name is a row counter as often as an item."""
    return _canonical(name) in _ROW_COUNTERS


def looks_like_annotators(names: Sequence[str]) -> bool:
    """Whether every column is named like one annotator of many ('annotator_3', 'rater 12', 'judge7')."""
    return all(_ANNOTATOR_COLUMN.fullmatch(name.strip()) for name in names)


def without_unnamed_index(names: Sequence[str], item: str | None) -> list[str]:
    """The columns without an accidental index, where another column is the item."""
    return [name for name in names if item is None or name == item or _canonical(name) not in _UNNAMED]


def without_any_index(names: Sequence[str]) -> list[str]:
    """The columns without an accidental index: in a table of single votes it counts rows, never items."""
    return [name for name in names if _canonical(name) not in _UNNAMED]


def _canonical(name: str) -> str:
    """`Worker ID`, `worker-id` and `workerId` as `worker_id`; `HITId` as `hit_id`."""
    return _in_canonical_form(name[:_LONGEST])


@lru_cache(maxsize=1 << 16)
def _in_canonical_form(name: str) -> str:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[\s_-]+", "_", apart).lower()
