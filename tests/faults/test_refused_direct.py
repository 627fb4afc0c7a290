"""A file system that refuses direct I/O: the point is skipped with the reason, and the others go on."""

import pytest

DATA = {"files": 12, "file_size": "64KiB", "workers": 2, "repeat": 1}
DIRECT = [{"use": "shard_stream", "engine": "posix", "direct": True, **DATA},
          {"use": "shard_stream", "engine": "io_uring", "direct": True, **DATA},
          {"use": "random_read", "engine": "posix", "direct": True, **DATA},
          {"use": "random_read", "engine": "io_uring", "direct": True, **DATA},
          {"use": "checkpoint_write", "direct": True, "ranks": 2, "shard_size": "256KiB", "repeat": 1}]


@pytest.mark.parametrize("workload", DIRECT, ids=lambda w: f"{w['use']}-{w.get('engine', 'posix')}")
def test_direct_io_that_is_refused(headrace, faults, workload):
    faults.set("error *.bin op=open flag=direct errno=22", "error *.new op=create flag=direct errno=22")
    result = headrace(workload, {"use": "small_file_read", **DATA, "cache": "asis"})
    assert [p["status"] for p in result.points] == ["skipped", "ok"], result
    assert "direct I/O is refused here" in result.point["reason"] and "EINVAL" in result.point["reason"]
    assert not [name for name in faults.files() if "rank-" in name]
