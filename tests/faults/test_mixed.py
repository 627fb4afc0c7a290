"""Reads beside a save: what fails on either side is reported with its place, and decides the point."""

import pytest

BESIDE = {"use": "mixed", "files": 30, "file_size": "8KiB", "workers": 2, "rate": "100/s", "around": "100ms",
          "checkpoint_shard_size": "256KiB", "cache": "cold", "repeat": 1}


def failed(headrace, **more):
    need = {"id": "slowest", "metric": "mixed.during_latency_p99_ns", "at_most": "1h"}
    result = headrace({**BESIDE, **more}, needs=[need])
    assert result.code == 1 and result.point["status"] == "error" and not result.point["metrics"], result
    assert result.judged("slowest")["outcome"] == "ERROR", result
    return result.point["reason"]


@pytest.mark.parametrize("engine", ["posix", "io_uring"])
def test_a_read_that_fails(headrace, faults, engine):
    faults.set("error f*.bin op=read errno=5 at=0")
    reason = failed(headrace, engine=engine)
    assert "/f0000" in reason and "Input/output error (EIO)" in reason and "operations failed" in reason, reason


@pytest.mark.parametrize("op, word", [("create", "create"), ("write", "write"), ("fsync", "sync"), ("rename", "rename")])
def test_a_save_that_fails(headrace, faults, op, word):
    faults.set(f"error *rank-00001.bin* op={op} errno=28")
    reason = failed(headrace)
    assert word in reason and "rank-00001.bin" in reason and "No space left on device (ENOSPC)" in reason, reason
    assert not [name for name in faults.files() if "rank-" in name], "no file is left"


def test_a_slow_disk_is_latency_before_during_and_after(headrace, faults):
    faults.set("delay f*.bin op=read ms=30")
    result = headrace(BESIDE)
    assert result.code == 0, result
    for phase in result.point["repetitions"][0]["phases"]:
        assert phase["latency"]["max_ns"] >= 30e6, phase["name"]
