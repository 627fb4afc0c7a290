"""MDS shards of one's own: each sample is found, and what is wrong is named and counted. The shards are made by a writer that
shares nothing with headrace, and by mosaicml-streaming where Python has it."""

import json
import pathlib
import shutil
import struct
import subprocess

import pytest
from test_shards import flip, metric, operations, own, read  # noqa: F401: own is a fixture

SAMPLES = 25  # of a shard
SETTINGS = {"column_encodings": ["int", "bytes", "str"], "column_names": ["id", "image", "label"],
            "column_sizes": [8, None, None], "compression": None, "format": "mds", "hashes": [], "size_limit": 1 << 20,
            "version": 2}


def mds(folder, shards="ab", samples=SAMPLES):
    """Returns where the samples of each shard begin."""
    index, begins = {"version": 2, "shards": []}, []
    for number, _ in enumerate(shards):
        bodies = [struct.pack("<IIq", 700 + 97 * i, 2, i) + bytes([i]) * (700 + 97 * i) + b"c1" for i in range(samples)]
        settings = json.dumps(SETTINGS, sort_keys=True).encode()
        offsets = [8 + 4 * samples + len(settings)]
        for body in bodies:
            offsets.append(offsets[-1] + len(body))
        name = f"shard.{number:05d}.mds"
        data = struct.pack(f"<{samples + 2}I", samples, *offsets) + settings + b"".join(bodies)
        (folder / name).write_bytes(data)
        index["shards"].append({**SETTINGS, "samples": samples, "zip_data": None,
                                "raw_data": {"basename": name, "bytes": len(data), "hashes": {}}})
        begins.append(offsets)
    (folder / "index.json").write_text(json.dumps(index))
    return begins


def test_every_sample_is_found(headrace, own):
    mds(own)
    for on_error in ("fail", "skip"):
        outcome, point = read(headrace, on_error)
        assert outcome.code == 0 and operations(point) == 2 * SAMPLES and metric(point, "bad_samples") == 0, (outcome, point)
        assert any("2 mds shards, parsed" in note for note in point["notes"]), point["notes"]
        assert not any("other files" in note for note in point["notes"]), "the index is one of the set"


@pytest.mark.parametrize("spoil, words", [
    (pathlib.Path.unlink, "own: no index.json: StreamingDataset opens no MDS shards without one"),
    (lambda index: index.write_bytes(b""), "own/index.json: the index is empty (0 bytes), and StreamingDataset cannot open it"),
], ids=["missing", "empty"])
def test_an_index_that_cannot_be_opened_is_reported(headrace, own, spoil, words):
    mds(own)
    spoil(own / "index.json")
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and operations(point) == 2 * SAMPLES and metric(point, "bad_samples") == 1, (outcome, point)
    assert any(words in n for n in point["notes"]), point["notes"]
    outcome, point = read(headrace, "fail")
    assert outcome.code == 1 and words in " ".join((outcome.out + outcome.err).split()), outcome


def test_the_shard_an_unpacked_one_came_of_is_not_read(headrace, own):
    """StreamingDataset with keep_zip leaves both in its folder."""
    mds(own)
    (own / "shard.00001.mds.zstd").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(500))
    outcome, point = read(headrace, "fail")
    assert outcome.code == 0 and operations(point) == 2 * SAMPLES and metric(point, "bad_samples") == 0, (outcome, point)
    assert any("1 other files beside the shards" in n for n in point["notes"]), point["notes"]


@pytest.mark.parametrize("on_error", ["fail", "skip"])
@pytest.mark.parametrize("end", ["gz", "br", "snappy"])
def test_a_set_of_compressed_shards_is_refused(headrace, own, end, on_error):
    mds(own)
    for path in own.glob("*.mds"):
        path.rename(f"{path}.{end}")
    outcome, point = read(headrace, on_error)
    error = " ".join((outcome.out + outcome.err).split())
    assert outcome.code == 1 and point["status"] == "error", outcome
    assert f"shard.00000.mds.{end}: compressed MDS shards ({end}) cannot be read: headrace unpacks those of zstd only" in error, outcome
    assert "StreamingDataset unpacks them into its local folder" in error, outcome


