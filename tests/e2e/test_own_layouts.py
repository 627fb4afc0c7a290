"""Each command of the page "Bring your own data set" runs on files of that layout."""

import io
import json
import os
import pathlib
import re
import shlex
import shutil
import struct
import tarfile

import pytest

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/bring-your-own-data-set.md").read_text()
COMMANDS = {re.search(r"data/(\w+)", command)[1]: (layout, command)
            for layout, command in re.findall(r"^\| ([^|]+) \| `(headrace measure [^`]+)` \|$", PAGE, re.M)}
numpy = pytest.importorskip("numpy", reason="NumPy is not installed")
image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def picture(number, form="JPEG"):
    into = io.BytesIO()
    image.frombytes("RGB", (32, 32), numpy.random.default_rng(number).bytes(3072)).save(into, form)
    return into.getvalue()


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def image_folder(at):
    for number in range(256):  # ImageNet has a PNG among its JPEGs, and desktops leave files
        write(at / f"n0{number % 2}/img_{number}.JPEG", picture(number, "PNG" if number == 3 else "JPEG"))
    write(at / "n00/.DS_Store", b"\0" * 100)
    write(at / "labels.csv", "0,1\n")


def snapshot(at):
    """Links to blobs without an extension, as huggingface_hub lays them."""
    blobs = at.parent / "blobs"
    for number in range(256):
        write(blobs / f"{number:040x}", picture(number))
        (at / f"n0{number % 2}").mkdir(parents=True, exist_ok=True)
        (at / f"n0{number % 2}/{number}.jpg").symlink_to(f"../../blobs/{number:040x}")


def tars(at, shards=4):
    for shard in range(shards):
        at.mkdir(parents=True, exist_ok=True)
        with tarfile.open(at / f"{shard:06}.tar", "w") as tar:
            for number in range(128):
                for name, content in ((f"{number:04}.jpg", picture(number)), (f"{number:04}.cls", b"3")):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))


def wids(at):
    tars(at)
    write(at / "index.json", json.dumps({"wids_version": 1, "shardlist": [{"url": f"{n:06}.tar", "nsamples": 128} for n in range(4)]}))


def img2dataset(at):
    tars(at)
    for shard in range(4):
        write(at / f"{shard:06}_stats.json", "{}")
        write(at / f"{shard:06}.parquet", b"PAR1" + bytes(200) + b"PAR1")


def packed(headrace, at, form):
    image_folder(at.parent / f"of-{at.name}")
    (at.parent / f"of-{at.name}/labels.csv").unlink()
    made = headrace("pack", str(at.parent / f"of-{at.name}"), "--to", str(at), "--format", form, "--shard-size", "1MiB")
    assert made.code == 0, made
    return next(at.glob("*0.tfrecord")) if form == "tfrecord" else at


def copies(shard, at, names):
    for name in names:
        write(at / name, shard.read_bytes())
    shutil.rmtree(shard.parent)


def tfds(at, headrace):
    copies(packed(headrace, at.with_name("packed"), "tfrecord"), at, [f"birds-train.tfrecord-{n:05}-of-00004" for n in range(4)])
    for name in ("dataset_info.json", "features.json"):
        write(at / name, '{"name": "birds"}')
    write(at / "label.labels.txt", "a\nb\n")


def t5x(at, headrace):
    copies(packed(headrace, at.with_name("packed"), "tfrecord"), at, [f"c4-train.tfrecord-{n:05}-of-00004" for n in range(4)])
    for name, content in (("info.train.json", "{}"), ("COMPLETED", "")):
        write(at / name, content)


def dali(at, headrace):
    copies(packed(headrace, at.with_name("packed"), "tfrecord"), at, [f"train-{n:05}-of-00004" for n in range(4)])
    for shard in range(4):
        write(at / f"train-{shard:05}-of-00004.idx", "0 1200\n")


def mds(at, headrace):
    for part in range(4):
        packed(headrace, at / f"part{part}", "mds")
        shutil.rmtree(at / f"of-part{part}")


def parquet(at):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    tables = pytest.importorskip("pyarrow.parquet")
    at.mkdir(parents=True)
    for shard in range(4):
        tables.write_table(arrow.table({"text": [f"row {n}" * 20 for n in range(1000)]}), at / f"train-{shard:05}-of-00004.parquet")
    write(at / "_SUCCESS", "")
    write(at / ".part-0.crc", "crc")
    write(at / "dataset_info.json", "{}")


def arrow_files(at):
    write(at / "data-00000-of-00001.arrow", struct.pack("<iI", -1, 64) + os.urandom(1 << 20))
    write(at / "state.json", "{}")


