"""A job's input pipeline rehearsed: what is planned, what is refused, and what must not be said."""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
JOBS = ROOT / "configs/jobs"

JOB = """\
schema: 1
job: small
cluster: {nodes: 1, gpus_per_node: GPUS}
step: {time: STEP, micro_batch: 4}
dataset: {layout: files, samples: 4000, sample_size: 8kB, cpu_time_per_sample: DECODE}
loader: {workers_per_gpu: 2}
"""


def job(headrace, step, decode="10us", gpus=1, **more):
    text = JOB.replace("STEP", step).replace("DECODE", decode).replace("GPUS", str(gpus))
    for key, value in more.items():
        text = text.replace(key.upper(), value)
    return headrace.write("job.yaml", text)


def disturbed(run):
    return any(r["disturbance"]["disturbed"] for point in run["points"] for r in point["repetitions"])


def point_of(run, label):
    return next((p for p in run["points"] if p["id"] == f"input_pipeline/{label}"), None)


def need_a_rehearsal(run):
    """Skips where others left this machine no time for two steps of the job's own point. A quiet machine has that time."""
    own = point_of(run, "job")
    if "rehearsal" not in run and (disturbed(run) or own is None or "is exhausted" in own["reason"]):
        pytest.skip("this machine had no time for the job's own point")


def proven(point, metric):
    """The values of the repetitions that conclusions are drawn from."""
    return [r["metrics"][metric] for r in (point or {}).get("repetitions", ())
            if r["counted"] and r["cache"]["proven"] and metric in r["metrics"]]


def median_of(run, label, metric):
    return next((m["median"] for m in point_of(run, label)["metrics"] if m["name"] == metric), 0)


def rehearse(headrace, file, *words, budget="6s", out="out"):
    result = headrace("rehearse", file, "--at", "scratch", "--budget", budget, "--max-write", "16MiB", "--no-report", "--out",
                      out, *words)
    run = headrace.results(out=out)
    need_a_rehearsal(run)
    assert result.code in (0, 10, 11, 12), result
    return result, run


def planned(headrace, *words):
    result = headrace("rehearse", *words, "--dry-run", "--json")
    assert result.code == 0, result
    plan = json.loads(result.out)
    return {p["id"]: p["params"] for p in plan["points"]}, plan


def test_the_pipeline_is_the_jobs(headrace):
    points, plan = planned(headrace, str(JOBS / "resnet50-imagenet.yaml"), "--max-write", "4GiB")
    own = points["input_pipeline/job"]
    assert own["gpus"] == 8 and own["workers"] == 64 and own["loader"] == "pytorch" and own["prefetch_factor"] == 2, own
    assert own["file_size"] == 130_000 and own["cpu_time_per_sample"] == 0.01, own
    # As many samples per second, whatever the batch.
    assert own["batch_size"] / own["step_time"] == pytest.approx(256 / 0.2), own
    assert own["files"] / own["batch_size"] / 8 >= 16, "enough steps"
    assert own["settled"], "what a long epoch gives, and not its first batches"
    assert [n["id"] for n in plan["needs"]] == ["wall_clock_utilization"] and plan["needs"][0]["need"] == 0.9, plan["needs"]
    assert own["epoch_steps"] == 1_281_167 // (8 * 256), own
    if os.path.exists("/dev/nvidiactl"):
        assert own["gpu_copy"] == 602_112, own
    else:
        assert own["gpu_copy"] == 0 and "copies to GPUs are not rehearsed: there is none here" in plan["remarks"], plan["remarks"]
    alone = points["small_file_read/job"]
    assert all(alone[key] == own[key] for key in ("files", "file_size", "workers", "loader", "read_profile")), (alone, own)


def test_counter_experiments_change_one_thing(headrace):
    points, _ = planned(headrace, str(JOBS / "resnet50-imagenet.yaml"))
    own, free = points["input_pipeline/job"], points["input_pipeline/no-step"]

    def differences(a, b):
        return {key for key in a.keys() | b.keys() if a.get(key) != b.get(key)}
    assert differences(own, free) == {"step_time"} and free["step_time"] == 0
    assert differences(free, points["input_pipeline/no-decode"]) == {"cpu_time_per_sample"}
    assert differences(free, points["input_pipeline/double-workers"]) == {"workers"}
    assert differences(free, points["input_pipeline/in-memory"]) == {"source"}


def test_other_layouts(headrace):
    shards, _ = planned(headrace, str(JOBS / "image-generation-webdataset.yaml"))
    own = shards["input_pipeline/job"]
    assert own["layout"] == "shards" and own["loader"] == "pytorch_iterable" and own["read_profile"] == "wds", own
    assert own["files"] >= shards["input_pipeline/double-workers"]["workers"], "a shard for each of twice the workers"
    tokens, _ = planned(headrace, str(JOBS / "llama3-8b.yaml"))
    assert tokens["input_pipeline/job"]["layout"] == "indexed" and tokens["input_pipeline/job"]["engine"] == "mmap"
    assert "input_pipeline/no-decode" not in tokens, "nothing is decoded"
    records, _ = planned(headrace, str(JOBS / "mlperf-resnet50-h100.yaml"))
    own = records["input_pipeline/job"]
    assert own["layout"] == "shards" and own["loader"] == "tfdata" and own["read_profile"] == "ranged", own


