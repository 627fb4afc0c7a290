"""The page carries its own data: its file inside it, thinned only where the page would grow too large."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Tuple

from markupsafe import Markup

from ..schema import Run

BUDGET = 1_000_000  # bytes of embedded data: leaves as much for the figures of a 2 MB page


def embedded(run: Run, budget: int = BUDGET) -> Tuple[Markup, str]:
    """JSON for a <script type="application/json">, and its omitted parts ("" = none)."""
    data = plain(run)
    left_out = ""
    text = script_json(data)
    for keys, words in ((("series", "slowest_series"), "time series"), (("parts",), "latency parts")):
        if len(text) <= budget:
            break
        for point in data["points"]:
            for repetition in point["repetitions"]:
                for phase in repetition["phases"]:
                    for key in keys:
                        phase.pop(key, None)
                        phase.get("background", {}).pop(key, None)
        left_out = f"{left_out} and {words}" if left_out else words
        text = script_json(data)
    return Markup(text), left_out


def plain(value: Any) -> Any:
    """Dataclasses to JSON objects with the keys of the contract; numbers to the digits that carry meaning."""
    if dataclasses.is_dataclass(value):
        names = getattr(type(value), "JSON_NAMES", {})
        return {names.get(field.name, field.name): plain(getattr(value, field.name))
                for field in dataclasses.fields(value) if getattr(value, field.name) is not None}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else float(f"{value:.7g}")
    return value


def script_json(data: Any) -> str:
    """JSON that is safe in a script element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # Nothing inside may end the element or open a comment.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace(
        "\u2028", "\\u2028").replace("\u2029", "\\u2029")
