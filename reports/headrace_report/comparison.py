"""comparison.json, schema 1, as Python types (docs/reference/comparison-json.md). Every decision is in it; pages only draw it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from .errors import Inconsistent
from .schema import NoiseFloor, Tool

KIND = "headrace.comparison"

STATUSES = ("worse", "better", "differs", "same", "small", "inconclusive")
WORDS = ("PASS", "FAIL", "INCONCLUSIVE", "INCOMPLETE", "INTERRUPTED")


@dataclass(frozen=True)
class Design:
    """How it was measured, and what decides."""

    kind: str
    level: float
    delta_rate: float
    delta_tail: float
    sentence: str
    order: str = ""
    blocks: int = 0
    looks: List[int] = field(default_factory=list)
    look: int = 0
    next_look: int = 0
    false_discovery_rate: float = 0.05

    @property
    def interleaved(self) -> bool:
        return self.kind == "interleaved"

    def check(self) -> None:
        if self.kind not in ("interleaved", "stored"):
            raise Inconsistent(f"kind \"{self.kind}\": interleaved or stored is expected")
        if not 0 < self.delta_rate < 1 or not 0 < self.delta_tail < 1 or not 0 < self.level < 1:
            raise Inconsistent("level, delta_rate and delta_tail lie between 0 and 1")


@dataclass(frozen=True)
class Side:
    label: str
    source: str
    run: str = ""
    name: str = ""
    node: str = ""
    started_utc: str = ""
    config_hash: str = ""
    runs: int = 1


@dataclass(frozen=True)
class Difference:
    """A part of the fingerprint in which the sides are not alike; a value per side."""

    key: str
    values: List[str]
    declared: bool = False
    matters: bool = True


@dataclass(frozen=True)
class History:
    source: str = ""
    sessions: int = 0
    why: str = ""
    assumed_spread: float = 0.0
    sentence: str = ""  # the consequence for the bounds


@dataclass(frozen=True)
class Values:
    median: float
    low: float
    high: float
    n: int
    values: List[float]
    typical: float  # what the change is of: the median, or of blocks the geometric mean over them

    def check(self) -> None:
        if self.n != len(self.values) or not self.values:
            raise Inconsistent(f"n is {self.n}, but there are {len(self.values)} values")


@dataclass(frozen=True)
class Block:
    block: int
    base: float
    other: float
    ratio: float
    disturbed: bool = False
    judged: bool = True

    def check(self) -> None:
        if not min(self.base, self.other, self.ratio) > 0:
            raise Inconsistent("a value that is not above 0 has no ratio")


@dataclass(frozen=True)
class Row:
    """One metric of one point on both sides."""

    workload: str
    points: Tuple[str, str]
    metric: str
    unit: str
    better: str
    gated: bool
    delta: float
    significant: bool
    status: str
    base: Values
    other: Values
    params: Dict[str, str] = field(default_factory=dict)
    description: str = ""
    reason: str = ""
    explanation: str = ""
    next_step: str = ""
    ratio: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    p: Optional[float] = None
    smallest_visible: Optional[float] = None
    noise_floor: Optional[float] = None
    blocks: List[Block] = field(default_factory=list)
    fact: bool = False       # read, not measured: compared exactly
    says_same_as: str = ""   # the metric of its point whose finding this is

    def check(self) -> None:
        if self.status not in STATUSES:
            raise Inconsistent(f"status \"{self.status}\": one of {', '.join(STATUSES)} is expected")
        if not (0 < self.delta < 1 or (self.fact and self.delta == 0)):
            raise Inconsistent(f"delta {self.delta}: between 0 and 1 is expected")
        if self.reported and not self.fact and not min(*self.base.values, *self.other.values) > 0:
            raise Inconsistent("a value that is not above 0 has no ratio")
        if self.reported and abs(math.log(self.other.typical / self.base.typical / self.ratio)) > 1e-5:
            raise Inconsistent(f"the ratio {self.ratio} is not that of {self.other.typical} to {self.base.typical}")
        if self.reported and not 0 < self.low <= self.ratio <= self.high:
            raise Inconsistent(f"the ratio {self.ratio} does not lie within its bounds, above 0")

    @property
    def reported(self) -> bool:
        """There is a ratio with bounds: too few values have none."""
        return self.ratio is not None and self.low is not None and self.high is not None

    @property
    def changed(self) -> bool:
        return self.status in ("worse", "better", "differs")

    @property
    def quiet(self) -> bool:
        """Nothing to look at: no gate, and nothing found or left open."""
        return not self.gated and self.status in ("same", "small")


@dataclass(frozen=True)
class Latency:
    """B's latencies at each share of A's and B's operations."""

    workload: str
    points: Tuple[str, str]
    phase: str
    part: str
    probability: List[float]
    base_ns: List[float]
    other_ns: List[float]
    shift: List[Optional[float]]
    base_operations: int
    other_operations: int

    def check(self) -> None:
        if len({len(self.probability), len(self.base_ns), len(self.other_ns), len(self.shift)}) != 1 or not self.shift:
            raise Inconsistent("probability, base_ns, other_ns and shift are not of one length")
        if self.probability != sorted(self.probability) or not 0 <= self.probability[0] <= self.probability[-1] < 1:
            raise Inconsistent("probability does not rise within 0 and 1")
        if min(*self.base_ns, *self.other_ns) < 0:
            raise Inconsistent("a latency below 0")


