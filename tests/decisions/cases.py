"""Two hundred decisions whose right answer is known: families of cases by verb, drawn anew for each seed.

A case makes its run folders, names the words that a user types, and says which exit codes are right. `bad`: the truth is bad, so
that 0 would be a false PASS; `good`: the truth is good, so that 10 would accuse what is sound. Where neither is set, 0 and 10 are
both wrong unless they are named as right.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import random
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from made_runs import Metric, facts, need, point, run, write

PASS, USAGE, FAIL, OPEN, INCOMPLETE = 0, 2, 10, 11, 12
RATE = "small_file_read.read_bandwidth"
NEED = 1e9
WARM_NAMES = "names and inodes may be in memory: only root can drop them"


@dataclasses.dataclass
class Case:
    verb: str
    name: str
    make: Callable[[pathlib.Path, random.Random], List[str]]   # writes into the folder; the words after the verb
    right: Tuple[int, ...]
    bad: bool = False
    good: bool = False
    check: Optional[Callable[[str], str]] = None               # of what it prints: "" or what is wrong


def noise(draw: random.Random, count: int, level: float, cv: float, correlation: float = 0.0) -> List[float]:
    now, values = draw.gauss(0, 1), []
    for _ in range(count):
        values.append(level * math.exp(cv * now))
        now = correlation * now + math.sqrt(1 - correlation * correlation) * draw.gauss(0, 1)
    return values


def mixed(draw: random.Random, count: int, level: float, low: float, lows: int, cv: float = 0.01) -> List[float]:
    """That many of them at `low`, in random places."""
    places = draw.sample(range(count), lows)
    return [(low if i in places else level) * math.exp(cv * draw.gauss(0, 1)) for i in range(count)]


# ---------------------------------------------------------------------------------------------------------- verdict --replay

def replay(name: str, values: Callable[[random.Random], Sequence[float]], right: Tuple[int, ...], *, metric: str = "read_bandwidth",
           unit: str = "B/s", better: str = "higher", at: float = NEED, at_most: bool = False, bad: bool = False, good: bool = False,
           check: Optional[Callable[[str], str]] = None, few_operations: bool = False, **how: Any) -> Case:
    def make(folder: pathlib.Path, draw: random.Random) -> List[str]:
        given = list(values(draw))
        made = point("small_file_read", [Metric(metric, given, unit, better, few_operations)], **how)
        write(folder / "run", run([made], questions=[need("small_file_read." + metric, at, unit, at_most)]))
        return ["run", "--replay"]
    return Case("verdict --replay", name, make, right, bad, good, check)


def replays() -> List[Case]:
    all: List[Case] = []
    for cv in (0.01, 0.03, 0.05):
        for level, right in ((1.25, PASS), (2.0, PASS), (0.8, FAIL), (0.5, FAIL), (1.0, OPEN)):
            all.append(replay(f"{level} of the need, CV {cv}", lambda d, l=level, c=cv: noise(d, 15, l * NEED, c), (right,),
                              bad=level < 1, good=level > 1))
    for level, right in ((1.3, PASS), (0.75, FAIL)):
        all.append(replay(f"correlated .7, {level}", lambda d, l=level: noise(d, 15, l * NEED, 0.03, 0.7), (right,), bad=level < 1, good=level > 1))
    for level, right in ((1.5, PASS), (0.67, FAIL)):
        all.append(replay(f"five repetitions at {level}", lambda d, l=level: noise(d, 5, l * NEED, 0.01), (right,), bad=level < 1, good=level > 1))
        all.append(replay(f"30 repetitions at {level}", lambda d, l=level: noise(d, 30, l * NEED, 0.08), (right,), bad=level < 1, good=level > 1))
    all.append(replay("always 0", lambda d: [0.0] * 15, (FAIL,), bad=True))
    all.append(replay("always 0, 5 repetitions", lambda d: [0.0] * 5, (FAIL,), bad=True))
    all.append(replay("nothing within a moment", lambda d: [0.0] * 15, (OPEN,), seconds=[0.0003] * 15))
    all.append(replay("0 but once", lambda d: mixed(d, 15, 0.0, 1.2 * NEED, 1), (FAIL,), bad=True))
    all.append(replay("0 in a third", lambda d: mixed(d, 15, 1.2 * NEED, 0.0, 5), (OPEN, FAIL), bad=True))
    all.append(replay("0 in two of 15, the mean meets", lambda d: mixed(d, 15, 1.2 * NEED, 0.0, 2), (OPEN,)))
    all.append(replay("at most 1/s, always 0", lambda d: [0.0] * 15, (PASS,), metric="retries", unit="1/s", better="lower", at=1.0,
                      at_most=True, good=True))
    all.append(replay("a ramp that never held", lambda d: [0.0] * 5, (OPEN,), metric="highest_rate", unit="1/s", at=100.0))
    for lows, low, right, bad in ((3, 0.12, (OPEN,), True), (2, 0.7, (OPEN, PASS), False), (6, 0.3, (FAIL, OPEN), True)):
        all.append(replay(f"{lows} of 15 at {low} of the usual 1.2", lambda d, n=lows, l=low: mixed(d, 15, 1.2 * NEED, l * 1.2 * NEED, n), right, bad=bad))
    all.append(replay("mean over time 0.75, median 1.5", lambda d: [1.5 * NEED, 0.5 * NEED] * 7 + [1.5 * NEED], (OPEN, FAIL), bad=True,
                      seconds=[10.0, 30.0] * 7 + [10.0]))
    all.append(replay("half at 1.2, half at .8", lambda d: mixed(d, 15, 1.2 * NEED, 0.8 * NEED, 7, 0.005), (OPEN,)))
    all.append(replay("3 repetitions", lambda d: noise(d, 3, 2 * NEED, 0.01), (OPEN,)))
    all.append(replay("cache not proven in one", lambda d: noise(d, 10, 2 * NEED, 0.01), (OPEN,), unproven=[4]))
    for metric, level, right, warm in (("metadata_rate", 2, (OPEN,), WARM_NAMES), ("open_rate", 2, (OPEN,), WARM_NAMES),
                                       ("open_rate", 0.5, (FAIL,), WARM_NAMES), ("open_rate", 2, (PASS,), ""),
                                       ("read_iops", 2, (PASS,), WARM_NAMES)):
        all.append(replay(f"{metric} at {level} of the need{', names not cold' if warm else ''}",
                          lambda d, l=level: noise(d, 10, l * NEED, 0.01), right, metric=metric, unit="1/s", warm_names=warm,
                          bad=right == (FAIL,), good=right == (PASS,)))
    all.append(replay("half of them unsteady", lambda d: noise(d, 10, 2 * NEED, 0.01), (OPEN,), unsteady=[0, 2, 4, 6, 8]))
    all.append(replay("a fifth of them unsteady", lambda d: noise(d, 10, 2 * NEED, 0.01), (PASS,), unsteady=[0, 5], good=True))
    all.append(replay("too few operations for p99", lambda d: noise(d, 10, 1e6, 0.01), (OPEN,), metric="latency_p99_ns", unit="ns",
                      better="lower", at=2e6, at_most=True, few_operations=True))
    for level, right in ((0.7, PASS), (1.4, FAIL), (1.0, OPEN)):
        all.append(replay(f"p99 at {level} of the limit", lambda d, l=level: noise(d, 15, l * 2e6, 0.03), (right,), metric="latency_p99_ns",
                          unit="ns", better="lower", at=2e6, at_most=True, bad=level > 1, good=level < 1))
    all.append(replay("taken again, and bad with those", lambda d: noise(d, 10, 1.2 * NEED, 0.01) + noise(d, 5, 0.3 * NEED, 0.01), (OPEN,),
                      retaken=[10, 11, 12, 13, 14]))
    all.append(replay("disturbed ones low, others meet", lambda d: noise(d, 5, 0.5 * NEED, 0.01) + noise(d, 10, 1.3 * NEED, 0.01), (OPEN,),
                      disturbed=[0, 1, 2, 3, 4]))
    all.append(replay("misses, disturbed or not", lambda d: noise(d, 15, 0.6 * NEED, 0.02), (FAIL,), disturbed=[1, 5], bad=True))
    for first, second, right in ((0.72, 0.73, FAIL), (0.72, 0.97, OPEN), (0.72, 1.05, OPEN), (0.4, 0.41, FAIL), (0.85, 0.98, OPEN)):
        all.append(replay(f"{first}, after a rest {second}",
                          lambda d, a=first, b=second: noise(d, 15, a * NEED, 0.01) + noise(d, 5, b * NEED, 0.01), (right,), fresh=5,
                          bad=right == FAIL))

    def bounded(text: str) -> str:
        return "" if "[" not in text or all(0 <= float(x) <= 1 for x in _bounds(text)) else "bounds beyond [0, 1]"
    for values, right, bad in ((lambda d: noise(d, 10, 0.96, 0.005), (PASS,), False), (lambda d: noise(d, 10, 0.7, 0.02), (FAIL,), True),
                               (lambda d: mixed(d, 5, 0.97, 0.3, 2), (OPEN,), False)):
        all.append(replay(f"a share, {right}", lambda d, v=values: [min(1.0, x) for x in v(d)], right, metric="accelerator_utilization",
                          unit="ratio", at=0.9, bad=bad, good=right == (PASS,), check=bounded))

    def fact(name: str, cores: float, right: Tuple[int, ...]) -> Case:
        def make(folder: pathlib.Path, draw: random.Random) -> List[str]:
            write(folder / "run", run([facts(cpu_cores=cores)], questions=[need("host_facts.cpu_cores", 64, "count")]))
            return ["run", "--replay"]
        return Case("verdict --replay", name, make, right, right == (FAIL,), right == (PASS,))
    all += [fact("64 of 64 cores", 64, (PASS,)), fact("63 of 64 cores", 63, (FAIL,))]
    return all


def _bounds(text: str) -> List[str]:
    import re
    return re.findall(r"[\d.]+", " ".join(re.findall(r"\[([\d., ]+)\]", text)))


# ------------------------------------------------------------------------------------------------------------ judge and size

JOB = """\
schema: 1
job: known
cluster: {nodes: %d, gpus_per_node: 8}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 1000, sample_size: 1MB}
loader: {workers_per_gpu: 1}
safety: 1
"""
NODE_NEED = 8e6  # B/s of a node: 8 GPUs, a sample of 1 MB each second


def reads(values: Sequence[float], workers: int = 8, file_size: int = 1_000_000, **how: Any) -> Dict[str, Any]:
    """Reads of the job's files; every rate that a need asks for follows from the bytes."""
    per_file = [v / file_size for v in values]
    return point("small_file_read",
                 [Metric("read_bandwidth", values), Metric("sample_rate", per_file, "1/s"), Metric("read_iops", per_file, "1/s"),
                  Metric("open_rate", per_file, "1/s")],
                 {"engine": "posix", "file_size": file_size, "files": 1000, "workers": workers, "read_profile": "whole", "samples_per_file": 1},
                 **how)


