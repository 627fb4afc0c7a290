"""headrace size: a run of this machine compared with jobs, and what was given wrongly."""

import json
import os
import re
import shlex
import shutil
import statistics

import pytest
from test_simulate import as_cold

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
    runner.path("cold").mkdir()
    runner.write("cold/run.json", json.dumps(as_cold(runner.results(out="a"))))
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
    done = made("size", "job.yaml", "--runs", "cold", "--set", "step.time=1us", "--set", "checkpoint.stall=1ms", "--json")
    data = json.loads(done.out)
    assert done.code == 10 and data["summary"]["word"] == "FAIL"
    assert data["summary"]["gpus_fed"] < 2
    fixes = {f["fix"]: f for f in data["fixes"]}
    assert fixes["async"]["basis"] == "modelled" and fixes["storage"]["basis"] == "extrapolated"
    assert "basis" in fixes["shards"] and "gpus_fed" not in fixes["shards"]  # nobody measured shards
    many = made("size", "job.yaml", "--runs", "cold", "--set", "cluster.nodes=64", "--json")
    # One of 64 nodes on a file system of its own: nothing of all of them.
    summary = json.loads(many.out)["summary"]
    assert many.code == 11 and "gpus_fed" not in summary and summary["measured_nodes"] == 1
    assert "Measured on 1 of 64 nodes, on local storage: enough for that node (2 GPUs" in summary["sentence"]
    assert "Each node with such storage of its own gets as much. Whether the shared storage feeds 64 nodes was not measured." in summary["sentence"]
    text = made("size", "job.yaml", "--runs", "cold", "--set", "cluster.nodes=64").out
    assert "this storage feeds" not in text and "gpus_fed=- gpus=128 nodes=1/64" in text


def test_more_nodes_than_were_measured_are_expected_as_simulate_expects_them(made):
    """One node and four got the same of a shared store: no job of more nodes passes, nor gets many times as much."""
    for nodes in (1, 4):
        run = as_cold(made.results(out="a"), type="nfs4", source="server:/export")
        run["run"].update(id=f"of-{nodes}", started_utc=f"2030-01-31T1{nodes}:00:00Z")
        for point in run["points"]:
            point["nodes"] = nodes
        made.path(f"shared/{nodes}").mkdir(parents=True, exist_ok=True)
        made.write(f"shared/{nodes}/run.json", json.dumps(run))
    words = ("job.yaml", "--runs", "shared", "--set", "cluster.nodes=64", "step.time=1000s", "--json")
    done = made("size", *words)
    data = json.loads(done.out)
    assert done.code == 11 and data["summary"]["measured_nodes"] == 4 and data["summary"]["basis"] == "extrapolated", done
    assert data["summary"]["sentence"].startswith("this storage is expected to feed 128 [128, 128] of 128 GPUs, extrapolated from 1, 4 nodes")
    for phase in data["phases"]:
        assert phase["outcome"] == "INCONCLUSIVE" and phase["explanation"].startswith("Expected with 64 nodes"), phase
        assert phase["supply"]["extrapolated_from"] == "1, 4 nodes" and phase["supply"]["median"] < 2 * phase["supply"]["per_client"] * 4
    [scale] = json.loads(made("simulate", *words).out)["scales"]
    [save] = [f for f in scale["figures"] if f["figure"] == "save_time"]
    assert data["calendar"]["save_s"] == pytest.approx(save["median"], rel=0.05)
    text = made(*["size", *words[:-1]]).out
    assert "expected from 1, 4 nodes" in text and "calendar   expected from 1, 4 nodes, within the bounds above: every" in " ".join(text.split()).replace("calendar ", "calendar   "), text
    starved = made("size", *words[:-1], "step.time=1ns")
    assert starved.code == 10 and "is expected to feed" in " ".join(starved.out.split()), starved


def test_files_do_not_answer_for_objects(made):
    done = made("size", "job.yaml", "--runs", "cold", "--set", "dataset.path=s3://bucket/set", "--json")
    why = {n["phase"]: n["why"] for n in json.loads(done.out)["not_measured"]}
    assert "the job reads objects of a store" in why["cold_epoch"]
    judged = made("verdict", "cold", "--job", "job.yaml", "--set", "dataset.path=s3://bucket/set")
    assert "the job reads objects of a store" in judged.out


