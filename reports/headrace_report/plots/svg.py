"""Turns a matplotlib figure into inline SVG for the page, without colours, styles or ids that could clash."""

from __future__ import annotations

import io
import re
from typing import Dict

from markupsafe import Markup, escape

from ..printable import printable
from . import Figure
from .style import ROLE_OF


class StyleSheet:
    """Collects the distinct styles of all figures of a page as classes. So the page needs no style attribute, which
    its content policy forbids. Every repeated style is stored once."""

    def __init__(self) -> None:
        self._classes: Dict[str, str] = {}

    def class_of(self, style: str) -> str:
        return self._classes.setdefault(style, f"m{len(self._classes)}")

    def css(self) -> str:
        return "\n".join(f".plot .{name}{{{style}}}" for style, name in self._classes.items())


def inline(figure: Figure, key: str, sheet: StyleSheet) -> Markup:
    """The figure as one <svg> element whose ids start with `key`."""
    buffer = io.StringIO()
    for axes in figure.drawing.axes:
        axes.minorticks_off()  # within a decade, a logarithmic axis would print labels of its own
    figure.drawing.savefig(buffer, format="svg", transparent=True,
                           metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue()
    width, height = (round(size * 72) for size in figure.drawing.get_size_inches())
    body = text[text.index(">", text.index("<svg ")) + 1:text.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.S)
    body = body.replace("xlink:href", "href")
    body = _own_ids(body, key)
    body = re.sub(r'style="([^"]*)"', lambda match: f'class="{sheet.class_of(_colours(_style(match[1])))}"', body)
    # Hatches have their colour in an attribute.
    body = re.sub(r' (fill|stroke)="(#[0-9a-fA-F]{6})"', lambda match: f' class="{sheet.class_of(_colours(f"{match[1]}:{match[2]}"))}"', body)
    body = re.sub(r"<[^>]*>", lambda tag: re.sub(r"-?\d+\.\d{3,}", _short_number, tag[0]), body)
    body = re.sub(r"\s+", " ", body)
    body = re.sub(r"> <", "><", body)
    body = re.sub(r"<defs>\s*</defs>", "", body)
    for _ in range(4):
        body = re.sub(r"<g>\s*</g>", "", body)
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" aria-labelledby="{key}-title {key}-desc">'
        f'<title id="{key}-title">{escape(figure.finding)}</title>'
        f'<desc id="{key}-desc">{escape(figure.description)}</desc>{body.strip()}{_hovers(figure)}</svg>')


def _hovers(figure: Figure) -> str:
    """Invisible areas above the drawing. Browsers show the title of the one below the pointer."""
    areas = "".join(f'<path d="M{_px(one.left)} {_px(one.top)}h{_px(one.width)}v{_px(one.height)}h{_px(-one.width)}">'
                    f"<title>{escape(printable(one.text))}</title></path>" for one in figure.hovers)
    return f'<g fill="none" pointer-events="all">{areas}</g>' if areas else ""


def _px(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _short_number(match: re.Match) -> str:
    """A coordinate to a hundredth of a pixel."""
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _own_ids(body: str, key: str) -> str:
    """Ids that something refers to get the figure's prefix; all others go."""
    used = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', body))
    used = {first or second for first, second in used}
    body = re.sub(r' id="([^"]*)"', lambda match: f' id="{key}-{match[1]}"' if match[1] in used else "", body)
    return re.sub(r'(url\(|href=")#', rf"\1#{key}-", body)


def _style(style: str) -> str:
    """Without the family: texts take the page's font."""
    style = re.sub(r"font:\s*(\d+ )?([\d.]+)px [^;]*", lambda match: f"font-size: {match[2]}px"
                   + (f"; font-weight: {match[1].strip()}" if match[1] else ""), style)
    return re.sub(r"\s*([:;])\s*", r"\1", style.strip().rstrip(";"))


def _colours(style: str) -> str:
    return re.sub(r"#[0-9a-fA-F]{6}", lambda match: f"var(--{ROLE_OF[match[0].lower()]})", style)
