"""What nodes of a bring-up measure by themselves and together: a slow one is named and nobody else, and what cannot run says why."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
from xml.etree import ElementTree

import pytest

from bringup_hosts import TOOLS, hosts, leader_of, named, states, wait_for  # noqa: F401

pytestmark = pytest.mark.long

# Short, and no collectives over slow cables: hosts of a test share the processors of this machine.
NODE = """\
schema: 1
name: node
target: {path: scratch}
defaults: {repeat: 3, rest: 0s}
workloads:
  - {use: memory_copy, workers: 1, array_size: 8MiB, passes: 300}
"""
FILES = NODE[:NODE.index("  - ")] + "  - {use: small_file_read, files: 10, file_size: 4KiB, workers: 1, cache: asis}\n"
GROUPS = """\
schema: 1
name: groups
target: {path: scratch}
defaults: {repeat: 1}
workloads:
  - {use: mpi_all_reduce, message_size: 8KiB, calls: 5}
"""


TESTS = ["--node-tests", "node.yaml", "--group-tests", "groups.yaml"]


def launch(headrace, slow="true", all_others="true"):
    """Joins hosts as on-host does; `slow` is run by the shell that becomes node3's agent, the other by those of all others."""
    wrapper = headrace.path("reach")
    wrapper.write_text(f"""#!/bin/sh
host=$1; shift
if [ "$host" = node3 ]; then set -- "{slow}; exec $*"; else set -- "{all_others}; exec $*"; fi
exec {TOOLS}/on-host "$host" "$@"
""")
    wrapper.chmod(0o755)
    return ["--launch", f"{wrapper} {{host}}"]


def opens_take(headrace, ms):
    """A shell command that has its host measure in a folder of its own in which files take so long to open."""
    faulty = pathlib.Path(headrace.binary).parent / "tests/faulty_fs"
    if not faulty.exists() or not os.path.exists("/dev/fuse"):
        pytest.skip("needs FUSE (Debian: libfuse3-dev) and /dev/fuse")
    for name in ("mounts", "backing"):
        headrace.path(name).mkdir(exist_ok=True)
    at, backing = (f"{headrace.path(name)}/\\$(hostname)" for name in ("mounts", "backing"))
    return (f"mkdir {at} {backing}; {faulty} {backing} {at} >/dev/null 2>&1 </dev/null & until [ -e {at}/.faults ]; do sleep 0.1; done; "
            f"echo 'delay f* op=open ms={ms}' >{at}/.faults; export TMPDIR={at}")


@pytest.fixture
def little_time(headrace):
    """A shell command that gives whoever runs it a twentieth of a processor. A host of a test has another /sys, without groups."""
    for root, name, text, kind in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "5000", "-t cgroup -o cpu"),
                                   ("/sys/fs/cgroup", "cpu.max", "5000 100000", "-t cgroup2")):
        group = pathlib.Path(root, f"headrace-{os.getpid()}")
        try:
            if kind == "-t cgroup2":
                (group.parent / "cgroup.subtree_control").write_text("+cpu")
            group.mkdir()
            (group / name).write_text(text)
        except OSError:
            if group.is_dir():
                group.rmdir()
            continue
        seen = headrace.path("groups")
        seen.mkdir()
        yield f"mount {kind} none {seen} && echo \\$\\$ >{seen}/{group.name}/cgroup.procs"
        group.rmdir()
        return
    pytest.skip("no control group for processor time")


def test_only_the_node_with_little_processor_time_is_named(hosts, headrace, little_time):
    done = hosts(5, launch=launch(headrace, little_time))
    assert done.returncode == 10 and named(done) == [("node", "node3")], done
    assert "cpu.usable: 1; the others: " in done.record["faults"][0]["told"], done.record["faults"]


def test_only_the_slower_node_is_named(hosts, headrace):
    """Files of node3's folder for temporary ones, in which it measures, take longer to open; nothing that it reports on itself says so."""
    headrace.write("node.yaml", FILES)
    headrace.write("groups.yaml", GROUPS)
    done = hosts(8, *TESTS, launch=launch(headrace, opens_take(headrace, 120), opens_take(headrace, 30)), only=[])
    assert done.returncode == 10 and named(done) == [("node", "node3")], done
    (fault,) = done.record["faults"]
    assert "small_file_read: " in fault["told"] and "usual" in fault["told"] and "in another run" in fault["told"], fault
    assert {name for name, state in states(done).items() if state != "accepted"} == {"node3"}, states(done)
    assert "reason='headrace: small_file_read." in done.stdout, done
    junit = ElementTree.parse(headrace.path("cluster/junit.xml")).getroot()
    assert [case.get("name") for case in junit.iter("testcase") if case.find("failure") is not None] == ["node3"]
    first, again = done.record["sessions"][0]["tests"]  # nobody is named by one session
    assert len(first["nodes"]) == len(again["nodes"]) == 8 and all(node["values"][0] > 0 for node in first["nodes"]), first
    (group,) = done.record["sessions"][0]["groups"]  # of those that passed
    assert [done.record["nodes"][n]["name"] for n in group["nodes"]] == [f"node{n}" for n in (1, 2, 4, 5, 6, 7, 8)], group
    assert group["values"][0]["value"] > 0 and "collectives of node[1-2,4-8]" in done.stdout, group


