"""Run files that are not what they should be: one clear line, exit code 2, no page."""

import copy
import json

import pytest
import sample_run
from conftest import program

from headrace_report.errors import RunFileError
from headrace_report.load import parse, read_run


@pytest.fixture(scope="module")
def good():
    return sample_run.passing()


def problem(data) -> str:
    with pytest.raises(RunFileError) as caught:
        read_run(data)
    return str(caught.value)


def edited(good, path, value):
    data = copy.deepcopy(good)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


@pytest.mark.parametrize("sample", sorted(sample_run.SAMPLES))
def test_reads_every_sample(sample):
    run = read_run(parse(json.dumps(sample_run.SAMPLES[sample]())))
    assert len(run.points) > 0


@pytest.mark.parametrize("path, value, words", [
    (("schema",), 2, "schema 2: this report reads schema 1"),
    (("schema",), "1", "schema '1'"),
    (("kind",), "headrace.compare", "not a run file"),
    (("run", "elapsed_s"), "long", 'run.elapsed_s: "long": a number is expected'),
    (("run", "command"), "headrace", "run.command: \"headrace\": a list is expected"),
    (("judgements", 0, "outcome"), "MAYBE", "judgements[0]: outcome 'MAYBE'"),
    (("judgements", 0, "direction"), "up", "judgements[0]: direction 'up'"),
    (("judgements", 0, "need"), True, "judgements[0].need: true: a number is expected"),
    (("summary", "pass"), 7, "summary.pass: summary says 7 PASS, the judgements say 2"),
    (("summary", "word"), "FAIL", "summary.word: summary says FAIL, the judgements say PASS"),
    (("summary", "exit_code"), 10, "summary.exit_code: summary says 10 as exit code, the judgements say 0"),
    (("run", "signal"), 15, "summary.word: summary says PASS, the judgements say INTERRUPTED"),
    (("summary", "needs"), 3, "summary.needs: summary says 3 needs, the judgements say 2"),
    (("points", 0, "repetitions", 1, "phases", 0, "bytes"), 1.5,
     "points[0].repetitions[1].phases[0].bytes: 1.5: a whole number is expected"),
    (("points", 0, "repetitions", 0, "phases", 0, "latency", "buckets"), [[5, 1], [4, 1]],
     "points[0].repetitions[0].phases[0].latency: bucket 4"),
    (("points", 0, "repetitions", 0, "phases", 0, "latency", "buckets"), [[999999, 1]], "bucket 999999"),
    (("points", 0, "repetitions", 0, "phases", 0, "latency", "buckets"), [[5, -1]], "a count cannot be -1"),
    (("points", 0, "repetitions", 0, "phases", 0, "latency", "buckets"), [[5]], "a list of 2 is expected"),
    (("points", 0, "repetitions", 0, "phases", 0, "series", "time_s"), [1.0], "lists of different lengths"),
    (("points", 0, "params", "x"), [1], "points[0].params.x: [1]: a text, number or boolean is expected"),
    (("points",), {}, "points: {}: a list is expected"),
])
def test_names_the_place(good, path, value, words):
    assert words in problem(edited(good, path, value))


@pytest.mark.parametrize("path", [("run",), ("run", "node"), ("summary",), ("points", 0, "status"),
                                  ("points", 0, "metrics", 0, "values")])
def test_names_missing_keys(good, path):
    data = copy.deepcopy(good)
    place = data
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    assert "missing" in problem(data)
    assert str(path[-1]) in problem(data)


def test_points_are_unique(good):
    assert "two points" in problem(edited(good, ("points",), good["points"] * 2))


def test_additions_of_later_versions_are_ignored(good):
    assert read_run(edited(good, ("later",), {"a": [1]})).kind == "headrace.run"


@pytest.mark.parametrize("text, words", [
    ("", "the file is empty"),
    ("{\"a\": NaN}", "NaN is not a number"),
    ("{\"a\": -Infinity}", "-Infinity is not a number"),
    ("{\"a\": 1e999}", "too large"),
    ("{\"a\": 1, \"a\": 2}", "\"a\" is twice"),
    ("{\"a\": 1,}", "not JSON"),
    ("{\"a\": 1", "truncated"),
    ("[" * 100000, "nested too deeply"),
])
def test_strict_json(text, words):
    with pytest.raises(RunFileError, match="(?s).*") as caught:
        parse(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_anywhere(good, tmp_path, share):
    text = json.dumps(good)
    broken = tmp_path / "run.json"
    broken.write_text(text[:int(len(text) * share)])
    done = program(broken, "-o", tmp_path / "report.html")
    assert done.returncode == 2
    assert done.stderr.startswith(f"headrace_report: {broken}: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "report.html").exists()


def test_no_file(tmp_path):
    done = program(tmp_path / "none.json")
    assert done.returncode == 2 and "No such file" in done.stderr


def test_not_text(tmp_path):
    (tmp_path / "run.json").write_bytes(b"\xff\xfe\x00")
    done = program(tmp_path)
    assert done.returncode == 2 and "not UTF-8" in done.stderr


def test_a_missing_library_names_its_package(pages, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise ImportError('away')\n")
    import os
    from conftest import ROOT
    done = program(pages.run_file("passing"), "-o", tmp_path / "report.html",
                   PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT / "reports")]))
    assert done.returncode == 1
    assert "python3-matplotlib" in done.stderr and done.stderr.count("\n") == 1


def test_a_folder_that_cannot_be_written(pages, tmp_path):
    done = program(pages.run_file("interrupted"), "-o", tmp_path / "none" / "report.html")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
