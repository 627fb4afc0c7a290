"""Puts the page of a bring-up together."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any, Dict, List, Tuple

from markupsafe import Markup

from ..bringup import Bringup, Fault, Node
from ..plots import cluster, crowd, meetings
from ..plots.style import styled
from ..units import NBSP, duration, percent, plural, quantity, share
from ..words import SYMBOL
from .embed import plain, script_json
from .page import Page

MOST_FAULTS = 100
WIDE_SCOPES = ("rack", "switch")
MOST_NODES = 150
MOST_ROWS = 200
DATA_BUDGET = 900_000
# Of a node's state: the symbol and the tone that it is reported in; those that want something first.
STATES = {"confirmed": ("\u2718", "fail"), "drained": ("\u2718", "fail"), "flapping": ("\u2718", "fail"), "missing": ("!", "error"), "suspect": ("?", "inconclusive"),
          "new": ("\u2013", "skipped"), "retested": ("\u2714", "pass"), "accepted": ("\u2714", "pass")}
QUALITIES = {"rate": "rate", "latency": "latency", "resent": "segments sent again"}


@dataclass
class FaultRow:
    fault: Fault
    where: str
    lost: str
    healthy: str


@dataclass
class NodeRow:
    node: Node
    state: str
    symbol: str
    tone: str
    partners: int
    rate: str          # of its median pair, as a share of the usual
    rate_sort: float
    latency: str
    resent: str
    reported: List[str]


@dataclass
class Met:
    """A node's rates with its partners."""
    partners: set = field(default_factory=set)
    rates: Dict[int, List[float]] = field(default_factory=dict)  # by rail, of the usual rate there
    latencies: List[float] = field(default_factory=list)
    resent: List[float] = field(default_factory=list)


def render(bringup: Bringup, paper: str = "summary") -> str:
    """The whole page. The same bring-up gives the same bytes."""
    page = Page(paper)
    with styled():
        panels = [page.panel(cluster.draw(bringup), "cluster"), page.panel(crowd.draw(bringup), "crowd"), page.panel(meetings.draw(bringup), "meetings")]
    rows = _nodes(bringup)
    missing = [node for node in bringup.nodes if node.missing]
    differences = [(node, one) for node in bringup.nodes for one in node.differences]
    data, left_out = _embedded(bringup)
    return page.render(
        "bringup.html", all=bringup, headline=_headline(bringup), facts=_facts(bringup), first_step=next((command for _, command in _commands(bringup)), ""), panels=[panel for panel in panels if panel],
        faults=[_fault(bringup, one) for one in _ordered(bringup.faults)[:MOST_FAULTS]], faults_left=max(0, len(bringup.faults) - MOST_FAULTS),
        scopes=list(dict.fromkeys(fault.scope for fault in bringup.faults)), states=[(*STATES[state], state, nodes) for state, nodes in _lists(bringup)],
        nodes=rows[:MOST_NODES], nodes_left=max(0, len(rows) - MOST_NODES), tested=_tested(bringup), missing=missing[:MOST_ROWS],
        missing_left=max(0, len(missing) - MOST_ROWS), differences=differences[:MOST_ROWS], differences_left=max(0, len(differences) - MOST_ROWS),
        alone=_alone(bringup), together=_together(bringup), commands=_commands(bringup), sessions=_sessions(bringup), failed=_failed(bringup)[:MOST_ROWS], rules=_rules(bringup), settings=_settings(bringup),
        data=data, left_out=left_out)


