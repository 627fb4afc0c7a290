"""Disks of known rates, measured in interleaved blocks: a tenth less is called worse, the same rate is not called changed.

known_difference.py HEADRACE                    a try of each, in six blocks
known_difference.py HEADRACE --slower 20 --same 50 [--jobs 3] [--keep FOLDER]
                                                that many of each, in that many processes with disks of their own; prints the
                                                tally; fails when fewer than 19 of 20 slower disks are called worse, or more
                                                than 1 of 50 equal ones changed

A turn reads 150 MB cold: 1.4 s at 100 MB/s, for the throttle gives a tenth of a second ahead. Cold, because of a cold start
no warm-up is cut: the throttle deals in tenths of seconds, and what is cut among them would be chance. --keep: the last
comparison with the slower disk is left in FOLDER.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

import bench

FAST, SLOW = "100M", "90M"
RATES = [FAST, SLOW, FAST]
GATE = "read_bandwidth"
SHARDS = {"use": "shard_stream", "files": 8, "file_size": "25000000B", "workers": 8, "cache": "bypassed", "direct": True}
CHANGED = ("worse", "better", "differs")


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("headrace")
    parser.add_argument("--slower", type=int, default=1, help="comparisons with the slower disk")
    parser.add_argument("--same", type=int, default=1, help="comparisons with a disk of the same rate")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with disks of its own")
    parser.add_argument("--keep", help="where the last comparison with the slower disk is left")
    parser.add_argument("--disks", nargs="*", default=[], help=argparse.SUPPRESS)  # mounted so far
    return parser.parse_args()


def words_for(given, slower, same, disks=()):
    words = [sys.executable, sys.argv[0], given.headrace, "--slower", str(slower), "--same", str(same)]
    return words + (["--keep", given.keep] if given.keep and slower else []) + (["--disks", *disks] if disks else [])


def with_disks(given):
    """The mount points of all disks; runs this script again below one more until they are there."""
    disks = given.disks + ([os.environ["LIMITED_DISK"]] if "LIMITED_DISK" in os.environ else [])
    if len(disks) == len(RATES):
        return disks
    done = subprocess.run([bench.HERE / "with-limits", "--size", "300M", "--read-bps", RATES[len(disks)], "--",
                           *words_for(given, given.slower, given.same, disks)])
    sys.exit(done.returncode)


def compare(headrace, a, b, folder):
    """Status and ratio of the rate on disk `b` against disk `a`."""
    config = folder / "disk.yaml"
    # JSON is YAML.
    config.write_text(json.dumps({"schema": 1, "name": "disk", "target": {"path": f"{a}/scratch"}, "workloads": [SHARDS]}))
    # Without a budget for retakes: what disturbs both disks alike is not what is compared.
    done = subprocess.run([headrace, "run", "-c", config, "--against", f"{b}/scratch", "--out", folder / "blocks", "--json",
                           "--budget", "1s", "--no-report", "--progress", "none", "--gate", f"*.{GATE}"], cwd=folder,
                          capture_output=True, text=True)
    if done.returncode not in (0, 10, 11):
        raise AssertionError(f"headrace ended with {done.returncode}:\n{done.stderr}")
    row = next(row for row in json.loads(done.stdout)["pairs"][0]["rows"] if row["metric"] == GATE)
    code = {"worse": 10, "inconclusive": 11}.get(row["status"], 0)
    assert done.returncode == code, f"{row['status']}, but exit code {done.returncode}"
    return row


def work(given):
    """All tries of this process, one line each."""
    disks = with_disks(given)
    for disk in disks:
        bench.read_far_ahead(disk)
    with bench.folder() as work:
        for number, other in enumerate([1] * given.slower + [2] * given.same, start=1):
            folder = work / f"{number}"
            folder.mkdir()
            row = compare(given.headrace, disks[0], disks[other], folder)
            print(f"{FAST} against {RATES[other]}: {row['status']}, {100 * (row['ratio'] - 1):+.2f} % "
                  f"[{100 * (row['low'] - 1):+.2f}, {100 * (row['high'] - 1):+.2f}] {row['reason']}", flush=True)
            if given.keep and number == given.slower:
                shutil.copytree(folder / "blocks", given.keep)
            shutil.rmtree(folder)


def share(total, jobs, number):
    return total // jobs + (number < total % jobs)


def tally(given):
    """Status by rate of all tries, in processes with disks of their own; skips where there can be none."""
    jobs = []
    for number in range(given.jobs):
        mine = argparse.Namespace(**{**vars(given), "keep": None if number else given.keep})
        words = words_for(mine, share(given.slower, given.jobs, number), share(given.same, given.jobs, number))
        jobs.append(subprocess.Popen([bench.HERE / "with-limits", "--size", "300M", "--read-bps", RATES[0],
                                      "--", *words], stdout=subprocess.PIPE, text=True))
    counts = {SLOW: {}, FAST: {}}
    for job in jobs:
        for line in job.stdout:
            print(line, end="", flush=True)
            rate, status = line.split("against ", 1)[1].split(",")[0].split(": ")
            counts[rate][status] = counts[rate].get(status, 0) + 1
    codes = {job.wait() for job in jobs} - {0}
    if codes:
        sys.exit(max(codes))
    for rate, found in counts.items():
        reported = ", ".join(f"{count} {status}" for status, count in sorted(found.items()))
        print(f"{FAST} against {rate}, {sum(found.values())} times: {reported}")
    return counts


def check(given):
    counts = tally(given)
    worse = counts[SLOW].get("worse", 0)
    changed = sum(counts[FAST].get(status, 0) for status in CHANGED)
    assert worse * 20 >= given.slower * 19, f"called worse only {worse} times of {given.slower}"
    assert changed * 50 <= given.same, f"called changed {changed} times of {given.same}"


def main():
    given = arguments()
    if given.disks or "LIMITED_DISK" in os.environ:
        work(given)
    else:
        bench.on_a_quiet_moment(lambda: check(given), tries=3 if given.slower + given.same <= 2 else 1)


main()
