"""Reads tar shards by WebDataset.  webdataset_shards.py FILE...   As files.py, and then the processor time
that it took [s]."""

import sys
import time

import webdataset

shards = webdataset.WebDataset(sys.argv[1:], shardshuffle=False)
print("ready", flush=True)
for _ in sys.stdin:
    begin, used = time.monotonic(), time.process_time()
    for _ in shards:
        pass
    print(begin, time.monotonic(), time.process_time() - used, flush=True)
