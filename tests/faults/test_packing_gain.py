"""What packing would gain is reported before it is done, where each open and each read takes long."""

import os
import subprocess

from conftest import BINARY


def test_small_files_with_slow_opens_gain(counting_faults):
    folder = counting_faults.backing / "images/a"
    folder.mkdir(parents=True)
    for number in range(160):
        (folder / f"{number}.jpg").write_bytes(os.urandom(4000))
    counting_faults.set(*(f"delay *.{kind} op={op} ms=20" for kind in ("jpg", "tar") for op in ("open", "read")))
    done = subprocess.run([BINARY, "pack", str(counting_faults.mount / "images"), "--to", str(counting_faults.mount / "shards"), "--rehearse"],
                          capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done
    words = " ".join(done.stdout.split())
    assert "rehearsed on 160 of 160 samples" in words and "packing gains: reading alone becomes as much faster" in words, words
    assert sorted(p.name for p in counting_faults.backing.iterdir()) == ["images"], (list(counting_faults.backing.rglob("shards*/**/*")), done)


def test_without_byte_counts_no_gain_is_named(faults):
    folder = faults.backing / "images/a"
    folder.mkdir(parents=True)
    for number in range(100):
        (folder / f"{number}.jpg").write_bytes(os.urandom(4000))
    faults.set(*(f"delay *.{kind} op={op} ms=5" for kind in ("jpg", "tar") for op in ("open", "read")))
    done = subprocess.run([BINARY, "pack", str(faults.mount / "images"), "--to", str(faults.mount / "shards"), "--rehearse"],
                          capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done
    words = " ".join(done.stdout.split())
    assert "whether packing gains is not known" in words and "packing gains:" not in words, words


def test_a_sample_that_cannot_be_removed_is_reported(faults):
    folder = faults.backing / "images/a"
    folder.mkdir(parents=True)
    for number in range(20):
        (folder / f"{number}.jpg").write_bytes(os.urandom(4000))
    words = [BINARY, "pack", str(faults.mount / "images"), "--to", str(faults.mount / "shards"), "--rehearse"]
    faults.set("error *.tar op=unlink errno=1")
    refused = subprocess.run(words, capture_output=True, text=True, timeout=170)
    assert refused.returncode == 0 and "warning: the packed sample was not removed: " in refused.stderr, refused
    assert "shards.rehearsal" in refused.stderr and "EPERM" in refused.stderr, refused
    faults.set()
    removed = subprocess.run(words, capture_output=True, text=True, timeout=170)
    assert removed.returncode == 0 and "warning" not in removed.stderr, removed
    assert [p.name for p in faults.backing.iterdir()] == ["images"], (list(faults.backing.iterdir()), removed)
