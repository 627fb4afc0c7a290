"""headrace verdict and export: stored verdicts for prologs and health checks, and other tools' formats."""

import datetime
import json
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run with one need that is met by far, and verdicts of it that a test may change."""
    from conftest import TINY, Headrace
    runner = Headrace(tmp_path_factory.mktemp("verdict"))
    runner.write("tiny.yaml", TINY + "needs:\n  - {id: rate, metric: small_file_read.sample_rate, at_least: 1/s}\n")
    assert runner.run("tiny.yaml", verb="qualify", out="a").code == 0
    return runner


def stored(runner, name, hours=1.0, change=lambda verdict: None):
    """verdict.json, reached so many hours ago."""
    verdict = runner.results("verdict.json", out="a")
    at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=hours)
    verdict["run"]["started_utc"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    change(verdict)
    return runner.write(name, json.dumps(verdict))


def failed(verdict):
    verdict["summary"] = {"word": "FAIL", "exit_code": 10}
    verdict["judgements"][0].update(outcome="FAIL", next_step="look")


def test_tells_what_is_stored(made):
    good = made("verdict", "a")
    assert good.code == 0 and good.out.splitlines()[-1] == (
        "VERDICT PASS needs=1 pass=1 fail=0 inconclusive=0 skipped=0 error=0 exit=0")
    bad = made("verdict", stored(made, "bad.json", hours=1.01, change=failed), "--max-age", "24h")
    assert bad.code == 10 and "rate missed" in bad.out and "1h 00m old" in bad.out
    data = json.loads(made("verdict", "bad.json", "--json").out)
    assert data["word"] == "FAIL" and not data["stale"] and 3500 < data["age_s"] < 3800


@pytest.mark.parametrize("hours, limit, stale", [(23, "24h", False), (25, "24h", True), (25, "2d", False), (-2, "24h", True)])
def test_an_old_verdict_is_stale(made, hours, limit, stale):
    told = made("verdict", stored(made, "old.json", hours), "--max-age", limit)
    assert told.code == (12 if stale else 0)
    assert ("VERDICT STALE" in told.out) == stale


@pytest.mark.parametrize("hours", [25, -2])  # old, and from a clock that is ahead
def test_an_old_fail_stays_a_fail(made, hours):
    """Time mends no node: a caller that acts on exit codes must not let it back in."""
    told = made("verdict", stored(made, "old.json", hours, failed), "--max-age", "24h")
    assert told.code == 10 and "VERDICT FAIL" in told.out and "last: FAIL" in told.out and "rate missed" in told.out
    data = json.loads(made("verdict", "old.json", "--max-age", "24h", "--json").out)
    assert (data["word"], data["exit_code"], data["stale"], data["last"]) == ("FAIL", 10, True, "FAIL")
    assert made("verdict", "old.json", "--max-age", "24h", "--exit-map", "nagios").out.startswith("HEADRACE CRITICAL - FAIL")


@pytest.mark.parametrize("map_, codes", [("headrace", (0, 10, 12, 10, 2)), ("posix", (0, 1, 1, 1, 1)), ("nagios", (0, 2, 3, 2, 3)),
                                         ("slurm-prolog", (0, 1, 0, 1, 0)), ("nhc", (0, 1, 0, 1, 0)), ("npd", (0, 1, 2, 1, 2)),
                                         ("ctest", (0, 1, 1, 1, 1))])
def test_exit_maps(made, map_, codes):
    files = [stored(made, "good.json"), stored(made, "bad.json", change=failed), stored(made, "old.json", 48),
             stored(made, "old-bad.json", 48, failed), made.write("cut.json", '{"schema": 1, "kin')]
    told = [made("verdict", file, "--max-age", "24h", "--exit-map", map_) for file in files]
    assert tuple(t.code for t in told) == codes
    if map_ == "nagios":
        assert [t.out.split(" - ")[0] for t in told] == ["HEADRACE OK", "HEADRACE CRITICAL", "HEADRACE UNKNOWN", "HEADRACE CRITICAL", "HEADRACE UNKNOWN"]
        assert "'rate'=" in told[0].out.replace("@node", "")
    if map_ in ("nhc", "slurm-prolog", "npd"):
        assert all(t.out.count("\n") == 1 for t in told)


def test_thin_is_a_warning_for_nagios(made):
    thin = stored(made, "thin.json", change=lambda v: v["judgements"][0].update(thin=True))
    assert made("verdict", thin, "--exit-map", "nagios").code == 1
    assert made("verdict", thin).code == 0


def test_thin_is_a_warning_for_nagios_where_it_is_measured(headrace):
    cores = len(os.sched_getaffinity(0))
    headrace.write("thin.yaml", f"""\
