"""headrace observe --replay on storage that is slow, fails or hangs: it says so, and leaves nothing."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from conftest import BINARY, ROOT

LOADER = ROOT / "tests/observe/loader.py"


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("traced")
    drawn = random.Random(3)
    (tmp_path / "data").mkdir()
    for number in range(40):
        (tmp_path / f"data/{number}.bin").write_bytes(drawn.randbytes(int(drawn.uniform(60e3, 140e3))))
    subprocess.run([BINARY, "-q", "observe", "--no-report", "--trace", "--out", "seen", "--", sys.executable, LOADER, "data", "--steps", "40", "--step",
                    "0.04"], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path / "seen/trace.pfw.gz"


def replay(trace, *words):
    return subprocess.run([BINARY, "observe", "--replay", trace, *words], capture_output=True, text=True, timeout=180)


def test_slow_storage_would_feed_the_job_worse(trace, faults):
    faults.set("uncached *", "delay *.bin op=read ms=60")  # slower than any moment at which the machine stood still
    slow = replay(trace, "--at", faults.mount / "r", "--tries", "1", "--json")
    reported = json.loads(slow.stdout)
    assert slow.returncode == 0 and reported["storage"] == "worse", slow
    assert reported["calls"]["read"]["replayed_s"] >= 0.06 and reported["utilization"]["at_most"]["value"] < reported["utilization"]["observed"]["low"], reported
    assert faults.files() == []


def test_reads_that_fail_end_it(trace, faults):
    faults.set("error 00000007.bin op=read errno=5 at=0", "uncached *")
    failed = replay(trace, "--at", faults.mount / "r")
    assert failed.returncode == 1 and "00000007.bin" in failed.stderr and "Input/output error" in failed.stderr, failed
    # What cannot be read cannot be proven to be headrace's either: that is reported.
    assert "headrace clean" in failed.stderr, failed
    faults.set()
    subprocess.run([BINARY, "clean", faults.mount / "r"], check=True, capture_output=True)
    assert faults.files() == []


def test_storage_that_hangs_is_let_go_of(trace, faults):
    faults.set("uncached *", "hang 00000007.bin op=read")
    process = subprocess.Popen([BINARY, "observe", "--replay", trace, "--at", faults.mount / "r"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 120
    while faults.used()[1] == 0 and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130


def test_it_can_be_stopped_while_files_are_made(trace, faults):
    faults.set("delay * op=write ms=3000")
    process = subprocess.Popen([BINARY, "observe", "--replay", trace, "--at", faults.mount / "r"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 120
    while faults.used()[0] == 0 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130 and faults.files() == [] and faults.used()[0] < 40, faults.used()


def test_clean_removes_files_of_a_killed_replay(tmp_path, faults):
    """Of what was written, each block says whose it is; of a file of somebody else's among it, nothing is touched."""
    (tmp_path / "data").mkdir()
    for number in range(8):
        (tmp_path / f"data/{number}.bin").write_bytes(bytes(50000))
    subprocess.run([BINARY, "-q", "observe", "--no-report", "--trace", "--out", "seen", "--", sys.executable, LOADER, "data", "--steps", "12", "--step", "0.02",
                    "--batch", "2", "--save", tmp_path / "model.pt", "--save-bytes", str(4 << 20), "--save-every", "4"], cwd=tmp_path, check=True,
                   capture_output=True)
    faults.set("delay *.new op=write ms=2000")
    process = subprocess.Popen([BINARY, "observe", "--replay", tmp_path / "seen/trace.pfw.gz", "--at", faults.mount / "r"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    until = time.monotonic() + 120
    while not any("/.rank-" in name for name in faults.files()) and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=120)
    assert any("checkpoint/" in name for name in faults.files()), faults.files()
    faults.set()
    foreign = faults.mount / "r/checkpoint/rank-00007.bin"
    foreign.write_bytes(b"somebody's " * 1000)
    left = subprocess.run([BINARY, "clean", faults.mount / "r"], capture_output=True, text=True)
    assert left.returncode == 0 and "rank-00007.bin: not made by headrace" in left.stdout and foreign.exists(), left
    foreign.unlink()
    subprocess.run([BINARY, "clean", faults.mount / "r"], check=True, capture_output=True)
    assert faults.files() == []
