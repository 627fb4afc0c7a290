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


def test_unreachable_nic_is_bad_and_no_link(fleet):
    """All its pairs fail over that rail: what is accused is its NIC, not each of the ways between it and sound ones."""
    reported = fleet("abcdef", rails=" rail=eth0,eth1", dark=["c eth1"])
    assert reported.code == 10 and named(reported) == [("NIC", "c eth1")], reported
    assert states(reported) == dict.fromkeys("abdef", "accepted") | {"c": "confirmed"}, reported
    assert "no connections, of c eth1" in reported.out and reported.record["hand_over"]["bad_nodes"] == "c", reported


def test_node_unreachable_by_all_rails(fleet):
    reported = fleet("abcdef", rails=" rail=eth0,eth1", dark=["c"])
    assert reported.code == 10 and named(reported) == [("node", "c")] and "no way there" in reported.record["faults"][0]["told"], reported


@pytest.mark.parametrize("nodes, bad", [("ab", "a"), ("abc", "b"), ("abcdef", "f")])
def test_a_closed_host_is_named_wherever_it_is_in_the_hosts_file(fleet, nodes, bad):
    reported = fleet(nodes, closed=[bad])
    assert reported.code == 10 and named(reported) == [("node", bad)] and states(reported)[bad] == "confirmed", reported
    fault = reported.record["faults"][0]
    assert fault["told"].startswith("incoming connections are blocked") and "firewall" in fault["fix"], reported
    assert reported.record["hand_over"]["bad_nodes"] == bad and f"nodename={bad} state=drain" in reported.out, reported


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
    reported = fleet("abcdef", closed=list("abcdef"))
    assert reported.code == 10 and named(reported) == [("network", "TCP")], reported
    assert "no host can connect to any other" in reported.out and "firewall" in reported.record["faults"][0]["fix"], reported
    assert reported.record["hand_over"]["bad_nodes"] == "" and "usual" not in reported.record["sentence"], reported


@pytest.mark.parametrize("answers", [{"open": {"error": "no open file is left"}}, {"open": {"door": 3}}, {"open": []},
                                     {"answer": {"error": "nothing was opened"}, "call": {"error": "nothing was opened"}},
                                     {"answer": 7, "call": 7}, {"call": {"received": -1}}, {"answer": {"received": -1}}], ids=str)
def test_an_agent_that_fails_by_itself_is_named_and_no_link(fleet, answers, bad="c"):
    reported = fleet("abcdef", answers={bad: answers})
    assert reported.code == 10 and named(reported) == [("node", bad)] and states(reported)[bad] == "confirmed", reported
    assert {state for name, state in states(reported).items() if name != bad} == {"accepted"}, reported


def test_hosts_with_one_address_are_named_before_pairs(fleet, headrace):
    """Each meets nobody: connections would reach the one or the other, and accuse a third."""
    def at(name, address):
        facts = facts_of(name)["facts"] | {"paths": [], "addresses": [{"interface": "eth0", "address": address}]}
        return {"facts": facts}
    answers = {name: at(name, f"10.0.0.{number}") for number, name in enumerate("abcdef")}
    assert fleet("abcdef", answers=answers).code == 0
    shutil.rmtree(headrace.path("cluster"))
    reported = fleet("abcdef", answers=answers | {"d": at("d", "10.0.0.2")})
    assert reported.code == 10 and named(reported) == [("node", "c"), ("node", "d")], reported
    assert "IP address 10.0.0.2 is also an address of d" in reported.out, reported
    assert states(reported) == dict.fromkeys("abef", "accepted") | dict.fromkeys("cd", "confirmed"), reported
    assert all(not {2, 3} & set(pair) for pair in pairs_over(reported, 0)), reported


