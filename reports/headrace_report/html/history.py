"""Puts the page of a history together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Tuple

from markupsafe import Markup

from .. import words
from ..history import Change, History, Series
from ..plots import trend
from ..plots.style import styled
from ..units import NBSP, change, plural, quantity
from .embed import plain, script_json
from .page import Page

MOST_FIGURES = 12
MOST_SERIES = 400
MOST_EVENTS = 200


@dataclass
class SeriesRow:
    series: Series
    status: str
    symbol: str
    tone: str
    level: str
    runs: int
    change: str
    change_sort: float
    when: str


def render(history: History, paper: str = "summary") -> str:
    """The whole page. The same history gives the same bytes."""
    page = Page(paper)
    with styled():
        panels = [page.panel(trend.draw(history, series), f"trend-{number}")
                  for number, series in enumerate(history.series[:MOST_FIGURES], start=1)]
    events = [(run, event) for run in history.runs for event in run.events]
    return page.render(
        "history.html", all=history, headline=_headline(history), facts=_facts(history), panels=[panel for panel in panels if panel],
        rows=[_row(series) for series in history.series[:MOST_SERIES]], rows_left=max(0, len(history.series) - MOST_SERIES),
        events=events[-MOST_EVENTS:], statistics=_statistics(history), data=Markup(script_json(plain(history))))


def _row(series: Series) -> SeriesRow:
    reported = [series.levels[-1].median] if series.levels else series.median[-1:]
    level = quantity(reported[0], series.unit) if reported else "\u2013"
    runs = len(series.run) + len(series.left_out)
    if series.gone:
        return SeriesRow(series, "worse", words.STATUS_SYMBOL["worse"], words.STATUS_TONE["worse"], quantity(0, series.unit), runs, "\u2013",
                         -1.0, "")
    if series.two_levels and not any(one.certain for one in series.changes[-1:]):
        return SeriesRow(series, "two levels", "?", "inconclusive", level, runs, "\u2013", 0.0, "")
    if series.changes:
        last = series.changes[-1]
        symbol, tone = (words.STATUS_SYMBOL[last.status], words.STATUS_TONE[last.status]) if last.certain else ("?", "inconclusive")
        return SeriesRow(series, last.status if last.certain else "may drift" if series.wanders else "may be chance", symbol, tone, level, runs, _change(last), last.change or 0.0,
                         last.between[1].replace("T", " ").replace("Z", ""))
    if series.newest.left_out:
        return SeriesRow(series, series.newest.left_out, "?", "inconclusive", level, runs, "\u2013", 0.0, "")
    if series.newest.unusual:
        return SeriesRow(series, "unusual", "?", "inconclusive", level, runs, "\u2013", 0.0, "")
    status = "too short" if series.why else "same"
    return SeriesRow(series, status, "\u2013" if series.why else "=", "skipped", level, runs, "\u2013", 0.0, "")


def _change(one: Change) -> str:
    return "no longer 0" if one.change is None else change(1 + one.change)


def _headline(history: History) -> Tuple[str, str]:
    first, _, rest = history.summary.sentence.partition(". ")
    return first.rstrip(".") + ".", rest


def _facts(history: History) -> List[Tuple[str, str]]:
    nodes = list(dict.fromkeys(run.node for run in history.runs))
    facts = [("nodes", ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")),
             ("runs", str(history.summary.runs))]
    times = sorted(run.started_utc for run in history.runs)
    if times:
        facts.append(("from", times[0].replace("T", " ").replace("Z", " UTC")))
        facts.append(("to", times[-1].replace("T", " ").replace("Z", " UTC")))
    facts += [("changes", str(history.summary.changes)), ("unusual", str(history.summary.unusual)),
              ("newest run", f"{history.summary.missing} missing, {history.summary.left_out} left out"),
              ("too short", plural(history.summary.too_short, "series", "series")), ("noise floor", words.noise_line(history.noise_floor)),
              ("exit code", str(history.summary.exit_code))]
    return facts


def _statistics(history: History) -> List[str]:
    return [f"A series is one metric of one point on one node with one configuration; from {history.min_runs} runs on it is cut into "
            f"levels of {history.min_segment} runs or more.",
            "A level is cut out where the energy distance of its runs from the rest is largest (E-divisive). Few of "
            f"{history.permutations} seeded permutations may have one as large (p at most {history.p_limit:g}).",
            "Cuts whose medians differ by less than the smallest change that matters are taken back.",
            "Runs whose cache state was not proven or that were disturbed, rates of 0 and missing values are no part of levels; they are listed.",
            "Where a drift explains the runs about as well as levels do, a change may be that: it fails nothing.",
            "A rate is the mean over time of a run; counts that were read are compared exactly.",
            f"The newest run alone is unusual beyond 4 robust deviations of the last 40 of its level; one run is no change.{NBSP}"]
