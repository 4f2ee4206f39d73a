"""Out-of-distribution scores against other people's packages and plain loops; their laws; ugly inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp, softmax
from scipy.stats import entropy
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn
from torch.nn import functional

from leaks import assert_nothing_kept
from votewise import InputError
from votewise.diagnostics import barrier, curvature, ood
from votewise.models.resnet import ResNet18

STD = (0.2470, 0.2435, 0.2616)
OF_LOGITS: dict[str, Callable[..., np.ndarray]] = {
    name: getattr(ood, name) for name in ("energy", "msp", "predictive_entropy", "logit_margin")
}

# Integers make ties, eighths are exact in every sum.
logit_values = st.one_of(st.integers(-6, 6).map(float), st.integers(-160, 160).map(lambda eighths: eighths / 8))
score_lists = hnp.arrays(np.float64, st.integers(1, 40), elements=st.integers(-5, 5).map(float))


def tables(min_classes: int = 2, max_classes: int = 5) -> st.SearchStrategy[np.ndarray]:
    shapes = st.tuples(st.integers(1, 12), st.integers(min_classes, max_classes))
    return shapes.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=logit_values))


def small_resnet() -> ResNet18:
    torch.manual_seed(0)
    model = ResNet18(10, width=4)
    model(torch.randn(16, 3, 32, 32))  # batch norms see something
    return model


def images(n: int, seed: int = 0) -> Tensor:
    return torch.randn(n, 3, 32, 32, generator=torch.Generator().manual_seed(seed))


class TestScoresOfLogits:
    @given(tables(min_classes=1), st.sampled_from([0.25, 1.0, 3.0, 1000.0]))
    def test_they_are_those_of_scipy(self, z: np.ndarray, temperature: float) -> None:
        expected = temperature * logsumexp(z / temperature, axis=1)
        np.testing.assert_allclose(ood.energy(z, temperature=temperature), expected, rtol=1e-12, atol=1e-12)
        expected = softmax(z / temperature, axis=1).max(axis=1)
        np.testing.assert_allclose(ood.msp(z, temperature=temperature), expected, rtol=1e-12)
        np.testing.assert_allclose(
            ood.predictive_entropy(z), -entropy(softmax(z, axis=1), axis=1), rtol=1e-10, atol=1e-12
        )

    @given(tables())
    def test_the_margin_is_that_of_sorted_logits(self, z: np.ndarray) -> None:
        expected = [max(row) - sorted(row)[-2] for row in z.tolist()]
        np.testing.assert_array_equal(ood.logit_margin(z), expected)

    @given(tables(), st.integers(-50, 50))
    def test_adding_to_all_logits_moves_the_energy_alone(self, z: np.ndarray, shift: int) -> None:
        np.testing.assert_allclose(ood.energy(z + shift), ood.energy(z) + shift, rtol=1e-12, atol=1e-12)
        for name in ("msp", "predictive_entropy", "logit_margin"):
            np.testing.assert_array_equal(OF_LOGITS[name](z + shift), OF_LOGITS[name](z))

    @given(tables(min_classes=2, max_classes=2))
    def test_with_two_classes_all_but_the_energy_rank_alike(self, z: np.ndarray) -> None:
        order = np.argsort(ood.logit_margin(z))
        for score in (ood.msp, ood.predictive_entropy):
            assert (np.diff(score(z)[order]) >= 0).all()

    def test_with_three_classes_they_do_not(self) -> None:
        z = np.array([[3.0, 2.9, -9.0], [1.5, 1.0, 1.0]])
        for score in (ood.msp, ood.predictive_entropy):
            assert score(z)[0] > score(z)[1]
        assert ood.logit_margin(z)[0] < ood.logit_margin(z)[1]

    @pytest.mark.parametrize("name", OF_LOGITS)
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
    def test_tensors_are_taken_and_computed_in_float64(self, name: str, dtype: torch.dtype) -> None:
        z = (torch.randint(-40, 40, (20, 4), generator=torch.Generator().manual_seed(1)) / 4).to(dtype).requires_grad_()
        found = OF_LOGITS[name](z)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, OF_LOGITS[name](z.detach().double().numpy()))

    def test_logits_far_apart_stay_finite(self) -> None:
        z = np.array([[1e30, 0.0, -1e30]])
        assert [float(score(z)[0]) for score in OF_LOGITS.values()] == [1e30, 1.0, 0.0, 1e30]

    def test_one_class_is_certain(self) -> None:
        z = np.array([[3.0], [-2.0]])
        assert [OF_LOGITS[name](z).tolist() for name in ("energy", "msp", "predictive_entropy")] == [
            [3.0, -2.0],
            [1.0, 1.0],
            [0.0, 0.0],
        ]
        with pytest.raises(InputError) as error:
            ood.logit_margin(z)
        assert (
            str(error.value)
            == "a margin needs the logits of two classes or more, but got one column. Use another score."
        )

    @pytest.mark.parametrize("name", OF_LOGITS)
    @pytest.mark.parametrize(
        ("logits", "message"),
        [
            (
                [[0.0, math.nan], [1.0, 2.0]],
                "logits must be finite, but 1 rows hold NaN or infinity (rows 0). Fix or remove those rows.",
            ),
            (
                torch.zeros(0, 3),
                "logits must have two dimensions, items x classes, both at least 1, but its shape is (0, 3). Reshape it.",
            ),
            (
                torch.zeros(3),
                "logits must have two dimensions, items x classes, both at least 1, but its shape is (3,). Reshape it.",
            ),
        ],
    )
    def test_wrong_logits_are_named(self, name: str, logits: Any, message: str) -> None:
        with pytest.raises(InputError) as error:
            OF_LOGITS[name](logits)
        assert str(error.value) == message

    @pytest.mark.parametrize("temperature", [0, -1, math.nan, math.inf])
    def test_the_temperature_is_positive(self, temperature: float) -> None:
        with pytest.raises(InputError) as error:
            ood.energy([[1.0, 2.0]], temperature=temperature)
        assert str(error.value) == (
            f"temperature must be a number from 1e-06 to 1e+12, but got {temperature!r}. Pass one in that range."
        )


class TestTellingApart:
    @given(score_lists, score_lists)
    def test_auroc_counts_pairs(self, familiar: np.ndarray, strange: np.ndarray) -> None:
        wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in familiar for b in strange)
        assert ood.auroc(familiar, strange) == wins / (len(familiar) * len(strange))

    @pytest.mark.parametrize("digits", [0, 1, 9])
    def test_both_are_those_of_scikit_learn(self, digits: int) -> None:
        rng = np.random.default_rng(digits)
        familiar, strange = rng.normal(1, 1, 2_000).round(digits), rng.normal(0, 1.5, 36_000).round(digits)
        truth = np.repeat([1, 0], [len(familiar), len(strange)])
        scores = np.concatenate([familiar, strange])
        assert math.isclose(ood.auroc(familiar, strange), roc_auc_score(truth, scores), rel_tol=1e-12)
        false, true, _ = roc_curve(truth, scores, drop_intermediate=False)
        assert math.isclose(ood.fpr95(familiar, strange), false[true >= 0.95].min(), rel_tol=1e-12)

    @given(score_lists, score_lists)
    def test_fpr95_is_its_definition(self, familiar: np.ndarray, strange: np.ndarray) -> None:
        reached = [t for t in familiar if 100 * sum(familiar >= t) >= 95 * len(familiar)]
        assert ood.fpr95(familiar, strange) == sum(strange >= max(reached)) / len(strange)

    @given(score_lists, score_lists)
    def test_only_the_order_of_scores_matters(self, familiar: np.ndarray, strange: np.ndarray) -> None:
        for measure in (ood.auroc, ood.fpr95):
            assert measure(np.exp(familiar), np.exp(strange)) == measure(familiar, strange)
            assert measure(torch.from_numpy(familiar), torch.from_numpy(strange)) == measure(familiar, strange)

    @given(score_lists, score_lists)
    def test_turning_scores_or_sets_round_turns_auroc_round(self, familiar: np.ndarray, strange: np.ndarray) -> None:
        found = ood.auroc(familiar, strange)
        assert math.isclose(found + ood.auroc(-familiar, -strange), 1, abs_tol=1e-12)
        assert math.isclose(found + ood.auroc(strange, familiar), 1, abs_tol=1e-12)

    def test_infinities_have_their_rank(self) -> None:
        assert ood.auroc([math.inf, 0.0], [-math.inf]) == 1
        assert ood.fpr95([-math.inf], [-math.inf, 0.0]) == 1

    def test_all_scores_alike_tell_nothing(self) -> None:
        assert ood.auroc([1, 1, 1], [1, 1]) == 0.5
        assert ood.fpr95([1, 1, 1], [1, 1]) == 1

    @pytest.mark.parametrize("measure", [ood.auroc, ood.fpr95])
    @pytest.mark.parametrize(
        ("scores", "message"),
        [
            (
                [],
                "out_scores must be a list of numbers, at least one, but got float64 of shape (0,). Pass one score for each input.",
            ),
            (
                [[1.0]],
                "out_scores must be a list of numbers, at least one, but got float64 of shape (1, 1). Pass one score for each input.",
            ),
            (
                [[1.0], [1.0, 2.0]],
                "out_scores must be a list of numbers, at least one, but got float64 of shape (0, 0). Pass one score for each input.",
            ),
            (
                ["high"],
                "out_scores must be a list of numbers, at least one, but got <U4 of shape (1,). Pass one score for each input.",
            ),
            (
                [1.0, math.nan],
                "out_scores must not hold NaN, but 1 of 2 are NaN (rows 1). Look for NaN in the model's outputs.",
            ),
        ],
    )
    def test_wrong_scores_are_named(self, measure: Callable[..., float], scores: Any, message: str) -> None:
        with pytest.raises(InputError) as error:
            measure([1.0], scores)
        assert str(error.value) == message


def test_logits_as_far_apart_as_numbers_go_have_scores() -> None:
    logits = [[1e308, -1e308], [1.0, 1.0]]
    np.testing.assert_allclose(ood.predictive_entropy(logits), [0, -math.log(2)])
    np.testing.assert_allclose(ood.energy(logits), [1e308, 1 + math.log(2)])
    np.testing.assert_allclose(ood.msp(logits), [1, 0.5])
    np.testing.assert_array_equal(ood.logit_margin(logits), [math.inf, 0])


def test_complex_logits_are_refused() -> None:
    with pytest.raises(InputError, match="its entries are of type complex64"):
        ood.energy(torch.ones(2, 3, dtype=torch.complex64))


class TestNeighbours:
    @pytest.mark.parametrize("normalize", [True, False])
    @pytest.mark.parametrize("k", [1, 7, 60])
    def test_distances_are_those_of_scikit_learn(
        self, normalize: bool, k: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ood, "_MOST_DISTANCES", 600)  # ten rows at a time
        rng = np.random.default_rng(k)
        bank, x = rng.normal(3, 1, size=(60, 8)), rng.normal(3, 1, size=(33, 8))
        lengths = [np.linalg.norm(table, axis=1, keepdims=True) if normalize else 1 for table in (bank, x)]
        oracle = NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(bank / lengths[0])
        expected = -oracle.kneighbors(x / lengths[1])[0][:, -1]
        found = ood.knn(x, torch.from_numpy(bank), k=k, normalize=normalize)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-10)

    @pytest.mark.parametrize("normalize", [True, False])
    def test_a_training_item_is_its_own_first_neighbour(self, normalize: bool) -> None:
        bank = torch.randn(40, 6, generator=torch.Generator().manual_seed(0)) + 1000
        assert (ood.knn(bank, bank, k=1, normalize=normalize) == 0).all()

    @pytest.mark.parametrize("offset", [0.0, 1e5, 1e8])
    def test_a_large_common_offset_costs_no_digits(self, offset: float) -> None:
        rng = np.random.default_rng(0)
        bank, x = rng.normal(size=(60, 7)) + offset, rng.normal(size=(40, 7)) + offset
        distances = np.linalg.norm(x[:, None] - bank, axis=2)
        np.testing.assert_allclose(ood.knn(x, bank, k=5, normalize=False), -np.sort(distances)[:, 4], rtol=1e-10)

    @pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e200])
    def test_lengths_of_any_size_are_divided_out(self, scale: float) -> None:
        rng = np.random.default_rng(0)
        bank, x = rng.normal(size=(60, 7)), rng.normal(size=(40, 7))
        np.testing.assert_allclose(ood.knn(scale * x, scale * bank, k=5), ood.knn(x, bank, k=5), rtol=1e-10)

    def test_complex_features_are_refused(self) -> None:
        for values in (torch.ones(3, 2, dtype=torch.complex64), np.ones((3, 2), dtype=complex)):
            with pytest.raises(InputError) as error:
                ood.knn(values, torch.ones(3, 2), k=1)
            assert str(error.value) == (
                "features must be real numbers, but they are complex. Pass a tensor or an array."
            )

    def test_more_neighbours_lie_farther(self) -> None:
        bank = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
        by_k = np.stack([ood.knn(bank[:5], bank, k=k) for k in range(1, 41)])
        assert (np.diff(by_k, axis=0) <= 0).all()

    def test_a_vector_of_length_zero_stays_as_it_is(self) -> None:
        np.testing.assert_array_equal(ood.knn([[0.0, 0.0]], [[3.0, 4.0], [0.0, 0.0]], k=2), [-1.0])

    def test_autocast_does_not_round_distances(self) -> None:
        bank = torch.randn(60, 6, generator=torch.Generator().manual_seed(0))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rounded = ood.knn(bank, bank)
        np.testing.assert_array_equal(rounded, ood.knn(bank, bank))

    @pytest.mark.parametrize(
        ("features", "bank", "k", "message"),
        [
            (
                torch.ones(1, 2),
                torch.ones(10, 2),
                50,
                "k must be at most 10, the training features in the bank, but got 50. Lower k, or pass more training features.",
            ),
            (
                torch.ones(1, 2),
                torch.ones(10, 2),
                0,
                "k must be a whole number of at least 1, but got 0. Pass an int, 1 or more.",
            ),
            (
                torch.ones(1, 3),
                torch.ones(10, 2),
                1,
                "features and bank must have the same number of columns, but got 3 and 2. Take both from the same layer.",
            ),
            (
                torch.ones(1, 2),
                torch.ones(0, 2),
                1,
                "bank must have 2 dimensions, the first of them items, none empty, but the shape is (0, 2). Reshape it.",
            ),
            (
                torch.ones(1, 2, 2),
                torch.ones(1, 2),
                1,
                "features must have 2 dimensions, the first of them items, none empty, but the shape is (1, 2, 2). Reshape it.",
            ),
            (
                torch.tensor([[math.nan, 0.0]]),
                torch.ones(1, 2),
                1,
                "features must be finite, but got NaN or infinity. Check the model they are from.",
            ),
        ],
    )
    def test_wrong_features_are_named(self, features: Tensor, bank: Tensor, k: int, message: str) -> None:
        with pytest.raises(InputError) as error:
            ood.knn(features, bank, k=k)
        assert str(error.value) == message


class Recorder(nn.Module):
    """A model that remembers what it was shown."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.shown: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.shown.append(x.detach().clone())
        return self.model(x)


