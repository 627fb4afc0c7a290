"""Cold means that the bytes came from storage: whatever else they came from, no verdict may say PASS."""

import os
import pathlib
import subprocess
import sys

import pytest

MEMORY = ("tmpfs", "ramfs")
COUNTED = ("ext2", "ext3", "ext4", "xfs", "f2fs", "overlay")  # btrfs may compress
FILES, SIZE = 40, 192 << 10
RATES = {"small_file_read": "read_bandwidth", "random_read": "read_bandwidth", "shard_stream": "read_bandwidth",
         "epochs": "cold_read_bandwidth", "mixed": "before_read_rate", "metadata": "open_rate", "checkpoint_read": "read_bandwidth"}
COLD = """\
  - {{use: small_file_read, path: {path}, workers: 2, cache: cold, repeat: 1, engine: [posix, io_uring]}}
  - {{use: random_read, path: {path}, workers: 2, block_size: 16KiB, cache: cold, repeat: 1}}
  - {{use: shard_stream, path: {path}, workers: 2, cache: cold, repeat: 1}}
  - {{use: epochs, path: {path}, workers: 2, epochs: 2, repeat: 1}}
  - {{use: checkpoint_read, path: {path}, ranks: 2, cache: cold, repeat: 1}}
  - {{use: mixed, path: {path}, workers: 2, cache: cold, repeat: 1, rate: 100/s, around: 100ms,
     checkpoint_shard_size: 64KiB}}
"""
BYPASSED = """\
  - {{use: random_read, path: {path}, workers: 2, block_size: 16KiB, direct: true, repeat: 1}}
  - {{use: shard_stream, path: {path}, workers: 2, direct: true, repeat: 1}}
  - {{use: checkpoint_read, path: {path}, ranks: 2, direct: true, repeat: 1}}
"""


def file_system(path):
    """Its type, as the kernel names it."""
    path, best = str(pathlib.Path(path).resolve()), ("", "")
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        words, rest = line.split(" - ")
        point = words.split()[4]
        if (path + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best[0]):
            best = point, rest.split()[0]
    return best[1]


@pytest.fixture
def on_disk(tmp_path):
    if file_system(tmp_path) not in COUNTED:
        pytest.skip(f"{file_system(tmp_path)} below {tmp_path}: no disk of which the kernel counts reads")


def honest(folder):
    """Files that lie on storage."""
    folder.mkdir()
    for i in range(FILES):
        (folder / f"{i:03}").write_bytes(os.urandom(SIZE))
    os.sync()


def holes(folder):
    folder.mkdir()
    for i in range(FILES):
        with open(folder / f"{i:03}", "wb") as file:
            file.truncate(SIZE)


def fallocated(folder):
    folder.mkdir()
    for i in range(FILES):
        with open(folder / f"{i:03}", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, SIZE)


