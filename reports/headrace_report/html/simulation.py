"""Puts the page of a simulation together."""

from __future__ import annotations

from typing import List, Tuple

from markupsafe import Markup

from ..errors import ReportError
from ..plots import simulated
from ..plots.style import styled
from ..simulation import Simulation, Spread
from ..units import NBSP, plural, quantity
from .embed import plain, script_json
from .page import Page, svg_file


def render(simulation: Simulation, paper: str = "summary") -> str:
    """The whole page. The same simulation gives the same bytes."""
    page = Page(paper, value=_value)
    with styled():
        panels = [page.panel(draw(simulation), name) for draw, name in
                  ((simulated.busy, "busy"), (simulated.times, "times"), (simulated.storm, "storm"))]
    return page.render("simulation.html", all=simulation, headline=_headline(simulation), facts=_facts(simulation),
                       panels=[panel for panel in panels if panel], last=simulation.scales[-1],
                       data=Markup(script_json(plain(simulation))))


def figures(simulation: Simulation) -> str:
    """The curves over the number of nodes in one SVG file, which follows the reader's light or dark."""
    with styled():
        drawn = [figure for figure in (simulated.busy(simulation), simulated.times(simulation)) if figure]
        if not drawn:
            raise ReportError("--figure: one number of nodes is no curve")
        return svg_file(f"{simulation.job.name}: expected on more nodes", drawn, "curve")


def _value(value: float, one: Spread) -> str:
    return f"{100 * value:.1f}{NBSP}%" if one.unit == "ratio" else quantity(value, one.unit)


def _headline(simulation: Simulation) -> Tuple[str, str]:
    sentence = simulation.summary.sentence
    return sentence[:1].upper() + sentence[1:], simulation.summary.cause


def _facts(simulation: Simulation) -> List[Tuple[str, str]]:
    job, last = simulation.job, simulation.scales[-1]
    return [("job", job.description or job.name),
            ("nodes", ", ".join(f"{scale.nodes:g}" for scale in simulation.scales)),
            ("GPUs", f"{last.gpus:g} on {plural(int(last.nodes), 'node')}"),
            ("seeds", f"{simulation.seeds}, from seed {simulation.seed}"),
            ("exit code", str(simulation.summary.exit_code))]
