"""Kernels and file systems that lack or refuse something: skipped or done otherwise, and said; other points go on."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import Headrace

DENY = [sys.executable, str(pathlib.Path(__file__).parent / "deny.py")]
DATA = {"files": 12, "file_size": "64KiB", "workers": 2, "cache": "cold", "repeat": 1}


@pytest.fixture
def plain(tmp_path):
    """headrace on an ordinary file system."""
    return Headrace(tmp_path, tmp_path / "scratch")


def without(*calls):
    if subprocess.run([*DENY, *calls, "--", "true"], capture_output=True).returncode == 77:
        pytest.skip("no seccomp filters here")
    return [*DENY, *calls, "--"]


def both(use, **more):
    return [{"use": use, "label": engine, "engine": engine, **DATA, **more} for engine in ("io_uring", "posix")]


@pytest.mark.parametrize("use", ["small_file_read", "epochs", "shard_stream", "random_read"])
def test_io_uring_forbidden_by_seccomp(plain, use):
    result = plain(*both(use), before=without("io_uring_setup"))
    ring, posix = result.points
    assert ring["status"] == "skipped" and posix["status"] == "ok", result
    assert "Operation not permitted (EPERM" in ring["reason"] and "seccomp" in ring["reason"], ring["reason"]
    assert result.code == 12, result  # incomplete


def test_checkpoints_go_on_without_io_uring(plain):
    save = {"use": "checkpoint_write", "ranks": 2, "shard_size": "256KiB", "repeat": 1}
    result = plain(*[{**save, "label": e, "engine": e} for e in ("io_uring", "posix")], before=without("io_uring_setup"))
    assert [p["status"] for p in result.points] == ["skipped", "ok"], result


def test_io_uring_forbidden_by_sysctl(plain, tmp_path):
    """What the kernel says is laid over /proc in a mount namespace of its own: the real setting holds for everybody."""
    if os.geteuid() != 0:
        pytest.skip("needs root to lay a file over /proc")
    said = tmp_path / "io_uring_disabled"
    said.write_text("2\n")
    lay = ["unshare", "--mount", "sh", "-c",
           f"mount --bind {said} /proc/sys/kernel/io_uring_disabled || exit 77; exec \"$@\"", "sh"]
    if subprocess.run([*lay, "true"], capture_output=True).returncode != 0:
        pytest.skip("this kernel has no kernel.io_uring_disabled, or mounts are not allowed")
    result = plain(*both("shard_stream"), before=[*lay, *without("io_uring_setup")])
    assert [p["status"] for p in result.points] == ["skipped", "ok"], result
    assert "kernel.io_uring_disabled = 2" in result.point["reason"], result.point["reason"]


def test_everything_skipped_is_77(plain):
    result = plain(both("shard_stream")[0], before=without("io_uring_setup"))
    assert result.code == 77, result


def test_io_uring_of_a_kernel_without_it(plain):
    """ENOSYS: the kernel has none."""
    result = plain(*both("random_read"), before=without("io_uring_setup=ENOSYS"))
    assert [p["status"] for p in result.points] == ["skipped", "ok"], result
    assert "(ENOSYS" in result.point["reason"], result.point["reason"]


def test_residency_without_cachestat(plain):
    result = plain({"use": "shard_stream", **DATA}, before=without("cachestat=ENOSYS"))
    cache = result.point["repetitions"][0]["cache"]
    assert result.code == 0 and cache["method"].startswith("mincore"), cache
    assert cache["resident_before"] >= 0


def test_residency_that_nothing_reports(plain):
    """Neither call: residency is not claimed, the bytes from storage decide alone."""
    result = plain({"use": "shard_stream", **DATA}, before=without("cachestat=ENOSYS", "mincore=ENOSYS"))
    cache = result.point["repetitions"][0]["cache"]
    assert result.code == 0 and cache["resident_before"] == -1, cache
    assert "does not report cached pages" in cache["why"], cache


def test_a_kernel_without_fallocate(plain):
    result = plain({"use": "checkpoint_write", "ranks": 2, "shard_size": "256KiB", "preallocate": True, "repeat": 1},
                   before=without("fallocate=ENOSYS"))
    assert result.code == 0, result
    assert any("no fallocate" in note for note in result.point["notes"]), result.point["notes"]


DIRECT = [{"use": "shard_stream", "engine": "posix", "direct": True, **DATA, "cache": "bypassed"},
          {"use": "random_read", "engine": "io_uring", "direct": True, **DATA, "cache": "bypassed"},
          {"use": "checkpoint_write", "direct": True, "ranks": 2, "shard_size": "256KiB", "repeat": 1}]
ORDINARY = {"use": "small_file_read", **DATA, "cache": "asis"}


@pytest.mark.parametrize("workload", DIRECT, ids=lambda w: w["use"])
def test_direct_io_on_files_in_memory(tmp_path, workload):
    if not os.path.ismount("/dev/shm"):
        pytest.skip("no tmpfs at /dev/shm")
    target = pathlib.Path(f"/dev/shm/headrace_test_{os.getpid()}")
    headrace = Headrace(tmp_path, target)
    try:
        result = headrace(workload, ORDINARY)
        assert [p["status"] for p in result.points] == ["skipped", "ok"], result
        assert "direct I/O needs storage" in result.point["reason"] and "tmpfs" in result.point["reason"]
        assert not list(target.rglob("rank-*")), "no file is left"
    finally:
        subprocess.run([*["rm", "-rf"], str(target)], check=True)
