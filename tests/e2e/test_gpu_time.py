"""How long the shipped configurations for GPUs take, and what a plan says before, by the clock of GPUs that are host memory."""

import pathlib
import re
import shutil

import pytest

from test_gpu_faults import fleet  # noqa: F401
from test_ranks import launched, mpirun

CONFIGS = pathlib.Path(__file__).parents[2] / "configs"
# Of a node with PCI Express 4, as plans are made for: links, peers and memory [B/s], and NCCL over NVLink.
NODE = ("* * memory 80000000000", "* * rate 25e9", "* * peer 200e9", "* * memory_rate 600e9", "* * product_ns 2000000",
        "* * nccl_busbw 150e9", "* * nccl_join_ms 1500")


def seconds(text):
    return sum(float(n) * {"h": 3600, "m": 60, "s": 1}[unit] for n, unit in re.findall(r"([\d.]+)(h|m|s)\b", text))


def planned(headrace, config, more, environment):
    """The least and the most that the plan says [s]."""
    done = headrace("run", "-c", str(config), "--dry-run", *more, **environment)
    (line,) = re.findall(r"^ *time +(.*)$", done.out, re.MULTILINE)
    low, _, high = line.split(",")[0].partition(" to ")
    return seconds(low), seconds(high or low)


def taken(headrace, config, more, environment):
    """[s] by the GPUs' clock, and the run."""
    folder = pathlib.Path(headrace.binary).parent
    for shared in ("clock", "nccl"):
        (folder / shared).unlink(missing_ok=True)
    environment = {**environment, "LD_PRELOAD": str(headrace.fakes / "fake_clock.so"),
                   "HEADRACE_FAKE_CLOCK": str(folder / "clock"), "HEADRACE_FAKE_NCCL": str(folder / "nccl")}
    process = headrace.start("run", "-c", str(config), "--no-report", "--out", "results", *more, **environment)
    out, err = process.communicate(timeout=600)
    run = headrace.results("run.json", "results")
    return sum(p["elapsed_s"] for p in run["points"]), run, (process.returncode, out, err)


@pytest.mark.long
@pytest.mark.parametrize("gpus, processes", [(2, 1), (8, 1), (8, 8)])
def test_nccl_moves_the_planned_bytes(headrace, fleet, together, gpus, processes):
    environment = fleet(f"* * count {gpus}", "* * hollow 1", *NODE)
    config = CONFIGS / "nccl.yaml"
    low, high = planned(headrace, config, [], environment)
    if processes > 1:
        together(processes)
    took, run, done = taken(headrace, config, [], environment)
    ran = [p for p in run["points"] if p["status"] == "ok"]
    print(f"nccl.yaml, {gpus} GPUs in {processes} processes: planned {low:.0f} to {high:.0f} s, took {took:.0f} s, {len(ran)} points")
    others = {p["id"]: (p["status"], p["reason"]) for p in run["points"] if p["status"] != "ok"}
    assert len(ran) >= 25 and "error" not in {status for status, _ in others.values()}, (others, done)
    assert took <= 600 and low / 2 <= took <= 2 * high


@pytest.mark.long
def test_eight_gpus_are_measured_within_ten_minutes(headrace, fleet):
    environment = fleet("* * count 8", "* * hollow 1", *NODE)
    config = CONFIGS / "gpu.yaml"
    workloads = re.findall(r"^  - use: (\w+)", config.read_text(), re.MULTILINE)
    more = ["--set", f"workloads.{workloads.index('gpu_burn')}.verify=false"]  # hollow GPUs make no products
    low, high = planned(headrace, config, more, environment)
    took, run, done = taken(headrace, config, more, environment)
    print(f"gpu.yaml, 8 GPUs: planned {low:.0f} to {high:.0f} s, took {took:.0f} s")
    others = {p["id"]: (p["status"], p["reason"]) for p in run["points"] if p["status"] != "ok"}
    assert {status for status, _ in others.values()} <= {"skipped"}, (others, done)
    # This machine has one NUMA node, and these GPUs read no files.
    assert {id.partition("/")[0] for id in others} <= {"gpu_decode", "h2d", "storage_to_gpu"} and len(others) <= 9, others
    assert took <= 600 and low / 2 <= took


@pytest.fixture
def together(headrace, monkeypatch):
    """`together(n)`: from then on headrace runs as that many processes."""
    def launch(processes):
        if not shutil.which("mpirun"):
            pytest.skip("no mpirun (Debian: openmpi-bin)")
        launched(headrace, monkeypatch)
        headrace.under = mpirun(processes)
    return launch


FAR = """\
schema: 1
name: far
target: {path: scratch}
defaults: {repeat: 1, rest: 0s}
workloads:
  - {use: nccl_all_reduce, message_size: 4000B, calls: 3}
  - {use: h2d, size: 64KiB, copies: 8}
"""


@pytest.mark.parametrize("cpu, far", [(0, "gpu1"), (1, "gpu0")])
def test_a_process_that_is_bound_far_from_a_gpu_says_so(headrace, fleet, cpu, far):
    nodes = headrace.path("nodes")
    for node in (0, 1):
        (nodes / f"node{node}").mkdir(parents=True)
        (nodes / f"node{node}/cpulist").write_text(f"{node}\n")
        (nodes / f"node{node}/distance").write_text(f"{10 + 10 * node} {20 - 10 * node}\n")
    (nodes / "online").write_text("0-1\n")
    headrace.write("far.yaml", FAR)
    environment = fleet("* * count 2", "* 0 numa_node 0", "* 1 numa_node 1")
    for bound in ([], ["taskset", "-c", str(cpu)]):
        headrace.under = ["unshare", "--mount", "sh", "-c", f"mount --bind {nodes} /sys/devices/system/node && exec \"$@\"", "sh", *bound]
        out = f"out{len(bound)}"
        done = headrace("run", "-c", "far.yaml", "--no-report", "--out", out, **environment)
        if "unshare" in done.err or "mount:" in done.err:
            pytest.skip("no mount namespace here: " + done.err.strip())
        assert done.code == 0, done
        nccl, copies = (" ".join(p["notes"]) for p in headrace.results("run.json", out)["points"])
        assert (f"bound to processors far from {far} at NUMA node" in nccl) == bool(bound), nccl
        assert ("may be used: start with mpirun --bind-to none" in copies) == bool(bound), copies


REDUCE = """\
schema: 1
name: reduce
target: {path: scratch}
defaults: {repeat: 2, rest: 0s}
workloads:
  - {use: nccl_all_reduce, message_size: 4000B, calls: 3%s}
"""


@pytest.mark.parametrize("more", ["", ", in_place: false", ", symmetric: true", ", buffer_offset: 4B, allocator: cuda"])
def test_a_wrong_element_is_named(headrace, fleet, more):
    headrace.write("reduce.yaml", REDUCE % more)
    for line, code in (("* * nccl_corrupts 3108", 1), ("* * nccl_busbw 1e9", 0)):
        done = headrace("run", "-c", "reduce.yaml", "--no-report", "--out", f"out{code}", **fleet("* * count 4", line))
        (point,) = headrace.results("run.json", f"out{code}")["points"]
        assert done.code == code, done
        wrong = re.search(r"rank 3 on \S+ \(gpu3\): wrong data: 1 of 1000 elements; element 777 \(byte 3108 of the result\) is", point["reason"] or "")
        assert bool(wrong) == (code == 1), point
