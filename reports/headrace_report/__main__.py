"""Command line: headrace_report FILE.json -o report.html."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
import tempfile
from typing import List, Optional

from . import __version__
from .errors import MissingLibrary, ReportError
from .printable import printable_lines

PRINTS = ("summary", "full")
DEBIAN_PACKAGES = {"matplotlib": "python3-matplotlib", "numpy": "python3-numpy", "jinja2": "python3-jinja2"}


def require_libraries() -> None:
    """Raises MissingLibrary naming every missing library at once, with the package that brings it."""
    # Where HOME cannot be written, matplotlib makes a temporary folder, removes it, and would warn of it.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    missing = []
    for module in DEBIAN_PACKAGES:
        try:
            importlib.import_module(module)
        except ImportError:
            missing.append(module)
    if missing:
        packages = " ".join(DEBIAN_PACKAGES[module] for module in missing)
        raise MissingLibrary(f"{sys.executable} has no {', '.join(missing)}: install the package {packages} "
                             f"(apt-get install {packages})")


def write_whole(path: str, text: str) -> None:
    """Writes the file whole or not at all: aside first, then renamed."""
    folder = os.path.dirname(os.path.abspath(path))
    aside = None
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, prefix=".report-", suffix=".part",
                                         delete=False, newline="\n") as file:
            aside = file.name
            file.write(text)
        os.chmod(aside, 0o644)
        os.replace(aside, path)
    except OSError as problem:
        if aside and os.path.exists(aside):
            os.unlink(aside)
        raise ReportError(f"{path}: {problem.strerror or problem}") from problem


def write_out(text: str) -> None:
    """Writes the page, and nothing else, to standard output."""
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


def main(arguments: Optional[List[str]] = None) -> int:
    """Returns the exit code: 0 written, 1 the tool or its surroundings failed, 2 the run file is not good."""
    parser = argparse.ArgumentParser(prog="headrace_report", description="Draws one HTML page from a file that headrace wrote.")
    parser.add_argument("file", metavar="FILE.json", help="run.json, comparison.json, or the folder that holds one")
    parser.add_argument("-o", "--output", metavar="FILE", help="the page, - for standard output (default: report.html next to FILE.json)")
    parser.add_argument("--print", choices=PRINTS, default=PRINTS[0], dest="paper",
                        help="what of it goes to paper: a summary of two pages with the rest folded, or all (default: summary)")
    parser.add_argument("--figure", action="store_true", help="the figures alone, as one SVG file (of a sweep of needs)")
    parser.add_argument("--version", action="version", version=f"headrace_report {__version__}")
    options = parser.parse_args(arguments)
    try:
        from . import documents
        from .load import load
        file = documents.file_in(options.file)
        document = load(file, documents.TYPES)
        require_libraries()
        page = documents.figures(document) if options.figure else documents.page(document, file, options.paper)
        if options.output == "-":
            write_out(page)
        else:
            write_whole(options.output or os.path.join(os.path.dirname(file), "report.html"), page)
    except ReportError as problem:
        print(printable_lines(f"headrace_report: {problem}"), file=sys.stderr)
        return problem.exit_code
    except KeyboardInterrupt:  # the caller was interrupted, and reports it
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