@pytest.mark.parametrize("codec", ["jpeg", "png", "npz"])
def test_bad_files_can_be_passed_over(headrace, codec):
    """Every point but the one that decodes nothing passes over what cannot be decoded."""
    own = headrace.path("own")
    own.mkdir()
    for number in range(40):
        (own / f"{number}.{codec}").write_bytes(os.urandom(8000))
    file = headrace.write("job.yaml", JOB.replace("STEP", "5ms").replace("GPUS", "1").replace(
        "samples: 4000, sample_size: 8kB, cpu_time_per_sample: DECODE", f"samples: 40, sample_size: 8kB, codec: {codec}").replace(
        "workers_per_gpu: 2", "workers_per_gpu: 1, on_error: skip"))
    points, _ = planned(headrace, file, "--data", "own", "--at", "scratch")
    assert points["input_pipeline/job"]["on_error"] == "skip", points
    assert points["input_pipeline/no-decode"]["codec"] == "none", points
    assert points["input_pipeline/no-decode"]["on_error"] == "fail", points


def test_a_rehearsal_is_of_a_job(headrace):
    result = headrace("rehearse", "-c", "tiny.yaml")
    assert result.code == 2 and "rehearse: give a job and no configuration" in result.err, result


def test_gpus_that_take_little_are_not_reported_that_storage_limits(headrace):
    result, run = rehearse(headrace, job(headrace, "400ms"))
    reported = run["rehearsal"]
    waits = reported["stall_fraction"] >= 0.05 and disturbed(run)  # others held the machine up until GPUs starved
    if not waits:
        assert reported["limit"] in ("gpus", "unknown"), reported
        assert not re.search("(storage|decoding|workers) is the limit", reported["sentence"]), reported["sentence"]
    if not disturbed(run):
        assert reported["limit_by_times"] == "gpus" and reported["utilization"]["value"] > 0.9, reported
    alone = next(p for p in run["points"] if p["id"] == "small_file_read/job")
    # The last one: a machine that others use may have no time left for it.
    if proven(alone, "sample_rate") and proven(point_of(run, "job"), "accelerator_utilization"):
        assert reported["prediction"]["from"] == "small_file_read/job", reported
        # Ten samples a second are few for any storage.
        assert reported["prediction"]["utilization"]["value"] > (0.5 if disturbed(run) else 0.9), reported
    assert " ".join(reported["sentence"].split()) in " ".join(result.out.split()), result.out
    for metric in ("accelerator_utilization", "dlio_utilization", "ideal_share", "step_latency_p50_ns"):
        assert any(m["name"] == metric for m in run["points"][0]["metrics"]), metric
    # An epoch of 1000 steps begins with the wait for the first one, and that is judged.
    assert run["judgements"][0]["metric"] == "input_pipeline.wall_clock_utilization", run["judgements"][0]
    whole = next(p for p in run["points"] if p["id"] == "input_pipeline/job")
    step, steps = whole["params"]["step_time"], whole["params"]["epoch_steps"]
    seen_at_work = [r["metrics"] for r in whole["repetitions"] if "wall_clock_utilization" in r["metrics"]]
    assert seen_at_work, whole["repetitions"]
    for seen in seen_at_work:
        busy = min(1, seen["accelerator_utilization"])
        wall = seen["first_step_wait_s"] + step + (steps - 1) * step / busy
        assert steps == 1000 and seen["wall_clock_utilization"] == pytest.approx(steps * step / wall, rel=1e-6), seen


def test_sizing_reports_how_good_predictions_have_been_here(headrace):
    file = job(headrace, "100ms")
    plain = headrace("qualify", file, "--at", "scratch", "--budget", "5s", "--max-write", "16MiB", "--no-report", "--out", "plain",
                     "--only", "small_file_read/job")
    assert plain.code in (0, 10, 11, 12), plain
    sized = headrace("size", file, "--runs", "plain", "--json")
    assert "predictions" not in json.loads(sized.out), "nothing was rehearsed"
    words = ("--only", "input_pipeline/job", "--only", "small_file_read/job", "--looks", "1")
    reported = [rehearse(headrace, file, *words, budget="5s", out=out)[1]["rehearsal"].get("prediction") for out in ("r1", "r2")]
    runs = [f"r{i + 1}" for i, one in enumerate(reported) if one]
    if not runs:
        pytest.skip("others use this machine: storage alone was not measured in time")
    sized = headrace("size", file, "--runs", "plain", *(w for run in runs for w in ("--runs", run)), "--json")
    (record,) = json.loads(sized.out)["predictions"]
    assert [r["error"] for r in record["rehearsals"]] == [one["error"] for one in reported if one], record
    assert record["worst_error"] == max((r["error"] for r in record["rehearsals"]), key=abs), record
    words = " ".join(headrace("size", file, "--runs", "plain", *(w for run in runs for w in ("--runs", run))).out.split())
    assert "predicted " + " ".join(record["told"].split()) in words, words


