"""Storage to GPU: each stage alone and the whole pipeline. Which stage limits, and how much does the pipeline lose?"""

from __future__ import annotations

from statistics import median
from typing import List, Optional, Tuple

import numpy as np

from ..schema import Point
from ..units import quantity, scale_of, share
from . import Figure, Table
from .copies import value
from .style import COLOUR, WIDTH, canvas, place, series, styled

WORKLOAD = "storage_to_gpu"
STAGES = (("read_bandwidth", "storage alone"), ("copy_bandwidth", "link alone"), ("bandwidth", "end to end"))


def draw(point: Point) -> Optional[Figure]:
    """Nothing for other workloads, and where there are no stages (reads straight into the GPU)."""
    stages = [(name, value(point, metric), _each(point, metric)) for metric, name in STAGES]
    if point.workload != WORKLOAD or any(rate is None or rate <= 0 for _, rate, _ in stages):
        return None
    top = max(max(each) for _, _, each in stages)
    scale = scale_of(top, "B/s")
    with styled():
        drawing = canvas(WIDTH, 200)
        axes = drawing.add_axes(place(drawing, 104, 14, 10, 46))
        for row, (name, rate, each) in enumerate(stages):
            axes.barh(row, rate / scale.factor, height=0.56, color=series(0 if row == 2 else 5), zorder=3,
                      alpha=1.0 if row == 2 else 0.55)
            axes.plot(np.array(each) / scale.factor, [row] * len(each), marker="|", markersize=12, linestyle="none",
                      color=COLOUR["ink"], zorder=4)
        slower = min(stages[0][1], stages[1][1]) / scale.factor
        axes.axvline(slower, color=COLOUR["ink"], linewidth=1.2, zorder=2)
        axes.set_ylim(2.6, -0.6)
        axes.set_xlim(0, top / scale.factor * 1.06)
        axes.set_yticks(range(3), [name for name, _, _ in stages])
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(scale.label)
    return Figure(finding=_finding(point, stages), question="Which stage limits, and how much is lost between them?",
                  description=" ".join(f"{name}: {quantity(rate, 'B/s')}." for name, rate, _ in stages),
                  drawing=drawing, table=Table(["stage", "median", "lowest", "highest", "n"], [
                      [name, quantity(rate, "B/s"), quantity(min(each), "B/s"), quantity(max(each), "B/s"),
                       str(len(each))] for name, rate, each in stages]))


def _each(point: Point, name: str) -> List[float]:
    return next((list(metric.values) for metric in point.metrics if metric.name == name), [])


def _finding(point: Point, stages: List[Tuple[str, float, List[float]]]) -> str:
    (_, read, _), (_, copy, _), (_, whole, _) = stages
    slower = "storage" if read < copy else "the link"
    reported = f"{quantity(whole, 'B/s')} from storage to GPU, {share(whole / min(read, copy))} of what {slower} alone gives"
    cpu = [metric for metric in point.metrics if metric.name == "cpu_time_per_gb_s" and metric.values]
    return reported + (f"; {quantity(median(cpu[0].values), 's')} of processor time per GB" if cpu else "")
