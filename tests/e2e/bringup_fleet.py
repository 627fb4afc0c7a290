"""headrace bringup with agents that are made up (fleet_agent.py), for the tests of it."""

import json
import pathlib
import shlex
import sys

import pytest

AGENT = pathlib.Path(__file__).with_name("fleet_agent.py")


@pytest.fixture
def fleet(headrace):
    version = headrace("--version").out.split()[1]

    def launch():
        return shlex.join([sys.executable, str(AGENT), version, "fleet.json"]) + " {host}"

    def run(nodes, *words, rails="", **fleet):
        headrace.write("hosts", "".join(f"{name}{rails if isinstance(rails, str) else rails.get(name, '')}\n" for name in nodes))
        headrace.write("fleet.json", json.dumps(fleet))
        words = words if words else ("--hosts", "hosts")
        reported = headrace("bringup", "--pairs-only", "--no-report", "--out", "cluster", "--launch", launch(), *(() if "--time" in words else ("--time", "10ms")), *words)
        reported.record = headrace.results("bringup.json", "cluster") if headrace.path("cluster/bringup.json").exists() else None
        return reported

    run.launch = launch
    return run


def pairs_over(reported, rail):
    return {tuple(sorted(pair["nodes"])) for one in reported.record["sessions"] for met in one["rounds"] for pair in met["pairs"] if pair["rail"] == rail}
