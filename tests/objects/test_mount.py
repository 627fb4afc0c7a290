"""A mount with a cache of its own over a slow store: what it keeps is not seen, so that nothing it gives fast is called cold."""

import contextlib
import os
import subprocess
import time

import pytest
from servers import program


@contextlib.contextmanager
def mounted(folder):
    """rclone's own mount: written through a cache on the local disk, and held at 1 MB/s towards the store."""
    rclone = program("rclone")
    if not os.path.exists("/dev/fuse") or os.geteuid() != 0:
        pytest.skip("needs /dev/fuse and root to mount")
    for name in ("store", "cache", "mount"):
        (folder / name).mkdir()
    process = subprocess.Popen([rclone, "mount", "--config", "/dev/null", "--cache-dir", str(folder / "cache"), "--vfs-cache-mode",
                                "full", "--bwlimit", "1M", str(folder / "store"), str(folder / "mount")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 150
    try:
        while not os.path.ismount(folder / "mount"):
            if process.poll() is not None:
                pytest.skip(f"rclone does not mount here: {process.stderr.read()[-300:]}")
            assert time.monotonic() < end, "rclone did not mount"
            time.sleep(0.05)
        yield folder / "mount"
    finally:
        subprocess.run(["umount", "--lazy", folder / "mount"], capture_output=True)
        process.kill()
        process.wait()


def test_a_mount_that_caches_is_never_proven_cold(headrace, tmp_path):
    with mounted(tmp_path) as mount:
        data = mount / "data"
        data.mkdir()
        for number in range(16):
            (data / f"{number:02}.bin").write_bytes(os.urandom(100_000))
        run = headrace(None, {"use": "small_file_read", "path": str(data), "workers": 2, "cache": "cold", "repeat": 5},
                       needs=[{"id": "fast", "metric": "small_file_read.read_bandwidth", "at_least": "10MB/s"}])
        judged = run.data["judgements"][0]
        assert run.code == 11 and judged["reason"] == "cache-unproven", (run, judged)
        assert "fuse.rclone: the client's cache is not seen" in run.repetition["cache"]["why"], run.repetition["cache"]
