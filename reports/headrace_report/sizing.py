"""size.json, schema 1, as Python types (docs/reference/size-json.md). Every decision is in it; pages only draw it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional

from .errors import Inconsistent
from .schema import OUTCOMES, NoiseFloor, Scalar, Tool

KIND = "headrace.size"
BASES = ("measured", "modelled", "extrapolated")


@dataclass(frozen=True)
class PlannedJob:
    name: str
    nodes: float
    gpus_per_node: float
    gpus: float
    safety: float
    description: str = ""
    file: str = ""
    values: Dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class UsedRun:
    run: str
    path: str
    node: str
    started_utc: str
    clients: int
    word: str
    config_hash: str = ""


@dataclass(frozen=True)
class Summary:
    word: str
    exit_code: int
    gpus: float
    basis: str
    sentence: str
    gpus_fed: Optional[float] = None  # None: nothing that feeds GPUs was measured
    low: Optional[float] = None
    high: Optional[float] = None
    phase: str = ""
    measured_nodes: Optional[float] = None
    samples: str = ""


@dataclass(frozen=True)
class Demand:
    required: float
    need: float
    per_gpu: float
    grows_with_gpus: bool
    formula: str = ""
    equation: str = ""
    substituted: str = ""


@dataclass(frozen=True)
class Supply:
    median: float
    low: float
    high: float
    clients: int
    per_client: float
    n: int
    basis: str
    run: str
    point: str
    metric: str
    sessions: int = 1
    differs: List[str] = field(default_factory=list)
    is_range: bool = False
    formula: str = ""
    equation: str = ""
    substituted: str = ""

    def check(self) -> None:
        if self.basis not in BASES:
            raise Inconsistent(f"basis '{self.basis}': one of {', '.join(BASES)}")
        if not self.low <= self.median <= self.high:
            raise Inconsistent(f"the median {self.median:g} does not lie within its bounds")


@dataclass(frozen=True)
class Bounded:
    """A value and its bounds; of GPUs with the formula that gave them."""

    median: float
    low: float
    high: float
    formula: str = ""
    equation: str = ""
    substituted: str = ""


@dataclass(frozen=True)
class Phase:
    phase: str
    title: str
    need: str
    unit: str
    demand: Demand
    supply: Supply
    outcome: str
    headroom: float
    headroom_low: float
    headroom_high: float
    nodes: Optional[float] = None  # that supply, headroom and gpus_fed are of; None: all of the job
    gpus: Optional[float] = None   # of those nodes
    local: bool = False
    gpus_fed: Optional[Bounded] = None  # None: the demand is the same for any number of GPUs
    reason: str = ""
    explanation: str = ""
    next_step: str = ""

    def share(self, job: PlannedJob) -> float:
        """Of the job's nodes, those that supply and headroom are of."""
        return 1.0 if self.nodes is None else self.nodes / job.nodes

    def check(self) -> None:
        if self.outcome not in OUTCOMES:
            raise Inconsistent(f"outcome '{self.outcome}': one of {', '.join(OUTCOMES)}")
        if self.demand.grows_with_gpus != (self.gpus_fed is not None):
            raise Inconsistent("GPUs are fed by what grows with them, and by nothing else")


@dataclass(frozen=True)
class Scaling:
    """Supply and demand over the number of GPUs."""

    phase: str
    unit: str
    measured_to_gpus: float
    gpus: List[float]
    supply: List[float]
    supply_low: List[float]
    supply_high: List[float]
    demand: List[float]
    extrapolated: List[bool]
    crossing: Optional[float] = None

    def check(self) -> None:
        # Supply ends where the growth with more nodes is unknown.
        lists = (self.supply_low, self.supply_high, self.extrapolated)
        if any(len(values) != len(self.supply) for values in lists) or len(self.demand) != len(self.gpus) \
                or not 0 < len(self.supply) <= len(self.gpus):
            raise Inconsistent("lists of different lengths")


@dataclass(frozen=True)
class CapacityPart:
    what: str
    bytes: float
    formula: str = ""
    equation: str = ""
    substituted: str = ""


