"""ResNet-18 as the paper has it."""

from __future__ import annotations

import torch

from votewise.models.resnet import BasicBlock, ResNet18


def test_size_and_resolutions_of_the_paper() -> None:
    model = ResNet18(10)
    assert sum(parameter.numel() for parameter in model.parameters()) == 11_173_962
    seen: list[tuple[int, ...]] = []
    for block in model.blocks:
        block.register_forward_hook(lambda _block, _given, out: seen.append(tuple(out.shape[1:])))
    with torch.no_grad():
        assert model.eval().features(torch.rand(2, 3, 32, 32)).shape == (2, 512)
    stages = [(64, 32, 32), (128, 16, 16), (256, 8, 8), (512, 4, 4)]
    assert seen == [shape for shape in stages for _ in range(2)]


def test_width_and_channels() -> None:
    model = ResNet18(7, channels=1, width=8).eval()
    assert model(torch.rand(3, 1, 20, 24)).shape == (3, 7)
    assert model.features(torch.rand(3, 1, 20, 24)).shape == (3, 64)
    assert all(module.bias is None for module in model.modules() if isinstance(module, torch.nn.Conv2d))


def test_a_block_is_its_formula() -> None:
    block, x = BasicBlock(4, 8, stride=2).eval(), torch.randn(2, 4, 6, 6)
    inner = block.bn2(block.conv2(torch.relu(block.bn1(block.conv1(x)))))
    torch.testing.assert_close(block(x), torch.relu(inner + block.shortcut(x)))
    assert len(BasicBlock(4, 4, stride=1).shortcut) == 0


def test_convolutions_start_as_he_et_al_say() -> None:
    """Normal, of variance 2 / (outputs x 9): what keeps the size of gradients through rectified layers."""
    torch.manual_seed(0)
    weight = ResNet18(10).blocks[7].conv2.weight.detach()
    expected = (2 / (512 * 9)) ** 0.5
    assert abs(weight.std().item() / expected - 1) < 5e-3
    assert abs(weight.mean().item()) < 5 * expected / weight.numel() ** 0.5
