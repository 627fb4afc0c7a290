"""Reads files as a training loop's own code does.  files.py FILE...   One epoch for each line on its input; reports when it
began and ended [s, CLOCK_MONOTONIC]."""

import sys
import time

print("ready", flush=True)
for _ in sys.stdin:
    begin = time.monotonic()
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            file.read()
    print(begin, time.monotonic(), flush=True)
