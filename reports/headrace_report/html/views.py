"""From the run's types to the rows and texts that the templates print."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from .. import words
from ..schema import Disturbance, Expected, Judgement, Metric, Point, Repetition, Run, Scalar
from ..units import (NBSP, bounds, duration, headroom, is_memory, plural, quantity, scale_of, share)

DASH = "\u2013"


@dataclass
class NeedRow:
    """One need as the first table reports it."""

    judgement: Judgement
    name: str
    alike: List[Judgement]  # other needs that the same test answers alike
    others: str        # their names and values
    unproven: List[str]  # what the data leave open of the job
    scope: str
    symbol: str
    tone: str
    required: str      # the required value
    margin: str        # how it follows from the job: value x safety
    measured: str
    bounds: str
    headroom: str
    headroom_bounds: str
    how: str           # "as the job reads", or "measured by" the point itself; "" = nothing was judged
    way: str
    anchor: str        # of the point that measured it, "" = none on the page


@dataclass
class Step:
    """One thing to do next."""

    text: str
    is_command: bool
    needs: List[str]
    tone: str


def need_rows(run: Run, anchors: Dict[str, str]) -> List[NeedRow]:
    return [_need_row(run, group[0], group[1:], anchors) for group in words.same_tests(run.judgements)]


def _need_row(run: Run, j: Judgement, alike: List[Judgement], anchors: Dict[str, str]) -> NeedRow:
    others = ", ".join(f"{words.need_name(one)} {quantity(one.measured, one.unit, is_memory(one.id, one.unit))} of "
                       f"{quantity(one.need, one.unit, is_memory(one.id, one.unit))}" for one in alike)
    binary = is_memory(j.id, j.unit)
    measured, reported_bounds, ratio_bounds = DASH, "", ""
    if j.measured is not None:
        scale = scale_of(j.measured, j.unit, binary)
        reported_bounds = bounds(j.low, j.high, scale)
        measured = quantity(j.measured, j.unit, binary)
        if j.lost_to_stalls is not None and j.typical is not None:
            reported_bounds += (f", typical {quantity(j.typical, j.unit, binary)}: "
                            f"stalls cost {100 * j.lost_to_stalls:.0f}{NBSP}%")
        sides = [headroom(side) if side is not None else "no bound" for side in j.ratio_bounds]
        if any(side is not None for side in j.ratio_bounds):
            ratio_bounds = f"[{sides[0]}, {sides[1]}]".replace(f"{NBSP}%", "")
    limit = "\u2265" if j.higher_is_better else "\u2264"
    margin = ""
    if j.required and j.required != j.need:
        margin = f"{quantity(j.required, j.unit, binary)} \u00d7 {j.need / j.required:.3g} safety"
    ratio = j.headroom if j.headroom is not None else j.ratio(j.measured)
    return NeedRow(j, words.need_name(j), alike, others, list(dict.fromkeys(one.unproven for one in (j, *alike) if one.unproven)), "" if j.id in words.PARTS else words.SCOPES.get(j.scope, j.scope), words.SYMBOL[j.outcome],
                   words.tone(j.outcome), f"{limit}{NBSP}{quantity(j.need, j.unit, binary)}", margin, measured,
                   reported_bounds, headroom(ratio), ratio_bounds, *words.way(j), anchors.get(j.point, ""))


def steps(run: Run) -> List[Step]:
    """What to do next: each different step once, in the order of the needs that ask for it."""
    result: Dict[str, Step] = {}
    for j in run.judgements:
        if j.next_step and (j.outcome != "PASS" or j.thin):
            step = result.setdefault(j.next_step, Step(
                j.next_step, j.next_step.startswith("headrace "), [], words.tone(j.outcome)))
            step.needs.append(words.need_name(j))
    left = [point.id for point in run.points if point.status == "not_reached"]
    if left:
        result[""] = Step(f"run the same command with --only '{','.join(left)}'", False, ["the unreached points"], "skipped")
    return list(result.values())


def first_step(run: Run) -> str:
    """Of a tuned rehearsal the loader's setting."""
    if run.rehearsal and len(run.rehearsal.reported) > 1 and re.match(r"DataLoader\(|dataset\.map\(", run.rehearsal.reported[1]):
        return run.rehearsal.reported[1]
    return next((step.text for step in steps(run)), "")


