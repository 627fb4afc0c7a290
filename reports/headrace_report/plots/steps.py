"""A rehearsed input pipeline, step by step: its queue, its steps, and their time."""

from __future__ import annotations

from statistics import median
from typing import List, Optional, Tuple

import numpy as np

from ..schema import Point, Step, Steps
from ..units import quantity, share
from . import Figure, Key, Table
from .style import COLOUR, WIDTH, canvas, place, series, styled

WORKLOAD = "input_pipeline"
ROW_PX = 11
NAMED = 0.12  # a part that is as wide has its name on it; the others have a key below
# Metric, name: of the workers' time, and of the GPUs'.
WORKERS = (("reading_share", "reading"), ("decoding_share", "decoding"), ("waiting_share", "far enough ahead"))
GPUS = (("accelerator_utilization", "computing"), ("stall_fraction", "waiting for data"),
        ("copy_fraction", "copying"), ("host_fraction", "waiting for the host"), ("save_fraction", "saving"))
SAVING, OTHERS, COPYING = series(4), series(1), series(3)


def over_time(point: Point) -> Optional[Figure]:
    """Batches that were ready when steps began, and how long GPUs waited; nothing without steps."""
    if point.steps is None or len(point.steps.windows) < 2:
        return None
    windows = point.steps.windows
    factor, unit = _scale(windows[-1].end_s)
    edges = np.array([w.begin_s for w in windows] + [windows[-1].end_s]) * factor
    with styled():
        drawing = canvas(WIDTH, 300)
        top = drawing.add_axes(place(drawing, 56, 10, 10, 170))
        bottom = drawing.add_axes(place(drawing, 56, 10, 160, 42), sharex=top)
        top.stairs([100 * w.ready for w in windows], edges, color=series(0), linewidth=1.6)
        waited = np.array([100 * w.waiting for w in windows])
        saved = np.array([100 * w.saving for w in windows])
        others = np.array([100 * w.others for w in windows])
        copied = np.array([100 * w.copying for w in windows])
        bottom.stairs(waited, edges, fill=True, color=COLOUR["fail"], alpha=0.7)
        below = waited
        for part, colour in ((saved, SAVING), (others, OTHERS), (copied, COPYING)):
            if part.any():
                bottom.stairs(below + part, edges, baseline=below, fill=True, color=colour)
                below = below + part
        for axes, label in ((top, "ready (%)"), (bottom, "standing still (%)")):
            axes.set_ylim(0, 104)
            axes.set_ylabel(label)
        top.tick_params(labelbottom=False)
        bottom.set_xlim(0, edges[-1])
        bottom.set_xlabel(f"time ({unit})")
        drawing.align_ylabels([top, bottom])
    later = windows[1:]
    ready = median(w.ready for w in later)
    empty = sum(w.end_s - w.begin_s for w in later if w.ready < 0.005) / sum(w.end_s - w.begin_s for w in later)
    finding = f"{share(ready)} of the batches that can be are ready when a step begins, in the median"
    if empty > 0.005:
        finding += f"; for {share(empty)} of the time there is none"
    keys = [Key("full", "batches that are ready"), Key("fill-fail", "GPUs wait for data")]
    if saved.any():
        keys.append(Key("fill-5", "GPUs pause for a checkpoint"))
    if others.any():
        keys.append(Key("fill-2", "GPUs wait for other nodes"))
    if copied.any():
        keys.append(Key("fill-4", "batches are copied to GPUs"))
    return Figure(
        finding=finding, question="Does the loader stay ahead of the GPUs, all the time?",
        description=f"{finding}. The first step, in which the pipeline is empty, took "
                    f"{quantity(windows[0].end_s, 's')}; {sum(w.steps for w in windows)} steps in all.",
        drawing=drawing, keys=keys,
        table=Table(["from", "to", "steps", "ready", "waiting for data", "copying", "waiting for the host", "saving",
                     "waiting for other nodes"], [
            [quantity(w.begin_s, "s"), quantity(w.end_s, "s"), str(w.steps), share(w.ready), share(w.waiting), share(w.copying), share(w.host),
             share(w.saving), share(w.others)] for w in windows]))


def gantt(point: Point) -> Optional[Figure]:
    """The first steps and the slowest ones, a row each."""
    if point.steps is None or not point.steps.slowest:
        return None
    rows: List[Optional[Step]] = [*point.steps.first, None, *point.steps.slowest]
    longest = max(_took(step) + step.save_s for step in rows if step)
    factor, unit = _scale(longest)
    with styled():
        drawing = canvas(WIDTH, 62 + ROW_PX * len(rows))
        axes = drawing.add_axes(place(drawing, 64, 10, 8, 46))
        for row, step in enumerate(rows):
            if step is None:
                axes.axhline(row, color=COLOUR["muted"], linewidth=0.8)
                continue
            left = 0.0
            for seconds, colour in _parts(step):
                axes.barh(row, seconds * factor, left=left * factor, height=0.72, color=colour, zorder=3)
                left += seconds
        axes.set_ylim(len(rows) - 0.3, -0.7)
        axes.set_xlim(0, longest * factor * 1.02)
        shown = [row for row, step in enumerate(rows) if step and (row % 3 == 0 or row > len(point.steps.first))]
        shown = [row for place_, row in enumerate(shown) if place_ == 0 or row - shown[place_ - 1] >= 1]
        axes.set_yticks(shown, [f"{rows[row].number:,}" for row in shown], fontsize=8)
        axes.set_ylabel("step")
        axes.set_xlabel(f"time of the step ({unit})")
        axes.grid(axis="y", visible=False)
    return Figure(
        finding=_gantt_finding(point.steps), question="Which steps wait, how long, and for what?",
        description=f"Above the line the first {len(point.steps.first)} steps, below it the {len(point.steps.slowest)} slowest "
                    f"of all others. {_gantt_finding(point.steps)}.",
        drawing=drawing, keys=_gantt_keys([step for step in rows if step]),
        table=Table(["step", "from", "took", "waiting for data", "copying", "waiting for the host", "waiting for other nodes",
                     "saving after it", "ready"], [
            [f"{s.number:,}", quantity(s.begin_s, "s"), quantity(_took(s), "s"), quantity(s.wait_s, "s"), quantity(s.copy_s, "s"),
             quantity(s.host_s, "s"), quantity(s.others_s, "s"), quantity(s.save_s, "s"), share(s.ready)] for s in rows if s]))


