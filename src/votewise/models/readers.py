"""From texts to tokens and from images to pixels, with the tokenizer or image processor of a pretrained encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from votewise._text import TextOrPair, counted, text_parts
from votewise.models.pretrained import in_words

# An array with a row for each item, and what a reader should know about how it was made.
Encoded: TypeAlias = tuple[npt.NDArray[Any], tuple[str, ...]]

# Stands for padding in an array of tokens: no tokenizer gives it.
PADDING = -1

# Encoders that count positions from behind the number of their padding token.
_POSITIONS_AFTER_PADDING = ("camembert", "data2vec-text", "longformer", "mpnet", "roberta", "xlm-roberta", "xmod")


def read_reader(folder: Path, kind: str, place: str) -> TokenReader | PixelReader:
    """The tokenizer or image processor in a folder.

    Args:
        folder: where it lies.
        kind: "text" or "images".
        place: the encoder's name for errors.
    """
    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    with in_words(place, f"read the {'tokenizer' if kind == 'text' else 'image processor'} of"):
        from transformers import AutoConfig

        if kind == "text":
            from transformers import AutoTokenizer

            config = AutoConfig.from_pretrained(folder, **options)
            return TokenReader(AutoTokenizer.from_pretrained(folder, **options), config)
        from transformers import AutoImageProcessor

        processor: Any = AutoImageProcessor
        return PixelReader(processor.from_pretrained(folder, backend="pil", **options))


class TokenReader:
    """From texts to numbers of tokens."""

    def __init__(self, tokenizer: Any, config: Any) -> None:
        """Take over a tokenizer.

        Args:
            tokenizer: what `AutoTokenizer` read.
            config: the encoder's, which may limit the length of texts.
        """
        self.tokenizer = tokenizer
        limits = [tokenizer.model_max_length]
        if positions := getattr(config, "max_position_embeddings", None):
            behind = (config.pad_token_id or 0) + 1 if config.model_type in _POSITIONS_AFTER_PADDING else 0
            limits.append(positions - behind)
        self.limit = int(min(limits))

    def read(self, texts: Iterable[TextOrPair], track: Callable[[Any], Iterable[int]] = iter) -> Encoded:  # noqa: ARG002
        """Tokens (N, L) of texts, or tokens and their types (N, 2, L) of pairs, padded on the right with `PADDING`.

        Args:
            texts: N texts or pairs of them.
            track: shows progress; not used, since this is quick.
        """
        plain = [_encodable(text) for text in texts]
        rows = [self._tokens(text) for text in plain]
        cut = sum(len(tokens) > self.limit for tokens, _ in rows)
        if cut:
            rows = [
                self._tokens(text, truncation=True, max_length=self.limit) if len(row[0]) > self.limit else row
                for text, row in zip(plain, rows, strict=True)
            ]
        typed = any(any(types) for _, types in rows)
        table = np.full((len(rows), 2, max((len(tokens) for tokens, _ in rows), default=1)), PADDING, dtype=np.int32)
        for place, (tokens, types) in enumerate(rows):
            table[place, 0, : len(tokens)] = tokens
            if typed:
                table[place, 1, : len(types)] = types
        shortened = (
            f"{counted(cut, 'text')} of {len(rows):,} had more than the encoder's {self.limit:,} tokens; "
            "what goes beyond was cut off."
        )
        return (table if typed else np.ascontiguousarray(table[:, 0])), ((shortened,) if cut else ())

    def _tokens(self, text: TextOrPair, **options: Any) -> tuple[list[int], list[int]]:
        """Numbers of tokens, at least one, and their types."""
        given = self.tokenizer(*text_parts(text), verbose=False, **options)
        tokens = list(given["input_ids"])
        if not tokens:  # an empty text, and a tokenizer that marks neither beginning nor end
            known = (self.tokenizer.eos_token_id, self.tokenizer.bos_token_id, self.tokenizer.unk_token_id, 0)
            return [next(number for number in known if number is not None)], [0]
        return tokens, list(given.get("token_type_ids", [0] * len(tokens)))


def _encodable(text: TextOrPair) -> TextOrPair:
    """The text with a question mark for each half of a surrogate pair, which no tokenizer takes."""
    if isinstance(text, str):
        return text.encode(errors="replace").decode()
    first, second = (part.encode(errors="replace").decode() for part in text)
    return first, second


class PixelReader:
    """From images to pixels of the size that an encoder takes."""

    def __init__(self, processor: Any) -> None:
        """Take over an image processor.

        Args:
            processor: what `AutoImageProcessor` read.
        """
        self.processor = processor

    @property
    def scaling(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of each channel that normalise pixels in 0..1 as the processor does."""
        factor = 255 * (self.processor.rescale_factor if self.processor.do_rescale else 1.0)
        mean, std = (0.0,) * 3, (1.0,) * 3
        if self.processor.do_normalize:
            mean, std = tuple(self.processor.image_mean), tuple(self.processor.image_std)
        return tuple(value / factor for value in mean), tuple(value / factor for value in std)

    def read(self, images: Iterable[Any], track: Callable[[Any], Iterable[int]] = iter) -> Encoded:  # noqa: ARG002
        """Pixels (N, H, W, 3) uint8 of RGB images of Pillow, resized and cropped by the processor.

        Args:
            images: N images.
            track: shows progress; not used, since whoever decodes the images does.
        """
        arrays = [self._pixels(image) for image in images]
        return (np.stack(arrays) if arrays else np.zeros((0, 1, 1, 3), dtype=np.uint8)), ()

    def _pixels(self, image: Any) -> npt.NDArray[np.uint8]:
        given = self.processor(images=image, do_rescale=False, do_normalize=False, return_tensors="np")
        pixels = np.asarray(given["pixel_values"])[0]
        return np.ascontiguousarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8).transpose(1, 2, 0))


def is_tokens(given: Tensor) -> bool:
    """Whether inputs are tokens of texts, which no other inputs are as small whole numbers."""
    return given.dtype == torch.int32


def token_counts(given: Tensor) -> Tensor:
    """How many tokens each row has, (B,)."""
    tokens = given[:, 0] if given.ndim == 3 else given
    return (tokens != PADDING).sum(dim=1)
