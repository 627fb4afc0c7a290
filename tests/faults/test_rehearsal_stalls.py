"""Storage that stands still for a while in a rehearsal, and a loader that has many requests under way where each is slow."""

import json
import os
import subprocess

import pytest

pytestmark = pytest.mark.long

BINARY = os.environ["HEADRACE"]
STALL_S = 4

JOB = """\
schema: 1
job: stalled
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 10ms, micro_batch: 4}
dataset: {layout: files, samples: 400, sample_size: 16kB}
loader: {workers_per_gpu: 2}
"""


def rehearse(folder, target, out):
    (folder / "job.yaml").write_text(JOB)
    done = subprocess.run([BINARY, "rehearse", "job.yaml", "--at", str(target), "--budget", "30s", "--max-write", "64MiB", "--only",
                           "input_pipeline/job", "--looks", "1", "--out", str(folder / out), "--no-report", "--progress", "none"],
                          cwd=folder, text=True, capture_output=True, timeout=400)
    assert done.returncode in (0, 10, 11), (done.stdout, done.stderr)
    return done, json.loads((folder / out / "run.json").read_text())


def test_storage_that_stalls_is_named_in_a_rehearsal(tmp_path, faults):
    target = faults.mount / "scratch"
    done, run = rehearse(tmp_path, target, "before")
    assert "stalls" not in run["rehearsal"] or run["rehearsal"]["stalls"]["longest_s"] < STALL_S, run["rehearsal"]
    slow = sorted(p for p in target.rglob("f0*.bin"))[3]
    faults.set(f"delay {slow.name} op=read ms={STALL_S * 1000}")
    done, run = rehearse(tmp_path, target, "stalled")
    point = run["points"][0]
    if not any(r["metrics"]["longest_read_s"] >= STALL_S for r in point["repetitions"]):
        pytest.skip("no repetition came to that file")
    named = [n for n in point["notes"] if n.startswith("storage stalled: worker")]
    assert any(str(slow) in n and "at byte 0" in n for n in named), point["notes"]
    stalls = run["rehearsal"]["stalls"]
    assert stalls["samples"] == sum(r["metrics"]["stalled_reads"] for r in point["repetitions"]) and stalls["longest_s"] >= STALL_S
    words = " ".join(done.stdout.split())
    assert "storage stalled:" in words and slow.name in words, done.stdout


def test_a_stall_is_counted_and_in_the_utilization(headrace, faults):
    """The time is over long before the read comes back; the GPU waits for it all the same, and that is reported."""
    pipeline = {"use": "input_pipeline", "files": 200, "file_size": "16KiB", "workers": 2, "batch_size": 4, "step_time": "10ms",
                "repeat": 1, "cache": "cold"}
    before = headrace(pipeline).point["repetitions"][0]["metrics"]
    assert before["longest_read_s"] < STALL_S, before
    slow = sorted((faults.mount / "scratch").rglob("f0*.bin"))[3]
    faults.set(f"delay {slow.name} op=read ms={STALL_S * 1000}")
    run = headrace({**pipeline, "duration": "3s"})
    m = run.point["repetitions"][0]["metrics"]
    assert m["stalled_reads"] >= 1 and m["longest_read_s"] >= STALL_S and m["batch_wait_latency_max_ns"] > 1e9, m
    # 50 steps of 10 ms are half a second; that nothing was ready for four is no average of the others.
    assert m["stall_fraction"] > 0.5 and m["accelerator_utilization"] < 0.3, m
    assert any(str(slow) in n for n in run.point["notes"]), run.point["notes"]


def test_requests_in_flight_hide_latency(headrace, faults):
    """12 ms for each file: one that waits for each gets 83 a second at most, sixteen under way get more."""
    faults.set("delay f*.bin op=read ms=12")
    pipeline = {"use": "input_pipeline", "files": 400, "file_size": "16KiB", "workers": 1, "batch_size": 4, "step_time": "0s",
                "repeat": 1, "cache": "cold"}
    rates = {}
    for loader in ("pytorch", "in_flight"):
        run = headrace({**pipeline, "loader": loader, **({"queue_depth": 16} if loader == "in_flight" else {})})
        if run.point["status"] == "skipped":
            pytest.skip(run.point["reason"])
        rates[loader] = next(m["median"] for m in run.point["metrics"] if m["name"] == "sample_rate")
    assert rates["pytorch"] <= 1000 / 12 and rates["in_flight"] > 2 * 1000 / 12, rates
