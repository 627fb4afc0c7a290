"""A run file of GPU workloads with known rates, for the figures that compare points."""

from __future__ import annotations

import random
from typing import Any, Dict, List

from sample_run import phase, point, repetition, run_file

LINK = 63.0e9
ALONE = {"pinned": 55.4e9, "pageable": 11.2e9, "registered": 55.2e9, "write_combined": 55.5e9}
OVERHEAD_S = 2.2e-6   # of each copy
SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20)
SLOW_GPU = 0.25       # gpu2 trained to a quarter of its lanes


def summaries(values: Dict[str, List[float]]) -> List[Dict[str, Any]]:
    units = {"copy_time_s": "s", "cpu_time_per_gb_s": "s"}
    return [{"name": name, "unit": units.get(name, "B/s"), "better": "higher", "description": name,
             "median": sorted(each)[len(each) // 2], "low": min(each), "high": max(each), "is_range": True,
             "values": each, "too_few_operations": False} for name, each in values.items()]


def gpu_point(id: str, workload: str, params: Dict[str, Any], metrics: Dict[str, float], phases: List[str],
              count: int = 5) -> Dict[str, Any]:
    chance = random.Random(id)
    repetitions, values = [], {name: [] for name in metrics}
    for index in range(count):
        here = {name: value * (1 + chance.gauss(0, 0.002)) for name, value in metrics.items()}
        made = [phase(chance, name, here["bandwidth"], 0.08, 4e6, 16, {}, 0.0, 0.0, False, 12) for name in phases]
        repetitions.append(repetition(chance, index, made, "asis", here))
        for name, value in here.items():
            values[name].append(value)
    made = point(id, workload, "copies", params, "asis", [])
    return {**made, "status": "ok", "repetitions": repetitions, "metrics": summaries(values)}


def copy_point(workload: str, label: str, memory: str, size: int, gpus: int, all_at_once: bool = False,
               numa: str = "local", factor: float = 1.0) -> Dict[str, Any]:
    time_s = OVERHEAD_S + size / (ALONE[memory] * factor)
    rate = size / time_s
    each = {f"bandwidth_gpu{gpu}": rate * (SLOW_GPU if gpu == 2 else 1.0) for gpu in range(gpus)}
    metrics = {"bandwidth": min(each.values()), **each, "copy_time_s": time_s, "link_bandwidth": LINK}
    if all_at_once:
        metrics["node_bandwidth"] = sum(each.values()) * 0.8
    params = {"memory": memory, "size": size, "streams": 1, "copies_in_flight": 16, "numa": numa, "huge_pages": False,
              "gpus": "all" if all_at_once else "each", "direction": workload}
    phases = ["main"] if all_at_once else [f"gpu{gpu}" for gpu in range(gpus)]
    return gpu_point(f"{workload}/{label}/memory:{memory}/size:{size}", workload, params, metrics, phases)


def stages(count: int, read_s: float, copy_s: float, in_flight: int) -> List[Dict[str, Any]]:
    """A block is read as soon as one of `in_flight` slots is free, and copied when it is there and the link is."""
    spans: List[Dict[str, Any]] = []
    ends: List[float] = []
    for item in range(count):
        begin = ends[item - in_flight] if item >= in_flight else 0.0
        arrived = begin + read_s
        sent = max(arrived, ends[-1]) if ends else arrived
        ends.append(sent + copy_s)
        spans += [{"item": item, "stage": "read", "begin_s": begin, "end_s": arrived},
                  {"item": item, "stage": "copy", "begin_s": sent, "end_s": ends[-1]}]
    return spans


def storage_point(read: float, copy: float, whole: float) -> Dict[str, Any]:
    return {**_storage_point(read, copy, whole), "stages": stages(24, 400e-6, 20e-6, 4)}


def _storage_point(read: float, copy: float, whole: float) -> Dict[str, Any]:
    return gpu_point("storage_to_gpu/method:pipelined", "storage_to_gpu", {"method": "pipelined"},
                     {"bandwidth": whole, "read_bandwidth": read, "copy_bandwidth": copy, "cpu_time_per_gb_s": 0.21},
                     ["read", "copy", "end to end"])


def one_gpu() -> Dict[str, Any]:
    """All kinds of memory over size, both directions, and the pipeline."""
    points = [copy_point("h2d", "sizes", memory, size, 1) for memory in ALONE for size in SIZES]
    points += [copy_point("d2h", "sizes", memory, size, 1) for memory in ("pinned", "pageable") for size in SIZES]
    points.append(storage_point(2.4e9, 50e9, 2.35e9))
    return run_file("MEASURED", 0, [], points)


def many_gpus() -> Dict[str, Any]:
    """Four GPUs, one of them slow: alone, all at once, from the far node."""
    points = [copy_point("h2d", "alone", "pinned", 256 << 20, 4), copy_point("h2d", "alone", "pageable", 256 << 20, 4),
              copy_point("h2d", "all", "pinned", 256 << 20, 4, all_at_once=True),
              copy_point("h2d", "far", "pinned", 256 << 20, 4, numa="remote", factor=0.7)]
    return run_file("MEASURED", 0, [], points)