def _headline(bringup: Bringup) -> Tuple[str, str]:
    """Bad and missing parts first; then the participants."""
    sentence = bringup.sentence.rstrip(".")
    parts = [part for part in sentence.split("; ") if part]
    bad = [part for part in parts if part.startswith(("bad: ", "missing: "))]
    rest = "; ".join(part for part in parts if part not in bad)
    if not bad:
        return (f"{parts[0]}." if parts else "Nothing is known yet."), (_capital("; ".join(parts[1:])) + "." if parts[1:] else "")
    return f"{_capital('; '.join(bad))}.", f"{_capital(rest)}." if rest else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _facts(bringup: Bringup) -> List[Tuple[str, str]]:
    count = len(bringup.nodes)
    rounds = [one for session in bringup.sessions for one in session.rounds]
    elapsed, pairs_s = sum(session.elapsed_s for session in bringup.sessions), sum(one.took_s for one in rounds)
    facts = [("accepted", f"{sum(node.state in ('accepted', 'retested') for node in bringup.nodes)} of {plural(count, 'node')}")]
    others = [(state, sum(cluster.state_of(node) == state for node in bringup.nodes)) for state in STATES if state not in ("accepted", "retested")]
    facts += [("others", ", ".join(f"{number} {state}" for state, number in others if number) or "none"),
              ("findings", _found(bringup)), ("rounds", f"{len(rounds)}, {plural(sum(len(one.pairs) for one in rounds), 'pair')}")]
    if elapsed > 0:
        facts.append(("took", f"{duration(elapsed)}, {duration(pairs_s)} of it pairs"))
    if bringup.running:
        facts.append(("state", f"still going on after round {len(bringup.sessions[-1].rounds)}" if bringup.sessions else "still going on"))
    if bringup.simulated:
        facts.append(("simulated", bringup.simulated))
    return facts + [("usual rate", _usual(bringup)), ("exit code", str(bringup.exit_code))]


def _usual(bringup: Bringup) -> str:
    named = [(quantity(rate, "B/s"), bringup.rail_name(0, rail)) for rail, rate in enumerate(bringup.usual_rate)]
    return ", ".join(f"{rate} ({name})" if name else rate for rate, name in named) or "\u2013"


def _found(bringup: Bringup) -> str:
    scopes: Dict[str, int] = {}
    for fault in bringup.faults:
        scopes[fault.scope] = scopes.get(fault.scope, 0) + 1
    return ", ".join(plural(number, scope, "switches" if scope == "switch" else "") for scope, number in scopes.items()) or "none"


def _ordered(faults: List[Fault]) -> List[Fault]:
    """Faults of most nodes first; with too many, nodes are listed by their state, too."""
    if len(faults) <= MOST_FAULTS:
        return faults
    return sorted(faults, key=lambda fault: (fault.scope not in WIDE_SCOPES, fault.scope == "node", -fault.loss))


def _chance(share: float) -> str:
    """Never in powers of ten."""
    return percent(share) if share == 0 or share >= 1e-4 else f"under 0.01{NBSP}%"


def _fault(bringup: Bringup, fault: Fault) -> FaultRow:
    where = next((node.where for node in bringup.nodes if node.name == fault.node), "") if fault.node else ""
    lost = f"{100 * fault.loss:.0f}{NBSP}%" if fault.loss > 0 else "\u2013"
    return FaultRow(fault, where, lost, _chance(fault.healthy) if fault.in_ else "\u2013")


def _lists(bringup: Bringup) -> List[Tuple[str, str]]:
    return [(state, bringup.states[state]) for state in STATES if state in bringup.states]


def _met(bringup: Bringup) -> List[Met]:
    met = [Met() for _ in bringup.nodes]
    for pair in bringup.pairs():
        usual = bringup.usual(pair.rail)
        for end, other in (pair.nodes, pair.nodes[::-1]):
            met[end].partners.add(other)
            if usual > 0:
                met[end].rates.setdefault(pair.rail, []).append(min(pair.rate) / usual)
            if pair.rail < bringup.tcp_rails:  # RDMA is of another scale: the table of pairs has it
                met[end].latencies.append(pair.latency_s[0])
                met[end].resent.append(max(pair.resent))
    return met


