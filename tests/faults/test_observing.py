"""headrace observe of jobs whose storage is a real FUSE mount: what waits for its daemon is counted and reported."""

import json
import os
import random
import shlex
import subprocess
import sys

import pytest
from transcripts import DOCS, missing, transcripts

from conftest import BINARY, ROOT

LOADER = ROOT / "tests/observe/loader.py"


@pytest.fixture
def data(tmp_path, faults):
    drawn = random.Random(3)
    for number in range(40):
        (faults.mount / f"{number}.bin").write_bytes(drawn.randbytes(int(drawn.uniform(60e3, 140e3))))
    return faults.mount


# The kernel's control file system, for the job and its observer alone.
COUNTED = ["unshare", "-m", "sh", "-c", 'mountpoint -q "$0" || mount -t fusectl none "$0" || exit 77; exec "$@"', "/sys/fs/fuse/connections"]


def observed(tmp_path, data, *options):
    done = subprocess.run([*COUNTED, BINARY, "observe", "--no-report", "--out", "seen", "--", sys.executable, LOADER, data, "--workers", "3", *options], cwd=tmp_path,
                          capture_output=True, text=True, timeout=180)
    if done.returncode == 77:
        pytest.skip("what FUSE counts cannot be mounted here (fusectl)")
    assert done.returncode == 0, done
    return json.loads((tmp_path / "seen/observe.json").read_text()), done.stderr


def busy(reported):
    """Do other programs leave the job or the watcher no processor?"""
    queued = max(reported[side].get("queued", {"share": 0})["share"] for side in ("consumer", "workers"))
    return queued > 0.2 or reported["idle_cpus"] < 0.1


def limits(reported, *right):
    """One of those. Or the processors, or nothing is concluded, where other programs take them."""
    shown = {key: reported[key] for key in ("limit", "consumer", "workers")}
    assert reported["limit"]["id"] in right + (("processor", "unknown") if busy(reported) else ()), shown


def test_waiting_for_a_daemon_is_reported(tmp_path, faults, data):
    faults.set("uncached *", "delay *.bin op=read ms=20")
    reported, words = observed(tmp_path, data, "--steps", "60", "--step", "0.01")
    limits(reported, "storage_latency")
    assert reported["data"]["file_system"].startswith("fuse"), reported["data"]
    at_daemon = reported["storage"]["client"]["at_daemon"]
    assert 1 < at_daemon < 4, reported["storage"]  # three workers, each waiting for it most of the time
    assert "daemon (FUSE) had" in words and max(reported["series"]["daemon_requests"]) >= at_daemon, words


def test_fast_daemon_causes_little_waiting(tmp_path, faults, data):
    reported, words = observed(tmp_path, data, "--steps", "30", "--step", "0.05")
    client = reported["storage"].get("client", {})
    assert client.get("at_daemon", 0) < 1, client
    limits(reported, "consumer", "unknown")  # unknown: beside other programs
    assert "daemon (FUSE)" not in words, words


def test_the_tutorial(tmp_path, counting_faults):
    """Slow opens of files with relative names: observed, and the advised command as it is printed."""
    drawn, folder = random.Random(3), counting_faults.mount / "train"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number}.bin").write_bytes(drawn.randbytes(int(drawn.uniform(60e3, 140e3))))
    counting_faults.set("delay *.bin op=open ms=25")
    (tmp_path / "train.py").write_text(f"import runpy, sys\nsys.argv = ['train.py', 'disk/train', '--workers', '2', '--batch', '8', '--steps', '150', "
                                       f"'--step', '0.05']\nrunpy.run_path({str(LOADER)!r}, run_name='__main__')\n")
    shown = {words[1]: lines for words, lines in transcripts((DOCS / "tutorial/read-the-answers.md").read_text()) if words[1] != "bringup"}
    seen = subprocess.run([BINARY, "observe", "--no-report", "--out", "seen", "--", sys.executable, "train.py"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=180, env={**os.environ, "COLUMNS": "100"})
    printed = (seen.stderr + seen.stdout).replace(str(folder), "/data/train").replace(str(tmp_path), "/runs")
    assert seen.returncode == 0, seen
    reported = json.loads((tmp_path / "seen/observe.json").read_text())
    limits(reported, "slow_opens")
    if (gone := missing(shown["observe"], printed)) and busy(reported):
        pytest.skip("other programs take the processors: the job's values are less sure than the page shows")
    assert not gone, (gone, printed)
    assert f"path: \"{folder}\"" in (tmp_path / "seen/job.yaml").read_text(), printed
    command = next(line for line in printed.splitlines() if line.startswith("Next: headrace "))
    words = shlex.split(command.removeprefix("Next: headrace ").replace("/data/train", str(folder)))
    tuned = subprocess.run([BINARY, *words, "--budget", "20s", "--no-report", "--progress", "none", "--out", "tuned", "--at", "scratch"], cwd=tmp_path,
                           capture_output=True, text=True, timeout=180)
    assert tuned.returncode in (0, 10, 11, 12), tuned
    points = json.loads((tmp_path / "tuned/run.json").read_text())["points"]
    disturbed = any(r["disturbance"]["disturbed"] for point in points for r in point["repetitions"])
    if (gone := missing(shown["rehearse"], tuned.stdout)) and disturbed:
        pytest.skip("other programs disturbed the rehearsal: what it advises may differ from the page")
    assert not gone, (gone, tuned)
