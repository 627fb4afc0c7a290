"""Shards of a store in their real formats: each sample is parsed, and decoded, and what is wrong in one is named by its object."""

import io
import json
import random
import sys
import tarfile

import pytest
from conftest import ROOT
from faulty_store import FaultyStore

sys.path.append(str(ROOT / "tests/e2e"))
from test_shards import SAMPLES, flip, tar, tfrecord  # noqa: E402

SHARDS = {"use": "input_pipeline", "path": "s3://bucket/set", "layout": "shards", "loader": "pytorch_iterable", "workers": 2,
          "batch_size": 1, "step_time": "0s", "repeat": 1, "block_size": "4KiB"}
COUNT = 4
MAKERS = {"tar": tar, "tfrecord": tfrecord}


def shards(folder, kind, name="set/{:03}.{}"):
    objects = {}
    for number in range(COUNT):
        path = folder / f"{number}.{kind}"
        MAKERS[kind](path)
        objects[name.format(number, kind)] = path.read_bytes()
    return objects


@pytest.mark.parametrize("more", [{}, {"loader": "in_flight", "queue_depth": 4}, {"shuffle_buffer": 8, "shuffle_initial": 4}],
                         ids=["iterable", "in_flight", "shuffled"])
@pytest.mark.parametrize("kind, name", [("tar", "set/{:03}.{}"), ("tfrecord", "set/{:03}.{}"), ("tar", "set/train-{:05}"),
                                        ("tfrecord", "set/train-{:05}")], ids=["tar", "tfrecord", "tar-unnamed", "tfrecord-unnamed"])
def test_every_sample_is_parsed(headrace, tmp_path, kind, name, more):
    objects = shards(tmp_path, kind, name)
    with FaultyStore(dict(objects)) as store:
        run = headrace(store.endpoint, {**SHARDS, **more})
        assert run.code == 0, run
        phase = run.repetition["phases"][0]
        held = more.get("shuffle_buffer", 0)
        assert phase["operations"] in range(COUNT * SAMPLES - 2 * held, COUNT * SAMPLES + 1), phase
        assert phase["bytes"] == sum(map(len, objects.values())) or held, phase
        assert run.metric("bad_samples") == 0
        assert any(f"samples are those of {COUNT} {kind} shards, parsed" in note for note in run.point["notes"]), run.point["notes"]


def test_errors_in_a_shard_are_named_by_object(headrace, tmp_path):
    objects = shards(tmp_path, "tfrecord")
    flip(tmp_path / "2.tfrecord", 20)  # in the first record
    objects["set/002.tfrecord"] = (tmp_path / "2.tfrecord").read_bytes()
    with FaultyStore(objects) as store:
        run = headrace(store.endpoint, SHARDS)
        assert run.code == 1 and "s3://bucket/set/002.tfrecord at offset 0" in run.reported, run
        passed = headrace(store.endpoint, {**SHARDS, "on_error": "skip"})
        assert passed.code == 0 and passed.metric("bad_samples") == 1, passed
        assert passed.repetition["phases"][0]["operations"] == COUNT * SAMPLES - 1, passed


def test_foreign_objects_are_not_parsed(headrace):
    noise = {f"set/{number}": random.Random(number).randbytes(60_000) for number in range(COUNT)}
    with FaultyStore(noise) as store:
        run = headrace(store.endpoint, {**SHARDS, "sample_size": "10kB"})
        assert run.code == 0 and any("neither tar nor TFRecord shards" in note for note in run.point["notes"]), run
        assert "bad_samples" not in run.repetition["metrics"]
        run = headrace(store.endpoint, {**SHARDS, "codec": "png"})
        assert run.point["status"] == "skipped" or "tar and TFRecord shards, where they are objects" in run.reported, run


def images(samples, side=64):
    Image = pytest.importorskip("PIL.Image", reason="no Pillow draws images here")
    draw, out = random.Random(1), io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as shard:
        for number in range(samples):
            image = io.BytesIO()
            Image.frombytes("RGB", (side, side), draw.randbytes(side * side * 3)).save(image, "PNG")
            info = tarfile.TarInfo(f"{number:04}.png")
            info.size = image.tell()
            image.seek(0)
            shard.addfile(info, image)
    return out.getvalue()


@pytest.mark.parametrize("more", [{}, {"layout": "files", "loader": "pytorch", "samples_per_file": 8, "batch_size": 8},
                                  {"source": "memory", "duration": "300ms"}], ids=["shards", "whole", "memory"])
def test_samples_of_shards_are_decoded(headrace, more):
    one = images(8)
    with FaultyStore({f"set/{number}.tar": one for number in range(COUNT)}) as store:
        run = headrace(store.endpoint, {**SHARDS, "codec": "png", "output": 32, **more})
        if run.point["status"] == "skipped":
            pytest.skip(run.why)
        assert run.code == 0 and run.metric("decode_time_s") > 0 and run.metric("bad_samples") == 0, run


def test_a_rehearsal_decodes_the_shards_of_a_store(headrace):
    one = images(32)
    job = {"schema": 1, "job": "far", "cluster": {"nodes": 1, "gpus_per_node": 1}, "step": {"time": "40ms", "micro_batch": 4},
           "dataset": {"layout": "shards", "samples": 256, "sample_size": f"{len(one) // 32}B", "samples_per_file": 32, "codec": "png"},
           "loader": {"workers_per_gpu": 2, "kind": "pytorch_iterable"}}
    (headrace.folder / "job.yaml").write_text(json.dumps(job))
    with FaultyStore({f"set/{i:04}.tar": one for i in range(8)}) as store:
        done = headrace.command("rehearse", "job.yaml", "--data", "s3://bucket/set", "--budget", "6s", "--no-report", "--out", "out",
                                "--only", "input_pipeline/job", endpoint=store.endpoint)
    reported = " ".join((done.stdout + done.stderr).split())
    [point] = json.loads((headrace.folder / "out/run.json").read_text())["points"]
    if point["status"] == "skipped":
        pytest.skip(point["reason"])
    assert point["status"] == "ok" and "decoding is left out" not in reported, reported
    assert point["repetitions"][-1]["metrics"]["decode_time_s"] > 0 and point["params"]["codec"] == "png", point
