"""headrace bringup with agents that are made up, so that whatever hosts say or lose can be tried at once, without networks."""

import json
import os
import pathlib
import re
import shutil
import signal
from xml.etree import ElementTree

import pytest

from bringup_fleet import fleet, pairs_over  # noqa: F401
from bringup_hosts import SHARED_JOB, named, states


def test_a_nic_that_nobody_reaches_is_bad_and_no_way_to_it(fleet):
    """All its pairs fail over that rail: what is accused is its NIC, not each of the ways between it and sound ones."""
    told = fleet("abcdef", rails=" rail=eth0,eth1", dark=["c eth1"])
    assert told.code == 10 and named(told) == [("NIC", "c eth1")], told
    assert states(told) == dict.fromkeys("abdef", "accepted") | {"c": "confirmed"}, told
    assert "no connections, of c eth1" in told.out and told.record["hand_over"]["bad_nodes"] == "c", told


def test_a_node_that_nobody_reaches_by_any_rail(fleet):
    told = fleet("abcdef", rails=" rail=eth0,eth1", dark=["c"])
    assert told.code == 10 and named(told) == [("node", "c")] and "no way there" in told.record["faults"][0]["told"], told


@pytest.mark.parametrize("nodes, bad", [("ab", "a"), ("abc", "b"), ("abcdef", "f")])
def test_a_closed_host_is_named_wherever_it_is_in_the_hosts_file(fleet, nodes, bad):
    told = fleet(nodes, closed=[bad])
    assert told.code == 10 and named(told) == [("node", bad)] and states(told)[bad] == "confirmed", told
    fault = told.record["faults"][0]
    assert fault["told"].startswith("incoming connections are blocked") and "firewall" in fault["fix"], told
    assert told.record["hand_over"]["bad_nodes"] == bad and f"nodename={bad} state=drain" in told.out, told


def test_a_closed_host_stays_bad_until_it_lets_others_in(fleet):
    """Its rates clear it: a later session tries again what failed."""
    assert named(fleet("abcdef", closed=["a"])) == [("node", "a")]
    again = fleet("abcdef", "--resume", closed=["a"])
    assert again.code == 10 and named(again) == [("node", "a")] and states(again)["a"] == "confirmed", again
    retested = fleet("abcdef", "--retest", "a", closed=["a"])
    assert retested.code == 10 and named(retested) == [("node", "a")], retested
    mended = fleet("abcdef", "--retest", "a")
    assert mended.code == 0 and states(mended)["a"] == "retested", mended


def test_all_hosts_closed_to_one_another(fleet):
    told = fleet("abcdef", closed=list("abcdef"))
    assert told.code == 10 and named(told) == [("network", "TCP")], told
    assert "no host can connect to any other" in told.out and "firewall" in told.record["faults"][0]["fix"], told
    assert told.record["hand_over"]["bad_nodes"] == "" and "usual" not in told.record["sentence"], told


@pytest.mark.parametrize("answers", [{"open": {"error": "no open file is left"}}, {"open": {"door": 3}}, {"open": []},
                                     {"answer": {"error": "nothing was opened"}, "call": {"error": "nothing was opened"}},
                                     {"answer": 7, "call": 7}, {"call": {"received": -1}}, {"answer": {"received": -1}}], ids=str)
def test_an_agent_that_fails_by_itself_is_named_and_no_link(fleet, answers, bad="c"):
    told = fleet("abcdef", answers={bad: answers})
    assert told.code == 10 and named(told) == [("node", bad)] and states(told)[bad] == "confirmed", told
    assert {state for name, state in states(told).items() if name != bad} == {"accepted"}, told


def test_hosts_with_one_address_are_named_before_pairs(fleet, headrace):
    """Each meets nobody: connections would reach the one or the other, and accuse a third."""
    def at(name, address):
        facts = facts_of(name)["facts"] | {"paths": [], "addresses": [{"interface": "eth0", "address": address}]}
        return {"facts": facts}
    answers = {name: at(name, f"10.0.0.{number}") for number, name in enumerate("abcdef")}
    assert fleet("abcdef", answers=answers).code == 0
    shutil.rmtree(headrace.path("cluster"))
    told = fleet("abcdef", answers=answers | {"d": at("d", "10.0.0.2")})
    assert told.code == 10 and named(told) == [("node", "c"), ("node", "d")], told
    assert "IP address 10.0.0.2 is also an address of d" in told.out, told
    assert states(told) == dict.fromkeys("abef", "accepted") | dict.fromkeys("cd", "confirmed"), told
    assert all(not {2, 3} & set(pair) for pair in pairs_over(told, 0)), told


