"""Sample files and their pages, which all of these tests share."""

from __future__ import annotations

import json
import os
import pathlib
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


class Pages:
    """Sample files and their pages, each drawn once, in this process: starting Python and its libraries takes longer than
    most pages. That a process of its own draws the same, test_page.py reports."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder

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


def program(*arguments, **environment) -> subprocess.CompletedProcess:
    """The program in a process of its own."""
    return subprocess.run([sys.executable, "-m", "headrace_report", *map(str, arguments)], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "reports"), **environment})


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> Pages:
    """In the folder that test_samples.py filled for all files of tests, where they are run together."""
    shared = os.environ.get("HEADRACE_SAMPLE_PAGES")
    return Pages(pathlib.Path(shared) if shared else tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="session", params=sorted(SAMPLES))
def sample(request) -> str:
    return request.param
