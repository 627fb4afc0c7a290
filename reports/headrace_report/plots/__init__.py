"""Figures of the report pages: each module draws one kind of plot from the run's types and returns a Figure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List

from .hover import Hover


@dataclass
class Table:
    """What a figure shows, in numbers: texts as they are printed."""

    columns: List[str] = field(default_factory=list)
    rows: List[List[str]] = field(default_factory=list)


@dataclass
class Key:
    """One entry of the line under a figure that explains it."""

    mark: str   # name of a CSS class that draws the mark
    text: str


@dataclass
class Figure:
    """A drawn figure with all that belongs to it."""

    finding: str   # the title: what it shows, as a sentence
    question: str  # the question it answers
    description: str  # the whole picture in words, for blind readers
    drawing: object   # matplotlib figure
    table: Table
    keys: List[Key] = field(default_factory=list)
    hovers: List[Hover] = field(default_factory=list)
