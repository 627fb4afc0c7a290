"""What users write wrong: told with its place, all at once, exit code 2, and nothing is written."""

import json
import os
import re

import pytest

JOB = """\
schema: 1
job: example
cluster: {nodes: 2, gpus_per_node: 4}
step: {time: 200ms, micro_batch: 32}
dataset: {layout: files, sample_size: 130kB}
"""


def refused(headrace, result, *said):
    assert result.code == 2, result
    assert result.out == "", result
    for words in said:
        assert words in result.err, result
    left = {p.name for p in headrace.folder.iterdir() if p.is_dir()}
    assert not left & {"scratch", "results", "headrace-runs", "headrace-scratch"}, left


def test_no_verb(headrace):
    refused(headrace, headrace(), "--help")


def test_unknown_verb(headrace):
    refused(headrace, headrace("qualfy"), "no verb 'qualfy'", "did you mean 'qualify'?")


def test_unknown_option(headrace):
    refused(headrace, headrace("run", "-c", "tiny.yaml", "--frobnicate"), "--frobnicate")


def test_word_that_an_option_does_not_know(headrace):
    refused(headrace, headrace("require", "--format", "jso", "job.yaml"),
            "--format: 'jso' is not one of text, json, csv; did you mean 'json'?")


def test_missing_file(headrace):
    result = headrace.run("nowhere.yaml")
    refused(headrace, result, "nowhere.yaml: cannot be read: No such file or directory")
    assert len(result.err.splitlines()) == 1, result


def test_no_yaml(headrace):
    headrace.write("bad.yaml", "schema: [1\n")
    refused(headrace, headrace.run("bad.yaml"), "bad.yaml:2:")


def test_every_problem_at_once_with_its_place(headrace):
    headrace.write("bad.yaml", """\
schema: 1
workloads:
  - use: small_file_read
    quee_depth: 4
    file_size: 8
    engine: posix
    queue_depth: 4
  - use: smal_file_read
""")
    refused(headrace, headrace.run("bad.yaml"),
            "bad.yaml:4:5: small_file_read: unknown key 'quee_depth'; did you mean 'queue_depth'?",
            "bad.yaml:5:16: small_file_read: file_size: '8' needs a unit: B, kB, MB",
            "bad.yaml:7:18: small_file_read: queue_depth: engine posix keeps one request in flight",
            "bad.yaml:8:10: use: no workload 'smal_file_read'; did you mean 'small_file_read'?")


def test_duplicate_key(headrace):
    headrace.write("bad.yaml", "schema: 1\nname: a\nname: b\nworkloads: [{use: small_file_read}]\n")
    refused(headrace, headrace.run("bad.yaml"), "bad.yaml:3:1: duplicate key 'name' (first at line 2)")


@pytest.mark.parametrize("setting, said", [
    ("workloads.0.workers=0", "workers"),
    ("workloads.0.file_size=8Gbit/s", "file_size"),
    ("workloads.0.file_size=8KiBs", "file_size"),
    ("workloads.0.cache=hot", "'hot' is not one of: cold, warm, asis"),
    ("workloads.0.repeat=0", "repeat"),
    ("workloads.0.repeat=2.5", "whole number, 1..10000"),
    ("workloads.0.repeat=100000", "whole number, 1..10000"),
    ("workloads.0.engine=iouring", "did you mean 'io_uring'?"),
    ("target.max_write=4", "needs a unit"),
    ("target.pth=x", "did you mean 'path'?"),
    ("schema=2", "must be 1"),
])
def test_bad_value(headrace, setting, said):
    refused(headrace, headrace.run("tiny.yaml", "--set", setting), said)


@pytest.mark.parametrize("base, said", [
    (None, "cannot be read: No such file or directory"),
    ("", "is empty"),
    ("just words\n", "is no configuration: it must be a map of keys"),
    ("- a\n- b\n", "is no configuration: it must be a map of keys"),
])
def test_what_is_extended_must_be_a_configuration(headrace, base, said):
    if base is not None:
        headrace.write("base.yaml", base)
    headrace.write("bad.yaml", "schema: 1\nextends: base.yaml\nworkloads: [{use: host_facts}]\n")
    refused(headrace, headrace("validate", "-c", "bad.yaml"), "bad.yaml:2:10: extends: base.yaml: " + said)


