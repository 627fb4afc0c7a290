"""Page (c): what it says comes from comparison.json, and files that contradict themselves are refused."""

from __future__ import annotations

import json
import re

import pytest
import sample_comparison
from conftest import Reader, program

from headrace_report import documents
from headrace_report.load import load, read
from headrace_report.plots import blocks, ratios, shift, visible


def read_sample(name):
    return read(sample_comparison.SAMPLES[f"comparison_{name}"](), documents.TYPES)


def test_everything_is_there_without_scripts(pages):
    text = pages.reader("comparison_worse").text.replace("\u00a0", " ")
    pair = sample_comparison.worse()["pairs"][0]
    for row in pair["rows"]:
        for word in (row["metric"], row["points"][0], row["explanation"], row["status"]):
            assert word in text
    for word in ("\u2718 FAIL", "1 of 2 gates is worse: read_bandwidth of shard_stream/cold", "B against A: workers: 1 \u2192 4", "B vs A: 3 worse, 1 better",
                 "and 1 more that says the same: file_rate", "0.2 expected by chance", "device.firmware", "yes, declared",
                 "not declared", "only in A", "read, not measured: compared exactly", "a value of 0 has no ratio", "the configurations differ", "3.4 %",
                 "6 interleaved blocks", "Do next", "go on to 12 blocks", "\u00b11.3 %", "0.4 % false alarms", "Kernel",
                 "headrace compare runs/before runs/after", "9f2c61e07ab85d34", "Benjamini"):
        assert word in text, word
    # What differs between the machines is before any metric.
    assert text.index("file_system.options") < text.index("what read_bandwidth tells")


def test_figures_state_their_finding(pages):
    text = pages.reader("comparison_worse").text.replace("\u00a0", " ")
    for finding in ("read_bandwidth is worse, \u22129.9 %, and 2 findings more", "read_bandwidth is lower in B in all 6 blocks",
                    "2 of 8 metrics could have missed a change of twice what matters",
                    "The tail moved: p99.9 by +22 %, the median by +1.0 %", "Body and tail moved: the median by +11 %"):
        assert finding in text, finding


def test_an_odd_block_is_named():
    data = sample_comparison.same()
    sample_comparison.set_ratio(data["pairs"][0]["rows"][0], 0.99, low=0.98)
    for number, block in enumerate(data["pairs"][0]["rows"][0]["blocks"]):
        block["ratio"] = 1.02 if number == 3 else 0.98
    pair = read(data, documents.TYPES).pairs[0]
    assert blocks.draw(pair).finding == "read_bandwidth is lower in B in 5 of 6 blocks, not in 4"


def test_stored_runs_have_no_blocks(pages):
    text = pages.reader("comparison_stored").text
    assert blocks.draw(read_sample("stored").pairs[0]) is None
    assert "block number" not in text and "no past runs were given" in text and "3 % is assumed" in text and "not measured: headrace run --against-itself" in text
    assert "which need not be a regression" in text


def test_undrawable_values_are_left_out():
    data = sample_comparison.stored()
    pair = data["pairs"][0]
    for row in pair["rows"]:
        for key in ("ratio", "low", "high", "p", "smallest_visible"):
            row.pop(key, None)
    pair["latency"] = [dict(sample_comparison.latency(pair["rows"][0]["points"][0], 0.1, 0.1), base_ns=[0.0] * 17,
                            shift=[None] * 17)]
    comparison = read(data, documents.TYPES)
    assert ratios.draw(comparison.pairs[0]) is None and visible.draw(comparison.pairs[0]) is None
    assert shift.draw_all(comparison.pairs[0], comparison.design) == []
    from headrace_report.html.comparison import render
    assert "INCONCLUSIVE" in render(comparison)


@pytest.mark.parametrize("ratio", [1e-9, 1e9])
def test_a_wild_ratio_does_not_flatten_the_others(ratio):
    data = sample_comparison.worse()
    sample_comparison.set_ratio(data["pairs"][0]["rows"][2], ratio, low=ratio / 2, high=ratio * 2)
    figure = ratios.draw(read(data, documents.TYPES).pairs[0])
    low, high = figure.drawing.axes[0].get_xlim()
    assert 0.2 < low < 1 < high < 5


