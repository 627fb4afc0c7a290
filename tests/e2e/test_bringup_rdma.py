"""headrace bringup by RDMA, with agents that are made up; tests/rdma has real devices."""

import pytest

from bringup_fleet import fleet, pairs_over  # noqa: F401
from bringup_hosts import named, states

RDMA = {node: ["nic0/1", "nic1/1"] for node in "abcdef"}


def test_a_port_that_is_slow_by_rdma_alone(fleet):
    told = fleet("abcdef", rdma=RDMA, rates={"c nic1/1": 5e8})
    assert told.code == 10 and named(told) == [("NIC", "c nic1/1")], told
    assert states(told) == dict.fromkeys("abdef", "accepted") | {"c": "confirmed"}, told
    assert told.record["usual_rate"] == pytest.approx([1e9] * 3, rel=0.05), told
    told = fleet("abcdef", "--retest", "c", rdma=RDMA)
    assert told.code == 0 and named(told) == [] and states(told)["c"] == "retested", told
    assert len(pairs_over(told, 2)) == 15, told


def test_a_port_that_counts_errors_of_its_own(fleet):
    told = fleet("abcdef", rdma=RDMA, errors={"c nic1/1": {"symbol_error": 2}})
    assert told.code == 10 and named(told) == [("NIC", "c nic1/1")], told
    assert "its port counted errors of its own in 5 of 5 pairs (symbol_error +10)" in told.record["faults"][0]["told"], told
    assert "reason='headrace: port errors, of c nic1/1'" in told.out, told


def test_errors_that_most_ports_count_accuse_nobody(fleet):
    told = fleet("abcdef", rdma=RDMA, errors={f"{node} nic1/1": {"symbol_error": 2} for node in "abcd"})
    assert told.code == 0 and named(told) == [], told
    assert any("errors" in pair for one in told.record["sessions"][0]["rounds"] for pair in one["pairs"]), told


def test_a_node_that_has_fewer_ports(fleet):
    """What it has is measured, and nobody waits for what it has not."""
    told = fleet("abcdef", rdma=RDMA | {"c": ["nic0/1"]})
    assert told.code == 10 and named(told) == [("node", "c")], told
    assert "1 RDMA ports, none at port 1; the others: 2" in told.record["faults"][0]["told"], told
    assert len(pairs_over(told, 1)) == 15 and all(2 not in pair for pair in pairs_over(told, 2)), told


def test_rdma_that_nobody_gets_through_costs_tcp_nothing(fleet):
    """As where logins may lock too little memory: it is told once, and what TCP says of a node is not lost."""
    dark = [f"{node} {port}" for node in "abcdef" for port in ("nic0/1", "nic1/1")]
    told = fleet("abcdef", rdma=RDMA, dark=dark, rates={"d": 5e8})
    assert told.code == 10 and named(told) == [("node", "d"), ("rail", "nic0/1"), ("rail", "nic1/1")], told
    assert "memlock is 64 KiB" in told.out and "--no-rdma" in told.out, told
    assert states(told) == dict.fromkeys("abcef", "accepted") | {"d": "confirmed"}, told


def test_a_port_that_nobody_reaches_is_known_in_a_retest_too(fleet):
    assert named(fleet("abcdef", rdma=RDMA, rates={"c": 5e8})) == [("NIC", "c TCP")]
    told = fleet("abcdef", "--retest", "c", rdma=RDMA, dark=["c nic1/1"])
    assert told.code == 10 and named(told) == [("NIC", "c nic1/1")] and states(told)["c"] == "confirmed", told


def test_data_that_came_damaged_once_is_a_fault(fleet):
    told = fleet("abcdef", rdma=RDMA, damaged={"c nic1/1": "received data differs from the sent data"})
    assert told.code == 10 and [scope for scope, _ in named(told)] == ["link"] and "c nic1/1" in named(told)[0][1], told
    assert "received data differs from the sent data" in told.record["faults"][0]["told"], told


def test_what_rdma_was_bad_in_stays_bad_where_a_later_session_does_not_measure_it(fleet):
    assert named(fleet("abcdef", rdma=RDMA, rates={"c nic1/1": 5e8})) == [("NIC", "c nic1/1")]
    told = fleet("abcdef", "--resume", "--no-rdma", rdma=RDMA)
    assert told.code == 10 and named(told) == [("NIC", "c nic1/1")] and states(told)["c"] == "confirmed", told


def test_a_host_that_joins_with_a_port_that_nobody_reaches_is_bad_alone(fleet, headrace):
    """One pair that fails over a rail is no rail that is dead: others got through it before."""
    assert fleet("abcdef", rdma=RDMA).code == 0
    told = fleet("abcdefg", "--resume", "--hosts", "hosts", rdma=RDMA | {"g": RDMA["a"]}, dark=["g nic0/1"])
    assert told.code == 10 and named(told) == [("NIC", "g nic0/1")], told
    assert states(told) == dict.fromkeys("abcdef", "accepted") | {"g": "confirmed"}, told


def test_a_node_that_is_slow_by_all_its_rails_is_told_of_by_the_worst(fleet):
    told = fleet("abcdef", rdma=RDMA, rates={"c": 8e8, "c nic0/1": 6e9, "c nic1/1": 9e9} | {f"{node} {port}": 1e10 for node in "abdef" for port in RDMA["a"]})
    assert named(told) == [("node", "c")], told
    text = told.record["faults"][0]["told"]
    assert text.startswith("6.00 GB/s in ") and " by nic0/1, 40 % below the usual 10.0 GB/s" in text, text


def test_rdma_is_left_out_where_it_is_not_wanted_or_not_there(fleet, headrace):
    told = fleet("abcdef", "--hosts", "hosts", "--no-rdma", rdma=RDMA)
    assert told.code == 0 and {"step": "pairs by RDMA", "why": "--no-rdma"} in told.record["skipped"], told
    told = fleet("abcdef", "--resume", rdma=RDMA)  # it is in a later session
    assert told.code == 0 and [len(one["rdma_rails"]) for one in told.record["sessions"]] == [0, 2], told
    assert len(pairs_over(told, 2)) == 15, told
    headrace.path("cluster").rename(headrace.path("first"))
    told = fleet("abcdef", rails=" rdma=none", rdma=RDMA)
    assert {"step": "pairs by RDMA", "why": "the hosts file says rdma=none"} in told.record["skipped"], told
