"""A PyTorch DataLoader over files, which reads and decodes nothing.  dataloader.py WORKERS BATCH PREFETCH FILE...   As
files.py."""

import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return len(file.read())


if __name__ == "__main__":
    workers, batch, prefetch = map(int, sys.argv[1:4])
    torch.set_num_threads(1)
    loader = DataLoader(Files(sys.argv[4:]), batch_size=batch, shuffle=True, num_workers=workers, collate_fn=list,
                        prefetch_factor=prefetch, persistent_workers=True)
    for _ in loader:  # starts the workers
        pass
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.monotonic()
        read = sum(len(sizes) for sizes in loader)
        print(begin, time.monotonic(), flush=True)
        assert read == len(sys.argv) - 4
