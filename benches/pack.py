"""How near packing comes to the disk: bytes per second of `headrace pack` over those of plain writes, by turns.

    python3 benches/pack.py --at DIR [--size 1GiB] [--shard-size 256MiB] [--sample-size 128kB] [--turns 6]

Images are in memory (/dev/shm), so that reading them costs no disk. Plain writes: files of the same size, 8 MiB at a time around the page
cache, synced. The first ratio shows what pack adds to the disk's rate. It reads every
file, makes headers, computes a CRC and reads each shard back. Where a disk shares its rate between reads and writes, no
program that reads back can reach plain writes. The second ratio is therefore to plain writes whose files are read back, too,
each while the next is written. Prints both ratios of each turn, their medians and quartiles. For a quiet machine.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import mmap
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

BUFFER = 8 << 20
UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def quantity(text: str) -> int:
    match = re.fullmatch(r"([0-9.]+) ?([A-Za-z]+)", text)
    if not match or match[2] not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r}: a number and one of {', '.join(UNITS)}")
    return int(float(match[1]) * UNITS[match[2]])


def read(path: pathlib.Path) -> None:
    buffer = mmap.mmap(-1, BUFFER)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        while os.readv(fd, [buffer]) > 0:
            pass
    finally:
        os.close(fd)


def plain_writes(folder: pathlib.Path, size: int, shard: int, read_back: bool) -> float:
    """Bytes per second of writes alone, or of writes that are read back."""
    buffer = mmap.mmap(-1, BUFFER)
    buffer.write(os.urandom(BUFFER))
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(1) as readers:
        for number, at in enumerate(range(0, size, shard)):
            path = folder / f"{number}.bin"
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_DIRECT)
            length = min(shard, size - at)
            try:
                os.posix_fallocate(fd, 0, length)
                for _ in range(0, length, BUFFER):
                    os.write(fd, buffer)
                os.fsync(fd)
            finally:
                os.close(fd)
            if read_back:
                readers.submit(read, path)
    return size / (time.monotonic() - begin)


def pack(headrace: str, images: pathlib.Path, to: pathlib.Path, shard: int) -> float:
    """Bytes of shards per second, as from its begin until the last shard has its name."""
    begin = time.monotonic()
    subprocess.run([headrace, "pack", str(images), "--to", str(to), "--shard-size", f"{shard}B"], check=True, capture_output=True)
    seconds = time.monotonic() - begin
    return sum(p.stat().st_size for p in to.glob("*.tar")) / seconds


def make_images(folder: pathlib.Path, size: int, sample: int) -> None:
    data = os.urandom(1 << 20)
    for number in range(size // sample):
        name = folder / f"class{number % 10}" / f"{number}.jpg"
        name.parent.mkdir(exist_ok=True)
        start = number % 1000
        name.write_bytes((data * (sample // len(data) + 2))[start:start + sample])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at", type=pathlib.Path, required=True, help="a folder on the disk in question")
    parser.add_argument("--size", type=quantity, default="1GiB")
    parser.add_argument("--shard-size", type=quantity, default="256MiB")
    parser.add_argument("--sample-size", type=quantity, default="128kB")
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--headrace", default="build/release/headrace")
    arguments = parser.parse_args()
    headrace = str(pathlib.Path(arguments.headrace).resolve())
    ratios: dict[str, list[float]] = {"plain": [], "read_back": []}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, tempfile.TemporaryDirectory(dir=arguments.at) as disk:
        images = pathlib.Path(memory)
        make_images(images, arguments.size, arguments.sample_size)
        for turn in range(arguments.turns):
            rates = {}
            # Each other turn the other way round, so that a disk that becomes slower favours none.
            for way in ("plain", "pack", "read_back")[::-1 if turn % 2 else 1]:
                folder = pathlib.Path(disk) / way
                folder.mkdir()
                rates[way] = (pack(headrace, images, folder, arguments.shard_size) if way == "pack" else
                              plain_writes(folder, arguments.size, arguments.shard_size, way == "read_back"))
                shutil.rmtree(folder)
            for way, those in ratios.items():
                those.append(rates["pack"] / rates[way])
            print(f"pack {rates['pack'] / 1e6:8.1f} MB/s   plain writes {rates['plain'] / 1e6:8.1f} MB/s: {ratios['plain'][-1]:.3f}   "
                  f"read back {rates['read_back'] / 1e6:8.1f} MB/s: {ratios['read_back'][-1]:.3f}", flush=True)
    for way, reported in (("plain", "plain writes"), ("read_back", "plain writes that are read back")):
        if arguments.turns > 1:
            low, middle, high = statistics.quantiles(ratios[way], n=4)
            print(f"over {reported}: median {middle:.3f}, quartiles {low:.3f} to {high:.3f}, of {arguments.turns} turns")


if __name__ == "__main__":
    main()
