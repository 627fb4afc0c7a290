"""What decoding costs, of a user's own images, and what is not decoded is named. The images are made by Pillow, which comes
with matplotlib."""

import io
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile

import pytest
from conftest import BINARY
from test_mds import SETTINGS
from test_shards import crc32c

Image = pytest.importorskip("PIL.Image")

RUN = """\
schema: 1
workloads:
  - {use: decode, path: own, workers: WORKERS, passes: 2, repeat: 2, on_error: ON_ERROR}
"""
SIZES = [(320, 240), (500, 375), (640, 200), (64, 700)]


@pytest.fixture(autouse=True)
def has_jpeg(headrace):
    if not re.search(r"^ +jpeg +usable", headrace("--version").out, re.MULTILINE):
        pytest.skip("headrace was built without libjpeg-turbo")


def images(headrace):
    folder = headrace.path("own")
    folder.mkdir()
    for number, size in enumerate(SIZES):
        picture = Image.effect_noise(size, 60).convert("RGB")
        picture.save(folder / f"{number}.jpg", quality=90)
    return folder


def decode(headrace, on_error="fail", workers=1, out="results"):
    config = headrace.write("decode.yaml", RUN.replace("ON_ERROR", on_error).replace("WORKERS", str(workers)))
    return headrace("run", "-c", config, "--out", out, "--no-report")


def metrics(headrace, out="results"):
    return {m["name"]: m for m in headrace.results(out=out)["points"][0]["metrics"]}


def test_every_image_is_decoded_and_costs_something(headrace):
    images(headrace)
    result = decode(headrace, workers=2)
    assert result.code == 0, result
    reported = metrics(headrace)
    assert reported["image_rate"]["median"] > 0 and reported["bad_samples"]["median"] == 0, reported
    for repetition in headrace.results()["points"][0]["repetitions"]:
        # Processor time is of one sample: its rate per core is its inverse.
        of = repetition["metrics"]
        assert of["rate_per_core"] * of["cpu_time_per_sample"] == pytest.approx(1, rel=0.01), of
    mean_pixels = sum(w * h for w, h in SIZES) / len(SIZES)
    assert reported["pixel_rate"]["median"] == pytest.approx(reported["image_rate"]["median"] * mean_pixels, rel=0.2), reported
    assert "cpu_time_per_sample:" in result.out, "a line for the job file"


