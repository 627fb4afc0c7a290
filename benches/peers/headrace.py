"""Runs headrace itself: one point, one process per turn."""

import json
import shutil
import subprocess

from outside import time_to_durable
from work import Measured, Peer, Place, Work

WORKLOADS = {"files": "small_file_read", "random": "random_read", "stream": "shard_stream", "save": "checkpoint_write"}


def configuration(work: Work, peer: Peer, place: Place) -> dict:
    entry = {"use": WORKLOADS[work.pattern], "block_size": f"{work.block}B", "repeat": {"looks": [work.passes]}}
    if work.pattern == "save":
        entry |= {"ranks": work.threads, "shard_size": f"{work.file_size}B"}
    else:
        entry |= {"files": work.files, "file_size": f"{work.file_size}B", "workers": work.threads, "cache": work.cache}
    if work.pattern == "random" and work.reads:
        entry["reads"] = work.reads
    if work.direct:
        entry["direct"] = True
    target = {"path": str(place.scratch), "max_write": "20GiB"}
    # JSON is YAML.
    return {"schema": 1, "name": "peers", "target": target, "workloads": [entry | peer.settings]}


class NotProven(Exception):
    """The declared cache state could not be kept in any repetition."""


def run(work: Work, peer: Peer, place: Place) -> Measured:
    config, out = place.temporary / "peers.yaml", place.temporary / "run"
    config.write_text(json.dumps(configuration(work, peer, place)))
    shutil.rmtree(out, ignore_errors=True)
    command = [place.headrace, "--progress", "none", "run", "-c", config, "--out", out, "--no-report"]
    if work.pattern == "save":
        seconds = time_to_durable(command, place.scratch / "checkpoint", place.temporary)
    else:
        reported = subprocess.run([str(part) for part in command], capture_output=True, text=True).stderr
        if not (out / "run.json").exists():
            raise RuntimeError(f"headrace failed:\n{reported}")
    result = json.loads((out / "run.json").read_text())
    point = result["points"][0]
    if point["status"] != "ok":
        raise RuntimeError(f"headrace: {point['status']}: {point['reason']}")
    place.environment = result["environment"]
    place.notes = point["notes"]
    repetitions = [r for r in point["repetitions"] if r["status"] == "ok"]
    if not repetitions:
        raise RuntimeError(f"headrace: {point['repetitions'][0]['error']}")
    if work.pattern != "save":
        repetitions = [r for r in repetitions if r["cache"]["proven"]]
        if not repetitions:
            raise NotProven(point["repetitions"][0]["cache"]["why"])
    phases = [p for r in repetitions for p in r["phases"]]
    operations, total = sum(p["operations"] for p in phases), sum(p["bytes"] for p in phases)
    elapsed = seconds if work.pattern == "save" else sum(p["elapsed_s"] for p in phases)
    latencies = [percentile(phases, share) for share in (0.50, 0.99)]
    counted = total if work.pattern in ("stream", "save") else operations
    return Measured(counted / elapsed, sum(p["cpu_s"] for p in phases) / operations, *latencies)


def percentile(phases: list, share: float) -> float:
    """Of the phases' histograms together [s]; buckets as docs/reference/run-json.md describes them."""
    counts: dict = {}
    for phase in phases:
        for index, count in phase["latency"]["buckets"]:
            counts[index] = counts.get(index, 0) + count
    left = share * sum(counts.values())
    for index in sorted(counts):
        left -= counts[index]
        if left <= 0:
            shift = max(index // 64 - 1, 0)
            return 1e-9 * ((index - 64 * shift) << shift)
    return 0.0
