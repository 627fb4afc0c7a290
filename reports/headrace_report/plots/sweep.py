"""A need over the values of a key: a line per combination of the other keys. Shows how a need changes."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

import numpy as np

from ..sweep import Sweep
from ..units import listing, quantity, scale_of
from . import Figure, Key, Table
from .labels import label_lines
from .style import DASHES, MARKERS, WIDTH, canvas, log_ticks, place, series, styled

HEIGHT = 300
MOST_LINES = 6
MOST_MARKED = 40
MOST_TABLE_ROWS = 200
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
         "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}


def draw(sweep: Sweep, need: int) -> Optional[Figure]:
    """Nothing when no point has the need."""
    lines = _lines(sweep, need)
    if not lines:
        return None
    what = sweep.needs[need]
    texts = list(dict.fromkeys(point.values[0] for point in sweep.points))
    numbers = [_number(text) for text in texts]
    words = None in numbers
    place_of = {text: float(i) if words else number for i, (text, number) in enumerate(zip(texts, numbers))}
    everything = [value for line in lines.values() for _, value in line]
    scale = scale_of(max(everything), what.unit)
    with styled():
        drawing = canvas(WIDTH, HEIGHT)
        axes = drawing.add_axes(place(drawing, 66, 20, 20, 46))
        drawn = []
        for number, (name, line) in enumerate(list(lines.items())[:MOST_LINES]):
            ordered = sorted((place_of[text], value / scale.factor) for text, value in line)
            x, y = np.array([p[0] for p in ordered]), np.array([p[1] for p in ordered])
            axes.plot(x, y, color=series(number), linestyle=DASHES[number % len(DASHES)], linewidth=2.0,
                      marker=MARKERS[number % len(MARKERS)] if len(x) <= MOST_MARKED else None)
            drawn.append((name, x, y))
        _ticks_along(axes, texts, place_of, words)
        low, high = min(everything) / scale.factor, max(everything) / scale.factor
        if low > 0 and high / low > 30:
            axes.set_yscale("log")
            axes.set_ylim(low / 1.3, high * 1.6)
            ticks = log_ticks(*axes.get_ylim())
            axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        else:
            axes.set_ylim(0, high * 1.12 or 1)
        axes.set_xlabel(sweep.keys[0])
        axes.set_ylabel(scale.label or what.unit)
        if len(lines) > 1:
            label_lines(axes, drawn)
    keys = [Key("none", f"{len(lines) - MOST_LINES} more lines are in the numbers")] if len(lines) > MOST_LINES else []
    return Figure(_finding(sweep, need, everything), "How the need changes", _describe(sweep, need), drawing,
                  _table(sweep, need), keys)


def _lines(sweep: Sweep, need: int) -> Dict[str, List[Tuple[str, float]]]:
    """Name of the combination of the other keys -> (first key's value, need) in the order of the sweep."""
    lines: Dict[str, List[Tuple[str, float]]] = {}
    for point in sweep.points:
        value = point.needs[need]
        if value is not None:
            name = listing([f"{key.rpartition('.')[2]} {text}" for key, text in zip(sweep.keys[1:], point.values[1:])]) if sweep.keys[1:] else ""
            lines.setdefault(name, []).append((point.values[0], value))
    return lines


def _number(text: str) -> Optional[float]:
    """The size of "4KiB", "100ms", "8": only for its position on the axis, whose labels are as written."""
    match = re.fullmatch(r"([-+]?[\d.]+(?:e[-+]?\d+)?)\s*([A-Za-z]*?)(B|bit|FLOP|%)?(/s)?", text)
    if not match or (match[2] and match[2] not in UNITS):
        return None
    try:
        return float(match[1]) * UNITS.get(match[2], 1.0)
    except ValueError:
        return None


def _ticks_along(axes, texts: List[str], place_of: Dict[str, float], words: bool) -> None:
    values = [place_of[text] for text in texts]
    if not words and min(values) > 0 and max(values) / min(values) > 30:
        axes.set_xscale("log")
    shown = texts[::max(1, -(-len(texts) // 6))]
    axes.set_xticks([place_of[text] for text in shown], shown)


def _finding(sweep: Sweep, need: int, values: List[float]) -> str:
    what = sweep.needs[need]
    if min(values) == max(values):
        return f"{what.name}: {quantity(values[0], what.unit)} at every point"
    return f"{what.name}: {quantity(min(values), what.unit)} to {quantity(max(values), what.unit)}"


def _describe(sweep: Sweep, need: int) -> str:
    return f"{sweep.needs[need].name} with margin over {listing(sweep.keys)}, {len(sweep.points)} points."


def _table(sweep: Sweep, need: int) -> Table:
    rows = [[*point.values, quantity(point.needs[need], sweep.needs[need].unit) if not point.refused else f"cannot be: {point.refused}"]
            for point in sweep.points[:MOST_TABLE_ROWS]]
    return Table([*sweep.keys, sweep.needs[need].name], rows)
