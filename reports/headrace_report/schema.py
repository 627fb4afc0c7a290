"""run.json, schema 1, as Python types. The types are the schema: load.py reads by them and refuses what differs.

Fields with a default may be absent; everything else must be there. Values are SI (docs/reference/run-json.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from .errors import Inconsistent
from .schema_network import Collective, Group, Pairs, RankPhase, ScalingCurve, SlowestRank

SCHEMA = 1
KIND = "headrace.run"

OUTCOMES = ("PASS", "FAIL", "INCONCLUSIVE", "SKIPPED", "ERROR")
HISTOGRAM_BUCKETS = 64 * 37  # harness/record/histogram.h: 64 buckets for each power of two below 2^42 ns

Scalar = Union[bool, int, float, str]


@dataclass(frozen=True)
class Tool:
    version: str
    revision: str = ""
    compiler: str = ""
    build_type: str = "Release"
    sanitizers: str = ""


@dataclass(frozen=True)
class NoiseFloor:
    """What comparisons of this system show when nothing has changed: median floor, mean false-alarm rate."""

    source: str
    median: float
    false_alarm_rate: float


@dataclass(frozen=True)
class RunInfo:
    id: str
    name: str
    started_utc: str
    elapsed_s: float
    command: List[str]
    node: str
    config_file: str = ""
    config_hash: str = ""
    seed: int = 1
    signal: int = 0


@dataclass(frozen=True)
class Job:
    name: str
    description: str = ""
    safety: float = 1.0
    values: Dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Counts:
    """The one word for the whole run, and how many needs got which outcome."""

    word: str
    exit_code: int
    passed: int = 0
    fail: int = 0
    inconclusive: int = 0
    skipped: int = 0
    error: int = 0
    needs: Optional[int] = None  # older files have no such count, and count no points

    JSON_NAMES = {"passed": "pass"}

    def of(self, outcome: str) -> int:
        return self.passed if outcome == "PASS" else getattr(self, outcome.lower())


@dataclass(frozen=True)
class Judgement:
    id: str
    outcome: str
    scope: str = ""
    name: str = ""  # what people call the need; "" = only its id is known
    reason: str = ""
    explanation: str = ""
    next_step: str = ""
    thin: bool = False
    direction: str = "at_least"
    required: float = 0.0
    need: float = 0.0
    unit: str = ""
    measured: Optional[float] = None
    typical: Optional[float] = None
    lost_to_stalls: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    headroom: Optional[float] = None
    repetitions: int = 0
    point: str = ""
    way: str = ""    # how the point does what the job does; older files have none
    unproven: str = ""  # what the data that were there leave open of the job
    metric: str = ""
    formula: str = ""
    equation: str = ""
    substituted: str = ""

    def check(self) -> None:
        if self.outcome not in OUTCOMES:
            raise Inconsistent(f"outcome '{self.outcome}': one of {', '.join(OUTCOMES)}")
        if self.direction not in ("at_least", "at_most"):
            raise Inconsistent(f"direction '{self.direction}': at_least or at_most")
        worse = self.low if self.higher_is_better else self.high
        for value, at in ((self.measured, "measured"), (worse, "low" if self.higher_is_better else "high")):
            if self.outcome == "PASS" and value is not None and self.misses(value):
                raise Inconsistent(f"{value:g} misses the need of {self.need:g}, and yet it is PASS: edited by hand?", at)

    def misses(self, value: float) -> bool:
        slack = 1e-6 * abs(self.need)  # pages carry 7 digits
        return value < self.need - slack if self.higher_is_better else value > self.need + slack

    @property
    def higher_is_better(self) -> bool:
        return self.direction == "at_least"

    def ratio(self, value: Optional[float]) -> Optional[float]:
        """A value of the metric as headroom: above 1 is met whichever way the need points."""
        if value is None or value <= 0 or self.need <= 0:
            return None
        return value / self.need if self.higher_is_better else self.need / value

    @property
    def ratio_bounds(self) -> Tuple[Optional[float], Optional[float]]:
        """The deciding bounds as headroom, worse one first; None where a side has no bound."""
        low, high = self.ratio(self.low), self.ratio(self.high)
        return (low, high) if self.higher_is_better else (high, low)


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str
    values: List[float]
    better: str = "higher"
    description: str = ""
    median: Optional[float] = None
    mean_over_time: Optional[float] = None
    low: Optional[float] = None
    high: Optional[float] = None
    is_range: bool = False
    too_few_operations: bool = False

    @property
    def shown(self) -> Optional[float]:
        """What a reader is given: of a rate work over time, else the median."""
        return self.median if self.mean_over_time is None else self.mean_over_time


@dataclass(frozen=True)
class Histogram:
    """Latency counts of the log-linear scheme of harness/record/histogram.h: [bucket index, count]."""

    min_ns: int = 0
    max_ns: int = 0
    buckets: List[Tuple[int, int]] = field(default_factory=list)

    def check(self) -> None:
        last = -1
        for index, count in self.buckets:
            if not last < index < HISTOGRAM_BUCKETS:
                raise Inconsistent(f"bucket {index}: indices ascend and stay below {HISTOGRAM_BUCKETS}")
            if count < 0:
                raise Inconsistent(f"bucket {index}: a count cannot be {count}")
            last = index


@dataclass(frozen=True)
class Series:
    time_s: List[float] = field(default_factory=list)
    bytes_per_s: List[float] = field(default_factory=list)
    operations_per_s: List[float] = field(default_factory=list)
    latency_p99_ns: List[float] = field(default_factory=list)

    def check(self) -> None:
        lengths = {len(self.time_s), len(self.bytes_per_s), len(self.operations_per_s), len(self.latency_p99_ns)}
        if len(lengths) > 1:
            raise Inconsistent(f"lists of different lengths: {', '.join(map(str, sorted(lengths)))}")


@dataclass(frozen=True)
class Background:
    """The work of other workers next to the measured ones. Times are from the phase's start."""

    begin_s: float
    end_s: float
    bytes: int = 0
    operations: int = 0
    errors: int = 0
    latency: Histogram = field(default_factory=Histogram)
    series: Series = field(default_factory=Series)


