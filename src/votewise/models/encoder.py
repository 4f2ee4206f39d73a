"""Pretrained encoders of texts and images: frozen, so that a small head learns from their features, or tuned whole.

An encoder is written `encoder:NAME_OR_FOLDER`, or `encoder:NAME_OR_FOLDER:way=tuned`. A run's model names it by its
content, `encoder:sha256=...`, so that the run has the same id wherever the encoder lies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from votewise._checks import check_choice, first_few
from votewise._errors import InputError
from votewise._json import parse_json
from votewise._options import OptionValue, chosen_options, join_label, split_label
from votewise.models.features import MLP
from votewise.models.pretrained import Pretrained, in_words, packed, unpack
from votewise.models.readers import PADDING, Encoded, PixelReader, TokenReader, read_reader, token_counts

PREFIX = "encoder"
WAYS = ("frozen", "tuned")

# Raised when the same encoder would no longer give the same features.
FEATURES_VERSION = 1

DIGITS = 16  # of a SHA-256, in a label
_DEFAULTS: dict[str, OptionValue] = {"way": WAYS[0], "sha256": ""}

# Tokens or pixels that go through an encoder at once where no gradient is needed. Texts of one length share a pass.
_TOKENS_AT_ONCE = {"cpu": 4096, "cuda": 65536}
_PIXELS_AT_ONCE = {"cpu": 2**20, "cuda": 2**24}
_IMAGES_READ_AT_ONCE = 64

_DROPOUT = 0.1


def is_encoder(label: str) -> bool:
    """Whether a model's label names an encoder."""
    return str(label).strip().partition(":")[0].strip() == PREFIX


@dataclass(frozen=True)
class EncoderLabel:
    """What a label says of an encoder.

    Attributes:
        place: folder or name on the hub; empty where a label names a folder by its content alone.
        way: one of `WAYS`.
        sha256: first digits of the SHA-256 of its content; empty where that is not known yet.
    """

    place: str
    way: str
    sha256: str

    @classmethod
    def parse(cls, label: str) -> EncoderLabel:
        """Read a label. Options follow the last colon, unless all that follows the first is the path of a folder.

        >>> EncoderLabel.parse("encoder:models/mini:way=tuned")
        EncoderLabel(place='models/mini', way='tuned', sha256='')
        """
        place = label.strip().partition(":")[2].strip()
        written: dict[str, OptionValue] = {}
        if not Path(place).expanduser().is_dir():
            before, colon, last = place.rpartition(":")
            parts = [part.partition("=") for part in last.split(",")]
            known = [key.strip() in _DEFAULTS and equals for key, equals, _ in parts]
            if all(known) or (any(known) and colon):
                place, written = before, split_label(f"{PREFIX}:{last}")[1]
        values = {**_DEFAULTS, **chosen_options(PREFIX, _DEFAULTS, written)}
        way = check_choice(f"{PREFIX}:way", str(values["way"]), WAYS)
        if not place and not values["sha256"]:
            raise InputError(
                "an encoder must be named", f"got {label!r}", "Write encoder:FOLDER, or encoder:NAME for one on the hub"
            )
        return cls(place, way, str(values["sha256"]))

    def __str__(self) -> str:
        options = {
            name: value for name, value in (("sha256", self.sha256), ("way", self.way)) if value != _DEFAULTS[name]
        }
        return join_label(":".join([PREFIX, self.place]) if self.place else PREFIX, options)


