"""Q5: throughput and tail latency over time, repetition after repetition. Was it steady? What happened when?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator

from ..histogram import Typical
from ..schema import Judgement, Phase, Point, Repetition
from ..units import Scale, duration, listing, plural, quantity, scale_of
from . import Figure, Key, Table, hover
from .style import COLOUR, WIDTH, canvas, place, series, styled

MOST_POINTS = 280  # of all repetitions together: more would not be distinguished
MOST_SEPARATED = 300  # repetitions, or phases of them
LEFT_PX, RIGHT_PX = 56, 10
PLOT_PX = WIDTH - LEFT_PX - RIGHT_PX
OFF_SCALE = 3.0  # a need above this multiple of the highest rate is reported, not drawn


@dataclass
class Segment:
    """One phase of one repetition on the common time axis, thinned to an envelope."""

    repetition: Repetition
    phase: Phase
    unit: str            # "B/s", or "1/s" for work that moves no bytes
    first: bool          # of its repetition
    start: float         # [s]
    time: np.ndarray     # bins' middles [s]
    rate: np.ndarray     # [bins] mean: the line then has the same mean as the repetition, also when reads come in bursts
    low: np.ndarray
    high: np.ndarray
    p99: np.ndarray      # [bins] ns, NaN where nothing ended
    warm: np.ndarray     # bins before the cut

    @property
    def end(self) -> float:
        return self.start + self.phase.elapsed_s

    @property
    def middle(self) -> float:
        return (self.start + self.end) / 2

    @property
    def mean(self) -> float:
        return _mean(self.phase, self.unit)


def draw(point: Point, judgements: List[Judgement]) -> Optional[Figure]:
    """Nothing when no time series was recorded."""
    segments = _segments(point)
    if not segments:
        return None
    with styled():
        drawing = canvas(WIDTH, 340)
        top = drawing.add_axes(place(drawing, LEFT_PX, RIGHT_PX, 28, 150))
        bottom = drawing.add_axes(place(drawing, LEFT_PX, RIGHT_PX, 210, 42), sharex=top)
        rate, latency = _scales(segments)
        for segment in segments:
            _draw_rate(top, segment, rate)
            _draw_latency(bottom, segment, latency)
        _draw_background(top, bottom, segments)
        _draw_repetitions(top, bottom, segments, rate)
        needed = _draw_need(top, judgements, segments, rate)
        bottom.set_ylim(bottom=0)
        top.set_xlim(0, segments[-1].end)
        top.tick_params(labelbottom=False)
        for axes in (top, bottom):
            axes.yaxis.set_major_locator(MaxNLocator(4))
        top.set_ylabel(rate.label)
        bottom.set_ylabel(f"p99 ({latency.label})")
        bottom.set_xlabel("measured time, one repetition after another (s)")
        drawing.align_ylabels([top, bottom])
        hovers = [one for segment in segments for one in _hovers(top, bottom, segment, segments[-1].end)][:hover.MOST]
    return Figure(finding=_finding(point, segments), question="Was it steady? What happened when?",
                  description=_describe(point, segments), drawing=drawing, table=_table(point),
                  keys=_keys(segments, needed), hovers=hovers)


def _segments(point: Point) -> List[Segment]:
    phases = [(repetition, number, phase) for repetition in point.repetitions
              for number, phase in enumerate(repetition.phases) if phase.series.time_s and phase.elapsed_s > 0]
    total = sum(phase.elapsed_s for _, _, phase in phases)
    unit = _unit(point)
    result, start = [], 0.0
    for repetition, number, phase in phases:
        bins = max(4, round(MOST_POINTS * phase.elapsed_s / total))
        result.append(_segment(repetition, phase, unit, number == 0, start, bins))
        start += phase.elapsed_s
    return result


def _unit(point: Point) -> str:
    """What the rates of a point count: bytes, or operations where there are none."""
    return "B/s" if any(phase.bytes for repetition in point.repetitions for phase in repetition.phases) else "1/s"


def _rates(phase: Phase, unit: str) -> List[float]:
    return phase.series.bytes_per_s if unit == "B/s" else phase.series.operations_per_s


def _mean(phase: Phase, unit: str) -> float:
    done = phase.bytes if unit == "B/s" else phase.operations
    return done / phase.elapsed_s if phase.elapsed_s else 0.0


def _segment(repetition: Repetition, phase: Phase, unit: str, first: bool, start: float, bins: int) -> Segment:
    time, rate = np.array(phase.series.time_s), np.array(_rates(phase, unit))
    p99 = np.array(phase.series.latency_p99_ns)
    p99 = np.where(p99 > 0, p99, np.nan)
    groups = np.array_split(np.arange(len(time)), min(bins, len(time)))
    middle = np.array([time[group].mean() for group in groups])
    return Segment(
        repetition, phase, unit, first, start, start + middle,
        np.array([rate[group].mean() for group in groups]), np.array([rate[group].min() for group in groups]),
        np.array([rate[group].max() for group in groups]),
        np.array([np.nanmax(p99[group]) if np.isfinite(p99[group]).any() else np.nan for group in groups]),
        middle < phase.steady_from_s)


def _scales(segments: List[Segment]) -> tuple:
    rate = scale_of(max(float(segment.rate.max()) for segment in segments) or 1e6, segments[0].unit)
    latencies = np.concatenate([segment.p99[np.isfinite(segment.p99)] for segment in segments])
    return rate, scale_of(float(np.median(latencies)) if len(latencies) else 1e6, "ns")


def _draw_rate(axes, segment: Segment, scale: Scale) -> None:
    cut = int(segment.warm.sum())
    if (segment.high > segment.low).any():
        axes.fill_between(segment.time, segment.low / scale.factor, segment.high / scale.factor, alpha=0.22,
                          color=series(0), linewidth=0, zorder=2)
    style = (0, (2.5, 1.5)) if segment.repetition.disturbance.disturbed else "-"
    if cut:
        axes.plot(segment.time[:cut + 1], segment.rate[:cut + 1] / scale.factor, color=COLOUR["muted"], zorder=3)
    axes.plot(segment.time[cut:], segment.rate[cut:] / scale.factor, color=series(0), linestyle=style, zorder=4)


def _draw_latency(axes, segment: Segment, scale: Scale) -> None:
    cut = int(segment.warm.sum())
    style = (0, (2.5, 1.5)) if segment.repetition.disturbance.disturbed else "-"
    if cut:
        axes.plot(segment.time[:cut + 1], segment.p99[:cut + 1] / scale.factor, color=COLOUR["muted"], zorder=3)
    axes.plot(segment.time[cut:], segment.p99[cut:] / scale.factor, color=series(1), linestyle=style, zorder=4)


def _draw_background(top, bottom, segments: List[Segment]) -> None:
    """Work in parallel with the reads: its time shaded between two lines, its rate above where there is room."""
    above, last_label = top.get_xaxis_transform(), -segments[-1].end
    for segment in segments:
        beside = segment.phase.background
        if beside is None:
            continue
        begin, end = segment.start + beside.begin_s, segment.start + max(beside.begin_s, min(beside.end_s, segment.phase.elapsed_s))
        for axes in (top, bottom):
            axes.axvspan(begin, end, color=series(2), alpha=0.16, linewidth=0, zorder=1)
            for at in (begin, end):
                axes.axvline(at, color=series(2), linewidth=1.2, zorder=2)
        text = f"save {quantity(_background_rate(segment.phase), 'B/s')}"
        width = 6.5 * len(text) / PLOT_PX * segments[-1].end
        at = min(begin, segments[-1].end - width)
        if at - last_label > width:
            last_label = at
            top.annotate(text, (at, 0.0), (4, 6), xycoords=above, textcoords="offset points", ha="left", va="bottom",
                         zorder=7)


def _background_rate(phase: Phase) -> float:
    """[B/s]"""
    lasted = phase.background.end_s - phase.background.begin_s
    return phase.background.bytes / lasted if lasted > 0 else 0.0


def _draw_repetitions(top, bottom, segments: List[Segment], scale: Scale) -> None:
    """Separators, numbers above, and the mean of each segment: hollow where it was disturbed."""
    total = segments[-1].end
    above = top.get_xaxis_transform()
    last_label = -total
    top.annotate("rep.", (0, 1.0), (-8, 12), xycoords="axes fraction", textcoords="offset points", ha="right")
    several_phases = len({segment.phase.name for segment in segments}) > 1
    for axes in (top, bottom):
        _separate(axes, segments)
    for disturbed in (False, True):
        some = [segment for segment in segments if segment.repetition.disturbance.disturbed == disturbed]
        fill, edge = (COLOUR["paper"], COLOUR["ink"]) if disturbed else (COLOUR["ink"], COLOUR["paper"])
        top.plot([segment.middle for segment in some], [segment.mean / scale.factor for segment in some], marker="o", markersize=7,
                 markerfacecolor=fill, markeredgecolor=edge, markeredgewidth=1.6 if disturbed else 1, zorder=6, linestyle="none")
    marked = [segment.middle for segment in segments if segment.first and segment.repetition.disturbance.disturbed]
    top.plot(marked, [1.03] * len(marked), marker="v", markersize=7, color=COLOUR["fail"], transform=above, clip_on=False,
             linestyle="none", zorder=6)
    for segment in segments:
        number = f"{segment.repetition.index + 1}" if segment.repetition.counted else f"({segment.repetition.index + 1})"
        label = number if segment.first else ""
        at = segment.middle if not several_phases else segment.start
        if label and (at - last_label) / total * PLOT_PX > 7 * len(label) + 5:
            last_label = at
            top.annotate(label, (at, 1.0), (3 if several_phases else 0, 12), xycoords=above,
                         textcoords="offset points", ha="left" if several_phases else "center")


def _separate(axes, segments: List[Segment]) -> None:
    """A line before each segment but the first; none if they would hide the rates."""
    if len(segments) > MOST_SEPARATED:
        return
    for first, width, style in ((True, 1.0, "-"), (False, 0.5, (0, (1, 2)))):
        lines = [[(one.start, 0), (one.start, 1)] for one in segments if one.start > 0 and one.first == first]
        axes.add_collection(LineCollection(lines, colors=COLOUR["muted"], linewidths=width, linestyles=[style], zorder=1,
                                           transform=axes.get_xaxis_transform()), autolim=False)


def _draw_need(axes, judgements: List[Judgement], segments: List[Segment], scale: Scale) -> bool:
    """The highest need in bytes/s on this point, as a line. It is words when it is far above the picture."""
    highest = max(float(segment.rate.max()) for segment in segments)
    axes.set_ylim(0, highest / scale.factor * 1.12)
    if segments[0].unit != "B/s":  # phases of different operations: a need is of some of them
        return False
    needs = [judgement.need for judgement in judgements if judgement.unit == "B/s" and judgement.higher_is_better]
    if not needs:
        return False
    need = max(needs)
    text = f"need {quantity(need, 'B/s')}"
    if need > OFF_SCALE * highest:
        axes.annotate(f"{text} \u25b4 above the picture", (1, 1), (-4, -12), xycoords="axes fraction",
                      textcoords="offset points", ha="right", va="center", zorder=7)
        axes.set_ylim(0, highest / scale.factor * 1.25)
        return True
    axes.axhline(need / scale.factor, color=COLOUR["ink"], linestyle=(0, (6, 3)), linewidth=1.3, zorder=5)
    axes.set_ylim(0, max(need, highest) / scale.factor * 1.16)
    axes.annotate(text, (1, need / scale.factor), (-4, 4), xycoords=axes.get_yaxis_transform(),
                  textcoords="offset points", ha="right", va="bottom", zorder=7)
    return True


def _hovers(top, bottom, segment: Segment, total: float) -> List[hover.Hover]:
    """Of both axes in one."""
    parts = hover.groups(len(segment.time), max(1, round(hover.MOST_STRIPS * segment.phase.elapsed_s / total)))
    between = [(segment.time[one[-1]] + segment.time[other[0]]) / 2 for one, other in zip(parts, parts[1:])]
    edges = [segment.start, *between, segment.end]
    return hover.strips(top, edges, [_text(segment, part, begin, end) for part, begin, end in zip(parts, edges, edges[1:])], bottom)


def _text(segment: Segment, part: np.ndarray, begin: float, end: float) -> str:
    p99 = segment.p99[part]
    tail = f", p99 {quantity(float(np.nanmax(p99)), 'ns')}" if np.isfinite(p99).any() else ""
    return (f"repetition {segment.repetition.index + 1}, {hover.span(begin, end)}: "
            f"{quantity(float(segment.rate[part].mean()), segment.unit)}{tail}{', warm-up' if segment.warm[part].all() else ''}")


def _keys(segments: List[Segment], needed: bool) -> List[Key]:
    keys = [Key("mean", "mean of a repetition" if all(segment.first for segment in segments) else "mean of a phase")]
    if any(segment.repetition.disturbance.disturbed for segment in segments):
        keys.append(Key("ring", "disturbed (\u25be)"))
    if any(not segment.repetition.counted for segment in segments):
        keys.append(Key("none", "(n): not counted"))
    if any(segment.warm.any() for segment in segments):
        keys.append(Key("grey", "warm-up, cut"))
    if any((segment.high > segment.low).any() for segment in segments):
        keys.append(Key("band", "lowest to highest" if _fits(segments) else "lowest to highest, cut at the top"))
    if needed:
        keys.append(Key("dash", "need"))
    if any(segment.phase.background for segment in segments):
        keys.append(Key("shade", "a checkpoint is saved"))
    return keys


def _fits(segments: List[Segment]) -> bool:
    """Whether the band stays inside a picture that is drawn for the means."""
    return max(segment.high.max() for segment in segments) <= max(segment.rate.max() for segment in segments) * 1.12


def _finding(point: Point, segments: List[Segment]) -> str:
    repetitions = point.finished
    unsteady = [repetition for repetition in repetitions if not repetition.steady]
    disturbed = sum(repetition.disturbance.disturbed for repetition in repetitions)
    unit = segments[0].unit
    rate = _mean_over_time([phase for repetition in repetitions for phase in repetition.phases], unit)
    several = len({segment.phase.name for segment in segments}) > 1
    if unsteady:
        reported = f"Not steady in {len(unsteady)} of {plural(len(repetitions), 'repetition')}"
        if unsteady[0].steady_why:
            reported += f": {unsteady[0].steady_why}"
    elif _saves(repetitions):
        reported = _beside_a_save(repetitions)
    elif several and unit == "1/s":  # a rate of different operations together would mean nothing
        reported = f"One after the other: {listing(list(dict.fromkeys(segment.phase.name for segment in segments)))}"
    elif several:
        reported = f"{quantity(rate, unit)} over all phases"
    else:
        reported = f"Steady at {quantity(rate, unit)} in {'all ' if len(repetitions) > 1 else ''}{plural(len(repetitions), 'repetition')}"
    return reported + (f"; {disturbed} disturbed" if disturbed else "")


def _mean_over_time(phases: List[Phase], unit: str) -> float:
    elapsed = sum(phase.elapsed_s for phase in phases)
    return sum(phase.bytes if unit == "B/s" else phase.operations for phase in phases) / elapsed if elapsed else 0.0


def _saves(repetitions: List[Repetition]) -> bool:
    return any(phase.background for repetition in repetitions for phase in repetition.phases)


def _beside_a_save(repetitions: List[Repetition]) -> str:
    """How the reads' tail changed, in the median of the repetitions."""
    alone = Typical([repetition.phases[0].latency] for repetition in repetitions if repetition.phases).percentile(0.99)
    beside = Typical([phase.latency for phase in repetition.phases if phase.background]
                     for repetition in repetitions).percentile(0.99)
    return f"p99 of the reads: {quantity(alone, 'ns')} alone, {quantity(beside, 'ns')} while a checkpoint is saved"


