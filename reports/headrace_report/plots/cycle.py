"""S3: one cycle from save to save. How much time is lost to storage?"""

from __future__ import annotations

from typing import Optional

from ..sizing import Sizing
from ..units import NBSP, duration
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, place, styled

NAMES = {"compute": "compute", "input_wait": "waiting for input", "checkpoint_stall": "blocked by the save",
         "checkpoint_drain": "written behind"}
LOOK = {"compute": "series-3", "input_wait": "series-2", "checkpoint_stall": "series-4", "checkpoint_drain": "series-6"}
NAMES_PX = 138


def draw(sizing: Sizing) -> Optional[Figure]:
    cycle = sizing.cycle
    if not cycle:
        return None
    whole = max(stretch.to_s for stretch in cycle if stretch.what != "checkpoint_drain")
    factor, unit = next((f, u) for f, u in ((3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"))
                        if whole >= 2 * f or u == "ms")
    with styled():
        drawing = canvas(WIDTH, 34 * len(cycle) + 62)
        axes = drawing.add_axes(place(drawing, NAMES_PX, 70, 10, 46))
        for row, stretch in enumerate(cycle):
            role = LOOK.get(stretch.what, "muted")
            axes.barh([row], [(stretch.to_s - stretch.from_s) / factor], left=[stretch.from_s / factor], height=0.56,
                      color=COLOUR[role], linewidth=0, zorder=3)
            names = axes.get_yaxis_transform()
            axes.annotate(NAMES.get(stretch.what, stretch.what), (0, row), (-8, 0), xycoords=names,
                          textcoords="offset points", ha="right", va="center_baseline")
            axes.annotate(_length(stretch), (1, row), (66, 0), xycoords=names, textcoords="offset points", ha="right",
                          va="center_baseline")
        axes.set_ylim(len(cycle) - 0.5, -0.5)
        axes.set_xlim(0, max(stretch.to_s for stretch in cycle) / factor * 1.01)
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"time ({unit})")
    return Figure(_finding(sizing, whole), "How much time is lost to storage?",
                  "One cycle from save to save. " + " ".join(f"{NAMES.get(s.what, s.what)}: {_length(s)}." for s in cycle),
                  drawing, Table(["stretch", "from", "to", "length"], [
                      [NAMES.get(s.what, s.what), duration(s.from_s), duration(s.to_s), _length(s)] for s in cycle]),
                  [Key("none", "the GPUs; writing in the background costs them no time")]
                  if any(s.what == "checkpoint_drain" for s in cycle) else [])


def _length(stretch) -> str:
    return duration(stretch.to_s - stretch.from_s)


def _finding(sizing: Sizing, whole: float) -> str:
    lost = sum(s.to_s - s.from_s for s in sizing.cycle if s.what in ("input_wait", "checkpoint_stall"))
    if lost <= 0:
        return "No time is lost to storage"
    worst = max((s for s in sizing.cycle if s.what in ("input_wait", "checkpoint_stall")), key=lambda s: s.to_s - s.from_s)
    share = 100 * lost / whole
    reported = f"{share:.0f}" if share >= 9.5 else f"{share:.1f}"
    return f"{reported}{NBSP}% of a cycle is lost to storage, most of it {NAMES[worst.what]}"
