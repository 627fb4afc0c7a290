"""C1: B over A of each metric, with its bounds and the band that does not matter. Which differences are real and large?"""

from __future__ import annotations

import math
from typing import List, Optional, Tuple

from .. import words
from ..comparison import Pair, Row
from ..units import change, listing, plural, quantity
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, place, styled

ROW_PX = 38
NAMES_PX = 196
CHANGE_PX = 60
MOST_ROWS = 16
MARK = {"worse": ("fail", "X"), "better": ("pass", "o"), "differs": ("ink", "s"), "same": ("muted", "o"),
        "small": ("muted", "d"), "inconclusive": ("inconclusive", "D")}
WIDEST = 4.0  # a value beyond is an arrow: one huge change must not flatten the others
TICKS = (0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0)


def draw(pair: Pair) -> Optional[Figure]:
    """Nothing when no metric has bounds."""
    reported = [row for row in pair.findings if row.reported and 0 < row.low]
    if not reported:
        return None
    rows = chosen(reported)
    low, high = _limits(rows)
    with styled():
        drawing = canvas(WIDTH, ROW_PX * len(rows) + 72)
        axes = drawing.add_axes(place(drawing, NAMES_PX, CHANGE_PX, 28, 44))
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        for number, row in enumerate(rows):
            axes.fill_betweenx([number - 0.5, number + 0.5], max(1 / (1 + row.delta), low), min(1 + row.delta, high),
                               color=COLOUR["grid"], linewidth=0, zorder=1)
        axes.axvline(1.0, color=COLOUR["ink"], linewidth=1.2, zorder=2)
        for number, row in enumerate(rows):
            _draw_row(axes, number, row, low, high)
        for text, side, align in (("\u25c2 less", -6, "right"), ("more \u25b8", 6, "left")):
            axes.annotate(text, (1.0, 1.0), (side, 8), xycoords=axes.get_xaxis_transform(), textcoords="offset points", ha=align)
        ticks = _ticks(low, high)
        axes.set_xticks(ticks, ["0" if tick == 1 else change(tick).replace("\u00a0%", "").replace(".0", "") for tick in ticks])
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"change, {pair.other} \u00f7 {pair.base} (%, log)")
    keys = [Key("bar", "bounds that decided"), Key("shade-grey", "too small to matter (\u00b1\u03b4)"),
            Key("none", "\u2191 higher is better, \u2193 lower is better")]
    if len(rows) < len(reported):
        keys.append(Key("none", f"{plural(len(reported) - len(rows), 'metric')} more in the table"))
    return Figure(finding=_finding(pair), question="Which differences are real and large enough?",
                  description=_describe(rows), drawing=drawing, table=_table(pair, rows), keys=keys)


def chosen(rows: List[Row], most: int = MOST_ROWS) -> List[Row]:
    """Those to look at first, in the order in which they are reported."""
    if len(rows) <= most:
        return rows
    first = sorted(range(len(rows)), key=lambda i: (
        not rows[i].gated, not rows[i].changed, rows[i].reason.startswith("few-"), rows[i].quiet, i))[:most]
    return [rows[i] for i in sorted(first)]


def arrow(row: Row) -> str:
    return {"higher": " \u2191", "lower": " \u2193"}.get(row.better, "")


def _limits(rows: List[Row]) -> Tuple[float, float]:
    """Decided rows, and gates, must be seen whole; open ones may reach beyond."""
    seen = [row for row in rows if row.gated or row.status != "inconclusive"] or rows
    low = min(min(row.low, 1 / (1 + row.delta)) if row in seen else 1 / (1 + row.delta) for row in rows)
    high = max(max(row.high, 1 + row.delta) if row in seen else 1 + row.delta for row in rows)
    return max(low, 1 / WIDEST) / 1.01, min(high, WIDEST) * 1.01


def _ticks(low: float, high: float) -> List[float]:
    """Round changes that do not crowd: 40 px each."""
    room = (WIDTH - NAMES_PX - CHANGE_PX) / math.log(high / low)
    ticks = [1.0]
    for tick in sorted(TICKS, key=lambda t: (-abs(math.log(t)), t)):
        if low <= tick <= high and all(abs(math.log(tick / other)) * room > 40 for other in ticks):
            ticks.append(tick)
    return sorted(ticks)


def _draw_row(axes, number: int, row: Row, low: float, high: float) -> None:
    role, marker = MARK[row.status]
    colour = COLOUR[role]
    ends = [min(max(end, low), high) for end in (row.low, row.high)]
    axes.plot(ends, [number, number], color=colour, linewidth=2.2, zorder=4, solid_capstyle="butt")
    for end, bound, point in zip(ends, (row.low, row.high), ("<", ">")):
        if end == bound:
            axes.plot([end, end], [number - 0.15, number + 0.15], color=colour, linewidth=2, zorder=4)
        else:
            axes.plot([end], [number], marker=point, color=colour, markersize=8, zorder=5, clip_on=False)
    if low <= row.ratio <= high:
        axes.plot([row.ratio], [number], marker=marker, color=colour, markersize=9, markeredgecolor=COLOUR["paper"],
                  markeredgewidth=1, zorder=5)
    names = axes.get_yaxis_transform()
    axes.annotate(words.STATUS_SYMBOL[row.status], (0, number), (-NAMES_PX + 4, 0), xycoords=names,
                  textcoords="offset points", ha="left", va="center_baseline", color=colour, fontsize=14)
    axes.annotate(words.shortened(row.metric, 25) + arrow(row), (0, number), (-NAMES_PX + 22, 1), xycoords=names,
                  textcoords="offset points", ha="left", va="bottom")
    axes.annotate(words.shortened(row.points[0], 29), (0, number), (-NAMES_PX + 22, -2), xycoords=names,
                  textcoords="offset points", ha="left", va="top", color=COLOUR["muted"], fontsize=10)
    axes.annotate(change(row.ratio), (1, number), (CHANGE_PX - 4, 0), xycoords=names, textcoords="offset points",
                  ha="right", va="center_baseline")


def _finding(pair: Pair) -> str:
    for status, verb in (("worse", "worse"), ("better", "better"), ("differs", "different")):
        rows = [row for row in pair.findings if row.status == status]
        if rows:
            worst = rows[0]
            more = f", and {plural(len(rows) - 1, 'finding')} more" if len(rows) > 1 else ""
            by = f", {change(worst.ratio)}" if worst.reported else ": one side gave nothing"  # which has no ratio
            return f"{worst.metric} is {verb}{by}{more}"
    open_rows = [row for row in pair.findings if row.status == "inconclusive"]
    if not open_rows:
        return f"{'All metrics are' if len(pair.findings) > 1 else 'The metric is'} the same within what matters"
    names = [row.metric for row in open_rows[:2]] + ([f"{len(open_rows) - 2} more"] if len(open_rows) > 2 else [])
    return f"Nothing differs for sure; {listing(names)} could not be decided"


def _describe(rows: List[Row]) -> str:
    return "Ratios with their bounds. " + " ".join(
        f"{row.metric} of {row.points[0]}: {change(row.ratio)}, {row.status}." for row in rows)


def _table(pair: Pair, rows: List[Row]) -> Table:
    return Table(["metric", "point", pair.base, pair.other, "change", "bounds", "p", "verdict"], [
        [row.metric, row.points[0], quantity(row.base.typical, row.unit), quantity(row.other.typical, row.unit),
         change(row.ratio), f"[{change(row.low)}, {change(row.high)}]", "\u2013" if row.p is None else f"{row.p:.2g}",
         f"{words.STATUS_SYMBOL[row.status]} {row.status}"] for row in rows])