def test_a_rail_that_nobody_gets_through(fleet):
    told = fleet("abcdef", rails=" rail=eth0,eth1", dark=[f"{name} eth1" for name in "abcdef"])
    assert told.code == 10 and named(told) == [("rail", "eth1")], told
    assert "no host can connect to any other" in told.out and told.record["hand_over"]["bad_nodes"] == "", told
    # The other rail is measured as if there were no second one.
    assert states(told) == dict.fromkeys("abcdef", "accepted"), told
    assert len(pairs_over(told, 0)) == 15 and pairs_over(told, 1) == set(), told


def test_what_was_bad_before_is_bad_until_it_is_tested_again(fleet, headrace):
    """Two bad ones; one is repaired and passes its retest. What the verdict says of the other is what JUnit says."""
    first = fleet("abcdef", rates={"b": 5e8}, dark=["c"])
    assert first.code == 10 and named(first) == [("node", "b"), ("node", "c")], first
    told = fleet("abcdef", "--retest", "b", dark=["c"])
    assert states(told)["b"] == "retested" and states(told)["c"] == "confirmed", told
    met = [pair["nodes"] for one in told.record["sessions"][1]["rounds"] for pair in one["pairs"]]
    assert len(met) >= 4 and all(1 in pair and 2 not in pair for pair in met), met  # it takes four rates to accuse one, too
    assert told.code == 10 and "bad before, and not cleared since: c" in told.record["sentence"], told
    junit = ElementTree.parse(headrace.path("cluster/junit.xml")).getroot()
    assert [case.get("name") for case in junit.iter("testcase") if case.find("failure") is not None] == ["c"], told
    assert headrace.path("cluster/bringup.prom").read_text().endswith("headrace_bringup_exit_code 10\n")


def facts_of(name, **facts):
    return {"facts": {"host": name, "machine": name, "facts": facts, "paths": [{"path": "/data", "there": True, "type": "nfs4", "source": "store:/x"}]}}


@pytest.mark.long
def test_one_that_flaps_stays_out(fleet, headrace):
    """Twice bad after it passed: three passes in a row are wanted. Who was bad at first and then passes does not flap."""
    assert fleet("abcdef", rates={"f": 5e8}).code == 10
    repaired = fleet("abcdef", "--retest", "f")
    assert repaired.code == 0 and states(repaired)["f"] == "retested", repaired
    slow = {"rates": {"b": 5e8}}
    assert states(fleet("abcdef", "--retest", "b", **slow))["b"] == "confirmed"
    told = fleet("abcdef", "--retest", "b")
    assert told.code == 10 and states(told)["b"] == "flapping" and named(told) == [("node", "b")], told
    assert "drain    scontrol update nodename=b state=drain reason='headrace: flapping'" in told.out and "resume   scontrol update nodename=b" not in told.out, told
    other = fleet("abcdef", "--retest", "c")  # nobody looked at b again: it does not measure, and is bad still
    assert other.code == 10 and "bad before, and not cleared since: b" in other.record["sentence"], other
    assert all(1 not in pair["nodes"] for one in other.record["sessions"][-1]["rounds"] for pair in one["pairs"]), other
    junit = ElementTree.parse(headrace.path("cluster/junit.xml")).getroot()
    assert [case.get("name") for case in junit.iter("testcase") if case.find("failure") is not None] == ["b"], other
    assert states(fleet("abcdef", "--retest", "b", **slow))["b"] == "confirmed"
    for state, more in (("flapping", "2 more passes"), ("flapping", "1 more pass in")):
        told = fleet("abcdef", "--retest", "b")
        assert states(told)["b"] == state and more in told.record["faults"][0]["fix"], told
    told = fleet("abcdef", "--retest", "b")
    assert told.code == 0 and states(told)["b"] == "retested", told


