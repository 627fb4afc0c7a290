"""What headrace measures as a loader is what real readers of the same number get, on storage with a delay per open and per
read. Both are taken by turns, so that what else the machine does hits both, and compared by the median of their ratios.

With HEADRACE_LOADER_TABLE=1 nothing is decided, and each comparison prints a line of the table in docs/explanation/loaders.md:

    for ms in 2 5; do
      HEADRACE_LOADER_TABLE=1 HEADRACE_LOADER_ROUNDS=5 HEADRACE_LOADER_DELAY_MS=$ms \\
        nice -n -15 python3 -B tests/faults/run.py loaders -s -k "processes or pytorch or tar or parsing or tf or mosaic" | grep "^|"
    done
"""

import importlib.util
import io
import mmap
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tarfile
import time

import pytest

pytestmark = pytest.mark.long

READERS = pathlib.Path(__file__).parent / "readers"
DELAY_MS = int(os.environ.get("HEADRACE_LOADER_DELAY_MS", "12"))  # of an open, and of a read: far above what Python takes
ROUNDS = int(os.environ.get("HEADRACE_LOADER_ROUNDS", "2"))
TABLE = "HEADRACE_LOADER_TABLE" in os.environ
WORKERS = [1, 2, 4, 8] if TABLE else [1, 4]  # all of them take 7 minutes
MOST_SCATTER = 0.3
EACH = 32  # files, or a shard's reads, of each worker
FILE = 100_000
SAMPLES = 24  # of a shard


