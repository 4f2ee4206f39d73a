"""Pretrained encoders that a paper's runs use: they lie in the folder of data, and are known by their content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from votewise._checks import first_few
from votewise._errors import InputError
from votewise.data.releases import data_folder


@dataclass(frozen=True)
class PaperEncoder:
    """An encoder of texts, and how runs use it.

    Attributes:
        name: name of its folder in the folder of data.
        way: "frozen" or "tuned".
        contents: first digits of the SHA-256 of each of its forms, such as with weights rounded to 16 bits.
        remedy: how to get it, in a sentence without its full stop.
    """

    name: str
    way: str
    contents: tuple[str, ...]
    remedy: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The model of its runs, for each of its forms."""
        from votewise.models.encoder import EncoderLabel

        return tuple(str(EncoderLabel("", self.way, content)) for content in self.contents)

    def find(self, data: Path | None) -> str:
        """The label that names its folder; a folder that is missing, or holds another encoder, is an error.

        Args:
            data: folder with the paper's data; the usual one if None.
        """
        from votewise.models.encoder import DIGITS, EncoderLabel
        from votewise.models.pretrained import open_pretrained

        folder = (data_folder() if data is None else data) / self.name
        if not folder.is_dir():
            raise InputError(
                f"these runs need the encoder {self.name} in {str(folder)!r}", "there is no such folder", self.remedy
            )
        content = open_pretrained(str(folder), "text").sha256[:DIGITS]
        if content not in self.contents:
            raise InputError(
                f"the encoder in {str(folder)!r} must have a SHA-256 that begins with {first_few(self.contents)}",
                f"its SHA-256 begins with {content}",
                self.remedy,
            )
        return str(EncoderLabel(str(folder), self.way, ""))