BROKEN = {
    "cut": (lambda data: data[:len(data) // 2], "end"),
    "corrupt": (lambda data: data[:600] + b"\xff\xc0" * 40 + data[680:], ""),
    "empty": (lambda data: b"", ""),
    "another": (lambda data: b"GIF89a" + bytes(100), ""),
}


@pytest.mark.parametrize("how", sorted(BROKEN))
def test_an_image_that_cannot_be_decoded_is_named(headrace, how):
    folder = images(headrace)
    bad = folder / "1.jpg"
    spoil, word = BROKEN[how]
    bad.write_bytes(spoil(bad.read_bytes()))
    result = decode(headrace)
    assert result.code != 0 and "own/1.jpg" in result.out + result.err, result
    assert word in (result.out + result.err).lower(), result
    result = decode(headrace, on_error="skip", out="skipped")
    assert result.code == 0 and "own/1.jpg" in " ".join(result.out.split()), result
    assert metrics(headrace, "skipped")["bad_samples"]["median"] == 1, result


def test_a_bomb_is_refused_before_it_is_unpacked(headrace):
    folder = images(headrace)
    Image.new("L", (30000, 30000)).save(folder / "9.jpg", quality=10)  # 900 million pixels in a few megabytes
    result = decode(headrace)
    assert result.code != 0 and "own/9.jpg" in result.out + result.err and "pixels" in result.out + result.err, result


def test_a_folder_without_images_is_reported(headrace):
    headrace.path("own").mkdir()
    result = decode(headrace)
    assert result.code != 0 and "own" in result.err + result.out, result


# Decoding in a job's loader.

JOB = """\
schema: 1
job: images
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: STEP, micro_batch: 4}
dataset: {layout: LAYOUT, sample_size: 60kB, codec: jpegMORE}
loader: {workers_per_gpu: 2}
"""
PIPELINE = """\
schema: 1
workloads:
  - {use: input_pipeline, path: own, codec: jpeg, read_profile: PROFILE, on_error: ON_ERROR, workers: 2, batch_size: 4, step_time: 0s,
     cache: asis, repeat: 2MORE}
"""


def job(headrace, step="100ms", layout="files", more=""):
    return headrace.write("job.yaml", JOB.replace("STEP", step).replace("LAYOUT", layout).replace("MORE", more))


def many(headrace, count=60):
    folder = headrace.path("own")
    folder.mkdir()
    for number in range(count):
        Image.effect_noise((400, 300), 60).convert("RGB").save(folder / f"{number:02}.jpg", quality=90)
    return folder


def pipeline(headrace, profile="whole", on_error="fail", more="", out="results"):
    text = PIPELINE.replace("PROFILE", profile).replace("ON_ERROR", on_error).replace("MORE", more)
    return headrace("run", "-c", headrace.write("pipeline.yaml", text), "--out", out, "--no-report")


@pytest.mark.parametrize("profile", ["whole", "pil", "mmap"])
def test_loader_decodes_its_samples(headrace, profile):
    folder = many(headrace)
    result = pipeline(headrace, profile)
    assert result.code == 0, result
    reported = metrics(headrace)
    assert reported["bad_samples"]["median"] == 0 and reported["decoding_share"]["median"] > 0.1, reported
    bad = folder / "33.jpg"
    bad.write_bytes(bad.read_bytes()[:2000])
    result = pipeline(headrace, profile, out="failed")
    assert result.code == 1 and re.search(r"own/33\.jpg at offset \d+: it cannot be decoded", result.out), result
    result = pipeline(headrace, profile, "skip", out="skipped")
    assert result.code == 0 and "own/33.jpg at offset" in " ".join(result.out.split()), result
    assert metrics(headrace, "skipped")["bad_samples"]["median"] == 1, result
    for repetition in headrace.results(out="skipped")["points"][0]["repetitions"]:
        assert 56 <= repetition["phases"][0]["operations"] <= 59, "what is passed over is no sample"


def test_a_bomb_in_a_loader_is_named_and_never_unpacked(headrace):
    folder = many(headrace, 40)
    Image.new("L", (30000, 30000)).save(folder / "20.jpg", quality=10)
    result = pipeline(headrace)
    assert result.code == 1 and "own/20.jpg at offset" in result.out, result
    result = pipeline(headrace, on_error="skip", out="skipped")
    reported = " ".join(result.out.split())
    assert result.code == 0 and "own/20.jpg at offset" in reported and "30000 x 30000 pixels" in reported, result
    assert metrics(headrace, "skipped")["bad_samples"]["median"] == 1, result
    result = pipeline(headrace, on_error="skip", more=", most_pixels: 1000", out="none")
    assert result.code == 1 and "not one sample could be used: all that were read, 40," in " ".join(result.out.split()), result
    assert "sample_rate" not in metrics(headrace, "none"), "all are refused: there is no rate"


# Samples that lie in shards, or several in a file, are decoded where they lie.

SHARDS = """\
schema: 1
workloads:
  - {use: input_pipeline, path: own, codec: CODEC, on_error: ON_ERROR, workers: 2, step_time: 0s, cache: asis,
     repeat: 1, output: 32, LAYOUT}
"""
LAYOUTS = {"shards": "layout: shards, batch_size: 1, loader: pytorch_iterable", "files": "samples_per_file: 12, batch_size: 12",
           "mixed": "layout: shards, batch_size: 1, loader: pytorch_iterable, shuffle_buffer: 9, shuffle_initial: 3"}


def jpeg(number):
    out = io.BytesIO()
    Image.effect_noise((200 + 8 * number, 150), 60).convert("RGB").save(out, "jpeg", quality=90)
    return out.getvalue()


def put_tar(path, images):
    with tarfile.open(path, "w") as out:
        for number, image in enumerate(images):
            for part, data in (("json", b"{}"), ("jpg", image), ("cls", b"3")):
                info = tarfile.TarInfo(f"{number:04}.{part}")
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))


def field(number, data):
    length, head = len(data), b""
    while length >= 128:
        head, length = head + bytes([length & 127 | 128]), length >> 7
    return bytes([number << 3 | 2]) + head + bytes([length]) + data


