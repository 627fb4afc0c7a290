"""headrace observe and processes that are hidden, foreign, contained, or gone their own way: refused or left out in words."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from observed import GUARD, LOADER, data

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")


@needs_root
def test_another_users_process_is_refused_in_words(headrace):
    process = subprocess.Popen(["sleep", "60"])
    headrace.folder.chmod(0o777)
    outcome = subprocess.run([*NOBODY, headrace.binary, "observe", "--pid",
                              str(process.pid), "--no-store"], capture_output=True, text=True, cwd="/")
    process.kill()
    process.wait()
    if outcome.returncode == 126 or "cannot open" in outcome.stderr:
        pytest.skip("the binary lies where that user cannot reach it")
    assert outcome.returncode == 2 and "may not be observed" in outcome.stderr, outcome


def reachable(headrace):
    """A copy of the binary where nobody can run it, too."""
    place = headrace.path("for-all")
    subprocess.run(["cp", headrace.binary, place], check=True)
    for folder in [headrace.folder, *headrace.folder.parents]:
        if "headrace-tests-" in str(folder):  # these are the test's own
            folder.chmod(folder.stat().st_mode | 0o005)
    if subprocess.run([*NOBODY, place, "--version"], capture_output=True).returncode != 0:
        pytest.skip("nobody cannot run a program in this folder")
    return place


@needs_root
def test_of_its_own_user_a_process_is_watched_as_far_as_the_system_lets_it(headrace):
    """kernel.yama.ptrace_scope decides whether one that is no child may be."""
    yama = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    binary = reachable(headrace)
    process = subprocess.Popen([*NOBODY, "sleep", "60"])
    outcome = subprocess.run([*NOBODY, binary, "observe", "--pid", str(process.pid), "--no-store", "--duration", "1s"], capture_output=True,
                             text=True, timeout=GUARD)
    process.kill()
    process.wait()
    if yama.exists() and int(yama.read_text()) > 0:
        assert outcome.returncode == 2 and "ptrace_scope" in outcome.stderr, outcome
    else:
        assert outcome.returncode == 0 and "watched 1 process" in outcome.stdout, outcome


@needs_root
def test_a_process_that_proc_hides_is_said_to_be_hidden(headrace):
    binary = reachable(headrace)
    process = subprocess.Popen(["sleep", "60"])
    script = "mount -t proc -o hidepid=2 proc /proc && exec " + " ".join([*NOBODY, str(binary), "observe", "--pid", str(process.pid)])
    outcome = subprocess.run(["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=GUARD)
    process.kill()
    process.wait()
    if "mount:" in outcome.stderr or "unshare:" in outcome.stderr:
        pytest.skip("no file systems may be mounted here: " + outcome.stderr)
    assert outcome.returncode == 2 and "hidepid" in outcome.stderr, outcome


@needs_root
def test_a_container_is_watched_and_its_paths_are_its_own(headrace, data):
    script = f"mount --bind {data} /mnt && exec {sys.executable} {LOADER} /mnt --cold --steps 600 --step 0.05"
    container = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
    until, inside = time.monotonic() + GUARD, ""
    while not inside and container.poll() is None and time.monotonic() < until:
        children = pathlib.Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()
        inside = next((pid for pid in children if b"loader.py" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()), "")
    while inside and container.poll() is None and time.monotonic() < until:  # for its workers
        if len(pathlib.Path(f"/proc/{inside}/task/{inside}/children").read_text().split()) >= 2:
            break
        time.sleep(0.01)
    if not inside:
        pytest.skip("no container can be made here: " + container.communicate()[1])
    outcome = headrace("observe", "--no-report", "--pid", inside, "--duration", "5s", "--json", "--out", "seen")
    container.kill()
    container.wait()
    reported = json.loads(outcome.out)
    assert outcome.code == 0 and any("a file system of its own" in note for note in reported["notes"]), outcome
    assert [one["role"] for one in reported["processes"]].count("worker") == 2 and all(one["pid"] > 2 for one in reported["processes"])
    learned = {one["key"]: one for one in reported["learned"]}
    path = learned.get("dataset.path")
    assert path is None and learned["dataset.layout"]["confidence"] == "guess" or path["text"].startswith("/mnt") and reported["data"]["files"] > 0, learned


@needs_root
def test_a_command_that_becomes_another_user_is_left_out_in_words(headrace):
    binary = reachable(headrace)
    changes = headrace.path("changes")
    subprocess.run(["cp", "/bin/sleep", changes], check=True)
    changes.chmod(0o4755)
    words = [*NOBODY, binary, "observe", "--no-store", "--", changes, "6"]
    outcome = subprocess.run(words, capture_output=True, text=True, timeout=GUARD)
    if "may not be observed" not in outcome.stderr and "watched 1 process" in outcome.stderr:
        pytest.skip("programs do not become another user in this folder (nosuid)")
    assert outcome.returncode == 0 and "may not be observed: another user owns it" in outcome.stderr, outcome


def test_a_daemon_is_reported_with_its_number(headrace):
    code = ("import os, time\nif os.fork(): os._exit(4)\nos.setsid()\nif os.fork(): os._exit(0)\nos.closerange(0, 3)\n"
            "time.sleep(100)")
    outcome = headrace("observe", "--no-store", "--", sys.executable, "-c", code)
    left = re.search(r"go(?:es)? on without it.* --pid (\d+)", outcome.err)
    assert outcome.code == 4 and left, outcome
    os.kill(int(left[1]), signal.SIGKILL)
