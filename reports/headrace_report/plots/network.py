"""Several processes and the network between them: collectives over size, pairs of nodes, clients, and single ranks."""

from __future__ import annotations

from statistics import median
from typing import Dict, List, Optional, Sequence, Tuple

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator

from ..schema import Judgement, Point
from ..schema_network import Collective, Pairs, ScalingCurve
from ..units import quantity, scale_of, share
from . import Figure, Key, Table
from .copies import value
from .labels import label_lines
from .style import COLOUR, DASHES, MARKERS, WIDTH, canvas, place, series, styled

MOST_CURVES = 6
MOST_NAMES = 32  # of a matrix whose rows are named
NAME_PX = 6.6  # of one character of such a name, generous: the reader's font is not known
MOST_MOMENTS = 280  # of a rate over time: more would not be distinguished


def _name(point: Point) -> str:
    """A curve's: points of another placement or other groups are a curve of their own."""
    name = point.workload + (", in place" if point.params.get("in_place") else "")
    if point.params.get("group_size"):
        return f"{name}, groups of {point.params['group_size']}"
    group = str(point.params.get("group", "all"))
    return name if group == "all" else f"{name}, {group.replace('_', ' ')}"


def _curves(points: Sequence[Point], metric: str) -> Dict[str, List[Tuple[int, float]]]:
    """Per workload the values over message sizes, at least two of them. A label of its own is a curve of its own."""
    curves: Dict[str, Dict[int, float]] = {}
    for point in points:
        size, reported = point.params.get("message_size"), value(point, metric)
        if point.status != "ok" or reported is None or not isinstance(size, int):
            continue
        curves.setdefault(_name(point), {}).setdefault(size, reported)
    sized = {name: sorted(curve.items()) for name, curve in curves.items() if len(curve) > 1}
    # The same order, and so the same colours, in all figures: the fastest first, which takes the least time.
    sign = 1 if metric == "time_s" else -1
    return dict(sorted(sized.items(), key=lambda item: sign * max(rate for _, rate in item[1]))[:MOST_CURVES])


def _short(names: Sequence[str]) -> Dict[str, str]:
    """Without the workload where all curves are of one."""
    if len(names) < 2 or len({name.split(",")[0] for name in names}) > 1:
        return {name: name for name in names}
    return {name: name.split(", ", 1)[1] if "," in name else "all ranks" for name in names}


def _fits(points: Sequence[Point], collectives: Sequence[Collective], metric: str) -> Dict[str, List[Tuple[float, float]]]:
    """The same from the fitted times."""
    named = {point.id: point for point in points}
    fits: Dict[str, List[Tuple[float, float]]] = {}
    for collective in collectives:
        for size in collective.sizes:
            point = named.get(size.point)
            reported = value(point, metric) if point else None
            if point is None or reported is None or size.fitted_s <= 0:
                continue
            fitted = size.fitted_s if metric == "time_s" else reported * size.measured_s / size.fitted_s
            fits.setdefault(_name(point), []).append((size.message_bytes, fitted))
    return {name: sorted(curve) for name, curve in fits.items()}


def _needs(points: Sequence[Point], judgements: Sequence[Judgement]) -> List[Tuple[Judgement, Optional[int]]]:
    """Bus bandwidths that the job needs, and at which message size; where nothing measured it, at none."""
    named = {point.id: point for point in points}
    needs = []
    for judgement in judgements:
        if not judgement.id.startswith("network.") or judgement.unit != "B/s" or judgement.need <= 0 or judgement.scope != "gpu":
            continue
        size = named[judgement.point].params.get("message_size") if judgement.point in named else None
        needs.append((judgement, size if isinstance(size, int) else None))
    return needs


def over_size(points: Sequence[Point], judgements: Sequence[Judgement],
              collectives: Sequence[Collective] = ()) -> Optional[Figure]:
    """Bus bandwidth over message size with the needs at their sizes; nothing where no collective has two sizes."""
    return _size_figure(points, "busbw", "B/s", _needs(points, judgements), collectives,
                        "From which message size on does the network give what is needed?")