def test_thousands_of_metrics_stay_readable(pages, tmp_path):
    text = pages.text("comparison_thousands")
    assert len(text.encode()) <= 5_000_000
    read_text = Reader(text).text
    assert "4609 findings more" in read_text and "read_bandwidth" in read_text and "without its least differing metrics" in read_text
    assert text.count('class="main"') == 400
    figure = ratios.draw(read_sample("thousands").pairs[0])
    assert len(figure.table.rows) == ratios.MOST_ROWS and {"worse", "better", "differs"} <= {row[-1].split()[-1] for row in figure.table.rows}


def test_the_page_carries_its_data(pages):
    for name in ("comparison_worse", "comparison_hostile", "comparison_three"):
        stored = re.search(r'<script type="application/json" id="headrace-comparison">(.*?)</script>', pages.text(name), re.S)[1]
        original = load(str(pages.run_file(name)), documents.TYPES)
        again = read(json.loads(stored), documents.TYPES)
        assert [[row.status for row in pair.rows] for pair in again.pairs] == [[row.status for row in pair.rows] for pair in original.pairs]
        assert again.fingerprint == original.fingerprint and again.summary == original.summary


def change(path, value):
    def apply(data):
        *keys, last = path
        for key in keys:
            data = data[key]
        data[last] = value
    return apply


@pytest.mark.parametrize("edit, words", [
    (change(["schema"], 2), "schema 2: this report reads schema 1"),
    (change(["kind"], "headrace.other"), "not a bringup or comparison or "),
    (change(["pairs", 0, "rows", 0, "status"], "fine"), "pairs[0].rows[0]: status \"fine\": one of worse"),
    (change(["pairs", 0, "rows", 0, "status"], "same"), "the summary says 3 worse, but 2 findings are"),
    (change(["pairs", 0, "rows", 0, "low"], 0.95), "does not lie within its bounds"),
    (change(["pairs", 0, "rows", 0, "base", "typical"], 2e8), "is not that of"),
    (change(["pairs", 0, "rows", 4, "says_same_as"], "nothing"), "which is no finding of"),
    (change(["pairs", 0, "rows", 0, "delta"], 0), "between 0 and 1 is expected"),
    (change(["pairs", 0, "rows", 0, "base", "values"], [1e8, 0.0]), "n is 12, but there are 2 values"),
    (change(["pairs", 0, "rows", 0, "blocks", 0, "base"], 0.0), "has no ratio"),
    (change(["pairs", 0, "rows", 0, "metric"], 7), "rows[0].metric: 7: a text is expected"),
    (change(["pairs", 0, "other"], "Q"), "side \"Q\" is not among A, B"),
    (change(["sides"], []), "two sides or more"),
    (change(["pairs", 0, "latency", 0, "shift"], [0.1]), "not of one length"),
    (change(["fingerprint", 0, "values"], ["x"]), "1 values of 2 sides"),
    (change(["design", "delta_rate"], 0), "delta_rate"),
    (lambda data: data["pairs"][0]["rows"][0].pop("base"), "pairs[0].rows[0].base: missing"),
])
def test_files_that_contradict_themselves_are_refused(tmp_path, edit, words):
    data = sample_comparison.worse()
    edit(data)
    file = tmp_path / "comparison.json"
    file.write_text(json.dumps(data))
    done = program(file)
    assert done.returncode == 2 and words in done.stderr and str(file) in done.stderr, done.stderr
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("text, words", [("", "empty"), ("{", "truncated"), ('{"kind": NaN}', "NaN is not a number")])
def test_broken_files(tmp_path, text, words):
    (tmp_path / "comparison.json").write_text(text)
    done = program(tmp_path)
    assert done.returncode == 2 and words in done.stderr


def test_a_folder_without_anything_to_draw(tmp_path):
    done = program(tmp_path)
    assert done.returncode == 2 and "holds none of run.json, comparison.json" in done.stderr
