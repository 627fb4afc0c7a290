#!/usr/bin/env python3
"""Runs headrace beside fio: the same work on the same files in the same cache state, in turns, and prints the ratios.

    benches/peers/beside_fio.py --headrace build/release/headrace --scratch DIR [--pairs 7] [--only GLOB] [--list]

Ratios are headrace / fio of the same pair: rates above 1 mean that headrace was faster, CPU below 1 that it took less
processor time per operation. Printed are the median and the quartiles of all pairs: only ratios mean anything on a
machine that others use, too. Needs fio 3.30 or later and nothing but Python's standard library.
"""

import argparse
import fnmatch
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

SMALL = {"use": "small_file_read", "files": 8000, "file_size": "128KiB", "workers": 1}
SHARDS = {"use": "shard_stream", "files": 4, "file_size": "1GiB", "block_size": "1MiB"}
RECORDS = {"use": "random_read", "files": 1, "file_size": "2GiB", "block_size": "4KiB", "workers": 1}
HUGE = {"iomem": "mmaphuge"}
FIXED = {"ioengine": "io_uring", "fixedbufs": 1, "registerfiles": 1}


@dataclass
class Case:
    """One line of the table. `target`: the rate ratio to reach; `cpu_target`: the CPU ratio not to exceed."""

    name: str
    headrace: dict
    fio: dict
    unit: str  # "files", "reads" or "MB"
    target: float
    cpu_target: float | None = None
    jobs: int = 1  # of fio; the files are dealt to them
    repetitions: int = 5


def cases():
    in_order = {"rw": "read", "bs": "128k", "ioengine": "psync", "file_service_type": "sequential", "openfiles": 1}
    warm = {"cache": "warm"}
    yield Case("small-warm/fio-in-order", SMALL | warm, in_order, "files", 1.15)
    yield Case("small-warm/fio-random-64-open", SMALL | warm,
               in_order | {"file_service_type": "random", "openfiles": 64}, "files", 2.5)
    stream = {"rw": "read", "bs": "1m", "ioengine": "psync", "file_service_type": "sequential"}
    yield Case("stream-warm-1", SHARDS | warm | {"workers": 1}, stream, "MB", 1.0)
    yield Case("stream-warm-2", SHARDS | warm | {"workers": 2}, stream, "MB", 1.1, jobs=2)
    random = {"rw": "randread", "bs": "4k", "norandommap": 1}
    yield Case("random-warm/psync", RECORDS | warm, random | {"ioengine": "psync"}, "reads", 1.12)
    yield Case("random-warm/io_uring-32", RECORDS | warm | {"engine": "io_uring", "queue_depth": 32},
               random | FIXED | {"iodepth": 32}, "reads", 1.5)
    around = {"direct": "true", "cache": "bypassed", "engine": "io_uring"}
    yield Case("random-direct/io_uring-32", RECORDS | around | {"queue_depth": 32, "reads": 200_000},
               random | FIXED | {"iodepth": 32, "direct": 1, "io_size": "800000k"}, "reads", 1.0, 0.9, repetitions=1)
    best = SHARDS | around | {"queue_depth": 4, "workers": 1}
    for name, options, target in (
        ("psync", {"ioengine": "psync"}, 1.3),
        ("libaio-8", {"ioengine": "libaio", "iodepth": 8}, 1.3),
        ("io_uring-8", FIXED | {"iodepth": 8}, 1.3),
        ("psync-huge", {"ioengine": "psync"} | HUGE, 1.0),
        ("io_uring-8-huge", FIXED | {"iodepth": 8} | HUGE, 1.0),
    ):
        yield Case(f"stream-direct/{name}", best, stream | options | {"direct": 1}, "MB", target, repetitions=1)


@dataclass
class Measured:
    rate: float  # per second: files, reads or bytes
    cpu: float  # processor seconds per operation


@dataclass
class Pairs:
    headrace: list = field(default_factory=list)
    fio: list = field(default_factory=list)

    def ratios(self, key):
        return [getattr(a, key) / getattr(b, key) for a, b in zip(self.headrace, self.fio) if getattr(b, key)]


