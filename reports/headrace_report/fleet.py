"""fleet.json, schema 1, as Python types (docs/reference/fleet-json.md). Every decision is in it; pages only draw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from .errors import Inconsistent
from .schema import Tool
from .schema_network import Pairs

KIND = "headrace.fleet"
STATUSES = ("confirmed", "suspected", "passing")


def check_status(status: str) -> None:
    if status not in STATUSES:
        raise Inconsistent(f"status '{status}': one of {', '.join(STATUSES)}")


@dataclass(frozen=True)
class Summary:
    word: str
    exit_code: int
    expected: int
    reported: int
    judged: int
    outliers: int
    suspects: int
    group_effects: int
    needs_failed: int
    sentence: str
    passing: int = 0
    suspected_effects: int = 0
    slow_pairs: int = 0
    suspected_pairs: int = 0
    words: Dict[str, int] = field(default_factory=dict)  # the number of nodes for each of their own outcomes


@dataclass(frozen=True)
class Missing:
    node: str
    why: str
    next_step: str = ""


@dataclass(frozen=True)
class Unreadable:
    path: str
    node: str
    why: str


@dataclass(frozen=True)
class GroupDifference:
    key: str
    value: str
    usual: str


@dataclass(frozen=True)
class GroupShift:
    """The distance of a group's level from that of the largest one."""
    metric: int
    shift: float


@dataclass(frozen=True)
class Group:
    id: str
    nodes: int
    judged: bool
    why: str = ""
    differs: List[GroupDifference] = field(default_factory=list)
    shifts: List[GroupShift] = field(default_factory=list)


@dataclass(frozen=True)
class Metric:
    workload: str
    point: str
    metric: str
    unit: str
    better: str
    delta: float
    description: str = ""
    params: Dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Limit:
    group: str
    metric: int
    n: int
    median: float
    spread: float
    low: Optional[float] = None
    high: Optional[float] = None


@dataclass(frozen=True)
class Node:
    node: str
    group: str
    run: str
    path: str
    started_utc: str
    runs: int
    word: str
    values: List[Optional[float]]
    deviation: List[Optional[float]]
    attributes: Dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outlier:
    node: str
    metric: int
    value: float
    median: float
    status: str
    explanation: str
    deviation: Optional[float] = None
    z: Optional[float] = None
    next_step: str = ""
    again: Optional[float] = None
    again_run: str = ""

    def check(self) -> None:
        check_status(self.status)


@dataclass(frozen=True)
class GroupEffect:
    """What nodes share: of a rack or a setting; of two humps that nothing explains both names are empty."""
    attribute: str
    name: str
    metric: int
    z: float
    nodes: List[str]
    explanation: str
    status: str
    shift: Optional[float] = None
    usual: float = 0.0
    level: float = 0.0
    again: Optional[float] = None
    next_step: str = ""

    def check(self) -> None:
        check_status(self.status)


@dataclass(frozen=True)
class SlowPair:
    """A slow node, rail or link of a matrix."""
    kind: str
    subject: str
    explanation: str
    status: str

    def check(self) -> None:
        check_status(self.status)


@dataclass(frozen=True)
class NodeNoise:
    """What the nodes' own noise floors are together: shares."""
    nodes: int
    median: float
    false_alarm_rate: float
    highest: float
    highest_node: str


@dataclass(frozen=True)
class JudgedPairs:
    workload: str
    point: str
    run: str
    path: str
    started_utc: str
    pairs: Pairs
    findings: List[SlowPair]


@dataclass(frozen=True)
class Fleet:
    schema: int
    kind: str
    headrace: Tool
    summary: Summary
    delta_rate: float
    delta_tail: float
    limit_z: float
    mad_floor: float
    missing: List[Missing]
    unreadable: List[Unreadable]
    groups: List[Group]
    metrics: List[Metric]
    limits: List[Limit]
    nodes: List[Node]
    outliers: List[Outlier]
    group_effects: List[GroupEffect]
    pairs: List[JudgedPairs]
    hosts_file: str = ""
    fewest_alike: int = 8
    noise_floor: Optional[NodeNoise] = None

    def check(self) -> None:
        names = {group.id for group in self.groups}
        for node in self.nodes:
            if len(node.values) != len(self.metrics) or len(node.deviation) != len(self.metrics):
                raise Inconsistent(f"node {node.node}: {len(node.values)} values of {len(self.metrics)} metrics")
            if node.group not in names:
                raise Inconsistent(f"node {node.node}: there is no group \"{node.group}\"")
        for one in (*self.outliers, *self.limits, *self.group_effects):
            if not 0 <= one.metric < len(self.metrics):
                raise Inconsistent(f"there is no metric {one.metric}")
        confirmed = sum(outlier.status == "confirmed" for outlier in self.outliers)
        if confirmed != self.summary.outliers:
            raise Inconsistent(f"the summary says {self.summary.outliers} outliers, but {confirmed} are confirmed")
