"""A device that gives I/O errors: file, offset and error are reported. Usage: io_error.py HEADRACE

The file below the loop device is cut where the last file of the data set starts, so that this file cannot be read.
"""

import os
import re
import subprocess
from pathlib import Path

import bench


def start_on_device(file):
    listed = subprocess.run(["filefrag", "-v", "-b4096", file], capture_output=True, text=True)
    found = re.search(r"^\s+0:\s+\d+\.\.\s*\d+:\s+(\d+)\.\.", listed.stdout, re.MULTILINE)
    if not found:
        bench.skip(f"filefrag does not tell where a file lies: {listed.stderr.strip() or listed.stdout.strip()}")
    return int(found.group(1)) * 4096


def remount(mode):
    subprocess.run(["mount", "-o", f"remount,{mode}", disk], check=True)


disk = bench.limited("--size", "512M")
made = bench.run({"use": "shard_stream", "files": 4, "file_size": "16MiB", "cache": "cold", "repeat": 1},
                 f"{disk}/scratch")
assert made.code == 0, made.reported
files = {start_on_device(file): file for file in Path(disk).rglob("*.bin")}
cut, unreadable = max(files.items())
remount("ro")  # nothing may be written behind the cut

image = os.environ["LIMITED_DISK_IMAGE"]
size = os.path.getsize(image)
with open(image, "r+b") as file:
    file.seek(cut)
    behind = file.read()
    file.truncate(cut)
try:
    with bench.folder() as scratch:
        for engine in ("posix", "io_uring"):
            result = bench.run({"use": "shard_stream", "path": str(unreadable.parent), "engine": engine, "workers": 2,
                                "cache": "cold", "repeat": 1}, str(scratch / "scratch"))
            assert result.code == 1, (result.code, result.reported)
            reported = result.point["reason"] + " ".join(r["error"] for r in result.point["repetitions"])
            print(reported)
            assert "Input/output error" in reported and unreadable.name in reported, reported
finally:
    with open(image, "r+b") as file:
        file.seek(cut)
        file.write(behind)
        file.truncate(size)
