"""Several hosts in network namespaces: slow nodes are found and healthy ones are not, and a host that dies is named.

HEADRACE_NET_RUNS=20 repeats the test of the slow node so often."""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import time

import pytest

from bringup_hosts import closed

TOOLS = pathlib.Path(__file__).parents[1] / "net"
RUNS = int(os.environ.get("HEADRACE_NET_RUNS", "1"))


@pytest.fixture
def hosts(headrace):
    """Sets headrace.under to mpirun on four hosts; takes the options of with-net-hosts."""
    if os.geteuid() != 0 or not shutil.which("mpirun"):
        pytest.skip("needs root and mpirun (Debian: openmpi-bin)")
    if subprocess.run([TOOLS / "with-net-hosts", "2", "--", "true"], capture_output=True).returncode != 0:
        pytest.skip("network namespaces cannot be made here (Debian: iproute2)")
    if "mpi       not" in headrace("--version").out:
        pytest.skip("headrace was built without MPI")

    def on(*options, ranks=("-n", "4")):
        headrace.under = [str(TOOLS / "with-net-hosts"), "4", *options, "-t", "110", "--", "sh", "-c",
                          'echo "$NET_HOSTS_ID" >id; exec "$@"', "sh", "mpirun", "--oversubscribe", "--bind-to", "none",
                          *ranks]
        return headrace

    return on


PAIRS = """\
schema: 1
name: pairs
target: {path: scratch, max_write: 10MiB}
workloads:
  - {use: tcp_stream, processes: per_node, schedule: all_pairs, time: 300ms, streams: 2, repeat: 3}
"""


def engine(headrace):
    """The other one than posix, where this kernel has it."""
    under, headrace.under = headrace.under, []
    reported = headrace("--version").out
    headrace.under = under
    return "io_uring" if "io_uring  usable" in reported else "posix"


@pytest.mark.long
@pytest.mark.parametrize("run", range(RUNS))
def test_the_slow_node_is_blamed_and_no_other(hosts, run):
    headrace = hosts("--rate", "400mbit", "--slow", "node3:200mbit")
    headrace.write("pairs.yaml", PAIRS)
    outcome = headrace.run("pairs.yaml")
    assert outcome.code == 11, outcome  # three repetitions accuse nobody
    (judgement,) = headrace.results()["judgements"]
    assert (judgement["scope"], judgement["outcome"]) == ("node node3", "INCONCLUSIVE"), judgement
    assert judgement["reason"] in ("few-reps", "disturbed") and "no node is blamed" in judgement["explanation"], judgement
    assert "bad=" not in outcome.out, outcome
    point = headrace.results()["points"][0]
    pairs = point["pairs"]
    assert pairs["names"] == ["node1", "node2", "node3", "node4"]
    assert pairs["blamed_nodes"] == [2], pairs
    assert pairs["blamed_links"] == [], pairs
    for a in range(4):
        for b in range(4):
            if a == b:
                assert pairs["rate"][a][b] == -1
            elif 2 in (a, b):
                assert pairs["rate"][a][b] < 30e6  # 25; what waited in buffers comes faster on a loaded machine
            else:
                assert 30e6 < pairs["rate"][a][b] < 60e6


@pytest.mark.long
def test_a_fleet_reads_the_pairs_of_real_runs(hosts):
    """What the binary wrote under mpirun; a second session confirms, a copy of the first does not."""
    headrace = hosts("--rate", "400mbit", "--slow", "node3:200mbit")
    headrace.write("pairs.yaml", PAIRS)
    assert headrace.run("pairs.yaml", out="runs/first").code == 11
    assert headrace.run("pairs.yaml", out="second").code == 11
    headrace.under = []
    shutil.copytree(headrace.path("runs/first"), headrace.path("runs/copy"))
    alone = headrace("fleet", "runs", "--out", "alone")
    assert alone.code == 11 and "node3 suspected" in alone.out, alone
    judged = json.loads(headrace.path("alone/fleet.json").read_text())
    reported = json.loads(headrace.path("runs/first/run.json").read_text())["points"][0]["pairs"]
    assert [one["pairs"] for one in judged["pairs"]] == [reported]  # one form, one word of blame
    shutil.move(headrace.path("second"), headrace.path("runs/second"))
    both = headrace("fleet", "runs")
    assert both.code == 10 and "node3 confirmed" in both.out and "slow_pairs=1" in both.out, both


