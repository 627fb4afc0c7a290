"""Puts the page of a sweep of needs together, or its figures alone."""

from __future__ import annotations

from typing import List

from markupsafe import Markup, escape

from ..plots import Figure, sweep as plot
from ..plots.style import styled
from ..plots.svg import StyleSheet, inline
from ..sweep import Sweep
from ..units import listing, plural
from .embed import plain, script_json
from .page import Page, palette

MOST_FIGURES = 24
COLUMNS = 2
TITLE_PX, GAP_PX = 24, 16


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
    sheet = StyleSheet()
    body, x, y = "", 0, 0
    with styled():
        drawn = _figures(sweep)
        for number, figure in enumerate(drawn):
            width, height = (round(size * 72) for size in figure.drawing.get_size_inches())
            x, y = (number % COLUMNS) * (width + GAP_PX), TITLE_PX + (number // COLUMNS) * (height + TITLE_PX + GAP_PX)
            body += (f'<text class="title" x="{x + 8}" y="{y + 16}">{escape(figure.finding)}</text>'
                     + str(inline(figure, f"need-{number + 1}", sheet)).replace("<svg ", f'<svg x="{x}" y="{y + TITLE_PX}" ', 1))
    wide = min(len(drawn), COLUMNS) * (width + GAP_PX)
    tall = y + height + TITLE_PX
    title = f"{sweep.job}: needs with margin over {listing(sweep.keys)}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}" role="img" '
            f'aria-label="{escape(title)}"><style>{palette()}svg{{font-family:system-ui,sans-serif}}text{{fill:var(--ink)}}'
            f'.title{{font-size:13px;font-weight:600}}\n{sheet.css()}</style><rect width="{wide}" height="{tall}" style="fill:var(--paper)"/>'
            f'<text class="title" x="8" y="17">{escape(title)}</text>{body}</svg>\n')


def _figures(sweep: Sweep) -> List[Figure]:
    drawn = (plot.draw(sweep, need) for need in (sweep.changing() or range(1))[:MOST_FIGURES] if need < len(sweep.needs))
    return [figure for figure in drawn if figure]


def _headline(sweep: Sweep) -> str:
    return f"{plural(len(sweep.changing()), 'need')} of {len(sweep.needs)} change over {listing(sweep.keys)}."


def _same(sweep: Sweep) -> int:
    return len(sweep.needs) - len(sweep.changing())


def _left(sweep: Sweep) -> int:
    return max(0, len(sweep.changing()) - MOST_FIGURES)
