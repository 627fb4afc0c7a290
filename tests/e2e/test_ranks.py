"""Several processes under mpirun: one result, and an end in time whatever happens to one of them."""

import math
import os
import re
import shutil
import signal
import time

import conftest
import pytest

pytestmark = pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun (Debian: openmpi-bin)")

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def mpirun(ranks):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)]


# One machine: no network is looked for, waiting processes leave the processors to others, and the names of hosts, which a
# machine without /etc/hosts asks a server for again and again, are not waited for.
MACHINE = {**ROOT, "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1",
           "RES_OPTIONS": "timeout:1 attempts:1"}


@pytest.fixture
def together(headrace, monkeypatch):
    return launched(headrace, monkeypatch)


def launched(headrace, monkeypatch):
    if "mpi       not" in headrace("--version").out:
        pytest.skip("headrace was built without MPI")
    for name, value in MACHINE.items():
        monkeypatch.setenv(name, value)
    headrace.under = mpirun(3)
    return headrace


READS = """\
schema: 1
name: reads
target: {path: scratch, max_write: 200MiB}
workloads:
  - {use: small_file_read, files: 30, file_size: 8KiB, cache: asis, repeat: 3, verify: true}
"""
COLLECTIVES = "".join(
    f"  - {{use: mpi_{name}, message_size: [96B, 100000B], in_place: [false, true], calls: 5, repeat: 1}}\n"
    for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv", "reduce", "gather",
                 "scatter"))
EVERYTHING = READS + """\
  - {use: random_read, files: 4, file_size: 64KiB, block_size: 4KiB, workers: 1, cache: asis, repeat: 2, clients: [1, 2, 4]}
  - {use: checkpoint_write, shard_size: 64KiB, repeat: 2, verify: true}
""" + COLLECTIVES


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run on three ranks of all that needs no other outcome; its run file."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        headrace = launched(conftest.Headrace(tmp_path_factory.mktemp("everything")), monkeypatch)
        headrace.write("everything.yaml", EVERYTHING)
        outcome = headrace.run("everything.yaml")
        assert outcome.code == 12, outcome  # four clients are too many
        run = headrace.results()
        for curve in run["scaling"]:
            assert curve["finding"].split()[0] in outcome.out, outcome
        headrace.under = []
        assert headrace("clean", "scratch").code == 0
        assert not headrace.path("scratch").exists()
    return run


def of(run, workload):
    return [point for point in run["points"] if point["workload"] == workload]


def test_files_are_split_and_added_up(run):
    assert run["environment"]["launch"]["ranks"] == "3"
    point = of(run, "small_file_read")[0]
    assert point["verified"]
    for repetition in point["repetitions"]:
        phase = repetition["phases"][0]
        assert phase["operations"] == 30
        assert phase["bytes"] == 30 * 8192
        assert [r["rank"] for r in phase["ranks"]] == [0, 1, 2]
        assert [r["operations"] for r in phase["ranks"]] == [10, 10, 10]
        assert phase["elapsed_s"] == max(r["elapsed_s"] for r in phase["ranks"])
        assert phase["first_finish_s"] == min(r["first_finish_s"] for r in phase["ranks"])
        rate = sum(r["bytes"] for r in phase["ranks"]) / phase["elapsed_s"]
        assert repetition["metrics"]["read_bandwidth"] == pytest.approx(rate, rel=0.01)
        slowest = min(phase["ranks"], key=lambda r: r["bytes"] / r["elapsed_s"])
        assert phase["slowest_rank"] == slowest["rank"]
    slowest = point["slowest_rank"]
    named = [r["phases"][0]["slowest_rank"] for r in point["repetitions"] if r["counted"]]
    assert slowest["of"] == len(named) and slowest["times"] == named.count(slowest["rank"]) and slowest["host"]


def test_more_and_more_clients(run):
    points = {p["id"]: p for p in of(run, "random_read")}
    assert points["random_read/clients:4"]["status"] == "skipped"
    assert "4 are more than the 3" in points["random_read/clients:4"]["reason"]
    for clients in (1, 2):
        ranks = points[f"random_read/clients:{clients}"]["repetitions"][0]["phases"][0]["ranks"]
        assert len(ranks) == clients
        assert points[f"random_read/clients:{clients}"]["params"]["clients"] == clients


