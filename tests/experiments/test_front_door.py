"""What users import: everything from two packages, and torch only when something is trained."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from small_runs import feature_material
from votewise import Votes, experiments, training
from votewise.experiments import execution


def test_the_front_door_does_not_import_torch() -> None:
    script = (
        "import sys, votewise.experiments; "
        "print([name for name in ('torch', 'polars', 'scipy', 'PIL', 'jinja2', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_comparison_from_the_front_door(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    np.save(tmp_path / "features.npy", rng.normal(size=(60, 3)))
    votes = Votes.from_counts(rng.multinomial(5, [0.6, 0.4], size=60), classes=["no", "yes"])
    material = experiments.join_inputs(votes, experiments.open_features(tmp_path / "features.npy"), name="mine")
    recipe = experiments.default_recipe(material, epochs=2)
    plan = experiments.ComparisonPlan(("soft", "majority"), seeds=2, model="mlp", recipe=recipe)
    runs = experiments.comparison_runs(plan, material)

    def in_this_process(configs, material, _jobs, _listener, keeper) -> None:  # type: ignore[no-untyped-def]
        for config in configs:
            keeper.keep(config, *execution.train_run_with_models(config, material))

    monkeypatch.setattr(execution, "_on_cores", in_this_process)
    records = experiments.execute(runs, material, device="cpu")
    content = experiments.summarise_comparison(plan, material, records)
    assert [row.method for row in content.comparisons[0].rows] == ["soft", "majority"]
    assert [row.per_seed for row in content.comparisons[0].rows] == [
        tuple(record.numbers["soft_nll_last"] for record in records if record.config["method"] == method)
        for method in plan.methods
    ]
    again = experiments.summarise_records(records, name="mine")
    assert [row.per_seed for row in again.comparisons[0].rows] == [row.per_seed for row in content.comparisons[0].rows]


def test_one_model_from_the_front_door(tmp_path: Path) -> None:
    material = feature_material()
    plan = experiments.ModelPlan("soft", 0, "mlp", training.TrainConfig(epochs=1))
    source = experiments.inputs.Reading()
    trained = experiments.train_model(material, source, plan, device="cpu")
    training.save_model(tmp_path / "m.safetensors", trained.model, trained.config)
    model, config = training.load_model(tmp_path / "m.safetensors")
    assert isinstance(config, training.ModelConfig)
    probs = experiments.predict(model, config, material.inputs[trained.held_out])
    np.testing.assert_array_equal(probs, trained.probs)