def test_a_repaired_one_is_held_against_what_accepted_ones_told(fleet):
    """One accepted node is there to pair it with: what the others told when they were accepted says what is usual."""
    usual = {name: facts_of(name, **{"memory.total": "503 GiB"}) for name in "abcdef"}
    first = fleet("abcdef", rates={"b": 5e8}, answers=usual)
    assert first.code == 10 and named(first) == [("node", "b")], first
    less = usual | {"b": facts_of("b", **{"memory.total": "440 GiB"})}
    told = fleet("abcdef", "--retest", "b", gone=list("cdef"), answers=less)
    assert told.code == 10 and named(told) == [("node", "b")] and "memory.total: 440 GiB; the others: 503 GiB" in told.record["faults"][0]["told"], told
    assert states(told)["b"] == "confirmed" and states(told)["a"] == "accepted", told
    changed = less | {"a": facts_of("a", **{"memory.total": "440 GiB"})}  # so is the one that is there: no fault of the repaired one
    told = fleet("abcdef", "--retest", "b", gone=list("cdef"), answers=changed)
    assert named(told) == [] and states(told)["b"] == "retested", told
    told = fleet("abcdef", "--retest", "b", gone=list("cdef"), answers=usual)
    assert named(told) == [] and states(told)["b"] == "retested", told


@pytest.mark.parametrize("answers", [
    {"hello": {"agent": 1, "version": 3}}, {"hello": {"agent": "1", "version": "0"}}, {"hello": []},
    {"facts": {"host": 1}}, {"open": {"door": 3}}, {"open": {}}, {"open": {"error": {"a": 1}}},
    {"call": {"received": -1, "segments": 1, "retransmitted": 0}, "answer": {"received": "fast"}},
    {"call": {"received": 1e300, "segments": 1, "retransmitted": 0}, "answer": {"received": 1e300, "segments": 1, "retransmitted": 0}},
], ids=str)
def test_one_that_talks_nonsense_costs_itself_alone(fleet, answers):
    told = fleet("abcdef", answers={"c": answers})
    assert told.code in (10, 11, 12), told
    assert states(told) == dict.fromkeys("abdef", "accepted") | {"c": states(told)["c"]}, told
    assert states(told)["c"] != "accepted" or "open" in answers, told  # who cannot be called may still call


def test_a_clock_that_is_none_decides_nothing(fleet):
    told = fleet("abcdef", answers={"c": {"clock": {"now_s": "noon"}}})
    assert told.code == 0 and set(states(told).values()) == {"accepted"}, told


def test_ctrl_c_takes_nobodys_state(fleet, headrace):
    """Whoever was asked nothing yet is what it was before."""
    first = fleet("abcdef", rates={"b": 5e8})
    assert first.code == 10, first
    headrace.write("fleet.json", '{"hang": true}')
    process = headrace.start("--progress", "json", "bringup", "--pairs-only", "--out", "cluster", "--launch", "echo >>began;" + fleet.launch(), "--resume")
    while not headrace.path("began").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, (out, err)
    after = {node["name"]: node["state"] for node in headrace.results("bringup.json", "cluster")["nodes"]}
    assert after == states(first) and "missing=0" in out, (out, err)


def test_a_folder_of_anybodys_runs_nothing(fleet, headrace):
    """What goes on with a bring-up runs the launcher that is given now; names in its file are no options and no commands."""
    assert fleet("abcdef").code == 0
    file, good = headrace.path("cluster/bringup.json"), headrace.path("cluster/bringup.json").read_text()
    for name in ("-oProxyCommand=touch ran", "a;touch ran;", "$(touch ran)", "b"):
        file.write_text(good.replace('"name": "a"', f'"name": "{name}"'))
        told = headrace("bringup", "--pairs-only", "--out", "cluster", "--resume", "--drain", "kubernetes")
        assert told.code == 2 and re.search(r"cluster/bringup.json:\d+:\d+: nodes\[", told.err) and not headrace.path("ran").exists(), told
    file.write_text(good)
    headrace.write("hosts", "".join(f"{name} rail=e0,e1\n" for name in "abcdef"))
    told = headrace("bringup", "--pairs-only", "--out", "cluster", "--resume", "--hosts", "hosts", "--launch", fleet.launch())
    assert told.code == 2 and "a has 2 rails, but the bring-up in this folder has 0" in told.err, told
    assert headrace("clean", "cluster").code == 2 and file.exists()
    assert headrace("clean", "--yes", "cluster").code == 0 and not headrace.path("cluster").exists()


