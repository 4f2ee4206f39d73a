"""Reference networks. Any other `nn.Module` works as well."""

from votewise.models.catalog import KINDS as KINDS
from votewise.models.catalog import MODELS as MODELS
from votewise.models.catalog import Model as Model
from votewise.models.catalog import default_model as default_model
from votewise.models.catalog import find_model as find_model
from votewise.models.catalog import model_label as model_label
from votewise.models.catalog import run_label as run_label
from votewise.models.features import MLP as MLP
from votewise.models.features import Standardise as Standardise
from votewise.models.images import SmallCNN as SmallCNN
from votewise.models.resnet import ResNet18 as ResNet18
from votewise.models.text import NgramNet as NgramNet
from votewise.models.text import hash_ngrams as hash_ngrams
