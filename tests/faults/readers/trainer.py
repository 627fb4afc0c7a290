"""A PyTorch DataLoader with its consumer: each sample is read and takes processor time, each step is slept through.
trainer.py WORKERS BATCH PREFETCH STEP_S CPU_S FILE...   As files.py, but that an epoch reports accelerator utilization (A21: the
first step left out) and samples per second with the first step."""

import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset


class Files(Dataset):
    def __init__(self, paths, cpu_s):
        self.paths, self.cpu_s = paths, cpu_s

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index], "rb") as file:
            size = len(file.read())
        end = time.thread_time() + self.cpu_s
        while time.thread_time() < end:
            pass
        return size


def epoch(loader, step_s):
    begin = now = time.monotonic()
    ends, samples = [], 0
    for batch in loader:
        samples += len(batch)
        now = max(now, time.monotonic()) + step_s
        time.sleep(max(0, now - time.monotonic()))
        ends.append(now)
    return step_s * (len(ends) - 1) / (ends[-1] - ends[0]), samples / (ends[-1] - begin)


if __name__ == "__main__":
    workers, batch, prefetch = map(int, sys.argv[1:4])
    step_s, cpu_s = map(float, sys.argv[4:6])
    torch.set_num_threads(1)
    loader = DataLoader(Files(sys.argv[6:], cpu_s), batch_size=batch, shuffle=True, num_workers=workers, collate_fn=list,
                        prefetch_factor=prefetch, persistent_workers=True, drop_last=True)
    for _ in loader:  # starts the workers
        pass
    print("ready", flush=True)
    for _ in sys.stdin:
        print(*epoch(loader, step_s), flush=True)
