"""Makes page (b): measured supply compared with a planned job."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import List, Tuple

from markupsafe import Markup

from .. import words
from ..plots import assumptions, changes, cycle, scaling, supply, tradeoff
from ..plots.style import styled
from ..sizing import Phase, Sizing
from ..units import NBSP, bounds, duration, headroom, plural, quantity, scale_of
from .embed import plain, script_json
from .fixes import fed_count, fix_rows
from .page import Page


@dataclass
class PhaseRow:
    """One phase as the table reports it."""

    phase: Phase
    need: str
    margin: str
    supply: str
    bounds: str
    headroom: str
    headroom_bounds: str
    fed: str
    fed_bounds: str
    clients: str
    answered: str


def render(sizing: Sizing, paper: str = "summary") -> str:
    """The whole page. The same sizing gives the same bytes."""
    page = Page(paper)
    with styled():
        top = [page.panel(supply.draw(sizing), "phases-supply")]
        curves = [page.panel(scaling.draw(sizing, one), f"scaling-{number}") for number, one in enumerate(_curves(sizing), start=1)]
        steps = [page.panel(changes.draw(sizing), "changes"), page.panel(tradeoff.draw(sizing), "tradeoff"),
                 page.panel(cycle.draw(sizing), "cycle")]
        flips = [page.panel(assumptions.draw(sizing), "assumptions-figure")]
    return page.render(
        "sizing.html", all=sizing, headline=_headline(sizing), facts=_facts(sizing),
        first_step=sizing.fixes[0].command if sizing.fixes and sizing.summary.word != "PASS" else "",
        rows=[_phase_row(sizing, phase) for phase in sizing.phases], fixes=fix_rows(sizing),
        top=[panel for panel in top if panel], curves=[panel for panel in curves if panel],
        steps=[panel for panel in steps if panel], flips=[panel for panel in flips if panel], calendar=_calendar(sizing),
        capacity=_capacity(sizing), command=_command(sizing), statistics=_statistics(sizing),
        data=Markup(script_json(plain(sizing))))


def _curves(sizing: Sizing) -> list:
    """The limiting phase's first, then those that grow with the number of GPUs."""
    grows = {phase.phase: phase.demand.grows_with_gpus for phase in sizing.phases}
    return sorted(sizing.scaling, key=lambda s: (s.phase != sizing.summary.phase, not grows.get(s.phase, True)))[:4]


def _phase_row(sizing: Sizing, phase: Phase) -> PhaseRow:
    given, needed = phase.supply, phase.demand
    interval = ""
    if given.low != given.high:
        interval = f"{bounds(given.low, given.high, scale_of(given.median, phase.unit))}{' range' if given.is_range else ''}, n = {given.n}"
    fed, part = phase.gpus_fed, phase.share(sizing.job)
    gpus = sizing.job.gpus * part
    nodes = min(given.clients, sizing.job.nodes)
    of_part = "" if part == 1 else f" of {gpus:g} on {plural(int(phase.nodes), 'node')}"
    clients = f"{plural(given.clients, 'node')} measured" + (f" of {sizing.job.nodes:g}" if sizing.job.nodes > nodes else "")
    return PhaseRow(
        phase, quantity(needed.need * part, phase.unit),
        f"{quantity(needed.required * part, phase.unit)} and {100 * (needed.need / needed.required - 1):.0f}{NBSP}% margin"
        if needed.need > needed.required * 1.0001 else "",
        quantity(given.median, phase.unit), interval, headroom(phase.headroom),
        f"[{headroom(phase.headroom_low)}, {headroom(phase.headroom_high)}]" if phase.headroom_low != phase.headroom_high else "",
        fed_count(fed.median, gpus) + of_part if fed else "\u2013",
        f"[{fed_count(fed.low, gpus)}, {fed_count(fed.high, gpus)}]" if fed and fed_count(fed.low, gpus) != fed_count(fed.high, gpus) else "",
        clients, "; ".join(given.differs))


def _headline(sizing: Sizing) -> Tuple[str, str]:
    first, _, rest = sizing.summary.sentence.partition(". ")
    return first[:1].upper() + first[1:].rstrip(".") + ".", rest


