"""Scores against what people said: functions of (reference, probs) or (labels, probs)."""

from votewise.metrics._accuracy import accuracy as accuracy
from votewise.metrics._accuracy import accuracy_per_item as accuracy_per_item
from votewise.metrics.calibration import BrierParts as BrierParts
from votewise.metrics.calibration import Floor as Floor
from votewise.metrics.calibration import ReliabilityCurve as ReliabilityCurve
from votewise.metrics.calibration import brier_parts as brier_parts
from votewise.metrics.calibration import correctness_brier_parts as correctness_brier_parts
from votewise.metrics.calibration import ece as ece
from votewise.metrics.calibration import ece_floor as ece_floor
from votewise.metrics.calibration import reliability_curve as reliability_curve
from votewise.metrics.calibration import smooth_ece as smooth_ece
from votewise.metrics.proper import entropy_per_item as entropy_per_item
from votewise.metrics.proper import jsd as jsd
from votewise.metrics.proper import jsd_per_item as jsd_per_item
from votewise.metrics.proper import kl as kl
from votewise.metrics.proper import kl_per_item as kl_per_item
from votewise.metrics.proper import manhattan as manhattan
from votewise.metrics.proper import manhattan_per_item as manhattan_per_item
from votewise.metrics.proper import soft_accuracy as soft_accuracy
from votewise.metrics.proper import soft_accuracy_per_item as soft_accuracy_per_item
from votewise.metrics.proper import soft_brier as soft_brier
from votewise.metrics.proper import soft_brier_per_item as soft_brier_per_item
from votewise.metrics.proper import soft_nll as soft_nll
from votewise.metrics.proper import soft_nll_per_item as soft_nll_per_item
from votewise.metrics.ranking import entropy_correlation as entropy_correlation
from votewise.metrics.ranking import spearman as spearman
