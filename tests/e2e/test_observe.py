"""headrace observe: the command keeps what is its own; what was learned is right or unknown; a job file that others take."""

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
import yaml
from observed import GUARD, LOADER, Seen, data, drawn_files, limits, observe


def part(seen, folder):
    """The folder of the data. Where the watcher had no processor, it met few files: then the one of its folders that has them."""
    found = seen.reported["data"]
    if found["folders"] > 1:
        return folder
    assert found["seen"] < 8 and seen.learned["dataset.samples"]["confidence"] == "low", (found, seen.learned["dataset.samples"])
    return pathlib.Path(found["folder"])


def test_a_job_is_learned_and_others_take_its_file(headrace, data):
    seen = observe(headrace, data, "--cold", "--steps", "80", "--step", "0.04", "--decode", "0.001")
    assert [p["role"] for p in seen.reported["processes"]].count("worker") == 2
    seen.near("dataset.sample_size", seen.truth["bytes"] / seen.truth["samples"])
    there = part(seen, data)
    seen.near("dataset.samples", sum(1 for _ in there.rglob("*.bin")))
    seen.near("step.micro_batch", seen.truth["samples"] / seen.truth["steps"])
    assert seen.learned["loader.workers_per_gpu"]["value"] == 2
    assert seen.learned["dataset.layout"]["text"] == "files"
    assert seen.learned["dataset.path"]["text"] == str(there) and there in (data, *data.iterdir())
    assert seen.learned["loader.prefetch_factor"]["value"] == 2
    text = (headrace.path("seen") / "job.yaml").read_text()
    assert all(one["evidence"].split()[0] in text for one in seen.reported["learned"])

    needs = headrace("require", "seen/job.yaml", "--format", "json")
    assert needs.code == 0, needs
    rate = next(n for n in json.loads(needs.out)["needs"] if n["id"] == "ingest.sample_rate")
    step, batch = seen.learned["step.time"]["value"], seen.learned["step.micro_batch"]["value"]
    assert rate["required"] == pytest.approx(batch / step, rel=0.01)
    for verb in ("qualify", "rehearse"):
        planned = headrace(verb, "seen/job.yaml", "--at", "scratch", "--max-write", "64MiB", "--dry-run")
        assert planned.code == 0, planned
    assert headrace("run", "--check", "-c", "tiny.yaml", "--job", "seen/job.yaml").code == 0
    sized = headrace("size", "seen/job.yaml", "--at", "scratch", "--max-write", "64MiB", "--budget", "6s", "--progress", "none")
    assert "GPUs fed" in sized.out, sized
    assert headrace("clean", "seen", "--yes").code == 0 and not headrace.path("seen").exists()


@pytest.mark.parametrize("name", [b"line\nbreak\t'", b"caf\xe9 'n"], ids=["line break", "not UTF-8"])
def test_a_job_file_names_a_data_set_of_any_bytes(headrace, name):
    folder = headrace.path(os.fsdecode(name))
    folder.mkdir()
    drawn_files(folder, 120)
    seen = observe(headrace, folder, "--cold", "--steps", "80", "--step", "0.04", "--decode", "0.001")
    text = (headrace.path("seen") / "job.yaml").read_text()
    read = yaml.safe_load(text)["dataset"]
    try:
        os.fsencode(folder).decode()
        there = part(seen, folder)
        assert there in (folder, *folder.iterdir())
        assert read["path"] == str(there) == seen.learned["dataset.path"]["text"], text
    except UnicodeDecodeError:
        assert "path" not in read and "not UTF-8" in text, text
        [words] = re.findall(r"^  # path: (--data .*)$", text, re.M)
        done = subprocess.run(["bash", "-c", "printf '%s\\0' " + words], capture_output=True)
        there = os.fsencode(folder)
        places = [there, *(there + b"/c%d" % number for number in range(4))]
        assert done.stdout in [b"--data\0" + place + b"\0" for place in places], words
        assert seen.learned["dataset.path"]["text"] in words, seen.learned["dataset.path"]
    assert headrace("require", "seen/job.yaml").code == 0


