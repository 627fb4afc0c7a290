"""headrace size: a run of this machine held against jobs, and what was given wrongly."""

import json
import shlex

import pytest

JOB = """\
schema: 1
job: little
cluster: {nodes: 1, gpus_per_node: 2, gpu_price: 2, mtbf: 1d, restart: 1min}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 40, sample_size: 8KiB}
loader: {workers_per_gpu: 1}
model: {parameters: 1e6}
checkpoint: {interval: 10min, stall: 10s, restore: 60s}
"""
CONFIG = """\
schema: 1
name: tiny
target: {path: scratch, max_write: 200MiB}
workloads:
  - {use: small_file_read, files: 40, file_size: 8KiB, workers: 2, cache: asis, repeat: 6}
  - {use: checkpoint_write, ranks: 1, shard_size: 4MiB, repeat: 6}
  - {use: host_facts}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    from conftest import Headrace
    runner = Headrace(tmp_path_factory.mktemp("size"))
    runner.write("job.yaml", JOB)
    runner.write("tiny.yaml", CONFIG)
    assert runner.run("tiny.yaml", out="a").code == 0
    run = runner.results(out="a")
    # As if its caches had been made cold, which not every machine lets one do, and as if nothing had disturbed it.
    for point in run["points"]:
        for repetition in point["repetitions"]:
            repetition["steady"] = True
            repetition["disturbance"]["disturbed"] = False
        if point["workload"] == "small_file_read":
            point["cache"] = "cold"
            for repetition in point["repetitions"]:
                repetition["cache"]["proven"] = True
    runner.path("cold").mkdir()
    runner.write("cold/run.json", json.dumps(run))
    return runner


def test_a_small_job_is_fed(made):
    done = made("size", "job.yaml", "--runs", "cold", "--out", "out", "--no-report", "--json")
    data = json.loads(done.out)
    assert data == json.loads(made.path("out/size.json").read_text())
    assert data["kind"] == "headrace.size"
    assert data["summary"]["word"] in ("PASS", "INCOMPLETE") and data["summary"]["exit_code"] == done.code
    assert data["summary"]["gpus_fed"] == 2 and data["summary"]["basis"] == "measured"
    phases = {p["phase"]: p for p in data["phases"]}
    assert phases["cold_epoch"]["gpus_fed"]["median"] > 2 and phases["checkpoint_save"]["outcome"] == "PASS"
    assert {n["phase"] for n in data["not_measured"]} >= {"checkpoint_restore", "metadata"}
    assert data["calendar"]["best_interval_s"] > 0 and data["capacity"]["outcome"] == "PASS"
    text = made("size", "job.yaml", "--runs", "cold")
    assert text.code == done.code and text.out.splitlines()[-1].startswith("VERDICT ")
    assert "not measured" in text.out
    assert made("clean", "out", "--yes").code == 0


def test_a_large_job_is_not(made):
    done = made("size", "job.yaml", "--runs", ".", "--set", "step.time=1us", "--set", "checkpoint.stall=1ms", "--json")
    data = json.loads(done.out)
    assert done.code == 10 and data["summary"]["word"] == "FAIL"
    assert data["summary"]["gpus_fed"] < 2
    fixes = {f["fix"]: f for f in data["fixes"]}
    assert fixes["async"]["basis"] == "modelled" and fixes["storage"]["basis"] == "extrapolated"
    assert "basis" in fixes["shards"] and "gpus_fed" not in fixes["shards"]  # nobody measured shards
    many = made("size", "job.yaml", "--runs", "cold", "--set", "cluster.nodes=64", "--json")
    assert many.code in (10, 11) and json.loads(many.out)["summary"]["basis"] == "extrapolated"


def test_commands_can_be_run(made):
    """Every command that is offered is one that headrace understands."""
    data = json.loads(made("size", "job.yaml", "--runs", "cold", "--set", "step.time=1us", "--json").out)
    commands = [f["command"] for f in data["fixes"]] + [n["command"] for n in data["not_measured"]]
    assert len(commands) > 5
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "headrace"
        if words[1] == "size":
            words = [w for w in words if w != "..."] + ["cold"]
            assert made(*words[1:]).code in (0, 10, 11, 12), command
        else:
            done = made(*words[1:], "--dry-run")
            assert done.code == 0, (command, done)


def test_what_cannot_be_used_is_told(made):
    assert "no such file" in made("size", "job.yaml", "--runs", "nowhere").err
    made.path("empty").mkdir(exist_ok=True)
    assert "no run.json below it" in made("size", "job.yaml", "--runs", "empty").err
    made.path("cut").mkdir(exist_ok=True)
    made.write("cut/run.json", made.path("a/run.json").read_text()[:100])
    cut = made("size", "job.yaml", "--runs", "cut", "cold")
    assert cut.code == 2 and "cut/run.json" in cut.err
    made.path("cut/run.json").unlink()
    assert made("size", "nojob.yaml", "--runs", "cold").code == 2
    nothing = made("size", "job.yaml", "--runs", "a", "--set", "checkpoint.interval=1s")
    assert nothing.code == 2, nothing
