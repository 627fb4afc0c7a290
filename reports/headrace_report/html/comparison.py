"""Puts page (c), runs compared with each other, together."""

from __future__ import annotations

import dataclasses
import shlex
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from markupsafe import Markup

from .. import words
from ..comparison import STATUSES, Comparison, Pair, Row
from ..plots import blocks, ratios, shift, visible
from ..plots.style import styled
from ..units import NBSP, bounds, change, is_memory, percent, plural, quantity, scale_of
from .embed import plain, script_json
from .page import Page, Panel

MOST_ROWS = 400       # in a table; a page of thousands is useless
MOST_EVIDENCE = 4     # pairs with every figure; further ones have the first
MOST_DATA_ROWS = 2_000
DATA_BUDGET = 2_000_000  # bytes of embedded data, of a page of at most 5 MB


@dataclass
class MetricRow:
    """One compared metric as the table reports it."""

    row: Row
    symbol: str
    tone: str
    arrow: str
    direction: str
    base: str
    other: str
    base_bounds: str
    other_bounds: str
    change: str
    bounds: str
    facts: List[Tuple[str, str]]
    same: List["MetricRow"]  # equivalent metrics


@dataclass
class Section:
    """One side compared with the base."""

    pair: Pair
    anchor: str
    rows: List[MetricRow]
    hidden: int           # rows that the table leaves out
    counts: List[Tuple[str, str, int]]
    overview: List[Panel]
    evidence: List[Panel]
    steps: List[str]


def render(comparison: Comparison, paper: str = "summary") -> str:
    """The whole page. The same comparison gives the same bytes."""
    page = Page(paper)
    with styled():
        sections = [_section(comparison, number, pair, page) for number, pair in enumerate(comparison.pairs, start=1)]
    data, left_out = embedded(comparison)
    return page.render(
        "comparison.html", all=comparison, sections=sections, headline=_headline(comparison),
        first_step=next((step for section in sections for step in section.steps), ""),
        loud=[d for d in comparison.fingerprint if d.matters], calm=[d for d in comparison.fingerprint if not d.matters],
        compared=_compared, subject=_subject(comparison), facts=_facts(comparison), statistics=_statistics(comparison),
        command=" ".join(shlex.quote(word) for word in comparison.command), environment=_sections(comparison.environment),
        section_name=words.section_name, data=data, left_out=left_out)


def _section(comparison: Comparison, number: int, pair: Pair, page: Page) -> Section:
    key = f"pair-{number}"
    evidence: List[Any] = []
    if number <= MOST_EVIDENCE:
        evidence = [page.panel(blocks.draw(pair), f"{key}-blocks"), page.panel(visible.draw(pair), f"{key}-visible")]
        evidence += [page.panel(figure, f"{key}-shift-{n}")
                     for n, figure in enumerate(shift.draw_all(pair, comparison.design), start=1)]
    overview = page.panel(ratios.draw(pair), f"{key}-ratios")
    findings = pair.findings
    rows = ratios.chosen(findings, MOST_ROWS)
    same: Dict[Any, List[Row]] = {}
    for row in pair.rows:
        if row.says_same_as:
            same.setdefault((row.points, row.says_same_as), []).append(row)
    lines = [_metric_row(pair, row, same.get((row.points, row.metric), [])) for row in rows]
    return Section(pair, key, lines, len(findings) - len(rows),
                   [(words.STATUS_SYMBOL[status], status, pair.summary.of(status)) for status in STATUSES],
                   [overview] if overview else [], [panel for panel in evidence if panel], _steps(pair))


def _metric_row(pair: Pair, row: Row, same: List[Row]) -> MetricRow:
    def reported(values) -> Tuple[str, str]:
        binary = is_memory(row.metric, row.unit)
        scale = scale_of(values.typical, row.unit, binary)
        return quantity(values.typical, row.unit, binary), \
            f"{bounds(values.low, values.high, scale)}, n = {values.n}" if values.n > 1 else f"n = {values.n}"
    (base, base_bounds), (other, other_bounds) = reported(row.base), reported(row.other)
    interval = f"[{change(row.low)}, {change(row.high)}]".replace(f"{NBSP}%", "") if row.reported and not row.fact else ""
    facts = [("what", row.description)]
    if row.points[1] != row.points[0]:
        facts += [(f"point of {pair.base}", row.points[0]), (f"point of {pair.other}", row.points[1])]
    facts.append(("change that matters", percent(row.delta) if row.delta else "any"))
    if row.fact:
        facts.append(("fact", "read, not measured: compared exactly"))
    if row.smallest_visible is not None:
        facts.append(("would have shown", f"{words.visible(row.smallest_visible)}, nine times in ten"))
    if row.noise_floor is not None:
        facts.append(("noise floor", f"\u00b1{percent(row.noise_floor)}, this system against itself"))
    if row.p is not None and not row.fact:
        facts.append(("p", f"{row.p:.2g}" + ("" if row.gated else ", is significant among all" if row.significant else
                                             ", is not significant among all")))
    if row.params:
        facts.append(("parameters", ", ".join(f"{name} {value}" for name, value in row.params.items())))
    directions = {"higher": "higher is better", "lower": "lower is better"}
    return MetricRow(row, words.STATUS_SYMBOL[row.status], words.STATUS_TONE[row.status], ratios.arrow(row).strip(),
                     directions.get(row.better, ""), base, other, base_bounds, other_bounds, change(row.ratio), interval,
                     [(name, text) for name, text in facts if text], [_metric_row(pair, other, []) for other in same])


