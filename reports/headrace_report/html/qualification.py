"""Puts page (a), the qualification of a node, together: one file that needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional

from .. import words
from ..plots import Figure, copies, epochs, forest, ladder, network, pipeline, roofline, stages, steps, tail, timeline
from ..plots.style import styled
from ..schema import Point, Run
from ..sizing import Sizing
from . import embed, views
from .fixes import fix_rows
from .objects import object_tables
from .page import Page, Panel


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
    client: List[views.ClientRow]


def render(run: Run, paper: str = "summary", sizing: Optional[Sizing] = None) -> str:
    """The whole page; `sizing` is the same run's, where one was made. The same files give the same bytes."""
    page = Page(paper, parameter=lambda pair: views.parameter(*pair), wrong_block=views.wrong_block,
                section_name=words.section_name)
    anchors = {point.id: f"point-{number}" for number, point in enumerate(run.points, start=1)}
    with styled():
        overview = page.panel(forest.draw(run.judgements), "forest")
        rows = views.need_rows(run, anchors)
        limits = [page.panel(ladder.draw(run), "ladder")]
        limits += [page.panel(figure, f"roofline-{number}")
                   for number, figure in enumerate(roofline.draw_all(run), start=1)]
        limits += [page.panel(figure(run.points, workload), f"{workload}-{name}") for workload in copies.DIRECTIONS
                   for name, figure in (("sizes", copies.over_size), ("gpus", copies.per_gpu))]
        limits += [page.panel(network.over_size(run.points, run.judgements, run.collectives), "busbw"),
                   page.panel(network.time_over_size(run.points, run.collectives), "call-time"),
                   page.panel(network.step_time(run.collectives), "step-time")]
        limits += [page.panel(network.scaling(curve), f"scaling-{number}")
                   for number, curve in enumerate(run.scaling, start=1)]
        rehearsed = [page.panel(figure(point), f"rehearsal-{name}") for point in run.points if run.rehearsal and point.id == run.rehearsal.point
                     for name, figure in (("shares", steps.shares), ("occupancy", steps.over_time), ("steps", steps.gantt))]
        sections = [_section(run, point, anchors[point.id], rows, page) for point in run.points]
    data, left_out = embed.embedded(run)
    return page.render(
        "qualification.html",
        run=run, rows=rows, parts=words.PARTS, expected=views.expected_rows(run, anchors), objects=object_tables(run, anchors), fixes=fix_rows(sizing) if sizing else [], sections=sections, overview=overview, limits=[panel for panel in limits if panel], rehearsed=[panel for panel in rehearsed if panel], steps=views.steps(run), first_step=views.first_step(run), facts=views.facts(run),
        headline=words.headline(run, sizing), count_line=words.count_line(run), status=words.STATUS,
        unmeasured=views.unmeasured(run), command=views.command(run),
        looks=views.look_texts(run), data=data, left_out=left_out)


def _section(run: Run, point: Point, anchor: str, rows: List[views.NeedRow], page: Page) -> Section:
    judged = [row for row in rows if row.judgement.point == point.id]
    judgements = [row.judgement for row in judged]
    drawn: Dict[str, Optional[Figure]] = {
        "epochs": epochs.draw(point), "pipeline": pipeline.draw(point), "stages": stages.draw(point),
        "pairs": network.pair_matrix(point.pairs), "ranks": network.ranks(point),
        "slowest": network.slowest(point),
        "time": timeline.draw(point, judgements), "tail": tail.draw(point, judgements)}
    panels = [page.panel(figure, f"{anchor}-{name}") for name, figure in drawn.items()]
    needs_a_look = any(judgement.outcome != "PASS" for judgement in judgements)
    calm = all(judgement.outcome == "PASS" for judgement in run.judgements)
    return Section(point, anchor, needs_a_look or (calm and views.first_open(run) == point.id), judged,
                   [panel for panel in panels if panel], views.metric_rows(point, run.expected), views.latency_table(point), views.evidence(point), views.ledger(point), views.client_rows(point))
