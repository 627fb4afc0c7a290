"""Turns kept in a file, ratios of turns, and the Markdown table."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict
from pathlib import Path

from contests import Contest, Opponent
from work import Measured

HEADER = ("| work | headrace | beside | headrace | peer | | rate ratio | CPU/op, µs | CPU ratio | p50, µs | p99, µs | to reach | |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|---|---|")


class Results:
    """Contest -> one entry per turn: peer -> what it measured. Turns of an earlier run are kept and added to."""

    def __init__(self, file: Path | None):
        self.file = file
        self.data = json.loads(file.read_text()) if file and file.exists() else {"machine": {}, "ours": {}, "turns": {}}

    def save(self) -> None:
        if self.file:
            self.file.write_text(json.dumps(self.data, indent=1) + "\n")

    def add(self, contest: Contest, turn: dict) -> None:
        self.data["turns"].setdefault(contest.name, []).append({k: asdict(v) for k, v in turn.items()})
        self.save()

    def pairs(self, contest: Contest, opponent: Opponent) -> list:
        """[(headrace, peer)] of every turn in which both ran."""
        return [(Measured(**turn["headrace"]), Measured(**turn[opponent.peer.name]))
                for turn in self.data["turns"].get(contest.name, []) if opponent.peer.name in turn]

    def rows(self, contest: Contest):
        """(line of the table, reached?) for every opponent; of a group only the fastest."""
        met = [o for o in contest.against if self.pairs(contest, o)]
        for opponent in met:
            group = [o for o in met if opponent.group and o.group == opponent.group]
            if group and opponent is not max(group, key=self.peer_rate(contest)):
                continue
            ours = self.data["ours"].get(contest.name, contest.ours.name)
            yield line(contest, ours, opponent, self.pairs(contest, opponent), len(group))

    def hopeless(self, contest: Contest, share: float) -> set:
        """Names of those that cannot be the fastest of their group any more: further turns would report nothing."""
        rate, rest = self.peer_rate(contest), set()
        for group in {o.group for o in contest.against} - {""}:
            met = [o for o in contest.against if o.group == group and len(self.pairs(contest, o)) >= 2]
            rest |= {o.peer.name for o in met if rate(o) < share * max(map(rate, met))}
        return rest

    def peer_rate(self, contest: Contest):
        return lambda opponent: statistics.median(peer.rate for _, peer in self.pairs(contest, opponent))


def quartiles(values: list) -> tuple:
    return tuple(statistics.quantiles(values, n=4, method="inclusive")) if len(values) > 1 else (values[0],) * 3


def line(contest: Contest, ours: str, opponent: Opponent, pairs: list, group: int):
    low, middle, high = quartiles([a.rate / b.rate for a, b in pairs])
    cpu_ratios = [a.cpu / b.cpu for a, b in pairs if b.cpu]
    cpu = statistics.median(cpu_ratios) if cpu_ratios else None

    def medians(key, scale):
        values = [statistics.median(getattr(side, key) for side in sides) * scale for sides in zip(*pairs)]
        return [f"{value:.3g}" if value < 1000 else f"{value:,.0f}" for value in values]

    counts_bytes = contest.work.pattern in ("stream", "save")
    rates = medians("rate", 1e-6 if counts_bytes else 1)
    unit = "MB/s" if counts_bytes else "files/s" if contest.work.pattern == "files" else "reads/s"
    reached = (opponent.rate is None or middle >= opponent.rate) and (opponent.cpu is None or cpu <= opponent.cpu)
    target = [f"≥ {opponent.rate:g}"] if opponent.rate else []
    target += [f"CPU ≤ {opponent.cpu:g}"] if opponent.cpu else []
    name = opponent.peer.name if opponent.peer.tool in ("elbencho", "minimal") else f"{opponent.peer.tool}: {opponent.peer.name}"
    cells = [contest.title, ours, name + (f" (best of {group})" if group > 1 else ""), *rates, unit,
             f"**{middle:.3f}** [{low:.3f}, {high:.3f}] n={len(pairs)}", " / ".join(medians("cpu", 1e6)),
             f"{cpu:.2f}" if cpu else "–", " / ".join(medians("p50", 1e6)), " / ".join(medians("p99", 1e6)),
             ", ".join(target) or "–", ("reached" if reached else "missed") if target else ""]
    return "| " + " | ".join(cells) + " |", reached
