"""Runs one file of these tests with this Python; 77 (skipped) where it lacks what they need.  run.py page [PYTEST OPTION...]"""

import importlib
import pathlib
import sys

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from pytest_run import run, skip  # noqa: E402

missing = []
for module in ("jinja2", "matplotlib", "numpy"):
    try:
        importlib.import_module(module)
    except ImportError:
        missing.append(module)
if missing:
    skip(f"{sys.executable} has no {', '.join(missing)} (Debian: {' '.join('python3-' + module for module in missing)})")
run(here / f"test_{sys.argv[1]}.py", sys.argv[2:])