def needs_zstd():
    if shutil.which("zstd") is None:
        pytest.skip("no program zstd")


def pack_shards(own, *options):
    """As MDSWriter with compression: the shards alone, and both sizes in the index."""
    needs_zstd()
    index = json.loads((own / "index.json").read_text())
    for shard in index["shards"]:
        path = own / shard["raw_data"]["basename"]
        subprocess.run(["zstd", "-q", "--rm", *options, path, "-o", f"{path}.zstd"], check=True)
        packed = own / f"{path.name}.zstd"
        shard |= {"compression": "zstd:3", "zip_data": {"basename": packed.name, "bytes": packed.stat().st_size, "hashes": {}}}
    (own / "index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("options", [["-3"], ["-19", "--no-check"], ["--no-content-size"]])
def test_shards_of_zstd_are_unpacked(headrace, own, options):
    mds(own)
    pack_shards(own, *options)
    outcome, point = read(headrace, "fail")
    assert outcome.code == 0 and operations(point) == 2 * SAMPLES and metric(point, "bad_samples") == 0, (outcome, point)
    notes = " ".join(point["notes"])
    assert "2 mds shards, parsed" in notes and "2 shards are unpacked by zstd first" in notes, notes


def test_a_shard_that_is_only_called_zstd_cannot_be_unpacked(headrace, own):
    mds(own)
    pack_shards(own)
    (own / "shard.00001.mds.zstd").write_bytes(bytes(700))
    reindexed(own)
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and operations(point) == SAMPLES and metric(point, "bad_samples") == 1, (outcome, point)
    outcome, point = read(headrace, "fail")
    assert outcome.code == 1 and "the compressed shard cannot be unpacked" in " ".join((outcome.out + outcome.err).split()), outcome


def test_errors_in_an_unpacked_shard_are_named(headrace, own):
    begins = mds(own)[1]
    at, words, lost = wrong_column(own, begins)
    pack_shards(own)
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and operations(point) == 2 * SAMPLES - lost and metric(point, "bad_samples") == 1, (outcome, point)
    assert any(f" at offset {at}: " in n and words in n for n in point["notes"]), point["notes"]


def cut(own, begins):
    path = own / "shard.00001.mds"
    path.write_bytes(path.read_bytes()[:begins[12] + 100])
    return begins[12], "ends in the middle of a sample", SAMPLES - 12


def cut_table(own, begins):
    path = own / "shard.00001.mds"
    path.write_bytes(path.read_bytes()[:40])
    return 0, "ends in the middle of a sample", SAMPLES


def wrong_column(own, begins):
    flip(own / "shard.00001.mds", begins[12])
    return begins[12], "sizes of a sample's columns that do not add up", 1


def wrong_table(own, begins):
    flip(own / "shard.00001.mds", 4 + 4 * 12 + 3)
    return 0, "no table of samples as MDS shards have it, a damaged one", SAMPLES


def compressed(own, begins):
    needs_zstd()
    (own / "shard.00001.mds").rename(own / "shard.00001.mds.zstd")
    (own / "shard.00001.mds.zstd").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(500))
    return 0, "the compressed shard cannot be unpacked", SAMPLES


def reindexed(own):
    """An index that has the shards as they are now."""
    index = json.loads((own / "index.json").read_text())
    for shard in index["shards"]:
        path = own / shard["raw_data"]["basename"]
        if not path.exists():
            zipped = own / (path.name + ".zstd")
            shard["zip_data"] = {"basename": zipped.name, "bytes": zipped.stat().st_size, "hashes": {}}
            continue
        shard["raw_data"]["bytes"] = path.stat().st_size
        (shard["samples"],) = struct.unpack("<I", path.read_bytes()[:4])
    (own / "index.json").write_text(json.dumps(index))


def no_sample(own, begins):
    (own / "shard.00001.mds").write_bytes(struct.pack("<II", 0, 8))
    return 0, "holds no sample", SAMPLES


FLAWS = [cut, cut_table, wrong_column, wrong_table, compressed, no_sample]


