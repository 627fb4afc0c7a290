"""S4: time lost over the interval between saves. How often to save?"""

from __future__ import annotations

from typing import Optional

import numpy as np

from ..sizing import Sizing
from ..units import NBSP, duration
from . import Figure, Key, Table
from .labels import label_lines
from .style import COLOUR, WIDTH, canvas, log_ticks, place, series, styled

HEIGHT = 300


def draw(sizing: Sizing) -> Optional[Figure]:
    """Nothing without a checkpoint and a rate of failures."""
    calendar = sizing.calendar
    if calendar is None or calendar.tradeoff is None or len(calendar.tradeoff.interval_s) < 2:
        return None
    curve = calendar.tradeoff
    minutes = np.array(curve.interval_s) / 60
    stall, rework, lost = (np.array(values) * 100 for values in (curve.stall, curve.rework, curve.lost))
    with styled():
        drawing = canvas(WIDTH, HEIGHT)
        axes = drawing.add_axes(place(drawing, 54, 20, 26, 46))
        axes.set_xscale("log")
        axes.plot(minutes, stall, color=series(0), linewidth=1.6, linestyle=(0, (5, 2)))
        axes.plot(minutes, rework, color=series(3), linewidth=1.6, linestyle=(0, (1.5, 1.5)))
        axes.plot(minutes, lost, color=COLOUR["ink"], linewidth=2.4)
        top = max(min(lost.max(), lost.min() * 6), calendar.lost * 130 if calendar.lost else 0)
        axes.set_ylim(0, min(top, 130))
        axes.set_xlim(minutes[0], minutes[-1])
        for at, text, role in ((calendar.interval_s, "the job", "muted"), (calendar.best_interval_s, "least", "pass")):
            if at is None or not minutes[0] <= at / 60 <= minutes[-1]:
                continue
            value = float(np.interp(at / 60, minutes, lost))
            axes.axvline(at / 60, color=COLOUR[role], linewidth=1.2, linestyle=(0, (1.5, 1.5)), zorder=1)
            axes.plot([at / 60], [value], marker="D" if text == "least" else "o", color=COLOUR[role], markersize=8, zorder=6,
                      markeredgecolor=COLOUR["paper"])
        _name_marks(axes, calendar)
        ticks = log_ticks(*axes.get_xlim())
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xlabel("interval between saves (min, log)")
        axes.set_ylabel("time lost (%)")
        label_lines(axes, [("stall", minutes, np.minimum(stall, top)), ("rework", minutes, np.minimum(rework, top)),
                           ("both", minutes, np.minimum(lost, top))])
    return Figure(_finding(sizing), "How often to save?",
                  "Time lost over the interval between saves: the stall of each save, the work to do again after a failure, "
                  "and both.", drawing, _table(sizing),
                  [Key("none", f"with a failure every {duration(calendar.mtbf_s)}")] if calendar.mtbf_s else [])


def _name_marks(axes, calendar) -> None:
    """Above the frame, apart from each other."""
    close = calendar.best_interval_s and 0.6 < calendar.best_interval_s / calendar.interval_s < 1.7
    marks = [(calendar.interval_s, "the job")]
    if calendar.best_interval_s:
        marks.append((calendar.best_interval_s, "least"))
    marks.sort()
    for number, (at, text) in enumerate(marks):
        align = ("right" if number == 0 else "left") if close and len(marks) == 2 else "center"
        axes.annotate(text, (at / 60, 1.0), (0, 6), xycoords=axes.get_xaxis_transform(), textcoords="offset points", ha=align)


def _finding(sizing: Sizing) -> str:
    calendar = sizing.calendar
    reported = f"{100 * calendar.lost:.2g}{NBSP}%" if calendar.lost is not None else "some"
    every = f"Saving every {duration(calendar.interval_s)} loses {reported} of the time"
    if not calendar.best_interval_s or abs(calendar.best_interval_s / calendar.interval_s - 1) < 0.1:
        return f"{every}, about as little as any interval"
    return f"{every}; every {duration(calendar.best_interval_s)} would lose the least"


def _table(sizing: Sizing) -> Table:
    curve = sizing.calendar.tradeoff
    step = max(1, len(curve.interval_s) // 20)
    return Table(["interval", "stall", "rework", "both"], [
        [duration(curve.interval_s[i])] + [f"{100 * values[i]:.3g}{NBSP}%" for values in (curve.stall, curve.rework, curve.lost)]
        for i in range(0, len(curve.interval_s), step)])
