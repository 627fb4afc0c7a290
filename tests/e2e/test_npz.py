"""Arrays in .npz files of one's own, which numpy wrote, and such that headrace makes, which numpy reads. What is wrong in one
is named with its file and place, and counted."""

import io
import re
import struct
import tarfile
import zipfile

import pytest

np = pytest.importorskip("numpy")

RUN = """\
schema: 1
target: {path: scratch}
workloads:
  - {use: input_pipeline, path: own, codec: npz, read_profile: PROFILE, on_error: ON_ERROR, workers: 2, batch_size: 1, step_time: 0s,
     cache: asis, repeat: 1}
"""
FILES = 6


@pytest.fixture(autouse=True)
def has_npz(headrace):
    if not re.search(r"^ +npz +usable", headrace("--version").out, re.MULTILINE):
        pytest.skip("headrace was built without zlib")


def volume(number, shape=(32, 32, 20)):
    return np.random.default_rng(number).integers(0, 255, shape, dtype=np.uint8)


@pytest.fixture
def own(headrace):
    folder = headrace.path("own")
    folder.mkdir()
    for number in range(FILES):
        np.savez(folder / f"{number}.npz", x=volume(number), y=np.array([number]))
    return folder


def read(headrace, on_error="fail", profile="npz", out=None):
    config = headrace.write("own.yaml", RUN.replace("ON_ERROR", on_error).replace("PROFILE", profile))
    outcome = headrace.run("own.yaml", out=out or on_error)
    return outcome, headrace.results(out=out or on_error)["points"][0]


def metric(point, name):
    return next(m["median"] for m in point["metrics"] if m["name"] == name)


def operations(point):
    return point["repetitions"][0]["phases"][0]["operations"]


@pytest.mark.parametrize("profile", ["npz", "whole", "mmap"])
def test_every_kind_of_array_that_numpy_writes_is_read(headrace, own, profile):
    record = np.zeros(5, dtype=[("a", "<i4"), ("b", "<f8", (3,))])
    np.savez_compressed(own / "packed.npz", x=volume(9), y=np.arange(1000.0))
    np.savez(own / "kinds.npz", a=np.float32(3), b=np.array([], dtype="<i8"), c=np.array(["ab", "c"]), d=record,
             e=np.array(["2026-01-31"], dtype="M8[D]"), f=np.asfortranarray(volume(3)), g=np.array([True]), h=np.array([1 + 2j]))
    with open(own / "stream.npz", "wb") as out, zipfile.ZipFile(Unseekable(out), "w", zipfile.ZIP_DEFLATED) as archive:
        held = io.BytesIO()
        np.save(held, volume(4))
        archive.writestr("x.npy", held.getvalue())
        archive.comment = b"PK\5\6 is in this comment" * 100
    outcome, point = read(headrace, profile=profile)
    assert outcome.code == 0 and operations(point) == FILES + 3 and metric(point, "bad_samples") == 0, (outcome, point)


class Unseekable:
    """zipfile then writes what a member's header cannot say behind it."""

    def __init__(self, file):
        self.write, self.flush = file.write, file.flush


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def wrong_bytes(path):
    flip(path, 10_000)
    return 35 + 20, "wrong CRC-32 of an array"


def cut(path):
    data = path.read_bytes()
    path.write_bytes(data[:15_000])
    return 15_000, "ends before the zip file's directory"


def no_header(path):
    flip(path, 1)
    return 0, "does not begin as a zip file does"


def another_name(path):
    flip(path, 30)
    return 0, "name in its header is not the directory's"


def short_array(path):
    held = io.BytesIO()
    np.save(held, volume(1))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", held.getvalue()[:-100])
    return 35 + 128, "an array of 20480 items of 1 bytes, and 20380 bytes of it are there"


def objects(path):
    np.savez(path, x=np.array([{"a": 1}, None], dtype=object))
    return 35 + 20 + 10, "Python objects"


def no_array(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "none")
    return 0, "holds no array"


def packed_wrong(path):
    np.savez_compressed(path, x=np.zeros((64, 64, 64), dtype=np.uint8))
    flip(path, 80)
    return None, ""


def bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("x.npy", "w", force_zip64=True) as out:
            out.write(b"\x93NUMPY\1\0")
            for _ in range(1100):
                out.write(bytes(1 << 20))
    assert path.stat().st_size < 2 << 20
    return 35 + 20, "it unpacks to more than 1073741824 bytes"


def empty(path):
    path.write_bytes(b"PK\5\6" + bytes(18))
    return 0, "holds no array"


def outside(path):
    """A member that says it begins behind the directory."""
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\1\2")
    data[entry + 42:entry + 46] = struct.pack("<I", len(data))
    path.write_bytes(data)
    return entry, "begin where it cannot"


