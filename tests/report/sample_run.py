"""Plausible run files for the tests of the report: known numbers, fixed seeds, every outcome and every oddity.

As a program, writes them into a folder: sample_run.py FOLDER.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import sys
from typing import Any, Dict, List

MARKUP = "<script>alert(1)</script>&\"'</title><img src=x onerror=alert(2)>"


def bucket_of(ns: int) -> int:
    """As harness/record/histogram.h."""
    if ns < 64:
        return ns
    shift = ns.bit_length() - 7
    return (shift + 1) * 64 + (ns >> shift) - 64


def histogram(draw, count: int) -> Dict[str, Any]:
    """Of `count` latencies; `draw` gives one in ns."""
    values = [max(1, int(draw())) for _ in range(count)]
    buckets: Dict[int, int] = {}
    for value in values:
        buckets[bucket_of(value)] = buckets.get(bucket_of(value), 0) + 1
    return {"min_ns": min(values), "max_ns": max(values), "buckets": sorted(map(list, buckets.items()))}


def tail(chance: random.Random, median_ns: float, spread: float = 0.35, stall: float = 0.003, factor: float = 15.0):
    """Log-normal with a few stalls."""
    def draw() -> float:
        value = median_ns * math.exp(chance.gauss(0, spread))
        return value * factor * (0.6 + chance.random()) if chance.random() < stall else value
    return draw


def series(chance: random.Random, elapsed: float, rate: float, p99: float, samples: int, warm: float = 0.0,
           dip: bool = False, block: float = 130e3) -> Dict[str, List[float]]:
    result: Dict[str, List[float]] = {"time_s": [], "bytes_per_s": [], "operations_per_s": [], "latency_p99_ns": []}
    for number in range(samples):
        at = (number + 0.5) * elapsed / samples
        here = rate * (1 + chance.gauss(0, 0.03))
        slow = p99 * math.exp(chance.gauss(0, 0.12))
        if at < warm:
            here *= 0.55 + 0.45 * at / warm
        if dip and 0.45 < at / elapsed < 0.7:
            here, slow = here * 0.62, slow * 2.6
        for key, value in zip(result, (at, here, here / block, slow)):
            result[key].append(float(f"{value:.6g}"))
    return result


def phase(chance: random.Random, name: str, rate: float, elapsed: float, median_ns: float, operations: int,
          parts: Dict[str, float], storage: float, warm: float, dip: bool, samples: int) -> Dict[str, Any]:
    size = int(rate * elapsed)
    whole = histogram(tail(chance, median_ns), operations)
    return {
        "name": name, "elapsed_s": elapsed, "first_finish_s": elapsed * 0.98, "cpu_s": elapsed * 1.1, "bytes": size,
        "operations": operations, "errors": 0, "storage_bytes": int(size * storage),
        "device_bytes": int(size * storage * 1.001), "steady_from_s": warm, "latency": whole,
        "parts": {part: histogram(tail(chance, median_ns * share), operations) for part, share in parts.items()},
        "worker_finish_s": [round(elapsed * (0.98 + 0.02 * worker / 7), 4) for worker in range(8)],
        "worker_bytes": [size // 8] * 8,
        "series": series(chance, elapsed, rate, median_ns * 3, samples, warm, dip, size / operations)}


def repetition(chance: random.Random, index: int, phases: List[Dict[str, Any]], cache: str, metrics: Dict[str, float],
               disturbed: bool = False, proven: bool = True, steady: bool = True) -> Dict[str, Any]:
    delivered = sum(p["bytes"] for p in phases)
    storage = sum(p["storage_bytes"] for p in phases)
    whys = {"cold": f"{0.0 if proven else 0.31:.1%} resident before; {storage / delivered:.1%} of the bytes from storage",
            "warm": f"99.8 % resident before; {storage / delivered:.1%} of the bytes from storage",
            "bypassed": f"{storage / delivered:.1%} of the bytes from storage", "asis": ""}
    return {
        "index": index, "look": 0, "counted": not disturbed, "status": "ok", "error": "", "steady": steady,
        "steady_why": "" if steady else "second half 12 % slower", "metrics": metrics,
        "cache": {"declared": cache, "proven": proven and cache != "asis", "why": whys[cache],
                  "resident_before": {"cold": 0.0 if proven else 0.31, "warm": 0.998}.get(cache, -1.0),
                  "resident_after": {"cold": 0.97, "warm": 0.998}.get(cache, -1.0), "delivered_bytes": delivered,
                  "storage_bytes": storage, "device_bytes": int(storage * 1.001), "method": "cachestat, drop_caches"},
        "disturbance": {"disturbed": disturbed, "why": "foreign I/O 6 % of the test's bytes" if disturbed else "",
                        "foreign_bytes": int(delivered * (0.06 if disturbed else 0.001)),
                        "cpu_steal": 0.004, "io_pressure": round(0.3 + chance.random() / 10, 3),
                        "cpu_pressure": round(chance.random() / 50, 3), "memory_pressure": 0.0, "throttled_s": 0.0,
                        "foreign_cpu": 0.002, "probe_before_ns": 1.01e6, "probe_after_ns": 1.02e6},
        "phases": phases}


METRICS = {
    "read_bandwidth": ("B/s", "higher", "bytes of file contents delivered per second"),
    "files_per_s": ("1/s", "higher", "whole files read per second"),
    "open_rate": ("1/s", "higher", "files opened per second"),
    "latency_p50_ns": ("ns", "lower", "median latency of a whole file"),
    "latency_p99_ns": ("ns", "lower", "99th percentile of the latency of a whole file"),
    "open_latency_p99_ns": ("ns", "lower", "99th percentile of the latency of an open"),
    "latency_p999_ns": ("ns", "lower", "99.9th percentile of the latency of a whole file"),
    "before_latency_p99_ns": ("ns", "lower", "99 % of the reads before the save"),
    "during_latency_p99_ns": ("ns", "lower", "99 % of the reads during the save"),
    "latency_p99_ratio": ("ratio", "lower", "p99 during the save over p99 before it"),
    "hit_ratio": ("ratio", "higher", "share of the bytes that the page cache served from the second epoch on"),
    "hit_ratio_predicted_c2": ("ratio", "neither", "formula C2 for this memory and data set"),
    "hit_ratio_predicted_c4": ("ratio", "neither", "formula C4 for this memory and data set"),
    "hit_ratio_predicted_c7": ("ratio", "neither", "formula C7 for this memory and data set"),
}


def summaries(repetitions: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    result = []
    for name in repetitions[0]["metrics"]:
        unit, better, description = METRICS[name]
        values = [r["metrics"][name] for r in repetitions if r["counted"]]
        result.append({"name": name, "unit": unit, "better": better, "description": description,
                       "median": statistics.median(values), "low": min(values), "high": max(values),
                       "is_range": len(values) < 6, "values": values,
                       "too_few_operations": name == "latency_p999_ns"})
    return result


def point(id: str, workload: str, description: str, params: Dict[str, Any], cache: str,
          repetitions: List[Dict[str, Any]], parts: List[str] = (), **more: Any) -> Dict[str, Any]:
    return {"id": id, "workload": workload, "description": description, "params": params, "cache": cache,
            "status": "ok" if repetitions else "skipped", "reason": "", "notes": [], "left_out": {}, "verified": False,
            "wrong_blocks": [], "elapsed_s": round(sum(p["elapsed_s"] for r in repetitions for p in r["phases"]) * 1.4, 3),
            "looks": [5, 10, 15], "ranks": [1, 2, 4], "latency_parts": list(parts),
            "metrics": summaries(repetitions) if repetitions else [], "repetitions": repetitions, **more}


def small_files(seed: int, id: str, engine: str, rate: float, count: int, operations: int, disturbed: int = -1,
                **more: Any) -> Dict[str, Any]:
    chance = random.Random(seed)
    repetitions = []
    for index in range(count):
        here = rate * (1 + chance.gauss(0, 0.015)) * (0.9 if index == disturbed else 1)
        elapsed = round(operations * 130e3 / here, 4)
        one = phase(chance, "main", here, elapsed, elapsed / operations * 8e9, operations,
                    {"open": 0.12, "read": 0.82, "close": 0.015}, 1.0, round(elapsed * 0.06, 4), index == disturbed, 90)
        p50 = elapsed / operations * 8e9
        repetitions.append(repetition(chance, index, [one], "cold", {
            "read_bandwidth": here, "files_per_s": here / 130e3, "open_rate": here / 130e3, "latency_p50_ns": p50,
            "open_latency_p99_ns": p50 * 0.3, "latency_p99_ns": p50 * 2.4, "latency_p999_ns": p50 * 15.2}, disturbed=index == disturbed))
    params = {"engine": engine, "workers": 8, "queue_depth": 1, "files": 20000, "file_size": 130000,
              "file_size_spread": 40000, "path": ""}
    return point(id, "small_file_read", "whole files in seeded random order: open, read, close", params, "cold",
                 repetitions, ["open", "read", "close"], **more)


def shard_stream(seed: int, id: str, rate: float, count: int, steady: bool = True) -> Dict[str, Any]:
    chance = random.Random(seed)
    repetitions = []
    for index in range(count):
        here = rate * (1 + chance.gauss(0, 0.01))
        one = phase(chance, "main", here, round(2e9 / here, 4), 4e6, 2000, {}, 1.0, 0.0, not steady and index % 2 == 0, 130)
        repetitions.append(repetition(chance, index, [one], "bypassed", {
            "read_bandwidth": here, "latency_p50_ns": 4e6, "latency_p99_ns": 9.6e6, "latency_p999_ns": 6.1e7},
            steady=steady or index % 2 == 1))
    params = {"engine": "io_uring", "readers": 4, "queue_depth": 16, "block_size": 1 << 20, "direct": True,
              "shards": 4, "shard_size": 512 << 20, "sample_size": 130000}
    return point(id, "shard_stream", "large files in order, each reader its own shards", params, "bypassed", repetitions,
                 notes=["no huge pages: buffers in ordinary pages"])


def epochs(seed: int, id: str, count: int, epochs_each: int = 4) -> Dict[str, Any]:
    chance = random.Random(seed)
    repetitions = []
    for index in range(count):
        phases = []
        for epoch in range(epochs_each):
            hit = 0.0 if epoch == 0 else (0.152 if epoch == 1 else 0.27) + chance.gauss(0, 0.006)
            rate = 0.9e9 / (1 - hit) * (1 + chance.gauss(0, 0.01))
            phases.append(phase(chance, f"epoch {epoch + 1}", rate, round(1.2e9 / rate, 4), 1.1e6, 2500,
                                {}, 1 - hit, 0.0, False, 50))
        hits = [1 - p["storage_bytes"] / p["bytes"] for p in phases]
        repetitions.append(repetition(chance, index, phases, "cold", {
            "read_bandwidth": 1.1e9, "hit_ratio": statistics.mean(hits[1:]), "hit_ratio_predicted_c2": 0.1534,
            "hit_ratio_predicted_c4": 0.0, "hit_ratio_predicted_c7": 0.2747}))
    params = {"engine": "posix", "workers": 8, "epochs": epochs_each, "files": 9000, "file_size": 130000}
    return point(id, "epochs", "the same data set again and again in a new order, from a cold cache", params, "cold",
                 repetitions)


def mixed(seed: int, id: str, count: int) -> Dict[str, Any]:
    """Reads at 400 files/s; while the checkpoint is saved, their p99 is six times higher."""
    chance = random.Random(seed)
    repetitions = []
    for index in range(count):
        phases = []
        for name, elapsed, slower in (("before", 5.0, 1.0), ("during", 3.1, 6.0), ("after", 5.0, 1.1)):
            one = phase(chance, name, 52.4e6, elapsed, 2e6 * slower, int(400 * elapsed),
                        {"open": 0.1, "read": 0.8, "close": 0.01, "queue": 0.05}, 1.0, 0.0, False, 60)
            if name == "during":
                size = 1 << 30
                one["background"] = {
                    "begin_s": 0.0, "end_s": 3.05, "bytes": size, "operations": size >> 20, "errors": 0,
                    "latency": histogram(tail(chance, 3e6), 1024),
                    "series": series(chance, 3.05, size / 3.05, 9e6, 60, block=1 << 20)}
            phases.append(one)
        repetitions.append(repetition(chance, index, phases, "cold", {
            "before_latency_p99_ns": 6e6, "during_latency_p99_ns": 36e6, "latency_p99_ratio": 6.0}))
    params = {"engine": "posix", "workers": 8, "rate": 400, "files": 10000, "file_size": 131072}
    return point(id, "mixed", "ingest reads at a fixed rate before, while and after a checkpoint is saved", params,
                 "cold", repetitions, ["open", "read", "close", "queue"])


NEEDS = {"ingest.read_bandwidth": "Bytes read", "ingest.open_rate": "Files opened", "ingest.read_iops": "Read calls",
         "ingest.sample_rate": "Samples read", "ingest.metadata_rate": "Names looked up",
         "ingest.steady_read_bandwidth": "Later epochs", "host.memory_bandwidth": "Memory bandwidth"}


def judgement(id: str, outcome: str, need: float, unit: str, measured: Any = None, low: Any = None, high: Any = None,
              **more: Any) -> Dict[str, Any]:
    result = {"id": id, "scope": "node", "outcome": outcome, "reason": "", "explanation": "", "next_step": "",
              "thin": False, "direction": "at_least", "required": need / 1.2, "need": need, "unit": unit,
              "repetitions": 5, "point": "small_file_read/engine:posix", "metric": "small_file_read.read_bandwidth",
              "formula": "A3", "equation": "R * S * alpha * (1 - h)",
              "substituted": "10240/s * 130 kB * 1 * (1 - 0)", **more}
    if id in NEEDS:
        result["name"] = NEEDS[id]
    if measured is not None:
        result["measured"] = measured
        result["headroom"] = measured / need if result["direction"] == "at_least" else need / measured
        for key, value in (("low", low), ("high", high)):
            if value is not None:
                result[key] = value
    return result


ENVIRONMENT = {
    "host": {"name": "node17", "machine": "x86_64"},
    "kernel": {"release": "6.1.0-18-amd64", "version": "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1"},
    "cpu": {"model": "AMD EPYC 7B13", "cores": "64", "governor": "performance"},
    "memory": {"total": "503 GiB", "available": "487 GiB", "huge pages": "0"},
    "limits": {"memlock": "unlimited", "nofile": "1048576"},
    "cgroup": {"cpu.max": "no limit", "memory.max": "no limit"},
    "file_system": {"type": "ext4", "mount": "/mnt/nvme", "options": "rw,noatime"},
    "device": {"name": "nvme0n1", "model": "SAMSUNG MZQL23T8HCLS-00A07", "firmware": "GDC5602Q", "scheduler": "none",
               "read-ahead": "128 KiB"},
    "backends": {"posix": "usable", "io_uring": "usable", "cuda": "not built: no CUDA library was found"},
}


def run_file(word: str, exit_code: int, judgements: List[Dict[str, Any]], points: List[Dict[str, Any]],
             **run: Any) -> Dict[str, Any]:
    names = {"PASS": "pass", "FAIL": "fail", "INCONCLUSIVE": "inconclusive", "SKIPPED": "skipped", "ERROR": "error"}
    summary: Dict[str, Any] = {"word": word, "exit_code": exit_code}
    summary.update({key: sum(j["outcome"] == outcome for j in judgements) for outcome, key in names.items()})
    return {
        "schema": 1, "kind": "headrace.run",
        "headrace": {"version": "0.1.0", "revision": "3f9c1d2", "compiler": "GCC 12.2.0"},
        "run": {"id": "20260131-120000-quickstart", "name": "quickstart", "started_utc": "2026-01-31T12:00:00Z",
                "elapsed_s": 132.1, "command": ["headrace", "qualify", "-c", "configs/quickstart.yaml", "--job",
                                                "configs/jobs/resnet50-imagenet.yaml", "--out", "runs/node 17"],
                "config_file": "configs/quickstart.yaml", "config_hash": "9f2c61e07ab85d34", "seed": 1, "signal": 0,
                "node": "node17", **run},
        "job": {"name": "resnet50-imagenet", "description": "ResNet-50 on ImageNet-1k, one node with 8 GPUs",
                "safety": 1.2, "values": {"cluster.nodes": "1", "cluster.gpus_per_node": "8", "step.time": "200 ms",
                                          "step.micro_batch": "256", "dataset.layout": "files",
                                          "dataset.samples": "1281167", "dataset.sample_size": "130 kB"}},
        "not_asked": ["gpu.h2d_bandwidth", "network.gradient_busbw"], "summary": summary, "judgements": judgements,
        "points": points, "environment": ENVIRONMENT}


def failing() -> Dict[str, Any]:
    """Every outcome, several workloads, disturbed, unsteady and skipped points."""
    small = small_files(1, "small_file_read/engine:posix", "posix", 0.912e9, 6, 6000, disturbed=2,
                        left_out={"not readable": 3, "empty": 12})
    uring = small_files(2, "small_file_read/engine:io_uring", "io_uring", 1.71e9, 10, 6000)
    shards = shard_stream(3, "shard_stream/engine:io_uring", 2.41e9, 5, steady=False)
    again = epochs(4, "epochs/engine:posix", 3)
    skipped = point("random_read/engine:io_uring/direct:true", "random_read", "random reads of one file", {}, "bypassed",
                    [], reason="io_uring_setup: Operation not permitted (EPERM): the container's seccomp profile "
                               "blocks it; allow io_uring or use engine: posix")
    uring_rate = "small_file_read/engine:io_uring"
    judgements = [
        judgement("ingest.read_bandwidth", "FAIL", 1.59744e9, "B/s", 0.912e9, 0.896e9, 0.931e9,
                  explanation="Even the best of 5 repetitions, 931 MB/s, is below the 1.60 GB/s that is needed.",
                  way="64 blocking workers, whole files",
                  next_step="headrace qualify -c configs/quickstart.yaml --job configs/jobs/resnet50-imagenet.yaml "
                            "--only 'small_file_read*' --set workers=32"),
        judgement("ingest.open_rate", "FAIL", 12288, "1/s", 7015.0, 6892.0, 7161.0, formula="A7",
                  equation="R / n_f", substituted="10240/s / 1", metric="small_file_read.open_rate",
                  way="64 blocking workers, whole files", unproven="5,000 of 1,281,167 files: caches hold more of them",
                  explanation="Even the best of 5 repetitions, 7.16 k/s, is below the 12.3 k/s that are needed.",
                  next_step="pack the samples into shards: then far fewer files are opened"),
        judgement("read.p99", "INCONCLUSIVE", 2.5e6, "ns", 2.45e6, 2.31e6, 2.66e6, direction="at_most", required=2.5e6,
                  reason="straddles", repetitions=10, point=uring_rate, metric="small_file_read.latency_p99_ns",
                  formula="", equation="", substituted="",
                  explanation="After 10 repetitions the bounds still span the limit.",
                  next_step="headrace qualify -c configs/quickstart.yaml --looks 5,10,15 --resume runs/node17"),
        judgement("ingest.steady_read_bandwidth", "INCONCLUSIVE", 1.22386e9, "B/s", 1.05e9, None, None,
                  reason="few-reps", repetitions=3, point="epochs/engine:posix", metric="epochs.read_bandwidth",
                  explanation="3 repetitions give no bound; the first look is after 5.",
                  next_step="raise the time budget: --budget 20min"),
        judgement("ingest.read_iops", "SKIPPED", 14500, "1/s", point="random_read/engine:io_uring/direct:true",
                  metric="random_read.read_rate", repetitions=0,
                  explanation="random_read was skipped: io_uring is not permitted in this container",
                  next_step="allow io_uring in the container, or measure with engine: posix"),
        judgement("host.prefetch_memory", "PASS", 2.3676e10, "B", 2.5e10, 2.49e10, 2.5e10, thin=True, formula="B4",
                  point="", metric="host.available_memory", equation="ranks * workers * prefetch * batch * S",
                  substituted="8 * 8 * 2 * 256 * 602112 B", explanation="Met, but with little room.",
                  next_step="free memory or lower prefetch_factor: under 10 % headroom"),
        judgement("ingest.sample_rate", "PASS", 12288, "1/s", 13150.0, 12900.0, 13420.0, thin=True, repetitions=10,
                  point=uring_rate, metric="small_file_read.files_per_s", explanation="Met with 7 % headroom."),
        judgement("ingest.metadata_rate", "PASS", 49152, "1/s", 236000.0, 229000.0, 241000.0, repetitions=10,
                  point=uring_rate, metric="small_file_read.metadata_rate", explanation="Met at the worst of the bounds."),
        judgement("host.memory_bandwidth", "PASS", 4.7588e10, "B/s", 1.62e12, 1.6e12, 1.63e12, point="",
                  explanation="Met with ample room."),
    ]
    return run_file("FAIL", 10, judgements, [small, uring, shards, again, skipped])


def passing() -> Dict[str, Any]:
    """Two needs, both met."""
    uring = small_files(5, "small_file_read", "io_uring", 2.4e9, 5, 3000)
    judgements = [
        judgement("ingest.read_bandwidth", "PASS", 1.59744e9, "B/s", 2.41e9, 2.36e9, 2.44e9, point="small_file_read",
                  explanation="Met at the worst of 5 repetitions."),
        judgement("ingest.open_rate", "PASS", 12288, "1/s", 18500.0, 18100.0, 18800.0, point="small_file_read",
                  explanation="Met at the worst of 5 repetitions.", metric="small_file_read.open_rate")]
    return run_file("PASS", 0, judgements, [uring])


def many_needs() -> Dict[str, Any]:
    """More needs, steps and words than two sheets of paper hold."""
    point = small_files(5, "small_file_read", "posix", 0.9e9, 5, 3000)
    judgements = [
        judgement(f"ingest.read_bandwidth_{number}", "FAIL", 1.6e9, "B/s", (0.9 - number / 50) * 1e9, (0.88 - number / 50) * 1e9, 0.93e9, point="small_file_read",
                  way="64 blocking workers, whole files of a long description", explanation="Even the best repetition is below it. " * 8,
                  next_step=f"step {number}: " + "try something else with many words " * 6) for number in range(40)]
    return run_file("FAIL", 10, judgements, [point])


def without_needs() -> Dict[str, Any]:
    """Measurements, nothing judged."""
    data = run_file("MEASURED", 0, [], [shard_stream(6, "shard_stream", 1.1e9, 7)])
    del data["job"]
    data["not_asked"] = []
    return data


def random_reads(seed: int, size: int, operations_per_s: float, roof: float, cache: str) -> Dict[str, Any]:
    """A device that answers at most that many requests per second, and gives at most that many bytes."""
    chance = random.Random(seed)
    repetitions = []
    for index in range(5):
        rate = 1 / (1 / (operations_per_s * size) + 1 / roof) * (1 + chance.gauss(0, 0.01))
        p50 = 32 * size / rate * 1e9
        one = phase(chance, "main", rate, 1.0, p50, 3000, {}, 1.0 if cache != "warm" else 0.0, 0.0, False, 20)
        one["operations"] = int(rate / size)
        one["bytes"] = one["operations"] * size
        repetitions.append(repetition(chance, index, [one], cache, {
            "read_bandwidth": rate, "latency_p50_ns": p50, "latency_p99_ns": p50 * 2.4}))
    params = {"engine": "io_uring", "workers": 1, "queue_depth": 32, "block_size": size, "direct": cache == "bypassed",
              "files": 4, "file_size": 256 << 20}
    return point(f"random_read/{cache}/block_size:{size}", "random_read", "blocks in random order", params, cache, repetitions)


def ceilings() -> Dict[str, Any]:
    """Every stage measured, a sweep of request sizes, and a need that one stage limits."""
    sizes = [random_reads(7 + n, 4096 << 2 * n, 80e3, 3.1e9, "bypassed") for n in range(6)]
    cold, warm = shard_stream(20, "shard_stream/cold", 2.1e9, 5), shard_stream(21, "shard_stream/warm", 24e9, 5)
    for one, cache in ((cold, "cold"), (warm, "warm")):
        one["cache"] = one["params"]["cache"] = cache
    copied = shard_stream(22, "memory_copy", 36e9, 5)
    copied.update(workload="memory_copy", cache="asis", params={"workers": 2})
    copied["metrics"][0]["name"] = "copy_bandwidth"
    loader = small_files(23, "small_file_read/loader", "posix", 1.97e9, 5, 3000)
    judgements = [judgement("ingest.read_bandwidth", "PASS", 1.59744e9, "B/s", 1.97e9, 1.94e9, 2.0e9,
                            point="small_file_read/loader", explanation="Met at the worst of 5 repetitions.")]
    return run_file("PASS", 0, judgements, [loader, *sizes, cold, warm, copied])


def saving() -> Dict[str, Any]:
    """Reads beside a checkpoint that is saved."""
    data = run_file("MEASURED", 0, [], [mixed(7, "mixed", 3)])
    data["not_asked"] = []
    return data


def interrupted() -> Dict[str, Any]:
    """Stopped in the first repetition: nothing measured, the rest not reached."""
    stopped = point("small_file_read", "small_file_read", "whole files", {}, "cold", [], status="interrupted",
                    reason="stopped by SIGINT in repetition 1")
    missed = point("shard_stream", "shard_stream", "large files", {}, "bypassed", [], status="not_reached")
    judgements = [judgement("ingest.read_bandwidth", "ERROR", 1.6e9, "B/s", point="small_file_read", repetitions=0,
                            explanation="the run was interrupted before the first look",
                            next_step="headrace qualify -c configs/quickstart.yaml")]
    return run_file("INTERRUPTED", 130, judgements, [stopped, missed], signal=2)


def hostile() -> Dict[str, Any]:
    """Markup wherever a name or a text can stand."""
    def poison(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: poison(item) for key, item in value.items()}
        if isinstance(value, list):
            return [poison(item) for item in value]
        return MARKUP if value == "%" else value
    data = passing()
    data["run"].update(name="%", node="%", command=["headrace", "%"], config_file="%", config_hash="%", id="%")
    data["job"].update(name="%", description="%", values={"%": "%"})
    data["judgements"][0].update(id="%", explanation="%", next_step="%", equation="%", outcome="FAIL", scope="%")
    data["summary"].update(word="FAIL", exit_code=10, fail=1, **{"pass": 1})
    data["points"][0].update(description="%", reason="%", notes=["%"], params={"path": "%"}, left_out={"%": 1},
                             wrong_blocks=[{"file": "%", "offset": 4096, "why": "all zero"}])
    data["points"][0]["repetitions"][0]["cache"]["why"] = "%"
    data["environment"] = {"host": {"name": "%"}}
    data = poison(data)
    text = json.dumps(data).replace(json.dumps("small_file_read"), json.dumps(MARKUP))
    return json.loads(text)


def golden() -> Dict[str, Any]:
    """What the C++ writer writes: its own tests compare with the same file."""
    path = os.path.join(os.path.dirname(__file__), "..", "golden", "run.json")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


SAMPLES = {"golden": golden, "failing": failing, "passing": passing, "many_needs": many_needs, "without_needs": without_needs, "ceilings": ceilings,
           "interrupted": interrupted, "hostile": hostile, "saving": saving}


def main() -> None:
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, make in SAMPLES.items():
        with open(os.path.join(folder, f"{name}.run.json"), "w", encoding="utf-8") as file:
            json.dump(make(), file)


if __name__ == "__main__":
    main()
