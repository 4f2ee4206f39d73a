"""Two processes and one alone, each with a plain loader, a Hugging Face Trainer and a Lightning one.

Run by test_processes.py. What takes long is importing the trainers, so that is done once, before the processes part.
"""

from __future__ import annotations

import os
import socket
import sys
import warnings
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from lightning.pytorch import LightningModule
from lightning.pytorch import Trainer as LightningTrainer
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, DistributedSampler
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, default_data_collator

from votewise import Multipass, Votes
from votewise.integrations import lightning as lightning_integration
from votewise.integrations import transformers as transformers_integration
from votewise.integrations.torch import VotesDataset, VotesLoader, targets_of

EPOCHS = 3
SEEN: dict[str, list[Any]] = {"epochs": [], "rows": [], "targets": []}


def record(delivery: Multipass, epoch: int, rows: torch.Tensor) -> torch.Tensor:
    targets = targets_of(delivery, epoch, rows)
    for name, values in (("epochs", [epoch] * len(rows)), ("rows", rows.tolist()), ("targets", targets.tolist())):
        SEEN[name] += values
    return targets


class Linear(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 3)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        return cross_entropy(self.layer(batch[0]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def read_share(votes: Votes, rank: int) -> dict[str, np.ndarray]:
    """What a plain loop of a process sees of its half."""
    data = VotesDataset(torch.arange(votes.n_items), votes)
    order = DistributedSampler(data, num_replicas=2, rank=rank, seed=1)
    loader = DataLoader(data, 3, sampler=order, num_workers=1, persistent_workers=True)
    batches = VotesLoader(loader, Multipass(votes, seed=3))
    seen = [[torch.cat(parts) for parts in zip(*batches.epoch(epoch), strict=True)] for epoch in range(EPOCHS)]
    rows, targets = (torch.stack(parts).numpy() for parts in zip(*seen, strict=True))
    return {"share_rows": rows, "share_targets": targets}


def train_transformer(votes: Votes, folder: str, batch_size: int) -> torch.nn.Module:
    torch.manual_seed(0)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    dropouts = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    model = BertForSequenceClassification(
        BertConfig(vocab_size=30, max_position_embeddings=4, num_labels=3, **sizes, **dropouts)
    )
    labels = transformers_integration.VotesCallback(Multipass(votes, seed=3))
    quiet = {"report_to": "none", "disable_tqdm": True, "logging_strategy": "no", "save_strategy": "no"}
    args = TrainingArguments(
        folder,
        use_cpu=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=batch_size,
        learning_rate=0.01,
        optim="sgd",
        max_grad_norm=0.0,
        **quiet,
    )
    Trainer(
        model=model,
        args=args,
        train_dataset=VotesDataset([{"input_ids": [row, 29 - row, 3]} for row in range(votes.n_items)], votes),
        data_collator=transformers_integration.VotesCollator(default_data_collator),
        compute_loss_func=labels.loss,
        callbacks=[labels],
    ).train()
    return model


def train_lightning(votes: Votes, folder: str, batch_size: int, processes: int) -> torch.nn.Module:
    torch.manual_seed(0)
    module = Linear()
    data = VotesDataset(torch.arange(float(votes.n_items))[:, None] / 16, votes)
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    LightningTrainer(
        accelerator="cpu",
        strategy="ddp" if processes > 1 else "auto",
        devices=processes,
        max_epochs=EPOCHS,
        enable_checkpointing=False,
        default_root_dir=folder,
        callbacks=[lightning_integration.VotesCallback(Multipass(votes, seed=3))],
        **quiet,
    ).fit(module, DataLoader(data, batch_size, shuffle=False))
    return module


def work(name: str, folder: str, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    warnings.simplefilter("ignore")  # the trainers' own warnings, which other tests turn into errors
    torch.set_num_threads(1)
    lightning_integration.targets_of = transformers_integration.targets_of = record
    votes = Votes.from_counts(np.load(f"{folder}/counts.npy"))
    processes = 2 if environment else 1
    models = [
        train_transformer(votes, folder, 8 // processes),
        train_lightning(votes, folder, 8 // processes, processes),
    ]
    weights = [torch.cat([p.detach().flatten() for p in model.parameters()]).numpy() for model in models]
    share = read_share(votes, int(name)) if environment else {}
    np.savez(f"{folder}/{name}.npz", transformer=weights[0], linear=weights[1], **SEEN, **share)


def free_port() -> str:
    with socket.socket() as waiting:
        waiting.bind(("127.0.0.1", 0))
        return str(waiting.getsockname()[1])


def main(folder: str) -> None:
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    environments = {rank: {**shared, "RANK": rank, "LOCAL_RANK": rank} for rank in ("0", "1")} | {"alone": {}}
    processes = [get_context("fork").Process(target=work, args=(name, folder, e)) for name, e in environments.items()]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    sys.exit(max(abs(process.exitcode or 0) for process in processes))


if __name__ == "__main__":
    main(sys.argv[1])
