"""Folders whose listing fails, and files that cannot be looked at: each command names them and ends with an error. Nothing
that calls itself complete is left, and nothing is removed as if the folder were empty."""

import errno
import json
import shutil
import subprocess

import pytest
from conftest import BINARY, ROOT

FAULTS = [("n01", "readdir", errno.EIO), ("n01", "readdir", errno.ESTALE), ("n01", "opendir", errno.EMFILE), ("n01", "readdir", errno.EACCES),
          ("n01_3.jpg", "getattr", errno.EIO), ("n01_3.jpg", "getattr", errno.ESTALE)]


def run(folder, *words):
    return subprocess.run([BINARY, *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=180)


def images(faults):
    folder = faults.mount / "images"
    for name in ("n00", "n01"):
        (folder / name).mkdir(parents=True)
        for number in range(8):
            (folder / name / f"{name}_{number}.jpg").write_bytes(b"x" * 2000)
    return folder


@pytest.mark.parametrize("name, op, code", FAULTS)
def test_packing_misses_nothing(tmp_path, faults, name, op, code):
    folder = images(faults)
    faults.set(f"error *{name} op={op} errno={code}")
    done = run(tmp_path, "pack", folder, "--to", "shards")
    assert done.returncode in (1, 2) and name in done.stderr and errno.errorcode[code] in done.stderr, done
    assert not (tmp_path / "shards").exists()
    faults.set()
    assert run(tmp_path, "pack", folder, "--to", "shards").returncode == 0
    assert sum(s["samples"] for s in json.loads((tmp_path / "shards/.headrace-pack.json").read_text())["shards"]) == 16


@pytest.mark.parametrize("name, op, code", FAULTS)
def test_measuring_a_part_of_the_data_is_refused(headrace, faults, name, op, code):
    folder = images(faults)
    faults.set(f"error *{name} op={op} errno={code}")
    result = headrace({"use": "small_file_read", "path": str(folder), "workers": 2, "cache": "asis", "repeat": 1})
    assert result.code == 1 and result.point["status"] == "error", result
    assert name in result.point["reason"] and errno.errorcode[code] in result.point["reason"], result


@pytest.mark.parametrize("op", ["readdir", "opendir"])
def test_cleaning_keeps_unlistable_folders(headrace, faults, op):
    result = headrace({"use": "small_file_read", "files": 20, "file_size": "8KiB", "workers": 2, "cache": "asis", "repeat": 1})
    assert result.code == 0, result
    before = faults.files()
    faults.set(f"error *d000 op={op} errno={errno.EIO}")
    done = run(headrace.folder, "clean", headrace.target)
    assert done.returncode == 1 and "d000: Input/output error (EIO)" in done.stderr, done
    assert [f for f in faults.files() if f.endswith(".bin")] == [f for f in before if f.endswith(".bin")]
    faults.set()
    assert run(headrace.folder, "clean", headrace.target).returncode == 0 and not headrace.target.exists()


def test_runs_that_cannot_be_listed_are_not_absent(headrace, faults):
    runs = faults.mount / "runs"
    runs.mkdir()
    for number in range(2):
        assert headrace({"use": "memory_copy", "repeat": 2, "duration": "20ms"}).data
        shutil.copytree(headrace.out, runs / f"n{number}", copy_function=shutil.copyfile)
    job = ROOT / "configs/jobs/resnet50-imagenet.yaml"
    for name, words in [("n1", ["fleet", runs]), ("n1", ["history", runs]), ("n1", ["size", job, "--runs", runs]),
                        ("runs", ["compare", headrace.out, headrace.out, "--history", runs])]:
        faults.set(f"error *{name} op=readdir errno={errno.EIO}")
        done = run(headrace.folder, *words)
        assert done.returncode == 2 and f"/{name}: Input/output error (EIO)" in done.stderr, done