def _nodes(bringup: Bringup) -> List[NodeRow]:
    """Those that want something first."""
    reported: Dict[str, List[str]] = {}
    lost: Dict[str, float] = {}  # as it was judged: without pairs of two that are bad
    for fault in bringup.faults:
        reported.setdefault(fault.node, []).append(fault.reported)
        lost[fault.node] = max(lost.get(fault.node, 0.0), fault.loss)
    order = list(STATES)
    numbered = sorted(enumerate(bringup.nodes), key=lambda item: order.index(cluster.state_of(item[1])))
    met = _met(bringup)
    rows = []
    for number, node in numbered:
        state, one = cluster.state_of(node), met[number]
        said = [*reported.get(node.name, []), *([node.missing.why] if node.missing else []), *(d.reported for d in node.differences if not d.fault)]
        rate = 1 - lost[node.name] if lost.get(node.name, 0) > 0 else min(map(median, one.rates.values()), default=None)  # of its worst rail
        rows.append(NodeRow(node, state, *STATES[state], len(one.partners), share(rate) if rate is not None else "\u2013",
                            rate if rate is not None else -1.0, quantity(median(one.latencies), "s") if one.latencies else "\u2013",
                            percent(median(one.resent)) if one.resent else "\u2013", said))
    return rows


def _tested(bringup: Bringup) -> List[Tuple[str, str, str]]:
    """The tested parts, of how many, and their unknown results."""
    count = len(bringup.nodes)
    met = {tuple(sorted(pair.nodes)) for pair in bringup.pairs()}
    seen = {end for pair in met for end in pair}
    looked = sum(node.clock_s is not None for node in bringup.nodes)
    every = count * (count - 1) // 2
    rows = []
    if not bringup.simulated:
        rows.append(("hosts compared with each other", f"{looked} of {count}", _unknown(count - looked, "was", "were", "not reached, or not asked in this session")))
        for path in bringup.paths:
            rows.append((f"path {path}", f"{looked} of {count}", "a run on that host measures it"))
    rows.append(("nodes, in pairs", f"{len(seen)} of {count}", _unknown(count - len(seen), "met", "met", "no partner: nothing is known of them")))
    rows.append(("links between two nodes", f"{len(met)} of {every}",
                 _unknown(every - len(met), "was", "were", "not measured: a link is judged only where its two nodes met")))
    if bringup.rails > 1:
        rails = {pair.rail for pair in bringup.pairs()}
        rows.append(("rails", f"{len(rails)} of {bringup.rails}", _unknown(bringup.rails - len(rails), "was", "were", "not measured")))
    rows.append(("of each pair", ", ".join(QUALITIES.values()), "" if bringup.rails > bringup.tcp_rails else "by TCP alone"))
    for what, tested in (("nodes, each by itself", {one.node for session in bringup.sessions for tests in session.tests for one in tests.nodes}),
                         ("nodes, in groups", {node for session in bringup.sessions for group in session.groups for node in group.nodes})):
        if tested or not bringup.simulated:
            rows.append((what, f"{len(tested)} of {count}", _unknown(count - len(tested), "was", "were", "not tested so")))
    return rows + [(one.step, "left out", one.why) for one in bringup.skipped]


def _alone(bringup: Bringup) -> List[Tuple[str, ...]]:
    """Of each metric of the newest tests: how many nodes reported it, the middle, and the worst of them."""
    tests = next((tests for session in reversed(bringup.sessions) for tests in reversed(session.tests)), None)
    rows = []
    for number, metric in enumerate(tests.metrics if tests else []):
        reported = [(one.values[number], bringup.nodes[one.node].name) for one in tests.nodes if number < len(one.values) and one.values[number] is not None]
        if reported:
            worst, name = max(reported) if metric.better == "lower" else min(reported)
            rows.append((f"{metric.point}.{metric.metric}", str(len(reported)), quantity(median(value for value, _ in reported), metric.unit),
                         quantity(worst, metric.unit), name))
    return rows


def _together(bringup: Bringup) -> List[Tuple[str, ...]]:
    """Rates of groups of nodes, and the job's storage load: part, nodes, value, need, outcome."""
    rows = []
    for group in (group for session in bringup.sessions for group in session.groups):
        nodes = plural(len(group.nodes), "node")
        if group.why:
            rows.append((group.what, nodes, "\u2013", "\u2013", f"! {group.why}"))
        rows += [(f"{group.what}: {one.point}.{one.metric}", nodes, quantity(one.value, one.unit), "\u2013", "") for one in group.values]
        rows += [(f"{group.what}: {one.title}", nodes, quantity(one.in_all, one.unit), quantity(one.need, one.unit),
                  f"{SYMBOL.get(one.outcome, '?')} {one.outcome}{': ' + one.explanation if one.explanation else ''}") for one in group.phases]
    return rows[:MOST_ROWS]


