"""headrace observe: the command keeps what is its own; what was learned is right or unknown; a job file that others take."""

import json
import os
import pathlib
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

LOADER = pathlib.Path(__file__).parents[1] / "observe/loader.py"
GUARD = 120


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder, drawn = tmp_path_factory.mktemp("data"), random.Random(3)
    for number in range(120):
        (folder / f"c{number % 4}").mkdir(exist_ok=True)
        (folder / f"c{number % 4}/{number}.bin").write_bytes(drawn.randbytes(int(drawn.uniform(60e3, 140e3))))
    return folder


class Seen:
    """One observation: the loader's own truth, what headrace wrote."""

    def __init__(self, headrace, out, outcome):
        self.outcome = outcome
        self.truth = json.loads(outcome.out.splitlines()[-1])
        self.told = json.loads((headrace.path(out) / "observe.json").read_text())
        self.learned = {one["key"]: one for one in self.told["learned"]}

    @property
    def limit(self):
        return self.told["limit"]["id"]

    def near(self, key, truth):
        """Within 5 % of the truth, or said to be unknown: the bounds that are told hold it, and the confidence is no high one."""
        one = self.learned[key]
        right = abs(one["value"] - truth) <= 0.05 * truth
        assert right or (one["confidence"] != "high" and one["low"] <= truth <= one["high"]) or one["confidence"] == "guess", (one, truth)


def observe(headrace, data, *options, out="seen"):
    outcome = headrace("observe", "--out", out, "--", sys.executable, str(LOADER), str(data), *options)
    assert outcome.code == 0, outcome
    return Seen(headrace, out, outcome)


def test_a_job_is_learned_and_others_take_its_file(headrace, data):
    seen = observe(headrace, data, "--cold", "--steps", "80", "--step", "0.04", "--decode", "0.001")
    assert [p["role"] for p in seen.told["processes"]].count("worker") == 2
    seen.near("dataset.sample_size", seen.truth["bytes"] / seen.truth["samples"])
    seen.near("dataset.samples", seen.truth["files"])
    seen.near("step.micro_batch", seen.truth["samples"] / seen.truth["steps"])
    assert seen.learned["loader.workers_per_gpu"]["value"] == 2
    assert seen.learned["dataset.layout"]["text"] == "files"
    assert seen.learned["dataset.path"]["text"] == str(data)
    assert seen.learned["loader.prefetch_factor"]["value"] == 2
    text = (headrace.path("seen") / "job.yaml").read_text()
    assert all(one["evidence"].split()[0] in text for one in seen.told["learned"])

    needs = headrace("require", "seen/job.yaml", "--format", "json")
    assert needs.code == 0, needs
    rate = next(n for n in json.loads(needs.out)["needs"] if n["id"] == "ingest.sample_rate")
    step, batch = seen.learned["step.time"]["value"], seen.learned["step.micro_batch"]["value"]
    assert rate["required"] == pytest.approx(batch / step, rel=0.01)
    for verb in ("qualify", "rehearse"):
        planned = headrace(verb, "seen/job.yaml", "--at", "scratch", "--max-write", "64MiB", "--dry-run")
        assert planned.code == 0, planned
    assert headrace("validate", "-c", "tiny.yaml", "--job", "seen/job.yaml").code == 0
    sized = headrace("size", "seen/job.yaml", "--at", "scratch", "--max-write", "64MiB", "--budget", "20s", "--progress", "none")
    assert "GPUs fed" in sized.out, sized
    assert headrace("clean", "seen", "--yes").code == 0 and not headrace.path("seen").exists()


@pytest.mark.parametrize("options, told", [(("--prefetch", "3", "--workers", "4", "--step", "0.1", "--steps", "30"), 3), (("--workers", "1", "--decode", "0.01", "--step", "0.04"), None)],
                         ids=["that wait for room", "that never wait"])
def test_batches_that_lie_ready_are_counted_or_said_to_be_unknown(headrace, data, options, told):
    ahead = observe(headrace, data, "--cold", "--steps", "40", *options).learned["loader.prefetch_factor"]
    if told is None:
        assert ahead["confidence"] == "guess" and "DataLoader's default" in ahead["evidence"], ahead
    else:  # where the machine was busy, none may be told; never another
        assert ahead["value"] == told or ahead["confidence"] == "guess", ahead