@dataclass(frozen=True)
class Phase:
    name: str
    elapsed_s: float
    bytes: int
    operations: int
    errors: int = 0
    first_finish_s: float = 0.0
    cpu_s: float = 0.0
    storage_bytes: int = 0
    device_bytes: int = 0
    steady_from_s: float = 0.0
    latency: Histogram = field(default_factory=Histogram)
    parts: Dict[str, Histogram] = field(default_factory=dict)
    worker_finish_s: List[float] = field(default_factory=list)
    worker_bytes: List[int] = field(default_factory=list)
    series: Series = field(default_factory=Series)
    background: Optional[Background] = None
    ranks: List[RankPhase] = field(default_factory=list)
    slowest_rank: Optional[int] = None
    slowest_series: Series = field(default_factory=Series)


@dataclass(frozen=True)
class Cache:
    """Shares are of the data set's bytes, 0..1; negative = could not be measured."""

    declared: str = "asis"
    required: bool = False  # a state was declared, and had to be proven
    proven: bool = False
    why: str = ""
    resident_before: float = -1.0
    resident_after: float = -1.0
    delivered_bytes: int = 0
    storage_bytes: int = 0
    device_bytes: int = 0
    counter: str = ""  # the counter of storage_bytes; "" = none
    method: str = ""


@dataclass(frozen=True)
class ClientOperation:
    """Requests of one kind to a network file system's servers; times are of all of them together."""

    operation: str
    requests: int = 0
    repeats: int = 0
    errors: int = 0
    queue_s: float = 0.0
    round_trip_s: float = 0.0
    execution_s: float = 0.0


@dataclass(frozen=True)
class ClientCalls:
    counter: str = ""  # that reports; "" in older files: mountstats, of NFS
    connections: int = 0
    most_slots: int = 0  # at once on one connection since the mount; 0 = not counted
    sent: int = 0
    in_flight: float = 0.0  # mean on a connection, when a request was sent
    waiting: float = 0.0  # for a slot; the same unit
    operations: List[ClientOperation] = field(default_factory=list)


