"""Every part that reads a run, with runs of every kind that another part really wrote here: alone, of several ranks with their
pairs, with a peer, interrupted, with a rank that was killed, in blocks."""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import signal
import time
import xml.etree.ElementTree

import pytest

from conftest import Headrace
from test_ranks import MACHINE, measuring_child, mpirun
from test_serve import Server

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
HEAD = "schema: 1\nname: %s\ntarget: {path: scratch-%s, max_write: 2GiB}\ndefaults: {repeat: 2, rest: 0s}\nworkloads:\n"
# Small, and where a workload needs what is not everywhere, as it is.
SMALL = {
    "small_file_read": "files: 40, file_size: 8KiB, workers: 2, cache: asis",
    "shard_stream": "files: 2, file_size: 1MiB, workers: 2, cache: asis",
    "random_read": "file_size: 1MiB, block_size: 4KiB, reads: 200, workers: 2, cache: asis",
    "checkpoint_write": "ranks: 1, shard_size: 256KiB",
    "checkpoint_read": "ranks: 1, shard_size: 256KiB, cache: asis",
    "epochs": "files: 20, file_size: 16KiB, workers: 1",
    "metadata": "width: 2, files_per_folder: 20, workers: 1, cache: asis",
    "mixed": "files: 20, file_size: 8KiB, workers: 1, around: 100ms, rate: 100/s, checkpoint_ranks: 1, "
             "checkpoint_shard_size: 256KiB",
    "input_pipeline": "files: 40, file_size: 8KiB, workers: 2, batch_size: 4, step_time: 1ms, cache: asis",
    "local_cache": "files: 20, file_size: 16KiB, workers: 1, tier: tier-of-joints, cache: asis",
    "memory_copy": "array_size: 4MiB, passes: 2, workers: 1",
}
ENDLESS = "  - {use: tcp_stream, time: 200ms, repeat: 5000, timeout: 3s}\n"


def lines(*workloads):
    return "".join(f"  - {{use: {w}, {SMALL[w]}}}\n" if w in SMALL else f"  - {{use: {w}}}\n" for w in workloads)


