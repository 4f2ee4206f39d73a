"""What a model says: predictions as arrays, lined up with votes."""

from votewise.predictions.read import read_labels as read_labels
from votewise.predictions.read import read_predictions as read_predictions
