"""One workload from the command line: its table, its files, and the configuration that asks for the same."""

import csv
import io
import json
import os
import re
import shlex
import signal
import socket
import statistics
import subprocess

import pytest

TINY = ["--files", "40", "--file-size", "8KiB", "--cache", "asis", "--repeat", "3", "--at", "scratch"]
SCAN = ["measure", "small_file_read", *TINY, "--workers", "1..4*2"]


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_one_table_with_a_row_per_point(headrace):
    result = headrace(*SCAN, "--export-csv", "t.csv", "--export-json", "t.json", "--export-markdown", "t.md", "--no-report",
                      "--out", "results")
    assert result.code == 0, result
    table = [line for line in result.out.splitlines() if line.startswith(("small_file_read ", "workers:"))]
    assert [line.split()[0] for line in table] == ["small_file_read", "workers:1", "workers:2", "workers:4"], result
    assert table[0].split()[1:] == ["mean", "median", "bounds", "min", "max", "relative"], result
    points = json.loads(headrace.path("t.json").read_text())["points"]
    best = max(p["mean"] for p in points)  # of a rate: work over time
    recorded = {p["id"]: p for p in headrace.results()["points"]}
    def stored(point):
        return next(m["values"] for m in recorded["small_file_read/" + point["point"]]["metrics"] if m["name"] == "sample_rate")

    for point, row in zip(points, rows(headrace.path("t.csv").read_text()), strict=True):
        assert point["values"] == pytest.approx(stored(point), rel=1e-6)
        assert point["repetitions"] == 3 and point["median"] == pytest.approx(statistics.median(point["values"]))
        assert (point["min"], point["max"]) == pytest.approx((min(point["values"]), max(point["values"])))
        assert point["relative"] == pytest.approx(best / point["mean"]) and point["relative"] >= 1
        for key in ("mean", "median", "low", "high", "min", "max", "relative", "disturbed"):
            assert float(row[key]) == pytest.approx(point[key], rel=1e-6), (key, row, point)
    assert sum(line.split()[-1] == "1.00" for line in table) >= 1, result
    text = headrace.path("t.md").read_text()
    assert "`workers:1`: " in text and "latency p50" in text, text
    assert "latency p50" in result.out and ", p99 " in result.out, result
    markdown = [line for line in text.splitlines() if line.startswith("|")]
    assert len(markdown) == 5 and len({line.count("|") for line in markdown}) == 1, markdown


def test_less_is_better_for_times(headrace):
    result = headrace(*SCAN, "--metric", "latency_p50_ns", "--export-json", "t.json", "--no-store")
    assert result.code == 0, result
    points = json.loads(headrace.path("t.json").read_text())["points"]
    least = min(p["median"] for p in points)
    assert [p["relative"] for p in points] == pytest.approx([p["median"] / least for p in points])


def test_the_configuration_that_asks_for_the_same(headrace):
    """It really runs, and its points and parameters are those that `measure` ran."""
    assert headrace(*SCAN, "--seed", "7", "--no-report", "--out", "measured").code == 0
    printed = headrace(*SCAN, "--seed", "7", "--print-config")
    assert printed.code == 0 and "workers: 1..4*2" in printed.out, printed
    headrace.write("same.yaml", printed.out)
    assert headrace.run("same.yaml", out="again").code == 0
    measured, again = (headrace.results(out=out) for out in ("measured", "again"))
    assert [(p["id"], p["params"]) for p in measured["points"]] == [(p["id"], p["params"]) for p in again["points"]]
    assert measured["run"]["config_hash"] == again["run"]["config_hash"], (measured["run"], again["run"])
    other = headrace("measure", "small_file_read", *TINY, "--workers", "1,2,8", "--seed", "7", "--print-config")
    headrace.write("other.yaml", other.out)
    assert headrace.run("other.yaml", out="other").code == 0
    assert headrace.results(out="other")["run"]["config_hash"] != again["run"]["config_hash"]