def test_a_job_that_decodes_for_long_is_not_reported_that_storage_limits(headrace):
    result, run = rehearse(headrace, job(headrace, "10ms", decode="30ms"))
    reported = run["rehearsal"]
    # Two workers decode 67 samples/s, whatever the machine; the GPU takes 400.
    reads, decodes = (median_of(run, "job", f"{stage}_share") for stage in ("reading", "decoding"))
    if not disturbed(run):
        assert decodes > reads and reported["stall_fraction"] > 0.8, reported
        assert reported["limit"] in ("decoding", "workers", "unknown"), reported
        assert "storage is the limit" not in reported["sentence"], reported
    assert decodes > 0 and reported["limit"] != "gpus", reported
    if decodes > reads:  # others may keep the disk busy until reads take longer than 30 ms
        assert reported["limit_by_times"] in ("decoding", "host"), reported
        assert reported["limit_by_times"] == "decoding" or reported["host_fraction"] > reported["stall_fraction"], reported
    assert reported["utilization"]["value"] < 0.4, reported
    assert reported["stall_fraction"] + reported["host_fraction"] > 0.5, reported
    # Each has read one more sample than it decoded when the time ends.
    if loader := reported["sample_rates"].get("loader"):
        assert loader["value"] <= (100 if disturbed(run) else 70), reported
    else:
        assert not proven(point_of(run, "no-step"), "sample_rate"), reported
    assert result.code in (10, 11) and run["judgements"][0]["outcome"] in ("FAIL", "INCONCLUSIVE"), result
    assert run["judgements"][0]["metric"] == "input_pipeline.wall_clock_utilization"


def test_a_process_that_is_busy_taking_batches_limits(headrace):
    file = headrace.write("job.yaml", JOB.replace("STEP", "20ms").replace("DECODE", "10us").replace("GPUS", "1")
                          .replace("{workers_per_gpu: 2}", "{workers_per_gpu: 2, cpu_time_per_batch: 60ms}"))
    result, run = rehearse(headrace, file)
    reported = run["rehearsal"]
    # The process that takes batches is always busy, unless others keep the disk or the processors from filling its queue.
    taking = proven(point_of(run, "no-step"), "taking_share")
    assert disturbed(run) or statistics.median(taking) >= 0.9, taking
    if taking and statistics.median(taking) >= 0.9:
        assert reported["limit"] == "processes" and "taking batches is the limit" in reported["sentence"], reported
    assert result.code in (10, 11) and reported["utilization"]["value"] < 0.6, result  # three steps' time for each


def test_a_loader_that_keeps_requests_in_flight(headrace):
    file = job(headrace, "40ms")
    words = ("--set", "job.loader.kind=in_flight")
    points, _ = planned(headrace, file, *words)
    own, alone = points["input_pipeline/job"], points["small_file_read/job"]
    assert own["loader"] == "in_flight" and own["engine"] == alone["engine"] == "io_uring" and own["batch_size"] > 1, own
    assert own["queue_depth"] == alone["queue_depth"] > 1 and own["prefetch_factor"] == 2, own
    result, run = rehearse(headrace, file, *words, "--only", "input_pipeline/job", "--looks", "1", budget="5s")
    point = run["points"][0]
    if point["status"] == "skipped":
        pytest.skip(point["reason"])
    assert point["status"] == "ok" and run["rehearsal"]["utilization"]["value"] > (0 if disturbed(run) else 0.2), result


def test_several_gpus_step_together(headrace):
    _, run = rehearse(headrace, job(headrace, "200ms", gpus=2), "--only", "input_pipeline/job")
    point = run["points"][0]
    assert point["params"]["gpus"] == 2 and point["workers"] == 5, "two workers for each, and the GPUs"
    assert "rehearsal" in run and "prediction" not in run["rehearsal"], "storage alone was not measured"
    assert run["rehearsal"]["sample_rates"].keys() == {"taken"}, run["rehearsal"]


def test_a_file_that_cannot_be_read_is_named(headrace):
    data = headrace.path("mine")
    data.mkdir()
    for number in range(200):
        (data / f"{number}.jpg").write_bytes(bytes(8000))
    fine, _ = rehearse(headrace, job(headrace, "40ms"), "--data", "mine", "--only", "input_pipeline/job", "--looks", "1")
    assert "failed" not in fine.out, fine
    assert len(list(data.iterdir())) == 200, "it is only read"


def test_the_page_reports_it(headrace):
    file = job(headrace, "40ms")
    result = headrace("rehearse", file, "--at", "scratch", "--budget", "5s", "--max-write", "16MiB", "--out", "out", "--looks", "1")
    if "not drawn" in result.out:
        pytest.skip("no report maker here")
    need_a_rehearsal(headrace.results(out="out"))
    page = headrace.path("out/report.html").read_text()
    assert 'id="rehearsal"' in page and "GPUs compute" in page
    figures = ("rehearsal-shares", "rehearsal-occupancy", "rehearsal-steps")
    assert all(f'id="{name}"' in page for name in figures)
    # A run from before steps were stored reports its sentences alone.
    run = json.loads(headrace.path("out/run.json").read_text())
    for point in run["points"]:
        point.pop("steps", None)
    del run["rehearsal"]["point"]
    headrace.write("old.json", json.dumps(run))
    old = headrace("report", "old.json", "-o", "old.html")
    assert old.code == 0, old
    page = headrace.path("old.html").read_text()
    assert "GPUs compute" in page and not any(f'id="{name}"' in page for name in figures)


