"""Figures of copies between host and GPUs: what they find, from run files whose rates are known."""

from __future__ import annotations

import json
import re

import pytest
import sample_gpu_run

from conftest import program
from headrace_report.load import read_run
from headrace_report.plots import copies, pipeline, stages
from headrace_report.plots.style import styled


@pytest.fixture(scope="module")
def one():
    return read_run(sample_gpu_run.one_gpu())


@pytest.fixture(scope="module")
def many():
    return read_run(sample_gpu_run.many_gpus())


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_rate_over_size_with_the_link(one):
    figure = copies.over_size(one.points, "h2d")
    reported = plain(figure.finding)
    assert reported.startswith("Copies to the GPU reach 55.") and "of the link" in reported
    assert "pinning is worth 4.9\u00d7 at 256 MiB" in reported
    assert figure.table.columns[0] == "size" and len(figure.table.rows) == len(sample_gpu_run.SIZES)
    assert plain(figure.table.rows[0][0]) == "4.00 KiB" or plain(figure.table.rows[0][0]) == "4 KiB"
    assert set(figure.table.columns[1:5]) == {"pinned", "pageable", "registered", "write_combined"}
    ceiling = [line for line in figure.drawing.axes[0].lines if len(set(line.get_ydata())) == 1]
    assert any(abs(float(line.get_ydata()[0]) - 63) < 0.6 for line in ceiling)


def test_the_other_direction_has_a_figure_of_its_own(one):
    reported = plain(copies.over_size(one.points, "d2h").finding)
    assert reported.startswith("Copies from the GPU reach 55.") and "into pinned memory" in reported


def test_gpus_alone_against_all_at_once(many):
    figure = copies.per_gpu(many.points, "h2d")
    reported = plain(figure.finding)
    found = re.fullmatch(r"All 4 GPUs at once get [0-9.]+ GB/s to the GPU, ([0-9.]+) % of the sum of singles", reported)
    assert found and float(found[1]) == pytest.approx(80, abs=1)
    rows = {row[0]: row for row in figure.table.rows}
    assert set(rows) == {"gpu0", "gpu1", "gpu2", "gpu3", "sum", "node, all at once"}
    names = [plain(column).split(",")[0] for column in figure.table.columns[1:]]
    assert names == ["pinned", "pageable", "pinned", "pinned"]
    assert "remote node" in plain(figure.table.columns[3]) and "all at once" in plain(figure.table.columns[4])
    fast, slow = (float(plain(rows[gpu][1]).split()[0]) for gpu in ("gpu0", "gpu2"))
    assert slow / fast == pytest.approx(0.25, abs=0.01)


def test_without_all_at_once_the_slowest_is_named(many):
    alone = [point for point in many.points if "/all/" not in point.id]
    reported = plain(copies.per_gpu(alone, "h2d").finding)
    assert "gpu2 is slowest with 13." in reported


def test_the_stage_that_limits(one):
    figure = pipeline.draw(one.points[-1])
    reported = plain(figure.finding)
    assert reported.startswith("2.3") and "of what storage alone gives" in reported and "processor time per GB" in reported
    assert [row[0] for row in figure.table.rows] == ["storage alone", "link alone", "end to end"]
    link = read_run(sample_gpu_run.run_file("MEASURED", 0, [], [sample_gpu_run.storage_point(9e9, 3e9, 2.9e9)]))
    assert "of what the link alone gives" in plain(pipeline.draw(link.points[0]).finding)


def test_other_runs_have_no_such_figures(one):
    with styled():
        assert copies.over_size([], "h2d") is None and copies.per_gpu([], "h2d") is None
    assert copies.over_size(one.points[:1], "h2d") is None  # a single size
    assert copies.per_gpu(one.points[:1], "h2d") is None    # one GPU in one way
    assert pipeline.draw(one.points[0]) is None


@pytest.mark.parametrize("name", ["one_gpu", "many_gpus"])
def test_on_the_page(tmp_path, name):
    run_file = tmp_path / "run.json"
    run_file.write_text(json.dumps(getattr(sample_gpu_run, name)()))
    done = program(run_file)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    wanted = {"one_gpu": ["h2d-sizes", "d2h-sizes"], "many_gpus": ["h2d-gpus"]}[name]
    for key in wanted:
        assert f'<figure class="panel" id="{key}"' in page, key
    before = page.index('id="points"')
    assert all(page.index(f'id="{key}"') < before for key in wanted)


def test_paths_of_single_blocks(one):
    """Each of four slots copies for 20 us in a turn of 420 us: beside the reads of the others."""
    figure = stages.draw(one.points[-1])
    assert plain(figure.finding).startswith("24 blocks in 2.") and "copy overlaps with the rest" in plain(figure.finding)
    assert len(figure.table.rows) == 24 and figure.table.columns[1:] == ["read from", "read to", "copy from", "copy to"]
    assert stages.draw(one.points[0]) is None


def test_stages_in_turns_hide_nothing():
    alone = read_run(sample_gpu_run.run_file("MEASURED", 0, [], [
        {**sample_gpu_run.storage_point(2e9, 2e9, 1e9), "stages": sample_gpu_run.stages(8, 1e-3, 1e-3, 1)}]))
    assert plain(stages.draw(alone.points[0]).finding) == "8 blocks in 16.0 ms: read overlaps with the rest not at all"