def test_rail_without_connections(fleet):
    reported = fleet("abcdef", rails=" rail=eth0,eth1", dark=[f"{name} eth1" for name in "abcdef"])
    assert reported.code == 10 and named(reported) == [("rail", "eth1")], reported
    assert "no host can connect to any other" in reported.out and reported.record["hand_over"]["bad_nodes"] == "", reported
    # The other rail is measured as if there were no second one.
    assert states(reported) == dict.fromkeys("abcdef", "accepted"), reported
    assert len(pairs_over(reported, 0)) == 15 and pairs_over(reported, 1) == set(), reported


def test_bad_nodes_stay_bad_until_retested(fleet, headrace):
    """Two bad ones; one is repaired and passes its retest. What the verdict says of the other is what JUnit says."""
    first = fleet("abcdef", rates={"b": 5e8}, dark=["c"])
    assert first.code == 10 and named(first) == [("node", "b"), ("node", "c")], first
    reported = fleet("abcdef", "--retest", "b", dark=["c"])
    assert states(reported)["b"] == "retested" and states(reported)["c"] == "confirmed", reported
    for node, words in (("b", "PASS: b passed its retest"), ("c", "FAIL: c is bad")):
        assert words in headrace("verdict", "cluster", "--node", node).out, node
    met = [pair["nodes"] for one in reported.record["sessions"][1]["rounds"] for pair in one["pairs"]]
    assert len(met) >= 4 and all(1 in pair and 2 not in pair for pair in met), met  # it takes four rates to accuse one, too
    assert reported.code == 10 and "bad before, and not cleared since: c" in reported.record["sentence"], reported
    junit = ElementTree.parse(headrace.path("cluster/junit.xml")).getroot()
    assert [case.get("name") for case in junit.iter("testcase") if case.find("failure") is not None] == ["c"], reported
    assert headrace.path("cluster/bringup.prom").read_text().endswith("headrace_bringup_exit_code 10\n")


def test_retest_keeps_missing_nodes_and_drain_reasons(fleet, headrace):
    """A retest does not ask all nodes; a reprint of the result has the same commands."""
    first = fleet("abcdefgh", rates={"b": 5e8}, gone=["h"])
    assert first.code == 10 and "nodename=b state=drain reason='headrace: rate'" in first.out, first
    again = headrace("bringup", "--out", "cluster")
    assert "nodename=b state=drain reason='headrace: rate'" in again.out and "✘ node b " in again.out, again
    retested = fleet("abcdefgh", "--retest", "b", rates={"b": 5e8}, gone=["h"])
    assert "missing: h" in retested.out and " missing=1 " in retested.out and "undecided" not in retested.out, retested


def facts_of(name, **facts):
    return {"facts": {"host": name, "machine": name, "facts": facts, "paths": [{"path": "/data", "there": True, "type": "nfs4", "source": "store:/x"}]}}


def test_one_that_flaps_stays_out(fleet, headrace):
    """Twice bad after it passed: three passes in a row are wanted. Who was bad at first and then passes does not flap."""
    assert fleet("abcdef", rates={"f": 5e8}).code == 10
    repaired = fleet("abcdef", "--retest", "f")
    assert repaired.code == 0 and states(repaired)["f"] == "retested", repaired
    slow = {"rates": {"b": 5e8}}
    assert states(fleet("abcdef", "--retest", "b", **slow))["b"] == "confirmed"
    reported = fleet("abcdef", "--retest", "b")
    assert reported.code == 10 and states(reported)["b"] == "flapping" and named(reported) == [("node", "b")], reported
    assert "drain    scontrol update nodename=b state=drain reason='headrace: flapping'" in reported.out and "resume   scontrol update nodename=b" not in reported.out, reported
    other = fleet("abcdef", "--retest", "c")  # nobody looked at b again: it does not measure, and is bad still
    assert other.code == 10 and "bad before, and not cleared since: b" in other.record["sentence"], other
    assert all(1 not in pair["nodes"] for one in other.record["sessions"][-1]["rounds"] for pair in one["pairs"]), other
    junit = ElementTree.parse(headrace.path("cluster/junit.xml")).getroot()
    assert [case.get("name") for case in junit.iter("testcase") if case.find("failure") is not None] == ["b"], other
    assert states(fleet("abcdef", "--retest", "b", **slow))["b"] == "confirmed"
    for state, more in (("flapping", "2 more passes"), ("flapping", "1 more pass in")):
        reported = fleet("abcdef", "--retest", "b")
        assert states(reported)["b"] == state and more in reported.record["faults"][0]["fix"], reported
    reported = fleet("abcdef", "--retest", "b")
    assert reported.code == 0 and states(reported)["b"] == "retested", reported


