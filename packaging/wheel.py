#!/usr/bin/env python3
"""Makes a wheel of an installed tree with its libraries: `pip install` of it brings the command headrace.

  packaging/wheel.py TREE VERSION FOLDER MACHINE
      writes FOLDER/headrace-VERSION-py3-none-manylinux_2_NN_MACHINE.whl, prints its path

The tag names the oldest C library that every program of the tree runs with."""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import zipfile

SUMMARY = "Measures whether storage, host and network can feed a training job"
NEEDS = ["jinja2>=3.0", "matplotlib>=3.5", "numpy>=1.19"]  # of the report maker, as reports/pyproject.toml has them
LAUNCHER = '''\
"""The command headrace, and where it is."""

import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).resolve().parent / "tree/bin/headrace"


def main():
    os.environ.setdefault("HEADRACE_PYTHON", sys.executable)  # it has what the report maker needs
    try:
        os.execv(PROGRAM, ["headrace", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"headrace: {PROGRAM} cannot be started: {error.strerror}")
'''


def newest_c_library(tree):
    """(2, 35): of all versions of symbols that the tree's programs and libraries ask of the C library."""
    newest = (2, 17)
    for path in tree.rglob("*"):
        if path.is_file() and path.open("rb").read(4) == b"\x7fELF":
            table = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True).stdout
            newest = max([newest, *((2, int(minor)) for minor in re.findall(r"\(?GLIBC_2\.(\d+)", table))])
    return newest


def files_of(tree):
    """(name in the tree, path): each library once, by the name that programs ask for; a wheel has no links."""
    for path in sorted(tree.rglob("*")):
        if path.is_dir():
            continue
        versions = path.parent.name == "headrace" and path.parent.parent.name == "lib" and not path.is_symlink()
        if versions and any(p.is_symlink() and p.resolve() == path.resolve() for p in path.parent.iterdir()):
            continue
        yield path.relative_to(tree).as_posix(), path


class Wheel:
    def __init__(self, path):
        self.archive, self.record = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9), []

    def add(self, name, data, executable=False):
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, info):
        name = f"{info}/RECORD"
        self.archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), "\n".join([*self.record, f"{name},,", ""]))
        self.archive.close()


def main():
    tree, version, folder, machine = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
    major, minor = newest_c_library(tree)
    tag = f"py3-none-manylinux_{major}_{minor}_{machine}"
    path, info = folder / f"headrace-{version}-{tag}.whl", f"headrace-{version}.dist-info"
    wheel = Wheel(path)
    wheel.add("headrace/__init__.py", LAUNCHER.encode())
    wheel.add("headrace/__main__.py", b"from headrace import main\n\nmain()\n")
    for name, file in files_of(tree):
        wheel.add(f"headrace/tree/{name}", file.read_bytes(), os.access(file, os.X_OK))
    needs = "".join(f"Requires-Dist: {need}\n" for need in NEEDS)
    wheel.add(f"{info}/METADATA", (f"Metadata-Version: 2.1\nName: headrace\nVersion: {version}\nSummary: {SUMMARY}\n"
                                   f"License: Apache-2.0\nRequires-Python: >=3.9\n{needs}").encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: headrace\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt", b"[console_scripts]\nheadrace = headrace:main\n")
    wheel.close(info)
    print(path)


if __name__ == "__main__":
    main()
