"""Each node of a bring-up compared with all others, by its pairs and its own tests. How far is the bad one away?"""

from __future__ import annotations

from statistics import median
from typing import Dict, List, Optional

from ..bringup import Bringup, Fault
from ..units import plural
from . import Figure, Key, Table
from .strips import MOST, Dot, Strip, strips

LEAST_NODES = 3
NEAR, FAR = 0.12, 1.0  # the scale reaches so far at least, and at most


def draw(document: Bringup) -> Optional[Figure]:
    """Nothing where fewer than three nodes have a value."""
    bad = {fault.node: fault for fault in document.faults if fault.node}
    rows = [strip for strip in [*_pairs(document, bad), *_tests(document, bad)] if len(strip.dots) >= LEAST_NODES]
    rows = sorted(rows, key=lambda strip: -max((-dot.away for dot in strip.dots if dot.status), default=0))[:MOST]
    if not rows:
        return None
    furthest = max(abs(dot.away) for strip in rows for dot in strip.dots)
    worst = min((dot for strip in rows for dot in strip.dots if dot.status), key=lambda dot: dot.away, default=None)
    finding = (f"{worst.node} is {-100 * worst.away:.0f}\u00a0% below the median node" if worst and worst.away <= -0.005 else
               "Bad nodes are not below the others in these values" if worst else "No node is far from the others")
    return Figure(finding, "How far is a bad node from all others?",
                  "Each node's difference from the median node, one strip per measurement. " + " ".join(f"{name}: bad." for name in sorted(bad)[:10]),
                  strips(rows, min(max(NEAR, 1.1 * furthest), FAR), "difference from the median node (%)"), _table(rows), [Key("dot", "a node"), Key("cross", "bad")])


def _strip(metric: str, point: str, values: Dict[str, float], bad: Dict[str, Fault]) -> List[Strip]:
    middle = median(values.values()) if values else 0
    if middle <= 0:
        return []
    return [Strip(metric, point, [Dot(name, value / middle - 1, "confirmed" if name in bad else "") for name, value in values.items()], [])]


def _pairs(document: Bringup, bad: Dict[str, Fault]) -> List[Strip]:
    """The median pair of each node by rail. Pairs of two bad nodes are left out: each would be blamed for the other."""
    rows = []
    for rail in range(document.rails):
        rates: Dict[str, List[float]] = {}
        for pair in document.pairs():
            ends = [document.nodes[number].name for number in pair.nodes]
            if pair.rail != rail or all(name in bad for name in ends):
                continue
            for name in ends:
                rates.setdefault(name, []).append(min(pair.rate))
        rows += _strip("rate in pairs", document.rail_name(0, rail) or "all partners", {name: median(some) for name, some in rates.items()}, bad)
    return rows


def _tests(document: Bringup, bad: Dict[str, Fault]) -> List[Strip]:
    """The newest tests of nodes by themselves; metrics that are better when lower count the other way."""
    tests = next((tests for session in reversed(document.sessions) for tests in reversed(session.tests)), None)
    rows = []
    for number, metric in enumerate(tests.metrics if tests else []):
        values = {document.nodes[one.node].name: one.values[number] for one in tests.nodes
                  if number < len(one.values) and one.values[number]}
        if metric.better == "lower":
            values = {name: 1 / value for name, value in values.items()}
        rows += _strip(metric.metric, metric.point, values, bad)
    return rows


def _table(rows: List[Strip]) -> Table:
    return Table(["measurement", "nodes", "lowest", "furthest below"],
                 [[f"{strip.point}.{strip.metric}" if strip.point else strip.metric, plural(len(strip.dots), "node"),
                   min(strip.dots, key=lambda dot: dot.away).node, f"{100 * min(dot.away for dot in strip.dots):.1f}\u00a0%"] for strip in rows])