def test_repaired_node_is_compared_with_accepted_ones(fleet):
    """One accepted node is there to pair it with: what the others reported when they were accepted says what is usual."""
    usual = {name: facts_of(name, **{"memory.total": "503 GiB"}) for name in "abcdef"}
    first = fleet("abcdef", rates={"b": 5e8}, answers=usual)
    assert first.code == 10 and named(first) == [("node", "b")], first
    less = usual | {"b": facts_of("b", **{"memory.total": "440 GiB"})}
    reported = fleet("abcdef", "--retest", "b", gone=list("cdef"), answers=less)
    assert reported.code == 10 and named(reported) == [("node", "b")] and "memory.total: 440 GiB; the others: 503 GiB" in reported.record["faults"][0]["told"], reported
    assert states(reported)["b"] == "confirmed" and states(reported)["a"] == "accepted", reported
    changed = less | {"a": facts_of("a", **{"memory.total": "440 GiB"})}  # so is the one that is there: no fault of the repaired one
    reported = fleet("abcdef", "--retest", "b", gone=list("cdef"), answers=changed)
    assert named(reported) == [] and states(reported)["b"] == "retested", reported
    reported = fleet("abcdef", "--retest", "b", gone=list("cdef"), answers=usual)
    assert named(reported) == [] and states(reported)["b"] == "retested", reported


@pytest.mark.parametrize("answers", [
    {"hello": {"agent": 1, "version": 3}}, {"hello": {"agent": "1", "version": "0"}}, {"hello": []},
    {"facts": {"host": 1}}, {"open": {"door": 3}}, {"open": {}}, {"open": {"error": {"a": 1}}},
    {"call": {"received": -1, "segments": 1, "retransmitted": 0}, "answer": {"received": "fast"}},
    {"call": {"received": 1e300, "segments": 1, "retransmitted": 0}, "answer": {"received": 1e300, "segments": 1, "retransmitted": 0}},
], ids=str)
def test_one_that_talks_nonsense_costs_itself_alone(fleet, answers):
    reported = fleet("abcdef", answers={"c": answers})
    assert reported.code in (10, 11, 12), reported
    assert states(reported) == dict.fromkeys("abdef", "accepted") | {"c": states(reported)["c"]}, reported
    assert states(reported)["c"] != "accepted" or "open" in answers, reported  # who cannot be called may still call


def test_invalid_clock_decides_nothing(fleet):
    reported = fleet("abcdef", answers={"c": {"clock": {"now_s": "noon"}}})
    assert reported.code == 0 and set(states(reported).values()) == {"accepted"}, reported


def test_ctrl_c_keeps_states(fleet, headrace):
    """Whoever was asked nothing yet is what it was before."""
    first = fleet("abcdef", rates={"b": 5e8})
    assert first.code == 10, first
    headrace.write("fleet.json", '{"hang": true}')
    process = headrace.start("--progress", "json", "bringup", "--pairs-only", "--no-report", "--out", "cluster", "--launch", "echo >>began;" + fleet.launch(), "--resume")
    while not headrace.path("began").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, (out, err)
    after = {node["name"]: node["state"] for node in headrace.results("bringup.json", "cluster")["nodes"]}
    assert after == states(first) and "missing=0" in out, (out, err)