def test_a_system_file_is_no_configuration(headrace):
    headrace.write("bad.yaml", "extends: /etc/passwd\nschema: 1\nworkloads: [{use: host_facts}]\n")
    refused(headrace, headrace("validate", "-c", "bad.yaml"), "/etc/passwd")


@pytest.mark.parametrize("words", [("validate", "-c", "bad.yaml"), ("validate", "-c", "secret"), ("validate", "--job", "secret"),
                                   ("require", "secret"), ("run", "-c", "secret")])
def test_no_line_of_another_file_is_repeated(headrace, words):
    headrace.write("secret", "machine of mine: hunter2\npassword hunter3: 1\n")
    headrace.write("bad.yaml", "extends: secret\nschema: 1\nworkloads: [{use: host_facts}]\n")
    outcome = headrace(*words)
    refused(headrace, outcome, "none of its keys is known")
    assert "hunter" not in outcome.err and "mine" not in outcome.err, outcome


def test_a_pipe_that_nobody_writes_is_not_waited_for(headrace):
    os.mkfifo(headrace.path("pipe"))
    headrace.write("bad.yaml", "schema: 1\nextends: pipe\nworkloads: [{use: host_facts}]\n")
    refused(headrace, headrace("validate", "-c", "bad.yaml"), "bad.yaml:2:10: extends: pipe: is empty")
    refused(headrace, headrace("validate", "-c", "pipe"), "pipe:1:1: schema: must be 1")


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))


@pytest.mark.parametrize("text, place, said", [
    (BOMB, "bad.yaml:5:5: ", "anchors and aliases make it larger than any configuration"),
    ("a:\n" + "- 1\n" * 200_001, "bad.yaml:20", "more than 200000 values"),
    ("# a comment\n" * 1_500_000, "bad.yaml:1398102:5: ", "larger than 16 MiB"),
    ("schema: 1\na: " + "[" * 5000, "bad.yaml:2:", "nested deeper than any configuration"),
    ("", "bad.yaml:1:1: ", "schema: must be 1"),
], ids=["aliases", "values", "bytes", "depth", "empty"])
def test_a_file_that_is_none_has_a_place(headrace, text, place, said):
    headrace.write("bad.yaml", text)
    result = headrace("validate", "-c", "bad.yaml")
    refused(headrace, result, said)
    assert result.err.startswith(place), result


def test_a_sweep_of_lists_is_told_once_by_its_cause(headrace):
    headrace.write("bad.yaml", "schema: 1\nworkloads:\n  - use: shard_stream\n    block_size: [[4KiB, 8KiB], 1MiB]\n")
    result = headrace("validate", "-c", "bad.yaml")
    refused(headrace, result, "bad.yaml:4:18: block_size: a sweep lists single values")
    assert len(result.err.splitlines()) == 1, result


def test_a_name_must_fit_a_folder(headrace):
    headrace.write("bad.yaml", f"schema: 1\nname: {'n' * 5000}\nworkloads: [{{use: host_facts}}]\n")
    refused(headrace, headrace("validate", "-c", "bad.yaml"), "bad.yaml:2:7: name: 5000 bytes; at most 200")
    headrace.write("good.yaml", f"schema: 1\nname: {'n' * 200}\ntarget: {{path: s}}\nworkloads: [{{use: host_facts}}]\n")
    assert headrace("run", "-c", "good.yaml", "--no-report").code == 0
    long = headrace.write("n" * 245 + ".yaml", "schema: 1\ntarget: {path: s}\nworkloads: [{use: host_facts}]\n")
    assert headrace("run", "-c", long, "--no-report").code == 0


def test_a_need_that_everything_meets(headrace):
    need = "{id: rate, metric: small_file_read.sample_rate, at_least: 0/s}"
    headrace.write("bad.yaml", f"schema: 1\nneeds: [{need}]\nworkloads: [{{use: small_file_read}}]\n")
    refused(headrace, headrace("validate", "-c", "bad.yaml"), "bad.yaml:2:", "at_least: 0/s is met by whatever is measured")


@pytest.mark.parametrize("option", ["--budget=1e300s", "--budget=0s"])
def test_a_time_that_is_none(headrace, option):
    refused(headrace, headrace.run("tiny.yaml", option), "--budget: ", "allowed: a time such as 20min")


