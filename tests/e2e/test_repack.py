"""Shards of one format packed into another: samples keep their bytes and classes; anything else is refused. Sources
are made by Python's tarfile, and by writers of TFRecord and MDS that share nothing with headrace."""

import io
import json
import os
import struct
import tarfile

import pytest

import test_pack
import test_shards

JPEG, PNG = b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n"


def put_tar(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as out:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))


def varint(value):
    out = b""
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(**features):
    """Integers lie unpacked, as proto2 writes them, floats packed."""
    kinds = {bytes: lambda values: field(1, b"".join(field(1, v) for v in values)),
             int: lambda values: field(3, b"".join(b"\x08" + varint(v & 2 ** 64 - 1) for v in values)),
             float: lambda values: field(2, field(1, struct.pack(f"<{len(values)}f", *values)))}
    entries = b"".join(field(1, field(1, name.encode()) + field(2, kinds[type(values[0])](values)))
                       for name, values in features.items())
    return field(1, entries)


def put_records(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as out:
        for data in records:
            length = struct.pack("<Q", len(data))
            out.write(length + struct.pack("<I", test_shards.crc32c(length)) + data + struct.pack("<I", test_shards.crc32c(data)))


def records_of(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        yield data[at + 12:at + 12 + length]
        at += 16 + length


def put_mds(folder, columns, samples, index=True):
    """columns: name, encoding, fixed size or None."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"format": "mds", "version": 2, "compression": None, "hashes": [], "size_limit": 1 << 26,
                "column_names": [c[0] for c in columns], "column_encodings": [c[1] for c in columns],
                "column_sizes": [c[2] for c in columns]}
    text = json.dumps(settings).encode()
    bodies = [b"".join(struct.pack("<I", len(v)) for v, c in zip(sample, columns) if c[2] is None) + b"".join(sample)
              for sample in samples]
    ends = [4 * (len(bodies) + 2) + len(text)]
    for body in bodies:
        ends.append(ends[-1] + len(body))
    shard = struct.pack(f"<{len(ends) + 1}I", len(bodies), *ends) + text + b"".join(bodies)
    (folder / "shard.00000.mds").write_bytes(shard)
    raw = {"basename": "shard.00000.mds", "bytes": len(shard), "hashes": {}}
    if index:
        (folder / "index.json").write_text(json.dumps(
            {"version": 2, "shards": [settings | {"samples": len(bodies), "raw_data": raw, "zip_data": None}]}))


def pack(headrace, source, target, form, *words):
    return headrace("pack", source, "--to", target, "--format", form, "--order", "listed", *words)


def tar_of_images(headrace, count=9):
    samples = {f"c{i % 3}/i{i}": {"jpg": JPEG + os.urandom(300 + i), "cls": b"%d" % (i % 3), "json": b'{"i": %d}' % i} for i in range(count)}
    members = [(f"{key}.{part}", data) for key, parts in samples.items() for part, data in parts.items()]
    put_tar(headrace.path("own/a.tar"), members[:12])
    put_tar(headrace.path("own/b.tar"), members[12:] + [("README", b"no sample")])
    return samples


def test_samples_keep_their_parts_and_classes_through_every_format(headrace):
    samples = tar_of_images(headrace)
    source = "own"
    for number, form in enumerate(("mds", "tfrecord", "mds", "tar", "tar")):
        target = f"to_{number}"
        outcome = pack(headrace, source, target, form)
        assert outcome.code == 0 and "packed 9 samples into 1 shards" in outcome.out, (source, form, outcome)
        if source == "own":
            assert "own: 9 samples in 2 tar shards" in outcome.out and "left out: 1 (file of no sample in a shard)" in outcome.out, outcome
        source = target
    kept = [{k: v for k, v in s.items() if not k.startswith("image_")} for _, s in sorted(test_pack.samples_of(headrace.path(source)).items())]
    assert kept == [s for _, s in sorted(samples.items(), key=lambda one: int(one[0][4:]))]


def test_mds_of_a_tar_has_images_and_classes(headrace):
    samples = tar_of_images(headrace)
    assert pack(headrace, "own", "shards", "mds").code == 0
    found, shard = test_pack.mds_samples(headrace.path("shards"))
    assert sorted(found, key=str) == sorted(((int(s["cls"]), s["jpg"], {"json": s["json"]}) for s in samples.values()), key=str)
    assert shard["column_names"] == ["json", "x", "y"] and shard["column_encodings"] == ["bytes", "jpeg", "int"]


def tfds(headrace, count=6):
    """As TensorFlow Datasets writes it, with its side files; returns the records."""
    records = [example(**{"image": [PNG + bytes([i]) * 99], "label": [i], "file_name": [b"%d.png" % i], "box": [0.5, -1.25], "ids": [3, -4]})
               for i in range(count)]
    folder = headrace.path("mnist/3.0.1")
    for shard in range(2):
        put_records(folder / f"mnist-train.tfrecord-{shard:05}-of-00002", records[shard::2])
    for name in ("dataset_info.json", "features.json", "label.labels.txt"):
        (folder / name).write_text("{}")
    return records


def test_a_folder_of_tensorflow_datasets_becomes_files(headrace):
    tfds(headrace)
    outcome = pack(headrace, "mnist/3.0.1", "shards", "tar")
    assert outcome.code == 0 and "6 samples in 2 tfrecord shards" in outcome.out and "left out: 3 (side file of shards)" in outcome.out, outcome
    found = sorted(test_pack.samples_of(headrace.path("shards")).items())
    assert [sample for _, sample in found] == [
        {"png": PNG + bytes([i]) * 99, "cls": b"%d" % i, "file_name": b"%d.png" % i, "box.json": b"[0.5, -1.25]", "ids.json": b"[3, -4]"}
        for i in (0, 2, 4, 1, 3, 5)]


def test_records_are_copied_as_they_are(headrace):
    records = tfds(headrace)
    assert pack(headrace, "mnist/3.0.1", "shards", "tfrecord").code == 0
    assert list(records_of(headrace.path("shards/shard-000000.tfrecord"))) == records[0::2] + records[1::2]


def test_mds_is_copied_with_its_columns(headrace):
    columns, samples = [("a", "ndarray:float32", None), ("b", "int", 8)], [(os.urandom(20 + i), struct.pack("<q", i)) for i in range(5)]
    put_mds(headrace.path("own"), columns, samples)
    assert pack(headrace, "own", "shards", "mds").code == 0
    index = json.loads(headrace.path("shards/index.json").read_text())["shards"][0]
    assert [index[f"column_{key}"] for key in ("names", "encodings", "sizes")] == [list(c) for c in zip(*columns)]
    assert headrace.path("shards/shard.00000.mds").read_bytes().endswith(b"".join(struct.pack("<I", len(a)) + a + b for a, b in samples))


def test_columns_become_files(headrace):
    put_mds(headrace.path("own"), [("depth", "png", None), ("id", "int32", 4), ("rgb", "bytes", None), ("say", "str", None), ("w", "float64", 8), ("y", "int", 8)],
            [(PNG + b"d", struct.pack("<i", -7), JPEG + b"r" * 9, b"a b", struct.pack("<d", 0.1), struct.pack("<q", 4))])
    assert pack(headrace, "own", "shards", "tar").code == 0
    assert list(test_pack.samples_of(headrace.path("shards")).values()) == [
        {"depth.png": PNG + b"d", "id.json": b"-7", "rgb.jpg": JPEG + b"r" * 9, "say.txt": b"a b", "w.json": b"0.1", "cls": b"4"}]


def test_a_snapshot_of_hugging_face_is_links(headrace):
    samples = tar_of_images(headrace)
    snapshot, blobs = headrace.path("hub/snapshots/1a2b/data"), headrace.path("hub/blobs")
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for i, shard in enumerate(sorted(headrace.path("own").iterdir())):
        shard.rename(blobs / f"{i:064x}")
        (snapshot / f"train-{i:05}.tar").symlink_to(f"../../../blobs/{i:064x}")
    refused = pack(headrace, "hub/snapshots/1a2b", "shards", "tar")
    assert refused.code == 2 and "is a symbolic link: --follow-links takes what it leads to" in refused.err, refused
    assert pack(headrace, "hub/snapshots/1a2b", "shards", "tar", "--follow-links").code == 0
    assert test_pack.samples_of(headrace.path("shards")) == samples


@pytest.mark.parametrize("name", ["train-00000-of-00002.parquet", "data-00000-of-00001.arrow"])
def test_tables_are_not_packed_as_samples(headrace, name):
    headrace.path("own").mkdir()
    headrace.path("own/README.md").write_text("mine")
    (headrace.path("own") / name).write_bytes(b"PAR1" + bytes(100))
    outcome = pack(headrace, "own", "shards", "tar")
    assert outcome.code == 2 and f"own/{name} is " in outcome.err and "write its samples as files or tar shards" in outcome.err, outcome
    headrace.path("own/c0").mkdir()
    headrace.path("own/README.md").unlink()
    (headrace.path("own") / name).rename(headrace.path("own/c0") / name)
    headrace.path("own/c0/a.jpg").write_bytes(JPEG)
    outcome = pack(headrace, "own", "shards", "tar")
    assert outcome.code == 0 and "packed 1 samples" in outcome.out and "no image of the same name" in outcome.out, outcome


def damaged_tar(headrace):
    tar_of_images(headrace)
    path = headrace.path("own/b.tar")
    at = test_shards.offset_of(path, "c1/i7.jpg")
    path.write_bytes(path.read_bytes()[:at + 600])
    return "ends in the middle of a sample"


def zipped(headrace):
    headrace.path("own").mkdir()
    with tarfile.open(headrace.path("own/a.tar"), "w:gz") as out:
        out.addfile(tarfile.TarInfo("a.jpg"))
    return "compressed, which is not read"


def no_byte(headrace):
    tar_of_images(headrace)
    headrace.path("own/c.tar").touch()
    return "own/c.tar at offset 0"


def wrong_crc(headrace):
    put_records(headrace.path("own/a.tfrecord"), [example(image=[JPEG + bytes(99)])] * 3)
    test_shards.flip(headrace.path("own/a.tfrecord"), 200)
    return "wrong CRC of a record's bytes"


def wrong_sizes(headrace):
    put_mds(headrace.path("own"), [("x", "jpeg", None), ("y", "int", 8)], [(JPEG + bytes(40), bytes(8))] * 3)
    path = headrace.path("own/shard.00000.mds")
    test_shards.flip(path, struct.unpack_from("<I", path.read_bytes(), 4)[0])  # of the first sample's x
    return "own/shard.00000.mds at offset "


@pytest.mark.parametrize("damage", [damaged_tar, zipped, no_byte, wrong_crc, wrong_sizes])
@pytest.mark.parametrize("form", ["tar", "tfrecord"])
def test_damage_is_named_and_nothing_is_packed(headrace, damage, form):
    says = damage(headrace)
    outcome = pack(headrace, "own", "shards", form)
    if damage is wrong_crc and form == "tfrecord":  # copied with its CRC, which readers check
        copied = headrace.path("shards/shard-000000.tfrecord")
        assert outcome.code == 0 and copied.read_bytes() == headrace.path("own/a.tfrecord").read_bytes(), outcome
        return
    assert outcome.code == 1 and says in outcome.err and not headrace.path("shards").exists(), outcome


@pytest.mark.parametrize("form, code, says", [
    ("tar", 2, "own/a.tfrecord: the record at 12 is no tf.train.Example, which becomes no file: --format tfrecord copies it"),
    ("mds", 2, "no tf.train.Example"), ("tfrecord", 0, "")])
def test_lists_of_features_are_not_lost(headrace, form, code, says):
    """A tf.train.SequenceExample: its second field would be left out."""
    record = field(1, b"") + field(2, field(1, field(1, b"frames") + field(2, b"")))
    put_records(headrace.path("own/a.tfrecord"), [record])
    outcome = pack(headrace, "own", "shards", form)
    assert outcome.code == code and says in outcome.err, outcome


def test_a_column_of_no_file_is_refused(headrace):
    put_mds(headrace.path("own"), [("a", "ndarray:float32", None)], [(bytes(20),)])
    outcome = pack(headrace, "own", "shards", "tar")
    assert outcome.code == 2 and "column 'a' is ndarray:float32, which becomes no file: --format mds copies it" in outcome.err, outcome


def test_mds_without_its_index_is_refused(headrace):
    put_mds(headrace.path("own"), [("x", "jpeg", None)], [(JPEG,)], index=False)
    outcome = pack(headrace, "own", "shards", "tar")
    assert outcome.code == 2 and "no index.json" in outcome.err, outcome


def test_keys_of_one_shard_stay_apart_from_those_of_others(headrace):
    for shard in "ab":
        put_tar(headrace.path(f"own/{shard}.tar"), [(f"{i}.jpg", shard.encode() * 9) for i in range(3)])
    assert pack(headrace, "own", "shards", "tar").code == 0
    assert test_pack.samples_of(headrace.path("shards")) == {f"{s}/{i}": {"jpg": s.encode() * 9} for s in "ab" for i in range(3)}
    put_tar(headrace.path("own/b.tar"), [("0.jpg", b"b"), ("1.jpg", b"b"), ("0.cls", b"3")])
    outcome = pack(headrace, "own", "others", "tar")
    assert outcome.code == 2 and "own/b.tar: two samples have the key b/0: rename one" in outcome.err, outcome


def test_two_images_of_a_sample_stay_in_a_tar_alone(headrace):
    put_tar(headrace.path("own/a.tar"), [("0.jpg", JPEG), ("0.png", PNG), ("0.mask.png", PNG)])
    assert pack(headrace, "own", "shards", "tar").code == 0
    for form in ("tfrecord", "mds"):
        outcome = pack(headrace, "own", f"to_{form}", form)
        assert outcome.code == 2 and "would both be the image of one sample" in outcome.err, outcome


def test_mds_has_a_class_for_each_sample_or_none(headrace):
    put_tar(headrace.path("own/a.tar"), [("0.jpg", JPEG), ("0.cls", b"1"), ("1.jpg", JPEG)])
    outcome = pack(headrace, "own", "shards", "mds")
    assert outcome.code == 2 and "1.jpg has no class, which others have" in outcome.err, outcome


def test_images_next_to_a_shard_stay_images(headrace):
    put_tar(headrace.path("own/c0/all.tar"), [("0.jpg", JPEG)])
    headrace.path("own/c0/a.jpg").write_bytes(JPEG)
    outcome = pack(headrace, "own", "shards", "tar")
    assert outcome.code == 0 and "1 samples of 1 classes" in outcome.out, outcome


def test_no_gain_is_measured_of_shards(headrace):
    tar_of_images(headrace)
    outcome = pack(headrace, "own", "shards", "mds", "--rehearse")
    assert outcome.code == 2 and "for shards compare `headrace measure` of both" in outcome.err, outcome
    assert not headrace.path("shards").exists()
