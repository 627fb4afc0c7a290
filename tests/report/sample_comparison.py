"""Plausible comparison files for the tests of page (c). As a program, writes them into a folder: sample_comparison.py FOLDER."""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import sys
from typing import Any, Dict, List, Optional

from sample_run import MARKUP

SHARES = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999]


def values(numbers: List[float]) -> Dict[str, Any]:
    return {"typical": statistics.median(numbers), "median": statistics.median(numbers), "low": min(numbers),
            "high": max(numbers), "n": len(numbers), "values": numbers}


def set_ratio(one: Dict[str, Any], ratio: float, **changes: Any) -> None:
    """B's value is that of A times the ratio."""
    one.update(ratio=ratio, **changes)
    one["other"]["typical"] = one["base"]["typical"] * ratio


def row(chance: random.Random, point: str, metric: str, unit: str, level: float, ratio: float, spread: float, status: str,
        better: str = "higher", gated: bool = False, delta: float = 0.05, reason: str = "", blocks: int = 6,
        next_step: str = "", floor: Optional[float] = None, odd: bool = False) -> Dict[str, Any]:
    base = [level * math.exp(chance.gauss(0, spread)) for _ in range(2 * (blocks or 4))]
    other = [level * ratio * math.exp(chance.gauss(0, spread)) for _ in range(2 * (blocks or 4))]
    result = {
        "workload": point.split("/")[0], "points": [point, point], "params": {"workers": "4", "engine": "uring"},
        "metric": metric, "unit": unit, "better": better, "description": f"what {metric} tells", "gated": gated,
        "fact": False, "says_same_as": "",
        "delta": delta, "ratio": ratio, "low": ratio * math.exp(-1.6 * spread), "high": ratio * math.exp(1.6 * spread),
        "p": 0.0003 if status in ("worse", "better", "small") else 0.4, "smallest_visible": 2.4 * spread,
        "significant": gated or status in ("worse", "better"), "status": status, "reason": reason,
        "explanation": f"B's {metric} against A's: {100 * (ratio - 1):+.1f} %: {status}.", "next_step": next_step,
        "base": values(base), "other": values(other)}
    set_ratio(result, ratio)
    if floor is not None:
        result["noise_floor"] = floor
    if blocks:
        result["blocks"] = []
        for number in range(blocks):
            a, b = statistics.median(base[2 * number:2 * number + 2]), statistics.median(other[2 * number:2 * number + 2])
            if odd and number == 2:
                b = a * 1.01 if ratio < 1 else a * 0.99
            result["blocks"].append({"block": number + 1, "base": a, "other": b, "ratio": b / a, "disturbed": number == 4,
                                     "judged": True})
    return result


def latency(point: str, body: float, tail: float) -> Dict[str, Any]:
    base = [2e5 * math.exp(-0.35 * math.log(1 / p - 1)) for p in SHARES]
    shift = [body + (tail - body) * max(0.0, (p - 0.9) / 0.099) for p in SHARES]
    return {"workload": point.split("/")[0], "points": [point, point], "phase": "main", "part": "", "probability": SHARES,
            "base_ns": base, "other_ns": [a * (1 + s) for a, s in zip(base, shift)], "shift": shift,
            "base_operations": 24000, "other_operations": 23800}