def test_foreign_folder_runs_nothing(fleet, headrace):
    """What goes on with a bring-up runs the launcher that is given now; names in its file are no options and no commands."""
    assert fleet("abcdef").code == 0
    file, good = headrace.path("cluster/bringup.json"), headrace.path("cluster/bringup.json").read_text()
    for name in ("-oProxyCommand=touch ran", "a;touch ran;", "$(touch ran)", "b"):
        file.write_text(good.replace('"name": "a"', f'"name": "{name}"'))
        reported = headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--resume", "--drain", "kubernetes")
        assert reported.code == 2 and re.search(r"cluster/bringup.json:\d+:\d+: nodes\[", reported.err) and not headrace.path("ran").exists(), reported
    file.write_text(good)
    headrace.write("hosts", "".join(f"{name} rail=e0,e1\n" for name in "abcdef"))
    reported = headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--resume", "--hosts", "hosts", "--launch", fleet.launch())
    assert reported.code == 2 and "a has 2 rails, but the bring-up in this folder has 0" in reported.err, reported
    assert headrace("clean", "cluster").code == 2 and file.exists()
    assert headrace("clean", "--yes", "cluster").code == 0 and not headrace.path("cluster").exists()


def test_dead_hosts_delay_no_other(headrace):
    """Launchers that wait for dead hosts, more of them than start at once: each ends when the last has begun."""
    names = [f"n{number:03}" for number in range(56)]
    headrace.write("hosts", "".join(f"{name}\n" for name in names))
    headrace.path("began").mkdir()
    wait = "touch began/{host}; while [ $(ls began | wc -l) -lt 56 ]; do sleep 0.5; done; exit 255;"
    reported = headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--launch", wait, "--hosts", "hosts", "--start-timeout", "10min")
    missing = {node["name"]: node["missing"]["why"] for node in headrace.results("bringup.json", "cluster")["nodes"]}
    assert reported.code == 1 and missing == dict.fromkeys(names, "cannot be reached"), reported


@pytest.mark.parametrize("old, new, said", [
    ('"state": "accepted"', '"state": "accptd"', r'bringup.json:\d+:\d+: nodes\[0\].state: \'accptd\' is no state .*one of new, .*did you mean \'accepted\''),
    ('"streams": 4', '"streams": 400', r"bringup.json:\d+:\d+: streams: must be from 1 to 256"),
    ('"streams": 4', '"streams": 5', "bringup.json: is not as headrace wrote it, and stays as it is"),
    ('"sessions": [', '"sessions": [[', r"bringup.json:\d+:\d+: "),
    ("", None, r"bringup.json: the file is empty"),
])
@pytest.mark.parametrize("how", [["--resume"], ["--retest", "b"], ["--resume", "--dry-run"]], ids=str)
def test_edited_record_is_refused_before_the_run(fleet, headrace, old, new, said, how):
    assert fleet("abcdef").code == 0
    file = headrace.path("cluster/bringup.json")
    text = "" if new is None else file.read_text().replace(old, new, 1)
    file.write_text(text)
    reported = headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--launch", "touch ran;" + fleet.launch(), *how)
    assert reported.code == 2 and re.search("cluster/" + said, reported.err), reported
    assert not headrace.path("ran").exists() and file.read_text() == text, reported


