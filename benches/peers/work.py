"""A request to headrace and its peers, in neutral terms, and its result."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30


class Missing(Exception):
    """A peer cannot run here; the text says why."""


@dataclass(frozen=True)
class Work:
    """One kind of I/O. Sizes in bytes."""

    pattern: str  # "files": whole, in random order; "random": blocks; "stream": in order; "save": write until durable
    files: int
    file_size: int
    block: int
    cache: str  # "warm", "cold", "bypassed"
    threads: int = 1
    passes: int = 1  # over the data, each turn
    reads: int = 0  # of "random", each pass; 0 = as many as there are blocks

    @property
    def direct(self) -> bool:
        return self.cache == "bypassed"

    @property
    def reads_per_pass(self) -> int:
        return self.reads or self.files * self.file_size // self.block


@dataclass(frozen=True)
class Peer:
    """One way to do the work. `settings` are in the tool's own words."""

    tool: str  # "headrace", "fio", "elbencho", "minimal"
    name: str
    settings: dict = field(default_factory=dict, hash=False)


@dataclass
class Measured:
    """One turn."""

    rate: float  # operations per second; bytes per second where the work counts bytes
    cpu: float = 0.0  # processor seconds per operation, user and kernel
    p50: float = 0.0  # latency [s]; 0 = not reported
    p99: float = 0.0


@dataclass
class Place:
    """Where things are on this machine."""

    scratch: Path  # headrace's target folder, which holds the data that all read
    temporary: Path
    headrace: Path
    minimal: Path  # folder of the minimal programs
    elbencho: Optional[Path] = None
    environment: dict = field(default_factory=dict)  # the machine, as headrace reported it last
    notes: list = field(default_factory=list)  # headrace's last

    def folder(self, work: Work) -> Path:
        """The data set that headrace made for this work."""
        (found,) = (self.scratch / "data").glob(f"{work.files}x{work.file_size}B-*")
        return found

    @property
    def peers_save(self) -> Path:
        """Where peers write what they save."""
        return self.scratch / "peers-save"

    def data(self, work: Work) -> list[Path]:
        return sorted(self.folder(work).glob("d*/*"))


def succeed(command: list, **options) -> str:
    """The output of the command; on failure an error with its messages."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{done.stderr or done.stdout}")
    return done.stdout
