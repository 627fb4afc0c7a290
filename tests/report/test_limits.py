"""Q2 and Q3: which stage limits, and whether latency or bandwidth does."""

from __future__ import annotations

import copy
import json
import re

import pytest
import sample_run

from headrace_report.load import read_run
from headrace_report.plots import ladder, roofline, svg


CEILINGS = json.dumps(sample_run.ceilings())


@pytest.fixture
def data():
    return json.loads(CEILINGS)


def rates(figure):
    return {row[0]: row[2].replace("\u00a0", " ") for row in figure.table.rows}


def test_the_best_of_each_stage_is_its_ceiling(data):
    figure = ladder.draw(read_run(data))
    assert list(rates(figure)) == ["storage", "file system", "page cache", "memory", "achieved", "needed"]
    assert rates(figure)["achieved"] == "1.97 GB/s" and rates(figure)["needed"] == "1.60 GB/s"
    measured_at = {row[0]: row[-1] for row in figure.table.rows}
    assert measured_at["storage"] == "random_read/bypassed/block_size:4194304"  # of six sizes the fastest
    # The loader's point is cold, too, but what is achieved is no ceiling of itself.
    assert measured_at["file system"] == "shard_stream/cold"


def test_a_stage_within_a_tenth_limits(data):
    figure = ladder.draw(read_run(data))
    assert figure.finding.startswith("The file system is the limit: reads reach 9")


def test_no_stage_near_is_not_identified(data):
    data["judgements"][0].update(measured=0.4e9, low=0.39e9, high=0.41e9, need=0.3e9)
    figure = ladder.draw(read_run(data))
    assert figure.finding.startswith("No bottleneck found: reads reach 19") and "more workers" in figure.finding


@pytest.mark.parametrize("need", [0.5e9, 0.9e9])
def test_the_axis_has_round_numbers_within_a_decade_too(data, need):
    """Matplotlib labels the small ticks of such an axis with formulas."""
    data["judgements"][0].update(measured=0.95e9, low=0.94e9, high=0.96e9, need=need)
    for point in data["points"]:
        for metric in point["metrics"]:
            metric.update({key: min(metric[key], 1.2e9) for key in ("median", "low", "high") if metric.get(key)})
    text = svg.inline(ladder.draw(read_run(data)), "a", svg.StyleSheet())
    glyphs = set(re.findall(r"DejaVuSans-([0-9a-f]+)", text))
    assert f"{ord('G'):x}" in glyphs and not {f"{ord('$'):x}", f"{ord('×'):x}"} & glyphs, glyphs


def test_several_stages_near_are_not_identified(data):
    data["judgements"][0].update(measured=3.0e9, low=2.9e9, high=3.1e9)
    assert "Not identified which limits, storage and file system" in ladder.draw(read_run(data)).finding


def test_without_a_need_the_lowest_ceiling_is_reported(data):
    data["judgements"] = []
    data["summary"].update({"word": "MEASURED", "pass": 0})
    figure = ladder.draw(read_run(data))
    assert figure.finding.startswith("The lowest ceiling is that of the file system")
    assert "achieved" not in rates(figure)


def test_one_stage_is_no_ladder():
    assert ladder.draw(read_run(sample_run.without_needs())) is None
    assert ladder.draw(read_run(sample_run.interrupted())) is None


def test_knee_is_at_the_crossing_of_the_lines(data):
    (curve,) = roofline.curves(read_run(data))
    assert [round(one.size) for one in curve.sizes] == [4096 << 2 * n for n in range(6)]
    assert curve.most_requests == pytest.approx(max(one.rate / one.size for one in curve.sizes))
    assert curve.knee * curve.most_requests == pytest.approx(curve.roof)
    (figure,) = roofline.draw_all(read_run(data))
    assert figure.finding.startswith("Latency limits below about 32\u00a0KiB, bandwidth above")
    assert figure.finding.endswith("the job\u2019s samples are above")
    assert len(figure.table.rows) == 6


def test_other_parameters_are_another_curve(data):
    for point in data["points"][1:4]:
        point["params"]["queue_depth"] = 1
    assert len(roofline.curves(read_run(data))) == 2
    data["points"][1]["params"]["queue_depth"] = 32  # two sizes are left: no curve
    assert [len(curve.sizes) for curve in roofline.curves(read_run(data))] == [4]


def test_one_side_of_the_knee_is_reported_as_such(data):
    small = copy.deepcopy(data)
    for factor, point in zip((1.0, 1.0, 1.0, 1.0, 1.0, 1.0), small["points"][1:7]):
        size = point["params"]["block_size"]
        for metric in point["metrics"]:
            if metric["name"] == "read_bandwidth":
                metric.update(median=factor * 1000 * size, low=990.0 * size, high=1010.0 * size)
    (figure,) = roofline.draw_all(read_run(small))
    assert figure.finding.startswith("Latency limits up to 4\u00a0MiB: 1.00\u00a0k/s")
    flat = copy.deepcopy(data)
    for point in flat["points"][1:7]:
        for metric in point["metrics"]:
            if metric["name"] == "read_bandwidth":
                metric.update(median=3.1e9, low=3.0e9, high=3.2e9)
    (figure,) = roofline.draw_all(read_run(flat))
    assert figure.finding.startswith("Bandwidth limits at every size from 4\u00a0KiB on")


@pytest.mark.parametrize("reported, size", [("130 kB", 130e3), ("128KiB", 131072), ("4096B", 4096), ("1.5 MB", 1.5e6),
                                        ("64", 64), ("", None), ("many", None)])
def test_the_jobs_sample_size(data, reported, size):
    data["job"]["values"]["dataset.sample_size"] = reported
    assert roofline.sample_size(read_run(data)) == size