def test_data_of_the_user_is_only_read(headrace):
    data = headrace.path("mine")
    data.mkdir()
    for number in range(30):
        (data / f"{number}.bin").write_bytes(os.urandom(5000 + number))
    state = {f.name: (f.read_bytes(), f.stat().st_mtime_ns, f.stat().st_mode) for f in data.iterdir()}
    result = headrace("measure", "small_file_read", "mine", "--workers", "2", "--cache", "asis", "--repeat", "2", "--no-store")
    assert result.code == 0, result
    assert {f.name: (f.read_bytes(), f.stat().st_mtime_ns, f.stat().st_mode) for f in data.iterdir()} == state
    assert not headrace.path("headrace-runs").exists()
    printed = headrace("measure", "small_file_read", "mine", "--print-config")
    assert f"path: {data}" in printed.out, printed


def test_stored_as_a_run_unless_not_wanted(headrace):
    assert headrace(*SCAN, "--no-report").code == 0
    folder, = headrace.path("headrace-runs").iterdir()
    assert "measure-small_file_read" in folder.name and (folder / "run.json").exists()
    assert headrace(*SCAN, "--no-store").code == 0
    assert list(headrace.path("headrace-runs").iterdir()) == [folder]


def test_interrupted_it_reports_its_results(headrace):
    process = headrace.start("--progress", "json", "measure", "small_file_read", *TINY[:-4], "--repeat", "1000", "--rest", "100ms", "--at", "scratch",
                             "--workers", "1,2", "--no-report", "--out", "results")
    done = 0
    for line in process.stderr:
        done += json.loads(line)["event"] == "repetition_done"
        if done == 3:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, (process.returncode, out, err)
    reported = {line.split()[0]: line for line in out.splitlines() if line.startswith("workers:")}
    assert set(reported) == {"workers:1", "workers:2"} and reported["workers:2"].split()[1] == "-" and reported["workers:1"].split()[1] != "-", out
    assert headrace.results()["points"][0]["id"] == "small_file_read/workers:1"


def test_interrupted_first_repetition_reports_its_result(headrace):
    process = headrace.start("--progress", "json", "measure", "small_file_read", "--files", "2000", "--file-size", "8KiB", "--cache",
                             "asis", "--repeat", "3", "--rate", "50/s", "--at", "scratch", "--no-report", "--no-store")
    for line in process.stderr:
        if json.loads(line)["event"] == "live":
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "until it was stopped: " in out, (process.returncode, out, err)
    assert "stopped before the first repetition ended" in out, out


def test_a_budget_is_shared_by_the_points_and_can_be_kept_as_a_configuration(headrace):
    words = ["measure", "small_file_read", "--files", "40", "--file-size", "8KiB", "--cache", "asis", "--at", "scratch", "--workers", "1,2"]
    usual = headrace(*words, "--print-config")
    assert usual.code == 0 and "budget: 7.5s" in usual.out and "duration: 1.5s" in usual.out, usual
    given = headrace(*words, "--budget", "4s", "--print-config")
    assert "budget: 2s" in given.out and "duration: 0.4s" in given.out, given
    own = headrace(*words, "--repeat", "3", "--print-config")
    assert "budget:" not in own.out and "duration:" not in own.out, own
    both = headrace(*words, "--repeat", "3", "--budget", "4s")
    assert both.code == 2 and "--budget does not go with --repeat" in both.err, both
    ran = headrace(*words, "--budget", "2s", "--no-report", "--out", "results", "--export-json", "t.json")
    assert ran.code == 0, ran
    points = json.loads(headrace.path("t.json").read_text())["points"]
    took = {p["id"]: p["elapsed_s"] for p in headrace.results()["points"]}
    for point in points:  # a machine that stands still for a second has none left
        assert point["repetitions"] >= 5 or took["small_file_read/" + point["point"]] > 1, (point, took)
        assert "latency_p99_ns" in point["medians"], point


