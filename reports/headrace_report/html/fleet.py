"""Puts the page of a fleet together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Tuple

from markupsafe import Markup

from ..fleet import Fleet, GroupEffect, Node, Outlier
from ..plots import network, nodes, strips
from ..plots.style import styled
from ..units import NBSP, change, plural, quantity
from .embed import plain, script_json
from .page import Page

MOST_OUTLIERS = 200
MOST_NODES = 100
MOST_MISSING = 200
DATA_BUDGET = 2_000_000
STATUS_TONE = {"confirmed": "fail", "suspected": "inconclusive", "passing": "skipped"}
STATUS_SYMBOL = {"confirmed": "\u2718", "suspected": "?", "passing": "\u2248"}


@dataclass
class OutlierRow:
    outlier: Outlier
    metric: str
    value: str
    usual: str
    deviation: str
    where: str
    symbol: str
    tone: str


@dataclass
class NodeRow:
    node: Node
    where: str
    worst: str
    worst_metric: str
    worst_sort: float
    findings: int


def render(fleet: Fleet, paper: str = "summary") -> str:
    """The whole page. The same fleet gives the same bytes."""
    page = Page(paper)
    with styled():
        panels = [page.panel(nodes.draw(fleet), "heat"), page.panel(strips.draw(fleet), "strips")]
        panels += [page.panel(network.pair_matrix(one.pairs), f"pairs-{number}") for number, one in enumerate(fleet.pairs[:4], start=1)]
    rows = _nodes(fleet)
    data, left_out = _embedded(fleet)
    return page.render(
        "fleet.html", effects=[(STATUS_SYMBOL[e.status], STATUS_TONE[e.status], _effect_name(fleet, e), e) for e in fleet.group_effects],
        pairs=[(STATUS_SYMBOL[f.status], STATUS_TONE[f.status], f) for one in fleet.pairs for f in one.findings], shifts=_shifts(fleet), all=fleet, headline=_headline(fleet), facts=_facts(fleet), panels=[panel for panel in panels if panel],
        outliers=[_outlier(fleet, one) for one in fleet.outliers[:MOST_OUTLIERS]], outliers_left=max(0, len(fleet.outliers) - MOST_OUTLIERS),
        statuses=[(STATUS_SYMBOL[s], s) for s in STATUS_TONE if any(o.status == s for o in fleet.outliers)],
        nodes=rows[:MOST_NODES], nodes_left=max(0, len(rows) - MOST_NODES), missing=fleet.missing[:MOST_MISSING],
        missing_left=max(0, len(fleet.missing) - MOST_MISSING), statistics=_statistics(fleet), data=data, left_out=left_out,
        change=change)


def _where(attributes: Dict[str, str]) -> str:
    return ", ".join(f"{key} {value}" for key, value in attributes.items())


def _outlier(fleet: Fleet, one: Outlier) -> OutlierRow:
    metric = fleet.metrics[one.metric]
    attributes = next((node.attributes for node in fleet.nodes if node.node == one.node), {})
    return OutlierRow(one, f"{metric.point}.{metric.metric}", quantity(one.value, metric.unit), quantity(one.median, metric.unit),
                      "\u2013" if one.deviation is None else change(1 + one.deviation), _where(attributes), STATUS_SYMBOL[one.status], STATUS_TONE[one.status])


def _effect_name(fleet: Fleet, effect: GroupEffect) -> str:
    metric = fleet.metrics[effect.metric]
    return f"{effect.attribute} {effect.name}" if effect.attribute else f"two levels of {metric.metric}"


def _shifts(fleet: Fleet) -> Dict[str, str]:
    """Per group the distance of its levels from those of the largest."""
    return {group.id: "; ".join(f"{fleet.metrics[one.metric].point}.{fleet.metrics[one.metric].metric} {change(1 + one.shift)}"
                                for one in group.shifts) for group in fleet.groups}


def _nodes(fleet: Fleet) -> List[NodeRow]:
    """The worst first."""
    findings: Dict[str, int] = {}
    for one in fleet.outliers:
        if one.status != "passing":
            findings[one.node] = findings.get(one.node, 0) + 1
    rows = []
    for node in fleet.nodes:
        reported = [(nodes.worse(fleet, d, m), m) for m, d in enumerate(node.deviation) if d is not None]
        worst, metric = min(reported) if reported else (0.0, -1)
        rows.append(NodeRow(node, _where(node.attributes), change(1 + node.deviation[metric]) if reported else "\u2013",
                            f"{fleet.metrics[metric].point}.{fleet.metrics[metric].metric}" if reported else "", worst,
                            findings.get(node.node, 0)))
    return sorted(rows, key=lambda row: (-row.findings, row.worst_sort, row.node.node))


def _headline(fleet: Fleet) -> Tuple[str, str]:
    first, _, rest = fleet.summary.sentence.partition("; ")
    rest = rest[0].upper() + rest[1:] if rest else ""
    return f"{first.rstrip('.')} nodes", rest


def _facts(fleet: Fleet) -> List[Tuple[str, str]]:
    s = fleet.summary
    facts = [("expected", str(s.expected) + (f" ({fleet.hosts_file})" if fleet.hosts_file else ": all nodes that reported")),
             ("reported", str(s.reported)), ("judged", str(s.judged)),
             ("outliers", f"{s.outliers} confirmed, {s.suspects} suspected, {s.passing} passing"),
             ("groups", plural(len(fleet.groups), "kind") + " of hardware"),
             ("matters", f"from {100 * fleet.delta_rate:g}{NBSP}%, tails from {100 * fleet.delta_tail:g}{NBSP}%"),
             ("noise floor", _noise(fleet)), ("exit code", str(s.exit_code))]
    if s.words:
        facts.insert(4, ("nodes' own words", ", ".join(f"{word} {count}" for word, count in s.words.items())))
    return facts


def _noise(fleet: Fleet) -> str:
    """"+-1.3 % on 12 of 64 nodes (highest +-5 %, node07); 0.4 % false alarms"."""
    noise = fleet.noise_floor
    if noise is None:
        return "not measured: headrace run --against-itself on the nodes"
    highest = f" (highest \u00b1{100 * noise.highest:.2g}{NBSP}%, {noise.highest_node})" if noise.nodes > 1 else ""
    return (f"\u00b1{100 * noise.median:.2g}{NBSP}% on {noise.nodes} of {plural(fleet.summary.reported, 'node')}{highest}; "
            f"{100 * noise.false_alarm_rate:.2g}{NBSP}% false alarms")


def _statistics(fleet: Fleet) -> List[str]:
    return [f"Nodes are compared with nodes of the same hardware and firmware; {fleet.fewest_alike} or more give a baseline, fewer "
            "are compared with their own needs only.",
            f"Outlier: worse than the median by more than {fleet.limit_z:g} robust standard deviations (1.4826 MAD, at least "
            f"{100 * fleet.mad_floor:g} % of the median) and by the smallest difference that matters.",
            "Confirmed: another session of the node says the same; a copy of a run, or one at the same time, is no other session. "
            "Suspected: there is none. Passing: the other session was usual, and the node has no fault.",
            "A shift shared by three quarters of a rack or switch is one finding, and so are two groups of values. Nodes are judged after it, and "
            "another session of three of them confirms it.",
            "A node is blamed for slow pairs when at least three partners, and most of them, find it below three quarters of the usual rate. "
            "With eight nodes or more the limit is the spread of healthy pairs. Otherwise the link is blamed. Another session confirms that, too.",
            "Values whose cache state was not proven, or that were disturbed, count for nothing."]


def _embedded(fleet: Fleet) -> Tuple[Markup, str]:
    text = script_json(plain(fleet))
    if len(text) <= DATA_BUDGET:
        return Markup(text), ""
    data = plain(fleet)
    data["nodes"], data["pairs"] = [], []
    return Markup(script_json(data)), "nodes and pairs"
