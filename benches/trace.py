"""The cost of a trace: samples per second of an input pipeline with --trace over those without, by turns.

    python3 benches/trace.py [--turns 40] [--sample-size 128KiB] [--decode 0s] [--headrace build/release/headrace]

Samples are copied out of memory, GPUs take batches as they come. Nothing is faster per sample, so the trace costs nowhere
more. Prints the ratio of each turn, their median and their quartiles. For a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

CONFIG = """\
schema: 1
name: trace
target: {{path: ./scratch}}
workloads:
  - {{use: input_pipeline, source: memory, workers: 1, sample_size: {size}, cpu_time_per_sample: {decode}, step_time: 0s,
     duration: 500ms, repeat: 1}}
"""


def rate(headrace: str, folder: pathlib.Path, number: int, *words: str) -> float:
    out = folder / f"run-{number}-{len(words)}"
    subprocess.run([headrace, "run", "-c", "config.yaml", "--no-report", "--out", str(out), *words], cwd=folder, check=True,
                   capture_output=True)
    point = json.loads((out / "run.json").read_text())["points"][0]
    return next(m for m in point["metrics"] if m["name"] == "sample_rate")["median"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--sample-size", default="128KiB")
    parser.add_argument("--decode", default="0s")
    parser.add_argument("--headrace", default="build/release/headrace")
    arguments = parser.parse_args()
    headrace = str(pathlib.Path(arguments.headrace).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.yaml").write_text(CONFIG.format(size=arguments.sample_size, decode=arguments.decode))
        ratios = []
        for turn in range(arguments.turns):
            # Each other turn the other way round, so that a machine that becomes slower favours neither.
            ways = [("--trace", "trace.json"), ()]
            rates = {words: rate(headrace, folder, turn, *words) for words in (ways if turn % 2 else reversed(ways))}
            ratios.append(rates[ways[0]] / rates[()])
            print(f"without {rates[()]:12,.0f} samples/s   with {rates[ways[0]]:12,.0f}   ratio {ratios[-1]:.4f}", flush=True)
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"median {middle:.4f}, quartiles {low:.4f} to {high:.4f}, of {len(ratios)} turns")


if __name__ == "__main__":
    main()