def test_direct_needs_aligned_blocks(headrace):
    headrace.write("bad.yaml", "schema: 1\nworkloads: [{use: shard_stream, direct: true, block_size: 1000B}]\n")
    refused(headrace, headrace.run("bad.yaml"), "block_size: direct reads are multiples of 4KiB")


def test_nothing_matches(headrace):
    refused(headrace, headrace.run("tiny.yaml", "--only", "shard*"), "matches no point")


def test_qualify_needs_something_to_judge(headrace):
    refused(headrace, headrace.run("tiny.yaml", verb="qualify"), "nothing to judge")


@pytest.mark.parametrize("change, said", [
    ("step: {time: 200}", "needs a unit"),
    ("step: {time: 200ms, micro_bach: 3}", "did you mean 'micro_batch'?"),
    ("step: {time: 10GB}", "time"),
    ("parallelism: {tensor: 3}", "8"),
    ("checkpoint: {interval: 10s, stall: 60s}", "stall"),
    ("safety: -1", "safety"),
    ("step: {time: 200ms, time: 300ms}", "duplicate key 'time'"),
])
def test_bad_job(headrace, change, said):
    key = change.split(":")[0]
    kept = [line for line in JOB.splitlines() if not line.startswith(key + ":")]
    headrace.write("job.yaml", "\n".join([*kept, change]) + "\n")
    refused(headrace, headrace("require", "job.yaml"), "job.yaml:", said)


def test_run_folders_are_never_overwritten(headrace):
    assert headrace.run("tiny.yaml").code == 0
    before = headrace.path("results/run.json").read_bytes()
    again = headrace.run("tiny.yaml")
    assert again.code == 2 and "never overwritten" in again.err, again
    assert headrace.path("results/run.json").read_bytes() == before


@pytest.mark.parametrize("words", [["require", "no-such-job.yaml"], ["list", "smal_file_read"], ["report", "nowhere"],
                                   ["formula", "no_such_formula"], ["clean", "/usr"]])
def test_other_verbs(headrace, words):
    refused(headrace, headrace(*words))


def test_report_of_a_run_file_that_is_not_good(headrace):
    headrace.write("run.json", '{"schema": 1, "points": 3}')
    result = headrace("report", "run.json")
    assert result.code == 2 and "run.json" in result.err, result
    assert not headrace.path("report.html").exists()


@pytest.mark.parametrize("words, said", [
    (["--verison"], "headrace: no option '--verison'; did you mean '--version'?"),
    (["run", "--onyl", "x"], "headrace run: no option '--onyl'; did you mean '--only'?"),
    (["size", "job.yaml", "--rnus", "x"], "headrace size: no option '--rnus'; did you mean '--runs'?"),
    (["judge", "run"], "headrace judge: JOB is required (headrace help judge tells more)"),
    (["--colour", "never", "list"], "headrace list: no option '--colour'; did you mean '--color'?"),
    (["list", "small_file_read", "another"], "headrace list: 'another' was not expected"),
])
def test_words_that_are_not_known(headrace, words, said):
    result = headrace(*words)
    refused(headrace, result, said)
    assert len(result.err.splitlines()) == 1, result


def test_a_unit_in_other_capitals_is_told(headrace):
    headrace.write("job.yaml", JOB.replace("130kB", "130KB"))
    refused(headrace, headrace("require", "job.yaml"), "'130KB' unknown unit 'KB'; did you mean kB?")
    headrace.write("job.yaml", JOB.replace("130kB", "130xyz"))
    result = headrace("require", "job.yaml")
    refused(headrace, result, "unknown unit 'xyz'")
    assert "did you mean" not in result.err, result


def test_a_wrong_default_is_told_once(headrace):
    headrace.write("bad.yaml", "schema: 1\ndefaults: {chache: cold}\nworkloads: [{use: small_file_read, workers: [1, 2, 3, 4]}]\n")
    result = headrace("validate", "-c", "bad.yaml")
    refused(headrace, result, "bad.yaml:2:12: unknown key 'chache'; did you mean 'cache'?")
    assert len(result.err.splitlines()) == 1, result