def _unknown(number: int, one: str, many: str, what: str) -> str:
    return f"{number} {one if number == 1 else many} {what}" if number else "\u2013"


def _commands(bringup: Bringup) -> List[Tuple[str, str]]:
    """What to paste, and what it does."""
    hand = bringup.hand_over
    return [(f"{does} ({scheduler})", command)
            for scheduler, some in (("Slurm", hand.slurm), ("Kubernetes", hand.kubernetes))
            for does, all_of in (("takes bad nodes out", some.drain), ("lets back in who passed", some.resume)) for command in all_of]


def _sessions(bringup: Bringup) -> List[Tuple[str, ...]]:
    rows = []
    for session in bringup.sessions:
        pairs = sum(len(one.pairs) for one in session.rounds)
        rows.append((session.started_utc.replace("T", " ").replace("Z", " UTC") if not bringup.simulated else "simulated",
                     ", ".join(bringup.nodes[number].name for number in session.retest[:8]) + (" \u2026" if len(session.retest) > 8 else "") or "all",
                     str(len(session.rounds)), str(pairs), str(sum(len(one.failed) for one in session.rounds)),
                     duration(sum(one.took_s for one in session.rounds)), duration(session.elapsed_s) if session.elapsed_s else "\u2013"))
    return rows


def _failed(bringup: Bringup) -> List[Tuple[str, str, str]]:
    return [(bringup.nodes[one.nodes[0]].name, bringup.nodes[one.nodes[1]].name, one.why)
            for session in bringup.sessions for round_ in session.rounds for one in round_.failed]


def _rules(bringup: Bringup) -> List[str]:
    return [f"Any healthy part is accused with a probability of {percent(bringup.alpha)} at most, over the whole cluster; a part that loses "
            f"{percent(bringup.delta)} or more is called healthy with {percent(bringup.beta)} at most. Other parts are undecided, and tested on.",
            "A pair is as slow as its slowest part: a NIC of either node, the way out of either switch, or the way between both. All beliefs are "
            "found together from what all pairs reached.",
            "The usual rate, its noise, and the share of transient low rates come from these data.",
            "Rate, least latency and segments sent again are searched alike; a part is bad when it is in any of them.",
            "A host setting (memory, limits, mounts, clocks) is a fault if it differs from more than half of the hosts."]


def _settings(bringup: Bringup) -> List[Tuple[str, str]]:
    settings = [("hosts file", bringup.hosts_file), ("started by", bringup.launch), ("one way of a pair", duration(bringup.time_s)),
                ("connections of a pair", str(bringup.streams)), ("rounds at most", str(bringup.most_rounds)),
                ("each two nodes", "meet" if bringup.every_link else "need not meet"), ("seed", str(bringup.seed))]
    return [(name, value) for name, value in settings if value]


def _embedded(bringup: Bringup) -> Tuple[Markup, str]:
    """The file inside its page; a large one without its longest parts."""
    data: Any = plain(bringup)
    left_out: List[str] = []
    text = script_json(data)
    for words, drop in (("facts of hosts", _drop_facts), ("pairs", _drop_pairs), ("nodes", lambda data: data.update(nodes=[]))):
        if len(text) <= DATA_BUDGET:
            break
        drop(data)
        left_out.append(words)
        text = script_json(data)
    return Markup(text), " and ".join(left_out)


def _drop_facts(data: Dict[str, Any]) -> None:
    for node in data["nodes"]:
        node.pop("facts", None)


def _drop_pairs(data: Dict[str, Any]) -> None:
    for session in data["sessions"]:
        for one in session["rounds"]:
            one["pairs"], one["failed"] = [], []