@dataclass(frozen=True)
class Disturbance:
    """Pressures and steal are shares of time, 0..1; negative = the kernel does not report."""

    disturbed: bool = False
    why: str = ""
    foreign_bytes: int = 0
    cpu_steal: float = 0.0
    io_pressure: float = -1.0
    cpu_pressure: float = -1.0
    memory_pressure: float = -1.0
    throttled_s: float = 0.0
    foreign_cpu: float = -1.0  # share of all processor time that other programs took
    probe_before_ns: float = -1.0  # the control probe; negative = not taken
    probe_after_ns: float = -1.0


@dataclass(frozen=True)
class FirstTouch:
    """Free memory that was touched before the point."""

    needed_bytes: int = 0
    touched_bytes: int = 0
    elapsed_s: float = 0.0


@dataclass(frozen=True)
class StageSpan:
    """One item of work in one stage of a pipeline."""

    item: int
    stage: str
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class StepWindow:
    """Steps of an input pipeline that are reported together: shares of the possible, and of the time."""

    begin_s: float
    end_s: float
    steps: int
    ready: float
    waiting: float
    host: float
    saving: float = 0.0
    others: float = 0.0
    copying: float = 0.0


@dataclass(frozen=True)
class Step:
    """One step of the GPUs that an input pipeline feeds; parts are the mean of the GPUs."""

    number: int
    begin_s: float
    end_s: float
    wait_s: float
    host_s: float
    ready: float
    others_s: float = 0.0
    save_s: float = 0.0
    copy_s: float = 0.0


@dataclass(frozen=True)
class Steps:
    """Of the last repetition that ran to its end."""

    compute_s: float
    windows: List[StepWindow]
    first: List[Step]
    slowest: List[Step]


@dataclass(frozen=True)
class Repetition:
    index: int
    status: str = "ok"
    look: int = 0
    counted: bool = True  # among the values of the metrics
    error: str = ""
    steady: bool = True
    steady_why: str = ""
    metrics: Dict[str, float] = field(default_factory=dict)
    cache: Cache = field(default_factory=Cache)
    client: ClientCalls = field(default_factory=ClientCalls)
    disturbance: Disturbance = field(default_factory=Disturbance)
    phases: List[Phase] = field(default_factory=list)
    pairs: Optional[Pairs] = None

    @property
    def in_numbers(self) -> bool:
        """Whether the numbers of its point come from it too."""
        return self.status == "ok" and self.counted


@dataclass(frozen=True)
class Point:
    id: str
    workload: str
    status: str
    description: str = ""
    reason: str = ""
    params: Dict[str, Scalar] = field(default_factory=dict)
    cache: str = "asis"
    notes: List[str] = field(default_factory=list)
    left_out: Dict[str, int] = field(default_factory=dict)
    verified: bool = False
    wrong_blocks: List[Any] = field(default_factory=list)
    first_touch: FirstTouch = field(default_factory=FirstTouch)
    elapsed_s: float = 0.0
    looks: List[int] = field(default_factory=list)
    ranks: List[int] = field(default_factory=list)
    latency_parts: List[str] = field(default_factory=list)
    metrics: List[Metric] = field(default_factory=list)
    repetitions: List[Repetition] = field(default_factory=list)
    stages: List[StageSpan] = field(default_factory=list)  # a stretch of the last repetition of a pipeline
    steps: Optional[Steps] = None  # of an input pipeline whose GPUs compute
    nodes: int = 1
    pairs: Optional[Pairs] = None
    facts: Dict[str, str] = field(default_factory=dict)  # how it was done, by name
    group: Optional[Group] = None  # of collectives
    slowest_rank: Optional[SlowestRank] = None

    @property
    def finished(self) -> List[Repetition]:
        """The repetitions that gave the numbers of the point."""
        return [repetition for repetition in self.repetitions if repetition.in_numbers]


