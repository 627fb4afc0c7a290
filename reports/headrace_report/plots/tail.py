"""Q4: the distribution of latencies with the tail stretched. Is the tail acceptable?"""

from __future__ import annotations

import math
from typing import List, Optional, Sequence, Tuple

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator

from ..histogram import Typical, typical_parts
from ..schema import Judgement, Point
from ..units import listing, quantity
from . import Figure, Key, Table
from .labels import label_lines
from .style import COLOUR, DASHES, MARKERS, WIDTH, canvas, place, series, styled

TICKS = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99)
TABLE = (50.0, 90.0, 95.0, 99.0, 99.9, 99.99)
MAX_SERIES = 6
MOST_POINTS = 260
KEY = Key("dots", "dotted: fewer than 10 operations lie beyond")
ENOUGH = 10  # operations of each repetition that must exceed a percentile for it to be shown (rule 20)


def stretch(share: np.ndarray) -> np.ndarray:
    """0..1 to nines: 0.9 is 1, 0.99 is 2; each nine takes the same room."""
    return -np.log10(1.0 - np.asarray(share, dtype=float))


def draw(point: Point, judgements: List[Judgement]) -> Optional[Figure]:
    """Nothing when no latency was recorded."""
    lines = _lines(point)
    if not lines:
        return None
    limits = _limits(judgements)
    whole = lines[0][1]
    keys = [KEY]
    if limits:
        keys.append(Key("cross", "limit of a need"))
    several = any(len(repetition.phases) > 1 for repetition in point.finished)
    return Figure(finding=_finding(lines, several), question="Is the tail acceptable?",
                  description=f"Share of {whole.total} operations that ended within a latency, tail stretched. {describe(lines)}",
                  drawing=curves(lines, limits), table=table(lines), keys=keys)


def curves(lines: List[Tuple[str, Typical]], limits: Sequence[Tuple[float, float, str]] = ()):
    """The drawing of named distributions, the limits of needs as crosses."""
    with styled():
        drawing = canvas(WIDTH, 340)
        axes = drawing.add_axes(place(drawing, 64, 10, 10, 42))
        axes.set_xscale("log")
        per_line = MOST_POINTS // len(lines)
        drawn = []
        for number, (name, typical) in enumerate(lines):
            drawn.append((name, *_draw_line(axes, number, typical, per_line)))
        for need_ns, share, _ in limits:
            axes.plot([need_ns], stretch([share]), marker="x", markersize=11, markeredgewidth=2.6,
                      color=COLOUR["ink"], linestyle="none", zorder=7)
        _axes(axes, drawn, [limit[0] for limit in limits])
        drawing.canvas.draw()
        label_lines(axes, drawn, [_box(axes, need_ns, share) for need_ns, share, _ in limits])
    return drawing


def describe(lines: List[Tuple[str, Typical]]) -> str:
    return " ".join(f"{name}: median {quantity(typical.percentile(.5), 'ns')}, 99 % within {quantity(typical.percentile(.99), 'ns')}."
                    for name, typical in lines)


def _lines(point: Point) -> List[Tuple[str, Typical]]:
    """Of `epochs` one line per epoch; else the whole operation and its parts. Of the repetitions that count."""
    finished = point.finished
    names = [phase.name for phase in finished[0].phases] if finished else []
    if len(names) > 1:
        if len(names) > MAX_SERIES:
            names = names[:MAX_SERIES - 1] + names[-1:]
        lines = [(name, Typical([p.latency for p in r.phases if p.name == name] for r in finished)) for name in names]
        return [(name, typical) for name, typical in lines if typical.total]
    parts = typical_parts(finished, point.latency_parts)[:MAX_SERIES]
    return [(_whole_name(point) if name == "whole" else name, typical) for name, typical in parts]


def _whole_name(point: Point) -> str:
    return "whole file" if point.workload == "small_file_read" else "operation"


def _limits(judgements: List[Judgement]) -> List[Tuple[float, float, str]]:
    """(limit in ns, percentile as a share, need) of the needs that bound a latency percentile of this point."""
    result = []
    for judgement in judgements:
        share = percentile_of(judgement.metric)
        if share is not None and not judgement.higher_is_better:
            scale = 1.0 if judgement.unit == "ns" else 1e9
            result.append((judgement.need * scale, share, judgement.id))
    return result


