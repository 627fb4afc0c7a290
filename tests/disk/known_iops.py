"""Cold small_file_read of 4 KiB files at 500 reads/s is within 5 % of what that allows. Usage: known_iops.py HEADRACE

What it allows is not 500 files/s: blocks of inodes and folders are reads too. All are 4 KiB here, so the bytes that
the device gave tell how many reads there were.
"""

import bench

READS_PER_S = 500
disk = bench.limited("--size", "1G", "--in-memory", "--read-iops", str(READS_PER_S))
result = bench.run({"use": "small_file_read", "files": 5000, "file_size": "4KiB", "workers": 4, "cache": "cold",
                    "repeat": 1}, f"{disk}/scratch")
assert result.code == 0, result.told
bench.proven(result)
phase = result.point["repetitions"][0]["phases"][0]
reads_per_file = phase["device_bytes"] / 4096 / phase["operations"]
print(f"{reads_per_file:.3f} reads per file")
bench.near(result.metric("file_rate"), READS_PER_S / reads_per_file, 0.05, "file_rate")
