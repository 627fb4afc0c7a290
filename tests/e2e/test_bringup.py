"""headrace bringup on hosts in network namespaces: each fault is named and nobody else, who is dead costs nobody else anything,
and what was measured is whatever happens."""

import csv
import os
import pathlib
import re
import shutil
import signal
import subprocess
from xml.etree import ElementTree

import pytest

from transcripts import DOCS, missing, transcripts

from bringup_hosts import (QUICK, SHARED_JOB, TOOLS, assert_no_accusation, held_up, hosts, leader_of, named,  # noqa: F401
                           processes_of, states, wait_for)


def test_no_accusation_among_equal_nodes(hosts):
    done = hosts(8)
    assert_no_accusation(done)
    assert done.returncode == 11 or "VERDICT PASS nodes=8 accepted=8" in done.stdout, done
    met = {tuple(pair["nodes"]) for rounds in done.record["sessions"][0]["rounds"] for pair in rounds["pairs"]}
    assert len(met) == 28, met  # that few hosts: every way between two was measured


def worse(node, **how):
    options = " ".join(f"--{key} {value}" for key, value in how.items())
    return f'"{TOOLS}/worse-cable" {node} {options} >up & until grep -q up up; do sleep 0.1; done'


@pytest.mark.parametrize("fault, scope, subject, net, before, quality", [
    ("a host 12 % slow", "node", "node3", ["--slow", "node3:35mbit"], "", "rate"),
    ("a way half as fast", "link", "node2 to node5", ["--slow", "node2-node5:20mbit"], "", "rate"),
    ("20 ms more", "node", "node3", [], worse("node3", delay=0.01), "latency"),
    ("a hundredth lost", "node", "node3", [], worse("node3", loss=0.01), "resent"),
])
def test_only_the_fault_is_named(hosts, fault, scope, subject, net, before, quality):
    done = hosts(8, net=["--rate", "40mbit", *net], before=before)
    seen_as = states(done)
    held, suspects = held_up(done, subject), {name for name, state in seen_as.items() if state == "suspect"}
    # A machine that stops for a moment may leave those undecided whose pairs it held up.
    assert len(suspects - held - set(subject.split(" to "))) <= 1, (fault, seen_as, held)
    if not named(done) and held:
        assert done.returncode == 11 and suspects & set(subject.split(" to ")), (fault, seen_as, held, done)
        pytest.skip(f"this machine stopped meanwhile: {subject} is undecided")
    assert done.returncode == 10 and f"{'' if scope == 'node' else scope + ' '}{subject}: " in done.stdout, (fault, done)
    assert named(done) == [(scope, subject)] and quality in done.record["faults"][0]["in"], (fault, done.record["faults"])
    bad = {subject} if scope == "node" else set()
    assert {name for name, state in seen_as.items() if state not in ("accepted", "suspect")} == bad, (fault, seen_as)
    if done.record["faults"][0]["in"] == ["rate"] and bad and not suspects:
        (_, shown), = [one for one in transcripts((DOCS / "tutorial/read-the-answers.md").read_text()) if one[0][1] == "bringup"]
        assert not (gone := missing(shown, done.stdout)), (gone, done.stdout)


