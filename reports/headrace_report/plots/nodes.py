"""C4: the distance of each node from the middle of its group, rows by rack. Bad node, or bad rack?"""

from __future__ import annotations

from typing import List, Optional

import numpy as np

from .. import words
from ..fleet import Fleet
from ..units import NBSP, change, plural
from . import Figure, Key, Table
from .raster import show, two_sided
from .style import COLOUR, WIDTH, canvas, place, styled

REACH = 0.2
MOST_HEIGHT = 460
NAMES_PX, SIDE_PX = 92, 12
MOST_METRICS = 24


def worse(fleet: Fleet, deviation: float, metric: int) -> float:
    """Positive = better, whichever way the metric points."""
    return -deviation if fleet.metrics[metric].better == "lower" else deviation


def draw(fleet: Fleet) -> Optional[Figure]:
    """Nothing when no node was compared."""
    metrics = list(range(min(len(fleet.metrics), MOST_METRICS)))
    nodes = [node for node in fleet.nodes if any(value is not None for value in node.deviation)]
    if not nodes or not metrics:
        return None
    shifts = _shifts(fleet)
    table = np.array([[_cell(fleet, node, m, shifts) for m in metrics] for node in nodes])
    rows = min(len(nodes), MOST_HEIGHT // 2)
    binned = table
    if rows < len(nodes):  # several nodes to a line: the worst of them shows
        edges = np.linspace(0, len(nodes), rows + 1).astype(int)
        binned = np.array([_worst(table[first:last]) for first, last in zip(edges[:-1], edges[1:])])
    cell = max(2.0, min(20.0, MOST_HEIGHT / rows))
    height = cell * rows
    with styled():
        drawing = canvas(WIDTH, height + 118)
        axes = drawing.add_axes(place(drawing, NAMES_PX, SIDE_PX, 8, 110))
        axes.axhspan(-0.5, rows - 0.5, facecolor=COLOUR["grid"], linewidth=0, zorder=1)
        show(axes, two_sided(binned, REACH))
        _hatch_empty(axes, binned)
        axes.set_xlim(-0.5, len(metrics) - 0.5)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_xticks(metrics, [words.shortened(_name(fleet, m), 22) for m in metrics], rotation=38, ha="right",
                        rotation_mode="anchor", fontsize=10)
        _name_rows(axes, fleet, nodes, rows)
        axes.grid(False)
        axes.tick_params(length=0)
    per = f" Each line is the worst of up to {-(-len(nodes) // rows)} nodes." if rows < len(nodes) else ""
    keys = [Key("fill-orange", "20 % worse than the middle of its group"), Key("fill-1", "20 % better"),
            Key("hatch", "not measured")]
    return Figure(_finding(fleet), f"Bad node, or bad rack?{per}", _describe(fleet, nodes), drawing, _table(fleet, nodes), keys)


def _worst(block: np.ndarray) -> np.ndarray:
    filled = np.where(np.isfinite(block), block, np.inf)
    lowest = filled.min(axis=0)
    return np.where(np.isfinite(lowest), lowest, np.nan)


def _shifts(fleet: Fleet) -> dict:
    """A rack's shift is a finding of its own; here its nodes show where they are."""
    return {(node, effect.metric): effect.shift or 0.0 for effect in fleet.group_effects for node in effect.nodes}


def _cell(fleet: Fleet, node, metric: int, shifts: dict) -> float:
    away = node.deviation[metric]
    return np.nan if away is None else worse(fleet, (1 + away) * (1 + shifts.get((node.node, metric), 0)) - 1, metric)


def _hatch_empty(axes, table: np.ndarray) -> None:
    """Cells without a value; stretches of them as one."""
    from matplotlib.patches import Rectangle
    for column in range(table.shape[1]):
        row = 0
        while row < table.shape[0]:
            first = row
            while row < table.shape[0] and not np.isfinite(table[row, column]):
                row += 1
            if row > first:
                axes.add_patch(Rectangle((column - 0.5, first - 0.5), 1, row - first, facecolor="none",
                                         edgecolor=COLOUR["thin"], hatch="/////", linewidth=0, zorder=3))
            row += 1


def _name(fleet: Fleet, metric: int) -> str:
    m = fleet.metrics[metric]
    return f"{m.workload}.{m.metric}"


def _name_rows(axes, fleet: Fleet, nodes: List, rows: int) -> None:
    """Racks where they are known, else names where they fit."""
    scale = rows / len(nodes)
    key = next((key for key in ("rack", "switch") if any(key in node.attributes for node in nodes)), None)
    marks = []
    if key:
        last = None
        for number, node in enumerate(nodes):
            name = node.attributes.get(key, "")
            if name != last:
                marks.append((number, f"{key} {name}"))
                last = name
    else:
        marks = [(number, node.node) for number, node in enumerate(nodes)]
    step = max(1, -(-len(marks) // 30))
    marks = marks[::step]
    axes.set_yticks([number * scale - 0.5 + (0.5 if not key else 0) for number, _ in marks],
                    [words.shortened(name, 13) for _, name in marks], fontsize=10,
                    va="top" if key else "center")
    if key and len(marks) <= 64:
        for number, _ in marks[1:]:
            axes.axhline(number * scale - 0.5, color=COLOUR["paper"], linewidth=1.2, zorder=4)


def _finding(fleet: Fleet) -> str:
    bad = [o for o in fleet.outliers if o.status == "confirmed"]
    if fleet.group_effects:
        effect = fleet.group_effects[0]
        more = f", and {plural(len(bad), 'outlier')}" if bad else ""
        away = "away from the rest" if effect.shift is None else change(1 + effect.shift)
        if not effect.attribute:
            return f"{plural(len(effect.nodes), 'node')} together are {away}: two levels{more}"
        return f"{effect.attribute[0].upper()}{effect.attribute[1:]} {effect.name} is {away} as a whole{more}"
    if bad:
        nodes = list(dict.fromkeys(o.node for o in bad))
        reported = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
        return f"{reported} {'is' if len(nodes) == 1 else 'are'} unlike the rest: {change(1 + bad[0].deviation)}"
    suspects = [o for o in fleet.outliers if o.status == "suspected"]
    if suspects:
        return f"{suspects[0].node} may be unlike the rest ({change(1 + suspects[0].deviation)}): not measured again"
    return "No node is unlike the rest"


def _describe(fleet: Fleet, nodes) -> str:
    return f"Deviation of {plural(len(nodes), 'node')} from the middle of their group, by metric. " + " ".join(
        o.explanation for o in fleet.outliers[:8])


def _table(fleet: Fleet, nodes) -> Table:
    """The nodes with the largest deviation for the worse."""
    def worst(node):
        reported = [worse(fleet, d, m) for m, d in enumerate(node.deviation) if d is not None]
        return min(reported) if reported else 0
    chosen = sorted(nodes, key=lambda node: (worst(node), node.node))[:40]
    metrics = list(range(min(len(fleet.metrics), MOST_METRICS)))
    return Table(["node", *[_name(fleet, m) for m in metrics]], [
        [node.node, *["\u2013" if node.deviation[m] is None else change(1 + node.deviation[m]).replace(f"{NBSP}%", f"{NBSP}%")
                      for m in metrics]] for node in chosen])