@pytest.mark.long
def test_page_of_the_fleet_names_the_slow_direction(hosts):
    """The shipped configuration over four hosts, and the fleet of what it wrote."""
    headrace = hosts("--rate", "1gbit", "--slow", "node2-node4:100mbit")
    done = headrace.run("configs/network.yaml", "--only", "tcp_stream*", "--set", "defaults.repeat=1", "--set", "defaults.rest=0s",
                        out="runs/one")
    assert done.code == 11, done
    assert [j["scope"] for j in headrace.results(out="runs/one")["judgements"]] == ["link node2 to node4"], done
    points = headrace.results(out="runs/one")["points"]
    assert [p["id"] for p in points] == ["tcp_stream", "tcp_stream/bisection"]
    for point in points:
        assert point["pairs"]["blamed_nodes"] == [] and sorted(point["pairs"]["blamed_links"]) == [[1, 3], [3, 1]], point["pairs"]
    headrace.under = []
    reported = headrace("fleet", "runs", "--out", "fleet")
    assert reported.code == 11 and "node2 to node4 suspected  slow link" in reported.out and "slow_pairs=0" in reported.out, reported
    page = headrace.path("fleet/report.html")
    if not page.exists():
        pytest.skip("no page was drawn: " + reported.out)
    shown = re.sub(r"<script.*?</script>|<[^>]+>", " ", page.read_text(), flags=re.S)
    assert "suspected: slow link node2 to node4" in " ".join(shown.split()), shown


def on_day(run, day, slower, draw):
    """What the run would be on that day of March, its pairs a little otherwise, and that of node2 and node4 so many times as fast."""
    run["run"].update(id=f"pairs-{day}", node=f"node{day % 4 + 1}", started_utc=f"2026-03-{day:02}T12:00:00Z")
    run["environment"]["launch"]["host_of_rank"] = " ".join(f"node{(rank + day) % 4 + 1}" for rank in range(4))
    (point,) = run["points"]
    for repetition in point["repetitions"]:  # what else this machine does is not the question
        repetition["disturbance"]["disturbed"] = False
    for one in [point, *point["repetitions"]]:
        rate = one["pairs"]["rate"]
        for a in range(4):
            for b in range(4):
                if a != b:
                    rate[a][b] = 48e6 * (1 + 0.005 * (-1) ** (day + a + b)) * draw.gauss(1, 0.002) * (slower if {a, b} == {1, 3} else 1)
    return run


@pytest.mark.long
def test_direction_that_became_slow_is_found_over_time(hosts):
    """Real runs of four hosts know no dates: one of them, as it would be on sixteen days. Who has rank 0 makes no other cluster."""
    headrace = hosts("--rate", "400mbit")
    headrace.write("pairs.yaml", PAIRS)
    assert headrace.run("pairs.yaml").code == 0
    headrace.under = []
    draw = random.Random(3)
    for day in range(1, 17):
        headrace.path(f"runs/{day}").mkdir(parents=True)
        headrace.write(f"runs/{day}/run.json", json.dumps(on_day(headrace.results(), day, 0.3 if day >= 11 else 1, draw)))
    reported = headrace("history", "runs", "--out", "trend", "--no-report")
    assert reported.code == 10, reported
    data = json.loads(headrace.path("trend/history.json").read_text())
    changed = {one["metric"]: one["changes"][-1] for one in data["series"] if one["changes"]}
    assert set(changed) == {"rate of node2 and node4"} and changed["rate of node2 and node4"]["status"] == "worse", changed
    assert {one["node"] for one in data["series"]} == {"node[1-4]"}, reported
    assert "rate of node2 and node4" in reported.out and "-70 % worse" in reported.out, reported
    quiet = headrace("history", "runs", "--metric", "tcp_stream.bandwidth")  # who asks for one metric gets that one
    assert quiet.code == 0, quiet
    worse = headrace("compare", "runs/10", "runs/11", "--gate", "tcp_stream.rate of *")
    assert worse.code == 10 and "rate of node2 and node4" in worse.out, worse
    same = headrace("compare", "runs/8", "runs/9", "--gate", "tcp_stream.rate of *")
    assert same.code != 10, same


