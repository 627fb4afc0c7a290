"""The parts of run.json that report on several processes: ranks, pairs of nodes, collectives, numbers of clients.

As in schema.py: the types are the schema, and values are SI.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional, Tuple

from .errors import Inconsistent


@dataclass(frozen=True)
class RankPhase:
    """The work of one of several processes."""

    rank: int
    elapsed_s: float
    first_finish_s: float = 0.0
    bytes: int = 0
    operations: int = 0
    errors: int = 0


@dataclass(frozen=True)
class UnreachedPair:
    """Two ends that cannot be connected; indices of names."""

    a: int
    b: int
    why: str = ""


@dataclass(frozen=True)
class Pairs:
    """Rates between nodes [from][to]; negative = not measured. Blamed: indices of names."""

    names: List[str]
    rate: List[List[float]]
    reference: float = 0.0
    blamed_nodes: List[int] = field(default_factory=list)
    blamed_links: List[Tuple[int, int]] = field(default_factory=list)
    rails: List[str] = field(default_factory=list)  # names are then of their ends, rail by rail
    rail_reference: List[float] = field(default_factory=list)
    blamed_rails: List[int] = field(default_factory=list)
    unreached: List[UnreachedPair] = field(default_factory=list)

    def check(self) -> None:
        count = len(self.names)
        if self.rails and count % len(self.rails):
            raise Inconsistent(f"names: {count} ends cannot be of {len(self.rails)} rails")
        if any(not 0 <= rail < len(self.rails) for rail in self.blamed_rails):
            raise Inconsistent("blamed_rails: there is no such rail")
        if len(self.rate) != count or any(len(row) != count for row in self.rate):
            raise Inconsistent(f"rate: {count} rows of {count} are expected, one for each name")
        used = [*self.blamed_nodes, *(node for link in self.blamed_links for node in link), *(end for one in self.unreached for end in (one.a, one.b))]
        if any(not 0 <= node < count for node in used):
            raise Inconsistent("blamed: there is no such name")


@dataclass(frozen=True)
class Group:
    """Ranks that did a collective together, and how many such groups at the same time."""

    ranks: int
    nodes: int = 1
    groups: int = 1


@dataclass(frozen=True)
class Fitted:
    """A fitted number and its 95 % interval; no `high`: the data set no bound."""

    value: float
    low: float
    high: Optional[float] = None


@dataclass(frozen=True)
class FittedSize:
    point: str
    message_bytes: float
    measured_s: float
    fitted_s: float


@dataclass(frozen=True)
class Prediction:
    """The time of one of the job's collectives, by a fitted model of the links."""

    need: str
    message_bytes: float
    ranks: float
    calls: float
    ring_s: float
    step_s: float
    hidden_s: float
    exposed_s: float
    busbw: float = 0.0
    busbw_required: float = 0.0
    tree_s: Optional[float] = None
    crossover_bytes: Optional[float] = None


@dataclass(frozen=True)
class FabricPrediction:
    message_bytes: float
    intra_bytes_per_s: float
    nic_bytes_per_s: float
    nic_under_load: float
    two_level_s: float
    multirail_s: float
    nic_efficiency: Optional[float] = None
    nics: Optional[float] = None


@dataclass(frozen=True)
class Collective:
    """One collective at several sizes: time = fixed_s + size / bytes_per_s."""

    workload: str
    ranks: int
    fixed_s: Fitted
    bytes_per_s: Fitted
    worst_error: float
    hop_s: Fitted
    link_bytes_per_s: Fitted
    sizes: List[FittedSize] = field(default_factory=list)
    job: List[Prediction] = field(default_factory=list)
    fabric: Optional[FabricPrediction] = None


@dataclass(frozen=True)
class SlowestRank:
    """Which rank was the slowest the most often, in how many of that many phases."""

    rank: int
    host: str
    times: int
    of: int


@dataclass(frozen=True)
class Clients:
    """What that many clients gave together; expected by G6; efficiency: of as many times one client's."""

    clients: int
    point: str
    rate: float
    expected: float
    efficiency: float


@dataclass(frozen=True)
class ScalingCurve:
    """One workload over numbers of clients, fewest first, as judged."""

    workload: str
    metric: str
    unit: str
    at: List[Clients]
    per_client: float
    saturated: bool
    most: float
    finding: str
    saturation_clients: Optional[float] = None
    reached_by: Optional[int] = None
    formula: str = ""
    substituted: str = ""

    def check(self) -> None:
        if len(self.at) < 2 or any(a.clients >= b.clients for a, b in zip(self.at, self.at[1:])):
            raise Inconsistent("at: two numbers of clients or more, fewest first")
