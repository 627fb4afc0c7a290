"""The cost of a request: headrace compared with a minimal program over libcurl, and with Python clients, by turns."""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import random
import statistics
import subprocess
from typing import Callable

from measured import KEYS, PARTS, ROOT, environment, headrace, nginx, started

from faulty_store import FaultyStore

MINIMAL = ROOT / "benches/peers/minimal"
PYTHON = ROOT / "benches/peers/get_objects.py"
PYTHON_CLIENTS = {"obstore": "obstore", "s3torchconnectorclient": "s3torchconnector"}
OBJECT = 130_000
RANGE = 1 << 20
PART = 8 << 20
BASE = "minimal, not signed"
# Of one turn: operations per second, and processor time of each [s].
Side = Callable[[], tuple[float, float]]


def built(folder: pathlib.Path, name: str) -> pathlib.Path:
    program = folder / name
    subprocess.run(["c++", "-std=c++20", "-O3", f"-I{ROOT}", "-o", str(program), str(MINIMAL / f"{name}.cc"), "-lcurl"],
                   check=True)
    return program


def reported(command: list, given: str, endpoint: str) -> tuple[float, float]:
    done = subprocess.run(command, input=given, check=True, capture_output=True, text=True, env=environment(endpoint, **KEYS))
    values = json.loads(done.stdout)
    return values["operations"] / values["elapsed_s"], values["cpu_s"] / values["operations"]


def read(arguments: argparse.Namespace, folder: pathlib.Path, endpoint: str, workload: dict, keys: bool = True):
    run, _ = headrace(arguments.headrace, folder, endpoint, workload, keys=keys)
    repetitions = run["points"][0]["repetitions"]
    operations = sum(r["phases"][0]["operations"] for r in repetitions)
    values = [r["metrics"] for r in repetitions]
    return operations / sum(v["elapsed_s"] for v in values), sum(v["cpu_s"] for v in values) / operations


def by_turns(title: str, sides: dict[str, Side], turns: int) -> None:
    rates: dict[str, list[float]] = {name: [] for name in sides}
    cpu: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(turns):
        # Each other turn the other way round, so that a machine that becomes slower favours none.
        for name in list(sides)[::-1 if turn % 2 else 1]:
            rate, each = sides[name]()
            rates[name].append(rate)
            cpu[name].append(each)

    def beside(own: list[float], other: list[float]) -> str:
        ratios = [a / b for a, b in zip(own, other)]
        return f"{statistics.median(ratios):.2f} x [{min(ratios):.2f}, {max(ratios):.2f}]"

    print(f"{title}, one connection, {turns} turns; beside {BASE}")
    for name in sides:
        print(f"  {name:24} {statistics.median(rates[name]):7.0f}/s  {beside(rates[name], rates[BASE])}   "
              f"{1e6 * statistics.median(cpu[name]):7.1f} us of processor time each  {beside(cpu[name], cpu[BASE])}")
    own = "headrace, signed"
    for name in sides:
        if not name.startswith(("headrace", "minimal")):
            print(f"  per second of processor time, {own} does {beside(cpu[name], cpu[own])} the requests of {name}")


def cost(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    program = built(folder, "get_objects")
    count, passes = 1000, 5
    with nginx(folder, [OBJECT] * count) as endpoint:
        urls = "".join(f"{endpoint}/bucket/set/{n:06}\n" for n in range(count)) * passes
        keys = "".join(f"set/{n:06}\n" for n in range(count))
        entry = {"use": "small_file_read", "workers": 1, "repeat": passes}
        sides: dict[str, Side] = {
            "headrace, signed": lambda: read(arguments, folder, endpoint, entry),
            "headrace, not signed": lambda: read(arguments, folder, endpoint, entry, keys=False),
            BASE: lambda: reported([program, "1", "1"], urls, endpoint)}
        for module, client in PYTHON_CLIENTS.items():
            if subprocess.run([arguments.python, "-c", f"import {module}"], capture_output=True).returncode == 0:
                sides[f"{client}, signed"] = lambda client=client: reported(
                    [arguments.python, PYTHON, client, endpoint, "bucket", str(passes)], keys, endpoint)
            else:
                print(f"{client} is left out: {arguments.python} has no {module}")
        by_turns(f"GET of {OBJECT} B from nginx on loopback", sides, arguments.turns)


def ranges(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    program = built(folder, "get_objects")
    count, size, passes = 4, 64 * RANGE, 5
    with nginx(folder, [size] * count) as endpoint:
        places = [f"{endpoint}/bucket/set/{n:06} {at}-{at + RANGE - 1}\n" for n in range(count) for at in range(0, size, RANGE)]
        random.Random(1).shuffle(places)
        entry = {"use": "random_read", "workers": 1, "block_size": f"{RANGE}B", "repeat": passes}
        by_turns(f"ranges of {RANGE} B from nginx on loopback, in random order",
                 {"headrace, signed": lambda: read(arguments, folder, endpoint, entry),
                  "headrace, not signed": lambda: read(arguments, folder, endpoint, entry, keys=False),
                  BASE: lambda: reported([program, "1", "1"], "".join(places * passes), endpoint)}, arguments.turns)


def puts(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    """Parts are written by nginx below `folder`. Their checksums are counted before the clock starts, on both sides not at all."""
    program = built(folder, "put_objects")
    parts = 32
    entry = {"use": "checkpoint_write", "ranks": 1, "shard_size": f"{parts * PART}B", "block_size": f"{PART}B", "queue_depth": 1,
             "repeat": 3}
    (folder / "served/parts").mkdir(parents=True)
    for number in range(parts):  # of a file that is there already nginx answers 204, as a store may, and of a new one 201
        (folder / f"served/parts/{number + 1}").touch()
    with FaultyStore({}, parts_elsewhere=True) as store, started(folder, PARTS.format(store=store.endpoint)) as endpoint:
        urls = "".join(f"{endpoint}/bucket/x?partNumber={n + 1}\n" for n in range(parts)) * 3

        def own(keys: bool) -> tuple[float, float]:
            run, _ = headrace(arguments.headrace, folder, endpoint, entry, keys=keys, at="s3://bucket/mine")
            values = [r["metrics"] for r in run["points"][0]["repetitions"]]
            # The upload is begun and completed elsewhere: parts alone are compared with parts.
            took = sum(parts * PART / v["write_bandwidth"] - 1e-9 * v["create_latency_max_ns"] for v in values)
            return parts * len(values) / took, sum(v["cpu_s"] for v in values) / parts / len(values)

        by_turns(f"PUT of parts of {PART} B to nginx on loopback",
                 {"headrace, signed": lambda: own(True), "headrace, not signed": lambda: own(False),
                  BASE: lambda: reported([program, str(PART)], urls, endpoint)}, arguments.turns)
