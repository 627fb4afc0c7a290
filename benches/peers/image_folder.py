"""PyTorch's DataLoader over torchvision's ImageFolder, with its consumer: images are read by Pillow, cropped, resized, flipped and
normalized. Its GPU is emulated by deadlines. It computes while the host takes the next batch, as CUDA's streams do. Or the host
waits for each step to end, as a loop does that reads the loss.

    image_folder.py FOLDER WORKERS BATCH PREFETCH [waits]

Prints "ready". Then for each line `STEP_S EPOCHS COLD` on standard input a line of the last epoch, read cold where COLD is 1. It has the
accelerator utilization (A21: without the first step), samples per second with the first step, and samples. Then the processor time of a
sample in its worker and of a batch in this process [s]. Ends with its input.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time

import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def evict(paths: list[str]) -> None:
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def sleep_until(at: float) -> None:
    time.sleep(max(0.0, at - time.monotonic()))


def epoch(loader: DataLoader, step_s: float, waits: bool) -> tuple[float, float, int, float]:
    begin = end = time.monotonic()
    used = time.process_time()
    ends, samples = [], 0
    for images, _ in loader:
        samples += len(images)
        start = max(end, time.monotonic())
        end = start + step_s
        sleep_until(end if waits else start)
        ends.append(end)
    used = time.process_time() - used
    sleep_until(end)
    return step_s * (len(ends) - 1) / (ends[-1] - ends[0]), samples / (ends[-1] - begin), samples, used / len(ends)


def workers_used() -> float:
    """Processor time of the workers so far [s]."""
    ticks = 0
    for worker in multiprocessing.active_children():
        with open(f"/proc/{worker.pid}/stat") as stat:
            ticks += sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    workers, batch, prefetch = map(int, sys.argv[2:5])
    torch.set_num_threads(1)
    data = datasets.ImageFolder(sys.argv[1], transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]))
    paths = [path for path, _ in data.samples]
    loader = DataLoader(data, batch_size=batch, shuffle=True, num_workers=workers, prefetch_factor=prefetch,
                        persistent_workers=True, drop_last=True)
    for _ in loader:  # starts the workers
        pass
    print("ready", flush=True)
    for line in sys.stdin:
        step_s, epochs, cold = line.split()
        for _ in range(int(epochs)):
            if int(cold):
                evict(paths)
            used = workers_used()
            *reported, own_s = epoch(loader, float(step_s), "waits" in sys.argv[5:])
        print(*reported, (workers_used() - used) / reported[2], own_s, flush=True)


if __name__ == "__main__":
    main()
