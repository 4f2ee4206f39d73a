"""A trained model in one file of numbers and text, so that reading it runs no code."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from votewise._checks import check_choice, check_class_names, check_number, first_few
from votewise._errors import InputError, MissingExtraError, VotewiseError
from votewise._files import as_path, whole_file
from votewise._json import parse_json
from votewise.metrics.temperature import LEAST_TEMPERATURE, MOST_TEMPERATURE
from votewise.models import KINDS, Model, find_model
from votewise.models.catalog import saved_model
from votewise.models.encoder import SavedEncoder, is_encoder
from votewise.training.config import TrainConfig

FORMAT = 1

_KEY = "votewise"
_ENCODER_KEY = "encoder"


@dataclass(frozen=True)
class ModelConfig:
    """What a model is and how it was trained.

    Attributes:
        model: its name in `MODELS`.
        kind: kind of its inputs.
        input_shape: shape of one input: images (H, W, C), features (D,), n-grams (L,).
        classes: what its outputs mean.
        recipe: the training recipe, whose mean and std normalise images.
        reading: how to read its inputs, in plain JSON.
        training: method, seed, data and version, in plain JSON.
        temperature: what its logits are divided by, fitted on items that it was not trained on; 1 if none was.
        encoder: what is saved of its pretrained encoder beside the weights; None if it has none.
    """

    model: str
    kind: str
    input_shape: tuple[int, ...]
    classes: tuple[str, ...]
    recipe: TrainConfig
    reading: Mapping[str, Any]
    training: Mapping[str, Any]
    temperature: float = 1.0
    encoder: SavedEncoder | None = None

    def build(self) -> nn.Module:
        """The model with fresh weights."""
        if self.encoder is not None:
            return self.encoder.build(len(self.classes))
        return find_model(self.model, self.kind).build(len(self.classes), self.input_shape)

    def input_model(self, model: nn.Module) -> Model:
        """The row that prepares new inputs for the model.

        Args:
            model: the model of this config, with its weights.
        """
        return find_model(self.model, self.kind) if self.encoder is None else saved_model(self.encoder, model)

    def to_json(self) -> str:
        """The config as JSON, as it is stored."""
        values = {name: getattr(self, name) for name in _IN_CONFIG}
        return json.dumps({**values, "recipe": self.recipe.to_dict(), "format": FORMAT}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> ModelConfig:
        """The config that `to_json` wrote; anything else is an error."""
        values = parse_json(text)
        if not isinstance(values, dict):
            raise InputError("a model's config must be a JSON object", f"got {type(values).__name__}", "Save it again")
        stored = values.pop("format", None)
        if stored != FORMAT:
            raise InputError(
                f"the model must have format {FORMAT}", f"got format {stored!r}", "Read it with a newer votewise"
            )
        values.setdefault("temperature", 1.0)  # older than models with a temperature
        _check_names(values, _IN_CONFIG)
        check_choice("the kind of inputs", values["kind"], KINDS)
        check_number("the temperature", values["temperature"], LEAST_TEMPERATURE, MOST_TEMPERATURE)
        return cls(
            values["model"],
            values["kind"],
            tuple(_whole(number) for number in values["input_shape"]),
            check_class_names(values["classes"]),
            TrainConfig.from_dict(values["recipe"]),
            dict(values["reading"]),
            dict(values["training"]),
            float(values["temperature"]),
        )


_IN_CONFIG = tuple(field.name for field in fields(ModelConfig) if field.name != "encoder")


def save_state(path: str | os.PathLike[str], state: Mapping[str, Tensor]) -> None:
    """Write weights and buffers by name as safetensors, completely or not at all."""
    _write_tensors(path, state, None)


def load_state(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The weights and buffers that `save_state` wrote; anything else is an `InputError`."""
    tensors = _safetensors()
    try:
        return tensors.torch.load_file(as_path(path))
    except tensors.SafetensorError as error:
        raise InputError(
            f"{os.fspath(path)!r} must hold weights", f"reading it failed: {error}", "Train the run again"
        ) from None


