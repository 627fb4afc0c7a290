"""A disk of known rate: cold and direct shard_stream report that rate within 1 %. Usage: known_rate.py HEADRACE RATE

The throttle hands out bytes a tenth of a second ahead, and nothing before is held against it: the first tenth comes at
once. A cold start is never cut: what the disk gives in it is known, that tenth included. Reads past the cache have a
warm-up; whether the tenth is cut with it, the series decides.
"""

import sys

import bench

AHEAD_S = 0.1
rate = sys.argv[2]
truth = {"100M": 100e6, "40M": 40e6}[rate]
disk = bench.limited("--size", "2G", "--in-memory", "--read-bps", rate)
shards = {"use": "shard_stream", "files": 2, "file_size": f"{int(truth * 6)}B", "workers": 2, "repeat": 1}


def check(ways, given, share):
    result = bench.run(shards | ways, f"{disk}/scratch")
    assert result.code == 0, result.told
    bench.proven(result)
    bench.near(result.metric("read_bandwidth"), given, share, f"read_bandwidth, {ways['cache']}")
    assert any("limit of this process's control group" in note for note in result.point["notes"]), result.point["notes"]


bench.on_a_quiet_moment(lambda: check({"cache": "cold"}, truth * (1 + AHEAD_S / 12), 0.01))
bench.on_a_quiet_moment(lambda: check({"cache": "bypassed", "direct": True, "duration": "6s"}, truth, AHEAD_S / 6))