def test_its_command_quotes_names(headrace, data):
    odd = "sp ace;touch PWNED\n$(id) it's"
    seen = observe(headrace, data, "--cold", "--steps", "60", "--step", "0.002", "--decode", "0.02", out=odd)
    [command] = [line for line in seen.outcome.err.splitlines() if line.startswith("Next: headrace ")]
    words = subprocess.run(["bash", "-c", "printf '%s\\0' " + command], cwd=headrace.path("."), capture_output=True, text=True).stdout.split("\0")
    assert f"{odd}/job.yaml" in words, command


def test_json_of_a_command_is_on_standard_error(headrace):
    result = headrace("-q", "observe", "--json", "--no-store", "--", "sh", "-c", "echo mine")
    assert result.code == 0 and result.out == "mine\n" and json.loads(result.err)["schema"] == 1, result


def test_two_commands_lead_to_a_verdict(headrace, data):
    """Both as they are typed: the second is the one that the first reports."""
    seen = observe(headrace, data, "--cold", "--steps", "120", "--step", "0.04", "--decode", "0.001")
    words = " ".join(seen.outcome.err.split())
    [job] = re.findall(r"written: (\S+) \(job.yaml", words)
    assert pathlib.Path(job, "job.yaml").exists()
    typed = f"qualify seen/job.yaml --data {data} --at scratch --max-write 64MiB --budget 3s --no-report --out verdict"
    outcome = headrace(*typed.split())
    assert outcome.code in (0, 10, 11) and "Samples read" in outcome.out, outcome
    judged = json.loads((headrace.path("verdict") / "verdict.json").read_text())["judgements"]
    open_ = ("cache-unproven", "disturbed", "few-reps", "not-steady")  # what this machine may leave open
    assert any(j["outcome"] in ("PASS", "FAIL") or j.get("reason") in open_ for j in judged), judged
    # A slow step of the same job asks for less, a fast one for more than any disk gives: it says no.
    text = (headrace.path("seen") / "job.yaml").read_text()
    headrace.write("hungry.yaml", re.sub(r"time: \S+", "time: 1us", text, count=1))
    hungry = headrace(*typed.replace("seen/job.yaml", "hungry.yaml").replace("verdict", "no").split())
    assert hungry.code in (10, 11), hungry
    run = json.loads((headrace.path("no") / "run.json").read_text())
    for repetition in (repetition for point in run["points"] for repetition in point["repetitions"]):
        repetition["steady"] = repetition["cache"]["proven"] = True  # whatever else runs while this is tested
        repetition["disturbance"]["disturbed"] = False
    headrace.path("alone").mkdir()
    headrace.write("alone/run.json", json.dumps(run))
    judged = headrace("verdict", "alone", "--job", "hungry.yaml")
    few = judged.code == 11 and "too few repetitions" in " ".join(judged.out.split())
    assert few or judged.code == 10 and "FAIL" in judged.out, judged


@pytest.mark.parametrize("options, reported", [(("--prefetch", "3", "--workers", "4", "--step", "0.1", "--steps", "30"), 3), (("--workers", "1", "--decode", "0.01", "--step", "0.04"), None)],
                         ids=["that wait for room", "that never wait"])
def test_batches_that_lie_ready_are_counted_or_said_to_be_unknown(headrace, data, options, reported):
    ahead = observe(headrace, data, "--cold", "--steps", "40", *options).learned["loader.prefetch_factor"]
    if reported is None:
        # Where the main thread got no processor, a worker may have waited for it: then they are counted.
        assert ahead["confidence"] == "guess" and "DataLoader's default" in ahead["evidence"] or ahead["value"] == 2, ahead
    else:  # where the machine was busy, none may be reported; never another
        assert ahead["value"] == reported or ahead["confidence"] == "guess", ahead


