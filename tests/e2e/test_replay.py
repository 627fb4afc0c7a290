"""headrace observe --replay: a trace's accesses again on another folder; what is left out is reported; nothing of anybody's is touched."""

import json
import os
import subprocess
import sys

import pytest
from observed import LOADER, drawn_files


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return drawn_files(tmp_path_factory.mktemp("data"), 40)


def traced(headrace, data, *options):
    outcome = headrace("observe", "--no-report", "--trace", "--out", "seen", "--", sys.executable, LOADER, data, "--steps", "15", "--step", "0.05", *options)
    assert outcome.code == 0, outcome
    return json.loads(outcome.out.splitlines()[-1])


def test_all_that_was_read_is_read_again(headrace, data):
    truth = traced(headrace, data, "--decode", "0.001", "--save", str(headrace.path("model.pt")), "--save-bytes", str(4 << 20), "--save-every", "5")
    model = headrace.path("model.pt")
    before = (model.stat().st_ino, model.stat().st_mtime_ns)
    outcome = headrace("observe", "--replay", "seen/trace.pfw.gz", "--at", "fast", "--tries", "2", "--json")
    reported = json.loads(outcome.out)
    assert outcome.code == 0 and reported["files"] == 40 and reported["threads"] == 2, outcome
    assert reported["read_bytes"] == truth["bytes"] and reported["calls"]["open"]["count"] == truth["samples"], reported
    # What was saved is written again, in the folder alone.
    assert reported["written_bytes"] == 3 * (4 << 20) and reported["calls"]["rename"]["count"] == 3 and reported["calls"]["sync"]["count"] == 3, reported
    assert "writes" not in reported["not_replayed"] and before == (model.stat().st_ino, model.stat().st_mtime_ns), reported
    # Its workers computed for so long, whatever the storage: pauses are done again.
    assert reported["replayed_s"]["low"] >= 0.001 * truth["samples"] / 2, reported
    assert 0 < reported["utilization"]["observed"]["value"] <= 1 and reported["utilization"]["at_most"]["value"] <= 1
    assert not headrace.path("fast").exists()


def test_copies_are_read_where_they_lie_and_stay(headrace, data):
    traced(headrace, data, "--save", str(headrace.path("model.pt")), "--save-bytes", str(2 << 20), "--save-every", "5")
    outcome = headrace("observe", "--replay", "seen/trace.pfw.gz", "--data", data, "--tries", "1")
    assert outcome.code == 0 and "AU: " in outcome.out and "not replayed: waiting for the process that takes the batches" in outcome.out, outcome
    assert "not replayed: writes (" in outcome.out, outcome  # copies are only read
    assert len(list(data.rglob("*.bin"))) == 40
    copy = headrace.path("copy")
    subprocess.run(["cp", "-r", data, copy], check=True)
    (copy / "c1/1.bin").write_bytes(b"short")
    short = headrace("observe", "--replay", "seen/trace.pfw.gz", "--data", copy)
    assert short.code == 2 and "c1/1.bin has 5.00 B" in short.err, short
    (copy / "c1/1.bin").unlink()
    missing = headrace("observe", "--replay", "seen/trace.pfw.gz", "--data", copy)
    assert missing.code == 2 and "c1/1.bin: No such file" in missing.err, missing


def test_reads_of_any_size_are_whole(headrace):
    """A loader that reads a file of 150 MiB by one call: all of it is read again, not a buffer full of it."""
    size = 150 << 20
    headrace.write("big", f"""\
10  100.000000 openat(AT_FDCWD, "/data/a.bin", O_RDONLY|O_CLOEXEC) = 3</data/a.bin> <0.000100>
10  100.001000 read(3</data/a.bin>, "", {size + 4096}) = {size} <0.500000>
10  100.502000 close(3</data/a.bin>) = 0 <0.000010>
""")
    outcome = headrace("observe", "--replay", "big", "--at", "x", "--tries", "1", "--json")
    assert outcome.code == 0 and json.loads(outcome.out)["read_bytes"] == size, outcome


