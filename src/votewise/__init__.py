"""votewise: train on votes, not verdicts.

>>> import votewise as vw
>>> votes = vw.Votes.from_counts([[7, 3], [1, 9]], classes=["cat", "dog"])
>>> delivery = vw.Multipass(votes, seed=0)
>>> delivery.targets(epoch=0, items=[0, 1]).shape
(2, 2)
"""

from votewise import _start as _start  # before all else: from here on, Ctrl-C ends the command without a traceback

# isort: split
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from votewise import delivery as delivery
    from votewise import metrics as metrics
    from votewise import predictions as predictions
    from votewise import scoring as scoring
    from votewise import statistics as statistics
    from votewise import targets as targets
    from votewise import votes as votes
    from votewise._errors import InputError as InputError
    from votewise._errors import MissingExtraError as MissingExtraError
    from votewise._errors import VotewiseError as VotewiseError
    from votewise._overview import Overview as Overview
    from votewise._overview import overview as overview
    from votewise.delivery import SLS as SLS
    from votewise.delivery import Delivery as Delivery
    from votewise.delivery import HardDelivery as HardDelivery
    from votewise.delivery import LabelSmoothing as LabelSmoothing
    from votewise.delivery import Majority as Majority
    from votewise.delivery import Mixup as Mixup
    from votewise.delivery import Multipass as Multipass
    from votewise.delivery import Soft as Soft
    from votewise.delivery import deterministic_control as deterministic_control
    from votewise.delivery import shuffled_sls as shuffled_sls
    from votewise.predictions import read_predictions as read_predictions
    from votewise.scoring import Scores as Scores
    from votewise.scoring import score as score
    from votewise.targets import FittedPrior as FittedPrior
    from votewise.targets import Targets as Targets
    from votewise.targets import cross_fit as cross_fit
    from votewise.targets import dawid_skene as dawid_skene
    from votewise.targets import dirichlet_smoothed as dirichlet_smoothed
    from votewise.targets import fit_dirichlet_prior as fit_dirichlet_prior
    from votewise.targets import fit_prior as fit_prior
    from votewise.targets import majority_labels as majority_labels
    from votewise.targets import smoothed_share as smoothed_share
    from votewise.targets import vote_share as vote_share
    from votewise.votes import Ballots as Ballots
    from votewise.votes import Reading as Reading
    from votewise.votes import Votes as Votes
    from votewise.votes import read_votes as read_votes

    __version__: str
else:
    # What is imported above for type checkers is imported here when it is first used, so that `votewise --help` and
    # programs that need one room do not wait for the others.
    _ROOMS = ("delivery", "metrics", "predictions", "scoring", "statistics", "targets", "votes")
    _NAMES = {
        name: room
        for room, names in {
            "_errors": "InputError MissingExtraError VotewiseError",
            "_overview": "Overview overview",
            "delivery": "SLS Delivery HardDelivery LabelSmoothing Majority Mixup Multipass Soft deterministic_control "
            "shuffled_sls",
            "predictions": "read_predictions",
            "scoring": "Scores score",
            "targets": "FittedPrior Targets cross_fit dawid_skene dirichlet_smoothed fit_dirichlet_prior fit_prior "
            "majority_labels smoothed_share vote_share",
            "votes": "Ballots Reading Votes read_votes",
        }.items()
        for name in names.split()
    }
    __all__ = [*_ROOMS, *_NAMES]  # noqa: PLE0604

    def __getattr__(name):
        from importlib import import_module

        if name == "__version__":
            value = _installed_version()
        elif name in _ROOMS:
            value = import_module(f"votewise.{name}")
        elif name in _NAMES:
            value = getattr(import_module(f"votewise.{_NAMES[name]}"), name)
        else:
            raise AttributeError(f"module 'votewise' has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__, "__version__"})

    def _installed_version():
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("votewise")
        except PackageNotFoundError:  # run from the source tree, without an installation
            return "0+source"
