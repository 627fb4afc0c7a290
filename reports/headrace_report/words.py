"""Sentences and words of the page: headlines, symbols, names."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from .schema import OUTCOMES, Judgement, NoiseFloor, Point, Run
from .sizing import Sizing
from .units import headroom, is_memory, listing, percent, plural, quantity

SYMBOL = {"PASS": "\u2714", "FAIL": "\u2718", "INCONCLUSIVE": "?", "SKIPPED": "\u2013", "ERROR": "!",
          "INCOMPLETE": "?", "INTERRUPTED": "!", "MEASURED": "\u2022"}
# Of a compared metric: its symbol and the tone that it is reported in.
STATUS_SYMBOL = {"worse": "\u2718", "better": "\u2714", "differs": "\u2260", "same": "=", "small": "\u2248",
                 "inconclusive": "?"}
STATUS_TONE = {"worse": "fail", "better": "pass", "differs": "error", "same": "skipped", "small": "skipped",
               "inconclusive": "inconclusive"}
SIGNALS = {2: "SIGINT (Ctrl-C)", 15: "SIGTERM"}
SCOPES = {"node": "per node", "gpu": "per GPU", "cluster": "whole cluster"}
STATUS = {"ok": "measured", "skipped": "skipped", "error": "failed", "interrupted": "interrupted",
          "not_reached": "not reached"}


# What the job does where a need of this kind arises.
DOES = {"ingest": "reads", "checkpoint.restore": "restores", "checkpoint": "saves", "gpu": "copies"}


def way(judgement: Judgement) -> Tuple[str, str]:
    """How it was measured: "as the job reads", "64 blocking workers, whole files"; else "measured by" and the point; "" where nothing was."""
    if not judgement.point or judgement.measured is None:
        return "", ""
    if not judgement.way:
        return "measured by", judgement.point
    does = next((verb for kind, verb in DOES.items() if judgement.id.startswith(kind)), "works")
    return f"as the job {does}", judgement.way


def need_name(judgement: Judgement) -> str:
    """The plain name, or the id, with the scope where it is not the node. The same need may be judged at several."""
    name = judgement.name or judgement.id
    return name if judgement.scope in ("", "node") else f"{name} ({judgement.scope})"


def same_tests(judgements: Sequence[Judgement]) -> List[List[Judgement]]:
    """Needs that one test answers alike, together, each group where its first one is."""
    groups: Dict[Tuple[str, ...], List[Judgement]] = {}
    for number, judgement in enumerate(judgements):
        alone = not judgement.point or judgement.headroom is None
        key = (str(number),) if alone else (judgement.point, judgement.outcome, judgement.reason, headroom(judgement.headroom))
        groups.setdefault(key, []).append(judgement)
    return list(groups.values())


def worst(run: Run) -> Optional[Judgement]:
    """The missed need that is missed by most."""
    missed = [judgement for judgement in run.judgements if judgement.outcome == "FAIL" and judgement.measured is not None]
    return min(missed, key=lambda judgement: judgement.headroom if judgement.headroom is not None else 1.0, default=None)


PAIR_RATE = "network.pair_rate"  # what parts of the network are judged by: no need of the job's
PARTS = (PAIR_RATE, "gpu.fault")  # whose scope names a part


def slow_parts(run: Run, outcome: str = "FAIL") -> List[str]:
    """"node node3", "link node2 to node4", "gpu3": bad parts, or the undecided ones for another outcome."""
    return [judgement.scope for judgement in run.judgements if judgement.id in PARTS and judgement.outcome == outcome]


def _named(parts: List[str]) -> str:
    parts = [part.removeprefix("node ") for part in parts]
    return listing(parts if len(parts) <= 4 else [*parts[:3], f"{len(parts) - 3} more"])


def section_name(key: str) -> str:
    """A section of the environment as a heading: "file_system" is "File system"."""
    return "CPU" if key == "cpu" else key.replace("_", " ").capitalize()


def shortened(text: str, most: int) -> str:
    """At most `most` characters, the end cut: for drawings; the full text is in the tables."""
    return text if len(text) <= most else text[:most - 1] + "\u2026"


def tone(outcome: str) -> str:
    """The CSS class of an outcome or of the run's word."""
    return {"INCOMPLETE": "inconclusive", "INTERRUPTED": "error", "MEASURED": "skipped"}.get(outcome, outcome.lower())


