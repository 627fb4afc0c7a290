"""A run of the real binary, drawn by the real report: the two sides of the contract meet."""

import json
import os
import subprocess

import pytest
from conftest import program

BINARY = os.environ.get("HEADRACE_BINARY", "")

CONFIG = """\
schema: 1
name: two-sides
target: {path: ./scratch, max_write: 64MiB}
defaults: {repeat: 2}
workloads:
  - use: small_file_read
    files: 60
    file_size: 16KiB
    workers: 2
    cache: warm
  - use: shard_stream
    files: 2
    file_size: 1MiB
    workers: 2
    cache: warm
"""


@pytest.mark.skipif(not os.access(BINARY, os.X_OK), reason="HEADRACE_BINARY names no binary")
def test_a_run_of_the_binary_gives_a_page(tmp_path):
    (tmp_path / "config.yaml").write_text(CONFIG)
    done = subprocess.run([BINARY, "run", "-c", "config.yaml", "--out", "result", "--no-report"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=600)  # a busy disk may hold every fsync up for long
    run_file = tmp_path / "result" / "run.json"
    assert run_file.exists(), done.stderr
    drawn = program(run_file, "-o", tmp_path / "page.html")
    assert drawn.returncode == 0, drawn.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    points = json.loads(run_file.read_text(encoding="utf-8"))["points"]
    assert len(points) == 2 and all(point["status"] == "ok" for point in points), done.stdout
    for point in points:
        assert point["id"] in page
    assert page.count("<figure") >= 4