@pytest.mark.parametrize("token", ["sixteen-letters-or-more", "another"])
def test_a_peer_is_met_or_refuses(headrace, token):
    """What a network workload then measures, tests/rdma reports, where there is RDMA."""
    server = headrace.start("run", "--serve", "127.0.0.1:0", "--timeout", "60s", HEADRACE_TOKEN="sixteen-letters-or-more")
    try:
        place = server.stdout.readline().split()[-1]
        result = headrace("measure", "rdma_write", "--peer", place, "--at", "scratch", "--no-report", "--out", "results",
                          HEADRACE_TOKEN=token)
        if token == "another":
            assert result.code == 1 and "token" in result.err and not headrace.path("results").exists(), result
            return
        met = server.stderr.readline() + server.stderr.readline()
        assert "leads" in met and "has left" in met, met
        (point,) = headrace.results()["points"]
        assert result.code == (0 if point["status"] == "ok" else 77), result
        assert point["status"] == "ok" or point["reason"] in " ".join(result.out.split()), (point, result)
    finally:
        server.kill()
        server.communicate()


TOKEN = "sixteen-letters-or-more"


@pytest.fixture
def peer(headrace):
    """Where `headrace run --serve` listens."""
    server = headrace.start("serve", "--listen", "127.0.0.1:0", "--timeout", "60s", HEADRACE_TOKEN=TOKEN)
    yield server.stdout.readline().split()[-1]
    server.kill()
    server.communicate()


def test_tcp_between_two_hosts_needs_no_mpi(headrace, peer):
    """Both directions, by two processes; the second measurement meets the same server."""
    for streams in ("1", "3"):
        outcome = headrace("measure", "tcp_stream", "--peer", peer, "--time", "50ms", "--streams", streams, "--repeat", "2",
                           "--no-store", "--export-json", "t.json", HEADRACE_TOKEN=TOKEN)
        assert outcome.code == 0, outcome
        (point,) = json.loads(headrace.path("t.json").read_text())["points"]
        assert len(point["values"]) >= 2 and min(point["values"]) > 0 and max(point["values"]) > 1e6, point


def test_tcp_alone_names_the_missing_peer(headrace):
    outcome = headrace("measure", "tcp_stream", "--no-store")
    assert outcome.code == 77 and "--peer HOST" in outcome.out + outcome.err, outcome


def test_a_peer_that_cannot_be_met_is_named(headrace, peer):
    host, port = peer.rsplit(":", 1)
    with socket.socket() as taken:  # bound, and nobody listens there
        taken.bind(("127.0.0.1", 0))
        closed = taken.getsockname()[1]
        outcome = headrace("measure", "tcp_stream", "--peer", f"{host}:{closed}", "--no-store", HEADRACE_TOKEN=TOKEN)
    assert outcome.code == 1 and f"TCP port {closed}: Connection refused" in outcome.err, outcome
    outcome = headrace("measure", "tcp_stream", "--peer", peer, "--no-store", HEADRACE_TOKEN="another-of-16-letters")
    assert outcome.code == 1 and "wrong token" in outcome.err, outcome
    outcome = headrace("measure", "tcp_stream", "--peer", peer, "--no-store", HEADRACE_TOKEN="")
    assert outcome.code == 2 and "--token" in outcome.err, outcome


def test_the_remaining_time_is_never_zero_while_it_measures(headrace):
    """Foreign I/O disturbs repetitions, and disturbed ones are repeated beyond the last look."""
    other = subprocess.Popen(["sh", "-c", "while :; do dd if=/dev/zero of=other bs=1M count=8 oflag=dsync status=none; done"], cwd=headrace.folder)
    try:
        command = shlex.join([headrace.binary, "measure", "random_read", "--block-size", "64KiB", "--duration", "100ms", "--at", "scratch", "--no-store"])
        shown = subprocess.run(["script", "-qec", command, "/dev/null"], cwd=headrace.folder, capture_output=True, text=True, check=True).stdout
    finally:
        other.kill()
        other.wait()
    left = re.findall(r"rep (\d+)/\S+ .*?ETA at most ([\d.]+) (m?s)", shown)
    assert left and all(float(value) > 0 for _, value, _ in left), shown
