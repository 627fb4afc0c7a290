"""Cold means that a disk gave the bytes: what a device serves from memory is never proven, whatever lies between, and what a disk
serves stays proven. Everything is made by root, and removed afterwards."""

import ctypes
import json
import os
import pathlib
import subprocess
import time

import pytest
from test_cold import COUNTED, MEMORY, file_system

FILES, SIZE = 24, 1 << 20


def tool(*words, check=True):
    try:
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"{words[0]} is not installed")
    if check and done.returncode != 0:
        pytest.skip(f"{words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


class Bench:
    """Devices and mounts that are undone in reverse."""

    def __init__(self, folder):
        self.folder, self.undo, self.count = folder, [], 0
        self.memory = pathlib.Path(f"/dev/shm/headrace-layers-{os.getpid()}")
        self.memory.mkdir()
        self.undo.append(["rm", "-rf", self.memory])

    def end(self):
        for words in reversed(self.undo):
            # The kernel lets go of a loop device's file some time after it was detached.
            for _ in range(100):
                if subprocess.run(list(map(str, words)), capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)

    def new(self, name="m"):
        self.count += 1
        folder = self.folder / f"{name}{self.count}"
        folder.mkdir()
        return folder

    def loop(self, image, direct=False, size=None):
        if size:
            with open(image, "wb") as file:
                file.truncate(size)
        device = tool("losetup", "--find", "--show", f"--direct-io={'on' if direct else 'off'}", image)
        self.undo.append(["losetup", "--detach", device])
        return device

    def mount(self, source, *options, at=None):
        point = at or self.new()
        tool("mount", *options, source, point)
        self.undo.append(["umount", point])
        return point

    def ext4(self, device):
        tool("mkfs.ext4", "-q", "-F", device)
        return self.mount(device)


@pytest.fixture
def bench(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root to make devices and to mount them")
    if file_system("/dev/shm") not in MEMORY:
        pytest.skip("/dev/shm is no file system in memory")
    if file_system(tmp_path) not in COUNTED or file_system(tmp_path) == "overlay":
        pytest.skip(f"{file_system(tmp_path)} below {tmp_path}: no disk of which the kernel counts reads")
    made = Bench(tmp_path)
    yield made
    made.end()


def fill(folder):
    folder.mkdir(exist_ok=True)
    for i in range(FILES):
        (folder / f"{i:02}").write_bytes(os.urandom(SIZE))
    os.sync()
    return folder


def read_all(path):
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


# In memory, all of it: each makes a folder with data.
def loop_over_tmpfs(b):
    return fill(b.ext4(b.loop(b.memory / "image", size=96 << 20)) / "data")


def direct_loop_over_tmpfs(b):
    return fill(b.ext4(b.loop(b.memory / "image", direct=True, size=96 << 20)) / "data")


def nested_loops_over_tmpfs(b):
    outer = b.ext4(b.loop(b.memory / "image", size=160 << 20))
    return fill(b.ext4(b.loop(outer / "inner", direct=True, size=96 << 20)) / "data")


def loop_over_memfd(b):
    held = os.memfd_create("image")
    os.ftruncate(held, 96 << 20)
    device = b.loop(f"/proc/{os.getpid()}/fd/{held}")
    os.close(held)  # the device keeps it
    return fill(b.ext4(device) / "data")


def zram(b):
    device = tool("zramctl", "--find", "--size", "96M")
    b.undo.append(["zramctl", "--reset", device])
    return fill(b.ext4(device) / "data")


def ram_disk(b):
    if not os.path.exists("/dev/ram0"):
        pytest.skip("this kernel has no RAM disk (brd)")
    return fill(b.ext4("/dev/ram0") / "data")


def xfs_over_tmpfs(b):
    device = b.loop(b.memory / "image", size=320 << 20)
    tool("mkfs.xfs", "-q", "-f", device)
    return fill(b.mount(device) / "data")


def btrfs_over_tmpfs(b):
    device = b.loop(b.memory / "image", size=160 << 20)
    tool("mkfs.btrfs", "-q", device)
    return fill(b.mount(device) / "data")


def btrfs_with_one_device_in_memory(b):
    devices = [b.loop(b.folder / "image", direct=True, size=160 << 20), b.loop(b.memory / "image", size=160 << 20)]
    tool("mkfs.btrfs", "-q", "-d", "raid1", *devices)
    return fill(b.mount(devices[0]) / "data")


def erofs_over_tmpfs(b):
    tool("mkfs.erofs", b.memory / "image", fill(b.folder / "source"))
    return b.mount(b.loop(b.memory / "image"), "-o", "ro")


def erofs_of_a_file_in_tmpfs(b):
    tool("mkfs.erofs", b.memory / "image", fill(b.folder / "source"))
    point = b.new()
    # mount(8) would make a loop device.
    if ctypes.CDLL(None).mount(str(b.memory / "image").encode(), str(point).encode(), b"erofs", 1, None) != 0:
        pytest.skip("this kernel mounts EROFS from devices only")
    b.undo.append(["umount", point])
    return point


def squashfs_over_tmpfs(b):
    tool("mksquashfs", fill(b.folder / "source"), b.memory / "image", "-noD", "-noF", "-quiet")
    return b.mount(b.loop(b.memory / "image"), "-o", "ro")


def overlay_over_it(b):
    lower = loop_over_tmpfs(b)
    return b.mount("overlay", "-t", "overlay", "-o", f"lowerdir={lower}:{b.new('empty')}")


def overlay_over_what_is_hidden(b):
    """As in a container: what the mount names cannot be found."""
    lower = loop_over_tmpfs(b)
    here = os.getcwd()
    os.chdir(lower.parent)
    try:
        return b.mount("overlay", "-t", "overlay", "-o", f"lowerdir={lower.name}:{b.new('empty')}")
    finally:
        os.chdir(here)


def bind_mount_of_it(b):
    return b.mount(loop_over_tmpfs(b), "--bind")


def linked_folder(b):
    (b.folder / "link").symlink_to(loop_over_tmpfs(b))
    return b.folder / "link"


def some_files_of_many_are_in_memory(b):
    """A folder on the disk; on a few of its files others are mounted."""
    folder, other = fill(b.folder / "data"), loop_over_tmpfs(b)
    for name in ("03", "11", "17"):
        b.mount(other / name, "--bind", at=folder / name)
    return folder


def tmpfs(b):
    return fill(b.memory / "data")


def ramfs(b):
    return fill(b.mount("none", "-t", "ramfs") / "data")


IN_MEMORY = [loop_over_tmpfs, direct_loop_over_tmpfs, nested_loops_over_tmpfs, loop_over_memfd, zram, ram_disk, xfs_over_tmpfs,
             btrfs_over_tmpfs, btrfs_with_one_device_in_memory, erofs_over_tmpfs, erofs_of_a_file_in_tmpfs, squashfs_over_tmpfs,
             overlay_over_it, overlay_over_what_is_hidden, bind_mount_of_it, linked_folder, some_files_of_many_are_in_memory, tmpfs,
             ramfs]


# On the disk.
def plain(b):
    return fill(b.folder / "data")


def direct_loop(b):
    return fill(b.ext4(b.loop(b.folder / "image", direct=True, size=96 << 20)) / "data")


def nested_direct_loops(b):
    outer = b.ext4(b.loop(b.folder / "image", direct=True, size=160 << 20))
    return fill(b.ext4(b.loop(outer / "inner", direct=True, size=96 << 20)) / "data")


def btrfs_of_two_devices(b):
    devices = [b.loop(b.folder / f"image{i}", direct=True, size=160 << 20) for i in (1, 2)]
    tool("mkfs.btrfs", "-q", *devices)
    return fill(b.mount(devices[1]) / "data")


def overlay(b):
    return b.mount("overlay", "-t", "overlay", "-o", f"lowerdir={fill(b.folder / 'data')}:{b.new('empty')}")


def bind_mount(b):
    return b.mount(fill(b.folder / "data"), "--bind")


def squashfs_of_what_does_not_compress(b):
    tool("mksquashfs", fill(b.folder / "source"), b.folder / "image", "-quiet")
    return b.mount(b.loop(b.folder / "image", direct=True), "-o", "ro")


ON_DISK = [plain, direct_loop, nested_direct_loops, btrfs_of_two_devices, overlay, bind_mount, squashfs_of_what_does_not_compress]


def buffered_loop(b):
    return fill(b.ext4(b.loop(b.folder / "image", size=96 << 20)) / "data")


def caches(headrace, folder, *words, out="results"):
    """Of each repetition that counts."""
    workload = "small_file_read" if "--direct" not in words else "shard_stream"
    done = headrace("measure", workload, str(folder), "--workers", "2", "--repeat", "2", "--no-report", "--out", out, *words)
    if done.code == 77 and "direct I/O" in done.out:
        return [], done
    assert done.code == 0, done
    (point,) = json.loads((headrace.path(out) / "run.json").read_text())["points"]
    return [r["cache"] for r in point["repetitions"] if r["counted"]], done


@pytest.mark.parametrize("kind", IN_MEMORY, ids=lambda kind: kind.__name__)
def test_reads_from_memory_are_unproven(headrace, bench, kind):
    folder = kind(bench)
    for words in (["--cache", "cold"], ["--cache", "bypassed", "--direct"]):
        found, done = caches(headrace, folder, *words, out=f"out{len(words)}")
        assert found or "--direct" in words, done  # not all take direct reads
        assert not any(cache["proven"] for cache in found), (words, found)
        assert not found or "not proven" in done.out, done
    doctor = headrace("doctor", str(folder))
    assert "memory" in doctor.out, doctor


@pytest.mark.parametrize("kind", ON_DISK, ids=lambda kind: kind.__name__)
def test_reads_from_a_disk_are_proven(headrace, bench, kind):
    folder = kind(bench)
    found, _ = caches(headrace, folder, "--cache", "cold")
    assert found and all(cache["proven"] for cache in found), found
    assert "cannot be proven here" not in headrace("doctor", str(folder)).out


def test_a_buffered_loop_is_cold_once_its_file_is_out_of_memory_too(headrace, bench):
    folder, image = buffered_loop(bench), bench.folder / "image"
    read_all(image)
    found, _ = caches(headrace, folder, "--cache", "cold")
    assert all(cache["proven"] for cache in found), found
    read_all(image)
    found, done = caches(headrace, folder, "--cache", "bypassed", "--direct", out="direct")
    assert not any(cache["proven"] for cache in found), found
    assert all("losetup --direct-io=on /dev/loop" in cache["why"] and str(image) in cache["why"] for cache in found), found
    assert "losetup --direct-io=on" in " ".join(headrace("doctor", str(folder)).out.split())


def test_buffered_loop_with_its_file_in_memory_is_not_cold(headrace, bench):
    """Somebody has locked a part of the image there that is small beside it, and large beside the data."""
    folder, image = buffered_loop(bench), bench.folder / "image"
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mlock.argtypes = libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    held = os.open(image, os.O_RDONLY)
    size = os.fstat(held).st_size
    at = libc.mmap(None, size, 1, 1, held, 0)
    if libc.mlock(at, size) != 0:
        pytest.skip("this process may not lock so much memory")
    try:
        found, _ = caches(headrace, folder, "--cache", "cold")
    finally:
        libc.munmap(at, size)
        os.close(held)
    assert not any(cache["proven"] for cache in found), found
    assert all("were in memory before" in cache["why"] for cache in found), found


def test_a_buffered_loop_of_an_ordinary_user(headrace, bench):
    """He may not read the image: nobody knows what of it is in memory."""
    folder, image = buffered_loop(bench), bench.folder / "image"
    os.chmod(image, 0o600)
    read_all(image)
    for path in [bench.folder, *bench.folder.parents]:
        if not path.stat().st_mode & 0o001:
            os.chmod(path, path.stat().st_mode | 0o011)
    work = bench.new("work")
    os.chown(work, 12345, 12345)
    subprocess.run(["chown", "-R", "12345", folder], check=True)
    headrace.under = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    headrace.folder = work
    found, _ = caches(headrace, folder, "--cache", "cold")
    assert not any(cache["proven"] for cache in found), found
    assert all("cannot be seen" in cache["why"] for cache in found), found


def test_a_raw_device_is_followed_too(headrace, bench):
    image = bench.memory / "image"
    image.write_bytes(os.urandom(FILES * SIZE))
    device = bench.loop(image)
    headrace.write("raw.yaml", json.dumps({"schema": 1, "workloads": [
        {"use": "shard_stream", "path": device, "allow_device": True, "workers": 2, "repeat": 1, "cache": "cold"}]}))
    assert headrace.run("raw.yaml").code == 0
    for repetition in headrace.results()["points"][0]["repetitions"]:
        assert not repetition["cache"]["proven"] and "tmpfs keeps files in memory" in repetition["cache"]["why"], repetition["cache"]


def compressible(folder):
    folder.mkdir()
    for i in range(FILES):
        (folder / f"{i:02}").write_bytes(os.urandom(2048).hex().encode() * (SIZE // 4096))
    os.sync()
    return folder


def test_squashfs_is_refused_by_name_where_it_compressed(headrace, bench):
    tool("mksquashfs", compressible(bench.folder / "source"), bench.folder / "image", "-quiet")
    folder = bench.mount(bench.loop(bench.folder / "image", direct=True), "-o", "ro")
    found, done = caches(headrace, folder, "--cache", "cold")
    assert all(not c["proven"] and "squashfs stores compressed data" in c["why"] and "mksquashfs -noD" in c["why"] for c in found), found
    assert "squashfs stores compressed data" in " ".join(done.out.split())


@pytest.mark.parametrize("maker", ["btrfs", "erofs"])
def test_compressed_data_is_proven_where_extents_can_be_asked(headrace, bench, maker):
    device = bench.loop(bench.folder / "image", direct=True, size=192 << 20) if maker == "btrfs" else None
    if maker == "btrfs":
        tool("mkfs.btrfs", "-q", device)
        folder = compressible(bench.mount(device, "-o", "compress-force=zstd") / "data")
    else:
        tool("mkfs.erofs", "-zlz4hc", bench.folder / "image", compressible(bench.folder / "source"))
        folder = bench.mount(bench.loop(bench.folder / "image", direct=True), "-o", "ro")
    found, _ = caches(headrace, folder, "--cache", "cold")
    assert all(c["proven"] and "stored compressed" in c["why"] for c in found), found
    assert all(c["storage_bytes"] < 0.9 * c["delivered_bytes"] for c in found), "it was not compressed"
