"""A cache tier on this node, filled in the first epoch and read in later ones: what it gives is measured beside the formulas, and
nothing but headrace's own files is written or removed."""

import os
import signal
import subprocess
import time

import pytest
from conftest import BINARY

RUN = """\
schema: 1
target: {path: scratch}
workloads:
  - {use: local_cache, files: 60, file_size: 50kB, workers: 2, tier: TIER, tier_ratio: RATIO, epochs: 2, duration: 60s, cache: CACHE,
     repeat: 1}
"""
JOB = """\
schema: 1
job: cached
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 20ms, micro_batch: 2}
dataset: {layout: files, samples: 1000, sample_size: 50kB}
loader: {workers_per_gpu: 2}
local_cache: {capacity: 20MBPATH}
"""


def run(headrace, tier="tier", ratio="0.5", cache="cold", out="results"):
    headrace.write("tier.yaml", RUN.replace("TIER", tier).replace("RATIO", ratio).replace("CACHE", cache))
    outcome = headrace("run", "-c", "tier.yaml", "--out", out, "--no-report")
    return outcome, headrace.results(out=out)["points"][0] if headrace.path(out).exists() else None


def metrics(point):
    return {m["name"]: m["median"] for m in point["metrics"]}


def test_hits_match_the_tiers_content(headrace):
    outcome, point = run(headrace)
    assert outcome.code == 0, outcome
    reported = metrics(point)
    assert reported["hit_ratio"] == reported["hit_ratio_predicted_c5"] == reported["cache_ratio"] == 0.5, reported
    assert not any("an epoch here is" in note for note in point["notes"]), point["notes"]  # it is all files
    assert [phase["operations"] for phase in point["repetitions"][0]["phases"]] == [60] * 4, point
    assert min(reported[f"{name}_sample_rate"] for name in ("storage", "fill", "cached")) > 0 and reported["fill_time_predicted_c10"] > 0, reported
    assert list(headrace.path("tier").iterdir()) == [headrace.path("tier/.headrace")], "all copies are gone"
    assert headrace("clean", "tier").code == 0 and not headrace.path("tier").exists()


def test_a_tier_that_holds_nothing_never_pays(headrace):
    outcome, point = run(headrace, ratio="0")
    assert outcome.code == 0 and metrics(point)["hit_ratio"] == 0, outcome
    assert "break_even_epochs" not in metrics(point) and "tier_write_rate" not in metrics(point), point["metrics"]


def test_a_folder_with_other_things_in_it_is_refused_and_left(headrace):
    headrace.path("tier").mkdir()
    headrace.path("tier/thesis.txt").write_text("mine")
    outcome, point = run(headrace)
    assert outcome.code == 1 and point["status"] == "error" and "thesis.txt" in outcome.out + outcome.err, outcome
    assert not headrace.path("scratch/data").exists(), "no data was made for it"
    assert headrace.path("tier/thesis.txt").read_text() == "mine" and len(list(headrace.path("tier").iterdir())) == 1


def test_without_a_tier_the_point_is_skipped(headrace):
    headrace.write("tier.yaml", RUN.replace("tier: TIER, tier_ratio: RATIO, ", "").replace("CACHE", "cold"))
    outcome = headrace("run", "-c", "tier.yaml", "--out", "results", "--no-report")
    point = headrace.results()["points"][0]
    assert point["status"] == "skipped" and "name a folder on a device of this node" in point["reason"], outcome


def test_clean_removes_the_rest_of_a_killed_run(headrace):
    headrace.write("tier.yaml", RUN.replace("TIER", "tier").replace("RATIO", "1").replace("CACHE", "asis").replace("repeat: 1", "repeat: 500"))
    running = subprocess.Popen([BINARY, "run", "-c", "tier.yaml", "--out", "results", "--no-report", "--progress", "none"],
                               cwd=headrace.path("."), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    copies = headrace.path("tier/local_cache")
    end = time.monotonic() + 120
    while not (copies.exists() and len(list(copies.glob("copy-*"))) > 3):
        assert running.poll() is None and time.monotonic() < end, "the tier was never filled"
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    (copies / "copy-00000099.bin").write_text("mine")  # such a name, and no mark
    cleaned = headrace("clean", "tier")
    assert cleaned.code == 0 and "copy-00000099.bin: not made by headrace" in cleaned.out, cleaned
    assert [f.name for f in copies.glob("copy-*")] == ["copy-00000099.bin"]


def rehearsed(headrace, path="", layout="files"):
    headrace.write("job.yaml", JOB.replace("PATH", path).replace("layout: files", f"layout: {layout}"))
    outcome = headrace("rehearse", "job.yaml", "--at", "scratch", "--budget", "8s", "--max-write", "30MB", "--no-report", "--out", "results")
    assert outcome.code in (0, 10, 11, 12), outcome
    return outcome, headrace.results()


def test_a_rehearsal_fills_the_jobs_tier(headrace):
    outcome, run = rehearsed(headrace, ", path: tier")
    point = next(p for p in run["points"] if p["id"] == "local_cache/job")
    assert point["params"]["tier_ratio"] == pytest.approx(20e6 / (1000 * 50e3)), point["params"]
    reported = run["rehearsal"]["local_cache"]
    assert reported["cached_sample_rate"] > 0 and "local cache: epochs straight from storage give" in " ".join(outcome.out.split()), outcome
    if "hit_ratio" in reported:
        assert reported["hit_ratio"] == pytest.approx(0.4, abs=0.02) and reported["hit_ratio_predicted"] == pytest.approx(0.4), reported


def test_shards_are_copied_whole(headrace):
    _, run = rehearsed(headrace, ", path: tier", layout="shards, samples_per_file: 40")
    point = next(p for p in run["points"] if p["id"] == "local_cache/job")
    params, reported = point["params"], metrics(point)
    assert params["samples_per_file"] == pytest.approx(params["file_size"] / 50e3, rel=1e-4), params
    storage = point["repetitions"][0]["phases"][0]
    assert reported["storage_sample_rate"] > 0 and storage["bytes"] == storage["operations"] * params["file_size"], storage
    assert run["rehearsal"]["local_cache"]["cached_sample_rate"] > 0, run["rehearsal"]


def test_a_tier_without_a_folder_is_reported(headrace):
    headrace.write("job.yaml", JOB.replace("PATH", ""))
    outcome = headrace("rehearse", "job.yaml", "--at", "scratch", "--dry-run")
    assert outcome.code == 0 and "the local cache is not rehearsed: name its folder" in " ".join((outcome.out + outcome.err).split()), outcome
    assert "local_cache/job" not in outcome.out
    outcome = headrace("rehearse", "job.yaml", "--at", "scratch", "--dry-run", "--set", "job.local_cache.path=t",
                       "--set", "job.dataset.layout=tokens")
    assert "only copies of whole files and shards are" in " ".join((outcome.out + outcome.err).split()), outcome
    outcome = headrace("rehearse", "job.yaml", "--at", "scratch", "--dry-run", "--set", "job.local_cache.path=t",
                       "--set", "job.local_cache.policy=lru")
    assert "only one that evicts nothing is (policy pinned)" in " ".join((outcome.out + outcome.err).split()), outcome
