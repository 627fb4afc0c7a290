"""Puts page (a), the qualification of a node, together: one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Dict, List, Optional

import jinja2
from markupsafe import Markup

from .. import words
from ..plots import Figure, copies, epochs, forest, ladder, pipeline, roofline, tail, timeline
from ..plots.style import styled
from ..plots.svg import StyleSheet, inline
from ..schema import Point, Run
from ..units import duration, plural, quantity
from . import embed, views


@dataclass
class Panel:
    """A figure as the template prints it."""

    key: str
    figure: Figure
    svg: Markup


@dataclass
class Section:
    """One point with its evidence."""

    point: Point
    anchor: str
    open: bool
    judged: List[views.NeedRow]
    panels: List[Panel]
    metrics: List[views.MetricRow]
    latency: Optional[views.LatencyTable]
    evidence: views.Evidence
    ledger: List[views.LedgerRow]


def render(run: Run) -> str:
    """The whole page. The same run gives the same bytes."""
    environment = jinja2.Environment(loader=jinja2.PackageLoader("headrace_report", "html/templates"), autoescape=True,
                                     trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters.update(duration=duration, plural=plural, bytes=lambda n: quantity(float(n), "B"), parameter=lambda pair: views.parameter(*pair),
                               wrong_block=views.wrong_block, section_name=words.section_name)
    sheet = StyleSheet()
    anchors = {point.id: f"point-{number}" for number, point in enumerate(run.points, start=1)}
    with styled():
        overview = _panel(forest.draw(run.judgements), "forest", sheet)
        rows = views.need_rows(run, anchors)
        limits = [_panel(ladder.draw(run), "ladder", sheet)]
        limits += [_panel(figure, f"roofline-{number}", sheet)
                   for number, figure in enumerate(roofline.draw_all(run), start=1)]
        limits += [_panel(figure(run.points, workload), f"{workload}-{name}", sheet) for workload in copies.DIRECTIONS
                   for name, figure in (("sizes", copies.over_size), ("gpus", copies.per_gpu))]
        sections = [_section(run, point, anchors[point.id], rows, sheet) for point in run.points]
    data, left_out = embed.embedded(run)
    script = _source(environment, "page.js")
    style = Markup(_source(environment, "page.css") + sheet.css() + "\n")
    return environment.get_template("qualification.html").render(
        run=run, rows=rows, sections=sections, overview=overview, limits=[panel for panel in limits if panel], steps=views.steps(run), facts=views.facts(run),
        headline=words.headline(run), count_line=words.count_line(run), tone=words.tone, symbol=words.SYMBOL,
        status=words.STATUS, unmeasured=views.unmeasured(run), command=views.command(run),
        looks=views.look_texts(run), started=views.started(run), data=data, left_out=left_out,
        style=style, script=Markup(script), style_hash=_hash(style), script_hash=_hash(script))


def _source(environment: jinja2.Environment, name: str) -> str:
    return environment.loader.get_source(environment, name)[0]


def _hash(text: str) -> str:
    """As the content policy wants it: the browser runs nothing that is not exactly this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _panel(figure: Optional[Figure], key: str, sheet: StyleSheet) -> Optional[Panel]:
    return Panel(key, figure, inline(figure, key, sheet)) if figure else None


def _section(run: Run, point: Point, anchor: str, rows: List[views.NeedRow], sheet: StyleSheet) -> Section:
    judged = [row for row in rows if row.judgement.point == point.id]
    judgements = [row.judgement for row in judged]
    drawn: Dict[str, Optional[Figure]] = {
        "epochs": epochs.draw(point), "pipeline": pipeline.draw(point),
        "time": timeline.draw(point, judgements), "tail": tail.draw(point, judgements)}
    panels = [_panel(figure, f"{anchor}-{name}", sheet) for name, figure in drawn.items()]
    needs_a_look = any(judgement.outcome != "PASS" for judgement in judgements)
    calm = all(judgement.outcome == "PASS" for judgement in run.judgements)
    return Section(point, anchor, needs_a_look or (calm and views.first_open(run) == point.id), judged,
                   [panel for panel in panels if panel], views.metric_rows(point), views.latency_table(point), views.evidence(point), views.ledger(point))
