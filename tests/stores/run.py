"""Runs these tests; 77 (skipped), with the reason, where there is no pytest or no store.  run.py [PYTEST OPTION...]"""

import pathlib
import sys

here = pathlib.Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent)]
from pytest_run import run, skip  # noqa: E402

import test_stores  # noqa: E402

reasons = {store: test_stores.missing(store) for store in test_stores.PROGRAMS}
if all(reasons.values()):
    skip("; ".join(f"{store}: {reason}" for store, reason in reasons.items()))
run(here, sys.argv[1:])