def judged(name: str, values: Callable[[random.Random], Sequence[float]], right: Tuple[int, ...], bad: bool = False, good: bool = False,
           past: Optional[float] = None, **how: Any) -> Case:
    """`past`: nine sessions that differ by so much."""
    def make(folder: pathlib.Path, draw: random.Random) -> List[str]:
        (folder / "job.yaml").write_text(JOB % 1)
        write(folder / "run", run([reads(list(values(draw)), **how)], day=20))
        words = ["run", "--job", "job.yaml"]
        if past is not None:
            for number in range(9):
                level = NODE_NEED * math.exp(past * draw.gauss(0, 1))
                write(folder / f"past/{number}", run([reads(noise(draw, 10, level, 0.01), day=number)], day=number))
            words += ["--history", "past"]
        return words
    return Case("verdict --job", name, make, right, bad, good)


def judges() -> List[Case]:
    all: List[Case] = []
    for cv in (0.01, 0.04):
        for level, right in ((1.3, PASS), (0.7, FAIL), (1.0, OPEN)):
            all.append(judged(f"{level} of the need, CV {cv}", lambda d, l=level, c=cv: noise(d, 15, l * NODE_NEED, c), (right,),
                              level < 1, level > 1))
    for level, right in ((2.0, PASS), (0.5, FAIL)):
        all.append(judged(f"correlated .7, {level}", lambda d, l=level: noise(d, 15, l * NODE_NEED, 0.04, 0.7), (right,), level < 1, level > 1))
        all.append(judged(f"five repetitions at {level}", lambda d, l=level: noise(d, 5, l * NODE_NEED, 0.01), (right,), level < 1, level > 1))
    for first, second, right in ((0.72, 0.73, FAIL), (0.72, 0.97, OPEN)):
        all.append(judged(f"{first}, after a rest {second}",
                          lambda d, a=first, b=second: noise(d, 15, a * NODE_NEED, 0.01) + noise(d, 5, b * NODE_NEED, 0.01), (right,),
                          right == FAIL, fresh=5))
    all.append(judged("3 of 15 at a tenth: mean .984", lambda d: mixed(d, 15, 1.2 * NODE_NEED, 0.12 * NODE_NEED, 3), (OPEN,), True))
    all.append(judged("2 of 5 at a tenth", lambda d: mixed(d, 5, 1.2 * NODE_NEED, 0.12 * NODE_NEED, 2), (OPEN, FAIL), True))
    all.append(judged("always 0", lambda d: [0.0] * 15, (FAIL,), True))
    all.append(judged("one not proven", lambda d: noise(d, 10, 2 * NODE_NEED, 0.01), (OPEN,), unproven=[3]))
    all.append(judged("half unsteady", lambda d: noise(d, 10, 2 * NODE_NEED, 0.01), (OPEN,), unsteady=[1, 3, 5, 7]))
    all.append(judged("three repetitions", lambda d: noise(d, 3, 2 * NODE_NEED, 0.01), (OPEN,)))
    all.append(judged("other sizes of files", lambda d: noise(d, 10, 2 * NODE_NEED, 0.01), (INCOMPLETE,), file_size=4_000_000))
    all.append(judged("more at work than the job has, and met", lambda d: noise(d, 10, 2 * NODE_NEED, 0.01), (OPEN,), workers=32))
    all.append(judged("more at work, and missed", lambda d: noise(d, 10, 0.6 * NODE_NEED, 0.01), (FAIL,), True, workers=32))
    all.append(judged("less at work, and met", lambda d: noise(d, 10, 2 * NODE_NEED, 0.01), (PASS,), good=True, workers=2))
    all.append(judged("less at work, and missed", lambda d: noise(d, 10, 0.6 * NODE_NEED, 0.01), (OPEN,), workers=2))
    for level, right in ((0.72, FAIL), (1.3, PASS)):
        all.append(judged(f"past sessions 2 % apart, {level}", lambda d, l=level: noise(d, 15, l * NODE_NEED, 0.01), (right,), level < 1,
                          level > 1, past=0.02))
    all.append(judged("past sessions 20 % apart, +15 %", lambda d: noise(d, 15, 1.15 * NODE_NEED, 0.01), (OPEN,), past=0.2))
    all.append(judged("mean over time .75, median 1.5", lambda d: [1.5 * NODE_NEED, 0.5 * NODE_NEED] * 7 + [1.5 * NODE_NEED], (OPEN, FAIL),
                      True, seconds=[10.0, 30.0] * 7 + [10.0]))
    return all


