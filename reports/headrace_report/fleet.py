"""fleet.json, schema 1, as Python types (docs/run-files.md). Every decision stands in it; pages only draw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from .errors import Inconsistent
from .schema import Tool

KIND = "headrace.fleet"
STATUSES = ("confirmed", "suspected", "passing")


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
class Group:
    id: str
    nodes: int
    judged: bool
    why: str = ""
    differs: List[GroupDifference] = field(default_factory=list)


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
    deviation: float
    z: float
    status: str
    explanation: str
    next_step: str = ""
    again: Optional[float] = None
    again_run: str = ""

    def check(self) -> None:
        if self.status not in STATUSES:
            raise Inconsistent(f"status '{self.status}': one of {', '.join(STATUSES)}")


@dataclass(frozen=True)
class GroupEffect:
    attribute: str
    name: str
    metric: int
    shift: float
    z: float
    nodes: List[str]
    explanation: str


@dataclass(frozen=True)
class Blamed:
    node: str
    partners: int
    slow: int
    explanation: str


@dataclass(frozen=True)
class Link:
    from_: str
    to: str
    value: float
    deviation: float

    JSON_NAMES = {"from_": "from"}


@dataclass(frozen=True)
class NodeNoise:
    """What the nodes' own noise floors are together: shares."""
    nodes: int
    median: float
    false_alarm_rate: float
    highest: float
    highest_node: str


@dataclass(frozen=True)
class Pairs:
    workload: str
    point: str
    metric: str
    unit: str
    nodes: List[str]
    values: List[List[Optional[float]]]
    median: float
    limit: float
    blamed: List[Blamed]
    links: List[Link]
    better: str = "higher"

    def check(self) -> None:
        if any(len(row) != len(self.nodes) for row in self.values) or len(self.values) != len(self.nodes):
            raise Inconsistent("the matrix is not as wide and high as there are nodes")


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
    pairs: List[Pairs]
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
            raise Inconsistent(f"the summary tells {self.summary.outliers} outliers, but {confirmed} are confirmed")
