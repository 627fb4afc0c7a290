"""Stored verdicts that contradict themselves: no reader believes them. Runs that judged nothing: nobody is told OK."""

import json
import shutil

import pytest

from conftest import TINY, Headrace

JOB = """\
schema: 1
job: little
cluster: {nodes: 1, gpus_per_node: 2}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 40, sample_size: 8KiB}
loader: {workers_per_gpu: 1}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with a need that is met by far, and one without needs."""
    runner = Headrace(tmp_path_factory.mktemp("stored"))
    runner.write("job.yaml", JOB)
    runner.write("tiny.yaml", TINY + "needs:\n  - {id: rate, metric: small_file_read.sample_rate, at_least: 1/s}\n")
    runner.write("free.yaml", TINY)
    assert runner.run("tiny.yaml", verb="qualify", out="good").code == 0
    assert runner.run("free.yaml", out="free").code == 0
    return runner


def judged(outcome):
    return lambda stored: stored["judgements"][0].update(outcome=outcome)


def told(**summary):
    return lambda stored: stored["summary"].update(**{"pass" if key == "passed" else key: value
                                                      for key, value in summary.items()})


def without_judgements(stored):
    stored["judgements"] = []
    stored["summary"].update({"pass": 0, "needs": 0})


def below_its_need(stored):
    stored["judgements"][0].update(measured=0.5, low=0.5)


CONTRADICTIONS = [
    (judged("FAIL"), "summary.pass: summary says 1 PASS, the judgements say 0: edited by hand?"),
    (judged("MAYBE"), "judgements[0]"),
    (told(word="FAIL"), "summary.word: summary says FAIL, the judgements say PASS"),
    (told(word="FAIL", passed=0, fail=1), "summary.pass"),
    (told(exit_code=10), "summary.exit_code: summary says 10 as exit code, the judgements say 0"),
    (told(word="MEASURED"), "summary.word"),
    (told(needs=2), "summary.needs: summary says 2 needs, the judgements say 1"),
    (without_judgements, "summary.word: summary says PASS, the judgements say MEASURED"),
    (below_its_need, "judgements[0].measured: 0.5 misses the need of 1, and yet it is PASS"),
    (lambda stored: stored["run"].update(signal=15), "summary.word: summary says PASS, the judgements say INTERRUPTED"),
]


def edited(made, change, to):
    """The good run's folder again, with its files changed."""
    shutil.rmtree(made.path(to), ignore_errors=True)
    made.path(to).mkdir()
    for name in ("run.json", "verdict.json"):
        stored = made.results(name, out="good")
        change(stored)
        made.path(to).joinpath(name).write_text(json.dumps(stored))
    return to


@pytest.mark.parametrize("change, words", CONTRADICTIONS)
def test_a_contradiction_is_no_verdict(made, change, words):
    folder = edited(made, change, "lies")
    refused = made("verdict", folder)
    assert refused.code == 2 and f"lies/verdict.json: {words}" in refused.err, refused
    assert made("verdict", folder, "--exit-map", "nagios").out.startswith("HEADRACE UNKNOWN - lies/verdict.json: ")
    read = made("export", folder, "--format", "nagios")
    assert read.code == 2 and f"lies/run.json: {words}" in read.err, read


@pytest.mark.parametrize("words", [("report", "lies"), ("export", "lies", "--format", "csv"), ("compare", "good", "lies"),
                                   ("size", "job.yaml", "--runs", "lies"), ("history", "lies"), ("fleet", "lies")])
def test_every_reader_names_file_and_place(made, words):
    edited(made, told(word="FAIL"), "lies")
    refused = made(*words)
    assert refused.code not in (0, 10), refused
    everything = " ".join((refused.out + refused.err).split())
    assert "lies/run.json" in everything, refused
    assert "summary.word: summary says FAIL, the judgements say PASS" in everything, refused


def test_files_without_a_count_of_needs_are_read_still(made):
    """As older versions wrote them."""
    assert made("verdict", edited(made, lambda stored: stored["summary"].pop("needs"), "old")).code == 0


@pytest.mark.parametrize("map_, code", [("headrace", 12), ("posix", 1), ("ctest", 1), ("nagios", 3), ("slurm-prolog", 1), ("nhc", 1)])
def test_a_run_without_needs_is_no_verdict(made, map_, code):
    told = made("verdict", "free", "--exit-map", map_)
    assert told.code == code, told
    assert "the run was held against no needs" in told.out, told
    if map_ == "nagios":
        assert told.out.startswith("HEADRACE UNKNOWN - MEASURED: "), told


@pytest.mark.parametrize("map_, code", [("headrace", 0), ("posix", 0), ("nagios", 3), ("slurm-prolog", 1)])
def test_measuring_without_needs_is_not_ok_for_who_wants_a_verdict(made, map_, code):
    done = made("run", "-c", "free.yaml", "--no-report", "--exit-map", map_)
    assert done.code == code and "VERDICT MEASURED needs=0" in done.out, done


def test_errors_are_counted(made):
    made.path("empty").mkdir()
    made.write("gone.yaml", """\
schema: 1
target: {path: scratch}
workloads:
  - {use: small_file_read, path: empty, cache: asis, repeat: 1}
  - {use: small_file_read, label: two, path: empty, cache: asis, repeat: 1}
  - {use: host_facts}
""")
    done = made("run", "-c", "gone.yaml", "--no-report", "--out", "gone")
    assert done.code == 1, done
    assert done.out.splitlines()[-1] == ("VERDICT ERROR needs=0 pass=0 fail=0 inconclusive=0 skipped=0 error=2 exit=1"), done
    again = made("verdict", "gone")
    assert again.code == 1 and again.out.splitlines()[-1] == done.out.splitlines()[-1], again


def test_doctor_fails_by_name(made):
    for place, why in (("nowhere", "No such file or directory"), ("job.yaml", "neither a folder nor a block device")):
        refused = made("doctor", place)
        assert refused.code == 2 and f"doctor: {place}: {why}" in refused.err and refused.out == "", refused
