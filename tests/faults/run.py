"""Runs one file of these tests with this Python; 77 (skipped) where they cannot run.  run.py reading [PYTEST OPTION...]"""

import os
import pathlib
import re
import sys


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


try:
    import pytest
except ImportError:
    skip(f"{sys.executable} has no pytest (Debian: python3-pytest)")

here = pathlib.Path(__file__).parent
name = sys.argv[1]
if {"faults", "counting_faults"} & set(re.findall(r"\w+", (here / f"test_{name}.py").read_text())):  # asks for the faulty file system
    if not os.environ.get("FAULTY_FS"):
        skip("built without libfuse3 (Debian: libfuse3-dev)")
    if not os.path.exists("/dev/fuse"):
        skip("no /dev/fuse: the kernel has no FUSE, or this container may not use it")
    if os.geteuid() != 0:
        skip("needs root to mount a file system")
sys.exit(int(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", str(here / f"test_{name}.py"), *sys.argv[2:]])))