class Bench:
    def __init__(self, headrace, scratch, folder):
        self.headrace, self.scratch, self.folder = headrace, scratch, folder

    def run_headrace(self, case):
        """None when no repetition was proven to be in the declared cache state."""
        workload = case.headrace | {"repeat": {"looks": f"[{case.repetitions}]"}}
        lines = ["schema: 1", "name: peers", f"target: {{path: {self.scratch}, max_write: 16GiB}}", "workloads:"]
        lines.append("  - {" + ", ".join(f"{k}: {v if k != 'repeat' else '{looks: ' + v['looks'] + '}'}"
                                          for k, v in workload.items()) + "}")
        config, out = self.folder / "peers.yaml", self.folder / "run"
        config.write_text("\n".join(lines) + "\n")
        shutil.rmtree(out, ignore_errors=True)
        command = [self.headrace, "--progress", "none", "run", "-c", config, "--out", out, "--no-report"]
        done = subprocess.run(command, capture_output=True, text=True)
        if not (out / "run.json").exists():
            sys.exit(f"headrace failed:\n{done.stderr}")
        point = json.loads((out / "run.json").read_text())["points"][0]
        if point["status"] != "ok":
            sys.exit(f"headrace: {point['status']}: {point['reason']}")
        phases = [p for r in point["repetitions"] if r["cache"]["proven"] for p in r["phases"]]
        if not phases:
            return None
        elapsed, operations = sum(p["elapsed_s"] for p in phases), sum(p["operations"] for p in phases)
        total = sum(p["bytes"] for p in phases) if case.unit == "MB" else operations
        return Measured(total / elapsed, sum(p["cpu_s"] for p in phases) / operations)

    def data(self, case):
        number, unit = case.headrace["file_size"][:-3], case.headrace["file_size"][-3:]
        size = int(number) << {"KiB": 10, "MiB": 20, "GiB": 30}[unit]
        (folder,) = (self.scratch / "data").glob(f"{case.headrace['files']}x{size}B-*")
        return folder, sorted(folder.glob("d*/*"))

    def run_fio(self, case):
        folder, files = self.data(case)
        if case.headrace["cache"] == "warm":  # as headrace left them, unless somebody emptied the cache meanwhile
            with open("/dev/null", "wb") as null:
                for file in files:
                    with open(file, "rb") as data:
                        shutil.copyfileobj(data, null, 1 << 20)
        options = {"thread": 1, "group_reporting": 1, "loops": case.repetitions} | case.fio
        if case.headrace["cache"] == "warm":
            options["invalidate"] = 0  # fio empties the cache of its files first unless told not to
        lines = ["[global]"] + [f"{k}={v}" for k, v in options.items()]
        for job in range(case.jobs):
            mine = files[job :: case.jobs]
            # A folder when there are too many names for a line; fio then also reads two small files of the data set.
            names = f"opendir={folder}" if len(mine) > 32 else "filename=" + ":".join(map(str, mine))
            lines += [f"[job{job}]", names]
        path, out = self.folder / "peers.fio", self.folder / "fio.json"
        path.write_text("\n".join(lines) + "\n")
        command = ["fio", "--readonly", "--output-format=json", f"--output={out}", path]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        text = out.read_text()
        job = json.loads(text[text.index("{") :])["jobs"][0]
        if job["error"]:
            sys.exit(f"fio: error {job['error']}")
        read = job["read"]
        total = read["io_bytes"] if case.unit == "MB" else read["total_ios"]
        cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
        return Measured(total / read["runtime"] * 1000, cpu / read["total_ios"])

    def measure(self, case, count):
        self.run_headrace(case)  # makes the data; not counted
        pairs = Pairs()
        for turn in range(3 * count):
            sides = {}
            for side in ("headrace", "fio") if turn % 2 == 0 else ("fio", "headrace"):
                sides[side] = getattr(self, f"run_{side}")(case)
            if sides["headrace"]:
                pairs.headrace.append(sides["headrace"])
                pairs.fio.append(sides["fio"])
            if len(pairs.fio) == count:
                return pairs
        sys.exit(f"{case.name}: the declared cache state could not be kept: does somebody else empty the cache?")


def quartiles(values):
    return tuple(statistics.quantiles(values, n=4, method="inclusive")) if len(values) > 1 else (values[0],) * 3


def row(case, pairs):
    """A line of the table, and whether the target was reached."""
    low, median, high = quartiles(pairs.ratios("rate"))
    cpu = quartiles(pairs.ratios("cpu"))[1]
    scale = 1e6 if case.unit == "MB" else 1
    rates = [statistics.median(m.rate for m in side) / scale for side in (pairs.headrace, pairs.fio)]
    reached = median >= case.target and (case.cpu_target is None or cpu <= case.cpu_target)
    target = f"≥ {case.target:g}" + (f", CPU ≤ {case.cpu_target:g}" if case.cpu_target else "")
    cells = [case.name, f"{rates[0]:,.0f}", f"{rates[1]:,.0f}", f"{case.unit}/s", f"{median:.3f} [{low:.3f}, {high:.3f}]",
             f"{cpu:.2f}", target, "reached" if reached else "missed"]
    return "| " + " | ".join(cells) + " |", reached


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headrace", default="build/release/headrace")
    parser.add_argument("--scratch", type=Path, help="a folder for headrace's data; kept, so that data is made once")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--only", default="*", help="glob on the names of the cases")
    parser.add_argument("--list", action="store_true", help="only list the cases")
    args = parser.parse_args()
    chosen = [c for c in cases() if fnmatch.fnmatch(c.name, args.only)]
    if args.list:
        print("\n".join(c.name for c in chosen))
        return 0
    if not chosen or not args.scratch:
        parser.error("--scratch is needed, and --only must fit a case (see --list)")
    if not shutil.which("fio"):
        print("fio is not installed (Debian: apt install fio)", file=sys.stderr)
        return 77
    version = subprocess.run(["fio", "--version"], capture_output=True, text=True).stdout.strip()
    print(f"headrace beside {version}, {args.pairs} pairs; ratios: median [quartiles]\n")
    print("| work | headrace | fio | unit | rate ratio | CPU ratio | to reach | |\n|---|---|---|---|---|---|---|---|", flush=True)
    all_reached = True
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(args.headrace, args.scratch.absolute(), Path(temporary))
        for case in chosen:
            line, reached = row(case, bench.measure(case, args.pairs))
            print(line, flush=True)
            all_reached &= reached
    return 0 if all_reached else 1


if __name__ == "__main__":
    sys.exit(main())
