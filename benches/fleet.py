"""How long a fleet takes to be read, judged and drawn, and in how much memory.

    python3 benches/fleet.py [--nodes 10000] [--repetitions 6] [--headrace build/release/headrace] [--keep FOLDER]

Makes run folders of as many nodes, seeded. Nodes differ by 1.5 %. Every thousandth node is 25 % slow and measured twice, one rack is 8 %
slow, some nodes are missing. Then runs `headrace fleet` on them with its page, and prints the time and
memory. Each run file holds its repetitions with series and histograms, as measured ones do.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

# Workload, first metric, unit, usual value, better.
POINTS = [("small_file_read", "sample_rate", "1/s", 9.1e3, "higher"), ("shard_stream", "read_bandwidth", "B/s", 2.4e9, "higher"),
          ("random_read", "read_iops", "1/s", 5.2e4, "higher"), ("checkpoint_write", "durable_bandwidth", "B/s", 1.5e9, "higher"),
          ("checkpoint_read", "read_bandwidth", "B/s", 2.6e9, "higher"), ("memory_copy", "copy_bandwidth", "B/s", 1.1e11, "higher"),
          ("metadata", "operation_rate", "1/s", 5.4e4, "higher"), ("h2d", "bandwidth", "B/s", 5.5e10, "higher")]
EXTRA = [("latency_p50_ns", "ns", 8.1e5, "lower"), ("latency_p99_ns", "ns", 2.2e6, "lower"), ("elapsed_s", "s", 10.0, "lower"),
         ("cpu_s", "s", 2.0, "lower")]
PER_RACK = 16


def repetition(index: int, values: dict) -> dict:
    series = {key: [round(value + 0.01 * i, 4) for i in range(100)] for key, value in
              (("time_s", 0.0), ("bytes_per_s", 9.1e8), ("operations_per_s", 7e3), ("latency_p99_ns", 1e6))}
    phase = {"name": "main", "elapsed_s": 10.0, "first_finish_s": 9.9, "cpu_s": 2.0, "bytes": 9100000000, "operations": 70000,
             "errors": 0, "storage_bytes": 9100000000, "device_bytes": 9100000000, "steady_from_s": 0.1,
             "latency": {"min_ns": 100000, "max_ns": 9000000, "buckets": [[900 + i, 1000 + i] for i in range(70)]}, "parts": {},
             "worker_finish_s": [9.9] * 8, "worker_bytes": [1] * 8, "series": series}
    return {"index": index, "look": 0, "counted": True, "status": "ok", "error": "", "steady": True, "steady_why": "",
            "metrics": values,
            "cache": {"declared": "cold", "proven": True, "why": "", "resident_before": 0.0, "resident_after": 1.0,
                      "delivered_bytes": 1, "storage_bytes": 1, "device_bytes": 1, "method": "cachestat"},
            "disturbance": {"disturbed": False, "why": "", "foreign_bytes": 0, "cpu_steal": 0.0, "io_pressure": 0.1,
                            "cpu_pressure": 0.0, "memory_pressure": 0.0, "throttled_s": 0.0, "foreign_cpu": 0.0},
            "phases": [phase]}


def template(repetitions: int) -> str:
    """A run file with @NODE@, @TIME@ and one @SCALE-i@ per point's values."""
    points = []
    for number, (workload, metric, unit, _, better) in enumerate(POINTS):
        metrics = [{"name": metric, "unit": unit, "better": better, "description": "what it counts",
                    "median": f"@{number}.m@", "low": f"@{number}.l@", "high": f"@{number}.h@", "is_range": False,
                    "values": f"@{number}.v@", "too_few_operations": False}]
        for name, other_unit, value, other_better in EXTRA:
            metrics.append({"name": name, "unit": other_unit, "better": other_better, "description": "what it counts",
                            "median": value, "low": value, "high": value, "is_range": False, "values": [value] * repetitions,
                            "too_few_operations": False})
        points.append({"id": workload, "workload": workload, "description": "", "params": {"engine": "posix", "workers": 8},
                       "cache": "cold", "workers": 8, "status": "ok", "reason": "", "notes": [], "left_out": {}, "verified": False,
                       "wrong_blocks": [], "elapsed_s": 60.0, "looks": [6], "ranks": [1], "latency_parts": [], "metrics": metrics,
                       "repetitions": [repetition(i, {name: value for name, _, value, _ in EXTRA}) for i in range(repetitions)]})
    run = {"schema": 1, "kind": "headrace.run", "headrace": {"version": "0.1.0", "revision": "abc123", "compiler": "GCC 12.2.0"},
           "run": {"id": "health-@NODE@", "name": "health", "started_utc": "@TIME@", "elapsed_s": 480.0,
                   "command": ["headrace", "run", "-c", "health.yaml"], "config_file": "health.yaml", "config_hash": "77aa",
                   "seed": 1, "signal": 0, "node": "@NODE@"},
           "summary": {"word": "MEASURED", "exit_code": 0, "pass": 0, "fail": 0, "inconclusive": 0, "skipped": 0, "error": 0},
           "judgements": [], "points": points,
           "environment": {"host": {"name": "@NODE@"}, "kernel": {"release": "6.1.0-28-amd64"}, "cpu": {"model": "EPYC 9554", "cores": "128"},
                           "memory": {"total": "1.50 TiB"}, "device": {"model": "NVME-X", "firmware": "GDC5602Q"},
                           "file_system": {"type": "xfs", "options": "rw,noatime"}}}
    text = json.dumps(run, indent=1)
    for number in range(len(POINTS)):
        for part in "mlhv":
            text = text.replace(f'"@{number}.{part}@"', f"@{number}.{part}@")
    return text


