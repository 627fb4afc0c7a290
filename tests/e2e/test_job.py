"""A job alone is enough: the points that follow from it, what they leave out, and what is refused before anything runs."""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
JOBS = sorted((ROOT / "configs/jobs").glob("*.yaml"))
README_JOB = re.search(r"## Describe your job.*?```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]


def planned(headrace, *words):
    result = headrace("run", "--dry-run", *words, "--json")
    assert result.code == 0, result
    return json.loads(result.out)


def params(plan, point):
    return next(p["params"] for p in plan["points"] if p["id"] == point)


@pytest.mark.parametrize("room", ["32MiB", "512MiB", "4GiB"])
@pytest.mark.parametrize("job", [*JOBS, "README"], ids=lambda job: getattr(job, "stem", job))
def test_each_job_has_a_plan_that_keeps_within_its_room(headrace, job, room):
    if job == "README":
        job = headrace.write("my-job.yaml", README_JOB)
    if room == "32MiB" and "unet3d" in str(job):  # one sample is larger
        refused = headrace("run", "--dry-run", str(job), "--max-write", room)
        assert refused.code == 2 and "no file of 147 MB is made to read" in refused.err and "--max-write 323MB" in refused.err, refused
        return
    plan = planned(headrace, str(job), "--max-write", room)
    most = {"32MiB": 32 << 20, "512MiB": 512 << 20, "4GiB": 4 << 30}[room]
    assert 0 <= plan["written_bytes"] <= most, plan["written_bytes"]
    assert any(p["workload"] == "host_facts" for p in plan["points"])
    assert plan["needs"], plan
    measured = {p["workload"] for p in plan["points"]}
    assert measured & {"small_file_read", "shard_stream", "random_read"} or plan["remarks"], plan


def test_points_do_the_work_of_the_job(headrace):
    job = ROOT / "configs/jobs/resnet50-imagenet.yaml"
    own = params(planned(headrace, str(job)), "small_file_read/job")
    assert own["workers"] == 64 and own["file_size"] == 130_000 and own["engine"] == "posix", own
    assert own["loader"] == "pytorch" and own["prefetch_factor"] == 2 and own["read_profile"] == "whole", own
    two = params(planned(headrace, str(job), "--set", "job.loader.workers_per_gpu=1", "--set", "job.cluster.gpus_per_node=2",
                         "--set", "job.dataset.sample_size=4MB"), "small_file_read/job")
    assert two["workers"] == 2 and two["file_size"] == 4_000_000, two
    queue = params(planned(headrace, str(job), "--set", "job.loader.kind=in_flight"), "small_file_read/job")
    assert queue["engine"] == "io_uring" and queue["queue_depth"] > 1, queue
    shards = planned(headrace, str(ROOT / "configs/jobs/image-generation-webdataset.yaml"))
    assert params(shards, "shard_stream/job")["sample_size"] == 41_000
    assert params(shards, "shard_stream/job")["loader"] == "pytorch_iterable"
    assert params(shards, "shard_stream/job")["read_profile"] == "wds"
    groups = params(planned(headrace, str(ROOT / "configs/jobs/parquet-recommender.yaml")), "random_read/job")
    assert groups["read_profile"] == "row_group" and groups["block_size"] == 8 << 20, groups
    ranged = params(planned(headrace, str(ROOT / "configs/jobs/mlperf-resnet50-h100.yaml")), "shard_stream/job")
    assert ranged["loader"] == "tfdata" and ranged["block_size"] == 1 << 20 and ranged["sample_size"] == 114_660, ranged
    tokens = planned(headrace, str(ROOT / "configs/jobs/llama3-8b.yaml"))
    assert params(tokens, "random_read/job")["engine"] == "mmap"
    assert params(tokens, "checkpoint_write/job")["mode"] == "async" and params(tokens, "checkpoint_write/job")["ranks"] == 8


def test_unmeasurable_needs_are_listed_with_reasons(headrace):
    plan = planned(headrace, str(ROOT / "configs/jobs/llama3-8b.yaml"))
    reported = "\n".join(plan["remarks"])
    assert "the job has 64 nodes, and this run measures the share of one" in reported, reported
    assert "mpirun -n N" in reported and "network.gradient_busbw" in plan["not_asked"], plan
    assert not any(n["id"].startswith("network.") for n in plan["needs"]), plan["needs"]
    large = planned(headrace, str(ROOT / "configs/jobs/mlperf-unet3d-h100.yaml"), "--max-write", "32MiB", "--only", "host_facts")
    assert any(r.startswith("no file of 147 MB is made") and "--max-write" in r for r in large["remarks"]), large["remarks"]


def test_a_newcomer_needs_no_other_file(headrace):
    job = headrace.write("my-job.yaml", README_JOB)
    result = headrace("qualify", job, "--at", "scratch", "--budget", "12s", "--max-write", "48MiB", "--no-report", "--out", "out")
    assert result.code in (0, 10, 11, 12), result
    assert re.search(r"^VERDICT (PASS|FAIL|INCONCLUSIVE|INCOMPLETE|SKIPPED)", result.out, re.M), result
    run = headrace.results(out="out")
    judged = {j["id"] for j in run["judgements"]}
    assert {"ingest.sample_rate", "ingest.read_bandwidth"} <= judged, judged
    for point in run["points"]:  # what only advises may find the budget used up
        assert point["status"] == "ok" or (point["status"] == "skipped" and "budget" in point["reason"] and
                                           not point["id"].endswith("/job")), (point["id"], point["status"], point["reason"])
    assert list(headrace.path("scratch").rglob("*.bin"))


@pytest.fixture
def own_data(headrace):
    """SIZE and COUNT of files below `mine`."""
    def make(size, count):
        folder = headrace.path("mine")
        folder.mkdir()
        for i in range(count):
            (folder / f"{i}.jpg").write_bytes(bytes([i % 251]) * size)
        return folder
    return make


def test_a_data_set_of_the_users_is_read_as_it_is(headrace, own_data):
    folder = own_data(130_000, 30)
    job = headrace.write("my-job.yaml", README_JOB)
    plan = planned(headrace, job, "--data", "mine")
    assert params(plan, "small_file_read/job")["path"] == str(folder)
    assert any("30 files of 130 kB" in r and "of the job's samples" in r for r in plan["remarks"]), plan["remarks"]
    named = planned(headrace, job, "--set", "job.dataset.path=mine")
    assert params(named, "small_file_read/job")["path"] == str(folder)


@pytest.mark.parametrize("change, reported", [
    ("sample_size=4kB", "but the job says 4 kB: set dataset.sample_size"),
    ("samples=3", "and the job has 3: set dataset.samples"),
    ("layout=tokens", "less than one request of the job"),
])
def test_a_data_set_that_contradicts_the_job(headrace, own_data, change, reported):
    own_data(130_000, 30)
    job = headrace.write("my-job.yaml", README_JOB)
    result = headrace("qualify", job, "--data", "mine", "--set", f"job.dataset.{change}")
    assert result.code == 2 and reported in result.err and result.err.count("\n") == 1, result


def test_shards_are_no_single_samples(headrace, own_data):
    own_data(41_000, 30)
    job = str(ROOT / "configs/jobs/image-generation-webdataset.yaml")
    result = headrace("run", "--dry-run", job, "--data", "mine")
    assert result.code == 2 and "as large as one sample of the job" in result.err, result


def test_impossible_jobs_are_refused_before_the_run(headrace):
    for words in ["run", "--dry-run"], ["run", "--check"], ["run"]:
        more = headrace(*words, "-c", "tiny.yaml", "--set", "target.max_write=100KiB")
        assert more.code == 2 and "the run would write 328 kB, and max_write allows 102 kB" in more.err, more
        config = headrace.write("gone.yaml", "schema: 1\nworkloads:\n  - {use: small_file_read, path: /nope}\n")
        gone = headrace(*words, "-c", config)
        assert gone.code == 2 and "gone.yaml:3:5: small_file_read: path: nothing is at /nope" in gone.err, gone
    assert not headrace.path("scratch").exists()


def test_needs_that_the_job_does_not_have_are_left_out(headrace):
    job = headrace.write("my-job.yaml", README_JOB)
    config = headrace.write("c.yaml", "schema: 1\ntarget: {path: scratch}\nneeds: [host.cpu_cores, ingest.sample_rate]\n"
                                      "workloads:\n  - {use: host_facts}\n")
    plan = planned(headrace, "-c", config, "--job", job)
    assert [n["id"] for n in plan["needs"]] == ["ingest.sample_rate"], plan["needs"]
    assert any(r.startswith("host.cpu_cores is left out") and "cpu_time_per_sample" in r for r in plan["remarks"])
    wrong = headrace("run", "--dry-run", "-c", config, "--job", job, "--set", "needs=[host.cpu_corse]")
    assert wrong.code == 2 and "no need 'host.cpu_corse'" in wrong.err, wrong


def test_a_configuration_that_says_as_the_job_does(headrace):
    job = headrace.write("my-job.yaml", README_JOB)
    alone = planned(headrace, job, "--max-write", "512MiB")
    config = headrace.write("c.yaml", "schema: 1\ntarget: {max_write: 512MiB}\nworkloads: job\n")
    both = planned(headrace, "-c", config, "--job", job)
    assert both["points"] == alone["points"]
    none = headrace("run", "--dry-run", "-c", config)
    assert none.code == 2 and "there is no job" in none.err, none


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_sizing_keeps_within_its_room(headrace, job):
    plan = planned(headrace, "-c", str(ROOT / "configs/sizing.yaml"), "--job", str(job))
    assert plan["written_bytes"] <= 8 << 30
