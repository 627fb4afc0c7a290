"""Stopped from outside: partial results are kept, and the next run mends what a kill left behind."""

import json
import os
import re
import signal
import time

import pytest

def wait_for(headrace, process, happened, seconds=150):
    end = time.monotonic() + seconds
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stops_cleanly_and_keeps_results(headrace, number, code):
    process = headrace.start_measuring("tiny.yaml")
    process.send_signal(number)
    out, err = process.communicate(timeout=180)
    assert process.returncode == code, (out, err)
    assert "VERDICT INTERRUPTED" in out.splitlines()[-1], out
    run = headrace.results()
    assert run["run"]["signal"] == number and run["summary"]["exit_code"] == code
    assert run["points"][0]["status"] == "interrupted"


def test_a_signal_to_process_and_group_is_one_request(headrace):
    process = headrace.start_measuring("tiny.yaml")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=180)
    assert process.returncode in (130, 143) and headrace.path("results/run.json").exists()


def test_interrupted_while_data_is_made(headrace):
    process = headrace.start("run", "-c", "tiny.yaml", "--no-report", "--out", "results", "--set",
                             "workloads.0.files=200000", "--set", "target.max_write=4GiB")
    wait_for(headrace, process, lambda: headrace.path("scratch/data").exists())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=180)
    assert process.returncode == 130, (out, err)
    assert headrace.results()["summary"]["word"] == "INTERRUPTED"


def test_killed_while_data_is_made(headrace):
    big = ["--set", "workloads.0.files=4000", "--set", "target.max_write=4GiB"]
    # Should all data be there before it is killed, it goes on for minutes.
    process = headrace.start("run", "-c", "tiny.yaml", "--no-report", "--out", "killed", *big, "--set", "workloads.0.repeat=1000",
                             "--set", "workloads.0.rest=100ms")
    wait_for(headrace, process, lambda: list(headrace.folder.glob("scratch/data/*/*")))
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not headrace.path("killed/run.json").exists(), "results of a run that never ended"
    again = headrace.run("tiny.yaml", *big, "--set", "workloads.0.verify=true", "--set", "workloads.0.repeat=1")
    assert again.code == 0, again
    point = headrace.results()["points"][0]
    assert point["verified"] and point["wrong_blocks"] == []


def test_killed_while_measuring(headrace):
    process = headrace.start_measuring("tiny.yaml")
    process.kill()
    process.communicate()
    again = headrace.run("tiny.yaml", out="again")
    assert again.code == 0, again
    assert headrace("clean", "scratch").code == 0
    assert not headrace.path("scratch").exists()


NAMES = """\
schema: 1
target: {path: scratch}
workloads:
  - {use: metadata, width: 3, files_per_folder: 300, workers: 2, cache: asis, repeat: 5}
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_names_come_and_go(headrace, number):
    process = headrace.start_measuring(headrace.write("names.yaml", NAMES))
    process.send_signal(number)
    process.communicate(timeout=180)
    assert not headrace.path("scratch/metadata").exists(), "the tree goes with the run"


def test_killed_while_names_come_and_go(headrace):
    names = headrace.write("names.yaml", NAMES)
    process = headrace.start_measuring(names)
    process.kill()
    process.communicate()
    assert headrace.path("scratch/metadata").exists()
    again = headrace.run(names, out="again")
    assert again.code == 0, again
    assert not headrace.path("scratch/metadata").exists()


def test_clean_after_a_kill_takes_the_names(headrace):
    process = headrace.start_measuring(headrace.write("names.yaml", NAMES))
    process.kill()
    process.communicate()
    assert headrace("clean", "scratch").code == 0
    assert not headrace.path("scratch").exists()


def measuring_process(process):
    """The child that measures: the one that was started only waits for it."""
    for _ in range(1000):
        children = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise AssertionError("no child")


def test_stopped_process_reports_the_stop(headrace):
    """SIGSTOP leaves no trace in any counter of the machine, and makes the repetition slow. At a rate that is asked for, the
    reads last as long as they may, however fast the storage is."""
    headrace.write("long.yaml", """\
schema: 1
target: {path: scratch}
workloads: [{use: random_read, file_size: 16MiB, rate: 400/s, cache: asis, duration: 6s, repeat: 1}]
""")
    process = headrace.start("--progress", "json", "run", "-c", "long.yaml", "--no-report", "--out", "results")
    for line in process.stderr:
        if json.loads(line)["event"] == "live":
            break
    child = measuring_process(process)
    time.sleep(0.2)  # until it has reported about this look, and waits for the next one
    os.kill(child, signal.SIGSTOP)
    time.sleep(1)
    os.kill(child, signal.SIGCONT)
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, (out, err)
    first = headrace.results()["points"][0]["repetitions"][0]["disturbance"]
    paused = re.search(r"headrace itself was paused for ([0-9.]+) s", first["why"])
    assert first["disturbed"] and paused and float(paused[1]) >= 0.95, first
