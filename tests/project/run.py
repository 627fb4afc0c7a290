"""Runs the tests of this folder; 77 (skipped) without pytest.  run.py [PYTEST OPTION...]"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import pytest_run  # noqa: E402

pytest_run.run(HERE, sys.argv[1:])