def sized(name: str, sessions: Callable[[random.Random], Sequence[Sequence[float]]], right: Tuple[int, ...], bad: bool = False,
          good: bool = False, **how: Any) -> Case:
    """Of a job on one node. The word is that of its reading: these runs measured nothing else."""
    def make(folder: pathlib.Path, draw: random.Random) -> List[str]:
        (folder / "job.yaml").write_text(JOB % 1)
        for day, values in enumerate(sessions(draw)):
            write(folder / f"runs/{day}", run([reads(list(values), day=day, **how)], day=day))
        return ["job.yaml", "--runs", "runs", "--json"]
    return Case("size", name, make, right, bad, good)


def sizes() -> List[Case]:
    n = NODE_NEED
    all: List[Case] = []
    for level, right in ((1.3, PASS), (0.7, FAIL), (1.0, OPEN)):
        all.append(sized(f"one session at {level}", lambda d, l=level: [noise(d, 10, l * n, 0.02)], (right,), level < 1, level > 1))
        all.append(sized(f"nine sessions at {level}", lambda d, l=level: [noise(d, 10, l * n * math.exp(0.02 * d.gauss(0, 1)), 0.02) for _ in range(9)],
                         (right,), level < 1, level > 1))
    for level, right in ((1.3, PASS), (0.7, FAIL)):
        all.append(sized(f"three sessions at {level}", lambda d, l=level: [noise(d, 10, l * n * math.exp(0.02 * d.gauss(0, 1)), 0.02) for _ in range(3)],
                         (right,), level < 1, level > 1))
    all.append(sized("three sessions 12 % apart, +6 %", lambda d: [noise(d, 10, 1.06 * n * f, 0.01) for f in (0.88, 1.0, 1.12)], (OPEN,)))
    all.append(sized("five repetitions at 2", lambda d: [noise(d, 5, 2 * n, 0.02)], (PASS,), good=True))
    all.append(sized("twelve sessions at the need", lambda d: [noise(d, 5, n * math.exp(0.05 * d.gauss(0, 1)), 0.02) for _ in range(12)], (OPEN,)))
    all.append(sized("one session, 3 of 15 at a tenth", lambda d: [mixed(d, 15, 1.2 * n, 0.12 * n, 3)], (OPEN,), True))
    all.append(sized("8 sessions, 2 of 5 at a tenth", lambda d: [mixed(d, 5, 1.1 * n, 0.11 * n, 2) for _ in range(8)], (FAIL,), True))
    all.append(sized("8 sessions, 2 of 5 at half", lambda d: [mixed(d, 5, 1.1 * n, 0.55 * n, 2) for _ in range(8)], (FAIL, OPEN), True))
    all.append(sized("always 0", lambda d: [[0.0] * 10], (FAIL,), True))
    all.append(sized("one not proven", lambda d: [noise(d, 10, 2 * n, 0.01)], (INCOMPLETE, OPEN, USAGE), unproven=[2]))
    all.append(sized("three repetitions", lambda d: [noise(d, 3, 2 * n, 0.01)], (OPEN,)))
    all.append(sized("more at work, and met", lambda d: [noise(d, 10, 2 * n, 0.01)], (OPEN,), workers=32))
    return all


