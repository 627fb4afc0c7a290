"""A job's input pipeline over objects, as over files."""

import io
import json
import random

import pytest
from conftest import made
from faulty_store import FaultyStore, error

PIPELINE = {"use": "input_pipeline", "path": "s3://bucket/set", "workers": 2, "batch_size": 2, "step_time": "1ms", "repeat": 1}


@pytest.mark.parametrize("more", [{}, {"loader": "pytorch_iterable"}, {"loader": "tfdata"},
                                  {"loader": "in_flight", "queue_depth": 4}, {"step_time": "0s"},
                                  {"layout": "shards", "loader": "pytorch_iterable", "sample_size": "10kB", "block_size": "16KiB"},
                                  {"layout": "indexed", "sample_size": "10kB", "block_size": "10kB"},
                                  {"layout": "indexed", "sample_size": "10kB", "block_size": "10kB", "loader": "in_flight",
                                   "queue_depth": 4}],
                         ids=["files", "iterable", "tfdata", "in_flight", "no_step", "shards", "indexed", "indexed_in_flight"])
def test_a_pipeline_reads_objects(headrace, more):
    with FaultyStore(made(24)) as store:
        run = headrace(store.endpoint, {**PIPELINE, **more})
        assert run.code == 0, run
        assert run.metric("sample_rate") > 0 and run.metric("read_bandwidth") > 0, run
        assert run.metric("throttled_share") == 0 and run.metric("retry_share") == 0
        assert run.repetition["cache"]["proven"], run.repetition["cache"]
        assert any("object store" in note for note in run.point["notes"]), run.point["notes"]


def images(count):
    Image = pytest.importorskip("PIL.Image", reason="no Pillow draws images here")
    draw, objects = random.Random(1), {}
    for i in range(count):
        out = io.BytesIO()
        Image.frombytes("RGB", (64, 64), draw.randbytes(64 * 64 * 3)).save(out, "PNG")
        objects[f"set/{i:03}.png"] = out.getvalue()
    return objects


def test_images_that_lie_in_a_store_are_decoded(headrace):
    objects = images(16)
    for more in ({}, {"source": "memory", "duration": "300ms"}):
        with FaultyStore(objects) as store:
            run = headrace(store.endpoint, {**PIPELINE, "codec": "png", "output": 32, **more})
            if run.point["status"] == "skipped":
                pytest.skip(run.why)
            assert run.code == 0 and run.metric("decode_time_s") > 0 and run.metric("bad_samples") == 0, run
    with FaultyStore(objects | {"set/bad.png": b"no image"}) as store:
        run = headrace(store.endpoint, {**PIPELINE, "codec": "png", "output": 32})
        assert run.code == 1 and "set/bad.png" in run.reported, run


def left(store):
    """Of checkpoints, and of processes that used the prefix."""
    return [key for key in store.below("mine/") if "/checkpoint/" in key or "/users/" in key]


def test_a_pipeline_saves_into_the_store(headrace):
    """Checkpoints on the way: uploads that are completed, and nothing that stays."""
    steps = {"step_time": "20ms", "duration": "1s", "batch_size": 1, "checkpoint_every": 8, "checkpoint_ranks": 2,
             "checkpoint_shard_size": "6MiB", "checkpoint_block_size": "5MiB"}
    own = {key: value for key, value in PIPELINE.items() if key != "path"} | {"files": 400, "file_size": "4KiB", "verify": True}
    objects = made(400, 1000)
    for mode in ("sync", "async"):
        with FaultyStore(dict(objects)) as store:
            run = headrace(store.endpoint, {**own, **steps, "checkpoint_mode": mode}, at="s3://bucket/mine")
            assert run.code == 0 and "every byte as it should be" in run.reported, run
            saved = [r["metrics"] for r in run.point["repetitions"] if r["metrics"]["saves"] > 0]  # not while the machine stood still
            assert saved and saved[0]["save_fraction"] > 0 and saved[0]["time_to_durable_s"] > 0, run
            assert store.begun >= 2 * sum(one["saves"] for one in saved) and not store.uploads and store.puts >= 2 * store.begun
            assert store.below("set/") == sorted(objects) and not left(store), left(store)
    with FaultyStore(dict(objects), put_refuse_from=1, put_refusal=(403, error("AccessDenied"))) as store:
        run = headrace(store.endpoint, {**PIPELINE, **steps}, at="s3://bucket/mine")
        assert run.code == 1 and "AccessDenied: no keys were found" in run.reported and not store.uploads, run
    run = headrace("http://127.0.0.1:1", {**PIPELINE, **steps, "checkpoint_direct": True, "checkpoint_layout": "shared",
                                          "checkpoint_block_size": "1MiB"}, at="s3://bucket/mine")
    assert run.code == 2, run
    for key in ("checkpoint_direct", "checkpoint_layout", "checkpoint_block_size"):
        assert key in run.reported, run


