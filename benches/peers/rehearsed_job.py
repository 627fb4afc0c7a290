"""PyTorch's DataLoader with its consumer, over samples of a few kinds: what `headrace rehearse` predicts, for real.

    rehearsed_job.py KIND FOLDER WORKERS BATCH PREFETCH

KIND: `images` (Pillow and torchvision's RandomResizedCrop, flip and normalization, as ImageFolder has them), `files` (read whole, not
decoded) or `shards` (tar, by WebDataset). Prints "ready". Then for each line `STEP_S COLD` on standard input, of one epoch, read cold
where COLD is 1: accelerator utilization and samples per second of the steps after the first WORKERS ones, which the start of the
pipeline prepared, and the processor time of this process for a batch [s]. The GPU is emulated by deadlines: it computes while the
host takes the next batch. Ends with its input.
"""

from __future__ import annotations

import os
import pathlib
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, paths):
        from PIL import Image
        from torchvision import transforms

        self.paths, self.open = paths, Image.open
        self.transform = transforms.Compose([
            transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return self.transform(self.open(file).convert("RGB"))


class Files(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            return len(file.read())


def loader_of(kind, paths, workers, batch, prefetch):
    shared = dict(batch_size=batch, num_workers=workers, prefetch_factor=prefetch, persistent_workers=True, drop_last=True)
    if kind == "shards":
        import webdataset

        shards = webdataset.WebDataset([str(p) for p in paths], shardshuffle=False).map(lambda sample: len(sample["jpg"]))
        return DataLoader(shards, **shared)
    data = Images(paths) if kind == "images" else Files(paths)
    return DataLoader(data, shuffle=True, **shared)


def evict(paths):
    os.sync()
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    with open("/proc/sys/vm/drop_caches", "w") as drop:
        drop.write("3")


def epoch(loader, step_s, batch, settling):
    end = time.monotonic()
    ends, used = [], time.process_time()
    for _ in loader:
        start = max(end, time.monotonic())
        end = start + step_s
        time.sleep(max(0.0, start - time.monotonic()))
        ends.append(end)
    used = time.process_time() - used
    time.sleep(max(0.0, end - time.monotonic()))
    settled = ends[min(settling, len(ends) // 2):]
    took_s = settled[-1] - settled[0]
    return step_s * (len(settled) - 1) / took_s, batch * (len(settled) - 1) / took_s, used / len(ends)


def main():
    kind, folder = sys.argv[1:3]
    workers, batch, prefetch = map(int, sys.argv[3:6])
    torch.set_num_threads(1)
    paths = sorted(p for p in pathlib.Path(folder).rglob("*") if p.is_file())
    loader = loader_of(kind, paths, workers, batch, prefetch)
    iterator = iter(loader)  # starts the workers
    next(iterator)
    del iterator
    print("ready", flush=True)
    for line in sys.stdin:
        step_s, cold = line.split()
        if int(cold):
            evict(paths)
        print(*epoch(loader, float(step_s), batch, workers), flush=True)


if __name__ == "__main__":
    main()
