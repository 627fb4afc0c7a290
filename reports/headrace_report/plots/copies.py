"""Copies between host and GPUs over all points of a run, by size, kind of host memory and GPU."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator

from ..schema import Point
from ..units import NBSP, quantity, scale_of, share
from . import Figure, Key, Table
from .labels import label_lines
from .style import COLOUR, DASHES, MARKERS, WIDTH, canvas, place, series, styled

DIRECTIONS = {"h2d": "to the GPU", "d2h": "from the GPU"}
KINDS = ("pinned", "pageable", "registered", "write_combined")  # in the order of their colours
MARK_PX = 16  # a GPU's marks are one below the other, so that equal ones do not hide each other
GAP_PX = 14   # between two GPUs
GPU = "bandwidth_gpu"


def value(point: Point, name: str) -> Optional[float]:
    """The median of a metric; None when the point does not report it."""
    return next((median(metric.values) for metric in point.metrics if metric.name == name and metric.values), None)


@dataclass
class Curve:
    """One kind of memory: copies of growing size, each GPU alone."""

    kind: str
    sizes: List[int]
    rates: List[float]
    times: List[float]    # of one copy [s]


def _alone(points: Sequence[Point], workload: str) -> List[Point]:
    """Copies in one direction, one stream, near memory, the slowest GPU alone."""
    plain = {"streams": 1, "direction": workload, "gpus": "each", "numa": "local", "huge_pages": False}
    return [point for point in points if point.workload == workload and value(point, "bandwidth") is not None
            and all(point.params.get(key, wanted) == wanted for key, wanted in plain.items())]


def _curves(points: Sequence[Point], workload: str) -> List[Curve]:
    curves = []
    for kind in KINDS:
        best: Dict[int, Point] = {}
        for point in _alone(points, workload):
            if point.params.get("memory") == kind and isinstance(point.params.get("size"), int):
                best.setdefault(point.params["size"], point)
        if best:
            chosen = [best[size] for size in sorted(best)]
            curves.append(Curve(kind, sorted(best), [value(point, "bandwidth") for point in chosen],
                                [value(point, "copy_time_s") or 0.0 for point in chosen]))
    return curves


def over_size(points: Sequence[Point], workload: str) -> Optional[Figure]:
    """Nothing when no kind of memory was measured with two sizes or more."""
    curves = _curves(points, workload)
    if not any(len(curve.sizes) > 1 for curve in curves):
        return None
    links = [rate for point in _alone(points, workload) if (rate := value(point, "link_bandwidth"))]
    ceiling = max(links) if links else None
    top = max(max(curve.rates) for curve in curves)
    sizes = np.array(sorted({size for curve in curves for size in curve.sizes}), dtype=float)
    with styled():
        drawing = canvas(WIDTH, 360)
        axes = drawing.add_axes(place(drawing, 64, 14, 16, 46))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        scale = scale_of(top, "B/s")
        lines = []
        for curve in curves:
            number = KINDS.index(curve.kind)
            x, y = np.array(curve.sizes, dtype=float), np.array(curve.rates) / scale.factor
            axes.plot(x, y, color=series(number), linestyle=DASHES[number], marker=MARKERS[number], zorder=4)
            lines.append((curve.kind.replace("_", "-"), x, y))
        if ceiling:
            axes.axhline(ceiling / scale.factor, color=COLOUR["ink"], linewidth=1.4, zorder=2)
            lines.append(("link, raw (B6)", sizes, np.full(len(sizes), ceiling / scale.factor)))
        first = curves[0]
        if first.times[0] > 0:  # what copies of any size would give if each took as long as the smallest
            diagonal = sizes / first.times[0] / scale.factor
            limit = (ceiling or top) / scale.factor
            inside = diagonal <= limit * 1.02
            if inside.sum() > 1:
                axes.plot(sizes[inside], diagonal[inside], color=COLOUR["muted"], linewidth=1.2,
                          linestyle=DASHES[2], zorder=3)
        axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
        axes.set_ylim(top=max(top, ceiling or 0.0) / scale.factor * 1.6)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: quantity(size, "B", True)))
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=7))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:g}"))
        axes.set_xlabel("size of one copy (log\u2082)")
        axes.set_ylabel(f"{scale.label} (log)")
        drawing.canvas.draw()
        label_lines(axes, lines)
    rows = [[quantity(size, "B", True),
             *(quantity(dict(zip(curve.sizes, curve.rates)).get(int(size)), "B/s") for curve in curves),
             quantity(dict(zip(first.sizes, first.times)).get(int(size)), "s")] for size in sizes]
    return Figure(
        finding=_size_finding(curves, ceiling, workload),
        question="Latency-bound or bandwidth-bound at my size, and what is pinning worth?",
        description=" ".join(f"{curve.kind}: " + ", ".join(
            f"{quantity(rate, 'B/s')} at {quantity(size, 'B', True)}" for size, rate in zip(curve.sizes, curve.rates))
            + "." for curve in curves) + (f" The link's raw rate is {quantity(ceiling, 'B/s')}." if ceiling else ""),
        drawing=drawing,
        table=Table(["size", *(curve.kind for curve in curves), f"one {first.kind} copy"], rows),
        keys=[Key("dots", f"dotted: every copy as long as the smallest {first.kind} one")])


def _size_finding(curves: List[Curve], ceiling: Optional[float], workload: str) -> str:
    by_kind = {curve.kind: curve for curve in curves}
    best = max(curves, key=lambda curve: max(curve.rates))
    way = "from" if workload == "h2d" else "into"
    reported = (f"Copies {DIRECTIONS[workload]} reach {quantity(max(best.rates), 'B/s')} "
            f"{way} {best.kind.replace('_', '-')} memory")
    if ceiling:
        reported += f", {share(max(best.rates) / ceiling)} of the link"
    if "pinned" in by_kind and "pageable" in by_kind:
        factor = by_kind["pinned"].rates[-1] / by_kind["pageable"].rates[-1]
        reported += f"; pinning is worth {factor:.1f}\u00d7 at {quantity(by_kind['pinned'].sizes[-1], 'B', True)}"
    return reported


@dataclass
class Row:
    """One way of copying with the largest size measured: a value per GPU."""

    name: str
    size: int
    rates: Dict[str, float]
    node: Optional[float]    # all GPUs at once


def _rows(points: Sequence[Point], workload: str) -> List[Row]:
    rows: Dict[Tuple[str, str, str], Tuple[int, Row]] = {}
    for point in points:
        params = point.params
        if point.workload != workload or params.get("streams", 1) != 1 or params.get("direction", workload) != workload:
            continue
        rates = {metric.name[len("bandwidth_"):]: median(metric.values) for metric in point.metrics
                 if metric.name.startswith(GPU) and metric.values}
        size = params.get("size", 0)
        key = (str(params.get("memory", "")), str(params.get("gpus", "")), str(params.get("numa", "")))
        if not rates or not isinstance(size, int) or (key in rows and rows[key][0] >= size):
            continue
        kind, gpus, numa = key
        name = kind.replace("_", "-") + (", all at once" if gpus == "all" else "") + (
            ", remote node" if numa == "remote" else "")
        rows[key] = (size, Row(name, size, rates, value(point, "node_bandwidth") if gpus == "all" else None))
    order = {kind: number for number, kind in enumerate(KINDS)}
    return [row for key, (_, row) in sorted(rows.items(), key=lambda item: (
        item[0][1] == "all", item[0][2] == "remote", order.get(item[0][0], len(order))))][:6]


def per_gpu(points: Sequence[Point], workload: str) -> Optional[Figure]:
    """Nothing when one GPU was measured in one way; kinds of memory alone are over_size()'s."""
    rows = _rows(points, workload)
    gpus = sorted({gpu for row in rows for gpu in row.rates}, key=lambda gpu: (len(gpu), gpu))
    if not rows or (len(gpus) < 2 and not any("," in row.name for row in rows)):
        return None
    top = max(max(row.rates.values()) for row in rows)
    scale = scale_of(top, "B/s")
    with styled():
        row_px = MARK_PX * len(rows) + GAP_PX
        drawing = canvas(WIDTH, row_px * len(gpus) + 56)
        axes = drawing.add_axes(place(drawing, 56, 14, 10, 46))
        axes.set_xlim(0, top / scale.factor * 1.12)
        axes.set_ylim(len(gpus) - 0.5, -0.5)
        for number, row in enumerate(rows):
            aside = (number - (len(rows) - 1) / 2) * MARK_PX / row_px
            for line, gpu in enumerate(gpus):
                if gpu not in row.rates:
                    continue
                x = row.rates[gpu] / scale.factor
                axes.plot([x], [line + aside], color=series(number), linestyle="none", marker=MARKERS[number % 6],
                          markeredgecolor=COLOUR["paper"], markersize=8, zorder=4)
                if line == 0:  # named once; below, marks are in the same order
                    right = x < axes.get_xlim()[1] * 0.6
                    axes.annotate(row.name, (x, line + aside), (9 if right else -9, 0), textcoords="offset points",
                                  ha="left" if right else "right", va="center_baseline", zorder=6)
        for line in range(1, len(gpus)):
            axes.axhline(line - 0.5, color=COLOUR["grid"], linewidth=0.8, zorder=1)
        axes.set_yticks(range(len(gpus)), gpus)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(scale.label)
    return Figure(finding=_gpu_finding(rows, gpus, workload),
                  question="Is every GPU fed alike: alone, all at once, from the far NUMA node?",
                  description=" ".join(f"{row.name}: " + ", ".join(
                      f"{gpu} {quantity(row.rates[gpu], 'B/s')}" for gpu in gpus if gpu in row.rates) + "."
                      for row in rows),
                  drawing=drawing, table=_gpu_table(rows, gpus))


