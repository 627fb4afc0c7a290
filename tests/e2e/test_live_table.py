"""--live FILE: a table that grows while headrace measures, and files of others that it leaves alone."""

import csv
import os
import signal
import time

import pytest

HEADER = "time,point,repetition,state,seconds,bytes_per_s,operations_per_s\n"
# 60 reads of 20 per second: three seconds on any machine.
SLOW = ["measure", "small_file_read", "--files", "60", "--file-size", "8KiB", "--cache", "asis", "--rate", "20/s", "--workers", "1",
        "--at", "scratch", "--no-report", "--out", "results", "--live", "live.csv"]


def rows(headrace):
    text = headrace.path("live.csv").read_text()
    assert text.startswith(HEADER) and text.count(HEADER) == 1 and text.endswith("\n"), text
    return list(csv.DictReader(text.splitlines()))


def test_a_line_each_second_and_each_repetition(headrace):
    result = headrace(*SLOW, "--repeat", "2")
    assert result.code == 0, result
    lines, point = rows(headrace), headrace.results()["points"][0]
    ended = [line for line in lines if line["state"] in ("done", "disturbed")]
    assert [int(line["repetition"]) for line in ended] == [r["index"] for r in point["repetitions"]], lines
    for line, repetition in zip(ended, point["repetitions"], strict=True):
        seconds = sum(p["elapsed_s"] for p in repetition["phases"])
        assert line["point"] == "small_file_read" and float(line["seconds"]) == pytest.approx(seconds, abs=1e-3), line
        assert (line["state"] == "disturbed") == repetition["disturbance"]["disturbed"], line
        for column, key in (("bytes_per_s", "bytes"), ("operations_per_s", "operations")):
            assert float(line[column]) == pytest.approx(sum(p[key] for p in repetition["phases"]) / seconds, rel=1e-6), line
        during = [l for l in lines if l["state"] == "running" and l["repetition"] == line["repetition"]]
        assert during and all(1 <= float(l["seconds"]) for l in during), lines
        assert any(float(l["operations_per_s"]) > 0 for l in during), lines
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines), lines


def test_it_can_be_followed_and_goes_on_where_it_ended(headrace):
    before = HEADER + "2026-01-31T12:00:00.250Z,mine,0,done,1.000,1,1\n"
    headrace.write("live.csv", before)
    process = headrace.start(*SLOW, "--repeat", "1000")
    end = time.monotonic() + 120
    while len(rows(headrace)) < 4 and process.poll() is None:
        assert time.monotonic() < end, "no line came"
        time.sleep(0.05)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, (out, err)
    assert headrace.path("live.csv").read_text().startswith(before) and len(rows(headrace)) >= 4


def test_files_of_other_forms_stay(headrace):
    headrace.write("live.csv", "mine\n")
    os.mkfifo(headrace.path("pipe"))
    headrace.path("link").symlink_to("nowhere")
    headrace.path("data").mkdir()
    headrace.path("data/1.bin").write_bytes(bytes(5000))
    measure = ("measure", "small_file_read", "--at", "scratch", "--no-store", "--live")
    run = ("run", "-c", "tiny.yaml", "--no-report", "--live")
    for words, says in [((*measure, "live.csv"), "holds what headrace did not make"),
                        ((*run, "live.csv"), "holds what headrace did not make"),
                        ((*measure, "pipe"), "pipe is no regular file"), ((*measure, "link"), "link is no regular file"),
                        ((*measure, "/dev/full"), "is no regular file"),
                        ((*measure, "none/live.csv"), "no such folder"), ((*run, "."), "is no regular file"),
                        (("measure", "small_file_read", "data", "--no-store", "--live", "data/live.csv"), "lies in the data"),
                        (("measure", "small_file_read", "data/*.bin", "--no-store", "--live", "data/live.csv"), "lies in the data"),
                        ((*run, "new.csv", "--against", "other"), "without --against")]:
        result = headrace(*words)
        assert result.code == 2 and says in result.err, (words, result)
    planned = headrace(*run, "new.csv", "--dry-run")
    assert planned.code == 0 and not headrace.path("new.csv").exists(), planned
    assert headrace.path("live.csv").read_text() == "mine\n" and not headrace.path("scratch").exists()
    assert [file.name for file in headrace.path("data").iterdir()] == ["1.bin"]