def test_missing_capacity_comes_first(made):
    done = made("size", "job.yaml", "--runs", "cold", "--set", "dataset.samples=1e12", "--set", "checkpoint.interval=1h")
    sentence = done.out.strip().splitlines()[0] if done.code == 10 else ""
    assert " ".join(done.out.split()).count("not fit on the measured file system (") >= 2, done
    assert done.code == 10 and sentence, done


def test_commands_can_be_run(made):
    """Every command that is offered is one that headrace understands."""
    data = json.loads(made("size", "job.yaml", "--runs", "cold", "--set", "step.time=1us", "--json").out)
    commands = [f["command"] for f in data["fixes"]] + [n["command"] for n in data["not_measured"]]
    assert len(commands) > 5
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "headrace"
        if words[1] == "size":
            assert made(*words[1:]).code in (0, 10, 11, 12), command
        else:
            done = made(*words[1:], "--dry-run")
            assert done.code == 0, (command, done)


def test_commands_quote_names(made):
    """A shell takes each name as one word."""
    odd = "sp ace;touch PWNED $(id) it's"
    made.path(odd).mkdir()
    shutil.copy(made.path("job.yaml"), made.path(f"{odd}/job.yaml"))
    shutil.copytree(made.path("cold"), made.path(f"{odd}/cold"))
    words = ("size", f"{odd}/job.yaml", "--runs", f"{odd}/cold", "--set", "step.time=1us")
    data = json.loads(made(*words, "--json").out)
    for command in [f["command"] for f in data["fixes"]] + [n["command"] for n in data["not_measured"]]:
        assert f"{odd}/job.yaml" in shlex.split(command), command
    [following] = [line for line in made(*words).out.splitlines() if line.startswith("Next: ")]
    assert f"{odd}/job.yaml" in shlex.split(following, comments=True), following
    judged = made("verdict", f"{odd}/cold", "--job", f"{odd}/job.yaml").out
    [following] = [line for line in judged.splitlines() if line.startswith("next   headrace qualify")]
    assert f"{odd}/job.yaml" in shlex.split(following, comments=True), following


SAVES = """\
schema: 1
name: saves
target: {path: scratch, max_write: 200MiB}
workloads:
  - {use: checkpoint_write, ranks: 1, shard_size: 1MiB, repeat: %d}
"""
SAVE_JOB = """\
schema: 1
job: saver
cluster: {nodes: 3, gpus_per_node: 1}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 40, sample_size: 8KiB}
model: {parameters: 1e6}
checkpoint: {interval: 10min, stall: 10s}
"""


def sized(headrace, *words):
    done = headrace("size", "save.yaml", "--runs", *words, "--json")
    data = json.loads(done.out)
    return done.code, data, next(p for p in data["phases"] if p["phase"] == "checkpoint_save")


def test_nodes_of_one_run_add_up(headrace, monkeypatch):
    """What three nodes gave in one run is not multiplied by three again."""
    if os.geteuid() != 0 or not shutil.which("mpirun") or "mpi       not" in headrace("--version").out:
        pytest.skip("needs root, mpirun (Debian: openmpi-bin) and headrace with MPI")
    for name, value in {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_pml": "ob1",
                        "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_mpi_yield_when_idle": "1",
                        "RES_OPTIONS": "timeout:1 attempts:1"}.items():
        monkeypatch.setenv(name, value)
    headrace.write("save.yaml", SAVE_JOB)
    headrace.write("saves.yaml", SAVES % 5)
    as_host = 'hostname "node$OMPI_COMM_WORLD_RANK" && exec "$@"'
    headrace.under = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "3", "unshare", "--uts", "sh", "-c", as_host, "sh"]
    done = headrace.run("saves.yaml")
    headrace.under = []
    if "unshare" in done.err:
        pytest.skip("hosts of other names cannot be made here")
    assert done.code == 0, done
    point = headrace.results()["points"][0]
    assert point["nodes"] == 3
    together = next(m for m in point["metrics"] if m["name"] == "durable_bandwidth")["mean_over_time"]
    _, _, save = sized(headrace, "results")
    assert save["supply"]["clients"] == 3 and save["supply"]["basis"] == "measured"
    assert save["supply"]["median"] == pytest.approx(together, rel=1e-6)
    assert "gpus_fed" not in save  # no number of GPUs makes a checkpoint smaller


