"""The networks by name, for the command line and stored configs. Python code imports the classes.

A model is one row of `MODELS`. Its options have names and defaults, and are written behind its name:
`small-cnn:size=48`. Pretrained encoders are no rows, since there are as many as there are folders of them; they are
written `encoder:NAME_OR_FOLDER`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from torch import nn

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise._options import Options, chosen_options, join_label, split_label
from votewise._text import TextOrPair
from votewise.models.encoder import (
    DIGITS,
    FEATURES_VERSION,
    PREFIX,
    WAYS,
    Encoder,
    EncoderLabel,
    FrozenEncoder,
    SavedEncoder,
    TunedEncoder,
    features,
    frozen_head,
    is_encoder,
)
from votewise.models.features import MLP
from votewise.models.images import SmallCNN
from votewise.models.pretrained import open_pretrained
from votewise.models.readers import Encoded
from votewise.models.resnet import ResNet18
from votewise.models.text import NgramNet, hash_ngrams

KINDS = ("images", "features", "text")

# Shows progress over a sequence while it is gone through.
Track: TypeAlias = Callable[[Sequence[int]], Iterable[int]]


# Side of images in pixels; files are resized and cropped to it.
_SIZE: Options = {"size": 32}

# Longer texts keep a sample of their n-grams, so that a column of novels does not fill memory.
_MOST_NGRAMS = 512


@dataclass(frozen=True)
class Model:
    """One network, and how inputs are prepared for it.

    Attributes:
        kind: kind of its inputs, one of `KINDS`.
        build: makes the network from the number of classes and the shape of one input: images (H, W, C), features
            (D,), texts as `encode` gives them.
        encode: function from N texts, pairs of texts or images of Pillow, and a display of progress, to an array
            (N, ...) and notes, called once for all runs; None if its inputs are arrays as they are.
        options: names and values of its options; in `MODELS` their defaults.
        least_side: smallest side of an image in pixels.
        last_maps: function from such a network to the layer with its last feature maps; None if it has none.
        doing: what `encode` does, for a display of progress.
        cached_as: name of what `encode` gives, if that is worth keeping on disk for later; else empty.
        encoder: label of the pretrained encoder by its content, and its folder; None if it is none.
        name: its name in `MODELS`.
        has_given_size: whether the size is one that was asked for, rather than the default.
    """

    kind: str
    build: Callable[[int, tuple[int, ...]], nn.Module]
    encode: Callable[[Iterable[Any], Track], Encoded] | None = None
    options: Options = field(default_factory=dict)
    least_side: int = 1
    last_maps: Callable[[Any], nn.Module] | None = None
    doing: str = "reading"
    cached_as: str = ""
    encoder: tuple[str, str] | None = None
    name: str = ""
    has_given_size: bool = False

    @property
    def size(self) -> int | None:
        """Side in pixels that image files are resized and cropped to; None if its inputs are no images."""
        size = self.options.get("size")
        return None if size is None else int(size)

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse images too small for the network, or of another size than the one asked for.

        Args:
            shape: shape of one input.
        """
        if self.kind == "images" and min(shape[:2]) < self.least_side:
            raise InputError(
                f"{self.name} needs images of at least {self.least_side} pixels on each side",
                f"they are {shape[0]} x {shape[1]}",
                "Choose a larger --size",
            )
        if self.has_given_size and shape[:2] != (self.size, self.size):
            raise InputError(
                "the size of a model (--size) is for images in a folder; those in a .npz stay as they are",
                f"they are {shape[0]} x {shape[1]} pixels and the size is {self.size}",
                "Leave it out, or resize them yourself",
            )

    def with_options(self, **options: Any) -> Model:
        """The same network with other options.

        Args:
            options: values by name; the others stay.
        """
        return replace(self, options={**self.options, **options})


def _hash_ngrams(texts: Iterable[TextOrPair], track: Track) -> Encoded:
    listed = list(texts)
    return hash_ngrams((listed[place] for place in track(range(len(listed)))), most=_MOST_NGRAMS), ()


# The first of a kind is its default.
MODELS: dict[str, Model] = {
    "small-cnn": Model(
        "images",
        lambda n_classes, shape: SmallCNN(n_classes, channels=shape[2]),
        options=_SIZE,
        least_side=8,
        last_maps=lambda network: network.stages[-1],
    ),
    "resnet18": Model(
        "images",
        lambda n_classes, shape: ResNet18(n_classes, channels=shape[2]),
        options=_SIZE,
        least_side=16,  # with less, the last norms would see a single value for a batch of one image
        last_maps=lambda network: network.blocks[-1],
    ),
    "mlp": Model(
        "features",
        lambda n_classes, shape: MLP(n_classes, inputs=shape[0]),
    ),
    "ngram": Model(
        "text",
        lambda n_classes, _: NgramNet(n_classes),
        encode=_hash_ngrams,
    ),
}


