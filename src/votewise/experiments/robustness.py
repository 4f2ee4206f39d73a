"""Scores of a model on corrupted images of the items that its run held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from votewise._errors import InputError
from votewise.experiments.run import score_run

if TYPE_CHECKING:
    from votewise.experiments.measure import MeasuredRun, Plan, Weights

# What is kept of the scores: against the votes, calibration, and accuracy.
SCORES = ("soft_nll", "vote_ece", "accuracy")


def measure_robustness(
    subject: MeasuredRun,
    weights: Weights,
    plan: Plan,  # noqa: ARG001
) -> tuple[dict[str, float], dict[str, Any]]:
    """Scores of the best model under each corruption and strength, named like "noise/3/soft_nll"."""
    import torch

    from votewise.data.corruptions import CORRUPTIONS
    from votewise.training import predict_logits

    data, rows = subject.data, subject.split.held_out
    if data.kind != "images":
        raise InputError("robustness is measured on images", f"got {data.kind}", "Leave it out of the plan")
    model = subject.model(weights["best"])
    numbers: dict[str, float] = {}
    for name, (corrupt, strengths) in CORRUPTIONS.items():
        for place, strength in enumerate(strengths, start=1):
            corrupted = subject.placed(corrupt(data.inputs[rows], strength, seed=subject.run.seed))
            items = torch.arange(len(corrupted), device=subject.device)
            scores = score_run(data, rows, predict_logits(model, corrupted, items).cpu().numpy())
            numbers |= {f"{name}/{place}/{score}": scores[score] for score in SCORES}
    return numbers, {}
