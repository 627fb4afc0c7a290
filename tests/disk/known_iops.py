"""A disk of 500 reads/s: small files and random blocks report what that allows within 3 %. Usage: known_iops.py HEADRACE

For files this is not 500 files/s: blocks of inodes and folders are reads too. All are 4 KiB here, so the bytes that the
device gave show how many reads there were. Random blocks, read past the cache, are one read each.
"""

import bench

READS_PER_S = 500
disk = bench.limited("--size", "1G", "--read-iops", str(READS_PER_S))


def measured(workload):
    result = bench.run({"cache": "cold", "repeat": bench.ONCE, **workload}, f"{disk}/scratch")
    assert result.code == 0, result.reported
    bench.proven(result)
    return result


def files():
    result = measured({"use": "small_file_read", "files": 5000, "file_size": "4KiB", "workers": 4})
    phase = result.point["repetitions"][0]["phases"][0]
    reads_per_file = phase["device_bytes"] / 4096 / phase["operations"]
    print(f"{reads_per_file:.3f} reads per file")
    bench.near(result.metric("file_rate"), READS_PER_S / reads_per_file, 0.03, "file_rate")


def blocks(engine, depth):
    result = measured({"use": "random_read", "files": 1, "file_size": "64MiB", "reads": 4000, "engine": engine,
                       "workers": 4, "queue_depth": depth, "direct": True, "cache": "bypassed"})
    bench.near(result.metric("read_iops"), READS_PER_S, 0.03, f"read_iops, {engine}")


bench.on_a_quiet_moment(files)
bench.on_a_quiet_moment(lambda: blocks("posix", 1))
bench.on_a_quiet_moment(lambda: blocks("io_uring", 8))
