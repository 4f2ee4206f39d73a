"""`votewise compare`: compare deliveries on a user's own data."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from votewise.cli import options, printing
from votewise.cli.comparison_options import ComparisonOptions, RunOptions
from votewise.cli.documents import reserved_page
from votewise.cli.input_options import InputOptions, TrainingOptions
from votewise.cli.options import Json, Quiet, grouped_options
from votewise.cli.reading_options import ReadingOptions, VotesFile
from votewise.cli.run_display import run_display


@grouped_options
def compare_command(
    *,
    votes_file: VotesFile,
    inputs: InputOptions,
    output: Annotated[Path, typer.Option("--output", "-o", help="Report to write.")] = Path("report.html"),
    compared: ComparisonOptions,
    kept: RunOptions,
    training: TrainingOptions,
    reading: ReadingOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare deliveries on your own data."""
    options.require_torch_for_command("training")
    from votewise.data import item_data, read_own_data
    from votewise.delivery.methods import parse_methods
    from votewise.experiments import compare_methods, default_grid, default_recipe, find_backend
    from votewise.models import find_model, run_label
    from votewise.records import results_of
    from votewise.report import compare_results

    silent = quiet or as_json
    (kind, path), text_column = inputs.place(), inputs.text_columns
    changes, store = training.recipe, kept.store()
    options.check_output_options([output], [votes_file, path])
    name = training.model_option(kind)
    model, label, methods = find_model(name, kind), run_label(name, kind), parse_methods(compared.methods)
    grid = default_grid(methods, compared.seeds, model=label, held_out=compared.held_out, at=compared.at)
    backend = find_backend(kept.backend, device=training.device, jobs=kept.jobs)
    with (
        reserved_page(output, as_json=as_json) as page,
        run_display(silent, kept=store is not None, folder=kept.runs) as shown,
    ):
        votes = reading.load(votes_file, quiet=quiet)
        dataset, data = read_own_data(
            votes, kind, path, model, name=votes_file.stem, item=reading.item, text_column=text_column,
            missing=training.missing_inputs, track=shown.display.track,
        )  # fmt: skip
        for sentence in data.notes:
            printing.print_note(sentence, silent)
        items = item_data(dataset, shown=kept.items, track=partial(shown.display.track, description="pictures"))
        done = compare_methods(
            grid, data, default_recipe(data, **changes), store,
            items=items, backend=backend, retry_failed=kept.retry_failed, tell=shown.hear,
        )  # fmt: skip
        document = compare_results(
            results_of(done.records), {data.checksum: items}, at=compared.at, baseline=grid.methods[0],
            title=f"Deliveries compared on {dataset.name}", notes=data.notes,
        )  # fmt: skip
        page.write(document)
    counts = {"items": data.votes.n_items, "classes": data.votes.classes, "runs": len(done.records)}
    page.show({**counts, "trained": done.trained}, quiet=quiet)
    if training.model is None and kind != "features":
        printing.print_encoder_note(silent)
    if done.unsaved is not None:
        raise done.unsaved
    if document.data["failed"]:
        raise typer.Exit(1)
