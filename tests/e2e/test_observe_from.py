"""headrace observe --from: jobs learned from calls that others wrote down, strace, DFTracer, Darshan, and from its own traces."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from observed import GUARD, LOADER, Seen, data


def strace(headrace, data, written, *how, steps=40, options=()):
    """A real loader's calls, written down by the real strace; its truth."""
    done = subprocess.run(["strace", "-f", *how, "-o", headrace.path(written), sys.executable, LOADER, data, "--steps", str(steps), "--step",
                           "0.04", *options], capture_output=True, text=True, timeout=GUARD)
    if done.returncode != 0 and ("PTRACE" in done.stderr or "ptrace" in done.stderr):
        pytest.skip("strace may not trace here: " + done.stderr.splitlines()[0])
    assert done.returncode == 0, done
    return json.loads(done.stdout.splitlines()[-1])


class Read(Seen):
    """What was learned from calls that were written down."""

    def __init__(self, headrace, out, outcome, truth):
        outcome.out = json.dumps(truth)
        super().__init__(headrace, out, outcome)


needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is missing")


@needs_strace
@pytest.mark.parametrize("how", [("-ttt", "-T", "-y"), ("-tt", "-T")], ids=["with paths", "without"])
def test_a_job_is_learned_from_straces_output(headrace, data, how):
    truth = strace(headrace, data, "calls", *how, options=("--decode", "0.001", "--save", str(headrace.path("model.pt")), "--save-bytes",
                                                           str(8 << 20), "--save-every", "15"))
    outcome = headrace("observe", "--no-report", "--from", "calls", "--out", "seen")
    assert outcome.code == 0 and "read the calls of 3 processes" in outcome.out, outcome
    seen = Read(headrace, "seen", outcome, truth)
    assert [p["role"] for p in seen.reported["processes"]].count("worker") == 2
    seen.near("dataset.sample_size", truth["bytes"] / truth["samples"])
    seen.near("step.micro_batch", truth["samples"] / truth["steps"])
    seen.near("step.time", truth["step"])
    assert seen.learned["dataset.path"]["text"] == str(data) and seen.learned["loader.workers_per_gpu"]["value"] == 2
    assert seen.learned["dataset.metadata_ops_per_open"]["evidence"].startswith("traced")
    assert len(seen.reported["saves"]) == len(truth["saves"]) and seen.learned["checkpoint.mode"]["text"] == "sync"
    assert headrace("require", "seen/job.yaml").code == 0
    calls = seen.reported["calls"]
    assert sum(count for _, count in calls["read"]["buckets"]) >= truth["samples"] and calls["open"]["buckets"], calls
    assert 1 <= calls["most_in_flight"] <= 3 and 0 < calls["mean_in_flight"] <= 3 and len(calls["in_flight"]) == 400, calls


@needs_strace
def test_files_that_are_gone_are_as_large_as_they_were_read(headrace, data):
    shutil.copytree(data, headrace.path("copy"))
    truth = strace(headrace, headrace.path("copy"), "calls", "-ttt", "-T", "-y")
    shutil.rmtree(headrace.path("copy"))
    outcome = headrace("observe", "--no-report", "--from", "calls", "--out", "seen")
    seen = Read(headrace, "seen", outcome, truth)
    assert seen.learned["dataset.layout"]["text"] == "files" and seen.learned["dataset.path"]["text"] == str(headrace.path("copy"))
    seen.near("dataset.sample_size", truth["bytes"] / truth["samples"])
    assert seen.learned["dataset.samples"]["value"] == truth["files"], seen.learned["dataset.samples"]


@needs_strace
def test_of_a_part_of_the_calls_no_limit_is_reported(headrace, data):
    strace(headrace, data, "calls", "-ttt", "-T", "-y", "-e", "trace=openat,read,close")
    outcome = headrace("observe", "--from", "calls", "--no-store", "--json")
    reported = json.loads(outcome.out)
    assert outcome.code == 0 and reported["limit"]["id"] == "unknown" and "futex" in json.dumps(reported["notes"]), reported
    untimed = strace(headrace, data, "calls", "-ttt", "-y")
    reported = json.loads(headrace("observe", "--from", "calls", "--no-store", "--json").out)
    assert reported["limit"]["id"] == "unknown" and "strace -T" in json.dumps(reported["notes"]), (reported, untimed)
    assert "calls" not in reported, "nothing is known of single calls"


@needs_strace
def test_bad_lines_of_a_trace_are_counted_and_named(headrace, data):
    strace(headrace, data, "calls", "-ttt", "-T", "-y", steps=30)
    lines = headrace.path("calls").read_text().splitlines()
    headrace.write("calls", "\n".join([*lines[:50], "no line of strace's", *lines[50:], lines[-3][:25]]) + "\n")
    outcome = headrace("observe", "--from", "calls", "--no-store")
    assert outcome.code == 0 and re.search(r"lines? w\S+ left out: calls:51: no time", outcome.out), outcome


