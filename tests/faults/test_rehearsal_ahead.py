"""Storage that is fast enough on average and slow now and then: how many batches ahead the loader has to be, `rehearse --tune` reports."""

import json
import subprocess

import pytest
from conftest import BINARY

pytestmark = pytest.mark.long

# Two workers read each fifth file in 45 ms, the others at once: a batch of 4 every 18 ms on average, and some in 90 ms.
JOB = """schema: 1
job: bursts
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 30ms, micro_batch: 4, target_utilization: 0.9}
dataset: {layout: files, samples: 256, sample_size: 16kB}
loader: {workers_per_gpu: 2, prefetch_factor: 1}
"""


def test_read_ahead_hides_slow_files(counting_faults, tmp_path):
    counting_faults.set("delay f*[05].bin op=read ms=45")
    (tmp_path / "job.yaml").write_text(JOB)
    made = subprocess.run([BINARY, "rehearse", "job.yaml", "--at", counting_faults.mount / "scratch", "--budget", "45s", "--max-write", "4MiB",
                           "--tune", "--no-report", "--progress", "none", "--out", "out"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=600)
    assert made.returncode in (0, 10, 11, 12), made
    words, rehearsal = " ".join(made.stdout.split()), json.loads((tmp_path / "out/run.json").read_text())["rehearsal"]
    tuning = rehearsal["tuning"]
    busy = {t["prefetch_factor"]: t["utilization"] for t in tuning["tried"] if t["workers_per_gpu"] == 2}
    if rehearsal["sample_rates"].get("loader", {"low": 0})["low"] < 0.9 * 4 / 0.030:
        pytest.skip("other programs took what the loader needs")
    if busy[1]["low"] < 0.9:
        assert 2 in busy and busy[max(busy)]["value"] > busy[1]["value"], busy
    enough = [ahead for ahead, one in sorted(busy.items()) if one["low"] >= 0.9]
    if enough:
        assert (tuning["advised"]["workers_per_gpu"], tuning["advised"]["prefetch_factor"]) == (2, enough[0]), tuning
        assert f"num_workers=2, prefetch_factor={enough[0]:.0f}" in words, words
