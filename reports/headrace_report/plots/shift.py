"""C3: both latency distributions with the tail stretched, and by how much each percentile moved. Body or tail?"""

from __future__ import annotations

from typing import List, Optional

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator

from ..comparison import Design, Latency, Pair
from ..units import change, quantity
from . import Figure, Key, Table
from .labels import label_lines
from .style import COLOUR, DASHES, MARKERS, WIDTH, canvas, series, styled
from .tail import TICKS, short_time, stretch

MOST = 4
HEIGHT = 420
LEFT, RIGHT, TOP, MIDDLE, STRIP, BOTTOM = 64, 26, 10, 50, 96, 42


def draw_all(pair: Pair, design: Design) -> List[Figure]:
    """Of the points that have something to look at, the largest shifts first; whole operations before their parts."""
    loud = {row.points[0] for row in pair.rows if not row.quiet}
    ranked = sorted((latency for latency in pair.latency if latency.points[0] in loud and not latency.part),
                    key=lambda latency: -_largest(latency))
    return [figure for figure in (draw(pair, latency, design) for latency in ranked[:MOST]) if figure]


def draw(pair: Pair, latency: Latency, design: Design) -> Optional[Figure]:
    """Nothing with fewer than two percentiles above 0 ns."""
    y = stretch(np.array(latency.probability))
    sides = [np.array(latency.base_ns), np.array(latency.other_ns)]
    if len(y) < 2 or min(side.min() for side in sides) <= 0:
        return None
    with styled():
        drawing = canvas(WIDTH, HEIGHT)
        width = (WIDTH - LEFT - RIGHT) / WIDTH
        upper = HEIGHT - TOP - MIDDLE - STRIP - BOTTOM
        axes = drawing.add_axes([LEFT / WIDTH, (BOTTOM + STRIP + MIDDLE) / HEIGHT, width, upper / HEIGHT])
        strip = drawing.add_axes([LEFT / WIDTH, BOTTOM / HEIGHT, width, STRIP / HEIGHT])
        _overlay(axes, pair, sides, y)
        _strip(strip, latency, y)
        drawing.canvas.draw()
        label_lines(axes, [(name, x, y) for name, x in zip((pair.base, pair.other), sides)])
    return Figure(finding=_finding(latency, design), question="Body or tail?", description=_describe(pair, latency), drawing=drawing,
                  table=_table(pair, latency), keys=[Key("none", where(latency))])


def where(latency: Latency) -> str:
    phase = "" if latency.phase in ("", "main") else f", {latency.phase}"
    return latency.points[0] + phase


def _overlay(axes, pair: Pair, sides: List[np.ndarray], y: np.ndarray) -> None:
    axes.set_xscale("log")
    for number, x in enumerate(sides):
        axes.plot(x, y, color=series(number), linestyle=DASHES[number], marker=MARKERS[number], markersize=5,
                  markeredgecolor=COLOUR["paper"], markeredgewidth=0.6, zorder=4)
    low, high = min(side.min() for side in sides), max(side.max() for side in sides)
    # At least a decade, so that a very even latency does not look wild.
    room = 10 ** (max(0.0, 1.0 - np.log10(high / low)) / 2 + 0.06)
    axes.set_xlim(low / room, high * room)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 300 else (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_time(value)))
    axes.set_ylim(-0.08, max(y.max() + 0.15, 1.1))
    ticks = [tick for tick in TICKS if stretch(np.array([tick / 100]))[0] <= y.max() + 0.1]
    axes.set_yticks(stretch(np.array(ticks) / 100), [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("latency (log)")
    axes.set_ylabel("percentile, stretched")


def _strip(axes, latency: Latency, x: np.ndarray) -> None:
    shift = np.array([np.nan if value is None else 100 * value for value in latency.shift])
    axes.axhline(0, color=COLOUR["ink"], linewidth=1, zorder=3)
    axes.vlines(x, 0, shift, color=series(1), linewidth=2.2, zorder=4)
    axes.plot(x, shift, linestyle="none", marker=MARKERS[1], color=series(1), markersize=5, zorder=5)
    known = np.append(shift[np.isfinite(shift)], 0.0)
    room = 0.35 * max(5.0, float(np.abs(known).max()))
    axes.set_ylim(min(1.25 * known.min(), -room), max(1.25 * known.max(), room))
    axes.locator_params(axis="y", nbins=4)
    ticks = [tick for tick in TICKS if stretch(np.array([tick / 100]))[0] <= x.max() + 0.1]
    axes.set_xlim(-0.08, x.max() + 0.15)
    axes.set_xticks(stretch(np.array(ticks) / 100), [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("percentile, stretched (%)")
    axes.set_ylabel("shift (%)")


def _largest(latency: Latency) -> float:
    return max((abs(value) for value in latency.shift if value is not None), default=0.0)


def _near(latency: Latency, share: float) -> Optional[int]:
    return next((i for i, p in enumerate(latency.probability) if abs(p - share) < 1e-9), None)


def _finding(latency: Latency, design: Design) -> str:
    body = _near(latency, 0.5)
    if body is None or latency.shift[body] is None or latency.shift[-1] is None:
        return "Latencies of both sides"
    half, tail, percent = latency.shift[body], latency.shift[-1], 100 * latency.probability[-1]
    if abs(half) < design.delta_rate and abs(tail) < design.delta_tail:
        return f"Neither body nor tail moved: the median by {change(1 + half)}, p{percent:g} by {change(1 + tail)}"
    if abs(half) < design.delta_rate:
        return f"The tail moved: p{percent:g} by {change(1 + tail)}, the median by {change(1 + half)}"
    if (half > 0) == (tail > 0) and abs(tail) > abs(half) / 3:
        return f"Body and tail moved: the median by {change(1 + half)}, p{percent:g} by {change(1 + tail)}"
    return f"The body moved: the median by {change(1 + half)}, p{percent:g} by {change(1 + tail)}"


def _describe(pair: Pair, latency: Latency) -> str:
    return (f"Latencies of {latency.base_operations} operations of {pair.base} and {latency.other_operations} of "
            f"{pair.other}. " + " ".join(f"p{100 * p:g}: {change(None if s is None else 1 + s)}."
                                         for p, s in zip(latency.probability, latency.shift)))


def _table(pair: Pair, latency: Latency) -> Table:
    return Table(["percentile", pair.base, pair.other, "shift"], [
        [f"p{100 * p:g}", quantity(a, "ns"), quantity(b, "ns"), change(None if s is None else 1 + s)]
        for p, a, b, s in zip(latency.probability, latency.base_ns, latency.other_ns, latency.shift)])