def _steps(pair: Pair) -> List[str]:
    """Each once, those of gates first."""
    rows = sorted(pair.rows, key=lambda row: not row.gated)
    return list(dict.fromkeys(row.next_step for row in rows if row.next_step))[:5]


def _headline(comparison: Comparison) -> Tuple[str, str]:
    design = comparison.design
    reported = f"a change matters from {100 * design.delta_rate:g}{NBSP}%, of tails from {100 * design.delta_tail:g}{NBSP}%"
    if len(comparison.pairs) == 1:
        summary = comparison.pairs[0].summary
        return _sentence(summary.about_gates), (
            f"{summary.sentence} (of {summary.compared}, in {plural(summary.metrics, 'metric')}); {reported}; at most "
            f"{summary.expected_by_chance:.2g} expected by chance")
    failed = [pair.other for pair in comparison.pairs if pair.summary.word == "FAIL"]
    base = comparison.pairs[0].base
    sides = plural(len(comparison.pairs), "side")
    return (f"{len(failed)} of {sides} worse than {base}: {', '.join(failed)}" if failed else
            f"None of {sides} is surely worse than {base}", reported)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _subject(comparison: Comparison) -> str:
    """The compared sides: "B against A: workers: 1 \u2192 4"; "" for several pairs, which each report theirs."""
    if len(comparison.pairs) > 1:
        return ""
    pair = comparison.pairs[0]
    return f"{pair.other} against {pair.base}: {_compared(pair) or 'the same parameters, settings and programs'}"


def _compared(pair: Pair) -> str:
    """"workers: 1 \u2192 4; device.firmware: 1.2 \u2192 1.3 (declared)", the first ones."""
    parts = [part.replace(" -> ", " \u2192 ") for part in pair.compared]
    return "; ".join(parts[:4]) + (f" and {len(parts) - 4} more" if len(parts) > 4 else "")


def _facts(comparison: Comparison) -> List[Tuple[str, str]]:
    summary = comparison.pairs[0].summary
    facts = [(side.label, ", ".join([f"{side.source} on {side.node}" if side.node else side.source,
                                     *([plural(side.runs, "run")] if side.runs > 1 else [])])) for side in comparison.sides]
    facts.append(("design", comparison.design.sentence))
    if comparison.history.sentence:
        facts.append(("history", comparison.history.sentence))
    if len(comparison.pairs) == 1 and summary.smallest_visible:
        facts.append(("detection limit", f"{words.visible(summary.smallest_visible)} (median)"))
    facts.append(("noise floor", words.noise_line(comparison.noise_floor)))
    facts.append(("exit code", str(comparison.summary.exit_code)))
    return facts


def _statistics(comparison: Comparison) -> List[str]:
    design = comparison.design
    level = f"{100 * design.level:g}{NBSP}%"
    reported = []
    if design.interleaved:
        looks = " and ".join(map(str, design.looks))
        reported.append(f"Each block measures both sides in the order {design.order}, the next one turned round, so that a drift "
                    f"of the machine falls on both. A block gives one ratio; Student\u2019s t over their logarithms bounds "
                    f"the ratio at {level}. The first {looks} blocks decide, no others. A value is the geometric mean over "
                    f"the blocks, so that {comparison.pairs[0].other} \u00f7 {comparison.pairs[0].base} is the change.")
    elif comparison.history.sessions:
        reported.append(f"Two stored runs: the ratio of the medians, bounded at {level} by Student\u2019s t on logarithms. "
                    f"The spread of {comparison.history.sessions} past sessions of the same configuration and machine widens the bounds.")
    else:
        reported.append(f"Two stored runs without a history: sessions of one system differ by more than repetitions do, "
                    f"by an unknown amount. The bounds ({level}) assume a spread of "
                    f"{percent(comparison.history.assumed_spread)}; a change says that these two sessions "
                    f"differ, which need not be a regression.")
    reported += [
        "Worse, better, different: the bounds exclude no change, and the ratio lies beyond \u03b4. Small: they exclude it, and "
        "the ratio lies within. Same: the bounds lie within. Anything else is inconclusive, with a reason.",
        f"Gates decide the exit code. Of all other metrics Benjamini and Hochberg\u2019s rule at "
        f"{100 * design.false_discovery_rate:g}{NBSP}% decides which changes are significant.",
        "Metrics of one point whose values are the same multiple of each other (or of its inverse) in every repetition "
        "of both sides are one finding. Facts (cores, memory, space) are compared exactly.",
        "When machines, settings or programs differ without a declaration, a change is fingerprint-differs."]
    return reported


def _sections(environment: Dict[str, str]) -> Dict[str, Dict[str, str]]:
    """{"kernel.release": ...} as {"kernel": {"release": ...}}."""
    sections: Dict[str, Dict[str, str]] = {}
    for key, value in environment.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name or section] = value
    return sections


def embedded(comparison: Comparison, budget: int = DATA_BUDGET) -> Tuple[Markup, str]:
    """The file for a <script type="application/json">, and its omitted parts ("" = none)."""
    left_out = []
    if sum(len(pair.rows) for pair in comparison.pairs) > MOST_DATA_ROWS:
        pairs = [dataclasses.replace(pair, rows=ratios.chosen(pair.rows, MOST_ROWS)) for pair in comparison.pairs]
        comparison = dataclasses.replace(comparison, pairs=pairs)
        left_out.append("least differing metrics")
    data = plain(comparison)
    text = script_json(data)
    if len(text) > budget:
        for pair in data["pairs"]:
            for row in pair["rows"]:
                row["base"]["values"], row["other"]["values"] = [], []
        left_out.append("repetitions")
        text = script_json(data)
    return Markup(text), " and ".join(left_out)
