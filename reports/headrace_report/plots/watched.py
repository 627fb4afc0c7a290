"""A watched job over time. It shows the time of the processes that take and make batches, reads and writes, the
device, and steps. What did it wait for, and when?"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import numpy as np

from ..histogram import Typical
from ..observation import Observation
from ..units import NBSP, plural, quantity, scale_of
from . import Figure, Key, Table, hover, tail
from .style import COLOUR, WIDTH, canvas, place, series as colour_of, styled

MOST_POINTS = 300
HEIGHT = 190
# By observe.json's names: how it is called, and which colour and hatching it has.
CONSUMER = (("hand_over", "waiting for the loader", 1, "//"), ("running", "on a processor", 0, ""), ("interpreter_lock", "waiting for the interpreter lock", 4, "//"), ("page_fault", "fetching pages", 5, "//"), ("gpu", "in the GPU's driver", 2, ""),
            ("sleep", "pausing", 3, ""), ("storage_write", "writing files", 4, "\\\\"), ("storage_read", "reading", 5, ".."))
WORKERS = (("storage_read", "reading", 5, ".."), ("storage_names", "opening files", 4, "\\\\"), ("page_fault", "fetching pages", 2, ""),
           ("running", "on a processor", 0, ""), ("interpreter_lock", "waiting for the interpreter lock", 1, "//"), ("hand_over", "waiting for room", 3, ""))


def _thinned(time: List[float], lists: List[List[float]]) -> Tuple[np.ndarray, List[np.ndarray]]:
    """Means over neighbours, so that MOST_POINTS are left."""
    step = max(1, -(-len(time) // MOST_POINTS))
    starts = np.arange(0, len(time), step)
    widths = np.diff(np.append(starts, len(time)))
    ends = np.minimum(starts + step, len(time)) - 1
    return np.asarray(time)[ends], [np.add.reduceat(np.asarray(one, dtype=float), starts) / widths for one in lists]


def _saves(axes, seen: Observation) -> None:
    for save in seen.saves:
        axes.axvspan(save.begin_s, max(save.end_s, save.begin_s + seen.elapsed_s / 400), color=COLOUR["muted"], alpha=0.25, linewidth=0, zorder=0)


def _framed(axes, seen: Observation, label: str) -> None:
    axes.set_xlim(0, max(seen.elapsed_s, 1e-3))
    axes.set_xlabel("since the watching began (s)")
    axes.set_ylabel(label)
    axes.grid(axis="x", visible=False)


def _mean(values: List[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def waits(seen: Observation, who: str) -> Optional[Figure]:
    """Of "consumer" or "workers": shares of their first threads' time, on each other. Nothing where there are none."""
    shares: Dict[str, List[float]] = getattr(seen.series, who)
    reported = [one for one in (CONSUMER if who == "consumer" else WORKERS) if any(shares.get(one[0], []))]
    if len(seen.series.time_s) < 2 or not reported or not getattr(seen, who):
        return None
    time, lists = _thinned(seen.series.time_s, [shares[name] for name, _, _, _ in reported])
    with styled():
        drawing = canvas(WIDTH, HEIGHT + 62)
        axes = drawing.add_axes(place(drawing, 58, 26, 14, 48))
        base = np.zeros(len(time))
        for (_, _, colour, hatch), share in zip(reported, lists):
            axes.fill_between(time, 100 * base, 100 * (base + share), step="pre", color=colour_of(colour), alpha=0.75, linewidth=0,
                              hatch=hatch, edgecolor=COLOUR["paper"])
            base = base + share
        _saves(axes, seen)
        axes.set_ylim(0, 100)
        _framed(axes, seen, "of their time (%)")
        hovers = hover.over_time(axes, time, lambda part: ", ".join(
            f"{text} {100 * share[part].mean():.0f} %" for (_, text, _, _), share in zip(reported, lists) if share[part].mean() >= 0.005))
    largest = max(reported, key=lambda one: _mean(shares[one[0]]))
    subject = "Training processes" if who == "consumer" else "Workers"
    finding = f"{subject} were mostly {largest[1]}: {100 * _mean(shares[largest[0]]):.0f}{NBSP}% of the time"
    rows = [[text, f"{100 * _mean(shares[name]):.1f} %", f"{100 * max(shares[name]):.1f} %"] for name, text, _, _ in reported]
    return Figure(finding, "What did they wait for, and when?" if who == "workers" else "When did training starve?",
                  f"Areas on each other, shares of time of their first threads. {finding}.{_saves_reported(seen)}", drawing,
                  Table(["found", "mean share", "largest"], rows),
                  [Key(f"series-{colour + 1}", text) for _, text, colour, _ in reported] + _saves_key(seen), hovers)


