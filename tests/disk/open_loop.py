"""At 500 reads/s, 400/s are sustained and 600/s are not: latency grows as the queue does. Usage: open_loop.py HEADRACE

The device's control group counts requests of any size, so direct 4 KiB reads of one large file are exactly one each.
"""

import bench

READS_PER_S = 500
SECONDS = 6
disk = bench.limited("--size", "1G", "--in-memory", "--read-iops", str(READS_PER_S))


def at_rate(rate: int, **more) -> bench.Run:
    result = bench.run({"use": "random_read", "files": 1, "file_size": "256MiB", "direct": True, "workers": 4,
                        "rate": f"{rate}/s", "duration": f"{SECONDS}s", "repeat": bench.ONCE, **more}, f"{disk}/scratch")
    assert result.code == 0, result.reported
    return result


def holds(engine):
    slow = at_rate(400, **engine)
    assert slow.metric("sustained") == 1, slow.reported
    bench.near(slow.metric("achieved_rate"), 400, 0.01, "achieved at 400/s")
    bench.near(slow.metric("read_iops"), 400, 0.03, "read_iops at 400/s")
    assert slow.metric("queue_growth") < 4, slow.metric("queue_growth")


def does_not_hold(engine):
    fast = at_rate(600, **engine)
    assert fast.metric("sustained") == 0, fast.reported
    bench.near(fast.metric("achieved_rate"), READS_PER_S, 0.03, "achieved at 600/s")
    bench.near(fast.metric("read_iops"), READS_PER_S, 0.05, "read_iops at 600/s")
    bench.near(fast.metric("queue_growth"), 100, 0.15, "queue growth at 600/s")
    assert any("not sustained" in note for note in fast.point["notes"]), fast.point["notes"]
    # After t seconds request 500 t is served, which was due after 500 t / 600 seconds: it has waited for t / 6 (less
    # what the device, with credit from before, served faster at first).
    bench.near(fast.metric("latency_max_ns") * 1e-9, SECONDS / 6, 0.25, "longest wait at 600/s [s]")
    series = fast.point["repetitions"][0]["phases"][0]["series"]["latency_p99_ns"]
    third = len(series) // 3
    first, last = sum(series[:third]), sum(series[-third:])
    print(f"p99 in the last third is {last / first:.1f} times that in the first")
    assert last > 3 * first


for engine in ({"engine": "posix"}, {"engine": "io_uring", "workers": 1, "queue_depth": 16}):
    print(engine)
    bench.on_a_quiet_moment(lambda: holds(engine))
    bench.on_a_quiet_moment(lambda: does_not_hold(engine))
