"""The page of a bring-up, of records that the program itself wrote: simulated clusters, small and of ten thousand nodes."""

import json
import re

import pytest
import sample_bringup
from conftest import Reader, program

from headrace_report import documents
from headrace_report.html import bringup
from headrace_report.load import load
from headrace_report.plots import cluster, crowd, hover, meetings
from headrace_report.units import quantity, share

pytestmark = pytest.mark.skipif(not sample_bringup.SAMPLES, reason="HEADRACE_BINARY names no binary")


def shown(pages, name):
    """The record, and what people see of its page."""
    return json.loads(pages.run_file(name).read_text()), pages.reader(name).text.replace("\u00a0", " ")


def test_findings_come_first_and_all_of_them(pages):
    record, text = shown(pages, "bringup_found")
    faults = [(one["scope"], one["subject"]) for one in record["faults"]]
    assert {scope for scope, _ in faults} == {"node", "switch"}, faults
    assert "\u2718 FAIL" in text and "Simulated:" in text
    first = text.index("Bad parts")
    for scope, subject in faults:
        assert first < text.index(f"{subject} ", first) < text.index("Do next"), (scope, subject)
    for one in record["faults"]:
        assert one["told"] in text and one["fix"] in text, one
    for state, nodes in record["states"].items():
        assert f"{state} {nodes}" in text, state
    document = load(str(pages.run_file("bringup_found")), documents.TYPES)
    rates = {row.node.name: row.rate for row in bringup._nodes(document)}
    for one in record["faults"]:  # one figure of what a node lost, wherever it is
        assert one["scope"] != "node" or one["loss"] == 0 or rates[one["subject"]] == share(1 - one["loss"]), (one, rates)
    switch = next(subject for scope, subject in faults if scope == "switch")
    assert cluster.draw(document).finding.startswith(f"All of switch {switch} is slow")
    assert meetings.draw(document).finding.startswith("The slowest of")
    assert "scontrol" not in text  # nobody's nodes
    worst = max((one for one in record["faults"] if one["scope"] == "node"), key=lambda one: one["loss"])
    away = re.match(r"(\S+) is (\d+)\u00a0% below the median node", crowd.draw(document).finding)
    assert away and away[1] == worst["subject"] and abs(int(away[2]) - 100 * worst["loss"]) <= 2, (away, worst)


def test_nothing_bad_is_said(pages):
    _, text = shown(pages, "bringup_sound")
    assert "\u2714 PASS" in text and "16 of 16 nodes took part." in text and "Nothing: all nodes are accepted." in text, text[:2000]
    assert "No node is far from the others" in text


def test_a_nodes_own_tests_are_compared_with_all_others(tmp_path):
    """A metric that is better when lower counts the other way. A bad node that no value shows is not called low."""
    record = sample_bringup.record(8, "--bad", "0")
    names = [node["name"] for node in record["nodes"]]
    metrics = [{"point": "memory", "metric": "bandwidth", "unit": "B/s", "better": "higher"}, {"point": "opens", "metric": "latency", "unit": "ns", "better": "lower"}]
    values = [{"node": number, "values": [1e9, 2e3 if number == 3 else 1e3]} for number in range(8)]
    record["sessions"][-1]["tests"] = [{"started_utc": "", "took_s": 1, "metrics": metrics, "nodes": values}]

    def figure(bad):
        record["faults"] = [{"scope": "node", "subject": names[bad], "told": "slow", "fix": "look", "loss": 0.5, "healthy": 0, "in": ["latency"]}]
        (tmp_path / "bringup.json").write_text(json.dumps(record))
        return crowd.draw(load(str(tmp_path / "bringup.json"), documents.TYPES))

    found = figure(3)
    assert found.finding == f"{names[3]} is 50\u00a0% below the median node", found
    assert found.table.rows[0][0] == "opens.latency", found.table
    assert not figure(5).finding.startswith(names[3])


def titles(page):
    return re.findall(r'<path d="M[^"]*"><title>([^<]*)</title>', page)


