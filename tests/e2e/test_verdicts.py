"""Every exit code is provoked, and the run folder is complete whatever the verdict is."""

import shutil
import xml.etree.ElementTree

import pytest

FILES = {"run.json", "verdict.json", "config.resolved.yaml", "env.json", "gbench.json", "junit.xml", "headrace.prom",
         "results.csv"}


def need(headrace, at_least, extra=""):
    text = headrace.path("tiny.yaml").read_text()
    return headrace.write("need.yaml", f"""{text}
needs:
  - {{id: reads, metric: small_file_read.read_bandwidth, at_least: {at_least}}}
{extra}""")


def judged(headrace, result, code, word):
    assert result.code == code, result
    last = result.out.splitlines()[-1]
    assert last.startswith(f"VERDICT {word} ") and last.endswith(f"exit={code}"), result
    verdict = headrace.results("verdict.json")
    assert verdict["summary"]["word"] == word and verdict["summary"]["exit_code"] == code
    folder = headrace.path("results")
    assert FILES <= {p.name for p in folder.iterdir()}
    assert not list(folder.glob("*.tmp*")), "half-written files"
    assert headrace.results()["kind"] == "headrace.run"
    xml.etree.ElementTree.parse(folder / "junit.xml")


def test_every_need_met(headrace):
    judged(headrace, headrace.run(need(headrace, "1B/s"), verb="qualify"), 0, "PASS")


def test_measurements_are_of_one_session_and_facts_are_not(headrace):
    reported = "Ranges cover this run only"
    assert reported in headrace.run(need(headrace, "1B/s"), verb="qualify").out
    headrace.write("facts.yaml", "schema: 1\ntarget: {path: scratch}\nworkloads: [{use: host_facts}]\n"
                   "needs:\n  - {id: cores, metric: host_facts.cpu_cores, at_least: 1}\n")
    facts = headrace.run("facts.yaml", verb="qualify", out="facts")
    assert facts.code == 0 and reported not in facts.out, facts


def with_missed_fact(headrace, config):
    """A need that is missed whatever else the machine does meanwhile."""
    text = headrace.path(config).read_text().replace("needs:", "  - {use: host_facts}\nneeds:\n"
                                                     "  - {id: cores, metric: host_facts.cpu_cores, at_least: 1000000}")
    return headrace.write("missed.yaml", text)


def test_need_missed(headrace):
    judged(headrace, headrace.run(with_missed_fact(headrace, need(headrace, "1B/s")), verb="qualify"), 10, "FAIL")


def test_the_answer_comes_first(headrace):
    """At most three lines: the verdict in a sentence, what decides it, what to do next."""
    assert headrace.run(need(headrace, "1B/s"), verb="qualify").out.startswith("PASS: this node meets the requirement.\n\n")
    missed = headrace.run(with_missed_fact(headrace, need(headrace, "1B/s")), verb="qualify", out="missed").out.splitlines()
    assert missed[0] == "FAIL: this node misses 1 of 2 requirements." and missed[1].startswith("  cores: "), missed[:4]
    assert " of 1.00 M needed (0 %)." in missed[1], missed[:4]
    open_ = headrace.run("need.yaml", "--looks", "1", verb="qualify", out="open").out.splitlines()
    assert open_[0] == "INCONCLUSIVE: this node meets 0 of 1 requirement; 1 undecided.", open_[:4]
    assert open_[1].endswith("too few repetitions for bounds.") and open_[2].startswith("Next: "), open_[:4]
    assert headrace.run("tiny.yaml", out="plain").out.startswith("small_file_read"), "nothing was asked"


def test_too_few_repetitions_to_decide(headrace):
    config = need(headrace, "1B/s")
    judged(headrace, headrace.run(config, "--looks", "1", verb="qualify"), 11, "INCONCLUSIVE")
    assert headrace.results("verdict.json")["judgements"][0]["reason"] == "few-reps"


def test_failure_outranks_inconclusive(headrace):
    config = with_missed_fact(headrace, need(headrace, "1B/s"))
    result = headrace.run(config, "--looks", "1", verb="qualify")
    words = {judgement["id"]: judgement["outcome"] for judgement in headrace.results("verdict.json")["judgements"]}
    assert result.code == 10 and words == {"reads": "INCONCLUSIVE", "cores": "FAIL"}, (result, words)


@pytest.fixture
def without_plugins(headrace):
    """The binary alone: io_uring cannot be found beside it."""
    headrace.binary = shutil.copy(headrace.binary, headrace.path("headrace"))
    return headrace


def test_everything_skipped(without_plugins):
    result = without_plugins.run("tiny.yaml", "--set", "workloads.0.engine=io_uring")
    judged(without_plugins, result, 77, "SKIPPED")
    assert "io_uring" in without_plugins.results()["points"][0]["reason"]


def test_incomplete(without_plugins):
    config = need(without_plugins, "1B/s", "  - {id: streams, metric: shard_stream.read_bandwidth, at_least: 1B/s}\n")
    text = without_plugins.path(config).read_text()
    without_plugins.write(config, text.replace(
        "needs:", "  - {use: shard_stream, engine: io_uring, files: 1, file_size: 1MiB, workers: 1, cache: asis}\nneeds:"))
    judged(without_plugins, without_plugins.run(config, verb="qualify"), 12, "INCOMPLETE")


def test_run_measures_without_judging(headrace):
    result = headrace.run("tiny.yaml")
    assert result.code == 0 and headrace.results()["judgements"] == [], result


def test_the_same_seed_gives_the_same_configuration(headrace):
    headrace.run("tiny.yaml", "--seed", "7", out="one")
    headrace.run("tiny.yaml", "--seed", "7", out="two")
    headrace.run("tiny.yaml", "--seed", "8", out="three")
    one, two, three = (headrace.results(out=o)["run"]["config_hash"] for o in ("one", "two", "three"))
    assert one == two != three


def test_the_resolved_configuration_runs_again(headrace):
    assert headrace.run("tiny.yaml").code == 0
    again = headrace.run("results/config.resolved.yaml", out="again")
    assert again.code == 0, again
    assert headrace.results(out="again")["run"]["config_hash"] == headrace.results()["run"]["config_hash"]