def headline(run: Run, sizing: Optional[Sizing] = None) -> Tuple[str, str]:
    """The run in one sentence, with its node and job. Its details are the number of needs, and the worst one."""
    who = run.run.node or "this node"
    goal = f"\u201c{run.job.name if run.job else run.run.name}\u201d"
    slow, open_parts = slow_parts(run), slow_parts(run, "INCONCLUSIVE")
    total, counts = len(run.judgements) - len(slow) - len(open_parts), run.summary
    if run.rehearsal and run.rehearsal.reported:
        return run.rehearsal.reported[0], f"{goal} on {who}: {counts.passed} of {plural(total, 'need')} met"
    if not total and counts.word == "FAIL":
        paired = all(judgement.id == PAIR_RATE for judgement in run.judgements)
        return (f"Bad: {_named(slow)}", "Compared with what their like reached in the same repetitions; no need was declared" if paired
                else "No need was declared")
    if not total and open_parts and counts.word == "INCONCLUSIVE":
        return f"It is open whether there is something wrong with {_named(open_parts)}", "No node is blamed; no need was declared"
    if not total:
        measured = sum(point.status == "ok" for point in run.points)
        return (f"{measured} of {plural(len(run.points), 'point')} measured on {who}",
                "No need was declared, so nothing was judged" if counts.word == "MEASURED" else "Nothing was judged")
    met = f"{counts.passed} of {plural(total, 'requirement')} met"
    missed = f"{counts.fail - len(slow)} of {plural(total, 'requirement')} missed"
    rest = "".join([f", {counts.of(outcome)} {word}" for outcome, word in
                    (("INCONCLUSIVE", "inconclusive"), ("SKIPPED", "skipped"), ("ERROR", "in error"))
                    if counts.of(outcome)])
    rest += f"; bad: {_named(slow)}" if slow else ""
    thin = sum(judgement.thin for judgement in run.judgements)
    narrowly = f", {thin} with under 10 % headroom" if thin else ""
    if counts.word == "FAIL" and counts.fail == len(slow):
        return f"Bad: {_named(slow)}", met + rest
    if counts.word == "FAIL":
        if (lacking := worst(run)) is not None and lacking.higher_is_better:
            binary = is_memory(lacking.id, lacking.unit)
            rest += (f". {need_name(lacking)}: {quantity(lacking.measured, lacking.unit, binary)} of "
                     f"{quantity(lacking.need, lacking.unit, binary)} needed")
        if sizing is not None and sizing.summary.gpus_fed is not None:
            return f"{who} feeds {int(sizing.summary.gpus_fed)} of {sizing.summary.gpus:.0f} GPUs of {goal}", missed + rest
        return f"{who} is not ready for {goal}", missed + rest
    if counts.word == "PASS" and counts.passed == total:
        every = {1: "The need asked of it is", 2: "Both needs asked of it are"}.get(total, f"All {total} needs asked of it are")
        return f"{who} is ready for {goal}", f"{every} met{narrowly}"
    if counts.word == "PASS":
        return f"{who} is ready for {goal} as far as it was judged", met + rest + narrowly
    if counts.word == "INTERRUPTED":
        return f"Stopped by {SIGNALS.get(run.run.signal, f'signal {run.run.signal}')} before the end", met + rest
    if counts.word == "SKIPPED":
        return f"{who} could not be judged for {goal}", "Everything that was asked for was skipped"
    undecided = {"INCONCLUSIVE": "cannot be decided yet", "INCOMPLETE": "was judged only in part",
                 "ERROR": "could not be judged: a measurement failed"}
    return f"{goal} on {who} {undecided.get(counts.word, counts.word.lower())}", met + rest


def count_line(run: Run) -> List[Tuple[str, str, int]]:
    """Symbol, outcome and number, in the fixed order."""
    return [(SYMBOL[outcome], outcome, run.summary.of(outcome)) for outcome in OUTCOMES]


def share_of(some: int, all: int) -> str:
    """"all 12", "3 of 12", "none of 12", "the only one"."""
    if some == all:
        return "the only one" if all == 1 else f"all {all}"
    return f"{some or 'none'} of {all}"


def cache_line(points: Sequence[Point]) -> str:
    """In how many of the repetitions that count and declare a cache state it was that."""
    declared = [repetition.cache for point in points for repetition in point.finished
                if repetition.cache.declared != "asis"]
    if not declared:
        return ""
    return f"proven in {share_of(sum(cache.proven for cache in declared), len(declared))} that declare one"


def disturbed_line(points: Sequence[Point]) -> str:
    """How many of the repetitions that count were disturbed, and of those that do not; "" where none was."""
    counted = [repetition.disturbance.disturbed for point in points for repetition in point.finished]
    others = [repetition.disturbance.disturbed for point in points for repetition in point.repetitions
              if not repetition.in_numbers]
    if not any(counted + others):
        return ""
    reported = [f"{share_of(sum(counted), len(counted))} that count"] if counted else []
    if others:
        reported.append(f"{share_of(sum(others), len(others))} that do{'es' if len(others) == 1 else ''} not")
    return listing(reported)


def noise_line(floor: Optional[NoiseFloor]) -> str:
    """"+-1.3 %; 0.4 % false alarms (runs/aa/aa.json)"."""
    if floor is None:
        return "not measured: headrace run --against-itself"
    return (f"\u00b1{percent(floor.median)}; {percent(floor.false_alarm_rate)} false alarms "
            f"({floor.source})")


def visible(change: float) -> str:
    """The smallest change that would have been reported."""
    return f"a change of {percent(change)}" if change < 1 else "only what more than doubles or halves it"


def repetition_line(run: Run) -> str:
    """"20 count, 5\u201310 of each point; 3 more do not": disturbed ones that were repeated, or failed ones."""
    numbers = [len(point.finished) for point in run.points if point.finished]
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    each = str(low) if low == high else f"{low}\u2013{high}"
    reported = f"{sum(numbers)} count, {each} of each point"
    others = sum(len(point.repetitions) for point in run.points) - sum(numbers)
    return f"{reported}; {others} more {'does' if others == 1 else 'do'} not" if others else reported
