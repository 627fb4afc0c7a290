"""Texts under the pointer: of the cells of a heat map, of the parts of a time line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import Callable, Iterable, List, Sequence, Tuple

import numpy as np

MOST = 4096        # of a figure: each takes a tenth of a kilobyte
MOST_STRIPS = 100  # of a time line: narrower ones are hard to hit


@dataclass(frozen=True)
class Hover:
    """A rectangle in pixels from the figure's upper left corner, and its text."""

    left: float
    top: float
    width: float
    height: float
    text: str


def cells(axes, texts: Iterable[Tuple[int, int, str]]) -> List[Hover]:
    """Of (row, column, text) of a heat map with one unit per cell. The first ones count, where there are too many."""
    return [_area(axes, column - 0.5, column + 0.5, _y(axes, row - 0.5), _y(axes, row + 0.5), text)
            for row, column, text in islice(texts, MOST)]


def strips(axes, edges: Sequence[float], texts: Sequence[str], lowest=None) -> List[Hover]:
    """Of the times between neighbouring edges, as high as `axes`; down to `lowest`, where that is below."""
    top, bottom = axes.bbox.y1, (lowest or axes).bbox.y0
    return [_area(axes, begin, end, top, bottom, text) for begin, end, text in zip(edges, edges[1:], texts)]


def groups(count: int, most: int = MOST_STRIPS) -> List[np.ndarray]:
    """The places of `count` values in at most `most` groups of neighbours."""
    return np.array_split(np.arange(count), min(most, count)) if count else []


def over_time(axes, ends: Sequence[float], text: Callable[[np.ndarray], str]) -> List[Hover]:
    """Of values over time that begin at 0; `text` is given the places of those of a strip."""
    parts = groups(len(ends))
    edges = [0.0, *(float(ends[part[-1]]) for part in parts)]
    return strips(axes, edges, [f"{span(begin, end)}: {text(part)}" for begin, end, part in zip(edges, edges[1:], parts)])


def span(begin: float, end: float) -> str:
    """"0.12 s to 0.18 s": digits as the length needs them."""
    digits = min(9, max(0, 1 - math.floor(math.log10(end - begin)))) if end > begin else 3
    return f"{begin:.{digits}f} s to {end:.{digits}f} s"


def _y(axes, value: float) -> float:
    return float(axes.transData.transform((0, value))[1])


def _area(axes, begin: float, end: float, one: float, other: float, text: str) -> Hover:
    """Between two values of x in the axes' units, and two heights in pixels from the figure's lower edge."""
    axes.get_xlim()  # limits that matplotlib still has to find
    left, right = (float(axes.transData.transform((x, 0))[0]) for x in (begin, end))
    height = axes.figure.get_size_inches()[1] * 72
    return Hover(left, height - max(one, other), right - left, abs(one - other), text)
