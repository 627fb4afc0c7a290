"""A disk of known rate that gives half, nine tenths and one and a half times what a GPU takes, tar shards on it: what a real
WebDataset in a DataLoader gets of it, and what `headrace rehearse`'s pipeline reports, by turns.
Usage: known_webdataset.py HEADRACE RATE

With HEADRACE_REHEARSAL_TABLE=1 nothing is decided, and each comparison prints its line of the table in docs/explanation/rehearsal-accuracy.md, for 1, 2
and 4 workers, and with a shuffle buffer; else it is done with 2.
"""

import importlib.util
import io
import os
import statistics
import subprocess
import sys
import tarfile
from pathlib import Path

import bench

for module in ("torch", "webdataset"):
    if importlib.util.find_spec(module) is None:
        bench.skip(f"no {module}" + (", which no distribution has: python3 -m pip install webdataset" if module != "torch" else ""))

TABLE = "HEADRACE_REHEARSAL_TABLE" in os.environ
ROUNDS = 3 if TABLE else 1
LASTS_S, AHEAD_S = 6, 0.1
SAMPLE, SHARDS, BATCH, PREFETCH, SHUFFLE = 100_000, 8, 4, 2, 200
rate = {"40M": 40e6, "20M": 20e6}[sys.argv[2]]
disk = Path(bench.limited("--size", "2G", "--read-bps", sys.argv[2]))


def make():
    """Whole batches for each of 4 workers of 2 shards each."""
    each = int(rate * LASTS_S / SAMPLE / SHARDS) // (2 * BATCH) * (2 * BATCH)
    folder = disk / "own"
    folder.mkdir(exist_ok=True)
    for shard in range(SHARDS):
        with tarfile.open(folder / f"{shard}.tar", "w", format=tarfile.USTAR_FORMAT) as out:
            for number in range(each):
                for part, data in (("jpg", os.urandom(SAMPLE)), ("cls", b"3")):
                    info = tarfile.TarInfo(f"{shard}_{number}.{part}")
                    info.size = len(data)
                    out.addfile(info, io.BytesIO(data))
    os.sync()
    return sorted(folder.iterdir()), each * SHARDS


def evict(paths):
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def ours(workers, shuffle, step_s, own_s):
    result = bench.run({"use": "input_pipeline", "layout": "shards", "loader": "pytorch_iterable", "read_profile": "wds",
                        "path": str(disk / "own"), "workers": workers, "batch_size": BATCH, "prefetch_factor": PREFETCH,
                        "step_time": f"{step_s}s", "cpu_time_per_batch": f"{own_s}s", "cache": "cold", "duration": "120s",
                        "repeat": bench.ONCE, **({"shuffle_buffer": shuffle} if shuffle else {})}, f"{disk}/scratch")
    assert result.code == 0, result.reported
    bench.proven(result)
    return result.metric("accelerator_utilization"), result.metric("ideal_share") * BATCH / step_s


def compare(workers, share, shuffle=0):
    step_s = BATCH * sum(p.stat().st_size for p in paths) / samples * share / rate
    words = [workers, BATCH, PREFETCH, shuffle, step_s, *paths]
    trainer = subprocess.Popen([sys.executable, Path(__file__).parent / "trainer.py", *map(str, words)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert trainer.stdout.readline() == "ready\n", "the trainer ended"
    own, other = [], []
    for _ in range(ROUNDS):
        evict(paths)
        trainer.stdin.write("go\n")
        trainer.stdin.flush()
        *reported, own_s = map(float, trainer.stdout.readline().split())
        other.append(reported)
        own.append(ours(workers, shuffle, step_s, own_s))
    trainer.stdin.close()
    trainer.wait(timeout=120)
    (au, given), (their_au, theirs) = ([statistics.median(column) for column in zip(*side)] for side in (own, other))
    scatter = max(max(column) - min(column) for side in (own, other) for column in [list(zip(*side))[0]])
    print(f"| {share}-{workers}{'-shuffle' if shuffle else ''} | {their_au:.3f} | {au:.3f} | {au - their_au:+.3f} | {theirs:.1f} | {given:.1f} | "
          f"{100 * (given / theirs - 1):+.1f} % | {scatter:.3f} |", flush=True)
    # A throttle may hand out a slice ahead, to the one and not to the other.
    assert TABLE or abs(au - their_au) <= 0.05 + min(1, share) * AHEAD_S / LASTS_S, (own, other)


paths, samples = make()
for workers in ([1, 2, 4] if TABLE else [2]):
    for share in (0.5, 0.9, 1.5):
        bench.on_a_quiet_moment(lambda: compare(workers, share))
if TABLE:
    for share in (0.5, 0.9, 1.5):
        compare(2, share, SHUFFLE)