class TestOdin:
    def test_without_a_step_it_is_the_greatest_probability(self) -> None:
        model, x = small_resnet(), images(7)
        logits = ood.collect_outputs(model, x).logits
        np.testing.assert_allclose(ood.odin(model, x, std=STD, temperature=1, epsilon=0), ood.msp(logits), rtol=1e-6)

    @settings(max_examples=30)
    @given(tables(min_classes=3))
    def test_when_hot_it_ranks_by_the_greatest_less_the_mean_logit(self, z: np.ndarray) -> None:
        excess = z.max(axis=1) - z.mean(axis=1)
        order = np.argsort(excess)
        found = ood.odin(nn.Identity(), torch.from_numpy(z), std=1, temperature=1e6, epsilon=0)[order]
        apart = np.diff(excess[order]) > 1e-3
        assert (np.diff(found)[apart] > 0).all()

    def test_it_is_the_definition_one_image_at_a_time(self) -> None:
        model, x = small_resnet().double().eval(), images(5).double()
        step = 0.01 / torch.tensor(STD).double().view(3, 1, 1)
        expected = []
        for image in x:
            probe = image[None].clone().requires_grad_()
            loss = functional.cross_entropy(model(probe) / 100, model(probe).argmax(dim=1))
            loss.backward()
            moved = probe - step * probe.grad.sign()
            expected.append(torch.softmax(model(moved) / 100, dim=1).max().item())
        model.zero_grad()
        found = ood.odin(model, x, std=STD, temperature=100, epsilon=0.01, batch_size=2)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert all(parameter.grad is None for parameter in model.parameters())

    def test_each_pixel_moves_by_epsilon(self) -> None:
        recorder, x = Recorder(small_resnet()), images(4)
        ood.odin(recorder, x, std=STD, epsilon=0.02)
        before, after = recorder.shown
        torch.testing.assert_close(before, x)
        pixels = (after - before) * torch.tensor(STD).view(3, 1, 1)
        torch.testing.assert_close(pixels.abs(), torch.full_like(pixels, 0.02), rtol=1e-3, atol=1e-5)

    def test_the_step_raises_the_certainty(self) -> None:
        model, x = small_resnet(), images(20)
        still, moved = (ood.odin(model, x, std=STD, epsilon=epsilon) for epsilon in (0, 0.001))
        assert (moved > still).all()

    def test_tables_have_a_std_for_each_column(self) -> None:
        model = nn.Linear(3, 2)
        recorder, x = Recorder(model), torch.randn(4, 3)
        ood.odin(recorder, x, std=[1.0, 2.0, 4.0], epsilon=0.4)
        moves = (recorder.shown[1] - x).abs()
        torch.testing.assert_close(moves, torch.tensor([0.4, 0.2, 0.1]).expand(4, 3))

    def test_it_works_where_gradients_are_off(self) -> None:
        model, x = small_resnet(), images(3)
        with torch.no_grad():
            inside = ood.odin(model, x, std=STD)
        np.testing.assert_array_equal(inside, ood.odin(model, x, std=STD))
        assert not x.requires_grad

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                {"std": (1.0, 2.0)},
                "std must be one positive number, or 3, one per channel, but got (1.0, 2.0). Pass the divisor of the pixels.",
            ),
            (
                {"std": 0.0},
                "std must be one positive number, or 3, one per channel, but got 0.0. Pass the divisor of the pixels.",
            ),
            (
                {"std": 1.0, "epsilon": -1},
                "epsilon must be a number from 0 to 1e+06, but got -1. Pass one in that range.",
            ),
            (
                {"std": 1.0, "temperature": 0},
                "temperature must be a number from 1e-06 to 1e+12, but got 0. Pass one in that range.",
            ),
            (
                {"std": 1.0, "batch_size": 0},
                "batch_size must be a whole number of at least 1, but got 0. Pass an int, 1 or more.",
            ),
        ],
    )
    def test_wrong_settings_are_named(self, arguments: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError) as error:
            ood.odin(nn.Flatten(), images(2), **arguments)
        assert str(error.value) == message

    def test_bytes_cannot_take_a_step(self) -> None:
        with pytest.raises(InputError) as error:
            ood.odin(nn.Flatten(), torch.zeros(2, 3, dtype=torch.uint8), std=1)
        assert str(error.value) == (
            "inputs must be floating-point to take a step, but got torch.uint8. Normalise them first."
        )

    def test_a_model_without_derivatives_is_refused(self) -> None:
        class Detached(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                return x.detach()

        with pytest.raises(InputError) as error:
            ood.odin(Detached(), torch.zeros(2, 3), std=1)
        assert str(error.value) == (
            "the logits must have a derivative with respect to the inputs, but they have none. Remove no_grad(), detach() and "
            "conversions to whole numbers from the model."
        )

    def test_inputs_that_are_made_whole_have_no_derivative(self) -> None:
        class Looked(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(9, 3)

            def forward(self, x: Tensor) -> Tensor:
                return self.embed(x.long()).mean(dim=1)

        with pytest.raises(InputError, match="the logits must have a derivative with respect to the inputs"):
            ood.odin(Looked(), torch.rand(4, 5), std=1)

    def test_inputs_may_be_from_inference_mode(self) -> None:
        model, x = small_resnet(), images(3)
        with torch.inference_mode():
            inferred = x * 1
        np.testing.assert_array_equal(ood.odin(model, inferred, std=STD), ood.odin(model, x, std=STD))


class Tokens(nn.Module):
    """A head on the first of several vectors, called by keyword; its linear layers are not registered in order."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(input=self.inner(x)[:, 0])


class TestCollecting:
    @pytest.mark.parametrize("batch_size", [1, 4, 100])
    def test_features_are_what_the_head_takes_in(self, batch_size: int) -> None:
        model, x = small_resnet(), images(9)
        guessed = ood.collect_outputs(model, x, batch_size=batch_size)
        told = ood.collect_outputs(model, x, batch_size=batch_size, head=model.head)
        model.eval()
        for found in (guessed, told):
            torch.testing.assert_close(found.features, model.features(x).detach())
            torch.testing.assert_close(found.logits, model(x).detach())
        assert not guessed.logits.requires_grad
        assert not guessed.features.requires_grad

    def test_the_last_linear_layer_is_the_one_that_runs_last(self) -> None:
        model, x = Tokens(), torch.randn(5, 2, 4)
        found = ood.collect_outputs(model, x, batch_size=2)
        torch.testing.assert_close(found.features, model.inner(x)[:, 0].detach())

    def test_features_of_another_number_of_rows_are_refused(self) -> None:
        class PerToken(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.head = nn.Linear(3, 4)

            def forward(self, x: Tensor) -> Tensor:
                return self.head(x.flatten(0, 1)).view(len(x), -1, 4).mean(dim=1)

        with pytest.raises(InputError) as error:
            ood.collect_outputs(PerToken(), torch.randn(10, 5, 3))
        assert str(error.value) == (
            "the features are the input of the head, but it took 50 rows for 10 items. "
            "Pass head=, a layer whose input has one row per item."
        )

    @pytest.mark.parametrize(
        ("model", "x", "says"),
        [
            (nn.Sequential(nn.Embedding(4, 3), nn.Flatten()), torch.full((2, 2), 9), "index out of range in self"),
            (
                nn.Bilinear(3, 3, 2),
                torch.ones(2, 3),
                "Bilinear.forward() missing 1 required positional argument: 'input2'",
            ),
        ],
    )
    def test_whatever_the_model_raises_is_reported(self, model: nn.Module, x: Tensor, says: str) -> None:
        with pytest.raises(InputError) as error:
            ood.collect_outputs(model, x)
        assert str(error.value) == (
            f"the model must take inputs of shape {tuple(x.shape)} and type {x.dtype}, but it says: {says}. "
            "Prepare the inputs as in training."
        )

    def test_a_pass_that_changes_weights_is_refused_only_where_it_matters(self) -> None:
        model = nn.Sequential(nn.Embedding(4, 3, max_norm=0.1), nn.Flatten(), nn.Linear(6, 2))
        before = model[0].weight.detach().clone()
        inputs, targets = torch.ones(2, 2, dtype=torch.int64), [[1.0, 0.0], [0.5, 0.5]]
        state = model.state_dict()
        for measure in (
            lambda: curvature(model, inputs, targets),
            lambda: barrier(model, state, state, inputs, targets),
        ):
            with pytest.raises(InputError) as error:
                measure()
            assert str(error.value) == (
                "a forward pass must not change the weights, but embeddings with max_norm do ('0'). "
                "Set their max_norm to None after training."
            )
        assert torch.equal(model[0].weight, before)
        assert len(ood.collect_outputs(model, inputs).logits) == 2

    def test_a_model_may_use_its_memory_again(self) -> None:
        class Thrifty(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.head = nn.Linear(4, 3)
                self.memory = torch.empty(2, 4)

            def forward(self, x: Tensor) -> Tensor:
                return self.head(self.memory.copy_(x))

        x = torch.randn(6, 4)
        assert torch.equal(ood.collect_outputs(Thrifty(), x, batch_size=2).features, x)

    def test_a_head_that_does_not_always_run_is_refused(self) -> None:
        class Fickle(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.head = nn.Linear(3, 3)

            def forward(self, x: Tensor) -> Tensor:
                return self.head(x) if x.sum() > 0 else x

        with pytest.raises(InputError, match="no linear layer ran"):
            ood.collect_outputs(Fickle(), torch.tensor([[1.0] * 3, [-1.0] * 3]), batch_size=1)

    def test_a_head_may_be_any_layer(self) -> None:
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Tanh())
        found = ood.collect_outputs(model, images(3), head=model[3])
        torch.testing.assert_close(found.logits, found.features.tanh())

    def test_the_model_is_found_again_as_it_was(self) -> None:
        model = small_resnet()
        model.train()
        model.bn.eval()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        ood.collect_outputs(model, images(3))
        ood.odin(model, images(3), std=STD)
        assert model.training
        assert model.head.training
        assert not model.bn.training
        assert not any(module._forward_pre_hooks for module in model.modules())
        for name, value in model.state_dict().items():
            torch.testing.assert_close(value, before[name], rtol=0, atol=0)

    def test_hooks_go_even_when_the_model_fails(self) -> None:
        model = small_resnet()
        with pytest.raises(InputError) as error:
            ood.collect_outputs(model, torch.zeros(2, 5, 32, 32))
        assert str(error.value).startswith(
            "the model must take inputs of shape (2, 5, 32, 32) and type torch.float32, but it says: Given groups=1, "
        )
        assert str(error.value).endswith(". Prepare the inputs as in training.")
        assert model.training
        assert not any(module._forward_pre_hooks for module in model.modules())

    def test_precision_is_what_the_caller_sets(self) -> None:
        model, x = small_resnet(), images(4)
        assert ood.collect_outputs(model, x).logits.dtype == torch.float32
        with torch.autocast("cpu", dtype=torch.bfloat16):
            half = ood.collect_outputs(model, x)
            assert half.logits.dtype == torch.bfloat16
            assert np.isfinite(ood.odin(model, x, std=STD)).all()
        assert ood.collect_outputs(model.double(), x.double()).features.dtype == torch.float64
        assert set(ood.ood_scores(half, half.features, k=2)) == {*OF_LOGITS, "knn"}

    def test_every_input_is_passed_once_and_twice_for_odin(self) -> None:
        recorder, x = Recorder(small_resnet()), images(7)
        outputs = ood.collect_outputs(recorder, x, batch_size=3)
        ood.ood_scores(outputs, outputs.features, k=2)
        assert torch.equal(torch.cat(recorder.shown), x)
        recorder.shown.clear()
        ood.odin(recorder, x, std=STD, batch_size=3)
        assert [len(batch) for batch in recorder.shown] == [3, 3, 3, 3, 1, 1]

    @pytest.mark.parametrize(
        ("model", "head", "got"),
        [
            (nn.Flatten(), None, "no linear layer ran"),
            (nn.Flatten(), nn.Linear(3, 2), "no such layer ran"),
            (
                nn.Sequential(nn.Flatten(), nn.Linear(3072, 4), nn.GLU()),
                None,
                "the last linear layer gives 4 columns and the model 2",
            ),
        ],
    )
    def test_a_head_that_is_not_found_is_asked_for(self, model: nn.Module, head: nn.Module | None, got: str) -> None:
        with pytest.raises(InputError) as error:
            ood.collect_outputs(model, images(2), head=head)
        assert str(error.value) == (
            f"the features are the input of the head, but {got}. "
            "Pass head=, the layer of the model, not compiled, that turns features into logits."
        )

    @pytest.mark.parametrize(
        ("model", "got"), [(nn.Identity(), "a tensor of shape (2, 3, 32, 32)"), (nn.LSTM(32, 4), "a tuple")]
    )
    def test_what_gives_no_logits_is_refused(self, model: nn.Module, got: str) -> None:
        x = images(2) if isinstance(model, nn.Identity) else images(2)[:, 0]
        for measure in (ood.collect_outputs, lambda *each: ood.odin(*each, std=1)):
            with pytest.raises(InputError) as error:
                measure(model, x)
            assert str(error.value) == (
                f"the model must give logits (2, K) for 2 inputs, but it gave {got}. Wrap the model."
            )

    def test_wrong_arguments_are_named(self) -> None:
        with pytest.raises(InputError, match=r"^inputs must have at least 1 rows"):
            ood.collect_outputs(small_resnet(), images(0))
        with pytest.raises(InputError, match=r"^inputs must be Tensor, but got ndarray"):
            ood.collect_outputs(small_resnet(), images(1).numpy())  # type: ignore[arg-type]
        with pytest.raises(InputError, match=r"^model must be Module, but got str"):
            ood.collect_outputs("model", images(1))  # type: ignore[arg-type]


class TestTable:
    def test_scores_tell_two_clouds_apart(self) -> None:
        rng = torch.Generator().manual_seed(0)
        model = nn.Linear(2, 2, bias=False)
        nn.init.eye_(model.weight)
        bank = torch.randn(200, 2, generator=rng) + torch.tensor([6.0, 0.0])
        inside, outside = bank[:50] + 0.1, torch.randn(70, 2, generator=rng)
        familiar, strange = (
            ood.ood_scores(ood.collect_outputs(model, x), bank, normalize=False) | {"odin": ood.odin(model, x, std=1.0)}
            for x in (inside, outside)
        )
        table = ood.ood_table(familiar, strange)
        assert list(table) == ["energy", "msp", "predictive_entropy", "logit_margin", "knn", "odin"]
        for name, found in table.items():
            assert found == ood.Detection(
                ood.auroc(familiar[name], strange[name]), ood.fpr95(familiar[name], strange[name])
            )
            assert found.auroc > 0.95
            assert found.fpr95 < 0.2

    def test_both_sets_must_have_the_same_scores(self) -> None:
        with pytest.raises(InputError) as error:
            ood.ood_table({"msp": [1.0]}, {"msp": [1.0], "odin": [1.0]})
        assert (
            str(error.value)
            == "both sets must have the same scores, but only one has 'odin'. Score both in the same way."
        )

    def test_the_scores_of_a_set_must_be_of_the_same_inputs(self) -> None:
        with pytest.raises(InputError) as error:
            ood.ood_table({"msp": [1.0], "knn": [1.0]}, {"msp": [1.0, 2.0], "knn": [1.0]})
        assert str(error.value) == (
            "all out_scores must be of the same inputs, but they have 2 (msp), 1 (knn) rows. "
            "Score the same inputs each time."
        )

    def test_a_model_of_nan_is_named(self) -> None:
        model = small_resnet()
        nn.init.constant_(model.head.bias, math.nan)
        outputs = ood.collect_outputs(model, images(2))
        for measure in (
            lambda: ood.ood_scores(outputs, outputs.features, k=1),
            lambda: ood.odin(model, images(2), std=STD),
        ):
            with pytest.raises(InputError, match=r"^logits must be finite, but 2 rows hold NaN"):
                measure()


def test_nothing_is_left_behind_by_fifty_rounds() -> None:
    model, x = small_resnet(), images(4)

    def measure() -> None:
        outputs = ood.collect_outputs(model, x, batch_size=2)
        scores = ood.ood_scores(outputs, outputs.features, k=2) | {"odin": ood.odin(model, x, std=STD, batch_size=2)}
        ood.ood_table(scores, scores)

    assert_nothing_kept(measure)
