"""size.json samples: the golden one, which headrace's own test writes, and what may come of it."""

from __future__ import annotations

import json
import pathlib

import sample_run

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden/size.json"
HOSTILE = sample_run.MARKUP


def golden() -> dict:
    """Four of sixteen nodes measured; the reads fall short."""
    return json.loads(GOLDEN.read_text())


def fed() -> dict:
    """One node measured of one: everything is enough, nothing is left to mend, no checkpoint."""
    data = golden()
    data["job"].update(nodes=1, gpus=8, gpus_per_node=8)
    data["phases"] = [p for p in data["phases"] if p["phase"] in ("cold_epoch", "metadata")]
    for phase in data["phases"]:
        phase.update(nodes=1, gpus=8, outcome="PASS", reason="", next_step="", headroom=1.5, headroom_low=1.4, headroom_high=1.6)
        phase["supply"].update(basis="measured", clients=1)
        phase["gpus_fed"].update(median=12, low=11, high=12)
    data["summary"] = {"word": "PASS", "exit_code": 0, "gpus_fed": 8, "low": 8, "high": 8, "gpus": 8, "measured_nodes": 1, "basis": "measured",
                       "phase": "cold_epoch", "sentence": "Feeds 8 of 8 GPUs."}
    data["scaling"] = []
    data["fixes"] = data["assumptions"] = data["not_measured"] = data["cycle"] = []
    for key in ("calendar", "starvation"):
        data.pop(key)
    data["capacity"] = {"parts": [], "needed": 0, "outcome": "SKIPPED", "explanation": "The job does not tell."}
    return data


def hostile() -> dict:
    """Markup wherever a text comes from a file."""
    data = golden()
    data["job"].update(name=HOSTILE, description=HOSTILE, file=HOSTILE, values={HOSTILE: HOSTILE})
    data["summary"]["sentence"] = HOSTILE
    data["phases"][0].update(title=HOSTILE, explanation=HOSTILE, next_step=HOSTILE)
    data["phases"][0]["demand"].update(equation=HOSTILE, substituted=HOSTILE)
    data["fixes"][0].update(title=HOSTILE, explanation=HOSTILE, command=HOSTILE, built_on=[HOSTILE])
    data["runs"][0].update(run=HOSTILE, node=HOSTILE, path=HOSTILE)
    data["assumptions"][0]["assumption"] = HOSTILE
    data["not_measured"][0].update(title=HOSTILE, why=HOSTILE, command=HOSTILE)
    return data


SAMPLES = {"sizing_golden": golden, "sizing_fed": fed, "sizing_hostile": hostile}
