"""One look for all figures. Colours are sentinels that svg.py turns into CSS classes of the page's own colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

import matplotlib

matplotlib.use("svg")
from matplotlib.figure import Figure as Drawing  # noqa: E402  (the backend is chosen first)

ROLES = ("ink", "muted", "grid", "paper", "series-1", "series-2", "series-3", "series-4", "series-5", "series-6",
         "pass", "fail", "inconclusive", "error", "thin")
COLOUR = {role: f"#0101{number:02x}" for number, role in enumerate(ROLES, start=1)}
ROLE_OF = {colour: role for role, colour in COLOUR.items()}

MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 1.5)), (0, (8, 2)))
WIDTH = 480  # px; shown up to a tenth larger next to another figure, three quarters of it on a phone

RC = {
    "svg.fonttype": "none",
    "svg.hashsalt": "headrace",
    "font.family": "DejaVu Sans",
    "font.size": 11.5,
    "axes.edgecolor": COLOUR["muted"],
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": COLOUR["ink"],
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "grid.color": COLOUR["grid"],
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.8,
    "lines.linewidth": 1.6,
    "lines.markersize": 6,
    "text.color": COLOUR["ink"],
    "xtick.color": COLOUR["muted"],
    "xtick.labelcolor": COLOUR["ink"],
    "xtick.minor.visible": False,
    "ytick.color": COLOUR["muted"],
    "ytick.labelcolor": COLOUR["ink"],
    "ytick.minor.visible": False,
}
if "text.parse_math" in matplotlib.rcParams:  # 3.6
    RC["text.parse_math"] = False  # a name with two dollar signs is a name


def series(number: int) -> str:
    """The sentinel of series 0..5."""
    return COLOUR[f"series-{number % 6 + 1}"]


def styled():
    """Context in which everything of a figure must be made and saved."""
    return matplotlib.rc_context(RC)


def canvas(width: float, height: float) -> Drawing:
    """An empty figure, sizes in CSS pixels."""
    return Drawing(figsize=(width / 72, height / 72), dpi=72)


def place(drawing: Drawing, left: float, right: float, top: float, bottom: float) -> list:
    """[left, bottom, width, height] in figure shares from margins in pixels."""
    width, height = drawing.get_size_inches() * 72
    return [left / width, bottom / height, 1 - (left + right) / width, 1 - (top + bottom) / height]


@dataclass(frozen=True)
class Grid:
    """Panels of one height in two columns, each with room for its own title and ticks; in CSS pixels."""

    panel: int
    left: int
    right: int
    top: int
    bottom: int
    gap: int

    COLUMNS = 2

    def is_lowest(self, number: int, count: int) -> bool:
        """Whether no panel is below this one of that many."""
        return number + self.COLUMNS >= count

    def draw(self, count: int) -> Tuple[Drawing, list]:
        """An empty figure of the page's width with that many axes, left to right, then down."""
        columns = min(self.COLUMNS, count)
        lines = (count + columns - 1) // columns
        width = (WIDTH - columns * (self.left + self.right)) / columns
        height = lines * (self.panel + self.top) + (lines - 1) * self.gap + self.bottom
        drawing, axes = canvas(WIDTH, height), []
        for line, column in (divmod(number, columns) for number in range(count)):
            left = self.left + column * (width + self.left + self.right)
            top = self.top + line * (self.panel + self.top + self.gap)
            axes.append(drawing.add_axes([left / WIDTH, 1 - (top + self.panel) / height, width / WIDTH, self.panel / height]))
        return drawing, axes


def log_ticks(low: float, high: float) -> list:
    """Round numbers on a logarithmic axis: 1, 2, 5 of every decade, or fewer where they would crowd."""
    for steps, most in (((1, 2, 5), 8), ((1, 3), 8), ((1,), 99)):
        ticks = [step * 10.0**power for power in range(-12, 16) for step in steps if low <= step * 10.0**power <= high]
        if len(ticks) <= most:
            return ticks
