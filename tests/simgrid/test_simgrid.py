"""The same storms by SimGrid's flow model: every flow ends at the same time, to three digits."""
import json
import os
import pathlib
import random
import subprocess
import sys

import pytest

simgrid = pytest.importorskip("simgrid")
if not hasattr(simgrid, "Engine"):  # this folder has the same name
    pytest.skip("SimGrid is not installed (Debian: python3-simgrid)", allow_module_level=True)
STORM_ENDS = os.environ.get("STORM_ENDS") or str(pathlib.Path(__file__).resolve().parents[2] / "build/release/tests/storm_ends")
HERE = pathlib.Path(__file__).resolve().parent


def storm_of(seed, flows, groups, store):
    """Clients with links of four speeds on switches with narrow uplinks: each flow has a size and a start of its own."""
    draw = random.Random(seed)
    return {"speeds": [1e9, 2e9, 4e9, 8e9], "groups": [draw.uniform(2e9, 20e9) for _ in range(groups)], "store": store,
            "flows": [[draw.uniform(0, 5), draw.uniform(1e9, 20e9), draw.randrange(4), draw.randrange(groups)] for _ in range(flows)]}


@pytest.mark.parametrize("flows,groups,store", ((1, 1, 1e9), (50, 5, 20e9), (200, 3, 1e12), (200, 20, 40e9), (800, 40, 100e9)))
def test_flows_end_when_simgrid_says(tmp_path, flows, groups, store):
    storm = storm_of(flows, flows, groups, store)
    own = json.loads(subprocess.run([STORM_ENDS], input=json.dumps(storm), capture_output=True, text=True, check=True).stdout)
    theirs = json.loads(subprocess.run([sys.executable, "-B", str(HERE / "simgrid_ends.py"), str(tmp_path)], input=json.dumps(storm),
                                       capture_output=True, text=True, check=True).stdout)
    assert len(own) == len(theirs) == flows
    worst = max(range(flows), key=lambda i: abs(own[i] / theirs[i] - 1))
    assert abs(own[worst] / theirs[worst] - 1) < 5e-4, (worst, own[worst], theirs[worst])


def test_another_store_ends_otherwise(tmp_path):
    """The comparison notices: a store of half the rate does not end the flows at the same time."""
    storm = storm_of(1, 50, 5, 20e9)
    ends = [json.loads(subprocess.run([STORM_ENDS], input=json.dumps(s), capture_output=True, text=True, check=True).stdout)
            for s in (storm, storm | {"store": 10e9})]
    assert max(abs(a / b - 1) for a, b in zip(*ends)) > 0.1
