"""Is this build slower than another one? Two built programs read the same warm files in turns, in one run on one machine.

    python3 benches/regression.py --base OLD/headrace [--this build/release/headrace] [--scratch FOLDER] [--turns 20,40,80]

Works: whole small files, and 4 KiB random reads, both out of the page cache. There the program's own cost shows most. Each turn runs
both programs once; the first one alternates. For each work it prints the median of the turns' ratios (this build's rate / the
base's) and an interval. It holds the true median with 95 %, looks together. It looks after 20, 40 and 80 turns, and stops when all
is decided.

Exit: 0 no work is slower than 0.97 of the base, 1 one is. 2 something failed, 12 not decided after the last look.
"""

from __future__ import annotations

import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LEAST = 0.97  # of the base's rate
RISK = 0.05  # of an interval that does not hold the true median, over all looks
LOOKS = (20, 40, 80)
FILES, FILE_SIZE, SPAN = 2000, 16 << 10, 256 << 20
WORKS = {
    "small files, warm": ("sample_rate", ["small_file_read", "{data}/files", "--workers", "1"]),
    "4 KiB random reads, warm": ("read_iops", ["random_read", "{data}/big", "--block-size", "4KiB", "--workers", "1"]),
}


def interval(ratios: list[float], risk: float) -> tuple[float, float]:
    """Bounds of the median, by the binomial distribution of the count below it; infinite where there are too few."""
    ordered, count, outside, below = sorted(ratios), len(ratios), 0, 0.0
    while (below := below + math.comb(count, outside) * 0.5**count) <= risk / 2:
        outside += 1
    return (ordered[outside - 1], ordered[count - outside]) if outside else (0.0, math.inf)


def decide(ratios: list[float], risk: float = RISK / len(LOOKS)) -> str:
    """ "slower", "kept" or "open"."""
    low, high = interval(ratios, risk)
    return "slower" if high < LEAST else "kept" if low >= LEAST else "open"


def verdict(series: dict[str, list[float]]) -> int:
    """The exit code for the ratios of each work."""
    words = [decide(ratios) for ratios in series.values()]
    return 1 if "slower" in words else 12 if "open" in words else 0


def line(name: str, ratios: list[float]) -> str:
    low, high = interval(ratios, RISK / len(LOOKS))
    return f"{name:26} {statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}] n={len(ratios)}  {decide(ratios)}"


def make_data(folder: pathlib.Path) -> None:
    rng = random.Random(1)
    (folder / "files").mkdir()
    for number in range(FILES):
        (folder / f"files/{number:05}.bin").write_bytes(rng.randbytes(FILE_SIZE))
    with open(folder / "big", "wb") as file:
        for _ in range(SPAN >> 20):
            file.write(rng.randbytes(1 << 20))


def rate(program: pathlib.Path, metric: str, words: list[str], data: pathlib.Path, seconds: float) -> float:
    given = [word.format(data=data) for word in words]
    done = subprocess.run([program, "--progress", "none", "measure", *given, "--cache", "warm", "--repeat", "1", "--duration", f"{seconds:g}s",
                           "--no-store", "--metric", metric, "--export-json", "measured.json"], capture_output=True, text=True, cwd=data)
    if done.returncode not in (0, 12):
        raise RuntimeError(f"{program} measure {' '.join(given)}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads((data / "measured.json").read_text())["points"][0]["values"][0]


def turn(programs: dict[str, pathlib.Path], number: int, data: pathlib.Path, seconds: float) -> dict[str, float]:
    found = {}
    for name, (metric, words) in WORKS.items():
        order = ["base", "this"] if number % 2 else ["this", "base"]
        rates = {who: rate(programs[who], metric, words, data, seconds) for who in order}
        found[name] = rates["this"] / rates["base"]
    return found


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--base", type=pathlib.Path, required=True)
    words.add_argument("--this", type=pathlib.Path, default=ROOT / "build/release/headrace")
    words.add_argument("--scratch", type=pathlib.Path)
    words.add_argument("--turns", default=",".join(map(str, LOOKS)))
    words.add_argument("--seconds", type=float, default=0.5, help="of each run")
    given = words.parse_args()
    programs = {"base": given.base.resolve(), "this": given.this.resolve()}
    series: dict[str, list[float]] = {name: [] for name in WORKS}
    try:
        with tempfile.TemporaryDirectory(dir=given.scratch, prefix="headrace-regression-") as folder:
            data = pathlib.Path(folder)
            make_data(data)
            turn(programs, 0, data, given.seconds)  # the first turn warms both up, and does not count
            for look in map(int, given.turns.split(",")):
                while (done := min(map(len, series.values()))) < look:
                    for name, ratio in turn(programs, done + 1, data, given.seconds).items():
                        series[name].append(ratio)
                for name, ratios in series.items():
                    print(line(name, ratios), flush=True)
                if verdict(series) != 12:
                    break
    except (OSError, RuntimeError, LookupError, ValueError) as e:
        print(f"regression: {e}", file=sys.stderr)
        return 2
    code = verdict(series)
    print({0: "no work is slower", 1: "slower", 12: "not decided: take more turns, or a quieter machine"}[code])
    return code


if __name__ == "__main__":
    sys.exit(main())
