"""headrace observe where a process of the job answers as NCCL's RAS service does, or writes what NCCL's Inspector does."""

import json
import pathlib
import socket
import sys

import pytest
from observed import Seen, data

JOB = pathlib.Path(__file__).parents[1] / "observe/ras_job.py"
BEHIND = ("stopped_rank", "slow_rank")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def observe(headrace, data, mode, asks=1, page=("--no-report",), **environment):
    environment = environment or {"NCCL_RAS_ADDR": f"127.0.0.1:{free_port()}"}
    outcome = headrace("observe", "--out", "seen", *page, "--", sys.executable, str(JOB), str(data), mode, "--asks", str(asks), **environment)
    assert outcome.code == 0, outcome
    return Seen(headrace, "seen", outcome)


def nobody_is_named(seen):
    return seen.reported["nccl"]["behind"] == [] and seen.limit not in BEHIND


def test_the_rank_that_others_wait_for_is_named(headrace, data):
    seen = observe(headrace, data, "stopped", asks=9, page=())
    [one] = seen.reported["nccl"]["behind"]
    assert one["rank"] == 1 and one["lag"] == "stopped" and one["seconds"] >= 5 and one["pid"] == seen.truth["pid"] + 1, one
    assert seen.limit == "stopped_rank" and "rank 1 of 4" in seen.reported["limit"]["sentence"], seen.reported["limit"]
    assert any("no more than AllReduce 49" in proof for proof in seen.reported["limit"]["proof"]), seen.reported["limit"]
    assert seen.reported["nccl"]["version"] == "2.29.1" and seen.reported["nccl"]["processes"] == 4, seen.reported["nccl"]
    assert "is behind or hung" in seen.outcome.err, seen.outcome
    assert "is behind or hung" in (headrace.path("seen") / "report.html").read_text()


def test_the_rank_that_does_not_answer_is_named(headrace, data):
    seen = observe(headrace, data, "silent", asks=5)
    [one] = seen.reported["nccl"]["behind"]
    assert one["lag"] == "silent" and (one["rank"], one["host"], one["pid"]) == (1, "10.9.8.7", 4711) and not one["own"], one
    assert seen.limit == "stopped_rank" and "process 4711 on 10.9.8.7" in seen.reported["limit"]["advice"][0], seen.reported["limit"]


def test_advancing_ranks_are_not_named(headrace, data):
    seen = observe(headrace, data, "in_step", asks=8)
    assert nobody_is_named(seen) and seen.reported["nccl"]["answers"] >= 7, seen.reported["nccl"]
    assert not any("NCCL" in note for note in seen.reported["notes"]), seen.reported["notes"]


@pytest.mark.parametrize("mode, asks, why", [("foreign", 2, "no rank that it lists is a process of this job"), ("text", 1, "it answers in text alone"),
                                             ("version", 1, "it speaks version 9 of its protocol"), ("garbage", 1, "it is no JSON as NCCL writes it"),
                                             ("endless", 1, "its answer is longer than")])
def test_invalid_answer_is_one_fact(headrace, data, mode, asks, why):
    seen = observe(headrace, data, mode, asks=asks)
    assert nobody_is_named(seen), seen.reported["nccl"]
    reported = [note for note in seen.reported["notes"] if "NCCL" in note]
    assert len(reported) == 1 and why in reported[0], reported
    assert seen.truth["asked"] == asks, seen.truth  # and not again


def test_silent_ranks_are_not_waited_for(headrace, data):
    seen = observe(headrace, data, "mute")
    assert nobody_is_named(seen) and seen.truth["asked"] == 1 and seen.reported["elapsed_s"] < 60, seen.reported


def test_missing_listener_is_one_fact_and_no_warning(headrace, data):
    seen = observe(headrace, data, "none")
    assert nobody_is_named(seen) and [note for note in seen.reported["notes"] if "NCCL" in note] == [
        "no process of the job listens where NCCL's RAS service would: NCCL was not asked about its ranks"], seen.reported["notes"]
    off = observe_off(headrace, data)
    assert nobody_is_named(off) and any("NCCL_RAS_ENABLE=0" in note for note in off.reported["notes"]), off.reported["notes"]


def observe_off(headrace, data):
    """RAS is off, and somebody listens there all the same: he is not asked."""
    outcome = headrace("observe", "--out", "off", "--no-report", "--", sys.executable, str(JOB), str(data), "stopped", "--asks", "0",
                       NCCL_RAS_ADDR=f"127.0.0.1:{free_port()}", NCCL_RAS_ENABLE="0")
    assert outcome.code == 0, outcome
    seen = Seen(headrace, "off", outcome)
    assert seen.truth["asked"] == 0, seen.truth
    return seen


def test_a_job_without_nccl_gets_no_word_of_it(headrace, data):
    seen = observe(headrace, data, "none", HOME="/")
    assert nobody_is_named(seen) and not any("NCCL" in note for note in seen.reported["notes"]), seen.reported["notes"]


@pytest.mark.parametrize("mode", ["slow", "alike"])
def test_inspectors_files_name_the_rank_that_others_wait_for(headrace, data, mode):
    seen = observe(headrace, data, mode, NCCL_INSPECTOR_ENABLE="1", NCCL_INSPECTOR_DUMP_DIR="inspected")
    if mode == "alike":
        assert nobody_is_named(seen), seen.reported["nccl"]
        return
    [one] = seen.reported["nccl"]["behind"]
    assert one["rank"] == 2 and one["lag"] == "waited_for" and one["host"] == "node2" and one["share"] == pytest.approx(0.76, abs=0.05), one
    assert any("the others wait for rank 2 of 4" in proof for proof in seen.reported["limit"]["proof"]), seen.reported["limit"]
