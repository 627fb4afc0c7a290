"""bringup.json, schema 1, as Python types (docs/reference/bringup-json.md). Every decision is in it; pages only draw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .errors import Inconsistent

KIND = "headrace.bringup"
STATES = ("new", "suspect", "confirmed", "drained", "flapping", "retested", "accepted")
NODE_SCOPES = ("node", "NIC")


@dataclass(frozen=True)
class Missing:
    why: str
    fix: str


@dataclass(frozen=True)
class Difference:
    JSON_NAMES = {"reported": "told"}
    what: str
    reported: str
    fix: str
    fault: bool


@dataclass(frozen=True)
class Node:
    name: str
    state: str
    rack: str = ""
    switch: str = ""
    rail: List[str] = field(default_factory=list)
    rails: List[str] = field(default_factory=list)  # where RDMA was measured: the names of all, those by TCP first
    missing: Optional[Missing] = None
    differences: List[Difference] = field(default_factory=list)
    clock_s: Optional[float] = None
    facts: Optional[Any] = None

    def check(self) -> None:
        if self.state not in STATES:
            raise Inconsistent(f"state '{self.state}': one of {', '.join(STATES)}")

    @property
    def where(self) -> str:
        return ", ".join(f"{key} {value}" for key, value in (("rack", self.rack), ("switch", self.switch)) if value)


@dataclass(frozen=True)
class Pair:
    """The rates of two nodes over a rail: from the first to the second, and back."""

    nodes: Tuple[int, int]
    rail: int
    rate: Tuple[float, float]
    resent: Tuple[float, float]
    latency_s: Tuple[float, float, float]  # least, median, p99
    errors: List[Dict[str, int]] = field(default_factory=list)  # by RDMA: by how much either end's port counted errors of its own


@dataclass(frozen=True)
class FailedPair:
    nodes: Tuple[int, int]
    rail: int
    why: str
    damaged: bool = False


@dataclass(frozen=True)
class Round:
    took_s: float
    pairs: List[Pair]
    failed: List[FailedPair]


@dataclass(frozen=True)
class TestedMetric:
    point: str
    metric: str
    unit: str
    better: str = "higher"
    workload: str = ""
    description: str = ""


@dataclass(frozen=True)
class TestedNode:
    """What a node measured by itself, along the metrics."""

    node: int
    values: List[Optional[float]]
    disturbed: float = 0.0
    without: Dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeTests:
    started_utc: str
    took_s: float
    metrics: List[TestedMetric]
    nodes: List[TestedNode]

    def check(self) -> None:
        if any(len(node.values) > len(self.metrics) for node in self.nodes):
            raise Inconsistent("more values than metrics", "nodes")


@dataclass(frozen=True)
class GroupValue:
    point: str
    metric: str
    unit: str
    value: float


@dataclass(frozen=True)
class LoadPhase:
    """A way in which the job uses storage, by all clients at once."""

    phase: str
    title: str
    unit: str
    outcome: str
    clients: int
    per_node: float
    in_all: float
    need: float
    explanation: str = ""
    next_step: str = ""


@dataclass(frozen=True)
class GroupRun:
    """What nodes measured together."""

    what: str
    nodes: List[int]
    took_s: float
    values: List[GroupValue] = field(default_factory=list)
    phases: List[LoadPhase] = field(default_factory=list)
    why: str = ""  # it came to no end


@dataclass(frozen=True)
class Session:
    started_utc: str
    retest: List[int]
    rounds: List[Round]
    elapsed_s: float = 0.0
    tests: List[NodeTests] = field(default_factory=list)
    groups: List[GroupRun] = field(default_factory=list)
    rdma_rails: List[str] = field(default_factory=list)  # places of the ports that were measured by RDMA


@dataclass(frozen=True)
class Skipped:
    """A step that was left out."""

    step: str
    why: str


@dataclass(frozen=True)
class Fault:
    scope: str
    subject: str
    reported: str
    fix: str
    loss: float
    healthy: float
    in_: List[str]

    JSON_NAMES = {"in_": "in", "reported": "told"}

    @property
    def node(self) -> str:
        """The node that it is of; "" where it is no node's. A NIC is reported as "node3 eth1"."""
        return self.subject.split(" ")[0] if self.scope in NODE_SCOPES else ""


@dataclass(frozen=True)
class Step:
    when: str
    command: str


@dataclass(frozen=True)
class Commands:
    drain: List[str]
    resume: List[str]


@dataclass(frozen=True)
class HandOver:
    bad_nodes: str
    slurm: Commands
    kubernetes: Commands


@dataclass(frozen=True)
class Bringup:
    schema: int
    kind: str
    headrace: str
    word: str
    exit_code: int
    sentence: str
    hosts_file: str
    launch: str
    time_s: float
    streams: int
    paths: List[str]
    alpha: float
    beta: float
    delta: float
    seed: int
    most_rounds: int
    every_link: bool
    faults: List[Fault]
    hand_over: HandOver
    nodes: List[Node]
    sessions: List[Session]
    running: bool = False
    simulated: str = ""
    states: Dict[str, str] = field(default_factory=dict)
    usual_rate: List[float] = field(default_factory=list)
    next: List[Step] = field(default_factory=list)
    skipped: List[Skipped] = field(default_factory=list)

    def check(self) -> None:
        names = {node.name for node in self.nodes}
        for number, session in enumerate(self.sessions):
            reported = [pair.nodes for one in session.rounds for pair in (*one.pairs, *one.failed)]
            tested = [one.node for tests in session.tests for one in tests.nodes] + [node for group in session.groups for node in group.nodes]
            if any(not 0 <= node < len(self.nodes) for node in tested):
                raise Inconsistent(f"sessions[{number}]: tests of nodes that are not there", "sessions")
            if any(not 0 <= end < len(self.nodes) for pair in reported for end in pair):
                raise Inconsistent(f"sessions[{number}]: a pair of nodes that are not there", "sessions")
        for fault in self.faults:
            if fault.node and fault.node not in names:
                raise Inconsistent(f"{fault.scope} {fault.subject}: no such node", "faults")

    @property
    def summary(self) -> "Bringup":
        """Where other documents have their word."""
        return self

    @property
    def tcp_rails(self) -> int:
        return max([1, *(len(node.rail) for node in self.nodes)])

    @property
    def rails(self) -> int:
        """Those by TCP, then those by RDMA."""
        return max([self.tcp_rails, *(len(node.rails) for node in self.nodes)])

    def rail_name(self, node: int, rail: int) -> str:
        """"" where the only one needs no name."""
        names = self.nodes[node].rails or self.nodes[node].rail
        return names[rail] if rail < len(names) else ""

    def pairs(self) -> Iterator[Pair]:
        """Of all sessions, as far as they count: what a node reached before its last retest does not."""
        since = [0] * len(self.nodes)
        for number, session in enumerate(self.sessions):
            for node in session.retest:
                since[node] = number
        for number, session in enumerate(self.sessions):
            for one in session.rounds:
                yield from (pair for pair in one.pairs if number >= since[pair.nodes[0]] and number >= since[pair.nodes[1]])

    def usual(self, rail: int) -> float:
        """What pairs usually reach [B/s]; 0: too few nodes met to report."""
        return self.usual_rate[rail] if rail < len(self.usual_rate) else 0.0