def time_over_size(points: Sequence[Point], collectives: Sequence[Collective] = ()) -> Optional[Figure]:
    return _size_figure(points, "time_s", "s", [], collectives, "What does one call or message take, and where does latency end?")


def _size_figure(points: Sequence[Point], metric: str, unit: str, needs: Sequence[Tuple[Judgement, Optional[int]]],
                 collectives: Sequence[Collective], question: str) -> Optional[Figure]:
    curves = _curves(points, metric)
    if not curves:
        return None
    fits = {name: fit for name, fit in _fits(points, collectives, metric).items() if name in curves}
    sizes = sorted({size for curve in curves.values() for size, _ in curve})
    top = max(rate for curve in curves.values() for _, rate in curve)
    scale = scale_of(top, unit)
    with styled():
        drawing = canvas(WIDTH, 340)
        axes = drawing.add_axes(place(drawing, 64, 14, 16, 46))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        lines, short = [], _short(list(curves))
        for number, (name, curve) in enumerate(curves.items()):
            x, y = np.array([size for size, _ in curve], dtype=float), np.array([rate for _, rate in curve]) / scale.factor
            axes.plot(x, y, color=series(number), linestyle=DASHES[number], marker=MARKERS[number], zorder=4)
            lines.append((short[name], x, y))
            if name in fits:
                axes.plot([size for size, _ in fits[name]], np.array([fitted for _, fitted in fits[name]]) / scale.factor,
                          color=series(number), linewidth=5, alpha=0.22, zorder=3, solid_capstyle="round")
        for need, at in needs:
            level, label = need.need / scale.factor, need.id.split(".", 1)[1] if len(needs) > 1 else "needed"
            axes.axhline(level, color=COLOUR["ink"], linewidth=1.4, zorder=2)
            if at is not None:
                axes.plot([at], [level], color=COLOUR["ink"], marker="D", markersize=7, linestyle="none", zorder=5)
            lines.append((label, np.array([sizes[0], sizes[-1]], dtype=float), np.full(2, level)))
        axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: quantity(size, "B", True)))
        axes.xaxis.set_major_locator(LogLocator(base=2, numticks=7))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:g}"))
        axes.set_xlabel("message size (log\u2082)")
        axes.set_ylabel(f"{'busbw' if metric == 'busbw' else 'one call'}, {scale.label} (log)")
        drawing.canvas.draw()
        label_lines(axes, lines)
    best = next(iter(curves)) if metric == "busbw" else min(curves, key=lambda name: curves[name][0][1])
    size, rate = max(curves[best], key=lambda item: item[1]) if metric == "busbw" else curves[best][0]
    finding = (f"{best} reaches {quantity(rate, unit)} at {quantity(size, 'B', True)}" if metric == "busbw"
               else f"{best} takes {quantity(rate, unit)} at {quantity(size, 'B', True)}")
    own = [(need, at) for need, at in needs if at is not None and need.measured is not None]
    missed = [f"{need.id.split('.', 1)[1]} at {quantity(at, 'B', True)}" for need, at in own if need.measured < need.need]
    if missed:
        finding += f"; too little for {' and '.join(missed)}"
    elif own:
        finding += "; enough for the job at its own message size" + ("s" if len(own) > 1 else "")
    elif needs:
        need = needs[0][0].need
        enough = [size for size, rate in curves[best] if rate >= need]
        finding += (f"; the needed {quantity(need, unit)} from {quantity(enough[0], 'B', True)} on" if enough
                    else f"; {quantity(need, unit)} are needed")
    keys = [Key("band", "broad: fitted, time = fixed + size / rate")] if fits else []
    if any(at is not None for _, at in needs):
        keys.append(Key("diamond-ink", "diamond: the job's own message size"))
    rows = [[quantity(size, "B", True), *(quantity(dict(curve).get(size), unit) for curve in curves.values())] for size in sizes]
    return Figure(finding=finding, question=question,
                  description=" ".join(f"{name}: " + ", ".join(f"{quantity(rate, unit)} at {quantity(size, 'B', True)}"
                                                               for size, rate in curve) + "." for name, curve in curves.items()),
                  drawing=drawing, table=Table(["size", *curves], rows), keys=keys)