@dataclass(frozen=True)
class Capacity:
    parts: List[CapacityPart]
    needed: float
    outcome: str
    explanation: str
    usable: Optional[float] = None
    size: Optional[float] = None


@dataclass(frozen=True)
class Tradeoff:
    interval_s: List[float]
    stall: List[float]
    rework: List[float]
    lost: List[float]

    def check(self) -> None:
        if len({len(self.interval_s), len(self.stall), len(self.rework), len(self.lost)}) > 1:
            raise Inconsistent("lists of different lengths")


@dataclass(frozen=True)
class Calendar:
    interval_s: float
    save_s: float
    stall_s: float
    stall_allowed_s: float
    stall_basis: str = ""
    restore_s: Optional[float] = None
    mtbf_s: Optional[float] = None
    young_s: Optional[float] = None
    daly_s: Optional[float] = None
    lost: Optional[float] = None
    goodput: Optional[float] = None
    tradeoff: Optional[Tradeoff] = None
    best_interval_s: Optional[float] = None
    asynchronous: bool = False

    JSON_NAMES = {"asynchronous": "async"}


@dataclass(frozen=True)
class Stretch:
    what: str
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Starvation:
    utilization: float
    phase: str
    epoch_steps: Optional[float] = None  # None: the job does not give what pricing the pipeline's fill needs
    fill_s: Optional[float] = None
    wall_clock_utilization: Optional[float] = None
    gpu_price_usd_per_hour: Optional[float] = None
    cost_usd_per_hour: Optional[float] = None
    cost_total_usd: Optional[float] = None
    formula: str = ""
    equation: str = ""
    substituted: str = ""


@dataclass(frozen=True)
class Fix:
    fix: str
    title: str
    phase: str
    command: str
    explanation: str
    gpus_fed: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    phase_headroom: Optional[Bounded] = None
    phase_gpus_fed: Optional[Bounded] = None
    set: List[str] = field(default_factory=list)
    capped: bool = False
    basis: str = ""
    built_on: List[str] = field(default_factory=list)
    formula: str = ""
    equation: str = ""
    substituted: str = ""

    def check(self) -> None:
        if self.basis not in ("",) + BASES:
            raise Inconsistent(f"basis '{self.basis}': one of {', '.join(BASES)}")
        if (self.phase_headroom is None) != (self.basis == ""):
            raise Inconsistent("a fix has a headroom and a basis, or neither")


@dataclass(frozen=True)
class Assumption:
    assumption: str
    unit: str
    value: float
    values: List[float]
    headroom: List[float]
    flips_at: Optional[float] = None

    def check(self) -> None:
        if len(self.values) != len(self.headroom):
            raise Inconsistent("lists of different lengths")


@dataclass(frozen=True)
class FormulaUse:
    id: str
    equation: str
    substituted: str
    value: float
    unit: str


@dataclass(frozen=True)
class NotMeasured:
    phase: str
    title: str
    why: str
    command: str


@dataclass(frozen=True)
class Sizing:
    schema: int
    kind: str
    headrace: Tool
    job: PlannedJob
    runs: List[UsedRun]
    summary: Summary
    phases: List[Phase]
    scaling: List[Scaling]
    capacity: Capacity
    cycle: List[Stretch]
    fixes: List[Fix]
    assumptions: List[Assumption]
    formulas: List[FormulaUse]
    not_measured: List[NotMeasured]
    calendar: Optional[Calendar] = None
    starvation: Optional[Starvation] = None
    noise_floor: Optional[NoiseFloor] = None

    def check(self) -> None:
        if not self.phases:
            raise Inconsistent("phases: one or more is expected")
        fed = [phase.gpus_fed.median for phase in self.phases if phase.gpus_fed and phase.share(self.job) == 1]
        fewest = min([self.job.gpus] + fed) if fed else None
        if self.summary.gpus_fed != fewest:
            reported = ["none" if one is None else f"{one:g}" for one in (self.summary.gpus_fed, fewest)]
            raise Inconsistent(f"the summary says {reported[0]} GPUs fed, the phases {reported[1]}")

    def phase(self, name: str) -> Optional[Phase]:
        return next((phase for phase in self.phases if phase.phase == name), None)
