"""A cache tier on this node in front of a store: what filling costs, what hits give, when it has paid, and that it does not always."""

import json
import math

import pytest
from conftest import made
from faulty_store import FaultyStore

COUNT, SIZE = 24, 50_000
TIER = {"use": "local_cache", "path": "s3://bucket/set", "workers": 2, "epochs": 2, "repeat": 1, "tier": "tier", "duration": "60s"}


def asked(store):
    return [path for command, path, headers in store.seen
            if command == "GET" and "list-type" not in path and headers.get("Range") != "bytes=0-0"]


@pytest.mark.parametrize("ratio", [1, 0.5])
def test_epochs_before_and_out_of_the_tier(headrace, ratio):
    with FaultyStore(made(COUNT, SIZE), latency=0.03) as store:
        run = headrace(store.endpoint, {**TIER, "tier_ratio": ratio})
        assert run.code == 0, run
        epochs = {phase["name"]: phase["operations"] for phase in run.repetition["phases"]}
        assert epochs == {"storage": COUNT, "fill": COUNT, "epoch2": COUNT, "epoch3": COUNT}, epochs
        hits = run.metric("hit_ratio")
        assert hits == pytest.approx(run.metric("hit_ratio_predicted_c5"), abs=1.5 / COUNT), run
        assert run.metric("storage_sample_rate") < 2 / 0.03 * 1.01, run  # two that wait for 30 ms each
        assert run.metric("cached_sample_rate") > run.metric("storage_sample_rate"), run
        missed = round(COUNT * (1 - hits))
        # Of an epoch straight from the store and one that fills, all; of two more, what the tier does not hold.
        assert len(asked(store)) == len(run.point["repetitions"]) * (2 * COUNT + 2 * missed), (len(asked(store)), hits)
        if ratio == 1:
            assert hits == 1, run
            for seen in (r["metrics"] for r in run.point["repetitions"]):
                gain = seen["storage_epoch_s"] - seen["cached_epoch_s"]
                extra = max(0, seen["fill_epoch_s"] - seen["storage_epoch_s"])
                assert seen["break_even_epochs"] == math.ceil(extra / gain), seen
                assert seen["break_even_predicted_c11"] == math.ceil(seen["fill_time_predicted_c10"] / gain), seen
        assert run.metric("throttled_share") == 0 and run.metric("connections") >= 0
        assert any("object store" in note for note in run.point["notes"]), run.point["notes"]
        assert not (headrace.folder / "tier/local_cache").exists()


def test_a_tier_that_holds_nothing_never_pays(headrace):
    with FaultyStore(made(COUNT, SIZE)) as store:
        run = headrace(store.endpoint, {**TIER, "tier_ratio": 0})
        values = run.repetition["metrics"]
        assert run.code == 0 and values["hit_ratio"] == 0 and "break_even_epochs" not in values, run


def test_faults_of_the_store_are_reported(headrace):
    with FaultyStore(made(COUNT, SIZE), refuse_each=9) as store:
        run = headrace(store.endpoint, {**TIER, "retries": 0})
        assert run.code == 1 and "the server answered 503" in run.reported, run
    run = headrace("http://127.0.0.1:1", {**TIER, "queue_depth": 4})
    assert run.code == 2 and "one in flight" in run.reported, run
    run = headrace("http://127.0.0.1:1", {**TIER, "cache": "cold"})
    assert run.code == 2 and "cold" in run.reported, run


def test_a_rehearsal_with_a_tier_before_the_store(headrace):
    job = {"schema": 1, "job": "far", "cluster": {"nodes": 1, "gpus_per_node": 1}, "step": {"time": "40ms", "micro_batch": 4},
           "dataset": {"layout": "files", "samples": 256, "sample_size": "20kB"}, "loader": {"workers_per_gpu": 2},
           "local_cache": {"capacity": "2.56MB", "policy": "pinned", "path": str(headrace.folder / "tier")}}
    (headrace.folder / "job.yaml").write_text(json.dumps(job))
    with FaultyStore({f"set/{i:04}": bytes(20_000) for i in range(256)}, latency=0.005) as store:
        done = headrace.command("rehearse", "job.yaml", "--data", "s3://bucket/set", "--budget", "8s", "--no-report", "--out", "out",
                                "--only", "local_cache/job", endpoint=store.endpoint)
    [point] = json.loads((headrace.folder / "out/run.json").read_text())["points"]
    assert point["status"] == "ok" and point["params"]["tier_ratio"] == 0.5, (point, done.stdout, done.stderr)