def _facts(sizing: Sizing) -> List[Tuple[str, str]]:
    job = sizing.job
    facts = [("job", job.description or job.name),
             ("GPUs", f"{job.gpus:g} on {plural(int(job.nodes), 'node')}"),
             ("margin", f"{job.safety:g} times the requirement")]
    nodes = list(dict.fromkeys(run.node for run in sizing.runs))
    facts.append(("nodes", ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")))
    if sizing.starvation:
        busy = sizing.starvation.utilization
        facts.append(("GPUs busy", f"at most {100 * busy:.3g}{NBSP}% of the time"))
        if sizing.starvation.wall_clock_utilization is not None:
            facts.append(("of an epoch's wall clock", f"{100 * sizing.starvation.wall_clock_utilization:.3g}{NBSP}%, as filling the "
                          f"pipeline takes {sizing.starvation.fill_s:.3g} s"))
        if sizing.starvation.cost_usd_per_hour is not None:
            facts.append(("starvation", f"{sizing.starvation.cost_usd_per_hour:.4g} USD/h at "
                          f"{sizing.starvation.gpu_price_usd_per_hour:g} USD per GPU and hour"))
    facts.append(("capacity", f"{words.SYMBOL[sizing.capacity.outcome]} {sizing.capacity.outcome}"))
    facts.append(("noise floor", words.noise_line(sizing.noise_floor)))
    facts.append(("exit code", str(sizing.summary.exit_code)))
    return facts


def _calendar(sizing: Sizing) -> List[Tuple[str, str, str]]:
    """What, value, remark."""
    calendar = sizing.calendar
    if calendar is None:
        return []
    kind = "written behind the step" if calendar.asynchronous else "the step waits for it"
    rows = [("interval of the job", duration(calendar.interval_s), ""),
            ("a save takes", duration(calendar.save_s), f"{kind}; E6 of the measured rate"),
            ("the GPUs wait", duration(calendar.stall_s), f"{duration(calendar.stall_allowed_s)} allowed; {calendar.stall_basis}")]
    if calendar.restore_s is not None:
        rows.append(("a restore takes", duration(calendar.restore_s), "of the measured rate"))
    if calendar.mtbf_s is not None:
        rows.append(("a failure every", duration(calendar.mtbf_s), "of the whole job"))
    if calendar.lost is not None:
        rows.append(("time lost", f"{100 * calendar.lost:.3g}{NBSP}%", "stalls and rework (E18)" if calendar.mtbf_s else "stalls (E12)"))
    if calendar.goodput is not None:
        rows.append(("useful", f"{100 * calendar.goodput:.4g}{NBSP}%", "exact (E17)"))
    for name, value, formula in (("Young\u2019s interval", calendar.young_s, "E15"), ("Daly\u2019s interval", calendar.daly_s, "E16")):
        if value is not None:
            rows.append((name, duration(value), f"loses the least ({formula})"))
    return rows


def _capacity(sizing: Sizing) -> List[Tuple[str, str, str]]:
    capacity = sizing.capacity
    rows = [(part.what, quantity(part.bytes, "B"), part.substituted) for part in capacity.parts]
    if len(rows) > 1:
        rows.append(("together", quantity(capacity.needed, "B"), ""))
    if capacity.usable is not None:
        rows.append(("free when it was measured", quantity(capacity.usable, "B"), ""))
    return rows


def _command(sizing: Sizing) -> str:
    paths = list(dict.fromkeys(run.path for run in sizing.runs))
    return " ".join(["headrace", "size", shlex.quote(sizing.job.file), "--runs", *map(shlex.quote, paths[:8])]) + \
        (" ..." if len(paths) > 8 else "")


def _statistics(sizing: Sizing) -> List[str]:
    reported = ["A session gives bytes \u00f7 time of its repetitions, with bounds as verdicts have them. Sessions are the unit: supply "
            "is the mean over them (of logarithms). With fewer than 8 sessions the bounds include each one\u2019s own and 3 % between "
            "sessions, or their spread, if that is larger. From 8 on they follow Student\u2019s t over the sessions. Each bound is wrong in at "
            "most 5 %; they go through G8 to the number of GPUs.",
            "Runs of several nodes are one measurement by as many clients where their repetitions overlap by nine tenths; of each "
            "such repetition the rates add.",
            "The point closest to the plan answers; other settings are "
            "offered as fixes. A point with more workers than the job never passes, one with fewer never fails.",
            "FAIL: even the upper bound is below the need. PASS: the lower bound meets it, measured with as many nodes as the job "
            "has. A run on fewer nodes is compared with the need of those nodes, and never passes. A run of one node on "
            "local storage never fails the shared storage.",
            "Measured: as it would be used. Modelled: by a formula, from measured parts. Extrapolated: beyond the measurement."]
    return reported
