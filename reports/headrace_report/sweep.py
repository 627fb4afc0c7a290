"""What `headrace require --sweep --json` prints, schema 1, as Python types (docs/reference/job.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional

from .errors import Inconsistent
from .schema import Tool

KIND = "headrace.sweep"


@dataclass(frozen=True)
class SweptNeed:
    id: str
    scope: str
    unit: str

    @property
    def name(self) -> str:
        return f"{self.id} ({self.scope})"


@dataclass(frozen=True)
class SweptPoint:
    values: List[str]            # of the swept keys, as they were written
    needs: List[Optional[float]]  # with margin; nothing where this job does not have it
    refused: str = ""            # why there can be no such job


@dataclass(frozen=True)
class Sweep:
    schema: int
    kind: str
    headrace: Tool
    job: str
    keys: List[str]
    needs: List[SweptNeed]
    points: List[SweptPoint]

    def check(self) -> None:
        if not self.keys or not self.points:
            raise Inconsistent("nothing is swept")
        for point in self.points:
            if len(point.values) != len(self.keys) or len(point.needs) != len(self.needs):
                raise Inconsistent("lists of different lengths")

    def changing(self) -> List[int]:
        """Which needs are not the same at every point that has them."""
        return [n for n in range(len(self.needs)) if len({p.needs[n] for p in self.points if p.needs[n] is not None}) > 1]
