"""Small inputs as users have them, for tests of the room `data`."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from votewise import InputError, Votes


def votes_on(*ids: str) -> Votes:
    return Votes.from_counts([[1, 2]] * len(ids), item_ids=list(ids), classes=["no", "yes"])


def picture(path: Path, colour: tuple[int, int, int], size: tuple[int, int] = (32, 32), **options: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path, **options)  # type: ignore[arg-type]


def refusal(call: object, *arguments: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)  # type: ignore[operator]
    return str(caught.value)
