"""GPU workloads as users meet them: with a driver they measure, without one each says what is missing."""

import json
import os

import pytest

CONFIG = os.path.join(os.path.dirname(__file__), "../../configs/gpu.yaml")
WORKLOADS = {"h2d", "d2h", "pin_memory", "h2d_batch", "d2d", "p2p", "p2p_fan", "gpu_latency", "gpu_burn", "gpu_decode", "checkpoint_stage", "storage_to_gpu"}


@pytest.fixture
def missing(headrace):
    """Why there is no GPU here."""
    found = {f["subject"]: f for f in json.loads(headrace("doctor", "--json").out)["findings"] if f["section"] == "backends"}
    if found["cuda"]["level"] == "good":
        pytest.skip("this machine has GPUs")
    return found["cuda"]["text"]


def test_doctor_says_it_per_workload(headrace, missing):
    findings = json.loads(headrace("doctor", "--json").out)["findings"]
    told = {f["subject"]: f["text"] for f in findings if f["section"] == "workloads" and f["level"] == "missing"}
    assert {name: told.get(name) for name in WORKLOADS} == {name: f"cuda: {missing}" for name in WORKLOADS}


def test_list_says_it(headrace, missing):
    told = {w["name"]: w["cannot_run_here"] for w in json.loads(headrace("list", "--json").out)}
    assert {name for name, why in told.items() if why == f"cuda: {missing}"} == WORKLOADS
    assert f"cannot run here: cuda: {missing}" in " ".join(headrace("list", "h2d").out.split())
    assert f"cannot run here: cuda: {missing}" in " ".join(headrace("list").out.split())


def test_nothing_but_skips_ends_with_77(headrace, missing):
    result = headrace("run", "-c", CONFIG, "--no-report", "--out", "results")
    assert result.code == 77, result
    points = json.loads(headrace.path("results/run.json").read_text())["points"]
    assert {p["workload"] for p in points} == WORKLOADS
    assert {(p["status"], p["reason"]) for p in points} == {("skipped", f"cuda: {missing}")}


def test_the_jobs_needs_are_skipped_with_the_reason(headrace, missing):
    jobs = os.path.join(os.path.dirname(CONFIG), "jobs")
    result = headrace("qualify", "-c", CONFIG, "--job", f"{jobs}/llm-70b.yaml", "--no-report", "--out", "results")
    assert result.code == 77, result
    judged = json.loads(headrace.path("results/verdict.json").read_text())["judgements"]
    copies = [j for j in judged if j["id"] == "gpu.d2h_bandwidth"]
    assert copies and all(j["outcome"] == "SKIPPED" and missing in j["explanation"] for j in copies), judged