def rates(seen: Observation) -> Optional[Figure]:
    """What processes read and wrote, and what the device gave."""
    series = seen.series
    lines = [("read by processes", series.read_bytes_per_s, "-"), ("written by processes", series.written_bytes_per_s, (0, (5, 2))),
             (f"read from device {seen.storage.device}", series.device_bytes_per_s, (0, (1.5, 1.5)))]
    lines = [one for one in lines if any(one[1])]
    if len(series.time_s) < 2 or not lines:
        return None
    time, lists = _thinned(series.time_s, [values for _, values, _ in lines])
    scale = scale_of(max(float(one.max()) for one in lists), "B/s")
    with styled():
        drawing = canvas(WIDTH, HEIGHT + 62)
        axes = drawing.add_axes(place(drawing, 58, 26, 14, 48))
        for number, ((_, _, dashes), values) in enumerate(zip(lines, lists)):
            axes.plot(time, values / scale.factor, color=colour_of(number), linestyle=dashes, drawstyle="steps-pre")
        _saves(axes, seen)
        axes.set_ylim(bottom=0)
        _framed(axes, seen, scale.label)
        hovers = hover.over_time(axes, time, lambda part: ", ".join(
            f"{text} {quantity(float(values[part].mean()), 'B/s')}" for (text, _, _), values in zip(lines, lists)))
    finding = "; ".join(f"{text}: {quantity(_mean(values), 'B/s')}" for text, values, _ in lines)
    rows = [[text, quantity(_mean(values), "B/s"), quantity(max(values), "B/s")] for text, values, _ in lines]
    requests = [n for n in series.device_reads_per_s if n > 0]
    if requests:
        waits_s = [w for w in series.device_wait_s if w > 0]
        rows.append(["requests of the device", f"{_mean(series.device_reads_per_s):.3g} /s", f"{max(requests):.3g} /s"])
        if waits_s:
            rows.append(["wait of one, where there were some", quantity(_mean(waits_s), "s"), quantity(max(waits_s), "s")])
    return Figure(finding[:1].upper() + finding[1:], "What was read and written, and what did the device give?",
                  f"Lines over time.{_saves_reported(seen)} {finding}.", drawing, Table(["what", "mean", "most"], rows),
                  [Key(f"series-{number + 1}", text) for number, (text, _, _) in enumerate(lines)] + _saves_key(seen), hovers)