def facts(run: Run) -> List[Tuple[str, str]]:
    """Facts next to the headline: name and text."""
    reported = [("job", run.job.description if run.job else ""), ("node", run.run.node), ("started", started(run)),
            ("took", duration(run.run.elapsed_s)), ("repetitions", words.repetition_line(run)),
            ("cache state", words.cache_line(run.points)), ("disturbed", words.disturbed_line(run.points)),
            ("noise floor", words.noise_line(run.noise_floor)),
            ("run", run.run.id), ("exit code", str(run.summary.exit_code))]
    return [(name, text) for name, text in reported if text]


@dataclass
class MetricRow:
    metric: Metric
    better: str
    value: str
    interval: str
    kind: str       # "95 % interval", "range"
    each: str       # all values
    note: str
    beside: str     # "87 % of gpu0", where it is known what that can carry
    beside_tone: str


BETTER = {"higher": "\u2191 higher is better", "lower": "\u2193 lower is better", "neither": ""}


LATENCY = re.compile(r"(?:(\w+)_)?latency_(p\d+|max)_ns")


# Of a figure compared with sound hardware: tone and symbol.
STANDINGS = {"far below": ("fail", "\u2718"), "perhaps far below": ("inconclusive", "?"), "above": ("inconclusive", "?"),
             "below": ("pass", "\u2714"), "usual": ("pass", "\u2714"), "not known": ("skipped", "\u2013")}


@dataclass
class ExpectedRow:
    expected: Expected
    symbol: str
    tone: str
    measured: str
    anchor: str


def expected_rows(run: Run, anchors: Dict[str, str]) -> List[ExpectedRow]:
    """Figures far below the usual first."""
    rows = sorted(run.expected, key=lambda e: list(STANDINGS).index(e.standing) if e.standing in STANDINGS else 99)
    return [ExpectedRow(e, STANDINGS.get(e.standing, ("skipped", DASH))[1], STANDINGS.get(e.standing, ("skipped", DASH))[0],
                        DASH if e.measured is None else quantity(e.measured, "B/s", False), anchors.get(e.point, ""))
            for e in rows]


