"""headrace as a user runs it: in a folder of its own, with a small configuration."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

BINARY = os.environ.get("HEADRACE", str(pathlib.Path(__file__).parents[2] / "build/release/headrace"))

# A shell that starts this in the background has it ignore Ctrl-C, and so would all that is started here.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Quick on any machine: tiny data, no cache state to make.
TINY = """\
schema: 1
name: tiny
target: {path: scratch, max_write: 200MiB}
workloads:
  - use: small_file_read
    files: 40
    file_size: 8KiB
    workers: 2
    cache: asis
    repeat: 5
"""


def replay(binary, folder):
    """Of every run that a test makes: what its file recorded gives the stored verdict."""
    for file in folder.rglob("run.json") if folder.is_dir() else ():
        reported = json.loads(file.read_text())["summary"]
        again = subprocess.run([binary, "verdict", file, "--replay"], capture_output=True, text=True)
        none_asked = 12 if reported["needs"] == 0 else 0  # who asks for a verdict gets none
        assert again.returncode == (reported["exit_code"] or none_asked) and "gives the stored verdict" in again.stdout, (
            again.stdout, again.stderr, reported)


class Headrace:
    def __init__(self, folder):
        self.folder = folder
        self.binary = BINARY
        self.under = []  # a command that runs it, with its options

    def path(self, name):
        return self.folder / name

    def write(self, name, text):
        self.path(name).write_text(text)
        return name

    def environment(self, **changes):
        plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "HEADRACE")}
        return plain | {"LC_ALL": "C.UTF-8"} | changes

    def start(self, *words, **changes):
        return subprocess.Popen([*self.under, self.binary, *words], cwd=self.folder, env=self.environment(**changes), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def start_measuring(self, config, *words):
        """A run that has its data and has done one repetition; it would go on for minutes."""
        process = self.start("--progress", "json", "run", "-c", config, "--no-report", "--out", "results",
                             "--set", "workloads.0.repeat=1000", "--set", "workloads.0.rest=100ms", *words)
        for line in process.stderr:
            if json.loads(line)["event"] == "repetition_done":
                return process
        raise AssertionError(f"ended before its first repetition: {process.communicate()}")

    def __call__(self, *words, **changes):
        """What came out; .code, .out, .err."""
        process = self.start(*words, **changes)
        out, err = process.communicate(timeout=120)
        return Outcome(process.returncode, out, err)

    def run(self, config, *words, verb="run", out="results"):
        outcome = self(verb, "-c", config, "--no-report", "--out", out, *words)
        replay(self.binary, self.path(out))
        return outcome

    def results(self, name="run.json", out="results"):
        return json.loads((self.path(out) / name).read_text())


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


@pytest.fixture
def headrace(tmp_path):
    runner = Headrace(tmp_path)
    runner.write("tiny.yaml", TINY)
    return runner
