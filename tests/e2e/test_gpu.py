"""GPU workloads as users meet them: with a driver they measure, without one each says what is missing."""

import json
import os

import pytest

CONFIG = os.path.join(os.path.dirname(__file__), "../../configs/gpu.yaml")
WORKLOADS = {"fabric_copy", "h2d", "d2h", "pin_memory", "h2d_batch", "d2d", "p2p", "p2p_fan", "gpu_latency", "gpu_memory", "gpu_burn", "gpu_decode", "checkpoint_stage", "storage_to_gpu"}


@pytest.fixture
def missing(headrace):
    """Why there is no GPU here."""
    found = {f["subject"]: f for f in json.loads(headrace("doctor", "--json").out)["findings"] if f["section"] == "backends"}
    if found["cuda"]["level"] == "good":
        pytest.skip("this machine has GPUs")
    return found["cuda"]["text"]


def test_doctor_says_it_per_workload(headrace, missing):
    findings = json.loads(headrace("doctor", "--json").out)["findings"]
    reported = {f["subject"]: f["text"] for f in findings if f["section"] == "workloads" and f["level"] == "missing"}
    assert {name: reported.get(name) for name in WORKLOADS} == {name: f"cuda: {missing}" for name in WORKLOADS}


def test_list_says_it(headrace, missing):
    reported = {w["name"]: w["cannot_run_here"] for w in json.loads(headrace("list", "--json").out)}
    assert {name for name, why in reported.items() if why == f"cuda: {missing}"} == WORKLOADS
    assert f"cannot run here: cuda: {missing}" in " ".join(headrace("list", "h2d").out.split())
    assert f"cannot run here: cuda: {missing}" in " ".join(headrace("list").out.split())


def test_nothing_but_skips_ends_with_77(headrace, missing):
    result = headrace("run", "-c", CONFIG, "--no-report", "--out", "results")
    assert result.code == 77, result
    points = json.loads(headrace.path("results/run.json").read_text())["points"]
    assert {p["workload"] for p in points} == WORKLOADS - {"gpu_memory", "fabric_copy"}  # they are part of burn-in.yaml
    assert {(p["status"], p["reason"]) for p in points} == {("skipped", f"cuda: {missing}")}


def test_the_jobs_needs_are_skipped_with_the_reason(headrace, missing):
    jobs = os.path.join(os.path.dirname(CONFIG), "jobs")
    result = headrace("qualify", "-c", CONFIG, "--job", f"{jobs}/llm-70b.yaml", "--no-report", "--out", "results")
    assert result.code == 77, result
    judged = json.loads(headrace.path("results/verdict.json").read_text())["judgements"]
    copies = [j for j in judged if j["id"] == "gpu.d2h_bandwidth"]
    assert copies and all(j["outcome"] == "SKIPPED" and missing in j["explanation"] for j in copies), judged


@pytest.fixture
def driver(headrace, missing):
    """A driver of the tests' own, which finds no GPU, as an environment to run in."""
    folder = os.path.join(os.path.dirname(headrace.binary), "tests/fakes/driver")
    if not os.path.exists(f"{folder}/libcuda.so.1"):
        pytest.skip("the tests' driver is not built")

    def environment(**more):
        return {"LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}", **more}
    return environment


@pytest.mark.parametrize("more, words", [
    ({"FAKE_CUDA_VERSION": "11080"}, "the driver is too old: it supports CUDA 11.8, headrace was built with "),
    ({"CUDA_VISIBLE_DEVICES": "", "FAKE_CUDA_INIT": "100"}, "no GPU is visible: CUDA_VISIBLE_DEVICES is ''"),
    ({"FAKE_CUDA_INIT": "100"}, "the driver finds no GPU"),
    ({"FAKE_CUDA_INIT": "802"}, "the driver does not start: "),
    ({"CUDA_LAUNCH_BLOCKING": "1"}, "CUDA_LAUNCH_BLOCKING is '1': no work is queued, so that nothing can be timed: unset it"),
])
def test_a_driver_without_a_gpu_says_why_and_the_rest_goes_on(headrace, driver, more, words):
    headrace.write("both.yaml", """\
schema: 1
target: {path: scratch}
workloads:
  - {use: h2d}
  - {use: memory_copy, array_size: 1MiB, passes: 2, repeat: {looks: [1]}}
""")
    result = headrace("run", "-c", "both.yaml", "--no-report", "--out", "results", **driver(**more))
    gpu, host = json.loads(headrace.path("results/run.json").read_text())["points"]
    assert gpu["status"] == "skipped" and words in gpu["reason"], gpu
    assert host["status"] == "ok" and result.code == 12, result  # what was skipped leaves it open


@pytest.mark.parametrize("code", ["18", "0"])
def test_doctor_names_a_driver_of_another_version_than_its_library(headrace, driver, code):
    management = os.path.join(os.path.dirname(headrace.binary), "tests/machines")
    if not os.path.exists(f"{management}/libnvidia-ml.so.1"):
        pytest.skip("the tests' library of a driver is not built")
    where = driver(FAKE_CUDA_INIT="803", NVML_MOCK_INIT=code)
    where["LD_LIBRARY_PATH"] = f"{management}:{where['LD_LIBRARY_PATH']}"
    result = headrace("doctor", ".", "--json", **where)
    assert result.code == 0, result
    found = [one for one in json.loads(result.out)["findings"] if one["subject"] == "NVIDIA driver"]
    assert len(found) == (code == "18"), found
    if found:
        assert found[0]["level"] == "warning" and "580.82.07" in found[0]["text"] and "modprobe nvidia" in found[0]["advice"], found
