"""`python -m votewise`."""

from votewise.cli.main import run

run()