def test_reads_and_a_save_side_by_side(headrace):
    entry = {"use": "mixed", "workers": 2, "rate": "50/s", "around": "300ms", "repeat": 1, "files": 400, "file_size": "4KiB",
             "checkpoint_ranks": 2, "checkpoint_shard_size": "6MiB", "checkpoint_block_size": "5MiB", "verify": True}
    with FaultyStore({}) as store:
        run = headrace(store.endpoint, entry, at="s3://bucket/mine")
        assert run.code == 0 and "every byte as it should be" in run.reported, run
        assert run.metric("durable_bandwidth") > 0 and run.metric("during_read_rate") > 0, run
        assert run.metric("throttled_share") == 0 and run.metric("before_latency_p99_ns") > 0, run
        assert not store.uploads and not left(store), left(store)
    own = {key: value for key, value in entry.items() if key not in ("files", "file_size")} | {"path": "s3://bucket/set"}
    with FaultyStore(made(400, 1000), put_refuse_from=1, put_refusal=(507, error("InsufficientStorage"))) as store:
        run = headrace(store.endpoint, own, at="s3://bucket/mine")
        assert run.code == 1 and "the store is full" in run.reported and not store.uploads, run


def test_a_rehearsal_saves_into_the_store(headrace):
    job = {"schema": 1, "job": "far", "cluster": {"nodes": 1, "gpus_per_node": 1}, "step": {"time": "40ms", "micro_batch": 4},
           "dataset": {"layout": "files", "samples": 1024, "sample_size": "2kB"}, "loader": {"workers_per_gpu": 2},
           "model": {"parameters": 1_000_000}, "checkpoint": {"interval": "2s", "stall": "1s", "bytes_per_parameter": 14}}
    (headrace.folder / "job.yaml").write_text(json.dumps(job))
    with FaultyStore({f"set/{i:04}": bytes(2000) for i in range(1024)}) as store:
        done = headrace.command("rehearse", "job.yaml", "--data", "s3://bucket/set", "--at", "s3://bucket/mine", "--budget", "6s",
                                "--no-report", "--out", "out", "--only", "input_pipeline/job", endpoint=store.endpoint)
        [point] = json.loads((headrace.folder / "out/run.json").read_text())["points"]
        assert point["status"] == "ok" and point["params"]["checkpoint_engine"] == "s3", (point, done.stdout, done.stderr)
        assert any(r["metrics"]["saves"] > 0 for r in point["repetitions"]) and store.puts > 0 and not store.uploads, point


def test_a_rehearsal_over_a_store(headrace):
    job = {"schema": 1, "job": "far", "cluster": {"nodes": 1, "gpus_per_node": 1}, "step": {"time": "40ms", "micro_batch": 4},
           "dataset": {"layout": "files", "samples": 256, "sample_size": "20kB"}, "loader": {"workers_per_gpu": 2}}
    (headrace.folder / "job.yaml").write_text(json.dumps(job))
    objects = {f"set/{i:04}": bytes(20_000) for i in range(256)}
    judged, disturbed = {}, False
    for latency in (0.0, 0.2):  # 80 ms of two workers' time are a step; a batch takes 800 ms of one's then
        with FaultyStore(objects, latency=latency) as store:
            done = headrace.command("rehearse", "job.yaml", "--data", "s3://bucket/set", "--budget", "6s", "--no-report", "--out",
                                    f"out{latency}", "--only", "input_pipeline/job", endpoint=store.endpoint)
        run = json.loads((headrace.folder / f"out{latency}/run.json").read_text())
        judged[latency] = run["judgements"][0]
        disturbed |= any(r["disturbance"]["disturbed"] for r in run["points"][0]["repetitions"])
        assert done.returncode != 1 and run["points"][0]["status"] == "ok", (done.stdout, done.stderr)
    assert judged[0.2]["outcome"] != "PASS" and (judged[0.2].get("measured") or 0) < 0.3, judged  # at best a step in 400 ms
    assert disturbed or judged[0.2]["measured"] < judged[0.0]["measured"], judged


def test_a_calibration_gets_objects_as_files(headrace):
    objects = images(8)
    (headrace.folder / "job.yaml").write_text(
        "schema: 1\njob: images\ncluster: {nodes: 1, gpus_per_node: 1}\nstep: {time: 40ms, micro_batch: 4}\n"
        "dataset: {layout: files, sample_size: 12kB, codec: png, path: 's3://bucket/set'}\nloader: {workers_per_gpu: 1}\n")
    (headrace.folder / "decoder.sh").write_text('mkdir seen; cp "$@" seen; exit 3\n')
    with FaultyStore(objects) as store:
        done = headrace.command("rehearse", "job.yaml", "--at", "scratch", "--calibrate", "sh decoder.sh", endpoint=store.endpoint)
    if "codec png" in done.stderr and "not usable" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 2 and "the decoder ended with 3" in " ".join(done.stderr.split()), done
    seen = [file.read_bytes() for file in sorted((headrace.folder / "seen").iterdir())]
    assert seen == [objects[key] for key in sorted(objects)]