def test_sessions_and_repetitions_are_counted(headrace):
    headrace.write("save.yaml", SAVE_JOB.replace("nodes: 3", "nodes: 1"))
    headrace.write("once.yaml", SAVES % 1)
    headrace.write("twice.yaml", SAVES % 2)
    headrace.write("saves.yaml", SAVES % 5)
    assert headrace.run("once.yaml", out="once").code == 0
    once = headrace("size", "save.yaml", "--runs", "once")
    assert once.code == 2 and "has one repetition: too few for a range" in once.err, once
    assert headrace.run("twice.yaml", out="twice").code == 0
    code, data, save = sized(headrace, "twice")
    assert (code, data["summary"]["word"], save["outcome"], save["reason"]) == (11, "INCONCLUSIVE", "INCONCLUSIVE", "few-reps")
    rates, doubted = [], []
    for number in range(2):
        assert headrace.run("saves.yaml", out=f"many/{number}").code == 0
        point = headrace.results(out=f"many/{number}")["points"][0]
        rates.append(next(m for m in point["metrics"] if m["name"] == "durable_bandwidth")["mean_over_time"])
        counted = [r for r in point["repetitions"] if r["counted"]]
        doubted.append(any(3 * sum(marks) > len(counted) for marks in (
            [r["disturbance"]["disturbed"] for r in counted], [not r["steady"] for r in counted])))
        for repetition in point["repetitions"]:  # when, and how long: what shows whether nodes measured together
            assert repetition["began_utc"].endswith("Z") and repetition["timed_s"] >= repetition["phases"][0]["elapsed_s"]
    _, _, save = sized(headrace, "many", "many/1")  # the same run twice is one session
    assert save["supply"]["sessions"] == 2 and save["supply"]["n"] == 10
    used = [rate for rate, doubt in zip(rates, doubted) if not doubt] or rates
    assert save["supply"]["median"] == pytest.approx(statistics.geometric_mean(used), rel=1e-6)


def test_unusable_runs_are_reported(made):
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


def test_without_runs_it_measures_the_work_of_the_job(headrace):
    headrace.write("job.yaml", JOB)
    done = headrace("size", "job.yaml", "--at", "scratch", "--budget", "5s", "--max-write", "64MiB", "--out", "out", "--no-report",
                    "--json")
    if done.code == 2 and "measured nothing that this job needs" in done.err:
        pytest.skip("this machine does not let it be measured: " + done.err)
    assert done.code in (0, 10, 11, 12), done
    data = json.loads(done.out)
    assert data == json.loads(headrace.path("out/size.json").read_text())
    kept, = headrace.path("headrace-runs").iterdir()
    again = headrace("size", "job.yaml", "--runs", str(kept), "--json")
    assert again.code == done.code
    assert json.loads(again.out)["phases"] == data["phases"]
    text = headrace("size", "job.yaml", "--runs", str(kept)).out
    assert not re.search(r"\([A-H][0-9]+[,)]", text), f"a formula's id, which only --explain prints: {text}"


def test_measuring_anew_and_finished_runs_do_not_go_together(made):
    for option in ("--at", "--data", "--max-write", "--budget"):
        done = made("size", "job.yaml", "--runs", "cold", option, "1min")
        assert done.code == 2 and f"{option} starts a new measurement" in done.err, done


def test_unmeasurable_jobs_are_refused_before_the_run(made):
    done = made("size", "job.yaml", "--at", "scratch", "--data", "nowhere")
    assert done.code == 2 and "nothing is at nowhere" in done.err, done
    swapped = made("size", "tiny.yaml")
    assert swapped.code == 2 and "this is a configuration, no job" in swapped.err and len(swapped.err.splitlines()) == 1, swapped
