"""Hostile input of many kinds against the built binary, drawn from a seed: counts attempts, and those that broke a promise of SECURITY.md.
attempts.py [--headrace PROGRAM] [--seed N] [--scale X] [AREA...]      exit 0: none broken, 1: some, 77: cannot run here"""

import argparse
import csv
import html.parser
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import surfaces

STRANGER = 65534
GUARD_S, MOST_MEMORY_KIB = 150, 3 << 20  # not a measure of speed: what is endless or square in its input passes both by far
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
FORMULA = re.compile(r"[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|-?(inf|nan)$")


class Outcome:
    def __init__(self, code, out, err, kib):
        self.code, self.out, self.err, self.kib = code, out, err, kib

    def wrong(self, codes=(*range(0, 13), 77), printable=True):
        """Promises that every run keeps."""
        both = self.out + self.err
        if self.code not in codes or "terminate called" in both:
            yield f"ended with {self.code}"
        if self.kib > MOST_MEMORY_KIB:
            yield f"took {self.kib >> 10} MiB"
        if printable and (found := CONTROL.search(both)):
            yield f"printed {found.group()!r}"


class Box:
    """A folder, the program, and random numbers."""

    def __init__(self, program, folder, rng):
        self.program, self.folder, self.rng = program, pathlib.Path(folder), rng

    def path(self, name):
        return self.folder / name

    def write(self, name, data):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
        return str(path)

    def fresh(self, name):
        path = self.path(name)
        shutil.rmtree(path, ignore_errors=True)
        return path

    def __call__(self, *words, text=None, user=None, **environment):
        plain = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "SUDO_", "HEADRACE", "http")) and k != "FORCE_COLOR"}
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            given.write(text if isinstance(text, bytes) else (text or "").encode("utf-8", "surrogatepass"))
            given.seek(0)
            process = subprocess.Popen([self.program, "--progress", "none", *map(str, words)], cwd=self.folder, user=user, group=user,
                                       extra_groups=None if user is None else [], env=plain | {"LC_ALL": "C.UTF-8"} | environment,
                                       stdin=given, stdout=out, stderr=err)
            deadline = time.monotonic() + GUARD_S
            while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
                if time.monotonic() > deadline:
                    process.kill()
                time.sleep(0.002)
            process.returncode = os.waitstatus_to_exitcode(ended[1])
            code = process.returncode if time.monotonic() < deadline else "no end"
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        return Outcome(code, *texts, ended[2].ru_maxrss)

    def text_of_files(self, name):
        return "".join(p.read_text(errors="replace") for p in sorted(self.path(name).rglob("*")) if p.is_file())


def cells_that_run(text):
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            if FORMULA.match(cell) and not NUMBER.match(cell):
                yield f"a spreadsheet runs {cell[:40]!r}"


class Page(html.parser.HTMLParser):
    """What in a page runs, or loads something."""

    def __init__(self, text):
        super().__init__()
        self.runs = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "iframe", "object", "embed", "base", "form"):
            self.runs.append(tag)
        for name, value in attributes:
            if name.startswith("on") or (name in ("href", "src", "action") and re.match(r"\s*(javascript|https?|//)", value or "", re.I)):
                self.runs.append(f"{tag} {name}={value}")


def tree(folder):
    return sorted((str(p.relative_to(folder)), p.lstat().st_uid, p.lstat().st_mode, p.lstat().st_size, p.lstat().st_mtime_ns)
                  for p in folder.rglob("*"))


def run_area(name, box, scale):
    attempts, broken = 0, []
    for label, wrong in surfaces.AREAS[name](box, scale):
        attempts += 1
        for what in wrong:
            broken.append(f"{name}: {label}: {what}")
            print("BROKEN " + broken[-1].encode("ascii", "backslashreplace").decode(), flush=True)
            break
    return attempts, broken


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--headrace", default=os.environ.get("HEADRACE", "headrace"))
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--scale", type=float, default=1)
    arguments.add_argument("area", nargs="*")
    given = arguments.parse_args()
    if os.geteuid() != 0:
        print("skipped: only root can give files to a stranger")
        return 77
    attempts, broken = 0, []
    for name in given.area or surfaces.AREAS:
        with tempfile.TemporaryDirectory(prefix="headrace-hostile-") as folder:
            os.chmod(folder, 0o755)
            begin = time.monotonic()
            tried, failed = run_area(name, Box(os.path.abspath(given.headrace), folder, random.Random(f"{given.seed} {name}")), given.scale)
        print(f"{name:10} {tried:5} attempts {len(failed):4} broken   {time.monotonic() - begin:6.1f} s", flush=True)
        attempts += tried
        broken += failed
    print(f"{'all':10} {attempts:5} attempts {len(broken):4} broken   seed {given.seed}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.modules["attempts"] = sys.modules["__main__"]
    sys.exit(main())
