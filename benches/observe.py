"""`headrace observe` on jobs whose truth is known: which resource limits, and each learned value compared with the truth.

    benches/observe.py HEADRACE FAULTY_FS [--keep DIR] [CASE ...]
    benches/observe.py HEADRACE FAULTY_FS --cost [TURNS]       # what a sample takes in the job, alone, watched and traced, in turns
    benches/observe.py HEADRACE FAULTY_FS --tree       # what watching 512 workers takes of a processor

Needs root (limits, mounts), and for four of the cases Debian's python3-torchvision. Prints a row a case, as in
docs/explanation/observe-accuracy.md. A value that is more than 5 % from the truth is right where the observation marks
it as unsure. Unsure means low confidence with bounds that include the truth, or a guess. A loader's true starving is
all of the time from asking for a batch to having it. This is the reported waiting. It is at most the time in which the
main thread computed or waited for a processor.
"""

import contextlib
import io
import json
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADRACE, FAULTY_FS = map(os.path.abspath, sys.argv[1:3])
LIMITS = ROOT / "tests/disk/with-limits"
PYTHON = "/usr/bin/python3"
PLAIN = [PYTHON, str(ROOT / "tests/observe/loader.py")]
AROUND = 0.02  # share of the time that a job spends outside of the observed part: its first batches
ODD = [PYTHON, str(ROOT / "tests/observe/odd_jobs.py")]
TORCH = [PYTHON, str(ROOT / "tests/observe/torch_loop.py")]


def files(folder, count, least, most):
    drawn = random.Random(5)
    for number in range(count):
        (folder / f"c{number % 8}").mkdir(parents=True, exist_ok=True)
        (folder / f"c{number % 8}/{number:05}.bin").write_bytes(drawn.randbytes(int(drawn.uniform(least, most))))


def images(folder, count, pixels=(400, 300)):
    import numpy
    import PIL.Image
    drawn = numpy.random.default_rng(5)
    for number in range(count):
        (folder / f"c{number % 4}").mkdir(parents=True, exist_ok=True)
        small = drawn.integers(0, 255, (int(drawn.integers(20, 60)), 50, 3), dtype=numpy.uint8)
        PIL.Image.fromarray(small).resize(pixels).save(folder / f"c{number % 4}/{number:05}.jpg", quality=90)


def shards(folder, count, samples):
    images(folder / "images", count * samples)
    every = iter(sorted((folder / "images").rglob("*.jpg")))
    for number in range(count):
        with tarfile.open(folder / f"shard-{number:04}.tar", "w") as archive:
            for sample in range(samples):
                image = next(every).read_bytes()
                for part, what in (("jpg", image), ("cls", b"7")):
                    member = tarfile.TarInfo(f"{number:04}{sample:04}.{part}")
                    member.size = len(what)
                    archive.addfile(member, io.BytesIO(what))
    subprocess.run(["rm", "-r", folder / "images"], check=True)


@contextlib.contextmanager
def slow_storage(backing, *rules):
    with tempfile.TemporaryDirectory() as mount:
        server = subprocess.Popen([FAULTY_FS, backing, mount])
        while not os.path.ismount(mount):
            time.sleep(0.05)
        try:
            (pathlib.Path(mount) / ".faults").write_text("\n".join(rules) + "\n")
            yield pathlib.Path(mount)
        finally:
            subprocess.run(["umount", mount], check=True)
            server.wait()


def observe(command, before=(), script="{}"):
    """Runs it under `observe`; returns the loader's truth, and the observed values."""
    with tempfile.TemporaryDirectory() as folder:
        words = [HEADRACE, "observe", "--out", f"{folder}/seen", "--", *command]
        if before:  # inside, where the disk's place is known
            words = [*before, "bash", "-c", script.format(" ".join(map(str, words)))]
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
        if done.returncode != 0:
            raise RuntimeError(f"exit {done.returncode}: {done.stdout[-500:]} {done.stderr[-1500:]}")
        return json.loads(done.stdout.splitlines()[-1]), json.loads(pathlib.Path(f"{folder}/seen/observe.json").read_text())


# The disk's limit is of a control group; whether the job can see it is the case.
COPIED = "cp -r {data} $LIMITED_DISK/data && sync && echo 3 >/proc/sys/vm/drop_caches && "
HIDDEN = "umount -l /sys/fs/cgroup; "


def on_disk(limits, data, command, hidden=True):
    before = [str(LIMITS), "--in-memory", "--size", "600M", *limits, "--", *(["unshare", "-m"] if hidden else [])]
    return observe(command, before, (HIDDEN if hidden else "") + COPIED.replace("{data}", str(data)) + "{}")


def with_saves(work):
    """Storage that reads slowly while it is written to."""
    (work / "d").mkdir(exist_ok=True)
    with slow_storage(work / "few", "uncached *", "delay * op=read ms=1") as mount:
        over = threading.Event()
        part = mount / "model.part"

        def follow():
            slow = False
            while not over.is_set():
                if part.exists() != slow:
                    slow = not slow
                    (mount / ".faults").write_text(f"uncached *\ndelay *.bin op=read ms={120 if slow else 1}\ndelay model* op=write ms=30\n")
                time.sleep(0.02)

        follower = threading.Thread(target=follow)
        follower.start()
        try:
            return observe([*PLAIN, mount, "--steps", "300", "--step", "0.03", "--workers", "2", "--save", mount / "model.pt", "--save-bytes",
                            str(40 << 20), "--save-every", "80", "--save-async"])
        finally:
            over.set()
            follower.join()


