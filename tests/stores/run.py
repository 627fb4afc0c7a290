"""Runs these tests; 77 (skipped), with the reason, where there is no pytest or no store.  run.py [PYTEST OPTION...]"""

import pathlib
import sys

try:
    import pytest
except ImportError:
    print(f"skipped: {sys.executable} has no pytest (Debian: python3-pytest)")
    sys.exit(77)

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here))
import test_stores  # noqa: E402

reasons = {store: test_stores.missing(store) for store in test_stores.PROGRAMS}
if all(reasons.values()):
    print("skipped: " + "; ".join(f"{store}: {reason}" for store, reason in reasons.items()))
    sys.exit(77)
sys.exit(int(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", str(here), *sys.argv[1:]])))