def test_a_trace_that_cannot_be_read_is_refused(headrace):
    headrace.write("words", "nothing of strace's\n")
    headrace.write("empty", "")
    headrace.write("a.pfw", '[\n{"name":"start","cat":"dftracer","pid":1,"tid":1}\n')
    headrace.write("a.darshan", "no log")
    for words, reported in ((("words",), "no call"), (("none",), "No such file"), (("empty",), "empty"), (("a.pfw",), "no call on a file"),
                        (("a.pfw", "words"), "different tools"), (("words", "--live"), "--from"), (("words", "--", "true"), "needs a command")):
        outcome = headrace("observe", "--from", *words)
        assert outcome.code == 2 and reported in outcome.err, outcome
    headrace.write("many", "no line of strace's\n" * 6)
    many = " ".join(headrace("observe", "--from", "many").err.split())
    assert "6 lines were left out: many:1: no time" in many and many.count("no time") == 1, many
    # What never ends, or never begins, is no trace.
    os.mkfifo(headrace.path("pipe"))
    for name in ("pipe", "/dev/zero", "/dev/urandom"):
        outcome = headrace("observe", "--from", name)
        assert outcome.code == 2 and f"{name}: is a pipe or a device" in outcome.err, outcome
    # No Python here has it, or the log is none: both are reported.
    log = headrace("observe", "--from", "a.darshan")
    assert log.code in (1, 2) and ("pip install darshan" in log.err or "no Darshan log" in log.err), log


def test_darshan_logs_are_read_by_its_own_package(headrace):
    python = os.environ.get("HEADRACE_DARSHAN_PYTHON", "/usr/bin/python3")
    found = subprocess.run([python, "-c", "import darshan, os; print(os.path.dirname(darshan.__file__))"], capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip("no package darshan (HEADRACE_DARSHAN_PYTHON names a Python that has it)")
    logs = pathlib.Path(found.stdout.strip()) / "examples/example_logs"
    outcome = headrace("observe", "--from", logs / "dxt.darshan", "--no-store", "--json", HEADRACE_PYTHON=python)
    reported = json.loads(outcome.out)
    assert outcome.code == 0 and reported["limit"]["id"] == "unknown" and any("15 files" in note for note in reported["notes"]), reported
    none = headrace("observe", "--from", logs / "noposix.darshan", "--no-store", HEADRACE_PYTHON=python)
    assert none.code == 2 and "nothing of POSIX" in none.err, none


def test_dftracer_logs_are_read(headrace, data):
    python = os.environ.get("HEADRACE_DFTRACER_PYTHON", "/usr/bin/python3")
    found = subprocess.run([python, "-c", "import dftracer, os; print(os.path.dirname(dftracer.__file__))"], capture_output=True, text=True)
    shims = list(pathlib.Path(found.stdout.strip()).rglob("libdftracer_preload.so")) if found.returncode == 0 else []
    if not shims:
        pytest.skip("no package dftracer (HEADRACE_DFTRACER_PYTHON names a Python that has it)")
    setting = {"DFTRACER_ENABLE": "1", "DFTRACER_INIT": "PRELOAD", "DFTRACER_LOG_FILE": str(headrace.path("df")), "DFTRACER_DATA_DIR": "all",
               "DFTRACER_TRACE_COMPRESSION": "1", "DFTRACER_INC_METADATA": "1", "LD_PRELOAD": str(shims[0])}
    done = subprocess.run([sys.executable, LOADER, data, "--steps", "30", "--step", "0.04"], capture_output=True, text=True,
                          env={**os.environ, **setting}, timeout=GUARD)
    truth = json.loads(done.stdout.splitlines()[-1])
    written = sorted(headrace.folder.glob("df*.pfw*"))
    outcome = headrace("observe", "--no-report", "--from", *written, "--out", "seen")
    assert outcome.code == 0, outcome
    seen = Read(headrace, "seen", outcome, truth)
    seen.near("dataset.sample_size", truth["bytes"] / truth["samples"])
    assert seen.learned["dataset.path"]["text"] == str(data) and seen.learned["loader.workers_per_gpu"]["value"] == 2


def test_traces_are_kept_and_read_again(headrace, data):
    outcome = headrace("observe", "--no-report", "--trace", "--out", "seen", "--", sys.executable, str(LOADER), str(data), "--steps", "15", "--step", "0.05")
    assert outcome.code == 0 and "trace.pfw.gz" in outcome.err, outcome
    again = headrace("observe", "--from", "seen/trace.pfw.gz", "--no-store", "--json")
    assert again.code == 0, again
    first = {one["key"]: one for one in json.loads((headrace.path("seen") / "observe.json").read_text())["learned"]}
    second = {one["key"]: one for one in json.loads(again.out)["learned"]}
    for key in ("dataset.sample_size", "dataset.metadata_ops_per_open", "dataset.read_profile"):
        assert first[key]["text"] == second[key]["text"], key
    assert headrace("clean", "seen", "--yes").code == 0 and not headrace.path("seen").exists()
