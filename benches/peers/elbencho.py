"""Runs elbencho, where it is installed: options made from the work, results from its JSON."""

import json
import os
import re
import statistics
import subprocess

from work import Measured, Missing, Peer, Place, Work


def options(work: Work, place: Place) -> list:
    # Latencies are always taken: they are compared, and headrace takes them, too.
    common = ["-r", "-t", work.threads, "-b", work.block, "--iterations", work.passes, "--nolive", "--lat",
              "--latpercent", "--cpu"]
    common += ["--direct"] if work.direct else []
    if work.pattern == "files":
        folder, tree = place.folder(work), place.temporary / "elbencho.tree"
        folders = sorted({file.parent.name for file in place.data(work)})
        lines = [f"d {name}" for name in folders]
        lines += [f"f {work.file_size} {file.relative_to(folder)}" for file in place.data(work)]
        tree.write_text("\n".join(lines) + "\n")
        return [*common, "--treefile", tree, "--treerand", folder]
    if work.pattern == "random":
        common += ["--rand", "--randamount", work.reads_per_pass * work.block]
    return [*common, *place.data(work)]


def run(work: Work, peer: Peer, place: Place) -> Measured:
    if not place.elbencho:
        raise Missing("no --elbencho")
    out = place.temporary / "elbencho.json"
    out.unlink(missing_ok=True)
    more = [part for key, value in peer.settings.items() for part in (f"--{key}", value)]
    command = [place.elbencho, "--jsonfile", out, *more, *options(work, place)]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    reported = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"elbencho ended with status {status}:\n{reported}")
    return measured([json.loads(line) for line in out.read_text().splitlines()], reported, work,
                    used.ru_utime + used.ru_stime)


def measured(passes: list, reported: str, work: Work, cpu_s: float) -> Measured:
    """elbencho counts in whole milliseconds and whole operations per second. Only its text has percentiles, with a few
    buckets per power of two."""
    kind = "Files" if work.pattern == "files" else "IO"
    key = "entries/s" if work.pattern == "files" else "bytes/s" if work.pattern == "stream" else "iops"
    rate = statistics.harmonic_mean(float(one["last_done"][key]) for one in passes)  # over all, as of the others
    operations = sum(int(one["last_done"]["bytes"]) for one in passes) / work.block
    tails = re.findall(rf"{kind} lat % us *: \[.* 50%<=([\d.]+).* 99%<=([\d.]+)", reported)
    p50, p99 = (statistics.median(1e-6 * float(tail[n]) for tail in tails) for n in (0, 1))
    return Measured(rate, cpu_s / operations, p50, p99)