@pytest.mark.long
def test_port_is_judged_by_the_schedule_with_the_slow_direction(hosts):
    """Bisection never lets node1 and node2 meet, and is twice what the job needs."""
    headrace = hosts("--rate", "400mbit", "--slow", "node1-node2:60mbit")
    headrace.write("job.yaml", """\
schema: 1
job: replicas
cluster: {nodes: 4, gpus_per_node: 1, nics_per_node: 1}
step: {time: 3s, micro_batch: 1}
dataset: {layout: files, samples: 64, sample_size: 8KiB}
loader: {workers_per_gpu: 1}
model: {parameters: 1e7}
""")
    headrace.write("pairs.yaml", PAIRS.replace("all_pairs", "[all_pairs, bisection]").replace(
        "repeat: 3", "repeat: 6") + "needs: [network.nic_bandwidth]\n")
    outcome = headrace.run("pairs.yaml", "--job", "job.yaml", verb="qualify")
    (need,) = [j for j in headrace.results()["judgements"] if j["id"] == "network.nic_bandwidth"]
    assert 10e6 < need["need"] < 40e6, need
    assert need["point"] == "tcp_stream/schedule:all_pairs" and need["measured"] < 10e6, need
    # Others use this machine, and a way that is held back does not run evenly: then nothing is said, and never PASS.
    assert (need["outcome"], outcome.code) in {("FAIL", 10), ("INCONCLUSIVE", 11)}, (need, outcome)


def accused(headrace, out="results"):
    return [j["scope"] for j in headrace.results(out=out)["judgements"] if j["id"] == "network.pair_rate" and j["outcome"] == "FAIL"]


@pytest.mark.long
def test_a_slow_node_fails_the_run_everywhere_that_it_is_reported(hosts):
    """Terminal, exit code, page, JUnit, Prometheus, Nagios and table; the fleet says the same of this one run."""
    headrace = hosts("--rate", "400mbit", "--slow", "node3:100mbit")
    headrace.write("pairs.yaml", PAIRS.replace("repeat: 3", "repeat: 6"))
    outcome = headrace.run("pairs.yaml")
    (judgement,) = headrace.results()["judgements"]
    assert judgement["scope"] == "node node3", judgement
    assert 0.15 < judgement["measured"] < 0.5 and judgement["need"] == 0.75, judgement
    run = headrace.results()
    for point in run["points"]:
        for repetition in point["repetitions"]:
            repetition["disturbance"]["disturbed"] = False
    headrace.path("quiet").mkdir()
    headrace.write("quiet/run.json", json.dumps(run))
    headrace.write("job.yaml", JOB)
    under, headrace.under = headrace.under, []
    quiet = headrace("verdict", "quiet", "--job", "job.yaml")
    assert quiet.code == 10 and 'bad="node node3"' in quiet.out, quiet
    headrace.under = under
    # Who else uses this machine may decide it: then nobody is accused.
    if judgement["outcome"] != "FAIL":
        assert (judgement["reason"], outcome.code) == ("disturbed", 11) and "bad=" not in outcome.out, (judgement, outcome)
        pytest.skip("others used this machine in all repetitions: what they change was told, and the rest not tried")
    assert outcome.code == 10 and 'fail=1 inconclusive=0 skipped=0 error=0 bad="node node3" exit=10' in outcome.out, outcome
    assert "take node3 out" in outcome.out and "A second measurement after a pause gave" in " ".join(outcome.out.split()), outcome
    results = headrace.path("results")
    junit = (results / "junit.xml").read_text()
    assert 'failures="1"' in junit and 'name="network.pair_rate (node node3)"' in junit and '<failure type="need"' in junit, junit
    prom = (results / "headrace.prom").read_text()
    assert 'headrace_verdict{need="network.pair_rate",scope="node node3",state="FAIL"} 1' in prom and "headrace_exit_code 10" in prom
    table = (results / "results.csv").read_text()
    assert ",network.pair_rate (node node3): FAIL,ratio,higher,," in table, table[:2000]
    headrace.under = []
    assert "missed: node node3" in headrace("report", "results", "--format", "nagios").out
    assert headrace("verdict", "results").code == 10
    again = headrace("verdict", "results", "--replay")
    assert again.code == 10 and "gives the stored verdict" in again.out, again
    reported = headrace("fleet", "results", "--out", "fleet")
    assert reported.code == 10 and "node3 confirmed" in reported.out, reported
    assert json.loads(headrace.path("fleet/fleet.json").read_text())["nodes"][0]["word"] == "MEASURED"  # who wrote it is well
    page = headrace("report", "results")
    if page.code != 0:
        pytest.skip("no page can be drawn: " + page.out + page.err)
    shown = " ".join(re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]+>", " ", (results / "report.html").read_text(), flags=re.S).split())
    assert "\u2718 FAIL Bad: node3" in shown and shown.index("Bad: node3") < shown.index("Do next take node3 out"), shown[:2000]


