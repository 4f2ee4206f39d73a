"""A small network for images of any size, for data sets that a large network would memorise."""

from __future__ import annotations

from torch import Tensor, nn

_GROUPS = 8


class SmallCNN(nn.Module):
    """Three stages of convolution, norm and ReLU, the last two halving the resolution; about 95,000 parameters.

    The norms treat each image separately, so small batches and short runs do no harm.
    """

    def __init__(self, n_classes: int, *, channels: int = 3, width: int = 32) -> None:
        """Build the layers.

        Args:
            n_classes: K.
            channels: channels of the images, 1 or 3.
            width: channels of the first stage, a multiple of 8; each of the other two doubles it.
        """
        super().__init__()
        self.stages = nn.Sequential(
            _stage(channels, width, stride=1),
            _stage(width, 2 * width, stride=2),
            _stage(2 * width, 4 * width, stride=2),
        )
        self.head = nn.Linear(4 * width, n_classes)

    def features(self, images: Tensor) -> Tensor:
        """The head's inputs, (B, 4 * width): the last stage averaged over positions."""
        return self.stages(images).mean(dim=(2, 3))

    def forward(self, images: Tensor) -> Tensor:
        """Logits (B, K) of images (B, channels, H, W), H and W at least 8."""
        return self.head(self.features(images))


def _stage(channels: int, width: int, *, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, width, 3, stride, 1, bias=False), nn.GroupNorm(_GROUPS, width), nn.ReLU(inplace=True)
    )