def test_the_scaling_curve_is_judged(run):
    assert len(run["scaling"]) == 1
    curve = run["scaling"][0]
    rates = [next(m["median"] for m in p["metrics"] if m["name"] == curve["metric"])
             for p in of(run, "random_read") if p["status"] == "ok"]
    assert curve["workload"] == "random_read" and [at["rate"] for at in curve["at"]] == rates
    assert [at["clients"] for at in curve["at"]] == [1, 2]
    assert curve["at"][1]["efficiency"] == pytest.approx(rates[1] / (2 * rates[0]))
    assert curve["saturated"] == (rates[1] - rates[0] <= 0.1 * rates[0])
    assert curve["most"] == max(rates)
    if curve["saturated"]:
        assert curve["saturation_clients"] == math.ceil(max(rates) / rates[0] - 1e-9)


def test_each_process_saves_its_own_checkpoint(run):
    point = of(run, "checkpoint_write")[0]
    assert point["status"] == "ok" and point["verified"]
    assert len(point["repetitions"][0]["phases"][0]["ranks"]) == 3


def test_collectives_give_the_right_data(run):
    factor = {"all_reduce": 4 / 3, "all_gather": 2 / 3, "reduce_scatter": 2 / 3, "all_to_all": 2 / 3, "broadcast": 1,
              "send_recv": 1, "reduce": 1, "gather": 2 / 3, "scatter": 2 / 3}
    points = [point for point in run["points"] if point["workload"].startswith("mpi_")]
    assert len(points) == 36
    for point in points:
        metrics = point["repetitions"][0]["metrics"]
        assert metrics["busbw"] == pytest.approx(factor[point["workload"][4:]] * metrics["algbw"], rel=1e-6), point["id"]
        assert metrics["algbw"] == pytest.approx(
            point["params"]["message_size"] // 12 * 12 / metrics["time_s"], rel=0.01), point["id"]


def test_one_process_alone_skips_collectives(together):
    together.under = []
    together.write("all.yaml", "schema: 1\ntarget: {path: scratch}\nworkloads:\n" + COLLECTIVES)
    outcome = together.run("all.yaml")
    assert outcome.code == 77, outcome
    assert "mpirun -n 8" in together.results()["points"][0]["reason"]


def test_bad_input_is_reported_once(together):
    together.write("bad.yaml", READS.replace("file_size", "filesize"))
    outcome = together.run("bad.yaml")
    assert outcome.code == 2, outcome
    assert outcome.err.count("unknown key 'filesize'") == 1, outcome


def test_a_plan_is_reported_once(together):
    together.write("reads.yaml", READS)
    outcome = together("run", "--dry-run", "-c", "reads.yaml")
    assert outcome.code == 0 and outcome.out.count("small_file_read") == 1, outcome


def test_other_configurations_are_refused(together):
    together.write("one.yaml", READS)
    together.write("other.yaml", READS.replace("files: 30", "files: 31"))
    together.under = mpirun(1)
    words = ["run", "-c", "one.yaml", "--no-report", "--out", "results"]
    outcome = together(*words, ":", "-n", "2", together.binary, "run", "-c", "other.yaml", "--no-report", "--out", "results")
    assert outcome.code == 2, outcome
    assert "has another configuration than rank 0" in outcome.err
    assert "rank 1 (" in outcome.err
    assert not together.path("results").exists()


def test_srun_without_a_meeting_point_is_reported(headrace):
    headrace.write("reads.yaml", READS)
    process = headrace.start("run", "-c", "reads.yaml", SLURM_PROCID="1", SLURM_STEP_NUM_TASKS="4")
    _, err = process.communicate(timeout=180)
    assert process.returncode == 2
    assert "srun --mpi=pmix" in err


ENDLESS = READS + """\
  - {use: mpi_all_reduce, message_size: 256KiB, calls: 200, repeat: 5000, timeout: 12s}
"""


def measuring_child(folder, rank, variable="OMPI_COMM_WORLD_RANK"):
    """The process of that rank that measures: the child of the one that waits for it."""
    for process in os.listdir("/proc"):
        try:
            if not process.isdigit() or os.readlink(f"/proc/{process}/cwd") != str(folder):
                continue
            environment = open(f"/proc/{process}/environ", "rb").read().split(b"\0")
            parent = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[1]
            if f"{variable}={rank}".encode() in environment and \
                    open(f"/proc/{parent}/comm").read().strip() == "headrace":
                return int(process)
        except OSError:  # it ended meanwhile
            continue
    raise AssertionError(f"no process of rank {rank}")


@pytest.mark.parametrize("how, word", [(signal.SIGKILL, "ended without a word"), (signal.SIGSTOP, "no sign of life")])
def test_a_rank_that_is_gone_is_named_and_results_are_kept(together, how, word):
    together.write("endless.yaml", ENDLESS)
    process = together.start("--progress", "plain", "run", "-c", "endless.yaml", "--no-report", "--out", "results")
    for line in process.stderr:
        if "mpi_all_reduce" in line:
            break
    time.sleep(0.3)
    child = measuring_child(together.folder, 2)
    begin = time.monotonic()
    os.kill(child, how)
    try:
        out, err = process.communicate(timeout=180)
    finally:
        try:
            os.kill(child, signal.SIGKILL)
        except OSError:
            pass
    assert process.returncode == 1, (out, err)
    assert time.monotonic() - begin < 150
    points = together.results()["points"]
    assert points[0]["status"] == "ok"
    assert points[1]["status"] == "error"
    assert "rank 2 (" in points[1]["reason"] and word in points[1]["reason"]


def test_the_other_ranks_end_when_rank_0_is_killed(together):
    together.write("endless.yaml", ENDLESS)
    process = together.start("--progress", "plain", "run", "-c", "endless.yaml", "--no-report", "--out", "results")
    for line in process.stderr:
        if "mpi_all_reduce" in line:
            break
    os.kill(measuring_child(together.folder, 0), signal.SIGKILL)
    process.communicate(timeout=180)
    assert process.returncode != 0


def test_interrupted_run_keeps_its_results(together):
    together.write("endless.yaml", ENDLESS)
    process = together.start("--progress", "plain", "run", "-c", "endless.yaml", "--no-report", "--out", "results")
    for line in process.stderr:
        if "mpi_all_reduce" in line:
            break
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=180)
    assert process.returncode != 0
    end = time.monotonic() + 150
    while not (together.path("results") / "run.json").exists() and time.monotonic() < end:  # mpirun does not wait for who writes
        time.sleep(0.1)
    points = together.results()["points"]
    assert points[0]["status"] == "ok"
    assert points[1]["status"] in ("interrupted", "error")


