"""What the documents report a reader to type works as it is there."""

import pathlib
import re

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def test_the_workload_that_is_added_as_an_example(headrace):
    page = (DOCS / "how-to/add-a-workload.md").read_text()
    config = headrace.write("stat-files.yaml", re.search(r"```yaml\n(.*?)```", page, re.S)[1])
    listed = headrace("list", "stat_files")
    assert listed.code == 0 and "workers" in listed.out and "stat_rate" in listed.out, listed
    result = headrace.run(config, "--set", "workloads.0.files=300")
    assert result.code == 0, result
    points = headrace.results()["points"]
    assert [sum(r["counted"] for r in p["repetitions"]) for p in points] == [5, 5], points
    assert all(p["repetitions"][0]["phases"][0]["operations"] == 300 for p in points), points