@pytest.mark.long
def test_drain_commands_and_reports(hosts, headrace):
    """The commands that are reported are taken by a scheduler, run only with --drain, and never for many nodes."""
    headrace.path("bin").mkdir()
    headrace.path("bin/scontrol").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{headrace.path("ran")}\n')
    headrace.path("bin/scontrol").chmod(0o755)
    path = f'PATH={headrace.path("bin")}:$PATH; export PATH'
    slow = ["--rate", "40mbit", "--slow", "node2:20mbit"]
    done = hosts(5, net=slow, before=path)
    command = "scontrol update nodename=node2 state=drain reason='headrace: rate'"
    assert done.returncode == 10 and command in done.stdout and not headrace.path("ran").exists(), done
    if not pathlib.Path("/sys/class/infiniband").exists():  # tests/rdma has a machine where pairs are measured so, too
        [without] = [one["why"] for one in done.record["skipped"] if one["step"] == "pairs by RDMA"]
        assert without and done.record["sessions"][0]["rdma_rails"] == [], done.record["skipped"]
    assert done.record["hand_over"]["bad_nodes"] == "node2" and command in done.record["hand_over"]["slurm"]["drain"], done
    junit = ElementTree.parse(headrace.path("cluster/junit.xml")).getroot()
    assert [case.get("name") for case in junit.iter("testcase") if case.find("failure") is not None] == ["node2"], done
    prometheus = headrace.path("cluster/bringup.prom").read_text()
    assert 'headrace_bringup_node{node="node2",state="confirmed",missing="no"} 1' in prometheus, prometheus
    assert 'headrace_bringup_fault{scope="node",subject="node2"} 0.' in prometheus, prometheus
    drained = hosts(5, "--retest", "node2", "--drain", "slurm", net=slow, before=path)
    assert drained.returncode == 10 and states(drained)["node2"] == "drained", drained
    assert headrace.path("ran").read_text() == "update\nnodename=node2\nstate=drain\nreason=headrace: rate\n", drained
    headrace.path("ran").unlink()
    back = hosts(5, "--retest", "node2", "--drain", "slurm", before=path)
    assert back.returncode == 0 and headrace.path("ran").read_text() == "update\nnodename=node2\nstate=resume\n", back
    assert states(back)["node2"] == "accepted", back
    headrace.path("ran").unlink()
    other = hosts(5, "--retest", "node3", "--drain", "slurm", before=path)  # somebody else may have drained it
    assert other.returncode == 0 and states(other)["node3"] == "retested" and not headrace.path("ran").exists(), other
    assert "node3 passed" in other.stderr and "scontrol update nodename=node3 state=resume" in other.stderr, other


def seen(page):
    """What people see of it, without its own data."""
    return " ".join(re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", page.read_text(), flags=re.S).replace("\u00a0", " ").split())


@pytest.mark.long
def test_every_output_reports_the_same(hosts, headrace):
    """A bad node, a bad way and a dead host: in the verdict line, the exit code, JUnit, Prometheus, CSV and on the page."""
    done = hosts(8, net=["--rate", "40mbit", "--slow", "node3:20mbit", "--slow", "node2-node5:20mbit", "--down", "node8"], page=True)
    assert done.returncode == 10 and named(done) == [("node", "node3"), ("link", "node2 to node5")], done
    assert "VERDICT FAIL nodes=8 accepted=6 retested=0 confirmed=1 drained=0 flapping=0 suspect=0 new=0 missing=1 faults=2" in done.stdout.splitlines()[-1], done
    assert "bad: node3, link node2 to node5; missing: node8" in done.record["sentence"], done
    assert "scontrol update nodename=node8 state=down reason='headrace: unreachable'" in done.record["hand_over"]["slurm"]["drain"], done
    assert done.record["hand_over"]["bad_nodes"] == "node[3,8]" and done.record["states"]["missing"] == "node8", done.record["hand_over"]
    assert "suspect" not in done.record["states"], done.record["states"]
    cases = {case.get("name"): [child.tag for child in case] for case in ElementTree.parse(headrace.path("cluster/junit.xml")).getroot().iter("testcase")}
    assert {name for name, tags in cases.items() if "failure" in tags} == {"node3", "node2 to node5"}, cases
    assert cases["node8"] == ["error"] and len(cases) == 9, cases
    prometheus = headrace.path("cluster/bringup.prom").read_text()
    assert set(re.findall(r'bringup_fault\{scope="(\w+)",subject="([^"]+)"', prometheus)) == {("node", "node3"), ("link", "node2 to node5")}
    assert "headrace_bringup_exit_code 10" in prometheus and 'node="node8",state="suspect",missing="yes"' in prometheus, prometheus
    rows = list(csv.DictReader(headrace.path("cluster/bringup.csv").open()))
    assert [(row["scope"], row["subject"]) for row in rows if row["in"]] == [("node", "node3"), ("link", "node2 to node5")], rows
    assert {row["subject"]: row["state"] for row in rows if row["scope"] == "node"} == states(done)
    assert "missing: " in rows[7]["told"] and rows[8]["state"] == "bad", rows
    page = headrace.path("cluster/report.html")
    if not page.exists():
        pytest.skip("no page was drawn: " + done.stdout)
    text = seen(page)
    for words in ("\u2718 FAIL Bad: node3, link node2 to node5; missing: node8.", "node3 node rate", "node2 to node5 link rate", "7 of 8 nodes took part",
                  "scontrol update nodename=node3 state=drain", "headrace bringup --out cluster", "--resume", "missing node8", "no route to host",
                  "7 of 8 1 met no partner", "exit code 10", "accepted node[1-2,4-7]"):
        assert words in text, (words, text[:6000])
    again = headrace.path("again.html")
    headrace.under = []
    assert headrace("report", "cluster", "-o", "again.html").code == 0 and again.read_text() == page.read_text()
    drains = re.findall(r"^drain .*$", headrace("bringup", "--out", "cluster").out, re.MULTILINE)  # the result, shown again
    assert drains == re.findall(r"^drain .*$", done.stdout, re.MULTILINE) and "reason='headrace: rate'" in drains[0], drains


def test_page_exists_during_the_run(hosts, headrace):
    """From the first round on, and it says that more will come; killed, that page stays."""
    process = hosts.start(6, page=True)
    wait_for(process, "measured")
    reported = headrace.results("bringup.json", "cluster")
    assert reported["running"] and reported["next"] == [], reported
    page = headrace.path("cluster/report.html")
    if page.exists():
        text = seen(page)  # a later round may have ended meanwhile
        assert re.search(r"still going on after round \d", text) and "Wait: it still goes on" in text, text
    for pid in processes_of(headrace, 1):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=120)
    if headrace.results("bringup.json", "cluster")["running"]:
        for words in (["bringup", "--out", "cluster"], ["verdict", "cluster"]):
            killed = headrace(*words)
            assert killed.code in (11, 12) and "or was killed" in killed.out, killed
    done = hosts(6, "--resume", page=True)
    assert_no_accusation(done)
    assert not done.record["running"], done
    if page.exists() and done.returncode == 0:
        assert "\u2714 PASS" in seen(page) and "Nothing: all nodes are accepted." in seen(page), seen(page)


