"""Runs these tests with this Python; 77 (skipped) where it has no pytest."""

import pathlib
import sys

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from pytest_run import run  # noqa: E402

run(here / "test_simgrid.py", sys.argv[1:])