def steps(seen: Observation) -> Optional[Figure]:
    """How long it took from batch to batch. Nothing where batches were not counted."""
    if seen.batches.steps <= 0 or sum(1 for n in seen.series.batches_per_s if n > 0) < 2:
        return None
    time, (taken,) = _thinned(seen.series.time_s, [seen.series.batches_per_s])
    period = np.where(taken > 0, 1 / np.maximum(taken, 1e-12), np.nan)
    mean = (seen.batches.end_s - seen.batches.begin_s) / seen.batches.steps
    scale = scale_of(mean, "s")
    step = next((one for one in seen.learned if one.key == "step.time" and one.value), None)
    with styled():
        drawing = canvas(WIDTH, HEIGHT + 62)
        axes = drawing.add_axes(place(drawing, 58, 26, 14, 48))
        axes.plot(time, period / scale.factor, color=colour_of(0), drawstyle="steps-pre")
        if step:
            axes.axhline(step.value / scale.factor, color=COLOUR["ink"], linewidth=1.2, linestyle=(0, (4, 2)))
        _saves(axes, seen)
        # A slice without a batch or two would leave the rest flat.
        axes.set_ylim(0, min(float(np.nanmax(period)), 6 * mean) * 1.1 / scale.factor)
        _framed(axes, seen, f"from batch to batch ({scale.label})")
    finding = f"A batch was taken every {quantity(mean, 's')} on average"
    if step:
        finding += f"; a step alone takes {step.text}"
    keys = [Key("series-1", "from batch to batch")] + ([Key("bar", "a step alone")] if step else []) + _saves_key(seen)
    rows = [["mean", quantity(mean, "s")], ["longest of a part", quantity(float(np.nanmax(period)), "s")],
            ["batches", f"{seen.batches.steps:.0f}"]] + ([["a step alone", step.text]] if step else [])
    return Figure(finding, "How long did steps take, and when longer?", f"A line over time. {finding}.{_saves_reported(seen)}", drawing,
                  Table(["what", "value"], rows), keys)


def gpus(seen: Observation) -> Optional[Figure]:
    """How busy the job's GPUs were. Nothing where no driver reported about them."""
    if len(seen.series.time_s) < 2 or not seen.series.gpu_busy:
        return None
    time, (busy,) = _thinned(seen.series.time_s, [seen.series.gpu_busy])
    with styled():
        drawing = canvas(WIDTH, HEIGHT + 62)
        axes = drawing.add_axes(place(drawing, 58, 26, 14, 48))
        axes.plot(time, 100 * busy, color=colour_of(2), drawstyle="steps-pre")
        _saves(axes, seen)
        axes.set_ylim(0, 105)
        _framed(axes, seen, "of the time (%)")
    finding = f"The job's {plural(len(seen.gpus), 'GPU')} computed {100 * _mean(seen.series.gpu_busy):.0f}{NBSP}% of the time"
    rows = [[f"{gpu.pci_address} {gpu.name}", f"{100 * gpu.busy.share:.0f} % [{100 * gpu.busy.low:.0f}, {100 * gpu.busy.high:.0f}]" if gpu.busy else "not reported",
             quantity(gpu.memory_bytes, "B") if gpu.memory_bytes else "not reported", "yes" if gpu.shared else "no"] for gpu in seen.gpus]
    return Figure(finding, "When did the GPUs compute?", f"A line over time. {finding}.{_saves_reported(seen)}", drawing,
                  Table(["GPU", "busy while batches were taken", "memory of the job", "others use it, too"], rows),
                  [Key("series-3", "a kernel ran, mean of the job's GPUs")] + _saves_key(seen))


