"""Figures of several processes and the network between them, from run files whose rates are known."""

from __future__ import annotations

import dataclasses

import pytest
from sample_gpu_run import gpu_point
from sample_run import run_file

from headrace_report.errors import RunFileError
from headrace_report.html import qualification
from headrace_report.load import read_run
from headrace_report.plots import network
from headrace_report.plots.style import styled
from headrace_report.schema import Judgement

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


def curve(counts=(1, 2, 4, 8), **changes):
    """As the run file reports on clients(n): one gives 1 GB/s, and 3 GB/s is all there is."""
    at = [{"clients": n, "point": f"small_file_read/clients:{n}", "rate": min(n, 3) * 1e9, "expected": min(n, 3) * 1e9,
           "efficiency": min(n, 3) / n} for n in counts]
    return {"workload": "small_file_read", "metric": "read_bandwidth", "unit": "B/s", "at": at, "per_client": 1e9,
            "saturated": True, "most": 3e9, "finding": "small_file_read is saturated, says the run file",
            "saturation_clients": 3, "reached_by": 4, "formula": "G7", "substituted": "ceil(3.00 GB/s / 1.00 GB/s)", **changes}


def run(points, scaling=()):
    return read_run({**run_file("MEASURED", 0, [], points), "scaling": list(scaling)})


def test_busbw_over_size_and_time():
    measured = run([collective(size) for size in SIZES])
    with styled():
        figure = network.over_size(measured.points, [])
        assert plain(figure.finding).startswith("mpi_all_reduce reaches 14.9 GB/s at 25")
        assert len(figure.table.rows) == len(SIZES)
        assert plain(network.time_over_size(measured.points).finding).startswith("mpi_all_reduce takes 20.0 \u00b5s at 8")
        assert network.over_size(measured.points[:1], []) is None


def message(size):
    return gpu_point(f"rdma_write/latency/message_size:{size}", "rdma_write", {"message_size": size, "measure": "latency"},
                     {"bandwidth": size / (2e-6 + size / 10e9), "time_s": 2e-6 + size / 10e9}, ["main"])


def test_one_message_over_size():
    """Of pairs of ranks there is the time of a message, and no bus bandwidth."""
    measured = run([message(size) for size in SIZES])
    with styled():
        assert plain(network.time_over_size(measured.points).finding).startswith("rdma_write takes 2.0")
        assert network.over_size(measured.points, []) is None


def fit(value):
    return {"value": value, "low": 0.9 * value, "high": 1.1 * value}


def fitted(points, exposed_s=0.3):
    """As run.json has it, beside the points."""
    sizes = [{"point": p["id"], "message_bytes": p["params"]["message_size"],
              "measured_s": ALPHA_S + p["params"]["message_size"] / RATE,
              "fitted_s": 1.1 * (ALPHA_S + p["params"]["message_size"] / RATE)} for p in points]
    return {"workload": "mpi_all_reduce", "ranks": 4, "fixed_s": fit(ALPHA_S), "bytes_per_s": {"value": RATE, "low": 0.8 * RATE},
            "worst_error": 0.1, "hop_s": fit(ALPHA_S / 6), "link_bytes_per_s": fit(1.5 * RATE), "sizes": sizes,
            "job": [{"need": "network.gradient_busbw", "message_bytes": 25 << 20, "ranks": 64, "calls": 535, "ring_s": 2e-3,
                     "tree_s": 3e-3, "crossover_bytes": 1e6, "step_s": 0.6 + exposed_s, "hidden_s": 0.6, "exposed_s": exposed_s,
                     "busbw": 1e9, "busbw_required": 2e9},
                    {"need": "network.tensor_busbw", "message_bytes": 1 << 20, "ranks": 4, "calls": 320, "ring_s": 1e-4,
                     "step_s": 0.032, "hidden_s": 0.0, "exposed_s": 0.032}],
            "fabric": {"message_bytes": 25 << 20, "intra_bytes_per_s": 3e11, "nic_bytes_per_s": 4e10, "nic_under_load": 4e10,
                       "two_level_s": 1e-3, "multirail_s": 2e-3}}


def run_with(points, collectives):
    return read_run({**run_file("MEASURED", 0, [], points), "collectives": collectives})


def test_fit_is_drawn_with_the_measurements():
    points = [collective(size) for size in SIZES]
    measured = run_with(points, [fitted(points)])
    with styled():
        plain_axes = network.time_over_size(measured.points, []).drawing.axes[0]
        axes = network.time_over_size(measured.points, measured.collectives).drawing.axes[0]
        busbw = network.over_size(measured.points, [], measured.collectives)
    assert len(axes.lines) == len(plain_axes.lines) + 1
    ratio = axes.lines[1].get_ydata() / axes.lines[0].get_ydata()
    assert ratio == pytest.approx([1.1] * len(SIZES), rel=0.01)
    ratio = busbw.drawing.axes[0].lines[1].get_ydata() / busbw.drawing.axes[0].lines[0].get_ydata()
    assert ratio == pytest.approx([1 / 1.1] * len(SIZES), rel=0.01)
    assert busbw.keys[0].mark == "band"


