"""Objects are read as files are: what is reported is what the store gave."""

import json

import pytest
from conftest import made
from faulty_store import FaultyStore

OBJECTS = {"use": "small_file_read", "path": "s3://bucket/set", "repeat": 1, "workers": 3}
RANGES = {"use": "random_read", "path": "s3://bucket/set", "block_size": "10kB", "repeat": 1, "workers": 2}
SHARDS = {"use": "shard_stream", "path": "s3://bucket/set", "block_size": "16KiB", "repeat": 1, "workers": 2}


BUSY = [("INCONCLUSIVE", reason) for reason in ("disturbed", "few-reps", "not-steady")]  # beside other programs


def gets(store):
    """But those by which each worker sees, before the clock starts, whether it may read."""
    ranges = [headers.get("Range") for _, path, headers in store.seen if "list-type" not in path]
    return [range_ for range_ in ranges if range_ != "bytes=0-0"]


@pytest.mark.parametrize("more", [{}, {"queue_depth": 4}, {"loader": "pytorch", "batch_size": 2},
                                  {"loader": "in_flight", "queue_depth": 4}, {"rate": "40/s"}],
                         ids=["plain", "queue", "pytorch", "in_flight", "open_loop"])
def test_whole_objects(headrace, more):
    objects = made()
    with FaultyStore(objects) as store:
        run = headrace(store.endpoint, {**OBJECTS, **more})
        assert run.code == 0, run
        phase = run.repetition["phases"][0]
        assert phase["operations"] == len(objects), run
        assert phase["bytes"] == sum(map(len, objects.values()))
        cache = run.repetition["cache"]
        assert cache["proven"] and "100 % of the bytes from storage" in cache["why"], cache
        assert "the store's own caches are not seen" in cache["why"]
        assert run.metric("throttled_share") == run.metric("retry_share") == run.metric("refused_share") == 0
        assert 0 < run.metric("first_byte_latency_p50_ns") <= run.metric("latency_max_ns")
        assert "open_rate" not in run.repetition["metrics"]
        assert any("not signed" in note and store.endpoint in note for note in run.point["notes"]), run.point["notes"]
        # One that was disturbed is taken again.
        assert gets(store) == [None] * len(objects) * len(run.point["repetitions"])


@pytest.mark.parametrize("entry", [RANGES, SHARDS, {**RANGES, "queue_depth": 8}, {**SHARDS, "queue_depth": 8},
                                   {**SHARDS, "loader": "pytorch_iterable", "batch_size": 2}],
                         ids=["random", "shards", "random_queue", "shards_queue", "loader"])
def test_ranges(headrace, entry):
    objects = made()
    with FaultyStore(objects) as store:
        run = headrace(store.endpoint, entry)
        assert run.code == 0, run
        phase = run.repetition["phases"][0]
        whole = sum(map(len, objects.values())) if entry["use"] == "shard_stream" else phase["operations"] * 10_000
        assert phase["bytes"] == whole and phase["operations"] > len(objects), run
        assert run.metric("first_byte_latency_p50_ns") > 0
        assert len(gets(store)) == phase["operations"] * len(run.point["repetitions"]) and all(gets(store))


def test_one_object_and_the_whole_bucket(headrace):
    objects = made()
    name = sorted(objects)[0]
    with FaultyStore(objects | {"settings": b"x", "set-beside/other": b"y"}) as store:
        one = headrace(store.endpoint, {**OBJECTS, "path": f"s3://bucket/{name}"})
        assert one.code == 0 and one.repetition["phases"][0]["bytes"] == len(objects[name]), one
        below = headrace(store.endpoint, OBJECTS)  # neither "settings" nor "set-beside/" lies below "set"
        assert below.repetition["phases"][0]["operations"] == len(objects), below
        every = headrace(store.endpoint, {**OBJECTS, "path": "s3://bucket"})
        assert every.repetition["phases"][0]["operations"] == len(objects) + 2, every


def test_patterns_name_objects_and_a_missing_one_is_an_error(headrace):
    objects = {f"set/{n:03}.tar": b"x" * 1000 for n in range(3)} | {"set/003.tar": b"", "set/a/0.bin": b"y", "set/b/1.bin": b"z"}
    with FaultyStore(objects) as store:
        for pattern, count in (("{000..002}.tar", 3), ("{000..003}.tar", 3), ("*.tar", 3), ("{a,b}", 2), ("[ab]/*.bin", 2),
                               ("a/{0..0}.bin", 1)):
            run = headrace(store.endpoint, {**OBJECTS, "path": f"s3://bucket/set/{pattern}"})
            assert run.code == 0 and run.repetition["phases"][0]["operations"] == count, (pattern, run)
        for pattern, words in (("{000..005}.tar", "2 of 6 objects that it names are missing, s3://bucket/set/004.tar first"),
                               ("{a,c}", "1 of 2 objects that it names are missing, s3://bucket/set/c first"),
                               ("{007..009}.tar", "no object lies below it")):
            run = headrace(store.endpoint, {**OBJECTS, "path": f"s3://bucket/set/{pattern}"})
            assert run.code == 1 and words in run.why, (pattern, run)