def test_workers_that_only_compute_limit(headrace, data):
    seen = observe(headrace, data, "--workers", "1", "--decode", "0.01", "--step", "0.02", "--steps", "50")
    assert seen.limit in ("processor", "workers"), seen.told["limit"]
    assert seen.told["consumer"]["waiting_for_loader"]["share"] > 0.5
    if seen.told["data"]["seen"] == 0:  # memory served all files at once: that is said
        assert seen.learned["dataset.sample_size"]["confidence"] == seen.learned["dataset.layout"]["confidence"] == "guess"
        assert "--trace" in seen.learned["dataset.layout"]["evidence"]
    else:
        seen.near("dataset.cpu_time_per_sample", seen.truth["cpu_per_sample"])


def test_a_loader_that_is_fast_enough_does_not(headrace, data):
    seen = observe(headrace, data, "--step", "0.1", "--steps", "40")
    assert seen.limit == "consumer", seen.told["limit"]
    assert "pack" not in json.dumps(seen.told["limit"]["advice"])


def test_saves_are_seen(headrace, data):
    seen = observe(headrace, data, "--step", "0.03", "--steps", "90", "--save", str(headrace.path("model.pt")), "--save-bytes",
                   str(64 << 20), "--save-every", "30")
    assert len(seen.told["saves"]) == len(seen.truth["saves"]) == 3
    assert seen.learned["model.parameters"]["value"] * 14 == pytest.approx(64 << 20, rel=0.05)
    assert seen.learned["checkpoint.mode"]["text"] == "sync"
    drawn = headrace("report", "seen")
    if drawn.code != 0 and "no Python that can draw it" in drawn.err:
        pytest.skip(drawn.err)
    page = (headrace.path("seen") / "report.html").read_text()
    assert drawn.code == 0 and "What was learned, and how surely" in page and "a checkpoint is written" in page, drawn


def test_workers_that_are_spawned_are_found_too(headrace, data):
    seen = observe(headrace, data, "--spawn", "--steps", "40", "--step", "0.04", "--decode", "0.001")
    assert seen.learned["loader.workers_per_gpu"]["value"] == 2
    seen.near("step.micro_batch", 8)