class Runs:
    """Makes the run folder of a kind when it is first asked for."""

    def __init__(self, headrace):
        self.headrace, self.made = headrace, {}
        headrace.write("job.yaml", JOB)

    def of(self, kind):
        if kind not in self.made:
            try:
                self.made[kind] = getattr(self, kind)(kind) or kind
            except pytest.skip.Exception as skipped:
                self.made[kind] = skipped
            finally:
                self.headrace.under = []
        if isinstance(self.made[kind], pytest.skip.Exception):
            raise self.made[kind]
        return self.made[kind]

    def config(self, name, workloads):
        return self.headrace.write(f"{name}.yaml", HEAD % (name, name) + workloads)

    def ranks_of(self, count):
        if not shutil.which("mpirun"):
            pytest.skip("no mpirun (Debian: openmpi-bin)")
        if "mpi       not" in self.headrace("--version").out:
            pytest.skip("headrace was built without MPI")
        self.headrace.under = mpirun(count)

    def alone(self, name):
        """Every workload that there is; those that cannot run here are skipped with a reason."""
        known = [w["name"] for w in json.loads(self.headrace("list", "--json").out)]
        done = self.headrace.run(self.config(name, lines(*known)), "--job", "job.yaml", out=name)
        assert done.code in (10, 11, 12), done
        points = self.headrace.results(out=name)["points"]
        assert {p["workload"] for p in points} == set(known)
        for point in points:
            assert point["status"] in ("ok", "skipped") and (point["status"] == "ok" or point["reason"]), point["id"]
        assert {w for w in SMALL if w != "epochs"} <= {p["workload"] for p in points if p["status"] == "ok"}

    def of_the_job(self, verb, name, *words):
        done = self.headrace(verb, "job.yaml", "--at", f"scratch-{name}", "--budget", "4s", "--max-write", "64MiB", "--no-report",
                             "--out", name, *words)
        assert done.code in (0, 10, 11, 12), done

    def qualified(self, name):
        self.of_the_job("qualify", name)

    def rehearsed(self, name):
        self.of_the_job("rehearse", name, "--set", "job.step.time=20ms")

    def ranks(self, name):
        self.ranks_of(3)
        config = self.config(name, lines("small_file_read", "mixed") +
                             "  - {use: mpi_all_reduce, message_size: 4KiB, calls: 3}\n  - {use: tcp_stream, time: 100ms}\n")
        done = self.headrace.run(config, out=name)
        assert done.code == 0, done

    def peer(self, name):
        server = Server(self.headrace)
        try:
            done = self.headrace("run", "-c", self.config(name, lines("small_file_read", "rdma_write")), "--no-report", "--out",
                                 name, "--peer", f"127.0.0.1:{server.port}", HEADRACE_TOKEN="sixteen-letters-or-more")
            assert done.code in (0, 12), done
        finally:
            server.process.terminate()
            server.process.communicate(timeout=180)

    def until_first_repetition_of(self, workload, name):
        process = self.headrace.start("--progress", "json", "run", "-c", self.config(name, lines("small_file_read") + ENDLESS),
                                      "--no-report", "--out", name)
        for line in process.stderr:
            with contextlib.suppress(json.JSONDecodeError):
                event = json.loads(line)
                if event["event"] == "repetition_done" and event["point"].startswith(workload):
                    return process
        raise AssertionError(f"ended before its first repetition: {process.communicate()}")

    def interrupted(self, name):
        config = self.config(name, lines("small_file_read").replace("asis", "asis, repeat: 5000, rest: 100ms"))
        process = self.headrace.start("--progress", "json", "run", "-c", config, "--no-report", "--out", name)
        for line in process.stderr:
            if json.loads(line)["event"] == "repetition_done":
                break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=180)
        assert process.returncode == 130

    def lost(self, name):
        """One of three ranks is killed while pairs are measured."""
        self.ranks_of(3)
        process = self.until_first_repetition_of("tcp_stream", name)
        os.kill(measuring_child(self.headrace.folder, 2), signal.SIGKILL)
        _, err = process.communicate(timeout=240)
        assert process.returncode == 1, err
        points = self.headrace.results(out=name)["points"]
        assert [p["status"] for p in points] == ["ok", "error"] and "rank 2 (" in points[1]["reason"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in MACHINE.items():
            monkeypatch.setenv(name, value)
        yield Runs(Headrace(tmp_path_factory.mktemp("joints")))


KINDS = ["alone", "qualified", "rehearsed", "ranks", "peer", "interrupted", "lost"]
every_kind = pytest.mark.parametrize("kind", KINDS)


def run_of(runs, kind):
    folder = runs.of(kind)
    return runs.headrace, folder, runs.headrace.results(out=folder)


def blamed(run):
    return [name for point in run["points"] if "pairs" in point
            for key in ("blamed_nodes", "blamed_links", "blamed_rails") for name in point["pairs"].get(key, [])]


def is_green(run):
    """Nothing missed, failed or ended early; skipped is green."""
    return run["summary"]["exit_code"] in (0, 12, 77)


@every_kind
def test_the_verdict_is_reported_again(runs, kind):
    headrace, folder, run = run_of(runs, kind)
    word = run["summary"]["word"]
    assert f"VERDICT {word} " in headrace("verdict", folder).out
    assert json.loads(headrace("verdict", folder, "--json").out)["word"] == word
    again = headrace("verdict", folder, "--replay")
    none_asked = 12 if run["summary"]["needs"] == 0 else 0  # who asks for a verdict gets none
    assert again.code == (run["summary"]["exit_code"] or none_asked) and f"VERDICT {word} " in again.out, again


@every_kind
def test_every_export(runs, kind):
    headrace, folder, run = run_of(runs, kind)

    def exported(form):
        done = headrace("report", folder, "--format", form)
        assert done.code == 0 and done.err == "", done
        return done.out

    counted = sum(len(r["metrics"]) for p in run["points"] for r in p["repetitions"] if r["status"] == "ok")
    rows = list(csv.DictReader(io.StringIO(exported("csv"))))
    assert len(rows) == counted > 0
    stand = [p["id"] for p in run["points"] for r in p["repetitions"] if r["counted"] and r["status"] == "ok"]
    assert [b["name"] for b in json.loads(exported("gbench"))["benchmarks"]] == stand
    assert set(json.loads(exported("bmf"))) == {p["id"] for p in run["points"] if p["metrics"]}
    prom = dict(line.rsplit(" ", 1) for line in exported("prom").splitlines() if not line.startswith("#"))
    assert int(prom["headrace_exit_code"]) == run["summary"]["exit_code"]
    suites = xml.etree.ElementTree.fromstring(exported("junit"))
    cases = list(suites.iter("testcase"))
    assert int(suites.get("tests")) == len(cases) >= len(run["judgements"])
    red = [c for c in cases if c.find("failure") is not None or c.find("error") is not None]
    assert int(suites.get("failures")) + int(suites.get("errors")) == len(red)
    assert (not red) == is_green(run), [c.attrib for c in red]
    state = exported("nagios").split(" - ")[0]
    assert (state == "HEADRACE OK") <= is_green(run) and (state == "HEADRACE CRITICAL") == (run["summary"]["exit_code"] == 10)


@every_kind
def test_a_run_does_not_differ_from_itself(runs, kind):
    headrace, folder, run = run_of(runs, kind)
    done = headrace("compare", folder, folder, "--json")
    rows = json.loads(done.out)["pairs"][0]["rows"]
    assert done.code in (0, 11) and rows, done
    assert not [row for row in rows if row["status"] in ("worse", "better", "different")], done


@every_kind
def test_fleet_of_one_accuses_no_node(runs, kind):
    """But whom the run itself blamed; and its pairs are the run's, word for word."""
    headrace, folder, run = run_of(runs, kind)
    done = headrace("fleet", folder, "--json")
    fleet = json.loads(done.out)
    assert fleet["unreadable"] == [] and fleet["outliers"] == [] and fleet["group_effects"] == [], done
    assert [n["node"] for n in fleet["nodes"]] == [run["run"]["node"]]
    assert [one["pairs"] for one in fleet["pairs"]] == [p["pairs"] for p in run["points"] if "pairs" in p]
    assert bool([f for one in fleet["pairs"] for f in one["findings"]]) == bool(blamed(run))


@every_kind
def test_a_history_of_one_reports_no_change(runs, kind):
    headrace, folder, _ = run_of(runs, kind)
    done = headrace("history", folder, "--json")
    assert done.code in (11, 12) and json.loads(done.out)["summary"]["changes"] == 0, done


@every_kind
def test_sizing_uses_the_usable_runs(runs, kind):
    headrace, folder, _ = run_of(runs, kind)
    done = headrace("size", "job.yaml", "--runs", folder, "--json")
    if done.code == 2:
        assert "the runs measured nothing that this job needs" in done.err, done
    else:
        assert done.code in (0, 10, 11, 12) and json.loads(done.out)["summary"]["exit_code"] == done.code, done


@every_kind
def test_a_page_is_drawn_and_read_again(runs, kind):
    headrace, folder, run = run_of(runs, kind)
    page = f"{folder}.html"
    done = headrace("report", folder, "-o", page)
    if "python" in done.err.lower() and done.code != 0:
        pytest.skip(done.err.strip())
    assert done.code == 0, done
    from_page, from_file = (headrace("report", source, "--format", "nagios").out for source in (page, folder))
    assert from_page.split("|")[0] == from_file.split("|")[0]
    text = headrace.path(page).read_text()
    for point in run["points"]:
        assert point["workload"] in text
        if point["status"] == "error":
            assert "ended without a word" in text


def test_all_of_them_are_one_fleet_and_one_history(runs):
    """Of folders of one machine, whatever their kind: read all, and nobody accused."""
    headrace = runs.headrace
    folders = []
    for kind in KINDS:
        with contextlib.suppress(pytest.skip.Exception):
            folders.append(runs.of(kind))
    fleet = json.loads(headrace("fleet", *folders, "--json", "--out", "fleet", "--no-report").out)
    assert fleet["unreadable"] == [] and fleet["nodes"][0]["runs"] == len(folders)
    history = json.loads(headrace("history", *folders, "--json").out)
    assert history["summary"]["runs"] == len(folders)


@pytest.mark.parametrize("kind, again", [("qualified", "headrace qualify job.yaml"), ("rehearsed", "headrace rehearse job.yaml"),
                                         ("alone", "headrace run -c alone.yaml")])
def test_a_node_that_is_missing_is_reported_the_command_that_measures_the_same(runs, kind, again):
    headrace, folder, _ = run_of(runs, kind)
    headrace.write("hosts.txt", "elsewhere\n")
    fleet = json.loads(headrace("fleet", folder, "--hosts", "hosts.txt", "--json").out)
    assert [m["next_step"] for m in fleet["missing"] if m["node"] == "elsewhere"] == [f"on elsewhere: {again}"], fleet["missing"]


def test_a_killed_rank_accuses_no_link(runs):
    headrace, folder, run = run_of(runs, "lost")
    assert blamed(run) == []
    assert not [n for n in run["points"][1]["notes"] if n.startswith(("slow ", "straggler"))]
    fleet = headrace("fleet", folder)
    assert "slow_pairs=0" in fleet.out and "suspected_pairs=0" in fleet.out, fleet
    page = xml.etree.ElementTree.fromstring(headrace("report", folder, "--format", "junit").out)
    errors = [error.get("message") for error in page.iter("error")]
    assert len(errors) == 1 and "rank 2 (" in errors[0]
    nagios = headrace("report", folder, "--format", "nagios").out
    assert nagios.startswith("HEADRACE UNKNOWN - ERROR") and "1 point failed" in nagios


def test_saves_during_reads_are_of_all_ranks(runs):
    """What other ranks' background workers did reaches the file."""
    _, _, run = run_of(runs, "ranks")
    mixed = next(p for p in run["points"] if p["workload"] == "mixed")
    for repetition in mixed["repetitions"]:
        beside = [p["background"] for p in repetition["phases"] if "background" in p]
        assert [b["bytes"] for b in beside] == [3 * 256 * 1024], beside


def test_the_noise_floor_reaches_a_comparison_and_its_page(runs):
    headrace = runs.headrace
    config = runs.config("noise", lines("small_file_read"))
    noise = headrace("run", "--against-itself", "-c", config, "--blocks", "2", "--no-report", "--out", "noise-aa")
    assert noise.code in (0, 10, 11), noise
    folder = runs.of("alone")
    done = headrace("compare", folder, folder, "--aa", "noise-aa", "--out", "compared", "--json", "--no-report")
    assert done.code in (0, 11), done
    floors = {row["metric"]: row["noise_floor"] for row in json.loads(headrace.path("noise-aa/aa.json").read_text())["rows"]}
    rows = [row for row in json.loads(done.out)["pairs"][0]["rows"] if row["workload"] == "small_file_read"]
    assert rows and [row["noise_floor"] for row in rows] == [floors[row["metric"]] for row in rows]
    drawn = headrace("report", "compared", "-o", "compared.html")
    if "python" in drawn.err.lower() and drawn.code != 0:
        pytest.skip(drawn.err.strip())
    assert drawn.code == 0 and "read_bandwidth" in headrace.path("compared.html").read_text(), drawn