def test_who_is_dead_keeps_nobody_waiting(headrace):
    """Launchers that wait for dead hosts, more of them than start at once: each ends when the last has begun."""
    names = [f"n{number:03}" for number in range(56)]
    headrace.write("hosts", "".join(f"{name}\n" for name in names))
    headrace.path("began").mkdir()
    wait = "touch began/{host}; while [ $(ls began | wc -l) -lt 56 ]; do sleep 0.5; done; exit 255;"
    told = headrace("bringup", "--pairs-only", "--out", "cluster", "--launch", wait, "--hosts", "hosts", "--start-timeout", "10min")
    missing = {node["name"]: node["missing"]["why"] for node in headrace.results("bringup.json", "cluster")["nodes"]}
    assert told.code == 1 and missing == dict.fromkeys(names, "cannot be reached"), told


@pytest.mark.parametrize("old, new, said", [
    ('"state": "accepted"', '"state": "accptd"', r'bringup.json:\d+:\d+: nodes\[0\].state: \'accptd\' is no state .*one of new, .*did you mean \'accepted\''),
    ('"streams": 4', '"streams": 400', r"bringup.json:\d+:\d+: streams: must be from 1 to 256"),
    ('"streams": 4', '"streams": 5', "bringup.json: is not as headrace wrote it, and stays as it is"),
    ('"sessions": [', '"sessions": [[', r"bringup.json:\d+:\d+: "),
    ("", None, r"bringup.json: the file is empty"),
])
@pytest.mark.parametrize("how", [["--resume"], ["--retest", "b"], ["--resume", "--dry-run"]], ids=str)
def test_a_record_that_somebody_edited_is_refused_before_anything_runs(fleet, headrace, old, new, said, how):
    assert fleet("abcdef").code == 0
    file = headrace.path("cluster/bringup.json")
    text = "" if new is None else file.read_text().replace(old, new, 1)
    file.write_text(text)
    told = headrace("bringup", "--pairs-only", "--out", "cluster", "--launch", "touch ran;" + fleet.launch(), *how)
    assert told.code == 2 and re.search("cluster/" + said, told.err), told
    assert not headrace.path("ran").exists() and file.read_text() == text, told


def test_what_the_end_would_write_over_is_refused_before_anything_runs(fleet, headrace):
    assert fleet("abcdef").code == 0
    headrace.path("cluster/junit.xml").write_text("<mine/>")
    told = headrace("bringup", "--pairs-only", "--out", "cluster", "--launch", "touch ran;" + fleet.launch(), "--resume")
    assert told.code == 2 and "cluster/junit.xml: is not as headrace wrote it" in told.err, told
    assert not headrace.path("ran").exists() and headrace.path("cluster/junit.xml").read_text() == "<mine/>", told


