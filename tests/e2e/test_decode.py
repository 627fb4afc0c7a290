"""What decoding costs, of a user's own images, and what is not decoded is named. The images are made by Pillow, which comes
with matplotlib."""

import re

import pytest

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
