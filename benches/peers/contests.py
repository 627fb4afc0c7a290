"""The rows of the table: the work, how headrace does it, its peer, and the required ratio."""

from dataclasses import dataclass, replace
from typing import Optional

from work import GiB, KiB, MiB, Peer, Work

# A turn is a second or two: many short turns see through a neighbour's noise better than few long ones.
SMALL = Work("files", files=20_000, file_size=128 * KiB, block=128 * KiB, cache="warm", passes=3)
RECORDS = Work("random", files=1, file_size=2 * GiB, block=4 * KiB, cache="warm", passes=2)
SHARDS = Work("stream", files=4, file_size=GiB, block=MiB, cache="warm", passes=4)
SAVE = Work("save", files=1, file_size=4 * GiB, block=MiB, cache="bypassed")

FIXED = {"ioengine": "io_uring", "fixedbufs": 1, "registerfiles": 1}
HUGE = {"iomem": "mmaphuge"}


@dataclass(frozen=True)
class Opponent:
    """`rate`: the lowest allowed ratio of headrace's rate to the peer's. `cpu`: the highest allowed ratio of processor time per operation.
    Of those with the same `group` only the fastest counts."""

    peer: Peer
    rate: Optional[float] = None
    cpu: Optional[float] = None
    group: str = ""


@dataclass(frozen=True)
class Contest:
    name: str
    title: str
    work: Work
    ours: Peer
    against: tuple


def headrace(name="posix", **settings):
    return Peer("headrace", name, {"engine": "posix"} | settings)


def uring(depth, **settings):
    return headrace(f"io_uring, {depth} in flight", engine="io_uring", queue_depth=depth, **settings)


def fio(name, rate=None, cpu=None, group="", **settings):
    return Opponent(Peer("fio", name, settings), rate, cpu, group)


def both(**ways):
    """Each way of fio with ordinary buffers and with buffers in huge pages."""
    for name, settings in ways.items():
        yield name.replace("_", " "), settings, ""
        yield name.replace("_", " ") + ", huge pages", settings | HUGE, "huge"


def contests():
    psync, elbencho, minimal = {"ioengine": "psync"}, Peer("elbencho", "elbencho"), Peer("minimal", "minimal program")
    yield Contest("small-warm", "whole 128 KiB files, random order, warm, 1 thread", SMALL, headrace(), (
        Opponent(elbencho, 1.05),
        fio("files in order", 1.15, **psync, file_service_type="sequential"),
        fio("random order, 64 open", 2.5, **psync, file_service_type="random", openfiles=64),
        Opponent(minimal, 0.97)))
    yield Contest("small-cold", "whole 128 KiB files, random order, cold, 1 thread",
                  replace(SMALL, cache="cold", passes=1), uring(8), (Opponent(headrace(), 1.7),))
    yield Contest("random-warm", "4 KiB random reads, warm, 1 thread", RECORDS, headrace(), (
        fio("psync", 1.12, **psync), Opponent(elbencho, 1.05), Opponent(minimal, 0.97)))
    yield Contest("random-warm-32", "4 KiB random reads, warm, 1 thread", RECORDS, uring(32), (
        fio("io_uring, fixed buffers", 1.5, **FIXED, iodepth=32),))
    yield Contest("random-direct-32", "4 KiB random reads, direct, 32 in flight, 1 thread",
                  replace(RECORDS, cache="bypassed", passes=1, reads=200_000), uring(32), (
        fio("io_uring, fixed buffers", 1.0, 0.9, **FIXED, iodepth=32),
        Opponent(Peer("elbencho", "elbencho", {"iodepth": 32}))))
    for threads, target in ((1, 1.0), (2, 1.1)):
        yield Contest(f"stream-warm-{threads}", f"1 MiB sequential, warm, {threads} thread{'s' * (threads > 1)}",
                      replace(SHARDS, threads=threads), headrace(),
                      (fio("psync", target, **psync), Opponent(elbencho)))
    yield Contest("stream-direct", "sequential, direct, 1 thread; headrace searches engine, block and depth itself",
                  replace(SHARDS, cache="bypassed", passes=1), Peer("headrace", "tune: true", {"tune": True}), tuple(
        fio(name, 1.0 if group else 1.3, group=group or "ordinary", **settings) for name, settings, group in both(
            psync=psync, libaio={"ioengine": "libaio", "iodepth": 8}, io_uring={"ioengine": "io_uring", "iodepth": 8})))
    save = uring(8, direct=True, preallocate=True, block_size="4MiB")
    rings = {"ioengine": "io_uring", "fixedbufs": 1, "iodepth": 8}  # registered files end a save unseen from outside
    yield Contest("save", "checkpoint write, 4 GiB that differ per block, until durable, seen from outside", SAVE,
                  save,
                  tuple(fio(name, 1.0, group="any", **settings) for name, settings, _ in both(
                      psync_buffered=psync | {"direct": 0}, psync_direct=psync,
                      io_uring_direct=rings, io_uring_direct_4_MiB=rings | {"bs": "4m"})))
    for name, work in (("small", SMALL), ("random", RECORDS), ("stream", SHARDS)):
        yield Contest(f"{name}-depth-1", f"{name} reads, warm, 1 in flight, 1 thread: io_uring beside posix", work,
                      uring(1), (Opponent(headrace(), 0.9),))
