"""The whole path of an engineer: `observe` names what limits a real PyTorch loop, `rehearse --tune` names its setting, and with it
the loop is as fast as they said."""

import json
import subprocess
import sys

import pytest
from conftest import BINARY, ROOT

pytestmark = pytest.mark.long

WAYS = ROOT / "tests/observe/ways.py"
STEP, BATCH = 0.05, 8  # the GPU takes 160 samples/s
OPEN_MS = 22  # a worker gives about 41


@pytest.fixture
def data(counting_faults):
    folder = counting_faults.mount / "data"
    folder.mkdir()
    for number in range(1600):  # between two epochs a loader is empty for a moment: few of them
        (folder / f"{number}.bin").write_bytes(bytes(100_000))
    counting_faults.set(f"delay *.bin op=open ms={OPEN_MS}")
    return folder


def job(data, workers):
    return [sys.executable, WAYS, data, "torch_workers", "--workers", workers, "--step", STEP, "--batch", BATCH, "--steps", 190]


def run(tmp_path, *words):
    with open("/proc/sys/vm/drop_caches", "w") as drop:
        drop.write("3")
    return subprocess.run(list(map(str, words)), cwd=tmp_path, capture_output=True, text=True, timeout=600)


def rate_and_utilization(tmp_path, data, workers):
    reported = json.loads(run(tmp_path, *job(data, workers)).stdout.splitlines()[-1])
    return reported["samples"] / reported["lasted"], reported["steps"] * STEP / reported["lasted"]


def test_advice_predicts_the_job(tmp_path, data):
    pytest.importorskip("torch")
    watched = run(tmp_path, BINARY, "observe", "--out", "seen", "--no-report", "--", *job(data, 1))
    assert watched.returncode == 0, watched
    seen = json.loads((tmp_path / "seen/observe.json").read_text())
    assert seen["limit"]["id"] == "slow_opens", seen["limit"]
    tuned = run(tmp_path, BINARY, "rehearse", "seen/job.yaml", "--data", data, "--at", "scratch", "--budget", "60s", "--tune", "--no-report",
                "--progress", "none", "--out", "tuned")
    rehearsal = json.loads((tmp_path / "tuned/run.json").read_text())["rehearsal"]
    assert rehearsal["limit"] == "workers", tuned.stdout
    advised = rehearsal["tuning"]["advised"]
    assert advised["workers_per_gpu"] == 4 and "num_workers=4" in tuned.stdout, tuned.stdout
    promised = {t["workers_per_gpu"]: t["utilization"]["value"] for t in rehearsal["tuning"]["tried"]
                if t["prefetch_factor"] == advised["prefetch_factor"]}
    found = {workers: rate_and_utilization(tmp_path, data, workers) for workers in (1, 3, 4)}
    assert abs(found[4][1] - promised[4]) < 0.07 and found[4][0] > 3 * found[1][0], (found, promised)
    assert found[4][1] >= 0.87 and found[3][1] < 0.87, found
    # Where nothing is to be gained, both say that.
    watched = run(tmp_path, BINARY, "observe", "--out", "after", "--no-report", "--", *job(data, 6))
    seen = json.loads((tmp_path / "after/observe.json").read_text())
    assert seen["limit"]["id"] == "consumer", (seen["limit"], watched.stderr)