def test_equal_nodes_are_not_named_and_a_missing_point_is(hosts, headrace):
    """A healthy fleet; then one whose node3 has no room for temporary files, so that its own run comes to nothing."""
    headrace.write("node.yaml", NODE)
    headrace.write("groups.yaml", GROUPS)
    done = hosts(8, *TESTS, launch=launch(headrace), only=[])
    assert done.returncode == 0 and named(done) == [], done
    shutil.rmtree(headrace.path("cluster"))
    lacks = hosts(8, *TESTS, launch=launch(headrace, "export TMPDIR=/proc"), only=[])
    assert lacks.returncode == 10 and named(lacks) == [("node", "node3")], lacks
    assert "node tests: " in lacks.record["faults"][0]["told"], lacks.record["faults"]


def test_interruption_removes_the_data_of_nodes(hosts, headrace):
    temporary = headrace.path("temporary")
    temporary.mkdir()
    headrace.write("node.yaml", NODE.replace("repeat: 3", "repeat: 1000"))
    headrace.write("groups.yaml", GROUPS)
    here = f"export TMPDIR={temporary}"
    process = hosts.start(8, *TESTS, launch=launch(headrace, here, here), only=[])
    wait_for(process, "step")
    while not list(temporary.glob("*/run")):  # they measure
        assert process.poll() is None
        time.sleep(0.1)
    os.kill(leader_of(headrace), signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "VERDICT INTERRUPTED" in out, (out, err)
    assert headrace.results("bringup.json", "cluster")["sessions"][0]["tests"] == []
    assert list(temporary.iterdir()) == []


def test_the_storage_load_of_a_job_comes_from_all_that_have_the_storage(hosts, headrace):
    """A job whose steps take no time needs more than any storage gives; node3 has a folder of its own in the storage's place."""
    if not shutil.which("mpirun"):
        pytest.skip("needs mpirun (Debian: openmpi-bin)")
    shared = headrace.path("shared")
    shared.mkdir()
    headrace.write("groups.yaml", GROUPS)
    headrace.write("job.yaml", """\
schema: 1
job: shared
cluster: {nodes: 3, gpus_per_node: 1}
step: {time: 1us, micro_batch: 64}
dataset: {layout: files, samples: 64, sample_size: 8KiB}
loader: {workers_per_gpu: 1}
model: {parameters: 1e5}
""")
    done = hosts(4, "--group-tests", "groups.yaml", "--job", "job.yaml", "--at", str(shared),
                 launch=launch(headrace, f"mount -t tmpfs none {shared}"), only=[])
    (load,) = [one for one in done.record["sessions"][0]["groups"] if one["what"] == "storage load"]
    assert load["nodes"] == [0, 1, 3] and load["phases"], load
    for phase in load["phases"]:
        assert phase["clients"] == 3 and phase["in_all"] == pytest.approx(3 * phase["per_node"], rel=0.01), phase
        assert phase["need"] > phase["in_all"] and phase["outcome"] in ("FAIL", "INCONCLUSIVE"), phase  # disturbed: not sure
    missed = sum(phase["outcome"] == "FAIL" for phase in load["phases"])
    assert done.returncode == 10 and sorted(named(done)) == [("node", "node3")] + missed * [("storage", str(shared))], done
    reported = {one["scope"]: one["told"] for one in done.record["faults"]}
    assert f"path {shared}: tmpfs none" in reported["node"], reported
    assert not missed or "3 nodes at once: Gives " in reported["storage"], reported
    assert missed == len(load["phases"]) or "It is undecided if storage meets the needs of the job" in done.record["sentence"], done
    junit = ElementTree.parse(headrace.path("cluster/junit.xml")).getroot()
    failed = {case.get("classname") for case in junit.iter("testcase") if case.find("failure") is not None}
    assert failed == ({"node", "storage"} if missed else {"node"}), failed
    assert list(shared.iterdir()) == []  # what was made is gone


def test_unmeasurable_tests_have_reasons(hosts, headrace):
    headrace.write("node.yaml", NODE)
    headrace.write("groups.yaml", GROUPS)
    few = hosts(4, *TESTS, only=[])
    why = {one["step"]: one["why"] for one in few.record["skipped"]}
    assert few.returncode == 0 and "4 nodes of the same hardware and settings measured the same, and a median needs 8" in why["node tests"], few
    assert "--job JOB --at DIR" in why["storage load"] and "storage load skipped" in few.stdout, why


def test_it_goes_on_as_it_was_started(hosts, headrace):
    """Hosts and --launch are kept, and gone to again only where nobody else can have written them there."""
    done = hosts(4)
    assert done.returncode == 0 and "--launch" not in done.stdout, done
    again = hosts(4, "--resume", launch=[])
    assert again.returncode == 0 and again.record["launch"].endswith("on-host {host}"), again
    headrace.path("cluster").chmod(0o777)
    refused = hosts(4, "--resume", "--hosts", "hosts")
    assert refused.returncode == 2 and "cluster can be written by everybody" in refused.stderr, refused
    headrace.path("cluster").chmod(0o1755)
    headrace.path("cluster/bringup.json").chmod(0o666)
    refused = hosts(4, "--resume", launch=[])
    assert refused.returncode == 2 and "say --hosts, --launch again" in refused.stderr, refused
    given = hosts(4, "--resume", "--hosts", "hosts")
    assert given.returncode == 0, given


@pytest.mark.parametrize("words, said", [
    (["--at", "/tmp"], "--at: needs --job"),
    (["--at", "here", "--job", "job.yaml"], "--at: must be an absolute path"),
    (["--node-tests", "wrong.yaml"], "no workload"),
])
def test_impossible_starts(headrace, words, said):
    headrace.write("two", "a\nb\n")
    headrace.write("wrong.yaml", "schema: 1\nworkloads: [{use: memory_cpy}]\n")
    headrace.write("job.yaml", "schema: 1\njob: x\n")
    reported = headrace("bringup", "--hosts", "two", "--out", "x", *words)
    assert reported.code == 2 and said in reported.err and not headrace.path("x").exists(), reported


def test_a_full_disk_costs_nothing_that_was_measured(hosts, headrace):
    """The collector's folder lies on a small disk, which others fill once the first round is kept."""
    folder = headrace.path("cluster")
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "none", folder], check=True)
    try:
        process = hosts.start(5)
        wait_for(process, "measured")
        with open(folder / "full", "wb", buffering=0) as full, pytest.raises(OSError):
            while True:
                full.write(bytes(4096))
        out, err = process.communicate(timeout=120)
        assert process.returncode == 1 and "not kept, and going on" in err and "No space left" in err, (out, err)
        assert "accepted=5" in out and "could not be kept" in out and "VERDICT ERROR" in out, out
        kept = json.loads((folder / "bringup.json").read_text())
        assert len(kept["sessions"][0]["rounds"]) >= 1 and kept["sessions"][0]["rounds"][0]["pairs"], kept
        (folder / "full").unlink()
        done = hosts(5, "--resume")
        assert done.returncode == 0 and len(done.record["sessions"]) == 2, done
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_hosts_that_are_called_alike_or_otherwise_are_reported(hosts, headrace):
    """Two call themselves localhost; the two last have each other's names: reported, and nobody's fault."""
    wrapper = headrace.path("reach")
    wrapper.write_text(f"""#!/bin/sh
host=$1; shift
case $host in
  node1|node2) set -- "hostname localhost; exec $*" ;;
  node4) set -- "hostname node5; exec $*" ;;
  node5) set -- "hostname node4; exec $*" ;;
esac
exec {TOOLS}/on-host "$host" "$@"
""")
    wrapper.chmod(0o755)
    done = hosts(5, launch=["--launch", f"{wrapper} {{host}}"])
    reported = {node["name"]: [one["told"] for one in node.get("differences", ())] for node in done.record["nodes"]}
    assert done.returncode == 0 and not reported["node3"], done
    assert any("calls itself localhost, as 1 others do" in one for one in reported["node1"]), reported
    assert any("calls itself node5, which the hosts file has for another" in one for one in reported["node4"]), reported


def test_it_is_started_once(headrace):
    headrace.write("two", "a\nb\n")
    reported = headrace("bringup", "--hosts", "two", "--out", "x", OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="4")
    assert reported.code == 2 and "was started 4 times" in reported.err and not headrace.path("x").exists(), reported
