"""The cases of benches/rehearsal.py: a loader, its data, its storage and the resulting limit."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class Case:
    loader: str  # as benches/peers/rehearsed_job.py has them
    data: str
    workers: int
    batch: int
    step_s: float
    limit: str
    faults: tuple[str, ...] = ()  # rules of tests/faults/faulty_fs.cc
    disk: tuple[str, ...] = ()  # options of tests/disk/with-limits; without both: warm, from memory
    count: int = 800
    size: int = 100_000  # of a sample [B]; images have their own
    prefetch: int = 2
    heavy: bool = False  # sizes with a heavy tail
    tune: bool = False
    calibrate: str = ""  # the decoder

    @property
    def warm(self) -> bool:
        return not self.faults and not self.disk


def opens(ms: float) -> tuple[str, ...]:
    return (f"delay * op=open ms={ms}",)


def reads(ms: float) -> tuple[str, ...]:
    return (f"delay * op=read ms={ms}",)


def megabytes(count: int) -> tuple[str, ...]:
    return ("--read-bps", f"{count}M")


def requests(count: int) -> tuple[str, ...]:
    return ("--read-iops", str(count))


CASES = {
    "map-open-35ms": Case("map", "files", 3, 6, 0.040, "workers", opens(35)),
    "map-open-8ms": Case("map", "files", 2, 12, 0.090, "gpus", opens(8), count=1300),
    "map-read-9ms": Case("map", "files", 3, 8, 0.020, "workers", reads(9), count=2400, size=60_000),
    "map-uncached-14ms": Case("map", "files", 3, 5, 0.040, "workers", ("uncached *", *reads(14)), count=1000, prefetch=3),
    "map-disk-9MB": Case("map", "images", 2, 8, 0.030, "storage", disk=megabytes(9), count=1600, calibrate="torchvision"),
    "map-220-requests": Case("map", "images", 3, 8, 0.050, "storage", disk=requests(220), calibrate="torchvision"),
    "map-read-5ms-heavy": Case("map", "files", 2, 8, 0.018, "workers", reads(5), count=2400, prefetch=1, heavy=True),
    "map-some-slow": Case("map", "files", 4, 8, 0.025, "workers", ("delay *7.bin op=open ms=150",), count=1800),
    "iterable-open-25ms": Case("iterable", "files", 2, 10, 0.100, "workers", opens(25)),
    "iterable-disk-8MB": Case("iterable", "files", 3, 8, 0.080, "storage", disk=megabytes(8)),
    "iterable-decoding": Case("iterable", "images", 1, 16, 0.080, "gpus", count=1600, calibrate="torchvision"),
    "threads-open-30ms": Case("threads", "files", 4, 8, 0.050, "workers", opens(30), count=1000),
    "threads-disk-15MB": Case("threads", "files", 4, 10, 0.050, "storage", disk=megabytes(15), count=1200, prefetch=3),
    "threads-read-12ms": Case("threads", "files", 2, 8, 0.080, "gpus", reads(12)),
    "main-open-10ms": Case("main", "files", 0, 4, 0.030, "workers", opens(10)),
    "main-decoding": Case("main", "images", 0, 16, 0.030, "workers", count=3000, calibrate="torchvision"),
    "main-disk-7MB": Case("main", "files", 0, 5, 0.060, "storage", disk=megabytes(7), count=700),
    "webdataset-disk-14MB": Case("webdataset", "tar", 2, 16, 0.075, "storage", disk=megabytes(14), count=2000, size=75_000),
    "webdataset-read-20ms": Case("webdataset", "tar", 1, 16, 0.060, "workers", reads(20), count=2000, size=75_000),
    "webdataset-disk-40MB": Case("webdataset", "tar", 2, 16, 0.060, "gpus", disk=megabytes(40), count=2400, size=75_000),
    "webdataset-decoding": Case("webdataset", "tarimages", 2, 16, 0.018, "decoding", count=3200, calibrate="torchvision"),
    "streaming-open-15ms": Case("streaming", "mds", 2, 8, 0.050, "workers", opens(15), count=1200),
    "streaming-disk-11MB": Case("streaming", "mds", 2, 8, 0.060, "storage", disk=megabytes(11), count=1000),
    "streaming-read-4ms": Case("streaming", "mds", 2, 8, 0.060, "gpus", reads(4), count=1200),
    "tfdata-open-20ms": Case("tfdata", "files", 3, 8, 0.045, "workers", opens(20), count=1200),
    "tfdata-disk-12MB": Case("tfdata", "files", 2, 8, 0.055, "storage", disk=megabytes(12), count=1000),
    "tfrecord-read-30ms": Case("tfdata", "records", 2, 8, 0.030, "workers", reads(30), count=1600),
    "tfrecord-disk-18MB": Case("tfdata", "records", 2, 10, 0.045, "storage", disk=megabytes(18), count=1600),
    "grain-open-25ms": Case("grain", "files", 4, 8, 0.040, "workers", opens(25), count=1200),
    "grain-disk-10MB": Case("grain", "files", 2, 5, 0.040, "storage", disk=megabytes(10), count=900),
    "grain-read-6ms": Case("grain", "files", 3, 8, 0.060, "gpus", reads(6), count=1200),
    "dali-open-12ms": Case("dali", "files", 1, 8, 0.080, "workers", opens(12)),
    "dali-disk-9MB": Case("dali", "images", 2, 8, 0.030, "storage", disk=megabytes(9), count=1600, calibrate="dali"),
    "dali-decoding": Case("dali", "images", 2, 16, 0.080, "gpus", count=1600, calibrate="dali"),
    "spdl-open-18ms": Case("spdl", "files", 5, 12, 0.035, "workers", opens(18), count=2000),
    "spdl-disk-13MB": Case("spdl", "files", 3, 8, 0.050, "storage", disk=megabytes(13), count=1100),
    "tune-map-open-15ms": Case("map", "files", 6, 8, 0.045, "gpus", opens(15), tune=True),
    "tune-map-open-40ms": Case("map", "files", 2, 6, 0.065, "workers", opens(40), tune=True),
    "tune-map-read-9ms": Case("map", "files", 1, 8, 0.030, "workers", reads(9), count=1200, size=60_000, tune=True),
    "tune-map-uncached-12ms": Case("map", "files", 2, 6, 0.050, "workers", ("uncached *", *reads(12)), prefetch=3, tune=True),
    "tune-map-some-slow": Case("map", "files", 4, 6, 0.040, "gpus", ("delay *7.bin op=open ms=150",), count=1200, prefetch=1,
                               tune=True),
    "tune-map-decoding": Case("map", "images", 3, 16, 0.030, "gpus", count=2400, calibrate="torchvision", tune=True),
    "tune-iterable-open-20ms": Case("iterable", "files", 2, 10, 0.060, "workers", opens(20), tune=True),
    "tune-threads-open-25ms": Case("threads", "files", 8, 8, 0.055, "gpus", opens(25), tune=True),
    "tune-webdataset-read-20ms": Case("webdataset", "tar", 1, 16, 0.056, "workers", reads(20), count=2000, size=75_000, tune=True),
    "tune-streaming-open-12ms": Case("streaming", "mds", 1, 8, 0.055, "workers", opens(12), tune=True),
    "tune-tfdata-open-22ms": Case("tfdata", "files", 2, 8, 0.050, "workers", opens(22), tune=True),
    "tune-spdl-open-30ms": Case("spdl", "files", 3, 8, 0.052, "workers", opens(30), tune=True),
}