def client(seen: Observation) -> Optional[Figure]:
    """The time of one read at a network file system's client, or the requests of a FUSE daemon. Nothing where neither was counted."""
    series = seen.series
    reads = [one for one in (("a read took", series.client_read_s, "-"), ("before it was sent", series.client_queue_s, (0, (5, 2)))) if any(one[1])]
    lines = reads or [one for one in [("requests at the daemon", series.daemon_requests, "-")] if any(one[1])]
    if len(series.time_s) < 2 or not lines:
        return None
    time, lists = _thinned(series.time_s, [values for _, values, _ in lines])
    scale = scale_of(max(float(one.max()) for one in lists), "s") if reads else None
    with styled():
        drawing = canvas(WIDTH, HEIGHT + 62)
        axes = drawing.add_axes(place(drawing, 58, 26, 14, 48))
        for number, ((_, _, dashes), values) in enumerate(zip(lines, lists)):
            axes.plot(time, values / (scale.factor if scale else 1), color=colour_of(number), linestyle=dashes, drawstyle="steps-pre")
        _saves(axes, seen)
        axes.set_ylim(bottom=0)
        _framed(axes, seen, scale.label if scale else "requests")
    reported = (lambda value: quantity(value, "s")) if reads else (lambda value: f"{value:.1f}")
    # Of reads those parts of the time in which there were some.
    means = [(text, _mean([v for v in values if v > 0] if reads else values), max(values)) for text, values, _ in lines]
    finding = "; ".join(f"{text}: {reported(mean)}" for text, mean, _ in means)
    rows = [[text, reported(mean), reported(most)] for text, mean, most in means]
    if any(series.client_bytes_per_s):
        rows.append(["got from servers", quantity(_mean(series.client_bytes_per_s), "B/s"), quantity(max(series.client_bytes_per_s), "B/s")])
    return Figure(finding[:1].upper() + finding[1:], "What did the file system's client wait for?", f"Lines over time. {finding}.{_saves_reported(seen)}",
                  drawing, Table(["what", "mean", "most"], rows),
                  [Key(f"series-{number + 1}", text) for number, (text, _, _) in enumerate(lines)] + _saves_key(seen))


def latency(seen: Observation) -> Optional[Figure]:
    """How long reads and opens took. Nothing without a trace of them."""
    if seen.calls is None:
        return None
    timed = [(name, Typical([[times]])) for name, times in (("reads", seen.calls.read), ("opens", seen.calls.open))]
    lines = [(name, typical) for name, typical in timed if typical.max_ns > 0]
    if not lines:
        return None
    shown = "; ".join(f"{name}: {quantity(typical.percentile(0.5), 'ns')} in the median" + (
        f", 99{NBSP}% end within {quantity(typical.percentile(0.99), 'ns')}" if typical.total >= 100 * tail.ENOUGH else "") for name, typical in lines)
    return Figure(shown[:1].upper() + shown[1:], "How long did single reads and opens take?",
                  f"Share of calls that ended within a latency, tail stretched. {tail.describe(lines)}", tail.curves(lines), tail.table(lines), [tail.KEY])


def in_flight(seen: Observation) -> Optional[Figure]:
    """How many reads were under way at once. Nothing without a trace of them."""
    if seen.calls is None or len(seen.calls.in_flight) < 2 or seen.calls.most_in_flight < 1:
        return None
    calls = seen.calls
    time, (reads,) = _thinned([(n + 1) * calls.part_s for n in range(len(calls.in_flight))], [calls.in_flight])
    with styled():
        drawing = canvas(WIDTH, HEIGHT + 62)
        axes = drawing.add_axes(place(drawing, 58, 26, 14, 48))
        axes.plot(time, reads, color=colour_of(0), drawstyle="steps-pre")
        _saves(axes, seen)
        axes.set_ylim(bottom=0)
        _framed(axes, seen, "reads in flight")
        hovers = hover.over_time(axes, time, lambda part: f"{reads[part].mean():.3g} reads in flight")
    finding = f"{calls.mean_in_flight:.3g} reads were in flight on average, at most {calls.most_in_flight} at once"
    rows = [["mean, from the first read to the last", f"{calls.mean_in_flight:.3g}"], ["most at once", str(calls.most_in_flight)],
            [f"highest mean of {quantity(calls.part_s, 's')}", f"{max(calls.in_flight):.3g}"]]
    return Figure(finding, "How many reads did the job keep in flight?", f"A line over time. {finding}.{_saves_reported(seen)}", drawing,
                  Table(["what", "reads in flight"], rows), [Key("series-1", "reads in flight, mean")] + _saves_key(seen), hovers)


def _saves_key(seen: Observation) -> List[Key]:
    return [Key("none", "grey: a checkpoint is written")] if seen.saves else []


def _saves_reported(seen: Observation) -> str:
    return f" Grey where one of {plural(len(seen.saves), 'checkpoint')} was written." if seen.saves else ""