@pytest.mark.parametrize("name, path, words", [
    ("0.tar", "set", "tar shards. Runs headrace measure shard_stream s3://bucket/set"),
    ("a/0.parquet", "set", "Parquet files. Runs headrace measure shard_stream s3://bucket/set"),
    ("0.parquet", "set/*.parquet", "Parquet files. Runs headrace measure shard_stream"),
    ("0.jpg", "set", "images. Runs headrace measure small_file_read s3://bucket/set"),
    ("0", "set", "small files. Runs headrace measure small_file_read s3://bucket/set"),
])
def test_the_workload_follows_from_the_keys(headrace, name, path, words):
    with FaultyStore({f"set/{name}": b"x" * 1000, "set/.hidden.png": b"x", "set/1.tar.part": b"x"}) as store:
        done = headrace.command("measure", f"s3://bucket/{path}", "--dry-run", endpoint=store.endpoint)
    assert done.returncode == 0 and words in done.stderr and "read-profile" not in done.stderr, done


def test_long_listings_are_read_page_by_page(headrace):
    objects = made(25, 10) | {"set/empty": b"", "set/folder/": b""}
    with FaultyStore(objects, page=4) as store:
        run = headrace(store.endpoint, OBJECTS)
        assert run.repetition["phases"][0]["operations"] == 25, run
        assert run.point["left_out"] == {"empty": 1, "the marker of a folder": 1}, run.point["left_out"]


def test_passing_failures_are_retried(headrace):
    with FaultyStore(made(), refuse_first=1) as store:
        run = headrace(store.endpoint, OBJECTS)
        assert run.code == 0 and run.repetition["phases"][0]["operations"] == 12, run
        assert run.metric("throttled_share") == pytest.approx(run.metric("retry_share")) and run.metric("retry_share") > 0.4
        assert any("SlowDown" in note and "throttles" in note for note in run.point["notes"]), run.point["notes"]
    for fault in ({"reset_each": 5}, {"short_each": 5}, {"refuse_each": 5, "refusal": (500, b"<Error><Code>InternalError"
                                                                                            b"</Code></Error>")}):
        with FaultyStore(made(), **fault) as store:
            run = headrace(store.endpoint, OBJECTS)
            assert run.code == 0 and run.repetition["phases"][0]["operations"] == 12, (fault, run)
            # A connection that broke before the answer began libcurl opens anew by itself.
            assert run.metric("refused_share") + run.metric("connections") > 0 and run.metric("throttled_share") == 0, fault
            assert run.repetition["phases"][0]["bytes"] == sum(map(len, made().values())), fault


def test_file_only_points_are_skipped_with_the_reason(headrace):
    need = {"id": "opens", "metric": "small_file_read.open_rate", "at_least": "1/s"}
    with FaultyStore(made()) as store:
        run = headrace(store.endpoint, OBJECTS, needs=[need])
        judged = run.data["judgements"][0]
        assert judged["outcome"] == "SKIPPED" and "neither opened nor closed" in judged["explanation"], judged


def test_a_throttled_bucket_is_named_in_the_verdict(headrace):
    need = {"id": "fast", "metric": "small_file_read.file_rate", "at_least": "1e6/s"}
    with FaultyStore(made(40, 100), refuse_each=3) as store:
        run = headrace(store.endpoint, {**OBJECTS, "repeat": 5}, needs=[need])
        assert run.code in (10, 11), run  # on a machine that is busy it is left open
        judged = run.data["judgements"][0]
        assert "The store throttled" in judged["explanation"] and "prefixes" in judged["next_step"], judged
        assert "The store throttled" in " ".join(run.reported.split()), run  # wherever its lines break
    with FaultyStore(made(40, 100)) as store:  # slow, and nobody throttles
        run = headrace(store.endpoint, {**OBJECTS, "repeat": 5}, needs=[need])
        assert run.code in (10, 11) and "The store throttled" not in " ".join(run.reported.split()), run


