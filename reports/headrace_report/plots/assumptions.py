"""S6: the smallest headroom over each input of the job. Which assumption flips the verdict?"""

from __future__ import annotations

from typing import List, Optional

import numpy as np

from .. import words
from ..sizing import Assumption, Sizing
from ..units import headroom, quantity
from . import Figure, Key, Table
from .style import COLOUR, Grid, series, styled

MOST = 6
GRID = Grid(panel=112, left=46, right=12, top=22, bottom=42, gap=46)


def draw(sizing: Sizing) -> Optional[Figure]:
    chosen = sizing.assumptions[:MOST]
    if not chosen:
        return None
    with styled():
        drawing, panels = GRID.draw(len(chosen))
        for axes, assumption in zip(panels, chosen):
            _draw_one(axes, assumption)
    return Figure(_finding(sizing), "Which assumption flips the verdict?",
                  "The smallest headroom of all phases over each input. " + " ".join(
                      f"{a.assumption}: flips at {_reported(a, a.flips_at)}." if a.flips_at else f"{a.assumption}: never here."
                      for a in chosen),
                  drawing, Table(["assumption", "now", "flips at", "value", "headroom"], [
                      [a.assumption, _reported(a, a.value), _reported(a, a.flips_at) if a.flips_at else "\u2013", _reported(a, value),
                       headroom(ratio)] for a in chosen for value, ratio in zip(a.values, a.headroom)]),
                  [Key("none", "\u25cf value of the job"), Key("none", "\u25c7 where it flips"),
                   Key("none", "the line: just enough")])


def _reported(assumption: Assumption, value: float) -> str:
    return quantity(value, assumption.unit or "count")


def _draw_one(axes, assumption: Assumption) -> None:
    values, ratios = np.array(assumption.values), np.array(assumption.headroom)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(values, ratios, color=series(0), linewidth=2)
    axes.axhline(1.0, color=COLOUR["ink"], linewidth=1.2, zorder=1)
    now = float(np.exp(np.interp(np.log(assumption.value), np.log(values), np.log(ratios))))
    axes.plot([assumption.value], [now], marker="o", color=series(0), markersize=7, zorder=5)
    if assumption.flips_at:
        axes.plot([assumption.flips_at], [1.0], marker="D", color=COLOUR["ink"], markerfacecolor=COLOUR["paper"],
                  markersize=7, markeredgewidth=1.5, zorder=6)
    low, high = min(ratios.min(), 0.7), max(ratios.max(), 1.4)
    axes.set_ylim(low / 1.15, high * 1.15)
    axes.set_xlim(values.min(), values.max())
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if low / 1.15 <= tick <= high * 1.15]
    axes.set_yticks(ticks, [f"{tick:g}\u00d7" for tick in ticks])
    ends = [values.min(), assumption.value, values.max()]
    axes.set_xticks(ends, [_reported(assumption, value) for value in ends])
    for label, align in zip(axes.get_xticklabels(), ("left", "center", "right")):
        label.set_horizontalalignment(align)
    axes.set_title(words.shortened(assumption.assumption, 28), fontsize=11.5, loc="left", pad=6)


def _finding(sizing: Sizing) -> str:
    flips: List[Assumption] = [a for a in sizing.assumptions if a.flips_at]
    if not flips:
        return "No single assumption, varied fourfold either way, flips the verdict"
    first = flips[0]
    return f"{first.assumption} is the nearest to flip it: {_reported(first, first.flips_at)} instead of {_reported(first, first.value)}"
