"""What sound hardware gives: reported before anything runs, beside what was measured, and with an exit code afterwards."""

import json

WORKLOADS = """\
schema: 1
name: parts
target: {path: scratch, max_write: 100MiB}
workloads:
  - {use: memory_copy, passes: 2, array_size: 16MiB, repeat: 6}
  - {use: memory_copy, label: one-core, workers: 1, passes: 2, array_size: 16MiB, repeat: 2}
"""
# Memory that no machine has, and memory that any machine reaches.
FAST = 'schema: 1\nrates:\n  - {part: memory, name: memory, rate: 90TB/s, source: "to see a finding"}\n'
SLOW = 'schema: 1\nrates:\n  - {part: memory, name: memory, rate: 10kB/s, source: "to see too much"}\n'


def figures(run):
    return {(e["point"], e["metric"]): e for e in run.get("expected", [])}


def test_reported_before_anything_runs(headrace):
    reported = headrace("doctor", "--expect", ".")
    assert reported.code == 0 and "memory: " in reported.out and "have a reference rate" in reported.out, reported
    document = json.loads(headrace("doctor", "--expect", ".", "--json").out)
    kinds = {part["kind"] for part in document["parts"]}
    assert {"disk", "memory"} <= kinds
    for part in document["parts"]:  # a rate, or why there is none
        assert part.get("bytes_per_s", 0) > 0 or part["how"], part
    headrace.write("fast.yaml", FAST)
    document = json.loads(headrace("doctor", "--expect", ".", "--json", "--expectations", "fast.yaml").out)
    figure = next(f for f in document["figures"] if f["metric"] == "memory_copy.copy_bandwidth")
    assert figure["far_below"] < figure["usual"][0] < figure["usual"][1] <= 90e12 and figure["source"]
    assert headrace("doctor", "--expect", "no-such-folder").code == 2
    assert "source:" in headrace("doctor", "--expect", "--show-table").out


def test_far_below_is_a_finding_and_no_verdict(headrace):
    headrace.write("parts.yaml", WORKLOADS)
    headrace.write("fast.yaml", FAST)
    result = headrace("run", "-c", "parts.yaml", "--out", "results", "--expectations", "fast.yaml")
    assert result.code == 0 and "VERDICT MEASURED" in result.out, result
    assert "compared with healthy hardware" in result.out and "far below, for even its upper bound" in result.out, result
    found = figures(headrace.results())
    assert list(found) == [("memory_copy", "copy_bandwidth")]  # one core alone is no measure of all channels
    figure = found["memory_copy", "copy_bandwidth"]
    assert figure["standing"] == "far below" and figure["share"] < 0.1 and figure["high"] < figure["far_below"] * 90e12
    if headrace.path("results/report.html").exists():
        page = headrace.path("results/report.html").read_text()
        assert "Compared with healthy hardware" in page and "far below" in page
    # The exit code is that of the question, asked of the stored run.
    asked = headrace("verdict", "results", "--expect")
    assert asked.code == 10 and asked.out.splitlines()[-1].startswith("EXPECT FAIL figures=1 "), asked
    document = json.loads(headrace("verdict", "results", "--expect", "--json").out)
    assert document["exit_code"] == 10 and document["figures"][0]["standing"] == "far below"


def test_stored_run_is_compared_with_another_table(headrace):
    headrace.write("parts.yaml", WORKLOADS)
    headrace.write("slow.yaml", SLOW)
    headrace.write("fast.yaml", FAST)
    assert headrace("run", "-c", "parts.yaml", "--out", "results", "--no-report", "--expectations", "slow.yaml").code == 0
    above = headrace("verdict", "results", "--expect")
    assert above.code == 11 and "more than it can carry" in above.out, above
    assert headrace("verdict", "results", "--expect", "--expectations", "fast.yaml").code == 10
    # With a job or without: what a job is judged by is not touched.
    assert json.loads((headrace.path("results") / "verdict.json").read_text())["summary"]["exit_code"] == 0


def test_a_wrong_table_is_reported_before_anything_runs(headrace):
    headrace.write("parts.yaml", WORKLOADS)
    headrace.write("wrong.yaml", 'schema: 1\nrates:\n  - {part: memry, name: memory, rate: 9GB/s, source: x}\n')
    for words in (["run", "-c", "parts.yaml"], ["run", "-c", "parts.yaml", "--check"], ["doctor", "--expect"]):
        result = headrace(*words, "--expectations", "wrong.yaml")
        assert result.code == 2 and "wrong.yaml:3:12" in result.err and "did you mean 'memory'?" in result.err, result
    headrace.write("wrong.yaml", "schema: 1\nfigures:\n  - {figure: shard_stream.read_bandwith, part: disk, usual: [0.9, 1], least: 0.7, source: x}\n"
                                 "  - {figure: shard_steam.read_bandwidth, part: disk, usual: [0.9, 1], least: 0.7, source: x}\n")
    for words in (["run", "-c", "parts.yaml"], ["doctor", "--expect"]):
        result = headrace(*words, "--expectations", "wrong.yaml")
        assert result.code == 2 and result.err.count("did you mean 'shard_stream.read_bandwidth'?") == 2 and "wrong.yaml:3:14" in result.err, result
    assert not headrace.path("headrace-runs").exists()
    result = headrace("verdict", "no-such-run", "--expect")
    assert result.code == 2 and "no-such-run" in result.err, result


def test_an_all_reduce_over_tcp_is_named(headrace):
    """Two nodes of eight H100 with RDMA, as a run stores them; only the time differs."""
    headrace.write("parts.yaml", WORKLOADS)
    assert headrace("run", "-c", "parts.yaml", "--out", "results", "--no-report").code == 0
    file = headrace.path("results/run.json")
    run = json.loads(file.read_text())
    links = {"kind": "nvlink", "model": "NVLink 4", "link": "", "bytes_per_s": 450e9, "how": "18 links of NVLink 4"}
    port = {"kind": "rdma_port", "model": "", "link": "InfiniBand", "bytes_per_s": 50e9, "how": "InfiniBand at 400 Gbit/s"}
    run["parts"] = [links | {"name": f"gpu{i}"} for i in range(8)] + [port | {"name": f"mlx5_{i}/1"} for i in range(8)]
    run["parts"].append({"kind": "ethernet_port", "name": "eth0", "model": "", "link": "", "bytes_per_s": 3.125e9, "how": ""})
    point = run["points"][0]
    run["points"], run["judgements"] = [point], []
    point |= {"id": "nccl_all_reduce", "workload": "nccl_all_reduce", "params": {"message_size": 1 << 30},
              "group": {"ranks": 16, "nodes": 2, "groups": 1}, "metrics": []}
    for seconds, standing, words in ((4.39e-3, "within", ""), (13.4e-3, "slower", "RDMA is in use"),
                                     (0.7, "slower", "may have fallen back from RDMA to TCP")):
        for repetition in point["repetitions"]:
            repetition["metrics"] = {"time_s": seconds}
        file.write_text(json.dumps(run))
        reported = headrace("verdict", "results", "--expect")
        assert "8 RDMA ports, 3200 Gbit/s" in reported.out and words in reported.out, reported
        one = json.loads(headrace("verdict", "results", "--expect", "--json").out)["all_reduce"][0]
        assert one["standing"] == standing and words in one["transport"] and bool(words) == bool(one["transport"]), one