def test_a_benchmarks_rules_that_a_small_run_breaks_are_reported(headrace):
    """A run of seconds cannot keep MLPerf's rules; which it keeps is reported by what it did."""
    resnet = str(JOBS / "mlperf-resnet50-h100.yaml")
    points, _ = planned(headrace, resnet, "--rules", "mlperf-v2", "--set", "job.cluster.gpus_per_node=1")
    own = points["input_pipeline/job"]
    assert own["batch_size"] == 400 and own["step_time"] == pytest.approx(0.224), "the benchmark's own batches"
    file = job(headrace, "10ms", decode="1ms")
    result, run = rehearse(headrace, file, "--rules", "mlperf-v2")
    checks = {c["rule"]: c for c in run["rehearsal"]["rules"]["checks"]}
    assert list(checks) == ["workload", "batch", "prefetch", "data_set", "steps", "runs", "caches", "utilization",
                            "replicated"], checks
    assert checks["batch"]["kept"], checks
    assert not checks["workload"]["kept"] and not checks["data_set"]["kept"], checks
    whole = next(p for p in run["points"] if p["id"] == "input_pipeline/job")
    assert whole["params"]["cpu_time_per_sample"] == 0, "the benchmark decodes nothing"
    steps = 1 + min(next(m for m in whole["metrics"] if m["name"] == "steps")["values"])
    assert checks["steps"]["kept"] == (steps >= 500), (steps, checks["steps"])
    words = " ".join(result.out.split())
    assert "it is no result of that benchmark" in words and "broken (data_set): a data set of 5 times" in words, result.out


def rules_of(headrace, file, *words, at="scratch", room="16MiB", out="out"):
    result = headrace("rehearse", file, "--rules", "mlperf-v3", "--only", "input_pipeline/job", "--at", at, "--budget", "6s",
                      "--max-write", room, "--looks", "1", "--no-report", "--out", out, *words)
    run = headrace.results(out=out)
    need_a_rehearsal(run)
    assert result.code in (0, 10, 11, 12), result
    checks = run["rehearsal"]["rules"]["checks"]
    return " ".join(result.out.split()), {c["rule"]: c for c in checks}


def test_job_of_the_benchmark_keeps_the_planned_rules(headrace):
    words, checks = rules_of(headrace, str(JOBS / "mlperf-retinanet-b200.yaml"), "--set", "job.cluster.gpus_per_node=1",
                             "--set", "job.loader.workers_per_gpu=1", room="64MiB")
    assert all(checks[rule]["kept"] for rule in ("workload", "taken", "batch", "prefetch")), checks
    assert checks["workload"]["told"] == "the job is the benchmark's retinanet_b200", checks
    for rule in ("workload", "taken", "batch", "prefetch"):
        assert f"broken ({rule})" not in words, words


def test_each_rule_that_a_run_broke_is_named(headrace):
    """Nothing feeds 6.4 million samples/s; there is one run, of a few steps, with half of its batches."""
    file = headrace.write("broken.yaml", JOB.replace("STEP", "10us").replace("DECODE", "10us").replace("GPUS", "1")
                          .replace("micro_batch: 4", "micro_batch: 64").replace("workers_per_gpu: 2", "workers_per_gpu: 2, prefetch_factor: 3"))
    words, checks = rules_of(headrace, file, room="1MiB")
    assert list(checks) == ["workload", "taken", "batch", "prefetch", "data_set", "steps", "runs", "caches", "utilization",
                            "replicated"], checks
    for rule in checks:
        assert rule == "caches" or (not checks[rule]["kept"] and f"broken ({rule})" in words), (rule, checks[rule], words)
    # What is only for planning is no workload that results are taken of.
    words, checks = rules_of(headrace, str(JOBS / "mlperf-dlrm-b200.yaml"), "--set", "job.cluster.gpus_per_node=1", out="planning")
    assert checks["workload"]["kept"] and "broken (taken)" in words and "dlrm_b200, which is for planning alone" in words, words


