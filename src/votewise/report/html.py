"""A report as one page that needs no network."""

from __future__ import annotations

import os
from pathlib import Path

from votewise._errors import MissingExtraError
from votewise._files import whole_file
from votewise.report.content import Comparison, Content
from votewise.report.figures import class_colours, draw_curves
from votewise.report.numbers import format_difference, format_number, format_p


def write_report(content: Content, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all; what users typed is escaped."""
    with whole_file(path) as partial:
        partial.write_text(render(content), encoding="utf-8")


def render(content: Content) -> str:
    """The page as text."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("writing a report", "jinja2", "report") from None

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda value: _typeset(format_number(value))
    environment.filters["difference"] = lambda value: _typeset(format_difference(value))
    environment.filters["p"] = format_p
    figures = [_figures(comparison) for comparison in content.comparisons]
    shades = class_colours(len(content.classes))
    return environment.get_template("report.html").render(content=content, figures=figures, shades=shades)


def _typeset(text: str) -> str:
    """A number with the minus of print, as in the figures."""
    return text.replace("-", "−")


def _figures(comparison: Comparison) -> dict[str, str]:
    # A baseline that overfits would press all other curves together, so the panel ends a little above the second worst.
    last = sorted(float(curve.y.max()) for curve in comparison.learning)
    top = last[-2] * 1.08 if len(last) > 1 and last[-1] > 1.3 * last[-2] else None
    figures = {
        "learning": draw_curves(comparison.learning, x_label="epoch", y_label="soft NLL, held-out items", y_top=top)
    }
    if comparison.reliability:
        figures["reliability"] = draw_curves(
            comparison.reliability, x_label="confidence", y_label="accuracy", diagonal=True
        )
    return figures
