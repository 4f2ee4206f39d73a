"""Whole experiments, and the methods by name. Only this room knows the pipeline from votes to results."""

from votewise.experiments.catalog import METHODS as METHODS
from votewise.experiments.catalog import Method as Method
from votewise.experiments.catalog import find_method as find_method