def test_a_continued_bring_up_keeps_its_options(fleet, headrace):
    assert fleet("abcdef", "--hosts", "hosts", "--seed", "3").code == 0  # with --pairs-only and --time 10ms
    before = headrace.path("cluster/bringup.json").read_text()
    words = ("bringup", "--no-report", "--out", "cluster", "--launch", fleet.launch())
    for how in (["--resume"], ["--retest", "b"]):
        for option, value, began in (("--time", "1s", "0.01s"), ("--streams", "8", "4"), ("--seed", "1", "3"), ("--most-rounds", "7", "20")):
            for given in ([option, value], [f"{option}={value}"]):
                refused = headrace(*words, *how, *given)
                assert refused.code == 2 and f"{option}: this bring-up began with {option} {began}" in refused.err, refused
    assert headrace.path("cluster/bringup.json").read_text() == before
    again = headrace(*words, "--resume", "--time", "0.01s", "--seed", "3", "--streams", "4", "--most-rounds", "20", "--every-link")
    skipped = headrace.results("bringup.json", "cluster")["skipped"]
    assert again.code == 0 and {"step": "node tests", "why": "--pairs-only"} in skipped, again
    headrace.write("hosts", "A\nb.\nc\nd\ne\nf\n")  # the same six (RFC 4343)
    planned = headrace(*words, "--resume", "--hosts", "hosts", "--dry-run")
    assert planned.code == 0 and re.search(r"^hosts +6$", planned.out, re.MULTILINE), planned


def test_overwriting_is_refused_before_the_run(fleet, headrace):
    assert fleet("abcdef").code == 0
    headrace.path("cluster/junit.xml").write_text("<mine/>")
    reported = headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--launch", "touch ran;" + fleet.launch(), "--resume")
    assert reported.code == 2 and "cluster/junit.xml: is not as headrace wrote it" in reported.err, reported
    assert not headrace.path("ran").exists() and headrace.path("cluster/junit.xml").read_text() == "<mine/>", reported


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
        reported = headrace("bringup", *only, "--no-report", "--out", "copy", "--resume", *words)
        assert reported.code == 2 and headrace.path("copy/bringup.json").read_text() == before and not headrace.path("ran").exists(), reported
        return reported.err
    assert "copy: say --hosts, --launch, --job, --at again: it is a copy" in refused()
    hosts = ("--hosts", "hosts")
    assert "copy: say --job, --at again: it is a copy" in refused(*hosts, *launch)
    assert "copy: say --at again: it is a copy" in refused(*hosts, *launch, *job[:2])
    assert "copy: say --node-tests again: it is a copy" in refused(*hosts, *launch, *job, only=())
    assert "copy: --drain would run commands from it: it is a copy" in refused(*hosts, *launch, *job, "--drain", "slurm")
    headrace.write("few", "a\nb\nc\nd\ne\n")
    assert "copy: f is in it, and not in few: it is a copy" in refused("--hosts", "few", *launch, *job)
    assert headrace("bringup", "--no-report", "--pairs-only", "--out", "copy", "--resume", *hosts, *launch, *job).code == 0
    assert headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--resume").code == 0
    headrace.path("cluster").rename(headrace.path("moved"))
    assert headrace("bringup", "--no-report", "--pairs-only", "--out", "moved", "--resume").code == 0


@pytest.mark.parametrize("time", ["2h", "1us"])
def test_times_of_pairs_that_no_agent_takes(fleet, headrace, time):
    reported = fleet("abcdef", "--hosts", "hosts", "--time", time)
    assert reported.code == 2 and f"--time: '{time}' must be from 1ms to 1h" in reported.err and not headrace.path("cluster").exists(), reported


def test_a_user_is_the_launchers_alone(fleet, headrace):
    """Agents start as user@host; whatever goes to schedulers, and what is asked of hosts by name, has the host alone."""
    headrace.write("fleet.json", json.dumps({"rates": {"node2": 5e8}}))
    headrace.path("hosts").write_bytes("\ufeff".encode() + b"".join(b"root@node%d\r\n" % n for n in range(1, 7)))
    agent = fleet.launch().removesuffix(" {host}")
    launch = f"echo {{host}} >>asked; exec {agent} $(echo {{host}} | cut -d@ -f2)"
    headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--launch", launch, "--time", "10ms", "--hosts", "hosts")
    record = headrace.results("bringup.json", "cluster")
    assert set(headrace.path("asked").read_text().split()) == {f"root@node{n}" for n in range(1, 7)}
    assert record["hand_over"]["bad_nodes"] == "node2" and record["states"]["accepted"] == "node[1,3-6]", record["hand_over"]
    commands = record["hand_over"]["slurm"]["drain"] + record["hand_over"]["kubernetes"]["drain"]
    assert commands == ["scontrol update nodename=node2 state=drain reason='headrace: rate'",
                        "kubectl taint nodes node2 headrace=bad:NoSchedule --overwrite"], commands
    reported = headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--retest", "node2")
    assert reported.code == 10 and "root@node2" in headrace.path("asked").read_text().split()[6:], reported
    reported = headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--retest", "root@node[2]", "--dry-run")
    assert reported.code == 0, reported


