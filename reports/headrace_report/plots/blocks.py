"""C2: both sides of every interleaved block, for the metrics that matter most. Consistent, or one odd block?"""

from __future__ import annotations

from typing import List, Optional

from .. import words
from ..comparison import Pair, Row
from ..units import NBSP, change, quantity, scale_of
from . import Figure, Key, Table
from .style import COLOUR, Grid, MARKERS, series, styled

MOST = 6
GRID = Grid(panel=132, left=46, right=8, top=22, bottom=40, gap=34)


def draw(pair: Pair) -> Optional[Figure]:
    """Nothing when the runs were not interleaved."""
    rows = [row for row in pair.findings if row.blocks]
    rows = sorted(rows, key=lambda row: (not row.gated, not row.changed, row.quiet))[:MOST]
    if not rows:
        return None
    with styled():
        drawing, panels = GRID.draw(len(rows))
        for number, (axes, row) in enumerate(zip(panels, rows)):
            _draw_row(axes, pair, row, GRID.is_lowest(number, len(rows)))
    keys = [Key("dot", pair.base), Key("square", pair.other)]
    if any(block.disturbed for row in rows for block in row.blocks):
        keys.append(Key("ring", "hollow: disturbed"))
    return Figure(finding=_finding(pair, rows[0]), question="Consistent, or one odd block?", description=_describe(pair, rows),
                  drawing=drawing, table=_table(pair, rows), keys=keys)


def _draw_row(axes, pair: Pair, row: Row, last: bool) -> None:
    scale = scale_of(row.base.median, row.unit)
    numbers = [block.block for block in row.blocks]
    for block in row.blocks:
        axes.plot([block.block] * 2, [block.base / scale.factor, block.other / scale.factor], color=COLOUR["muted"],
                  linewidth=1.2, zorder=2)
    for side, values in enumerate(([b.base for b in row.blocks], [b.other for b in row.blocks])):
        for block, value in zip(row.blocks, values):
            axes.plot([block.block], [value / scale.factor], marker=MARKERS[side], linestyle="none", color=series(side),
                      markerfacecolor=COLOUR["paper"] if block.disturbed else series(side), markersize=6.5, zorder=4)
    axes.set_xlim(min(numbers) - 0.6, max(numbers) + 0.6)
    step = max(1, (len(numbers) + 5) // 6)
    axes.set_xticks(numbers[::step])
    # At least a tenth from top to bottom, so that noise does not look wild.
    values = [v / scale.factor for b in row.blocks for v in (b.base, b.other)]
    middle = (min(values) + max(values)) / 2
    half = max((max(values) - min(values)) * 0.62, 0.05 * middle)
    axes.set_ylim(middle - half, middle + half)
    axes.locator_params(axis="y", nbins=5)
    axes.grid(axis="x", visible=False)
    axes.set_title(words.shortened(row.metric, 22) + (f" ({scale.label})" if scale.label else ""), fontsize=11.5, loc="left",
                   pad=6)
    if last:
        axes.set_xlabel("block")


def _odd(row: Row) -> List[int]:
    """Blocks on the other side of 1 than the whole."""
    up = (row.ratio or 1) > 1
    return [block.block for block in row.blocks if (block.ratio > 1) != up]


def _finding(pair: Pair, row: Row) -> str:
    blocks, odd = len(row.blocks), _odd(row)
    direction = "higher" if (row.ratio or 1) > 1 else "lower"
    if not odd:
        return f"{row.metric} is {direction} in {pair.other} in all{NBSP}{blocks} blocks" \
            if blocks > 1 else f"{row.metric}: one block only"
    if len(odd) * 4 >= blocks:
        return f"{row.metric} goes both ways: {direction} in {pair.other} in {blocks - len(odd)} of {blocks} blocks"
    return f"{row.metric} is {direction} in {pair.other} in {blocks - len(odd)} of {blocks} blocks, not in " \
           f"{', '.join(map(str, odd))}"


def _describe(pair: Pair, rows: List[Row]) -> str:
    return f"Medians of {pair.base} and {pair.other} in each block. " + " ".join(
        f"{row.metric} of {row.points[0]}: " + ", ".join(change(block.ratio) for block in row.blocks) + "." for row in rows)


def _table(pair: Pair, rows: List[Row]) -> Table:
    return Table(["metric", "point", "block", pair.base, pair.other, "change", "disturbed"], [
        [row.metric, row.points[0], str(block.block), quantity(block.base, row.unit), quantity(block.other, row.unit),
         change(block.ratio), "yes" if block.disturbed else "no"] for row in rows for block in row.blocks])
