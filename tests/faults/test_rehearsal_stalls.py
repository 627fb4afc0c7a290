"""Storage that stands still for a while in a rehearsal, and a loader that has many requests under way where each is slow."""

import json
import os
import subprocess

import pytest

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


def test_storage_that_stalls_is_counted_and_named_and_in_the_utilization(tmp_path, faults):
    target = faults.mount / "scratch"
    done, run = rehearse(tmp_path, target, "before")
    assert "stalls" not in run["rehearsal"] or run["rehearsal"]["stalls"]["longest_s"] < STALL_S, run["rehearsal"]
    slow = sorted(p for p in target.rglob("f0*.bin"))[3]
    faults.set(f"delay {slow.name} op=read ms={STALL_S * 1000}")
    done, run = rehearse(tmp_path, target, "stalled")
    point = run["points"][0]
    read = [r for r in point["repetitions"] if r["metrics"]["longest_read_s"] >= STALL_S]
    assert read, "a repetition has every file"
    for r in read:
        m = r["metrics"]
        assert m["stalled_reads"] >= 1 and m["batch_wait_latency_max_ns"] > 1.5e9, m
        # 100 steps of 10 ms are a second; that nothing was ready for four is no average of the others.
        assert m["stall_fraction"] * r["phases"][0]["elapsed_s"] > 0.8 * STALL_S and m["accelerator_utilization"] < 0.3, m
    named = [n for n in point["notes"] if n.startswith("storage stalled: worker")]
    assert any(str(slow) in n and "at byte 0" in n for n in named), point["notes"]
    stalls = run["rehearsal"]["stalls"]
    assert stalls["samples"] == sum(r["metrics"]["stalled_reads"] for r in point["repetitions"]) and stalls["longest_s"] >= STALL_S
    words = " ".join(done.stdout.split())
    assert "storage stalled:" in words and slow.name in words, done.stdout


def test_requests_in_flight_hide_what_each_takes(headrace, faults):
    """12 ms for each file: one that waits for each gets 83 a second at most, sixteen under way get more."""
    faults.set("delay f*.bin op=read ms=12", "uncached")
    pipeline = {"use": "input_pipeline", "files": 400, "file_size": "16KiB", "workers": 1, "batch_size": 4, "step_time": "0s",
                "repeat": 1, "cache": "asis"}
    rates = {}
    for loader in ("pytorch", "in_flight"):
        run = headrace({**pipeline, "loader": loader, **({"queue_depth": 16} if loader == "in_flight" else {})})
        if run.point["status"] == "skipped":
            pytest.skip(run.point["reason"])
        rates[loader] = next(m["median"] for m in run.point["metrics"] if m["name"] == "sample_rate")
    assert rates["pytorch"] <= 1000 / 12 and rates["in_flight"] > 2 * 1000 / 12, rates
