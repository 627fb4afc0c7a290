"""headrace observe of loaders that are made in many ways, on storage that delays: whoever reads, what they wait for is named."""

import json
import random
import subprocess
import sys

import pytest

from conftest import BINARY, ROOT

pytestmark = pytest.mark.long

WAYS = ROOT / "tests/observe/ways.py"
READS = ("uncached *", "delay *.bin op=read ms={}")
OPENS = ("uncached *", "delay *.bin op=open ms={}")


@pytest.fixture
def data(faults):
    drawn = random.Random(3)
    (faults.mount / "data").mkdir()
    for number in range(40):
        (faults.mount / f"data/{number}.bin").write_bytes(drawn.randbytes(int(drawn.uniform(60e3, 140e3))))
    return faults.mount / "data"


class Seen:
    def __init__(self, folder, outcome):
        self.reported = json.loads((folder / "observe.json").read_text())
        self.truth = json.loads(outcome.stdout.splitlines()[-1])
        self.learned = {one["key"]: one for one in self.reported["learned"]}

    def limits(self, *right):
        """One of those; or the processors, where other programs leave the main thread none."""
        busy = self.reported["consumer"]["queued"]["share"] > 0.2
        assert self.reported["limit"]["id"] in right + (("processor",) if busy else ()), (self.reported["limit"], self.reported["consumer"], self.reported["workers"])

    def near(self, key, truth):
        one = self.learned[key]
        right = one["confidence"] == "guess" or abs(one["value"] - truth) <= 0.05 * truth
        assert right or one["confidence"] == "low" and one["low"] <= truth <= one["high"], (one, truth)


