"""Options for users' own inputs and for training on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise._checks import check_choice, check_number
from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.groups import option
from votewise.experiments.catalog import METHODS, find_method

if TYPE_CHECKING:
    from votewise.experiments.inputs import Reading, Source
    from votewise.experiments.material import Material
    from votewise.training import TrainConfig
    from votewise.votes import Votes


METHOD_NAMES = f"{', '.join(METHODS)}."
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]


@dataclass(frozen=True)
class InputOptions:
    """Where the inputs are."""

    images: Annotated[Path | None, option("Folder of images, one file per item, or an .npz.")] = None
    features: Annotated[Path | None, option("Table of numbers, one row per item: .csv .tsv .jsonl .parquet .npy")] = (
        None
    )
    text: Annotated[Path | None, option("Table with one text per item: .csv .tsv .jsonl .parquet")] = None
    text_column: Annotated[str | None, option("Column of the text [text].")] = None

    @property
    def path(self) -> Path | None:
        """Where the inputs are, whatever their kind."""
        return self.images or self.features or self.text

    def open_for(self, votes: Votes, *, item: str | None, size: int | None) -> Source:
        """Open the inputs of the items with votes.

        Args:
            votes: of these items.
            item: name of the item column of a table.
            size: side in pixels of images from a folder.
        """
        from votewise.experiments.image_inputs import open_images

        if self.images is not None:
            return open_images(self.images, size=size, voted=votes.item_ids)
        return self._open_table(item, (), self.text_column)

    def open_as(self, reading: Reading, *, item: str | None) -> Source:
        """Open inputs for a trained model.

        Args:
            reading: how its training inputs were read.
            item: name of the item column of a table.
        """
        from votewise.experiments.image_inputs import open_images

        if self.images is not None:
            size = reading.size if self.images.is_dir() else None  # images in an .npz keep their size
            return open_images(self.images, size=size, suffixes=reading.suffixes)
        return self._open_table(item, reading.columns, self.text_column or reading.text_column)

    def _open_table(self, item: str | None, columns: Sequence[str], text_column: str | None) -> Source:
        from votewise.experiments.table_inputs import open_features, open_texts

        if self.features is not None:
            return open_features(self.features, item=item, columns=columns)
        return open_texts(str(self.text), column=text_column, item=item)

    def kind(self) -> str:
        """Which option was given: "images", "features" or "text"."""
        given = [name for name in ("images", "features", "text") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(
                "one of --images, --features and --text must say where the inputs are",
                f"got {' and '.join('--' + name for name in given)}" if given else "got none",
                "Pass exactly one",
            )
        if self.text_column is not None and given != ["text"]:
            raise InputError("--text-column is for --text", f"got --{given[0]}", "Leave it out")
        return given[0]


@dataclass(frozen=True)
class TrainingOptions:
    """How inputs are joined with votes and trained on."""

    missing_inputs: Annotated[
        str, typer.Option(help="What to do with items without input or inputs without votes: error or drop.")
    ] = "error"
    size: Annotated[int | None, typer.Option(min=1, help="Side of images in pixels [32].", show_default=False)] = None
    model: Annotated[
        str | None, option("small-cnn, resnet18, mlp or ngram; chosen by the kind of inputs if omitted.")
    ] = None
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the items.", show_default=False)] = None
    batch_size: Annotated[int | None, typer.Option(min=1, help="Items per step.", show_default=False)] = None
    learning_rate: Annotated[float | None, option("Initial learning rate; cosine decay to 0.")] = None
    augment: Annotated[
        bool, typer.Option("--augment/--no-augment", help="Shift and mirror images during training.")
    ] = True
    device: Device = "auto"

    def check(self, kind: str) -> None:
        """Refuse wrong choices before anything is read."""
        from votewise.experiments.run import DEVICES
        from votewise.models import find_model

        check_choice("--device", self.device, DEVICES)
        check_choice("--missing-inputs", self.missing_inputs, ("error", "drop"))
        if self.size is not None and kind != "images":
            raise InputError("--size is for --images", f"got --{kind}", "Leave it out")
        if not self.augment and kind != "images":
            raise InputError("--no-augment is for --images", f"got --{kind}", "Leave it out")
        if self.model is not None:
            find_model(self.model, kind)
        if self.learning_rate is not None:
            check_number("--learning-rate", self.learning_rate, 1e-9, 1e3)

    def model_name(self, material: Material) -> str:
        """The requested model, or the default for these inputs."""
        from votewise.models import default_model

        return self.model or default_model(material.kind)

    def recipe(self, material: Material) -> TrainConfig:
        """The default recipe with the requested changes."""
        from votewise.experiments.recipes import default_recipe

        return default_recipe(
            material,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            augment=self.augment,
        )


def load_material(
    votes: Votes, inputs: InputOptions, training: TrainingOptions, *, name: str, item: str | None, quiet: bool
) -> tuple[Material, Source]:
    """Join votes with their inputs; return them with where the inputs were read.

    Args:
        votes: of the items.
        inputs: where the inputs are.
        training: how both are joined.
        name: of the data.
        item: name of the item column of tables.
        quiet: no progress, no notes.
    """
    from votewise.experiments.inputs import join_inputs

    source = inputs.open_for(votes, item=item, size=training.size)
    with options.progress(quiet) as display:
        material = join_inputs(
            votes,
            source,
            name=name,
            missing=training.missing_inputs,
            track=lambda rows: display.track(rows, description=f"reading {source.kind}"),
        )
    for sentence in material.notes:
        options.note(sentence, quiet)
    return material, source


def check_deliverable(votes: Votes, methods: Sequence[str], flag: str) -> None:
    """Refuse methods that need single votes where only shares are known.

    Args:
        votes: to deliver.
        methods: by name.
        flag: of the command line that chose them, for the error.
    """
    try:
        for name in methods if votes.counts is None else ():
            find_method(name).build(votes, 0, 1)
    except InputError as error:
        raise InputError(error.wanted, error.got, f"{error.remedy}: see {flag}") from None


def note_item_column(classes: Sequence[str], quiet: bool) -> None:
    """Say how to score a table of predictions in which a class has the name of the item column."""
    from votewise.predictions import item_column, must_name_item

    if must_name_item(classes):
        column = item_column(classes)
        options.note(
            "a class has the same name as an item column. To score these predictions, rename the item column to "
            f"{column!r} in the votes and pass --item {column}.",
            quiet,
        )
