"""On a disk of 500 reads/s the ramp finds about 500/s. Usage: ramp.py HEADRACE"""

import bench

READS_PER_S = 500
disk = bench.limited("--size", "1G", "--in-memory", "--read-iops", str(READS_PER_S))


def finds_it():
    result = bench.run({"use": "random_read", "files": 1, "file_size": "256MiB", "direct": True, "workers": 1,
                        "engine": "io_uring", "queue_depth": 16, "ramp": True, "p99_limit": "150ms", "duration": "4s",
                        "repeat": bench.ONCE}, f"{disk}/scratch")
    assert result.code == 0, result.reported
    ladder = next(note for note in result.point["notes"] if note.startswith("ramp: "))
    print(ladder)
    assert "no: " in ladder, "it never met a rate that does not hold"
    # The device gives credit for what it did not serve just before, above all on a busy machine, and the rungs are 5 %
    # apart.
    bench.near(result.metric("offered_rate"), READS_PER_S, 0.2, "rate found")


bench.on_a_quiet_moment(finds_it)
