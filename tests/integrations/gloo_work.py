"""One process of two: reads its share of the items in three epochs and saves what it saw. Run by test_torch.py."""

from __future__ import annotations

import sys

import numpy as np
import torch
from torch.distributed import destroy_process_group, init_process_group
from torch.utils.data import DataLoader, DistributedSampler

from votewise import Multipass, Votes
from votewise.integrations.torch import VotesDataset, VotesLoader


def read_share(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    votes = Votes.from_counts(np.load(f"{folder}/counts.npy"))
    init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    data = VotesDataset(torch.arange(votes.n_items), votes)
    loader = DataLoader(data, 3, sampler=DistributedSampler(data, seed=1), num_workers=1, persistent_workers=True)
    batches = VotesLoader(loader, Multipass(votes, seed=3))
    seen = [[torch.cat(parts) for parts in zip(*batches.epoch(epoch), strict=True)] for epoch in range(3)]
    rows, targets = (torch.stack(parts).numpy() for parts in zip(*seen, strict=True))
    np.savez(f"{folder}/{rank}.npz", rows=rows, targets=targets)
    destroy_process_group()


if __name__ == "__main__":
    read_share(int(sys.argv[1]), sys.argv[2])