def percentile_of(metric: str) -> Optional[float]:
    """0.99 of "w.open_latency_p99_ns", 0.999 of "..._p999_ns" or "..._p99.9"; None when it is no latency percentile."""
    for word in metric.split(".", 1)[-1].split("_"):
        if "latency" in metric and word[:1] == "p" and word[1:].replace(".", "").isdigit():
            digits = word[1:].replace(".", "")
            return int(digits) / 10**max(2, len(digits))
    return None


def _draw_line(axes, number: int, typical: Typical, points: int) -> Tuple[np.ndarray, np.ndarray]:
    top = min(4.0, math.log10(typical.fewest) if typical.fewest > 1 else 0.3)
    sure = min(top, math.log10(typical.fewest / ENOUGH)) if typical.fewest > ENOUGH else 0.0
    y = np.unique(np.concatenate([np.linspace(0.0, top, max(points - 5, 20)), [sure], [d for d in range(5) if d <= top]]))
    x = typical.curve(1.0 - 10.0**-y)
    colour, safe = series(number), y <= sure
    axes.plot(x[safe], y[safe], color=colour, linestyle=DASHES[number], drawstyle="default", zorder=4)
    beyond = y >= sure
    axes.plot(x[beyond], y[beyond], color=colour, linestyle=(0, (1, 2.5)), linewidth=1.2, zorder=3)
    marks = np.array([stretch([tick / 100])[0] for tick in TICKS[1:]])
    marks = marks[marks <= sure]
    axes.plot(np.interp(marks, y, x), marks, linestyle="none", marker=MARKERS[number], color=colour,
              markeredgecolor=COLOUR["paper"], markeredgewidth=0.8, zorder=5)
    return x, y


def _axes(axes, drawn, limits: List[float]) -> None:
    values = np.concatenate([x for _, x, _ in drawn] + [np.array(limits)])
    low, high = values[values > 0].min(), values.max()
    # At least a decade, so that a very even latency does not look wild.
    room = max(0.0, 1.0 - math.log10(high / low)) / 2 + 0.06
    axes.set_xlim(low / 10**room, high * 10**room)
    axes.set_ylim(-0.08, 4.15)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 300 else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_time(value)))
    axes.set_yticks(stretch(np.array(TICKS) / 100), [f"{tick:g}" for tick in TICKS])
    axes.set_xlabel("latency (log)")
    axes.set_ylabel("percentile, stretched (%)")


def short_time(ns: float) -> str:
    """A round time on an axis: "20 ms"."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "\u00b5s"), (1, "ns")):
        if ns >= factor * 0.999:
            return f"{ns / factor:g} {unit}"
    return f"{ns:g} ns"


def _box(axes, x: float, share: float) -> Tuple[float, float, float, float]:
    px, py = axes.transData.transform((x, float(stretch([share])[0])))
    return px - 10, py - 10, px + 10, py + 10


def _finding(lines: List[Tuple[str, Typical]], several: bool) -> str:
    """`several`: lines are phases, not one operation and its parts."""
    name, whole = lines[0]
    many = ""
    if several and name.startswith("epoch"):
        many = "first epoch: "
    elif several:  # operations of different kinds
        name, whole = max(lines, key=lambda line: line[1].percentile(0.99))
        many = f"the longest tail is that of {name}: "
    reported = [f"99\u00a0% of operations end within {quantity(whole.percentile(0.99), 'ns')}"]
    if whole.fewest >= 10_000:
        reported.append(f"99.9\u00a0% within {quantity(whole.percentile(0.999), 'ns')}")
    sentence = many + ", ".join(reported)
    return sentence[0].upper() + sentence[1:]


def table(lines: List[Tuple[str, Typical]]) -> Table:
    def reported(typical: Typical, percent: float) -> str:
        few = typical.fewest * (1 - percent / 100) < ENOUGH * 0.999
        return "too few" if few else quantity(typical.percentile(percent / 100), "ns")
    return Table(["", "operations", *(f"p{percent:g}" for percent in TABLE), "largest"], [
        [name, f"{typical.total:,}".replace(",", "\u202f"), *(reported(typical, percent) for percent in TABLE),
         quantity(typical.max_ns, "ns")] for name, typical in lines])
