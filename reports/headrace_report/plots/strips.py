"""C5: every node's value of a metric, limits drawn, outliers named. Outlier, or end of the normal spread?"""

from __future__ import annotations

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
NAMES_PX = 150


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
    with styled():
        drawing = canvas(WIDTH, ROW_PX * len(limits) + 58)
        axes = drawing.add_axes(place(drawing, NAMES_PX, 16, 10, 46))
        axes.axvline(0, color=COLOUR["muted"], linewidth=1, zorder=1)
        for row, limit in enumerate(limits):
            _draw_row(axes, fleet, row, limit, reach)
        axes.set_xlim(-100 * reach, 100 * reach)
        axes.set_ylim(len(limits) - 0.5, -0.5)
        axes.tick_params(axis="y", left=False, labelleft=False)
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("difference from the median of the group (%)")
    return Figure(_finding(fleet, limits), "Outlier, or end of the normal spread?",
                  "Each node's difference from the median of its group, one strip per metric, with the limit beyond which a node "
                  "is an outlier. " + " ".join(f"{o.node}: {o.status}." for o in fleet.outliers[:10]),
                  drawing, _table(fleet, limits),
                  [Key("dot", "a node"), Key("bar", "limit"), Key("cross", "confirmed"), Key("diamond-open", "suspected")])


def _draw_row(axes, fleet: Fleet, row: int, limit, reach: float) -> None:
    metric = fleet.metrics[limit.metric]
    values = [(node.node, node.values[limit.metric]) for node in fleet.nodes
              if node.group == limit.group and node.values[limit.metric] is not None]
    away = np.array([100 * (value / limit.median - 1) for _, value in values])
    flagged = {o.node: o for o in fleet.outliers if o.metric == limit.metric}
    # A steady scatter up and down, the same for the same node in every drawing.
    shift = np.array([((number * 0.6180339887) % 1 - 0.5) * 0.42 for number in range(len(values))])
    plain = [i for i, (name, _) in enumerate(values) if name not in flagged]
    plain = plain[::max(1, len(plain) // MOST_DOTS)]
    axes.plot(np.clip(away[plain], -100 * reach, 100 * reach), row + shift[plain], linestyle="none", marker="o", markersize=3.4,
              color=series(0), alpha=0.6, zorder=3)
    for end in (limit.low, limit.high):
        if end is not None:
            x = 100 * (end / limit.median - 1)
            axes.plot([x, x], [row - 0.32, row + 0.32], color=COLOUR["ink"], linewidth=1.6, zorder=4)
    named = 0
    for i, (name, _) in enumerate(values):
        if name not in flagged:
            continue
        status = flagged[name].status
        look = {"confirmed": ("X", "fail"), "suspected": ("D", "inconclusive"), "passing": ("o", "muted")}[status]
        x = float(np.clip(away[i], -98 * reach, 98 * reach))
        axes.plot([x], [row], marker=look[0], color=COLOUR[look[1]], markersize=8.5, zorder=6, linestyle="none",
                  markerfacecolor=COLOUR["paper"] if status != "confirmed" else COLOUR[look[1]], markeredgewidth=1.4)
        if named < 3:
            right = x < 0
            axes.annotate(words.shortened(name, 16), (x, row), (0, 9 + 0 * named), textcoords="offset points",
                          ha="left" if right else "right", va="bottom", fontsize=10)
            named += 1
    names = axes.get_yaxis_transform()
    axes.annotate(words.shortened(metric.metric, 22), (0, row), (-NAMES_PX + 4, 1), xycoords=names, textcoords="offset points",
                  ha="left", va="bottom")
    axes.annotate(words.shortened(metric.point, 24), (0, row), (-NAMES_PX + 4, -2), xycoords=names, textcoords="offset points",
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
