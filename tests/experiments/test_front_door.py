"""What users import: everything from two packages, and torch only when something is trained."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from small_runs import feature_material
from votewise import Votes, data, experiments, training
from votewise.records import results_of
from votewise.report import compare_results


def test_the_front_door_does_not_import_torch() -> None:
    script = (
        "import sys, votewise.experiments; "
        "print([name for name in ('torch', 'polars', 'scipy', 'PIL', 'jinja2', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_comparison_from_the_front_door(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "features.npy", rng.normal(size=(60, 3)))
    votes = Votes.from_counts(rng.multinomial(5, [0.6, 0.4], size=60), classes=["no", "yes"])
    prepared = data.prepare(data.join_inputs(votes, data.open_features(tmp_path / "features.npy"), name="mine"))
    recipe = experiments.default_recipe(prepared, epochs=2)
    runs = experiments.Grid(("soft", "majority"), range(2), folds=5).runs(prepared, recipe)
    records = experiments.execute(runs, prepared, backend=experiments.find_backend("device", device="cpu"))
    (comparison,) = compare_results(results_of(records), {}).data["comparisons"]
    assert {row["method"]: row["per_seed"] for row in comparison["rows"]} == {
        method: tuple(record.numbers["soft_nll_last"] for record in records if record.config["method"] == method)
        for method in ("soft", "majority")
    }


def test_one_model_from_the_front_door(tmp_path: Path) -> None:
    material = feature_material()
    run = experiments.Run("toy", material.checksum, "soft", 0, training.TrainConfig(epochs=1), "mlp")
    trained = experiments.train_model(run, material, device="cpu")
    training.save_model(tmp_path / "m.safetensors", trained.model, trained.config)
    model, config = training.load_model(tmp_path / "m.safetensors")
    assert isinstance(config, training.ModelConfig)
    probs = experiments.predict(model, config, material.inputs[trained.held_out])
    np.testing.assert_array_equal(probs, trained.probs)
