"""A PyTorch DataLoader over a WebDataset of tar shards, with its consumer: a GPU emulated by deadlines, which computes while the
host takes the next batch.

    trainer.py WORKERS BATCH PREFETCH SHUFFLE STEP_S SHARD...

SHUFFLE: samples of a worker's shuffle buffer, 0: none. Prints "ready"; then for each line of its input reads all shards once, and
prints accelerator utilization (A21: the first step left out), samples per second with the first step, and the processor time that a
batch took this process [s]."""

import sys
import time

import torch
import webdataset


def parts(sample):
    """Their sizes: what is decoded goes to the trainer in shared memory, and not as bytes through a pipe."""
    return len(sample["jpg"]), len(sample["cls"])


def epoch(loader, batch, step_s):
    begin = end = time.monotonic()
    used = time.process_time()
    ends = []
    for samples in loader:
        assert len(samples) == batch
        start = max(end, time.monotonic())
        end = start + step_s
        time.sleep(max(0, start - time.monotonic()))
        ends.append(end)
    used = time.process_time() - used
    time.sleep(max(0, end - time.monotonic()))
    return step_s * (len(ends) - 1) / (ends[-1] - ends[0]), batch * len(ends) / (ends[-1] - begin), used / len(ends)


if __name__ == "__main__":
    workers, batch, prefetch, shuffle = map(int, sys.argv[1:5])
    step_s, shards = float(sys.argv[5]), sys.argv[6:]
    torch.set_num_threads(1)
    data = webdataset.WebDataset(shards, shardshuffle=len(shards))
    data = (data.shuffle(shuffle) if shuffle else data).map(parts)
    loader = torch.utils.data.DataLoader(data, batch_size=batch, num_workers=workers, collate_fn=list, prefetch_factor=prefetch,
                                         persistent_workers=True, drop_last=True)
    for _ in loader:  # starts the workers
        pass
    print("ready", flush=True)
    for _ in sys.stdin:
        print(*epoch(loader, batch, step_s), flush=True)
