"""history.json, schema 1, as Python types (docs/reference/fleet-json.md). Every decision is in it; pages only draw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from .errors import Inconsistent
from .schema import NoiseFloor, Tool

KIND = "headrace.history"


@dataclass(frozen=True)
class Summary:
    word: str
    exit_code: int
    runs: int
    series: int
    too_short: int
    changes: int
    unusual: int
    sentence: str
    missing: int = 0
    left_out: int = 0


@dataclass(frozen=True)
class PastRun:
    run: str
    path: str
    node: str
    started_utc: str
    config_hash: str
    word: str
    events: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Level:
    from_: int
    to: int
    median: float

    JSON_NAMES = {"from_": "from"}


@dataclass(frozen=True)
class Change:
    at: int
    before: float
    after: float
    p: float
    status: str
    between: List[str]
    events: List[str]
    explanation: str
    change: Optional[float] = None  # nothing where the level before was 0
    certain: bool = True            # neither a drift nor a chance order of two levels

    def check(self) -> None:
        if self.status not in ("worse", "better", "differs"):
            raise Inconsistent(f"status '{self.status}': one of worse, better, differs")


@dataclass(frozen=True)
class TwoLevels:
    """The newest runs go to and fro between them."""
    lower: float
    upper: float
    at_lower: int
    at_upper: int
    explanation: str


@dataclass(frozen=True)
class LeftOut:
    """A run that is no part of the levels."""
    run: int
    why: str
    median: Optional[float] = None


@dataclass(frozen=True)
class Newest:
    unusual: bool
    z: float
    explanation: str = ""
    left_out: str = ""


@dataclass(frozen=True)
class Series:
    node: str
    config_hash: str
    workload: str
    point: str
    metric: str
    unit: str
    better: str
    delta: float
    run: List[int]
    median: List[float]
    low: List[float]
    high: List[float]
    levels: List[Level]
    changes: List[Change]
    newest: Newest
    why: str = ""
    description: str = ""
    params: Dict[str, str] = field(default_factory=dict)
    left_out: List[LeftOut] = field(default_factory=list)
    correlation: float = 0.0
    wanders: bool = False
    gone: bool = False
    superseded: bool = False
    fact: bool = False  # read, not measured
    two_levels: Optional[TwoLevels] = None

    def check(self) -> None:
        if len({len(self.run), len(self.median), len(self.low), len(self.high)}) > 1 or not (self.run or self.left_out):
            raise Inconsistent("lists of different lengths, or empty ones")
        for change in self.changes:
            if not 0 < change.at < len(self.run):
                raise Inconsistent(f"there is no run {change.at} to change at")


@dataclass(frozen=True)
class Together:
    """A change of most nodes at one time."""
    point: str
    metric: str
    status: str
    change: float
    nodes: List[str]
    of: int
    between: List[str]
    explanation: str


@dataclass(frozen=True)
class Unreadable:
    path: str
    why: str


@dataclass(frozen=True)
class History:
    schema: int
    kind: str
    headrace: Tool
    summary: Summary
    p_limit: float
    permutations: int
    min_runs: int
    min_segment: int
    runs: List[PastRun]
    series: List[Series]
    unreadable: List[Unreadable]
    noise_floor: Optional[NoiseFloor] = None
    together: List[Together] = field(default_factory=list)

    def check(self) -> None:
        for series in self.series:
            named = [*series.run, *(one.run for one in series.left_out)]
            if max(named) >= len(self.runs) or min(named) < 0:
                raise Inconsistent(f"{series.metric} of {series.point}: there is no run {max(named)}")
        changes = sum(len(series.changes) for series in self.series)
        if changes != self.summary.changes:
            raise Inconsistent(f"the summary says {self.summary.changes} changes, but there are {changes}")
