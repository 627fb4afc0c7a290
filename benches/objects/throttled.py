"""Is throttling named in every verdict of a bucket that throttles, read or written, and in no other?"""

from __future__ import annotations

import argparse
import pathlib

from measured import headrace

from faulty_store import FaultyStore

MARK = "The store throttled"
BEST = "1e15"  # out of reach: the verdict has to show the obstacle
# For each case: the workload, the metric that judges it, the setting for refusals, and where it writes.
WAYS = {
    "objects read": ({"use": "small_file_read"}, "small_file_read.file_rate", f"{BEST}/s", "refuse_each", None),
    "ranges read": ({"use": "random_read", "block_size": "10kB"}, "random_read.read_bandwidth", f"{BEST}B/s", "refuse_each", None),
    "whole shards": ({"use": "checkpoint_write", "shard_size": "40kB", "ranks": 8}, "checkpoint_write.durable_bandwidth",
                     f"{BEST}B/s", "put_refuse_each", "s3://bucket/mine"),
    "shards in parts": ({"use": "checkpoint_write", "shard_size": "11MiB", "block_size": "5MiB"},
                        "checkpoint_write.durable_bandwidth", f"{BEST}B/s", "put_refuse_each", "s3://bucket/mine"),
}


def verdicts(binary: str, folder: pathlib.Path, way: str, turns: int, objects: int = 60, repeat: int = 5) -> tuple[int, int]:
    """How many verdicts of a bucket that throttles name it, and how many of one that does not. Turn by turn it refuses another
    part of the requests, of another number of workers."""
    entry, metric, best, fault, at = WAYS[way]
    named = wrongly = 0
    for turn in range(turns):
        of_turn = {**entry, "repeat": repeat} | ({} if at else {"workers": 1 + turn % 4})
        for each in (3 + turn % 5, 0):
            with FaultyStore({} if at else {f"set/{n:04}": bytes(20_000) for n in range(objects)}, **{fault: each}) as store:
                run, _ = headrace(binary, folder, store.endpoint, of_turn,
                                  [{"id": "rate", "metric": metric, "at_least": best}], at=at)
            found = MARK in run["judgements"][0]["explanation"]
            named += found and each > 0
            wrongly += found and each == 0
    return named, wrongly


def throttled(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    for way in WAYS:
        named, wrongly = verdicts(arguments.headrace, folder, way, arguments.turns)
        print(f"{way}: throttling named in {named} of {arguments.turns} verdicts of a throttled bucket, in {wrongly} of as many "
              "others", flush=True)
