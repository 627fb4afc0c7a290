"""Runs one file of these tests with this Python; 77 (skipped) where it has no pytest.  run.py usage [PYTEST OPTION...]"""

import pathlib
import sys

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from pytest_run import run  # noqa: E402

run(here / f"test_{sys.argv[1]}.py", sys.argv[2:])
