"""Disturbances made to order are reported: who, how much, and that the repetition was disturbed. Usage: neighbours.py HEADRACE WHAT"""

import contextlib
import os
import signal
import subprocess
import sys

import bench

what = sys.argv[2]
LIMITS = {"device": ["--size", "1G", "--in-memory", "--read-bps", "200M"], "saving": ["--size", "1G", "--in-memory"],
          "quota": ["--size", "512M", "--cores", "0.3"],
          "programs": ["--size", "512M"]}
disk = bench.limited(*LIMITS[what])


@contextlib.contextmanager
def beside(*commands):
    """Other programs that run meanwhile."""
    processes = [subprocess.Popen(c, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
                 for c in commands]
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)  # with what it started
            process.wait()


def ledger(workload, *neighbours):
    with beside(*neighbours):
        result = bench.run({"workers": 2, "repeat": 2, **workload}, f"{disk}/scratch")
    assert result.code == 0, result.reported
    entries = [r["disturbance"] for r in result.point["repetitions"]]
    for entry in entries:
        print(entry)
    return result, entries


def named(entries, words):
    """Those that name it. The machine may have stood still in others, which that disturbed as well."""
    found = [e for e in entries if words in e["why"]]
    assert found and all(e["disturbed"] and (e in found or "was paused" in e["why"]) for e in entries)
    return found


if what == "device":
    # On the same device, from another file: the test's own bytes are not foreign, the neighbour's are.
    cold = {"use": "shard_stream", "files": 2, "file_size": "50MB", "cache": "cold"}
    _, quiet = ledger(cold)
    assert all(e["foreign_bytes"] < 4 << 20 for e in quiet), "nobody else was there"
    other = f"{disk}/other"
    with open(other, "wb") as file:
        for _ in range(100):
            file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    # Several, for one that waits for each of its reads gets little of a disk that reads ahead for others.
    again = f"while :; do dd if={other} of=/dev/null bs=4M iflag=direct; done"
    result, entries = ledger(cold, *[["sh", "-c", f"exec 2>/dev/null; {again}"]] * 4)
    assert all(e["disturbed"] and "foreign I/O on the device" in e["why"] for e in entries)
    assert all(e["foreign_bytes"] > 4 << 20 for e in entries)
    assert len(entries) == 4, "taken again, twice"
    phase = result.point["repetitions"][0]["phases"][0]
    assert phase["device_bytes"] > phase["bytes"] > 0.95 * phase["storage_bytes"]
elif what == "saving":
    # Beside a test that saves more than it reads, foreign I/O is compared with both.
    other = f"{disk}/other"
    with open(other, "wb") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    some = ["sh", "-c", f"while :; do dd if={other} of=/dev/null bs=1M iflag=direct 2>/dev/null; sleep 0.25; done"]
    pipeline = {"use": "input_pipeline", "files": 600, "file_size": "32KiB", "batch_size": 4, "step_time": "40ms",
                "checkpoint_every": 10, "checkpoint_shard_size": "100MB", "cache": "cold"}
    mixed = {"use": "mixed", "files": 400, "file_size": "32KiB", "rate": "100/s", "around": "1s",
             "checkpoint_ranks": 4, "checkpoint_shard_size": "100MB", "cache": "cold"}
    for workload in pipeline, mixed:
        result, _ = ledger(workload, some)
        reported_apart = 0
        for r in result.point["repetitions"]:
            read = sum(p["bytes"] for p in r["phases"])
            written = sum(p.get("background", {}).get("bytes", 0) for p in r["phases"])
            foreign = r["disturbance"]["foreign_bytes"]
            print(f"{workload['use']}: read {read}, written {written}, foreign {foreign}: {r['disturbance']['why']}")
            assert written > read, "it saves"
            too_much = foreign > 4 << 20 and foreign > 0.02 * (read + written)
            assert ("foreign I/O" in r["disturbance"]["why"]) == too_much, r["disturbance"]
            reported_apart += foreign > 4 << 20 and 0.02 * read < foreign and not too_much
        print(f"{workload['use']}: {reported_apart} would have been told by what was read alone")
elif what == "quota":
    busy = {"use": "shard_stream", "files": 2, "file_size": "32MiB", "passes": 1000, "duration": "1500ms", "cache": "warm"}
    _, entries = ledger(busy)
    found = named(entries, "the control group's quota withheld")
    assert max(e["throttled_s"] for e in found) > 0.3
else:
    idle = {"use": "shard_stream", "files": 2, "file_size": "32MiB", "passes": 1000, "duration": "1500ms", "cache": "warm"}
    spin = [sys.executable, "-c", "while True: pass"]
    _, entries = ledger(idle, *[spin] * (os.cpu_count() or 1))
    found = named(entries, "other programs took")
    assert all(0.05 < e["foreign_cpu"] <= 1 for e in found)