# ------------------------------------------------------------------------------------------------------------------- compare

def compared(name: str, a: Callable[[random.Random], Sequence[float]], b: Callable[[random.Random], Sequence[float]], right: Tuple[int, ...],
             bad: bool = False, good: bool = False, metric: Tuple[str, str, str] = ("read_bandwidth", "B/s", "higher"), past: Optional[float] = None,
             a_is: Optional[Dict[str, Any]] = None, b_is: Optional[Dict[str, Any]] = None, words: Sequence[str] = (), firmware: str = "1.0") -> Case:
    def make(folder: pathlib.Path, draw: random.Random) -> List[str]:
        for day, (side, values, how) in enumerate((("a", a, a_is or {}), ("b", b, b_is or {}))):
            write(folder / side, run([point("shard_stream", [Metric(metric[0], values(draw), metric[1], metric[2])], day=day, **how)], day=day,
                                     firmware=firmware if side == "b" else "1.0"))
        given = ["a", "b", *words]
        if past is not None:
            for number in range(9):
                level = 1e9 * math.exp(past * draw.gauss(0, 1))
                write(folder / f"past/{number}", run([point("shard_stream", [Metric(metric[0], noise(draw, 10, level, 0.01))])], day=-20 + number))
            given += ["--history", "past"]
        return given
    return Case("compare", name, make, right, bad, good)


