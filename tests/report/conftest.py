"""Sample files and their pages, which all of these tests share."""

from __future__ import annotations

import contextlib
import html.parser
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "reports"), str(pathlib.Path(__file__).parent)]

import sample_bringup  # noqa: E402  (found through the path above)
import sample_comparison  # noqa: E402
import sample_fleet  # noqa: E402
import sample_observation  # noqa: E402
import sample_run  # noqa: E402
import sample_simulation  # noqa: E402
import sample_sizing  # noqa: E402
from headrace_report.__main__ import main  # noqa: E402

SAMPLES = {**sample_run.SAMPLES, **sample_comparison.SAMPLES, **sample_sizing.SAMPLES, **sample_fleet.SAMPLES, **sample_observation.SAMPLES, **sample_bringup.SAMPLES, **sample_simulation.SAMPLES}


class Reader(html.parser.HTMLParser):
    """Collects elements, attributes and the text that people see."""

    def __init__(self, text: str):
        super().__init__()
        self.elements, self.attributes, self.seen, self.hidden = [], [], [], []
        self.ids = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attributes]
        self.ids += [value for key, value in attributes if key == "id"]
        if tag in ("script", "style"):
            self.hidden.append(tag)

    def handle_endtag(self, tag):
        if self.hidden and self.hidden[-1] == tag:
            self.hidden.pop()

    def handle_data(self, text):
        if not self.hidden:
            self.seen.append(text)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.seen))


class Pages:
    """Sample files and their pages, each drawn once, in this process: starting Python and its libraries takes longer than
    most pages. That a process of its own draws the same, test_page.py reports."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.read = folder, {}

    def run_file(self, name: str) -> pathlib.Path:
        path = self.folder / f"{name}.run.json"
        if not path.exists():
            path.write_text(json.dumps(SAMPLES[name]()), encoding="utf-8")
        return path

    def page(self, name: str, paper: str = "summary") -> pathlib.Path:
        page = self.folder / (f"{name}.html" if paper == "summary" else f"{name}-{paper}.html")
        if not page.exists():
            assert main([str(self.run_file(name)), "-o", str(page), "--print", paper]) == 0
        return page

    def text(self, name: str) -> str:
        return self.page(name).read_text(encoding="utf-8")

    def reader(self, name: str) -> Reader:
        """Of its page, parsed once."""
        if name not in self.read:
            self.read[name] = Reader(self.text(name))
        return self.read[name]


def program(*arguments, **environment) -> subprocess.CompletedProcess:
    """The program: with an environment of its own in a process of its own, else in this one, which has its libraries."""
    words = [str(word) for word in arguments]
    if environment:
        return subprocess.run([sys.executable, "-m", "headrace_report", *words], capture_output=True,
                              text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "reports"), **environment})
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> Pages:
    """In the folder that test_samples.py filled for all files of tests, where they are run together."""
    shared = os.environ.get("HEADRACE_SAMPLE_PAGES")
    return Pages(pathlib.Path(shared) if shared else tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="session", params=sorted(SAMPLES))
def sample(request) -> str:
    return request.param