def test_a_benchmarks_checkpoints_are_saved_and_read_by_its_rules(headrace):
    saved = headrace("rehearse", str(JOBS / "mlperf-checkpoint-llama3-70b.yaml"), "--rules", "mlperf-v3", "--at", "scratch",
                     "--max-write", "24MiB", "--budget", "80s", "--no-report", "--out", "out")
    assert saved.code in (0, 10, 11, 12), saved
    run = headrace.results(out="out")
    assert [p["id"] for p in run["points"]] == ["checkpoint_write/job", "checkpoint_read/job"], run["points"]
    for point in run["points"]:
        assert sum(r["counted"] for r in point["repetitions"]) == 10, point["id"]
    rules = run["rehearsal"]["rules"]
    checks = {c["rule"]: c for c in rules["checks"]}
    assert list(checks) == ["workload", "ranks", "ranks_on_host", "size", "saves", "reads", "fsync", "caches"], checks
    # One host does not stand for 64 ranks of 3.0, and 24 MiB are no 912 GiB.
    assert {rule for rule in checks if not checks[rule]["kept"]} - {"caches"} == {"ranks", "size"}, checks
    words = " ".join(saved.out.split())
    assert "broken (ranks): 64 ranks save: 8 on 1 host" in words and "broken (size): these ranks save and read 122 GB" in words, words
    assert "10 checkpoints saved: each in" in words and "it is no result of that benchmark" in words, words
    durable = next(m for m in run["points"][0]["metrics"] if m["name"] == "time_to_durable_s")["values"]
    assert rules["saves"]["count"] == 10 and rules["saves"]["each_s"] == pytest.approx(sum(durable) / 10), rules
    assert {n["id"] for n in run["judgements"]} == {"checkpoint.write_bandwidth", "checkpoint.restore_bandwidth"}, run["judgements"]


def test_checkpoints_without_room_are_refused(headrace):
    result = headrace("rehearse", str(JOBS / "mlperf-checkpoint-llama3-8b.yaml"), "--rules", "mlperf-v2", "--dry-run",
                      "--max-write", "64KiB")
    assert result.code == 2 and "a checkpoint of 8 ranks does not fit what may be written" in " ".join(result.err.split()), result
    # Another model's checkpoints are not the benchmark's: its loader is rehearsed.
    points, _ = planned(headrace, str(JOBS / "mlperf-checkpoint-llama3-8b.yaml"), "--rules", "mlperf-v2", "--set",
                        "job.model.hidden=2048")
    assert "input_pipeline/job" in points and "checkpoint_write/job" not in points, points


def test_a_source_that_stays_in_memory_breaks_the_rule_of_caches(headrace):
    if not os.path.ismount("/dev/shm"):
        pytest.skip("no tmpfs here")
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="headrace-e2e-") as memory:
        words, checks = rules_of(headrace, job(headrace, "10ms"), at=f"{memory}/scratch")
    assert not checks["caches"]["kept"] and "broken (caches): nothing comes from this host's memory" in words, words


def test_workers_are_not_tuned_without_the_jobs_decoding(headrace):
    result = headrace("rehearse", str(JOBS / "resnet50-imagenet.yaml"), "--rules", "mlperf-v2", "--tune", "--dry-run")
    assert result.code == 2 and "too few for the job: one of them at a time" in " ".join(result.err.split()), result


def test_unknown_rules_are_refused(headrace):
    result = headrace("rehearse", str(JOBS / "resnet50-imagenet.yaml"), "--rules", "mlperf-v9")
    assert result.code == 2 and "--rules: 'mlperf-v9' is not one of mlperf-v2, mlperf-v3" in result.err, result


def test_tuning_advises_the_fewest_workers_that_reach_the_target(headrace):
    """A worker computes 20 ms for each sample, and the GPU takes 100 of them a second: two workers are enough, and the job has
    four. Beside other programs more may be needed; what was measured decides."""
    text = headrace.write("job.yaml", JOB.replace("STEP", "40ms").replace("DECODE", "18ms").replace("GPUS", "1")
                          .replace("workers_per_gpu: 2", "workers_per_gpu: 4"))
    points, plan = planned(headrace, text, "--tune")
    own = points["input_pipeline/job"]
    for n in (1, 2, 3, 5, 6, 7, 8):
        assert {k for k in own if own[k] != points[f"input_pipeline/workers-{n}"][k]} == {"workers"}, n
    for n in (1, 4, 8):
        assert {k for k in own if own[k] != points[f"input_pipeline/prefetch-{n}"][k]} == {"prefetch_factor"}, n
        both = points[f"input_pipeline/workers-3-prefetch-{n}"]
        assert {k for k in own if own[k] != both[k]} == {"workers", "prefetch_factor"}, n
    assert not any(id.startswith(("input_pipeline/workers-", "input_pipeline/prefetch-")) for id in planned(headrace, text)[0])
    result, run = rehearse(headrace, text, "--tune", budget="16s")
    tuning = run["rehearsal"]["tuning"]
    if not tuning["tried"]:
        assert not proven(point_of(run, "job"), "accelerator_utilization"), tuning
        pytest.skip(tuning["told"][0])
    tried = {(t["workers_per_gpu"], t["prefetch_factor"]): t["utilization"] for t in tuning["tried"]}
    assert (4, 2) in tried and tuning["target"] == 0.9, tuning
    measured = {p["id"] for p in run["points"] if p["status"] == "ok"}
    assert {f"input_pipeline/workers-{w:.0f}" for w, ahead in tried if ahead == 2 and w != 4} <= measured
    assert len([id for id in measured if re.fullmatch("input_pipeline/workers-[0-9]+", id)]) < 7, "what can decide nothing is not tried"
    enough = sorted(setting for setting, utilization in tried.items() if utilization["low"] >= 0.9)
    words = " ".join(result.out.split())
    if not enough:
        assert "advised" not in tuning and "no number of workers that was tried" in words, tuning
    else:
        advised = tuning["advised"]
        assert (advised["workers_per_gpu"], advised["prefetch_factor"]) == enough[0], tuning
        assert f"num_workers={enough[0][0]:.0f}, prefetch_factor={enough[0][1]:.0f}" in words, result.out
        assert run["rehearsal"]["told"][:3] == tuning["told"], "the answer comes first"
    assert run["judgements"][0]["point"] == "input_pipeline/job", "judged is the job's own setting"


