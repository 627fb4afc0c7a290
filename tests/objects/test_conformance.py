"""Real stores: signatures, names that need care, listings of many pages, ranges."""

import subprocess
import sys

import pytest
from conftest import ROOT, made
from servers import KEY, SECRET, program, rclone, seaweedfs
from test_samples import shards

OBJECTS = {"use": "small_file_read", "path": "s3://bucket/set", "repeat": 1, "workers": 3}
RANGES = {"use": "random_read", "path": "s3://bucket/set", "block_size": "10kB", "repeat": 1, "workers": 2, "queue_depth": 4}


def keys(**changes):
    return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET} | changes


@pytest.fixture(scope="module")
def weed(tmp_path_factory):
    with seaweedfs(tmp_path_factory.mktemp("weed")) as store:
        objects = made(1100, 20) | made(30, 50_000, seed=2)  # more than a page of a listing holds
        for key, data in objects.items():
            store.put("bucket", key, data)
        yield store, objects


def test_seaweedfs(headrace, weed):
    store, objects = weed
    run = headrace(store.endpoint, OBJECTS, env=keys())
    assert run.code == 0, run
    phase = run.repetition["phases"][0]
    assert phase["operations"] == len(objects) and phase["bytes"] == sum(map(len, objects.values())), run
    assert run.repetition["cache"]["proven"], run.repetition["cache"]
    assert any("signed" in note and "not signed" not in note for note in run.point["notes"]), run.point["notes"]
    ranges = headrace(store.endpoint, RANGES, env=keys())
    assert ranges.code == 0 and ranges.repetition["phases"][0]["operations"] >= 30, ranges


def test_seaweedfs_refuses(headrace, weed):
    store, _ = weed
    run = headrace(store.endpoint, OBJECTS, env=keys(AWS_SECRET_ACCESS_KEY="wrong"))
    assert run.code == 1 and "SignatureDoesNotMatch" in run.why and "AWS_SECRET_ACCESS_KEY" in run.why, run
    run = headrace(store.endpoint, OBJECTS, env=keys(AWS_ACCESS_KEY_ID="wrong"))
    assert run.code == 1 and "InvalidAccessKeyId" in run.why, run
    assert headrace(store.endpoint, OBJECTS).code == 1  # without keys
    run = headrace(store.endpoint, {**OBJECTS, "path": "s3://no-such-bucket/set"}, env=keys())
    assert run.code == 1 and "NoSuchBucket" in run.why, run


@pytest.mark.parametrize("parts", [["40kB", "8MiB"], ["12MiB", "5MiB"]], ids=["whole", "parts"])
def test_seaweedfs_takes_checkpoints(headrace, weed, parts):
    store, _ = weed
    size, part = parts
    entries = [{"use": "checkpoint_write", "ranks": 2, "shard_size": size, "block_size": part, "repeat": 1, "verify": True},
               {"use": "small_file_read", "files": 30, "file_size": "20KiB", "files_per_folder": 10, "repeat": 1, "verify": True}]
    run = headrace(store.endpoint, *entries, env=keys(), at="s3://bucket/mine")
    assert run.code == 0 and run.reported.count("every byte as it should be") == 2, run
    cleaned = headrace.command("clean", "s3://bucket/mine", endpoint=store.endpoint, **keys())
    assert "removed 34 objects" in cleaned.stdout and "and the mark" in cleaned.stdout and "left" not in cleaned.stdout, cleaned
    gone = headrace.command("clean", "s3://bucket/mine", endpoint=store.endpoint, **keys())
    assert gone.returncode == 2, gone


def test_seaweedfs_under_a_pipeline(headrace, weed, tmp_path):
    """Shards that are parsed, checkpoints on the way and beside reads, a tier in front."""
    store, objects = weed
    for key, data in shards(tmp_path, "tar", "shards/{:03}.{}").items():
        store.put("bucket", key, data)
    save = {"checkpoint_ranks": 2, "checkpoint_shard_size": "6MiB", "checkpoint_block_size": "5MiB"}
    pipeline = {"use": "input_pipeline", "path": "s3://bucket/shards", "layout": "shards", "loader": "pytorch_iterable",
                "workers": 2, "batch_size": 1, "step_time": "5ms", "repeat": 1, "checkpoint_every": 20, **save}
    mixed = {"use": "mixed", "path": "s3://bucket/set", "workers": 2, "rate": "50/s", "around": "300ms", "repeat": 1, **save}
    tier = {"use": "local_cache", "path": "s3://bucket/set", "workers": 2, "tier": "tier", "repeat": 1, "duration": "60s"}
    run = headrace(store.endpoint, pipeline, mixed, tier, env=keys(), at="s3://bucket/mine")
    assert run.code == 0, run
    shard, beside, cached = (point["repetitions"][-1]["metrics"] for point in run.data["points"])
    assert shard["bad_samples"] == 0 and shard["saves"] > 0 and beside["durable_bandwidth"] > 0, run
    assert cached["hit_ratio"] == 1 and cached["cached_sample_rate"] > 0, run
    cleaned = headrace.command("clean", "s3://bucket/mine", endpoint=store.endpoint, **keys())
    assert cleaned.returncode == 0 and "and the mark" in cleaned.stdout and "left" not in cleaned.stdout, cleaned


def test_keys_from_the_usual_files(headrace, weed, tmp_path):
    store, objects = weed
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(f"[mine]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    (tmp_path / ".aws/config").write_text(f"[profile mine]\nregion = eu-west-1\nendpoint_url = {store.endpoint}\n")
    run = headrace(None, OBJECTS, env={"HOME": str(tmp_path), "AWS_PROFILE": "mine"})
    assert run.code == 0 and run.repetition["phases"][0]["operations"] == len(objects), run
    assert any("eu-west-1" in note for note in run.point["notes"]), run.point["notes"]


def test_rclone(headrace, tmp_path):
    objects = made(40, 30_000)
    for key, data in objects.items():
        file = tmp_path / "served/bucket" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    with rclone(tmp_path / "served") as endpoint:
        run = headrace(endpoint, OBJECTS, env=keys())
        assert run.code == 0, run
        assert run.repetition["phases"][0]["bytes"] == sum(map(len, objects.values())), run
        ranges = headrace(endpoint, RANGES, env=keys())  # some releases give the whole object
        assert ranges.code == 0 or "200 instead of 206" in ranges.why, ranges


def test_the_server_of_the_quick_start(headrace, tmp_path):
    program("weed")
    stored = tmp_path / "stored"
    stored.mkdir()
    with subprocess.Popen([sys.executable, "-B", str(ROOT / "tests/objects/serve.py"), str(stored), "quickstart"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        reported = dict(word.split("=", 1) for word in server.stdout.readline().split())
        saved = headrace.command("measure", "checkpoint_write", "--at", "s3://quickstart/headrace", "--ranks", "1", "--shard-size",
                                 "40kB", "--repeat", "1", endpoint=reported.pop("AWS_ENDPOINT_URL"), **reported)
        assert saved.returncode == 0, saved
        server.stdin.close()  # takes it down
        assert server.wait(120) == 0
