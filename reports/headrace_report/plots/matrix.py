"""C6: rates from every node to every other. Node fault or link fault?"""

from __future__ import annotations

from typing import Optional

import numpy as np

from .. import words
from ..fleet import Pairs
from ..units import plural, quantity, scale_of
from . import Figure, Key, Table
from .raster import one_sided, show
from .style import COLOUR, WIDTH, canvas, place, styled

SIDE = 330
MOST_NAMES = 24


def draw(pairs: Pairs) -> Optional[Figure]:
    values = np.array([[np.nan if v is None else v for v in row] for row in pairs.values], dtype=float)
    if values.size == 0 or not np.isfinite(values).any():
        return None
    count = len(pairs.nodes)
    scale = scale_of(float(np.nanmedian(values)), pairs.unit)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    with styled():
        drawing = canvas(WIDTH, SIDE + 112)
        axes = drawing.add_axes(place(drawing, 92, WIDTH - 92 - SIDE, 26, 86))
        show(axes, one_sided(values, low, high))
        step = max(1, -(-count // MOST_NAMES))
        places = list(range(0, count, step))
        names = [words.shortened(pairs.nodes[i], 12) for i in places]
        axes.set_xticks(places, names, rotation=60, ha="right", rotation_mode="anchor", fontsize=9.5)
        axes.set_yticks(places, names, fontsize=9.5)
        axes.set_xlim(-0.5, count - 0.5)
        axes.set_ylim(count - 0.5, -0.5)
        axes.grid(False)
        axes.tick_params(length=0)
        bar = drawing.add_axes([1 - 50 / WIDTH, 86 / (SIDE + 112), 12 / WIDTH, SIDE / (SIDE + 112)])
        show(bar, one_sided(np.linspace(high, low, 64)[:, None], low, high))
        bar.set_xticks([])
        bar.yaxis.tick_right()
        bar.set_yticks([0, 63], [scale.number(high), scale.number(low)], fontsize=9.5)
        bar.tick_params(length=0)
        bar.grid(False)
        bar.set_title(scale.label, fontsize=10, color=COLOUR["ink"], pad=4)
    table = [[one.node, "all", f"{one.slow} of {one.partners} partners slow", ""] for one in pairs.blamed]
    table += [[link.from_, link.to, quantity(link.value, pairs.unit), f"{100 * link.deviation:+.0f}\u00a0%"] for link in pairs.links[:60]]
    return Figure(_finding(pairs), f"Node fault or link fault? ({pairs.metric}, rows send to columns)",
                  f"Rates between {count} nodes, median {quantity(pairs.median, pairs.unit)}. " +
                  " ".join(f"{one.node}: {one.explanation}." for one in pairs.blamed), drawing,
                  Table(["from", "to", "value", "deviation"], table), [Key("none", "empty: not measured")])


def _finding(pairs: Pairs) -> str:
    if pairs.blamed:
        one = pairs.blamed[0]
        more = f", and {plural(len(pairs.blamed) - 1, 'node')} more" if len(pairs.blamed) > 1 else ""
        return f"{one.node} is slow with {one.slow} of {one.partners} partners: the node{more}"
    if pairs.links:
        link = pairs.links[0]
        more = f", and {plural(len(pairs.links) - 1, 'link')} more" if len(pairs.links) > 1 else ""
        return f"{link.from_} to {link.to} is slow, and neither node with others{more}"
    return "No pair is slow"
