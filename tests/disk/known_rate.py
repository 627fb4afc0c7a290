"""Cold shard_stream on a disk of known rate reports that rate within 2 %. Usage: known_rate.py HEADRACE RATE"""

import sys

import bench

rate = sys.argv[2]
truth = {"100M": 100e6, "40M": 40e6}[rate]
disk = bench.limited("--size", "1G", "--in-memory", "--read-bps", rate)
result = bench.run({"use": "shard_stream", "files": 2, "file_size": f"{int(truth * 3)}B", "workers": 2,
                    "cache": "cold", "repeat": 1}, f"{disk}/scratch")
assert result.code == 0, result.told
bench.proven(result)
bench.near(result.metric("read_bandwidth"), truth, 0.02, "read_bandwidth")
