"""Runs one file of these tests with this Python; 77 (skipped) where it has no pytest.  run.py usage [PYTEST OPTION...]"""

import pathlib
import sys

try:
    import pytest
except ImportError:
    print(f"skipped: {sys.executable} has no pytest (Debian: python3-pytest)")
    sys.exit(77)

here = pathlib.Path(__file__).parent
sys.exit(int(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", str(here / f"test_{sys.argv[1]}.py"), *sys.argv[2:]])))
