"""Standard streams that are closed, full or read by nobody, and limits of the shell."""

import os
import re
import resource
import signal
import subprocess

import pytest

QUIET = {"require": ["configs/jobs/resnet50-imagenet.yaml"], "list": [], "doctor": [], "run": ["-c", "tiny.yaml", "--check"], "clean": ["nowhere"],
         "compare": ["results", "results"],
         "fleet": ["results"], "history": ["results"], "verdict": ["results"],
         "report": ["results", "-o", "page.html"]}


@pytest.fixture
def measured(headrace):
    assert headrace.run("tiny.yaml").code == 0
    return headrace


def started(headrace, words, **how):
    return subprocess.run([headrace.binary, *words], cwd=headrace.folder, env=headrace.environment(), timeout=120, **how)


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_closed_streams_are_no_error(headrace, closed):
    """What is opened next must not become a standard stream: here, pipes and result files."""
    page = ["--no-report"] if len(closed) < 3 else []
    code = started(headrace, ["run", "-c", "tiny.yaml", "--out", "results", *page],
                   preexec_fn=lambda: [os.close(stream) for stream in closed]).returncode
    assert code == 0, code
    assert headrace.results()["summary"]["exit_code"] == 0
    if len(closed) < 3:
        return
    words = ["run", "-c", "tiny.yaml", "--against", "other", "--blocks", "1", "--out", "blocks", "--no-report", "--set", "workloads.0.files=10"]
    code = started(headrace, words, preexec_fn=lambda: [os.close(stream) for stream in closed]).returncode
    assert code in (0, 11), code
    assert headrace.path("blocks/comparison.json").exists()


def test_output_that_could_not_be_written_is_an_error(measured):
    commands = [[verb, *words] for verb, words in QUIET.items()]
    commands += [["--help"], ["--version"], ["run", "--help"], ["require", *QUIET["require"], "--json"], ["run", "-c", "tiny.yaml", "--dry-run", "--json"],
                 ["run", "-c", "tiny.yaml", "--no-report", "--out", "full"], ["run", "-c", "tiny.yaml", "--dry-run"],
                 ["require", "--formula"], ["report", "results", "--format", "csv"], ["--exit-map", "posix", "list"],
                 ["run", "--serve", "127.0.0.1:0", "--token", "sixteen-letters-or-more", "--timeout", "1s"]]
    for words in commands:
        with open("/dev/full", "w") as full:
            result = started(measured, words, stdout=full, stderr=subprocess.PIPE, text=True)
        if words[0] == "report" and "no Python" in result.stderr:
            continue
        assert result.returncode in (1, 10), (words, result)
        assert "cannot write to standard output: No space left on device (ENOSPC)" in result.stderr, (words, result)
    assert measured.results(out="full")["summary"]["exit_code"] == 0


@pytest.mark.parametrize("ignored", [False, True], ids=["SIGPIPE kills", "SIGPIPE ignored"])
def test_closed_pipe_is_no_error(measured, ignored):
    for words in (["list"], ["list", "--json"], ["require", *QUIET["require"]], ["report", "results", "--format", "csv"], ["--help"],
                  ["run", "-c", "tiny.yaml", "--no-report", "--progress", "none", "--out", f"left-{ignored}"]):
        reading, writing = os.pipe()
        os.close(reading)
        handler = signal.SIG_IGN if ignored else signal.SIG_DFL
        result = started(measured, words, stdout=writing, stderr=subprocess.PIPE, restore_signals=False,
                         preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler))
        os.close(writing)
        assert result.returncode in (0, -signal.SIGPIPE) and result.stderr == b"", (words, result)


def limited(which, value):
    return lambda: resource.setrlimit(which, (value, value))


@pytest.mark.parametrize("size", [0, 1024, 100_000])
def test_a_limit_on_the_size_of_files_is_reported(headrace, size):
    result = started(headrace, ["run", "-c", "tiny.yaml", "--out", "results", "--progress", "none"], capture_output=True, text=True,
                     preexec_fn=limited(resource.RLIMIT_FSIZE, size))
    assert result.returncode in (0, 1), result  # not killed by SIGXFSZ; 100 kB may do
    if result.returncode:
        assert f"File too large (EFBIG): the limit is {size} bytes a file; lift it with ulimit -f unlimited" in \
            result.stdout + result.stderr, result


@pytest.mark.parametrize("files", [3, 5, 6, 7, 8, 10, 12, 15, 20])
def test_a_limit_on_open_files_is_reported(headrace, files):
    result = started(headrace, ["run", "-c", "tiny.yaml", "--out", "results", "--progress", "none", "--no-report"], capture_output=True,
                     text=True, preexec_fn=limited(resource.RLIMIT_NOFILE, files))
    reported = result.stdout + result.stderr
    if result.returncode == 127:  # the loader itself could not open a library
        assert "error while loading shared libraries" in reported, result
        return
    assert result.returncode in (0, 1), result
    assert result.returncode == 0 or re.search(f"the limit is {files} open files; raise it with ulimit -n", reported), result
