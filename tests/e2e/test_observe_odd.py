"""headrace observe of jobs that are made otherwise: what it reports on them is right, or said to be unknown."""

import json
import os
import pathlib
import shutil
import sys
import tempfile

import pytest
from observed import LOADER, Seen, data, drawn_files, limits

ODD = LOADER.parent / "odd_jobs.py"
STORAGE = ("storage_bandwidth", "storage_requests", "storage_latency", "slow_opens", "nfs_slots", "cgroup_io")


def observe(headrace, *command):
    outcome = headrace("observe", "--no-report", "--out", "seen", "--", *map(str, command))
    assert outcome.code == 0, outcome
    return Seen(headrace, "seen", outcome)


def loader(data, *options):
    return [sys.executable, LOADER, data, *options]


def right_or_unsure(seen):
    """What every loader reports the truth of."""
    seen.near("step.time", seen.truth["step"])
    seen.near("step.micro_batch", seen.truth["samples"] / seen.truth["steps"])


def test_a_main_thread_that_reads_itself(headrace, data):
    seen = observe(headrace, sys.executable, ODD, data, "alone", "--steps", "60", "--step", "0.04", "--decode", "0.001")
    assert [p["role"] for p in seen.reported["processes"]].count("worker") == 0
    right_or_unsure(seen)
    assert seen.limit not in STORAGE, seen.reported["limit"]  # memory serves all files
    workers = seen.learned["loader.workers_per_gpu"]
    assert "no process reads for another" in workers["evidence"], workers
    assert seen.learned["loader.prefetch_factor"]["confidence"] == "guess"


def test_samples_out_of_a_mapped_file(headrace, data):
    shard = headrace.path("tokens.bin")
    shard.write_bytes(os.urandom(8 << 20))
    seen = observe(headrace, sys.executable, ODD, shard, "mapped", "--steps", "60", "--step", "0.04")
    right_or_unsure(seen)
    # Copies out of memory that is there are in no call, and no page is fetched: no sample can be seen.
    for key in ("dataset.sample_size", "step.micro_batch"):
        assert seen.learned[key]["confidence"] in ("guess", "low"), seen.learned[key]
    assert seen.limit not in STORAGE, seen.reported["limit"]


def test_several_ranks_below_one_launcher(headrace, data):
    one = " ".join(map(str, loader(data, "--steps", "60", "--step", "0.04", "--decode", "0.001")))
    seen = observe(headrace, "sh", "-c", f"{one} & {one} & wait")
    roles = [p["role"] for p in seen.reported["processes"]]
    assert roles.count("consumer") == 2 and roles.count("worker") == 4, roles
    assert seen.learned["cluster.gpus_per_node"]["value"] == 2 and seen.learned["loader.workers_per_gpu"]["value"] == 2
    steps = [json.loads(line)["step"] for line in seen.outcome.out.splitlines()]
    assert len(steps) == 2, seen.outcome
    seen.truth["step"] = sum(steps) / 2  # what is reported is of both
    right_or_unsure(seen)


def test_one_job_after_the_other_is_one_at_a_time(headrace, data):
    one = " ".join(map(str, loader(data, "--steps", "50", "--step", "0.04", "--decode", "0.001")))
    seen = observe(headrace, "sh", "-c", f"{one}; {one}")
    assert seen.learned["cluster.gpus_per_node"]["value"] == 1 and seen.learned["loader.workers_per_gpu"]["value"] == 2, seen.learned
    right_or_unsure(seen)
    assert seen.learned["loader.prefetch_factor"]["value"] == 2 or seen.learned["loader.prefetch_factor"]["confidence"] == "guess"


def test_a_process_that_becomes_another_program(headrace, data):
    code = f"import os, time; open({str(data / 'c0/0.bin')!r}, 'rb').read(); time.sleep(0.5); os.execv({sys.executable!r}, {list(map(str, loader(data, '--steps', '60', '--step', '0.04', '--decode', '0.001')))!r})"
    seen = observe(headrace, sys.executable, "-c", code)
    assert [p["role"] for p in seen.reported["processes"]].count("worker") == 2
    assert seen.learned["loader.workers_per_gpu"]["value"] == 2
    right_or_unsure(seen)


def test_data_in_memory_is_no_storage(headrace):
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    folder = pathlib.Path(tempfile.mkdtemp(dir="/dev/shm", prefix="headrace-test-"))
    try:
        drawn_files(folder, 60)
        seen = observe(headrace, *loader(folder, "--steps", "60", "--step", "0.01", "--workers", "1", "--decode", "0.004"))
        limits(seen, "processor", "workers", "consumer")
        assert seen.reported["storage"]["device"] == "" and "dataset.read_amplification" not in seen.learned
        right_or_unsure(seen)
        size = seen.learned["dataset.sample_size"]
        assert size["confidence"] == "guess" or abs(size["value"] * seen.truth["samples"] / seen.truth["bytes"] - 1) < 0.05, size
    finally:
        shutil.rmtree(folder)


def test_a_tree_that_dies_while_it_is_read(headrace):
    # A thousand processes, none of which lives for long.
    code = ("import os, sys\nfor n in range(1000):\n pid = os.fork()\n if pid == 0: os._exit(0)\n os.waitpid(pid, 0)\n"
            "open('/dev/null').close()\nos.kill(os.getpid(), 9)")
    outcome = headrace("observe", "--no-report", "--out", "seen", "--", sys.executable, "-c", code)
    said = " ".join(outcome.err.split())
    assert outcome.code == 137 and ("exit code 137 (signal 9: Killed)" in said or "The limit is unknown" in said), outcome
    assert json.loads((headrace.path("seen") / "observe.json").read_text())["limit"]["id"] == "unknown"