TRAFFIC = {"network.gradient_busbw": "gradients", "network.tensor_busbw": "tensor parallelism",
           "network.pipeline_bandwidth": "pipeline stages", "network.context_busbw": "context parallelism",
           "network.expert_busbw": "experts"}


def step_time(collectives: Sequence[Collective]) -> Optional[Figure]:
    """What the job's collectives take per step by the fitted links, and how much of it nothing hides."""
    reported = [(collective, prediction) for collective in collectives for prediction in collective.job][:MOST_CURVES * 2]
    if not reported:
        return None
    scale = scale_of(max(prediction.step_s for _, prediction in reported), "s")
    names = [f"{TRAFFIC.get(prediction.need, prediction.need)}\n{collective.workload}, {collective.ranks} ranks"
             for collective, prediction in reported]
    with styled():
        drawing = canvas(WIDTH, 60 + 44 * len(reported))
        axes = drawing.add_axes(place(drawing, 170, 14, 10, 46))
        rows = np.arange(len(reported))
        hidden = np.array([prediction.hidden_s for _, prediction in reported]) / scale.factor
        exposed = np.array([prediction.exposed_s for _, prediction in reported]) / scale.factor
        axes.barh(rows, hidden, height=0.55, color=COLOUR["muted"], zorder=3)
        axes.barh(rows, exposed, left=hidden, height=0.55, color=COLOUR["fail"], zorder=3)
        axes.set_yticks(rows, names)
        axes.invert_yaxis()
        axes.set_xlim(0, float(max(hidden + exposed)) * 1.05)
        axes.set_xlabel(f"predicted time of one step, {scale.label}")
    collective, worst = max(reported, key=lambda item: item[1].exposed_s)
    name = TRAFFIC.get(worst.need, worst.need)
    finding = (f"{name[0].upper()}{name[1:]} would make a step {quantity(worst.exposed_s, 's')} longer, by what {collective.workload} "
               "measured" if worst.exposed_s > 0 else "The job's communication hides behind its computation")
    table = [[prediction.need, collective.workload, f"{prediction.calls:.0f}", quantity(prediction.message_bytes, "B", True),
              f"{prediction.ranks:.0f}", quantity(prediction.ring_s, "s"), quantity(prediction.tree_s, "s"),
              quantity(prediction.crossover_bytes, "B", True), quantity(prediction.step_s, "s"), quantity(prediction.hidden_s, "s"),
              quantity(prediction.exposed_s, "s")] for collective, prediction in reported]
    fabrics = [fabric for fabric in (collective.fabric for collective in collectives) if fabric]
    description = "; ".join(f"{row[0]} by {row[1]}: {row[2]} calls of {row[3]}, {row[8]} a step, {row[10]} exposed" for row in table)
    description += "".join(f". Over {quantity(fabric.intra_bytes_per_s, 'B/s')} within nodes and "
                           f"{quantity(fabric.nic_under_load, 'B/s')} between them: {quantity(fabric.two_level_s, 's')} in two "
                           f"levels (F19), {quantity(fabric.multirail_s, 's')} as a ring over all NICs (F20)" for fabric in fabrics)
    return Figure(finding=finding, question="What would the job's own collectives take, and what of it shows?",
                  description=description + ".", drawing=drawing,
                  keys=[Key("fill-muted", "grey: hidden behind computation (F18)"), Key("fill-fail", "red: exposed, the step gets longer")],
                  table=Table(["need", "measured with", "calls", "size", "ranks", "ring (F3)", "tree (F4)", "ring wins from (F5)",
                               "step", "hidden", "exposed (F18)"], table))


