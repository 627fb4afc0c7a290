"""Records of bring-ups as the program writes them, of made-up clusters; none without HEADRACE_BINARY."""

import json
import os
import pathlib
import subprocess
import tempfile

BINARY = os.environ.get("HEADRACE_BINARY", "")


def record(nodes, *words):
    """bringup.json of a simulated bring-up of that many nodes."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([BINARY, "bringup", "--simulate", str(nodes), "--out", f"{folder}/cluster", "--no-report", *words],
                              capture_output=True, text=True, timeout=600)
        assert done.returncode in (0, 10, 11), done.stderr
        return json.loads(pathlib.Path(folder, "cluster/bringup.json").read_text())


def found():
    """Bad nodes and a bad switch among 64."""
    return record(64, "--bad", "5%", "--loss", "30%", "--nodes-per-switch", "16", "--switches", "1")


def undecided():
    return record(100, "--most-rounds", "1")


def sound():
    return record(16, "--bad", "0")


SAMPLES = {"bringup_found": found, "bringup_undecided": undecided, "bringup_sound": sound} if os.access(BINARY, os.X_OK) else {}
