"""Runs one file of these tests with this Python; 77 (skipped) where they cannot run.  run.py reading [PYTEST OPTION...]"""

import os
import pathlib
import sys

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from pytest_run import run, skip  # noqa: E402

if not os.environ.get("HEADRACE_PLUGIN_S3", "built"):
    skip("built without the s3 plugin (Debian: libcurl4-openssl-dev, libssl-dev, libpugixml-dev)")
run(here / f"test_{sys.argv[1]}.py", sys.argv[2:])