def test_a_launcher_that_is_killed_takes_no_results_along(together):
    together.write("endless.yaml", ENDLESS)
    process = together.start("--progress", "plain", "run", "-c", "endless.yaml", "--no-report", "--out", "results")
    for line in process.stderr:
        if "mpi_all_reduce" in line:
            break
    time.sleep(0.3)
    process.kill()
    process.communicate(timeout=180)
    end = time.monotonic() + 150
    while not (together.path("results") / "run.json").exists() and time.monotonic() < end:
        time.sleep(0.1)
    points = together.results()["points"]
    assert points[0]["status"] == "ok"
    # Whether rank 0 was asked to stop before or after another rank was missed, is a race of processes.
    assert points[1]["status"] in ("interrupted", "error")


def test_sixty_four_ranks_on_few_cores(together):
    together.write("many.yaml", """\
schema: 1
target: {path: scratch, max_write: 200MiB}
workloads:
  - {use: small_file_read, files: 128, file_size: 8KiB, cache: asis, repeat: 2}
  - {use: mpi_all_reduce, message_size: 4KiB, calls: 3, repeat: 2}
""")
    together.under = mpirun(64)
    outcome = together.run("many.yaml")
    assert outcome.code == 0, outcome
    phase = together.results()["points"][0]["repetitions"][0]["phases"][0]
    assert len(phase["ranks"]) == 64
    assert phase["operations"] == 128


