"""Jobs that read otherwise than by worker processes that call read(). Each says as its last line, as JSON, what was true of it.

    odd_jobs.py DATA alone|mapped [--batch N] [--step SECONDS] [--steps N] [--decode SECONDS]

alone: the main thread reads whole files itself. mapped: it copies samples of 64 KiB out of one mapped file.
"""

import argparse
import json
import mmap
import pathlib
import random
import time

SAMPLE = 65536


def samples_of(given):
    """Without end: what reads one sample."""
    drawn = random.Random(1)
    if given.kind == "mapped":
        with open(given.data, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        while True:
            at = drawn.randrange(len(mapped) // SAMPLE) * SAMPLE
            yield lambda: len(mapped[at:at + SAMPLE])
    files = sorted(pathlib.Path(given.data).rglob("*.bin"))
    while True:
        drawn.shuffle(files)
        for path in files:
            yield lambda: len(path.read_bytes())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("kind", choices=["alone", "mapped"])
    for name, kind, usual in (("batch", int, 8), ("step", float, 0.05), ("steps", int, 60), ("decode", float, 0.0)):
        parser.add_argument("--" + name, type=kind, default=usual)
    given = parser.parse_args()
    samples = samples_of(given)
    size, waited, computed = 0, 0.0, 0.0
    begin, used = time.monotonic(), time.process_time()
    for _ in range(given.steps):
        asked = time.monotonic()
        for _ in range(given.batch):
            size += next(samples)()
            until = time.thread_time() + given.decode
            while time.thread_time() < until:
                sum(range(200))
        taken = time.monotonic()
        time.sleep(given.step)
        waited += taken - asked
        computed += time.monotonic() - taken
    lasted = time.monotonic() - begin
    print(json.dumps({"steps": given.steps, "samples": given.steps * given.batch, "bytes": size, "lasted": lasted,
                      "step": computed / given.steps, "starved": waited / lasted,
                      "cpu_per_sample": (time.process_time() - used) / (given.steps * given.batch)}))


if __name__ == "__main__":
    main()