def test_cells_of_the_heat_map_have_their_rates_under_the_pointer(pages, tmp_path):
    record, _ = shown(pages, "bringup_found")
    document = load(str(pages.run_file("bringup_found")), documents.TYPES)
    rates = {}
    for pair in document.pairs():
        names = [record["nodes"][number]["name"] for number in pair.nodes]
        for (one, other), rate in zip((names, names[::-1]), pair.rate):
            rates[one, other] = min(rate, rates.get((one, other), rate))
    found = titles(pages.text("bringup_found"))
    assert len(found) == len(rates) <= hover.MOST and len(set(found)) == len(found)
    for title in found:
        one, other, shown_rate, away = re.match(r"(\S+) to (\S+): ([\d.]+)\u00a0GB/s, (\S+\u00a0% (?:below|above) usual|as usual)$", title).groups()
        assert float(shown_rate) * 1e9 == pytest.approx(rates[one, other], rel=0.006), title
        below = 1 - rates[one, other] / document.usual(0)
        assert ("below" in away) == (below >= 0.005) and ("above" in away) == (below <= -0.005), (title, below)
    assert "below" in found[0] and "above" in found[-1], "the slowest come first"

    record["nodes"][document.pairs().__next__().nodes[0]]["name"] = '<script>alert("&")</script>\n'
    record["faults"] = []
    (tmp_path / "bringup.json").write_text(json.dumps(record))
    assert program(tmp_path).returncode == 0
    page = (tmp_path / "report.html").read_text()
    hostile = [title for title in titles(page) if "script" in title]
    assert hostile and all("&lt;script&gt;alert(&#34;&amp;&#34;)&lt;/script&gt;\\n" in title for title in hostile), hostile[:2]
    assert "<script>alert" not in page


def test_cells_with_texts_are_not_too_many(tmp_path, monkeypatch):
    """The slowest keep theirs; of several in a cell the lowest is shown."""
    record = sample_bringup.record(200, "--most-rounds", "3", "--bad", "2%")
    (tmp_path / "bringup.json").write_text(json.dumps(record))
    document = load(str(tmp_path / "bringup.json"), documents.TYPES)
    everything = meetings.draw(document).hovers
    assert all(one.text.endswith("; the lowest here") for one in everything)
    monkeypatch.setattr(hover, "MOST", 50)
    assert meetings.draw(document).hovers == everything[:50]
    slowest = min(min(pair.rate) for pair in document.pairs())
    assert quantity(slowest, "B/s") in everything[0].text


def test_undecided_is_no_pass(pages):
    record, text = shown(pages, "bringup_undecided")
    suspects = sum(node["state"] == "suspect" for node in record["nodes"])
    assert "? INCONCLUSIVE" in text and f"{suspects} undecided" in text and record["exit_code"] == 11 and suspects > 0, text[:2000]
    assert "links between two nodes 50 of 4950" in text, text


def test_ten_thousand_nodes_in_two_megabytes(tmp_path):
    record = sample_bringup.record(10_000, "--most-rounds", "2")  # more of them take longer, and no more of the page
    (tmp_path / "bringup.json").write_text(json.dumps(record))
    done = program(tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    print(len(page.encode()))
    assert len(page.encode()) <= 2_000_000
    text = Reader(page).text
    for nodes in record["states"].values():
        assert nodes in text, nodes
    assert "10000 nodes" in text.replace("\u00a0", " ") and re.search(r'href="data:image/png;base64,', page)


@pytest.mark.parametrize("edit, words", [
    (lambda record: record["nodes"][0].update(state="guilty"), "state 'guilty'"),
    (lambda record: record["sessions"][0]["rounds"][0]["pairs"][0].update(nodes=[0, 99]), "a pair of nodes that are not there"),
    (lambda record: record["faults"].append({"scope": "node", "subject": "x", "told": "", "fix": "", "loss": 0, "healthy": 0, "in": []}), "no such node"),
    (lambda record: record.pop("nodes"), "nodes: missing"),
])
def test_records_that_contradict_themselves_are_refused(pages, tmp_path, edit, words):
    record, _ = shown(pages, "bringup_sound")
    edit(record)
    (tmp_path / "bringup.json").write_text(json.dumps(record))
    done = program(tmp_path)
    assert done.returncode == 2 and words in done.stderr, done.stderr