JOB = """\
schema: 1
job: small
cluster: {nodes: 1, gpus_per_node: 4}
step: {time: 10s, micro_batch: 1, accumulation: 4}
dataset: {layout: tokens, sample_size: 4096B}
model: {parameters: 1e6, layers: 4, hidden: 64, sequence_length: 128}
parallelism: {tensor: 2, pipeline: 2, tensor_time: 0.5}
"""

GROUPS = """\
schema: 1
target: {path: scratch}
defaults: {repeat: 2}
workloads:
  - {use: mpi_all_reduce, label: job, message_size: need, group: need, calls: 5}
  - {use: mpi_send_recv, label: job, message_size: need, group: need, calls: 5}
  - {use: mpi_all_to_all, label: job, message_size: need, group: need, calls: 5}
  - {use: mpi_all_reduce, label: groups, group: [intra_node, inter_node], message_size: [64B, 1MiB, 32MiB], calls: 3}
"""


def test_groups_and_sizes_follow_the_job(together):
    together.write("job.yaml", JOB)
    together.write("groups.yaml", GROUPS)
    together.under = mpirun(4)
    outcome = together.run("groups.yaml", "--job", "job.yaml")
    assert re.search(r"busbw +[0-9.]+ [kMG]?B/s  [0-9.]+ [kMG]?bit/s", outcome.out), outcome
    run = together.results()
    points = {p["id"]: p for p in run["points"]}
    activations = 128 * 64 * 2
    tensor = points["mpi_all_reduce/job/need:tensor_busbw"]
    assert tensor["params"]["message_size"] == activations
    assert tensor["group"] == {"ranks": 2, "nodes": 1, "groups": 2}
    stages = points["mpi_send_recv/job/need:pipeline_bandwidth"]
    assert stages["params"]["group_stride"] == 2 and stages["group"]["groups"] == 2
    assert not any(name.startswith("mpi_all_to_all") for name in points)  # no experts
    for point in (tensor, stages):
        factor = 1  # 2 (n-1)/n of two ranks; and of send_recv
        metrics = point["repetitions"][0]["metrics"]
        assert metrics["busbw"] == pytest.approx(factor * metrics["algbw"], rel=1e-6)
        assert "node_busbw" not in metrics
    inter = points["mpi_all_reduce/groups/group:inter_node/message_size:64B"]
    assert inter["status"] == "skipped" and inter["reason"].endswith("inter_node: all ranks are on one node")
    judged = {j["id"]: j for j in run["judgements"]}
    assert judged["network.tensor_busbw"]["point"] == tensor["id"], outcome
    assert judged["network.pipeline_bandwidth"]["measured"] > 0
    curve = next(c for c in run["collectives"] if c["workload"] == "mpi_all_reduce")
    assert curve["ranks"] == 4 and len(curve["sizes"]) == 3
    assert curve["bytes_per_s"]["low"] <= curve["bytes_per_s"]["value"]
    assert {p["need"] for p in curve["job"]} == {"network.tensor_busbw"}
    assert any("fitted over 3 sizes" in note for note in points["mpi_all_reduce/groups/group:intra_node/message_size:32MiB"]["notes"])


def test_the_proof_of_every_rank_counts(together):
    """One file of thirty is a hole: too little of all to be refused, but a tenth of what one rank reads."""
    mine = together.path("mine")
    mine.mkdir()
    for i in range(30):
        with open(mine / f"{i:03}", "wb") as file:
            file.write(os.urandom(65536) if i != 5 else b"")
            file.truncate(65536)
    os.sync()
    together.write("proof.yaml", """\
schema: 1
name: proof
target: {path: scratch}
workloads:
  - {use: shard_stream, path: mine, workers: 1, cache: cold, repeat: 1}
needs:
  - {id: shards, metric: shard_stream.read_bandwidth, at_least: 1kB/s}
""")
    result = together.run("proof.yaml", verb="qualify")
    assert result.code == 11, result
    judgement = together.results()["judgements"][0]
    assert judgement["reason"] == "cache-unproven", judgement
    cache = together.results()["points"][0]["repetitions"][0]["cache"]
    assert not cache["proven"] and cache["delivered_bytes"] == 30 * 65536, cache
    if cache["resident_before"] == 0 and cache["counter"]:  # a disk whose reads the kernel counts
        assert "rank 2" in cache["why"], cache
