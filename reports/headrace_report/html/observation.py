"""Puts the page of a job that was watched together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Tuple

from markupsafe import Markup

from ..observation import Learned, Observation
from ..plots import watched
from ..plots.style import styled
from ..units import duration, plural, quantity
from .embed import plain, script_json
from .page import Page

CONFIDENCE_TONE = {"high": "pass", "medium": "pass", "low": "inconclusive", "guess": "skipped"}
CONFIDENCE_SYMBOL = {"high": "\u2714", "medium": "\u2714", "low": "?", "guess": "\u2013"}
MOST_SAVES = 50


@dataclass
class LearnedRow:
    learned: Learned
    bounds: str
    symbol: str
    tone: str


def render(seen: Observation, paper: str = "summary") -> str:
    """The whole page. The same observation gives the same bytes."""
    page = Page(paper)
    with styled():
        panels = [page.panel(watched.waits(seen, "consumer"), "consumer"), page.panel(watched.waits(seen, "workers"), "workers"),
                  page.panel(watched.rates(seen), "rates"), page.panel(watched.steps(seen), "steps"),
                  page.panel(watched.gpus(seen), "gpus"), page.panel(watched.client(seen), "client")]
        calls = [page.panel(watched.latency(seen), "latency"), page.panel(watched.in_flight(seen), "in-flight")]
    return page.render("observation.html", all=seen, name=" ".join(seen.command) or "a process", facts=_facts(seen),
                       headline=_headline(seen), first_step=seen.limit.command or next(iter(seen.limit.advice), ""),
                       panels=[panel for panel in panels if panel], calls=[panel for panel in calls if panel], rows=[_row(one) for one in seen.learned],
                       guesses=sum(one.confidence == "guess" and not one.is_left_out for one in seen.learned),
                       left_out=[one.key for one in seen.learned if one.is_left_out], saves=seen.saves[:MOST_SAVES],
                       saves_left=max(0, len(seen.saves) - MOST_SAVES), data=Markup(script_json(plain(seen))), quantity=quantity)


def _headline(seen: Observation) -> Tuple[str, str]:
    """How long training waits, and the limit; where that is not known the limit alone."""
    waiting = seen.consumer.get("waiting_for_loader")
    if not waiting:
        return seen.limit.sentence, ""
    return (f"Training waits for data {100 * waiting.share:.0f} % of the time [{100 * waiting.low:.0f}, {100 * waiting.high:.0f}]",
            seen.limit.sentence)


def _row(one: Learned) -> LearnedRow:
    bounds = ""
    if one.confidence != "guess" and one.low is not None and one.high is not None and one.high > one.low:
        bounds = f"{quantity(one.low, one.unit)} to {quantity(one.high, one.unit)}"
    return LearnedRow(one, bounds, CONFIDENCE_SYMBOL[one.confidence], CONFIDENCE_TONE[one.confidence])


def _facts(seen: Observation) -> List[Tuple[str, str]]:
    roles = [process.role for process in seen.processes]
    facts = [("watched for", duration(seen.elapsed_s)), ("processes", f"{len(roles)}, {plural(roles.count('worker'), 'worker')} among them")]
    if seen.batches.steps > 0:
        facts.append(("batches", f"{seen.batches.steps:.0f}"))
    if seen.batches.samples_per_s > 0:
        facts.append(("samples", quantity(seen.batches.samples_per_s, "1/s")))
    if seen.saves:
        facts.append(("checkpoints", str(len(seen.saves))))
    if seen.series.gpu_busy and seen.gpus[0].busy and len(seen.gpus) == 1:
        busy = seen.gpus[0].busy
        facts.append(("GPU busy", f"{100 * busy.share:.0f} % [{100 * busy.low:.0f}, {100 * busy.high:.0f}]"))
    return facts