def put_tfrecord(path, images):
    def feature(name, value):
        return field(1, field(1, name) + field(2, field(1, field(1, value))))

    with open(path, "wb") as out:
        for image in images:
            record = field(1, feature(b"image/format", b"jpeg") + feature(b"image/encoded", image))
            length = struct.pack("<Q", len(record))
            out.write(length + struct.pack("<I", crc32c(length)) + record + struct.pack("<I", crc32c(record)))


def put_mds(path, images):
    settings = json.dumps({**SETTINGS, "column_names": ["id", "image", "label"]}, sort_keys=True).encode()
    bodies = [struct.pack("<IIq", len(image), 2, i) + image + b"c1" for i, image in enumerate(images)]
    offsets = [8 + 4 * len(images) + len(settings)]
    for body in bodies:
        offsets.append(offsets[-1] + len(body))
    path.write_bytes(struct.pack(f"<{len(images) + 2}I", len(images), *offsets) + settings + b"".join(bodies))


def put_index(folder, samples):
    shards = [{**SETTINGS, "samples": samples, "zip_data": None,
               "raw_data": {"basename": shard.name, "bytes": shard.stat().st_size, "hashes": {}}}
              for shard in sorted(folder.glob("*.mds"))]
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))


FORMATS = {"tar": put_tar, "tfrecord": put_tfrecord, "mds": put_mds}


def shards(headrace, form, spoil=lambda image: image, count=4, samples=12):
    """One of the images, number 5 of the second shard, is spoilt."""
    folder = headrace.path("own")
    folder.mkdir()
    images = [jpeg(i) for i in range(samples)]
    for number in range(count):
        own = [spoil(image) if (number, i) == (1, 5) else image for i, image in enumerate(images)]
        FORMATS[form](folder / f"{number:02}.{form}", own)
    if form == "mds":
        put_index(folder, samples)
    return folder, images


def in_shards(headrace, layout, on_error="fail", codec="jpeg", out="results"):
    text = SHARDS.replace("LAYOUT", LAYOUTS[layout]).replace("ON_ERROR", on_error).replace("CODEC", codec)
    return headrace("run", "-c", headrace.write("shards.yaml", text), "--out", out, "--no-report")


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("form", sorted(FORMATS))
def test_samples_of_shards_and_of_files_of_several_are_decoded(headrace, form, layout):
    folder, _ = shards(headrace, form)
    result = in_shards(headrace, layout)
    assert result.code == 0, result
    point = headrace.results()["points"][0]
    reported = {m["name"]: m["median"] for m in point["metrics"]}
    operations = point["repetitions"][0]["phases"][0]["operations"]
    assert operations == (4 if layout == "files" else 48) and reported["bad_samples"] == 0, point
    assert reported["decoding_share"] > 0 and not any("lie in memory" in note for note in point["notes"]), point


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("form", sorted(FORMATS))
def test_one_that_cannot_be_decoded_is_named_where_it_lies(headrace, form, layout):
    folder, images = shards(headrace, form, spoil=lambda image: image[:600] + bytes(len(image) - 600))
    begin = (folder / f"01.{form}").read_bytes().find(images[5][:600])
    result = in_shards(headrace, layout)
    assert result.code == 1 and f"own/01.{form} at offset" in result.out and "cannot be decoded" in result.out, result
    result = in_shards(headrace, layout, "skip", out="skipped")
    named = re.search(rf"own/01\.{form} at offset (\d+)", " ".join(result.out.split()))
    assert result.code == 0 and begin <= int(named[1]) <= begin + len(images[5]), (result, begin)
    point = headrace.results(out="skipped")["points"][0]
    assert next(m["median"] for m in point["metrics"] if m["name"] == "bad_samples") == 1, point
    assert point["repetitions"][0]["phases"][0]["operations"] == (4 if layout == "files" else 47), point


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_samples_of_another_codec_are_decoded_and_reported(headrace, layout):
    shards(headrace, "tar")
    result = in_shards(headrace, layout, codec="png")
    assert result.code == 0 and re.search(r"[1-9]\d* samples are images of another codec than png, and were decoded, too", " ".join(result.out.split())), result


CALIBRATED = """\
schema: 1
job: images
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 40ms, micro_batch: 4}
dataset: {layout: shards, sample_size: 23kB, samples_per_file: 12, codec: CODEC}
loader: {kind: pytorch_iterable, workers_per_gpu: 1}
"""


