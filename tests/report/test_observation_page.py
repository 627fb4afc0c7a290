"""The page of a job that was watched: what it says comes from its file."""

from __future__ import annotations

import re

import pytest
import sample_observation
from conftest import Reader

from headrace_report import documents
from headrace_report.errors import RunFileError
from headrace_report.load import read
from headrace_report.plots import watched


def test_everything_is_there_without_scripts(pages):
    text = pages.reader("observation_saves").text.replace("\u00a0", " ")
    for word in ("Checkpoints limit: while one is written", "16 % of the time [14, 18]", "step.time", "79.0 ms to 81.5 ms", "\u2714 high", "? low", "\u2013 guess",
                 "1 value could not be seen: the job file has a guess", "DataLoader's default", "/out/model.pt", "headrace qualify job.yaml",
                 "read 2.10 times"):
        assert word in text, word
    short = pages.reader("observation_short").text
    assert "The limit is unknown" in short and "Over time" not in short


def test_figures_state_their_finding():
    seen = read(sample_observation.observation(), documents.TYPES)
    assert watched.waits(seen, "consumer").finding.replace("\u00a0", " ").startswith("Training processes were mostly pausing: 8")
    assert watched.waits(seen, "workers").finding.startswith("Workers were mostly reading")
    assert "read from device 254:0" in watched.rates(seen).finding
    assert "a step alone takes 80.2ms" in watched.steps(seen).finding
    short = read(sample_observation.short(), documents.TYPES)
    assert not any((watched.waits(short, "consumer"), watched.waits(short, "workers"), watched.rates(short), watched.steps(short)))


def test_no_figure_keeps_a_colour_of_its_own(pages):
    page = pages.text("observation_saves")
    assert "<pattern" in page and not re.search(r"#0101[0-9a-f]{2}", page)


def test_gpus_and_clients_are_drawn_where_something_reports_of_them(pages):
    text = pages.reader("observation_client").text.replace("\u00a0", " ")
    for word in ("The job's 1 GPU computed 31 % of the time", "31 % [29, 33]", "0000:17:00.0 NVIDIA H100 80GB HBM3", "before it was sent"):
        assert word in text, word
    seen = read(sample_observation.observation(), documents.TYPES)
    assert watched.gpus(seen) is None and watched.client(seen) is None
    over_fuse = sample_observation.client()
    for name in ("client_read_s", "client_queue_s", "client_bytes_per_s"):
        del over_fuse["series"][name]
    assert watched.client(read(over_fuse, documents.TYPES)).finding.startswith("Requests at the daemon: 2.0")


@pytest.mark.parametrize("change, reported", [
    (lambda d: d["series"]["time_s"].append(1.0), "series: lists of different lengths"),
    (lambda d: d["series"].update(gpu_busy=[0.5]), "series: lists of different lengths"),
    (lambda d: d["learned"][0].update(confidence="sure"), "learned[0]: confidence 'sure'"),
    (lambda d: d["limit"].pop("sentence"), "limit.sentence: missing")])
def test_a_bad_file_is_refused_with_its_place(change, reported):
    seen = sample_observation.observation()
    change(seen)
    with pytest.raises(RunFileError, match=reported.replace("[", r"\[").replace("]", r"\]")):
        read(seen, documents.TYPES)
