"""Puts the page of a sweep of needs together, or its figures alone."""

from __future__ import annotations

from typing import List

from markupsafe import Markup

from ..plots import Figure, sweep as plot
from ..plots.style import styled
from ..sweep import Sweep
from ..units import listing, plural
from .embed import plain, script_json
from .page import Page, svg_file

MOST_FIGURES = 24


def render(sweep: Sweep, paper: str = "summary") -> str:
    """The whole page. The same sweep gives the same bytes."""
    page = Page(paper)
    with styled():
        panels = [page.panel(figure, f"need-{number}") for number, figure in enumerate(_figures(sweep), start=1)]
    return page.render("sweep.html", all=sweep, headline=_headline(sweep), panels=panels, same=_same(sweep),
                       refused=[point for point in sweep.points if point.refused][:100], left=_left(sweep),
                       data=Markup(script_json(plain(sweep))))


def figures(sweep: Sweep) -> str:
    """The figures in one SVG file, which follows the reader's light or dark."""
    with styled():
        return svg_file(f"{sweep.job}: needs with margin over {listing(sweep.keys)}", _figures(sweep), "need")


def _figures(sweep: Sweep) -> List[Figure]:
    drawn = (plot.draw(sweep, need) for need in (sweep.changing() or range(1))[:MOST_FIGURES] if need < len(sweep.needs))
    return [figure for figure in drawn if figure]


def _headline(sweep: Sweep) -> str:
    return f"{plural(len(sweep.changing()), 'need')} of {len(sweep.needs)} change over {listing(sweep.keys)}."


def _same(sweep: Sweep) -> int:
    return len(sweep.needs) - len(sweep.changing())


def _left(sweep: Sweep) -> int:
    return max(0, len(sweep.changing()) - MOST_FIGURES)