def test_the_commands_streams_and_exit_code_are_its_own(headrace):
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read() + bytes([0, 255])); sys.stderr.write('mine'); sys.exit(7)"
    process = subprocess.Popen([headrace.binary, "-q", "observe", "--no-store", "--", sys.executable, "-c", code], cwd=headrace.folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(b"given", timeout=GUARD)
    assert (process.returncode, out, err) == (7, b"given\x00\xff", b"mine")


def test_a_live_view_is_drawn_on_a_terminal_and_nowhere_else(headrace):
    watched = [headrace.binary, "observe", "--no-store", "--live", "--", sys.executable, "-c", "import time; time.sleep(2); print('mine')"]
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(watched, cwd=headrace.folder, stdout=subprocess.PIPE, stderr=terminal, env=headrace.environment(TERM="xterm"))
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(keyboard, 4096)
        except OSError:  # the last writer has closed it
            break
        if not part:
            break
        shown += part
    assert process.communicate(timeout=GUARD)[0] == b"mine\n"
    os.close(keyboard)
    assert shown.count(b"processes, reading") >= 2 and b"\x1b[2K" in shown, shown
    plain = subprocess.run(watched, cwd=headrace.folder, capture_output=True, timeout=GUARD)
    assert plain.stdout == b"mine\n" and b"\x1b" not in plain.stderr


def test_a_signal_that_ends_the_command_is_its_exit_code(headrace):
    assert headrace("observe", "--no-store", "--", "sh", "-c", "kill -9 $$").code == 137


def test_a_command_that_fails_at_once_is_told_as_a_shell_does(headrace):
    missing = headrace("observe", "--out", "none", "--", "no-such-command-here")
    assert missing.code == 127 and "no-such-command-here" in missing.err and not headrace.path("none").exists(), missing
    headrace.write("plain", "text")
    refused = headrace("observe", "--no-store", "--", "./plain")
    assert refused.code == 126 and "Permission denied" in refused.err
    failed = headrace("observe", "--no-store", "--", "false")
    assert failed.code == 1 and "cannot be told" in failed.err, failed


def test_sigint_reaches_the_command_once_and_headrace_tells_after_it(headrace):
    code = ("import signal, sys, time\ncame = 0\ndef on(*_):\n global came\n came += 1\nsignal.signal(signal.SIGINT, on)\n"
            "print('ready', flush=True)\nwhile not came: time.sleep(0.01)\ntime.sleep(0.3)\nprint(came)\nsys.exit(5)")
    process = headrace.start("observe", "--no-store", "--", sys.executable, "-c", code)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=GUARD)
    assert (process.returncode, out) == (5, "1\n") and "watched" in err, (out, err)
    # Typed at a terminal it goes to the whole group.
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(["setsid", "--ctty", headrace.binary, "observe", "--no-store", "--", sys.executable, "-c", code],
                               stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    os.write(keyboard, b"\x03")
    out, err = process.communicate(timeout=GUARD)
    os.close(keyboard)
    os.close(terminal)
    assert (process.returncode, out) == (5, "1\n") and "watched" in err, (out, err)


def test_processes_that_are_left_behind_are_told(headrace):
    outcome = headrace("observe", "--no-store", "--", "sh", "-c", "sleep 1 >/dev/null 2>&1 & exit 3")
    assert outcome.code == 3 and re.search(r"1 process of it goes on .* --pid \d+", outcome.err), outcome


def test_a_process_that_is_there_is_watched_until_it_ends(headrace, data):
    process = subprocess.Popen([sys.executable, LOADER, data, "--steps", "60", "--step", "0.04"], stdout=subprocess.PIPE, text=True)
    outcome = headrace("observe", "--pid", str(process.pid), "--json", "--out", "seen")
    process.communicate(timeout=GUARD)
    assert outcome.code == 0, outcome
    told = json.loads(outcome.out)
    assert told == json.loads((headrace.path("seen") / "observe.json").read_text())
    assert process.returncode == 0


def test_ctrl_c_ends_watching_and_leaves_the_process_alone(headrace):
    process = subprocess.Popen(["sleep", "60"])
    watching = headrace.start("observe", "--pid", str(process.pid), "--no-store")
    until = time.monotonic() + GUARD
    while "observe" not in pathlib.Path(f"/proc/{watching.pid}/cmdline").read_text() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1)
    watching.send_signal(signal.SIGINT)
    out, _ = watching.communicate(timeout=GUARD)
    assert watching.returncode == 130 and "watched 1 process" in out and process.poll() is None
    process.kill()
    process.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_another_users_process_is_refused_in_words(headrace):
    process = subprocess.Popen(["sleep", "60"])
    headrace.folder.chmod(0o777)
    outcome = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", headrace.binary, "observe", "--pid",
                              str(process.pid), "--no-store"], capture_output=True, text=True, cwd="/")
    process.kill()
    process.wait()
    if outcome.returncode == 126 or "cannot open" in outcome.stderr:
        pytest.skip("the binary lies where that user cannot reach it")
    assert outcome.returncode == 2 and "may not be looked at" in outcome.stderr, outcome


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
    outcome = headrace("observe", "--from", "calls", "--out", "seen")
    assert outcome.code == 0 and "read the calls of 3 processes" in outcome.out, outcome
    seen = Read(headrace, "seen", outcome, truth)
    assert [p["role"] for p in seen.told["processes"]].count("worker") == 2
    seen.near("dataset.sample_size", truth["bytes"] / truth["samples"])
    seen.near("step.micro_batch", truth["samples"] / truth["steps"])
    seen.near("step.time", truth["step"])
    assert seen.learned["dataset.path"]["text"] == str(data) and seen.learned["loader.workers_per_gpu"]["value"] == 2
    assert seen.learned["dataset.metadata_ops_per_open"]["evidence"].startswith("traced")
    assert len(seen.told["saves"]) == len(truth["saves"]) and seen.learned["checkpoint.mode"]["text"] == "sync"
    assert headrace("require", "seen/job.yaml").code == 0


@needs_strace
def test_files_that_are_gone_are_as_large_as_they_were_read(headrace, data):
    shutil.copytree(data, headrace.path("copy"))
    truth = strace(headrace, headrace.path("copy"), "calls", "-ttt", "-T", "-y")
    shutil.rmtree(headrace.path("copy"))
    outcome = headrace("observe", "--from", "calls", "--out", "seen")
    seen = Read(headrace, "seen", outcome, truth)
    assert seen.learned["dataset.layout"]["text"] == "files" and seen.learned["dataset.path"]["text"] == str(headrace.path("copy"))
    seen.near("dataset.sample_size", truth["bytes"] / truth["samples"])
    assert seen.learned["dataset.samples"]["value"] == truth["files"], seen.learned["dataset.samples"]


