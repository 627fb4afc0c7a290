"""Run folders of the present schema whose truth is known: what each repetition gave is given, all else is as in a quiet run."""

from __future__ import annotations

import datetime
import json
import pathlib
import statistics
from typing import Any, Dict, List, Optional, Sequence

BEGAN = datetime.datetime(2026, 3, 1, 12, 0, 0)
LOOKS, RANKS = [5, 10, 15], [1, 2, 4]


def utc(day: float) -> str:
    return (BEGAN + datetime.timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


def repetition(index: int, metrics: Dict[str, float], began: str, seconds: float = 10.0, look: int = 0, counted: bool = True,
               disturbed: bool = False, proven: bool = True, steady: bool = True, warm_names: str = "") -> Dict[str, Any]:
    size = int(1e9 * seconds)
    return {"index": index, "look": look, "counted": counted, "status": "ok", "error": "", "steady": steady,
            "steady_why": "" if steady else "second half 12 % slower", "metrics": metrics, "began_utc": began, "timed_s": seconds,
            "cache": {"declared": "cold", "required": True, "proven": proven, "why": "" if proven else "31 % resident before",
                      "resident_before": 0.0 if proven else 0.31, "resident_after": 1.0, "delivered_bytes": size, "storage_bytes": size,
                      "device_bytes": size, "counter": "/proc/self/io", "method": "cachestat",
                      **({"warm_names": warm_names} if warm_names else {})},
            "disturbance": {"disturbed": disturbed, "why": "foreign I/O 6 % of the test's bytes" if disturbed else "", "foreign_bytes": 0,
                            "cpu_steal": 0.0, "io_pressure": 0.1, "cpu_pressure": 0.0, "memory_pressure": 0.0, "throttled_s": 0.0,
                            "foreign_cpu": 0.0, "probe_before_ns": 1.01e6, "probe_after_ns": 1.01e6},
            "phases": [{"name": "main", "elapsed_s": seconds, "first_finish_s": seconds, "cpu_s": 1.0, "bytes": size, "operations": 100000,
                        "errors": 0, "storage_bytes": size, "device_bytes": size, "steady_from_s": 0.0,
                        "latency": {"min_ns": 0, "max_ns": 0, "buckets": []}, "parts": {}, "worker_finish_s": [seconds],
                        "worker_bytes": [size], "series": {"time_s": [], "bytes_per_s": [], "operations_per_s": [], "latency_p99_ns": []}}]}


class Metric:
    """Its values, one a repetition."""

    def __init__(self, name: str, values: Sequence[float], unit: str = "B/s", better: str = "higher", few_operations: bool = False):
        self.name, self.values, self.unit, self.better, self.few_operations = name, list(values), unit, better, few_operations

    def summary(self, counted: List[bool], seconds: List[float]) -> Dict[str, Any]:
        values = [value for value, counts in zip(self.values, counted) if counts]
        times = [time for time, counts in zip(seconds, counted) if counts]
        summary = {"name": self.name, "unit": self.unit, "better": self.better, "description": "what it counts",
                "median": statistics.median(values), "low": min(values), "high": max(values), "is_range": len(values) < 6,
                "values": values, "too_few_operations": self.few_operations}
        if self.unit.endswith("/s"):
            summary["mean_over_time"] = sum(v * t for v, t in zip(values, times)) / sum(times)
        return summary


def point(workload: str, metrics: Sequence[Metric], params: Optional[Dict[str, Any]] = None, seconds: Optional[List[float]] = None,
          disturbed: Sequence[int] = (), retaken: Sequence[int] = (), unproven: Sequence[int] = (), unsteady: Sequence[int] = (),
          fresh: int = 0, day: float = 0, label: str = "", warm_names: str = "", **more: Any) -> Dict[str, Any]:
    """`retaken`: repetitions that do not count, as they were taken again; `fresh`: the last ones were taken after a FAIL."""
    count = len(metrics[0].values)
    seconds = seconds or [10.0] * count
    counted = [i not in retaken and i < count - fresh for i in range(count)]
    each = [repetition(i, {m.name: m.values[i] for m in metrics}, utc(day + i / 5760), seconds[i],
                       len(LOOKS) if i >= count - fresh else 0, counted[i], i in disturbed or i in retaken, i not in unproven,
                       i not in unsteady, warm_names) for i in range(count)]
    return {"id": workload + label, "workload": workload, "description": "", "params": params or {"engine": "posix", "workers": 8},
            "cache": "cold", "workers": 8, "deterministic": False, "across_ranks": "add", "status": "ok", "reason": "", "notes": [],
            "left_out": {}, "verified": False, "wrong_blocks": [], "elapsed_s": sum(seconds), "looks": LOOKS, "ranks": RANKS,
            "latency_parts": [], "metrics": [m.summary(counted, seconds) for m in metrics], "repetitions": each,
            "measured_again": fresh > 0, **more}


def facts(**counts: float) -> Dict[str, Any]:
    made = point("host_facts", [Metric(name, [value], "count") for name, value in counts.items()], {})
    made.update(cache="asis", deterministic=True)
    made["repetitions"][0]["cache"].update(declared="asis", required=False, proven=False)
    return made


def need(metric: str, at: float, unit: str = "B/s", at_most: bool = False, id: str = "need") -> Dict[str, Any]:
    return {"id": id, "scope": "node", "direction": "at_most" if at_most else "at_least", "required": at, "need": at, "unit": unit,
            "formula": "", "equation": "", "substituted": "", "measured_by": [metric], "workload": metric.split(".")[0], "with": [],
            "parts": 1, "per_node": False}


def run(points: List[Dict[str, Any]], node: str = "node01", day: float = 0, questions: Sequence[Dict[str, Any]] = (), config: str = "c0ffee",
        **environment: str) -> Dict[str, Any]:
    facts_of = {"host": {"name": node}, "kernel": {"release": "6.1.0"}, "cpu": {"model": "EPYC 9554", "cores": "64"},
                "memory": {"total": "251 GiB"}, "device": {"model": "NVME-X", "firmware": environment.get("firmware", "1.0")},
                "file_system": {"type": "xfs", "options": "rw"}}
    return {"schema": 1, "kind": "headrace.run", "headrace": {"version": "0.1.0", "revision": "abc123", "compiler": "GCC 12.2.0"},
            "run": {"id": f"{node}-{day:g}", "name": "made", "started_utc": utc(day), "elapsed_s": 300.0, "command": ["headrace", "run"],
                    "config_file": "made.yaml", "config_hash": config, "seed": 1, "signal": 0, "node": node, "target": "scratch"},
            "summary": {"word": "MEASURED", "exit_code": 0, "needs": 0, "pass": 0, "fail": 0, "inconclusive": 0, "skipped": 0, "error": 0},
            "judgements": [], "questions": list(questions), "points": points, "environment": facts_of}


def write(folder: pathlib.Path, made: Dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(made))
