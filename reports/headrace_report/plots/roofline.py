"""Q3: bandwidth over request size, below the limits of requests per second and of bytes.
Is it latency or bandwidth that limits at my size?"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional

import numpy as np

from ..schema import Metric, Point, Run
from ..units import plural, quantity, scale_of
from . import Figure, Key, Table
from .style import COLOUR, DASHES, WIDTH, canvas, log_ticks, place, series, styled

FEWEST = 3  # sizes; two points are no curve
RATE = "read_bandwidth"
# Points that differ in nothing else are one curve.
SIZES = {"block_size", "file_size", "files", "alignment", "sample_size", "reads", "passes"}


@dataclass
class Size:
    """One point of the curve."""

    point: Point
    size: float     # mean bytes per request
    metric: Metric  # B/s

    @property
    def rate(self) -> float:
        return self.metric.shown or 0.0

    @property
    def requests(self) -> float:
        """[1/s]"""
        return self.rate / self.size


@dataclass
class Curve:
    name: str          # what the points have in common
    sizes: List[Size]  # ascending

    @property
    def most_requests(self) -> float:
        return max(size.requests for size in self.sizes)

    @property
    def roof(self) -> float:
        return max(size.rate for size in self.sizes)

    @property
    def knee(self) -> float:
        """[B] Where the two lines meet."""
        return self.roof / self.most_requests


def draw_all(run: Run) -> Iterator[Figure]:
    """One figure for every curve that the run measured."""
    own = sample_size(run)
    for curve in curves(run):
        yield _draw(curve, own)


def curves(run: Run) -> List[Curve]:
    groups: Dict[tuple, List[Size]] = {}
    for point in run.points:
        metric = next((m for m in point.metrics if m.name == RATE and m.median), None)
        size = _request_size(point)
        if point.status != "ok" or metric is None or not size:
            continue
        same = tuple(sorted((k, str(v)) for k, v in point.params.items() if k not in SIZES))
        groups.setdefault((point.workload, point.cache, same), []).append(Size(point, size, metric))
    result = []
    for (workload, cache, same), sizes in groups.items():
        sizes.sort(key=lambda one: one.size)
        if len({round(math.log2(one.size), 1) for one in sizes}) >= FEWEST:
            reported = dict(same)
            how = [reported.get("engine", ""), f"{reported['queue_depth']} in flight" if "queue_depth" in reported else "",
                   plural(int(reported["workers"]), "worker") if "workers" in reported else ""]
            result.append(Curve(", ".join([workload, cache, *filter(None, how)]), sizes))
    return result


def _request_size(point: Point) -> float:
    phases = [phase for repetition in point.finished for phase in repetition.phases]
    operations = sum(phase.operations for phase in phases)
    return sum(phase.bytes for phase in phases) / operations if operations else 0.0


def sample_size(run: Run) -> Optional[float]:
    """The job's own request size [B], when it has one: "130 kB"."""
    reported = str(run.job.values.get("dataset.sample_size", "")) if run.job else ""
    match = re.fullmatch(r"([\d.]+)\s*([kKMGT]?)(i?)B?", reported.replace("\u00a0", " ").strip())
    if not match:
        return None
    power = " kMGT".index(match[2].replace("K", "k") or " ")
    return float(match[1]) * (1024 if match[3] else 1000) ** power


