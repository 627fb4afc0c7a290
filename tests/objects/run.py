"""Runs one file of these tests with this Python; 77 (skipped) where they cannot run.  run.py reading [PYTEST OPTION...]"""

import os
import pathlib
import sys

try:
    import pytest
except ImportError:
    print(f"skipped: {sys.executable} has no pytest (Debian: python3-pytest)")
    sys.exit(77)

if not os.environ.get("HEADRACE_PLUGIN_S3", "built"):
    print("skipped: built without the s3 plugin (Debian: libcurl4-openssl-dev, libssl-dev, libpugixml-dev)")
    sys.exit(77)
here = pathlib.Path(__file__).parent
sys.exit(int(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", str(here / f"test_{sys.argv[1]}.py"), *sys.argv[2:]])))
