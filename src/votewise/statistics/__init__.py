"""Seeds, spreads and tests."""

from votewise.statistics.bootstrap import Interval as Interval
from votewise.statistics.bootstrap import Resamples as Resamples
from votewise.statistics.bootstrap import bootstrap_mean as bootstrap_mean
from votewise.statistics.bootstrap import centred_interval as centred_interval
from votewise.statistics.bootstrap import wilson_interval as wilson_interval
from votewise.statistics.decide import Published as Published
from votewise.statistics.learning import LearningShape as LearningShape
from votewise.statistics.learning import learning_shape as learning_shape
from votewise.statistics.multiplicity import holm as holm
from votewise.statistics.paired import Comparison as Comparison
from votewise.statistics.paired import Wilcoxon as Wilcoxon
from votewise.statistics.paired import compare_paired as compare_paired
from votewise.statistics.paired import wilcoxon as wilcoxon
from votewise.statistics.samples import PairedTest as PairedTest
from votewise.statistics.samples import Sample as Sample
from votewise.statistics.samples import Spread as Spread
from votewise.statistics.samples import adjusted as adjusted
from votewise.statistics.samples import common_seeds as common_seeds
from votewise.statistics.samples import pair_sample as pair_sample
from votewise.statistics.samples import paired_test as paired_test
from votewise.statistics.samples import pooled_sd as pooled_sd