@dataclass(frozen=True)
class NotCompared:
    point: str
    metric: str = ""
    side: str = ""
    why: str = ""


@dataclass(frozen=True)
class Summary:
    word: str
    exit_code: int
    compared: int = 0
    worse: int = 0
    better: int = 0
    differs: int = 0
    same: int = 0
    small: int = 0
    inconclusive: int = 0
    gated: int = 0
    metrics: int = 0  # equivalent ones counted each
    about_gates: str = ""
    expected_by_chance: float = 0.0
    smallest_visible: float = 0.0
    sentence: str = ""

    def check(self) -> None:
        if self.word not in WORDS:
            raise Inconsistent(f"word \"{self.word}\": one of {', '.join(WORDS)} is expected")

    def of(self, status: str) -> int:
        return getattr(self, status)


@dataclass(frozen=True)
class Parameter:
    """In which the points of both sides differ on purpose; no points: all of them."""

    name: str
    base: str
    other: str
    points: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Pair:
    """One side compared with the base."""

    base: str
    other: str
    summary: Summary
    rows: List[Row]
    compared: List[str] = field(default_factory=list)  # the differences between the two, in words
    parameters: List[Parameter] = field(default_factory=list)
    latency: List[Latency] = field(default_factory=list)
    not_compared: List[NotCompared] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)

    @property
    def findings(self) -> List[Row]:
        """One of the equivalent metrics."""
        return [row for row in self.rows if not row.says_same_as]

    def followers(self, finding: Row) -> List[Row]:
        """The equivalent ones."""
        return [row for row in self.rows if row.says_same_as == finding.metric and row.points == finding.points]

    def check(self) -> None:
        for status in STATUSES:
            reported, there = self.summary.of(status), sum(row.status == status for row in self.findings)
            if reported != there:
                raise Inconsistent(f"the summary says {reported} {status}, but {there} findings are")
        known = {(row.points, row.metric) for row in self.findings}
        for row in self.rows:
            if row.says_same_as and (row.points, row.says_same_as) not in known:
                raise Inconsistent(f"{row.metric} says the same as {row.says_same_as}, which is no finding of {row.points[0]}")


@dataclass(frozen=True)
class Comparison:
    schema: int
    headrace: Tool
    kind: str
    design: Design
    sides: List[Side]
    pairs: List[Pair]
    summary: Summary
    command: List[str] = field(default_factory=list)
    environment: Dict[str, str] = field(default_factory=dict)  # of the base
    fingerprint: List[Difference] = field(default_factory=list)
    history: History = field(default_factory=History)
    noise_floor: Optional[NoiseFloor] = None

    def check(self) -> None:
        labels = [side.label for side in self.sides]
        if len(labels) < 2 or len(set(labels)) != len(labels):
            raise Inconsistent("two sides or more, of different names, are expected")
        for pair in self.pairs:
            for label in (pair.base, pair.other):
                if label not in labels:
                    raise Inconsistent(f"side \"{label}\" is not among {', '.join(labels)}")
        if not self.pairs:
            raise Inconsistent("no pairs")
        for difference in self.fingerprint:
            if len(difference.values) != len(labels):
                raise Inconsistent(f"fingerprint {difference.key}: {len(difference.values)} values of {len(labels)} sides")

    def side(self, label: str) -> Side:
        return next(side for side in self.sides if side.label == label)