def slow(work, rules, *options):
    with slow_storage(work / "few", *rules) as mount:
        return observe([*PLAIN, mount, *options])


CASES = {
    "disk, plain": ({"storage_bandwidth"}, lambda w: on_disk(
        ["--read-bps", "20M"], w / "large", [*PLAIN, "$LIMITED_DISK/data", "--cold", "--steps", "60", "--workers", "4", "--batch", "4"])),
    "disk, ImageFolder": ({"storage_bandwidth"}, lambda w: on_disk(
        ["--read-bps", "2M"], w / "pictures", [*TORCH, "$LIMITED_DISK/data", "folder", "--step", "0.05", "--steps", "60"])),
    "disk, tar shards": ({"storage_bandwidth"}, lambda w: on_disk(
        ["--read-bps", "2M"], w / "shards", [*TORCH, "$LIMITED_DISK/data", "shards", "--step", "0.05", "--steps", "100"])),
    "requests, small files": ({"storage_requests"}, lambda w: on_disk(
        ["--read-iops", "150"], w / "small", [*PLAIN, "$LIMITED_DISK/data", "--cold", "--steps", "120", "--step", "0.02"])),
    "processor, one worker": ({"processor", "workers"}, lambda w: observe(
        [*PLAIN, w / "few", "--workers", "1", "--decode", "0.01", "--step", "0.03", "--steps", "80"])),
    "processor, ImageFolder": ({"processor", "workers"}, lambda w: observe(
        [*TORCH, w / "images", "folder", "--step", "0.01", "--steps", "120"])),
    "training, plain": ({"consumer"}, lambda w: observe([*PLAIN, w / "few", "--step", "0.1", "--steps", "80"])),
    "training, ImageFolder": ({"consumer"}, lambda w: observe([*TORCH, w / "images", "folder", "--step", "0.4", "--steps", "30", "--batch", "8"])),
    "saves stop training": ({"checkpoint_stall"}, lambda w: observe(
        [*PLAIN, w / "few", "--step", "0.03", "--steps", "200", "--save", w / "model.pt", "--save-bytes", str(300 << 20), "--save-every", "50"])),
    "saves slow reads": ({"checkpoint_interference"}, with_saves),
    "quota of processor time": ({"cgroup_cpu"}, lambda w: observe(
        [*PLAIN, w / "few", "--decode", "0.008", "--step", "0.03", "--steps", "60"], [str(LIMITS), "--cores", "0.25", "--"])),
    "quota of the device": ({"cgroup_io"}, lambda w: on_disk(
        ["--read-bps", "20M"], w / "large", [*PLAIN, "$LIMITED_DISK/data", "--cold", "--steps", "60", "--workers", "4", "--batch", "4"], hidden=False)),
    "slow opens": ({"slow_opens"}, lambda w: slow(w, ["uncached *", "delay * op=open ms=15"], "--steps", "80")),
    "slow reads, nothing counted": ({"storage_latency"}, lambda w: slow(w, ["uncached *", "delay * op=read ms=15"], "--steps", "80")),
}


def held(reported, truth):
    """Each value that the loader reports the truth of: key, learned, true, whether that is right."""
    learned = {one["key"]: one for one in reported["learned"]}
    true = {"step.time": truth["step"], "step.micro_batch": truth["samples"] / truth["steps"],
            "dataset.sample_size": truth.get("sample_size") or (truth["bytes"] / truth["samples"] if "bytes" in truth else None),
            "loader.workers_per_gpu": truth["workers"], "loader.prefetch_factor": truth["prefetch"],
            "loader.cpu_time_per_batch": truth.get("own"),
            "dataset.cpu_time_per_sample": truth.get("cpu_per_sample") if truth.get("cpu_per_sample", 0) > 1e-3 else None}
    for key, value in true.items():
        if value is None or key not in learned:
            continue
        one = learned[key]
        near = abs(one["value"] - value) <= 0.05 * value
        yield key, one["value"], value, near or one["confidence"] == "guess" or (
            one["confidence"] == "low" and one["low"] <= value <= one["high"]), "" if near else one["confidence"]


def starving(reported):
    """The least and the most of the time that it may have been: by bounds of shares."""
    share = reported["consumer"]
    return share["waiting_for_loader"]["low"], sum(share[one]["high"] for one in ("waiting_for_loader", "queued", "processor"))


def ratio_of(ways, way, what):
    """What a sample took watched over alone, turn by turn: the mean of the logarithms, and its 95 % bounds."""
    logs = [math.log(w[what] / a[what]) for w, a in zip(ways[way], ways["alone"])]
    mean, n = sum(logs) / len(logs), len(logs)
    half = 2.2 * math.sqrt(sum((one - mean) ** 2 for one in logs) / (n - 1) / n)  # t of 11 degrees of freedom
    return f"{math.exp(mean):.3f} [{math.exp(mean - half):.3f}, {math.exp(mean + half):.3f}]"


