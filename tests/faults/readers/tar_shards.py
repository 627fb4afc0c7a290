"""Reads tar shards as streams, as WebDataset does.  tar_shards.py FILE...   As files.py, and then the processor time
that it took [s]."""

import sys
import tarfile
import time

print("ready", flush=True)
for _ in sys.stdin:
    begin, used = time.monotonic(), time.process_time()
    for path in sys.argv[1:]:
        with open(path, "rb") as file, tarfile.open(fileobj=file, mode="r|*") as shard:
            for member in shard:
                shard.extractfile(member).read()
    print(begin, time.monotonic(), time.process_time() - used, flush=True)
