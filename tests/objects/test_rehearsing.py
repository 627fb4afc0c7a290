"""A job's input pipeline over objects, as over files."""

import io
import json
import random

import pytest
from conftest import made
from faulty_store import FaultyStore

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
        assert run.code == 1 and "set/bad.png" in run.told, run


@pytest.mark.parametrize("more, words", [
    ({"read_profile": "pil"}, "objects are read whole"), ({"queue_depth": 4}, "asks and waits"),
    ({"layout": "indexed", "codec": "png"}, "shards that are read from front to back"),
    ({"engine": "posix"}, "objects are read by engine s3"),
], ids=["profile", "depth", "codec", "engine"])
def test_what_a_pipeline_does_with_files_alone(headrace, more, words):
    run = headrace("http://127.0.0.1:1", {**PIPELINE, **more})
    assert run.code == 2 and words in run.told, run


def test_a_rehearsal_over_a_store(headrace):
    job = {"schema": 1, "job": "far", "cluster": {"nodes": 1, "gpus_per_node": 1}, "step": {"time": "40ms", "micro_batch": 4},
           "dataset": {"layout": "files", "samples": 256, "sample_size": "20kB"}, "loader": {"workers_per_gpu": 2}}
    (headrace.folder / "job.yaml").write_text(json.dumps(job))
    objects = {f"set/{i:04}": bytes(20_000) for i in range(256)}
    judged = {}
    for latency in (0.0, 0.1):  # 80 ms of two workers' time are a step; a batch takes 400 ms of one's then
        with FaultyStore(objects, latency=latency) as store:
            done = headrace.command("rehearse", "job.yaml", "--data", "s3://bucket/set", "--budget", "12s", "--no-report", "--out",
                                    f"out{latency}", "--only", "input_pipeline/job", endpoint=store.endpoint)
        run = json.loads((headrace.folder / f"out{latency}/run.json").read_text())
        judged[latency] = run["judgements"][0]
        assert done.returncode != 1 and run["points"][0]["status"] == "ok", (done.stdout, done.stderr)
    assert judged[0.1]["outcome"] != "PASS" and judged[0.1]["measured"] < judged[0.0]["measured"], judged
