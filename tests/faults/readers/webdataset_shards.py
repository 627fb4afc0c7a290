"""Reads tar shards by WebDataset.  webdataset_shards.py FILE...   As files.py."""

import sys
import time

import webdataset

shards = webdataset.WebDataset(sys.argv[1:], shardshuffle=False)
print("ready", flush=True)
for _ in sys.stdin:
    begin = time.monotonic()
    for _ in shards:
        pass
    print(begin, time.monotonic(), flush=True)