def compares() -> List[Case]:
    def at(level: float, cv: float = 0.01, count: int = 10) -> Callable[[random.Random], List[float]]:
        return lambda d: noise(d, count, level * 1e9, cv)

    def zeros(count: int, of: int = 10) -> Callable[[random.Random], List[float]]:
        return lambda d: mixed(d, of, 1e9, 0.0, count)
    all: List[Case] = []
    for level in (0.2, 0.5, 0.7, 0.75):
        all.append(compared(f"{level}, sessions unknown", at(1), at(level), (FAIL,), True))
        all.append(compared(f"{level}, sessions 1 % apart", at(1), at(level), (FAIL,), True, past=0.01))
    for level in (1.3, 2.0, 5.0):
        all.append(compared(f"{level}, for the better", at(1), at(level), (PASS,), good=True))
    for level in (1.0, 1.01, 0.99):
        all.append(compared(f"{level}, sessions .3 % apart", at(1, 0.003), at(level, 0.003), (PASS,), good=True, past=0.003))
        all.append(compared(f"{level}, sessions unknown", at(1), at(level), (OPEN,)))
    all.append(compared("-7 %, sessions unknown", at(1), at(0.93), (OPEN, FAIL), True))
    all.append(compared("sessions 20 % apart, -10 %", at(1), at(0.9), (OPEN,), past=0.2))
    all.append(compared("0 instead of 1 GB/s", at(1), zeros(10), (FAIL,), True))
    all.append(compared("0 instead of 1 GB/s, two each", at(1, count=2), zeros(2, 2), (FAIL,), True))
    all.append(compared("0 but once", at(1), zeros(9), (FAIL,), True))
    all.append(compared("1 kB/s instead of 1 GB/s", at(1), at(1e-6), (FAIL,), True))
    all.append(compared("1 GB/s instead of 0", zeros(10), at(1), (PASS,), good=True))
    all.append(compared("0 and 0", zeros(10), zeros(10), (PASS,), good=True))
    all.append(compared("0 in 3 of 10", at(1), zeros(3), (OPEN, FAIL), True))
    all.append(compared("0 in 5 of 10", at(1), zeros(5), (OPEN, FAIL), True))
    all.append(compared("2 of 5 at a tenth", at(1, count=5), lambda d: mixed(d, 5, 1e9, 1e8, 2), (OPEN, FAIL), True))
    all.append(compared("half at .8, half at 1", at(1), lambda d: mixed(d, 10, 1e9, 0.8e9, 5), (OPEN,), True))
    for level, right in ((2.0, FAIL), (0.5, PASS)):
        all.append(compared(f"p99 at {level}", lambda d: noise(d, 10, 1e6, 0.02), lambda d, l=level: noise(d, 10, l * 1e6, 0.02), (right,),
                            level > 1, level < 1, ("latency_p99_ns", "ns", "lower"), words=["--gate", "*.latency_p99_ns"]))
    all.append(compared("share of stalls 0, then a fifth", lambda d: [0.0] * 10, lambda d: noise(d, 10, 0.2, 0.05), (FAIL,), True, False,
                        ("stall_fraction", "ratio", "lower"), words=["--gate", "*.stall_fraction"]))
    all.append(compared("one not proven", at(1), at(0.5), (OPEN,), b_is={"unproven": [3]}))
    all.append(compared("half disturbed", at(1), at(0.5), (OPEN,), b_is={"disturbed": [0, 1, 2, 3, 4]}))
    all.append(compared("one repetition", at(1), at(0.5, count=1), (OPEN,)))
    all.append(compared("other firmware that nobody named", at(1), at(0.5), (OPEN,), firmware="2.0"))
    all.append(compared("other firmware that was named", at(1), at(0.5), (FAIL,), True, firmware="2.0", words=["--differs", "device"]))
    all.append(compared("0 in one of ten on both sides", zeros(1), zeros(1), (OPEN,)))

    def cores(name: str, before: float, after: float, right: Tuple[int, ...]) -> Case:
        def make(folder: pathlib.Path, draw: random.Random) -> List[str]:
            write(folder / "a", run([facts(cpu_cores=before)], day=0))
            write(folder / "b", run([facts(cpu_cores=after)], day=1))
            return ["a", "b", "--gate", "*.cpu_cores"]
        return Case("compare", name, make, right, right == (FAIL,), right == (PASS,))
    return all + [cores("64 cores, then 63", 64, 63, (FAIL,)), cores("64 cores, then 64", 64, 64, (PASS,))]


