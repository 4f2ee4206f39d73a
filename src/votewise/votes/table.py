"""What people said: the object every other package starts from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import (
    FloatArray,
    IntArray,
    StrArray,
    check_class_names,
    check_item_ids,
    check_kind,
    check_matrix,
    check_rows,
    check_simplex,
    first_few,
    frozen,
    rebuilt,
)
from votewise._errors import InputError
from votewise._numerics import top_classes
from votewise.votes import sampling
from votewise.votes.reading import Reading

# Sums of counts must stay exact in both int64 and float64.
MOST_VOTES = 2**53


@dataclass(frozen=True, eq=False)
class Ballots:
    """Every single vote with who gave it: three parallel arrays, in the order of the source.

    Attributes:
        item: (V,) int32, row of the item in `Votes.item_ids`.
        annotator: (V,) int32, row of the annotator in `annotator_ids`.
        label: (V,) small unsigned integer, column of the class in `Votes.classes`.
        annotator_ids: (A,) text.
    """

    item: npt.NDArray[np.int32]
    annotator: npt.NDArray[np.int32]
    label: npt.NDArray[np.unsignedinteger[Any]]
    annotator_ids: StrArray

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("item", "annotator", "label", "annotator_ids"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are read-only too."""
        return rebuilt(self)

    def __len__(self) -> int:
        """The number of votes."""
        return len(self.item)


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes of N items over K classes.

    Build one with `read_votes`, `Votes.from_counts` or `Votes.from_probabilities`. One of `counts` and
    `stated` is set: some data sets publish shares without saying how many people voted.

    Attributes:
        item_ids: (N,) text, unique, in the order the source first names them.
        classes: K names; sorted unless the caller gave an order (see `sort_classes`).
        counts: (N, K) int64, each row at least one vote; None if only shares are known.
        stated: (N, K) float64, rows sum to one; None where counts are known.
        ballots: every single vote with its annotator; None where the source does not say.
        provenance: how the source was read, e.g. "long table, items in 'task', labels in 'label'".
        notes: what reading left out or changed, one sentence each.
        reading: the plan by which a table was read; None of votes that come from elsewhere.
    """

    item_ids: StrArray
    classes: tuple[str, ...]
    counts: IntArray | None
    stated: FloatArray | None = None
    ballots: Ballots | None = None
    provenance: str = ""
    notes: tuple[str, ...] = ()
    reading: Reading | None = None

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("item_ids", "counts", "stated"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are read-only too."""
        return rebuilt(self)

    def __repr__(self) -> str:
        """The votes in one line."""
        classes = ", ".join(self.classes) if self.n_classes <= 6 else f"{', '.join(self.classes[:5])}, ..."
        said = "shares" if self.counts is None else f"{int(self.counts.sum()):,} votes"
        people = "" if self.ballots is None else f" by {len(self.ballots.annotator_ids):,} annotators"
        return f"<Votes: {said}{people} on {self.n_items:,} items, {self.n_classes} classes: {classes}>"

    @classmethod
    def from_counts(
        cls, counts: npt.ArrayLike, *, item_ids: Iterable[object] | None = None, classes: Iterable[object] | None = None
    ) -> Votes:
        """Votes from an (N, K) table of how many people chose each class.

        Args:
            counts: whole numbers, not negative, each row at least one vote. For a frame use `read_votes`.
            item_ids: N unique names; the row numbers if left out.
            classes: K unique names, in column order; the column numbers if left out.

        Example:
            >>> Votes.from_counts([[3, 1], [0, 4]], classes=["cat", "dog"]).probs
            array([[0.75, 0.25],
                   [0.  , 1.  ]])
        """
        _refuse_frame("counts", counts)
        matrix = check_matrix("counts", counts)
        ids, names = _name_rows_and_columns(matrix, item_ids, classes)
        return cls(ids, names, check_counts(matrix, ids))

    @classmethod
    def from_probabilities(
        cls, probs: npt.ArrayLike, *, item_ids: Iterable[object] | None = None, classes: Iterable[object] | None = None
    ) -> Votes:
        """Votes from an (N, K) table of vote shares whose numbers of voters are unknown."""
        _refuse_frame("probabilities", probs)
        matrix = check_matrix("probabilities", probs)
        ids, names = _name_rows_and_columns(matrix, item_ids, classes)
        return cls(ids, names, None, check_simplex("probabilities", matrix, None if item_ids is None else ids).copy())

    @property
    def n_items(self) -> int:
        """N."""
        return len(self.item_ids)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @cached_property
    def probs(self) -> FloatArray:
        """The share of votes each class got, (N, K) float64."""
        if self.counts is None:
            assert self.stated is not None
            return self.stated
        return frozen(self.counts / self.counts.sum(axis=1, keepdims=True))

    def require_counts(self, purpose: str) -> IntArray:
        """Return the counts, or raise the error that `purpose` needs them."""
        if self.counts is None:
            raise InputError(
                f"{purpose} needs the number of votes for each class",
                "these votes are probabilities, which do not say how many people voted",
                "Give counts or single votes, or use a method that needs shares only (soft, sls)",
            )
        return self.counts

    def require_ballots(self, purpose: str) -> Ballots:
        """Return the single votes, or raise the error that `purpose` needs them."""
        if self.ballots is None:
            raise InputError(
                f"{purpose} needs every single vote with its annotator",
                "only the totals of these votes are known",
                "Give a long or wide table that names the annotators",
            )
        return self.ballots

    def take(self, items: npt.ArrayLike) -> Votes:
        """The votes of some items, by row number, in the order given.

        Deliveries address items by id, so an item keeps its labels in every subset it is part of.
        """
        rows = check_rows(items, self.n_items)
        if not len(rows) or len(np.unique(rows)) < len(rows):
            got = "some appear more than once" if len(rows) else "got none"
            raise InputError("items must be different row numbers, at least one", got, "Take each item once")
        return Votes(
            self.item_ids[rows],
            self.classes,
            None if self.counts is None else self.counts[rows],
            None if self.stated is None else self.stated[rows],
            None if self.ballots is None else _take_ballots(self.ballots, rows, self.n_items),
            self.provenance,
            self.notes,
            self.reading,
        )

    def with_classes(self, classes: Iterable[object]) -> Votes:
        """The same votes over another class list, which must name every class that got a vote.

        Args:
            classes: unique names, in the column order wanted.
        """
        names = check_class_names(classes)
        column = {name: index for index, name in enumerate(names)}
        voted: list[bool] = np.any(self.probs > 0, axis=0).tolist()
        lost = [name for name, has_votes in zip(self.classes, voted, strict=True) if has_votes and name not in column]
        if lost:
            raise InputError(
                "the class list must name every class with a vote", f"it lacks {first_few(lost)}", "Add those names"
            )
        old = [index for index, name in enumerate(self.classes) if name in column]
        new = [column[self.classes[index]] for index in old]

        def spread(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
            wide = np.zeros((self.n_items, len(names)), dtype=table.dtype)
            wide[:, new] = table[:, old]
            return wide

        ballots = self.ballots
        if ballots is not None:
            lookup = np.zeros(self.n_classes, dtype=np.min_scalar_type(len(names)))
            lookup[old] = new
            ballots = Ballots(ballots.item, ballots.annotator, lookup[ballots.label], ballots.annotator_ids)
        return Votes(
            self.item_ids,
            names,
            None if self.counts is None else spread(self.counts),
            None if self.stated is None else spread(self.stated),
            ballots,
            self.provenance,
            self.notes,
            self.reading,
        )

    def subsample(self, k: int, *, seed: int, replace: bool = True) -> Votes:
        """K votes per item: a multinomial redraw (as in arXiv 2605.20642) or a draw of k of the votes given.

        Args:
            k: votes per item; without replacement an item with fewer keeps all of them.
            seed: root seed; the draw of an item depends only on the seed, k and its id.
            replace: draw with replacement from the vote share; if False, from the votes themselves.
        """
        if replace:
            counts = sampling.redraw_counts(self.probs, self.item_ids, k, seed)
        else:
            counts = sampling.draw_without_replacement(
                self.require_counts("drawing votes without replacement"), self.item_ids, k, seed
            )
        return Votes(self.item_ids, self.classes, counts, provenance=f"{k} votes drawn from: {self.provenance}")

    def split(self, fraction: float, *, seed: int, strata: npt.ArrayLike | None = None) -> tuple[IntArray, IntArray]:
        """Row numbers of a stratified split: those kept, and the `fraction` held out.

        Args:
            fraction: share of items to hold out, between 0 and 1.
            seed: root seed.
            strata: (N,) a group for each item, e.g. its true label; the majority class if left out.
        """
        groups = top_classes(self.probs) if strata is None else np.asarray(strata)
        return sampling.stratified_split(groups, self.item_ids, fraction, seed)

    def folds(self, n: int, *, seed: int, strata: npt.ArrayLike | None = None) -> IntArray:
        """The fold of each item, (N,) from 0 to n - 1; every stratum is spread over the folds as evenly as can be.

        Args:
            n: number of folds, which differ by at most one item.
            seed: root seed.
            strata: (N,) a group for each item, e.g. its true label; the majority class if left out.
        """
        groups = top_classes(self.probs) if strata is None else np.asarray(strata)
        return sampling.stratified_folds(groups, self.item_ids, n, seed)


def check_votes(value: Votes) -> Votes:
    """Return votes; anything else is an error that says how to build them."""
    check_kind("votes", value, Votes, "Build them with Votes.from_counts or read_votes")
    return value


def sort_classes(names: Sequence[str]) -> list[str]:
    """Sort class names by value if all are numbers, else by code point; never by appearance.

    Example:
        >>> sort_classes(["10", "9", "-1"]), sort_classes(["dog", "10", "Cat"])
        (['-1', '9', '10'], ['10', 'Cat', 'dog'])
    """
    try:
        return sorted(names, key=lambda name: (_finite(name), name))
    except ValueError:
        return sorted(names)


def check_counts(matrix: FloatArray, item_ids: StrArray) -> IntArray:
    """Return a count table as int64: whole numbers, none negative, at least one vote per row."""
    whole = matrix == np.floor(matrix)
    wrong = np.flatnonzero(~(whole & (matrix >= 0)).all(axis=1))
    if wrong.size:
        values = matrix[wrong[0]]
        kind = "negative" if (values < 0).any() else "fractional"
        bad = values[values < 0][0] if kind == "negative" else values[values != np.floor(values)][0]
        raise InputError(
            "counts must be whole numbers, none negative",
            f"{wrong.size:,} items have others ({first_few(item_ids[wrong[:5]], wrong.size)}; first a {kind} {bad:g})",
            "Fix them; if rows are shares that sum to 1, pass form='probabilities' (--form probabilities); "
            "if columns are annotators, pass form='wide' (--form wide)",
        )
    with np.errstate(over="ignore"):
        total = matrix.sum()
    if total > MOST_VOTES:
        raise InputError(
            "counts must sum to less than 2**53", f"they sum to {total:.3g}", "Check the units of the table"
        )
    empty = np.flatnonzero(matrix.sum(axis=1) == 0)
    if empty.size:
        raise InputError(
            "every item needs at least one vote",
            f"{empty.size:,} have none ({first_few(item_ids[empty[:5]], empty.size)})",
            "Remove them, or pass empty='drop' (--empty drop); "
            "if columns are annotators, pass form='wide' (--form wide)",
        )
    return matrix.astype(np.int64)


def compact_annotators(
    item: npt.NDArray[np.int32],
    annotator: npt.NDArray[np.int32],
    label: npt.NDArray[np.unsignedinteger[Any]],
    annotator_ids: StrArray,
) -> Ballots:
    """Ballots of some votes, without the annotators who gave none of them."""
    present, renumbered = np.unique(annotator, return_inverse=True)
    return Ballots(item, renumbered.astype(np.int32), label, annotator_ids[present])


def row_numbers(count: int) -> StrArray:
    """Ids for items without any: their row numbers, from '0'."""
    return np.arange(count).astype(f"<U{len(str(max(count - 1, 0)))}")


def _name_rows_and_columns(
    matrix: FloatArray, item_ids: Iterable[object] | None, classes: Iterable[object] | None
) -> tuple[StrArray, tuple[str, ...]]:
    ids = row_numbers(len(matrix)) if item_ids is None else check_item_ids(item_ids)
    names = check_class_names(range(matrix.shape[1]) if classes is None else classes)
    if (len(ids), len(names)) != matrix.shape:
        raise InputError(
            f"a table of shape {matrix.shape} needs {matrix.shape[0]} item ids and {matrix.shape[1]} class names",
            f"got {len(ids)} and {len(names)}",
            "Give one id per row and one name per column",
        )
    return ids, names


def _refuse_frame(name: str, table: Any) -> None:
    """A frame's columns and index are names, which an array does not keep."""
    if hasattr(table, "columns"):
        raise InputError(
            f"{name} must be an array",
            f"got a {type(table).__name__}",
            f"Read it with read_votes(frame, form={name!r}), which keeps the names of its columns",
        )


def _take_ballots(ballots: Ballots, rows: npt.NDArray[Any], n_items: int) -> Ballots:
    position = np.full(n_items, -1, dtype=np.int32)
    position[rows] = np.arange(len(rows), dtype=np.int32)
    item = position[ballots.item]
    kept = item >= 0
    return compact_annotators(item[kept], ballots.annotator[kept], ballots.label[kept], ballots.annotator_ids)


def _finite(name: str) -> float:
    value = float(name)
    if not np.isfinite(value):
        raise ValueError(name)
    return value
