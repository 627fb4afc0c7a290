"""Saves that fail: reported with file, offset and errno, and nothing of them stays."""

import re

import pytest

SHARD = 256 * 1024
SAVE = {"use": "checkpoint_write", "ranks": 2, "shard_size": f"{SHARD}B", "block_size": "64KiB", "repeat": 1}
ENGINES = ["posix", "io_uring"]


def failed(headrace, faults, **more):
    need = {"id": "rate", "metric": "checkpoint_write.durable_bandwidth", "at_least": "1B/s"}
    result = headrace({**SAVE, **more}, needs=[need])
    assert result.code == 1 and result.point["status"] == "error" and not result.point["metrics"], result
    assert result.judged("rate")["outcome"] == "ERROR", result
    assert not [name for name in faults.files() if "rank-" in name], "no file is left"
    return result.point["reason"]


@pytest.mark.parametrize("layout", ["file_per_rank", "shared"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_full_disk(headrace, faults, engine, layout):
    full = 100_000 + (SHARD if layout == "shared" else 0)
    name = ".rank-00000.bin.new" if layout == "shared" else ".rank-00001.bin.new"
    faults.set(f"error {name} op=write errno=28 from={full}")
    reason = failed(headrace, faults, engine=engine, layout=layout)
    assert f"checkpoint/{name} at offset " in reason and "No space left on device (ENOSPC)" in reason, reason
    at = int(reason.split("at offset ")[1].split(":")[0])
    assert full - 64 * 1024 <= at <= full + SHARD, reason


@pytest.mark.parametrize("op, word", [("create", "create"), ("write", "write"), ("fsync", "sync"), ("rename", "rename"),
                                      ("close", "close")])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_step_may_fail(headrace, faults, engine, op, word):
    faults.set(f"error *rank-00001.bin* op={op} errno=5")
    reason = failed(headrace, faults, engine=engine)
    assert word in reason and "rank-00001.bin" in reason and "Input/output error (EIO)" in reason, reason


def test_how_many_ranks_failed_is_reported(headrace, faults):
    faults.set("error *rank-*.new op=fsync errno=5")
    assert re.search("; [12] of 2 workers failed", failed(headrace, faults))


def test_a_file_system_without_fallocate(headrace, faults):
    faults.set("error * op=fallocate errno=95")
    result = headrace({**SAVE, "preallocate": True})
    assert result.code == 0, result
    assert any("no fallocate" in note for note in result.point["notes"]), result.point["notes"]


def test_no_space_to_set_aside(headrace, faults):
    """Reported when the space is set aside, not when it is written."""
    headrace(SAVE)
    process = headrace.start([{**SAVE, "preallocate": True, "repeat": 300}])
    faults.set("error .rank-00001.bin.new op=fallocate errno=28")
    result = headrace.end(process)
    assert result.code == 1 and "allocate" in result.point["reason"] and "ENOSPC" in result.point["reason"], result
    assert not [name for name in faults.files() if "rank-" in name]


@pytest.mark.parametrize("op", ["write", "create", "close"])
def test_a_full_disk_while_data_is_made(headrace, faults, op):
    faults.set(f"error f000009.bin op={op} errno=28")
    result = headrace({"use": "small_file_read", "files": 12, "file_size": "64KiB", "cache": "asis", "repeat": 1})
    assert result.code == 1 and "No space left on device (ENOSPC)" in result.point["reason"], result
    assert "f000009.bin" in result.point["reason"], result
    assert not [name for name in faults.files() if name.endswith(".bin")], "no half-made data stays"
