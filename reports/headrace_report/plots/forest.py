"""Q1: each need's measured value over what is needed, worst first. Which needs are met, and how surely?"""

from __future__ import annotations

import math
from typing import List, Optional

from .. import words
from ..schema import Judgement
from ..units import headroom, listing, plural, quantity
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, place, styled

ROW_PX = 42
MARK = {"PASS": ("pass", "o"), "FAIL": ("fail", "X"), "INCONCLUSIVE": ("inconclusive", "D"),
        "ERROR": ("error", "s"), "SKIPPED": ("muted", "o")}
NEVER_BEYOND = 64.0  # ratios past this are drawn as arrows: one huge headroom must not flatten the others


def draw(judgements: List[Judgement]) -> Optional[Figure]:
    """Nothing when no need was measured."""
    rows = [judgement for judgement in judgements if judgement.ratio(judgement.measured) is not None]
    if not rows:
        return None
    with styled():
        height = ROW_PX * len(rows) + 66
        drawing = canvas(WIDTH, height)
        axes = drawing.add_axes(place(drawing, 16, 16, 26, 40))
        low, high = _limits(rows)
        axes.set_xscale("log", base=2)
        axes.set_xlim(low, high)
        axes.set_ylim(len(rows) - 0.1, -0.4)
        axes.axvspan(1.0, 1.1, facecolor="none", edgecolor=COLOUR["thin"], hatch="////", linewidth=0)
        axes.axvline(1.0, color=COLOUR["ink"], linewidth=1.4)
        for row, judgement in enumerate(rows):
            _draw_row(axes, row, judgement, low, high)
        top = axes.get_xaxis_transform()
        axes.annotate("\u25c2 missed", (1.0, 1.0), (-6, 7), xycoords=top, textcoords="offset points", ha="right",
                      color=COLOUR["ink"], fontsize=10.5)
        axes.annotate("met \u25b8", (1.0, 1.0), (6, 7), xycoords=top, textcoords="offset points", ha="left",
                      color=COLOUR["ink"], fontsize=10.5)
        ticks = _ticks(low, high)
        axes.set_xticks(ticks, [f"{tick:g}\u00d7" for tick in ticks])
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("measured \u00f7 needed (at most: needed \u00f7 measured), log\u2082")
    return Figure(finding=_finding(judgements, rows), question="Which needs are met, and how surely?",
                  description=_describe(rows), drawing=drawing, table=_table(rows),
                  keys=[Key("bar", "deciding bounds"), Key("hatch", "thin: under 10\u00a0% headroom")])


def _limits(rows: List[Judgement]) -> tuple:
    values = [1 / 1.5, 1.5]
    for judgement in rows:
        for value in (judgement.ratio(judgement.measured), *judgement.ratio_bounds):
            if value is not None:
                values.append(min(max(value, 1 / NEVER_BEYOND), NEVER_BEYOND))
    return min(values) / 1.12, max(values) * 1.12


def _ticks(low: float, high: float) -> List[float]:
    exponents = range(math.ceil(math.log2(low)), math.floor(math.log2(high)) + 1)
    ticks = [2.0**exponent for exponent in exponents]
    return ticks[::2] if len(ticks) > 8 and 1.0 in ticks[::2] else ticks[1::2] if len(ticks) > 8 else ticks


def _draw_row(axes, row: int, judgement: Judgement, low: float, high: float) -> None:
    role, marker = MARK[judgement.outcome]
    colour = COLOUR[role]
    value = judgement.ratio(judgement.measured)
    worse, better = judgement.ratio_bounds
    y = row + 0.52
    # A side without a bound runs to the edge of the picture: that is what it means.
    left, right = max(worse or low, low), min(better or high, high)
    axes.plot([left, right], [y, y], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=4)
    for bound in (worse, better):
        if bound is not None and low <= bound <= high:
            axes.plot([bound, bound], [y - 0.12, y + 0.12], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=4)
    if value > high or value < low:
        axes.plot([high if value > high else low], [y], marker=">" if value > high else "<", color=colour, markersize=9,
                  zorder=5, clip_on=False)
    else:
        axes.plot([value], [y], marker=marker, color=colour, markersize=9, markeredgecolor=COLOUR["paper"],
                  markeredgewidth=1, zorder=5)
    frame = axes.get_yaxis_transform()
    axes.text(0.0, row + 0.12, f"{words.SYMBOL[judgement.outcome]}  {words.need_name(judgement)}", transform=frame,
              va="center", ha="left", fontsize=11.5, fontweight="semibold", zorder=6)
    axes.text(1.0, row + 0.12, headroom(judgement.headroom or value), transform=frame, va="center", ha="right",
              fontsize=11.5, zorder=6)


def _finding(judgements: List[Judgement], rows: List[Judgement]) -> str:
    missed = [judgement for judgement in rows if judgement.outcome == "FAIL"]
    undecided = [judgement for judgement in judgements if judgement.outcome not in ("PASS", "FAIL")]
    if missed:
        worst = missed[0]
        return (f"{plural(len(missed), 'need is', 'needs are')} missed; {words.need_name(worst)} reaches "
                f"{worst.ratio(worst.measured):.2f} of what is needed")
    if undecided:
        names = [words.need_name(judgement) for judgement in undecided[:2]]
        more = f" and {len(undecided) - 2} more" if len(undecided) > 2 else ""
        return f"No need is missed, but {listing(names) if not more else ', '.join(names)}{more} could not be decided"
    tightest = min(rows, key=lambda judgement: judgement.ratio(judgement.measured))
    return (f"{'The need is' if len(rows) == 1 else 'All needs are'} met; {words.need_name(tightest)} has the least "
            f"headroom, {headroom(tightest.headroom or tightest.ratio(tightest.measured))}")


def _describe(rows: List[Judgement]) -> str:
    return "Ratio of measured to needed, worst first. " + " ".join(
        f"{words.need_name(j)}: {j.ratio(j.measured):.3g}, {j.outcome}." for j in rows)


def _table(rows: List[Judgement]) -> Table:
    def told(value):
        return "\u2013" if value is None else f"{value:.3f}"
    return Table(["need", "ratio", "worse bound", "better bound", "measured", "needed", "verdict"], [
        [words.need_name(j), told(j.ratio(j.measured)), told(j.ratio_bounds[0]), told(j.ratio_bounds[1]),
         quantity(j.measured, j.unit), quantity(j.need, j.unit), f"{words.SYMBOL[j.outcome]} {j.outcome}"]
        for j in rows])