def test_tuning_a_job_that_no_number_of_workers_feeds(headrace):
    text = headrace.write("job.yaml", JOB.replace("STEP", "1ms").replace("DECODE", "20ms").replace("GPUS", "1"))
    result, run = rehearse(headrace, text, "--tune", budget="10s")
    assert "advised" not in run["rehearsal"]["tuning"], run["rehearsal"]
    words = " ".join(result.out.split())
    assert "num_workers=" not in words, result.out
    if run["rehearsal"]["tuning"]["tried"]:
        assert "no number of workers that was tried" in words, result.out
    else:
        assert not proven(point_of(run, "job"), "accelerator_utilization"), run["rehearsal"]


def test_budget_is_shared_by_deciding_points(headrace):
    """Without one that is left out for want of time."""
    result, run = rehearse(headrace, job(headrace, "10ms", decode="5ms"), budget="10s")
    status = {p["id"]: (p["status"], p.get("reason", "")) for p in run["points"]}
    for id in ("input_pipeline/job", "input_pipeline/no-step"):
        assert status[id][0] == "ok" or disturbed(run), status
    left_out = {id: reason for id, (state, reason) in status.items() if state == "skipped"}
    for id, reason in left_out.items():
        assert reason.startswith("not needed: ") or "--budget of" in reason and "is exhausted" in reason, left_out
    assert run["run"]["elapsed_s"] < 60, run["run"]  # seven points of 10 s each would take longer


def own_images(headrace, count=60):
    image = pytest.importorskip("PIL.Image")
    folder = headrace.path("images")
    folder.mkdir()
    for number in range(count):
        image.effect_noise((160, 120), 60 + number % 8).convert("RGB").save(folder / f"{number}.jpg", quality=90)
    return sum(f.stat().st_size for f in folder.iterdir()) // count


IMAGES = """\
schema: 1
job: images
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: STEP, micro_batch: 4}
dataset: {layout: files, sample_size: SIZE, codec: jpeg}
loader: {workers_per_gpu: 1}
"""


def test_images_that_headrace_decodes_are_no_pass_for_another_decoder(headrace):
    size = own_images(headrace)
    # A step of as long as decoding four images takes about twice: three times as long could not be hidden.
    file = headrace.write("job.yaml", IMAGES.replace("SIZE", f"{size}B").replace("STEP", "4ms"))
    result, run = rehearse(headrace, file, "--data", "images", "--only", "input_pipeline/job", budget="6s")
    assert "decoded by headrace's own decoder" in " ".join(result.out.split()), result.out
    reported, judged = run["rehearsal"], run["judgements"][0]
    assert reported["decode_headroom"] > 0, reported
    if judged["outcome"] == "PASS":
        assert reported["decode_headroom"] >= 4, (reported, judged)
    assert "headrace's own decoder" in judged["unproven"], judged


def test_time_of_the_jobs_decoder_is_spent_without_decoding_again(headrace):
    size = own_images(headrace)
    file = headrace.write("job.yaml", IMAGES.replace("SIZE", f"{size}B").replace("STEP", "40ms"))
    words = ("--data", "images", "--set", "job.dataset.cpu_time_per_sample=3ms")
    points, _ = planned(headrace, file, *words)
    own = points["input_pipeline/job"]
    assert own["codec"] == "none" and own["cpu_time_per_sample"] == 0.003, own
    assert "decode/job" not in points, "headrace's own decoder says nothing of the job's"
    _, run = rehearse(headrace, file, *words, "--only", "input_pipeline/job", "--looks", "1", budget="5s")
    assert "decode_headroom" not in run["rehearsal"], run["rehearsal"]


def test_command_calibrates_the_cost_of_decoding(headrace):
    size = own_images(headrace)
    file = headrace.write("job.yaml", IMAGES.replace("SIZE", f"{size}B").replace("STEP", "40ms"))
    headrace.write("decoder.sh", 'for file; do test -s "$file" || exit 1; done; echo "$#" > files; echo note; echo 2.5ms\n')
    _, run = rehearse(headrace, file, "--data", "images", "--calibrate", "sh decoder.sh", "--only", "input_pipeline/job", "--looks", "1",
                      budget="5s")
    assert run["points"][0]["params"]["cpu_time_per_sample"] == 0.0025, run["points"][0]["params"]
    assert headrace.path("files").read_text() == "60\n"
    assert "--calibrate 'sh decoder.sh'" in run["rehearsal"]["calibration"], run["rehearsal"]


