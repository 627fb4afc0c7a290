"""`headrace rehearse` as a user runs it, beside the real loader that it predicts: PyTorch's DataLoader over the same data.

    python3 benches/rehearsal.py [--case NAME,...] [--budget 60s] [--turns 2] [--headrace BINARY]

Each case has storage that is slow in a known way (a FUSE file system with delays, a disk with a limit), data and a job. By turns: an
epoch of the real loader, `headrace rehearse` with nothing but the job and the data, another epoch. Cases that tune then run the
advised number of workers in the real loader, and one worker less. Prints the lines of the tables in docs/explanation/rehearsal-accuracy.md. Needs root,
libfuse3, torch and torchvision; `shards` needs webdataset.
"""

from __future__ import annotations

import argparse
import dataclasses
import io
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


@dataclasses.dataclass
class Case:
    kind: str  # images, files or shards
    workers: int
    batch: int
    step_s: float
    prefetch: int = 2
    faults: tuple[str, ...] = ()  # rules of tests/faults/faulty_fs.cc
    disk: tuple[str, ...] = ()  # options of tests/disk/with-limits
    tune: bool = False
    heavy: bool = False  # sizes with a heavy tail
    warm: bool = False
    count: int = 640
    decoder: str = "torchvision"  # "" = headrace's own


CASES = {
    "open-20ms": Case("files", 4, 10, 0.040, faults=("delay * op=open ms=20",)),
    "open-20ms-prefetch-1": Case("files", 2, 10, 0.090, prefetch=1, faults=("delay * op=open ms=20",)),
    "read-6ms": Case("files", 4, 6, 0.008, faults=("delay * op=read ms=6",)),
    "direct-read-10ms": Case("files", 4, 10, 0.040, faults=("uncached *", "delay * op=read ms=10")),
    "disk-6MB": Case("images", 2, 8, 0.035, disk=("--read-bps", "6M")),
    "disk-12MB-files": Case("files", 4, 10, 0.070, disk=("--read-bps", "12M")),
    "disk-10MB-heavy": Case("files", 2, 8, 0.075, prefetch=1, disk=("--read-bps", "10M"), heavy=True),
    "disk-150-requests": Case("images", 3, 8, 0.060, disk=("--read-iops", "150"), count=320),
    "shards-12MB": Case("shards", 2, 16, 0.100, disk=("--read-bps", "12M"), count=1280),
    "decoding-1": Case("images", 1, 16, 0.040, warm=True),
    "decoding-2": Case("images", 2, 16, 0.030, warm=True),
    "tune-open-20ms": Case("files", 8, 10, 0.060, faults=("delay * op=open ms=20",), tune=True),
    "tune-open-30ms": Case("files", 2, 8, 0.060, faults=("delay * op=open ms=30",), tune=True),
    "tune-read-6ms": Case("files", 2, 8, 0.020, faults=("delay * op=read ms=6",), tune=True),
    "tune-decoding": Case("images", 4, 16, 0.080, warm=True, tune=True),
}