def _single(rows: List[Row], like: Row) -> Optional[Row]:
    """The same kind of memory with each GPU alone."""
    return next((row for row in rows if row.name == like.name.split(",")[0]), None)


def _gpu_finding(rows: List[Row], gpus: List[str], workload: str) -> str:
    for row in rows:
        alone = _single(rows, row)
        if row.node and alone and len(gpus) > 1:
            total = sum(alone.rates.values())
            return (f"All {len(gpus)} GPUs at once get {quantity(row.node, 'B/s')} {DIRECTIONS[workload]}, "
                    f"{share(row.node / total)} of the sum of singles")
    first = rows[0]
    slowest = min(first.rates, key=lambda gpu: first.rates[gpu])
    fastest = max(first.rates, key=lambda gpu: first.rates[gpu])
    if len(gpus) > 1:
        return (f"{first.name.capitalize()} copies {DIRECTIONS[workload]}: {slowest} is slowest with "
                f"{quantity(first.rates[slowest], 'B/s')}, {fastest} fastest with {quantity(first.rates[fastest], 'B/s')}")
    best = max(rows, key=lambda row: max(row.rates.values()))
    return (f"{gpus[0]} gets {quantity(max(best.rates.values()), 'B/s')} {DIRECTIONS[workload]} at best: {best.name}")


def _gpu_table(rows: List[Row], gpus: List[str]) -> Table:
    cells = [[gpu, *(quantity(row.rates.get(gpu), "B/s") for row in rows)] for gpu in gpus]
    if len(gpus) > 1:
        cells.append(["sum", *(quantity(sum(row.rates.values()), "B/s") for row in rows)])
        cells.append(["node, all at once", *(quantity(row.node, "B/s") for row in rows)])
    return Table(["GPU", *(f"{row.name}, {quantity(row.size, 'B', True)}".replace(" ", NBSP) for row in rows)], cells)
