"""The page of a simulation: what it says comes from simulation.json, and a file that contradicts itself is refused."""

from __future__ import annotations

import json

import numpy as np
import sample_simulation
from conftest import program
from test_page import Reader

from headrace_report import documents
from headrace_report.load import read
from headrace_report.plots import simulated


def sample(name):
    return read(sample_simulation.SAMPLES[f"simulation_{name}"](), documents.TYPES)


def test_everything_is_there_without_scripts(pages):
    text = Reader(pages.text("simulation_golden")).text.replace("\u00a0", " ")
    for word in ("\u2718 FAIL", "On 1024 nodes, GPUs busy", "First limit: the store at 64 nodes (32 still work)", "refused clients", "store.read",
                 "12000", "it still grew", "Missing: opening of files", "never passes",
                 "first node count that misses", "largest node count that meets it", "smallest node count that meets it"):
        assert word in text, word
    assert "holds to" not in text and "misses from" not in text


def test_figures_state_their_finding():
    golden, alone = sample("golden"), sample("alone")
    assert simulated.busy(golden).finding == "A limit is missed from 64 nodes (first epoch): the store"
    assert simulated.times(golden).finding.startswith("On 1024 nodes a save is expected to take 19.2")
    assert "limited mostly by the store" in simulated.storm(golden).finding
    assert simulated.busy(alone) is simulated.times(alone) is simulated.storm(alone) is None


def test_the_break_is_where_the_file_has_it():
    axes = simulated.busy(sample("golden")).drawing.axes[0]
    assert any(np.allclose(line.get_xdata(), 64) for line in axes.get_lines())
    assert {row[-1] for row in simulated.busy(sample("golden")).table.rows} == {"modelled", "extrapolated"}


def test_a_file_that_contradicts_itself_is_refused(tmp_path):
    for change, word in ((lambda d: d["scales"][0]["figures"][0].update(median=2.0), "does not lie within its bounds"),
                         (lambda d: d["storm"]["rate"].pop(), "lists of different lengths"), (lambda d: d["scales"].clear(), "no number of nodes")):
        data = sample_simulation.golden()
        change(data)
        (tmp_path / "simulation.json").write_text(json.dumps(data))
        done = program(tmp_path / "simulation.json", "-o", tmp_path / "page.html")
        assert done.returncode != 0 and word in done.stderr, done
