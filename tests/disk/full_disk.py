"""A full disk: reported before anything is written where that can be known, else cleaned up. Usage: full_disk.py HEADRACE"""

import os
import subprocess
from pathlib import Path

import bench

if os.geteuid() != 0:
    bench.skip("needs root to mount a small file system")


def on_tmpfs(options, workload):
    with bench.folder() as work:
        disk = work / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            bench.skip(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
        try:
            result = bench.Started(workload, str(disk / "scratch"), work).end()
            return result, [str(file.relative_to(disk)) for file in Path(disk).rglob("*") if file.is_file()]
        finally:
            subprocess.run(["umount", disk], check=True)


workload = {"use": "small_file_read", "files": 400, "file_size": "100kB", "repeat": 1, "cache": "asis"}
result, files = on_tmpfs("size=16m", workload)
print(result.reported)
assert result.code == 2 and "would write 40.0 MB" in result.reported and "are free" in result.reported, result.reported
assert not [file for file in files if file.endswith(".bin")], files

# Space is there, but not for that many files.
result, files = on_tmpfs("size=100m,nr_inodes=200", workload)
print(result.reported)
assert result.code == 2 and "inodes left" in result.reported, result.reported
assert not [file for file in files if file.endswith(".bin") or file.endswith("manifest.json")], files
