"""Points of one workload over an object store, side by side. It shows which sizes, and how many requests at once, reach the need with the
least processor time."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Dict, List, Optional

from ..schema import Judgement, Point, Run
from ..units import quantity
from .views import DASH, parameter

RATES = ("read_bandwidth", "durable_bandwidth")  # of workloads that read, and of those that save


@dataclass
class ObjectRow:
    """One point; numbers are medians of its repetitions."""

    anchor: str
    id: str
    requests: str    # of what size
    at_once: str     # connections at most, and requests in flight
    rate: str
    first_byte: str
    throttled: str
    cores: str
    cost: str        # processor time per GB
    meets: str       # "yes", "no"; "" = no need of this workload is a rate of bytes
    least: bool      # processor time, of those that meet the need, or of all where there is none


@dataclass
class ObjectTable:
    workload: str
    need: str        # "" = none
    rows: List[ObjectRow]


def object_tables(run: Run, anchors: Dict[str, str]) -> List[ObjectTable]:
    """A table for each workload of which two points or more asked a store."""
    tables = []
    for workload in dict.fromkeys(point.workload for point in run.points):
        points = [point for point in run.points if point.workload == workload and _asked_a_store(point) and _rate(point)]
        if len(points) > 1:
            tables.append(_table(workload, points, _need(run, workload), anchors))
    return tables


def _table(workload: str, points: List[Point], need: Optional[Judgement], anchors: Dict[str, str]) -> ObjectTable:
    meets = {point.id: need is None or not need.misses(_rate(point) or 0.0) for point in points}
    costs = {point.id: _cost(point) for point in points}
    able = [point.id for point in points if meets[point.id] and costs[point.id] is not None]
    least = min(able, key=lambda id: costs[id] or 0.0, default=None)
    rows = []
    for point in points:
        cost, rate = costs[point.id], _rate(point) or 0.0
        throttled, in_flight = _median(point, "throttled_share") or 0.0, _median(point, "requests_in_flight")
        workers = point.params.get("workers", point.params.get("ranks", 1))
        depth = point.params.get("queue_depth", 1)
        first = _median(point, "first_byte_latency_p50_ns")
        rows.append(ObjectRow(
            anchors.get(point.id, ""), point.id,
            "whole objects" if workload == "small_file_read" else parameter("block_size", point.params.get("block_size", 0)),
            f"{workers} × {depth}" + ("" if in_flight is None else f", {in_flight:.3g} in flight"),
            quantity(rate, "B/s"), DASH if first is None else quantity(first, "ns"),
            f"{100 * throttled:.2g} %" if throttled else DASH,
            DASH if cost is None else f"{cost * rate:.2g}", DASH if cost is None else quantity(1e18 * cost, "ns"),
            "" if need is None else "yes" if meets[point.id] else "no", point.id == least))
    return ObjectTable(workload, quantity(need.need, "B/s") if need else "", rows)


def _asked_a_store(point: Point) -> bool:
    return point.status == "ok" and any(metric.name == "throttled_share" and metric.values for metric in point.metrics)


def _median(point: Point, name: str) -> Optional[float]:
    return next((metric.shown for metric in point.metrics if metric.name == name), None)


def _rate(point: Point) -> Optional[float]:
    return next((rate for rate in (_median(point, name) for name in RATES) if rate), None)


def _cost(point: Point) -> Optional[float]:
    """Processor time per byte [s]."""
    used = [one.metrics["cpu_s"] / one.metrics["elapsed_s"] for one in point.finished
            if one.metrics.get("elapsed_s", 0) > 0 and "cpu_s" in one.metrics]
    rate = _rate(point)
    return statistics.median(used) / rate if used and rate else None


def _need(run: Run, workload: str) -> Optional[Judgement]:
    """This workload's need in bytes per second; of several the greatest."""
    asked = [j for j in run.judgements if j.unit == "B/s" and j.higher_is_better and j.metric in [f"{workload}.{name}" for name in RATES]]
    return max(asked, key=lambda j: j.need, default=None)
