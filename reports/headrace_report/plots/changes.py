"""S5: GPUs fed now and after each change, tagged with how that is known. Which change fixes the shortfall?"""

from __future__ import annotations

from typing import Optional

from .. import words
from ..sizing import Sizing
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, place, styled

ROW_PX = 44
NAMES_PX = 216
MOST = 8
LOOK = {"measured": ("series-1", ""), "modelled": ("series-1", "////"), "extrapolated": ("muted", "....")}


def draw(sizing: Sizing) -> Optional[Figure]:
    """Nothing when no fix has a number of GPUs."""
    fixes = [fix for fix in sizing.fixes if fix.phase_gpus_fed is not None][:MOST]
    if not fixes or sizing.summary.gpus_fed is None:
        return None
    gpus, now = sizing.job.gpus, sizing.summary.gpus_fed
    with styled():
        drawing = canvas(WIDTH, ROW_PX * (len(fixes) + 1) + 74)
        axes = drawing.add_axes(place(drawing, NAMES_PX, 58, 26, 46))
        names = axes.get_yaxis_transform()
        for row, (title, basis, value) in enumerate(
                [("as planned", sizing.summary.basis, now)] + [(fix.title, fix.basis, fix.gpus_fed) for fix in fixes]):
            role, hatch = ("ink", "") if row == 0 else LOOK[basis]
            axes.barh([row], [value], height=0.5, color=COLOUR[role] if not hatch else "none", edgecolor=COLOUR[role],
                      hatch=hatch, linewidth=1.2, zorder=3)
            # Two lines where the title is long.
            first, second = _lines(title)
            axes.annotate(first, (0, row), (-NAMES_PX + 4, 2 if second else 1), xycoords=names, textcoords="offset points",
                          ha="left", va="bottom")
            if second:
                axes.annotate(second, (0, row), (-NAMES_PX + 4, -12), xycoords=names, textcoords="offset points", ha="left",
                              va="bottom")
            axes.annotate(basis, (0, row), (-NAMES_PX + 4, -14 if second else -3), xycoords=names, textcoords="offset points",
                          ha="left", va="top", color=COLOUR["muted"], fontsize=10)
            axes.annotate(f"{value:g}", (1, row), (54, 0), xycoords=names, textcoords="offset points", ha="right",
                          va="center_baseline")
        axes.axvline(gpus, color=COLOUR["ink"], linewidth=1.4, zorder=4)
        axes.annotate("all of the job", (gpus, 1.0), (0, 6), xycoords=axes.get_xaxis_transform(), textcoords="offset points",
                      ha="right")
        axes.set_xlim(0, gpus * 1.04)
        axes.set_ylim(len(fixes) + 0.6, -0.5)
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("GPUs fed")
    return Figure(_finding(sizing, fixes), "Which change fixes the shortfall?",
                  f"GPUs fed now: {now:g} of {gpus:g}. " + " ".join(f"{f.title}: {f.gpus_fed:g}, {f.basis}." for f in fixes),
                  drawing, Table(["change", "GPUs fed", "bounds", "its own phase then feeds", "basis"], [
                      [f.title, f"{f.gpus_fed:g}", f"[{f.low:g}, {f.high:g}]",
                       f"{f.phase_gpus_fed.median:g}" if f.phase_gpus_fed else "\u2013", f.basis] for f in fixes]),
                  [Key("fill-1", "measured"), Key("hatch-1", "modelled from measured parts"),
                   Key("dots-grey", "extrapolated: a guess")])


def _lines(title: str) -> tuple:
    if len(title) <= 32:
        return title, ""
    cut = title.rfind(" ", 0, 33)
    return title[:cut], words.shortened(title[cut + 1:], 32)


def _finding(sizing: Sizing, fixes) -> str:
    best, now = fixes[0], sizing.summary.gpus_fed
    if best.gpus_fed <= now:
        short = [phase for phase in sizing.phases if phase.headroom < 1]
        if now >= sizing.job.gpus:
            return f"All {sizing.job.gpus:g} GPUs are fed already; changes give more room"
        return "No single change feeds more GPUs" + (": several phases are too slow" if len(short) > 1 else "")
    whole = "feeds all GPUs" if best.capped else f"feeds {best.gpus_fed:g} GPUs, not {now:g}"
    return f"{words.shortened(best.title.split(':')[0], 56)}: {whole} ({best.basis})"
