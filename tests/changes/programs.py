"""Runs the tests of a build on a changed library: which of them reach which change, and which fail with it."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field

LEAST_LIMIT_S = 120  # what takes longer with a change than this, and ten times its own time, hangs
RECORD_LIMIT_S = 1800
TOGETHER_S = 0.5     # tests of a program that take less run in one process


@dataclass
class Part:
    """Tests of one program that run together."""
    program: pathlib.Path
    tests: list
    seconds: float = 0
    reached: set = field(default_factory=set)  # the changes whose code they come by
    why_not: str = ""  # why they cannot show anything: they fail without any change


class Runner:
    """`library` is the folder that holds the library with all `changes`, their number; `folder` is for what tests write;
    `tests` fits the names of those that run."""

    def __init__(self, library, folder, changes, sanitized, tests):
        self.library, self.folder, self.changes, self.tests = library, folder, changes, tests
        # A loop that a change makes endless must not take the machine's memory or disk. (The address sanitizer reserves
        # more than it uses, and has a limit of its own.)
        self.limits = ["prlimit", f"--fsize={4 << 30}"] + ([] if sanitized else [f"--as={8 << 30}"])

    def run(self, part, limit_s, change=None, record=None, arguments=()):
        """'' when it passed or skipped, else why not; what it printed; the seconds it took."""
        self.folder.mkdir(exist_ok=True)
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.library), GTEST_FAIL_FAST="1", GTEST_BRIEF="1",
                           GTEST_FILTER=":".join(part.tests) or "*", TMPDIR=str(self.folder),
                           ASAN_OPTIONS="hard_rss_limit_mb=4000:allocator_may_return_null=1:detect_leaks=0")
        for name, value in (("HEADRACE_CHANGE", change), ("HEADRACE_CHANGES_ASKED", record)):
            environment.pop(name, None)
            if value is not None:
                environment[name] = str(value)
        begun = time.monotonic()
        process = subprocess.Popen([*self.limits, str(part.program), *arguments], cwd=self.folder, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            out, _ = process.communicate(timeout=limit_s)
            why = "" if process.returncode in (0, 77) else f"exit {process.returncode}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            why = "hangs"
        return why, out.decode(errors="replace"), time.monotonic() - begun

    def tests_of(self, program):
        why, out, _ = self.run(Part(program, []), RECORD_LIMIT_S, arguments=["--gtest_list_tests"])
        if why:
            raise RuntimeError(f"{program.name} does not list its tests ({why}):\n{out[-2000:]}")
        tests, suite = [], None
        for line in out.splitlines():
            name = line.split("#")[0].rstrip()
            if re.fullmatch(r"[\w/]+\.", name):
                suite = name
            elif suite and re.fullmatch(r"  [\w/]+", name):
                tests.append(suite + name.strip())
        return [t for t in tests if "DISABLED_" not in t and re.search(self.tests, t)]

    def parts_of(self, program, record):
        """The tests of `program`: each runs alone, then those that are fast are put together. `record` is a file."""
        parts = []
        for test in self.tests_of(program):
            part = Part(program, [test])
            record.write_bytes(bytes(max(1, self.changes)))
            part.why_not, _, part.seconds = self.run(part, RECORD_LIMIT_S, record=record)
            part.reached = {n for n, byte in enumerate(record.read_bytes()) if byte}
            parts.append(part)
        return parts

    def all_parts(self, programs, kept_at, pool):
        """The tests of `programs`, as the library reaches its changes today; what was recorded before with the same
        library and program is."""
        kept = json.loads(kept_at.read_text()) if kept_at.exists() else {}
        library = b"".join(hashlib.sha256(p.read_bytes()).digest() for p in sorted(self.library.iterdir()))
        keys = {p: hashlib.sha256(library + p.read_bytes() + self.tests.encode()).hexdigest() for p in programs}
        missing = [p for p in programs if keys[p] not in kept]
        for program, parts in zip(missing, pool.map(
                lambda p: self.parts_of(p, kept_at.with_name(f"{p.name}.asked")), missing)):
            kept[keys[program]] = [[p.tests, p.seconds, sorted(p.reached), p.why_not] for p in parts]
        kept_at.write_text(json.dumps(kept))
        return [Part(p, tests, seconds, set(reached), why)
                for p in programs for tests, seconds, reached, why in kept[keys[p]]]


def parts_for(parts, change):
    """The tests that come by `change`, the fastest first; fast ones of one program are one part."""
    together, alone = {}, []
    for part in parts:
        if change not in part.reached or part.why_not:
            continue
        if part.seconds > TOGETHER_S:
            alone.append(part)
        elif part.program in together:
            together[part.program].tests.extend(part.tests)
            together[part.program].seconds += part.seconds
        else:
            together[part.program] = Part(part.program, list(part.tests), part.seconds)
    return sorted([*together.values(), *alone], key=lambda p: p.seconds)


def noticed(runner, parts, change):
    """The first program and test that fails with `change`, how many tests come by it, and what was printed."""
    chosen = parts_for(parts, change)
    count = sum(len(p.tests) for p in chosen)
    for part in chosen:
        why, out, _ = runner.run(part, max(LEAST_LIMIT_S, 10 * part.seconds), change=change)
        if why:
            test = re.search(r"\[  FAILED  \] ([\w./]+)", out)
            return part.program.name, test.group(1) if test else why, count, out
    return "", "", count, ""