def save_model(path: str | os.PathLike[str], model: nn.Module, config: ModelConfig) -> None:
    """Write a model as safetensors with its config in the metadata, completely or not at all.

    Args:
        path: the file, usually .safetensors.
        model: a model that `config.build()` built.
        config: describes it.
    """
    encoder = {} if config.encoder is None else {_ENCODER_KEY: config.encoder.to_json()}
    _write_tensors(path, model.state_dict(), {_KEY: config.to_json(), **encoder})


def _write_tensors(path: str | os.PathLike[str], state: Mapping[str, Tensor], metadata: dict[str, str] | None) -> None:
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    # In memory first: if we write the file ourselves, a full disk is a plain OSError.
    content = _safetensors().torch.save(tensors, metadata=metadata)
    with whole_file(path) as partial:
        partial.write_bytes(content)


def load_model(path: str | os.PathLike[str]) -> tuple[nn.Module, ModelConfig]:
    """Read a model that `save_model` wrote, ready to predict.

    Args:
        path: the file; one that is damaged, or not a votewise model, is refused before any weight is allocated.
    """
    _safetensors()
    from safetensors import SafetensorError, safe_open

    if not as_path(path).is_file():
        raise InputError("the model must be a file", f"{os.fspath(path)!r} was not found", "Check the path")
    try:
        with safe_open(path, framework="pt") as file:
            config = _read_config(path, file.metadata())
            _check_tensors(path, {name: file.get_slice(name) for name in file.keys()}, config)  # noqa: SIM118
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise _unreadable(path, f"reading it failed: {error}") from None
    model = config.build()
    model.load_state_dict(state)
    return model.eval(), config


def _read_config(path: str | os.PathLike[str], metadata: Mapping[str, str] | None) -> ModelConfig:
    if not metadata or _KEY not in metadata:
        raise _unreadable(path, "it has no votewise config")
    try:
        config = ModelConfig.from_json(metadata[_KEY])
        if is_encoder(config.model):
            if _ENCODER_KEY not in metadata:
                raise InputError("an encoder must be saved with its files", "they are missing", "Save it again")
            return replace(config, encoder=SavedEncoder.from_json(metadata[_ENCODER_KEY]))
        return config
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _unreadable(path, f"its config is invalid: {str(error).removesuffix('.')}") from None


def _check_tensors(path: str | os.PathLike[str], found: Mapping[str, Any], config: ModelConfig) -> None:
    """Compare names and shapes with those of the model in the config, built without allocating memory."""
    try:
        with torch.device("meta"):
            wanted = config.build().state_dict()
    except VotewiseError:
        raise
    except Exception as error:  # impossible shapes fail in many ways
        raise _unreadable(path, f"its config describes no network: {error}") from None
    other = sorted(set(found) ^ set(wanted))
    if other:
        raise _unreadable(path, f"weights are missing or unknown: {first_few(other)}")
    for name, value in wanted.items():
        if tuple(found[name].get_shape()) != tuple(value.shape):
            raise _unreadable(
                path, f"{name!r} has the shape {tuple(found[name].get_shape())} instead of {tuple(value.shape)}"
            )


def _unreadable(path: str | os.PathLike[str], got: str) -> InputError:
    return InputError(
        f"{os.fspath(path)!r} must be a model saved by votewise train", got, "Check the path, or train it again"
    )


def _check_names(values: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for name in values:
        check_choice("a name in the config", name, known)
    lacking = [name for name in known if name not in values]
    if lacking:
        raise InputError(f"the config must have {', '.join(known)}", f"it lacks {first_few(lacking)}", "Save it again")


def _whole(number: Any) -> int:
    if type(number) is not int or not 0 < number < 2**31:
        raise InputError("a shape must be positive whole numbers", f"got {number!r}", "Save it again")
    return number


def _safetensors() -> Any:
    try:
        import safetensors.torch
    except ImportError:
        raise MissingExtraError("saving and loading models", "safetensors", "train") from None
    return safetensors