def watched(tmp_path, rules, data, way, *options, before=()):
    faults, rule, ms = rules
    faults.set(*(line.format(ms) for line in rule))
    command = [*before, BINARY, "observe", "--no-report", "--out", "seen", "--", sys.executable, WAYS, data, way, *map(str, options)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done
    return Seen(tmp_path / "seen", done)


@pytest.mark.parametrize("way, threads", [("threads", 4), ("threads", 2), ("alone", 1), ("two_loaders", 4)])
def test_reads_of_threads_and_of_main_threads(tmp_path, faults, data, way, threads):
    other = tmp_path / "other"
    other.mkdir()
    for number in range(8):
        (other / f"{number}.bin").write_bytes(bytes(50000))
    seen = watched(tmp_path, (faults, READS, 12 * threads), data, way, "--step", "0.03", "--threads", threads, "--other", other)
    seen.limits("storage_latency")
    assert seen.reported["data"]["file_system"].startswith("fuse"), seen.reported["data"]
    seen.near("step.time", seen.truth["step"])
    seen.near("step.micro_batch", 8)
    seen.near("dataset.sample_size", sum(p.stat().st_size for p in data.iterdir()) / 40)
    assert seen.learned["dataset.path"]["text"] == str(data)
    assert (seen.reported["workers"] == {}) == (way == "alone")


@pytest.mark.parametrize("way, ms", [("threads", 60), ("alone", 25), ("workers", 25)])
def test_opens(tmp_path, faults, data, way, ms):
    seen = watched(tmp_path, (faults, OPENS, ms), data, way, "--step", "0.03", "--steps", "40")
    seen.limits("slow_opens")


def test_pages_of_a_mapped_file(tmp_path, faults, data):
    file = faults.mount / "mapped.bin"
    with open(file, "wb") as whole:
        for _ in range(32):
            whole.write(random.randbytes(1 << 20))
    seen = watched(tmp_path, (faults, ("delay *.bin op=read ms={}",), 10), file, "mapped", "--step", "0.03", "--steps", "40")
    seen.limits("storage_latency")
    assert seen.learned["dataset.layout"]["text"] == "tokens", seen.learned["dataset.layout"]


def test_the_dataloader_of_pytorch(tmp_path, faults, data):
    pytest.importorskip("torch")
    for way in ("torch_alone", "torch_workers"):
        seen = watched(tmp_path, (faults, READS, 12), data, way, "--step", "0.03", "--steps", "40")
        seen.limits("storage_latency")
        seen.near("dataset.sample_size", sum(p.stat().st_size for p in data.iterdir()) / 40)
        subprocess.run(["rm", "-r", tmp_path / "seen"], check=True)


def test_small_images_that_pillow_reads_in_pieces(tmp_path, faults, data):
    pytest.importorskip("torch")
    image = pytest.importorskip("PIL.Image")
    folder = faults.mount / "images"
    folder.mkdir()
    drawn = random.Random(5)
    for number in range(60):
        image.frombytes("RGB", (160, 160), drawn.randbytes(160 * 160 * 3)).save(folder / f"{number}.jpg", quality=85)
    seen = watched(tmp_path, (faults, ("uncached *", "delay *.jpg op=read ms={}"), 6), folder, "torch_workers", "--step", "0.03", "--steps", "40")
    seen.limits("storage_latency")
    assert seen.learned["dataset.read_profile"]["text"] == "pil", seen.learned["dataset.read_profile"]


@pytest.mark.parametrize("held", ["lock", "read", "written"])
def test_a_descriptor_that_is_inherited_is_no_data_set(tmp_path, faults, data, held):
    """As under flock, which cron starts jobs by, or with a configuration that a shell had read from."""
    other = tmp_path / "locks"
    other.mkdir()
    (other / "lock").write_bytes(bytes(200000))
    opened = {"lock": "exec 7<locks/lock", "read": "exec 7<locks/lock; head -c 10 <&7 >/dev/null", "written": "exec 7>>locks/lock"}[held]
    seen = watched(tmp_path, (faults, READS, 12), data, "workers", "--step", "0.03", "--steps", "40",
                   before=["sh", "-c", f"{opened}; exec \"$@\"", "sh"])
    seen.limits("storage_latency")
    assert seen.learned["dataset.path"]["text"] == str(data), seen.learned
    seen.near("step.micro_batch", 8)
    seen.near("dataset.sample_size", sum(p.stat().st_size for p in data.iterdir()) / 40)


def test_a_device_that_others_keep_busy_is_not_blamed(tmp_path, faults, data):
    """The lock and the neighbour's files lie on a disk, the job's on storage that delays."""
    (tmp_path / "lock").write_bytes(bytes(100))
    seen = watched(tmp_path, (faults, READS, 12), data, "workers", "--step", "0.03", "--steps", "40", before=["flock", str(tmp_path / "lock")])
    seen.limits("storage_latency")
    assert seen.reported["storage"]["device"] == "", seen.reported["storage"]


SHIM = """#!/bin/bash
for again in 1 2 3 4; do for f in lib/*; do bash -c '. "$0"' "$f"; done; done
exec %s "$@"
"""


def test_a_script_that_reads_scripts_is_seen_through(tmp_path, faults, data):
    (tmp_path / "lib").mkdir()
    for number in range(20):
        (tmp_path / f"lib/part-{number}").write_text("# nothing\n" * 40)
    shim = tmp_path / "python-shim"
    shim.write_text(SHIM % sys.executable)
    shim.chmod(0o755)
    faults.set(*(line.format(12) for line in READS))
    done = subprocess.run([BINARY, "observe", "--no-report", "--out", "seen", "--", "./python-shim", WAYS, data, "workers", "--step", "0.03", "--steps", "40"],
                          cwd=tmp_path, capture_output=True, text=True, timeout=180)
    seen = Seen(tmp_path / "seen", done)
    seen.limits("storage_latency")
    assert seen.learned["dataset.path"]["text"] == str(data), seen.learned["dataset.path"]
    seen.near("step.micro_batch", 8)
    assert seen.learned["loader.workers_per_gpu"]["value"] == 2
