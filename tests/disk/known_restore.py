"""Cold checkpoint_read on a disk of known rate takes as long as that allows, by every engine. Usage: known_restore.py HEADRACE"""

import bench

RATE = 100e6
RANKS = 4
SHARD = 125_000_000
# What the kernel's throttle lets through at once after it was idle, in seconds at its rate; and how long it may keep what
# comes last: it deals in slices. A whole restore has both in it, where a rate (known_rate.py) can be taken between them.
SAVED_S, SLICE_S = 0.33, 0.1

disk = bench.limited("--size", "1G", "--read-bps", "100M")
bench.read_far_ahead(disk)


def restore(bytes_from_disk, slower=0.01, **more):
    """Not slower than `slower` and a slice, and not faster than what the throttle had saved up."""
    result = bench.run({"use": "checkpoint_read", "ranks": RANKS, "shard_size": f"{SHARD}B", "repeat": bench.ONCE, **more},
                       f"{disk}/scratch")
    assert result.code == 0, result.reported
    bench.proven(result)
    took, truth = result.metric("time_to_restored_s"), bytes_from_disk / RATE
    print(f"{more}: restored in {took:.3f} s, truth {truth:.3f} s, {100 * (took / truth - 1):+.2f} %")
    assert truth * (1 - slower) - SAVED_S <= took <= truth * (1 + slower) + SLICE_S, more
    delivered = result.metric("shared_read_bandwidth" if more.get("layout") == "same" else "read_bandwidth")
    bench.near(delivered * took, RANKS * SHARD, 0.01, "bytes of all ranks")


# Of a map the kernel reads little ahead: between two faults the disk may have nothing to do.
for engine, slower in (("posix", 0.01), ("io_uring", 0.01), ("mmap", 0.05)):
    bench.on_a_quiet_moment(lambda: restore(RANKS * SHARD, slower, engine=engine, cache="cold"))
# Around the page cache, every rank reads the weights from the disk; through it, the first one does for all.
bench.on_a_quiet_moment(lambda: restore(RANKS * SHARD, layout="same", engine="io_uring", direct=True, cache="bypassed"))
bench.on_a_quiet_moment(lambda: restore(SHARD, slower=0.05, layout="same", cache="cold"))