def comparison(rows: List[Dict[str, Any]], word: str = "PASS", interleaved: bool = True, **changes: Any) -> Dict[str, Any]:
    counts = {status: sum(r["status"] == status and not r["says_same_as"] for r in rows)
              for status in ("worse", "better", "differs", "same", "small", "inconclusive")}
    code = {"PASS": 0, "FAIL": 10, "INCONCLUSIVE": 11, "INCOMPLETE": 12}[word]
    reported = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
    pair = {"base": "A", "other": "B", "compared": ["workers: 1 -> 4", "device.firmware: 1.2 -> 1.3 (declared)"],
            "parameters": [{"name": "workers", "base": "1", "other": "4", "points": []}],
            "summary": {"word": word, "exit_code": code, "metrics": len(rows),
                        "compared": sum(not r["says_same_as"] for r in rows), **counts,
                        "about_gates": "no gate is worse; 1 better is no gate" if word == "PASS" else
                        "1 of 2 gates is worse: read_bandwidth of shard_stream/cold; 2 worse and 1 better are no gates",
                        "gated": sum(r["gated"] for r in rows), "expected_by_chance": 0.2, "smallest_visible": 0.034,
                        "sentence": f"B vs A: {reported}"},
            "rows": rows, "latency": [], "not_compared": [], "warnings": []}
    design = {"kind": "stored", "level": 0.95, "delta_rate": 0.05, "delta_tail": 0.1, "false_discovery_rate": 0.05,
              "sentence": "stored runs, not interleaved"}
    if interleaved:
        design.update(kind="interleaved", order="ABBA", blocks=6, looks=[6, 12], look=6, next_look=12, level=0.975,
                      sentence="6 interleaved blocks, each A B B A")
    result = {
        "schema": 1, "kind": "headrace.comparison",
        "headrace": {"version": "0.1.0", "revision": "3f9c1d2", "compiler": "GCC 12.2.0"},
        "command": ["headrace", "compare", "runs/before", "runs/after"], "design": design,
        "sides": [{"label": label, "source": source, "run": f"20260131-1200{n}0-node", "name": "node", "node": "node17",
                   "started_utc": f"2026-01-31T12:0{n}:00Z", "config_hash": "9f2c61e07ab85d34", "runs": 6 if interleaved else 1}
                  for n, (label, source) in enumerate((("A", "runs/before"), ("B", "runs/after")))],
        "environment": {"kernel.release": "6.1.0-18-amd64", "cpu.model": "AMD EPYC 9354", "device.model": "CD8P"},
        "fingerprint": [], "history": {"source": "", "sessions": 0, "why": "" if interleaved else "no past runs were given", "assumed_spread": 0.03,
                                       "sentence": "" if interleaved else "none (no past runs were given): 3 % is assumed"},
        "pairs": [pair], "summary": {"word": word, "exit_code": code}}
    result.update(changes)
    return result


def worse() -> Dict[str, Any]:
    """Interleaved; one gate is worse, one open; machines differ in two ways, one of them declared."""
    chance = random.Random(7)
    go_on = "go on to 12 blocks: --blocks 12"
    rows = [
        row(chance, "shard_stream/cold", "read_bandwidth", "B/s", 1e8, 0.901, 0.008, "worse", gated=True, floor=0.011),
        row(chance, "checkpoint_write/fsync", "write_bandwidth", "B/s", 9.1e8, 0.97, 0.05, "inconclusive", gated=True,
            reason="straddles", next_step=go_on, floor=0.04),
        row(chance, "small_file_read/cold", "latency_p99_ns", "ns", 9e5, 1.18, 0.03, "worse", better="lower", delta=0.1,
            floor=0.02),
        row(chance, "small_file_read/cold", "sample_rate", "1/s", 7200, 1.09, 0.012, "better", floor=0.01),
        row(chance, "metadata/tree", "create_rate", "1/s", 31000, 0.93, 0.06, "inconclusive", reason="straddles",
            next_step=go_on, odd=True),
        row(chance, "random_read/bypassed/block_size:4194304", "read_iops", "1/s", 52000, 0.985, 0.004, "small", floor=0.008),
        row(chance, "host/memory", "copy_bandwidth", "B/s", 2.1e10, 1.002, 0.006, "same", floor=0.006),
        row(chance, "epochs", "hit_ratio", "ratio", 0.42, 1.2, 0.02, "differs", better="neither")]
    follower = json.loads(json.dumps(rows[3]))  # the same rate in files
    follower.update(metric="file_rate", says_same_as="sample_rate", description="Files per second")
    cores = row(chance, "host_facts", "cpu_cores", "count", 64, 1, 0, "worse", blocks=0)
    cores.update(fact=True, delta=0, base=values([64.0]), other=values([32.0]), low=0.5, high=0.5, significant=True,
                 explanation="B's cpu_cores, 32, against A's 64: -50 %: worse; read, not measured.")
    set_ratio(cores, 0.5)
    del cores["smallest_visible"]
    rows[4:4] = [follower, cores]
    data = comparison(
        rows, "FAIL",
        fingerprint=[{"key": "device.firmware", "values": ["1.2", "1.3"], "declared": True, "matters": True},
                     {"key": "file_system.options", "values": ["rw,noatime", "rw,relatime,discard"], "declared": False,
                      "matters": True},
                     {"key": "memory.available", "values": ["61 GiB", "59 GiB"], "declared": False, "matters": False}],
        noise_floor={"source": "runs/aa", "median": 0.013, "false_alarm_rate": 0.004})
    pair = data["pairs"][0]
    pair["latency"] = [latency("small_file_read/cold", 0.01, 0.22), latency("shard_stream/cold", 0.11, 0.12)]
    pair["not_compared"] = [{"point": "epochs/warm", "metric": "", "side": "A", "why": "only in A"},
                            {"point": "shard_stream/cold", "metric": "cpu_seconds", "side": "B", "why": "a value of 0 has no ratio"}]
    pair["warnings"] = ["the configurations differ: 9f2c61e07ab85d34 and 11aa61e07ab85d34"]
    return data


