"""Runs these tests; 77 (skipped), with the reason, where there is no pytest or no virtual machine.  run.py [PYTEST OPTION...]"""

import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from pytest_run import run, skip  # noqa: E402

ready = subprocess.run([here.parent / "rdma/vm/run-in-rdma-vm", "--prepare"], capture_output=True, text=True)
if ready.returncode != 0:
    skip(f"no virtual machine: {ready.stderr.strip()}")
run(here, sys.argv[1:])
