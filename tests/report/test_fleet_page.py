"""The pages of fleets and histories: what they say comes from their files; large ones stay small and quick."""

from __future__ import annotations

import json
import re

import pytest
import sample_fleet
from conftest import Reader, program

from headrace_report import documents
from headrace_report.load import read
from headrace_report.plots import network, nodes, strips, trend


def read_sample(name):
    return read(sample_fleet.SAMPLES[name](), documents.TYPES)


def test_everything_is_there_without_scripts(pages):
    text = pages.reader("fleet_found").text.replace("\u00a0", " ")
    for word in ("\u2718 FAIL", "64 judged of 65 nodes", "node17", "\u2718 confirmed", "? suspected", "rack r3", "node65",
                 "expected, and no run was found", "\u2718 confirmed: slow node node03", "? suspected: slow link node06 to node07",
                 "? suspected: two levels of copy_bandwidth", "memory_copy.copy_bandwidth \u221220 %", "headrace run -c node.yaml", "the file is empty",
                 "3.5 robust standard deviations", "\u00b11.3 % on 12 of 64 nodes (highest \u00b15 %, node07)"):
        assert word in text, word
    text = pages.reader("history_change").text.replace("\u00a0", " ")
    for word in ("\u2718 FAIL", "24 runs, 7 series", "may drift", "two levels", "2 left out", "the newest run says nothing of it: missing", "durable_bandwidth", "2026-03-15 02:00:00", "device.firmware GDC5602Q -> GDC5603",
                 "too short", "unusual", "5 runs; 10 tell of changes", "1999 seeded permutations"):
        assert word in text, word


def test_figures_state_their_finding():
    fleet, history = read_sample("fleet_found"), read_sample("history_change")
    assert nodes.draw(fleet).finding.startswith("Rack r3 is \u22128.0\u00a0% as a whole, and 1 outlier")
    assert strips.draw(fleet).finding == "1 value beyond its limit, in two sessions"
    assert network.pair_matrix(fleet.pairs[0].pairs).finding == "node03 is slow with every partner"
    assert trend.draw(history, history.series[0]).finding.endswith("since 2026-03-15")
    assert "unusual" in trend.draw(history, history.series[1]).finding
    assert trend.draw(history, history.series[2]).finding == "read_bandwidth has not changed over 24 runs"
    assert trend.draw(history, history.series[5]).finding == "read_bandwidth of memory_copy: the last 24 runs are at two levels"


def test_heat_maps_are_pictures(pages):
    text = pages.text("fleet_found")
    assert len(re.findall(r'href="data:image/png;base64,', text)) >= 2
    assert len(text.encode()) <= 1_000_000


def test_nothing_found_is_said(pages):
    text = pages.reader("fleet_quiet").text
    assert "PASS" in text and "Nothing: all nodes that were judged lie within the limits" in text and "Missing" not in text


def test_ten_thousand_nodes(tmp_path):
    (tmp_path / "fleet.json").write_text(json.dumps(sample_fleet.fleet(10_000)))
    done = program(tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.html").read_text()
    assert len(text.encode()) <= 8_000_000 and "without its nodes and pairs" in Reader(text).text
    assert "9900 more nodes" in text and "node17" in text


def edited(path, value):
    def apply(data):
        *keys, last = path
        for key in keys:
            data = data[key]
        data[last] = value
    return apply


@pytest.mark.parametrize("sample, edit, words", [
    ("fleet_found", edited(["nodes", 0, "values"], [1.0]), "node node01: 1 values of 3 metrics"),
    ("fleet_found", edited(["outliers", 0, "status"], "guilty"), "status 'guilty'"),
    ("fleet_found", edited(["outliers", 0, "metric"], 9), "there is no metric 9"),
    ("fleet_found", edited(["summary", "outliers"], 2), "the summary says 2 outliers, but 1 are confirmed"),
    ("fleet_found", edited(["pairs", 0, "pairs", "rate", 0], [1.0]), "rows of 8 are expected"),
    ("fleet_found", edited(["group_effects", 0, "status"], "guilty"), "status 'guilty'"),
    ("fleet_found", edited(["pairs", 0, "findings", 0, "status"], "guilty"), "status 'guilty'"),
    ("fleet_found", edited(["nodes", 0, "group"], "g7"), "there is no group"),
    ("history_change", edited(["series", 0, "low"], [1.0]), "lists of different lengths"),
    ("history_change", edited(["series", 0, "run"], [99] * 24), "there is no run 99"),
    ("history_change", edited(["series", 0, "changes", 0, "at"], 24), "there is no run 24 to change at"),
    ("history_change", edited(["summary", "changes"], 0), "the summary says 0 changes"),
])
def test_files_that_contradict_themselves_are_refused(tmp_path, sample, edit, words):
    data = sample_fleet.SAMPLES[sample]()
    edit(data)
    (tmp_path / ("fleet.json" if sample.startswith("fleet") else "history.json")).write_text(json.dumps(data))
    done = program(tmp_path)
    assert done.returncode == 2 and words in done.stderr, done.stderr
