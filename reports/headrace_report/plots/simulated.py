"""What a simulation expects: figures over the number of nodes with bands, and a storm over time. Which limit is missed, from how many nodes?"""

from __future__ import annotations

from typing import List, Optional

import numpy as np

from ..simulation import Break, Scale, Simulation, Storm
from ..units import duration, plural, quantity, scale_of
from . import Figure, Key, Table
from .labels import label_lines
from .style import COLOUR, WIDTH, canvas, log_ticks, place, series, styled

HEIGHT = 300
BUSY = (("later_epochs_busy", "later epochs"), ("first_epoch_busy", "first epoch"), ("goodput", "goodput"))
TIMES = (("save_time", "save"), ("save_during_reading", "save during reading"), ("restore_time", "restart storm"))
LIMITS = (("client", "a node", "series-3"), ("uplink", "uplinks", "series-4"), ("store", "the store", "series-2"), ("waiting", "refused clients", "series-5"))


def busy(simulation: Simulation) -> Optional[Figure]:
    """Shares of the time over the number of nodes; nothing where there is but one number."""
    shown = _shown(simulation, BUSY)
    if not shown:
        return None
    with styled():
        drawing = canvas(WIDTH, HEIGHT)
        axes = drawing.add_axes(place(drawing, 52, 20, 24, 46))
        lines = _curves(axes, simulation, shown, 100)
        first = _first(simulation)
        if first:
            axes.axvline(first.nodes, color=COLOUR["fail"], linewidth=1.2, linestyle=(0, (1.5, 1.5)))
            axes.annotate(f"{first.nodes:g}: {first.limit}", (first.nodes, 1), (0, 6), xycoords=axes.get_xaxis_transform(),
                          textcoords="offset points", ha="center")
        axes.set_ylim(0, 105)
        axes.set_ylabel("GPUs busy, expected (%)")
        label_lines(axes, lines)
    scales = simulation.scales
    rows = [[f"{scale.nodes:g}", *(_share(scale, figure) for figure, _ in shown), scale.basis] for scale in scales]
    return Figure(_finding(simulation), "On how many nodes is a limit missed, and why?",
                  f"Expected shares of the time in which GPUs are busy, over {plural(len(scales), 'number')} of nodes, with the 5th and 95th percentiles of the seeds.", drawing,
                  Table(["nodes", *(name for _, name in shown), "basis"], rows), [Key("band", "5th to 95th percentile of the seeds")])


def _shown(simulation: Simulation, figures) -> list:
    return [(figure, name) for figure, name in figures if sum(scale.find(figure) is not None for scale in simulation.scales) > 1]


