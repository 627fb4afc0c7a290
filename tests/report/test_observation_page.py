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


def test_calls_are_drawn_where_a_trace_has_them(pages):
    text = pages.reader("observation_traced").text.replace("\u00a0", " ")
    for word in ("Reads: 1.00 ms in the median, 99 % end within 8.", "opens: 20.", "3.2 reads were in flight on average, at most 8 at once", "Single calls"):
        assert word in text, word
    plain = pages.text("observation_saves")
    assert "Single calls" not in plain and 'id="in-flight"' not in plain
    seen = sample_observation.traced()
    assert watched.latency(read(seen, documents.TYPES)).finding.count("end within") == 1  # 300 opens are too few
    empty = {"min_ns": 0, "max_ns": 0, "buckets": []}
    seen["calls"].update(open=empty)
    assert "opens" not in watched.latency(read(seen, documents.TYPES)).finding
    seen["calls"].update(read=empty, in_flight=[0.0] * 400, most_in_flight=0)
    nothing = read(seen, documents.TYPES)
    assert watched.latency(nothing) is None and watched.in_flight(nothing) is None


def test_time_lines_have_their_values_under_the_pointer(pages):
    titles = re.findall(r'<path d="M[^"]*"><title>([^<]*)</title>', pages.text("observation_traced"))
    assert "24.0 s to 25.0 s: 2 reads in flight" in titles and "25.0 s to 26.0 s: 6 reads in flight" in titles
    waits = [title for title in titles if re.match(r"\d+\.0 s to \d+\.0 s: (waiting for the loader \d+ %)?(, )?(pausing \d+ %)?$", title)]
    assert len(waits) == 100, waits
    assert "read from device 254:0" in " ".join(titles)


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
    (lambda d: d.update(calls={**sample_observation.traced()["calls"], "part_s": 0}), "calls.part_s: 0: a part"),
    (lambda d: d["learned"][0].update(confidence="sure"), "learned[0]: confidence 'sure'"),
    (lambda d: d["limit"].pop("sentence"), "limit.sentence: missing")])
def test_a_bad_file_is_refused_with_its_place(change, reported):
    seen = sample_observation.observation()
    change(seen)
    with pytest.raises(RunFileError, match=reported.replace("[", r"\[").replace("]", r"\]")):
        read(seen, documents.TYPES)
