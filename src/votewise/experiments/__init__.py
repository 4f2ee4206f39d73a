"""Whole experiments on anyone's data. Only this package knows all steps from votes to records.

What `votewise train`, `compare` and `report` do, in Python: `votewise.data` makes a `Prepared`; a `Grid` makes runs of
it, and `execute` does them; `compare_methods` is both. `train_model` and `predict` are for one model.
`votewise.report.compare_results` makes a page of the records.
"""

from votewise.experiments.backends import Backend as Backend
from votewise.experiments.backends import find_backend as find_backend
from votewise.experiments.comparison import Compared as Compared
from votewise.experiments.comparison import compare_methods as compare_methods
from votewise.experiments.defaults import default_grid as default_grid
from votewise.experiments.defaults import default_recipe as default_recipe
from votewise.experiments.execution import execute as execute
from votewise.experiments.grid import Grid as Grid
from votewise.experiments.measure import Measurement as Measurement
from votewise.experiments.measure import Plan as Plan
from votewise.experiments.planning import missing_runs as missing_runs
from votewise.experiments.run import Run as Run
from votewise.experiments.train import predict as predict
from votewise.experiments.train import train_model as train_model