def calibrate(headrace, codec):
    """What the decoder got, each its bytes; it then says that it failed."""
    headrace.write("decoder.sh", 'mkdir seen; cp "$@" seen; exit 3\n')
    headrace.path("aside").mkdir()
    result = headrace("rehearse", headrace.write("job.yaml", CALIBRATED.replace("CODEC", codec)), "--data", "own", "--at", "scratch",
                      "--calibrate", "sh decoder.sh", TMPDIR=str(headrace.path("aside")))
    assert result.code == 2 and not list(headrace.path("aside").iterdir()), result  # nothing is left
    seen = headrace.path("seen")
    return result, [file.read_bytes() for file in sorted(seen.iterdir())] if seen.exists() else []


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_a_calibration_gets_the_samples_of_shards(headrace, form):
    folder, images = shards(headrace, form)
    result, seen = calibrate(headrace, "jpeg")
    assert "the decoder ended with 3" in " ".join(result.err.split()), result
    assert seen == images * 4


def test_a_calibration_is_refused_where_no_sample_is_of_the_codec(headrace):
    shards(headrace, "tar")
    result, seen = calibrate(headrace, "png")
    assert seen == [] and "no sample in it begins as those of the job's codec do" in " ".join(result.err.split()), result


def test_files_of_several_that_are_no_shards_are_reported(headrace):
    many(headrace, 4)
    result = in_shards(headrace, "files")
    assert result.code == 1 and "decoded out of tar, TFRecord and MDS files" in " ".join((result.out + result.err).split()), result


def test_a_rehearsal_decodes_the_users_own_shards(headrace):
    folder = headrace.path("own")
    folder.mkdir()
    images = [jpeg(i) for i in range(40)]
    for number in range(8):
        put_tar(folder / f"{number:02}.tar", images)
    file = job(headrace, layout="shards", more=", samples_per_file: 40, image_size: 32").replace("60kB", "23kB")
    text = headrace.path("job.yaml").read_text().replace("60kB", "23kB").replace("workers_per_gpu", "kind: pytorch_iterable, workers_per_gpu")
    headrace.path("job.yaml").write_text(text)
    result = headrace("rehearse", "job.yaml", "--at", "scratch", "--data", "own", "--budget", "6s", "--no-report", "--out", "out")
    assert result.code in (0, 10, 11, 12), (file, result)
    run = headrace.results(out="out")
    points = {p["id"]: p for p in run["points"]}
    own, memory = points["input_pipeline/job"], points["input_pipeline/in-memory"]
    assert own["params"]["codec"] == "jpeg" and any("8 tar shards, parsed" in note for note in own["notes"]), own["notes"]
    assert not any("drawn" in note for note in own["notes"]), own["notes"]
    if memory["status"] == "ok":  # else it could decide nothing
        assert any("of the samples" in note for note in memory["notes"]), memory["notes"]


def test_a_rehearsal_decodes_with_the_jobs_codec(headrace):
    many(headrace)
    words = ["rehearse", job(headrace, more=", image_size: 64"), "--at", "scratch", "--data", "own"]
    plan = json.loads(headrace(*words, "--dry-run", "--json").out)
    points = {p["id"]: p["params"] for p in plan["points"]}
    own, free = points["input_pipeline/job"], points["input_pipeline/no-step"]
    assert own["codec"] == "jpeg" and own["output"] == 64 and own["cpu_time_per_sample"] == 0, own
    without = points["input_pipeline/no-decode"]
    assert {key for key in free if free[key] != without[key]} == {"codec"} and without["codec"] == "none"
    assert points["decode/job"]["path"].endswith("own") and points["decode/job"]["output"] == 64, points["decode/job"]
    result = headrace(*words, "--budget", "6s", "--no-report", "--out", "out")
    assert result.code in (0, 10, 11, 12), result
    run = headrace.results(out="out")
    whole = {m["name"]: m["median"] for m in run["points"][0]["metrics"]}
    assert whole["decoding_share"] > 0 and whole["bad_samples"] == 0, whole
    if not any(r["disturbance"]["disturbed"] for p in run["points"] for r in p["repetitions"]):  # by others' I/O it may be
        assert not re.search("storage is the limit", run["rehearsal"]["sentence"]), run["rehearsal"]


