"""How votes reach the loss: deliveries, each a pure function of (seed, epoch, item)."""

from votewise.delivery.fixed import LabelSmoothing as LabelSmoothing
from votewise.delivery.fixed import Majority as Majority
from votewise.delivery.methods import METHODS as METHODS
from votewise.delivery.methods import Method as Method
from votewise.delivery.methods import find_method as find_method
from votewise.delivery.mixup import Mix as Mix
from votewise.delivery.mixup import Mixup as Mixup
from votewise.delivery.multipass import Multipass as Multipass
from votewise.delivery.multipass import deterministic_control as deterministic_control
from votewise.delivery.prior import WithPrior as WithPrior
from votewise.delivery.protocol import Delivery as Delivery
from votewise.delivery.protocol import HardDelivery as HardDelivery
from votewise.delivery.sls import SLS as SLS
from votewise.delivery.sls import shuffled_sls as shuffled_sls
from votewise.delivery.soft import Soft as Soft