def shares(point: Point) -> Optional[Figure]:
    """Where the workers' time and the GPUs' went."""
    bars = [("workers", _shares(point, WORKERS)), ("GPUs", _shares(point, GPUS))]
    bars = [(name, parts) for name, parts in bars if parts]
    if point.workload != WORKLOAD or len(bars) < 2:
        return None
    by_name = {"reading": series(3), "decoding": series(2), "far enough ahead": COLOUR["grid"], "computing": series(0),
               "waiting for data": COLOUR["fail"], "waiting for the host": COLOUR["muted"], "saving": SAVING, "copying": COPYING}
    marks = {"reading": "fill-4", "decoding": "fill-3", "far enough ahead": "shade-grey", "computing": "full",
             "waiting for data": "fill-fail", "waiting for the host": "fill-muted", "saving": "fill-5", "copying": "fill-4"}
    narrow = [name for _, parts in bars for name, value in parts if 0.005 <= value < NAMED]
    with styled():
        drawing = canvas(WIDTH, 130)
        axes = drawing.add_axes(place(drawing, 64, 10, 8, 46))
        for row, (_, parts) in enumerate(bars):
            left = 0.0
            for name, value in parts:
                axes.barh(row, 100 * value, left=100 * left, height=0.6, color=by_name[name], edgecolor=COLOUR["paper"], zorder=3)
                if value >= NAMED:
                    axes.text(100 * (left + value / 2), row - 0.42, name, ha="center", va="bottom", fontsize=9, zorder=4)
                left += value
        axes.set_ylim(1.5, -0.85)
        axes.set_xlim(0, 100)
        axes.set_yticks(range(len(bars)), [name for name, _ in bars])
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("share of the time (%)")
    reported = "; ".join(f"{who}: " + ", ".join(f"{name} {share(value)}" for name, value in parts) for who, parts in bars)
    largest = max(bars[0][1], key=lambda part: part[1])
    return Figure(finding=f"Workers spend most of their time {_doing(largest[0])}: {share(largest[1])}",
                  question="Where does the time go, of who reads and of who computes?", description=reported + ".", drawing=drawing,
                  keys=[Key(marks[name], name) for name in narrow],
                  table=Table(["who", "what", "share"], [[who, name, share(value)] for who, parts in bars for name, value in parts]))


def _doing(name: str) -> str:
    return "waiting, far enough ahead" if name == "far enough ahead" else name


def _shares(point: Point, names: Tuple[Tuple[str, str], ...]) -> List[Tuple[str, float]]:
    found = {metric.name: median(metric.values) for metric in point.metrics if metric.values}
    return [(name, found[metric]) for metric, name in names if metric in found]


def _parts(step: Step) -> List[Tuple[float, str]]:
    wait = min(step.wait_s, _took(step))
    copy = min(step.copy_s, _took(step) - wait)
    host = min(step.host_s, _took(step) - wait - copy)
    others = min(step.others_s, _took(step) - wait - copy - host)
    return [(wait, COLOUR["fail"]), (copy, COPYING), (host, COLOUR["muted"]),
            (_took(step) - wait - copy - host - others, series(0)), (others, OTHERS), (step.save_s, SAVING)]


def _gantt_keys(steps: List[Step]) -> List[Key]:
    keys = [Key("full", "computing"), Key("fill-fail", "waiting for data"), Key("fill-muted", "waiting for the host")]
    if any(step.others_s for step in steps):
        keys.append(Key("fill-2", "waiting for other nodes"))
    if any(step.copy_s for step in steps):
        keys.append(Key("fill-4", "copying the batch to its GPU"))
    if any(step.save_s for step in steps):
        keys.append(Key("fill-5", "standing still for a checkpoint after the step"))
    return keys


def _took(step: Step) -> float:
    return step.end_s - step.begin_s


def _scale(seconds: float) -> Tuple[float, str]:
    return (1e3, "ms") if seconds < 1 else (1.0, "s")


def _gantt_finding(steps: Steps) -> str:
    slowest = max(steps.slowest, key=_took)
    reported = f"The slowest step after the first took {quantity(_took(slowest), 's')}"
    if steps.compute_s > 0:
        reported += f", where computing takes {quantity(steps.compute_s, 's')}"
    return reported