def metric_rows(point: Point, expected: List[Expected]) -> List[MetricRow]:
    """The metrics that latency_table() does not show; `expected`: the run's figures and those of sound hardware."""
    rows = []
    beside = {e.metric: e for e in expected if e.point == point.id and e.share is not None}
    for metric in point.metrics:
        if not metric.values or LATENCY.fullmatch(metric.name):
            continue
        value = metric.shown if metric.shown is not None else sorted(metric.values)[len(metric.values) // 2]
        binary = is_memory(metric.name, metric.unit)
        scale = scale_of(value, metric.unit, binary)
        kind = "" if len(metric.values) < 2 else "range" if metric.is_range else f"95{NBSP}%"
        rows.append(MetricRow(
            metric, BETTER.get(metric.better, ""), quantity(value, metric.unit, binary),
            bounds(metric.low, metric.high, scale) if kind else "", kind,
            "  ".join(scale.number(value) for value in metric.values),
            "too few operations for this percentile" if metric.too_few_operations else "",
            f"{share(beside[metric.name].share)} of {beside[metric.name].part}" if metric.name in beside else "",
            STANDINGS.get(beside[metric.name].standing, ("", ""))[0] if metric.name in beside else ""))
    return rows


@dataclass
class LatencyTable:
    """Percentiles of the operation and its parts: rows of cells (value, interval or range, too few operations)."""

    columns: List[str]
    rows: List[Tuple[str, List[Tuple[str, str, bool]]]]
    count: int      # repetitions
    kind: str       # "95 %", "range", "" for a single repetition


def latency_table(point: Point) -> Optional[LatencyTable]:
    columns: List[str] = []
    rows: Dict[str, Dict[str, Metric]] = {}
    for metric in point.metrics:
        match = LATENCY.fullmatch(metric.name)
        if match and metric.values:
            if match[2] not in columns:
                columns.append(match[2])
            rows.setdefault(match[1] or "whole operation", {})[match[2]] = metric
    if not rows:
        return None
    columns.sort(key=lambda column: 101.0 if column == "max" else percentile(column))
    some = next(iter(next(iter(rows.values())).values()))
    kind = "" if len(some.values) < 2 else "range" if some.is_range else f"95{NBSP}%"
    return LatencyTable(
        [column if column == "max" else f"p{percentile(column):g}" for column in columns],
        [(name, [_latency_cell(cells.get(column), bool(kind)) for column in columns]) for name, cells in rows.items()],
        len(some.values), kind)


def percentile(column: str) -> float:
    """99 of "p99", 99.9 of "p999"."""
    digits = column[1:]
    return int(digits) / 10 ** max(0, len(digits) - 2)


def _latency_cell(metric: Optional[Metric], bounded: bool) -> Tuple[str, str, bool]:
    if metric is None or metric.median is None:
        return DASH, "", False
    scale = scale_of(metric.median, metric.unit)
    return (quantity(metric.median, metric.unit), bounds(metric.low, metric.high, scale) if bounded else "",
            metric.too_few_operations)


@dataclass
class Evidence:
    """How the cache proofs and the disturbances of a point went, in one line each."""

    proven: str
    all_proven: bool
    calm: str


def evidence(point: Point) -> Evidence:
    total = len(point.finished)
    proven = sum(repetition.cache.proven for repetition in point.finished)
    calm = words.disturbed_line([point]) or "none"
    if point.cache == "asis":
        return Evidence("no cache state requested", True, calm)
    return Evidence(f"{point.cache} verified in {words.share_of(proven, total)} repetitions that count", proven == total, calm)


def parameter(name: str, value: Scalar) -> str:
    """A parameter as the user would write it: sizes in binary where they are round there, flags as words."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and ("size" in name or "bytes" in name) and value:
        for power, prefix in ((3, "Gi"), (2, "Mi"), (1, "Ki")):
            if value % 1024**power == 0:
                return f"{value // 1024**power}{NBSP}{prefix}B"
        return quantity(float(value), "B")
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u202f") if abs(value) >= 10_000 else str(value)
    return value or DASH


@dataclass
class LedgerRow:
    """One repetition: its proven cache state, its disturbances."""

    repetition: Repetition
    number: int
    status: str
    before: str     # share of the data in the page cache
    after: str
    delivered: str
    from_storage: str
    device: str
    foreign: str
    steal: str
    programs: str   # CPU that others took
    drift: str      # of the control probe
    cpu: str        # pressures: share of the time in which some task waited
    io: str
    memory: str


def probe_drift(noise: Disturbance) -> str:
    """How much longer the control probe took after the repetition than before: +3 %."""
    if noise.probe_before_ns <= 0 or noise.probe_after_ns <= 0:
        return DASH
    return f"{100 * (noise.probe_after_ns / noise.probe_before_ns - 1):+.0f}{NBSP}%".replace("-", "\u2212")


def ledger(point: Point) -> List[LedgerRow]:
    rows = []
    for repetition in point.repetitions:
        cache, noise = repetition.cache, repetition.disturbance
        rows.append(LedgerRow(
            repetition, repetition.index + 1, words.STATUS.get(repetition.status, repetition.status),
            share(cache.resident_before), share(cache.resident_after), quantity(float(cache.delivered_bytes), "B"),
            share(cache.storage_bytes / cache.delivered_bytes) if cache.delivered_bytes else DASH,
            quantity(float(cache.device_bytes), "B") if cache.device_bytes else DASH,
            quantity(float(noise.foreign_bytes), "B"), share(noise.cpu_steal), share(noise.foreign_cpu),
            probe_drift(noise), share(noise.cpu_pressure), share(noise.io_pressure), share(noise.memory_pressure)))
    return rows


@dataclass
class ClientRow:
    """Requests of one kind of one repetition; times are of one request."""

    number: str
    operation: str
    requests: str
    repeats: str
    errors: str
    queue: str
    round_trip: str
    execution: str
    slots: str  # on one connection: under way, and waiting


def client_rows(point: Point) -> List[ClientRow]:
    """What a network file system's client asked of its servers: in each repetition the kinds that took longest."""
    rows = []
    for repetition in point.repetitions:
        calls = repetition.client
        of_nfs = calls.counter in ("", "mountstats")
        slots = f"{calls.in_flight:.3g} of at most {calls.most_slots}" if calls.most_slots else f"{calls.in_flight:.3g}"
        for place, one in enumerate(calls.operations[:4]):
            of_one = [quantity(1e9 * s / one.requests, "ns") if one.requests and counted else DASH for s, counted in
                      ((one.queue_s, of_nfs), (one.round_trip_s, True), (one.execution_s, of_nfs))]
            reported = [f"{one.repeats:,}", f"{one.errors:,}"] if of_nfs else [DASH, DASH]
            where = [f"{slots}; {calls.waiting:.3g} waiting"] if of_nfs else [slots] if calls.sent else []
            where += [plural(calls.connections, "connection")] if calls.connections else []
            where += [] if of_nfs else [f"by {calls.counter} (parsed, never run here)"]
            rows.append(ClientRow(str(repetition.index + 1) if place == 0 else "", one.operation, f"{one.requests:,}",
                                  *reported, *of_one, "; ".join(where) if place == 0 else ""))
    return rows


@dataclass
class Unmeasured:
    what: str
    status: str
    why: str


def unmeasured(run: Run) -> List[Unmeasured]:
    """Every requested point that gave no number, and every need of the job without a point."""
    rows = [Unmeasured(point.id, words.STATUS.get(point.status, point.status), point.reason or
                       ("the run ended before it" if point.status == "not_reached" else DASH))
            for point in run.points if point.status != "ok"]
    rows += [Unmeasured(words.need_name(j), f"{words.SYMBOL[j.outcome]} {j.outcome}", j.explanation or j.reason or DASH)
             for j in run.judgements if j.outcome == "SKIPPED"]
    rows += [Unmeasured(id, "not asked for", "the job needs it; this configuration does not measure it")
             for id in run.not_asked]
    for point in run.points:
        rows += [Unmeasured(f"{point.id}: {plural(count, 'file')}", "left out", reason)
                 for reason, count in point.left_out.items()]
        failed = [r for r in point.repetitions if r.status != "ok" or r.error]
        rows += [Unmeasured(f"{point.id}: repetition {r.index + 1}", words.STATUS.get(r.status, r.status), r.error or DASH)
                 for r in failed]
    return rows


def wrong_block(block: Any) -> str:
    """A wrong block in words, from the facts in the run file."""
    if isinstance(block, dict):
        return ", ".join(f"{key} {value}" for key, value in block.items())
    return str(block)


def command(run: Run) -> str:
    return " ".join(shlex.quote(word) for word in run.run.command)


def look_texts(run: Run) -> List[str]:
    """"after 5, 10, 15 repetitions the 1st, 2nd, 4th worst", once for each plan of looks."""
    reported = []
    for point in run.points:
        if point.looks:
            looks = ", ".join(map(str, point.looks))
            ranks = ", ".join(_ordinal(rank) if rank else "no bound" for rank in point.ranks)
            text = f"after {looks} repetitions" + (f": the {ranks} worst value" if point.ranks else "")
            if text not in reported:
                reported.append(text)
    return reported


def _ordinal(number: int) -> str:
    last = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"


def started(run: Run) -> str:
    """"2026-01-31 12:00:00 UTC"."""
    return run.run.started_utc.replace("T", " ").replace("Z", " UTC")


def first_open(run: Run) -> Optional[str]:
    """The point whose evidence is open when nothing went wrong anywhere."""
    return next((point.id for point in run.points if point.status == "ok"), None)