def test_generated_files_hold_encoded_samples(headrace):
    file = job(headrace)
    result = headrace("rehearse", file, "--at", "scratch", "--max-write", "16MiB", "--budget", "8s", "--no-report", "--out", "out")
    assert result.code in (0, 10, 11, 12), result
    reported = " ".join(result.out.split())
    assert "generated images of waves and noise are decoded" in reported and "drawn images of" not in reported, result
    points = {p["id"]: p for p in headrace.results(out="out")["points"]}
    own, alone = points["input_pipeline/job"], points["small_file_read/job"]
    assert {m["name"]: m["median"] for m in own["metrics"]}["decoding_share"] > 0, own
    assert own["params"]["content"] == alone["params"]["content"] == "jpeg", "what is read alone are the same files"
    files = sorted(headrace.path("scratch/data").rglob("f*.jpg"))
    assert len(files) > 10 and {f.stat().st_size for f in files} == {60_000}, files[:3]
    contents = {f.read_bytes()[70:] for f in files}
    assert len(contents) == len(files), "no two are alike"
    for name in files[:5]:
        with Image.open(name) as image:
            image.convert("RGB")
    assert headrace("clean", "scratch", "--yes").code == 0 and not headrace.path("scratch").exists()


@pytest.mark.parametrize("size", ["200B", "20MB"])
def test_missing_formats_are_decoded_from_memory_and_reported(headrace, size):
    job(headrace)
    text = headrace.path("job.yaml").read_text().replace("60kB", size)
    headrace.path("job.yaml").write_text(text)
    words = ["rehearse", "job.yaml", "--at", "scratch", "--max-write", "400MB", "--dry-run", "--json"]
    plan = json.loads(headrace(*words).out)
    own = next(p for p in plan["points"] if p["id"] == "input_pipeline/job")
    assert own["params"]["content"] == "blocks" and own["params"]["codec"] == "jpeg", own
    reported = headrace(*words[:-1])
    assert "the generated files contain no images" in " ".join(reported.out.split()), reported


SAMPLES = """\
schema: 1
workloads:
  - {use: USE, content: CODEC, files: 4, file_size: SIZE, cache: asis, repeat: 1, verify: true, MORE}
"""
PIPED = "codec: CODEC, loader: pytorch_iterable, workers: 2, step_time: 0s, output: 32, "
MADE = {
    "files": ("input_pipeline", "60kB", PIPED + "batch_size: 1"),
    "shards": ("input_pipeline", "1MB", PIPED + "batch_size: 1, layout: shards, content_sample: 60kB, sample_size: 60kB"),
    "several": ("input_pipeline", "1MB", PIPED + "batch_size: 16, content_sample: 60kB, samples_per_file: 16"),
    "alone": ("shard_stream", "1MB", "workers: 2, content_sample: 60kB"),
}


def make(headrace, kind, codec, out="results"):
    use, size, more = MADE[kind]
    text = SAMPLES.replace("USE", use).replace("SIZE", size).replace("MORE", more).replace("CODEC", codec)
    return headrace("run", "-c", headrace.write("made.yaml", text), "--out", out, "--no-report")


def open_image(data):
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB").size


@pytest.mark.parametrize("codec, kind", [*(("jpeg", kind) for kind in sorted(MADE)), ("png", "files"), ("png", "shards"),
                                         ("zstd", "shards"), ("npz", "shards")])