def test_a_copy_of_a_folder_runs_nothing_of_its_own(fleet, headrace):
    """Whoever unpacks it owns all files: that does not say who wrote the launcher, the tests and the job in it."""
    headrace.path("data").mkdir()
    headrace.write("tests.yaml", "schema: 1\nworkloads: [{use: memory_copy}]\n")
    headrace.write("job.yaml", SHARED_JOB % headrace.path("data"))
    tests, job = ("--node-tests", "tests.yaml"), ("--job", "job.yaml", "--at", str(headrace.path("data")))
    paths = [{"path": str(headrace.path("data")), "there": True, "type": "ext4", "source": "x"}]
    answers = {name: {"facts": {"host": name, "machine": name, "facts": {}, "paths": paths}} for name in "abcdef"}
    assert fleet("abcdef", "--hosts", "hosts", *tests, *job, answers=answers).code == 0
    shutil.copytree(headrace.path("cluster"), headrace.path("copy"))
    before = headrace.path("copy/bringup.json").read_text()
    launch = ("--launch", "touch ran;" + fleet.launch())

    def refused(*words, only=("--pairs-only",)):
        told = headrace("bringup", *only, "--out", "copy", "--resume", *words)
        assert told.code == 2 and headrace.path("copy/bringup.json").read_text() == before and not headrace.path("ran").exists(), told
        return told.err
    assert "copy: say --hosts, --launch, --job, --at again: it is a copy" in refused()
    hosts = ("--hosts", "hosts")
    assert "copy: say --job, --at again: it is a copy" in refused(*hosts, *launch)
    assert "copy: say --at again: it is a copy" in refused(*hosts, *launch, *job[:2])
    assert "copy: say --node-tests again: it is a copy" in refused(*hosts, *launch, *job, only=())
    assert "copy: --drain would run what it says: it is a copy" in refused(*hosts, *launch, *job, "--drain", "slurm")
    headrace.write("few", "a\nb\nc\nd\ne\n")
    assert "copy: f is in it, and not in few: it is a copy" in refused("--hosts", "few", *launch, *job)
    assert headrace("bringup", "--pairs-only", "--out", "copy", "--resume", *hosts, *launch, *job).code == 0
    assert headrace("bringup", "--pairs-only", "--out", "cluster", "--resume").code == 0
    headrace.path("cluster").rename(headrace.path("moved"))
    assert headrace("bringup", "--pairs-only", "--out", "moved", "--resume").code == 0


@pytest.mark.parametrize("time", ["2h", "1us"])
def test_times_of_pairs_that_no_agent_takes(fleet, headrace, time):
    told = fleet("abcdef", "--hosts", "hosts", "--time", time)
    assert told.code == 2 and f"--time: '{time}' must be from 1ms to 1h" in told.err and not headrace.path("cluster").exists(), told


def test_a_user_is_the_launchers_alone(fleet, headrace):
    """Agents start as user@host; whatever goes to schedulers, and what is asked of hosts by name, has the host alone."""
    headrace.write("fleet.json", json.dumps({"rates": {"node2": 5e8}}))
    headrace.path("hosts").write_bytes("\ufeff".encode() + b"".join(b"root@node%d\r\n" % n for n in range(1, 7)))
    agent = fleet.launch().removesuffix(" {host}")
    launch = f"echo {{host}} >>asked; exec {agent} $(echo {{host}} | cut -d@ -f2)"
    headrace("bringup", "--pairs-only", "--out", "cluster", "--launch", launch, "--time", "10ms", "--hosts", "hosts")
    record = headrace.results("bringup.json", "cluster")
    assert set(headrace.path("asked").read_text().split()) == {f"root@node{n}" for n in range(1, 7)}
    assert record["hand_over"]["bad_nodes"] == "node2" and record["states"]["accepted"] == "node[1,3-6]", record["hand_over"]
    commands = record["hand_over"]["slurm"]["drain"] + record["hand_over"]["kubernetes"]["drain"]
    assert commands == ["scontrol update nodename=node2 state=drain reason='headrace: rate'",
                        "kubectl taint nodes node2 headrace=bad:NoSchedule --overwrite"], commands
    told = headrace("bringup", "--pairs-only", "--out", "cluster", "--retest", "node2")
    assert told.code == 10 and "root@node2" in headrace.path("asked").read_text().split()[6:], told


