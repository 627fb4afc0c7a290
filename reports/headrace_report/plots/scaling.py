"""S2: supply and demand over the number of GPUs, dashed where nothing was measured. How many GPUs can this feed?"""

from __future__ import annotations

from typing import List, Optional

import numpy as np

from .. import words
from ..sizing import Scaling, Sizing
from ..units import plural, quantity, scale_of
from . import Figure, Key, Table
from .labels import label_lines
from .style import COLOUR, WIDTH, canvas, log_ticks, place, series, styled

HEIGHT = 320
MOST_TABLE_ROWS = 24


def draw(sizing: Sizing, scaling: Scaling) -> Optional[Figure]:
    """Of one phase; nothing when there is but one number of GPUs."""
    if len(scaling.gpus) < 2:
        return None
    title = next((p.title for p in sizing.phases if p.phase == scaling.phase), scaling.phase)
    all_gpus, job = np.array(scaling.gpus), sizing.job.gpus
    gpus = all_gpus[:len(scaling.supply)]
    scale = scale_of(max(scaling.supply + scaling.demand), scaling.unit)
    supply, low, high, demand = (np.array(values) / scale.factor for values in
                                 (scaling.supply, scaling.supply_low, scaling.supply_high, scaling.demand))
    beyond = np.array(scaling.extrapolated)
    measured = ~beyond
    with styled():
        drawing = canvas(WIDTH, HEIGHT)
        axes = drawing.add_axes(place(drawing, 62, 20, 26, 46))
        logarithmic = all_gpus.max() / all_gpus.min() > 24
        if logarithmic:
            axes.set_xscale("log")
            axes.set_yscale("log")
        # From the last measured number on: the dashed line begins where the solid one ends.
        rest = beyond.copy()
        if measured.any():
            rest[np.flatnonzero(measured)[-1]] = True
        axes.fill_between(gpus, low, high, where=measured, color=series(0), alpha=0.22, linewidth=0, step=None)
        axes.fill_between(gpus, low, high, where=rest, color=series(0), alpha=0.09, linewidth=0)
        axes.plot(gpus[measured], supply[measured], color=series(0), linewidth=2.2, marker="o" if measured.sum() == 1 else None)
        if beyond.any():
            axes.plot(gpus[rest], supply[rest], color=series(0), linewidth=1.8, linestyle=(0, (5, 3)))
        axes.plot(all_gpus, demand, color=series(1), linewidth=2.2)
        axes.axvline(job, color=COLOUR["muted"], linewidth=1.2, linestyle=(0, (1.5, 1.5)))
        axes.annotate("the job", (job, 1.0), (0, 6), xycoords=axes.get_xaxis_transform(), textcoords="offset points", ha="center")
        if scaling.crossing:
            at = scaling.crossing
            value = float(np.interp(at, all_gpus, demand))
            axes.plot([at], [value], marker="D", color=COLOUR["ink"], markersize=8, zorder=6, markerfacecolor=COLOUR["paper"],
                      markeredgewidth=1.6)
        top = max(supply.max(), demand.max())
        axes.set_xlim(all_gpus.min() if logarithmic else 0, all_gpus.max())
        axes.set_ylim(min(supply.min(), demand.min()) / 1.3 if logarithmic else 0, top * (1.6 if logarithmic else 1.12))
        if logarithmic:
            for set_ticks, ends in ((axes.set_xticks, axes.get_xlim()), (axes.set_yticks, axes.get_ylim())):
                ticks = log_ticks(*ends)
                set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xlabel("GPUs")
        axes.set_ylabel(f"{words.shortened(title.lower(), 24)} ({scale.label})")
        label_lines(axes, [("demand", all_gpus, demand), ("supply", gpus, supply)])
    keys = [Key("band", "bounds of the supply")]
    if beyond.any():
        keys.append(Key("dash-1", "extrapolated: not measured with that number of nodes"))
    if scaling.crossing:
        keys.append(Key("none", f"\u25c7 {scaling.crossing:g} GPUs"))
    return Figure(_finding(scaling, title, sizing), "How many GPUs can this feed?", _describe(scaling, title), drawing,
                  _table(scaling), keys)


def _finding(scaling: Scaling, title: str, sizing: Sizing) -> str:
    phase = sizing.phase(scaling.phase)
    past = scaling.crossing is not None and scaling.crossing > scaling.measured_to_gpus
    guess = ", extrapolated" if past else ""
    nodes, gpus = plural(int(sizing.job.nodes), "node"), sizing.job.gpus
    feed = "are expected to feed" if phase and phase.supply.basis == "extrapolated" else "feeds" if sizing.job.nodes == 1 else "feed"
    fed = f"{nodes} {feed} {min(phase.gpus_fed.median, gpus):g} of {gpus:g}" if phase and phase.gpus_fed else ""
    if phase and not phase.demand.grows_with_gpus:
        if scaling.crossing is None:
            return f"{title}: not enough with as many nodes as are shown"
        return f"{title}: enough with the nodes of {scaling.crossing:g} GPUs and more{guess}"
    if scaling.crossing is not None and len(scaling.supply) == len(scaling.gpus):
        return f"{title}: one more than {scaling.crossing:g} GPUs is too many{guess}; {fed}"
    if len(scaling.supply) < len(scaling.gpus):
        enough = "enough" if scaling.crossing is None else "not enough"
        return f"{title}: {enough} for the {scaling.measured_to_gpus:g} GPUs that were measured; of more nothing is known"
    return f"{title}: supply stays above demand as far as is shown"


def _describe(scaling: Scaling, title: str) -> str:
    beyond = "not known beyond" if len(scaling.supply) < len(scaling.gpus) else "dashed and extrapolated beyond"
    return f"{title}: supply and demand over the number of GPUs; measured up to {scaling.measured_to_gpus:g}, {beyond}."


def _table(scaling: Scaling) -> Table:
    step = max(1, -(-len(scaling.gpus) // MOST_TABLE_ROWS))
    rows: List[List[str]] = []
    for i in range(0, len(scaling.gpus), step):
        unit = scaling.unit
        if i >= len(scaling.supply):
            rows.append([f"{scaling.gpus[i]:g}", quantity(scaling.demand[i], unit), "\u2013", "\u2013", "\u2013", "not measured"])
            continue
        rows.append([f"{scaling.gpus[i]:g}", quantity(scaling.demand[i], unit), quantity(scaling.supply[i], unit),
                     quantity(scaling.supply_low[i], unit), quantity(scaling.supply_high[i], unit),
                     "extrapolated" if scaling.extrapolated[i] else "measured"])
    return Table(["GPUs", "demand", "supply", "low", "high", "basis"], rows)