@pytest.mark.parametrize("spoil", FLAWS, ids=[f.__name__ for f in FLAWS])
def test_errors_are_named_and_counted(headrace, own, spoil):
    begins = mds(own)[1]
    at, words, lost = spoil(own, begins)
    reindexed(own)
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and metric(point, "bad_samples") == 1, (outcome, point["metrics"])
    assert operations(point) == 2 * SAMPLES - lost, "the others are read"
    notes = [n for n in point["notes"] if n.startswith("bad sample")]
    assert len(notes) == 1 and "shard.00001.mds" in notes[0] and f" at offset {at}: " in notes[0] and words in notes[0], notes

    outcome, point = read(headrace, "fail")
    error = " ".join((outcome.out + outcome.err).split())
    assert outcome.code == 1 and f" at offset {at}: " in error and words in error, outcome


@pytest.mark.parametrize("spoil", [cut, cut_table, no_sample])
def test_errors_reported_by_the_index_count_once(headrace, own, spoil):
    at, words, lost = spoil(own, mds(own)[1])
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and metric(point, "bad_samples") == 1, (outcome, point["metrics"])
    assert operations(point) == 2 * SAMPLES - lost, "the others are read"
    reported = " ".join(point["notes"])
    assert "bytes, but index.json says" in reported and f"shard.00001.mds at offset {at}: " in reported and words in reported, reported


def test_a_shard_of_no_bytes_is_counted_once(headrace, own):
    mds(own)
    (own / "shard.00001.mds").write_bytes(b"")
    outcome, point = read(headrace, "skip", workers=1)
    assert outcome.code == 0 and metric(point, "bad_samples") == 1 and operations(point) == SAMPLES, (outcome, point)


def other_count(index):
    index["shards"][1]["samples"] += 1
    return "shard.00001.mds: 25 samples, but index.json says 26"


def other_size(index):
    size = index["shards"][1]["raw_data"]["bytes"]
    index["shards"][1]["raw_data"]["bytes"] += 1
    return f"shard.00001.mds: {size} bytes, but index.json says {size + 1}"


def one_too_many(index):
    index["shards"].append({**index["shards"][0], "raw_data": {"basename": "shard.00002.mds", "bytes": 5}})
    return "index.json: shards[2], shard.00002.mds, is not there"


def one_too_few(index):
    index["shards"].pop()
    return "shard.00001.mds: no index.json names this shard"


def no_name(index):
    del index["shards"][0]["raw_data"]["basename"]
    return "index.json: shards[0] has no raw_data with basename and bytes"


LIES = [other_count, other_size, one_too_many, one_too_few, no_name]


@pytest.mark.parametrize("lie", LIES, ids=[f.__name__ for f in LIES])
def test_an_index_that_contradicts_the_shards_is_reported(headrace, own, lie):
    mds(own)
    index = json.loads((own / "index.json").read_text())
    words = lie(index)
    (own / "index.json").write_text(json.dumps(index))
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and operations(point) == 2 * SAMPLES and metric(point, "bad_samples") >= 1, (outcome, point)
    assert any(words in n for n in point["notes"]), point["notes"]
    outcome, point = read(headrace, "fail")
    assert outcome.code == 1 and point["status"] == "error", outcome
    assert words in " ".join((outcome.out + outcome.err).split()), outcome


def test_invalid_index_is_reported(headrace, own):
    mds(own)
    (own / "index.json").write_text("{")
    outcome, _ = read(headrace, "fail")
    assert outcome.code == 1 and "no index of MDS shards" in " ".join((outcome.out + outcome.err).split()), outcome


@pytest.mark.parametrize("compression", [None, "zstd", "zstd:7"])
def test_shards_of_the_library_are_read(headrace, own, compression):
    streaming = pytest.importorskip("streaming", reason="mosaicml-streaming is not installed")
    with streaming.MDSWriter(out=str(own), columns={"id": "int", "image": "bytes", "label": "str"},
                             size_limit=1 << 15, compression=compression) as out:
        for number in range(100):
            out.write({"id": number, "image": bytes([number]) * (500 + 37 * number), "label": f"c{number % 7}"})
    assert len(list(own.glob("*.mds*"))) > 2
    outcome, point = read(headrace, "fail")
    assert outcome.code == 0 and operations(point) == 100 and metric(point, "bad_samples") == 0, (outcome, point)
