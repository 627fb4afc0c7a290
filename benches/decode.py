"""How fast JPEGs become a job's input: headrace, a minimal libjpeg-turbo program and Pillow, on the same images by turns.

    python3 benches/decode.py [--turns 9] [--images 200] [--own FOLDER] [--headrace build/release/headrace]

One thread each, images in memory, per second of processor time, so that other programs disturb little. `decode`: the whole image
to RGB. `augment`: a random part (the same law), resized to 224 x 224, flipped, float, normalized; Pillow's with numpy. Prints each
side's median and the medians of the ratios by turn. Needs Pillow, numpy, a C++ compiler and libjpeg-turbo's header.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import pathlib
import random
import statistics
import subprocess
import tempfile
import time

import numpy
from PIL import Image

MINIMAL = pathlib.Path(__file__).parent / "peers/minimal/decode_jpeg.cc"
MEAN = numpy.array([0.485, 0.456, 0.406], numpy.float32)
DEVIATION = numpy.array([0.229, 0.224, 0.225], numpy.float32)
CONFIG = """\
schema: 1
workloads:
  - {{use: decode, path: {folder}, passes: {passes}, repeat: 1, {how}}}
"""
HOW = {"decode": "output: 0, crop: full", "augment": "output: 224", "augment, scaled": "output: 224, dct_scaling: true"}


def draw(folder: pathlib.Path, count: int) -> None:
    """Of ImageNet's mean size: smooth shapes with a photograph's noise."""
    rng = random.Random(1)
    for number in range(count):
        width = rng.randint(300, 700)
        size = (width, width * 3 // 4)
        shapes = Image.effect_noise((12, 9), 120).convert("L").resize(size, Image.BICUBIC)
        bands = [Image.blend(shapes, Image.effect_noise(size, 30), 0.25 + 0.1 * band) for band in range(3)]
        Image.merge("RGB", bands).save(folder / f"{number:04}.jpg", quality=90)


def part_of(width: int, height: int, rng: random.Random) -> tuple[int, int, int, int]:
    """torchvision 0.14, RandomResizedCrop.get_params."""
    for _ in range(10):
        area = width * height * rng.uniform(0.08, 1)
        ratio = math.exp(rng.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            x, y = rng.randint(0, width - w), rng.randint(0, height - h)
            return x, y, x + w, y + h
    return 0, 0, width, height


def pillow(files: list[bytes], passes: int, augment: bool) -> float:
    rng = random.Random(2)
    begin = time.thread_time()
    for _ in range(passes):
        for data in files:
            image = Image.open(io.BytesIO(data)).convert("RGB")
            if not augment:
                continue
            image = image.resize((224, 224), Image.BILINEAR, box=part_of(*image.size, rng))
            if rng.random() < 0.5:
                image = image.transpose(Image.FLIP_LEFT_RIGHT)
            array = numpy.asarray(image, dtype=numpy.float32) / 255
            numpy.ascontiguousarray(((array - MEAN) / DEVIATION).transpose(2, 0, 1))
    return passes * len(files) / (time.thread_time() - begin)


def headrace(binary: str, folder: pathlib.Path, images: pathlib.Path, passes: int, what: str, turn: int) -> float:
    config = folder / "decode.yaml"
    config.write_text(CONFIG.format(folder=images, passes=passes, how=HOW[what]))
    out = folder / f"run-{turn}-{what}"
    subprocess.run([binary, "run", "-c", str(config), "--no-report", "--out", str(out)], cwd=folder, check=True, capture_output=True)
    metrics = json.loads((out / "run.json").read_text())["points"][0]["metrics"]
    return next(m for m in metrics if m["name"] == "rate_per_core")["median"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--own", type=pathlib.Path, help="a folder of JPEGs; without it images are drawn")
    parser.add_argument("--headrace", default="build/release/headrace")
    arguments = parser.parse_args()
    binary = str(pathlib.Path(arguments.headrace).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        images = arguments.own.resolve() if arguments.own else folder / "images"
        if not arguments.own:
            images.mkdir()
            draw(images, arguments.images)
        paths = sorted(images.glob("*.jpg"))
        files = [path.read_bytes() for path in paths]
        minimal = folder / "minimal"
        subprocess.run(["c++", "-std=c++20", "-O3", "-o", str(minimal), str(MINIMAL), "-ljpeg"], check=True)
        passes = arguments.passes

        def program() -> float:
            words = [str(minimal), str(passes), *map(str, paths)]
            return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)

        sides = {
            "decode": {"headrace": None, "minimal libjpeg-turbo": program, "Pillow": lambda: pillow(files, passes, False)},
            "augment": {"headrace": None, "Pillow": lambda: pillow(files, passes, True)},
            "augment, scaled": {"headrace": None, "Pillow": lambda: pillow(files, passes, True)},
        }
        print(f"{len(files)} images of {statistics.mean(map(len, files)) / 1e3:.0f} kB on average, images per core-second")
        for what, each in sides.items():
            rates: dict[str, list[float]] = {side: [] for side in each}
            for turn in range(arguments.turns):
                # Each other turn the other way round, so that a machine that becomes slower favours none.
                for side in list(each)[::-1 if turn % 2 else 1]:
                    call = each[side]
                    rates[side].append(call() if call else headrace(binary, folder, images, passes, what, turn))
            for side, all_rates in rates.items():
                ratios = [own / other for own, other in zip(rates["headrace"], all_rates)]
                print(f"{what:16} {side:22} {statistics.median(all_rates):8.0f}/s   headrace {statistics.median(ratios):.2f} x "
                      f"[{min(ratios):.2f}, {max(ratios):.2f}]")


if __name__ == "__main__":
    main()
