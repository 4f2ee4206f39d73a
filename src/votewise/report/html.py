"""A report as one HTML page that needs no network."""

from __future__ import annotations

from pathlib import Path

from votewise._errors import MissingExtraError
from votewise.report.content import Comparison, Content
from votewise.report.figures import class_colours, draw_curves
from votewise.report.numbers import format_difference, format_number, format_p


def render(content: Content) -> str:
    """The page as HTML; text that users typed is escaped."""
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
    """A number with a typographic minus, as in the figures."""
    return text.replace("-", "−")


def _figures(comparison: Comparison) -> dict[str, str]:
    # One method that overfits would squeeze all other curves, so the panel ends a little above the second worst.
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