def test_a_group_that_is_slower_than_the_others(fleet, headrace):
    """Three groups of eleven. One that is slow twice is named, with its nodes and what its pairs said; slow once is nobody's fault."""
    golden = json.loads((pathlib.Path(__file__).parents[1] / "golden/run.json").read_text())
    golden["judgements"], golden["points"] = [], golden["points"][:1]
    golden["points"][0] |= {"repetitions": [], "metrics": golden["points"][0]["metrics"][:1]}
    golden["summary"] = {"word": "MEASURED", "exit_code": 0, "needs": 0, "pass": 0, "fail": 0, "inconclusive": 0, "skipped": 0, "error": 0}
    headrace.write("run.json", json.dumps(golden))
    names = [f"n{number:02}" for number in range(33)]

    def brought_up(out, **share):
        headrace.write("hosts", "".join(f"{name}\n" for name in names))
        headrace.write("fleet.json", json.dumps({"run": "run.json", "share": share}))
        told = headrace("bringup", "--out", out, "--launch", fleet.launch(), "--time", "10ms", "--hosts", "hosts")
        told.record = headrace.results("bringup.json", out)
        return told
    twice = brought_up("twice", n11=[0.8, 0.8])
    assert twice.code == 10 and named(twice) == [("group", "n[11-21]")], twice
    told = twice.record["faults"][0]["told"]
    assert "730 MB/s, and 730 MB/s before, usually 912 MB/s (2 other groups of 11 nodes); its pairs alone: " in told, told
    assert "% of the usual rate in the middle" in told and "collectives again of n[11-21]" in twice.out, twice
    assert set(states(twice).values()) == {"accepted"}, twice
    once = brought_up("once", n11=[0.8, 1])
    assert once.code == 0 and named(once) == [] and len(once.record["sessions"][0]["groups"]) == 6, once
    never = brought_up("never", n11=[0.96, 1])
    assert never.code == 0 and named(never) == [] and len(never.record["sessions"][0]["groups"]) == 3, never


@pytest.fixture
def together(fleet, headrace):
    """A bring-up of six nodes whose collectives are made up: they give what tests/golden/run.json has."""
    headrace.write("hosts", "".join(f"{name}\n" for name in "abcdef"))

    def run(answers, statuses=("ok",)):
        golden = json.loads((pathlib.Path(__file__).parents[1] / "golden/run.json").read_text())
        point = golden["points"][0] | {"repetitions": [], "metrics": golden["points"][0]["metrics"][:1]}
        golden["judgements"] = []
        golden["points"] = [point | {"id": f"point{n}"} | ({} if status == "ok" else {"status": status, "reason": "as made up", "metrics": []})
                            for n, status in enumerate(statuses)]
        errors = statuses.count("error")
        golden["summary"] = {"word": "ERROR" if errors else "MEASURED", "exit_code": 1 if errors else 0, "needs": 0, "pass": 0, "fail": 0,
                             "inconclusive": 0, "skipped": statuses.count("skipped"), "error": errors}
        headrace.write("run.json", json.dumps(golden))
        headrace.write("fleet.json", json.dumps({"run": "run.json", "answers": answers}))
        told = headrace("bringup", "--out", "cluster", "--launch", fleet.launch(), "--time", "10ms", "--hosts", "hosts")
        told.record = headrace.results("bringup.json", "cluster")
        told.skipped = {one["why"] for one in told.record["skipped"] if one["step"] == "collectives"}
        return told
    return run


def test_collectives_that_fail_on_all_nodes_are_a_fault(together):
    told = together({"a": {"run together": {"error": "TIMEOUT: MPI_Init of rank 0 (a)"}}})
    assert told.code == 10 and named(told) == [("group", "a,b,c,d,e,f")], told
    assert told.record["faults"][0]["told"] == "collectives: TIMEOUT: MPI_Init of rank 0 (a)" and not told.skipped, told


def test_of_two_collectives_that_which_worked_keeps_its_value(together):
    told = together({}, statuses=("ok", "error", "skipped"))
    assert told.code == 10 and told.record["faults"][0]["told"] == "collectives: point1: as made up", told
    (group,) = told.record["sessions"][0]["groups"]
    assert [value["point"] for value in group["values"]] == ["point0"] and "point0 " in told.out, told
    assert told.skipped == {"point2: as made up"}, told


def test_a_node_that_cannot_take_part_in_collectives_is_named(together):
    told = together({"c": {"place": {"error": "/tmp/x: No space left on device"}}})
    assert told.code == 10 and named(told) == [("node", "c")] and states(told)["c"] == "confirmed", told
    assert told.record["faults"][0]["told"] == "cannot take part in collectives: /tmp/x: No space left on device", told
    assert "accepted=5" in told.out and "reason='headrace: collectives'" in told.out, told


