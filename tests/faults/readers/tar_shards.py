"""Reads tar shards as streams, as WebDataset does.  tar_shards.py FILE...   As files.py."""

import sys
import tarfile
import time

print("ready", flush=True)
for _ in sys.stdin:
    begin = time.monotonic()
    for path in sys.argv[1:]:
        with open(path, "rb") as file, tarfile.open(fileobj=file, mode="r|*") as shard:
            for member in shard:
                shard.extractfile(member).read()
    print(begin, time.monotonic(), flush=True)
