"""Runs these tests; 77 (skipped), with the reason, where there is no pytest or no virtual machine.  run.py [PYTEST OPTION...]"""

import pathlib
import subprocess
import sys

try:
    import pytest
except ImportError:
    print(f"skipped: {sys.executable} has no pytest (Debian: python3-pytest)")
    sys.exit(77)

here = pathlib.Path(__file__).parent
ready = subprocess.run([here.parent / "rdma/vm/run-in-rdma-vm", "--prepare"], capture_output=True, text=True)
if ready.returncode != 0:
    print(f"skipped: no virtual machine: {ready.stderr.strip()}")
    sys.exit(77)
sys.exit(int(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", str(here), *sys.argv[1:]])))
