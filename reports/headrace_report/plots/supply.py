"""S1: what each phase is given over what it needs. Which phase falls short?"""

from __future__ import annotations

import math

from .. import words
from ..sizing import Phase, Sizing
from ..units import bounds, headroom, quantity, scale_of
from . import Figure, Key, Table
from .forest import MARK
from .style import COLOUR, WIDTH, canvas, place, styled

ROW_PX = 40
NAMES_PX = 148
SIDE_PX = 66
FROM, TO = 1 / 16, 8.0


def draw(sizing: Sizing) -> Figure:
    phases = sizing.phases
    with styled():
        drawing = canvas(WIDTH, ROW_PX * len(phases) + 76)
        axes = drawing.add_axes(place(drawing, NAMES_PX, SIDE_PX, 28, 46))
        ratios = [ratio for p in phases for ratio in (p.headroom_low, p.headroom_high)] + [0.7, 1.6]
        low = min(max(min(ratios), FROM), 0.7) / 1.1
        high = max(min(max(ratios), TO), 1.6) * 1.1
        axes.set_xscale("log", base=2)
        axes.set_xlim(low, high)
        axes.set_ylim(len(phases) - 0.5, -0.5)
        # The bare requirement is left of the need, which has the safety margin.
        if sizing.job.safety > 1:
            axes.axvspan(1 / sizing.job.safety, 1.0, facecolor="none", edgecolor=COLOUR["thin"], hatch="/////", linewidth=0, zorder=1)
        axes.axvline(1.0, color=COLOUR["ink"], linewidth=1.4, zorder=2)
        for row, phase in enumerate(phases):
            _draw_row(axes, row, phase, phase.share(sizing.job) == 1, low, high)
        for text, side, align in (("\u25c2 falls short", -6, "right"), ("enough \u25b8", 6, "left")):
            axes.annotate(text, (1.0, 1.0), (side, 8), xycoords=axes.get_xaxis_transform(), textcoords="offset points", ha=align)
        first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
        ticks = [2.0**exponent for exponent in range(first, last + 1)]
        axes.set_xticks(ticks, [f"{tick:g}\u00d7" for tick in ticks])
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("supply \u00f7 need (log\u2082)")
    keys = [Key("bar", "bounds of the supply"), Key("hatch", f"within the safety margin of {sizing.job.safety:g}")]
    if any(phase.supply.basis != "measured" or phase.share(sizing.job) < 1 for phase in phases):
        keys.append(Key("ring", "hollow: not measured by as many nodes"))
    return Figure(_finding(sizing), "Which phase falls short?", _describe(sizing), drawing, _table(sizing), keys)


def _draw_row(axes, row: int, phase: Phase, whole: bool, low: float, high: float) -> None:
    role, marker = MARK[phase.outcome]
    colour = COLOUR[role]
    inside = [min(max(value, low), high) for value in (phase.headroom_low, phase.headroom_high)]
    dash = (0, (3, 2)) if phase.supply.basis == "extrapolated" else "-"
    axes.plot([low, min(max(phase.headroom, low), high)], [row, row], color=COLOUR["grid"], linewidth=9, zorder=1,
              solid_capstyle="butt")
    axes.plot(inside, [row, row], color=colour, linewidth=2.4, linestyle=dash, zorder=4)
    if low <= phase.headroom <= high:
        axes.plot([phase.headroom], [row], marker=marker, color=colour, markersize=9.5, zorder=5,
                  markerfacecolor=colour if whole and phase.supply.basis == "measured" else COLOUR["paper"], markeredgewidth=1.4)
    else:
        axes.plot([high if phase.headroom > high else low], [row], marker=">" if phase.headroom > high else "<",
                  color=colour, markersize=9.5, zorder=5, clip_on=False)
    names = axes.get_yaxis_transform()
    axes.annotate(words.SYMBOL[phase.outcome], (0, row), (-NAMES_PX + 4, 0), xycoords=names, textcoords="offset points",
                  ha="left", va="center_baseline", color=colour, fontsize=14)
    axes.annotate(words.shortened(phase.title, 20), (0, row), (-NAMES_PX + 22, 1), xycoords=names, textcoords="offset points", ha="left",
                  va="bottom")
    axes.annotate(phase.supply.basis, (0, row), (-NAMES_PX + 22, -2), xycoords=names, textcoords="offset points",
                  ha="left", va="top", color=COLOUR["muted"], fontsize=10)
    axes.annotate(headroom(phase.headroom), (1, row), (SIDE_PX - 4, 0), xycoords=names, textcoords="offset points",
                  ha="right", va="center_baseline")


def _finding(sizing: Sizing) -> str:
    short = [phase for phase in sizing.phases if phase.headroom < 1]
    part = min(phase.share(sizing.job) for phase in sizing.phases)
    of_part = "" if part == 1 else f" on {part * sizing.job.nodes:g} of {sizing.job.nodes:g} nodes"
    if not short:
        worst = min(sizing.phases, key=lambda phase: phase.headroom)
        return (f"Every measured phase has what it needs{of_part}; {worst.title.lower()} has the least to spare, "
                f"{headroom(worst.headroom)}")
    worst = min(short, key=lambda phase: phase.headroom)
    more = f", and {len(short) - 1} more" if len(short) > 1 else ""
    need = worst.demand.need * worst.share(sizing.job)
    gets = "is expected to get" if worst.supply.basis == "extrapolated" else "gets"
    return f"{worst.title} {gets} {quantity(worst.supply.median, worst.unit)} of {quantity(need, worst.unit)}{more}"


def _describe(sizing: Sizing) -> str:
    return "Supply over need of each phase. " + " ".join(
        f"{p.title}: {headroom(p.headroom)}, {p.outcome}, {p.supply.basis}." for p in sizing.phases)


def _table(sizing: Sizing) -> Table:
    rows = []
    for p in sizing.phases:
        scale = scale_of(p.supply.median, p.unit)
        part = p.share(sizing.job)
        rows.append([p.title, quantity(p.demand.required * part, p.unit), quantity(p.demand.need * part, p.unit),
                     quantity(p.supply.median, p.unit), bounds(p.supply.low, p.supply.high, scale), headroom(p.headroom),
                     p.supply.basis])
    return Table(["phase", "required", "with margin", "supply", "bounds", "headroom", "basis"], rows)
