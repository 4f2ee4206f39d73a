"""Stored results: however runs are spread over batches, what is read is the same to the bit."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from votewise import InputError
from votewise.records import (
    Between,
    Failure,
    RecordStore,
    Results,
    RunRecord,
    add_batch,
    join_results,
    missing_in_batches,
    read_batches,
    read_results,
    result_columns,
    result_number_columns,
    results_of,
    runs_in_batches,
    survey_batches,
)

STORED = Path(__file__).resolve().parents[2] / "results" / "same-target"

METHODS, SEEDS = ("multipass", "sls", "soft"), (0, 1, 2)
ORIGIN = {"paper": "a paper", "data": "c" * 64, "precision": "bf16"}


def factors(method: str, votes: int | None, seed: int, hold: int = 1) -> dict[str, Any]:
    return {"method": method, "votes": votes, "hold": hold, "seed": seed}


@pytest.fixture(scope="session")
def results() -> Results:
    """Numbers of no model: some of every run and some of few, arrays of several sizes, what is between runs.

    Barriers are at as many positions as there are seeds, so that a table by seed has the shape of one by pair.
    """
    rng = np.random.default_rng(3)
    runs = [factors(method, votes, seed) for method in METHODS for votes in (None, 5, 10) for seed in SEEDS]
    runs.insert(12, factors("sls", None, 4, hold=5))
    numbers, series, predicted = [], [], []
    for run in runs:
        more = {f"js/{part}": rng.random() for part in ("gain", "spearman")} if run["votes"] else {}
        more |= {"unbounded": np.inf} if run["seed"] == 1 else {}
        numbers.append(
            {
                "accuracy_best": rng.random(),
                "soft_nll_best": rng.random(),
                "vote_ece_last": rng.random(),
                "seconds": 9.0,
            }
            | more
        )
        curves = {"curve_soft_nll": rng.random(12).astype(np.float32)}
        curves |= (
            {"train_soft_nll": rng.random(7 + run["seed"]).astype(np.float16)} if run["method"] != "multipass" else {}
        )
        series.append(curves | ({"holes": np.array([0.5, np.nan, np.nan])} if run["votes"] == 5 else {}))
        predicted.append({"best": np.log(rng.dirichlet(np.ones(3), size=4)).astype(np.float16)})
    between = {
        "barrier": Between(SEEDS, {"positions": np.linspace(0, 1, 3), "plain.losses": rng.random((3, 3)), "plain.heights": rng.random(3)}),
        "sls.held_out": Between(SEEDS, {"cka": alike(rng, 3), "maps": alike(rng, 3)}, pairs=True),
        "soft.shared": Between(SEEDS, {"cka": alike(rng, 3)}, pairs=True),
    }  # fmt: skip
    shared = {"devices": np.array(["a fast one"]), "confidence": np.linspace(0, 1, 8)}
    return Results(
        result_columns(runs), result_number_columns(numbers), result_columns(series), result_columns(predicted),
        between=between, shared=shared, origin=ORIGIN,
    )  # fmt: skip


def alike(rng: np.random.Generator, seeds: int) -> np.ndarray:
    table = np.triu(rng.random((seeds, seeds)), k=1)
    return table + table.T + np.eye(seeds)


def row_of(results: Results, run: Mapping[str, Any]) -> int:
    (row,) = results.rows(run)
    return row


def without(results: Results, left_out: Sequence[int]) -> Results:
    """The results if the runs in these rows had never been done, and nothing had been measured of them."""
    gone = {
        (run["method"], run["seed"]) for run in map(results.run, left_out) if (run["votes"], run["hold"]) == (None, 1)
    }
    between = {}
    for group, all_seeds in results.between.items():
        methods = ("sls", "soft") if group == "barrier" else (group.split(".")[0],)
        kept = [
            place for place, seed in enumerate(all_seeds.seeds) if not gone & {(method, seed) for method in methods}
        ]
        if len(kept) > all_seeds.pairs:
            rows = np.ix_(kept, kept) if all_seeds.pairs else kept
            tables = {name: table if name == "positions" else table[rows] for name, table in all_seeds.arrays.items()}
            between[group] = Between(tuple(all_seeds.seeds[place] for place in kept), tables, all_seeds.pairs)
    left = results.take([row for row in range(len(results)) if row not in left_out])
    return replace(left, between=between)


def write_form_1(results: Results, folder: Path) -> None:
    """Results as they were stored before there were batches: one record, each table with a row for every run."""
    runs, names = results.runs, sorted(results.numbers)
    arrays = {
        "methods": np.array([run["method"] for run in runs]),
        "votes": np.array([run["votes"] or 0 for run in runs]),
        "holds": np.array([run["hold"] for run in runs]),
        "seeds": np.array([run["seed"] for run in runs]),
        "number_names": np.array([{"vote_ece_best": "ece/shares"}.get(name, name) for name in names]),
        "numbers": np.stack([results.numbers[name] for name in names], axis=1),
        "best_log_probs": in_full(results.predicted["best"]),
        **{f"series.{name}": in_full(arrays) for name, arrays in results.series.items() if any(a is not None for a in arrays)},
        **{f"across.{group}.seeds": np.array(between.seeds) for group, between in results.between.items()},
        **{f"across.{group}.{name}": table for group, between in results.between.items() for name, table in between.arrays.items()},
        **{f"across.{name}": array for name, array in results.shared.items()},
    }  # fmt: skip
    RecordStore(folder).write(RunRecord(config={"form": 1, **results.origin}, status="done", arrays=arrays))


def in_full(arrays: Sequence[np.ndarray | None]) -> np.ndarray:
    like = next(array for array in arrays if array is not None)
    return np.stack([np.full_like(like, np.nan) if array is None else array for array in arrays])


def assert_same(found: Results, expected: Results) -> None:
    """The same to the bit, types included, but for what no run has."""
    assert found.origin == expected.origin
    assert found.runs == expected.runs
    known = {name: column for name, column in expected.numbers.items() if not np.isnan(column).all()}
    assert found.numbers.keys() == known.keys()
    for name, column in known.items():
        np.testing.assert_array_equal(found.numbers[name], column, err_msg=name)
    for kind in ("series", "predicted"):
        tables = {
            name: arrays for name, arrays in getattr(expected, kind).items() if any(a is not None for a in arrays)
        }
        assert getattr(found, kind).keys() == tables.keys()
        for name, arrays in tables.items():
            for one, other in zip(getattr(found, kind)[name], arrays, strict=True):
                assert_same_array(one, other, name)
    for one, other in zip(found.held_out, expected.held_out, strict=True):
        assert_same_array(one, other, "held_out")
    assert found.between.keys() == expected.between.keys()
    for group, between in expected.between.items():
        assert (found.between[group].seeds, found.between[group].pairs) == (between.seeds, between.pairs)
        assert found.between[group].arrays.keys() == between.arrays.keys()
        for name, table in between.arrays.items():
            assert_same_array(found.between[group].arrays[name], table, name)
    assert found.shared.keys() == expected.shared.keys()
    for name, array in expected.shared.items():
        assert_same_array(found.shared[name], array, name)


def assert_same_array(found: np.ndarray | None, expected: np.ndarray | None, name: str) -> None:
    assert (found is None) == (expected is None), name
    if found is not None and expected is not None:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), name
        np.testing.assert_array_equal(found, expected, err_msg=name)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def even(results: Results) -> Results:
    """The results with series of one size, as form 1 had them."""
    series = {name: tuple(a if a is None else a[:3] for a in arrays) for name, arrays in results.series.items()}
    return replace(results, series=series)


@given(places=st.data(), batches=st.integers(2, 6), first_in_form_1=st.booleans())
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_batches_say_what_one_does(
    places: st.DataObject, batches: int, first_in_form_1: bool, results: Results, tmp_path: Path
) -> None:
    """Runs come in any order; once all are there, so is everything between them."""
    shutil.rmtree(tmp_path / "results", ignore_errors=True)
    results = even(results) if first_in_form_1 else results
    came = places.draw(st.lists(st.integers(0, batches - 1), min_size=len(results), max_size=len(results)))
    for batch in range(batches):
        present = without(results, [row for row, when in enumerate(came) if when > batch])
        if batch == 0 and first_in_form_1 and len(present):
            write_form_1(present, tmp_path / "results")
        else:
            before = contents(tmp_path / "results")
            add_batch(present, tmp_path / "results")
            assert before.items() <= contents(tmp_path / "results").items(), "batches are never rewritten"
        if len(present):
            assert_same(read_results(tmp_path / "results"), present)
    assert len(read_batches(tmp_path / "results")) <= batches


@given(came=st.data(), order=st.permutations(range(4)))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_batches_of_other_runs_join_to_all_but_what_compares_them(
    came: st.DataObject, order: Sequence[int], results: Results, tmp_path: Path
) -> None:
    """The raw runs of earlier batches are gone: numbers of each run are as they were, comparisons stay where made."""
    shutil.rmtree(tmp_path / "results", ignore_errors=True)
    when = came.draw(st.lists(st.integers(0, 3), min_size=len(results), max_size=len(results)))
    parts = [without(results, [row for row, batch in enumerate(when) if batch != one]) for one in order]
    for part in parts:
        add_batch(part, tmp_path / "results")
    found = read_results(tmp_path / "results")
    assert_same(replace(found, between={}), replace(results, between={}))
    for group in ("soft.shared", "sls.held_out"):
        together = {
            (one, other)
            for part in parts
            if group in part.between
            for one, other in combinations(part.between[group].seeds, 2)
        }
        whole = results.between[group].arrays["cka"]
        seeds = found.between[group].seeds if group in found.between else ()
        assert {seed for pair in together for seed in pair} == set(seeds)
        for one, other in combinations(seeds, 2):
            value = found.between[group].arrays["cka"][seeds.index(one), seeds.index(other)]
            assert value == whole[one, other] if (one, other) in together else np.isnan(value)


def test_results_come_back_as_they_were(results: Results, tmp_path: Path) -> None:
    add_batch(results, tmp_path)
    assert_same(read_results(tmp_path), results)
    files = contents(tmp_path)
    assert add_batch(read_results(tmp_path), tmp_path) is None
    assert contents(tmp_path) == files


@pytest.mark.parametrize("name", ["votes", "seeds", "number_places", "numbers"])
def test_batches_whose_arrays_do_not_fit_together(name: str, results: Results, tmp_path: Path) -> None:
    """Records that somebody else wrote, with the right checksums: one array is not there, or is of another shape."""
    add_batch(results, tmp_path / "whole")
    store = RecordStore(tmp_path / "whole")
    (record,) = store.read_all()[0]
    for number, odd in enumerate(({}, {name: np.zeros((2, 0))})):
        rest = {other: array for other, array in record.arrays.items() if other != name}
        folder = tmp_path / str(number)
        RecordStore(folder).write(replace(record, arrays={**rest, **odd}))
        with pytest.raises(InputError, match="must be undamaged, but its arrays do not fit together"):
            read_results(folder)


def test_what_else_runs_differ_in_comes_back(results: Results, tmp_path: Path) -> None:
    """Runs on other data sets, with other items and classes, which were scored on items that are kept as well."""
    first = results.take(results.rows(votes=None, hold=1))
    rng, n = np.random.default_rng(0), len(first)
    sizes = [(4, 3) if row % 2 else (6, 2) for row in range(n)]
    datasets = tuple("pets" if row % 2 else "texts" for row in range(n))
    more = replace(
        first,
        factors={**first.factors, "dataset": datasets, "folds": tuple(None if row == 3 else 5 for row in range(n))},
        predicted={"best": tuple(np.log(rng.dirichlet(np.ones(k), m)) for m, k in sizes), "last": (None, *(np.zeros((2, 2)),) * (n - 1))},
        held_out=tuple(np.arange(m) for m, _ in sizes),
    )  # fmt: skip
    batch = add_batch(more, tmp_path)
    assert batch is not None
    found = read_results(tmp_path)
    assert found.values("dataset") == ("pets", "texts"), "data sets come first in the order of runs"
    assert_same(found, join_results({"": more}))
    for prediction in more.predictions("best"):
        (same,) = found.predictions("best", prediction.factors)
        np.testing.assert_array_equal(same.log_probs, prediction.log_probs)
        np.testing.assert_array_equal(same.rows, prediction.rows)
    arrays = RecordStore(tmp_path).read(batch.id).arrays
    assert sorted(name for name in arrays if name.startswith("factor.")) == ["factor.dataset", "factor.folds"]
    assert add_batch(more, tmp_path) is None


def test_equal_batches_of_the_same_runs_on_other_data_do_not_clash(results: Results, tmp_path: Path) -> None:
    column = results.numbers["accuracy_best"] + 1
    for dataset, numbers in (("a", results.numbers), ("b", {"accuracy_best": column})):
        named = {**results.factors, "dataset": (dataset,) * len(results)}
        add_batch(replace(results, factors=named, numbers=numbers, between={}), tmp_path)
    found = read_results(tmp_path)
    assert len(found) == 2 * len(results)
    where = {"method": "soft", "votes": None, "hold": 1}
    first, second = (found.sample("accuracy_best", where, dataset=dataset) for dataset in ("a", "b"))
    assert second.less(first).by_seed == dict.fromkeys(SEEDS, 1.0)


def test_runs_that_contradict_what_is_stored_are_refused_by_name(results: Results, tmp_path: Path) -> None:
    add_batch(results, tmp_path)
    before = contents(tmp_path)
    row = row_of(results, factors("sls", 10, 2))
    column = results.numbers["accuracy_best"].copy()
    column[row] += 0.1
    with pytest.raises(InputError) as error:
        add_batch(replace(results, numbers={**results.numbers, "accuracy_best": column}), tmp_path)
    there = results.numbers["accuracy_best"][row]
    assert str(error.value) == (
        "sls, 10 votes, seed 2, must have the same numbers in all results, but accuracy_best is "
        f"{there} in the stored results and {column[row]} in these runs. Keep what was done again in another folder "
        "of results."
    )
    logs = list(results.predicted["best"])
    logs[row] = logs[row].copy()
    logs[row][3, 1] -= 1
    with pytest.raises(
        InputError, match=r"sls, 10 votes, seed 2, must have the same numbers .* best_log_probs\[3, 1\] is"
    ):
        add_batch(replace(results, predicted={"best": tuple(logs)}), tmp_path)
    logs[row] = logs[row][:2]
    with pytest.raises(
        InputError, match=r"best_log_probs is of shape \(4, 3\) in the stored .* and of shape \(2, 3\) in"
    ):
        add_batch(replace(results, predicted={"best": tuple(logs)}), tmp_path)
    for group, name, place, said in (
        ("barrier", "plain.losses", (1, 2), r"seed 1 must have the same numbers .* barrier\.plain\.losses\[2\] is"),
        ("soft.shared", "cka", (0, 2), r"seeds 0 and 2 must have the same numbers .* soft\.shared\.cka is"),
    ):
        table = results.between[group].arrays[name].copy()
        table[place] = table[place[::-1]] = 5.0
        changed = replace(results.between[group], arrays={**results.between[group].arrays, name: table})
        with pytest.raises(InputError, match=said):
            add_batch(replace(results, between={**results.between, group: changed}), tmp_path)
    with pytest.raises(InputError, match=r"sls, kept 5 epochs, seed 4, must have"):
        add_batch(replace(results, numbers={"accuracy_best": results.numbers["accuracy_best"] + (np.arange(len(results)) == row_of(results, {"hold": 5}))}), tmp_path)  # fmt: skip
    assert contents(tmp_path) == before


def test_results_that_name_a_run_twice_must_agree_with_themselves(results: Results, tmp_path: Path) -> None:
    twice = results.take([0, 1, 1])
    assert add_batch(twice, tmp_path / "same") is not None
    assert len(read_results(tmp_path / "same")) == 2
    column = twice.numbers["accuracy_best"] + [0, 0, 0.1]
    with pytest.raises(InputError, match=r"in these runs and .* in these runs"):
        add_batch(replace(twice, numbers={"accuracy_best": column}), tmp_path / "other")


def test_rounding_and_time_are_no_contradiction(results: Results, tmp_path: Path) -> None:
    """The same run scored on another machine."""
    add_batch(results, tmp_path)
    numbers = {name: column * (1 + 1e-9) for name, column in results.numbers.items()}
    numbers["seconds"] = results.numbers["seconds"] * 3
    assert add_batch(replace(results, numbers=numbers), tmp_path) is None
    assert_same(read_results(tmp_path), results)


def test_a_value_that_is_not_known_is_no_contradiction(results: Results, tmp_path: Path) -> None:
    """Where few items decide, a value may be missing on one machine and not on another."""
    add_batch(results, tmp_path)
    holes = tuple(None if array is None else np.array([0.5, 0.25, np.nan]) for array in results.series["holes"])
    assert add_batch(replace(results, series={"holes": holes}), tmp_path) is None
    assert_same(read_results(tmp_path), results)


def test_two_stored_batches_that_differ_are_refused_on_reading(results: Results, tmp_path: Path) -> None:
    """Batches added to two copies of the results, and brought together."""
    column = results.numbers["accuracy_best"] + 0.1
    for folder, one in (("a", results), ("b", replace(results, numbers={"accuracy_best": column}))):
        add_batch(one, tmp_path / folder)
    first, other = (read_batches(tmp_path / folder)[0] for folder in ("a", "b"))
    shutil.copytree(tmp_path / "b" / other.id, tmp_path / "a" / other.id)
    with pytest.raises(InputError) as error:
        read_results(tmp_path / "a")
    names = sorted((first, other), key=lambda batch: batch.id)
    assert all(batch.name in str(error.value) for batch in names)
    assert "multipass, seed 0, must have the same numbers in all results" in str(error.value)


def test_results_measured_on_another_grid_are_refused(results: Results, tmp_path: Path) -> None:
    add_batch(results, tmp_path)
    barrier = results.between["barrier"]
    moved = replace(barrier, arrays={**barrier.arrays, "positions": np.array([0.0, 0.4, 1.0])})
    with pytest.raises(InputError, match=r"on the same grid, but those of barrier\.positions differ"):
        add_batch(replace(results, between={"barrier": moved}), tmp_path)
    with pytest.raises(InputError, match="on the same grid, but those of confidence differ"):
        add_batch(replace(results, shared={"confidence": np.zeros(8)}), tmp_path)
    late = replace(without(results, range(20)), shared={**results.shared, "devices": np.array(["another"])})
    add_batch(without(results, range(20, len(results))), tmp_path / "two")
    add_batch(late, tmp_path / "two")
    assert read_results(tmp_path / "two").shared["devices"].tolist() == ["a fast one", "another"]


def test_batches_added_apart_and_brought_together(results: Results, tmp_path: Path) -> None:
    """Two clones of a repository each add one; merging them needs no decision."""
    late = results.rows(method="multipass"), results.rows(votes=5)
    add_batch(without(results, [*late[0], *late[1]]), tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    add_batch(without(results, late[0]), tmp_path / "a")
    add_batch(without(results, late[1]), tmp_path / "b")
    assert_same(
        read_results(tmp_path / "a", tmp_path / "b"), without(results, results.rows(method="multipass", votes=5))
    )
    shutil.copytree(tmp_path / "b", tmp_path / "a", dirs_exist_ok=True)
    assert [batch.number for batch in read_batches(tmp_path / "a")] == [1, 2, 2]
    add_batch(results, tmp_path / "a")
    assert read_batches(tmp_path / "a")[-1].number == 4
    assert_same(read_results(tmp_path / "a"), results)


def test_a_batch_that_is_missing_is_noticed(results: Results, tmp_path: Path) -> None:
    add_batch(without(results, results.rows(seed=2)), tmp_path)
    add_batch(results, tmp_path)
    first, second = read_batches(tmp_path)
    shutil.rmtree(tmp_path / first.id)
    with pytest.raises(InputError) as error:
        read_results(tmp_path)
    assert str(error.value) == (
        f"the results in {str(tmp_path)!r} must hold all that {second.name} was added to, but the batch {first.id!r} is "
        "missing. Restore its folder from version control or another copy."
    )


def test_what_was_not_kept_is_counted(results: Results, tmp_path: Path) -> None:
    add_batch(replace(results, numbers={k: v for k, v in results.numbers.items() if k != "vote_ece_last"}), tmp_path)
    (missing,) = missing_in_batches(read_batches(tmp_path)).values()
    assert missing["vote_ece_last"] == len(results)
    assert missing["train_soft_nll"] == len(results.rows(method="multipass"))
    assert "soft_nll_best" not in missing
    add_batch(results, tmp_path)
    assert "vote_ece_last" not in missing_in_batches(read_batches(tmp_path))[read_batches(tmp_path)[0].id]


def test_runs_of_batches_as_rows_of_a_table(results: Results, tmp_path: Path) -> None:
    """Each run once, with the batch it came with and what later ones added."""
    first = without(results, results.rows(seed=2))
    add_batch(replace(first, numbers={k: v for k, v in first.numbers.items() if k != "vote_ece_last"}), tmp_path)
    add_batch(results, tmp_path)
    early, late = runs_in_batches(read_batches(tmp_path)).values()
    assert (len(early), len(late)) == (len(first), len(results) - len(first))
    for run in (*early, *late):
        row = row_of(results, {name: run.config[name] for name in results.factors})
        assert run.numbers == {
            name: column[row] for name, column in results.numbers.items() if not np.isnan(column[row])
        }
        assert {**run.config} == {**ORIGIN, "batch": 2 if run.config["seed"] == 2 else 1, **results.run(row)}


def test_batches_that_cannot_be_read_are_listed_beside_the_others(results: Results, tmp_path: Path) -> None:
    add_batch(without(results, results.rows(seed=2)), tmp_path)
    add_batch(results, tmp_path)
    first, second = read_batches(tmp_path)
    arrays = tmp_path / second.id / "arrays.npz"
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"x")
    batches, (fault,) = survey_batches(tmp_path)
    assert [batch.id for batch in batches] == [first.id]
    assert fault.run_id == second.id
    assert "must be undamaged" in fault.reason


def test_results_that_cannot_be_read(results: Results, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_results(tmp_path)
    assert str(error.value) == f"{str(tmp_path)!r} must hold results, but there are none. Reduce runs into it."
    add_batch(results, tmp_path)
    with pytest.raises(InputError) as error:
        add_batch(replace(results, origin={**ORIGIN, "precision": "fp32"}), tmp_path)
    about = "data cccccccccccccccc paper a paper precision"
    assert str(error.value) == (
        f"all batches of results must be of one paper, data set and precision, but they are of {about} bf16; {about} fp32. "
        "Keep each kind in a folder of its own."
    )
    (arrays,) = tmp_path.rglob("arrays.npz")
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match=r"the bytes of arrays\.npz have changed"):
        read_results(tmp_path)


def test_only_results_of_a_paper_are_stored(results: Results, tmp_path: Path) -> None:
    bare = Results({"seed": (0,), "method": ("soft",)}, {"soft_nll_best": np.ones(1)})
    with pytest.raises(InputError) as error:
        add_batch(bare, tmp_path)
    assert str(error.value) == (
        "stored results must name their paper, and method, votes, hold, seed of each run, but these are of 'method', "
        "'seed'. Store what reducing a paper's runs gives."
    )
    with pytest.raises(InputError, match="must name their paper"):
        add_batch(replace(results, origin={}), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_results_of_a_later_form(tmp_path: Path) -> None:
    RecordStore(tmp_path).write(record := RunRecord(config={"form": 3, "paper": "another"}, status="done"))
    with pytest.raises(InputError) as error:
        read_results(tmp_path)
    assert str(error.value) == (
        f"{str(tmp_path)!r} must hold results of form 2 or older, but the form of {record.run_id} is 3. Read them with a "
        "newer votewise."
    )


def test_results_of_two_papers_side_by_side(results: Results, tmp_path: Path) -> None:
    """What differs in origin becomes a factor of the runs; what belongs to no run says where it is from."""
    other = replace(
        results, origin={**ORIGIN, "paper": "another"}, numbers={"accuracy_best": results.numbers["accuracy_best"] / 2}
    )
    add_batch(results, tmp_path / "first")
    add_batch(other, tmp_path / "second")
    found = read_results(tmp_path / "first", tmp_path / "second")
    assert found.origin == {"data": "c" * 64, "precision": "bf16"}
    assert set(found.values("paper")) == {"a paper", "another"}
    assert_same(
        replace(found.where(paper="a paper"), between={}, shared={}),
        replace(results, factors={"paper": ("a paper",) * len(results), **results.factors}, between={}, shared={}, origin=found.origin),
    )  # fmt: skip
    where = {"method": "sls", "votes": None, "hold": 1}
    halves, wholes = (found.sample("accuracy_best", where, paper=paper) for paper in ("another", "a paper"))
    assert halves.values.tolist() == (wholes.values / 2).tolist()
    assert {"barrier", "second/barrier"} < found.between.keys()
    assert found.shared.keys() == {"confidence", "devices", "second/confidence", "second/devices"}


def test_recorded_runs_are_results_too(results: Results, tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "runs")
    for seed in SEEDS:
        config = {"method": "soft", "seed": seed, "recipe": {"epochs": 2}}
        arrays = {"held_out": np.arange(3), "best_logits": np.zeros((3, 2), np.float32)}
        store.write(RunRecord(config=config, status="done", numbers={"soft_nll_best": seed / 2}, arrays=arrays))
    store.write(RunRecord(config={"method": "sls", "seed": 0}, status="failed", failure="it broke"))
    found = read_results(tmp_path / "runs")
    assert found.sample("soft_nll_best", {"recipe.epochs": 2}).by_seed == {0: 0.0, 1: 0.5, 2: 1.0}
    assert found.failures == (Failure({"method": "sls", "seed": 0}, "it broke"),)
    assert_same(found, join_results({"": results_of(store.records())}))
    add_batch(results, tmp_path / "results")
    both = read_results(tmp_path / "results", tmp_path / "runs")
    assert len(both) == len(results) + len(SEEDS)
    assert both.sample("soft_nll_best", {"recipe.epochs": 2}).n == len(SEEDS)
    assert both.sample("soft_nll_best", {"method": "soft", "votes": None, "paper": "a paper"}).n == len(SEEDS)


def test_new_runs_stay_small(tmp_path: Path) -> None:
    """With predictions of 2,000 images, losses of 8,000, 200 epochs and every number measured: 60 kB a run at most."""
    stored = read_results(STORED)
    rng, runs = np.random.default_rng(0), 8
    lengths = {
        name: next(len(array) for array in arrays if array is not None) for name, arrays in stored.series.items()
    }
    assert lengths["curve_soft_nll"] == 200
    series = {name: tuple(rng.random((runs, length)).astype(np.float32)) for name, length in lengths.items()}
    series["train_soft_nll"] = tuple(rng.exponential(0.3, (runs, 8000)).astype(np.float16))
    logits = 8 * rng.normal(size=(runs, 2000, 10))
    logs = (logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))).astype(np.float16)
    named = result_columns([factors("soft", None, 100 + seed) for seed in range(runs)])
    numbers = {name: rng.random(runs) for name in stored.numbers}
    batch = add_batch(Results(named, numbers, series, {"best": tuple(logs)}, origin=stored.origin), tmp_path)
    assert batch is not None
    size = sum(path.stat().st_size for path in (tmp_path / batch.id).iterdir())
    assert size < 60_000 * runs


def test_the_stored_results_are_read_as_before() -> None:
    """Form 1 comes first and is untouched; what came later does not change a number of it."""
    batches = read_batches(STORED)
    assert batches[0].id == "466511953f56b878dab0550c40b6a349"
    first, whole = batches[0].results, read_results(STORED)
    assert len(batches[0].new_runs) == len(first) == 135
    rows = [row_of(whole, first.run(row)) for row in range(len(first))]
    for name, column in first.numbers.items():
        known = ~np.isnan(column)
        if known.any():
            np.testing.assert_array_equal(whole.numbers[name][rows][known], column[known])
    assert whole.sample("vote_ece_best", method="soft", votes=None, hold=1).n == 10
    assert {group: between.pairs for group, between in whole.between.items()} == {
        "barrier": False, "sls.held_out": True, "sls.shared": True, "soft.held_out": True, "soft.shared": True,
    }  # fmt: skip
    assert sum(path.stat().st_size for path in STORED.rglob("*")) < 30e6


def fork_to_add(results: Results, folder: Path, hook: Callable[[str, Any], None] | None = None) -> int:
    """The id of a process that adds a batch, watched by an audit hook."""
    child = os.fork()
    if child == 0:
        try:
            if hook is not None:
                sys.addaudithook(hook)
            add_batch(results, folder)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    return child


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_batch_killed_at_random_moments(results: Results, tmp_path: Path) -> None:
    """What was there stays to the byte; the new batch is whole or absent; the next attempt adds it."""
    folder = tmp_path / "results"
    add_batch(without(results, results.rows(votes=5)), folder)
    before, rng = contents(folder), random.Random(3)
    start = time.perf_counter()
    add_batch(results, tmp_path / "timed")
    longest = 2 * (time.perf_counter() - start)
    killed = 0
    for _ in range(30):
        child = fork_to_add(results, folder)
        time.sleep(rng.uniform(0, longest))
        os.kill(child, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert before.items() <= contents(folder).items()
        batches = read_batches(folder)
        assert len(batches) in (1, 2)
        if len(batches) == 2:
            assert_same(read_results(folder), results)
            shutil.rmtree(folder / batches[1].id)
    assert killed > 0
    add_batch(results, folder)
    assert_same(read_results(folder), results)
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {
        batch.id for batch in read_batches(folder)
    }


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_batch_killed_before_each_operation_on_files(results: Results, tmp_path: Path) -> None:
    folder, halves = tmp_path / "results", 0
    add_batch(without(results, results.rows(votes=5)), folder)
    before = contents(folder)
    for operation in range(1000):
        left = operation

        def die_in_time(event: str, _: Any) -> None:
            nonlocal left
            if event == "open" or event.startswith(("os.", "shutil.", "fcntl.")):
                left -= 1
                if left == -1:
                    os.kill(os.getpid(), signal.SIGKILL)

        code = os.waitstatus_to_exitcode(os.waitpid(fork_to_add(results, folder, die_in_time), 0)[1])
        assert before.items() <= contents(folder).items()
        batches = read_batches(folder)
        assert len(batches) in ((2,) if code == 0 else (1, 2))
        halves += any(folder.glob(".part-*/*"))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        for batch in batches[1:]:
            shutil.rmtree(folder / batch.id)
    assert halves > 0, "it was killed while it wrote"
    assert_same(read_results(folder), results)