def test_several_settings_after_one_option(headrace):
    """Alike in every verb that has --set: two settings at once are the same as one by one."""
    headrace.write("job.yaml", JOB)
    together, alone = (headrace("require", *words, "--json") for words in (
        ["--set", "step.time=100ms", "step.micro_batch=8", "job.yaml"],
        ["--set", "step.time=100ms", "--set", "step.micro_batch=8", "job.yaml"]))
    assert together.code == 0 and together.out == alone.out, (together, alone)
    assert together.out != headrace("require", "--set", "step.time=100ms", "job.yaml", "--json").out
    planned = [headrace("plan", "-c", "tiny.yaml", *words) for words in (
        ["--set", "workloads.0.workers=4", "workloads.0.files=50"], ["--set", "workloads.0.workers=4", "--set", "workloads.0.files=50"])]
    assert planned[0].code == 0 and planned[0].out == planned[1].out, planned
    assert headrace.run("tiny.yaml").code == 0
    sized = [headrace("size", "job.yaml", "--runs", "results", *words) for words in (
        ["--set", "step.time=1s", "step.micro_batch=8"], ["--set", "step.time=1s", "--set", "step.micro_batch=8"])]
    assert (sized[0].code, sized[0].out, sized[0].err) == (sized[1].code, sized[1].out, sized[1].err), sized
    assert "not expected" not in sized[0].err, sized
    for result in (headrace("plan", "-c", "tiny.yaml", "--set", "workloads.0.workers=4", "nonsense"),
                   headrace("require", "job.yaml", "--set", "step.time=100ms", "step.tme=3ms")):
        assert result.code == 2 and ("nonsense" in result.err or "did you mean 'time'" in result.err), result


def test_a_place_that_is_not_there(headrace):
    refused(headrace, headrace("doctor", "/nonexist"), "doctor: /nonexist: No such file or directory")


@pytest.mark.parametrize("words", [("require",), ("size",), ("judge", "nowhere")])
def test_a_configuration_where_a_job_is_due(headrace, words):
    result = headrace(*words, "tiny.yaml")
    refused(headrace, result, "tiny.yaml: this is a configuration, no job: a job says what is trained")
    assert len(result.err.splitlines()) == 1, result


def test_a_folder_where_a_job_is_due(headrace):
    headrace.path("jobs").mkdir()
    for verb in ("require", "size", "plan"):
        result = headrace(verb, "jobs")
        refused(headrace, result, "jobs")
        assert len(result.err.splitlines()) == 1, result


def test_points_that_are_left_measure_no_need(headrace):
    headrace.write("job.yaml", JOB)
    result = headrace("qualify", "job.yaml", "--only", "shard_stream", "--max-write", "1GiB")
    refused(headrace, result, "measure none of the job's needs", "--only")
    assert "give a job" not in result.err, result


def test_what_of_a_page_goes_to_paper(headrace):
    refused(headrace, headrace("report", "nowhere", "--print", "ful"), "--print: 'ful' is not one of", "did you mean 'full'?")


@pytest.mark.parametrize("config", ["rdma", "nccl"])
def test_plan_tells_the_time_of_a_fabric(headrace, config):
    """It does not grow with the nodes, so that it stays below twenty minutes on all of them."""
    path = os.path.join(os.path.dirname(__file__), "../../configs", config + ".yaml")
    told = headrace("plan", "-c", path).out
    assert re.search(r"^time +\S.* to .*however many ranks take part", told, re.M), told
    points = json.loads(headrace("plan", "-c", path, "--json").out)["points"]
    assert all("repetition_s" in p for p in points if p["workload"] != "network_ports"), points
    assert 0 < sum(p.get("repetition_s", 0) * p["looks"][-1] for p in points) < 1200


def test_plan_tells_the_time_of_eight_gpus(headrace):
    """Ten minutes at most, with as many repetitions as there can be; who cannot know its time keeps to its budget."""
    path = os.path.join(os.path.dirname(__file__), "../../configs/gpu.yaml")
    told = headrace("plan", "-c", path).out
    assert re.search(r"^time +\S.* to .*as with eight GPUs", told, re.M), told
    points = json.loads(headrace("plan", "-c", path, "--json").out)["points"]
    untold = {p["workload"] for p in points if "repetition_s" not in p}
    assert untold == {"gpu_decode", "storage_to_gpu"}
    most = [p["budget_s"] if "repetition_s" not in p else
            p["around_s"] + min(p["repetition_s"] * p["looks"][-1], p["budget_s"] + p["repetition_s"]) for p in points]
    assert 60 < sum(most) <= 600, list(zip((p["id"] for p in points), most))
