"""A job rehearsed over several nodes, started by mpirun: each step ends when the slowest node's has, and that node is named."""

import json
import os
import shutil
import subprocess

import pytest

BINARY = os.environ["HEADRACE"]
pytestmark = [pytest.mark.long, pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun (Debian: openmpi-bin)")]

JOB = """\
schema: 1
job: together
cluster: {nodes: 4, gpus_per_node: 1}
step: {time: 10ms, micro_batch: 4}
dataset: {layout: files, samples: 20000, sample_size: 16kB}
loader: {workers_per_gpu: 2}
"""
SAVES = "model: {parameters: 10e6}\ncheckpoint: {interval: 60s, stall: 30s, mode: sync}\n"

# One machine: no network is looked for, and waiting processes leave the processors to others.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp",
       "OMPI_MCA_mpi_yield_when_idle": "1", "RES_OPTIONS": "timeout:1 attempts:1"}
# Each process is a node: it has a host name of its own, and node 1 sees the storage through the faulty file system.
AS_NODE = """\
hostname "node$OMPI_COMM_WORLD_RANK"
if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then mount --bind "$SEEN_BY_1" "$STORAGE"; fi
exec "$@"
"""


def rehearse(folder, faults, *words, nodes=3, text=JOB, only=("input_pipeline/job",), out="out"):
    if "mpi       not" in subprocess.run([BINARY, "--version"], capture_output=True, text=True).stdout:
        pytest.skip("headrace was built without MPI")
    (folder / "job.yaml").write_text(text)
    out = folder / out
    environment = {**os.environ, **MPI, "SEEN_BY_1": str(faults.mount), "STORAGE": str(faults.backing)}
    under = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(nodes), "unshare", "--uts", "--mount", "sh", "-c", AS_NODE,
             "sh"]
    done = subprocess.run([*under, BINARY, "rehearse", "job.yaml", "--at", str(faults.backing / "scratch"), "--max-write", "64MiB",
                           *(word for point in only for word in ("--only", point)), "--out", str(out), "--no-report",
                           "--progress", "none", *words], cwd=folder, env=environment, text=True, capture_output=True,
                          timeout=400)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("hosts of other names, with mounts of their own, cannot be made here")
    assert done.returncode in (0, 10, 11), (done.stdout, done.stderr)
    run = json.loads((out / "run.json").read_text())
    return done, run, next(p for p in run["points"] if p["id"] == "input_pipeline/job")


def median(point, name):
    return next(m["median"] for m in point["metrics"] if m["name"] == name)


def test_node_with_slow_storage_is_named(tmp_path, counting_faults):
    """Node 1 has 12 ms for each file: its two workers read a batch of four in 24 ms at best, and a step takes 10 ms."""
    rehearse(tmp_path, counting_faults, "--budget", "8s", nodes=1, out="made")  # the data is there before it becomes slow
    counting_faults.set("delay f*.bin op=read ms=12")
    done, run, point = rehearse(tmp_path, counting_faults, "--budget", "20s", only=("input_pipeline/job", "small_file_read/job"))
    reported = run["rehearsal"]["nodes"]
    assert point["nodes"] == point["processes"] == reported["count"] == 3 and reported["of_job"] == 4, reported
    assert reported["holds_back"] and (reported["slowest_rank"]["rank"], reported["slowest_rank"]["host"]) == (1, "node1"), reported
    assert point["slowest_rank"]["rank"] == 1 and point["slowest_rank"]["host"] == "node1", point["slowest_rank"]
    words = " ".join(done.stdout.split())
    assert "3 nodes step together (the job has 4): rank 1 (node1) holds them back" in words, done.stdout
    # All get what it gets, and what is reported about the time is its own.
    assert reported["others_fraction"] > 0.3 and reported["least_others_fraction"] < reported["others_fraction"] / 2, reported
    assert run["rehearsal"]["utilization"]["high"] < 0.5 and median(point, "stall_fraction") > 0.5, run["rehearsal"]
    assert run["rehearsal"]["limit_by_times"] == "storage", run["rehearsal"]
    samples = [r["phases"][0]["ranks"] for r in point["repetitions"] if r["counted"]]
    assert all(len(ranks) == 3 for ranks in samples)
    whole = next(r for r in point["repetitions"] if r["counted"])
    steps, elapsed = whole["metrics"]["steps"], whole["phases"][0]["elapsed_s"]
    assert steps * 0.024 < 1.2 * elapsed, "no step of any node is shorter than the slow one's"
    # What storage alone would give three such nodes is what the slow one gives, three times.
    assert run["rehearsal"]["prediction"]["utilization"]["value"] < 0.6, run["rehearsal"]["prediction"]


def test_equal_nodes_delay_no_other(tmp_path, faults):
    done, run, point = rehearse(tmp_path, faults, "--budget", "12s", text=JOB.replace("10ms", "50ms"))
    if any(r["disturbance"]["disturbed"] for r in point["repetitions"]):
        pytest.skip("others use this machine: that may be what holds back one of the nodes")
    reported = run["rehearsal"]["nodes"]
    assert reported["count"] == 3 and (not reported["holds_back"] or reported["slowest_rank"]["rank"] != 1), reported
    if not reported["holds_back"]:
        assert "none holds the others back" in " ".join(done.stdout.split()), done.stdout


def test_checkpoints_and_a_trace_over_several_nodes(tmp_path, counting_faults):
    """Node 1 makes its shard durable late: all wait for it, in the step after the save."""
    counting_faults.set("delay *rank-* op=fsync ms=300")
    trace = tmp_path / "trace.json"
    done, run, point = rehearse(tmp_path, counting_faults, "--budget", "20s", "--trace", str(trace), nodes=2, text=JOB + SAVES,
                                only=("input_pipeline/job", "input_pipeline/no-checkpoint"))
    assert median(point, "saves") >= 1 and run["rehearsal"]["checkpoints"]["time_to_durable_s"] >= 0.3, run["rehearsal"]
    assert run["rehearsal"]["nodes"]["count"] == 2, run["rehearsal"]
    events = json.loads(trace.read_text())["traceEvents"]
    steps = [e for e in events if e.get("name") == "step"]
    waits = [e["dur"] for e in events if e.get("name") == "waits for other nodes"]
    assert steps and any(e.get("name") == "pauses for a checkpoint" for e in events)
    # Rank 0 saved at once, and was kept by the other for the rest of 300 ms.
    assert waits and max(waits) > 100e3, waits
    for step in steps:
        parts = [e for e in events if e.get("ph") == "X" and e.get("cat") == "gpu" and e["args"]["step"] == step["args"]["step"]
                 and e["name"] not in ("step", "pauses for a checkpoint")]
        assert sum(e["dur"] for e in parts) == pytest.approx(step["dur"], abs=0.01), (step, parts)
