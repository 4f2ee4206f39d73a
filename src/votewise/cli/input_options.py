"""Options for users' own inputs and for training on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from votewise._checks import check_choice, check_number
from votewise._errors import InputError
from votewise._options import join_label, split_label
from votewise.cli import printing
from votewise.cli.options import option
from votewise.delivery.methods import METHODS, parse_method

if TYPE_CHECKING:
    from votewise.data import Prepared
    from votewise.experiments import Run
    from votewise.training import TrainConfig

METHOD_NAMES = f"{', '.join(METHODS)}."
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]


@dataclass(frozen=True)
class InputOptions:
    """Where the inputs are."""

    heading: ClassVar[str] = "Inputs"

    images: Annotated[Path | None, option("Folder of images, one file per item, or an .npz.")] = None
    features: Annotated[Path | None, option("Table of numbers, one row per item: .csv .tsv .jsonl .parquet .npy")] = (
        None
    )
    text: Annotated[Path | None, option("Table with one text per item: .csv .tsv .jsonl .parquet")] = None
    text_column: Annotated[
        str | None, option("Column of the text [text]; two with a comma for pairs: first,second.")
    ] = None

    @property
    def text_columns(self) -> str | list[str] | None:
        """The column of the texts, or those of pairs."""
        names = None if self.text_column is None else self.text_column.split(",")
        return names[0] if names is not None and len(names) == 1 else names

    def place(self) -> tuple[str, Path]:
        """The kind of the inputs, "images", "features" or "text", and where they are."""
        named = {"images": self.images, "features": self.features, "text": self.text}
        given = [(kind, path) for kind, path in named.items() if path is not None]
        if len(given) != 1:
            raise InputError(
                "one of --images, --features and --text must say where the inputs are",
                f"got {' and '.join(f'--{kind}' for kind, _ in given)}" if given else "got none",
                "Pass exactly one",
            )
        if self.text_column is not None and self.text is None:
            raise InputError("--text-column is for --text", f"got --{given[0][0]}", "Leave it out")
        return given[0]


@dataclass(frozen=True)
class ModelOptions:
    """One model: what its labels are, and how it is scored."""

    method: Annotated[str, typer.Option("--method", "-m", help=f"How the votes are delivered: {METHOD_NAMES}")] = (
        "multipass"
    )
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0
    held_out: Annotated[float, typer.Option(help="Share of the items held out to score the model; 0 for none.")] = 0.2
    at: Annotated[
        str,
        typer.Option(help="Epoch to keep: best on a further tenth of the items, or last, which needs none of them."),
    ] = "best"
    temperature: Annotated[
        bool, typer.Option("--temperature", help="Fit a temperature on that tenth, and save it with the model.")
    ] = False
    refit: Annotated[
        bool, typer.Option("--refit", help="Train the saved model anew on all items for the epochs that were chosen.")
    ] = False
    predictions: Annotated[Path | None, option("Predictions to write for the held-out items: .csv .parquet")] = None

    @property
    def selected(self) -> float:
        """The share of the items that choose the epoch and fit a temperature."""
        from votewise.experiments.defaults import CHOOSING

        check_choice("--at", self.at, ("best", "last"))
        return CHOOSING if self.at == "best" or self.temperature else 0.0

    def run(self, data: Prepared, recipe: TrainConfig, model: str) -> Run:
        """The run that trains it, whose split does not look at votes.

        Args:
            data: what it is trained on.
            recipe: the training recipe.
            model: the network with its options.
        """
        from votewise.experiments import Run

        method, chosen = parse_method(self.method)
        return Run(
            data.name, data.checksum, method, self.seed, recipe, model, held_out=self.held_out, selected=self.selected,
            options=tuple(chosen.items()), blind=True,
        )  # fmt: skip

    def check(self, output: Path) -> None:
        """Refuse an unknown method, and files that cannot hold the model or its predictions.

        Args:
            output: where the model will be written.
        """
        parse_method(self.method)
        if output.suffix.lower() != ".safetensors":
            raise InputError("the model must end in .safetensors", f"got {str(output)!r}", "Rename it")
        if self.predictions is not None:
            check_choice("the suffix of --predictions", self.predictions.suffix.lower(), (".csv", ".parquet"))
            if self.held_out == 0:
                raise InputError("--predictions needs held-out items", "got --held-out 0", "Hold some out")


@dataclass(frozen=True)
class TrainingOptions:
    """How inputs are joined with votes and trained on."""

    heading: ClassVar[str] = "Training"

    missing_inputs: Annotated[
        str, typer.Option(help="What to do with items without input or inputs without votes: error or drop.")
    ] = "error"
    size: Annotated[int | None, typer.Option(min=1, help="Side of images in pixels [32].", show_default=False)] = None
    model: Annotated[
        str | None,
        option("small-cnn, resnet18, mlp, ngram or encoder:NAME_OR_FOLDER; chosen by the kind of inputs if omitted."),
    ] = None
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the items.", show_default=False)] = None
    batch_size: Annotated[int | None, typer.Option(min=1, help="Items per step.", show_default=False)] = None
    learning_rate: Annotated[float | None, option("Initial learning rate; cosine decay to 0.")] = None
    augment: Annotated[
        bool, typer.Option("--augment/--no-augment", help="Shift and mirror images during training.")
    ] = True
    device: Device = "auto"

    @property
    def recipe(self) -> dict[str, Any]:
        """What is given of a recipe, by name, and where it will be trained."""
        return {name: getattr(self, name) for name in ("epochs", "batch_size", "learning_rate", "augment", "device")}

    def model_option(self, kind: str) -> str:
        """The model with its options as they were given, defaults too: images in an .npz may contradict them.

        Wrong choices are refused here, before anything is read.
        """
        from votewise.experiments.run import DEVICES
        from votewise.models import default_model
        from votewise.models.encoder import is_encoder

        check_choice("--device", self.device, DEVICES)
        check_choice("--missing-inputs", self.missing_inputs, ("error", "drop"))
        for name, given in (("--size", self.size is not None), ("--no-augment", not self.augment)):
            if given and kind != "images":
                raise InputError(f"{name} is for --images", f"got --{kind}", "Leave it out")
        if self.learning_rate is not None:
            check_number("--learning-rate", self.learning_rate, 1e-9, 1e3)
        label = self.model or default_model(kind)
        if self.size is None:
            return label
        if is_encoder(label):
            raise InputError(
                "--size is for networks that take images of any size",
                "got an encoder, which has its own",
                "Leave it out",
            )
        name, written = split_label(label)
        if "size" in written:
            raise InputError("the size of images must be given once", "got it in --size and --model", "Leave one out")
        return join_label(name, {**written, "size": self.size})


def print_item_column_note(classes: Sequence[str], quiet: bool) -> None:
    """Say how to score a table of predictions in which a class has the name of the item column."""
    from votewise.predictions import item_column, must_name_item

    if must_name_item(classes):
        column = item_column(classes)
        printing.print_note(
            "a class has the same name as an item column. To score these predictions, rename the item column to "
            f"{column!r} in the votes and pass --item {column}.",
            quiet,
        )
