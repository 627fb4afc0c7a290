"""What headrace does with real verbs: looked at here, done by `scenarios` in one boot of the virtual machine."""

import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
BINARY = os.environ.get("HEADRACE", str(HERE.parents[1] / "build/release/headrace"))
PLUGIN_TEST = os.environ.get("PLUGIN_TEST", "")

QUICK = "repeat: {looks: [1]}, device: rxe0, time: 100ms, buffer: 2MiB"
ALL = f"""\
schema: 1
name: all
target: {{path: scratch}}
workloads:
  - {{use: rdma_write, message_size: [1B, 64KiB, 1MiB], tx_depth: 16, {QUICK}, verify: true}}
  - {{use: rdma_write, label: many, queue_pairs: 4, post_list: 4, message_size: 4KiB, {QUICK}}}
  - {{use: rdma_write, label: both, direction: both, message_size: 64KiB, {QUICK}}}
  - {{use: rdma_write, label: latency, measure: latency, message_size: [1B, 4KiB], {QUICK}}}
  - {{use: rdma_read, message_size: 64KiB, {QUICK}}}
  - {{use: rdma_read, label: both, direction: both, message_size: 64KiB, {QUICK}}}
  - {{use: rdma_read, label: latency, measure: latency, message_size: 8B, {QUICK}}}
  - {{use: rdma_send, message_size: [1B, 64KiB], {QUICK}}}
  - {{use: rdma_send, label: many, queue_pairs: 3, message_size: 4KiB, repeat: {{looks: [3]}}, device: rxe0, time: 100ms}}
  - {{use: rdma_all_reduce, message_size: [4B, 256KiB], device: rxe0, time: 100ms, repeat: {{looks: [1]}}}}
  - {{use: rdma_send, label: both, direction: both, message_size: 64KiB, {QUICK}}}
  - {{use: rdma_send, label: latency, measure: latency, message_size: [1B, 4KiB], {QUICK}}}
  - {{use: rdma_send, label: ud, transport: ud, message_size: [1B, 1KiB], queue_pairs: 2, tx_depth: 8, {QUICK}}}
  - {{use: rdma_send, label: ud_latency, transport: ud, measure: latency, message_size: 64B, {QUICK}}}
  - {{use: rdma_write, label: cm, connect: rdma_cm, message_size: 64KiB, queue_pairs: 2, traffic_class: 104, {QUICK}}}
  - {{use: rdma_read, label: cm, connect: rdma_cm, message_size: 64KiB, {QUICK}}}
"""
ONE = f"""\
schema: 1
name: one
target: {{path: scratch}}
workloads:
  - {{use: rdma_write, {QUICK}}}
"""
LOOPBACK = """\
schema: 1
name: loopback
target: {path: scratch}
needs:
  - {id: nic.pace, metric: nic_loopback.pace, at_least: 0.05, optional: true}
  - {id: nic.impossible, metric: nic_loopback.promised_share, at_least: 1000, optional: true}
workloads:
  - {use: nic_loopback, message_size: [4KiB, 64KiB], time: 300ms, buffer: 2MiB, repeat: {looks: [5]}, verify: true}
"""

FEW = "tx_depth: 4, buffer: 1MiB, time: 100ms, repeat: {looks: [1]}"
MPI = f"""\
schema: 1
name: mpi
target: {{path: scratch}}
workloads:
  - {{use: rdma_write, direction: each_way, message_size: 64KiB, device: rxe0, {FEW}}}
  - {{use: rdma_write, label: two, clients: 2, measure: latency, message_size: 8B, device: rxe0, {FEW}}}
  - {{use: rdma_all_reduce, message_size: 64KiB, device: rxe0, time: 100ms, repeat: {{looks: [1]}}}}
"""
# On two hosts with two ports each: one process for each port. One is killed in the end.
RAILS = f"""\
schema: 1
name: rails
target: {{path: scratch}}
workloads:
  - {{use: rdma_send, schedule: rails, direction: both, queue_pairs: 2, message_size: 64KiB, {FEW}}}
  - {{use: rdma_read, processes: per_node, message_size: 64KiB, {FEW}}}
  - {{use: rdma_write, label: at_once, processes: per_node, rails: all, direction: each_way, message_size: 64KiB, {FEW}}}
  - {{use: rdma_send, label: at_once, processes: per_node, rails: all, transport: ud, {FEW}}}
  - {{use: rdma_write, label: cm, connect: rdma_cm, schedule: rails, message_size: 64KiB, {FEW}}}
  - {{use: rdma_write, label: killed, schedule: bisection, {FEW.replace("100ms", "60s, peer_timeout: 2s")}}}
"""
FIREWALL = f"""\
schema: 1
name: firewall
target: {{path: scratch}}
workloads:
  - {{use: rdma_write, schedule: bisection, message_size: 64KiB, {FEW}, peer_timeout: 2s}}
"""

