"""Mosaic's StreamingDataset over local MDS shards, in random order, in a PyTorch DataLoader.
mds_samples.py WORKERS BATCH PREFETCH FOLDER   As files.py.   mds_samples.py write FOLDER SHARDS SAMPLES BYTES   makes them."""

import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import streaming  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402


class Samples(Dataset):
    """By number, as the library's own sampler asks a shard that has come: without what shuffling and resuming take."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, number):
        return len(self.samples[number]["x"])


def write(folder, shards, samples, size):
    limit = 4 * (samples + 2) + 400 + samples * (size + 4)
    with streaming.MDSWriter(out=folder, columns={"x": "bytes"}, size_limit=limit) as out:
        for _ in range(shards * samples):
            out.write({"x": os.urandom(size)})


def main():
    workers, batch, prefetch = map(int, sys.argv[1:4])
    samples = Samples(streaming.StreamingDataset(local=sys.argv[4], shuffle=False, batch_size=batch))
    loader = DataLoader(samples, batch_size=batch, shuffle=True, num_workers=workers, collate_fn=list, prefetch_factor=prefetch,
                        persistent_workers=True)
    for _ in loader:  # starts the workers
        pass
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.monotonic()
        read = sum(len(sizes) for sizes in loader)
        print(begin, time.monotonic(), flush=True)
        assert read == len(samples)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], *map(int, sys.argv[3:6]))
    else:
        main()
