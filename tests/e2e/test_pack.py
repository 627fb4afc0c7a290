"""Images packed into shards: what comes out is what went in, as other programs read it; nothing of the user's is touched,
whatever ends it; and what must be refused is."""

import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tarfile
import tempfile
import time

import pytest

import test_shards

CLASSES = ["bird", "cat", "dog"]


def images(folder, each=20, size=4000):
    for name in CLASSES:
        (folder / name).mkdir(parents=True)
        for number in range(each):
            (folder / name / f"{name}_{number}.JPEG").write_bytes(os.urandom(size + 37 * number))
    return folder


def state(folder):
    return {str(p.relative_to(folder)): (p.stat().st_mtime_ns, p.stat().st_mode, p.read_bytes())
            for p in sorted(folder.rglob("*")) if p.is_file() and p.name != ".headrace"}  # a mark says who used it last


def pack(headrace, *words, **changes):
    return headrace("pack", "images", "--to", "shards", "--shard-size", "1MiB", *words, **changes)


def samples_of(shards):
    """By Python's tarfile: key -> {part: bytes}."""
    samples = {}
    for path in sorted(shards.glob("*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                folder, _, base = member.name.rpartition("/")
                key, _, part = base.partition(".")
                sample = samples.setdefault(f"{folder}/{key}", {})
                assert part not in sample, member.name
                sample[part] = archive.extractfile(member).read()
    return samples


def expected(folder):
    return {f"{label}/{path.stem}": {"jpeg": path.read_bytes(), "cls": str(number).encode()}
            for number, label in enumerate(CLASSES) for path in (folder / label).iterdir()}


def test_output_equals_input(headrace):
    folder = images(headrace.path("images"), each=300)
    before = state(folder)
    outcome = pack(headrace)
    shards = headrace.path("shards")
    assert outcome.code == 0 and "packed 900 samples into" in outcome.out, outcome
    assert samples_of(shards) == expected(folder) and state(folder) == before
    files = sorted(shards.glob("*.tar"))
    assert len(files) > 1 and all(f.stat().st_size <= 1 << 20 for f in files), "at most the shard size"
    assert all(f.stat().st_mode & 0o7000 == 0 for f in files), "they are the user's"
    assert subprocess.run(["tar", "tf", files[0]], capture_output=True).returncode == 0
    reported = json.loads((shards / ".headrace-pack.json").read_text())
    assert reported["complete"] and sum(s["samples"] for s in reported["shards"]) == 900 and reported["classes"] == CLASSES, reported
    first = list(samples_of(shards))
    assert first != sorted(first), "shuffled"


def test_headrace_reads_them_as_a_loader_does(headrace):
    images(headrace.path("images"))
    for form in ("tar", "tfrecord", "mds"):
        assert headrace("pack", "images", "--to", "own", "--format", form).code == 0
        outcome, point = test_shards.read(headrace, "fail", workers=1)
        assert outcome.code == 0 and test_shards.operations(point) == 60 and test_shards.metric(point, "bad_samples") == 0, point
        assert any(f"1 {form} shards, parsed" in n for n in point["notes"]), point["notes"]
        shutil.rmtree(headrace.path("own"))
        shutil.rmtree(headrace.path("fail"))


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def message(data):
    """Fields of a protocol buffer of length-delimited fields: (number, bytes)."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2, tag
        length, at = varint(data, at)
        yield tag >> 3, data[at:at + length]
        at += length


def test_records_are_examples(headrace):
    folder = images(headrace.path("images"), each=5)
    assert pack(headrace, "--format", "tfrecord", "--order", "listed").code == 0
    data, seen = headrace.path("shards/shard-000000.tfrecord").read_bytes(), []
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == test_shards.crc32c(data[at:at + 8])
        record = data[at + 12:at + 12 + length]
        assert struct.unpack_from("<I", data, at + 12 + length)[0] == test_shards.crc32c(record)
        at += 16 + length
        ((_, features),) = message(record)
        example = {}
        for _, entry in message(features):
            fields = dict(message(entry))
            ((kind, values),) = message(fields[2])
            ((_, value),) = message(values)
            example[fields[1].decode()] = varint(value, 0)[0] if kind == 3 else value
        seen.append(example)
    assert len(seen) == 15
    for example in seen:
        label = example["image/class/text"].decode()
        assert example["image/class/label"] == CLASSES.index(label) and example["image/format"] == b"jpeg"
        assert example["image/encoded"] == (folder / label / example["image/filename"].decode()).read_bytes()


def mds_samples(shards):
    """By the index, as StreamingDataset finds them: (class, bytes of the image, the other columns), in order."""
    index, samples = json.loads((shards / "index.json").read_text()), []
    assert index["version"] == 2
    for shard in index["shards"]:
        assert shard["format"] == "mds" and shard["compression"] is None and shard["zip_data"] is None
        data = (shards / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"] <= shard["size_limit"]
        count, *places = struct.unpack_from(f"<{shard['samples'] + 2}I", data)
        assert count == shard["samples"] and places[-1] == len(data)
        settings = json.loads(data[4 * (count + 2):places[0]])
        assert settings == {key: shard[key] for key in settings} and settings["column_names"] == sorted(settings["column_names"])
        for begin, end in zip(places, places[1:]):
            unknown = sum(size is None for size in settings["column_sizes"])
            sizes, at, sample = list(struct.unpack_from(f"<{unknown}I", data, begin)), begin + 4 * unknown, {}
            for name, size in zip(settings["column_names"], settings["column_sizes"]):
                size = sizes.pop(0) if size is None else size
                sample[name] = data[at:at + size]
                at += size
            assert at == end
            samples.append((struct.unpack("<q", sample.pop("y"))[0] if "y" in sample else None, sample.pop("x"), sample))
    return samples, index["shards"][0]


def test_mds_shards_hold_the_input(headrace):
    folder = images(headrace.path("images"), each=300)
    outcome = pack(headrace, "--format", "mds")
    shards = headrace.path("shards")
    assert outcome.code == 0 and "packed 900 samples into" in outcome.out, outcome
    samples, shard = mds_samples(shards)
    assert sorted(samples, key=lambda s: s[:2]) == sorted(
        ((number, path.read_bytes(), {}) for number, label in enumerate(CLASSES) for path in (folder / label).iterdir()),
        key=lambda s: s[:2])
    assert shard["column_names"] == ["x", "y"] and shard["column_encodings"] == ["jpeg", "int"] and shard["column_sizes"] == [None, 8]
    assert len(list(shards.glob("shard.?????.mds"))) > 3
    before = state(shards)
    assert pack(headrace, "--format", "mds").code == 0
    assert {k: v for k, v in state(shards).items() if k[0] != "."} == {k: v for k, v in before.items() if k[0] != "."}


def test_an_mds_index_is_written_last(headrace):
    folder, shards = images(headrace.path("images"), each=400, size=12_000), headrace.path("shards")
    process = headrace.start("pack", "images", "--to", "shards", "--shard-size", "1MiB", "--format", "mds")
    end = time.monotonic() + 60
    while process.poll() is None and len(list(shards.glob("*.mds"))) < 2 and time.monotonic() < end:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    if process.returncode == 0:
        pytest.skip("it was over before")
    assert list(shards.glob("*.mds")) and not (shards / "index.json").exists()
    kept = {p.name: p.stat().st_ino for p in shards.glob("*.mds")}
    assert pack(headrace, "--format", "mds").code == 0 and len(mds_samples(shards)[0]) == 1200
    assert kept.items() <= {p.name: p.stat().st_ino for p in shards.glob("*.mds")}.items(), "what was there stays"
    (shards / "index.json").unlink()
    assert pack(headrace, "--format", "mds").code == 0 and len(mds_samples(shards)[0]) == 1200, "and it comes again"
    (shards / "index.json").write_text("{}")
    outcome = pack(headrace, "--format", "mds")
    assert outcome.code == 1 and "index.json: is not the shard that was packed there" in outcome.err, outcome
    assert len(list(folder.rglob("*.JPEG"))) == 1200


def test_mds_samples_have_the_same_columns(headrace):
    folder = headrace.path("images")
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.png").write_bytes(name.encode())
        (folder / f"{name}.json").write_bytes(b"{}")
    assert headrace("pack", "images", "--to", "whole", "--format", "mds").code == 0
    samples, shard = mds_samples(headrace.path("whole"))
    assert sorted(s[1:] for s in samples) == [(b"a", {"json": b"{}"}), (b"b", {"json": b"{}"})] and shard["column_encodings"] == [
        "bytes", "png"]
    (folder / "b.json").unlink()
    outcome = pack(headrace, "--format", "mds")
    assert outcome.code == 2 and "b.png has no .json of the same name, which others have" in outcome.err, outcome
    assert pack(headrace).code == 0, "a tar may have them"


def test_an_mds_shard_has_less_than_4_gib(headrace):
    images(headrace.path("images"))
    outcome = headrace("pack", "images", "--to", "shards", "--format", "mds", "--shard-size", "4GiB")
    assert outcome.code == 2 and "an MDS shard has less than 4GiB" in outcome.err, outcome
    assert headrace("pack", "images", "--to", "shards", "--format", "tar", "--shard-size", "4GiB").code == 0


def test_the_real_library_reads_mds_shards(headrace):
    streaming = pytest.importorskip("streaming", reason="mosaicml-streaming is not installed")
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    folder = headrace.path("images")
    for number, label in enumerate(CLASSES):
        (folder / label).mkdir(parents=True)
        for shade in range(40):
            image.new("RGB", (20 + shade, 10), (number, shade, 7)).save(folder / label / f"{shade}.png")
    assert pack(headrace, "--format", "mds", "--order", "listed").code == 0
    data = streaming.StreamingDataset(local=str(headrace.path("shards")), shuffle=False, batch_size=1)
    assert len(data) == 120
    seen = [(int(s["y"]), s["x"].size[0] - 20, s["x"].convert("RGB").getpixel((3, 3))) for s in (data[i] for i in range(120))]
    assert sorted(seen) == [(c, s, (c, s, 7)) for c in range(3) for s in range(40)]


def test_a_dry_run_writes_nothing(headrace):
    images(headrace.path("images"))
    (headrace.path("images/cat/.hidden.jpg")).write_bytes(b"x")
    (headrace.path("images/cat/README")).write_bytes(b"x")
    outcome = pack(headrace, "--dry-run")
    assert outcome.code == 0 and "60 samples of 3 classes" in outcome.out and not headrace.path("shards").exists(), outcome
    assert "left out: 1 (hidden)" in outcome.out and "left out: 1 (no extension)" in outcome.out, outcome


def test_done_is_done(headrace):
    images(headrace.path("images"))
    assert pack(headrace).code == 0
    before = state(headrace.path("shards"))
    outcome = pack(headrace)
    assert outcome.code == 0 and "were there already" in outcome.out, outcome
    after = state(headrace.path("shards"))
    assert {k: v for k, v in after.items() if k.endswith(".tar")} == {k: v for k, v in before.items() if k.endswith(".tar")}


def test_killed_at_any_time_it_goes_on(headrace):
    folder = images(headrace.path("images"), each=400, size=12_000)
    shards, kept = headrace.path("shards"), set()
    for stop in [signal.SIGKILL, signal.SIGINT, signal.SIGTERM] * 2:
        process = headrace.start("pack", "images", "--to", "shards", "--shard-size", "1MiB")
        wanted, end = len(kept) + 2, time.monotonic() + 60
        while process.poll() is None and len(list(shards.glob("*.tar"))) < wanted and time.monotonic() < end:
            time.sleep(0.002)
        process.send_signal(stop)
        process.communicate()
        whole = {p.name: (p.stat().st_ino, p.stat().st_size) for p in shards.glob("*.tar")}
        for name in whole:  # what has a name is whole
            with tarfile.open(shards / name) as archive:
                assert len(archive.getmembers()) > 0
        assert kept <= set(whole.items()), "what was there stays as it was"
        kept = set(whole.items())
    outcome = pack(headrace)
    assert outcome.code == 0 and samples_of(shards) == expected(folder), outcome
    assert kept <= {(p.name, (p.stat().st_ino, p.stat().st_size)) for p in shards.glob("*.tar")}
    assert sorted(p.name for p in shards.iterdir() if not p.name.endswith(".tar")) == [".headrace", ".headrace-pack.json"]


def test_a_target_that_is_not_its_own_is_refused(headrace):
    images(headrace.path("images"))
    shards = headrace.path("shards")
    shards.mkdir()
    (shards / "thesis.tex").write_text("mine")
    for words in ((), ("--dry-run",)):
        outcome = pack(headrace, *words)
        assert outcome.code == 2 and "holds something that headrace did not pack" in outcome.err, outcome
    assert [p.name for p in shards.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("target", ["images/shards", ".", "images"])
def test_one_folder_in_the_other_is_refused(headrace, target):
    folder = images(headrace.path("images"))
    before = state(folder)
    outcome = headrace("pack", "images", "--to", target)
    assert outcome.code == 2 and "lie in each other" in outcome.err and state(folder) == before, outcome


def test_foreign_shard_is_refused(headrace):
    images(headrace.path("images"))
    assert pack(headrace).code == 0
    shard = headrace.path("shards/shard-000000.tar")
    shard.write_bytes(b"mine")
    outcome = pack(headrace)
    assert outcome.code == 1 and "is not the shard that was packed there" in outcome.err and shard.read_bytes() == b"mine", outcome


@pytest.mark.parametrize("form", ["tar", "tfrecord", "mds"])
def test_a_shard_with_other_bytes_is_refused(headrace, form):
    images(headrace.path("images"))
    assert pack(headrace, "--format", form).code == 0
    shards = headrace.path("shards")
    [shard] = shards.glob(f"shard*.{form}")
    original, packed_at = shard.read_bytes(), shard.stat().st_mtime_ns
    changed = bytearray(original)
    changed[len(changed) // 2] ^= 1
    shard.write_bytes(changed)
    os.utime(shard, ns=(packed_at, packed_at + 10**10))
    before = state(shards)
    outcome = pack(headrace, "--format", form)
    assert outcome.code == 1 and f"{shard.name}: is not the shard that was packed there" in outcome.err, outcome
    assert "remove it and pack again, or name another --to" in outcome.err and state(shards) == before, outcome
    shard.unlink()
    assert pack(headrace, "--format", form).code == 0 and shard.read_bytes() == original
    os.utime(shard, ns=(0, 0))
    outcome = pack(headrace, "--format", form)
    assert outcome.code == 0 and "1 shards were there already" in outcome.out, "another time alone is no change"


def test_names_of_any_bytes_are_continued(headrace):
    folder = headrace.path(os.fsdecode(b"im\xe9ges"))
    (folder / os.fsdecode(b"caf\xe9")).mkdir(parents=True)
    (folder / os.fsdecode(b"caf\xe9") / os.fsdecode(b"caf\xe9.jpg")).write_bytes(b"image")
    assert headrace("pack", str(folder), "--to", "shards").code == 0
    reported = json.loads(headrace.path("shards/.headrace-pack.json").read_text())
    assert reported["classes"] == [{"hex": b"caf\xe9".hex()}], reported
    assert bytes.fromhex(reported["source"]["hex"]) == os.fsencode(folder.resolve()), reported
    outcome = headrace("pack", str(folder), "--to", "shards")
    assert outcome.code == 0 and "1 shards were there already" in outcome.out, outcome
    (folder / os.fsdecode(b"caf\xe9")).rename(folder / os.fsdecode(b"caf\xe8"))
    outcome = headrace("pack", str(folder), "--to", "shards")
    assert outcome.code == 2 and "(its classes changed)" in outcome.err, outcome


def test_a_folder_that_changed_since_is_refused(headrace):
    folder = images(headrace.path("images"))
    assert pack(headrace).code == 0
    before = state(headrace.path("shards"))
    (folder / "cat/cat_3.JPEG").write_bytes(b"another")
    outcome = pack(headrace)
    assert outcome.code == 2 and "was changed since" in outcome.err and state(headrace.path("shards")) == before, outcome
    outcome = pack(headrace, "--format", "tfrecord")
    assert outcome.code == 2 and "another packing (its format changed)" in outcome.err, outcome


def test_file_changed_during_packing_is_named(headrace):
    """Each of the last class is rewritten once the first shard is there."""
    folder = images(headrace.path("images"), each=400, size=100_000)
    process = headrace.start("pack", "images", "--to", "shards", "--shard-size", "1MiB", "--order", "listed")
    while process.poll() is None and not list(headrace.path("shards").glob("*.tar")):
        time.sleep(0.001)
    for path in (folder / "dog").iterdir():
        path.write_bytes(b"another")
    out, err = process.communicate(timeout=120)
    if process.returncode == 0:
        pytest.skip("it was over before")
    assert process.returncode == 1 and "/dog/dog_" in err and "was changed while it was packed" in err, err
    assert not list(headrace.path("shards").glob(".headrace-shard*")), "what is no shard is taken away"
    for name in headrace.path("shards").glob("*.tar"):
        with tarfile.open(name) as archive:
            archive.getmembers()


def test_too_little_space_is_reported_before(headrace):
    folder = images(headrace.path("images"))
    with open(folder / "cat/huge.jpg", "wb") as file:
        file.truncate(1 << 30)
    for number in range(300):
        os.link(folder / "cat/huge.jpg", folder / f"cat/huge{number}.jpg")
    free = shutil.disk_usage(headrace.path(".")).free
    if free > 300 << 30:
        pytest.skip("there is room for 300 GiB")
    outcome = pack(headrace)
    assert outcome.code == 1 and "the shards need" in outcome.err and "are free" in outcome.err, outcome
    assert not headrace.path("shards").exists()


def test_a_disk_that_becomes_full_leaves_whole_shards(headrace):
    folder = images(headrace.path("images"), each=300)
    headrace.under = ["prlimit", "--fsize=700000"]  # a file that may not grow stands for a full disk
    outcome = pack(headrace)
    assert outcome.code == 1 and "write" in outcome.err and "EFBIG" in outcome.err, outcome
    assert not [p for p in headrace.path("shards").iterdir() if "shard-" in p.name], "nothing is left"
    headrace.under = []
    assert pack(headrace).code == 0 and samples_of(headrace.path("shards")) == expected(folder)


FULL_DISK = """
mount -t tmpfs -o size=$1k none full || exit 77
run() { "$2" pack images --to full/shards --shard-size 1MiB > "$1.out" 2> "$1.err"; echo $? > "$1.code"; }
run first "$2"
grep -q 'the shards need' first.err && exit 76
mkdir left && cp -a full/shards/. left
mount -o remount,size=256m full
run second "$2"
mkdir whole && cp -a full/shards/. whole
"""


def test_a_disk_that_is_full_before_the_last_shard_is_written(headrace):
    """A tmpfs of its own, with as much room as the shards have bytes: not enough for them in whole pages, and for what is
    noted of them."""
    if subprocess.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    folder = images(headrace.path("images"), each=700)
    before = state(folder)
    assert headrace("pack", "images", "--to", "plain", "--shard-size", "1MiB").code == 0
    needed = sum(p.stat().st_size for p in headrace.path("plain").glob("*.tar"))
    headrace.path("full").mkdir()
    for pages in range(-(-needed // 4096), -(-needed // 4096) + 40):  # the first that is not refused before anything is written
        for name in ("left", "whole"):
            shutil.rmtree(headrace.path(name), ignore_errors=True)
        done = subprocess.run(["unshare", "-Urm", "sh", "-c", FULL_DISK, "sh", str(4 * pages), headrace.binary],
                              cwd=headrace.path("."), env=headrace.environment(), capture_output=True, text=True)
        if done.returncode == 77:
            pytest.skip("no file system can be mounted here")
        if done.returncode != 76:
            break
    assert done.returncode == 0, done
    reported = headrace.path("first.err").read_text()
    assert headrace.path("first.code").read_text() == "1\n" and "ENOSPC" in reported and "full/shards/" in reported, reported
    assert reported.count("\n") == 1, reported
    left = headrace.path("left")
    shards = {p.name: p.read_bytes() for p in left.glob("*.tar")}
    assert not list(left.glob(".headrace-shard*")), "no half shard is left"
    for name in shards:
        with tarfile.open(left / name) as archive:
            assert archive.getmembers()
    known = {s["name"]: s["bytes"] for s in json.loads((left / ".headrace-pack.json").read_text())["shards"]}
    assert {name: len(data) for name, data in shards.items()}.items() <= known.items(), known
    # With room it goes on where it ended.
    whole = headrace.path("whole")
    assert headrace.path("second.code").read_text() == "0\n", headrace.path("second.err").read_text()
    assert shards and f"{len(shards)} shards were there already" in headrace.path("second.out").read_text()
    assert all((whole / name).read_bytes() == data for name, data in shards.items())
    assert samples_of(whole) == expected(folder) and state(folder) == before


def test_gain_of_packing_is_reported_before(headrace):
    folder = images(headrace.path("images"), each=100, size=30_000)
    before = state(folder)
    outcome = pack(headrace, "--rehearse")
    words = " ".join(outcome.out.split())
    assert outcome.code == 0 and "rehearsed on 300 of 300 samples" in words and "8 workers, 6 turns: as files" in words, outcome
    assert "packing gains" in words or "packing loses" in words or "is not known" in words, outcome
    assert state(folder) == before and sorted(p.name for p in headrace.path(".").iterdir()) == ["images", "tiny.yaml"]
    both = pack(headrace, "--rehearse", "--dry-run")
    assert both.code == 2 and "--dry-run writes nothing, and --rehearse packs a sample" in both.err, both


def test_no_gain_is_reported_from_memory(headrace):
    if not os.path.ismount("/dev/shm"):
        pytest.skip("no tmpfs here")
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="headrace-e2e-") as memory:
        images(pathlib.Path(memory) / "images")
        outcome = headrace("pack", f"{memory}/images", "--to", f"{memory}/shards", "--rehearse")
        assert os.listdir(memory) == ["images"]
    assert outcome.code == 0 and "whether packing gains is not known: memory gave some of it" in outcome.out, outcome


def test_names_that_would_be_one_sample_are_refused(headrace):
    folder = images(headrace.path("images"))
    (folder / "cat/a.b.jpg").write_bytes(b"x")
    (folder / "cat/a_b.jpg").write_bytes(b"y")
    outcome = pack(headrace)
    assert outcome.code == 2 and "cat/a.b.jpg and" in outcome.err and "would be one sample" in outcome.err, outcome
    (folder / "cat/a_b.jpg").unlink()
    (folder / "loose.jpg").write_bytes(b"z")
    outcome = pack(headrace)
    assert outcome.code == 2 and "loose.jpg is in no folder of a class" in outcome.err, outcome


@pytest.mark.parametrize("form", ["tar", "tfrecord", "mds"])
def test_lost_or_renumbered_samples_are_refused(headrace, form):
    """The same for each format; nothing is written, and what is in the way is named."""
    folder = images(headrace.path("images"), each=3)
    changes = [("cat/cat_1.jpg", lambda p: p.write_bytes(b"x"), "would both be the image of one sample"),
               ("cat/cat_1.png", lambda p: p.write_bytes(b"x"), "would both be the image of one sample"),
               ("cat/cat_1.jpeg", lambda p: p.write_bytes(b"x"), "would both be the image of one sample"),
               (".ipynb_checkpoints", lambda p: p.mkdir(), "is a hidden folder"),
               ("ant", lambda p: p.symlink_to(folder / "cat"), "is a symbolic link"),
               ("cat/link.jpg", lambda p: p.symlink_to(folder / "dog/dog_1.JPEG"), "is a symbolic link")]
    for name, change, why in changes:
        change(folder / name)
        outcome = pack(headrace, "--format", form)
        assert outcome.code == 2 and why in outcome.err and name in outcome.err, outcome
        assert not headrace.path("shards").exists(), name
        (folder / name).rmdir() if name[0] == "." else (folder / name).unlink()
    assert pack(headrace, "--format", form).code == 0


def test_an_empty_class_has_a_number_too(headrace):
    folder = images(headrace.path("images"), each=3)
    (folder / "bison").mkdir()
    outcome = pack(headrace)
    assert outcome.code == 0 and "3 samples" not in outcome.out and "class without a file: bison" in outcome.out, outcome
    labels = {key.split("/")[0]: sample["cls"] for key, sample in samples_of(headrace.path("shards")).items()}
    assert labels == {"bird": b"0", "cat": b"2", "dog": b"3"}


def test_a_file_without_a_byte_is_packed(headrace):
    folder = headrace.path("images")
    folder.mkdir()
    (folder / "a.jpg").write_bytes(b"image")
    (folder / "a.txt").write_bytes(b"")
    outcome = pack(headrace)
    assert outcome.code == 0 and "0 bytes, packed as it is: a.txt" in outcome.out, outcome
    assert samples_of(headrace.path("shards")) == {"/a": {"jpg": b"image", "txt": b""}}


def test_the_first_file_without_an_image_is_named(headrace):
    folder = headrace.path("images")
    (folder / "a").mkdir(parents=True)
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d7a" * 16 + b"\nsize 12345\n"
    for i in range(3):
        (folder / "a" / f"{i}.jpg").write_bytes(pointer)
    outcome = pack(headrace, "--dry-run")
    assert outcome.code == 0 and "no image, packed as it is: a/" in outcome.out and ".jpg (Git LFS pointers)" in outcome.out, outcome
    for i in range(3):
        (folder / "a" / f"{i}.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(100))
    assert "no image" not in pack(headrace, "--dry-run").out
    for i in range(3):
        (folder / "a" / f"{i}.jpg").rename(folder / "a" / f"{i}.tar")
    (folder / "a" / "next.npy").write_bytes(bytes(100))  # shards alone would be taken apart
    outcome = pack(headrace, "--dry-run")
    assert outcome.code == 0 and "no image, packed as it is: a/" in outcome.out and ".tar (a shard, tar)" in outcome.out, outcome


def test_killed_before_its_target_was_marked_it_goes_on(headrace):
    folder, shards = images(headrace.path("images")), headrace.path("shards")
    shards.mkdir()
    aside = shards / ".headrace.0123456789abcdef.new"
    aside.touch(mode=0o644)
    aside.chmod(0o1644)  # as headrace makes it
    assert pack(headrace).code == 0 and samples_of(shards) == expected(folder)
    part = shards / ".headrace-shard-000009.tar.part"
    for left in (aside, part):
        left.touch()
        left.chmod(0o1644)
    assert pack(headrace).code == 0
    assert sorted(p.name for p in shards.iterdir() if p.suffix != ".tar") == [".headrace", ".headrace-pack.json"]


@pytest.mark.parametrize("words", [(), ("--rehearse",)])
def test_little_memory_for_threads_is_an_error_in_words(headrace, words):
    images(headrace.path("images"), each=30)
    codes = set()
    for room in range(32, 2000, 24):  # [MiB] of addresses, which stacks of threads take
        headrace.under = ["prlimit", f"--as={room << 20}"]
        outcome = pack(headrace, *words)
        if "error while loading shared libraries" in outcome.err:
            continue
        assert outcome.code in (0, 1), (room, outcome)
        assert outcome.code == 0 or outcome.err.startswith("headrace: "), (room, outcome)
        assert not [p for p in headrace.path(".").rglob("*.part")], room
        codes.add(outcome.code)
        if outcome.code == 0:
            break
    assert codes == {0, 1}, "it was tried on both sides of the limit"


def test_files_next_to_an_image_go_with_it(headrace):
    folder = headrace.path("images")
    folder.mkdir()
    (folder / "a.jpg").write_bytes(b"image")
    (folder / "a.json").write_bytes(b"{}")
    (folder / "b.v2.jpg").write_bytes(b"other")
    assert pack(headrace).code == 0
    assert samples_of(headrace.path("shards")) == {"/a": {"jpg": b"image", "json": b"{}"}, "/b_v2": {"jpg": b"other"}}


def test_no_reader_skips_a_sample(headrace):
    """By the rule of WebDataset's readers."""
    folder = headrace.path("images")
    for name in ("__c__", "___d__", "____x__", "____", "__e"):
        (folder / name).mkdir(parents=True)
        (folder / name / "1.jpg").write_bytes(name.encode())
    assert pack(headrace).code == 0
    kept = {key: sample["jpg"] for key, sample in samples_of(headrace.path("shards")).items() if not re.match(r"__[^/]*__($|/)", key)}
    assert kept == {"_c__/1": b"__c__", "_d__/1": b"___d__", "_x__/1": b"____x__", "_/1": b"____", "_e/1": b"__e"}
