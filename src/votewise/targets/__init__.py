"""What we believe: votes to distributions."""

from votewise.targets._dawid_skene import DawidSkene as DawidSkene
from votewise.targets._dawid_skene import dawid_skene as dawid_skene
from votewise.targets.dirichlet import dirichlet_smoothed as dirichlet_smoothed
from votewise.targets.dirichlet import fit_dirichlet_prior as fit_dirichlet_prior
from votewise.targets.majority import TIE_RULES as TIE_RULES
from votewise.targets.majority import majority_labels as majority_labels
from votewise.targets.prior import FittedPrior as FittedPrior
from votewise.targets.prior import cross_fit as cross_fit
from votewise.targets.prior import fit_prior as fit_prior
from votewise.targets.table import Targets as Targets
from votewise.targets.table import as_targets as as_targets
from votewise.targets.table import smoothed_share as smoothed_share
from votewise.targets.table import vote_share as vote_share