def test_a_real_slurm_takes_the_command(headrace):
    tool = pathlib.Path(__file__).parents[1] / "slurm" / "with-slurm"
    command = "scontrol update nodename=node1 state=drain reason='headrace: rate, resent'"
    done = subprocess.run([tool, "-t", "60", "--", "sh", "-c", command + " && sinfo -h -R -o '%n %E'"], capture_output=True, text=True)
    if done.returncode == 125:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0 and "node1 headrace: rate, resent" in done.stdout, done


@pytest.mark.long
def test_the_nic_of_one_rail(hosts):
    done = hosts(6, net=["--rails", "2", "--rate", "40mbit", "--slow", "node3/eth1:20mbit"], 
                 lines=[f"node{n} slots=8 rail=eth0,eth1" for n in range(1, 7)])
    assert done.returncode == 10 and named(done) == [("NIC", "node3 eth1")], done


@pytest.mark.long
def test_slow_uplink_of_a_switch(hosts):
    """Three switches of three hosts; what leaves the first one is slow."""
    slow = [word for a in (1, 2, 3) for b in range(4, 10) for word in ("--slow", f"node{a}-node{b}:20mbit")]
    done = hosts(9, net=["--rate", "40mbit", *slow], lines=[f"node{n} rack=r1 switch=s{(n - 1) // 3}" for n in range(1, 10)])
    assert done.returncode == 10 and named(done) == [("switch", "s0")], done


def test_hosts_that_are_unlike_the_others(hosts, headrace):
    """Two dead ones, and one each with less memory, without the mount, with another clock, and twice in the file."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", headrace.path("clock.so"), TOOLS / "shifted_clock.c", "-ldl"], check=True)
    info = pathlib.Path("/proc/meminfo").read_text().splitlines()
    headrace.write("meminfo", "\n".join([f"MemTotal: {int(info[0].split()[1]) // 2} kB", *info[1:]]) + "\n")
    headrace.path("shared/data").mkdir(parents=True)
    headrace.write("job.yaml", SHARED_JOB % headrace.path("shared/data"))
    wrapper = headrace.path("reach")
    wrapper.write_text(f"""#!/bin/sh
host=$1; shift
case $host in
  twice) host=node1 ;;
  node2) set -- "mount --bind {headrace.path('meminfo')} /proc/meminfo && exec $*" ;;
  node3) set -- "mount -t tmpfs none {headrace.path('shared')} && exec $*" ;;
  node4) set -- "LD_PRELOAD={headrace.path('clock.so')} HOST_CLOCK_S=-3 exec $*" ;;