def same() -> Dict[str, Any]:
    chance = random.Random(8)
    return comparison([row(chance, "shard_stream/cold", "read_bandwidth", "B/s", 1e8, 1.001, 0.006, "same", gated=True)])


def stored() -> Dict[str, Any]:
    """Two stored runs without a history: no blocks, nothing decided, a row without any bounds."""
    chance = random.Random(9)
    step = "interleave them: headrace run --against ... --blocks 6; or give past runs with --history"
    rows = [row(chance, "shard_stream/cold", "read_bandwidth", "B/s", 1e8, 0.94, 0.01, "inconclusive", gated=True, blocks=0,
                reason="single-session", next_step=step),
            row(chance, "small_file_read/cold", "latency_max_ns", "ns", 4e6, 1.02, 0.3, "inconclusive", better="lower",
                delta=0.1, blocks=0, reason="few-reps", next_step=step)]
    for key in ("ratio", "low", "high", "p", "smallest_visible"):
        del rows[1][key]
    return comparison(rows, "INCONCLUSIVE", interleaved=False)


def hostile() -> Dict[str, Any]:
    """Markup wherever a text may stand."""
    data = worse()
    pair = data["pairs"][0]
    for one in pair["rows"][:2]:
        one.update(points=[MARKUP, MARKUP + "2"], metric="m" + MARKUP, description=MARKUP, explanation=MARKUP,
                   next_step="headrace " + MARKUP, params={MARKUP: MARKUP}, unit="B/s", reason=MARKUP)
    pair["latency"][0].update(points=[MARKUP, MARKUP], phase=MARKUP)
    pair["warnings"] = [MARKUP]
    pair["not_compared"] = [{"point": MARKUP, "metric": MARKUP, "side": "A", "why": MARKUP}]
    for side in data["sides"]:
        side.update(source=MARKUP, node=MARKUP, name=MARKUP, run=MARKUP, started_utc=MARKUP, config_hash=MARKUP)
    data["fingerprint"][0].update(key=MARKUP, values=[MARKUP, "x" * 400])
    data["environment"] = {MARKUP: MARKUP, "kernel.release": "y" * 300}
    data["command"] = ["headrace", MARKUP]
    data["noise_floor"]["source"] = MARKUP
    data["design"]["sentence"] = MARKUP
    pair["summary"]["sentence"] = MARKUP
    return data


def three() -> Dict[str, Any]:
    """Two sides against the base."""
    data = worse()
    second = json.loads(json.dumps(same()["pairs"][0]))
    second["other"] = "C"
    data["sides"].append(dict(data["sides"][1], label="C", source="runs/later"))
    data["pairs"].append(second)
    for difference in data["fingerprint"]:
        difference["values"].append(difference["values"][0])
    return data


def thousands() -> Dict[str, Any]:
    """5,000 metrics: the page stays small, and what matters stays on it."""
    chance = random.Random(11)
    rows = worse()["pairs"][0]["rows"]
    rows += [row(chance, f"random_read/bypassed/block_size:{n}", "read_iops", "1/s", 5e4, 1 + 0.002 * chance.random(), 0.006,
                 "same") for n in range(5000)]
    data = comparison(rows, "FAIL")
    data["pairs"][0]["latency"] = [latency(f"random_read/bypassed/block_size:{n}", 0.01, 0.02) for n in range(300)]
    return data


SAMPLES = {f"comparison_{name.__name__}": name for name in (worse, same, stored, hostile, three, thousands)}


if __name__ == "__main__":
    for name, make in SAMPLES.items():
        with open(os.path.join(sys.argv[1], f"{name}.json"), "w", encoding="utf-8") as out:
            json.dump(make(), out)
