"""What the disk tests share: running headrace on a configuration, reading what it wrote, skipping with a reason."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

HERE = Path(__file__).resolve().parent
SKIPPED = 77
# One repetition, and no other in place of one that was disturbed: a check tries again as a whole.
ONCE = {"looks": [1], "budget": "1s"}


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def limited(*limits: str) -> str:
    """The disk's mount point; runs this whole test again under with-limits when it is not there yet."""
    if "LIMITED_DISK" not in os.environ:
        os.execv(HERE / "with-limits", ["with-limits", *limits, "--", sys.executable, *sys.argv])
    return os.environ["LIMITED_DISK"]


def read_far_ahead(disk):
    """Requests wait at the throttle, not in the reader: then a reader that has to wait for a processor costs nothing."""
    device = os.stat(disk).st_dev
    with open(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/queue/read_ahead_kb", "w", encoding="ascii") as setting:
        setting.write("8192")


class Run:
    """One run of headrace: exit code, what it said, its run.json."""

    def __init__(self, code: int, reported: str, folder: Path):
        self.code, self.reported = code, reported
        file = folder / "run.json"
        self.data: Dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    @property
    def point(self) -> Dict[str, Any]:
        return self.data["points"][0]

    @property
    def disturbed(self) -> str:
        """Who disturbed its repetitions, by headrace's own ledger; "" when nobody did."""
        ledgers = [r["disturbance"] for p in self.data.get("points", []) for r in p["repetitions"] if "disturbance" in r]
        return next((ledger["why"] for ledger in ledgers if ledger["disturbed"]), "")

    def metric(self, name: str) -> float:
        for metric in self.point["metrics"]:
            if metric["name"] == name:
                return metric["median"]
        raise AssertionError(f"{name} was not measured:\n{self.reported}")


class Started:
    """headrace in the background, in a folder of its own."""

    def __init__(self, workload: Dict[str, Any], target: str, folder: Path):
        self.out = folder / "run"
        config = folder / "config.yaml"
        # JSON is YAML.
        config.write_text(json.dumps({"schema": 1, "name": "test", "target": {"path": target}, "workloads": [workload]}))
        self.process = subprocess.Popen(
            [sys.argv[1], "run", "-c", config, "--out", self.out, "--no-report", "--progress", "json"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def wait_for_repetition(self, index: int) -> None:
        """Returns when repetition `index` has ended, or the run."""
        for line in iter(self.process.stderr.readline, ""):
            if line.startswith("{"):
                event = json.loads(line)
                if event["event"] == "repetition_done" and event["index"] >= index:
                    return

    def end(self, timeout_s: float = 240) -> Run:
        try:
            _, reported = self.process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        run = Run(self.process.returncode, reported, self.out)
        if run.data:  # judged again from its file alone, it comes to the same verdict
            again = subprocess.run([sys.argv[1], "verdict", self.out, "--replay"], capture_output=True, text=True)
            none_asked = 12 if run.data["summary"]["needs"] == 0 else 0  # who asks for a verdict gets none
            assert again.returncode == (run.data["summary"]["exit_code"] or none_asked), (again.stdout, again.stderr)
        return run


@contextmanager
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="headrace_disk_test_"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


RUNS: List[Run] = []  # of the check at hand


def run(workload: Dict[str, Any], target: str, timeout_s: float = 240) -> Run:
    with folder() as work:
        RUNS.append(Started(workload, target, work).end(timeout_s))
    return RUNS[-1]


def near(measured: float, truth: float, share: float, what: str) -> None:
    difference = measured / truth - 1
    print(f"{what}: {measured:.4g}, truth {truth:.4g}, {100 * difference:+.2f} % (allowed {100 * share:.0f} %)")
    assert abs(difference) <= share, what


def between(measured: float, low: float, high: float, share: float, what: str) -> None:
    """The truth is somewhere from `low` to `high`."""
    near(measured, min(max(measured, low), high), share, what)


def on_a_quiet_moment(check: Callable[[], None], tries: int = 3) -> None:
    """A machine that is busy otherwise reads slower than the disk gives: checked anew, up to `tries` times. Skips when each
    time headrace's own ledger says who disturbed it: then there is no truth to be reported from this machine now."""
    disturbed = []
    for left in reversed(range(tries)):
        RUNS.clear()
        try:
            return check()
        except AssertionError as wrong:
            disturbed.append(next((run.disturbed for run in RUNS if run.disturbed), ""))
            if left == 0:
                if all(disturbed):
                    skip(f"the machine is too busy to tell: {'; '.join(disturbed)}")
                raise
            print(f"again, for the machine may have been busy ({disturbed[-1] or 'headrace saw nobody'}): {wrong}")


def proven(result: Run) -> None:
    for repetition in result.point["repetitions"]:
        assert repetition["cache"]["proven"], repetition["cache"]["why"]
