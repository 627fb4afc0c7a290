"""What `plan` reports on the time that a shipped configuration takes. What users write wrong: tests/cases/usage."""

import json
import os
import re

import pytest


@pytest.mark.parametrize("config", ["rdma", "nccl"])
def test_plan_reports_the_time_of_a_fabric(headrace, config):
    """It does not grow with the nodes, so that it stays below twenty minutes on all of them."""
    path = os.path.join(os.path.dirname(__file__), "../../configs", config + ".yaml")
    reported = headrace("run", "--dry-run", "-c", path).out
    assert re.search(r"^time +\S.* to .*however many ranks take part", reported, re.M), reported
    points = json.loads(headrace("run", "--dry-run", "-c", path, "--json").out)["points"]
    assert all("repetition_s" in p for p in points if p["workload"] != "network_ports"), points
    assert 0 < sum(p.get("repetition_s", 0) * p["looks"][-1] for p in points) < 1200


def test_plan_reports_the_time_of_eight_gpus(headrace):
    """Ten minutes at most, with as many repetitions as there can be; who cannot know its time keeps to its budget."""
    path = os.path.join(os.path.dirname(__file__), "../../configs/gpu.yaml")
    reported = headrace("run", "--dry-run", "-c", path).out
    assert re.search(r"^time +\S.* to .*as with eight GPUs", reported, re.M), reported
    points = json.loads(headrace("run", "--dry-run", "-c", path, "--json").out)["points"]
    unreported = {p["workload"] for p in points if "repetition_s" not in p}
    assert unreported == {"gpu_decode", "storage_to_gpu"}
    most = [p["budget_s"] if "repetition_s" not in p else
            p["around_s"] + min(p["repetition_s"] * p["looks"][-1], p["budget_s"] + p["repetition_s"]) for p in points]
    assert 60 < sum(most) <= 600, list(zip((p["id"] for p in points), most))
