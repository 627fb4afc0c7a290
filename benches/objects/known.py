"""Is a known store measured right? One that holds a rate, one that begins to answer after a known time, one of many keys?"""

from __future__ import annotations

import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import time

from measured import environment, headrace, nginx

import million
from exact_store import ExactStore

OBJECT = 130_000
KEYS = 1_000_000


def known(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    size, count, held = 12 << 20, 6, 2 << 20
    rates = []
    for turn in range(arguments.turns):
        place = folder / f"held{turn}"
        place.mkdir()
        with nginx(place, [size] * count, f"limit_rate {held};") as endpoint:
            run, _ = headrace(arguments.headrace, place, endpoint, {"use": "small_file_read", "workers": 2, "repeat": 1})
            reported = run["points"][0]["repetitions"][-1]["metrics"]["read_bandwidth"]
        served = [tuple(map(float, line.split())) for line in (place / "served.log").read_text().splitlines()]
        last = sorted(one for one in served if one[2] == size)[-count:]  # of one repetition: a disturbed one is taken again
        own = size * count / (max(end for end, _, _ in last) - min(end - took for end, took, _ in last))
        rates.append(reported / own - 1)
        print(f"nginx holds two connections at {held} B/s: by its log it sent {own:.0f} B/s, headrace reported {reported:.0f} B/s, {rates[-1]:+.2%}")
    print(f"  at most {max(map(abs, rates)):.2%} (1 % is wanted)")
    for latency in (0.0, 0.001, 0.002, 0.01, 0.05):
        off = []
        for _ in range(arguments.turns):
            with ExactStore(200, 1000, latency) as store:
                run, _ = headrace(arguments.headrace, folder, store.endpoint,
                                  {"use": "small_file_read", "workers": 1, "repeat": 1}, keys=False)
                took = 1e3 * statistics.median(store.served[-200:])
            reported = run["points"][0]["repetitions"][-1]["metrics"]["first_byte_latency_p50_ns"] / 1e6
            off.append(reported - took)
        print(f"first byte after {took:.3f} ms: told {', '.join(f'{one:+.3f}' for one in off)} ms more "
              f"(2 % + 0.1 ms are {0.02 * took + 0.1:.3f})")


def listing(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    job = {"schema": 1, "job": "million", "cluster": {"nodes": 1, "gpus_per_node": 1}, "step": {"time": "1s", "micro_batch": 64},
           "dataset": {"layout": "files", "samples": KEYS, "sample_size": f"{OBJECT}B"}, "loader": {"workers_per_gpu": 2}}
    (folder / "job.yaml").write_text(json.dumps(job))
    entry = {"use": "metadata", "path": "s3://bucket/set", "workers": 8, "repeat": 1}
    (folder / "names.yaml").write_text(json.dumps({"schema": 1, "workloads": [entry]}))
    for words in (["run", "--dry-run", "job.yaml", "--data", "s3://bucket/set"], ["run", "-c", "names.yaml", "--no-report", "--out", "out"]):
        with million.bucket(KEYS) as server:
            begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([arguments.headrace, *words], cwd=folder, capture_output=True, text=True,
                                  env=environment(server.endpoint))
            took, used = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        print(f"headrace {words[0]} lists {KEYS} keys in {took:.1f} s, of them {cpu:.2f} s of its processor time; "
              f"{used.ru_maxrss / 1024:.0f} MiB of memory at most until here")
    repetition = json.loads((folder / "out/run.json").read_text())["points"][0]["repetitions"][-1]
    print(f"  by 8 at once: {repetition['metrics']['list_rate']:.0f} keys/s")