# ------------------------------------------------------------------------------------------------------------------- history

def tracked(name: str, levels: Callable[[random.Random], Sequence[Any]], right: Tuple[int, ...], bad: bool = False, good: bool = False,
            changes: Optional[int] = None, fact: bool = False, words: Sequence[str] = (), unproven: Sequence[int] = ()) -> Case:
    """A run a day; each gives a number (five repetitions within 1 %) or its repetitions. `changes`: at least this number; 0: none."""
    def make(folder: pathlib.Path, draw: random.Random) -> List[str]:
        for day, given in enumerate(levels(draw)):
            if fact:
                made = facts(cpu_cores=given)
            else:
                values = given if isinstance(given, list) else [given * (1 + 0.002 * (i - 2)) for i in range(5)]
                made = point("shard_stream", [Metric("read_bandwidth", values)], day=day, unproven=[0] if day in unproven else [])
            write(folder / f"past/{day:03}", run([made], day=day))
        return ["past", "--json", *(["--metric", "*.cpu_cores"] if fact else []), *words]

    def enough(text: str) -> str:
        found = json.loads(text)["summary"]["changes"]
        return "" if changes is None or (found >= changes if changes > 0 else found == 0) else f"{found} changes, {changes} expected"
    return Case("history", name, make, right, bad, good, enough)