def test_cost_of_taking_a_batch_is_learned_without_spinning(headrace, data):
    seen = observe(headrace, data, "--own", "0.015", "--step", "0.04", "--steps", "60")
    own = seen.learned["loader.cpu_time_per_batch"]
    seen.near("loader.cpu_time_per_batch", seen.truth["own"])
    assert "does not spin" in own["evidence"] or own["confidence"] == "guess", own
    for verb in (["require", "seen/job.yaml"], ["rehearse", "seen/job.yaml", "--at", "scratch", "--max-write", "64MiB", "--dry-run"]):
        assert headrace(*verb).code == 0, verb


def test_spinning_until_a_gpu_is_ready_is_not_taken_for_taking_batches(headrace, data):
    seen = observe(headrace, data, "--spin", "--step", "0.04", "--steps", "60")
    one = seen.learned.get("loader.cpu_time_per_batch")
    assert one is None or one["confidence"] == "guess" and one["low"] <= seen.truth["own"] <= one["high"] and "spinning" in one["evidence"], one
    text = (headrace.path("seen") / "job.yaml").read_text()
    assert one is None or "  # cpu_time_per_batch: put in what you know" in text and "\n  cpu_time_per_batch" not in text, text
    assert headrace("report", "seen").code == 0
    page = (headrace.path("seen") / "report.html").read_text()
    assert one is None or "loader.cpu_time_per_batch could not be seen, and is left out of the job file" in page
    for verb in (["require", "seen/job.yaml"], ["rehearse", "seen/job.yaml", "--at", "scratch", "--max-write", "64MiB", "--dry-run"]):
        assert headrace(*verb).code == 0, verb


def test_workers_that_only_compute_limit(headrace, data):
    seen = observe(headrace, data, "--workers", "1", "--decode", "0.01", "--step", "0.02", "--steps", "50")
    limits(seen, "processor", "workers")
    assert seen.reported["consumer"]["waiting_for_loader"]["share"] > 0.5
    if seen.reported["data"]["seen"] == 0:  # memory served all files at once: that is said
        assert seen.learned["dataset.sample_size"]["confidence"] == seen.learned["dataset.layout"]["confidence"] == "guess"
        assert "--trace" in seen.learned["dataset.layout"]["evidence"]
    else:
        seen.near("dataset.cpu_time_per_sample", seen.truth["cpu_per_sample"])


def test_a_loader_that_is_fast_enough_does_not(headrace, data):
    seen = observe(headrace, data, "--step", "0.1", "--steps", "40")
    limits(seen, "consumer")
    assert "pack" not in json.dumps(seen.reported["limit"]["advice"])
    words = " ".join(seen.outcome.err.split())
    assert seen.limit != "consumer" or "headrace require seen/job.yaml --set" in words, seen.outcome


def test_a_page_is_drawn_unless_it_is_not_wanted(headrace, data):
    seen = observe(headrace, data, "--steps", "30", "--step", "0.03", page=())
    if "no Python that can draw it" in seen.outcome.err:
        pytest.skip(seen.outcome.err)
    assert "report.html" in seen.outcome.err and (headrace.path("seen") / "report.html").exists(), seen.outcome.err
    assert headrace("observe", "--no-report", "--out", "plain", "--", "true").code == 0
    assert sorted(path.name for path in headrace.path("plain").iterdir() if path.suffix) == ["job.yaml", "observe.json"]