def test_samples_are_made_read_decoded_and_proven(headrace, codec, kind):
    if not re.search(rf"^ +{codec} +usable", headrace("--version").out, re.MULTILINE):
        pytest.skip(f"built without {codec}")
    result = make(headrace, kind, codec)
    assert result.code == 0, result
    point = headrace.results()["points"][0]
    assert not any("lie in memory" in note for note in point["notes"]), point["notes"]
    part = {"jpeg": "jpg", "png": "png", "zstd": "zst", "npz": "npz"}[codec]
    files = sorted(headrace.path("headrace-scratch/data").rglob("f0*.*"))
    assert len(files) == 4 and {f.stat().st_size for f in files} == {60_000 if kind == "files" else 1_000_000}, files
    operations = point["repetitions"][0]["phases"][0]["operations"]
    if kind == "files":
        samples = [f.read_bytes() for f in files]
        assert files[0].suffix == f".{part}" and operations == 4
    else:
        samples = []
        for file in files:
            with tarfile.open(file) as archive:
                names = archive.getnames()
                samples += [archive.extractfile(name).read() for name in names if name.endswith(part)]
            assert len(names) == 2 * 17 and names[1] == names[0].replace(part, "cls"), names
        assert kind != "shards" or operations == len(samples) == 68, point
        assert len({len(sample) for sample in samples}) > 10, "they are of several sizes"
    assert len({sample[200:] for sample in samples}) == len(samples)
    if codec in ("jpeg", "png"):
        assert all(min(open_image(sample)) >= 100 for sample in samples[:6])
    victim = files[2]
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    result = make(headrace, kind, codec, out="again")
    assert result.code != 0 and victim.name in result.out + result.err, result
    victim.unlink()
    victim.write_bytes(bytes(len(data) // 2))
    assert "headrace did not make" in (made := make(headrace, kind, codec, out="other")).out + made.err, made
    cleaned = headrace("clean", "headrace-scratch", "--yes")
    assert "removed 3 files" in cleaned.out and "not as headrace made it" in cleaned.out and victim.exists(), cleaned


@pytest.mark.parametrize("step, words", [("10s", {"PASS"}), ("20us", {"FAIL", "INCONCLUSIVE"})])
def test_the_rate_of_decoding_is_judged(headrace, step, words):
    result = headrace("qualify", job(headrace, step), "--at", "scratch", "--max-write", "16MiB", "--budget", "8s", "--only",
                      "decode/*", "--no-report", "--out", "out")
    assert result.code in (0, 10, 11, 12), result
    need = next(n for n in headrace.results("verdict.json", out="out")["judgements"] if n["id"] == "host.decode_rate")
    word = need["outcome"].upper()
    if word == "INCONCLUSIVE":
        assert need["reason"] in ("disturbed", "few-reps", "not-steady"), "the answer is clear: only other programs can leave it open"
    else:
        assert word in words and (word == "PASS" or need["measured"] * 100 < need["need"]), need
    assert "not proven: generated images of" in " ".join(result.out.split()), result


def test_without_a_codec_nothing_asks_for_decoding(headrace):
    file = headrace.write("job.yaml", JOB.replace("STEP", "1s").replace("LAYOUT", "files").replace(", codec: jpegMORE", ""))
    plan = json.loads(headrace("qualify", file, "--at", "scratch", "--dry-run", "--json").out)
    assert not any(p["workload"] == "decode" for p in plan["points"]) and "host.decode_rate" not in str(plan["needs"])
    result = headrace("require", file, "--explain")
    assert "host.decode_rate" in result.out and "dataset.codec" in result.out, result


@pytest.mark.long
def test_the_comparison_with_other_decoders_runs(headrace):
    pytest.importorskip("numpy")
    if shutil.which("c++") is None or not pathlib.Path("/usr/include/jpeglib.h").exists():
        pytest.skip("no compiler, or no header of libjpeg-turbo")
    bench = pathlib.Path(__file__).parents[2] / "benches/decode.py"
    words = [sys.executable, "-B", bench, "--turns", "1", "--images", "4", "--passes", "1", "--headrace", BINARY]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    sides = re.findall(r"^(decode|augment|augment, scaled) +(headrace|minimal libjpeg-turbo|Pillow) +[1-9][0-9]*/s", result.stdout, re.M)
    assert len(sides) == 7, result.stdout
    folder = headrace.path("own")
    folder.mkdir()
    (folder / "0.jpg").write_bytes(b"no image")
    result = subprocess.run([*words, "--own", folder], capture_output=True, text=True, check=False)
    assert result.returncode != 0, "a side that failed gives no figure"


@pytest.mark.long
def test_the_comparison_with_a_loader_runs(headrace):
    pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    bench = pathlib.Path(__file__).parents[2] / "benches/loader.py"
    folder = headrace.path("classes/one")
    folder.mkdir(parents=True)
    for number in range(16):
        (folder / f"{number}.jpg").write_bytes(jpeg(number))
    words = [sys.executable, "-B", bench, "cpu", folder.parent, "--turns", "1", "--headrace", BINARY]
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^headrace over DataLoader: -?\d+\.\d\d \[", result.stdout, re.M), result.stdout