@pytest.mark.parametrize("spoil", [wrong_bytes, cut, no_header, another_name, short_array, objects, no_array, packed_wrong, bomb, empty,
                                   outside], ids=lambda f: f.__name__)
def test_errors_are_named_and_counted(headrace, own, spoil):
    at, words = spoil(own / "3.npz")
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and metric(point, "bad_samples") == 1 and operations(point) == FILES - 1, (outcome, point["metrics"])
    note = next(n for n in point["notes"] if n.startswith("bad sample"))
    assert f"3.npz at offset {at}: " in note if at is not None else "3.npz at offset" in note, note
    assert words in note, note
    outcome, point = read(headrace, "fail")
    assert outcome.code == 1 and point["status"] == "error" and "3.npz at offset" in outcome.out, outcome


def test_arrays_in_tar_shards_are_unpacked_behind_a_shuffle_buffer(headrace, own):
    files = sorted(own.iterdir())
    flip(files[3], 10_000)
    for shard in "ab":
        with tarfile.open(own / f"{shard}.tar", "w") as out:
            for number, file in enumerate(files):
                out.add(file, f"{shard}{number}.npz")
                label = tarfile.TarInfo(f"{shard}{number}.cls")
                out.addfile(label)
    for file in files:
        file.unlink()
    headrace.write("own.yaml", RUN.replace("ON_ERROR", "skip").replace("read_profile: PROFILE", "layout: shards, loader: pytorch_iterable, "
                                           "shuffle_buffer: 4, sample_size: 20kB"))
    outcome = headrace.run("own.yaml", out="shards")
    point = headrace.results(out="shards")["points"][0]
    assert outcome.code == 0 and metric(point, "bad_samples") == 2 and operations(point) == 2 * FILES - 2, (outcome, point["notes"])
    with tarfile.open(own / "b.tar") as archive:
        at = archive.getmember("b3.npz").offset_data
    assert any(f"own/b.tar at offset {at + 55}: wrong CRC-32 of an array" in note for note in point["notes"]), point["notes"]


JOB = """\
schema: 1
job: volumes
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 20ms, micro_batch: 1}
dataset: {layout: files, sample_size: 200kB, read_profile: npz, codec: npz}
loader: {workers_per_gpu: 2}
"""


def test_a_job_of_arrays_is_qualified(headrace):
    headrace.write("job.yaml", JOB)
    outcome = headrace("qualify", "job.yaml", "--at", "scratch", "--budget", "5s", "--max-write", "10MB", "--no-report", "--out", "results")
    assert outcome.code in (0, 10, 11, 12), outcome
    points = {p["id"]: p for p in headrace.results()["points"]}
    assert points["small_file_read/job"]["params"]["read_profile"] == "npz" and metric(points["decode/job"], "image_rate") > 0
    assert any(j["id"] == "host.decode_rate" for j in headrace.results()["judgements"]), headrace.results()["judgements"]


MADE = """\
schema: 1
target: {path: headrace-scratch}
workloads:
  - {use: input_pipeline, files: 5, file_size: SIZE, codec: npz, content: npz, read_profile: npz, workers: 2, batch_size: 1, step_time: 0s,
     cache: asis, repeat: 1, verify: true}
"""


@pytest.mark.parametrize("size", ["4097B", "65535B", "3MB", "20MiB"])
def test_numpy_reads_generated_files(headrace, size):
    headrace.write("made.yaml", MADE.replace("SIZE", size).replace(", verify: true", ""))
    outcome = headrace.run("made.yaml")
    assert outcome.code == 0 and operations(headrace.results()["points"][0]) == 5, outcome
    files = sorted(headrace.path("headrace-scratch/data").rglob("*.npz"))
    assert len(files) == 5 and len({f.stat().st_size for f in files}) == 1
    arrays = set()
    for file in files:
        with zipfile.ZipFile(file) as archive:
            assert archive.testzip() is None and archive.namelist() == ["x.npy"]
        array = np.load(file)["x"]
        assert array.dtype == np.uint8 and 0.9 * file.stat().st_size < array.size + 300 <= file.stat().st_size + 300
        arrays.add(array.tobytes())
    assert len(arrays) == 5, "each is another"


def test_a_rehearsal_makes_and_reads_such_files(headrace):
    headrace.write("job.yaml", JOB)
    outcome = headrace("rehearse", "job.yaml", "--at", "scratch", "--budget", "6s", "--max-write", "30MB", "--no-report", "--out", "results")
    assert outcome.code in (0, 10, 11, 12), outcome
    point = next(p for p in headrace.results()["points"] if p["id"] == "input_pipeline/job")
    assert point["status"] == "ok" and point["params"]["read_profile"] == point["params"]["content"] == point["params"]["codec"] == "npz"
    assert metric(point, "bad_samples") == 0 and metric(point, "decoding_share") > 0, point["metrics"]