@pytest.mark.long
def test_healthy_hosts_are_not_accused_however_often_they_are_measured(hosts):
    headrace = hosts("--rate", "400mbit")
    headrace.write("pairs.yaml", PAIRS.replace("repeat: 3", "repeat: 6").replace("300ms", "100ms"))
    for run in range(3):
        outcome = headrace.run("pairs.yaml", out=f"run{run}")
        assert outcome.code in (0, 11) and accused(headrace, f"run{run}") == [], outcome


def cut(headrace, *lines):
    """Shell lines that are done on node1 before mpirun starts; $ns is the name of a host but for its number."""
    at = headrace.under.index('echo "$NET_HOSTS_ID" >id; exec "$@"')
    headrace.under[at] = 'ns=$NET_HOSTS_ID; ' + "; ".join(lines) + "; " + headrace.under[at]
    return headrace


# What node2 sends to node3 gets lost without a word. MPI itself needs the way between node2 and node4.
LOST = "ip netns exec $ns-2 ip neigh replace 10.78.0.3 lladdr 02:00:00:00:00:fe dev eth0 nud permanent"


@pytest.mark.long
def test_two_that_cannot_be_connected_are_named_and_the_others_measured(hosts):
    headrace = cut(hosts("--rate", "400mbit"), LOST)
    headrace.write("pairs.yaml", PAIRS.replace("repeat: 3", "repeat: 1"))
    outcome = headrace.run("pairs.yaml")
    assert outcome.code == 10 and 'bad="link node2 to node3"' in outcome.out, outcome
    assert accused(headrace) == ["link node2 to node3"], outcome
    reported = next(j for j in headrace.results()["judgements"] if j["outcome"] == "FAIL")
    assert "rank 1 (node2) cannot connect to rank 2 (node3) within 10 s" in reported["explanation"], reported
    assert "both get through elsewhere" in reported["next_step"], reported
    pairs = headrace.results()["points"][0]["pairs"]
    assert [(one["a"], one["b"]) for one in pairs["unreached"]] == [(1, 2)], pairs
    for a in range(4):
        for b in range(4):
            assert (pairs["rate"][a][b] > 0) == (a != b and {a, b} != {1, 2}), (a, b, pairs)


@pytest.mark.long
def test_closed_host_is_named_and_no_link(hosts, bad=3):
    """MPI goes by a second interface: pairs by the first one show the firewall, wherever the host is."""
    by_second = [word for name in ("oob_tcp_if_include", "btl_tcp_if_include") for word in ("--mca", name, "eth1")]
    headrace = cut(hosts("--rails", "2", "--rate", "400mbit", ranks=("-n", "4", *by_second)), closed(bad))
    headrace.write("pairs.yaml", PAIRS.replace("all_pairs", "all_pairs, interface: eth0").replace("repeat: 3", "repeat: 1"))
    outcome = headrace.run("pairs.yaml")
    assert outcome.code == 10 and accused(headrace) == [f"node node{bad}"], outcome
    reported = next(j for j in headrace.results()["judgements"] if j["outcome"] == "FAIL")
    assert "incoming connections are blocked" in reported["explanation"] and "firewall" in reported["next_step"], reported


