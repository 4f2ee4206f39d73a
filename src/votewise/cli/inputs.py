"""Options for users' own inputs and for training on them: the same, in the same words, for every command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from votewise._checks import check_choice, check_number
from votewise._errors import InputError
from votewise.cli import options

if TYPE_CHECKING:
    from votewise.experiments.inputs import Reading, Source
    from votewise.experiments.material import Material
    from votewise.training import TrainConfig
    from votewise.votes import Votes


METHOD_NAMES = (
    "soft, multipass, deterministic-control, sls, shuffled-sls, majority, label-smoothing, soft-smoothed, dirichlet, "
    "dirichlet-fitted."
)


def _option(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, show_default=False)


@dataclass(frozen=True)
class InputOptions:
    """Which inputs the user named."""

    images: Annotated[Path | None, _option("Folder of images, a file an item; or .npz.")] = None
    features: Annotated[Path | None, _option("Table of numbers, a row an item: .csv .tsv .jsonl .parquet .npy")] = None
    text: Annotated[Path | None, _option("Table with a text for each item: .csv .tsv .jsonl .parquet")] = None
    text_column: Annotated[str | None, _option("Column of the text; 'text' if left out.")] = None

    def open_for(self, votes: Votes, *, item: str | None, size: int | None) -> Source:
        """Find the inputs of items with votes.

        Args:
            votes: which name the items.
            item: name of the item column of tables.
            size: of images from a folder.
        """
        from votewise.experiments.image_inputs import open_images

        if self.images is not None:
            return open_images(self.images, size=size, voted=votes.item_ids)
        return self._open_table(item, (), self.text_column)

    def open_as(self, reading: Reading, *, item: str | None) -> Source:
        """Find inputs, and read them as those of a model were.

        Args:
            reading: how that was.
            item: name of the item column of tables.
        """
        from votewise.experiments.image_inputs import open_images

        if self.images is not None:
            size = reading.size if self.images.is_dir() else None  # those of a .npz stay as they are
            return open_images(self.images, size=size, suffixes=reading.suffixes)
        return self._open_table(item, reading.columns, self.text_column or reading.text_column)

    def _open_table(self, item: str | None, columns: Sequence[str], text_column: str | None) -> Source:
        from votewise.experiments.table_inputs import open_features, open_texts

        if self.features is not None:
            return open_features(self.features, item=item, columns=columns)
        return open_texts(str(self.text), column=text_column, item=item)

    def kind(self) -> str:
        """What was named: "images", "features" or "text"."""
        given = [name for name in ("images", "features", "text") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(
                "one of --images, --features and --text must say where the inputs are",
                f"got {' and '.join('--' + name for name in given)}" if given else "got none",
                "Give one",
            )
        if self.text_column is not None and given != ["text"]:
            raise InputError("--text-column is for --text", f"got --{given[0]}", "Leave it out")
        return given[0]


@dataclass(frozen=True)
class TrainingOptions:
    """How the user wants inputs joined with votes, and trained on."""

    missing_inputs: Annotated[
        str, typer.Option(help="An item without input, or an input without votes: error or drop.")
    ] = "error"
    size: Annotated[int | None, typer.Option(min=1, help="Side of images in pixels; 32.", show_default=False)] = None
    model: Annotated[str | None, _option("small-cnn, resnet18, mlp or ngram; by the inputs if left out.")] = None
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the items.", show_default=False)] = None
    batch_size: Annotated[int | None, typer.Option(min=1, help="Items a step.", show_default=False)] = None
    learning_rate: Annotated[float | None, _option("At the start; it falls to 0 along a cosine.")] = None
    augment: Annotated[bool, typer.Option("--augment/--no-augment", help="Shift and mirror images while training.")] = (
        True
    )
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto"

    def check(self, kind: str) -> None:
        """Refuse wrong choices before anything is read."""
        from votewise.models import find_model

        check_choice("--device", self.device, ("auto", "cpu", "cuda"))
        check_choice("--missing-inputs", self.missing_inputs, ("error", "drop"))
        if self.size is not None and kind != "images":
            raise InputError("--size is for --images", f"got --{kind}", "Leave it out")
        if self.model is not None:
            find_model(self.model, kind)
        if self.learning_rate is not None:
            check_number("--learning-rate", self.learning_rate, 1e-9, 1e3)

    def model_name(self, material: Material) -> str:
        """The model asked for, or the usual one."""
        from votewise.models import default_model

        return self.model or default_model(material.kind)

    def recipe(self, material: Material) -> TrainConfig:
        """The usual recipe with what was asked for."""
        from votewise.experiments.recipes import default_recipe

        return default_recipe(
            material,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            augment=self.augment,
        )


def takes(**groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of dataclasses, and call it with one filled object for each.

    Args:
        groups: name of the command's parameter to the dataclass whose fields become options.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name not in groups]
        kinds = {name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()}

        def run(*arguments: Any, **given: Any) -> None:
            filled = {
                name: group(**{field.name: given.pop(field.name) for field in fields(group)})
                for name, group in groups.items()
            }
            command(*arguments, **filled, **given)

        added = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for part in kinds.values() for one in part.values()]
        first, *rest = own
        rest = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in rest]
        run.__doc__ = command.__doc__
        run.__signature__ = inspect.Signature([first, *added, *rest])  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in (first, *added, *rest)}
        return run

    return decorate


def load_material(
    votes: Votes, inputs: InputOptions, training: TrainingOptions, *, name: str, item: str | None, quiet: bool
) -> tuple[Material, Source]:
    """Votes joined with their inputs, with a progress display, and where the inputs came from.

    Args:
        votes: what people said.
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
    for told in material.notes:
        options.note(told, quiet)
    return material, source


def check_deliverable(votes: Votes, methods: Sequence[str], option: str) -> None:
    """Refuse methods that need more than shares where no more is known, and name the option that chose them."""
    from votewise.experiments import find_method

    try:
        for name in methods if votes.counts is None else ():
            find_method(name).build(votes, 0, 1)
    except InputError as error:
        raise InputError(error.wanted, error.got, f"{error.remedy}: see {option}") from None


def tell_item_column(classes: Sequence[str], quiet: bool) -> None:
    """Say how a table of predictions is scored in which a class is called like the item column."""
    from votewise.predictions import item_column, must_name_item

    if must_name_item(classes):
        column = item_column(classes)
        options.note(
            "a class is called like an item column. To score these predictions, call the column of items "
            f"{column!r} in the votes too, and say --item {column}.",
            quiet,
        )
