"""`headrace rehearse` as a user runs it, and the real loader that it predicts, over the same data.

    python3 benches/rehearsal.py [--case NAME,...] [--budget 60s] [--turns 1] [--headrace BINARY] [--python PATH,...]
                                 [--results FILE]
    python3 benches/rehearsal.py --table FILE

Each case of benches/rehearsal_cases.py has slow storage (a FUSE file system with delays, a disk with a limit). It also has data and a job. By turns: an
epoch of the real loader, `headrace rehearse` with nothing but the job and the data, another epoch. Cases
that tune then run the advised setting in the real loader, and the next smaller one. Each turn is a line of JSON in --results.
--table prints the tables of docs/explanation/rehearsal-accuracy.md from the last turn of each case. Needs root and libfuse3. A
loader runs in the first of --python that has its modules; without one its cases are SKIPPED.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
JOB = ROOT / "benches/peers/rehearsed_job.py"
LIMITS = ROOT / "tests/disk/with-limits"
sys.path.insert(0, str(ROOT / "benches"))

from rehearsal_cases import CASES, Case  # noqa: E402

SHARDS = 8
RECORD = 16  # bytes that TFRecord adds
KINDS = {"map": "pytorch", "main": "pytorch", "iterable": "pytorch_iterable", "webdataset": "pytorch_iterable", "streaming": "pytorch",
         "dali": "pytorch"}
PROFILES = {"images": "pil", "files": "whole", "tar": "wds", "tarimages": "wds", "mds": "mds", "records": "ranged"}


def python_of(case: Case, arguments: argparse.Namespace) -> str:
    """The first that has the loader's modules; else "", and the reason is printed."""
    reason = ""
    for python in arguments.python.split(","):
        tried = subprocess.run([python, str(JOB), "modules", case.loader, case.data], text=True, capture_output=True)
        if tried.returncode == 0:
            return python
        reason = tried.stderr.strip().rsplit("\n", 1)[-1]
    print(f"SKIPPED: {case.loader}: {reason}", flush=True)
    return ""


def drawn(folder: pathlib.Path) -> list[bytes]:
    """Images that differ, fewer than a data set has: drawing them takes long."""
    import loader

    own = folder.parent / "drawn"
    loader.fill(own, 240)
    return [path.read_bytes() for path in sorted(own.rglob("*.jpg"))]