@dataclass(frozen=True)
class Expected:
    """A figure compared with that of sound hardware of the same kind."""

    JSON_NAMES = {"reported": "told"}
    point: str
    metric: str
    part: str      # "gpu0"
    standing: str  # "far below", "perhaps far below", "below", "usual", "above", "not known"
    reported: str  # all of it, as a sentence
    source: str
    share: Optional[float] = None  # of what the part can carry at most
    measured: Optional[float] = None  # B/s
    usual: List[float] = field(default_factory=list)  # lowest and highest share


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal came to, a sentence each."""

    JSON_NAMES = {"reported": "told"}
    reported: List[str]
    point: str = ""  # the whole pipeline


@dataclass(frozen=True)
class Run:
    schema: int
    kind: str
    headrace: Tool
    run: RunInfo
    summary: Counts
    job: Optional[Job] = None
    not_asked: List[str] = field(default_factory=list)
    judgements: List[Judgement] = field(default_factory=list)
    points: List[Point] = field(default_factory=list)
    collectives: List[Collective] = field(default_factory=list)  # those that were measured at several sizes
    scaling: List[ScalingCurve] = field(default_factory=list)  # absent where clients were not varied
    rehearsal: Optional[Rehearsal] = None  # of a job's input pipeline
    parts: List[Any] = field(default_factory=list)  # of the machine, and what they can carry; for `headrace verdict --expect`
    expected: List[Expected] = field(default_factory=list)
    environment: Dict[str, Dict[str, Scalar]] = field(default_factory=dict)
    noise_floor: Optional[NoiseFloor] = None

    def check(self) -> None:
        seen = set()
        for point in self.points:
            if point.id in seen:
                raise Inconsistent(f"two points are called '{point.id}'")
            seen.add(point.id)
        self._check_summary()

    def _check_summary(self) -> None:
        """Counts, word and exit code follow from the judgements and from failed or skipped points
        (harness/judge/verdict/verdict.h)."""
        count = {outcome: sum(judgement.outcome == outcome for judgement in self.judgements) for outcome in OUTCOMES}
        in_error = {judgement.point for judgement in self.judgements if judgement.outcome == "ERROR"}
        failed = sum(point.status == "error" and point.id not in in_error for point in self.points)
        skipped = 0 if self.judgements else sum(point.status == "skipped" for point in self.points)
        word, code = self._conclusion(count, failed, skipped)
        if self.summary.needs is not None:
            count["ERROR"] += failed
            count["SKIPPED"] += skipped
        reported: List[Tuple[str, Scalar, Scalar, str]] = [
            (outcome.lower(), self.summary.of(outcome), count[outcome], f" {outcome}") for outcome in OUTCOMES]
        reported += [("word", self.summary.word, word, ""), ("exit_code", self.summary.exit_code, code, " as exit code")]
        if self.summary.needs is not None:
            reported.append(("needs", self.summary.needs, len(self.judgements), " needs"))
        for key, value, expected, of in reported:
            if value != expected:
                raise Inconsistent(f"summary says {value}{of}, the judgements say {expected}: edited by hand?",
                                   f"summary.{key}")

    def _conclusion(self, count: Mapping[str, int], failed: int, skipped: int) -> Tuple[str, int]:
        if self.run.signal:
            return "INTERRUPTED", 128 + self.run.signal
        if count["FAIL"]:
            return "FAIL", 10
        if count["ERROR"] or failed:
            return "ERROR", 1
        if count["INCONCLUSIVE"]:
            return "INCONCLUSIVE", 11
        if count["SKIPPED"] or skipped:
            everything = not count["PASS"] if self.judgements else skipped == len(self.points)
            return ("SKIPPED", 77) if everything else ("INCOMPLETE", 12)
        return ("PASS", 0) if self.judgements else ("MEASURED", 0)

    def point(self, id: str) -> Optional[Point]:
        return next((point for point in self.points if point.id == id), None)

    def judgements_of(self, point: Point) -> List[Judgement]:
        return [judgement for judgement in self.judgements if judgement.point == point.id]
