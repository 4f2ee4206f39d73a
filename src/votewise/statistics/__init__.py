"""Seeds, spreads and tests."""

from votewise.statistics.bootstrap import Interval as Interval
from votewise.statistics.bootstrap import Resamples as Resamples
from votewise.statistics.bootstrap import bootstrap_mean as bootstrap_mean
from votewise.statistics.bootstrap import centred_interval as centred_interval
from votewise.statistics.bootstrap import wilson_interval as wilson_interval
from votewise.statistics.multiplicity import holm as holm
from votewise.statistics.paired import Comparison as Comparison
from votewise.statistics.paired import Wilcoxon as Wilcoxon
from votewise.statistics.paired import compare_paired as compare_paired
from votewise.statistics.paired import wilcoxon as wilcoxon
