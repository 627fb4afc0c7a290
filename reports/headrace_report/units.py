"""Quantities as people read them: three significant digits, one prefix for a value and its bounds.

Links, devices and data are decimal (1 GB = 10^9 B); memory is reported in GiB.
"""

from __future__ import annotations

import math
from typing import List, NamedTuple, Optional

NBSP = "\u00a0"
MINUS = "\u2212"
DECIMAL = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
BINARY = ((2.0**50, "Pi"), (2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki"), (1.0, ""))
TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "\u00b5s"), (1e-9, "ns"))
PREFIXED = {"B/s": "B/s", "B": "B", "1/s": "/s", "/s": "/s", "FLOP/s": "FLOP/s", "bit/s": "bit/s"}
BARE = ("", "count", "ratio")


class Scale(NamedTuple):
    """How values are shown: divided by `factor`, followed by `label`, with `decimals` digits after the point."""

    factor: float
    label: str
    decimals: int

    def number(self, value: float) -> str:
        text = f"{value / self.factor:.{self.decimals}f}"
        return MINUS + text[1:] if text.startswith("-") else text


def _decimals(value: float, digits: int = 3) -> int:
    if value == 0 or not math.isfinite(value):
        return 0
    rounded = float(f"{abs(value):.{digits - 1}e}")  # 9.999 counts as 10.0
    return max(0, digits - 1 - math.floor(math.log10(rounded)))


def scale_of(value: float, unit: str, binary: bool = False) -> Scale:
    """The scale on which `value`, in SI, shows three significant digits."""
    size = abs(value)
    if unit in ("s", "ns"):
        base = 1.0 if unit == "s" else 1e9  # one second in the file's unit
        for factor, label in TIME:
            if size / base >= factor * 0.9995 or label == "ns":
                break
        if size == 0:
            factor, label = 1.0, "s"
        return Scale(factor * base, label, _decimals(size / (factor * base)))
    if unit in PREFIXED:
        prefixes = BINARY if binary else DECIMAL
        factor, prefix = next(((f, p) for f, p in prefixes if size >= f * 0.9995), (1.0, ""))
        bare = factor == 1.0 and unit == "B" and float(value).is_integer()
        return Scale(factor, prefix + PREFIXED[unit], 0 if bare else _decimals(size / factor))
    if size >= 1e5:
        factor, prefix = next((f, p) for f, p in DECIMAL if size >= f)
        return Scale(factor, (prefix + " " + unit if unit not in BARE else prefix).strip(), _decimals(size / factor))
    whole = unit == "count" and float(value).is_integer()
    return Scale(1.0, "" if unit in BARE else unit, 0 if whole else _decimals(size))


def quantity(value: Optional[float], unit: str, binary: bool = False) -> str:
    """"1.33 GB/s"; a dash when there is no value."""
    if value is None:
        return "\u2013"
    scale = scale_of(value, unit, binary)
    return f"{scale.number(value)}{NBSP}{scale.label}".rstrip(NBSP)


def bounds(low: Optional[float], high: Optional[float], scale: Scale) -> str:
    """"[0.889, 0.942]" on the scale of its value; an open side is reported as such; nothing without any bound."""
    if low is None and high is None:
        return ""
    left = "no bound" if low is None else scale.number(low)
    right = "no bound" if high is None else scale.number(high)
    return f"[{left}, {right}]"


def headroom(ratio: Optional[float]) -> str:
    """The ratio of a run file as people read it: 1.45 is +45 %, 12.3 is 12.3 x."""
    if ratio is None:
        return "\u2013"
    if ratio >= 10:
        return f"{ratio:.3g}{NBSP}\u00d7"
    percent = (ratio - 1) * 100
    percent = round(percent) if abs(percent) >= 0.95 else round(percent, 1)
    sign = "+" if percent > 0 else MINUS if percent < 0 else "\u00b1"
    return f"{sign}{abs(percent):g}{NBSP}%"


def change(ratio: Optional[float]) -> str:
    """A ratio as a change: 0.901 is -9.9 %, 12.3 is 12.3 x."""
    if ratio is None:
        return "\u2013"
    percent = (ratio - 1) * 100
    if percent >= 1000:
        return f"{ratio:.3g}{NBSP}\u00d7"
    text = f"{abs(percent):.{1 if abs(percent) < 9.95 else 0}f}"
    sign = "\u00b1" if float(text) == 0 else "+" if percent > 0 else MINUS
    return f"{sign}{text}{NBSP}%"


def share(value: float) -> str:
    """A share of 0..1 as a percentage; negative = not measured."""
    if value < 0:
        return "\u2013"
    percent = value * 100
    return f"{percent:.0f}{NBSP}%" if percent == 0 or percent >= 99.95 else f"{percent:.1f}{NBSP}%"


def percent(value: float) -> str:
    """A share as a percentage of two digits or more, never in powers of ten: "1.3 %", "120 %"."""
    number = 100 * value
    return f"{number:.2g}{NBSP}%" if number < 9.95 else f"{number:.0f}{NBSP}%"


def duration(seconds: float) -> str:
    """"42 s", "1 min 05 s", "2 h 03 min"."""
    if seconds < 59.95:
        return f"{seconds:.3g}{NBSP}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}{NBSP}min{NBSP}{whole % 60:02d}{NBSP}s"
    return f"{whole // 3600}{NBSP}h{NBSP}{whole % 3600 // 60:02d}{NBSP}min"


def is_memory(name: str, unit: str) -> bool:
    """Memory is reported in GiB, everything else in decimal units."""
    return unit == "B" and "memory" in name


def plural(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def listing(words: List[str]) -> str:
    """"a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