def test_times_of_the_jobs_collectives():
    points = [collective(size) for size in SIZES]
    with styled():
        figure = network.step_time([*run_with(points, [fitted(points)]).collectives])
        calm = network.step_time([*run_with(points, [{**fitted(points, 0.0), "job": fitted(points, 0.0)["job"][:1]}]).collectives])
    assert plain(figure.finding) == "Gradients would make a step 300 ms longer, by what mpi_all_reduce measured"
    assert [plain(cell) for cell in figure.table.rows[0][2:8]] == ["535", "25.0 MiB", "64", "2.00 ms", "3.00 ms", "977 KiB"]
    assert figure.table.rows[1][6] == "\u2013"
    assert "in two levels (F19)" in figure.description
    assert calm.finding == "The job's communication hides behind its computation"
    assert network.step_time([]) is None


def test_groups_are_separate_curves_with_needs_at_their_sizes():
    points = []
    for group, size in (("all", 1 << 20), ("all", 25 << 20), ("intra_node", 1 << 20), ("intra_node", 25 << 20)):
        made = collective(size)
        made["params"] = {**made["params"], "group": group, "group_size": 0}
        points.append({**made, "id": f"{group}-{size}", "facts": {"transport": "RoCE with GPUDirect", "algorithm": "Ring"},
                       "group": {"ranks": 4, "nodes": 2, "groups": 1}})
    measured = run(points)
    need = Judgement(id="network.gradient_busbw", outcome="PASS", scope="gpu", need=1e9, unit="B/s", point=f"all-{25 << 20}",
                     measured=2e9)
    with styled():
        figure = network.over_size(measured.points, [need])
        missed = network.over_size(measured.points, [dataclasses.replace(need, measured=5e8)])
    assert figure.finding.endswith("enough for the job at its own message size")
    assert plain(missed.finding).endswith("too little for gradient_busbw at 25.0 MiB")
    assert sorted(figure.table.columns[1:]) == ["mpi_all_reduce", "mpi_all_reduce, intra node"]
    diamonds = [line for line in figure.drawing.axes[0].lines if line.get_marker() == "D" and len(line.get_xdata()) == 1]
    assert [list(line.get_xdata()) for line in diamonds] == [[25 << 20]]
    page = qualification.render(measured)
    assert "RoCE with GPUDirect" in page and "How it was done" in page


def test_the_straggler_among_ranks():
    with styled():
        figure = network.ranks(run([collective(8)]).points[0])
    assert figure.finding.startswith("Rank 2 is the slowest") and "50" in figure.finding
    assert len(figure.table.rows) == 4


def test_pair_matrix_reports_blamed_parts():
    with styled():
        node = network.pair_matrix(run([pairs(slow=2)]).points[0].pairs)
        link = network.pair_matrix(run([pairs(links=((0, 3),))]).points[0].pairs)
        alike = network.pair_matrix(run([pairs()]).points[0].pairs)
    assert node.finding == "node3 is slow with every partner"
    assert [row[3] for row in node.table.rows].count("node") == 6
    assert link.finding == "Slow: node1 to node4"
    assert plain(alike.finding) == "All pairs reach about 1.20 GB/s"
    assert len(alike.drawing.axes[0].images) == 1  # one raster, not a cell each


def test_scaling_curves_are_drawn_as_they_were_judged():
    measured = run([clients(n) for n in (1, 2, 4, 8)], [curve()])
    with styled():
        figure = network.scaling(measured.scaling[0])
        grows = network.scaling(run([], [curve((1, 2), saturated=False, finding="it still grows", saturation_clients=None)]).scaling[0])
    assert figure.finding == "small_file_read is saturated, says the run file"
    assert "ceil(3.00 GB/s / 1.00 GB/s) = 3 clients" in figure.description
    assert [row[0] for row in figure.table.rows] == ["1", "2", "4", "8"]
    assert plain(figure.table.rows[3][2]) == "3.00 GB/s"
    assert grows.finding == "it still grows" and len(grows.keys) == 1


def test_a_scaling_curve_out_of_order_is_refused():
    with pytest.raises(RunFileError, match="fewest first"):
        run([], [curve((2, 1))])


def test_slowest_rank_over_time_with_the_mean():
    point = collective(8)
    for repetition in point["repetitions"]:
        phase = repetition["phases"][0]
        times = [0.05, 0.1, 0.15]
        made = lambda rate: {"time_s": times, "bytes_per_s": [rate] * 3, "operations_per_s": [1.0] * 3, "latency_p99_ns": [1e6] * 3}
        phase.update(slowest_rank=2, series=made(4e8), slowest_series=made(5e7))
    point["slowest_rank"] = {"rank": 2, "host": "node3", "times": 4, "of": 5}
    with styled():
        figure = network.slowest(run([point]).points[0])
        assert network.slowest(run([collective(8)]).points[0]) is None
    assert figure.finding == "Rank 2 (node3) is the slowest in 4 of 5"
    assert [plain(cell) for cell in figure.table.rows[0][1:]] == ["2", "50.0 MB/s", "50.0 MB/s", "100 MB/s"]


def test_rails_are_named_in_the_matrix():
    made = pairs()
    names = [f"node{n} eth{rail}" for rail in (0, 1) for n in (1, 2)]
    rate = [[-1 if a == b or a // 2 != b // 2 else 12e8 if a < 2 else 5e8 for b in range(4)] for a in range(4)]
    made["pairs"].update(names=names, rate=rate, rails=["eth0", "eth1"], rail_reference=[12e8, 5e8], blamed_rails=[1])
    with styled():
        figure = network.pair_matrix(run([made]).points[0].pairs)
    assert figure.finding == "eth1 is slower than the best rail on every node"
    assert len(figure.table.rows) == 4


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
