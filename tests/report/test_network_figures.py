"""Figures of several processes and the network between them, from run files whose rates are known."""

from __future__ import annotations

import pytest
from sample_gpu_run import gpu_point
from sample_run import run_file

from headrace_report.errors import RunFileError
from headrace_report.html import qualification
from headrace_report.load import read_run
from headrace_report.plots import network
from headrace_report.plots.style import styled

SIZES = (8, 1024, 1 << 20, 25 << 20)
ALPHA_S, RATE = 20e-6, 10e9


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def collective(size, ranks=4):
    time_s = ALPHA_S + size / RATE
    busbw = size / time_s * 2 * (ranks - 1) / ranks
    made = gpu_point(f"mpi_all_reduce/message_size:{size}", "mpi_all_reduce", {"message_size": size, "in_place": False},
                     {"bandwidth": busbw, "busbw": busbw, "algbw": size / time_s, "time_s": time_s}, ["main"])
    for repetition in made["repetitions"]:
        repetition["phases"][0]["ranks"] = [
            {"rank": rank, "elapsed_s": 0.1 * (2 if rank == 2 else 1), "first_finish_s": 0.1, "bytes": 1000000,
             "operations": 10, "errors": 0} for rank in range(ranks)]
    return made


def pairs(slow=None, links=()):
    names = ["node1", "node2", "node3", "node4"]
    rate = [[-1 if a == b else 6e8 if slow in (a, b) or (a, b) in links else 12e8 for b in range(4)] for a in range(4)]
    made = gpu_point("tcp_stream", "tcp_stream", {"streams": 4}, {"bandwidth": 12e8}, ["main"])
    return {**made, "pairs": {"names": names, "rate": rate, "reference": 12e8,
                              "blamed_nodes": [] if slow is None else [slow], "blamed_links": [list(l) for l in links]}}


def clients(n):
    rate = min(n * 1e9, 3e9)
    return gpu_point(f"small_file_read/clients:{n}", "small_file_read", {"clients": n},
                     {"bandwidth": rate, "read_bandwidth": rate}, ["main"])


def run(points):
    return read_run(run_file("MEASURED", 0, [], points))


def test_busbw_over_size_and_time():
    measured = run([collective(size) for size in SIZES])
    with styled():
        figure = network.over_size(measured.points, [])
        assert plain(figure.finding).startswith("mpi_all_reduce reaches 14.9 GB/s at 25")
        assert len(figure.table.rows) == len(SIZES)
        assert plain(network.time_over_size(measured.points).finding).startswith("mpi_all_reduce takes 20.0 \u00b5s at 8")
        assert network.over_size(measured.points[:1], []) is None


def test_the_straggler_among_ranks():
    with styled():
        figure = network.ranks(run([collective(8)]).points[0])
    assert figure.finding.startswith("Rank 2 is the slowest") and "50" in figure.finding
    assert len(figure.table.rows) == 4


def test_pair_matrix_tells_whom_it_blames():
    with styled():
        node = network.pair_matrix(run([pairs(slow=2)]).points[0])
        link = network.pair_matrix(run([pairs(links=((0, 3),))]).points[0])
        alike = network.pair_matrix(run([pairs()]).points[0])
    assert node.finding == "node3 is slow with every partner"
    assert [row[3] for row in node.table.rows].count("node") == 6
    assert link.finding == "Slow: node1 to node4"
    assert plain(alike.finding) == "All pairs reach about 1.20 GB/s"
    assert len(alike.drawing.axes[0].images) == 1  # one raster, not a cell each


def test_scaling_curve_finds_saturation():
    with styled():
        figures = network.scaling(run([clients(n) for n in (1, 2, 4, 8)]).points)
    assert len(figures) == 1
    assert figures[0].finding.startswith("small_file_read is saturated by 4 clients")
    assert [row[0] for row in figures[0].table.rows] == ["1", "2", "4", "8"]


def test_the_whole_page_and_the_same_bytes():
    points = [collective(size) for size in SIZES] + [pairs(slow=1)] + [clients(n) for n in (1, 2, 4)]
    first = qualification.render(run(points))
    assert first == qualification.render(run(points))
    assert "data:image/png;base64," in first and "node2 is slow with every partner" in first


def test_pairs_that_do_not_fit_are_refused():
    bad = pairs()
    bad["pairs"]["rate"] = [[1.0]]
    with pytest.raises(RunFileError, match="rows of 4"):
        run([bad])
