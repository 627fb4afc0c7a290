"""headrace bringup on hosts in network namespaces, for the tests of it."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

TOOLS = pathlib.Path(__file__).parents[1] / "net"
LAUNCH = ["--launch", f"{TOOLS}/on-host {{host}}"]
QUICK = ["--time", "300ms", "--streams", "2"]
PAIRS = ["--pairs-only"]

# A job that all nodes load at once from one folder.
SHARED_JOB = """\
schema: 1
job: shared
cluster: {nodes: 8, gpus_per_node: 1}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 64, sample_size: 8KiB, path: "%s"}
loader: {workers_per_gpu: 1}
model: {parameters: 1e7}
"""


@pytest.fixture
def hosts(headrace):
    """Runs a bring-up on that many hosts; `before`: a shell command on node1, with on-host as $NET_HOSTS_RSH."""
    if os.geteuid() != 0 or subprocess.run([TOOLS / "with-net-hosts", "2", "--", "true"], capture_output=True).returncode != 0:
        pytest.skip("network namespaces cannot be made here (root, Debian: iproute2)")

    def start(count, *words, net=("--rate", "40mbit"), before="", lines=None, launch=LAUNCH, only=PAIRS, page=False):
        if "--hosts" not in words and "--resume" not in words and "--retest" not in words:
            headrace.write("hosts", "\n".join(lines or [f"node{n}" for n in range(1, count + 1)]) + "\n")
            words = ("--hosts", "hosts", *words)
        headrace.under = [str(TOOLS / "with-net-hosts"), str(count), *net, "-t", "150", "--", "sh", "-c",
                          f'echo "$NET_HOSTS_ID" >id; {before}\nexec "$@"', "sh"]
        words += () if page else ("--no-report",)
        return headrace.start("--progress", "json", "bringup", "--out", "cluster", *launch, *QUICK, *only, *words)

    def run(*words, **how):
        process = start(*words, **how)
        out, err = process.communicate(timeout=170)
        done = subprocess.CompletedProcess(words, process.returncode, out, err)
        done.record = None
        if done.returncode != 2:
            done.record = headrace.results("bringup.json", "cluster")
            assert done.record["exit_code"] == done.returncode, (done, done.record["word"])
        return done

    run.start = start
    return run


def closed(*numbers, interface="eth0"):
    """A shell command after which these hosts' firewalls drop whatever connection comes in by the interface."""
    if not shutil.which("nft", path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
        pytest.skip("needs nft (Debian: nftables)")
    rules = (f"add table inet f; add chain inet f i {{ type filter hook input priority 0; }}; "
             f"add rule inet f i iifname {interface} tcp flags & (syn|ack) == syn drop")
    return "; ".join(f"ip netns exec $NET_HOSTS_ID-{number} nft '{rules}'" for number in numbers)


def named(done):
    return [(one["scope"], one["subject"]) for one in done.record["faults"]]


def states(done):
    return {node["name"]: node["state"] for node in done.record["nodes"]}


def held_up(done, subject=""):
    """Names of nodes that had a bad pair without `subject` ("node3", "node2 to node5"): a machine that stopped held them up."""
    names = [node["name"] for node in done.record["nodes"]]
    usual = done.record["usual_rate"][0]
    bad = set(subject.split(" to ")) - {""}
    held = set()
    for pair in (pair for session in done.record["sessions"] for one in session["rounds"] for pair in one["pairs"]):
        both = {names[node] for node in pair["nodes"]}
        of_fault = both == bad if len(bad) == 2 else bool(both & bad)
        if not of_fault and (min(pair["rate"]) < 0.9 * usual or max(pair["resent"]) > 0.002 or pair["latency_s"][1] > 0.002):
            held |= both
    held |= {names[node] for session in done.record["sessions"] for one in session["rounds"] for pair in one["failed"] for node in pair["nodes"]}
    return held


def assert_no_accusation(done, *missing):
    """Nobody is named, and nobody is undecided but for who had a bad pair."""
    assert named(done) == [] and {node["name"] for node in done.record["nodes"] if "missing" in node} == set(missing), done
    undecided = {name for name, state in states(done).items() if state not in ("accepted", "retested")} - set(missing)
    assert undecided <= held_up(done), (undecided, done)
    assert done.returncode in ((11, 12) if missing else (11,)) if undecided else done.returncode == (12 if missing else 0), done


def wait_for(process, event, count=1):
    for line in process.stderr:
        if json.loads(line)["event"] == event:
            count -= 1
            if count == 0:
                return
    raise AssertionError(process.communicate())


def processes_of(headrace, number):
    space = headrace.path("id").read_text().strip()
    reported = subprocess.run(["ip", "netns", "pids", f"{space}-{number}"], capture_output=True, text=True, check=True).stdout
    return [int(pid) for pid in reported.split()]


def leader_of(headrace):
    """The process on node1 that is no agent."""
    (leader,) = [pid for pid in processes_of(headrace, 1)
                 if (words := pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"))[0].endswith(b"headrace")
                 and b"bringup" in words and b"--agent" not in words]
    return leader
