"""The nodes of a cluster by place: switch or rack, and the state of each. Is it a node, or all of a rack?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterator, List, Tuple

from matplotlib.patches import Rectangle

from .. import words
from ..bringup import Bringup, Node
from ..units import plural
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, styled

CELLS = (18, 15, 12, 10, 8, 7, 6, 5, 4, 3, 2.5, 2, 1.6)  # px of a node, the largest that fits
MOST_HEIGHT = 420
NAME_PX, LINE_PX, GAP_PX, SIDE_PX = 78, 13, 5, 4
FEWEST_BESIDE = 9  # px of a cell from which on names fit next to their nodes
MOST_MARKS = 1500
BAD = ("confirmed", "drained", "flapping")
ORDER = (*BAD, "missing", "suspect", "retested", "new", "accepted")
# Of each state: colour, opacity, and the mark that distinguishes it from others without colour.
LOOKS = {"confirmed": ("fail", 1.0, "X"), "drained": ("fail", 0.45, "s"), "flapping": ("fail", 0.45, "^"), "missing": ("muted", 0.0, "_"), "suspect": ("inconclusive", 0.6, "D"),
         "retested": ("series-1", 0.6, "o"), "new": ("grid", 1.0, ""), "accepted": ("pass", 0.4, "")}
MARK_COLOUR = {"confirmed": "paper", "drained": "ink", "flapping": "ink", "missing": "ink", "suspect": "ink", "retested": "ink"}
KEYS = {"confirmed": ("fill-fail", "cross: confirmed, bad"), "drained": ("fill-drained", "square: drained"), "flapping": ("fill-drained", "triangle: flapping"), "missing": ("cross", "dash: missing"),
        "suspect": ("diamond-open", "diamond: undecided"), "retested": ("ring", "circle: passed when tested again"), "new": ("shade-grey", "not decided yet"),
        "accepted": ("fill-pass", "accepted")}


def state_of(node: Node) -> str:
    """A bad node that is missing stays bad."""
    return "missing" if node.missing and node.state not in BAD else node.state


def places(document: Bringup) -> List[Tuple[str, List[int]]]:
    """The nodes of each switch (else rack) in the order of the file; last the nodes without a known place."""
    key = next((key for key in ("switch", "rack") if any(getattr(node, key) for node in document.nodes)), "")
    found: Dict[str, List[int]] = {}
    for number, node in enumerate(document.nodes):
        name = getattr(node, key) if key else ""
        found.setdefault(f"{key} {name}" if name else "", []).append(number)
    return sorted(found.items(), key=lambda item: not item[0])


@dataclass
class Layout:
    cell: float
    columns: int       # nodes side by side
    beside: bool       # names are left of their nodes
    blocks: int        # places side by side
    height: float

    @property
    def block_width(self) -> float:
        return self.columns * self.cell + (NAME_PX if self.beside else 0)


def layout(sizes: List[int], named: bool) -> Layout:
    """The largest cells with which all of it fits, with a place's cells side by side if possible."""
    room = WIDTH - 2 * SIDE_PX
    fitting = None
    for cell in CELLS:
        beside = named and cell >= FEWEST_BESIDE
        columns = max(1, min(max(sizes), int((room - (NAME_PX if beside else 0)) / cell)))
        one = Layout(cell, columns, beside, 1, 0)
        one.blocks = max(1, min(len(sizes), int((room + GAP_PX) / (one.block_width + GAP_PX))))
        heights = [-(-size // columns) * max(cell, LINE_PX if beside else 0) + (GAP_PX if cell >= 4 else 1) for size in sizes]
        lines = [max(heights[first:first + one.blocks]) for first in range(0, len(heights), one.blocks)]
        one.height = sum(lines)
        if one.height > MOST_HEIGHT and cell != CELLS[-1]:
            continue
        if columns == max(sizes):
            return one
        fitting = fitting or one
    return fitting


def stretches(states: List[str], columns: int) -> Iterator[Tuple[int, int, int, str]]:
    """Line, first column, length and state of neighbours that are alike: far fewer than nodes."""
    first = 0
    for number in range(1, len(states) + 1):
        if number < len(states) and states[number] == states[first] and number % columns:
            continue
        yield first // columns, first % columns, number - first, states[first]
        first = number


def draw(document: Bringup) -> Figure:
    groups = places(document)
    states = [state_of(node) for node in document.nodes]
    bad = {f"{fault.scope} {fault.subject}" for fault in document.faults if fault.scope in ("switch", "rack")}
    named = any(name for name, _ in groups)
    grid = layout([len(numbers) for _, numbers in groups], named)
    marks: Dict[str, List[Tuple[float, float]]] = {}
    with styled():
        drawing = canvas(WIDTH, grid.height + 2 * SIDE_PX)
        axes = drawing.add_axes([0, 0, 1, 1])
        axes.set_axis_off()
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(grid.height + 2 * SIDE_PX, 0)
        top = float(SIDE_PX)
        for first in range(0, len(groups), grid.blocks):
            tallest = 0.0
            for place, (name, numbers) in enumerate(groups[first:first + grid.blocks]):
                left = SIDE_PX + place * (grid.block_width + GAP_PX)
                lines = -(-len(numbers) // grid.columns)
                high = max(lines * grid.cell, LINE_PX if grid.beside else 0)
                tallest = max(tallest, high + (GAP_PX if grid.cell >= 4 else 1))
                if grid.beside:
                    axes.text(left, top + grid.cell / 2, words.shortened(name or "not reported", 13), fontsize=10, va="center", ha="left",
                              color=COLOUR["fail" if name in bad else "ink"])
                    left += NAME_PX
                _nodes(axes, [states[number] for number in numbers], left, top, grid, marks)
                if name in bad:
                    axes.add_patch(Rectangle((left - 1, top - 1), min(len(numbers), grid.columns) * grid.cell + 2, lines * grid.cell + 2,
                                             facecolor="none", edgecolor=COLOUR["fail"], linewidth=1.6, zorder=4))
            top += tallest
        _marks(axes, marks, grid.cell)
    there = [state for state in ORDER if state in states]
    counts = ", ".join(f"{states.count(state)} {state}" for state in there)
    unnamed = " Rows are switches or racks, in the order of the hosts file." if named and not grid.beside else ""
    return Figure(finding=_finding(document, groups, states), question=f"Is it a node here and there, or all of a rack or switch?{unnamed}",
                  description=f"{plural(len(states), 'node')} in {plural(len(groups), 'place')}: {counts}.", drawing=drawing,
                  table=_table(groups, states), keys=[Key(*KEYS[state]) for state in there])


def _nodes(axes, states: List[str], left: float, top: float, grid: Layout, marks: Dict[str, List[Tuple[float, float]]]) -> None:
    rim = 1 if grid.cell >= 8 else 0
    for line, column, length, state in stretches(states, grid.columns):
        colour, alpha, mark = LOOKS[state]
        x, y = left + column * grid.cell, top + line * grid.cell
        # Where there is room each node is a square of its own; else neighbours are one bar.
        for at, width in ([(x + i * grid.cell, grid.cell) for i in range(length)] if rim else [(x, length * grid.cell)]):
            axes.add_patch(Rectangle((at, y), width - rim, grid.cell - rim, facecolor=COLOUR[colour] if alpha else "none", alpha=alpha or None,
                                     edgecolor="none" if alpha else COLOUR["muted"], linewidth=0 if alpha else 0.8, zorder=2))
        if mark:
            marks.setdefault(state, []).extend((x + (i + 0.5) * grid.cell - rim / 2, y + grid.cell / 2 - rim / 2) for i in range(length))


def _marks(axes, marks: Dict[str, List[Tuple[float, float]]], cell: float) -> None:
    """Shapes that are seen however small the cells are; not where they would cover all of it."""
    size = min(8.0, max(3.5, cell * 0.55))
    for state, at in marks.items():
        if len(at) > MOST_MARKS:
            continue
        colour = MARK_COLOUR[state] if cell >= 8 else LOOKS[state][0]
        axes.plot([x for x, _ in at], [y for _, y in at], linestyle="none", marker=LOOKS[state][2], markersize=size, color=COLOUR[colour],
                  markeredgewidth=0 if state in BAD else 1.4, markerfacecolor=COLOUR[colour] if state in BAD else "none",
                  zorder=5)


def _finding(document: Bringup, groups: List[Tuple[str, List[int]]], states: List[str]) -> str:
    """Exceptional nodes by place."""
    bad = [number for number, state in enumerate(states) if state in BAD]
    whole = [f"{fault.scope} {fault.subject}" for fault in document.faults if fault.scope in ("switch", "rack")]
    if whole:
        return f"All of {', '.join(whole[:3])} is slow" + (f", and {plural(len(bad), 'node')} besides" if bad else "")
    if not bad:
        return "No node is bad" if "accepted" in states else "No node is decided yet"
    if len(groups) < 2:
        return f"{plural(len(bad), 'node')} of {len(states)} {'is' if len(bad) == 1 else 'are'} bad"
    hit = [name for name, numbers in groups if any(number in bad for number in numbers)]
    return f"{plural(len(bad), 'bad node')} in {len(hit)} of {plural(len(groups), 'place')}"


def _table(groups: List[Tuple[str, List[int]]], states: List[str]) -> Table:
    """The worst places first."""
    there = [state for state in ORDER if state in states]
    rows = []
    for name, numbers in groups:
        own = [states[number] for number in numbers]
        rows.append(([-own.count(state) for state in ORDER[:-1]], [name or "not reported", str(len(own)), *(str(own.count(state)) for state in there)]))
    rows.sort(key=lambda row: row[0])
    return Table(["place", "nodes", *there], [row for _, row in rows[:400]])