class Reader:
    """Processes that each read their files when asked."""

    def __init__(self, script, arguments_of_each):
        self.processes = [subprocess.Popen([sys.executable, str(READERS / script), *map(str, arguments)], text=True,
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                          for arguments in arguments_of_each]
        for process in self.processes:
            assert process.stdout.readline() == "ready\n", f"{script} ended"

    def epoch(self):
        """Seconds from the first that began to the last that ended."""
        for process in self.processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        times = [list(map(float, process.stdout.readline().split())) for process in self.processes]
        self.used = [time[2:] for time in times]
        return max(time[1] for time in times) - min(time[0] for time in times)

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.wait(timeout=120)


def evict(paths):
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


class Pair:
    """headrace and a real reader by turns on the same files."""

    def __init__(self, headrace, faults, workload, paths, reader, samples):
        self.headrace, self.faults, self.workload = headrace, faults, workload
        self.paths, self.reader, self.samples = paths, reader, samples

    def slow(self):
        kind = self.paths[0].suffix
        self.faults.set(f"delay *{kind} op=open ms={DELAY_MS}", f"delay *{kind} op=read ms={DELAY_MS}")

    def ours(self):
        self.slow()
        result = self.headrace({"cache": "cold", "repeat": 1, **self.workload}, timeout=600)
        assert result.code == 0, result
        return [metric["median"] for metric in result.point["metrics"] if metric["name"] == "sample_rate"][0]

    def theirs(self):
        self.faults.set()
        evict(self.paths)
        self.slow()
        return self.samples / self.reader.epoch()

    def compare(self):
        """How much more headrace measured, and how much that may be by chance."""
        rates = [(self.ours(), self.theirs()) for _ in range(ROUNDS)]
        ours, theirs = zip(*rates)
        scatter = max((max(side) - min(side)) / statistics.median(side) for side in (ours, theirs))
        more = statistics.median(o / t for o, t in rates) - 1
        if TABLE:
            test = os.environ["PYTEST_CURRENT_TEST"].split("::")[1].split(" ")[0]
            print(f"\n| {test} | {DELAY_MS} ms | {statistics.median(theirs):.1f} | {statistics.median(ours):.1f} | "
                  f"{100 * more:+.1f} % | {100 * scatter:.0f} % |")
        print(f"headrace {statistics.median(ours):.1f}/s, reader {statistics.median(theirs):.1f}/s: {100 * more:+.1f} %, "
              f"scatter {100 * scatter:.1f} %")
        return more, scatter

    def agree(self, within=0.10):
        """Within that and the scatter; where other programs scatter them too far to decide, or they differ, taken again."""
        reported = []
        try:
            for _ in range(3):
                more, scatter = self.compare()
                if TABLE:
                    return True
                if scatter > MOST_SCATTER:
                    continue
                if abs(more) <= within + scatter:
                    return True
                reported.append(more)
        finally:
            self.reader.close()
        if not reported:
            pytest.skip(f"other programs scatter what is measured by more than {100 * MOST_SCATTER:.0f} %")
        return False


@pytest.fixture
def files(headrace, faults):
    """make(count): files that headrace generated, cold for whoever reads next."""
    def make(count):
        made = headrace({"use": "small_file_read", "files": count, "file_size": f"{FILE}B", "repeat": 1, "cache": "asis"})
        assert made.code == 0, made
        paths = sorted(p for p in (faults.mount / "scratch" / "data").rglob("f*.bin"))
        assert len(paths) == count
        return paths
    return make


def small_files(count, **more):
    return {"use": "small_file_read", "files": count, "file_size": f"{FILE}B", **more}


@pytest.mark.parametrize("workers", WORKERS)
def test_as_many_python_processes(headrace, faults, files, workers):
    paths = files(EACH * workers)
    reader = Reader("files.py", [paths[i::workers] for i in range(workers)])
    assert Pair(headrace, faults, small_files(len(paths), workers=workers), paths, reader, len(paths)).agree()


def test_other_read_profiles_are_reported_apart(headrace, faults, files):
    """Else the comparison would agree to anything: requests in flight are not what two waiting processes get."""
    paths = files(EACH * 2)
    reader = Reader("files.py", [paths[i::2] for i in range(2)])
    workload = small_files(len(paths), workers=2, loader="in_flight", queue_depth=8)
    pair = Pair(headrace, faults, workload, paths, reader, len(paths))
    first = pair.headrace({"cache": "cold", "repeat": 1, **workload}, timeout=600)
    if first.point["status"] == "skipped":
        pytest.skip(first.point["reason"])
    more, scatter = pair.compare()
    reader.close()
    assert more > 0.5 + scatter


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch (Debian: python3-torch)")
@pytest.mark.parametrize("workers", WORKERS)
def test_a_pytorch_data_loader(headrace, faults, files, workers):
    paths = files(EACH * workers)
    reader = Reader("dataloader.py", [[workers, 8, 2, *paths]])
    workload = small_files(len(paths), workers=workers, loader="pytorch", batch_size=8, prefetch_factor=2)
    assert Pair(headrace, faults, workload, paths, reader, len(paths)).agree()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch (Debian: python3-torch)")
def test_a_slow_file_holds_back_a_pytorch_data_loader_and_headrace_alike(headrace, faults, files):
    """Delivered in order: while one file takes long, the others read as far ahead as they may, and wait."""
    paths = files(EACH * 4)
    reader = Reader("dataloader.py", [[4, 2, 1, *paths]])
    pair = Pair(headrace, faults, small_files(len(paths), workers=4, loader="pytorch", batch_size=2, prefetch_factor=1),
                paths, reader, len(paths))
    pair.slow = lambda: faults.set(f"delay f00000[0-7].bin op=open ms={25 * DELAY_MS}",
                                   f"delay *.bin op=read ms={DELAY_MS}")
    assert pair.agree(within=0.25)  # which batch the slow files are in is drawn anew each time
    pair.slow()
    free = headrace({"cache": "cold", "repeat": 1, **small_files(len(paths), workers=4)}, timeout=600)
    held = headrace({"cache": "cold", "repeat": 1, **pair.workload}, timeout=600)
    rate = {name: next(m["median"] for m in run.point["metrics"] if m["name"] == "sample_rate")
            for name, run in (("free", free), ("held", held))}
    assert rate["held"] < 0.8 * rate["free"], rate


def shards(faults, count):
    folder = faults.mount / "shards"
    folder.mkdir()
    for number in range(count):
        with tarfile.open(folder / f"shard{number:03}.bin", "w") as shard:
            for sample in range(SAMPLES):
                member = tarfile.TarInfo(f"{sample:06}.jpg")
                member.size = FILE
                shard.addfile(member, io.BytesIO(os.urandom(FILE)))
    return sorted(folder.iterdir())


@pytest.mark.parametrize("script", ["tar_shards.py", "webdataset_shards.py"])
@pytest.mark.parametrize("workers", WORKERS)
def test_shards_of_tar(headrace, faults, script, workers):
    if script.startswith("webdataset") and importlib.util.find_spec("webdataset") is None:
        pytest.skip("no webdataset, which no distribution has: python3 -m pip install webdataset")
    paths = shards(faults, 2 * workers)
    reader = Reader(script, [paths[i::workers] for i in range(workers)])
    stored = sum(path.stat().st_size for path in paths)
    workload = {"use": "shard_stream", "path": str(paths[0].parent), "workers": workers, "read_profile": "wds",
                "sample_size": f"{stored // (len(paths) * SAMPLES)}B", "loader": "pytorch_iterable", "batch_size": 4}
    assert Pair(headrace, faults, workload, paths, reader, len(paths) * SAMPLES).agree()


def seconds_of_reading(paths):
    """Processor time of the reads that tarfile does, out of memory."""
    begin = time.process_time()
    for path in paths:
        with open(path, "rb") as shard:
            while shard.read(10240):
                pass
    return time.process_time() - begin


@pytest.mark.parametrize("script", ["tar_shards.py", "webdataset_shards.py"])
@pytest.mark.parametrize("workers", WORKERS)
def test_pipeline_with_known_cost_of_parsing(headrace, faults, script, workers):
    """Many workers take tar files apart in more time than their processors have: given that time, the pipeline rehearses it."""
    if script.startswith("webdataset") and importlib.util.find_spec("webdataset") is None:
        pytest.skip("no webdataset, which no distribution has: python3 -m pip install webdataset")
    paths = shards(faults, 2 * workers)
    alone = Reader(script, [paths])
    alone.epoch()  # from then on out of memory; other programs only lengthen what it takes
    parsing_s = min(alone.epoch() and alone.used[0][0] for _ in range(5)) - min(seconds_of_reading(paths) for _ in range(5))
    parsing_s /= len(paths) * SAMPLES
    alone.close()
    reader = Reader(script, [paths[i::workers] for i in range(workers)])
    workload = {"use": "input_pipeline", "layout": "shards", "path": str(paths[0].parent), "workers": workers, "read_profile": "wds",
                "sample_size": f"{paths[0].stat().st_size // SAMPLES}B", "loader": "pytorch_iterable", "batch_size": 4,
                "step_time": "0s", "cpu_time_per_sample": f"{parsing_s}s"}
    print(f"parsing takes {1e6 * parsing_s:.0f} us of a sample")
    assert Pair(headrace, faults, workload, paths, reader, len(paths) * SAMPLES).agree()


def test_a_framework_reports_the_kernel_nothing_of_the_order(headrace, faults):
    """A mapped file's pages come with those around them, as no framework asks for less; storage alone is asked to give no more."""
    folder = faults.mount / "tokens"
    folder.mkdir()
    (folder / "0.bin").write_bytes(os.urandom(16 << 20))
    block, count = 64 << 10, 64  # a few of them, so that what comes around is seldom asked for

    def reads(read):
        evict([folder / "0.bin"])
        faults.set("delay *.bin op=read ms=0")
        read()
        return faults.used()[0]

    def ours(**more):
        result = headrace({"use": "random_read", "path": str(folder), "read_profile": "mmap", "engine": "mmap", "block_size": f"{block}B",
                           "reads": count, "workers": 1, "cache": "cold", "repeat": 1, **more})
        assert result.code == 0, result

    def python():
        with open(folder / "0.bin", "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            for number in random.Random(1).sample(range((16 << 20) // block), count):
                bytes(mapped[number * block:(number + 1) * block])

    framework, storage, real = (reads(lambda: ours(loader="pytorch", batch_size=4)), reads(ours), reads(python))
    assert 0.6 * real < framework < 1.6 * real and storage > 4 * real, (framework, storage, real)


needs_tensorflow = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None,
                                      reason="no tensorflow, which no distribution has: python3 -m pip install tensorflow-cpu")


@needs_tensorflow
@pytest.mark.parametrize("workers", WORKERS)
def test_tf_data_over_files(headrace, faults, files, workers):
    paths = files(EACH * workers)
    reader = Reader("tf_files.py", [[workers, *paths]])
    workload = small_files(len(paths), workers=workers, loader="tfdata", read_profile="whole")
    assert Pair(headrace, faults, workload, paths, reader, len(paths)).agree()


@needs_tensorflow
@pytest.mark.parametrize("workers", WORKERS)
def test_tf_data_over_records(headrace, faults, workers):
    folder = faults.mount / "records"
    folder.mkdir()
    made = ["write", folder, 2 * workers, SAMPLES, FILE]
    subprocess.run([sys.executable, READERS / "tf_records.py", *map(str, made)], check=True)
    paths = sorted(folder.iterdir())
    reader = Reader("tf_records.py", [[workers, *paths]])
    workload = {"use": "shard_stream", "path": str(folder), "workers": workers, "read_profile": "ranged", "block_size": "256KiB",
                "sample_size": f"{FILE + 16}B", "loader": "tfdata", "prefetch_factor": 1}
    assert Pair(headrace, faults, workload, paths, reader, len(paths) * SAMPLES).agree()


@pytest.mark.skipif(importlib.util.find_spec("streaming") is None or importlib.util.find_spec("torch") is None,
                    reason="no torch, or no streaming, which no distribution has: python3 -m pip install mosaicml-streaming")
@pytest.mark.parametrize("workers", WORKERS)
def test_mosaic_streaming(headrace, faults, workers):
    folder = faults.mount / "mds"
    made = ["write", folder, 2 * workers, SAMPLES, FILE]
    subprocess.run([sys.executable, READERS / "mds_samples.py", *map(str, made)], check=True)
    paths = sorted(folder.glob("*.mds"))
    reader = Reader("mds_samples.py", [[workers, 8, 2, folder]])
    workload = {"use": "random_read", "path": str(folder), "workers": workers, "read_profile": "mds", "block_size": f"{FILE + 4}B",
                "loader": "pytorch", "batch_size": 8, "prefetch_factor": 2}
    assert Pair(headrace, faults, workload, paths, reader, len(paths) * SAMPLES).agree()
