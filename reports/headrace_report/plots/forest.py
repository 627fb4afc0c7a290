"""Q1: each need's measured value over the needed one, worst first. Which needs are met, and how surely?"""

from __future__ import annotations

import math
from typing import List, Optional

from .. import words
from ..schema import Judgement
from ..units import headroom, listing, plural, quantity
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, place, styled

ROW_PX = 30
NAMES_PX = 200
HEADROOM_PX = 66
MARK = {"PASS": ("pass", "o"), "FAIL": ("fail", "X"), "INCONCLUSIVE": ("inconclusive", "D"),
        "ERROR": ("error", "s"), "SKIPPED": ("muted", "o")}
FROM, TO = 1 / 8, 4.0  # a value beyond is an arrow: one huge headroom must not flatten the others


def draw(judgements: List[Judgement]) -> Optional[Figure]:
    """Nothing when no need was measured."""
    rows = [same[0] for same in words.same_tests(judgements) if same[0].ratio(same[0].measured) is not None]
    if not rows:
        return None
    with styled():
        drawing = canvas(WIDTH, ROW_PX * len(rows) + 72)
        axes = drawing.add_axes(place(drawing, NAMES_PX, HEADROOM_PX, 28, 44))
        low, high = _limits(rows)
        axes.set_xscale("log", base=2)
        axes.set_xlim(low, high)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.axvspan(1.0, 1.1, facecolor="none", edgecolor=COLOUR["thin"], hatch="/////", linewidth=0, zorder=1)
        axes.axvline(1.0, color=COLOUR["ink"], linewidth=1.4, zorder=2)
        for row, judgement in enumerate(rows):
            _draw_row(axes, row, judgement, low, high)
        for text, side, align in (("\u25c2 missed", -6, "right"), ("met \u25b8", 6, "left")):
            axes.annotate(text, (1.0, 1.0), (side, 8), xycoords=axes.get_xaxis_transform(),
                          textcoords="offset points", ha=align)
        ticks = _ticks(low, high)
        axes.set_xticks(ticks, [f"{tick:g}\u00d7" for tick in ticks])
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("measured \u00f7 needed (log\u2082)")
    keys = [Key("bar", "deciding bounds"), Key("hatch", "thin: under 10\u00a0% headroom")]
    if any(not judgement.higher_is_better for judgement in rows):
        keys.append(Key("none", "a need that is \u201cat most\u201d: needed \u00f7 measured"))
    return Figure(finding=_finding(judgements, rows), question="Which requirements are met, and how surely?",
                  description=_describe(rows), drawing=drawing, table=_table(rows), keys=keys)


def _limits(rows: List[Judgement]) -> tuple:
    values = [1 / 2, 2.0]
    for judgement in rows:
        for value in (judgement.ratio(judgement.measured), *judgement.ratio_bounds):
            if value is not None:
                values.append(min(max(value, FROM), TO))
    return min(values) / 1.08, max(values) * 1.08


def _ticks(low: float, high: float) -> List[float]:
    return [2.0**exponent for exponent in range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)]


def _draw_row(axes, row: int, judgement: Judgement, low: float, high: float) -> None:
    role, marker = MARK[judgement.outcome]
    colour = COLOUR[role]
    value = judgement.ratio(judgement.measured)
    _draw_bounds(axes, row, judgement, low, high, colour)
    if low <= value <= high:
        axes.plot([value], [row], marker=marker, color=colour, markersize=9.5, markeredgecolor=COLOUR["paper"],
                  markeredgewidth=1, zorder=5)
    else:
        axes.plot([high if value > high else low], [row], marker=">" if value > high else "<", color=colour,
                  markersize=9.5, zorder=5, clip_on=False)
    name = words.shortened(words.need_name(judgement), 29)
    axes.annotate(name, (0, row), (-NAMES_PX + 22, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
                  ha="left", va="center_baseline")
    axes.annotate(words.SYMBOL[judgement.outcome], (0, row), (-NAMES_PX + 4, 0), xycoords=axes.get_yaxis_transform(),
                  textcoords="offset points", ha="left", va="center_baseline", color=colour, fontsize=14)
    axes.annotate(headroom(judgement.headroom or value), (1, row), (HEADROOM_PX - 4, 0),
                  xycoords=axes.get_yaxis_transform(), textcoords="offset points", ha="right", va="center_baseline")


def _draw_bounds(axes, row: int, judgement: Judgement, low: float, high: float, colour: str) -> None:
    """A whisker to each bound; a dotted line to the picture's edge on a side without one."""
    value = min(max(judgement.ratio(judgement.measured), low), high)
    for bound, edge in zip(judgement.ratio_bounds, (low, high)):
        if bound is None:
            axes.plot([value, edge], [row, row], color=colour, linewidth=1.2, linestyle=(0, (1, 2.5)), zorder=4)
            continue
        end = min(max(bound, low), high)
        axes.plot([value, end], [row, row], color=colour, linewidth=2.2, zorder=4)
        if end == bound:
            axes.plot([end, end], [row - 0.2, row + 0.2], color=colour, linewidth=2, zorder=4)


def _finding(judgements: List[Judgement], rows: List[Judgement]) -> str:
    missed = [judgement for judgement in judgements if judgement.outcome == "FAIL" and judgement.measured is not None]
    undecided = [judgement for judgement in judgements if judgement.outcome not in ("PASS", "FAIL")]
    if missed:
        worst = missed[0]
        return (f"{plural(len(missed), 'requirement is', 'requirements are')} missed; {words.need_name(worst)} reaches "
                f"{worst.ratio(worst.measured):.2f} of what the job needs")
    if undecided:
        names = [words.need_name(judgement) for judgement in undecided]
        reported = listing(names if len(names) <= 3 else [*names[:2], f"{len(names) - 2} more"])
        return f"No requirement is missed, but {reported} could not be decided"
    tightest = min(rows, key=lambda judgement: judgement.ratio(judgement.measured))
    return (f"{'The requirement is' if len(judgements) == 1 else 'All requirements are'} met; {words.need_name(tightest)} has the least "
            f"headroom, {headroom(tightest.headroom or tightest.ratio(tightest.measured))}")


def _describe(rows: List[Judgement]) -> str:
    return "Ratio of measured to needed, worst first. " + " ".join(
        f"{words.need_name(j)}: {j.ratio(j.measured):.3g}, {j.outcome}." for j in rows)


def _table(rows: List[Judgement]) -> Table:
    def reported(value):
        return "\u2013" if value is None else f"{value:.3f}"
    return Table(["need", "ratio", "worse bound", "better bound", "measured", "needed", "verdict"], [
        [words.need_name(j), reported(j.ratio(j.measured)), reported(j.ratio_bounds[0]), reported(j.ratio_bounds[1]),
         quantity(j.measured, j.unit), quantity(j.need, j.unit), f"{words.SYMBOL[j.outcome]} {j.outcome}"]
        for j in rows])
