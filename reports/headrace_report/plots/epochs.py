"""The same data epoch after epoch: its rate, and the page cache's share, compared with formulas."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Dict, List, Optional

import numpy as np
from matplotlib.ticker import MaxNLocator

from ..schema import Point
from ..units import quantity, scale_of
from . import Figure, Key, Table
from .labels import label_lines
from .style import COLOUR, DASHES, MARKERS, WIDTH, canvas, place, series, styled

WORKLOAD = "epochs"
# What each prediction assumes, by the end of the metric's name.
PREDICTIONS = (("c2", "C2 least recently used"), ("c4", "C4 cyclic order"), ("c7", "C7 Linux page cache"))


@dataclass
class Epoch:
    """One epoch over all repetitions that count."""

    name: str
    rates: List[float]   # B/s, one per repetition
    hits: List[float]    # share of the bytes that did not come from storage


def draw(point: Point) -> Optional[Figure]:
    """Nothing when the workload is another one or no repetition ended."""
    epochs = _epochs(point) if point.workload == WORKLOAD else []
    if not epochs:
        return None
    predicted = predictions(point)
    with styled():
        drawing = canvas(WIDTH, 360)
        top = drawing.add_axes(place(drawing, 56, 10, 10, 220))
        bottom = drawing.add_axes(place(drawing, 56, 10, 162, 42), sharex=top)
        numbers = np.arange(1, len(epochs) + 1)
        rate = scale_of(max(median(epoch.rates) for epoch in epochs) or 1e6, "B/s")
        for number, epoch in zip(numbers, epochs):
            dots = np.full(len(epoch.rates), number, dtype=float)
            top.plot(dots, np.array(epoch.rates) / rate.factor, marker="o", markersize=4, alpha=0.45, linestyle="none",
                     color=series(0))
            bottom.plot(dots, epoch.hits, marker="o", markersize=4, alpha=0.45, linestyle="none", color=series(0))
        top.plot(numbers, [median(epoch.rates) / rate.factor for epoch in epochs], marker="o", color=series(0),
                 markeredgecolor=COLOUR["paper"], zorder=5)
        measured = np.array([median(epoch.hits) for epoch in epochs])
        bottom.plot(numbers, measured, marker="o", color=series(0), markeredgecolor=COLOUR["paper"], zorder=5)
        lines = [("measured", numbers, measured)]
        for number, (name, value) in enumerate(predicted.items(), start=1):
            if len(epochs) > 1:  # the first epoch is cold under every policy
                after = _later(numbers)
                bottom.plot(after, np.full(len(after), value), color=series(number), linestyle=DASHES[number % 6],
                            marker=MARKERS[number % 6], markersize=5, zorder=4)
        top.set_xlim(0.6, len(epochs) + 0.4)
        top.set_ylim(bottom=0)
        top.tick_params(labelbottom=False)
        top.set_ylabel(rate.label)
        highest = max([0.1, *(hit for epoch in epochs for hit in epoch.hits), *predicted.values()])
        bottom.set_ylim(-0.04 * highest, highest * 1.3)
        bottom.set_yticks([tick for tick in MaxNLocator(5).tick_values(0, highest) if tick <= 1])
        bottom.set_ylabel("hit ratio (0\u20131)")
        bottom.set_xticks(numbers)
        bottom.set_xlabel("epoch")
        drawing.align_ylabels([top, bottom])
        drawing.canvas.draw()
        label_lines(bottom, lines + _labels(predicted, 0.04 * highest, numbers))
    return Figure(finding=_finding(epochs, predicted),
                  question="What does the page cache give from the second epoch on, and is it what was predicted?",
                  description=_describe(epochs, predicted), drawing=drawing, table=_table(epochs, predicted),
                  keys=[Key("dot", "median of the repetitions"), Key("small", "one repetition")])


def _later(numbers: np.ndarray) -> np.ndarray:
    """Where predictions hold: from the second epoch on."""
    return numbers[1:] if len(numbers) > 2 else np.array([1.7, 2.3])


def _labels(predicted: Dict[str, float], near: float, numbers: np.ndarray) -> list:
    """Lines to label: predictions on top of each other share one label."""
    groups: List[List[str]] = []
    for name, value in predicted.items():
        same = next((group for group in groups if abs(predicted[group[0]] - value) <= near), None)
        if same:
            same.append(name)
        else:
            groups.append([name])
    after = _later(numbers)
    return [(group[0] if len(group) == 1 else "predicted by " + ", ".join(name.split()[0] for name in group),
             after, np.full(len(after), predicted[group[0]])) for group in groups] if len(numbers) > 1 else []


def predictions(point: Point) -> Dict[str, float]:
    """Name on the page -> predicted hit ratio, from the metrics of the workload whose names report the formula."""
    result = {}
    for suffix, name in PREDICTIONS:
        for metric in point.metrics:
            if metric.name.startswith("hit_ratio") and metric.name.endswith(suffix) and metric.values:
                result[name] = median(metric.values)
    return result


def _epochs(point: Point) -> List[Epoch]:
    epochs: Dict[str, Epoch] = {}
    for repetition in point.finished:
        for phase in repetition.phases:
            if phase.elapsed_s > 0 and phase.bytes > 0:
                epoch = epochs.setdefault(phase.name, Epoch(phase.name, [], []))
                epoch.rates.append(phase.bytes / phase.elapsed_s)
                # Read-ahead may fetch a little more than was asked for: never below 0.
                epoch.hits.append(max(0.0, 1.0 - phase.storage_bytes / phase.bytes))
    return list(epochs.values())


def _finding(epochs: List[Epoch], predicted: Dict[str, float]) -> str:
    first, last = median(epochs[0].rates), median(epochs[-1].rates)
    reported = f"From {quantity(first, 'B/s')} cold to {quantity(last, 'B/s')} in epoch {len(epochs)}"
    reported += f"; the cache serves {median(epochs[-1].hits):.2f} of the bytes"
    best = predicted.get("C7 Linux page cache", predicted.get("C2 least recently used"))
    return reported + (f", predicted {best:.2f}" if best is not None else "")


def _describe(epochs: List[Epoch], predicted: Dict[str, float]) -> str:
    return " ".join([f"{e.name}: {quantity(median(e.rates), 'B/s')}, hit ratio {median(e.hits):.3f}." for e in epochs]
                    + [f"Predicted by {name}: {value:.3f}." for name, value in predicted.items()])


def _table(epochs: List[Epoch], predicted: Dict[str, float]) -> Table:
    return Table(["epoch", "median", "lowest", "highest", "hit ratio", "n", *predicted], [
        [epoch.name, quantity(median(epoch.rates), "B/s"), quantity(min(epoch.rates), "B/s"),
         quantity(max(epoch.rates), "B/s"), f"{median(epoch.hits):.3f}", str(len(epoch.rates)),
         *(f"{value:.3f}" if number else "0 (cold)" for value in predicted.values())]
        for number, epoch in enumerate(epochs)])