def _describe(point: Point, segments: List[Segment]) -> str:
    return (f"{plural(len(point.repetitions), 'repetition')}, {duration(segments[-1].end)} in all. " + " ".join(
        f"Repetition {s.repetition.index + 1} {s.phase.name}: "
        f"{quantity(s.mean, s.unit)}{_describe_background(s.phase)}." for s in segments[:40]))


def _describe_background(phase: Phase) -> str:
    if phase.background is None:
        return ""
    lasted = phase.background.end_s - phase.background.begin_s
    return (f" while a checkpoint of {quantity(phase.background.bytes, 'B')} is saved, for {duration(lasted)} at "
            f"{quantity(_background_rate(phase), 'B/s')}")


def _table(point: Point) -> Table:
    rows, unit = [], _unit(point)
    for repetition in point.repetitions:
        for phase in repetition.phases:
            series_rates = _rates(phase, unit)
            p99 = [value for value in phase.series.latency_p99_ns if value > 0]
            rows.append([
                str(repetition.index + 1), phase.name, duration(phase.elapsed_s), duration(phase.steady_from_s),
                quantity(_mean(phase, unit), unit),
                quantity(min(series_rates), unit) if series_rates else "\u2013",
                quantity(max(series_rates), unit) if series_rates else "\u2013",
                quantity(max(p99), "ns") if p99 else "\u2013",
                "yes" if repetition.steady else "no", "yes" if repetition.disturbance.disturbed else "no",
                quantity(_background_rate(phase), "B/s") if phase.background else "\u2013"])
    columns = ["repetition", "phase", "time", "warm-up cut", "mean", "lowest", "highest", "highest p99", "steady",
               "disturbed", "save"]
    shown = len(columns) if _saves(point.repetitions) else len(columns) - 1
    return Table(columns[:shown], [row[:shown] for row in rows])
