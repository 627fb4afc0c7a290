"""A job's checkpoints in its rehearsal, on storage whose saves become durable late: what they cost, and that they decide."""

import json
import os
import subprocess

import pytest

pytestmark = pytest.mark.long

BINARY = os.environ["HEADRACE"]

JOB = """\
schema: 1
job: saving
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 20ms, micro_batch: 4, target_utilization: 0.65}
model: {parameters: 10e6}
checkpoint: {interval: 60s, stall: 30s, mode: MODE}
dataset: {layout: files, samples: 20000, sample_size: 16kB}
loader: {workers_per_gpu: 2}
"""


def rehearse(folder, target, mode):
    (folder / "job.yaml").write_text(JOB.replace("MODE", mode))
    out = folder / "out"
    done = subprocess.run([BINARY, "rehearse", "job.yaml", "--at", str(target), "--budget", "24s", "--max-write", "64MiB",
                           "--only", "input_pipeline/job", "--only", "input_pipeline/no-checkpoint", "--only",
                           "input_pipeline/no-step", "--out", str(out), "--no-report", "--progress", "none"], cwd=folder,
                          text=True, capture_output=True, timeout=300)
    assert done.returncode in (0, 10, 11), (done.stdout, done.stderr)
    run = json.loads((out / "run.json").read_text())
    points = {p["id"]: p for p in run["points"]}
    return done, run, {m["name"]: m["median"] for m in points["input_pipeline/job"]["metrics"]}


def test_checkpoints_that_make_the_gpus_miss_their_target(tmp_path, counting_faults):
    """Each save keeps the steps for 0.4 s, after a third of a second of computing."""
    counting_faults.set("delay *rank-* op=fsync ms=400")
    done, run, metrics = rehearse(tmp_path, counting_faults.mount / "scratch", "sync")
    reported, words = run["rehearsal"], " ".join(done.stdout.split())
    saves = reported["checkpoints"]
    assert saves["mode"] == "sync" and saves["time_to_durable_s"] >= 0.4, saves
    assert reported["utilization"]["value"] < 0.6 and metrics["save_fraction"] > 0.4, (reported, metrics)
    if saves["utilization_without"]["low"] < 0.65:
        pytest.skip("others use this machine: the pipeline misses its target without checkpoints, too")
    assert saves["decide"] and reported["limit"] == reported["limit_by_times"] == "checkpoints", reported
    assert "without them the job's utilization would be reached, with them it is not" in words, done.stdout
    assert "faster storage or more workers would gain nothing" not in words, done.stdout
    judged = run["judgements"][0]
    assert judged["point"] == "input_pipeline/job" and judged["measured"] < 0.6, judged
    assert judged["outcome"] == "FAIL" or judged["reason"] in ("few-reps", "disturbed"), judged


def test_without_byte_counts_nothing_is_concluded(tmp_path, faults):
    """The same, on a client that does not count: what the steps took is reported, and no limit is named."""
    faults.set("delay *rank-* op=fsync ms=400")
    done, run, metrics = rehearse(tmp_path, faults.mount / "scratch", "sync")
    reported, words = run["rehearsal"], " ".join(done.stdout.split())
    assert reported["utilization"]["value"] < 0.6 and metrics["save_fraction"] > 0.4, (reported, metrics)
    assert reported["limit"] == "unknown" and "checkpoints" not in reported and "prediction" not in reported, reported
    assert "nothing is concluded from those repetitions" in words and "limits:" not in reported["sentence"], words
    assert run["judgements"][0]["reason"] == "cache-unproven", run["judgements"]


def test_asynchronous_checkpoints_on_the_same_disk_do_not(tmp_path, counting_faults):
    """A save is durable after 0.4 s, and the steps wait only where the next one is due before."""
    counting_faults.set("delay *rank-* op=fsync ms=400")
    done, run, metrics = rehearse(tmp_path, counting_faults.mount / "scratch", "async")
    saves = run["rehearsal"]["checkpoints"]
    assert saves["mode"] == "async" and saves["time_to_durable_s"] >= 0.4, saves
    if saves["utilization_without"]["low"] < 0.8:
        pytest.skip("others use this machine: the pipeline waits without checkpoints, too")
    assert metrics["save_fraction"] < 0.35, metrics
    assert not saves["decide"] and "with them it is not" not in " ".join(done.stdout.split()), done.stdout


def test_a_save_that_fails_is_named_and_ends_the_repetition(headrace, faults):
    faults.set("error *rank-00001.bin* op=fsync errno=28")
    result = headrace({"use": "input_pipeline", "source": "none", "workers": 1, "step_time": "5ms", "batch_size": 4,
                       "duration": "2s", "repeat": 1, "checkpoint_every": 4, "checkpoint_ranks": 2,
                       "checkpoint_shard_size": "256KiB"})
    reason = result.point["reason"]
    assert result.point["status"] == "error" and not result.point["metrics"], result
    assert "sync" in reason and "rank-00001.bin" in reason and "No space left on device (ENOSPC)" in reason, reason
    assert not [name for name in faults.files() if "rank-" in name], "no file is left"
