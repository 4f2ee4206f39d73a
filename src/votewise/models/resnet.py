"""ResNet-18 for 32 x 32 images: a 3 x 3 stem of stride 1 and no initial pooling, as is usual for CIFAR."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions around a shortcut (He et al. 2016, arXiv 1512.03385)."""

    def __init__(self, in_width: int, width: int, *, stride: int) -> None:
        """Build the layers; where the shape changes, the shortcut is a 1 x 1 convolution."""
        super().__init__()
        self.conv1 = nn.Conv2d(in_width, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_width != width:
            self.shortcut = nn.Sequential(nn.Conv2d(in_width, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        """Features (B, width, H / stride, W / stride)."""
        inner = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(inner)) + self.shortcut(x))


class ResNet18(nn.Module):
    """The network of arXiv 2605.20642: 11,173,962 parameters for 10 classes."""

    def __init__(self, n_classes: int = 10, *, channels: int = 3, width: int = 64) -> None:
        """Build the layers.

        Args:
            n_classes: K.
            channels: channels of the images, 1 or 3.
            width: channels of the first stage; each of the other three doubles it.
        """
        super().__init__()
        self.conv = nn.Conv2d(channels, width, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(width)
        widths = [width * 2**stage for stage in range(4)]
        blocks = [
            block
            for stage, (before, after) in enumerate(zip([width, *widths], widths, strict=False))
            for block in (BasicBlock(before, after, stride=1 if stage == 0 else 2), BasicBlock(after, after, stride=1))
        ]
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(widths[-1], n_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def features(self, images: Tensor) -> Tensor:
        """The head's inputs, (B, 8 * width): the last stage averaged over positions."""
        stem = torch.relu(self.bn(_convolve_few_channels(images, self.conv)))
        return self.blocks(stem).mean(dim=(2, 3))

    def forward(self, images: Tensor) -> Tensor:
        """Logits (B, K) of images (B, channels, H, W)."""
        return self.head(self.features(images))


def _convolve_few_channels(images: Tensor, conv: nn.Conv2d) -> Tensor:
    """`conv(images)`; on a GPU with zero channels added up to eight, the number that its matrix units process."""
    missing = -images.shape[1] % 8 if images.is_cuda else 0
    if missing == 0:
        return conv(images)
    padding = (0, 0, 0, 0, 0, missing)
    return functional.conv2d(functional.pad(images, padding), functional.pad(conv.weight, padding), padding=1)
