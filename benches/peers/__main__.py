"""Runs headrace and its peers by turns. They do the same work on the same files in the same cache state; prints ratios.

    python3 benches/peers --headrace build/release/headrace --scratch DIR [--turns 7] [--only GLOB] [--results FILE]
                          [--minimal build/release] [--elbencho PATH] [--list | --table]

A turn runs headrace and every peer once; the order changes from turn to turn. Ratios are headrace / peer of the same
turn: only ratios mean anything on a machine that others use, too. Printed are their median and quartiles. CPU is user
and kernel time of the whole process while it works. Peers that are not installed are left out, with the reason.
Needs fio 3.30 or later, strace for saves, the target peers_minimal, and nothing but Python's standard library.
"""

import argparse
import fnmatch
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import elbencho
import fio
import headrace
import minimal_programs
from contests import contests
from results import HEADER, Results
from work import Missing, Peer, Place

RUN = {"headrace": headrace.run, "fio": fio.run, "elbencho": elbencho.run, "minimal": minimal_programs.run}
SETTLE_S = 2
HOPELESS = 0.6  # of a group's best, after two turns
HUGE_PAGES = Path("/proc/sys/vm/nr_overcommit_hugepages")


@contextmanager
def huge_pages(pages=64):
    """Lets programs have huge pages of their own (`iomem=mmaphuge`) while contests run; as before afterwards."""
    before = HUGE_PAGES.read_text() if HUGE_PAGES.exists() else ""
    try:
        HUGE_PAGES.write_text(str(pages))
    except OSError as e:
        print(f"no huge pages can be lent out ({e.strerror}): peers that ask for them are left out", file=sys.stderr)
        before = ""
    try:
        yield
    finally:
        if before:
            HUGE_PAGES.write_text(before)


def warm(place, work):
    """Reads data into the page cache, where headrace left it unless another process emptied it."""
    buffer = bytearray(1 << 20)
    for file in place.data(work):
        with open(file, "rb", buffering=0) as data:
            while data.readinto(buffer):
                pass


def settle():
    """Lets the file system finish the work of the turn before: freeing the blocks of deleted files."""
    os.sync()
    time.sleep(SETTLE_S)


def searched(peer, place):
    """What `tune: true` found, as settings for the turns, so that the search is not repeated in every turn."""
    for note in place.notes:
        if found := re.match(r"tuned: (\w+), (\S+) (\w+) blocks, (\d+) in flight", note):
            engine, number, unit, depth = found.groups()
            settings = {"engine": engine, "block_size": number + unit, "queue_depth": int(depth)}
            return Peer("headrace", f"{peer.name}: {engine}, {number} {unit} blocks, {depth} in flight", settings)
    return peer


def hold(contest, place, turns, results):
    headrace.run(replace(contest.work, passes=1), contest.ours, place)  # makes the data; not counted
    ours = searched(contest.ours, place)
    results.data["machine"] = place.environment
    results.data["ours"][contest.name] = ours.name
    entrants = [("headrace", ours)] + [(o.peer.name, o.peer) for o in contest.against]
    absent, left = set(), 3 * turns
    while turns > 0 and left > 0:
        left -= 1
        measured = {}
        absent |= results.hopeless(contest, HOPELESS)
        for name, peer in entrants[left % len(entrants) :] + entrants[: left % len(entrants)]:
            if name in absent:
                continue
            if contest.work.cache == "warm" and peer.tool != "headrace":
                warm(place, contest.work)
            if contest.work.pattern == "save":
                settle()
            try:
                measured[name] = RUN[peer.tool](contest.work, peer, place)
            except Missing as why:
                absent.add(name)
                print(f"{contest.name}: {name} is left out: {why}", file=sys.stderr)
            except headrace.NotProven as why:
                print(f"{contest.name}: a turn does not count: {why}", file=sys.stderr)
        if "headrace" in measured:
            results.add(contest, measured)
            turns -= 1
    if turns > 0:
        print(f"{contest.name}: the cache state could not be kept: does somebody else empty the cache?", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(prog="python3 benches/peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headrace", type=Path, default=Path("build/release/headrace"))
    parser.add_argument("--minimal", type=Path, default=Path("build/release"), help="where the minimal programs are")
    parser.add_argument("--elbencho", type=Path, help="the elbencho to meet; none: left out")
    parser.add_argument("--scratch", type=Path, help="a folder for headrace's data; kept, so that data is made once")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--only", default="*", help="glob on the names of the contests")
    parser.add_argument("--results", type=Path, help="keeps the turns; those of earlier runs count, too")
    parser.add_argument("--list", action="store_true", help="only list the contests")
    parser.add_argument("--table", action="store_true", help="only print the table of --results")
    args = parser.parse_args()
    chosen = [c for c in contests() if fnmatch.fnmatch(c.name, args.only)]
    if args.list:
        print("\n".join(f"{c.name:18} {c.title}" for c in chosen))
        return 0
    if not chosen or not (args.table or args.scratch):
        parser.error("--scratch is needed, and --only must fit a contest (see --list)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # returns what the run borrowed
    results = Results(args.results)
    if not args.table:
        with tempfile.TemporaryDirectory() as temporary, huge_pages():
            place = Place(args.scratch.absolute(), Path(temporary), args.headrace.absolute(), args.minimal.absolute(),
                          args.elbencho)
            for contest in chosen:
                try:
                    hold(contest, place, args.turns, results)
                except (RuntimeError, subprocess.SubprocessError) as e:
                    sys.exit(f"{contest.name}: {e}")
    print(HEADER)
    all_reached = True
    for contest in chosen:
        for text, reached in results.rows(contest):
            print(text, flush=True)
            all_reached &= reached
    return 0 if all_reached else 1


if __name__ == "__main__":
    sys.exit(main())
