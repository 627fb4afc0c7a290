"""Changes that would feed more GPUs, the same on the pages of a sizing and of a qualification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List

from ..sizing import Fix, Sizing
from ..units import headroom

MANY = 100
BASIS_TONE = {"measured": "pass", "modelled": "skipped", "extrapolated": "inconclusive", "": "skipped"}
BASIS_WORDS = {"measured": "measured here", "modelled": "modelled from measured parts",
               "extrapolated": "extrapolated: a guess", "": "not measured"}


@dataclass
class FixRow:
    fix: Fix
    fed: str
    bounds: str
    phase: str
    tone: str
    basis: str


def fix_rows(sizing: Sizing) -> List[FixRow]:
    """In the order in which sizing ranks them."""
    return [_fix_row(sizing, fix) for fix in sizing.fixes]


def fed_count(count: float, gpus: float) -> str:
    """Far more than the job has is reported as just that."""
    return f"more than {MANY} times" if count > MANY * gpus else f"{count:g}"


def _fix_row(sizing: Sizing, fix: Fix) -> FixRow:
    phase = sizing.phase(fix.phase)
    title = phase.title.lower() if phase else fix.phase
    fed = "not known" if fix.gpus_fed is None else fed_count(fix.gpus_fed, sizing.job.gpus) + (" (all)" if fix.capped else "")
    interval = f"[{fix.low:g}, {fix.high:g}]" if fix.low is not None and fix.low != fix.high else ""
    # A number of GPUs is meaningless for a checkpoint, and where fewer nodes were measured than the job has.
    if fix.phase_headroom is not None and (fix.phase_gpus_fed is None or fix.gpus_fed is None):
        fed, interval = headroom(fix.phase_headroom.median), ""
    return FixRow(fix, fed, interval, title, BASIS_TONE[fix.basis], BASIS_WORDS[fix.basis])