@pytest.mark.long
def test_two_observations_are_compared(headrace, data):
    for out, decode in (("before", "0.02"), ("after", "0.0005")):
        observe(headrace, data, "--workers", "1", "--steps", "50", "--step", "0.05", "--decode", decode, out=out)
    faster = headrace("compare", "before", "after", "--format", "json")
    assert faster.code == 0, faster
    rows = {row["metric"]: row["status"] for row in json.loads(faster.out)["pairs"][0]["rows"]}
    assert rows["data_there"] == "better" and set(rows) <= {"data_there", "batch_rate"}, rows
    slower = headrace("compare", "after", "before")
    assert slower.code == 10 and "data_there" in slower.out, slower
    file = headrace.path("after") / "observe.json"
    for text, words in ((file.read_text().replace('"elapsed_s":', '"elapsed_s": "x", "was":', 1), r'observe.json:\d+:\d+: elapsed_s: "x": a number is expected'),
                        ('{"kind": 3, "schema": 1}', r"observe.json:\d+:\d+: kind: 3: a text is expected"),
                        ('{"kind": "headrace.observation", "schema": 7}', "observe.json: is no observation of schema 1")):
        file.write_text(text)
        refused = headrace("compare", "before", "after")
        assert refused.code == 2 and re.search(words, refused.err), refused


def test_saves_are_seen(headrace, data):
    seen = observe(headrace, data, "--step", "0.03", "--steps", "90", "--save", str(headrace.path("model.pt")), "--save-bytes",
                   str(64 << 20), "--save-every", "30")
    assert len(seen.reported["saves"]) == len(seen.truth["saves"]) == 3
    assert seen.learned["model.parameters"]["value"] * 14 == pytest.approx(64 << 20, rel=0.05)
    assert seen.learned["checkpoint.mode"]["text"] == "sync"
    drawn = headrace("report", "seen")
    if drawn.code != 0 and "no Python that can draw it" in drawn.err:
        pytest.skip(drawn.err)
    page = (headrace.path("seen") / "report.html").read_text()
    assert drawn.code == 0 and "Learned about the job, with confidence" in page and "a checkpoint is written" in page, drawn


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
    code = (f"import os, time\nend = time.monotonic() + {GUARD}\nwhile not os.path.exists('enough') and time.monotonic() < end:\n"
            " time.sleep(0.1)\ntime.sleep(2)\nprint('mine')")
    watched = [headrace.binary, "observe", "--no-store", "--live", "--", sys.executable, "-c", code]
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
        if shown.count(b"processes, reading") >= 2:
            headrace.path("enough").touch()
    assert process.communicate(timeout=GUARD)[0] == b"mine\n"
    os.close(keyboard)
    assert shown.count(b"processes, reading") >= 2 and b"\x1b[2K" in shown, shown
    plain = subprocess.run(watched, cwd=headrace.folder, capture_output=True, timeout=GUARD)
    assert plain.stdout == b"mine\n" and b"\x1b" not in plain.stderr


def test_a_signal_that_ends_the_command_is_its_exit_code(headrace):
    assert headrace("observe", "--no-store", "--", "sh", "-c", "kill -9 $$").code == 137


def test_a_command_that_fails_at_once_is_reported_as_a_shell_does(headrace):
    missing = headrace("observe", "--out", "none", "--", "no-such-command-here")
    assert missing.code == 127 and "no-such-command-here" in missing.err and not headrace.path("none").exists(), missing
    headrace.write("plain", "text")
    refused = headrace("observe", "--no-store", "--", "./plain")
    assert refused.code == 126 and "Permission denied" in refused.err
    for name, content, says in (("train", "exit 7\n", "./train: has no #! line: headrace observe -- sh ./train 'a b'\n"), ("binary", "\0\1", "(ENOEXEC)")):
        headrace.write(name, content)
        headrace.path(name).chmod(0o755)
        refused = headrace("observe", "--no-store", "--", f"./{name}", "a b")
        assert refused.code == 126 and says in refused.err, refused
    assert headrace("observe", "--no-store", "--", "sh", "./train", "a b").code == 7
    failed = headrace("observe", "--no-store", "--", "false")
    said = " ".join(failed.err.split())
    assert failed.code == 1 and re.search(r"The command ended after \S+ s with exit code 1: too short to judge. .*Next: run it so that it trains", said), failed