@needs_strace
def test_of_a_part_of_the_calls_no_limit_is_told(headrace, data):
    strace(headrace, data, "calls", "-ttt", "-T", "-y", "-e", "trace=openat,read,close")
    outcome = headrace("observe", "--from", "calls", "--no-store", "--json")
    told = json.loads(outcome.out)
    assert outcome.code == 0 and told["limit"]["id"] == "unknown" and "futex" in json.dumps(told["notes"]), told
    untimed = strace(headrace, data, "calls", "-ttt", "-y")
    told = json.loads(headrace("observe", "--from", "calls", "--no-store", "--json").out)
    assert told["limit"]["id"] == "unknown" and "strace -T" in json.dumps(told["notes"]), (told, untimed)


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
    for words, told in ((("words",), "no call"), (("none",), "No such file"), (("empty",), "empty"), (("a.pfw",), "no call on a file"),
                        (("a.pfw", "words"), "different tools"), (("words", "--live"), "--from"), (("words", "--", "true"), "needs a command")):
        outcome = headrace("observe", "--from", *words)
        assert outcome.code == 2 and told in outcome.err, outcome
    # No Python here has it, or the log is none: both are told.
    log = headrace("observe", "--from", "a.darshan")
    assert log.code in (1, 2) and ("pip install darshan" in log.err or "no Darshan log" in log.err), log