esac
exec {TOOLS}/on-host "$host" "$@"
""")
    wrapper.chmod(0o755)
    done = hosts(9, "--job", "job.yaml", "--start-timeout", "20s", net=["--rate", "40mbit", "--down", "node8", "--hang", "node9"],
                 launch=["--launch", f"{wrapper} {{host}}"], lines=[f"node{n}" for n in range(1, 10)] + ["twice"])
    assert done.returncode == 10, done
    reported = {one["subject"]: one["told"] for one in done.record["faults"]}
    assert set(reported) == {"node2", "node3", "node4"}, done
    assert "memory.total" in reported["node2"] and "path" in reported["node3"] and "not there" in reported["node3"], reported
    behind = re.search(r"clock: ([0-9.]+) s behind the others'", reported["node4"])
    assert behind and float(behind[1]) == pytest.approx(3, abs=1), reported  # a busy machine asks for no exact time
    missing = {node["name"]: node["missing"] for node in done.record["nodes"] if "missing" in node}
    assert set(missing) == {"node8", "node9", "twice"} and all(one["fix"] for one in missing.values()), missing
    assert "no route to host" in missing["node8"]["why"] and "no word from it within 20 s" in missing["node9"]["why"], missing
    assert "the same machine as node1" in missing["twice"]["why"] and "remove node1 or twice from" in missing["twice"]["fix"], missing
    accepted = {name for name, state in states(done).items() if state == "accepted"}
    sound = {"node1", "node5", "node6", "node7"}
    assert accepted <= sound and sound - accepted <= held_up(done), (states(done), done)


def test_two_dead_at_the_start_cost_only_themselves(hosts):
    done = hosts(6, net=["--rate", "40mbit", "--down", "node2", "--down", "node6"])
    assert_no_accusation(done, "node2", "node6")
    assert done.returncode == 11 or "VERDICT INCOMPLETE nodes=6 accepted=4" in done.stdout and "missing=2" in done.stdout, done


def test_three_nodes_have_no_baseline(hosts):
    done = hosts(3, net=["--rate", "40mbit", "--slow", "node3:20mbit"])
    assert done.returncode == 11 and named(done) == [] and "there is no baseline" in done.record["sentence"], done
    assert "accepted" not in states(done).values(), done


def test_a_host_that_most_addresses_do_not_lead_to(hosts):
    """A dozen of its addresses lead into the void, and are tried first: together they cost the time of one, or who is called
    would have given up."""
    others = ("for n in 1 2; do at='ip netns exec '$NET_HOSTS_ID-$n' ip'; $at addr flush dev eth0; for k in 1 2 3 4 5 6 7 8 9 10 11 12; do "
              "$at addr add 10.99.$n.$k/32 dev eth0; done; $at addr add 10.78.0.$n/24 dev eth0; "
              "$at route add 10.99.0.0/16 via 10.78.0.250 dev eth0; done")
    done = hosts(2, before=others)
    rounds = done.record["sessions"][0]["rounds"]
    assert sum(len(one["pairs"]) for one in rounds) >= 1 and not any(one["failed"] for one in rounds), rounds


def test_mpirun_as_the_launcher(hosts):
    if not shutil.which("mpirun"):
        pytest.skip("needs mpirun (Debian: openmpi-bin)")
    done = hosts(5, net=["--rate", "40mbit", "--down", "node3"], launch=["--launch", "mpirun -n 1 --host {host}"])
    assert done.returncode in (10, 11, 12), done  # many mpiruns on one machine: rates are not what is looked at here
    met = {tuple(pair["nodes"]) for rounds in done.record["sessions"][0]["rounds"] for pair in rounds["pairs"]}
    assert {node for pair in met for node in pair} == {0, 1, 3, 4}, met
    (why,) = [node["missing"]["why"] for node in done.record["nodes"] if "missing" in node]
    assert any(letter.isalpha() for letter in why.split(":", 1)[1]), why  # mpirun draws a frame around what it says


def test_host_killed_and_restarted(hosts, headrace):
    process = hosts.start(5)
    wait_for(process, "measured")
    for pid in processes_of(headrace, 4):
        os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    killed = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    killed.record = headrace.results("bringup.json", "cluster")
    assert_no_accusation(killed, "node4")
    assert "node4 missing" in out, (out, err)
    done = hosts(5, "--resume")
    assert_no_accusation(done)
    assert len(done.record["sessions"]) == 2, done


def test_an_interrupted_one_goes_on(hosts, headrace):
    process = hosts.start(6)
    wait_for(process, "measured", 2)
    os.kill(leader_of(headrace), signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "VERDICT INTERRUPTED" in out and "--resume" in out, (out, err)
    before = headrace.results("bringup.json", "cluster")
    kept = [pair for one in before["sessions"][0]["rounds"] for pair in one["pairs"]]
    assert len(kept) >= 6 and before["word"] == "INTERRUPTED", before
    refused = hosts(6)
    assert refused.returncode == 2 and "--resume goes on with it" in refused.stderr, refused
    done = hosts(6, "--resume")
    assert_no_accusation(done)
    assert [pair for one in done.record["sessions"][0]["rounds"] for pair in one["pairs"]] == kept


@pytest.mark.long
def test_a_repaired_node_is_paired_with_accepted_ones(hosts):
    slow = ["--rate", "40mbit", "--slow", "node3:20mbit"]
    done = hosts(6, net=slow)
    assert done.returncode == 10 and states(done)["node3"] == "confirmed" and "--retest node3" in done.stdout, done
    still = hosts(6, "--retest", "node3", net=slow)
    assert still.returncode == 10 and named(still) == [("node", "node3")] and states(still)["node3"] == "confirmed", still
    repaired = hosts(6, "--retest", "node3")
    assert repaired.returncode == 0 and states(repaired)["node3"] == "retested", repaired
    for one in repaired.record["sessions"][2]["rounds"]:
        assert all(2 in pair["nodes"] for pair in one["pairs"]), one  # nobody else was measured again


@pytest.mark.long
def test_a_node_that_flaps_is_not_accepted_after_one_pass(hosts, headrace):
    """Its link is good in the first session, bad in the second, and good again in the third and fourth."""
    first = hosts(6)
    assert first.returncode == 0 and set(states(first).values()) == {"accepted"}, first
    bad = hosts(6, "--retest", "node3", net=["--rate", "40mbit", "--slow", "node3:20mbit"])
    assert bad.returncode == 10 and states(bad)["node3"] == "confirmed", bad
    third = hosts(6, "--retest", "node3", page=True)
    (fault,) = third.record["faults"]
    assert third.returncode == 10 and states(third)["node3"] == "flapping" and "flapping: node3" in third.record["sentence"], third
    assert re.search(r"passed session 1 .*failed session 2 .*below the usual.*passed session 3", fault["told"]), fault
    assert "1 more pass in a row" in fault["fix"] and "flapping=1" in third.stdout, third
    page = headrace.path("cluster/report.html")
    assert not page.exists() or "flapping node3" in seen(page), seen(page)
    fourth = hosts(6, "--retest", "node3")
    assert fourth.returncode == 0 and states(fourth)["node3"] == "retested" and fourth.record["faults"] == [], fourth


def test_launchers_without_agents(headrace):
    """Another version, one that prints at login, one that ends, one that is not there, one that talks nonsense."""
    headrace.write("hosts", "old\nloud\nends\nabsent\nnonsense\nalso\n")
    agent = f"exec {headrace.binary} bringup --agent"
    headrace.write("start", f"""case $1 in
  old) echo 'headrace-agent {{"agent": 1, "version": "0.0.1"}}'; sleep 60 ;;
  loud) echo 'Welcome!'; {agent} ;;
  ends) echo 'the disk is full' >&2; exit 3 ;;
  absent) exec no-such-headrace ;;
  nonsense) echo 'headrace-agent {{"agent": 1, "version": "'$2'"}}'; while read -r line; do echo 'headrace-agent [1'; done ;;
  also) {agent} ;;
esac
""")
    version = headrace("--version").out.split()[1]
    reported = headrace("bringup", "--hosts", "hosts", "--out", "x", "--launch", "sh start {host}", "--remote", version, *QUICK)
    missing = {node["name"]: node["missing"]["why"] for node in headrace.results("bringup.json", "x")["nodes"] if "missing" in node}
    assert reported.code == 1 and "Fewer than two nodes took part" in reported.out, reported
    assert missing["old"].startswith("has headrace 0.0.1") and "exit code 3: the disk is full" in missing["ends"], missing
    assert missing["absent"].startswith("headrace is not there") and "cannot be read" in missing["nonsense"], missing
    assert "the same machine as loud" in missing["also"] and "loud" not in missing, missing
