"""What decoding costs, of a user's own images, and what is not decoded is named. The images are made by Pillow, which comes
with matplotlib."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import BINARY

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
    told = metrics(headrace)
    assert told["image_rate"]["median"] > 0 and told["bad_samples"]["median"] == 0, told
    # Processor time is of one sample: its rate per core is its inverse.
    assert told["rate_per_core"]["median"] * told["cpu_time_per_sample"]["median"] == pytest.approx(1, rel=0.2), told
    mean_pixels = sum(w * h for w, h in SIZES) / len(SIZES)
    assert told["pixel_rate"]["median"] == pytest.approx(told["image_rate"]["median"] * mean_pixels, rel=0.2), told
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


def test_a_folder_without_images_is_told(headrace):
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
def test_a_loader_decodes_what_it_reads(headrace, profile):
    folder = many(headrace)
    result = pipeline(headrace, profile)
    assert result.code == 0, result
    told = metrics(headrace)
    assert told["bad_samples"]["median"] == 0 and told["decoding_share"]["median"] > 0.1, told
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
    told = " ".join(result.out.split())
    assert result.code == 0 and "own/20.jpg at offset" in told and "30000 x 30000 pixels" in told, result
    assert metrics(headrace, "skipped")["bad_samples"]["median"] == 1, result
    result = pipeline(headrace, on_error="skip", more=", most_pixels: 1000", out="none")
    told = metrics(headrace, "none")
    assert "sample_rate" not in told and told["bad_samples"]["median"] == 40, "all are refused: there is no rate"


@pytest.mark.parametrize("more, told", [
    (", cpu_time_per_sample: 1ms", "codec jpeg decodes"),
    (", layout: shards, loader: pytorch_iterable", "layout files"),
    (", samples_per_file: 2", "samples_per_file 1"),
])
def test_what_cannot_be_decoded_is_refused_before_anything_runs(headrace, more, told):
    many(headrace, 4)
    profile = "wds" if "shards" in more else "whole"
    result = pipeline(headrace, profile, more=more)
    assert result.code == 2 and told in " ".join(result.err.split()) and "pipeline.yaml:" in result.err, result
    assert not headrace.path("results").exists()


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
    result = headrace(*words, "--budget", "12s", "--no-report", "--out", "out")
    assert result.code in (0, 10, 11, 12), result
    run = headrace.results(out="out")
    whole = {m["name"]: m["median"] for m in run["points"][0]["metrics"]}
    assert whole["decoding_share"] > 0 and whole["bad_samples"] == 0, whole
    assert not re.search("storage limit", run["rehearsal"]["sentence"]), run["rehearsal"]


def test_generated_files_are_decoded_out_of_memory_and_that_is_told(headrace):
    file = job(headrace)
    result = headrace("rehearse", file, "--at", "scratch", "--max-write", "16MiB", "--budget", "12s", "--no-report", "--out", "out")
    assert result.code in (0, 10, 11, 12), result
    told = " ".join(result.out.split())
    assert "nothing to decode in them" in told and "drawn images of" in told, result
    whole = {m["name"]: m["median"] for m in headrace.results(out="out")["points"][0]["metrics"]}
    assert whole["decoding_share"] > 0, whole


@pytest.mark.parametrize("layout, more, told", [
    ("tokens", "", "dataset.codec: tokens are not decoded"),
    ("files", ", image_size: 9000", "dataset.image_size: 9000 is out of range"),
    ("shards", "", "samples of your own are decoded where each is a file"),
])
def test_a_job_that_cannot_be_decoded_is_refused(headrace, layout, more, told):
    many(headrace, 4)
    result = headrace("rehearse", job(headrace, layout=layout, more=more), "--at", "scratch", "--data", "own")
    assert result.code == 2 and (told in " ".join(result.err.split()) or layout == "shards"), result
    assert not headrace.path("scratch").exists()


def test_an_unknown_codec_is_told_with_the_nearest(headrace):
    file = headrace.write("job.yaml", JOB.replace("STEP", "1s").replace("LAYOUT", "files").replace("jpegMORE", "jpg"))
    result = headrace("require", file)
    assert result.code == 2 and "job.yaml:5:" in result.err and "did you mean 'jpeg'?" in result.err, result


@pytest.mark.parametrize("step, words", [("10s", {"PASS"}), ("20us", {"FAIL", "INCONCLUSIVE"})])
def test_the_rate_of_decoding_is_judged(headrace, step, words):
    result = headrace("qualify", job(headrace, step), "--at", "scratch", "--max-write", "16MiB", "--budget", "20s", "--only",
                      "decode/*", "--no-report", "--out", "out")
    assert result.code in (0, 10, 11, 12), result
    need = next(n for n in headrace.results("verdict.json", out="out")["judgements"] if n["id"] == "host.decode_rate")
    word = need["outcome"].upper()
    assert word in words and need["measured"] * 100 < need["need"] or word == "PASS" in words, need
    assert word != "INCONCLUSIVE" or "disturbed" in need["explanation"], "too slow by so much, only others leave it open"
    assert "not proven: images that are drawn" in " ".join(result.out.split()), result


def test_without_a_codec_nothing_asks_for_decoding(headrace):
    file = headrace.write("job.yaml", JOB.replace("STEP", "1s").replace("LAYOUT", "files").replace(", codec: jpegMORE", ""))
    plan = json.loads(headrace("qualify", file, "--at", "scratch", "--dry-run", "--json").out)
    assert not any(p["workload"] == "decode" for p in plan["points"]) and "host.decode_rate" not in str(plan["needs"])
    result = headrace("require", file, "--explain")
    assert "host.decode_rate" in result.out and "dataset.codec" in result.out, result


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
