"""The console behind tables and progress. It is a module of its own because commands that draw nothing need no rich."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from votewise._text import printable


class Screen(Console):
    """A console that draws texts as they can be printed, whatever data they come from."""

    def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
        """Everything that is drawn, progress bars too; what moves the cursor is rich's own."""
        for segment in super().render(*arguments, **options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
