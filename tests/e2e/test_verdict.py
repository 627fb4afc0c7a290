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
    runner.write("tiny.yaml", TINY + "needs:\n  - {id: rate, metric: small_file_read.sample_rate, at_least: 1e-6/s}\n")
    assert runner.run("tiny.yaml", verb="qualify", out="a").code == 0
    return runner


def stored(runner, name, hours=1.0, change=lambda verdict: None):
    """verdict.json, reached that many hours ago."""
    verdict = runner.results("verdict.json", out="a")
    at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=hours)
    verdict["run"]["started_utc"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    change(verdict)
    return runner.write(name, json.dumps(verdict))


def failed(verdict):
    verdict["summary"] = {"word": "FAIL", "exit_code": 10}
    verdict["judgements"][0].update(outcome="FAIL", next_step="look")


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


PROLOG, HEALTH, DETECTOR = ((ROOT / "packaging" / name).read_text() for name in (
    "slurm/prolog.sh", "slurm/health-check.sh", "node-problem-detector/headrace.sh"))


class Script:
    """A script as it is installed, with the headrace of this test in its path, or another one."""

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


def patient(text):
    """The script with a limit that a machine which stands still for seconds does not reach."""
    assert text.count("timeout -k 1 ") == 1, text
    return re.sub(r"timeout -k 1 \d+ ", "timeout -k 1 120 ", text)


# Whatever befalls headrace itself says nothing of the node.
BROKEN = ("exit 127", "exit 126", "kill -9 $$", "exit 2", "exit 134")


def test_the_prolog_of_the_documentation(made, tmp_path):
    prolog = Script(made, patient(PROLOG), tmp_path)
    for file, code, words in ((stored(made, "good.json"), 0, "PASS"), (stored(made, "bad.json", change=failed), 1, "FAIL"),
                              (stored(made, "old.json", 24 * 8), 0, "STALE"), (stored(made, "old-bad.json", 24 * 8, failed), 1, "last: FAIL"),
                              ("gone", 0, "no verdict")):
        reported = prolog(file)
        assert reported.returncode == code and words in reported.stdout, reported
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
    plugin = Script(made, patient(DETECTOR), tmp_path)
    for file, code in ((stored(made, "good.json"), 0), (stored(made, "bad.json", change=failed), 1), (stored(made, "old.json", 24 * 8), 2), (stored(made, "old-bad.json", 24 * 8, failed), 1),
                       ("gone", 2)):
        reported = plugin(file)
        assert reported.returncode == code and reported.stdout.startswith("headrace: ") and reported.stdout.count("\n") == 1, reported
    for what in BROKEN:
        plugin.become(what)
        assert plugin("bad.json").returncode == 2, what
    (tmp_path / "headrace").unlink()
    assert plugin("bad.json").returncode == 2 and "not installed" in plugin("bad.json").stdout
    rules = (ROOT / "packaging/node-problem-detector/headrace.json").read_text()
    rule, = json.loads(rules)["rules"]
    assert rule["path"] in DETECTOR and float(rule["timeout"][:-1]) > 11 and rule["condition"] == json.loads(rules)["conditions"][0]["type"]


def test_link_to_the_newest_run_of_the_documentation(made, tmp_path):
    """As it is there, twice, with a run of this test in the place of a qualification."""
    recipe = re.search(r"```bash\n(.*?)```", (ROOT / "docs/how-to/prologs.md").read_text(), re.S)[1]
    recipe = recipe.replace("/var/lib/headrace", str(tmp_path)).replace("headrace qualify -c node.yaml --job job.yaml --out", f"cp -r {made.path('a')}")
    recipe = recipe.replace("%SZ", "%S.%NZ")  # twice in a second
    for count in (1, 2):
        subprocess.run(["bash", "-c", recipe], check=True, timeout=180)
        runs = sorted(one.name for one in tmp_path.iterdir() if one.name != "latest")
        assert len(runs) == count and os.readlink(tmp_path / "latest") == runs[-1]
        assert made("verdict", tmp_path / "latest").code == 0


def test_exports_equal_the_run_folder(made):
    for format_, name in (("gbench", "gbench.json"), ("junit", "junit.xml"), ("prom", "headrace.prom"), ("csv", "results.csv")):
        reported = made("report", "a", "--format", format_)
        assert reported.code == 0
        assert reported.out == made.path("a").joinpath(name).read_bytes().decode().replace("\r\n", "\n"), format_
    measures = json.loads(made("report", "a/run.json", "--format", "bmf").out)["small_file_read"]
    assert measures["sample_rate"]["lower_value"] <= measures["sample_rate"]["value"] <= measures["sample_rate"]["upper_value"]
    assert made("report", "a", "--format", "nagios").out.startswith("HEADRACE OK - PASS: 1 of 1 needs met")
    assert made("report", "a", "--format", "junit", "-o", "j.xml").code == 0
    assert xml.etree.ElementTree.parse(made.path("j.xml")).getroot().get("failures") == "0"
    assert made("report", "a", "--format", "xls").code == 2
    assert made("report", "nowhere", "--format", "csv").code == 2