def test_a_job_that_was_not_seen_is_not_judged(headrace):
    """It crashed before its first batch: nothing of it is known, and the job file says so to the verbs that need it."""
    crashed = headrace("observe", "--no-report", "--out", "crash", "--", sys.executable, "-c", "import nosuchmodule")
    assert crashed.code == 1 and "exit code 1: too short to judge" in " ".join(crashed.err.split()), crashed
    for verb in (["qualify", "crash/job.yaml", "--at", "scratch", "--max-write", "64MiB", "--budget", "3s"], ["require", "crash/job.yaml"]):
        judged = headrace(*verb)
        assert judged.code == 2 and all(key in judged.err for key in ("step.time", "step.micro_batch", "dataset.sample_size")), judged
    text = (headrace.path("crash") / "job.yaml").read_text()
    assert "  # time: put in what you know\n" in text and "no data was seen being read" in text, text


def test_an_observation_is_never_overwritten(headrace):
    for kept in ("job.yaml", "observe.json"):
        assert headrace("observe", "--no-report", "--out", kept + "-kept", "--", "true").code == 0
        folder = headrace.path(kept + "-kept")
        other = {"job.yaml": "observe.json", "observe.json": "job.yaml"}[kept]
        (folder / other).unlink()
        (folder / kept).write_text("MY EDITS")
        again = headrace("observe", "--no-report", "--out", kept + "-kept", "--", "touch", "ran")
        assert again.code == 2 and "never overwritten: name another folder" in " ".join(again.err.split()), again
        assert (folder / kept).read_text() == "MY EDITS" and not headrace.path("ran").exists()


SCRIPT = """#!{python}
import os, time
folder, begin, read = "set", time.monotonic(), 0
for _ in range(9):
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            read += len(file.read())
        time.sleep(0.03)
print(read / (time.monotonic() - begin))
"""


def test_a_traced_script_is_no_sample_and_its_reads_give_the_rate(headrace):
    headrace.path("set").mkdir()
    for number in range(6):
        (headrace.path("set") / f"{number}").write_bytes(bytes(2_000_000))
    headrace.write("job", SCRIPT.format(python=sys.executable))
    headrace.path("job").chmod(0o755)
    outcome = headrace("observe", "--no-report", "--trace", "--out", "seen", "--", "./job")
    assert outcome.code == 0, outcome
    reported = json.loads((headrace.path("seen") / "observe.json").read_text())
    learned = {one["key"]: one for one in reported["learned"]}
    assert learned["dataset.samples"]["value"] == 6 and learned["dataset.path"]["text"] == str(headrace.path("set")), learned
    assert learned["dataset.sample_size"]["value"] == pytest.approx(2e6, rel=0.01), learned
    asked = learned["step.micro_batch"]["value"] * learned["dataset.sample_size"]["value"] / learned["step.time"]["value"]
    assert asked > 0.5 * float(outcome.out), (asked, outcome.out, learned)


def test_sigint_reaches_the_command_once_and_headrace_reports_after_it(headrace):
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


def test_processes_that_are_left_behind_are_reported(headrace):
    outcome = headrace("observe", "--no-store", "--", "sh", "-c", "sleep 100 >/dev/null 2>&1 & exit 3")
    left = re.search(r"1 process of it goes on .* --pid (\d+)", outcome.err)
    assert outcome.code == 3 and left, outcome
    os.kill(int(left[1]), signal.SIGKILL)


def test_a_process_that_is_there_is_watched_until_it_ends(headrace, data):
    words = [sys.executable, LOADER, data, "--steps", "150", "--step", "0.04"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    outcome = headrace("observe", "--no-report", "--pid", str(process.pid), "--json", "--out", "seen")
    process.communicate(timeout=GUARD)
    assert outcome.code == 0, outcome
    reported = json.loads(outcome.out)
    assert reported == json.loads((headrace.path("seen") / "observe.json").read_text())
    assert process.returncode == 0


def catches(process, number):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"^SigCgt:\s*(\w+)", status, re.M)[1], 16) >> (number - 1) & 1


