"""The files that pages are drawn from: what each kind is read into, and which module of html/ draws it."""

from __future__ import annotations

import importlib
import os
from typing import Any, Dict, Tuple

from . import bringup, comparison, fleet, history, observation, schema, simulation, sizing, sweep
from .errors import ReportError, RunFileError
from .load import load

# Of each kind: its type, the module of html/ whose render() draws it, and its name in a folder.
KINDS: Dict[str, Tuple[type, str, str]] = {
    schema.KIND: (schema.Run, "qualification", "run.json"),
    comparison.KIND: (comparison.Comparison, "comparison", "comparison.json"),
    sizing.KIND: (sizing.Sizing, "sizing", "size.json"),
    fleet.KIND: (fleet.Fleet, "fleet", "fleet.json"),
    history.KIND: (history.History, "history", "history.json"),
    bringup.KIND: (bringup.Bringup, "bringup", "bringup.json"),
    observation.KIND: (observation.Observation, "observation", "observe.json"),
    simulation.KIND: (simulation.Simulation, "simulation", "simulation.json"),
    sweep.KIND: (sweep.Sweep, "sweep", "sweep.json"),
}
TYPES = {kind: entry[0] for kind, entry in KINDS.items()}


def file_in(path: str) -> str:
    """`path` itself, or the file in this folder that a page can be drawn from."""
    if not os.path.isdir(path):
        return path
    for _, _, name in KINDS.values():
        if os.path.isfile(os.path.join(path, name)):
            return os.path.join(path, name)
    raise RunFileError(f"{path}: holds none of {', '.join(name for _, _, name in KINDS.values())}")


def page(document: Any, file: str, paper: str) -> str:
    """The page of a document read from `file`, to be printed as "summary" or "full". A run's page also shows possible
    improvements, where its sizing is next to it. Raises RunFileError."""
    beside = os.path.join(os.path.dirname(file), KINDS[sizing.KIND][2])
    if isinstance(document, schema.Run) and os.path.isfile(beside):
        sized = load(beside, {sizing.KIND: sizing.Sizing})
        if [used.run for used in sized.runs] != [document.run.id]:
            raise RunFileError(f"{beside}: the sizing of {', '.join(used.run for used in sized.runs)}, not of {document.run.id} alone")
        return _html_of(document).render(document, paper, sized)
    return _html_of(document).render(document, paper)


def figures(document: Any) -> str:
    """The figures of a read document alone, in one SVG file; only sweeps and simulations have such."""
    module = _html_of(document)
    if not hasattr(module, "figures"):
        raise ReportError("--figure: only sweeps of needs and simulations are drawn as figures alone")
    return module.figures(document)


def _html_of(document: Any) -> Any:
    module = next(name for kind, name, _ in KINDS.values() if isinstance(document, kind))
    return importlib.import_module(f".html.{module}", __package__)
