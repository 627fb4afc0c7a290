"""What every page shares: templates, one style sheet for all figures, and the policy that allows exactly these texts."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any, Callable, List, Optional

import jinja2
from markupsafe import Markup, escape

from .. import words
from ..plots import Figure
from ..plots.svg import StyleSheet, inline
from ..printable import printable, printable_lines
from ..units import duration, plural, quantity


@dataclass
class Panel:
    """A figure as the template prints it."""

    key: str
    figure: Figure
    svg: Markup


PRINTED_ROWS = 8   # of the first table, in a printed summary: worst first
PRINTED_STEPS = 5
COLUMNS = 2          # of a file of figures alone
TITLE_PX, GAP_PX = 24, 16


class Page:
    """One page while it is put together. On paper it is a "summary", at most two sheets with the rest folded, or "full"."""

    def __init__(self, paper: str = "summary", **filters: Callable):
        self._paper = paper
        self._sheet = StyleSheet()
        self._environment = jinja2.Environment(
            loader=jinja2.PackageLoader("headrace_report", "html/templates"), autoescape=True, trim_blocks=True,
            lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=_shown)
        self._environment.filters.update(duration=duration, plural=plural, bytes=lambda n: quantity(float(n), "B"), **filters)

    def panel(self, figure: Optional[Figure], key: str) -> Optional[Panel]:
        """`key` starts the ids of the figure; nothing is drawn of nothing."""
        return Panel(key, figure, inline(figure, key, self._sheet)) if figure else None

    def render(self, template: str, **values: Any) -> str:
        """The whole page; every figure must have been made before. The same values give the same bytes."""
        script = self._source("page.js")
        style = self._source("page.css") + self._sheet.css() + "\n"
        page = self._environment.get_template(template).render(
            tone=words.tone, symbol=words.SYMBOL, style=Markup(style), script=Markup(script), style_hash=_hash(style),
            script_hash=_hash(script), paper=self._paper, printed_rows=PRINTED_ROWS, printed_steps=PRINTED_STEPS, **values)
        return printable_lines(page)  # the text of figures, and the embedded data, which stays the same JSON

    def _source(self, name: str) -> str:
        return self._environment.loader.get_source(self._environment, name)[0]


def palette() -> str:
    """The colours of all figures as a style sheet of their own, light and dark."""
    source = jinja2.PackageLoader("headrace_report", "html/templates").get_source(jinja2.Environment(), "page.css")[0]
    return source[source.index(":root"):source.index("* {")]


def svg_file(title: str, drawn: List[Figure], prefix: str) -> str:
    """Figures in one SVG file, in columns, which follows the reader's light or dark; within styled()."""
    sheet = StyleSheet()
    body, x, y = "", 0, 0
    for number, figure in enumerate(drawn):
        width, height = (round(size * 72) for size in figure.drawing.get_size_inches())
        x, y = (number % COLUMNS) * (width + GAP_PX), TITLE_PX + (number // COLUMNS) * (height + TITLE_PX + GAP_PX)
        body += (f'<text class="title" x="{x + 8}" y="{y + 16}">{escape(figure.finding)}</text>'
                 + str(inline(figure, f"{prefix}-{number + 1}", sheet)).replace("<svg ", f'<svg x="{x}" y="{y + TITLE_PX}" ', 1))
    wide = min(len(drawn), COLUMNS) * (width + GAP_PX)
    tall = y + height + TITLE_PX
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}" role="img" '
            f'aria-label="{escape(title)}"><style>{palette()}svg{{font-family:system-ui,sans-serif}}text{{fill:var(--ink)}}'
            f'.title{{font-size:13px;font-weight:600}}\n{sheet.css()}</style><rect width="{wide}" height="{tall}" style="fill:var(--paper)"/>'
            f'<text class="title" x="8" y="17">{escape(title)}</text>{body}</svg>\n')


def _shown(value: Any) -> Any:
    """What a template prints: words of the run file stay on their line, and nothing in them is hidden."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _hash(text: str) -> str:
    """As the content policy wants it: the browser runs nothing that is not exactly this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