def half_sparse(folder):
    folder.mkdir()
    for i in range(FILES):
        with open(folder / f"{i:03}", "wb") as file:
            file.write(os.urandom(SIZE // 2))
            file.truncate(SIZE)
    os.sync()


def many_names(folder):
    folder.mkdir()
    (folder / "000").write_bytes(os.urandom(SIZE))
    for i in range(1, FILES):
        os.link(folder / "000", folder / f"{i:03}")
    os.sync()


def asked(workloads):
    used = {line.split("use: ")[1].split(",")[0] for line in workloads.splitlines() if "use: " in line}
    return "needs:\n" + "".join(f"  - {{id: {use}, metric: {use}.{RATES[use]}, at_least: {'1/s' if RATES[use].endswith('_rate') else '1kB/s'}}}\n"
                              for use in sorted(used))


def config(headrace, workloads, path, target="scratch"):
    text = workloads.format(path=path)
    return headrace.write("cold.yaml", f"schema: 1\nname: cold\ntarget: {{path: {target}}}\nworkloads:\n{text}{asked(text)}")


def refused(headrace, result, words=""):
    """Not one point is proven, no need is met, and the reason is the cache."""
    assert result.code == 11, result
    run = headrace.results()
    assert {(j["outcome"], j["reason"]) for j in run["judgements"]} == {("INCONCLUSIVE", "cache-unproven")}, result
    for point in run["points"]:
        assert point["status"] in ("ok", "skipped"), point
        for repetition in point["repetitions"]:
            assert repetition["cache"]["required"] and not repetition["cache"]["proven"], (point["id"], repetition["cache"])
            assert words in repetition["cache"]["why"], (point["id"], repetition["cache"]["why"])


@pytest.mark.parametrize("workloads", [COLD, BYPASSED], ids=["cold", "bypassed"])
@pytest.mark.parametrize("made, words", [(holes, "are holes"), (fallocated, ""), (half_sparse, "are holes"),
                                         (many_names, "several names share a file")])
def test_less_than_the_sizes_promise(headrace, on_disk, made, words, workloads):
    made(headrace.path("mine"))
    refused(headrace, headrace.run(config(headrace, workloads, "mine"), verb="qualify"), words)


def test_data_in_a_file_system_in_memory(headrace):
    shm = pathlib.Path("/dev/shm")
    if not shm.is_dir() or file_system(shm) not in MEMORY or not os.access(shm, os.W_OK):
        pytest.skip("/dev/shm is no file system in memory that may be written")
    folder = shm / f"headrace-test-{os.getpid()}"
    try:
        honest(folder)
        refused(headrace, headrace.run(config(headrace, COLD, folder), verb="qualify"), "keeps files in memory")
    finally:
        subprocess.run(["rm", "-r", folder], check=True)


def test_data_that_is_locked_in_memory(headrace, on_disk):
    honest(headrace.path("mine"))
    keeper = subprocess.Popen([sys.executable, "-c", KEEPER, headrace.path("mine")], stdout=subprocess.PIPE)
    try:
        if keeper.stdout.readline() != b"locked\n":
            pytest.skip("this process may not lock so much memory")
        refused(headrace, headrace.run(config(headrace, COLD, "mine"), verb="qualify"), "in the page cache before")
    finally:
        keeper.kill()
        keeper.wait()


KEEPER = """
import ctypes, mmap, pathlib, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
for path in pathlib.Path(sys.argv[1]).iterdir():
    with open(path, "rb") as file:
        size = path.stat().st_size
        if libc.mlock(libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), 0), size):
            sys.exit("refused")
print("locked", flush=True)
time.sleep(1000)
"""


def test_a_reader_that_fills_the_cache_again(headrace, on_disk):
    """Reads that are due slowly: what another process reads meanwhile is in memory by then."""
    honest(headrace.path("mine"))
    refill = "import pathlib, sys\nwhile True:\n    for path in pathlib.Path(sys.argv[1]).iterdir(): path.read_bytes()"
    reader = subprocess.Popen([sys.executable, "-c", refill, headrace.path("mine")])
    try:
        slow = ("  - {{use: small_file_read, path: {path}, workers: 2, cache: cold, repeat: 1, rate: 40/s, duration: 1s}}\n"
                "  - {{use: random_read, path: {path}, workers: 2, block_size: 16KiB, cache: cold, repeat: 1, rate: 60/s,\n"
                "     duration: 1s}}\n")
        refused(headrace, headrace.run(config(headrace, slow, "mine"), verb="qualify"))
    finally:
        reader.kill()
        reader.wait()


@pytest.mark.parametrize("other", [holes, honest])
def test_files_that_are_exchanged_during_the_run(headrace, on_disk, other):
    """Named, or not proven: never as if nothing had been."""
    headrace.write("swap.yaml", f"""\
schema: 1
name: swap
target: {{path: scratch}}
workloads:
  - {{use: small_file_read, files: {FILES}, file_size: {SIZE}B, workers: 2, cache: cold, repeat: 1000, rest: 100ms}}
needs:
  - {{id: rate, metric: small_file_read.read_bandwidth, at_least: 1kB/s}}
""")
    process = headrace.start_measuring("swap.yaml")
    other(headrace.path("others"))
    made = sorted(p for p in headrace.path("scratch").rglob("*") if p.is_file() and p.stat().st_size == SIZE)
    assert len(made) == FILES, made
    for old, new in zip(made, sorted(headrace.path("others").iterdir())):
        os.replace(new, old)
    out, err = process.communicate(timeout=180)
    assert process.returncode == 1, (out, err)
    assert "has changed: it was replaced or written" in out and str(made[0].parent.name) in out, out


def test_honest_data_is_proven(headrace, on_disk):
    """What the rules above must not refuse: odd sizes, small files, one file, and all of it on a real disk."""
    honest(headrace.path("mine"))
    headrace.path("odd").mkdir()
    for i in range(300):
        (headrace.path("odd") / f"{i:03}").write_bytes(os.urandom(100 + 37 * i))
    os.sync()
    more = COLD + BYPASSED.replace("path: {path},", "path: {path}, label: direct,") + ("  - {{use: small_file_read, path: odd, label: odd, workers: 2, cache: cold, repeat: 5}}\n"
                              "  - {{use: random_read, path: odd, label: odd, workers: 2, block_size: 4KiB, cache: cold, repeat: 1}}\n"
                              "  - {{use: metadata, path: odd, workers: 2, cache: cold, repeat: 8}}\n")
    if os.geteuid() != 0:  # only root can make names cold
        more = "".join(line for line in more.splitlines(True) if "metadata" not in line)
    result = headrace.run(config(headrace, more, "mine"), verb="run")
    assert result.code in (0, 11), result
    run = headrace.results()
    proven = {point["id"]: [(repetition["cache"]["proven"], repetition["cache"]["why"]) for repetition in point["repetitions"]
                            if repetition["counted"]] for point in run["points"]}
    # Blocks of inodes hold those of other files, too: programs that use these keep a part of the names in memory.
    assert any(good for good, _ in proven.pop("metadata", [(True, "")])), (proven, result)
    assert all(good for repetitions in proven.values() for good, _ in repetitions), (proven, result)


def test_names_kept_open_by_another_process(headrace, on_disk):
    """An open file's name and inode stay in memory, whoever drops the caches."""
    if os.geteuid() != 0:
        pytest.skip("only root can make names cold")
    tree = headrace.path("mine")
    tree.mkdir()
    for i in range(400):
        (tree / f"{i:03}").write_bytes(b"x")
    os.sync()
    kept = [open(path, "rb") for path in tree.iterdir()]
    held = os.open(tree, os.O_RDONLY)
    text = "  - {use: metadata, path: mine, workers: 2, cache: cold, repeat: 1}\n"
    headrace.write("names.yaml", f"schema: 1\nname: names\ntarget: {{path: scratch}}\nworkloads:\n{text}needs:\n"
                                 "  - {id: names, metric: metadata.stat_rate, at_least: 1/s}\n")
    result = headrace.run("names.yaml", verb="qualify")
    for file in kept:
        file.close()
    os.close(held)
    refused(headrace, result, "from storage for each operation")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_names_that_only_root_can_drop_meet_no_need(headrace, on_disk):
    """The bytes are proven cold; names and inodes may have been in memory."""
    honest(headrace.path("data"))
    headrace.write("needs.yaml", """\
schema: 1
target: {path: scratch}
workloads: [{use: small_file_read, path: data, workers: 2, cache: cold, repeat: 5}]
needs: [{id: opens, metric: small_file_read.open_rate, at_least: 1/s}]
""")
    for folder in [headrace.folder, *headrace.folder.parents]:
        os.chmod(folder, folder.stat().st_mode | 0o011)
    subprocess.run(["chown", "-R", "12345", headrace.folder], check=True)
    headrace.under = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    assert headrace.run("needs.yaml", verb="qualify").code == 11  # and its replay gives the same
    [judged] = headrace.results()["judgements"]
    assert judged["outcome"] == "INCONCLUSIVE" and "names and inodes may be in memory" in judged["explanation"], judged
    [point] = headrace.results()["points"]
    assert all("only root" in r["cache"]["warm_names"] for r in point["repetitions"]), point