class EncoderNetwork(nn.Module):
    """A network of transformers, from tokens or pixels to one vector for each item."""

    def __init__(self, network: nn.Module, kind: str) -> None:
        """Take over a network.

        Args:
            network: what `AutoModel` built.
            kind: "text" or "images".
        """
        super().__init__()
        self.network, self.kind = network, kind

    def width(self) -> int:
        """D, the length of the vectors, found by sending one item through."""
        was_training = self.training
        with torch.no_grad():
            width = self.eval()(self._example()).shape[1]
        self.train(was_training)
        return int(width)

    def forward(self, given: Tensor) -> Tensor:
        """Vectors (B, D) of tokens (B, L) or (B, 2, L), or of normalised images (B, 3, H, W).

        Without gradients, the batch goes through in parts that fit into memory, texts of about one length together.
        """
        one = self._text if self.kind == "text" else self._image
        if not len(given):
            return one(self._example())[:0]
        if torch.is_grad_enabled():
            return one(given)
        parts = list(self._parts(given))
        order = torch.cat(parts)
        vectors = torch.cat([one(given[part]) for part in parts])
        return vectors[order.argsort()]

    def _parts(self, given: Tensor) -> Iterator[Tensor]:
        """Rows that go through together, longest texts first."""
        where = given.device.type
        if self.kind == "images":
            rows = torch.arange(len(given), device=given.device)
            yield from torch.split(rows, max(1, _PIXELS_AT_ONCE[where] // given.shape[-2:].numel()))
            return
        lengths = token_counts(given)
        order = lengths.argsort(descending=True, stable=True)
        for part in split_by_length(lengths[order].tolist(), _TOKENS_AT_ONCE[where]):
            yield order[part]

    def _text(self, given: Tensor) -> Tensor:
        """The last layer, averaged over the tokens of each text."""
        given = given[..., : int(token_counts(given).max())]
        tokens, types = given.unbind(1) if given.ndim == 3 else (given, None)
        mask = tokens != PADDING
        named: dict[str, Tensor] = {} if types is None else {"token_type_ids": types.clamp(min=0).long()}
        padding = getattr(self.network.config, "pad_token_id", None) or 0
        tokens = tokens.masked_fill(~mask, padding).long()
        layer = self._last_layer(self.network(input_ids=tokens, attention_mask=mask.long(), **named)).float()
        weights = mask[..., None].to(layer.dtype)
        return (layer * weights).sum(dim=1) / weights.sum(dim=1)

    def _image(self, given: Tensor) -> Tensor:
        """The pooled output if there is one, else the last layer averaged over patches or positions."""
        output = self.network(pixel_values=given)
        layer = self._last_layer(output)
        pooled = getattr(output, "pooler_output", None)
        if pooled is not None:
            return pooled.flatten(1).float()
        return (layer.mean(dim=1) if layer.ndim == 3 else layer.flatten(2).mean(dim=2)).float()

    def _last_layer(self, output: Any) -> Tensor:
        layer = getattr(output, "last_hidden_state", None)
        if layer is None:
            raise InputError(
                f"an encoder must turn {self.kind} alone into a last hidden state",
                f"a {type(self.network).__name__} gives none",
                "Choose an encoder of one kind of input, not of texts and images together",
            )
        return layer

    def _example(self) -> Tensor:
        device = next(self.network.parameters()).device
        if self.kind == "text":
            return torch.zeros((1, 1), dtype=torch.int32, device=device)
        side = getattr(self.network.config, "image_size", 64)
        height, width = (side, side) if isinstance(side, int) else side
        return torch.zeros((1, getattr(self.network.config, "num_channels", 3), height, width), device=device)


class TunedEncoder(nn.Module):
    """An encoder that is trained whole, dropout, and a linear layer to K logits."""

    def __init__(self, encoder: EncoderNetwork, n_classes: int, width: int) -> None:
        """Put a fresh layer on an encoder.

        Args:
            encoder: pretrained, or to be loaded.
            n_classes: K.
            width: D, the length of the encoder's vectors.
        """
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(_DROPOUT)
        self.head = nn.Linear(width, n_classes)

    def features(self, given: Tensor) -> Tensor:
        """The head's inputs, (B, D)."""
        return self.dropout(self.encoder(given))

    def forward(self, given: Tensor) -> Tensor:
        """Logits (B, K) of tokens or images."""
        return self.head(self.features(given))


class FrozenEncoder(nn.Module):
    """The head of a frozen encoder together with the encoder, as they are saved."""

    def __init__(self, encoder: EncoderNetwork, head: MLP) -> None:
        """Keep both.

        Args:
            encoder: gives the features.
            head: trained on them.
        """
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, features: Tensor) -> Tensor:
        """Logits (B, K) of the encoder's features (B, D)."""
        return self.head(features)


def frozen_head(n_classes: int, width: int) -> MLP:
    """What learns from the features of a frozen encoder, (D,) each."""
    return MLP(n_classes, inputs=width, width=256, dropout=0.5)


@dataclass(frozen=True)
class Encoder:
    """An encoder on disk, and what it makes of texts and images.

    Attributes:
        pretrained: where it lies, and what it consists of.
        place: its name for errors.
    """

    pretrained: Pretrained
    place: str

    @cached_property
    def reader(self) -> TokenReader | PixelReader:
        """Its tokenizer or image processor."""
        return read_reader(self.pretrained.folder, self.pretrained.kind, self.place)

    def network(self) -> EncoderNetwork:
        """Its network with the pretrained weights, on the CPU."""
        with in_words(self.place, "read the weights of"):
            from transformers import AutoModel

            loaded, report = AutoModel.from_pretrained(
                self.pretrained.folder,
                dtype=torch.float32,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
            )
        # Of a network that also decodes only the encoder is used.
        lacking = sorted(name for name in report["missing_keys"] if not name.startswith(("pooler.", "decoder.")))
        if lacking:
            raise InputError(
                "the weights of an encoder must fit its config.json",
                f"{self.place!r} lacks {first_few(lacking)}",
                "Fetch the folder again",
            )
        has_pooler = not any(name.startswith("pooler.") for name in report["missing_keys"])
        encoder = as_encoder(loaded, self.pretrained.kind, pooler=has_pooler)
        with in_words(self.place, "send an example through"):
            encoder.width()
        return encoder


def as_encoder(loaded: Any, kind: str, *, pooler: bool) -> EncoderNetwork:
    """A network of transformers as an encoder.

    Args:
        loaded: what `AutoModel` built.
        kind: "text" or "images".
        pooler: whether its last, pooling layer is pretrained, too; one with random weights is dropped.
    """
    network = loaded.get_encoder() if loaded.config.is_encoder_decoder else loaded
    if not pooler:
        network.pooler = None
    return EncoderNetwork(network, kind)


def features(
    network: EncoderNetwork,
    reader: TokenReader | PixelReader,
    items: Iterable[Any],
    track: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> Encoded:
    """The frozen encoder's vectors (N, D) float32 of texts or images, computed on a GPU if there is one.

    Of a pair of texts each is encoded by itself, and `compared` gives what the head learns from.

    Args:
        network: in eval mode from here on.
        reader: its tokenizer or image processor.
        items: texts, pairs of texts, or RGB images of Pillow, which are read as they are needed.
        track: shows progress over the texts; whoever decodes images shows theirs.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = network.to(device).eval()
    found: list[Tensor] = []
    with torch.inference_mode():
        if isinstance(reader, PixelReader):
            mean, std = (torch.tensor(values, device=device)[:, None, None] for values in reader.scaling)
            coming = iter(items)
            while images := list(islice(coming, _IMAGES_READ_AT_ONCE)):
                pixels = torch.from_numpy(reader.read(images)[0]).to(device).permute(0, 3, 1, 2)
                found.append(network((pixels / 255 - mean) / std).cpu())
            return (torch.cat(found).numpy() if found else np.zeros((0, network.width()), dtype=np.float32)), ()
        texts = list(items)
        pairs = any(not isinstance(text, str) for text in texts)
        tokens, notes = reader.read([part for pair in texts for part in pair] if pairs else texts)
        given = torch.from_numpy(tokens)
        lengths = token_counts(given)
        order = lengths.argsort(descending=True, stable=True)
        shown = iter(track(range(len(given))))
        for part in split_by_length(lengths[order].tolist(), _TOKENS_AT_ONCE[device.type]):
            found.append(network(given[order[part]].to(device)).cpu())
            for _ in islice(shown, part.stop - part.start):
                pass
        next(shown, None)  # lets the display end
        vectors = torch.cat(found)[order.argsort()] if found else torch.zeros((0, network.width()))
        return (compared(vectors[::2], vectors[1::2]) if pairs else vectors).numpy(), notes


def compared(first: Tensor, second: Tensor) -> Tensor:
    """Features (N, 4 D) of pairs from the vectors (N, D) of their texts: both, their difference and their product.

    As Conneau et al. 2017 (arXiv 1705.02364) do for premise and hypothesis; each vector is scaled to length 1.
    """
    first, second = (nn.functional.normalize(vectors, dim=1) for vectors in (first, second))
    return torch.cat([first, second, (first - second).abs(), first * second], dim=1)


def split_by_length(lengths: Sequence[int], at_once: int) -> Iterator[slice]:
    """Places of texts that go through an encoder together: at most `at_once` tokens with padding, or one text.

    Args:
        lengths: of the texts, longest first.
        at_once: the most tokens.
    """
    start = 0
    while start < len(lengths):
        stop = min(len(lengths), start + max(1, at_once // max(1, lengths[start])))
        yield slice(start, stop)
        start = stop


@dataclass(frozen=True)
class SavedEncoder:
    """All of an encoder but its weights, as it is saved with a model.

    Attributes:
        kind: kind of its inputs.
        way: one of `WAYS`.
        files: content of its files by name, as `packed` gave it.
        pooler: whether its last, pooling layer is pretrained, too.
        width: length of what its head learns from.
    """

    kind: str
    way: str
    files: Mapping[str, str]
    pooler: bool
    width: int

    @classmethod
    def of(cls, encoder: Encoder, model: TunedEncoder | FrozenEncoder) -> SavedEncoder:
        """What to save of a model besides its weights.

        Args:
            encoder: the encoder on disk.
            model: the trained model.
        """
        tuned = isinstance(model, TunedEncoder)
        pooler = getattr(model.encoder.network, "pooler", None) is not None
        width = model.head.in_features if isinstance(model, TunedEncoder) else model.head.inputs
        return cls(encoder.pretrained.kind, WAYS[tuned], packed(encoder.pretrained), pooler, width)

    def to_json(self) -> str:
        """Everything as JSON."""
        return json.dumps({**vars(self), "files": dict(self.files)})

    @classmethod
    def from_json(cls, text: str) -> SavedEncoder:
        """What `to_json` wrote; anything else is a `ValueError`, `TypeError` or `KeyError`."""
        values = parse_json(text)
        files = {str(name): str(content) for name, content in values["files"].items()}
        way = check_choice("the way of an encoder", values["way"], WAYS)
        return cls(str(values["kind"]), way, files, bool(values["pooler"]), int(values["width"]))

    def build(self, n_classes: int) -> nn.Module:
        """The encoder and its head with fresh weights."""
        with self._unpacked() as folder, in_words("the saved model", "read the config of"):
            from transformers import AutoConfig, AutoModel

            make: Any = AutoModel.from_config
            config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
            loaded = make(config, trust_remote_code=False)
        network = as_encoder(loaded, self.kind, pooler=self.pooler)
        if self.way == "tuned":
            return TunedEncoder(network, n_classes, self.width)
        return FrozenEncoder(network, frozen_head(n_classes, self.width))

    def reader(self) -> TokenReader | PixelReader:
        """Its tokenizer or image processor."""
        with self._unpacked() as folder:
            return read_reader(folder, self.kind, "the saved model")

    @contextmanager
    def _unpacked(self) -> Iterator[Path]:
        with TemporaryDirectory(prefix="votewise-") as folder:
            unpack(self.files, Path(folder))
            yield Path(folder)
