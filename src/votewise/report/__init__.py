"""Results as tables, figures and one self-contained page."""

from votewise.report.content import Comparison as Comparison
from votewise.report.content import Content as Content
from votewise.report.content import Curve as Curve
from votewise.report.content import Example as Example
from votewise.report.content import MethodRow as MethodRow
from votewise.report.content import Panel as Panel
from votewise.report.content import Spread as Spread
from votewise.report.figures import draw_panels as draw_panels
from votewise.report.html import render as render
from votewise.report.numbers import counted as counted
from votewise.report.numbers import format_difference as format_difference
from votewise.report.numbers import format_number as format_number
from votewise.report.numbers import format_p as format_p