def _draw(curve: Curve, own: Optional[float]) -> Figure:
    with styled():
        drawing = canvas(WIDTH, 320)
        axes = drawing.add_axes(place(drawing, 62, 14, 30, 46))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        first, last = curve.sizes[0].size, curve.sizes[-1].size
        low, high = first / 1.7, last * 1.7
        scale = scale_of(curve.roof, "B/s")
        _draw_lines(axes, curve, low, high, scale)
        x = np.array([one.size for one in curve.sizes])
        y = np.array([one.rate for one in curve.sizes]) / scale.factor
        bounds = np.array([[(one.metric.low or one.rate), (one.metric.high or one.rate)] for one in curve.sizes])
        axes.vlines(x, bounds[:, 0] / scale.factor, bounds[:, 1] / scale.factor, color=series(0), linewidth=2.2, zorder=4)
        axes.plot(x, y, marker="o", color=series(0), markeredgecolor=COLOUR["paper"], zorder=5)
        axes.set_xlim(low, high)
        axes.set_ylim(min(y) / 2, curve.roof / scale.factor * 2)
        ticks = [2.0**power for power in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]
        ticks = ticks[:: math.ceil(len(ticks) / 7)]
        axes.set_xticks(ticks, [_binary(tick) for tick in ticks])
        ticks = log_ticks(*axes.get_ylim())
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        if own and low < own < high:
            axes.axvline(own, color=COLOUR["muted"], linestyle=(0, (1, 2)), linewidth=1.6, zorder=1)
            right = own > math.sqrt(low * high)
            axes.annotate(f"the job\u2019s samples: {quantity(own, 'B')}", (own, 1.0), (-4 if right else 4, 8),
                          xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                          ha="right" if right else "left")
        axes.set_xlabel("bytes per request (log\u2082)")
        axes.set_ylabel(f"{scale.label} (log)")
    return Figure(finding=_finding(curve, own), question="Latency or bandwidth: which limits at my size?",
                  description=_describe(curve), drawing=drawing, table=_table(curve),
                  keys=[Key("dot", curve.name), Key("none", "dashed: as many requests, as many bytes per second as were reached")])


def _draw_lines(axes, curve: Curve, low: float, high: float, scale) -> None:
    """The diagonal of as many requests per second as were reached, and the roof; each named along itself."""
    edge = np.array([low, high])
    axes.plot(edge, edge * curve.most_requests / scale.factor, color=series(1), linestyle=DASHES[1], linewidth=1.4, zorder=2)
    axes.plot(edge, np.full(2, curve.roof / scale.factor), color=series(2), linestyle=DASHES[3], linewidth=1.4, zorder=2)
    axes.annotate(quantity(curve.roof, "B/s"), (low, curve.roof / scale.factor), (4, 5), textcoords="offset points")
    at = math.sqrt(curve.sizes[0].size * min(curve.knee, high))  # in the middle of where it matters
    axes.annotate(quantity(curve.most_requests, "1/s"), (at, at * curve.most_requests / scale.factor), (-8, 4),
                  textcoords="offset points", ha="right")


def _binary(size: float) -> str:
    for factor, prefix in ((2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki")):
        if size >= factor:
            return f"{size / factor:g}\u00a0{prefix}B"
    return f"{size:g}\u00a0B"


def _near(size: float) -> str:
    """A size between two that were measured, in words: a power of two is exact enough."""
    return _binary(2.0 ** round(math.log2(size)))


def _finding(curve: Curve, own: Optional[float]) -> str:
    first, last = curve.sizes[0].size, curve.sizes[-1].size
    if curve.knee <= first:
        reported = f"Bandwidth limits at every size from {_near(first)} on: {quantity(curve.roof, 'B/s')}"
    elif last <= curve.knee * 1.001 and curve.sizes[-1].requests >= curve.most_requests * 0.9:
        reported = f"Latency limits up to {_near(last)}: {quantity(curve.most_requests, '1/s')} requests"
    else:
        reported = (f"Latency limits below about {_near(curve.knee)}, bandwidth above: at most "
                f"{quantity(curve.most_requests, '1/s')} and {quantity(curve.roof, 'B/s')}")
    if own and first <= own <= last:
        reported += f"; the job\u2019s samples are {'below' if own < curve.knee else 'above'}"
    return reported


def _describe(curve: Curve) -> str:
    return f"{curve.name}. " + " ".join(
        f"{_near(one.size)}: {quantity(one.rate, 'B/s')}, {quantity(one.requests, '1/s')}." for one in curve.sizes)


def _table(curve: Curve) -> Table:
    return Table(["bytes per request", "rate", "low", "high", "requests", "of the roof", "measured at"], [
        [quantity(one.size, "B"), quantity(one.rate, "B/s"), quantity(one.metric.low, "B/s"),
         quantity(one.metric.high, "B/s"), quantity(one.requests, "1/s"), f"{100 * one.rate / curve.roof:.0f}\u00a0%",
         one.point.id] for one in curve.sizes])
