"""What goes where: results on standard output, progress on standard error, colours only where they are wanted."""

import json
import os
import re
import resource

import pytest

JOBS = os.path.join(os.path.dirname(__file__), "../../configs/jobs")
QUICKSTART = os.path.join(os.path.dirname(__file__), "../../configs/quickstart.yaml")


def test_version(headrace):
    result = headrace("--version")
    assert result.code == 0 and result.err == "", result
    assert result.out.startswith("headrace 0."), result
    for word in ("revision", "compiler", "schemas", "posix", "io_uring"):
        assert word in result.out, result


@pytest.mark.parametrize("verb", [[], ["run"], ["qualify"], ["run", "--check"], ["run", "--serve", "here"], ["require"], ["require", "--formula"], ["list"],
                                  ["doctor"], ["report"], ["clean"]])
def test_help(headrace, verb):
    result = headrace(*verb, "--help")
    assert result.code == 0 and result.err == "" and f"Usage: headrace {verb[0] if verb else 'VERB'}" in result.out, result


def test_progress_on_standard_error(headrace):
    result = headrace.run("tiny.yaml")
    assert result.code == 0, result
    assert "small_file_read" in result.err and "\033" not in result.err + result.out and "\r" not in result.err, result
    assert result.out.splitlines()[-1].startswith("VERDICT "), result
    assert not re.search(r"\([A-H][0-9]+[,)]", result.out), f"a formula's id, which only --explain prints: {result}"


def test_json_alone_on_standard_output(headrace):
    for words in (["run", "-c", "tiny.yaml", "--no-report", "--json"], ["run", "--dry-run", "-c", "tiny.yaml", "--json"],
                  ["doctor", "--json"], ["list", "--json"], ["list", "epochs", "--json"],
                  ["require", f"{JOBS}/llm-70b.yaml", "--format", "json"]):
        result = headrace(*words)
        assert result.code == 0, result
        json.loads(result.out)


def test_quiet(headrace):
    result = headrace("-q", "--progress", "none", "run", "-c", "tiny.yaml", "--no-report")
    assert result.code == 0 and result.err == "", result


@pytest.mark.parametrize("words, environment, colours", [
    ([], {}, False),
    ([], {"FORCE_COLOR": "1"}, True),
    (["--color", "always"], {}, True),
    (["--color", "always"], {"NO_COLOR": "1"}, True),  # what is written on the command line wins
    (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ([], {"NO_COLOR": "1"}, False),
])
def test_colours(headrace, words, environment, colours):
    result = headrace(*words, "doctor", **environment)
    assert ("\033[" in result.out) == colours, result


def test_ascii_without_utf8(headrace):
    assert headrace("doctor", LC_ALL="C").out.isascii()


def test_dry_run_writes_nothing_and_takes_no_time(headrace):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = headrace("qualify", "-c", QUICKSTART, "--job", f"{JOBS}/resnet50-imagenet.yaml", "--dry-run")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.code == 0 and "small_file_read" in result.out, result
    assert {p.name for p in headrace.folder.iterdir()} == {"tiny.yaml"}
    # CPU time, so that a busy machine does not matter.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1


def test_doctor_reports_of_the_folder(headrace):
    result = headrace("doctor", "/proc")
    assert result.code == 0 and "proc on /proc" in result.out, result
    for section in ("machine", "limits", "storage", "measuring aids", "backends", "workloads"):
        assert f"\n{section}\n" in result.out, section


def test_runs_from_any_folder_with_shipped_names(headrace):
    result = headrace("run", "--check", "-c", "configs/quickstart.yaml", "--job", "configs/jobs/resnet50-imagenet.yaml")
    assert result.code == 0, result