def _end(name: str) -> str:
    """Of a long name its head and its tail: nodes differ in one of them."""
    return name if len(name) <= 13 else f"{name[:6]}\u2026{name[-6:]}"


def pair_matrix(pairs: Optional[Pairs]) -> Optional[Figure]:
    """Rates from node to node as a raster; nothing where no pairs were measured."""
    if pairs is None or len(pairs.names) < 2:
        return None
    count = len(pairs.names)
    rates = np.array(pairs.rate, dtype=float)
    rates[rates < 0] = np.nan
    if not np.isfinite(rates).any():
        return None
    scale = scale_of(float(np.nanmax(rates)), "B/s")
    names = [_end(name) for name in pairs.names] if count <= MOST_NAMES else []
    longest = NAME_PX * max((len(name) for name in names), default=4)
    left = 38 + longest
    side = min(WIDTH - left - 86, max(160, 26 * count))  # 86: the scale next to it
    turned = bool(names) and longest + 6 > side / count
    bottom = 38 + (0.87 * longest if turned else 10)
    with styled():
        drawing = canvas(WIDTH, side + 10 + bottom)
        axes = drawing.add_axes(place(drawing, left, WIDTH - left - side, 10, bottom))
        shown = axes.imshow(rates / scale.factor, cmap="cividis", vmin=0, interpolation="nearest", aspect="auto")
        bar = drawing.add_axes(place(drawing, left + side + 14, WIDTH - left - side - 28, 10, bottom))
        drawing.colorbar(shown, cax=bar).set_label(scale.label)
        for each in (axes, bar):
            each.grid(False)
        if names:
            step = -(-11 * count // int(side))  # as many as do not overlap
            axes.set_xticks(range(0, count, step), names[::step], fontsize=10, rotation=60 if turned else 0,
                            ha="right" if turned else "center", rotation_mode="anchor" if turned else "default")
            axes.set_yticks(range(0, count, step), names[::step], fontsize=10)
        axes.set_xlabel("to")
        axes.set_ylabel("from")
        axes.xaxis.set_label_coords(0.5, -(bottom - 16) / side)  # where they stay inside, however wide the names are
        axes.yaxis.set_label_coords(-(left - 18) / side, 0.5)
        for number, (a, b) in enumerate([(n, None) for n in pairs.blamed_nodes] + list(pairs.blamed_links)):
            if b is None:
                axes.axhline(a, color=COLOUR["fail"], linewidth=2, zorder=5)
                axes.axvline(a, color=COLOUR["fail"], linewidth=2, zorder=5)
            else:
                axes.plot([b], [a], marker="x", color=COLOUR["fail"], markersize=10, markeredgewidth=2.5, zorder=6)
    blamed = [pairs.names[n] for n in pairs.blamed_nodes]
    links = [f"{pairs.names[a]} to {pairs.names[b]}" for a, b in pairs.blamed_links]
    if pairs.blamed_rails:
        slow_rails = [pairs.rails[rail] for rail in pairs.blamed_rails]
        finding = f"{', '.join(slow_rails)} {'is' if len(slow_rails) == 1 else 'are'} slower than the best rail on every node"
    elif blamed:
        finding = f"{', '.join(blamed)} {'is' if len(blamed) == 1 else 'are'} slow with every partner"
    elif links:
        finding = f"Slow: {', '.join(links[:3])}" + (f" and {len(links) - 3} more links" if len(links) > 3 else "")
    else:
        finding = f"All pairs reach about {quantity(pairs.reference, 'B/s')}"
    if pairs.unreached:
        # A pair with a rate was connected in the other direction.
        cut = [f"{pairs.names[one.a]} {'to' if pairs.rate[one.a][one.b] >= 0 else 'and'} {pairs.names[one.b]}" for one in pairs.unreached]
        finding += f"; not connected: {', '.join(cut[:3])}" + (f" and {len(cut) - 3} more pairs" if len(cut) > 3 else "")
    rows = [[pairs.names[a], pairs.names[b], quantity(pairs.rate[a][b], "B/s"),
             "node" if a in pairs.blamed_nodes or b in pairs.blamed_nodes else "link" if (a, b) in map(tuple, pairs.blamed_links) else ""]
            for a in range(count) for b in range(count) if pairs.rate[a][b] >= 0]
    rows.sort(key=lambda row: not row[3])
    return Figure(finding=finding, question="Which node, or which link, is slower than the others?",
                  description=f"{finding}. Sound nodes reach {quantity(pairs.reference, 'B/s')} with their best partners.",
                  drawing=drawing, table=Table(["from", "to", "rate", "blamed"], rows[:400]),
                  keys=[Key("cross", "line or cross: blamed")] if blamed or links else [])


def scaling(curve: ScalingCurve) -> Figure:
    """The rate of more and more clients together, compared with the expectation of G6."""
    clients, rates, expected = ([getattr(at, name) for at in curve.at] for name in ("clients", "rate", "expected"))
    linear = [curve.per_client * n for n in clients]
    scale = scale_of(max(rates), curve.unit)
    with styled():
        drawing = canvas(WIDTH, 320)
        axes = drawing.add_axes(place(drawing, 64, 14, 16, 46))
        axes.set_xscale("log", base=2)
        axes.plot(clients, np.array(rates) / scale.factor, color=series(0), marker=MARKERS[0], zorder=4)
        axes.plot(clients, np.array(linear) / scale.factor, color=COLOUR["muted"], linestyle=DASHES[2], zorder=3)
        if curve.saturated:
            axes.axhline(curve.most / scale.factor, color=series(1), linewidth=1.2, linestyle=DASHES[1], zorder=2)
            if clients[0] <= curve.saturation_clients <= clients[-1]:
                axes.plot([curve.saturation_clients], [curve.most / scale.factor], marker="D", markersize=8, zorder=6,
                          color=COLOUR["ink"], markerfacecolor=COLOUR["paper"], markeredgewidth=1.6)
        for at in curve.at:
            axes.annotate(share(at.efficiency), (at.clients, at.rate / scale.factor), (0, -16),
                          textcoords="offset points", ha="center")
        axes.set_ylim(0, max(rates) / scale.factor * 1.35)
        axes.set_xticks(clients, [str(n) for n in clients])
        axes.set_xlabel("clients (log\u2082)")
        axes.set_ylabel(scale.label)
    keys = [Key("dots", "dotted: as many times one client's rate")]
    if curve.saturated:
        keys.append(Key("dash", "what the backend gives; diamond: fewest clients that can show it (G7)"))
    return Figure(finding=curve.finding, question="How many clients does it take to reach what the storage can give?",
                  description=", ".join(f"{at.clients} clients: {quantity(at.rate, curve.unit)}" for at in curve.at) + ". " +
                  (f"{curve.formula}: {curve.substituted} = {curve.saturation_clients:g} clients." if curve.saturated else ""),
                  drawing=drawing, keys=keys,
                  table=Table(["clients", curve.metric, "expected (G6)", "of linear"],
                              [[str(at.clients), quantity(at.rate, curve.unit), quantity(at.expected, curve.unit),
                                share(at.efficiency)] for at in curve.at]))


def ranks(point: Point) -> Optional[Figure]:
    """Each rank's rate, the median repetition of each; nothing where fewer than two ranks moved bytes."""
    each: Dict[int, List[float]] = {}
    for repetition in point.finished:
        work: Dict[int, Tuple[float, float]] = {}
        for phase in repetition.phases:
            for rank in phase.ranks:
                done, took = work.get(rank.rank, (0.0, 0.0))
                work[rank.rank] = (done + rank.bytes, took + rank.elapsed_s)
        for rank, (done, took) in work.items():
            if took > 0:
                each.setdefault(rank, []).append(done / took)
    rates = {rank: median(values) for rank, values in sorted(each.items())}
    if len(rates) < 2 or max(rates.values()) <= 0:
        return None
    scale = scale_of(max(rates.values()), "B/s")
    middle = median(rates.values())
    with styled():
        drawing = canvas(WIDTH, 150)
        axes = drawing.add_axes(place(drawing, 56, 14, 16, 46))
        axes.plot(list(rates), [rate / scale.factor for rate in rates.values()], color=series(0), linestyle="none",
                  marker=MARKERS[0], zorder=4)
        axes.axhline(middle / scale.factor, color=COLOUR["muted"], linestyle=DASHES[2], zorder=2)
        axes.set_ylim(0, max(rates.values()) / scale.factor * 1.15)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("rank")
        axes.set_ylabel(scale.label)
    slowest = min(rates, key=lambda rank: rates[rank])
    finding = f"Rank {slowest} is the slowest with {quantity(rates[slowest], 'B/s')}, {share(rates[slowest] / middle)} of the median"
    return Figure(finding=finding, question="Is there a straggler?", description=finding + ".", drawing=drawing,
                  table=Table(["rank", "rate"], [[str(rank), quantity(rate, "B/s")] for rank, rate in rates.items()]),
                  keys=[Key("dots", "dotted: the median rank")])


def slowest(point: Point) -> Optional[Figure]:
    """The slowest rank's rate over time and the mean of all; nothing where there are no series of both."""
    reported = point.slowest_rank
    phases = [phase for repetition in point.finished for phase in repetition.phases
              if len(phase.ranks) > 1 and phase.series.time_s and phase.slowest_series.time_s]
    if reported is None or not phases:
        return None
    unit = "B/s" if any(phase.bytes for phase in phases) else "1/s"

    def rates(one) -> np.ndarray:
        return np.array(one.bytes_per_s if unit == "B/s" else one.operations_per_s)

    means = [rates(phase.series) / len(phase.ranks) for phase in phases]
    lowest = [rates(phase.slowest_series) for phase in phases]
    highest = max(float(each.max()) for each in (*means, *lowest))
    if highest <= 0:
        return None
    scale = scale_of(highest, unit)
    with styled():
        drawing = canvas(WIDTH, 220)
        axes = drawing.add_axes(place(drawing, 56, 14, 16, 46))
        start = 0.0
        for phase, mean, low in zip(phases, means, lowest):
            for one, drawn, number in ((phase.series, mean, 0), (phase.slowest_series, low, 1)):
                time, thin = _thinned(np.array(one.time_s), drawn, max(4, MOST_MOMENTS // len(phases)))
                axes.plot(start + time, thin / scale.factor, color=series(number), linestyle=DASHES[number], zorder=3 + number)
            start += phase.elapsed_s
            axes.axvline(start, color=COLOUR["muted"], linewidth=0.5, zorder=1)
        axes.set_xlim(0, start)
        axes.set_ylim(0, highest / scale.factor * 1.1)
        axes.set_xlabel("measured time, one repetition after another (s)")
        axes.set_ylabel(scale.label)
    finding = (f"Rank {reported.rank} ({reported.host}) is the slowest in {reported.times} of {reported.of}" if reported.of > 1
               else f"Rank {reported.rank} ({reported.host}) is the slowest")
    return Figure(finding=finding, question="Is the slowest rank slow all the time, or now and then?",
                  description=f"{finding}; its rate over time and the mean of all ranks.", drawing=drawing,
                  keys=[Key("line", "mean of all ranks"), Key("dash", "the slowest rank of each repetition")],
                  table=Table(["phase", "slowest rank", "its lowest", "its highest", "mean of all"],
                              [[str(number), str(phase.slowest_rank), quantity(float(low.min()), unit),
                                quantity(float(low.max()), unit), quantity(float(mean.mean()), unit)]
                               for number, (phase, mean, low) in enumerate(zip(phases, means, lowest), start=1)][:200]))


def _thinned(time: np.ndarray, rate: np.ndarray, most: int) -> Tuple[np.ndarray, np.ndarray]:
    groups = np.array_split(np.arange(len(time)), min(most, len(time)))
    return np.array([time[g].mean() for g in groups]), np.array([rate[g].mean() for g in groups])