def test_a_retest_takes_the_names_that_were_printed(fleet, headrace):
    """Of hosts that are given by address, commands and faults name a host by its own name, if one host alone has it."""
    hosts = [f"10.0.0.{n}" for n in range(1, 7)]
    owns = ["gpu1.cluster", "gpu2.cluster", "twin", "twin", "gpu5", "gpu6"]
    answers = {host: {"facts": facts_of(own)["facts"] | {"paths": [], "machine": host}} for host, own in zip(hosts, owns)}
    assert fleet(hosts, answers=answers).record["nodes"][0]["name"] == "10.0.0.1"

    def retest(name):
        return headrace("bringup", "--pairs-only", "--no-report", "--out", "cluster", "--retest", name, "--dry-run")
    for name in ("10.0.0.1", "gpu1.cluster", "gpu1", "root@gpu5", "gpu[5-6]", "root@10.0.0.2"):
        assert retest(name).code == 0, (name, retest(name))
    assert retest("twin").code == 2 and "--retest: several nodes have the name twin" in retest("twin").err
    assert retest("gpu55").code == 2 and "no node gpu55; did you mean 'gpu5'?" in retest("gpu55").err, retest("gpu55")


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
        reported = headrace("bringup", "--no-report", "--out", out, "--launch", fleet.launch(), "--time", "10ms", "--hosts", "hosts")
        reported.record = headrace.results("bringup.json", out)
        return reported
    twice = brought_up("twice", n11=[0.8, 0.8])
    assert twice.code == 10 and named(twice) == [("group", "n[11-21]")], twice
    reported = twice.record["faults"][0]["told"]
    assert "730 MB/s, and 730 MB/s before, usually 912 MB/s (2 other groups of 11 nodes); its pairs alone: " in reported, reported
    assert "% of the usual rate in the middle" in reported and "collectives again of n[11-21]" in twice.out, twice
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
        reported = headrace("bringup", "--no-report", "--out", "cluster", "--launch", fleet.launch(), "--time", "10ms", "--hosts", "hosts")
        reported.record = headrace.results("bringup.json", "cluster")
        reported.skipped = {one["why"] for one in reported.record["skipped"] if one["step"] == "collectives"}
        return reported
    return run


def test_collectives_that_fail_on_all_nodes_are_a_fault(together):
    reported = together({"a": {"run together": {"error": "TIMEOUT: MPI_Init of rank 0 (a)"}}})
    assert reported.code == 10 and named(reported) == [("group", "a,b,c,d,e,f")], reported
    assert reported.record["faults"][0]["told"] == "collectives: TIMEOUT: MPI_Init of rank 0 (a)" and not reported.skipped, reported


def test_working_one_of_two_collectives_keeps_its_value(together):
    reported = together({}, statuses=("ok", "error", "skipped"))
    assert reported.code == 10 and reported.record["faults"][0]["told"] == "collectives: point1: as made up", reported
    (group,) = reported.record["sessions"][0]["groups"]
    assert [value["point"] for value in group["values"]] == ["point0"] and "point0 " in reported.out, reported
    assert reported.skipped == {"point2: as made up"}, reported