def test_pillow_calibrates_the_cost_of_decoding(headrace):
    size = own_images(headrace)
    pytest.importorskip("numpy")
    file = headrace.write("job.yaml", IMAGES.replace("SIZE", f"{size}B").replace("STEP", "40ms"))
    _, run = rehearse(headrace, file, "--data", "images", "--calibrate", "pillow", "--only", "input_pipeline/job", "--looks", "1",
                      budget="5s")
    assert 1e-5 < run["points"][0]["params"]["cpu_time_per_sample"] < 1, run["points"][0]["params"]
    # Without worker processes, batches are passed on to nobody.
    decoder = [sys.executable, "-I", "-B", pathlib.Path(__file__).parents[2] / "reports/headrace_decoders", "pillow", "32", "4", "0"]
    alone = subprocess.run([*decoder, *sorted(headrace.path("images").rglob("*.jpg"))], capture_output=True, text=True)
    assert alone.returncode == 0 and 1e-5 < float(alone.stdout) < 1, alone


SAVES = "model: {parameters: 10e6}\ncheckpoint: {interval: 60s, stall: 30s, mode: async}\n"


def test_checkpoints_are_saved_at_the_rate_of_the_job(headrace):
    text = headrace.write("saving.yaml", JOB.replace("STEP", "20ms").replace("DECODE", "10us").replace("GPUS", "2") + SAVES)
    words = ("--max-write", "64MiB", "--at", "scratch")
    points, _ = planned(headrace, text, *words)
    own, without = points["input_pipeline/job"], points["input_pipeline/no-checkpoint"]
    assert {key for key in own if own[key] != without[key]} == {"checkpoint_left_out"} and without["checkpoint_left_out"]
    assert own["checkpoint_mode"] == "async" and own["checkpoint_ranks"] == 2, own
    every_s = own["checkpoint_every"] * own["step_time"]
    # Each of two GPUs has half of 10 million parameters, 14 bytes each, in 60 s.
    assert own["checkpoint_shard_size"] / every_s == pytest.approx(10e6 * 14 / 2 / 60, rel=0.01), own
    assert all(points[id]["checkpoint_every"] == 0 for id in points if id.endswith(("no-step", "in-memory", "double-workers")))
    reported = " ".join(headrace("rehearse", text, *words, "--dry-run").out.split())
    assert "instead of 70.0 MB every 60.0 s: as many bytes per second" in reported, reported
    # What does not fit what may be written is reported.
    reported = " ".join(headrace("rehearse", text, *words, "--dry-run", "--set", "job.model.parameters=1e12").out.split())
    assert "not as many bytes per second as the job's" in reported, reported
    # A benchmark's rules for the loader know no checkpoints.
    points, _ = planned(headrace, text, *words, "--rules", "mlperf-v2")
    assert "input_pipeline/no-checkpoint" not in points and points["input_pipeline/job"]["checkpoint_every"] == 0


def test_a_job_that_saves_nothing_is_reported_nothing_of_checkpoints(headrace):
    text = job(headrace, "20ms")
    assert "input_pipeline/no-checkpoint" not in planned(headrace, text)[0]
    result, run = rehearse(headrace, text, "--only", "input_pipeline/job", "--looks", "1", budget="5s")
    assert "checkpoints" not in run["rehearsal"] and "checkpoint" not in result.out, result.out


def test_checkpoints_cost_their_blocking_time(headrace):
    text = headrace.write("saving.yaml", JOB.replace("STEP", "20ms").replace("DECODE", "10us").replace("GPUS", "1")
                          + SAVES.replace("async", "sync"))
    result, run = rehearse(headrace, text, "--only", "input_pipeline/job", "--only", "input_pipeline/no-checkpoint", budget="10s")
    own = point_of(run, "job")
    saved, cost = proven(own, "saves"), proven(own, "save_fraction")
    if not saved or not proven(point_of(run, "no-checkpoint"), "utilization_without_saves"):
        assert "checkpoints" not in run["rehearsal"], run["rehearsal"]
        pytest.skip("this machine had no time for both pipelines, with data that came from storage")
    assert disturbed(run) or statistics.median(saved) >= 2, saved
    saves = run["rehearsal"]["checkpoints"]
    assert saves["mode"] == "sync" and saves["saves"] == statistics.median(saved), saves
    assert saves["save_fraction"] == pytest.approx(statistics.median(cost)), saves
    assert saves["time_to_durable_s"] > 0 or not any(saved), saves
    assert run["judgements"][0]["point"] == "input_pipeline/job", "judged is what saves"
    steps = own["steps"]  # of the last repetition
    for window in steps["windows"]:
        busy = window["steps"] * steps["compute_s"] / (window["end_s"] - window["begin_s"])
        waits = sum(window[part] for part in ("waiting", "copying", "host", "saving", "others"))
        assert busy + waits == pytest.approx(1, abs=1e-4), window
    stood = sum(window["saving"] * (window["end_s"] - window["begin_s"]) for window in steps["windows"])
    last = [r for r in own["repetitions"] if r["status"] == "ok"][-1]["metrics"]
    assert stood > 0 or not last.get("saves"), (steps, last)
    assert "synchronous checkpoints, " in " ".join(result.out.split()), result.out
    assert not list(headrace.path("scratch").rglob("rank-*.bin")), "they go with the run"


