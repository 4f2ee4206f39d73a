"""What a model predicts: arrays aligned with votes, and files for other tools."""

from votewise.predictions.read import read_labels as read_labels
from votewise.predictions.read import read_predictions as read_predictions
from votewise.predictions.write import check_prediction_path as check_prediction_path
from votewise.predictions.write import item_column as item_column
from votewise.predictions.write import must_name_item as must_name_item
from votewise.predictions.write import write_predictions as write_predictions
