"""headrace as a user runs it, over an object store."""

import json
import os
import pathlib
import random
import subprocess

import pytest
from servers import environment

ROOT = pathlib.Path(__file__).parents[2]
BINARY = os.environ.get("HEADRACE", str(ROOT / "build/release/headrace"))


def made(count=12, size=50_000, seed=1):
    """Objects with content of their own, under names that need care in URLs."""
    draw = random.Random(seed)
    return {f"set/d{i % 3}/a b+{i:03}&é.bin": draw.randbytes(size + i) for i in range(count)}


class Run:
    def __init__(self, code, reported, folder):
        self.code, self.reported = code, reported
        file = folder / "run.json"
        self.data = json.loads(file.read_text()) if file.exists() else {}

    def __repr__(self):
        return f"exit {self.code}\n{self.reported}"

    @property
    def point(self):
        return self.data["points"][0]

    @property
    def repetition(self):
        return self.point["repetitions"][0]

    def metric(self, name):
        return self.repetition["metrics"][name]

    @property
    def why(self):
        """Of a point that failed or was skipped."""
        return self.point["reason"]


class Headrace:
    binary, environment = BINARY, staticmethod(environment)

    def __init__(self, folder):
        self.folder, self.runs = folder, 0

    def command(self, *words, **changes):
        return subprocess.run([BINARY, *words], cwd=self.folder, text=True, capture_output=True, timeout=240,
                              env=environment(changes.pop("endpoint", None), **changes))

    def start(self, *words, endpoint):
        return subprocess.Popen([BINARY, *words], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env=environment(endpoint))

    def __call__(self, endpoint, *workloads, needs=(), env=None, at=None):
        self.runs += 1
        out = self.folder / f"run{self.runs}"
        config = self.folder / f"config{self.runs}.yaml"
        config.write_text(json.dumps({"schema": 1, "name": "objects", "target": {"path": at or str(self.folder / "scratch")},
                                      "needs": list(needs), "workloads": list(workloads)}))
        done = self.command("run", "-c", config.name, "--out", str(out), "--no-report", "--progress", "none",
                            endpoint=endpoint, **(env or {}))
        run = Run(done.returncode, done.stdout + done.stderr, out)
        if run.data:  # judged again from its file alone, it comes to the same verdict
            again = self.command("verdict", str(out), "--replay")
            assert "gives the stored verdict" in again.stdout, (again.stdout, again.stderr)
        return run


@pytest.fixture
def headrace(tmp_path):
    return Headrace(tmp_path)
