"""C7: a metric over time, with its levels and what changed in the machine. When did it change, and what changed then?"""

from __future__ import annotations

import datetime
from typing import List, Optional

import numpy as np

from .. import words
from ..history import Change, History, Series
from ..units import NBSP, change, quantity, scale_of
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, place, series as colour_of, styled

HEIGHT = 250
MOST_EVENTS = 6
MOST_ROWS = 60


def draw(history: History, series: Series) -> Optional[Figure]:
    """Nothing of a series with one run."""
    count = len(series.run)
    if count < 2:
        return None
    scale = scale_of(series.median[-1], series.unit)
    median, low, high = (np.array(values) / scale.factor for values in (series.median, series.low, series.high))
    x = np.arange(count)
    with styled():
        drawing = canvas(WIDTH, HEIGHT + 62)
        axes = drawing.add_axes(place(drawing, 58, 34, 26, 62))
        axes.vlines(x, low, high, color=colour_of(0), linewidth=1.2, alpha=0.6, zorder=2)
        axes.plot(x, median, linestyle="none", marker="o", markersize=4.5, color=colour_of(0), zorder=3)
        for level in series.levels:
            axes.plot([level.from_ - 0.4, level.to - 0.6], [level.median / scale.factor] * 2, color=COLOUR["ink"], linewidth=2,
                      zorder=4)
        for one in series.changes:
            role = {"worse": "fail", "better": "pass"}.get(one.status, "ink")
            axes.axvline(one.at - 0.5, color=COLOUR[role], linewidth=1.6, linestyle=(0, (4, 2)), zorder=1)
            axes.annotate(f"{words.STATUS_SYMBOL.get(one.status, '')} {_change(one)}", (one.at - 0.5, 1.0), (0, 6),
                          xycoords=axes.get_xaxis_transform(), textcoords="offset points", ha="center", color=COLOUR[role])
        events = [i for i in range(count) if history.runs[series.run[i]].events]
        if events:
            axes.plot(events, [0.02] * len(events), transform=axes.get_xaxis_transform(), linestyle="none", marker="^",
                      markersize=6, color=COLOUR["muted"], zorder=5, clip_on=False)
        if series.newest.unusual:
            axes.plot([count - 1], [median[-1]], marker="D", markersize=9, color=COLOUR["inconclusive"],
                      markerfacecolor=COLOUR["paper"], markeredgewidth=1.6, zorder=6)
        # At least a tenth from top to bottom, so that noise does not look wild.
        middle = (low.min() + high.max()) / 2
        half = max((high.max() - low.min()) * 0.6, 0.06 * abs(middle))
        axes.set_ylim(middle - half, middle + half)
        axes.set_xlim(-0.8, count - 0.2)
        ticks = sorted({int(round(t)) for t in np.linspace(0, count - 1, min(count, 5))})
        axes.set_xticks(ticks, [_day(history, series, i) for i in ticks])
        axes.grid(axis="x", visible=False)
        axes.set_xlabel("run, by date")
        axes.set_ylabel(f"{words.shortened(series.metric, 26)} ({scale.label})" if scale.label else series.metric)
    keys = [Key("dot", "a run, with its bounds"), Key("bar", "level")]
    if events:
        keys.append(Key("none", "\u25b4 the machine changed"))
    if series.newest.unusual:
        keys.append(Key("none", "\u25c7 unusual"))
    return Figure(_finding(series), f"When did it change, and what changed then? ({words.shortened(series.point, 40)} on {series.node})",
                  _describe(series), drawing, _table(history, series), keys)


def _change(one: Change) -> str:
    return "no longer 0" if one.change is None else change(1 + one.change)


def _day(history: History, series: Series, i: int) -> str:
    text = history.runs[series.run[i]].started_utc
    try:
        return datetime.datetime.strptime(text[:10], "%Y-%m-%d").strftime("%Y-%m-%d")
    except ValueError:
        return words.shortened(text, 10)


def _finding(series: Series) -> str:
    if series.two_levels and not any(one.certain for one in series.changes[-1:]):
        return series.two_levels.explanation
    if series.changes:
        last = series.changes[-1]
        if series.wanders:
            return f"{series.metric} wanders from run to run: {_change(last)} since {last.between[1][:10]} may be a drift"
        verb = {"worse": "worse", "better": "better"}.get(last.status, "different")
        return f"{series.metric} is {verb} by {_change(last)} since {last.between[1][:10]}"
    if series.newest.unusual:
        return f"{series.metric}: the newest run is unusual, {series.newest.z:.1f} robust deviations off"
    if series.newest.left_out:
        return f"{series.metric}: {series.newest.explanation}"
    if series.why:
        return f"{series.metric}: {series.why}"
    return f"{series.metric} has not changed over {len(series.run)} runs"


def _describe(series: Series) -> str:
    return f"What {len(series.run)} runs gave, in order of time. " + " ".join(one.explanation + "." for one in series.changes) + \
        (" " + series.newest.explanation if series.newest.unusual else "")


def _table(history: History, series: Series) -> Table:
    rows: List[List[str]] = []
    first = max(0, len(series.run) - MOST_ROWS)
    for i in range(first, len(series.run)):
        run = history.runs[series.run[i]]
        mark = next((f"{one.status} {_change(one)}" for one in series.changes if one.at == i), "")
        rows.append([run.started_utc.replace("T", " ").replace("Z", ""), run.run, quantity(series.median[i], series.unit),
                     mark, "; ".join(run.events[:MOST_EVENTS])])
    return Table(["started (UTC)", "run", "median", "change", "what changed in the machine"], rows)
