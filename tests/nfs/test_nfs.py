"""What headrace reports on a real NFS mount: looked at here, done by `scenarios` in one boot of the virtual machine."""

import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
BINARY = os.environ.get("HEADRACE", str(HERE.parents[1] / "build/release/headrace"))
FILES, SIZE = 32, 131072


def config(least, repeat):
    return f"""\
schema: 1
name: nfs
target: {{path: scratch}}
needs:
  - {{id: fast, metric: small_file_read.read_bandwidth, at_least: {least}}}
workloads:
  - {{use: small_file_read, path: /mnt/nfs/data, workers: 4, cache: cold, repeat: {repeat}}}
"""


@pytest.fixture(scope="session")
def vm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vm")
    (folder / "cold.yaml").write_text(config("1kB/s", 3))
    (folder / "need.yaml").write_text(config("10MB/s", 5))
    done = subprocess.run([HERE.parent / "rdma/vm/run-in-rdma-vm", "-d", folder, "-t", "540", "--", HERE / "scenarios", BINARY],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert code(folder, "serve") == 0, reported(folder, "serve")
    assert not (folder / "mount.err").read_text()
    return folder


def reported(vm, name):
    return "\n".join((vm / f"{name}.{stream}").read_text() for stream in ("out", "err"))


def code(vm, name):
    return int((vm / f"{name}.code").read_text())


def run(vm, name):
    return json.loads((vm / name / "run.json").read_text())


def repetitions(vm, name):
    [point] = run(vm, name)["points"]
    assert point["status"] == "ok", point["reason"]
    return point["repetitions"]


@pytest.mark.parametrize("name, connections", [("tcp", 4), ("rdma", 1)])
def test_cold_is_proven_by_the_clients_own_counters(vm, name, connections):
    assert code(vm, name) in (0, 11), reported(vm, name)  # 11: of that few repetitions, or disturbed ones
    for repetition in repetitions(vm, name):
        cache, client = repetition["cache"], repetition["client"]
        assert cache["proven"] and cache["counter"] == "mountstats", cache
        assert FILES * SIZE <= cache["storage_bytes"] < 1.1 * FILES * SIZE, cache
        assert client["counter"] == "mountstats" and client["connections"] == connections
        [read] = [one for one in client["operations"] if one["operation"] == "READ"]
        assert read["requests"] >= FILES and read["errors"] == 0
        assert 0 < read["round_trip_s"] and read["queue_s"] <= read["execution_s"], read
        assert client["in_flight"] > 0 and client["sent"] >= read["requests"], client


def test_the_transport_is_the_one_that_was_mounted(vm):
    for name in ("tcp", "rdma"):  # a further mount of the same server would have shared the first one's
        assert f"xprt:\t{name} " in (vm / f"{name}.mountstats").read_text()


def test_data_kept_by_the_client_is_not_proven_cold(vm):
    [judged] = run(vm, "locked")["judgements"]
    assert code(vm, "locked") == 11 and judged["reason"] == "cache-unproven", reported(vm, "locked")
    for repetition in repetitions(vm, "locked"):
        assert not repetition["cache"]["proven"] and repetition["cache"]["resident_before"] > 0.95, repetition["cache"]
        assert repetition["cache"]["storage_bytes"] < 0.05 * FILES * SIZE, repetition["cache"]


def test_a_slow_server_misses_the_need(vm):
    [judged] = run(vm, "slow")["judgements"]
    # Where something else ran meanwhile, nothing is decided: that is said, and never that it is fast enough.
    disturbed = judged["outcome"] == "INCONCLUSIVE" and judged["reason"] == "disturbed"
    assert code(vm, "slow") == (11 if disturbed else 10) and (disturbed or judged["outcome"] == "FAIL"), reported(vm, "slow")
    assert judged["measured"] < 2e6  # 16 Mbit/s
    for repetition in repetitions(vm, "slow"):
        [read] = [one for one in repetition["client"]["operations"] if one["operation"] == "READ"]
        assert read["round_trip_s"] / read["requests"] > 0.06, read  # 128 KiB take 66 ms
        assert read["queue_s"] < read["round_trip_s"], read          # so that it is not the queue before


def test_counters_of_the_client_are_reported_for_a_watched_job(vm):
    assert code(vm, "observed") == 0, reported(vm, "observed")
    seen = json.loads((vm / "observed/observe.json").read_text())
    assert seen["data"]["file_system"] == "nfs4", seen["data"]
    client = seen["storage"]["client"]
    assert client["read_bytes_per_s"] < 2.5e6 and client["reads_per_s"] > 1, client  # 16 Mbit/s
    assert client["round_trip_s"] > 0.06 and client["queue_s"] < client["round_trip_s"], client
    assert max(seen["series"]["client_read_s"]) > 0.06, seen["series"]


def test_few_slots_limit_and_a_slow_server_does_not(vm):
    assert code(vm, "slots") == 0, reported(vm, "slots")
    few, slow = (json.loads((vm / name / "observe.json").read_text()) for name in ("slots", "observed"))
    client = few["storage"]["client"]
    assert client["queue_s"] > client["round_trip_s"] > 0.015, client  # 16 readers, 2 slots, 20 ms there and back
    assert few["limit"]["id"] == "nfs_slots" and "max_session_slots" in few["limit"]["advice"][0], few["limit"]
    assert slow["limit"]["id"] != "nfs_slots", slow["limit"]


def test_doctor_reports_the_mount(vm):
    words = " ".join(reported(vm, "doctor").split())
    for one in ("nfs4 on /mnt/nfs", "version 4.2 over tcp, 4 connections, reads of at most 128 KiB", "nfsrahead(5)",
                "at most 64 under way (4 x 65536 tcp_max_slot_table_entries; max_session_slots 64)"):
        assert one in words, words