def cost(turns=12):
    """The processor time of a sample and the duration, of three jobs alone, watched and traced, by turns."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        files(work, 240, 60e3, 140e3)
        jobs = {"decoding 4 ms": [*PLAIN, work, "--workers", "1", "--decode", "0.004", "--step", "0.01", "--steps", "60"],
                "reading from memory alone": [*PLAIN, work, "--workers", "1", "--step", "0", "--steps", "2400"],
                "one process that reads from memory": [*ODD, work, "alone", "--step", "0", "--steps", "5000"]}
        before = {"alone": [], "watched": [HEADRACE, "-q", "observe", "--no-store", "--"],
                  "traced": [HEADRACE, "-q", "observe", "--no-store", "--trace", "--"]}
        for name, job in jobs.items():
            ways = {way: [] for way in before}
            for turn in range(turns):
                for way in sorted(before, key=lambda one: (list(before).index(one) + turn) % 3):
                    done = subprocess.run([*before[way], *map(str, job)], capture_output=True, text=True, check=True)
                    ways[way].append(json.loads(done.stdout.splitlines()[-1]))
            for way in ("watched", "traced"):
                print(f"{name}, {way} over alone, {turns} turns: processor time {ratio_of(ways, way, 'cpu_per_sample')}, "
                      f"time {ratio_of(ways, way, 'lasted')}", flush=True)


def tree(workers=512):
    """What watching that many processes, which read all the time, takes of a processor."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "data.bin"
        file.write_bytes(bytes(1 << 20))
        reading = (f"import os, time\nfor n in range({workers}):\n if os.fork() == 0:\n  f = os.open({str(file)!r}, os.O_RDONLY)\n"
                   "  while True:\n   os.pread(f, 65536, 0)\n   time.sleep(1)\nprint('ready', flush=True)\ntime.sleep(600)")
        job = subprocess.Popen([PYTHON, "-c", reading], stdout=subprocess.PIPE, start_new_session=True)
        try:
            job.stdout.readline()
            done = subprocess.run([HEADRACE, "observe", "--pid", str(job.pid), "--duration", "20s", "--no-store", "--json"],
                                  capture_output=True, text=True, check=True)
            print(f"a tree of {workers + 1} processes: {json.loads(done.stdout)['looked']}")
        finally:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()


def main():
    if sys.argv[3:4] == ["--cost"]:
        return cost(*map(int, sys.argv[4:5]))
    if sys.argv[3:] == ["--tree"]:
        return tree()
    wanted, wrong, kept = sys.argv[3:], 0, None
    if wanted[:1] == ["--keep"]:
        kept, wanted = pathlib.Path(wanted[1]), wanted[2:]
        kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        files(work / "few", 240, 60e3, 140e3)
        files(work / "small", 400, 8e3, 40e3)
        files(work / "large", 200, 200e3, 800e3)
        images(work / "images", 480)
        images(work / "pictures", 160, (1000, 800))
        shards(work / "shards", 16, 60)
        print("| case | limit | starving: seen, true | step: learned, true | batch | lie ready | others | right |")
        print("|---|---|---|---|---|---|---|---|")
        for name, (right, run) in CASES.items():
            if wanted and name not in wanted:
                continue
            try:
                truth, reported = run(work)
            except RuntimeError as error:
                print(f"| {name} | did not run: {error} | | | | | | no |", flush=True)
                wrong += 1
                continue
            values = {key: (got, true, good, unsure) for key, got, true, good, unsure in held(reported, truth)}
            least, most = starving(reported)
            good = reported["limit"]["id"] in right and all(v[2] for v in values.values()) and least - AROUND <= truth["starved"] <= most + AROUND
            wrong += not good
            if kept:
                (kept / f"{name.replace(' ', '-').replace(',', '')}.json").write_text(json.dumps({"truth": truth, "told": reported}))
            show = lambda key, unit, scale: "not known" if key not in values else (
                f"{values[key][0] * scale:.3g}, {values[key][1] * scale:.3g}{unit}{' (' + values[key][3] + ')' if values[key][3] else ''}")
            ready = lambda reported, values: next(("not known" if one["confidence"] == "guess" else show("loader.prefetch_factor", "", 1) if
                                               one["confidence"] != "low" else f"{one['low']:.1f} to {one['high']:.1f}, {truth['prefetch']}")
                                              for one in reported["learned"] if one["key"] == "loader.prefetch_factor")
            print(f"| {name} | {reported['limit']['id']} | {100 * least:.0f} to {100 * most:.0f} %, {100 * truth['starved']:.0f} % | "
                  f"{show('step.time', ' ms', 1e3)} | {show('step.micro_batch', '', 1)} | {ready(reported, values)} | size {show('dataset.sample_size', ' kB', 1e-3)}; "
                  f"processor {show('dataset.cpu_time_per_sample', ' ms', 1e3)} | {'yes' if good else 'NO'} |", flush=True)
    return bool(wrong)


sys.exit(main())