def test_without_retries_the_store_shows_alone(headrace):
    with FaultyStore(made(), refuse_each=5) as store:
        run = headrace(store.endpoint, {**OBJECTS, "retries": 0})
        assert run.code == 1 and "the server answered 503" in run.reported and "throttles" in run.reported, run


def test_latency_is_the_stores(headrace):
    with FaultyStore(made(30, 1000), latency=0.05) as store:
        run = headrace(store.endpoint, {**OBJECTS, "workers": 1})
        assert run.metric("first_byte_latency_p50_ns") >= 0.05e9, run.repetition["metrics"]
    with FaultyStore(made(12, 1000), slow_start=0.4) as store:  # a busy machine's first bytes are not so late
        run = headrace(store.endpoint, {**OBJECTS, "workers": 1})
        assert run.metric("body_latency_p50_ns") >= 0.4e9 > run.metric("first_byte_latency_p50_ns"), run.repetition["metrics"]


def test_needs_of_a_job_on_a_store_are_answered(headrace):
    job = {"schema": 1, "job": "far", "cluster": {"nodes": 1, "gpus_per_node": 1}, "step": {"time": "STEP", "micro_batch": 4},
           "dataset": {"layout": "files", "samples": 64, "sample_size": "20kB"}, "loader": {"workers_per_gpu": 2},
           "object_store": {"first_byte_latency": "20ms", "stream_rate": "50MB/s"}}
    objects = {f"set/{i:04}": bytes(20_000) for i in range(64)}
    for step, outcome in (("10s", "PASS"), ("10us", "FAIL")):
        (headrace.folder / "job.yaml").write_text(json.dumps(job).replace("STEP", step))
        with FaultyStore(objects, latency=0.006, slow_start=0.004) as store:
            headrace.command("qualify", "job.yaml", "--data", "s3://bucket/set", "--only", "small_file_read/*", "--looks", "5",
                             "--budget", "60s", "--no-report", "--out", f"out-{outcome}", endpoint=store.endpoint)
        judged = {j["id"]: j for j in json.loads((headrace.folder / f"out-{outcome}/run.json").read_text())["judgements"]}
        asked = judged["object_store.request_rate"]
        busy = (asked["outcome"], asked["reason"]) in BUSY
        assert asked["outcome"] == outcome or busy or (outcome == "FAIL" and asked["outcome"] == "INCONCLUSIVE"), asked
        assert asked["metric"] == "small_file_read.read_iops", asked
        assert "requests were in flight; by their latency the need takes" in asked["explanation"], asked
        assert "to the first byte" in asked["explanation"] and "nine tenths of their time on data" in asked["explanation"], asked
        assert ("cores" in asked["explanation"]) == (asked["outcome"] == "PASS"), asked
        assert asked["outcome"] != "FAIL" or "more requests in flight" in asked["next_step"], asked


def test_job_with_data_in_a_store(headrace):
    objects = {f"set/{i:04}": bytes(20_000) for i in range(64)}
    job = {"schema": 1, "job": "far", "cluster": {"nodes": 1, "gpus_per_node": 1}, "step": {"time": "1s", "micro_batch": 4},
           "dataset": {"layout": "files", "samples": 64, "sample_size": "20kB", "path": "s3://bucket/set",
                       "read_profile": "pil"}, "loader": {"workers_per_gpu": 2}}
    (headrace.folder / "job.yaml").write_text(json.dumps(job))
    with FaultyStore(objects) as store:
        plan = headrace.command("plan", "job.yaml", endpoint=store.endpoint)
        assert plan.returncode == 0 and "small_file_read" in plan.stdout, (plan.stdout, plan.stderr)
        done = headrace.command("qualify", "job.yaml", "--only", "small_file_read/job", "--looks", "5", "--budget", "30s",
                                "--no-report", "--out", "out", endpoint=store.endpoint)
        reported = {j["id"]: (j["outcome"], j["reason"]) for j in json.loads((headrace.folder / "out/run.json").read_text())["judgements"]}
        # The need is tiny: nothing but a busy machine leaves it open.
        assert reported["ingest.sample_rate"][0] == "PASS" or reported["ingest.sample_rate"] in BUSY, (reported, done.stdout, done.stderr)
        assert done.returncode != 1, (done.stdout, done.stderr)
    other = json.dumps(job).replace("20kB", "5MB")
    (headrace.folder / "other.yaml").write_text(other)
    with FaultyStore(objects) as store:
        plan = headrace.command("plan", "other.yaml", endpoint=store.endpoint)
        assert plan.returncode == 2 and "64 files of" in plan.stderr, (plan.stdout, plan.stderr)
