"""Storage that does not answer: TIMEOUT by the deadline, files written, and the process ends, whatever its threads do."""

import errno
import json
import re
import time

import pytest
from conftest import BLOCK

PATIENCE_S = 4  # longer than a busy machine stands still, or its disk keeps a write
DATA = {"files": 12, "file_size": "64KiB", "workers": 2, "cache": "cold", "repeat": 1, "timeout": f"{PATIENCE_S}s"}
DEADLINE_S = 180  # generous, for slow machines; without a deadline it would be for ever


def ended(headrace, *workloads, needs=(), options=()):
    begin = time.monotonic()
    result = headrace(*workloads, needs=needs, options=options, timeout=DEADLINE_S)
    assert time.monotonic() - begin < DEADLINE_S
    return result


def check(headrace, result):
    assert result.code == 1, result
    assert result.point["status"] == "error" and "TIMEOUT" in result.point["reason"], result
    for name in ("run.json", "verdict.json", "env.json", "junit.xml", "results.csv", "headrace.prom"):
        assert (headrace.out / name).exists(), name
    assert not [file for file in headrace.out.iterdir() if file.name.endswith(".new")]
    return result.point["reason"]


@pytest.mark.parametrize("use, engine", [("small_file_read", "posix"), ("small_file_read", "io_uring"),
                                         ("shard_stream", "posix"), ("shard_stream", "io_uring"), ("random_read", "posix"),
                                         ("random_read", "io_uring"), ("random_read", "mmap")])
def test_a_read_that_never_returns(headrace, faults, use, engine):
    faults.set(f"hang f000007.bin op=read at={2 * BLOCK}")
    need = {"id": "rate", "metric": f"{use}.latency_max_ns", "at_most": "1h"}
    result = ended(headrace, {"use": use, "engine": engine, **DATA},
                   {"use": "small_file_read", "label": "next", **DATA}, needs=[need])
    reason = check(headrace, result)
    found = re.search(f"1 of 2 workers did not end within {PATIENCE_S} s of being asked to stop after ([0-9]+) s without any progress", reason)
    assert found and int(found[1]) >= PATIENCE_S, reason
    assert result.points[1]["status"] == "not_reached" and "hung" in result.points[1]["reason"]
    assert result.judged("rate")["outcome"] == "ERROR"
    verdict = json.loads((headrace.out / "verdict.json").read_text())
    assert verdict["summary"]["word"] == "ERROR" and verdict["summary"]["exit_code"] == 1


@pytest.mark.parametrize("engine, op", [("posix", "write"), ("posix", "fsync"), ("posix", "rename"), ("io_uring", "write"),
                                        ("io_uring", "fsync")])
def test_a_save_that_never_ends(headrace, faults, engine, op):
    faults.set(f"hang *rank-00001.bin* op={op}")
    result = ended(headrace, {"use": "checkpoint_write", "engine": engine, "ranks": 2, "shard_size": "256KiB",
                              "block_size": "64KiB", "repeat": 1, "timeout": f"{PATIENCE_S}s"})
    assert "workers did not end" in check(headrace, result)


@pytest.mark.parametrize("engine", ["posix", "io_uring", "mmap"])
def test_a_restore_that_never_returns(headrace, faults, engine):
    faults.set(f"hang f000001.bin op=read at={2 * BLOCK}")
    result = ended(headrace, {"use": "checkpoint_read", "engine": engine, "ranks": 2, "shard_size": "256KiB",
                              "repeat": 1, "timeout": f"{PATIENCE_S}s"})
    assert "1 of 2 workers did not end" in check(headrace, result)


@pytest.mark.parametrize("op, name", [("open", "00000017"), ("readdir", "d001"), ("rename", "r00000017"),
                                      ("unlink", "?00000017")])
def test_a_name_that_is_never_answered(headrace, faults, op, name):
    faults.set(f"hang *{name} op={op}")
    result = ended(headrace, {"use": "metadata", "workers": 2, "width": 2, "files_per_folder": 20, "cache": "cold",
                              "repeat": 1, "timeout": f"{PATIENCE_S}s"})
    assert "did not" in check(headrace, result)


@pytest.mark.parametrize("rule", [f"hang f000007.bin op=read", "hang .rank-00001.bin.new op=fsync"])
def test_hanging_reads_during_a_save(headrace, faults, rule):
    faults.set(rule)
    result = ended(headrace, {"use": "mixed", "files": 30, "file_size": "8KiB", "workers": 2, "rate": "120/s",
                              "around": "250ms", "checkpoint_shard_size": "256KiB", "repeat": 1, "timeout": f"{PATIENCE_S}s"})
    assert "1 of 4 workers did not end" in check(headrace, result)


def test_data_that_cannot_be_made(headrace, faults):
    faults.set("hang f000003.bin op=write")
    result = ended(headrace, {"use": "small_file_read", **DATA})
    assert f"preparing did not go on for {PATIENCE_S} s" in check(headrace, result)


def test_a_folder_that_cannot_be_listed(headrace, faults):
    (faults.backing / "mine").mkdir()
    (faults.backing / "mine/one.bin").write_bytes(b"x" * 10000)
    faults.set("hang mine op=readdir")
    result = ended(headrace, {"use": "small_file_read", "path": str(faults.mount / "mine"), "cache": "asis", "repeat": 1,
                              "timeout": f"{PATIENCE_S}s"})
    assert f"preparing did not go on for {PATIENCE_S} s" in check(headrace, result)


def test_a_cache_state_that_cannot_be_made(headrace, faults):
    faults.set("hang f000003.bin op=read")
    result = ended(headrace, {"use": "shard_stream", **DATA, "cache": "warm"})
    assert f"making the cache state did not go on for {PATIENCE_S} s" in check(headrace, result)


def test_data_that_cannot_be_verified(headrace, faults):
    headrace({"use": "shard_stream", **DATA})
    # The one block that is read (always the same: the order has a seed) lies in another file; verifying reads all.
    faults.set("hang f000003.bin op=read")
    result = ended(headrace, {"use": "random_read", **DATA, "reads": 1, "cache": "asis", "verify": True})
    assert "verifying" in check(headrace, result)


def test_stopped_while_nothing_answers(headrace, faults):
    """Ctrl-C ends a run whose storage hangs, long before the deadline."""
    faults.set("hang f000007.bin op=read")
    process = headrace.start([{"use": "shard_stream", **DATA, "timeout": "5min"}])
    while faults.used() == [0]:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.terminate()
    time.sleep(0.5)
    process.terminate()  # asked again: at once
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 143


def test_a_live_table_that_takes_no_line_ends_no_run(headrace, faults):
    table = faults.mount / "live.csv"
    header = "time,point,repetition,state,seconds,bytes_per_s,operations_per_s\n"
    table.write_text(header)
    faults.set("hang live.csv op=write")
    result = ended(headrace, {"use": "small_file_read", **DATA, "cache": "asis"}, options=["--live", table])
    assert result.code == 0 and result.point["status"] == "ok", result
    assert (faults.backing / "live.csv").read_text() == header


def test_a_live_table_on_a_full_disk_ends_with_its_reason(headrace, faults):
    table = faults.mount / "live.csv"
    table.write_text("time,point,repetition,state,seconds,bytes_per_s,operations_per_s\n")
    faults.set(f"error live.csv op=write errno={errno.ENOSPC}")
    result = ended(headrace, {"use": "small_file_read", **DATA, "cache": "asis"}, options=["--live", table])
    assert result.code == 0 and result.point["status"] == "ok", result
    assert f"--live ends here: write {table}: No space left on device (ENOSPC)" in result.reported, result
