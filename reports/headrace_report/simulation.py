"""simulation.json, schema 1, as Python types (docs/reference/simulate.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from .errors import Inconsistent
from .schema import Scalar, Tool

KIND = "headrace.simulation"


@dataclass(frozen=True)
class SimulatedJob:
    name: str
    gpus_per_node: float
    description: str = ""
    values: Dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Summary:
    word: str
    exit_code: int
    sentence: str
    cause: str = ""


@dataclass(frozen=True)
class Spread:
    """A figure of one number of nodes over all seeds."""

    figure: str
    scenario: str
    title: str
    unit: str
    median: float
    low: float
    high: float
    limit: str
    required: Optional[float] = None
    expected_to_meet: bool = True
    fails: bool = False

    def check(self) -> None:
        if not self.low <= self.median <= self.high:
            raise Inconsistent(f"the median {self.median:g} does not lie within its bounds")


@dataclass(frozen=True)
class Scale:
    nodes: float
    gpus: float
    basis: str
    figures: List[Spread]

    def find(self, figure: str) -> Optional[Spread]:
        return next((one for one in self.figures if one.figure == figure), None)


@dataclass(frozen=True)
class Break:
    figure: str
    scenario: str
    limit: str
    nodes: Optional[float] = None       # that it misses from, up to the most
    holds_to: float = 0.0
    holds_from: Optional[float] = None  # with fewer it misses

    def check(self) -> None:
        if (self.nodes is None) == (self.holds_from is None):
            raise Inconsistent("a limit is missed with many nodes or with few")


@dataclass(frozen=True)
class Gain:
    """What a tenth more of a value of the system changes."""

    key: str
    median: float
    better: float
    gain: float
    price_usd: Optional[float] = None

    JSON_NAMES = {"median": "from", "better": "to"}


@dataclass(frozen=True)
class Storm:
    """Rates of all flows, and how many of them each part limited, from each moment to the next."""

    scenario: str
    nodes: float
    at_s: List[float]
    rate: List[float]
    client: List[float]
    uplink: List[float]
    store: List[float]
    waiting: List[float]

    def check(self) -> None:
        if len({len(values) for values in (self.at_s, self.rate, self.client, self.uplink, self.store, self.waiting)}) > 1:
            raise Inconsistent("lists of different lengths")


@dataclass(frozen=True)
class Simulation:
    schema: int
    kind: str
    headrace: Tool
    job: SimulatedJob
    summary: Summary
    seed: int
    seeds: int
    sources: List[str]
    missing: List[str]
    scales: List[Scale]
    breaks: List[Break]
    gained: str
    gains: List[Gain]
    storm: Optional[Storm] = None

    JSON_NAMES = {"sources": "from"}

    def check(self) -> None:
        if not self.scales:
            raise Inconsistent("no number of nodes was simulated")
