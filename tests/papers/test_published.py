"""The printed numbers, typed in a second time; and what they must satisfy among themselves."""

from __future__ import annotations

import itertools
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from votewise.papers.published import read_published
from votewise.papers.same_target import PAPER
from votewise.statistics import Published

NUMBERS, P_VALUES = PAPER.published.numbers, PAPER.published.p_values

# Name, seeds, then mean and SD (or the mean alone) of each column.
TABLES = {
    "table-1": """
        soft 5 .5860 .5785 .5388 .5628
        sls 5 .5599 .5485 .5169 .5291
        multipass 5 .5649 .5371 .5117 .5241
        deterministic-control 5 .5555 .5388 .5077 .5231""",
    "table-2": """
        label-smoothing 10 .6263±.0204 .8590±.0088 .0598±.0059 .2117±.0218
        majority 10 .7284±.0401 .8570±.0107 .0704±.0058 .2902±.0219
        mixup 10 .5526±.0129 .8824±.0046 .0977±.0063 .2499±.0145
        sls 10 .5052±.0263 .8695±.0105 .0186±.0039 .3946±.0192
        soft 10 .5096±.0233 .8687±.0081 .0185±.0040 .3909±.0190""",
    "table-3": """
        soft 10 .5096±.0233 .8687±.0081 .0185±.0040 .3909±.0190
        sls 5 .5035±.0335 .8710±.0129 .0193±.0045 .3956±.0159
        deterministic-control 5 .4921±.0162 .8724±.0050 .0209±.0022 .3963±.0160
        multipass 5 .4942±.0123 .8714±.0063 .0191±.0044 .4000±.0287
        shuffled-sls 5 2.2973±.0024 .1199±.0128 .0293±.0099 -.0058±.0556""",
    "table-4": """
        sls 10 104.9±8.8 1633.9±50.6 314.0±57.3 3496.8±360.3
        soft 10 242.2±36.2 4946.0±943.2 780.6±103.3 10779.6±1811.9
        sls 5 107.8±9.9 1642.9±25.7 310.3±22.0 3480.4±255.2
        deterministic-control 5 101.6±8.1 1581.6±61.2 314.6±30.4 3481.8±250.7
        multipass 5 103.8±4.3 1571.4±72.4 302.2±29.6 3438.4±339.5
        shuffled-sls 5 18.4±13.3 33.9±26.0 20.5±18.1 38.8±44.9""",
    "table-5": """
        sls 10 .3515±.0260 .1553±.0110
        soft 10 .3558±.0228 .1548±.0096
        majority 10 .5746±.0397 .1943±.0152
        label-smoothing 10 .4726±.0204 .1786±.0094
        mixup 10 .3988±.0123 .1500±.0049""",
    "table-6": """
        sls 5 114.0±4.5 114.1±8.0 97.5±4.0 98.9±1.2 478.7±76.6 369.1±52.2 277.8±35.8 312.4±45.8
        soft 5 241.4±36.6 243.6±47.9 267.1±43.7 218.4±20.0 1203.1±158.2 849.7±296.3 876.1±235.4 626.4±38.3""",
    "table-7": """
        soft 10 .8634±.0429 .8364±.0432 .8650±.0429 .8527±.0445 .8112±.0436 .7974±.0284
        multipass 5 .8858±.0255 .8553±.0182 .8871±.0242 .8714±.0212 .8323±.0126 .7836±.0250
        deterministic-control 5 .8890±.0253 .8643±.0193 .8921±.0233 .8793±.0233 .8419±.0136 .7788±.0354
        sls 5 .8788±.0261 .8520±.0183 .8812±.0254 .8660±.0208 .8326±.0177 .7741±.0295""",
    "table-8": """
        sls 10 .8185 .8029 .8189 .8132 .7833 .8031
        soft 10 .8096 .7972 .8107 .8082 .7779 .8009""",
    "table-9": """
        soft 10 .8096 .7972 .8009
        multipass 5 .8185 .8032 .8053
        deterministic-control 5 .8183 .8006 .8050
        sls 5 .8163 .8003 .8019""",
}
COLUMNS = {
    "table-1": "5 10 25 50",
    "table-2": "soft_nll accuracy ece entropy_correlation",
    "table-3": "soft_nll accuracy ece entropy_correlation",
    "table-4": "full/largest full/trace high/largest high/trace",
    "table-5": "kl soft_brier",
    "table-6": "full/5 full/10 full/25 full/50 high/5 high/10 high/25 high/50",
    "table-7": "energy msp odin predictive_entropy logit_margin knn",
    "table-8": "energy msp odin predictive_entropy logit_margin knn",
    "table-9": "energy msp knn",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_typed_in_again(name: str) -> None:
    expected = {}
    for line in TABLES[name].strip().splitlines():
        method, seeds, *numbers = line.split()
        for column, number in zip(COLUMNS[name].split(), numbers, strict=True):
            mean, *sd = map(float, number.split("±"))
            place = f"{name.capitalize().replace('-', ' ')}, {method}"
            expected[name, method, int(seeds), column] = Published(mean, sd[0] if sd else None, int(seeds), place)
    assert {key: number for key, number in NUMBERS.items() if key[0] == name} == expected


def test_quoted_numbers_typed_in_again() -> None:
    text = """
        smooth_ece/sls .019 10 3; smooth_ece/soft .019 10 3; smooth_ece/majority .082 10 3;
        resampling/1 .5027 5 4; resampling/5 .5458 5 4; resampling/10 .6054 5 4; resampling/50 .6689 5 4;
        gradient_spearman/sls .939 10 7; near_best_earlier/sls 35.7 10 8; best_earlier/sls 47.2 10 8;
        maps/sls .901 10 9; maps/soft .804 10 9; maps_high/sls .861 10 9; maps_high/soft .756 10 9;
        barrier/sls 2.05 10 11; cka/sls .920 10 12; cka/soft .887 10 12"""
    expected = {}
    for entry in text.split(";"):
        key, mean, seeds, figure = entry.split()
        expected["quoted", *key.split("/")] = Published(float(mean), None, int(seeds), f"Figure {figure}")
    expected["quoted", "entropy", "votes"] = Published(0.15375, None, 10, "Tables 2 and 5")
    assert {key: number for key, number in NUMBERS.items() if key[0] == "quoted"} == expected


def test_no_printed_number_has_changed() -> None:
    """A digest of all means and SDs, p-values and bounds of ranges."""
    printed = PAPER.published
    means = [(*key, one.mean, one.sd, one.seeds, one.place) for key, one in printed.numbers.items()]
    values = [*means, *((*key, p) for key, p in printed.p_values.items()), *sorted(printed.ranges.items())]
    sds = sum(one.sd is not None for one in printed.numbers.values())
    assert (len(means), sds, len(printed.p_values), len(printed.ranges)) == (172, 114, 23, 2)
    assert (
        sha256(repr(values).encode()).hexdigest() == "98fc5311f03eee853b985dd9abd8e071eb43ccfdfd2bdb9cd4974a9236f01d42"
    )


def test_every_printed_number_stands_beside_one_of_ours() -> None:
    tables = [*PAPER.tables, PAPER.quoted]
    shown = {entry.key for table in tables for entry in table.entries}
    assert set(NUMBERS) <= shown
    tested = {pairing.key for table in tables for pairing in table.pairings}
    assert set(P_VALUES) <= tested
    listed = {entry.key for choice in PAPER.choices for entry in choice.entries}
    assert listed <= set(NUMBERS)


def test_numbers_are_read_as_they_are_printed(tmp_path: Path) -> None:
    path = tmp_path / "published.toml"
    path.write_text(
        '[table-1]\ncolumns = ["method", "seeds", "a", "b"]\nrows = [["x", 3, "1.50 ± 0.20", 2.5]]\np = [["x", 0.25]]\n'
        '[quoted]\ncolumns = ["quantity", "of", "value", "seeds", "place"]\nrows = [["c", "x", 4.5, 3, "Figure 2"]]\n'
        "[ranges]\nd = [0.1, 0.3]\n",
        encoding="utf-8",
    )
    printed = read_published(path)
    assert printed.numbers == {
        ("table-1", "x", 3, "a"): Published(1.5, 0.2, 3, "Table 1, x"),
        ("table-1", "x", 3, "b"): Published(2.5, None, 3, "Table 1, x"),
        ("quoted", "c", "x"): Published(4.5, None, 3, "Figure 2"),
    }
    assert (printed.p_values, printed.ranges) == ({("table-1", "x", "a"): 0.25}, {"d": (0.1, 0.3)})


def attainable(n: int, *, two_sided: bool) -> np.ndarray:
    """All p values of a signed-rank test of n pairs without ties, by listing every pattern of signs."""
    sums = np.array([sum(itertools.compress(range(1, n + 1), signs)) for signs in itertools.product((0, 1), repeat=n)])
    tails = np.array([(sums <= total).mean() for total in range(n * (n + 1) // 2 + 1)])
    return np.unique(np.minimum(2 * tails, 1) if two_sided else tails)


def test_printed_p_values_are_those_of_exact_tests() -> None:
    def is_one_of(p: float, grid: np.ndarray, digits: int) -> bool:
        return bool((np.abs(grid - p) <= 0.51 * 10.0**-digits).any())

    five, ten = attainable(5, two_sided=False), attainable(10, two_sided=True)
    printed = {name: [p for key, p in P_VALUES.items() if key[0] == name] for name in ("table-1", "table-2", "table-8")}
    assert all(is_one_of(p, five, 3) for p in printed["table-1"])
    assert all(is_one_of(p, ten, 4) for p in printed["table-2"])
    assert is_one_of(P_VALUES["table-3", "multipass", "soft_nll"], attainable(5, two_sided=True), 4)
    one_sided = attainable(10, two_sided=False)
    assert all(is_one_of(p, one_sided, 4) for p in printed["table-8"])
    assert not all(is_one_of(p, ten, 4) for p in printed["table-8"]), "so they are one-sided"


def test_cross_entropy_less_divergence_is_the_same_entropy_for_all() -> None:
    gaps = [
        NUMBERS["table-2", method, 10, "soft_nll"].mean - NUMBERS["table-5", method, 10, "kl"].mean
        for method in ("sls", "soft", "majority", "label-smoothing", "mixup")
    ]
    assert 0.15365 <= min(gaps) <= max(gaps) <= 0.15385


def test_tables_repeat_each_other() -> None:
    for first, second in (("table-2", "table-3"), ("table-8", "table-9")):
        again = {key[1:]: one for key, one in NUMBERS.items() if key[:3] == (second, "soft", 10)}
        for key, one in again.items():
            printed = NUMBERS[first, *key]
            assert (printed.mean, printed.sd, printed.seeds) == (one.mean, one.sd, one.seeds)
        assert {table.name: table.repeated for table in PAPER.tables}[second] == ("soft labels",)
