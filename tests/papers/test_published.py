"""The printed numbers, typed in a second time; and what they must satisfy among themselves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from votewise.papers.same_target import published
from votewise.papers.same_target.published import Published

# Name, seeds, then mean and SD (or the mean alone) of each column.
TABLES = {
    "TABLE_1": """
        soft 5 .5860 .5785 .5388 .5628
        sls 5 .5599 .5485 .5169 .5291
        multipass 5 .5649 .5371 .5117 .5241
        deterministic-control 5 .5555 .5388 .5077 .5231""",
    "TABLE_4": """
        sls 10 104.9±8.8 1633.9±50.6 314.0±57.3 3496.8±360.3
        soft 10 242.2±36.2 4946.0±943.2 780.6±103.3 10779.6±1811.9
        sls 5 107.8±9.9 1642.9±25.7 310.3±22.0 3480.4±255.2
        deterministic-control 5 101.6±8.1 1581.6±61.2 314.6±30.4 3481.8±250.7
        multipass 5 103.8±4.3 1571.4±72.4 302.2±29.6 3438.4±339.5
        shuffled-sls 5 18.4±13.3 33.9±26.0 20.5±18.1 38.8±44.9""",
    "TABLE_5": """
        sls 10 .3515±.0260 .1553±.0110
        soft 10 .3558±.0228 .1548±.0096
        majority 10 .5746±.0397 .1943±.0152
        label-smoothing 10 .4726±.0204 .1786±.0094
        mixup 10 .3988±.0123 .1500±.0049""",
    "TABLE_6": """
        sls 5 114.0±4.5 114.1±8.0 97.5±4.0 98.9±1.2 478.7±76.6 369.1±52.2 277.8±35.8 312.4±45.8
        soft 5 241.4±36.6 243.6±47.9 267.1±43.7 218.4±20.0 1203.1±158.2 849.7±296.3 876.1±235.4 626.4±38.3""",
    "TABLE_7": """
        soft 10 .8634±.0429 .8364±.0432 .8650±.0429 .8527±.0445 .8112±.0436 .7974±.0284
        multipass 5 .8858±.0255 .8553±.0182 .8871±.0242 .8714±.0212 .8323±.0126 .7836±.0250
        deterministic-control 5 .8890±.0253 .8643±.0193 .8921±.0233 .8793±.0233 .8419±.0136 .7788±.0354
        sls 5 .8788±.0261 .8520±.0183 .8812±.0254 .8660±.0208 .8326±.0177 .7741±.0295""",
    "TABLE_8": """
        sls 10 .8185 .8029 .8189 .8132 .7833 .8031
        soft 10 .8096 .7972 .8107 .8082 .7779 .8009""",
    "TABLE_9": """
        soft 10 .8096 .7972 .8009
        multipass 5 .8185 .8032 .8053
        deterministic-control 5 .8183 .8006 .8050
        sls 5 .8163 .8003 .8019""",
}
COLUMNS = {
    "TABLE_1": "5 10 25 50",
    "TABLE_4": "full/largest full/trace high/largest high/trace",
    "TABLE_5": "kl soft_brier",
    "TABLE_6": "full/5 full/10 full/25 full/50 high/5 high/10 high/25 high/50",
    "TABLE_7": "energy msp odin predictive_entropy logit_margin knn",
    "TABLE_8": "energy msp odin predictive_entropy logit_margin knn",
    "TABLE_9": "energy msp knn",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_typed_in_again(name: str) -> None:
    expected = {}
    for line in TABLES[name].strip().splitlines():
        method, seeds, *numbers = line.split()
        for column, number in zip(COLUMNS[name].split(), numbers, strict=True):
            mean, *sd = map(float, number.split("±"))
            place = f"{name.capitalize().replace('_', ' ')}, {method}"
            expected[method, int(seeds), column] = Published(mean, sd[0] if sd else None, int(seeds), place)
    assert getattr(published, name) == expected


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
        expected[tuple(key.split("/"))] = Published(float(mean), None, int(seeds), f"Figure {figure}")
    expected["entropy", "votes"] = Published(0.15375, None, 10, "Tables 2 and 5")
    assert expected == published.QUOTED


def test_soft_nll_less_kl_is_the_same_in_every_row_of_the_main_comparison() -> None:
    differences = [
        published.TABLE_2[method, 10, "soft_nll"].mean - published.TABLE_5[method, 10, "kl"].mean
        for method in ("sls", "soft", "majority", "label-smoothing", "mixup")
    ]
    assert all(abs(difference - published.QUOTED["entropy", "votes"].mean) < 0.0001 for difference in differences)


def attainable(n: int, *, two_sided: bool) -> np.ndarray:
    """All p values of a signed-rank test of n pairs without ties, by listing every pattern of signs."""
    sums = np.array([sum(itertools.compress(range(1, n + 1), signs)) for signs in itertools.product((0, 1), repeat=n)])
    tails = np.array([(sums <= total).mean() for total in range(n * (n + 1) // 2 + 1)])
    return np.unique(np.minimum(2 * tails, 1) if two_sided else tails)


def test_printed_p_values_are_those_of_exact_tests() -> None:
    def is_one_of(p: float, grid: np.ndarray, digits: int) -> bool:
        return bool((np.abs(grid - p) <= 0.51 * 10.0**-digits).any())

    five, ten = attainable(5, two_sided=False), attainable(10, two_sided=True)
    assert all(is_one_of(p, five, 3) for row in published.TABLE_1_P.values() for p in row)
    assert all(is_one_of(p, ten, 4) for p in published.TABLE_2_P.values())
    assert is_one_of(published.TABLE_3_P["multipass", "soft_nll"], attainable(5, two_sided=True), 4)
    one_sided = attainable(10, two_sided=False)
    assert all(is_one_of(p, one_sided, 4) for p in published.TABLE_8_P.values())
    assert not all(is_one_of(p, ten, 4) for p in published.TABLE_8_P.values()), "so they are one-sided"


def test_cross_entropy_less_divergence_is_the_same_entropy_for_all() -> None:
    gaps = [
        published.TABLE_2[method, 10, "soft_nll"].mean - published.TABLE_5[method, 10, "kl"].mean
        for method in ("sls", "soft", "majority", "label-smoothing", "mixup")
    ]
    assert 0.15365 <= min(gaps) <= max(gaps) <= 0.15385


def test_tables_repeat_each_other() -> None:
    for column in published.METRICS:
        first, again = published.TABLE_2["soft", 10, column], published.TABLE_3["soft", 10, column]
        assert (first.mean, first.sd, first.seeds) == (again.mean, again.sd, again.seeds)
    for score in ("energy", "msp", "knn"):
        assert published.TABLE_8["soft", 10, score].mean == published.TABLE_9["soft", 10, score].mean
