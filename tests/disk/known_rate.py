"""A disk of known rate: cold and direct shard_stream report that rate within 1 %. Usage: known_rate.py HEADRACE RATE

The throttle deals in slices of up to a tenth of a second, and a kernel may hand out the first of them ahead: so much more
the disk may give than its rate says. A cold start is never cut: what the disk gives in it is known, that slice included.
Reads past the cache have a warm-up; whether the slice is cut with it, the series decides.
"""

import sys

import bench

AHEAD_S, COLD_S, DIRECT_S = 0.1, 12, 6
rate = sys.argv[2]
truth = {"100M": 100e6, "40M": 40e6}[rate]
disk = bench.limited("--size", "2G", "--read-bps", rate)
bench.read_far_ahead(disk)
shards = {"use": "shard_stream", "files": 8, "file_size": f"{int(truth * COLD_S / 8)}B", "workers": 8, "repeat": bench.ONCE}


def check(ways, lasts_s):
    result = bench.run(shards | ways, f"{disk}/scratch")
    assert result.code == 0, result.reported
    bench.proven(result)
    bench.between(result.metric("read_bandwidth"), truth, truth * (1 + AHEAD_S / lasts_s), 0.01,
                  f"read_bandwidth, {ways['cache']}")
    assert any("limit of this process's control group" in note for note in result.point["notes"]), result.point["notes"]


bench.on_a_quiet_moment(lambda: check({"cache": "cold"}, COLD_S))
bench.on_a_quiet_moment(lambda: check({"cache": "bypassed", "direct": True, "duration": f"{DIRECT_S}s"}, DIRECT_S))