def make(case: Case, folder: pathlib.Path, python: str) -> None:
    rng = random.Random(1)
    if case.data in ("mds", "records"):
        subprocess.run([python, str(JOB), "write", case.loader, str(folder), str(SHARDS), str(case.count // SHARDS), str(case.size)],
                       check=True, capture_output=True)
        return
    folder.mkdir(parents=True)
    if case.data == "images":
        for number, image in zip(range(case.count), itertools.cycle(drawn(folder))):
            (folder / f"class{number % 4}").mkdir(exist_ok=True)
            (folder / f"class{number % 4}/{number:05}.jpg").write_bytes(image)
        return
    if case.data == "files":
        for number in range(case.count):
            size = int(min(2e6, 30e3 * rng.paretovariate(1.5))) if case.heavy else case.size
            (folder / f"{number:05}.bin").write_bytes(os.urandom(size))
        return
    images = drawn(folder) if case.data == "tarimages" else []
    for shard in range(SHARDS):
        with tarfile.open(folder / f"{shard}.tar", "w", format=tarfile.USTAR_FORMAT) as out:
            for number in range(case.count // SHARDS):
                image = rng.choice(images) if images else os.urandom(case.size)
                for part, data in (("jpg", image), ("cls", b"3")):
                    info = tarfile.TarInfo(f"{shard}_{number}.{part}")
                    info.size = len(data)
                    out.addfile(info, io.BytesIO(data))


class Loader:
    """The real one."""

    def __init__(self, python: str, case: Case, folder: pathlib.Path, workers: int, prefetch: int):
        words = [python, str(JOB), case.loader, case.data, str(folder), str(workers), str(case.batch), str(prefetch)]
        self.case = case
        self.process = subprocess.Popen(words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("the loader ended")

    def epoch(self) -> list[float]:
        self.process.stdin.write(f"{self.case.step_s} {int(not self.case.warm)}\n")
        self.process.stdin.flush()
        return list(map(float, self.process.stdout.readline().split()))

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def job_of(case: Case, folder: pathlib.Path, own_s: float, sample_s: float) -> dict:
    """With the processor time that `headrace observe` would have found: of a batch, and of a sample that is not decoded."""
    sizes = [p.stat().st_size for p in folder.rglob("*") if p.is_file() and p.name != "index.json"]
    shards = case.data in ("tar", "tarimages", "mds", "records")
    size = statistics.mean(sizes)
    if shards:
        size = case.size if case.data != "tarimages" else size * SHARDS / case.count - 1500  # headers of two members
    data = {"layout": "shards" if shards else "files", "sample_size": f"{round(size)}B",
            "read_profile": "mmap" if case.loader == "dali" else PROFILES[case.data]}
    if case.calibrate:
        data["codec"] = "jpeg"
    elif case.loader != "main":
        data["cpu_time_per_sample"] = f"{1e6 * max(sample_s, 1e-6):.4g}us"
    if shards:
        data["samples_per_file"] = case.count // SHARDS
    if case.data == "records":
        data["request_size"] = "256KiB"
    if case.data == "mds":
        data["request_size"] = f"{case.size + 4}B"
    loader = {"kind": KINDS.get(case.loader, "tfdata"), "workers_per_gpu": case.workers, "prefetch_factor": case.prefetch}
    if case.loader == "dali" and not case.calibrate:
        loader |= {"workers_per_gpu": 1}
    if case.loader != "main":
        loader["cpu_time_per_batch"] = f"{1e3 * max(own_s, 1e-5):.4g}ms"
    return {"schema": 1, "job": "rehearsed", "cluster": {"nodes": 1, "gpus_per_node": 1},
            "step": {"time": f"{1e3 * case.step_s:.6g}ms", "micro_batch": case.batch}, "dataset": data, "loader": loader}


def rehearse(case: Case, arguments: argparse.Namespace, python: str, folder: pathlib.Path, costs: list[float], work: pathlib.Path) -> dict:
    job = work / "job.yaml"
    job.write_text(json.dumps(job_of(case, folder, *costs)))
    out = work / f"out{time.monotonic_ns()}"
    words = [arguments.headrace, "rehearse", str(job), "--data", str(folder), "--at", str(folder.parent / "scratch"), "--budget",
             arguments.budget, "--no-report", "--progress", "none", "--out", str(out)]
    if case.calibrate:
        words += ["--calibrate", case.calibrate]
    if case.tune:
        words.append("--tune")
    begin = time.monotonic()
    done = subprocess.run(words, text=True, capture_output=True, cwd=work, env={**os.environ, "HEADRACE_PYTHON": python})
    if not (out / "run.json").exists():
        sys.exit(f"headrace ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    if arguments.verbose:
        print(done.stdout, file=sys.stderr)
    return {**json.loads((out / "run.json").read_text()), "took_s": time.monotonic() - begin}


def run_case(name: str, arguments: argparse.Namespace, python: str, place: pathlib.Path, work: pathlib.Path) -> None:
    case = CASES[name]
    folder = place / "data"
    loader = Loader(python, case, folder, case.workers, case.prefetch)
    real, runs = [loader.epoch()], []
    for _ in range(arguments.turns):
        runs.append(rehearse(case, arguments, python, folder, real[-1][2:], work))
        real.append(loader.epoch())
    loader.end()
    for run in runs:
        result = run["rehearsal"]
        point = next(p for p in run["points"] if p["id"] == "input_pipeline/job")
        found = {"case": name, "real": [epoch[:2] for epoch in real], "utilization": result["utilization"],
                 "rate": next(m["median"] for m in point["metrics"] if m["name"] == "sample_rate"),
                 "prediction": result.get("prediction", {}).get("utilization"), "limit": result["limit"],
                 "took_s": run["took_s"], "load": os.getloadavg()[0]}
        if case.tune:
            found["tuning"] = tuned(case, python, result["tuning"], folder)
        print(lines(found), flush=True)
        if arguments.results:
            with open(arguments.results, "a") as out:
                print(json.dumps(found), file=out)


def tuned(case: Case, python: str, tuning: dict, folder: pathlib.Path) -> dict:
    """The advised setting in the real loader, and the next smaller one: workers, or batches ahead."""
    found = {"tried": [[t["workers_per_gpu"], t["prefetch_factor"], t["utilization"]["value"]] for t in tuning["tried"]], "real": []}
    if (advised := tuning.get("advised")) is None:
        return found
    workers, prefetch = int(advised["workers_per_gpu"]), int(advised["prefetch_factor"])
    smaller = (workers, prefetch - 1) if prefetch > case.prefetch else (workers - 1, prefetch)
    for one in ((workers, prefetch), smaller):
        if min(one) < 1:
            continue
        loader = Loader(python, case, folder, *one)
        found["real"].append([*one, statistics.mean(loader.epoch()[0] for _ in range(2))])
        loader.end()
    return found


def shown(bounds: dict) -> str:
    return f"{bounds['value']:.3f} [{bounds['low']:.3f}, {bounds['high']:.3f}]"


def checks(found: dict) -> dict:
    """What the goal asks of a row."""
    au, rate = (statistics.mean(one[i] for one in found["real"]) for i in range(2))
    bounds, predicted = found["utilization"], found["prediction"]
    return {"au": abs(bounds["value"] - au) <= 0.05, "rate": abs(found["rate"] / rate - 1) <= 0.05,
            "bounds": bounds["low"] - 0.005 <= au <= bounds["high"] + 0.005,
            "limit": found["limit"] == CASES[found["case"]].limit,
            "predicted": predicted is None or predicted["low"] - 0.05 <= au <= predicted["high"] + 0.05}


def lines(found: dict) -> str:
    if tuning := found.get("tuning"):
        case = CASES[found["case"]]
        tried = ", ".join(f"{workers:.0f}x{ahead:.0f}: {au:.2f}" for workers, ahead, au in tuning["tried"])
        real = " | ".join([f"{workers}x{ahead}: {au:.3f}" for workers, ahead, au in tuning["real"]] + ["-"] * (2 - len(tuning["real"])))
        return f"| `{found['case']}` | {case.workers}x{case.prefetch} | {real} | {tried} | {found['load']:.0f} |"
    au, rate = (statistics.mean(one[i] for one in found["real"]) for i in range(2))
    least, most = min(one[0] for one in found["real"]), max(one[0] for one in found["real"])
    right, ours, bounds = checks(found), found["rate"], found["utilization"]
    mark = lambda name: "" if right[name] else ", **off**"  # noqa: E731
    predicted = shown(found["prediction"]) + mark("predicted") if found["prediction"] else "-"
    limit = found["limit"] + ("" if right["limit"] else f", **should be {CASES[found['case']].limit}**")
    return (f"| `{found['case']}` | {au:.3f} ({least:.3f} to {most:.3f}) | {shown(bounds)}{mark('bounds')} | "
            f"{bounds['value'] - au:+.3f}{mark('au')} | {rate:.1f} | {ours:.1f} | {100 * (ours / rate - 1):+.1f} %{mark('rate')} | "
            f"{predicted} | {limit} | {found['load']:.0f} |")


def table(file: pathlib.Path) -> None:
    last = {}
    for line in file.read_text().splitlines():
        found = json.loads(line)
        last[found["case"]] = found
    for tunes in (False, True):
        for name in CASES:
            if name in last and CASES[name].tune == tunes:
                print(lines(last[name]))
    rows = [checks(found) for name, found in last.items() if name in CASES and not CASES[name].tune]
    if rows:
        print(f"{len(rows)} cases: " + ", ".join(f"{what} {sum(row[what] for row in rows)}" for what in rows[0])
              + f", AU and rate {sum(row['au'] and row['rate'] for row in rows)}")


def on_storage(name: str, arguments: argparse.Namespace) -> None:
    case = CASES[name]
    python = python_of(case, arguments)
    if not python:
        return
    with tempfile.TemporaryDirectory(prefix="headrace-rehearsal-") as folder:
        work = pathlib.Path(folder)
        if case.disk:
            inside = [sys.executable, __file__, "--case", name, "--inside", folder, "--budget", arguments.budget, "--turns",
                      str(arguments.turns), "--headrace", arguments.headrace, "--python", python, "--results", arguments.results]
            subprocess.run([str(LIMITS), "--size", "1G", *case.disk, "--", *inside, *["--verbose"] * arguments.verbose])
            return
        if not case.faults:
            make(case, work / "data", python)
            return run_case(name, arguments, python, work, work)
        backing, mount = work / "backing", work / "mount"
        backing.mkdir()
        mount.mkdir()
        make(case, backing / "data", python)
        server = subprocess.Popen([arguments.faulty_fs, str(backing), str(mount), "counted"])
        try:
            while not (mount / ".faults").exists():
                time.sleep(0.05)
            (mount / ".faults").write_text("\n".join(case.faults) + "\n")
            run_case(name, arguments, python, mount, work)
        finally:
            server.kill()
            server.wait()
            subprocess.run(["umount", "--lazy", str(mount)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default=",".join(CASES))
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--headrace", default=str(ROOT / "build/release/headrace"))
    parser.add_argument("--faulty-fs", default=str(ROOT / "build/release/tests/faulty_fs"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--results", default="", help="a file that each turn is added to")
    parser.add_argument("--table", type=pathlib.Path, help="prints the tables of such a file, and measures nothing")
    parser.add_argument("--verbose", action="store_true", help="what headrace prints, on standard error")
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.table:
        return table(arguments.table)
    arguments.results = arguments.results and os.path.abspath(arguments.results)
    for name in arguments.case.split(","):
        if not arguments.inside:
            on_storage(name, arguments)
            continue
        place = pathlib.Path(os.environ["LIMITED_DISK"])
        make(CASES[name], place / "data", arguments.python)
        os.sync()
        run_case(name, arguments, arguments.python, place, arguments.inside)


if __name__ == "__main__":
    main()
