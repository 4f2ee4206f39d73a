"""A small network on hashed character n-grams, for words, emoticons and short texts without a vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from votewise._text import TextOrPair, text_parts


def hash_ngrams(
    texts: Iterable[TextOrPair], *, buckets: int = 8192, sizes: Sequence[int] = (2, 3, 4), most: int = 256
) -> npt.NDArray[np.int64]:
    """Character n-grams of each text as bucket numbers, (N, L), padded with 0.

    Args:
        texts: N texts, or N pairs of texts; all ends are marked, so that a prefix differs from an infix and the first
            of a pair from the second.
        buckets: number of hash buckets; bucket 0 is reserved for padding.
        sizes: lengths of the n-grams.
        most: most n-grams kept per text, so L at most; longer texts keep an evenly spaced sample.
    """
    rows = [_buckets_of(f"<{'><'.join(text_parts(text))}>", buckets, sizes, most) for text in texts]
    width = max((len(row) for row in rows), default=1)
    table = np.zeros((len(rows), width), dtype=np.int64)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table


def _buckets_of(text: str, buckets: int, sizes: Sequence[int], most: int) -> npt.NDArray[np.int32]:
    places = [(start, start + size) for size in sizes for start in range(len(text) - size + 1)]
    if len(places) > most:  # evenly spaced over text and sizes, so that the end of a long text counts too
        places = [places[index * len(places) // most] for index in range(most)]
    grams = (text[start:end].encode(errors="surrogatepass") for start, end in places)
    return np.array([1 + crc32(gram) % (buckets - 1) for gram in grams], dtype=np.int32)


class NgramNet(nn.Module):
    """Mean of n-gram embeddings, one hidden layer, K logits."""

    def __init__(self, n_classes: int, *, buckets: int = 8192, width: int = 64, dropout: float = 0.2) -> None:
        """Build the layers.

        Args:
            n_classes: K.
            buckets: the number given to `hash_ngrams`.
            width: outputs of the embedding and of the hidden layer.
            dropout: share of values dropped before each linear layer.
        """
        super().__init__()
        self.embed = nn.EmbeddingBag(buckets, width, mode="mean", padding_idx=0)
        self.head = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, n_classes)
        )

    def forward(self, grams: torch.Tensor) -> torch.Tensor:
        """Logits (B, K) of bucket numbers (B, L)."""
        return self.head(self.embed(grams))