def test_what_darshan_kept_is_read_by_its_own_package(headrace):
    python = os.environ.get("HEADRACE_DARSHAN_PYTHON", "/usr/bin/python3")
    found = subprocess.run([python, "-c", "import darshan, os; print(os.path.dirname(darshan.__file__))"], capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip("no package darshan (HEADRACE_DARSHAN_PYTHON names a Python that has it)")
    logs = pathlib.Path(found.stdout.strip()) / "examples/example_logs"
    outcome = headrace("observe", "--from", logs / "dxt.darshan", "--no-store", "--json", HEADRACE_PYTHON=python)
    told = json.loads(outcome.out)
    assert outcome.code == 0 and told["limit"]["id"] == "unknown" and any("15 files" in note for note in told["notes"]), told
    none = headrace("observe", "--from", logs / "noposix.darshan", "--no-store", HEADRACE_PYTHON=python)
    assert none.code == 2 and "nothing of POSIX" in none.err, none


def test_what_dftracer_wrote_is_read(headrace, data):
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
    outcome = headrace("observe", "--from", *written, "--out", "seen")
    assert outcome.code == 0, outcome
    seen = Read(headrace, "seen", outcome, truth)
    seen.near("dataset.sample_size", truth["bytes"] / truth["samples"])
    assert seen.learned["dataset.path"]["text"] == str(data) and seen.learned["loader.workers_per_gpu"]["value"] == 2


def test_what_was_traced_is_kept_and_read_again(headrace, data):
    outcome = headrace("observe", "--trace", "--out", "seen", "--", sys.executable, str(LOADER), str(data), "--steps", "15", "--step", "0.05")
    assert outcome.code == 0 and "trace.pfw.gz" in outcome.err, outcome
    again = headrace("observe", "--from", "seen/trace.pfw.gz", "--no-store", "--json")
    assert again.code == 0, again
    first = {one["key"]: one for one in json.loads((headrace.path("seen") / "observe.json").read_text())["learned"]}
    second = {one["key"]: one for one in json.loads(again.out)["learned"]}
    for key in ("dataset.sample_size", "dataset.metadata_ops_per_open", "dataset.read_profile"):
        assert first[key]["text"] == second[key]["text"], key
    assert headrace("clean", "seen", "--yes").code == 0 and not headrace.path("seen").exists()


NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")


def reachable(headrace):
    """A copy of the binary where nobody can run it, too."""
    place = headrace.path("for-all")
    subprocess.run(["cp", headrace.binary, place], check=True)
    for folder in [headrace.folder, *headrace.folder.parents]:
        if "pytest-" in str(folder):  # these are the test's own
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
    script = f"mount --bind {data} /mnt && exec {sys.executable} {LOADER} /mnt --cold --steps 100 --step 0.05"
    container = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
    until, inside = time.monotonic() + GUARD, ""
    while not inside and container.poll() is None and time.monotonic() < until:
        children = pathlib.Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()
        inside = next((pid for pid in children if b"loader.py" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()), "")
    if not inside:
        pytest.skip("no container can be made here: " + container.communicate()[1])
    outcome = headrace("observe", "--pid", inside, "--duration", "3s", "--json", "--out", "seen")
    container.kill()
    container.wait()
    told = json.loads(outcome.out)
    assert outcome.code == 0 and any("a file system of its own" in note for note in told["notes"]), outcome
    assert [one["role"] for one in told["processes"]].count("worker") == 2 and all(one["pid"] > 2 for one in told["processes"])
    learned = {one["key"]: one for one in told["learned"]}
    path = learned.get("dataset.path")
    assert path is None and learned["dataset.layout"]["confidence"] == "guess" or path["text"].startswith("/mnt") and told["data"]["files"] > 0, learned


@needs_root
def test_a_command_that_becomes_another_user_is_left_out_in_words(headrace):
    binary = reachable(headrace)
    changes = headrace.path("changes")
    subprocess.run(["cp", "/bin/sleep", changes], check=True)
    changes.chmod(0o4755)
    outcome = subprocess.run([*NOBODY, binary, "observe", "--no-store", "--", changes, "1"], capture_output=True, text=True, timeout=GUARD)
    if "may not be looked at" not in outcome.stderr and "watched 1 process" in outcome.stderr:
        pytest.skip("programs do not become another user in this folder (nosuid)")
    assert outcome.returncode == 0 and "may not be looked at: it is another user's" in outcome.stderr, outcome


def test_a_daemon_is_told_with_its_number(headrace):
    code = "import os, time\nif os.fork(): os._exit(4)\nos.setsid()\nif os.fork(): os._exit(0)\nos.closerange(0, 3)\ntime.sleep(2)"
    outcome = headrace("observe", "--no-store", "--", sys.executable, "-c", code)
    assert outcome.code == 4 and re.search(r"go(es)? on without it.* --pid \d+", outcome.err), outcome


@pytest.mark.parametrize("words, told", [
    ((), "needs a command"), (("--pid", "0"), "no process number"), (("--pid", "12x"), "no process number"),
    (("--pid", "4194304"), "no process 4194304"), (("--pid", "1", "--", "true"), "needs a command"),
    (("--duration", "1s", "--", "true"), "--duration"), (("--no-store", "--out", "x", "--", "true"), "--no-store")])
def test_bad_input_is_refused_before_anything_runs(headrace, words, told):
    outcome = headrace("observe", *words)
    assert outcome.code == 2 and told in outcome.err, outcome


def test_a_foreign_folder_is_left_alone_and_nothing_runs(headrace):
    headrace.path("mine").mkdir()
    headrace.write("mine/notes", "mine")
    outcome = headrace("observe", "--out", "mine", "--", "touch", "ran")
    assert outcome.code == 2 and not headrace.path("ran").exists(), outcome


def test_a_trace_counts_every_file_through_forks_and_sudden_ends(headrace, data):
    code = (f"import glob, os\nfiles = sorted(glob.glob({str(data)!r} + '/*/*.bin'))\nfor half in (0, 1):\n pid = os.fork()\n if pid == 0:\n"
            "  for path in files[half::2]:\n   with open(path, 'rb') as file: file.read()\n  os._exit(0)\n os.waitpid(pid, 0)\n"
            f"with open({str(headrace.path('model.pt'))!r}, 'wb') as file:\n file.write(bytes(2 << 20)); file.flush(); os.fsync(file.fileno())")
    outcome = headrace("observe", "--trace", "--out", "seen", "--", sys.executable, "-c", code)
    assert outcome.code == 0 and outcome.out == "", outcome
    notes = " ".join(json.loads((headrace.path("seen") / "observe.json").read_text())["notes"])
    assert "120 files of 4 folders were opened 120 times, 120 of them read whole each time, each once" in notes, notes
    assert re.search(r"model.pt was written: 2.10 MB in \d+ calls, synced 1 times", notes), notes


def test_a_trace_makes_values_exact(headrace, data):
    outcome = headrace("observe", "--trace", "--out", "seen", "--", sys.executable, str(LOADER), str(data), "--steps", "15", "--step", "0.05",
                       "--cold", "--spawn")
    seen = Seen(headrace, "seen", outcome)
    size = seen.learned["dataset.sample_size"]
    # Each file was opened once to be read and once to be dropped from memory.
    assert size["confidence"] == "high" and size["value"] * 2 == pytest.approx(seen.truth["bytes"] / seen.truth["samples"], rel=0.01), size
    assert seen.learned["dataset.metadata_ops_per_open"]["evidence"].startswith("traced")


def test_what_cannot_be_traced_is_said(headrace):
    outcome = headrace("observe", "--trace", "--no-store", "--", "env", "-i", "/bin/true")
    assert outcome.code == 0
    assert headrace("observe", "--trace", "--pid", "1").code == 2
