"""Runs tests by pytest, in a temporary folder of their own; for the run.py of each folder."""

import pathlib
import shutil
import signal
import sys
import tempfile

SKIPPED = 77
LONG = "long: takes minutes, or compares times that only a machine without other work gives; with tools/test --all"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


try:
    import pytest
except ImportError:
    skip(f"{sys.executable} has no pytest (Debian: python3-pytest)")


def run(tests, options=()):
    """Ends the program with pytest's exit code. Programs that start later may not change this folder's mode, as they change the
    folder that pytest shares among the programs of a user; it stays where a test failed."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and so the tested programs, would ignore it
    folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-tests-"))
    code = int(pytest.main(["-vv", "-rs", "--durations=6", "--durations-min=2", "--no-header", "-p", "no:cacheprovider", "-o", f"markers={LONG}", f"--basetemp={folder / 't'}",
                            str(tests), *options]))
    if code == 0:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(77 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code)
