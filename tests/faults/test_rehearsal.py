"""What input_pipeline reports on a job is what a PyTorch DataLoader with the same consumer gets, on storage with a delay per
open and per read: accelerator utilization and samples per second. Both are taken by turns.

With HEADRACE_REHEARSAL_TABLE=1 nothing is decided, and each comparison prints its line of the table in docs/explanation/rehearsal-accuracy.md:

    HEADRACE_REHEARSAL_TABLE=1 nice -n -15 python3 -B tests/faults/run.py rehearsal -s | grep "^|"
"""

import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

TRAINER = pathlib.Path(__file__).parent / "readers/trainer.py"
TABLE = "HEADRACE_REHEARSAL_TABLE" in os.environ
ROUNDS = 3
WORKERS = [1, 2, 4] if TABLE else [2]  # all of them take 10 minutes
MOST_SCATTER = 0.15  # of a utilization
DELAY_S, FILE, BATCH, PREFETCH = 0.012, 100_000, 4, 2
STEPS = 24


class Trainer:
    def __init__(self, workers, step_s, cpu_s, paths):
        words = [workers, BATCH, PREFETCH, step_s, cpu_s, *paths]
        self.process = subprocess.Popen([sys.executable, str(TRAINER), *map(str, words)], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == "ready\n", "the trainer ended"

    def epoch(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return list(map(float, self.process.stdout.readline().split()))

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=120)


def evict(paths):
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def median_of(run, name):
    return next(m["median"] for m in run.point["metrics"] if m["name"] == name)


# Of what storage gives with its delays (an open and a read for each sample), the GPU takes half, as much, and twice as much;
# and with decoding that takes as long as reading.
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch (Debian: python3-torch)")
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("taken, cpu_s", [(0.5, 0), (1, 0), (2, 0), (1, 0.006)], ids=["half", "all", "twice", "decoding"])
def test_a_pytorch_data_loader_with_its_consumer(headrace, faults, workers, taken, cpu_s):
    count = BATCH * STEPS
    step_s = BATCH * 2 * DELAY_S / workers / taken
    made = headrace({"use": "small_file_read", "files": count, "file_size": f"{FILE}B", "repeat": 1, "cache": "asis"})
    assert made.code == 0, made
    paths = sorted(p for p in (faults.mount / "scratch" / "data").rglob("f0*.bin"))
    assert len(paths) == count
    workload = {"use": "input_pipeline", "files": count, "file_size": f"{FILE}B", "workers": workers, "batch_size": BATCH,
                "prefetch_factor": PREFETCH, "step_time": f"{step_s}s", "cpu_time_per_sample": f"{cpu_s}s"}
    trainer = Trainer(workers, step_s, cpu_s, paths)
    slow = [f"delay *.bin op={op} ms={DELAY_S * 1000:.0f}" for op in ("open", "read")]
    ours, theirs = [], []
    try:
        for _ in range(ROUNDS):
            faults.set(*slow)
            run = headrace({"cache": "cold", "repeat": 1, **workload}, timeout=600)
            assert run.code == 0, run
            ours.append([median_of(run, "accelerator_utilization"),
                         median_of(run, "ideal_share") * BATCH / step_s])
            faults.set()
            evict(paths)
            faults.set(*slow)
            theirs.append(trainer.epoch())
    finally:
        trainer.close()
        faults.set()
    (au, rate), (their_au, their_rate) = ([statistics.median(column) for column in zip(*side)] for side in (ours, theirs))
    scatter = max(max(column) - min(column) for side in (ours, theirs) for column in [list(zip(*side))[0]])
    case = os.environ["PYTEST_CURRENT_TEST"].split("[")[1].split("]")[0]
    print(f"\n| {case} | {their_au:.3f} | {au:.3f} | {au - their_au:+.3f} | {their_rate:.1f} | {rate:.1f} | "
          f"{100 * (rate / their_rate - 1):+.1f} % | {scatter:.3f} |")
    if TABLE:
        return
    if scatter > MOST_SCATTER:
        pytest.skip(f"other programs scatter what is measured by {scatter:.2f}")
    assert abs(au - their_au) <= 0.10 + scatter
