"""Rates between pairs of nodes, in both directions, in the nodes' order. A slow node is a line, a slow link a dot."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import numpy as np

from .. import words
from ..bringup import Bringup, Pair
from ..units import NBSP, percent, plural, quantity, share
from . import Figure, Key, Table, hover
from .cluster import places
from .style import COLOUR, WIDTH, canvas, place, styled

MOST_BINS = 160    # cells of a side, two pixels and more each
MOST_NAMES = 32
MOST_PLACES = 24   # of which names and borders are drawn
MOST_MARKED = 12   # faults; more would cover what they are about
TABLE_ROWS = 200
WIDEST = 0.5       # of the usual rate; where anything is below, the scale begins at 0


def draw(document: Bringup) -> Optional[Figure]:
    """Nothing where the usual rate is unknown."""
    pairs = [pair for pair in document.pairs() if document.usual(pair.rail) > 0]
    if not pairs:
        return None
    order = [number for _, numbers in places(document) for number in numbers]
    count, bins = len(order), min(len(order), MOST_BINS)
    at = np.empty(count, dtype=int)
    at[order] = np.arange(count) * bins // count
    a, b = at[[pair.nodes[0] for pair in pairs]], at[[pair.nodes[1] for pair in pairs]]
    shares = np.array([pair.rate for pair in pairs]).T / [document.usual(pair.rail) for pair in pairs]
    ways, rows, columns = shares.ravel(), np.concatenate([a, b]), np.concatenate([b, a])
    falling = np.argsort(-ways, kind="stable")
    slowest = np.full((bins, bins), -1)
    slowest[rows[falling], columns[falling]] = falling  # of several in a cell the last stays: the lowest
    lowest = np.where(slowest >= 0, ways[slowest], np.nan)
    start = max(0.0, min(0.8, np.floor(10 * np.nanmin(lowest)) / 10))
    per = -(-count // bins)
    with styled():
        drawing = _drawing(document, lowest, order, bins, start if start >= WIDEST else 0.0)
        hovers = hover.cells(drawing.axes[0], ((rows[way], columns[way], _text(document, pairs[way % len(pairs)], way >= len(pairs), per))
                                               for way in reversed(falling) if slowest[rows[way], columns[way]] == way))
    met = {tuple(sorted(pair.nodes)) for pair in pairs}
    all_pairs = count * (count - 1) // 2
    worst = min(pairs, key=lambda pair: min(pair.rate) / document.usual(pair.rail))
    least = min(worst.rate) / document.usual(worst.rail)
    names = document.nodes[worst.nodes[0]].name, document.nodes[worst.nodes[1]].name
    finding = f"The slowest of {plural(len(met), 'pair')} that met reached {share(least)} of the usual rate: {names[0]} and {names[1]}"
    reports = f" Each cell is the lowest rate of up to {per} by {per} nodes." if per > 1 else ""
    described = (f"{len(met)} of {all_pairs} pairs met. Usual: " +
                 ", ".join(f"{quantity(rate, 'B/s')}{_rail(document, rail)}" for rail, rate in enumerate(document.usual_rate)) + ".")
    marked = len(document.faults) <= MOST_MARKED and any(fault.scope in ("node", "NIC", "link") for fault in document.faults)
    keys = [Key("shade-grey", "did not meet")] + ([Key("cross", "line or cross: bad")] if marked else [])
    return Figure(finding, f"Which node, or which way between two, is slower than others?{reports}", described, drawing, _table(document, pairs), keys, hovers)


def _rail(document: Bringup, rail: int) -> str:
    named = document.rail_name(0, rail)
    return f" over {named}" if named else ""


def _text(document: Bringup, pair: Pair, back: bool, per: int) -> str:
    """The rate of one way, which is the lowest of its cell."""
    one, other = (document.nodes[number].name for number in (reversed(pair.nodes) if back else pair.nodes))
    rate = pair.rate[1 if back else 0]
    away = rate / document.usual(pair.rail) - 1
    usual = "as usual" if abs(away) < 0.005 else f"{percent(abs(away))} {'below' if away < 0 else 'above'} usual"
    return f"{one} to {other}{_rail(document, pair.rail)}: {quantity(rate, 'B/s')}, {usual}" + ("; the lowest here" if per > 1 else "")


def _drawing(document: Bringup, lowest: np.ndarray, order: List[int], bins: int, start: float):
    count = len(order)
    names = [words.shortened(document.nodes[number].name, 12) for number in order] if count <= MOST_NAMES else []
    longest = 6.4 * max((len(name) for name in names), default=9)
    left = 38 + longest
    side = min(WIDTH - left - 80, max(170, 24 * count))
    bottom = 30 + 0.87 * longest
    drawing = canvas(WIDTH, side + 10 + bottom)
    axes = drawing.add_axes(place(drawing, left, WIDTH - left - side, 10, bottom))
    axes.axhspan(-0.5, bins - 0.5, facecolor=COLOUR["grid"], linewidth=0, zorder=1)
    shown = axes.imshow(100 * lowest, cmap="cividis", vmin=100 * start, vmax=105, interpolation="nearest", aspect="auto", zorder=2)
    bar = drawing.add_axes(place(drawing, left + side + 14, WIDTH - left - side - 28, 10, bottom))
    drawing.colorbar(shown, cax=bar).set_label("% of the usual rate")
    for each in (axes, bar):
        each.grid(False)
    axes.tick_params(length=0)
    ticks = _ticks(document, names, order, bins)
    axes.set_xticks([x for x, _ in ticks], [name for _, name in ticks], fontsize=10, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks([x for x, _ in ticks], [name for _, name in ticks], fontsize=10)
    axes.set_xlabel("to")
    axes.set_ylabel("from")
    axes.xaxis.set_label_coords(0.5, -(bottom - 14) / side)
    axes.yaxis.set_label_coords(-(left - 18) / side, 0.5)
    _borders(axes, document, bins)
    _mark(axes, document, order, bins)
    return drawing


def _ticks(document: Bringup, names: List[str], order: List[int], bins: int) -> List[Tuple[float, str]]:
    if names:
        return [(number, name) for number, name in enumerate(names)]
    groups, ticks, before = places(document), [], 0
    for name, numbers in groups:
        ticks.append(((before + len(numbers) / 2) * bins / len(order) - 0.5, words.shortened(name or "not reported", 12)))
        before += len(numbers)
    return ticks[::max(1, -(-len(ticks) // MOST_PLACES))] if len(groups) > 1 else []


def _borders(axes, document: Bringup, bins: int) -> None:
    groups = places(document)
    if not 1 < len(groups) <= MOST_PLACES:
        return
    before = 0
    for _, numbers in groups[:-1]:
        before += len(numbers)
        at = before * bins / len(document.nodes) - 0.5
        axes.axhline(at, color=COLOUR["paper"], linewidth=1, zorder=3)
        axes.axvline(at, color=COLOUR["paper"], linewidth=1, zorder=3)


def _mark(axes, document: Bringup, order: List[int], bins: int) -> None:
    if len(document.faults) > MOST_MARKED:
        return
    at: Dict[str, float] = {document.nodes[number].name: seat * bins // len(order) for seat, number in enumerate(order)}
    for fault in document.faults:
        if fault.node:
            axes.axhline(at[fault.node], color=COLOUR["fail"], linewidth=1.6, zorder=5)
            axes.axvline(at[fault.node], color=COLOUR["fail"], linewidth=1.6, zorder=5)
        elif fault.scope == "link":
            ends = [end.split(" ")[0] for end in fault.subject.split(" to ")]
            if len(ends) == 2 and all(end in at for end in ends):
                axes.plot([at[ends[1]], at[ends[0]]], [at[ends[0]], at[ends[1]]], linestyle="none", marker="x", color=COLOUR["fail"],
                          markersize=9, markeredgewidth=2.4, zorder=6)


def _table(document: Bringup, pairs: List) -> Table:
    """The slowest first."""
    pairs = sorted(pairs, key=lambda pair: min(pair.rate) / document.usual(pair.rail))
    rows = []
    for pair in pairs[:TABLE_ROWS]:
        a, b = (document.nodes[number] for number in pair.nodes)
        rail = document.rail_name(pair.nodes[0], pair.rail)
        rows.append([a.name, b.name, *([rail] if document.rails > 1 else []), quantity(pair.rate[0], "B/s"), quantity(pair.rate[1], "B/s"),
                     share(min(pair.rate) / document.usual(pair.rail)), quantity(pair.latency_s[0], "s"), quantity(pair.latency_s[2], "s"),
                     percent(max(pair.resent)) if max(pair.resent) > 0 else f"0{NBSP}%"])
    return Table(["one", "the other", *(["rail"] if document.rails > 1 else []), "rate there", "and back", "of the usual", "least latency", "p99", "sent again"], rows)