def split(text: str) -> list:
    """The template's texts and holes in turn."""
    import re
    return re.split(r"@([^@]+)@", text)


def write_run(folder: pathlib.Path, parts: list, node: str, when: str, scales: list, draw: random.Random, repetitions: int) -> None:
    holes = {"NODE": node, "TIME": when}
    for number, (_, _, _, usual, _) in enumerate(POINTS):
        values = sorted(usual * scales[number] * draw.gauss(1, 0.004) for _ in range(repetitions))
        middle = (values[(repetitions - 1) // 2] + values[repetitions // 2]) / 2
        holes.update({f"{number}.m": repr(middle), f"{number}.l": repr(values[0]), f"{number}.h": repr(values[-1]),
                      f"{number}.v": json.dumps(values)})
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("".join(part if i % 2 == 0 else holes[part] for i, part in enumerate(parts)))


def make(folder: pathlib.Path, nodes: int, repetitions: int, seed: int = 1) -> dict:
    """Run folders and hosts.txt; what there is to find."""
    draw = random.Random(seed)
    parts = split(template(repetitions))
    bad_rack, hosts, truth = 3, [], {"slow": [], "missing": [], "rack": "r3"}
    for number in range(nodes):
        node = f"node{number + 1:05d}"
        rack = number // PER_RACK
        hosts.append(f"{node} rack=r{rack} switch=s{rack // 8}")
        if number % 2500 == 1234:
            truth["missing"].append(node)
            continue
        scales = [draw.gauss(1, 0.015) for _ in POINTS]
        if rack == bad_rack:
            scales[1] *= 0.92
        slow = number % 1000 == 500
        if slow:
            scales[3] *= 0.75
            truth["slow"].append(node)
        write_run(folder / "runs" / node, parts, node, "2026-03-02T12:00:00Z", scales, draw, repetitions)
        if slow:
            write_run(folder / "runs" / f"{node}-before", parts, node, "2026-03-01T12:00:00Z", scales, draw, repetitions)
    (folder / "hosts.txt").write_text("\n".join(hosts) + "\n")
    return truth


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--nodes", type=int, default=10_000)
    options.add_argument("--repetitions", type=int, default=6)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--headrace", default=str(pathlib.Path(__file__).parents[1] / "build/release/headrace"))
    options.add_argument("--keep", help="leave the folders and the page there")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="headrace-fleet-") as temporary:
        folder = pathlib.Path(given.keep or temporary)
        began = time.monotonic()
        truth = make(folder, given.nodes, given.repetitions, given.seed)
        size = sum(file.stat().st_size for file in (folder / "runs").glob("*/run.json"))
        print(f"made     {given.nodes} nodes, {size / 1e9:.2f} GB of run files, in {time.monotonic() - began:.1f} s")
        began = time.monotonic()
        done = subprocess.run([given.headrace, "fleet", folder / "runs", "--hosts", folder / "hosts.txt", "--out", folder / "out"],
                              capture_output=True, text=True)
        elapsed = time.monotonic() - began
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(done.stdout.splitlines()[-1] if done.stdout else done.stderr)
        judged = json.loads((folder / "out/fleet.json").read_text())
        confirmed = sorted({o["node"] for o in judged["outliers"] if o["status"] == "confirmed"})
        print(f"found    {len(set(confirmed) & set(truth['slow']))} of {len(truth['slow'])} slow nodes confirmed, "
              f"{len(set(confirmed) - set(truth['slow']))} others; suspects {judged['summary']['suspects']}; group effects "
              f"{[e['name'] for e in judged['group_effects']]}; missing {len(judged['missing'])} of {len(truth['missing'])}")
        page = folder / "out/report.html"
        print(f"took     {elapsed:.1f} s for reading, judging and drawing; peak memory {peak:.2f} GiB (the largest process); "
              f"page {page.stat().st_size / 1e6 if page.exists() else 0:.2f} MB; {os.cpu_count()} cores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
