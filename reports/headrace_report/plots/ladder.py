"""Q2: what each stage between storage and GPU can give at most, and what the job's reads reach. Which stage limits?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, List, Optional, Tuple

from ..schema import Judgement, Metric, Point, Run
from ..units import listing, quantity, scale_of, share
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, log_ticks, place, series, styled

NEAR = 0.10  # a stage whose ceiling is within this of the achieved rate limits it
ROW_PX = 34
NAMES_PX = 132
ACHIEVED = ("ingest.read_bandwidth", "ingest.steady_read_bandwidth")  # the need whose measurement is compared
# From the medium upwards: name, and the points and metric that measure it. Of several points the best one counts.
STAGES = (
    ("storage", "around the page cache", "read_bandwidth", lambda point: point.cache == "bypassed"),
    ("file system", "cold, through the cache", "read_bandwidth", lambda point: point.cache == "cold"),
    ("page cache", "warm", "read_bandwidth", lambda point: point.cache == "warm"),
    ("memory", "copied", "copy_bandwidth", lambda point: point.workload == "memory_copy"),
    ("PCIe", "host to GPU", "bandwidth", lambda point: point.workload == "h2d"),
)


@dataclass
class Stage:
    name: str
    how: str
    point: Point
    metric: Metric

    @property
    def rate(self) -> float:
        return self.metric.shown or 0.0


def draw(run: Run) -> Optional[Figure]:
    """Nothing when there is nothing to compare: fewer than two stages, or one stage and no judged reads."""
    need = achieved_of(run)
    stages = list(_stages(run, need))
    if not stages or len(stages) + (need is not None) < 2:
        return None
    with styled():
        drawing = canvas(WIDTH, ROW_PX * len(stages) + 96)
        axes = drawing.add_axes(place(drawing, NAMES_PX, 20, 40, 44))
        marks = [(need.measured, "achieved", COLOUR["ink"], "-"), (need.need, "needed", COLOUR["fail"], (0, (4, 2)))] \
            if need else []
        highest = max([stage.rate for stage in stages] + [value for value, *_ in marks])
        scale = scale_of(highest, "B/s")
        lowest = min([stage.rate for stage in stages] + [value for value, *_ in marks])
        axes.set_xscale("log")
        axes.set_xlim(lowest / scale.factor / 1.8, highest / scale.factor * 3)  # room for the last one's text
        axes.set_ylim(len(stages) - 0.5, -0.5)
        for row, stage in enumerate(stages):
            _draw_stage(axes, row, stage, stage in limiting(stages, need), scale)
        _draw_marks(axes, marks, scale)
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        ticks = log_ticks(*axes.get_xlim())
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xlabel(f"{scale.label} (log)")
    keys = [Key("dot", "the best that was measured"), Key("bar", "its bounds")]
    return Figure(finding=_finding(stages, need), question="Which stage limits?", description=_describe(stages, need),
                  drawing=drawing, table=_table(stages, need), keys=keys)


def achieved_of(run: Run) -> Optional[Judgement]:
    """The judged reads of the job."""
    judged = {judgement.id: judgement for judgement in run.judgements if judgement.measured}
    return next((judged[name] for name in ACHIEVED if name in judged), None)


def _stages(run: Run, need: Optional[Judgement]) -> Iterator[Stage]:
    for name, how, metric_name, fits in STAGES:
        best: Optional[Stage] = None
        for point in run.points:
            # What the job's own pattern reaches is no ceiling of it.
            if point.status != "ok" or not fits(point) or (need and point.id == need.point):
                continue
            metric = next((m for m in point.metrics if m.name == metric_name and m.median), None)
            if metric and (best is None or metric.median > best.rate):
                best = Stage(name, how, point, metric)
        if best:
            yield best


def limiting(stages: List[Stage], need: Optional[Judgement]) -> List[Stage]:
    """The stages whose ceiling exceeds the achieved rate by at most NEAR."""
    return [stage for stage in stages if need and stage.rate <= need.measured * (1 + NEAR)]


def _draw_stage(axes, row: int, stage: Stage, limits: bool, scale) -> None:
    value = stage.rate / scale.factor
    colour = series(1 if limits else 0)
    axes.plot([axes.get_xlim()[0], value], [row, row], color=colour, linewidth=5 if limits else 2.4, zorder=2,
              solid_capstyle="butt")
    axes.plot([value], [row], marker="D" if limits else "o", color=colour, markersize=9, markeredgecolor=COLOUR["paper"],
              zorder=5)
    ends = [bound / scale.factor for bound in (stage.metric.low, stage.metric.high) if bound is not None]
    if ends:
        axes.plot([min(ends), max(ends)], [row, row], color=COLOUR["ink"], linewidth=1.6, zorder=6)
    axes.annotate(quantity(stage.rate, "B/s") + (" \u25c2 limits" if limits else ""), (max([value, *ends]), row), (9, 0),
                  textcoords="offset points", va="center_baseline", zorder=6)
    for text, offset, colour in ((stage.name, 7, COLOUR["ink"]), (stage.how, -7, COLOUR["muted"])):
        axes.annotate(text, (0, row), (-NAMES_PX + 4, offset), xycoords=axes.get_yaxis_transform(),
                      textcoords="offset points", va="center_baseline", color=colour,
                      fontsize=11.5 if colour == COLOUR["ink"] else 9.5)


def _draw_marks(axes, marks: List[Tuple], scale) -> None:
    """The lines of the achieved and the needed rate, named above the rungs, one above the other."""
    for level, (value, name, colour, dashes) in enumerate(marks):
        at = value / scale.factor
        axes.axvline(at, color=colour, linestyle=dashes, linewidth=1.6, zorder=4)
        left = axes.transAxes.inverted().transform(axes.transData.transform((at, 0)))[0] < 0.6
        axes.annotate(f"{name} {quantity(value, 'B/s')}", (at, 1.0), (3 if left else -3, 8 + 15 * level),
                      xycoords=axes.get_xaxis_transform(), textcoords="offset points", ha="left" if left else "right")


def _finding(stages: List[Stage], need: Optional[Judgement]) -> str:
    lowest = min(stages, key=lambda stage: stage.rate)
    if need is None:
        return f"The lowest ceiling is that of the {lowest.name}, {quantity(lowest.rate, 'B/s')}"
    limits = limiting(stages, need)
    if len(limits) == 1:
        return f"The {limits[0].name} is the limit: reads reach {share(need.measured / limits[0].rate)} of what it gives"
    if limits:
        names = listing([stage.name for stage in limits])
        return f"Not identified which limits, {names}: reads reach what each of them gives"
    return (f"No bottleneck found: reads reach {share(need.measured / lowest.rate)} of the {lowest.name}'s ceiling; "
            f"try more workers")


def _describe(stages: List[Stage], need: Optional[Judgement]) -> str:
    reported = [f"{stage.name}, {stage.how}: at most {quantity(stage.rate, 'B/s')}." for stage in stages]
    if need:
        reported.append(f"Achieved: {quantity(need.measured, 'B/s')}; needed: {quantity(need.need, 'B/s')}.")
    return " ".join(reported)


def _table(stages: List[Stage], need: Optional[Judgement]) -> Table:
    def reported(value: Optional[float]) -> str:
        return quantity(value, "B/s")
    rows = [[stage.name, stage.how, reported(stage.rate), reported(stage.metric.low), reported(stage.metric.high),
             share(need.measured / stage.rate) if need else "\u2013", stage.point.id] for stage in stages]
    if need:
        rows.append(["achieved", need.id, reported(need.measured), reported(need.low), reported(need.high), "\u2013", need.point])
        rows.append(["needed", need.id, reported(need.need), "\u2013", "\u2013", "\u2013", "\u2013"])
    return Table(["stage", "how", "rate", "low", "high", "achieved of it", "measured at"], rows)