def traced(headrace, *words, out="traced"):
    text = headrace.write("job.yaml", JOB.replace("STEP", "40ms").replace("DECODE", "200us").replace("GPUS", "1"))
    result, run = rehearse(headrace, text, "--only", "input_pipeline/job", "--looks", "1", *words, budget="5s", out=out)
    point = point_of(run, "job")
    last = [r for r in point["repetitions"] if r["status"] == "ok"][-1]
    if last["metrics"]["steps"] < 1 and last["disturbance"]["disturbed"]:
        pytest.skip("this machine had no time for a second step")
    return result, point


def windows_agree_with_the_share(steps, last):
    """The share of the whole repetition's time. Where no batch came in time for a last step, that wait may be left out of it."""
    first, *others = steps["windows"]
    assert all(one["end_s"] == pytest.approx(after["begin_s"]) for one, after in zip(steps["windows"], others)), steps
    count = sum(w["steps"] for w in steps["windows"])
    assert first["begin_s"] == 0 and first["steps"] == 1 and count == last["metrics"]["steps"] + 1, (steps, last)
    end = steps["windows"][-1]
    cut_off = end["waiting"] * (end["end_s"] - end["begin_s"])
    busy = count * steps["compute_s"]
    assert busy / end["end_s"] * (1 - 1e-6) <= last["metrics"]["ideal_share"] <= busy / (end["end_s"] - cut_off) * (1 + 1e-6)


def test_a_trace_has_every_sample_and_agrees_with_the_run(headrace):
    result, point = traced(headrace, "--trace", "trace.json")
    assert "trace   trace.json: the last repetition of input_pipeline/job" in result.out, result.out
    trace = json.loads(headrace.path("trace.json").read_text())
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in spans)
    workers = [e for e in spans if e["cat"] == "worker"]
    other = trace["otherData"]
    assert other["spans"] == len(workers) and other["spans_left_out"] == 0, other
    # Of each worker one after the other, without a gap: what it does next begins when the last ended.
    for worker in {e["tid"] for e in workers}:
        own = [e for e in workers if e["tid"] == worker]
        for one, after in zip(own, own[1:]):
            assert after["ts"] == pytest.approx(one["ts"] + one["dur"], abs=0.002), (one, after)
    last = [r for r in point["repetitions"] if r["status"] == "ok"][-1]
    samples = last["phases"][0]["operations"]
    assert sum(e["name"] == "reading" for e in workers) == samples
    total = {name: sum(e["dur"] for e in workers if e["name"] == name) for name in ("reading", "decoding", "waiting")}
    for name, us in total.items():
        assert us / sum(total.values()) == pytest.approx(last["metrics"][f"{name}_share"], abs=1e-6), name
        assert us * 1e-6 == pytest.approx(other["stage_seconds"][name], rel=1e-6), name
    steps = [e for e in spans if e["name"] == "step"]
    assert len(steps) == other["steps"] == last["metrics"]["steps"] + 1
    windows_agree_with_the_share(point["steps"], last)
    # A wait that no step ended is in the windows, and no step of the trace.
    begin, *others = point["steps"]["windows"]
    total = sum(w["end_s"] - w["begin_s"] for w in others)
    cut_off = total - 1e-6 * sum(e["dur"] for e in steps[1:])
    waited = 1e-6 * sum(e["dur"] for e in spans if e["name"] == "waits for data" and e["args"]["step"] > 0)
    assert cut_off > -1e-3 and waited + cut_off == pytest.approx(
        sum(w["waiting"] * (w["end_s"] - w["begin_s"]) for w in others), abs=1e-3)
    # What a long epoch gives leaves out the begin, in which others may have held the workers up.
    if waited + cut_off < 1e-4 * total:
        assert last["metrics"]["stall_fraction"] < 1e-3, last["metrics"]


def test_without_a_trace_the_run_reports_its_steps_alone(headrace):
    result, point = traced(headrace)
    assert "\ntrace " not in result.out
    steps = point["steps"]
    assert set(steps) == {"compute_s", "windows", "first", "slowest"} and len(steps["windows"]) <= 201, steps.keys()
    last = [r for r in point["repetitions"] if r["status"] == "ok"][-1]
    windows_agree_with_the_share(steps, last)
    others = steps["windows"][1:]
    late = sum((w["waiting"] + w["host"] + w["copying"]) * (w["end_s"] - w["begin_s"]) for w in others)
    time = others[-1]["end_s"] - others[0]["begin_s"]
    if late < 1e-4 * time:  # no begin to leave out
        assert last["metrics"]["steps"] * steps["compute_s"] / time == pytest.approx(last["metrics"]["accelerator_utilization"], abs=1e-3)
    assert len(json.dumps(steps)) < 80_000, "what is stored is bounded"
