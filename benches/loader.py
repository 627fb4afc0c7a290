"""headrace's input_pipeline and PyTorch's DataLoader with torchvision's ImageFolder by turns: the same JPEGs, the same step.

    python3 benches/loader.py au FOLDER [--case NAME] [--share 0.5] [--disk 4e6] [--workers 1,2,4] [--turns 3] [--warm] [--waits]
    python3 benches/loader.py cpu FOLDER [--turns 5]

`au`: each `--share` is DataLoader's own rate, or with `--disk` that rate [B/s], over the GPU's. With a half, accelerator utilization is about that and
follows the rate. headrace's decoding takes the time just measured in the DataLoader's workers (`cpu_time_per_sample`). Taking a batch takes
that of its own process (`cpu_time_per_batch`). With --waits the host waits for each step to end. Prints lines of the table in
docs/explanation/rehearsal-accuracy.md. The data is read cold, or with --warm out of the page cache. `cpu`: processor time of a sample,
workers and consumer together. Both sides decode for real out of the page cache; prints the ratio. FOLDER is filled with drawn JPEGs where
it is empty: on the
storage to test. Needs torch, torchvision, Pillow.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

TRAINER = pathlib.Path(__file__).parent / "peers/image_folder.py"
BATCH, PREFETCH, CLASSES = 8, 2, 4


def fill(folder: pathlib.Path, count: int) -> None:
    from PIL import Image

    rng = random.Random(1)
    for number in range(count):
        own = folder / f"class{number % CLASSES}"
        own.mkdir(parents=True, exist_ok=True)
        width = rng.randint(250, 550)
        shapes = Image.effect_noise((12, 9), 120).convert("L").resize((width, width * 3 // 4), Image.BICUBIC)
        bands = [Image.blend(shapes, Image.effect_noise(shapes.size, 30), 0.25 + 0.1 * band) for band in range(3)]
        Image.merge("RGB", bands).save(own / f"{number:04}.jpg", quality=90)


class Trainer:
    def __init__(self, folder: pathlib.Path, workers: int, waits: bool = False):
        words = [sys.executable, str(TRAINER), str(folder), str(workers), str(BATCH), str(PREFETCH)] + ["waits"] * waits
        self.process = subprocess.Popen(words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("the trainer ended")

    def epoch(self, step_s: float, epochs: int = 1, cold: bool = True) -> list[float]:
        self.process.stdin.write(f"{step_s} {epochs} {int(cold)}\n")
        self.process.stdin.flush()
        return list(map(float, self.process.stdout.readline().split()))

    def end(self) -> float:
        """Processor time of the loader and its workers [s]."""
        self.process.stdin.close()
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = 0
        return usage.ru_utime + usage.ru_stime


def headrace(binary: str, entry: dict) -> tuple[dict, dict, float]:
    """Its metrics, repetitions' operations and processor time [s]."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = folder / "loader.yaml"
        config.write_text(json.dumps({"schema": 1, "target": {"path": name + "/scratch"}, "workloads": [
            {"use": "input_pipeline", "read_profile": "pil", "batch_size": BATCH, "prefetch_factor": PREFETCH, **entry}]}))
        words = [binary, "run", "-c", str(config), "--no-report", "--progress", "none", "--out", name + "/out"]
        process = subprocess.Popen(words, cwd=name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        reported = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"headrace ended with {process.returncode}:\n{reported}")
        point = json.loads((folder / "out/run.json").read_text())["points"][0]
        samples = sum(phase["operations"] for repetition in point["repetitions"] for phase in repetition["phases"])
        return {m["name"]: m["median"] for m in point["metrics"]}, samples, usage.ru_utime + usage.ru_stime


def utilization(arguments: argparse.Namespace) -> None:
    sizes = [path.stat().st_size for path in arguments.folder.glob("*/*.jpg")]
    for workers in map(int, arguments.workers.split(",")):
        trainer = Trainer(arguments.folder, workers, arguments.waits)
        cold = not arguments.warm
        rate = arguments.disk / statistics.mean(sizes) if arguments.disk else trainer.epoch(0.0, 1, cold)[1]
        for share in map(float, arguments.share.split(",")):
            step_s = BATCH / rate * share
            entry = {"path": str(arguments.folder), "workers": workers, "step_time": f"{step_s}s", "duration": "300s",
                     "cache": "cold" if cold else "warm", "repeat": 1}
            compare(f"{arguments.case}-{share:g}-{workers}", arguments, trainer, entry, step_s)
        trainer.end()


def compare(case: str, arguments: argparse.Namespace, trainer: Trainer, entry: dict, step_s: float) -> None:
    ours, theirs = [], []
    for _ in range(arguments.turns):
        *reported, _, cpu_s, own_s = trainer.epoch(step_s, 1, not arguments.warm)
        theirs.append(reported)
        # On processors that are shared, decoding costs more at one time than at another.
        metrics, _, _ = headrace(arguments.headrace, {**entry, "cpu_time_per_sample": f"{cpu_s}s", "cpu_time_per_batch": f"{own_s}s"})
        ours.append([metrics["accelerator_utilization"], metrics["ideal_share"] * BATCH / step_s])
    (au, rate), (their_au, their_rate) = ([statistics.median(column) for column in zip(*side)] for side in (ours, theirs))
    scatter = max(max(column) - min(column) for side in (ours, theirs) for column in [[one[0] for one in side]])
    print(f"| {case} | {their_au:.3f} | {au:.3f} | {au - their_au:+.3f} | {their_rate:.1f} | {rate:.1f} | "
          f"{100 * (rate / their_rate - 1):+.1f} % | {scatter:.3f} |", flush=True)


def processor_time(arguments: argparse.Namespace) -> None:
    workers, few, many = 2, 1, 5
    ratios = []
    for _ in range(arguments.turns):
        costs = {}
        for side in ("DataLoader", "headrace"):
            used, samples = [], []
            for epochs in (few, many):
                if side == "DataLoader":
                    trainer = Trainer(arguments.folder, workers)
                    count = trainer.epoch(0.0, epochs, False)[2] * epochs
                    used.append(trainer.end())
                else:
                    entry = {"path": str(arguments.folder), "workers": workers, "step_time": "0s", "cache": "asis", "codec": "jpeg",
                             "repeat": 2 * epochs}
                    _, count, cpu_s = headrace(arguments.headrace, entry)
                    used.append(cpu_s)
                samples.append(count)
            # The start-up time is in both runs of a side.
            costs[side] = (used[1] - used[0]) / (samples[1] - samples[0])
        ratios.append(costs["headrace"] / costs["DataLoader"])
        print(f"DataLoader {1e3 * costs['DataLoader']:.2f} ms, headrace {1e3 * costs['headrace']:.2f} ms of processor time per sample: "
              f"{ratios[-1]:.2f}", flush=True)
    print(f"headrace over DataLoader: {statistics.median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["au", "cpu"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--case", default="storage")
    parser.add_argument("--share", default="0.5")
    parser.add_argument("--disk", type=float)
    parser.add_argument("--count", type=int, default=240, help="of the images that are drawn")
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--waits", action="store_true")
    parser.add_argument("--headrace", default="build/release/headrace")
    arguments = parser.parse_args()
    arguments.headrace = str(pathlib.Path(arguments.headrace).resolve())
    arguments.folder = arguments.folder.resolve()
    if not any(arguments.folder.glob("*/*.jpg")):
        fill(arguments.folder, arguments.count)
        os.sync()  # unwritten pages stay in the page cache, and are read from there
    utilization(arguments) if arguments.what == "au" else processor_time(arguments)


if __name__ == "__main__":
    main()
