"""headrace bringup by RDMA, with agents that are made up; tests/rdma has real devices."""

import pytest

from bringup_fleet import fleet, pairs_over  # noqa: F401
from bringup_hosts import named, states

RDMA = {node: ["nic0/1", "nic1/1"] for node in "abcdef"}


def test_a_port_that_is_slow_by_rdma_alone(fleet):
    reported = fleet("abcdef", rdma=RDMA, rates={"c nic1/1": 5e8})
    assert reported.code == 10 and named(reported) == [("NIC", "c nic1/1")], reported
    assert states(reported) == dict.fromkeys("abdef", "accepted") | {"c": "confirmed"}, reported
    assert reported.record["usual_rate"] == pytest.approx([1e9] * 3, rel=0.05), reported
    reported = fleet("abcdef", "--retest", "c", rdma=RDMA)
    assert reported.code == 0 and named(reported) == [] and states(reported)["c"] == "retested", reported
    assert len(pairs_over(reported, 2)) == 15, reported


def test_a_port_that_counts_errors_of_its_own(fleet):
    reported = fleet("abcdef", rdma=RDMA, errors={"c nic1/1": {"symbol_error": 2}})
    assert reported.code == 10 and named(reported) == [("NIC", "c nic1/1")], reported
    assert "its port counted errors of its own in 5 of 5 pairs (symbol_error +10)" in reported.record["faults"][0]["told"], reported
    assert "reason='headrace: port errors, of c nic1/1'" in reported.out, reported


def test_errors_on_most_ports_accuse_no_node(fleet):
    reported = fleet("abcdef", rdma=RDMA, errors={f"{node} nic1/1": {"symbol_error": 2} for node in "abcd"})
    assert reported.code == 0 and named(reported) == [], reported
    assert any("errors" in pair for one in reported.record["sessions"][0]["rounds"] for pair in one["pairs"]), reported


def test_a_node_that_has_fewer_ports(fleet):
    """What it has is measured, and nobody waits for what it has not."""
    reported = fleet("abcdef", rdma=RDMA | {"c": ["nic0/1"]})
    assert reported.code == 10 and named(reported) == [("node", "c")], reported
    assert "1 RDMA ports, none at port 1; the others: 2" in reported.record["faults"][0]["told"], reported
    assert len(pairs_over(reported, 1)) == 15 and all(2 not in pair for pair in pairs_over(reported, 2)), reported


def test_rdma_without_connections_leaves_tcp_alone(fleet):
    """As where logins may lock too little memory: it is reported once, and what TCP says of a node is not lost."""
    dark = [f"{node} {port}" for node in "abcdef" for port in ("nic0/1", "nic1/1")]
    reported = fleet("abcdef", rdma=RDMA, dark=dark, rates={"d": 5e8})
    assert reported.code == 10 and named(reported) == [("node", "d"), ("rail", "nic0/1"), ("rail", "nic1/1")], reported
    assert "memlock is 64 KiB" in reported.out and "--no-rdma" in reported.out, reported
    assert states(reported) == dict.fromkeys("abcef", "accepted") | {"d": "confirmed"}, reported


def test_unreachable_port_stays_known_in_a_retest(fleet):
    assert named(fleet("abcdef", rdma=RDMA, rates={"c": 5e8})) == [("NIC", "c TCP")]
    reported = fleet("abcdef", "--retest", "c", rdma=RDMA, dark=["c nic1/1"])
    assert reported.code == 10 and named(reported) == [("NIC", "c nic1/1")] and states(reported)["c"] == "confirmed", reported


def test_data_that_came_damaged_once_is_a_fault(fleet):
    reported = fleet("abcdef", rdma=RDMA, damaged={"c nic1/1": "received data differs from the sent data"})
    assert reported.code == 10 and [scope for scope, _ in named(reported)] == ["link"] and "c nic1/1" in named(reported)[0][1], reported
    assert "received data differs from the sent data" in reported.record["faults"][0]["told"], reported


def test_rdma_fault_stays_without_rdma_in_a_later_session(fleet):
    assert named(fleet("abcdef", rdma=RDMA, rates={"c nic1/1": 5e8})) == [("NIC", "c nic1/1")]
    reported = fleet("abcdef", "--resume", "--no-rdma", rdma=RDMA)
    assert reported.code == 10 and named(reported) == [("NIC", "c nic1/1")] and states(reported)["c"] == "confirmed", reported


def test_joining_host_with_an_unreachable_port_is_bad_alone(fleet, headrace):
    """One pair that fails over a rail is no rail that is dead: others got through it before."""
    assert fleet("abcdef", rdma=RDMA).code == 0
    reported = fleet("abcdefg", "--resume", "--hosts", "hosts", rdma=RDMA | {"g": RDMA["a"]}, dark=["g nic0/1"])
    assert reported.code == 10 and named(reported) == [("NIC", "g nic0/1")], reported
    assert states(reported) == dict.fromkeys("abcdef", "accepted") | {"g": "confirmed"}, reported


def test_a_node_that_is_slow_by_all_its_rails_is_reported_of_by_the_worst(fleet):
    reported = fleet("abcdef", rdma=RDMA, rates={"c": 8e8, "c nic0/1": 6e9, "c nic1/1": 9e9} | {f"{node} {port}": 1e10 for node in "abdef" for port in RDMA["a"]})
    assert named(reported) == [("node", "c")], reported
    text = reported.record["faults"][0]["told"]
    assert text.startswith("6.00 GB/s in ") and " by nic0/1, 40 % below the usual 10.0 GB/s" in text, text


def test_rdma_is_left_out_where_it_is_not_wanted_or_not_there(fleet, headrace):
    reported = fleet("abcdef", "--hosts", "hosts", "--no-rdma", rdma=RDMA)
    assert reported.code == 0 and {"step": "pairs by RDMA", "why": "--no-rdma"} in reported.record["skipped"], reported
    reported = fleet("abcdef", "--resume", rdma=RDMA)  # nor in a later session
    assert reported.code == 0 and [len(one["rdma_rails"]) for one in reported.record["sessions"]] == [0, 0], reported
    assert {"step": "pairs by RDMA", "why": "--no-rdma"} in reported.record["skipped"], reported
    headrace.path("cluster").rename(headrace.path("first"))
    reported = fleet("abcdef", rails=" rdma=none", rdma=RDMA)
    assert {"step": "pairs by RDMA", "why": "the hosts file says rdma=none"} in reported.record["skipped"], reported