def test_a_node_that_cannot_take_part_in_collectives_is_named(together):
    reported = together({"c": {"place": {"error": "/tmp/x: No space left on device"}}})
    assert reported.code == 10 and named(reported) == [("node", "c")] and states(reported)["c"] == "confirmed", reported
    assert reported.record["faults"][0]["told"] == "cannot take part in collectives: /tmp/x: No space left on device", reported
    assert "accepted=5" in reported.out and "reason='headrace: collectives'" in reported.out, reported


@pytest.mark.parametrize("without, code, faults", [("abcdef", 0, []), ("abc", 0, []), ("c", 10, [("node", "c")])])
def test_collectives_are_skipped_only_where_most_nodes_cannot_start_them(together, without, code, faults):
    no_mpi = "mpi: not built into this installation"
    reported = together({name: {"facts": facts_of(name)["facts"] | {"paths": [], "no_mpi": no_mpi}} for name in without})
    assert reported.code == code and named(reported) == faults, reported
    assert any(why.endswith(": " + no_mpi) for why in reported.skipped) == (code == 0), reported
    assert not any("groups" in one and one["groups"] for one in reported.record["sessions"]) or code == 10, reported


def test_a_door_that_is_too_long_costs_its_host_alone(fleet):
    """It would go on to whoever calls: all the others are measured."""
    reported = fleet("abcdef", answers={"c": {"open": {"door": "x" * 70_000}}})
    assert states(reported) == dict.fromkeys("abdef", "accepted") | {"c": states(reported)["c"]}, reported
    assert "missing=0" in reported.out and states(reported)["c"] != "accepted", reported


def test_states_stay_where_no_node_answers(fleet):
    """As from a shell whose launcher does not work: what was measured before is not lost."""
    first = fleet("abcdef", rates={"b": 5e8})
    assert first.code == 10, first
    reported = fleet("abcdef", "--resume", gone=list("abcdef"))
    assert states(reported) == states(first) and "No node answered: nothing was measured" in reported.out, reported
    assert "state=down" not in reported.out and "rdma=none" not in reported.out, reported
    rdma = [one["why"] for one in reported.record["skipped"] if one["step"] == "pairs by RDMA"]
    assert rdma == ["no host said which ports it has"], rdma
    again = fleet("abcdef", "--resume")
    assert {name for name, state in states(again).items() if state == "accepted"} == set("acdef"), again


def test_half_of_the_nodes_slow_is_no_pass(fleet):
    """The usual rate is that of the slow ones: none is accepted, and no more rounds are advised."""
    reported = fleet("abcd", rates={"c": 3e8, "d": 3e8})
    assert reported.code == 11 and "a to b is 3.3 times the usual rate" in reported.out and "PASS" not in reported.out, reported
    assert set(states(reported).values()) == {"suspect"} and "Next: headrace doctor --expect" in reported.out, reported
    assert "next     headrace bringup --out cluster --hosts hosts --resume" in reported.out, reported


def test_two_hosts_have_a_rate_and_no_more_rounds(fleet):
    reported = fleet("ab")
    assert reported.code == 11 and "Next: headrace bringup --out cluster --hosts hosts --resume\n" in reported.out, reported
    assert re.search(r"^[0-9]+ pairs? tested in [0-9]+ rounds?, .*, [\d.]+ [kMG]B/s\. Details", reported.out, re.MULTILINE), reported


def test_a_slow_link_between_healthy_nodes_is_the_headline(fleet, headrace):
    record = fleet("abcdef").record
    fault = {"scope": "link", "subject": "b to d", "told": "0.5 GB/s", "fix": "look at its routes", "in": ["rate"], "loss": 0.5, "healthy": 0.0}
    headrace.write("cluster/bringup.json", json.dumps(record | {"word": "FAIL", "faults": [fault]}))
    shown = headrace("bringup", "--out", "cluster").out
    assert "FAIL: the link b to d is slow; all 6 nodes are healthy." in shown and "Next: look at its routes" in shown, shown