def make(case: Case, folder: pathlib.Path) -> None:
    rng = random.Random(1)
    folder.mkdir(parents=True)
    if case.kind == "images":
        import loader

        return loader.fill(folder, case.count)
    size = (lambda: int(min(2e6, 30e3 * rng.paretovariate(1.5)))) if case.heavy else (lambda: 100_000)
    if case.kind == "files":
        for number in range(case.count):
            (folder / f"{number:05}.bin").write_bytes(os.urandom(size()))
        return
    shards = 8
    for shard in range(shards):
        with tarfile.open(folder / f"{shard}.tar", "w", format=tarfile.USTAR_FORMAT) as out:
            for number in range(case.count // shards):
                for part, data in (("jpg", os.urandom(75_000)), ("cls", b"3")):
                    info = tarfile.TarInfo(f"{shard}_{number}.{part}")
                    info.size = len(data)
                    out.addfile(info, io.BytesIO(data))


class Loader:
    """The real one."""

    def __init__(self, case: Case, folder: pathlib.Path, workers: int):
        words = [sys.executable, str(JOB), case.kind, str(folder), str(workers), str(case.batch), str(case.prefetch)]
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


def job_of(case: Case, folder: pathlib.Path, own_s: float) -> dict:
    sizes = [p.stat().st_size for p in folder.rglob("*") if p.is_file()]
    data = {"layout": "shards" if case.kind == "shards" else "files",
            "sample_size": f"{75_000 if case.kind == 'shards' else round(statistics.mean(sizes))}B",
            "read_profile": {"images": "pil", "files": "whole", "shards": "wds"}[case.kind]}
    if case.kind == "images":
        data["codec"] = "jpeg"
    if case.kind == "shards":
        data["samples_per_file"] = case.count // 8
    return {"schema": 1, "job": "rehearsed", "cluster": {"nodes": 1, "gpus_per_node": 1},
            "step": {"time": f"{1e3 * case.step_s:.6g}ms", "micro_batch": case.batch}, "dataset": data,
            "loader": {"kind": "pytorch_iterable" if case.kind == "shards" else "pytorch", "workers_per_gpu": case.workers,
                       "prefetch_factor": case.prefetch, "cpu_time_per_batch": f"{1e3 * max(own_s, 1e-5):.4g}ms"}}


def rehearse(case: Case, arguments: argparse.Namespace, folder: pathlib.Path, own_s: float, work: pathlib.Path) -> dict:
    job = work / "job.yaml"
    job.write_text(json.dumps(job_of(case, folder, own_s)))
    out = work / f"out{time.monotonic_ns()}"
    words = [arguments.headrace, "rehearse", str(job), "--data", str(folder), "--at", str(folder.parent / "scratch"), "--budget",
             arguments.budget, "--no-report", "--progress", "none", "--out", str(out)]
    if case.kind == "images" and case.decoder:
        words += ["--calibrate", case.decoder]
    if case.tune:
        words.append("--tune")
    begin = time.monotonic()
    decodes_with = {**os.environ, "HEADRACE_PYTHON": sys.executable}
    done = subprocess.run(words, text=True, capture_output=True, cwd=work, env=decodes_with)
    if not (out / "run.json").exists():
        sys.exit(f"headrace ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    if arguments.verbose:
        print(done.stdout, file=sys.stderr)
    return {**json.loads((out / "run.json").read_text()), "took_s": time.monotonic() - begin}


def busy() -> float:
    """How much of the processors others want: the load average of the last minute."""
    return os.getloadavg()[0]


def shown(bounds: dict) -> str:
    return f"{bounds['value']:.3f} [{bounds['low']:.3f}, {bounds['high']:.3f}]"


def run_case(name: str, arguments: argparse.Namespace, place: pathlib.Path, work: pathlib.Path) -> None:
    case = CASES[name]
    folder = place / "data"
    loader = Loader(case, folder, case.workers)
    real = [loader.epoch()]
    results = []
    for _ in range(arguments.turns):
        run = rehearse(case, arguments, folder, real[-1][2], work)
        results.append(run)
        real.append(loader.epoch())
    loader.end()
    au, rate = (statistics.mean(one[i] for one in real) for i in range(2))
    for run in results:
        result = run["rehearsal"]
        point = next(p for p in run["points"] if p["id"] == "input_pipeline/job")
        ours = next(m["median"] for m in point["metrics"] if m["name"] == "sample_rate")
        utilization = result["utilization"]
        inside = utilization["low"] - 0.005 <= au <= utilization["high"] + 0.005
        prediction = result.get("prediction", {}).get("utilization")
        predicted = f"{shown(prediction)}{'' if prediction['low'] - 0.05 <= au <= prediction['high'] + 0.05 else ', off'}" if prediction else "-"
        print(f"| {name} | {au:.3f} ({min(r[0] for r in real):.3f} to {max(r[0] for r in real):.3f}) | {shown(utilization)}"
              f"{'' if inside else ', outside'} | {utilization['value'] - au:+.3f} | {rate:.1f} | {ours:.1f} | "
              f"{100 * (ours / rate - 1):+.1f} % | {predicted} | {result['limit']} | {run['took_s']:.0f} s | {busy():.1f} |", flush=True)
        if case.tune:
            tuned(name, case, result["tuning"], folder)


def tuned(name: str, case: Case, tuning: dict, folder: pathlib.Path) -> None:
    advised = tuning.get("advised")
    tried = ", ".join(f"{t['workers_per_gpu']:.0f}: {t['utilization']['value']:.2f}" for t in tuning["tried"])
    if advised is None:
        return print(f"> {name} | none advised | tried {tried} |", flush=True)
    found = []
    for workers in (int(advised["workers_per_gpu"]), int(advised["workers_per_gpu"]) - 1):
        if workers < 1:
            continue
        loader = Loader(case, folder, workers)
        found.append(f"{workers}: {statistics.mean(loader.epoch()[0] for _ in range(2)):.3f}")
        loader.end()
    print(f"> {name} | {case.workers} | {advised['workers_per_gpu']:.0f} | {'; '.join(found)} | {tried} |", flush=True)


def on_storage(name: str, arguments: argparse.Namespace) -> None:
    case = CASES[name]
    with tempfile.TemporaryDirectory(prefix="headrace-rehearsal-") as folder:
        work = pathlib.Path(folder)
        if case.disk:
            inside = [sys.executable, __file__, "--case", name, "--inside", "--work", folder, "--budget", arguments.budget, "--turns",
                      str(arguments.turns), "--headrace", arguments.headrace] + ["--verbose"] * arguments.verbose
            subprocess.run([str(LIMITS), "--size", "1G", *case.disk, "--", *inside])
            return
        if not case.faults:
            make(case, work / "data")
            return run_case(name, arguments, work, work)
        backing, mount = work / "backing", work / "mount"
        backing.mkdir()
        mount.mkdir()
        make(case, backing / "data")
        server = subprocess.Popen([arguments.faulty_fs, str(backing), str(mount), "counted"])
        try:
            while not (mount / ".faults").exists():
                time.sleep(0.05)
            (mount / ".faults").write_text("\n".join(case.faults) + "\n")
            run_case(name, arguments, mount, work)
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
    parser.add_argument("--verbose", action="store_true", help="what headrace prints, on standard error")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--work", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for name in arguments.case.split(","):
        if not arguments.inside:
            on_storage(name, arguments)
            continue
        place = pathlib.Path(os.environ["LIMITED_DISK"])
        make(CASES[name], place / "data")
        os.sync()
        run_case(name, arguments, place, arguments.work)


if __name__ == "__main__":
    main()
