"""The built binary on storage that fails to order."""

import json
import os
import pathlib
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BINARY = os.environ.get("HEADRACE", str(ROOT / "build/release/headrace"))
FAULTY_FS = os.environ.get("FAULTY_FS", str(ROOT / "build/release/tests/faulty_fs"))
BLOCK = 4096


class Run:
    """One run: exit code, what it said, its run.json."""

    def __init__(self, code, reported, folder):
        self.code, self.reported = code, reported
        file = folder / "run.json"
        self.data = json.loads(file.read_text()) if file.exists() else {}

    def __repr__(self):
        return f"exit {self.code}\n{self.reported}"

    @property
    def points(self):
        return self.data["points"]

    @property
    def point(self):
        return self.points[0]

    @property
    def errors(self):
        return [r["error"] for r in self.point["repetitions"] if r["status"] == "error"]

    def judged(self, need):
        return next(j for j in self.data["judgements"] if j["id"] == need)


class Headrace:
    def __init__(self, folder, target):
        self.folder, self.target = folder, target
        self.runs = 0

    def start(self, workloads, needs=(), before=(), options=()):
        """Runs in the background; `before` is in front of the command, `options` are behind it."""
        self.runs += 1
        self.out = self.folder / f"run{self.runs}"
        config = self.folder / f"config{self.runs}.yaml"
        config.write_text(json.dumps({"schema": 1, "name": "faults", "target": {"path": str(self.target)},
                                      "needs": list(needs), "workloads": workloads}))  # JSON is YAML
        return subprocess.Popen([*before, BINARY, "run", "-c", str(config), "--out", str(self.out), "--no-report",
                                 "--progress", "none", *options], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def end(self, process, timeout=180):
        reported, _ = process.communicate(timeout=timeout)
        run = Run(process.returncode, reported, self.out)
        if run.data:  # judged again from its file alone, it comes to the same verdict
            again = subprocess.run([BINARY, "verdict", self.out, "--replay"], capture_output=True, text=True)
            none_asked = 12 if run.data["summary"]["needs"] == 0 else 0  # who asks for a verdict gets none
            assert again.returncode == (run.data["summary"]["exit_code"] or none_asked), (again.stdout, again.stderr)
            assert "gives the stored verdict" in again.stdout, again.stdout
        return run

    def __call__(self, *workloads, needs=(), before=(), options=(), timeout=180):
        return self.end(self.start(list(workloads), needs, before, options), timeout)


class Faults:
    """A mounted faulty file system; its rules are those of tests/faults/faulty_fs.cc."""

    def __init__(self, folder, *options):
        self.backing, self.mount = folder / "backing", folder / "disk"
        self.backing.mkdir()
        self.mount.mkdir()
        self.control = self.mount / ".faults"
        self.process = subprocess.Popen([FAULTY_FS, str(self.backing), str(self.mount), *options])
        end = time.monotonic() + 150
        while not self.control.exists():
            if self.process.poll() is not None:
                pytest.skip(f"the file system cannot be mounted (faulty_fs ended with {self.process.returncode})")
            assert time.monotonic() < end, "the file system was not mounted"
            time.sleep(0.01)

    def set(self, *rules):
        with open(self.control, "w") as file:
            file.write("\n".join(rules) + "\n")

    def used(self):
        """How often each rule came into play."""
        return [int(line.rsplit("#", 1)[1]) for line in self.control.read_text().splitlines()]

    def files(self):
        return sorted(str(p.relative_to(self.backing)) for p in self.backing.rglob("*") if p.is_file())

    def end(self):
        # Killed, it lets go of all that hangs. Its control file may not answer any more: where a read hangs and the file's
        # name is to be changed, libfuse lets every later lookup wait behind both.
        self.process.kill()
        self.process.wait(timeout=180)
        if subprocess.run(["umount", self.mount], capture_output=True).returncode != 0:
            subprocess.run(["umount", "--lazy", self.mount])


@pytest.fixture
def faults(tmp_path):
    disk = Faults(tmp_path)
    yield disk
    disk.end()


@pytest.fixture
def counting_faults(tmp_path):
    """Faults of a client that counts what it reads: cold reads are proven there."""
    disk = Faults(tmp_path, "counted")
    yield disk
    disk.end()


@pytest.fixture
def headrace(tmp_path, faults):
    return Headrace(tmp_path, faults.mount / "scratch")
