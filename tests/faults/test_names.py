"""Calls on names that fail: reported with the name, the call and errno, never counted, and nothing stays behind."""

import pytest

TREE = {"use": "metadata", "workers": 2, "width": 2, "files_per_folder": 20, "cache": "cold", "repeat": 1}


def failed(headrace, faults, rule):
    faults.set(rule)
    need = {"id": "rate", "metric": "metadata.operation_rate", "at_least": "1/s"}
    result = headrace(TREE, needs=[need])
    assert result.code == 1 and result.point["status"] == "error" and not result.point["metrics"], result
    assert result.judged("rate")["outcome"] == "ERROR", result
    assert faults.used()[0] > 0
    return result


# The kernel asks for attributes with the first call that names a file.
@pytest.mark.parametrize("op, name, step", [("create", "f00000017", "create"), ("getattr", "f00000017", "create"),
                                            ("open", "f00000017", "open"), ("rename", "r00000017", "rename"),
                                            ("close", "f00000017", "close")])
def test_every_call_may_fail(headrace, faults, op, name, step):
    result = failed(headrace, faults, f"error *{name} op={op} errno=5")
    reason = result.point["reason"]
    assert step in reason and "f00000017" in reason and "Input/output error (EIO)" in reason, reason
    assert not [file for file in faults.files() if "00000017" in file], "no file is left"


def test_a_folder_that_cannot_be_listed(headrace, faults):
    reason = failed(headrace, faults, "error *d001 op=readdir errno=5").point["reason"]
    assert "list" in reason and "d001" in reason and "Input/output error (EIO)" in reason, reason


def test_files_that_cannot_be_removed(headrace, faults):
    """They stay, for nothing can be done about it; the reason names one."""
    reason = failed(headrace, faults, "error *00000017 op=unlink errno=1").point["reason"]
    assert "unlink" in reason and "00000017" in reason and "EPERM" in reason, reason


def test_delay_is_latency(headrace, faults):
    faults.set("delay *f00000017 op=open ms=150")
    result = headrace(TREE)
    assert result.code == 0, result
    opening = next(p for p in result.point["repetitions"][0]["phases"] if p["name"] == "open")
    assert opening["latency"]["max_ns"] >= 150e6