schema: 1
name: thin
target: {{path: scratch}}
workloads: [{{use: host_facts}}]
needs: [{{id: cores, metric: host_facts.cpu_cores, at_least: {cores}}}]
""")
    done = headrace("qualify", "-c", "thin.yaml", "--no-report", "--exit-map", "nagios")
    if "+0 % thin" not in done.out:
        pytest.skip("the processor quota is below the number of processors")
    assert done.code == 1, done


@pytest.mark.parametrize("text, words", [("", "the file is empty"), ('{"schema": 1}', "not a verdict file"),
                                         ('{"schema": 9, "kind": "headrace.verdict"}', "schema 9")])
def test_bad_files(made, text, words):
    told = made("verdict", made.write("odd.json", text))
    assert told.code == 2 and words in told.err and "odd.json" in told.err
    assert made("verdict", "nowhere").code == 2
    assert made("verdict", "a", "--max-age", "24").code == 2


SCRIPTS = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/how-to/prologs.md").read_text(), re.S)
PROLOG, HEALTH, DETECTOR = SCRIPTS


class Script:
    """A script as it stands in the documentation, with the headrace of this test in its path, or another one."""

    def __init__(self, runner, text, folder):
        self.runner, self.folder, self.path = runner, folder, folder / "script"
        self.path.write_text(text)
        self.path.chmod(0o755)
        self.become(f'exec {runner.binary} "$@"')

    def become(self, what, name="headrace"):
        (self.folder / name).write_text(f"#!/bin/sh\n{what}\n")
        (self.folder / name).chmod(0o755)

    def __call__(self, verdict="gone", **environment):
        return subprocess.run([self.path], capture_output=True, text=True, timeout=180, env={
            **os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "HEADRACE_VERDICT": str(self.runner.path(verdict)), **environment})


# Whatever befalls headrace itself says nothing of the node.
BROKEN = ("exit 127", "exit 126", "kill -9 $$", "exit 2", "exit 134")


def test_the_prolog_of_the_documentation(made, tmp_path):
    prolog = Script(made, PROLOG, tmp_path)
    for file, code, words in ((stored(made, "good.json"), 0, "PASS"), (stored(made, "bad.json", change=failed), 1, "FAIL"),
                              (stored(made, "old.json", 24 * 8), 0, "STALE"), (stored(made, "old-bad.json", 24 * 8, failed), 1, "last: FAIL"),
                              ("gone", 0, "no verdict")):
        told = prolog(file)
        assert told.returncode == code and words in told.stdout, told
    for what in BROKEN:
        prolog.become(what)
        assert prolog("bad.json").returncode == 0 and "not checked" in prolog("bad.json").stdout, what
    (tmp_path / "headrace").unlink()  # a node that has lost it is not drained
    assert prolog("bad.json").returncode == 0 and "not checked" in prolog("bad.json").stdout


def test_the_health_check_of_the_documentation(made, tmp_path):
    """It drains a bad node once, and no other one, whatever befalls it."""
    health, done = Script(made, HEALTH, tmp_path), tmp_path / "done"
    health.become(f'printf "%s\\n" "$@" >>{done}', "scontrol")
    health.become("echo idle", "sinfo")
    for file in (stored(made, "good.json"), stored(made, "old.json", 24 * 8), "gone"):
        assert health(file, SLURMD_NODENAME="node3").returncode == 0 and not done.exists(), file
    bad = stored(made, "bad.json", change=failed)
    health(bad, SLURMD_NODENAME="node3")
    words = done.read_text().splitlines()
    assert words[:3] == ["update", "nodename=node3", "state=drain"] and words[3].startswith("reason=headrace: FAIL"), words
    assert "rate missed" in words[3] and len(words) == 4, words
    done.unlink()
    for state in ("draining", "drained", "down*"):
        health.become(f"echo '{state}'", "sinfo")
        health(bad)
        assert not done.exists(), state
    health.become("echo idle", "sinfo")
    for what in BROKEN:
        health.become(what)
        assert health(bad).returncode == 0 and not done.exists(), what
    health.become("sleep 100")
    text = health.path.read_text()
    limits = [int(limit) + 1 for limit in re.findall(r"timeout -k 1 (\d+)", text)]
    assert sum(limits) < 60 and text.count("timeout -k") == len(limits) == 3, text
    health.path.write_text(text.replace("timeout -k 1 15", "timeout -k 1 0.2"))
    assert health(bad).returncode == 0 and not done.exists()


def test_the_plugin_of_the_documentation(made, tmp_path):
    plugin = Script(made, DETECTOR, tmp_path)
    for file, code in ((stored(made, "good.json"), 0), (stored(made, "bad.json", change=failed), 1), (stored(made, "old.json", 24 * 8), 2), (stored(made, "old-bad.json", 24 * 8, failed), 1),
                       ("gone", 2)):
        told = plugin(file)
        assert told.returncode == code and told.stdout.startswith("headrace: ") and told.stdout.count("\n") == 1, told
    for what in BROKEN:
        plugin.become(what)
        assert plugin("bad.json").returncode == 2, what
    (tmp_path / "headrace").unlink()
    assert plugin("bad.json").returncode == 2 and "not installed" in plugin("bad.json").stdout
    (rules,) = re.findall(r"```json\n(.*?)```", (ROOT / "docs/how-to/prologs.md").read_text(), re.S)
    rule, = json.loads(rules)["rules"]
    assert rule["path"] in DETECTOR and float(rule["timeout"][:-1]) > 11 and rule["condition"] == json.loads(rules)["conditions"][0]["type"]


def test_the_way_to_the_newest_run_of_the_documentation(made, tmp_path):
    """As it stands there, twice, with a run of this test in the place of a qualification."""
    recipe = re.search(r"```bash\n(.*?)```", (ROOT / "docs/how-to/prologs.md").read_text(), re.S)[1]
    recipe = recipe.replace("/var/lib/headrace", str(tmp_path)).replace("headrace qualify -c node.yaml --job job.yaml --out", f"cp -r {made.path('a')}")
    recipe = recipe.replace("%SZ", "%S.%NZ")  # twice in a second
    for count in (1, 2):
        subprocess.run(["bash", "-c", recipe], check=True, timeout=180)
        runs = sorted(one.name for one in tmp_path.iterdir() if one.name != "latest")
        assert len(runs) == count and os.readlink(tmp_path / "latest") == runs[-1]
        assert made("verdict", tmp_path / "latest").code == 0


def test_exports_are_what_the_run_folder_has(made):
    for format_, name in (("gbench", "gbench.json"), ("junit", "junit.xml"), ("prom", "headrace.prom"), ("csv", "results.csv")):
        told = made("export", "a", "--format", format_)
        assert told.code == 0
        assert told.out == made.path("a").joinpath(name).read_bytes().decode().replace("\r\n", "\n"), format_
    measures = json.loads(made("export", "a/run.json", "--format", "bmf").out)["small_file_read"]
    assert measures["sample_rate"]["lower_value"] <= measures["sample_rate"]["value"] <= measures["sample_rate"]["upper_value"]
    assert made("export", "a", "--format", "nagios").out.startswith("HEADRACE OK - PASS: 1 of 1 needs met")
    assert made("export", "a", "--format", "junit", "-o", "j.xml").code == 0
    assert xml.etree.ElementTree.parse(made.path("j.xml")).getroot().get("failures") == "0"
    assert made("export", "a", "--format", "xls").code == 2
    assert made("export", "nowhere", "--format", "csv").code == 2
