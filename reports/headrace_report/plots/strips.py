"""C5: every node's value of a metric, limits drawn, outliers named. Outlier, or end of the normal spread?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional

import numpy as np

from .. import words
from ..fleet import Fleet
from ..units import plural, quantity, scale_of
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, place, series, styled

ROW_PX = 58
MOST = 8
MOST_DOTS = 400
MOST_NAMES = 3
NAMES_PX = 150


@dataclass(frozen=True)
class Dot:
    node: str
    away: float   # from the median, as a share
    status: str   # confirmed, suspected, passing, or "" for one of the crowd


@dataclass(frozen=True)
class Strip:
    metric: str
    point: str
    dots: List[Dot]
    limits: List[float]


def draw(fleet: Fleet) -> Optional[Figure]:
    """Of the largest group; metrics with outliers first."""
    judged = [group.id for group in fleet.groups if group.judged]
    if not judged:
        return None
    limits = [limit for limit in fleet.limits if limit.group == judged[0] and limit.median > 0]
    flagged = {outlier.metric for outlier in fleet.outliers} | {effect.metric for effect in fleet.group_effects}
    limits = sorted(limits, key=lambda limit: (limit.metric not in flagged, limit.metric))[:MOST]
    if not limits:
        return None
    reach = 0.12
    for limit in limits:
        for end in (limit.low, limit.high):
            if end:
                reach = max(reach, abs(end / limit.median - 1) * 1.25)
    for outlier in fleet.outliers:
        reach = max(reach, min(abs(outlier.deviation or 0.0) * 1.1, 0.6))
    drawing = strips([_strip(fleet, limit) for limit in limits], reach, "difference from the median of the group (%)")
    return Figure(_finding(fleet, limits), "Outlier, or end of the normal spread?",
                  "Each node's difference from the median of its group, one strip per metric, with the limit beyond which a node "
                  "is an outlier. " + " ".join(f"{o.node}: {o.status}." for o in fleet.outliers[:10]),
                  drawing, _table(fleet, limits),
                  [Key("dot", "a node"), Key("bar", "limit"), Key("cross", "confirmed"), Key("diamond-open", "suspected")])


def strips(rows: List[Strip], reach: float, label: str):
    """A row of dots for each metric, from -reach to +reach around 0; marked ones have a name."""
    with styled():
        drawing = canvas(WIDTH, ROW_PX * len(rows) + 58)
        axes = drawing.add_axes(place(drawing, NAMES_PX, 16, 10, 46))
        axes.axvline(0, color=COLOUR["muted"], linewidth=1, zorder=1)
        for row, strip in enumerate(rows):
            _draw_row(axes, row, strip, 100 * reach)
        axes.set_xlim(-100 * reach, 100 * reach)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(label)
    return drawing


def _strip(fleet: Fleet, limit) -> Strip:
    metric = fleet.metrics[limit.metric]
    flagged = {o.node: o.status for o in fleet.outliers if o.metric == limit.metric}
    dots = [Dot(node.node, node.values[limit.metric] / limit.median - 1, flagged.get(node.node, "")) for node in fleet.nodes
            if node.group == limit.group and node.values[limit.metric] is not None]
    return Strip(metric.metric, metric.point, dots, [end / limit.median - 1 for end in (limit.low, limit.high) if end is not None])


def _draw_row(axes, row: int, strip: Strip, reach: float) -> None:
    # A steady scatter up and down, the same for the same node in every drawing.
    plain = [(100 * dot.away, ((number * 0.6180339887) % 1 - 0.5) * 0.42) for number, dot in enumerate(strip.dots) if not dot.status]
    plain = plain[::max(1, len(plain) // MOST_DOTS)]
    axes.plot(np.clip([x for x, _ in plain], -reach, reach), [row + shift for _, shift in plain], linestyle="none", marker="o", markersize=3.4,
              color=series(0), alpha=0.6, zorder=3)
    for limit in strip.limits:
        axes.plot([100 * limit] * 2, [row - 0.32, row + 0.32], color=COLOUR["ink"], linewidth=1.6, zorder=4)
    for number, dot in enumerate(dot for dot in strip.dots if dot.status):
        look = {"confirmed": ("X", "fail"), "suspected": ("D", "inconclusive"), "passing": ("o", "muted")}[dot.status]
        x = float(np.clip(100 * dot.away, -0.98 * reach, 0.98 * reach))
        axes.plot([x], [row], marker=look[0], color=COLOUR[look[1]], markersize=8.5, zorder=6, linestyle="none",
                  markerfacecolor=COLOUR["paper"] if dot.status != "confirmed" else COLOUR[look[1]], markeredgewidth=1.4)
        if number < MOST_NAMES:
            axes.annotate(words.shortened(dot.node, 16), (x, row), (0, 9), textcoords="offset points",
                          ha="left" if x < 0 else "right", va="bottom", fontsize=10)
    names = axes.get_yaxis_transform()
    axes.annotate(words.shortened(strip.metric, 22), (0, row), (-NAMES_PX + 4, 1), xycoords=names, textcoords="offset points",
                  ha="left", va="bottom")
    axes.annotate(words.shortened(strip.point, 24), (0, row), (-NAMES_PX + 4, -2), xycoords=names, textcoords="offset points",
                  ha="left", va="top", color=COLOUR["muted"], fontsize=10)


def _finding(fleet: Fleet, limits: List) -> str:
    confirmed = [o for o in fleet.outliers if o.status == "confirmed"]
    if confirmed:
        return f"{plural(len(confirmed), 'value')} beyond {'its limit, in two sessions' if len(confirmed) == 1 else 'their limits, in two sessions each'}"
    if fleet.outliers:
        return f"{plural(len(fleet.outliers), 'value')} beyond a limit, none of them confirmed"
    return f"All nodes lie within the limits of {plural(len(limits), 'metric')}"


def _table(fleet: Fleet, limits: List) -> Table:
    rows = []
    for limit in limits:
        metric = fleet.metrics[limit.metric]
        scale = scale_of(limit.median, metric.unit)
        rows.append([f"{metric.point}.{metric.metric}", str(limit.n), quantity(limit.median, metric.unit),
                     f"{100 * limit.spread / limit.median:.2g}\u00a0%",
                     "\u2013" if limit.low is None else scale.number(limit.low), "\u2013" if limit.high is None else scale.number(limit.high)])
    return Table(["metric", "nodes", "median", "robust spread", "low limit", "high limit"], rows)
