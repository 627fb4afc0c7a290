"""Sentences and words of the page: headlines, symbols, names."""

from __future__ import annotations

from typing import List, Tuple

from .schema import OUTCOMES, Judgement, Run
from .units import listing, plural

SYMBOL = {"PASS": "\u2714", "FAIL": "\u2718", "INCONCLUSIVE": "?", "SKIPPED": "\u2013", "ERROR": "!",
          "INCOMPLETE": "?", "INTERRUPTED": "!"}
SIGNALS = {2: "SIGINT (Ctrl-C)", 15: "SIGTERM"}
SCOPES = {"node": "per node", "gpu": "per GPU", "cluster": "whole cluster"}
STATUS = {"ok": "measured", "skipped": "skipped", "error": "failed", "interrupted": "interrupted",
          "not_reached": "not reached"}


def need_name(judgement: Judgement) -> str:
    """The id, with the scope where it is not the node: the same need may be judged at several."""
    return judgement.id if judgement.scope in ("", "node") else f"{judgement.id} ({judgement.scope})"


def tone(outcome: str) -> str:
    """The CSS class of an outcome or of the run's word."""
    return {"INCOMPLETE": "inconclusive", "INTERRUPTED": "error"}.get(outcome, outcome.lower())


def headline(run: Run) -> str:
    """The run in one sentence: who, for what, how many needs."""
    who = run.run.node or "this node"
    goal = f"\u201c{run.job.name}\u201d" if run.job else f"\u201c{run.run.name}\u201d"
    total = len(run.judgements)
    counts = run.summary
    if not total:
        measured = sum(point.status == "ok" for point in run.points)
        return (f"{plural(measured, 'measurement')} of {len(run.points)} on {who}; no need was declared, "
                "so nothing was judged")
    rest = listing([f"{counts.of(outcome)} {word}" for outcome, word in
                    (("INCONCLUSIVE", "inconclusive"), ("SKIPPED", "skipped"), ("ERROR", "in error"))
                    if counts.of(outcome)])
    of_total = f"of {plural(total, 'need')}"
    if counts.word == "FAIL":
        return f"{who} is not ready for {goal}: {counts.fail} {of_total} missed" + (f", {rest}" if rest else "")
    if counts.word == "PASS":
        thin = sum(judgement.thin for judgement in run.judgements)
        met = f"all {total} needs" if total > 1 else "the one need"
        ready = f"{who} is ready for {goal}: {met} asked of it met"
        if counts.passed < total:
            ready = f"{who} meets {counts.passed} {of_total} of {goal}" + (f", {rest}" if rest else "")
        return ready + (f", {thin} with under 10 % headroom" if thin else "")
    if counts.word == "INTERRUPTED":
        return (f"Stopped by {SIGNALS.get(run.run.signal, f'signal {run.run.signal}')} before the end: "
                f"{counts.passed} {of_total} met so far" + (f", {rest}" if rest else ""))
    if counts.word == "SKIPPED":
        return f"{who} could not be judged for {goal}: everything that was asked for was skipped"
    undecided = {"INCONCLUSIVE": "not decided", "INCOMPLETE": "not judged completely", "ERROR": "not judged: it failed"}
    return (f"{who} for {goal}: {undecided.get(counts.word, counts.word.lower())}; "
            f"{counts.passed} {of_total} met" + (f", {rest}" if rest else ""))


def count_line(run: Run) -> List[Tuple[str, str, int]]:
    """Symbol, outcome and number, in the fixed order."""
    return [(SYMBOL[outcome], outcome, run.summary.of(outcome)) for outcome in OUTCOMES]


def cache_line(run: Run) -> str:
    """How many repetitions proved the cache state that they declared."""
    declared = [repetition.cache for point in run.points for repetition in point.finished
                if repetition.cache.declared != "asis"]
    if not declared:
        return ""
    proven = sum(cache.proven for cache in declared)
    return f"cache state proven in {proven} of {plural(len(declared), 'repetition')}"


def repetition_range(run: Run) -> str:
    numbers = [len(point.finished) for point in run.points if point.finished]
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    return plural(low, "repetition") if low == high else f"{low}\u2013{high} repetitions"
