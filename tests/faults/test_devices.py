"""Raw block devices: read when that is allowed, never written, sized by the kernel."""

import hashlib
import os
import subprocess

import pytest
from conftest import Headrace

SIZE = 24 * 1024 * 1024


@pytest.fixture
def plain(tmp_path):
    return Headrace(tmp_path, tmp_path / "scratch")


@pytest.fixture
def device(tmp_path):
    """A loop device; read-only would prove nothing: it could be written."""
    if os.geteuid() != 0:
        pytest.skip("needs root to make a loop device")
    if subprocess.run(["stat", "-f", "-c", "%T", tmp_path], capture_output=True, text=True).stdout.strip() in ("tmpfs", "ramfs"):
        pytest.skip(f"{tmp_path} is in memory: nothing from there is proven cold")
    image = tmp_path / "image"
    with open("/dev/urandom", "rb") as source:
        image.write_bytes(source.read(SIZE))
    made = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", image], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    name = made.stdout.strip()
    before = hashlib.sha256(image.read_bytes()).hexdigest()
    written = writes_to(name)
    yield name
    assert writes_to(name) == written, "the device was written to"
    subprocess.run(["losetup", "--detach", name], check=True)
    assert hashlib.sha256(image.read_bytes()).hexdigest() == before


def writes_to(device):
    with open(f"/sys/class/block/{os.path.basename(os.path.realpath(device))}/stat") as file:
        return file.read().split()[4]


READERS = [("shard_stream", "posix", False), ("shard_stream", "io_uring", False), ("shard_stream", "posix", True),
           ("shard_stream", "io_uring", True), ("random_read", "posix", False), ("random_read", "io_uring", True),
           ("random_read", "mmap", False)]


@pytest.mark.parametrize("use, engine, direct", READERS)
def test_a_device_is_read_whole(plain, device, use, engine, direct):
    entry = {"use": use, "engine": engine, "path": device, "allow_device": True, "workers": 2, "repeat": 1}
    if direct:
        entry["direct"] = True
    result = plain(entry)
    assert result.code == 0, result
    repetition = result.point["repetitions"][0]
    assert repetition["phases"][0]["bytes"] == SIZE and repetition["phases"][0]["errors"] == 0
    cache = repetition["cache"]
    assert cache["declared"] == ("bypassed" if direct else "cold") and cache["proven"], cache
    assert cache["device_bytes"] >= 0.95 * SIZE, "its own counter"


def test_a_device_through_a_link(plain, device, tmp_path):
    link = tmp_path / "by-name"
    link.symlink_to(device)
    result = plain({"use": "shard_stream", "path": str(link), "allow_device": True, "workers": 1, "repeat": 1})
    assert result.code == 0 and result.point["repetitions"][0]["phases"][0]["bytes"] == SIZE, result


def test_a_device_that_was_not_allowed_is_an_error_with_its_place(plain, device):
    plain.folder.joinpath("d.yaml").write_text(
        f"schema: 1\ntarget: {{path: scratch}}\nworkloads:\n  - use: shard_stream\n    path: {device}\n")
    process = subprocess.run([os.environ.get("HEADRACE", ""), "run", "-c", "d.yaml", "--out", "out"],
                             cwd=plain.folder, capture_output=True, text=True)
    assert process.returncode == 2, process
    assert "d.yaml:5:" in process.stderr and "allow_device: true" in process.stderr and device in process.stderr
    assert not plain.folder.joinpath("out").exists() and not plain.folder.joinpath("scratch").exists()


def test_allowing_a_device_without_naming_one(plain):
    result = plain({"use": "shard_stream", "allow_device": True})
    assert result.code == 2 and "allow_device: names no device" in result.reported, result


@pytest.mark.parametrize("use", ["checkpoint_write", "small_file_read"])
def test_nothing_is_made_on_a_device(plain, device, use):
    """A target that is a device is refused; nobody writes there."""
    plain.target = device
    result = plain({"use": use, "repeat": 1})
    assert result.code in (1, 2) and device in result.reported, result


def test_a_character_device_is_no_data(plain):
    result = plain({"use": "shard_stream", "path": "/dev/zero", "allow_device": True, "repeat": 1})
    assert result.code == 1 and "neither a file nor a folder nor a block device" in result.reported, result
