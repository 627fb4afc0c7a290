"""Latency histograms of run files: values of buckets, merging, percentiles (harness/record/histogram.h reports the scheme)."""

from __future__ import annotations

from typing import Iterable, List, Tuple

import numpy as np

from .schema import Histogram

SUB = 64


def bucket_value(index: int) -> float:
    """The middle of a bucket [ns]: exact below 64 ns, within 0.8 % above."""
    if index < SUB:
        return float(index)
    shift, place = index // SUB - 1, index % SUB
    return float((SUB + place) << shift) + ((1 << shift) - 1) / 2


class Merged:
    """Several histograms as one."""

    def __init__(self, histograms: Iterable[Histogram]):
        counts = {}
        self.min_ns, self.max_ns = float("inf"), 0.0
        for histogram in histograms:
            for index, count in histogram.buckets:
                if count:
                    counts[index] = counts.get(index, 0) + count
            if histogram.buckets:
                self.min_ns = min(self.min_ns, float(histogram.min_ns))
                self.max_ns = max(self.max_ns, float(histogram.max_ns))
        indices = sorted(counts)
        self.values = np.array([bucket_value(index) for index in indices])
        self.cumulative = np.cumsum([float(counts[index]) for index in indices])
        self.total = int(self.cumulative[-1]) if indices else 0

    def percentile(self, p: float) -> float:
        """The latency [ns] that a share `p` (0..1) of the operations did not exceed; 0 when empty."""
        if not self.total:
            return 0.0
        rank = min(max(int(np.ceil(p * self.total)), 1), self.total)
        value = self.values[int(np.searchsorted(self.cumulative, rank))]
        return float(min(max(value, self.min_ns), self.max_ns))

    def curve(self, shares: np.ndarray) -> np.ndarray:
        """percentile() of many shares at once."""
        ranks = np.clip(np.ceil(shares * self.total), 1, self.total)
        values = self.values[np.searchsorted(self.cumulative, ranks)]
        return np.clip(values, self.min_ns, self.max_ns)


class Typical:
    """Several repetitions, each with histograms of its own: percentiles are medians over the repetitions, as metrics are."""

    def __init__(self, repetitions: Iterable[Iterable[Histogram]]):
        self.each = [one for one in (Merged(histograms) for histograms in repetitions) if one.total]
        self.total = sum(one.total for one in self.each)
        self.fewest = min((one.total for one in self.each), default=0)  # operations of a repetition

    def percentile(self, p: float) -> float:
        """The latency [ns] that a share `p` (0..1) of the operations did not exceed; 0 when empty."""
        return float(np.median([one.percentile(p) for one in self.each])) if self.each else 0.0

    def curve(self, shares: np.ndarray) -> np.ndarray:
        """percentile() of many shares at once."""
        return np.median([one.curve(shares) for one in self.each], axis=0)

    @property
    def max_ns(self) -> float:
        return float(np.median([one.max_ns for one in self.each])) if self.each else 0.0


def typical_parts(repetitions: Iterable, names: List[str]) -> List[Tuple[str, Typical]]:
    """The whole operation first, then its parts in order; empty ones are left out."""
    phases = [repetition.phases for repetition in repetitions]
    result = [("whole", Typical([phase.latency for phase in each] for each in phases))]
    result += [(name, Typical([phase.parts[name] for phase in each if name in phase.parts] for each in phases)) for name in names]
    return [(name, typical) for name, typical in result if typical.total]