def find_model(label: str, kind: str, *, folder: str | None = None) -> Model:
    """The model with this name and these options; one that is unknown or takes other inputs is an error.

    Args:
        label: name, or name and options, such as "small-cnn:size=48" or "encoder:all-MiniLM-L6-v2:way=tuned".
        kind: kind of the inputs.
        folder: where the encoder lies that the label names by its content alone.
    """
    if is_encoder(label):
        return _find_encoder(EncoderLabel.parse(label), kind, folder)
    name, options = split_label(label)
    model = MODELS[check_choice("the model", name, (*MODELS, PREFIX))]
    if model.kind != kind:
        raise InputError(
            f"the model must take {kind}",
            f"{name!r} takes {model.kind}",
            f"Pick one of {', '.join(other for other, row in MODELS.items() if row.kind == kind)}",
        )
    values = {**model.options, **chosen_options(name, model.options, options)}
    return replace(model, name=name, options=values, has_given_size="size" in options)


def _find_encoder(label: EncoderLabel, kind: str, folder: str | None) -> Model:
    if label.sha256 and folder is None and not label.place:  # what it makes of the inputs is known
        return Model(kind, partial(_build_encoder, None, label), options={"way": label.way})
    encoder, pinned = _open_encoder(label, kind, folder)
    frozen = label.way == WAYS[0]

    def encode(items: Iterable[Any], track: Track) -> Encoded:
        return (
            features(encoder.network(), encoder.reader, items, track) if frozen else encoder.reader.read(items, track)
        )

    pretrained = encoder.pretrained
    return Model(
        kind,
        partial(_build_encoder, encoder, label),
        encode,
        {"way": label.way},
        doing=_doing(frozen),
        cached_as=f"{pretrained.sha256}-{FEATURES_VERSION}" if frozen else "",
        encoder=(str(pinned), str(pretrained.folder)),
    )


def _open_encoder(label: EncoderLabel, kind: str, folder: str | None) -> tuple[Encoder, EncoderLabel]:
    """The encoder of a label, and the label that names it by its content; another content is an error."""
    pretrained = open_pretrained(folder or label.place, kind)
    place = pretrained.hub or (label.place if label.sha256 else "")
    pinned = EncoderLabel(place, label.way, pretrained.sha256[:DIGITS])
    if label.sha256 and pinned.sha256 != label.sha256:
        raise InputError(
            f"the encoder must be the one whose SHA-256 begins with {label.sha256}",
            f"that of {folder or label.place!r} begins with {pinned.sha256}",
            "Put the folder back as it was, or start anew with the one that is there",
        )
    return Encoder(pretrained, folder or label.place), pinned


def with_encoder(model: nn.Module, label: str, folder: str, kind: str) -> tuple[nn.Module, SavedEncoder]:
    """A trained model together with its encoder, and what to save besides its weights.

    Args:
        model: the tuned encoder, or the head of a frozen one.
        label: the encoder's label by its content.
        folder: where the encoder lies.
        kind: kind of its inputs.
    """
    encoder = _open_encoder(EncoderLabel.parse(label), kind, folder)[0]
    if isinstance(model, MLP):
        model = FrozenEncoder(encoder.network(), model)
    assert isinstance(model, (TunedEncoder, FrozenEncoder))
    return model, SavedEncoder.of(encoder, model)


def saved_model(saved: SavedEncoder, model: nn.Module) -> Model:
    """A model with an encoder that was read from its file, as inputs are prepared for it.

    Args:
        saved: what was saved besides its weights.
        model: the model with its weights.
    """
    reader = saved.reader()
    assert isinstance(model, (TunedEncoder, FrozenEncoder))
    frozen = saved.way == WAYS[0]
    return Model(
        saved.kind,
        lambda n_classes, _: saved.build(n_classes),
        partial(features, model.encoder, reader) if frozen else reader.read,
        doing=_doing(frozen),
    )


def _doing(frozen: bool) -> str:
    return "computing features of" if frozen else "reading"


def _build_encoder(encoder: Encoder | None, label: EncoderLabel, n_classes: int, shape: tuple[int, ...]) -> nn.Module:
    if label.way == WAYS[0]:
        return frozen_head(n_classes, shape[0])
    if encoder is None:
        raise InputError(
            "tuning an encoder needs its folder", f"got only its name {label}", "Prepare the data with find_model"
        )
    network = encoder.network()
    return TunedEncoder(network, n_classes, network.width())


def model_label(label: str, **options: Any) -> str:
    """A model's name with its options, without those that have their default.

    Args:
        label: name, or name and options.
        options: further options, which replace those in the label.

    >>> model_label("small-cnn", size=48), model_label("resnet18:size=32")
    ('small-cnn:size=48', 'resnet18')
    """
    name, written = split_label(label)
    defaults = MODELS[check_choice("the model", name, tuple(MODELS))].options
    return join_label(name, chosen_options(name, defaults, {**written, **options}))


def run_label(label: str, kind: str) -> str:
    """A model's name as runs have it: with its options, and an encoder by its content.

    Args:
        label: name, or name and options.
        kind: kind of the inputs.
    """
    if not is_encoder(label):
        return model_label(label)
    encoder = find_model(label, kind).encoder
    return label if encoder is None else encoder[0]


def default_model(kind: str) -> str:
    """The name of the default model for a kind of inputs."""
    return next(name for name, model in MODELS.items() if model.kind == check_choice("the kind of inputs", kind, KINDS))