def _curves(axes, simulation: Simulation, shown: list, factor: float) -> list:
    """Medians and bands over the number of nodes; what label_lines() takes."""
    lines = []
    for number, (figure, name) in enumerate(shown):
        points = [(scale.nodes, one) for scale in simulation.scales for one in [scale.find(figure)] if one]
        nodes = np.array([at for at, _ in points])
        low, middle, high = (factor * np.array([getattr(one, part) for _, one in points]) for part in ("low", "median", "high"))
        axes.fill_between(nodes, low, high, color=series(number), alpha=0.18, linewidth=0)
        axes.plot(nodes, middle, color=series(number), linewidth=2.2, marker="o", markersize=3)
        lines.append((name, nodes, middle))
    counts = [scale.nodes for scale in simulation.scales]
    few = counts[::max(1, -(-len(counts) // 8))]
    axes.set_xscale("log")
    axes.set_xticks(few, [f"{count:g}" for count in few])
    axes.set_xlim(min(counts), max(counts))
    axes.set_xlabel("nodes")
    return lines


def _share(scale: Scale, figure: str) -> str:
    one = scale.find(figure)
    return f"{100 * one.median:.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}] %" if one else "\u2013"


def _first(simulation: Simulation) -> Optional[Break]:
    return next((one for one in simulation.breaks if one.nodes is not None), None)


def _finding(simulation: Simulation) -> str:
    first = _first(simulation)
    if not first:
        return f"No limit is missed on {plural(int(simulation.scales[-1].nodes), 'node')}"
    return f"A limit is missed from {plural(int(first.nodes), 'node')} ({first.scenario}): {first.limit}"


def times(simulation: Simulation) -> Optional[Figure]:
    """Times of saves and restores over the number of nodes."""
    shown = _shown(simulation, TIMES)
    last = simulation.scales[-1].find(shown[0][0]) if shown else None
    if not last:
        return None
    with styled():
        drawing = canvas(WIDTH, HEIGHT)
        axes = drawing.add_axes(place(drawing, 60, 20, 20, 46))
        axes.set_yscale("log")
        lines = _curves(axes, simulation, shown, 1)
        ticks = log_ticks(*axes.get_ylim())
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_ylabel("expected time (s)")
        label_lines(axes, lines)
    rows = [[f"{scale.nodes:g}", *(_time(scale, figure) for figure, _ in shown)] for scale in simulation.scales]
    return Figure(f"On {plural(int(simulation.scales[-1].nodes), 'node')} a {shown[0][1]} is expected to take {quantity(last.median, 's')}",
                  "How long do saves and restores take?", "Expected times of saves and restores over the number of nodes.", drawing,
                  Table(["nodes", *(name for _, name in shown)], rows), [Key("band", "5th to 95th percentile of the seeds")])


def _time(scale: Scale, figure: str) -> str:
    one = scale.find(figure)
    return f"{quantity(one.median, 's')} [{quantity(one.low, 's')}, {quantity(one.high, 's')}]" if one else "\u2013"


def storm(simulation: Simulation) -> Optional[Figure]:
    """The rate of a storm over time, and below it the limit of the nodes."""
    one = simulation.storm
    if one is None or len(one.at_s) < 2 or one.at_s[-1] <= 0:
        return None
    at, rate = np.array(one.at_s), np.array(one.rate)
    scale = scale_of(float(rate.max()), "B/s")
    with styled():
        drawing = canvas(WIDTH, HEIGHT)
        upper = drawing.add_axes(place(drawing, 62, 20, 20, 120))
        upper.plot(at, rate / scale.factor, color=series(0), linewidth=2.0, drawstyle="steps-post")
        upper.set_ylabel(f"rate ({scale.label})")
        upper.set_ylim(0, float(rate.max()) / scale.factor * 1.12)
        upper.tick_params(labelbottom=False)
        lower = drawing.add_axes(place(drawing, 62, 20, 200, 46))
        shares = _shares(one)
        lower.stackplot(at, *shares, step="post", colors=[COLOUR[role] for _, _, role in LIMITS], linewidth=0)
        lower.set_ylim(0, 100)
        lower.set_yticks([0, 100], ["0", "100"])
        lower.set_ylabel("nodes (%)")
        lower.set_xlabel("time (s)")
        for axes in (upper, lower):
            axes.set_xlim(at[0], at[-1])
    keys = [Key(f"fill-{role[-1]}", name) for (_, name, role), share in zip(LIMITS, shares) if max(share) > 0]
    most = max(range(len(LIMITS)), key=lambda i: float(np.sum(shares[i][:-1] * np.diff(at))))
    step = max(1, len(at) // 24)
    rows = [[f"{at[i]:.3g} s", quantity(float(rate[i]), "B/s"), *(f"{share[i]:.0f}" for share in shares)] for i in range(0, len(at), step)]
    return Figure(f"{one.scenario.capitalize()} of {plural(int(one.nodes), 'node')}: {duration(float(at[-1]))}, limited mostly by {LIMITS[most][1]}",
                  "What limits a storm, and when?", f"The rate of all nodes over time in the {one.scenario}, and the share of nodes that each part limits.",
                  drawing, Table(["time", "rate", *(f"{name} (% of nodes)" for _, name, _ in LIMITS)], rows), keys)


def _shares(storm: Storm) -> List[np.ndarray]:
    parts = [np.array(getattr(storm, key)) for key, _, _ in LIMITS]
    whole = np.maximum(sum(parts), 1e-12)
    return [100 * part / whole for part in parts]