def megatron(at):
    """indexed_dataset.py: magic, version, type of tokens (uint16), sequences, documents, lengths, places, first sequences."""
    count, tokens = 64, 4096
    write(at / "corpus_text_document.bin", numpy.arange(count * tokens, dtype="<u2").tobytes())
    write(at / "corpus_text_document.idx", b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, count, count + 1)
          + numpy.full(count, tokens, "<i4").tobytes() + (numpy.arange(count, dtype="<i8") * 2 * tokens).tobytes()
          + numpy.arange(count + 1, dtype="<i8").tobytes())


def tokens(at):
    at.mkdir(parents=True)
    numpy.save(at / "train.npy", numpy.arange(1 << 18, dtype="<u2"))


def npz(at):
    at.mkdir(parents=True)
    for number in range(256):
        numpy.savez(at / f"case_{number}.npz", x=numpy.random.default_rng(number).integers(0, 255, (64, 64), "u1"), y=numpy.int64(number))


def container(name, head):
    return lambda at: write(at / name, head + os.urandom(2 << 20))


def zarr(at):
    write(at / ".zarray", json.dumps({"zarr_format": 2, "shape": [64, 64], "chunks": [8, 64], "dtype": "<f4", "compressor": None,
                                      "fill_value": 0, "order": "C", "filters": None}))
    for chunk in range(8):
        write(at / f"{chunk}.0", os.urandom(8 * 64 * 4))


MAKERS = {"imagefolder": image_folder, "snapshot": snapshot, "webdataset": tars, "wids": wids, "img2dataset": img2dataset, "tfds": tfds,
          "t5x": t5x, "dali": dali, "mds": mds, "parquet": parquet, "arrow": arrow_files, "megatron": megatron, "tokens": tokens,
          "npz": npz, "ffcv": container("train.beton", struct.pack("<HHIQQ", 2, 2, 1 << 21, 100, 4096)),
          "hdf5": container("train.h5", b"\x89HDF\r\n\x1a\n"), "lmdb": container("data.mdb", bytes(16) + b"\xde\xc0\xef\xbe"),
          "zarr": zarr}


def test_the_page_has_a_command_for_each_layout():
    assert set(COMMANDS) == set(MAKERS) and len(COMMANDS) >= 15, set(COMMANDS) ^ set(MAKERS)


def made(headrace, layout):
    at = headrace.path(f"data/{layout}")
    make = MAKERS[layout]
    make(at, headrace) if make.__code__.co_varnames[:make.__code__.co_argcount] == ("at", "headrace") else make(at)


@pytest.mark.parametrize("layout", MAKERS)
def test_its_command_runs(headrace, layout):
    words = shlex.split(COMMANDS[layout][1])[1:]
    made(headrace, layout)
    ran = headrace(*words, "--budget", "1s", "--no-report", "--out", "run")
    if "not built into this" in ran.out + ran.err or "no usable" in ran.out:
        pytest.skip(f"{layout}: this build does not read it")
    assert ran.code == 0, ran
    point = headrace.results(out="run")["points"][0]
    # A machine that stands still for a second has no time left for the next one.
    assert point["status"] == "ok" and (len(point["repetitions"]) > 1 or point["elapsed_s"] > 1), point
    rate = next(m for m in point["metrics"] if m["name"] in ("sample_rate", "read_iops"))
    assert rate["median"] > 0, rate
    shards = {"webdataset": "4 tar", "wids": "4 tar", "img2dataset": "4 tar", "tfds": "4 tfrecord", "t5x": "4 tfrecord",
              "dali": "4 tfrecord", "mds": "4 mds"}
    if layout in shards:
        assert any(f"samples are those of {shards[layout]} shards" in note for note in point["notes"]), point["notes"]


@pytest.mark.parametrize("layout, name", [("ffcv", "FFCV"), ("hdf5", "HDF5"), ("lmdb", "LMDB"), ("arrow", "Arrow IPC"), ("zarr", "Zarr")])
def test_unparsed_files_are_refused_by_name(headrace, layout, name):
    made(headrace, layout)
    where = headrace.path(f"data/{layout}")
    if layout == "zarr":
        where = where.rename(where.with_name("set.zarr"))
    ran = headrace("measure", "input_pipeline", str(where), "--layout", "shards", "--loader", "pytorch_iterable", "--codec", "jpeg", "--workers", "1", "--repeat", "1",
                   "--no-store")
    assert ran.code != 0 and f"these are {name}" in " ".join((ran.out + ran.err).split()), ran