def test_a_typo_in_the_hosts_file_drains_no_node(fleet, headrace):
    lost = fleet("abcdef", answers={"c": {"open": {"error": "interface e9 is not there"}}})  # as the others: no typo
    assert lost.code == 10 and "Next: scontrol update nodename=c state=drain" in lost.out, lost
    shutil.rmtree(headrace.path("cluster"))
    reported = fleet("abcdef", rails={**dict.fromkeys("abdef", " rail=e0"), "c": " rail=e9"}, answers={"c": {"open": {"error": "interface e9 is not there"}}})
    assert reported.code == 10 and "scontrol" not in reported.out and "kubectl" not in reported.out, reported
    assert "Next: headrace bringup --out cluster --hosts hosts --retest c\n" in reported.out, reported


def test_a_dead_node_is_in_the_headline_and_in_the_commands(fleet, headrace):
    reported = fleet("abcdef", gone=["f"])
    assert reported.code == 12 and "accepted=5" in reported.out and "suspect=0 new=0 missing=1" in reported.out, reported
    assert "missing: f" in reported.record["sentence"] and reported.record["hand_over"]["bad_nodes"] == "f", reported
    assert "drain    scontrol update nodename=f state=down reason='headrace: unreachable'" in reported.out, reported
    file = headrace.path("cluster/bringup.json")
    file.write_text(file.read_text().replace('"missing": {', '"missing": {}, "was": {', 1))
    for words in (["bringup", "--out", "cluster"], ["verdict", "cluster", "--node", "a"]):
        shown = headrace(*words)
        assert shown.code == 2 and re.search(r"bringup.json:\d+:\d+: nodes\[5\].missing.why: missing", shown.err), shown


def scheduler(headrace, script):
    headrace.path("bin").mkdir(exist_ok=True)
    headrace.write("bin/scontrol", f"#!/bin/sh\n{script}\n")
    headrace.path("bin/scontrol").chmod(0o755)
    return {"PATH": f"{headrace.path('bin')}:{os.environ['PATH']}"}


def test_one_that_was_taken_out_is_let_in_again(fleet, headrace):
    """Also where it was no retest that found it well: else nobody would see that it is out."""
    headrace.write("hosts", "".join(f"{name}\n" for name in "abcdef"))
    headrace.write("fleet.json", '{"dark": ["c"]}')
    first = headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--launch", fleet.launch(), "--time", "10ms", "--hosts", "hosts", "--drain", "slurm",
                     **scheduler(headrace, "true"))
    assert first.code == 10 and headrace.results("bringup.json", "cluster")["nodes"][2]["state"] == "drained", first
    reported = fleet("abcdef", "--resume")
    assert reported.code == 0 and states(reported)["c"] == "retested", reported
    assert "resume   scontrol update nodename=c state=resume  # if it was drained" in reported.out, reported


def test_a_scheduler_that_does_not_do_as_it_is_reported(fleet, headrace):
    """A node that passed its retest is still out: that is no success."""
    assert fleet("abcdef", rates={"b": 5e8}).code == 10

    def retested(script):
        return headrace("bringup", "--no-report", "--pairs-only", "--out", "cluster", "--launch", fleet.launch(), "--retest", "b", "--drain", "slurm",
                        **scheduler(headrace, script))

    assert retested("true").code == 10 and headrace.results("bringup.json", "cluster")["nodes"][1]["taken_out"]
    headrace.write("fleet.json", "{}")
    reported = retested("echo no such node; exit 1")
    kept = headrace.results("bringup.json", "cluster")
    assert "no such node" in reported.err and "no such node" not in reported.out, reported
    assert reported.code == 1 and "this failed: scontrol update nodename=b state=resume" in reported.err, reported
    assert kept["word"] == "ERROR" and kept["exit_code"] == 1 and kept["nodes"][1]["state"] == "retested", kept