def histories() -> List[Case]:
    def of(*lengths_and_factors: Tuple[int, float], cv: float = 0.02, correlation: float = 0.0) -> Callable[[random.Random], List[float]]:
        def made(d: random.Random) -> List[float]:
            factors = [factor for length, factor in lengths_and_factors for _ in range(length)]
            return [f * v for f, v in zip(factors, noise(d, len(factors), 1e9, cv, correlation))]
        return made
    all: List[Case] = []
    for cv in (0.01, 0.02, 0.03):
        all.append(tracked(f"nothing happens, CV {cv}", of((30, 1), cv=cv), (PASS,), good=True, changes=0))
    all.append(tracked("60 runs, nothing happens", of((60, 1)), (PASS,), good=True, changes=0))
    for factor in (0.7, 0.8, 0.9):
        all.append(tracked(f"from run 15 on {factor}", of((15, 1), (15, factor)), (FAIL,), True, changes=1))
    all.append(tracked("60 runs, .92", of((30, 1), (30, 0.92)), (FAIL,), True, changes=1))
    all.append(tracked("the last four at .8", of((26, 1), (4, 0.8)), (FAIL,), True, changes=1))
    for before, after in ((1.0, 0.7), (1.0, 0.1), (1.0, 0.9)):
        all.append(tracked(f"constant {before}, then {after}", lambda d, a=before, b=after: [1e9 * a] * 15 + [1e9 * b] * 15, (FAIL,), True, changes=1))
    all.append(tracked("for the better", of((15, 1), (15, 1.3)), (PASS,), good=True, changes=1))
    all.append(tracked("constant, for the better", lambda d: [1e9] * 15 + [1.3e9] * 15, (PASS,), good=True, changes=1))
    all.append(tracked("a dip of eight runs", of((12, 1), (8, 0.8), (10, 1), cv=0.01), (PASS, OPEN), changes=2))
    all.append(tracked("a dip of five runs", of((12, 1), (5, 0.7), (13, 1)), (PASS, OPEN), changes=2))
    all.append(tracked("two dips, low now", of((10, 1), (8, 0.8), (8, 1), (6, 0.8), cv=0.01), (FAIL,), True, changes=3))
    all.append(tracked("alternating by three", of(*[(3, 1 if i % 2 == 0 else 0.8) for i in range(10)], cv=0.01), (OPEN, FAIL), True, changes=1))
    all.append(tracked("alternating by five", of(*[(5, 1 if i % 2 == 0 else 0.8) for i in range(6)]), (FAIL, OPEN), True, changes=1))
    all.append(tracked("every other run", of(*[(1, 1 if i % 2 == 0 else 0.8) for i in range(30)], cv=0.01), (OPEN,), True))
    all.append(tracked("falls 1 % a run", lambda d: [v * math.exp(-0.01 * i) for i, v in enumerate(noise(d, 30, 1e9, 0.005))], (OPEN, FAIL), True))
    all.append(tracked("wanders, .8", of((30, 1), correlation=0.8), (PASS, OPEN)))
    all.append(tracked("wanders, .8, 60 runs", of((60, 1), correlation=0.8), (PASS, OPEN)))
    all.append(tracked("stalls from run 15 on", lambda d: [noise(d, 5, 1e9, 0.005) for _ in range(15)] + [mixed(d, 5, 1e9, 1e8, 2) for _ in range(15)],
                       (FAIL,), True, changes=1))
    all.append(tracked("one odd run in the middle", lambda d: [v * (0.5 if i == 12 else 1) for i, v in enumerate(noise(d, 30, 1e9, 0.02))], (PASS,),
                       good=True, changes=0))
    all.append(tracked("the newest run is odd", lambda d: noise(d, 29, 1e9, 0.02) + [0.6e9], (OPEN,), changes=0))
    all.append(tracked("three newest runs give 0", lambda d: noise(d, 27, 1e9, 0.02) + [0.0] * 3, (FAIL,), True))
    all.append(tracked("the newest run gives 0", lambda d: noise(d, 29, 1e9, 0.02) + [0.0], (OPEN,)))
    all.append(tracked("the newest run is not proven", of((30, 1)), (OPEN,), unproven=[29]))
    all.append(tracked("five runs", of((5, 1)), (INCOMPLETE,)))
    for name, counts, right in (("64 cores all along", [64] * 20, (PASS,)), ("64 cores, then 63", [64] * 15 + [63] * 15, (FAIL,)),
                                ("63 cores in the newest run", [64] * 19 + [63], (FAIL,)), ("two runs, 64 and 32", [64, 32], (FAIL,)),
                                ("more cores", [32] * 10 + [64] * 10, (PASS,))):
        all.append(tracked(name, lambda d, c=counts: c, right, right == (FAIL,), right == (PASS,), fact=True))
    return all


# --------------------------------------------------------------------------------------------------------------------- fleet

def fleet(name: str, values: Callable[[random.Random, int, int], Optional[Sequence[float]]], right: Tuple[int, ...], named: Sequence[int] = (),
          nodes: int = 16, sessions: int = 2, racks: int = 0, bad: bool = False, good: bool = False) -> Case:
    """`values` of (draw, node, session); `named`: the nodes that alone may be confirmed."""
    def make(folder: pathlib.Path, draw: random.Random) -> List[str]:
        lines = []
        for node in range(1, nodes + 1):
            lines.append(f"node{node:02}" + (f" rack=r{(node - 1) * racks // nodes}" if racks else ""))
            for session in range(sessions):
                given = values(draw, node, session)
                if given is not None:
                    write(folder / f"runs/{node:02}-{session}", run([point("shard_stream", [Metric("read_bandwidth", list(given))])],
                                                                    f"node{node:02}", session))
        (folder / "hosts.txt").write_text("\n".join(lines) + "\n")
        return ["runs", "--hosts", "hosts.txt", "--json"]

    def only(text: str) -> str:
        accused = sorted(o["node"] for o in json.loads(text)["outliers"] if o["status"] == "confirmed")
        right_ones = [f"node{n:02}" for n in named]
        if set(accused) - set(right_ones):
            return f"accuses {sorted(set(accused) - set(right_ones))}"
        return "" if right != (FAIL,) or racks or accused == right_ones else f"confirmed {accused}, should be {right_ones}"
    return Case("fleet", name, make, right, bad, good, only)


