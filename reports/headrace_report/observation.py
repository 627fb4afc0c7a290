"""observe.json, schema 1, as Python types (docs/reference/observe.md). Every decision is in it; pages only draw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from .errors import Inconsistent
from .schema import Histogram, Tool

KIND = "headrace.observation"
CONFIDENCES = ("high", "medium", "low", "guess")


@dataclass(frozen=True)
class Share:
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Learned:
    key: str
    text: str
    confidence: str
    evidence: str
    value: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    unit: str = ""

    def check(self) -> None:
        if self.confidence not in CONFIDENCES:
            raise Inconsistent(f"confidence '{self.confidence}': one of {', '.join(CONFIDENCES)}")

    @property
    def is_left_out(self) -> bool:
        """A number that is not known: the job file has none."""
        return bool(self.unit) and self.value is None


@dataclass(frozen=True)
class Limit:
    id: str
    sentence: str
    proof: List[str]
    advice: List[str]
    command: str = ""


@dataclass(frozen=True)
class Batches:
    begin_s: float
    end_s: float
    steps: float
    samples_per_s: float


@dataclass(frozen=True)
class Save:
    begin_s: float
    end_s: float
    bytes: float
    path: str


@dataclass(frozen=True)
class Series:
    time_s: List[float]
    read_bytes_per_s: List[float]
    written_bytes_per_s: List[float]
    device_bytes_per_s: List[float]
    device_reads_per_s: List[float]
    device_wait_s: List[float]
    batches_per_s: List[float]
    consumer: Dict[str, List[float]]
    workers: Dict[str, List[float]]
    # Absent where nothing was counted.
    client_bytes_per_s: List[float] = field(default_factory=list)
    client_read_s: List[float] = field(default_factory=list)
    client_queue_s: List[float] = field(default_factory=list)
    daemon_requests: List[float] = field(default_factory=list)
    gpu_busy: List[float] = field(default_factory=list)

    def check(self) -> None:
        lists = [self.read_bytes_per_s, self.written_bytes_per_s, self.device_bytes_per_s, self.device_reads_per_s, self.device_wait_s,
                 self.batches_per_s, *self.consumer.values(), *self.workers.values()]
        lists += [one for one in (self.client_bytes_per_s, self.client_read_s, self.client_queue_s, self.daemon_requests, self.gpu_busy) if one]
        if any(len(one) != len(self.time_s) for one in lists):
            raise Inconsistent("lists of different lengths")


@dataclass(frozen=True)
class CallTimes:
    """Reads and opens of files by a trace; in flight: reads, their mean in each part of the time."""

    read: Histogram
    open: Histogram
    mean_in_flight: float
    most_in_flight: int
    part_s: float
    in_flight: List[float]

    def check(self) -> None:
        if self.part_s <= 0:
            raise Inconsistent(f"{self.part_s:g}: a part of the time is longer than 0", "part_s")


@dataclass(frozen=True)
class Process:
    pid: int
    name: str
    role: str


@dataclass(frozen=True)
class Storage:
    device: str


@dataclass(frozen=True)
class Gpu:
    pci_address: str
    name: str
    memory_bytes: float
    shared: bool
    busy: Optional[Share] = None
    memory_busy: Optional[float] = None
    own_busy: Optional[float] = None


@dataclass(frozen=True)
class Observation:
    schema: int
    kind: str
    headrace: Tool
    command: List[str]
    elapsed_s: float
    batches: Batches
    limit: Limit
    consumer: Dict[str, Share]
    workers: Dict[str, Share]
    standing_still: Share
    storage: Storage
    learned: List[Learned]
    saves: List[Save]
    processes: List[Process]
    series: Series
    notes: List[str] = field(default_factory=list)
    gpus: List[Gpu] = field(default_factory=list)
    calls: Optional[CallTimes] = None  # of a trace alone
