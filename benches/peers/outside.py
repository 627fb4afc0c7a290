"""A save as seen from outside the process that does it. It lasts from the creation of the file until the last call that makes
it durable has returned. Whatever a program counts or leaves out of its own figure does not matter here."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from work import Missing

CALLS = "open,openat,creat,close,fsync,fdatasync,sync_file_range,ftruncate,fallocate,rename,renameat,renameat2"
OPENING = ("open", "openat", "creat")
LINE = re.compile(r"^(?:\d+\s+)?(?P<at>\d+\.\d+) (?P<call>\w+)\((?P<rest>.*)<(?P<took>\d+\.\d+)>$")
UNFINISHED = re.compile(r"^(?P<pid>\d+)\s+(?P<at>\d+\.\d+) (?P<call>\w+)\((?P<rest>.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(?P<pid>\d+)\s+(?P<at>\d+\.\d+) <\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)<(?P<took>\d+\.\d+)>$")


def calls(log: str) -> list:
    """(call, arguments and result, begin, end) of every traced call, in the order of their beginning."""
    found, open_calls = [], {}
    for line in log.splitlines():
        if match := UNFINISHED.match(line):
            open_calls[match["pid"]] = match
        elif match := RESUMED.match(line):
            if began := open_calls.pop(match["pid"], None):
                found.append((match["call"], began["rest"] + match["rest"], float(began["at"]),
                              float(began["at"]) + float(match["took"])))
        elif match := LINE.match(line):
            found.append((match["call"], match["rest"], float(match["at"]), float(match["at"]) + float(match["took"])))
    return sorted(found, key=lambda call: call[2])


def span(log: str, folder: Path) -> float:
    """Seconds from the last creation of a data file below `folder` until it and its name are durable."""
    here = [call for call in calls(log) if str(folder) in call[1]]
    created = [call for call in here if call[0] in OPENING and "O_CREAT" in call[1]]
    if not created:
        raise RuntimeError(f"nobody created a file in {folder}")
    name, begin, _ = created[-1][1:]
    data = re.search(r'"([^"]+)"', name)[1].rsplit("/")[-1]
    # Calls on the data file, and those that make its name durable.
    ends = [call[3] for call in here if call[2] > begin and call[0] not in OPENING
            and (data in call[1] or call[0] == "fsync")]
    # Space set aside before the file is opened for the save is a part of it, too.
    before = [call[3] - call[2] for call in here if call[0] == "fallocate" and call[2] < begin and data in call[1]]
    return max(ends) - begin + sum(before)


def time_to_durable(command: list, folder: Path, temporary: Path) -> float:
    """Runs the command; only the few calls that matter are stopped at, all others run at full speed."""
    if not shutil.which("strace"):
        raise Missing("strace is not installed (Debian: apt install strace)")
    log = temporary / "strace.log"
    trace = ["strace", "-f", "--seccomp-bpf", "-y", "-ttt", "-T", "-e", f"trace={CALLS}", "-o", log]
    done = subprocess.run([str(part) for part in [*trace, *command]], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{done.stderr}")
    return span(log.read_text(), folder)