@pytest.mark.parametrize("without, code, faults", [("abcdef", 0, []), ("abc", 0, []), ("c", 10, [("node", "c")])])
def test_collectives_are_skipped_only_where_most_nodes_cannot_start_them(together, without, code, faults):
    no_mpi = "mpi: not built into this installation"
    told = together({name: {"facts": facts_of(name)["facts"] | {"paths": [], "no_mpi": no_mpi}} for name in without})
    assert told.code == code and named(told) == faults, told
    assert any(why.endswith(": " + no_mpi) for why in told.skipped) == (code == 0), told
    assert not any("groups" in one and one["groups"] for one in told.record["sessions"]) or code == 10, told


def test_a_door_that_is_too_long_costs_its_host_alone(fleet):
    """It would go on to whoever calls: all the others are measured."""
    told = fleet("abcdef", answers={"c": {"open": {"door": "x" * 70_000}}})
    assert states(told) == dict.fromkeys("abdef", "accepted") | {"c": states(told)["c"]}, told
    assert "missing=0" in told.out and states(told)["c"] != "accepted", told


def test_states_stay_where_no_node_answers(fleet):
    """As from a shell whose launcher does not work: what was measured before is not lost."""
    first = fleet("abcdef", rates={"b": 5e8})
    assert first.code == 10, first
    told = fleet("abcdef", "--resume", gone=list("abcdef"))
    assert states(told) == states(first) and "No node answered: nothing was measured" in told.out, told
    assert "state=down" not in told.out and "rdma=none" not in told.out, told
    rdma = [one["why"] for one in told.record["skipped"] if one["step"] == "pairs by RDMA"]
    assert rdma == ["no host said which ports it has"], rdma
    again = fleet("abcdef", "--resume")
    assert {name for name, state in states(again).items() if state == "accepted"} == set("acdef"), again


def test_a_dead_node_is_in_the_headline_and_in_the_commands(fleet):
    told = fleet("abcdef", gone=["f"])
    assert told.code == 12 and "accepted=5" in told.out and "suspect=0 new=0 missing=1" in told.out, told
    assert "missing: f" in told.record["sentence"] and told.record["hand_over"]["bad_nodes"] == "f", told
    assert "drain    scontrol update nodename=f state=down reason='headrace: unreachable'" in told.out, told


def scheduler(headrace, script):
    headrace.path("bin").mkdir()
    headrace.write("bin/scontrol", f"#!/bin/sh\n{script}\n")
    headrace.path("bin/scontrol").chmod(0o755)
    return {"PATH": f"{headrace.path('bin')}:{os.environ['PATH']}"}


def test_one_that_was_taken_out_is_let_in_again(fleet, headrace):
    """Also where it was no retest that found it well: else nobody would tell that it is out."""
    headrace.write("hosts", "".join(f"{name}\n" for name in "abcdef"))
    headrace.write("fleet.json", '{"dark": ["c"]}')
    first = headrace("bringup", "--pairs-only", "--out", "cluster", "--launch", fleet.launch(), "--time", "10ms", "--hosts", "hosts", "--drain", "slurm",
                     **scheduler(headrace, "true"))
    assert first.code == 10 and headrace.results("bringup.json", "cluster")["nodes"][2]["state"] == "drained", first
    told = fleet("abcdef", "--resume")
    assert told.code == 0 and states(told)["c"] == "retested", told
    assert "resume   scontrol update nodename=c state=resume" in told.out, told


def test_a_scheduler_that_does_not_do_as_it_is_told(fleet, headrace):
    """A node that passed its retest is still out: that is no success."""
    assert fleet("abcdef", rates={"b": 5e8}).code == 10
    headrace.write("fleet.json", "{}")
    told = headrace("bringup", "--pairs-only", "--out", "cluster", "--launch", fleet.launch(), "--retest", "b", "--drain", "slurm",
                    **scheduler(headrace, "echo no such node; exit 1"))
    kept = headrace.results("bringup.json", "cluster")
    assert "no such node" in told.err and "no such node" not in told.out, told
    assert told.code == 1 and "this failed: scontrol update nodename=b state=resume" in told.err, told
    assert kept["word"] == "ERROR" and kept["exit_code"] == 1 and kept["nodes"][1]["state"] == "retested", kept