def test_two_hosts_with_one_address_are_named(hosts):
    by_second = [word for name in ("oob_tcp_if_include", "btl_tcp_if_include") for word in ("--mca", name, "eth1")]
    headrace = cut(hosts("--rails", "2", "--rate", "400mbit", ranks=("-n", "4", *by_second)),
                   "ip -n $ns-4 addr flush dev eth0", "ip -n $ns-4 addr add 10.78.0.3/24 dev eth0")
    headrace.write("pairs.yaml", PAIRS)
    outcome = headrace.run("pairs.yaml")
    assert outcome.code == 1 and "node3 and node4 have the same IP address 10.78.0.3" in outcome.err, outcome


@pytest.mark.long
def test_mpi_start_failure_names_alternatives(hosts):
    headrace = cut(hosts(), LOST.replace("10.78.0.3", "10.78.0.4"))
    headrace.write("pairs.yaml", PAIRS)
    outcome = headrace.run("pairs.yaml")
    assert outcome.code == 1 and "`headrace bringup --hosts FILE` measures each pair without MPI" in outcome.err, outcome


def test_killed_launcher_keeps_measured_results(hosts):
    headrace = hosts()
    headrace.write("long.yaml", """\
schema: 1
target: {path: scratch, max_write: 10MiB}
workloads:
  - {use: tcp_stream, processes: per_node, label: first, time: 100ms, repeat: 2}
  - {use: tcp_stream, processes: per_node, label: long, time: 1s, repeat: 100, timeout: 30s}
""")
    process = headrace.start("--progress", "plain", "run", "-c", "long.yaml", "--no-report", "--out", "results")
    for line in process.stderr:
        if "tcp_stream/long" in line:
            break
    so_far = headrace.path("results/so-far.json")
    for _ in range(1200):
        if so_far.exists():
            break
        time.sleep(0.1)
    assert not headrace.path("results/run.json").exists()
    namespace = headrace.path("id").read_text().strip()
    for host in range(1, 5):  # mpirun, its daemons and all ranks at once
        pids = subprocess.run(["ip", "netns", "pids", f"{namespace}-{host}"], capture_output=True, text=True).stdout.split()
        subprocess.run(["kill", "-9", *pids])
    process.communicate(timeout=180)
    assert not headrace.path("results/run.json").exists()
    known = json.loads(so_far.read_text())
    assert known["summary"]["word"] == "INTERRUPTED"
    assert [(p["id"], p["status"]) for p in known["points"]] == [("tcp_stream/first", "ok"), ("tcp_stream/long", "not_reached")]
    headrace.under = []
    again = headrace("run", "-c", "long.yaml", "--no-report", "--out", "results")
    assert again.code == 2 and "so-far.json" in again.err and so_far.exists(), again
    reported = headrace("report", "results/so-far.json", "--format", "csv")
    assert reported.code == 0 and "tcp_stream/first" in reported.out, reported


@pytest.mark.long
def test_equal_nodes_are_not_blamed(hosts):
    headrace = hosts("--rate", "400mbit")
    headrace.write("pairs.yaml", PAIRS)
    outcome = headrace.run("pairs.yaml")
    assert outcome.code == 0, outcome
    pairs = headrace.results()["points"][0]["pairs"]
    assert pairs["blamed_nodes"] == [] and pairs["blamed_links"] == [], pairs


