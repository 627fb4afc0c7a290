"""Single items on their way through a pipeline: do the stages work in parallel, or in turns?"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from ..schema import Point, StageSpan
from ..units import quantity, share
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, place, series, styled

ROW_PX = 9
Stretch = Tuple[float, float]


def draw(point: Point) -> Optional[Figure]:
    """Nothing for work without stages."""
    names = list(dict.fromkeys(span.stage for span in point.stages))
    if len(names) < 2:
        return None
    items = sorted({span.item for span in point.stages})
    begin = min(span.begin_s for span in point.stages)
    end = max(span.end_s for span in point.stages)
    factor, unit = (1e3, "ms") if end - begin < 1 else (1.0, "s")
    colours = {name: series(0) if name == names[-1] else series(5) for name in names}
    with styled():
        drawing = canvas(WIDTH, 60 + ROW_PX * len(items))
        axes = drawing.add_axes(place(drawing, 40, 10, 8, 46))
        for span in point.stages:
            axes.barh(items.index(span.item), (span.end_s - span.begin_s) * factor, left=(span.begin_s - begin) * factor,
                      height=0.7, color=colours[span.stage], alpha=1.0 if span.stage == names[-1] else 0.55, zorder=3)
        axes.set_ylim(len(items) - 0.3, -0.7)
        axes.set_xlim(0, (end - begin) * factor * 1.01)
        axes.set_ylabel("block")
        axes.set_xlabel(f"time ({unit})")
        axes.grid(axis="y", visible=False)
    return Figure(
        finding=_finding(point.stages, names, end - begin, len(items)),
        question="Do the stages overlap, or run in turns?",
        description=" ".join(f"{span.stage} of block {span.item}: from {_time(span.begin_s - begin)} to "
                             f"{_time(span.end_s - begin)}." for span in point.stages[:8]),
        drawing=drawing,
        table=Table(["block", *[f"{name} {edge}" for name in names for edge in ("from", "to")]],
                    [[str(item), *_edges(point.stages, item, names, begin)] for item in items]),
        keys=[Key("full" if name == names[-1] else "pale", name) for name in names])


def _edges(spans: List[StageSpan], item: int, names: List[str], begin: float) -> List[str]:
    own: Dict[str, StageSpan] = {span.stage: span for span in spans if span.item == item}
    return [_time(edge - begin) if name in own else "" for name in names
            for edge in ((own[name].begin_s, own[name].end_s) if name in own else (begin, begin))]


def _finding(spans: List[StageSpan], names: List[str], elapsed: float, count: int) -> str:
    busy = [_union([(span.begin_s, span.end_s) for span in spans if span.stage == name]) for name in names]
    shorter = min(range(len(names)), key=lambda i: _length(busy[i]))
    others = _union([stretch for i, stretches in enumerate(busy) if i != shorter for stretch in stretches])
    hidden = _common(busy[shorter], others) / _length(busy[shorter]) if _length(busy[shorter]) > 0 else 0.0
    reported = "wholly" if hidden > 0.995 else f"for {share(hidden)}" if hidden > 0.005 else "not at all"
    return f"{count} blocks in {_time(elapsed)}: {names[shorter]} overlaps with the rest {reported}"


def _time(seconds: float) -> str:
    return quantity(seconds, "s")


def _union(stretches: List[Stretch]) -> List[Stretch]:
    joined: List[Stretch] = []
    for begin, end in sorted(stretches):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def _length(stretches: List[Stretch]) -> float:
    return sum(end - begin for begin, end in stretches)


def _common(some: List[Stretch], others: List[Stretch]) -> float:
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in some for b in others)
