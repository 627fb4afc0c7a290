#!/usr/bin/python3
"""Predictions and published measurements: makes docs/explanation/validation.md, or says whether it is up to date."""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import evaluate  # noqa: E402
import host  # noqa: E402,F401
import mlperf  # noqa: E402,F401
import network  # noqa: E402,F401
import page  # noqa: E402
import storage  # noqa: E402,F401
from predictions import KINDS  # noqa: E402
from tables import HERE, load  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/explanation/validation.md"
BINARY = os.environ.get("HEADRACE", str(ROOT / "build/release/headrace"))


def grade(tables, binary=BINARY):
    unknown = sorted({t.kind for t in tables} - set(KINDS))
    if unknown:
        raise SystemExit(f"no grader for tables of the kind {', '.join(unknown)}; there are {', '.join(sorted(KINDS))}")
    return evaluate.run(binary, [KINDS[t.kind](t, tables) for t in tables])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", action="append", metavar="DIR", help="tables instead of those carried, may be repeated")
    parser.add_argument("--html", metavar="FILE", help="the page with plots")
    parser.add_argument("--markdown", metavar="FILE", default=None, help=f"default: {PAGE.relative_to(ROOT)}, but with --tables standard output")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where the page is not up to date")
    a = parser.parse_args()
    tables = load(*(a.tables or [HERE]))
    found = grade(tables)
    text = page.markdown(tables, found)
    if a.html:
        pathlib.Path(a.html).write_text(page.web_page(tables, found))
    target = pathlib.Path(a.markdown) if a.markdown else None if a.tables else PAGE
    if a.check:
        if PAGE.read_text() != text:
            print(f"{PAGE.relative_to(ROOT)} is not up to date: run {pathlib.Path(__file__).relative_to(ROOT)}")
            return 1
    elif target is None:
        print(text)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