@pytest.mark.long
def test_ring_and_bisection(hosts):
    headrace = hosts("--rate", "400mbit")
    headrace.write("pairs.yaml", PAIRS.replace("all_pairs", "[ring, bisection]").replace(
        "repeat: 3", f"repeat: 1, engine: {engine(headrace)}"))
    outcome = headrace.run("pairs.yaml")
    assert outcome.code == 0, outcome
    ring, bisection = (p["repetitions"][0]["pairs"]["rate"] for p in headrace.results()["points"])
    measured = [(a, b) for a in range(4) for b in range(4) if ring[a][b] > 0]
    assert measured == [(a, b) for a in range(4) for b in range(4) if abs(a - b) in (1, 3)]
    assert [(a, b) for a in range(4) for b in range(4) if bisection[a][b] > 0] == [(0, 2), (1, 3), (2, 0), (3, 1)]
    for point in headrace.results()["points"]:  # healthy, and whoever waits for both directions is no straggler
        assert not any("straggler" in note for note in point["notes"]), point["notes"]


@pytest.mark.long
def test_rails_are_measured_alone_and_the_slow_one_is_named(hosts):
    headrace = hosts("--rails", "2", "--rate", "400mbit", "--slow", "node3/eth1:150mbit")
    headrace.write("pairs.yaml", PAIRS.replace("all_pairs", "rails").replace("repeat: 3", "repeat: 1"))
    outcome = headrace.run("pairs.yaml")
    assert outcome.code == 11, outcome
    assert [j["scope"] for j in headrace.results()["judgements"]] == ["NIC node3 eth1"], outcome
    point = headrace.results()["points"][0]
    pairs = point["pairs"]
    assert pairs["rails"] == ["eth0", "eth1"]
    assert pairs["names"] == [f"node{n} {rail}" for rail in ("eth0", "eth1") for n in (1, 2, 3, 4)]
    assert pairs["blamed_nodes"] == [6] and pairs["blamed_links"] == [] and pairs["blamed_rails"] == [], pairs
    for a in range(8):
        for b in range(8):
            assert (pairs["rate"][a][b] > 0) == (a != b and a // 4 == b // 4), (a, b)


def test_rails_that_differ_are_reported(hosts):
    headrace = hosts()
    headrace.write("pairs.yaml", PAIRS.replace("schedule: all_pairs", 'schedule: rails, interface: "eth0, eth1"'))
    outcome = headrace.run("pairs.yaml")
    assert outcome.code == 1, outcome
    assert "interface eth1 is not there" in headrace.results()["points"][0]["reason"]


JOB = """\
schema: 1
job: small
cluster: {nodes: 4, gpus_per_node: 2, nics_per_node: 1, nic_rate: 10Gbit/s}
step: {time: 10s, micro_batch: 1, accumulation: 4}
dataset: {layout: tokens, sample_size: 4096B}
model: {parameters: 20000, layers: 4, hidden: 64, sequence_length: 128}
parallelism: {tensor: 2, tensor_time: 0.5}
"""
GROUPS = """\
schema: 1
target: {path: scratch}
needs: [network.*]
defaults: {repeat: 1}
workloads:
  - {use: mpi_all_reduce, label: job, message_size: need, group: need, calls: 3}
  - {use: mpi_all_reduce, group: [intra_node, inter_node, per_rail], message_size: [1KiB, 64KiB, 256KiB], calls: 3}
  - {use: tcp_stream, processes: per_node, schedule: ring, time: 100ms}
  - use: network_ports
    nic_rate: ${job.cluster.nic_rate}
"""


def test_groups_of_ranks_on_several_hosts(hosts):
    """Two ranks a host, numbered host by host in turn: a group's members are no neighbours by their numbers."""
    headrace = hosts("--slots", "2", ranks=("--map-by", "node", "--mca", "mpi_yield_when_idle", "1", "-n", "8"))
    headrace.write("job.yaml", JOB)
    headrace.write("groups.yaml", GROUPS)
    outcome = headrace.run("groups.yaml", "--job", "job.yaml", verb="qualify")
    assert outcome.code in (0, 10, 11, 12), outcome  # fast or slow
    run = headrace.results()
    assert run["environment"]["launch"]["host_of_rank"] == "node1 node2 node3 node4 node1 node2 node3 node4"
    points = {p["id"]: p for p in run["points"]}
    assert all(p["status"] == "ok" for p in points.values()), outcome

    def check(name, shape, members, groups_of_a_node):
        point = points[name]
        assert point["group"] == dict(zip(("ranks", "nodes", "groups"), shape)), name
        repetition = point["repetitions"][0]  # a disturbed one is taken again
        assert [r["rank"] for r in repetition["phases"][0]["ranks"] if r["operations"] > 0] == members, name
        metrics, ranks = repetition["metrics"], shape[0]
        assert metrics["busbw"] == pytest.approx(2 * (ranks - 1) / ranks * metrics["algbw"], rel=1e-6), name
        assert ("node_busbw" in metrics) == (groups_of_a_node > 0), name
        if groups_of_a_node:  # the slowest group's, and that of all together
            assert metrics["node_busbw"] >= groups_of_a_node * metrics["busbw"] * (1 - 1e-6), name
            if groups_of_a_node == 1:
                assert metrics["node_busbw"] == pytest.approx(metrics["busbw"], rel=1e-6), name

    for size in ("1KiB", "64KiB", "256KiB"):
        at = f"mpi_all_reduce/group:{{}}/message_size:{size}".format
        check(at("intra_node"), (2, 1, 4), [0, 1, 2, 3, 4, 5, 6, 7], 0)
        check(at("inter_node"), (4, 4, 1), [0, 1, 2, 3], 1)
        check(at("per_rail"), (4, 4, 2), [0, 1, 2, 3, 4, 5, 6, 7], 2)
    tensor, gradients = "mpi_all_reduce/job/need:tensor_busbw", "mpi_all_reduce/job/need:gradient_busbw"
    check(tensor, (2, 1, 4), [0, 1, 2, 3, 4, 5, 6, 7], 0)
    check(gradients, (4, 4, 2), [0, 1, 2, 3, 4, 5, 6, 7], 2)
    assert points[gradients]["params"]["message_size"] == 20000 // 2 * 2  # a tensor rank's half, 2 bytes each
    assert points[tensor]["params"]["message_size"] == 128 * 64 * 2

    judged = {j["id"]: j for j in run["judgements"]}
    for need, metric, point in (("gradient_busbw", "mpi_all_reduce.busbw", gradients),
                                ("node_bandwidth", "mpi_all_reduce.node_busbw", gradients),
                                ("tensor_busbw", "mpi_all_reduce.busbw", tensor),
                                ("nic_bandwidth", "tcp_stream.nic_bandwidth", "tcp_stream")):
        answer = judged[f"network.{need}"]
        assert (answer["metric"], answer["point"]) == (metric, point) and answer["measured"] > 0, answer
    assert judged["network.nics"]["outcome"] == "SKIPPED"  # hosts of this test have no cards
    assert "node1 shows no port of a network card" in judged["network.nics"]["explanation"]


def test_a_host_that_dies_is_named_and_results_are_kept(hosts):
    headrace = hosts()
    headrace.write("long.yaml", """\
schema: 1
target: {path: scratch, max_write: 10MiB}
workloads:
  - {use: mpi_all_reduce, message_size: 4KiB, calls: 5, repeat: 2}
  - {use: tcp_stream, label: long, time: 1s, repeat: 100, timeout: 20s}
""")
    process = headrace.start("--progress", "plain", "run", "-c", "long.yaml", "--no-report", "--out", "results")
    for line in process.stderr:
        if "tcp_stream" in line:
            break
    time.sleep(1)
    namespace = headrace.path("id").read_text().strip() + "-3"
    pids = subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, text=True).stdout.split()
    begin = time.monotonic()
    subprocess.run(["kill", "-9", *pids])
    process.communicate(timeout=180)
    assert process.returncode != 0
    assert time.monotonic() - begin < 90
    for _ in range(100):  # mpirun does not wait for who writes
        if (headrace.path("results") / "run.json").exists():
            break
        time.sleep(0.1)
    points = headrace.results()["points"]
    assert points[0]["status"] == "ok"
    assert points[1]["status"] == "error"
    assert "rank 2 (node3)" in points[1]["reason"], points[1]["reason"]
