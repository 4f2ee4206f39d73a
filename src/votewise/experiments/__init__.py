"""Whole experiments on anyone's data, and the methods by name. Only this package knows all steps from votes to results.

What `votewise train`, `compare` and `report` do, in Python: `open_features`, `open_images` or `open_texts` and
`join_inputs` make a `Material`; `train_model` and `predict`, or `comparison_runs`, `execute` and
`summarise_comparison`, work on it.
"""

from votewise.experiments.catalog import METHODS as METHODS
from votewise.experiments.catalog import Method as Method
from votewise.experiments.catalog import find_method as find_method
from votewise.experiments.compare import ComparisonPlan as ComparisonPlan
from votewise.experiments.compare import comparison_runs as comparison_runs
from votewise.experiments.compare import summarise_comparison as summarise_comparison
from votewise.experiments.execution import execute as execute
from votewise.experiments.image_inputs import open_images as open_images
from votewise.experiments.inputs import join_inputs as join_inputs
from votewise.experiments.material import Material as Material
from votewise.experiments.recipes import default_recipe as default_recipe
from votewise.experiments.recorded import summarise_records as summarise_records
from votewise.experiments.run import RunConfig as RunConfig
from votewise.experiments.single import ModelPlan as ModelPlan
from votewise.experiments.single import predict as predict
from votewise.experiments.single import train_model as train_model
from votewise.experiments.table_inputs import open_features as open_features
from votewise.experiments.table_inputs import open_texts as open_texts
