"""A job's run ends at its budget on storage that makes data far too slowly, and says what that leaves unproven."""

import json
import subprocess
import time

import pytest

from conftest import BINARY

JOB = """
schema: 1
job: slow
cluster: {nodes: 1, gpus_per_node: 2}
step: {time: 350ms, micro_batch: 8}
dataset: {layout: files, samples: 14e6, sample_size: 130kB}
loader: {workers_per_gpu: 1}
"""
WRITE_MS = 100  # of each write: 20,000 files, made by at most 32 threads, would take more than a minute
BUDGET_S, SAVES_S = 24, 12


def qualify(tmp_path, faults, number):
    job = tmp_path / "job.yaml"
    job.write_text(JOB)
    out = tmp_path / f"qualified{number}"
    start = time.monotonic()
    done = subprocess.run([BINARY, "qualify", job, "--at", faults.mount / "scratch", "--budget", f"{BUDGET_S}s", "--out", out,
                           "--no-report"], capture_output=True, text=True, timeout=600)
    took = time.monotonic() - start
    print(done.stdout, done.stderr, f"{took:.1f} s")
    return done, json.loads((out / "run.json").read_text()), took


def made(faults):
    """Modification times of the job's own files, by name."""
    folder, = (faults.backing / "scratch" / "data").glob("*x130000B-*")
    return folder, {path.name: path.stat().st_mtime_ns for path in folder.rglob("f*.bin")}


@pytest.mark.long
def test_making_data_ends_at_its_share_of_the_budget(tmp_path, faults):
    faults.set(f"delay *.bin op=write ms={WRITE_MS}")
    done, run, _ = qualify(tmp_path, faults, 1)
    assert done.returncode in (0, 10, 11, 12), (done.stdout, done.stderr)
    point = next(p for p in run["points"] if p["id"] == "small_file_read/job")
    assert point["status"] == "ok", point["reason"]
    planned = point["params"]["files"]
    folder, first = made(faults)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["state"] == "making" and 0 < manifest["made"] < planned, manifest
    words = f"{manifest['made']} of {planned} files were made"
    judged = next(j for j in run["judgements"] if j["id"] == "ingest.read_bandwidth")
    assert words in judged["unproven"] and "not shown" in judged["unproven"], judged
    assert words in " ".join(done.stdout.split()), done.stdout
    # What was read is what was made.
    assert all(r["phases"][0]["operations"] <= manifest["made"] for r in point["repetitions"]), point

    # Later, and faster: the same files are used again, and more are made.
    faults.set()
    again, run, _ = qualify(tmp_path, faults, 2)
    assert again.returncode in (0, 10, 11, 12), (again.stdout, again.stderr)
    _, second = made(faults)
    assert len(second) > manifest["made"]
    kept = sorted(first)[:manifest["made"]]
    assert {name: second[name] for name in kept} == {name: first[name] for name in kept}


SAVING_JOB = """
schema: 1
job: saving
cluster: {nodes: 1, gpus_per_node: 2}
step: {time: 1s, micro_batch: 8}
dataset: {layout: files, samples: 1000, sample_size: 4kB}
model: {parameters: 70e9}
checkpoint: {interval: 100s, stall: 20s}
"""


def save(tmp_path, at, number):
    """The run of that job, and its judged point."""
    job = tmp_path / "saving.yaml"
    job.write_text(SAVING_JOB)
    out = tmp_path / f"saved{number}"
    done = subprocess.run([BINARY, "qualify", job, "--at", at, "--budget", f"{SAVES_S}s", "--only", "checkpoint_write", "--out", out,
                           "--no-report"], capture_output=True, text=True, timeout=600)
    print(done.stdout, done.stderr)
    assert done.returncode in (10, 11, 12), (done.stdout, done.stderr)
    run = json.loads((out / "run.json").read_text())
    return done, run, next(p for p in run["points"] if p["id"] == "checkpoint_write/job")


def saved_bytes(point):
    return {r["phases"][0]["bytes"] for r in point["repetitions"]}


def test_shards_fit_the_rate_of_slow_storage(tmp_path, faults):
    faults.set(f"delay *.new op=write ms={WRITE_MS}")
    done, run, point = save(tmp_path, faults.mount / "scratch", 1)
    assert point["status"] == "ok", point["reason"]
    asked = 2 * int(point["params"]["shard_size"])
    saved = [r["phases"][0]["bytes"] for r in point["repetitions"]]
    # Of 2 ranks, each writes 1 MiB in 100 ms at best.
    within_s = SAVES_S / 30
    assert all(0 < bytes_ <= 2 * 1.1 * within_s * 1000 / WRITE_MS * 2**20 for bytes_ in saved), saved
    assert all(bytes_ < asked / 4 for bytes_ in saved), (saved, asked)
    judged = next(j for j in run["judgements"] if j["id"].startswith("checkpoint.") and "unproven" in j)
    assert "instead of" in judged["unproven"] and "as this storage saves no more in" in judged["unproven"], judged
    assert "as this storage saves no more in" in " ".join(done.stdout.split()), done.stdout

    # Without the delay a shard is whole, unless this disk itself is too slow: then the run reports it again.
    faults.set()
    done, run, point = save(tmp_path, tmp_path / "scratch", 2)
    whole = all(saved_bytes(p) == {2 * int(p["params"]["shard_size"])} for p in run["points"] if p["status"] == "ok")
    assert whole != ("as this storage saves no more in" in " ".join(done.stdout.split())), (done.stdout, run["points"])
    # A disk that others keep busy, or a machine that stood still, may have saved little as well: then they disturbed it.
    if whole or not any(r["disturbance"]["disturbed"] for r in point["repetitions"]):
        assert min(saved_bytes(point)) > max(saved), "a disk without the delay saved no more than one with it"
