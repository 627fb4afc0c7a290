"""C8: the smallest change that each metric would have shown, and the one that matters. Was it visible?"""

from __future__ import annotations

from typing import List, Optional

from .. import words
from ..comparison import Pair, Row
from ..units import NBSP, percent, plural
from . import Figure, Key, Table
from .ratios import chosen
from .style import COLOUR, WIDTH, canvas, place, series, styled

ROW_PX = 30
NAMES_PX = 196
VALUE_PX = 58
MOST_PERCENT = 60.0


def draw(pair: Pair) -> Optional[Figure]:
    """Nothing when nothing could have been seen: no metric has bounds."""
    rows = chosen([row for row in pair.findings if row.reported and row.smallest_visible is not None])
    if not rows:
        return None
    rows = sorted(rows, key=lambda row: -row.smallest_visible / row.delta)
    floors = any(row.noise_floor is not None for row in rows)
    top = min(MOST_PERCENT, 1.12 * max(100 * max(row.smallest_visible, row.delta, row.noise_floor or 0) for row in rows))
    with styled():
        drawing = canvas(WIDTH, ROW_PX * len(rows) + 56)
        axes = drawing.add_axes(place(drawing, NAMES_PX, VALUE_PX, 10, 44))
        axes.set_xlim(0, top)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        for number, row in enumerate(rows):
            seen = 100 * row.smallest_visible
            blind = _blind(row)
            axes.barh([number], [min(seen, top)], height=0.5, color=COLOUR["inconclusive"] if blind else series(0),
                      hatch=None, linewidth=0, zorder=3)
            axes.plot([100 * row.delta] * 2, [number - 0.42, number + 0.42], color=COLOUR["ink"], linewidth=2, zorder=5)
            if row.noise_floor is not None:
                axes.plot([min(100 * row.noise_floor, top)], [number], marker="D", color=series(1), markersize=7,
                          markeredgecolor=COLOUR["paper"], markeredgewidth=1, zorder=6)
            names = axes.get_yaxis_transform()
            axes.annotate(words.shortened(row.metric, 29), (0, number), (-NAMES_PX + 4, 0), xycoords=names,
                          textcoords="offset points", ha="left", va="center_baseline")
            axes.annotate((_percent(seen) if seen <= top else f"> {top:.0f}{NBSP}%") + (" ?" if blind else ""), (1, number), (VALUE_PX - 4, 0), xycoords=names,
                          textcoords="offset points", ha="right", va="center_baseline")
        axes.locator_params(axis="x", nbins=5)
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("smallest change seen nine times in ten (%)")
    keys = [Key("tick", "change that matters (\u03b4)"), Key("none", "? could have missed twice that")]
    if floors:
        keys.append(Key("diamond", "noise floor of this system"))
    return Figure(finding=_finding(pair, rows), question="What could this comparison have seen at all?",
                  description=_describe(rows), drawing=drawing, table=_table(rows), keys=keys)


def _blind(row: Row) -> bool:
    """A change that just matters is a toss-up for any comparison; one of twice that must not be."""
    return row.smallest_visible > 2 * row.delta


def _percent(value: float) -> str:
    return f"{value:.1f}{NBSP}%" if value < 9.95 else f"{value:.0f}{NBSP}%"


def _finding(pair: Pair, rows: List[Row]) -> str:
    blind = [row for row in rows if _blind(row)]
    half = words.visible(pair.summary.smallest_visible)
    if not blind:
        return f"Every metric would have shown a change of twice what matters; half of them {half}"
    if len(blind) == len(rows):
        return f"No metric would surely have shown a change of twice what matters; half of them {half}"
    return f"{len(blind)} of {plural(len(rows), 'metric')} could have missed a change of twice what matters"


def _describe(rows: List[Row]) -> str:
    return "Smallest visible change of each metric. " + " ".join(
        f"{row.metric} of {row.points[0]}: {percent(row.smallest_visible)}." for row in rows)


def _table(rows: List[Row]) -> Table:
    floors = any(row.noise_floor is not None for row in rows)
    return Table(["metric", "point", "smallest visible", "change that matters", *(["noise floor"] if floors else [])], [
        [row.metric, row.points[0], _percent(100 * row.smallest_visible), f"{100 * row.delta:g}{NBSP}%",
         *(["\u2013" if row.noise_floor is None else percent(row.noise_floor)] if floors else [])]
        for row in rows])