def test_ctrl_c_ends_watching_and_leaves_the_process_alone(headrace):
    process = subprocess.Popen(["sleep", "60"])
    watching = headrace.start("observe", "--pid", str(process.pid), "--no-store")
    until = time.monotonic() + GUARD
    while not catches(watching, signal.SIGINT) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)  # for its first looks
    watching.send_signal(signal.SIGINT)
    out, _ = watching.communicate(timeout=GUARD)
    assert watching.returncode == 130 and "watched 1 process" in out and process.poll() is None
    process.kill()
    process.wait()


def test_a_foreign_folder_is_left_alone_and_nothing_runs(headrace):
    headrace.path("mine").mkdir()
    headrace.write("mine/notes", "mine")
    outcome = headrace("observe", "--no-report", "--out", "mine", "--", "touch", "ran")
    assert outcome.code == 2 and not headrace.path("ran").exists(), outcome


def test_a_trace_counts_every_file_through_forks_and_sudden_ends(headrace, data):
    code = (f"import glob, os\nfiles = sorted(glob.glob({str(data)!r} + '/*/*.bin'))\nfor half in (0, 1):\n pid = os.fork()\n if pid == 0:\n"
            "  for path in files[half::2]:\n   with open(path, 'rb') as file: file.read()\n  os._exit(0)\n os.waitpid(pid, 0)\n"
            f"with open({str(headrace.path('model.pt'))!r}, 'wb') as file:\n file.write(bytes(2 << 20)); file.flush(); os.fsync(file.fileno())")
    outcome = headrace("observe", "--no-report", "--trace", "--out", "seen", "--", sys.executable, "-c", code)
    assert outcome.code == 0 and outcome.out == "", outcome
    notes = " ".join(json.loads((headrace.path("seen") / "observe.json").read_text())["notes"])
    assert "120 files of 4 folders were opened 120 times, 120 of them read whole each time, each once" in notes, notes
    assert re.search(r"model.pt was written: 2.10 MB in \d+ calls, synced 1 times", notes), notes


def test_a_trace_makes_values_exact(headrace, data):
    outcome = headrace("observe", "--no-report", "--trace", "--out", "seen", "--", sys.executable, str(LOADER), str(data), "--steps", "40", "--step", "0.05",
                       "--cold", "--spawn")
    seen = Seen(headrace, "seen", outcome)
    size = seen.learned["dataset.sample_size"]
    # Each file was opened once to be read and once to be dropped from memory.
    assert size["confidence"] == "high" and size["value"] * 2 == pytest.approx(seen.truth["bytes"] / seen.truth["samples"], rel=0.01), size
    assert seen.learned["dataset.metadata_ops_per_open"]["evidence"].startswith("traced")


def test_a_trace_reports_batches_that_lie_ready_from_libraries_that_workers_read(headrace, data):
    """Workers that are spawned read a program before their first sample, which looks from outside take for samples."""
    outcome = headrace("observe", "--no-report", "--trace", "--out", "seen", "--", sys.executable, str(LOADER), str(data), "--steps", "40", "--step", "0.06",
                       "--spawn", "--prefetch", "3")
    ahead = Seen(headrace, "seen", outcome).learned["loader.prefetch_factor"]
    # Where the machine was busy, none may be reported; never another.
    assert ahead["value"] == 3 or ahead["confidence"] == "guess" or ahead["confidence"] == "low" and ahead["low"] <= 3 <= ahead["high"], ahead


def test_untraceable_calls_are_reported(headrace):
    outcome = headrace("observe", "--trace", "--no-store", "--", "env", "-i", "/bin/true")
    assert outcome.code == 0
    assert headrace("observe", "--trace", "--pid", "1").code == 2
