"""configs/object-store.yaml: sizes and numbers of requests side by side, and the one that reaches the need most cheaply."""

import json

from conftest import ROOT
from faulty_store import FaultyStore

SMALL = ["workloads.0.files=4", "workloads.0.file_size=96KiB", "workloads.0.block_size=[16KiB, 32KiB, 96KiB]",
         "workloads.1.files=4", "workloads.1.file_size=96KiB", "workloads.1.block_size=[4KiB, 16KiB]",
         "workloads.2.files=40", "workloads.2.file_size=10kB", "workloads.3.shard_size=100kB", "defaults.duration=1s",
         "defaults.repeat=5"]


def measured(headrace, need):
    out = headrace.folder / f"out-{need}"
    with FaultyStore({}) as store:
        words = [word for text in [*SMALL, f"needs.0.at_least={need}", f"needs.1.at_least={need}"] for word in ("--set", text)]
        done = headrace.command("run", "-c", str(ROOT / "configs/object-store.yaml"), "--at", "s3://bucket/mine", *words, "--out",
                                str(out), "--no-report", "--progress", "none", endpoint=store.endpoint)
        assert not store.uploads
    assert (out / "run.json").exists(), done
    run = json.loads((out / "run.json").read_text())
    return done, run, {judged["id"]: judged for judged in run["judgements"]}


def test_the_cheapest_of_those_that_reach_the_need(headrace):
    done, run, judged = measured(headrace, "1kB/s")
    assert done.returncode in (0, 11) and len(run["points"]) == 16, done
    for need, workload in (("shards", "shard_stream"), ("saves", "checkpoint_write")):
        if judged[need]["outcome"] != "PASS":  # the need is tiny: nothing but a busy machine leaves it open
            assert judged[need]["outcome"] == "INCONCLUSIVE" and judged[need]["reason"] in ("disturbed", "few-reps", "not-steady"), judged[need]
        assert judged[need]["point"].startswith(workload), judged[need]
    assert judged["shards"]["outcome"] != "PASS" or "cores" in judged["shards"]["explanation"], judged
    assert "requests were in flight" in judged["shards"]["explanation"], judged
    _, _, judged = measured(headrace, "1e15B/s")
    assert {one["outcome"] for one in judged.values()} <= {"FAIL", "INCONCLUSIVE"}, judged
    assert "cores" not in judged["shards"]["explanation"], judged