# Of three pairs one gets nothing through.
CUT = f"""\
schema: 1
name: cut
target: {{path: scratch}}
workloads:
  - {{use: rdma_send, direction: both, message_size: 64KiB, {FEW}, peer_timeout: 2s}}
"""

LOSSY = f"""\
schema: 1
name: lossy
target: {{path: scratch}}
workloads:
  - {{use: rdma_send, schedule: bisection, transport: ud, direction: both, {FEW}}}
"""


def long(op):
    return ONE.replace("rdma_write", f"rdma_{op}").replace("time: 100ms", "time: 20s, peer_timeout: 2s")


@pytest.fixture(scope="session")
def vm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vm")
    for name, text in {"all": ALL, "one": ONE, "loopback": LOOPBACK, "long_write": long("write"), "long_send": long("send"), "mpi": MPI,
                       "rails": RAILS, "cut": CUT, "firewall": FIREWALL, "lossy": LOSSY}.items():
        (folder / f"{name}.yaml").write_text(text)
    done = subprocess.run([HERE / "vm/run-in-rdma-vm", "-d", folder, "-t", "900", "--", HERE / "scenarios", BINARY, PLUGIN_TEST],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def reported(vm, name):
    return "\n".join((vm / f"{name}.{stream}").read_text() for stream in ("out", "err"))


def code(vm, name):
    return int((vm / f"{name}.code").read_text())


def run_of(vm, name):
    return json.loads((vm / name / "run.json").read_text())


def points(vm, name):
    return run_of(vm, name)["points"]


def by_id(vm, name):
    return {p["id"]: p for p in points(vm, name)}


def metric(point, name):
    return next((m["median"] for m in point["metrics"] if m["name"] == name), None)


def test_the_plugin_reaches_both_devices(vm):
    if not PLUGIN_TEST:
        pytest.skip("the unit tests are not built")
    assert code(vm, "plugin") == 0, reported(vm, "plugin")
    for name in ("PortsSayWhatTheyAre", "WritesToItself"):
        assert f"[       OK ] VerbsPlugin.{name}" in reported(vm, "plugin"), reported(vm, "plugin")


def test_every_workload_runs_with_its_data_right(vm):
    for point in points(vm, "all"):
        assert point["status"] == "ok", (point["id"], point["reason"])
        if "all_reduce" in point["id"]:
            assert metric(point, "busbw") == pytest.approx(metric(point, "algbw"))  # of two ranks
        elif "latency" in point["id"]:
            assert metric(point, "bandwidth") is None
            assert metric(point, "time_s") > 0
        else:
            assert metric(point, "bandwidth") > 0
            assert metric(point, "message_rate") > 0
        assert metric(point, "latency_p50_ns") > 0
    assert code(vm, "all") == 0, reported(vm, "all")


def test_one_workload_is_measured_without_a_configuration(vm):
    assert code(vm, "measured") == 0, reported(vm, "measured")
    small, large = points(vm, "measured")
    assert metric(small, "bandwidth") > 0 and metric(large, "bandwidth") > 0, reported(vm, "measured")
    rows = [line.split()[0] for line in reported(vm, "measured").splitlines() if line.startswith("message_size:")]
    assert rows == ["message_size:4KiB", "message_size:64KiB"], reported(vm, "measured")


def test_the_address_that_leads_to_the_other_end_is_found(vm):
    notes = " ".join(points(vm, "all")[0]["notes"])
    assert "rxe0/1, GID 1 (RoCE v2, 10.77.0.1, rdma0), MTU 4096" in notes


def test_several_queue_pairs_and_both_directions_are_counted(vm):
    found = by_id(vm, "all")
    both, one = found["rdma_write/both"], found["rdma_write/message_size:64KiB"]
    # The bytes of one end are the recorder's; the metric counts both ends'.
    assert metric(both, "bandwidth") > 1.2 * both["repetitions"][0]["phases"][0]["bytes"] / metric(both, "elapsed_s") > 0
    assert metric(one, "bandwidth") == pytest.approx(
        one["repetitions"][0]["phases"][0]["bytes"] / metric(one, "elapsed_s"), rel=0.1)


def test_doctor_lists_the_devices(vm):
    for words in ("rxe0/1, GID 1 (RoCE v2, 10.77.0.1, rdma0), MTU 4096", "verbs", "no limit for root",
                  "rails rxe0/1, rxe1/1"):
        assert words in " ".join(reported(vm, "doctor").split()), reported(vm, "doctor")


def test_each_port_writes_to_itself(vm):
    for point in points(vm, "loopback"):
        assert point["status"] == "ok", point["reason"]
        for port in ("rxe0_1", "rxe1_1"):
            assert metric(point, f"bandwidth_{port}") > 0 and metric(point, f"pace_{port}") > 0, point["metrics"]
            assert metric(point, f"wrong_messages_{port}") == 0, point["metrics"]
    judged = {j["id"]: j["outcome"] for j in run_of(vm, "loopback")["judgements"]}
    assert judged["nic.pace"] in ("PASS", "INCONCLUSIVE") and judged["nic.impossible"] in ("FAIL", "INCONCLUSIVE"), judged


def test_packets_can_be_marked(vm):
    assert code(vm, "marked") == 0, reported(vm, "marked")


@pytest.mark.parametrize("name, words", [
    ("wrong_gid", ["rxe0/1: there is no GID 9; there are: 0 (RoCE v2, fe80::"]),
    ("wrong_device", ["there is no RDMA device 'rxe7'; did you mean", "(devices: rxe0, rxe1)"]),
    ("wrong_partition", ["rxe0/1: is in no partition 0x8001; it is in: 0xffff"]),
    ("wrong_token", ["wrong token"]),
    ("memlock", ["(memlock) is 64 KiB, and", "KiB are needed. As root run `ulimit -l"]),
    ("nobody", ["10.77.0.2, TCP port 18620: Connection refused", "headrace run --serve"]),
    ("port_down", ["RDMA port rxe0/1 is DOWN: set its network interface up"]),
])
def test_errors_are_reported_with_a_remedy(vm, name, words):
    assert code(vm, name) not in (0, 124)
    for word in words:
        assert word in reported(vm, name), reported(vm, name)


def test_dynamic_connections_are_skipped_where_no_card_has_them(vm):
    [point] = points(vm, "dynamic")
    assert point["status"] == "skipped" and "rxe0/1 is no card of the mlx5 driver" in point["reason"], point


def test_ports_with_different_mtu_use_the_smaller_and_report_it(vm):
    [point] = points(vm, "smaller_mtu")
    assert point["status"] == "ok", point["reason"]
    assert any("the ports' MTUs differ: 1024 here, 4096 on" in note for note in point["notes"]), point["notes"]


@pytest.mark.parametrize("name", ["killed_write", "killed_send", "stopped"])
def test_a_peer_that_dies_ends_the_run_and_is_named(vm, name):
    assert code(vm, name) not in (0, 124), reported(vm, name)
    [point] = points(vm, name)
    assert point["status"] == "error"
    assert "rank 1 (rdma-vm)" in point["reason"] or "retry counter" in point["reason"], point["reason"]
    print(f"{name}: {point['elapsed_s']:.1f} s: {point['reason']}")
    assert point["elapsed_s"] < 70, point  # docs/reference/rdma.md: 30 s, and what was measured before


def all_right(*points):
    return all(point["status"] == "ok" or pytest.fail(f"{point['id']}: {point['reason']}") for point in points)


def measured(point):
    pairs = point["pairs"]
    return pairs["names"], [(a, b) for a, row in enumerate(pairs["rate"]) for b, rate in enumerate(row) if rate > 0]


def test_launched_processes_meet_as_the_schedule_says(vm):
    found = by_id(vm, "mpi")
    assert all_right(*found.values()), reported(vm, "mpi")
    # Four ranks share the machine's processors: a pair may look slow, and three repetitions accuse nobody.
    judged = {judgement["outcome"] for judgement in run_of(vm, "mpi")["judgements"]}
    assert (code(vm, "mpi"), judged) in ((0, set()), (11, {"INCONCLUSIVE"})), reported(vm, "mpi")
    assert measured(found["rdma_write"]) == (["node-a", "node-b", "node-c", "node-d"],
                                             [(a, b) for a in range(4) for b in range(4) if a != b])
    assert 0 < metric(found["rdma_write"], "nic_bandwidth") <= metric(found["rdma_write"], "bandwidth") * 1.000001
    assert metric(found["rdma_write/two"], "latency_p50_ns") > 0
    reduce = found["rdma_all_reduce"]
    assert metric(reduce, "busbw") == pytest.approx(1.5 * metric(reduce, "algbw"))  # of four ranks
    assert reduce["group"] == {"ranks": 4, "nodes": 4, "groups": 1}


def test_rails_join_the_same_port_of_every_node(vm):
    found = by_id(vm, "rails")
    send, read = found["rdma_send"], found["rdma_read"]
    assert all_right(send, read)
    assert metric(send, "nic_bandwidth") <= metric(send, "bandwidth") / 2 * 1.000001  # one way of both
    assert measured(send) == (["node-a port 0", "node-b port 0", "node-a port 1", "node-b port 1"],
                              [(0, 1), (1, 0), (2, 3), (3, 2)])
    assert measured(read) == (["node-a", "node-b"], [(0, 1)])


def test_one_process_of_a_node_drives_both_its_ports_at_once(vm):
    found = by_id(vm, "rails")
    write, send = found["rdma_write/at_once"], found["rdma_send/at_once"]
    assert all_right(write, send)
    assert measured(write) == (["node-a port 0", "node-b port 0", "node-a port 1", "node-b port 1"],
                               [(0, 1), (1, 0), (2, 3), (3, 2)])
    assert metric(write, "bandwidth") > 1.9 * metric(write, "nic_bandwidth") > 0
    assert [sum(f"rxe{i}/1" in note for note in write["notes"]) for i in (0, 2)] == [1, 1], write["notes"]
    assert 0 <= metric(send, "lost_share") < 1


def test_connections_by_the_kernels_manager_keep_to_their_ports(vm):
    point = by_id(vm, "rails")["rdma_write/cm"]
    assert all_right(point)
    assert len(measured(point)[1]) == 2, point["pairs"]


def test_datagrams_are_counted_where_they_arrive(vm):
    found = by_id(vm, "all")
    for size in ("1B", "1KiB"):
        point = found[f"rdma_send/ud/message_size:{size}"]
        assert 0 <= metric(point, "lost_share") < 1, point
    assert metric(found["rdma_send/ud_latency"], "time_s") > 0


def test_datagrams_that_the_network_drops_are_reported(vm):
    [point] = points(vm, "lossy")
    assert all_right(point)
    assert 0.01 < metric(point, "lost_share") < 0.5, metric(point, "lost_share")  # a fifth of those of one way


def test_a_launched_rank_that_dies_is_named(vm):
    assert code(vm, "rails") not in (0, 124), reported(vm, "rails")
    point = by_id(vm, "rails")["rdma_write/killed"]
    assert point["status"] == "error"
    assert "rank 3 (node-b)" in point["reason"], point["reason"]


def test_two_that_nothing_gets_through_between_are_named_and_the_others_measured(vm):
    assert code(vm, "cut") == 10 and 'bad="link node-b to node-c"' in reported(vm, "cut"), reported(vm, "cut")
    [point] = points(vm, "cut")
    assert all_right(point)
    assert measured(point) == (["node-a", "node-b", "node-c"], [(0, 1), (0, 2), (1, 0), (2, 0)])
    [cut] = point["pairs"]["unreached"]
    assert not any("unreached" in note for note in point["notes"]), point["notes"]  # it is judged, of few nodes, too
    assert (cut["a"], cut["b"]) == (1, 2) and "transport retry counter exceeded" in cut["why"], cut
    failed = [j for j in run_of(vm, "cut")["judgements"] if j["outcome"] == "FAIL"]
    assert [j["scope"] for j in failed] == ["link node-b to node-c"] and cut["why"] in failed[0]["explanation"], failed


def test_a_firewall_for_rdma_alone_is_reported(vm):
    [point] = points(vm, "firewall")
    assert point["status"] == "error"
    for words in ("rank 1 (node-b)", "transport retry counter exceeded", "a firewall on UDP port 4791"):
        assert words in point["reason"], point["reason"]


def brought_up(vm, name):
    return json.loads((vm / name / "bringup.json").read_text())


def named(record):
    return [(fault["scope"], fault["subject"]) for fault in record["faults"]]


def by_rdma(record):
    """Pairs over the second rail: the first one is TCP."""
    return [pair for session in record["sessions"] for round_ in session["rounds"] for pair in round_["pairs"] if pair["rail"] == 1]


def test_a_bringup_measures_pairs_by_rdma_too(vm):
    record = brought_up(vm, "up_healthy")
    # Four hosts share two processors with all that the machine does: some may look slower for it, none as if it were broken.
    assert code(vm, "up_healthy") in (0, 10, 11) and all(fault["loss"] < 0.3 for fault in record["faults"]), reported(vm, "up_healthy")
    assert len(record["sessions"][0]["rdma_rails"]) == 1 and len(record["usual_rate"]) == 2
    assert {tuple(pair["nodes"]) for pair in by_rdma(record)} == {(a, b) for a in range(4) for b in range(a + 1, 4)}
    for pair in by_rdma(record):
        assert min(pair["rate"]) > 0 and 0 < pair["latency_s"][0] <= pair["latency_s"][1] <= pair["latency_s"][2], pair
    assert [skipped["step"] for skipped in record["skipped"]] == ["node tests", "collectives", "storage load"], record["skipped"]


@pytest.mark.parametrize("name, words", [
    ("up_lossy", ["of the packets sent again"]),
    ("up_late", ["latency", "at the least"]),
    ("up_down", ["no RDMA connection with", "RDMA port nic3/1 is DOWN"]),
])
def test_a_port_that_is_bad_where_tcp_is_well_is_named(vm, name, words):
    record = brought_up(vm, name)
    assert code(vm, name) == 10, reported(vm, name)
    assert ("NIC", "node3 nic3/1") in named(record), (named(record), reported(vm, name))
    [fault] = [one for one in record["faults"] if one["subject"] == "node3 nic3/1"]
    for word in words:
        assert word in fault["told"], fault
    assert {node["name"]: node["state"] for node in record["nodes"]}["node3"] == "confirmed"


def test_results_of_rdma_pairs_are_compared_and_kept_over_time(vm):
    """By the very files that the bring-ups left."""
    done = subprocess.run([BINARY, "compare", vm / "up_healthy", vm / "up_lossy", "--format", "json", "--no-report"],
                          capture_output=True, text=True)
    assert done.returncode in (0, 10, 11), done
    metrics = {line.split('"')[3] for line in done.stdout.splitlines() if '"metric":' in line}
    assert {"rate", "rdma_rate", "rdma_latency", "rdma_resent"} <= metrics, (metrics, done.stdout[:2000])
    assert any("nic3/1" in metric for metric in metrics), metrics
