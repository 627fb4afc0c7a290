"""Runs one file of these tests with this Python; 77 (skipped) where they cannot run.  run.py reading [PYTEST OPTION...]"""

import os
import pathlib
import re
import sys

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from pytest_run import run, skip  # noqa: E402

tests = here / f"test_{sys.argv[1]}.py"
if {"faults", "counting_faults"} & set(re.findall(r"\w+", tests.read_text())):  # asks for the faulty file system
    if not os.environ.get("FAULTY_FS"):
        skip("built without libfuse3 (Debian: libfuse3-dev)")
    if not os.path.exists("/dev/fuse"):
        skip("no /dev/fuse: the kernel has no FUSE, or this container may not use it")
    if os.geteuid() != 0:
        skip("needs root to mount a file system")
run(tests, sys.argv[2:])