THREADS = """
import sys, threading, time
def read(path):
    for _ in range(5):
        open(path, "rb").read()
        time.sleep(0.01)
threads = [threading.Thread(target=read, args=(path,)) for path in sys.argv[1:]]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_little_memory_for_threads_is_an_error_in_words(headrace):
    files = []
    for number in range(24):
        files.append(headrace.path(f"f{number}"))
        files[-1].write_bytes(b"x" * 20_000)
    assert headrace("observe", "--no-report", "--trace", "--out", "seen", "--", sys.executable, "-c", THREADS, *map(str, files)).code == 0
    codes = set()
    for room in range(32, 2000, 48):  # [MiB] of addresses, which stacks of threads take
        headrace.under = ["prlimit", f"--as={room << 20}"]
        outcome = headrace("observe", "--replay", "seen/trace.pfw.gz", "--at", "fast", "--tries", "1")
        if "error while loading shared libraries" in outcome.err:
            continue
        assert outcome.code in (0, 1) and (outcome.code == 0 or outcome.err.startswith("headrace: ")), (room, outcome)
        assert not headrace.path("fast").exists(), room
        codes.add(outcome.code)
        if outcome.code == 0:
            break
    assert codes == {0, 1}, "it was tried on both sides of the limit"


def test_invalid_observation_of_the_trace(headrace):
    headrace.write("t", '10  100.0 openat(AT_FDCWD, "/data/a", O_RDONLY) = 3</data/a> <0.1>\n10  100.2 read(3</data/a>, "", 9) = 9 <0.1>\n')
    share = {"share": 0.5, "low": 0.25, "high": 0.75}
    for consumer, known in ([], False), ({"waiting_for_loader": 7}, False), (share, False), ({"waiting_for_loader": share}, True), (
            {"waiting_for_loader": share | {"low": "x"}}, False), ({"waiting_for_loader": share | {"high": 7}}, False):
        seen = {"kind": "headrace.observation", "schema": 1, "processes": [{"pid": 10}], "consumer": consumer}
        headrace.write("observe.json", json.dumps(seen))
        outcome = headrace("observe", "--replay", "t", "--at", "x", "--tries", "1", "--json")
        assert outcome.code == 0 and ("utilization" in json.loads(outcome.out)) == known, (consumer, outcome)
    # One of another job, of another program, of a version that is not known, and a pipe that nobody writes to.
    seen["consumer"] = {"waiting_for_loader": share}
    for other in (seen | {"processes": [{"pid": 11}]}, seen | {"processes": 7}, {"consumer": seen["consumer"]}, seen | {"schema": 2},
                  seen | {"kind": "theirs"}):
        headrace.write("observe.json", json.dumps(other))
        outcome = headrace("observe", "--replay", "t", "--at", "x", "--tries", "1", "--json")
        assert outcome.code == 0 and "utilization" not in json.loads(outcome.out), (other, outcome)
    headrace.path("observe.json").unlink()
    os.mkfifo(headrace.path("observe.json"))
    outcome = headrace("observe", "--replay", "t", "--at", "x", "--tries", "1", "--json")
    assert outcome.code == 0 and "utilization" not in json.loads(outcome.out), outcome


def test_as_many_files_as_a_data_set_has(headrace):
    """More than the folder's mark could list; one that was killed is cleaned up, and nobody else's file goes with it."""
    names = [f"/data/{n}.bin" for n in range(3000)]
    headrace.write("many", "".join(f'10  {100 + n / 1000:.6f} openat(AT_FDCWD, "{name}", O_RDONLY|O_CLOEXEC) = 3<{name}> <0.000100>\n'
                                   f'10  {100.0005 + n / 1000:.6f} read(3<{name}>, "", 4096) = {n % 3} <0.000100>\n'
                                   for n, name in enumerate(names)))
    outcome = headrace("observe", "--replay", "many", "--at", "x", "--tries", "1", "--json")
    reported = json.loads(outcome.out)
    assert outcome.code == 0 and reported["files"] == 2000 and reported["read_bytes"] == 3000 and not headrace.path("x").exists(), outcome
    process = headrace.start("observe", "--replay", "many", "--at", "x", "--tries", "100")
    while not headrace.path("x/00001999.bin").exists():
        assert process.poll() is None
    used = headrace("clean", "x")
    assert "in use by another headrace" in used.out and headrace.path("x/00000000.bin").exists(), used
    subprocess.run(["pkill", "-KILL", "-P", str(process.pid)], check=True)
    process.communicate()
    headrace.write("x/00000007.bin", "mine")
    left = headrace("clean", "x")
    assert "removed 1999 files" in left.out and "00000007.bin" in left.out and headrace.path("x/00000007.bin").read_text() == "mine", left
    headrace.path("x/00000007.bin").unlink()
    assert "and the folder" in headrace("clean", "x").out and not headrace.path("x").exists()


def test_impossible_replays_are_refused(headrace, data):
    traced(headrace, data)
    headrace.path("mine").mkdir()
    headrace.write("mine/notes", "mine")
    trace = "seen/trace.pfw.gz"
    headrace.write("none", "10  100.0 close(3) = 0 <0.1>\n")
    for words, reported in (((trace,), "--at DIR"), ((trace, "--at", "x", "--data", "y"), "--at DIR"), ((trace, "--at", "mine"), "notes"),
                        ((trace, "--at", "x", "--max-write", "1MB"), "--max-write"), (("none", "--at", "x"), "no file of a data set"),
                        (("nowhere", "--at", "x"), "No such file")):
        outcome = headrace("observe", "--replay", *words)
        assert outcome.code == 2 and reported in outcome.err, outcome
    assert headrace.path("mine/notes").read_text() == "mine" and not headrace.path("x").exists()
