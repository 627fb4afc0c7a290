"""Storage that is fast enough on average and slow now and then: how many batches ahead the loader has to be, `rehearse --tune` tells."""

import json
import subprocess

import pytest
from conftest import BINARY

# Two workers read each fifth file in 45 ms, the others at once: a batch of 4 every 18 ms on average, and some in 90 ms.
JOB = """schema: 1
job: bursts
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 30ms, micro_batch: 4, target_utilization: 0.9}
dataset: {layout: files, samples: 256, sample_size: 16kB}
loader: {workers_per_gpu: 2, prefetch_factor: 4}
"""


def test_what_is_read_ahead_rides_out_slow_files(counting_faults, tmp_path):
    counting_faults.set("delay f*[05].bin op=read ms=45")
    (tmp_path / "job.yaml").write_text(JOB)
    made = subprocess.run([BINARY, "rehearse", "job.yaml", "--at", counting_faults.mount / "scratch", "--budget", "45s", "--max-write", "4MiB",
                           "--tune", "--no-report", "--progress", "none", "--out", "out"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=600)
    assert made.returncode in (0, 10, 11, 12), made
    words, tuning = " ".join(made.stdout.split()), json.loads((tmp_path / "out/run.json").read_text())["rehearsal"]["tuning"]
    busy = {t["prefetch_factor"]: t["utilization"] for t in tuning["tried_ahead"]}
    if list(busy) != [1, 2, 4, 8, 16]:
        pytest.skip(f"beside other programs the budget was over before all were tried: {list(busy)}")
    assert busy[1]["high"] < 0.9 and busy[1]["value"] < busy[16]["value"] - 0.05, busy
    enough = [ahead for ahead, one in busy.items() if one["low"] >= 0.9]
    if "workers_per_gpu" not in tuning:  # other programs took what the loader needs
        assert "no number of workers" in words and "prefetch_factor=" not in words, words
    elif enough:
        assert tuning["prefetch_factor"] == enough[0] * 2 / tuning["workers_per_gpu"] and "the least prefetch_factor" in words, tuning
    else:
        assert "prefetch_factor" not in tuning and "no prefetch_factor that was tried, 1 to 16" in words, words
