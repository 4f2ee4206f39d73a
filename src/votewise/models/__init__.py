"""Reference networks. Any `nn.Module` works in their place."""

from votewise.models.text import NgramNet as NgramNet
from votewise.models.text import hash_ngrams as hash_ngrams
