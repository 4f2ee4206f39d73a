"""Finished numbers to pages: documents, their renderers, one look for every method, and methods compared."""

from votewise.report.comparison import compare_results as compare_results
from votewise.report.document import Block as Block
from votewise.report.document import Curve as Curve
from votewise.report.document import Document as Document
from votewise.report.document import Figure as Figure
from votewise.report.document import Item as Item
from votewise.report.document import Items as Items
from votewise.report.document import Panel as Panel
from votewise.report.document import Table as Table
from votewise.report.document import Text as Text
from votewise.report.document import to_json as to_json
from votewise.report.figures import draw_figure as draw_figure
from votewise.report.html import to_html as to_html
from votewise.report.look import LOOKS as LOOKS
from votewise.report.look import Look as Look
from votewise.report.look import in_words as in_words
from votewise.report.look import looks_of as looks_of
from votewise.report.markdown import to_markdown as to_markdown
from votewise.report.terminal import to_terminal as to_terminal
