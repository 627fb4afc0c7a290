"""Page (b): what it says comes from size.json, and files that contradict themselves are refused."""

from __future__ import annotations

import json
import re

import pytest
import sample_sizing
from conftest import Reader, program

from headrace_report import documents
from headrace_report.load import load, read
from headrace_report.plots import assumptions, changes, cycle, scaling, supply, tradeoff


def read_sample(name):
    return read(sample_sizing.SAMPLES[f"sizing_{name}"](), documents.TYPES)


def test_everything_is_there_without_scripts(pages):
    text = pages.reader("sizing_golden").text.replace("\u00a0", " ")
    data = sample_sizing.golden()
    for phase in data["phases"]:
        reported = [phase["title"], phase["explanation"], phase["outcome"], *phase["supply"]["differs"]]
        assert ("gpus_fed" in phase) == phase["demand"]["grows_with_gpus"]
        if "gpus_fed" in phase:
            reported.append(phase["gpus_fed"]["substituted"])
        for word in reported:
            assert word in text, word
    for fix in data["fixes"]:
        assert fix["title"] in text and fix["explanation"] in text and fix["command"] in text
    for word in ("\u2718 FAIL", "This storage is expected to feed 73 [51, 95] of 128 GPUs, extrapolated from 1, 2, 4 nodes", "cause: cold epoch", "4 nodes measured of 16",
                 "extrapolated: a guess", "Daly\u2019s interval", "44.5 TB to keep", "USD/h", "Not measured", "headrace size"):
        assert word in text, word


def test_extrapolation_is_labelled_and_dashed(pages):
    sizing = read_sample("golden")
    figure = scaling.draw(sizing, next(s for s in sizing.scaling if s.phase == "cold_epoch"))
    lines = figure.drawing.axes[0].get_lines()
    dashed = [line for line in lines if line.get_linestyle() == "--" and len(line.get_xdata()) > 2]
    assert dashed and min(dashed[0].get_xdata()) == 32 and any("extrapolated" in key.text for key in figure.keys)
    solid = [line for line in lines if line.get_linestyle() == "-" and max(line.get_xdata()) == 32]
    assert solid  # the measured range ends there
    assert {row[-1] for row in figure.table.rows} == {"measured", "extrapolated"}
    assert "16 nodes are expected to feed 73 of 128" in figure.finding.replace("\u00a0", " ")


def test_figures_state_their_finding():
    sizing = read_sample("golden")
    assert supply.draw(sizing).finding.replace("\u00a0", " ") == "Cold epoch is expected to get 6.20 GB/s of 10.8 GB/s"
    assert "all GPUs" in changes.draw(sizing).finding
    assert "would lose the least" in tradeoff.draw(sizing).finding
    assert "waiting for input" in cycle.draw(sizing).finding
    assert "step.micro_batch is the nearest to flip it: 45" in assumptions.draw(sizing).finding


def test_undrawable_values_are_left_out(pages):
    sizing = read_sample("fed")
    for module in (changes, tradeoff, cycle, assumptions):
        assert module.draw(sizing) is None
    text = pages.reader("sizing_fed").text
    assert "PASS" in text and "What would feed more" not in text and "SKIPPED" in text


def test_the_page_carries_its_data(pages):
    stored = re.search(r'<script type="application/json" id="headrace-size">(.*?)</script>', pages.text("sizing_golden"), re.S)[1]
    again = read(json.loads(stored), documents.TYPES)
    original = load(str(pages.run_file("sizing_golden")), documents.TYPES)
    assert again.summary == original.summary
    assert [p.outcome for p in again.phases] == [p.outcome for p in original.phases]


def edited(path, value):
    def apply(data):
        *keys, last = path
        for key in keys:
            data = data[key]
        data[last] = value
    return apply


@pytest.mark.parametrize("edit, words", [
    (edited(["schema"], 2), "schema 2"),
    (edited(["phases", 0, "outcome"], "FINE"), "phases[0]: outcome 'FINE'"),
    (edited(["phases", 0, "supply", "low"], 1e12), "does not lie within its bounds"),
    (edited(["phases", 0, "supply", "basis"], "guessed"), "basis 'guessed'"),
    (edited(["scaling", 0, "demand"], [1.0]), "lists of different lengths"),
    (edited(["summary", "gpus_fed"], 128), "the summary says 128 GPUs fed, the phases 73"),
    (edited(["fixes", 0, "basis"], ""), "a headroom and a basis, or neither"),
    (lambda data: next(p for p in data["phases"] if not p["demand"]["grows_with_gpus"]).update(
        gpus_fed={"median": 1, "low": 1, "high": 1}), "by what grows with them, and by nothing else"),
    (edited(["phases"], []), "phases: one or more"),
    (lambda data: data.pop("capacity"), "capacity: missing"),
])
def test_files_that_contradict_themselves_are_refused(tmp_path, edit, words):
    data = sample_sizing.golden()
    edit(data)
    (tmp_path / "size.json").write_text(json.dumps(data))
    done = program(tmp_path)
    assert done.returncode == 2 and words in done.stderr, done.stderr