def fleets() -> List[Case]:
    def level(factor_of: Callable[[int, int], float], cv: float = 0.01) -> Callable[[random.Random, int, int], Optional[List[float]]]:
        return lambda d, node, session: noise(d, 5, 1e9 * math.exp(cv * d.gauss(0, 1)) * factor_of(node, session), 0.002)
    all: List[Case] = []
    for cv in (0.005, 0.01, 0.02):
        all.append(fleet(f"all sound, CV {cv}", level(lambda n, s: 1, cv), (PASS, OPEN) if cv == 0.02 else (PASS,), good=True))
    for factor in (0.5, 0.75, 0.85):
        all.append(fleet(f"node 7 at {factor}, twice", level(lambda n, s, f=factor: f if n == 7 else 1), (FAIL,), [7], bad=True))
    all.append(fleet("nodes 3 and 9 at .7", level(lambda n, s: 0.7 if n in (3, 9) else 1), (FAIL,), [3, 9], bad=True))
    all.append(fleet("node 7 at .7 in one session", level(lambda n, s: 0.7 if n == 7 else 1), (OPEN,), sessions=1))
    all.append(fleet("node 7 was at .7, no longer", level(lambda n, s: 0.7 if n == 7 and s == 0 else 1), (PASS,), good=True))
    all.append(fleet("node 7 at .7 now, not before", level(lambda n, s: 0.7 if n == 7 and s == 1 else 1), (OPEN, PASS)))
    all.append(fleet("node 7 stalls: 2 of 5 at a tenth", lambda d, n, s: mixed(d, 5, 1e9, 1e8, 2, 0.005) if n == 7 else noise(d, 5, 1e9, 0.005), (FAIL,),
                     [7], bad=True, nodes=12))
    all.append(fleet("node 7 stalls in one session", lambda d, n, s: mixed(d, 5, 1e9, 1e8, 2, 0.005) if n == 7 and s == 0 else noise(d, 5, 1e9, 0.005),
                     (PASS, OPEN), nodes=12))
    all.append(fleet("node 7 gives 0", level(lambda n, s: 0 if n == 7 else 1), (FAIL,), [7], bad=True))
    all.append(fleet("all give 0 since", level(lambda n, s: 0 if s == 1 else 1), (OPEN, FAIL), bad=True))
    all.append(fleet("all lose a tenth since", level(lambda n, s: 0.9 if s == 1 else 1), (OPEN, FAIL), bad=True))
    all.append(fleet("half of them at .8", level(lambda n, s: 0.8 if n % 2 else 1), (OPEN, FAIL), range(1, 17, 2), bad=True))
    all.append(fleet("a rack of eight at .8", level(lambda n, s: 0.8 if n <= 8 else 1), (OPEN, FAIL), range(1, 9), racks=4, nodes=32, bad=True))
    all.append(fleet("node 7 for the better", level(lambda n, s: 1.4 if n == 7 else 1), (PASS,), good=True))
    all.append(fleet("node 7 did not report", lambda d, n, s: None if n == 7 else noise(d, 5, 1e9, 0.005), (INCOMPLETE,)))
    all.append(fleet("five nodes, one at .5: too few to compare", level(lambda n, s: 0.5 if n == 3 else 1), (PASS, OPEN, INCOMPLETE), nodes=5))
    for nodes in (12, 24):
        all.append(fleet(f"{nodes} nodes, node 5 at .8", level(lambda n, s: 0.8 if n == 5 else 1), (FAIL,), [5], nodes=nodes, bad=True))
    all.append(fleet("three sessions, node 7 at .8", level(lambda n, s: 0.8 if n == 7 else 1), (FAIL,), [7], sessions=3, bad=True))
    all.append(fleet("64 nodes, sound", level(lambda n, s: 1, 0.01), (PASS, OPEN), nodes=64, good=True))
    all.append(fleet("64 nodes, node 40 at .85", level(lambda n, s: 0.85 if n == 40 else 1), (FAIL,), [40], nodes=64, bad=True))
    return all


def all_cases() -> List[Case]:
    return replays() + judges() + compares() + histories() + fleets() + sizes()
