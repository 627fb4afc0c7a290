"""What packaging/ has for sites: manifests of Kubernetes, alerts and a dashboard of Prometheus, recipes of images."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest
import yaml
from test_slurm import JOB, short_headrace
from test_verdict import made  # noqa: F401  (a fixture)

PACKAGING = pathlib.Path(__file__).parents[2] / "packaging"
def container(name):
    manifest = yaml.safe_load((PACKAGING / "kubernetes" / name).read_text())
    spec = manifest["spec"]["template"]["spec"]
    (one,) = spec["containers"]
    assert {mount["name"] for mount in one["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}
    return one


@pytest.mark.parametrize("name", ["qualify-node.yaml", "qualify-every-node.yaml"])
def test_kubernetes_accepts_the_manifest(name):
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate of PyPI is not installed")
    validator.validate(yaml.safe_load((PACKAGING / "kubernetes" / name).read_text()), "1.30", strict=True)


def placed(headrace, text):
    """The paths of a container as folders of this test, and a `headrace` in its PATH."""
    for folder in ("jobs", "data", "runs", "bin"):
        headrace.path(folder).mkdir(exist_ok=True)
    headrace.write("jobs/job.yaml", JOB)
    short_headrace(headrace, headrace.path("bin"))
    for there, here in (("/jobs", "jobs"), ("/data", "data"), ("/var/lib/headrace", "runs")):
        text = text.replace(there, str(headrace.path(here)))
    return text


def start(headrace, words):
    return subprocess.run([placed(headrace, word) for word in words], cwd=headrace.folder, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PATH": f"{headrace.path('bin')}:{os.environ['PATH']}"})


def test_the_job_of_kubernetes_qualifies_its_node(headrace):
    done = start(headrace, container("qualify-node.yaml")["command"])
    assert done.returncode in (0, 10, 11, 12) and "VERDICT" in done.stdout, done
    assert headrace.path("data/runs/node1/verdict.json").exists(), done


def test_the_daemon_set_of_kubernetes_leaves_the_newest_verdict(headrace):
    one = container("qualify-every-node.yaml")
    placed(headrace, "")
    headrace.write("bin/sleep", '#!/bin/sh\nkill $PPID\n')  # the end of the first day
    headrace.path("bin/sleep").chmod(0o755)
    done = start(headrace, one["command"] + one["args"])
    latest = headrace.path("runs/latest")
    assert latest.is_symlink() and (latest / "verdict.json").exists(), done
    assert "headrace_exit_code" in headrace.path("runs/headrace.prom").read_text()
    assert headrace("verdict", latest, "--max-age", "1h").code in (0, 10, 11, 12)


def test_alerts_and_dashboard_ask_for_metrics_that_a_run_exports(made):  # noqa: F811
    exported = set(re.findall(r"^(headrace_\w+)", made.path("a/headrace.prom").read_text(), re.M))
    rules = yaml.safe_load((PACKAGING / "prometheus/headrace.rules.yaml").read_text())
    asked = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    dashboard = json.loads((PACKAGING / "grafana/headrace.json").read_text())
    asked += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [one["query"] for one in dashboard["templating"]["list"]]
    used = {name for text in asked for name in re.findall(r"headrace_\w+", text)}
    assert used and used <= exported, used - exported


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool (Debian: prometheus)")
def test_prometheus_alerts_name_the_need_that_is_missed(made, headrace):  # noqa: F811
    series = {re.sub(r"{", '{instance="node1",', line.rsplit(" ", 1)[0], count=1): line.rsplit(" ", 1)[1]
              for line in made.path("a/headrace.prom").read_text().splitlines() if line.startswith("headrace_verdict{")}
    need = re.search(r'need="([^"]+)"', next(iter(series)))[1]

    def failing(fails):
        """Does the first need alert where it fails, or where all pass?"""
        values = {one: "1" if ('state="FAIL"' in one and f'need="{need}"' in one and fails) else "0" for one in series}
        name = next(one for one in series if f'need="{need}"' in one)
        scope = re.search(r'scope="([^"]*)"', name)[1]
        expected = [{"exp_labels": {"severity": "critical", "instance": "node1", "need": need, "scope": scope, "state": "FAIL"},
                     "exp_annotations": {"summary": f"node1 misses {need}",
                                         "description": "Run `headrace verdict /var/lib/headrace/latest` on the node for the figure and the next step."}}]
        test = {"rule_files": [str(PACKAGING / "prometheus/headrace.rules.yaml")], "tests": [
            {"interval": "1m", "input_series": [{"series": one, "values": f"{value}x10"} for one, value in values.items()],
             "alert_rule_test": [{"eval_time": "5m", "alertname": "HeadraceNeedMissed", "exp_alerts": expected}]}]}
        headrace.write("test.yaml", yaml.safe_dump(test))
        return subprocess.run(["promtool", "test", "rules", headrace.path("test.yaml")], capture_output=True, text=True, timeout=60)

    assert failing(True).returncode == 0, failing(True)
    assert failing(False).returncode != 0


@pytest.mark.parametrize("recipe", ["Containerfile", "headrace.def"])
def test_images_take_the_tree_that_the_packages_have(headrace, recipe):
    """Of this version, by the name that tools/package gives it."""
    version = re.search(r"headrace (\d[^\s,]*)", headrace("--version").out)[1]
    text = (PACKAGING / "container" / recipe).read_text()
    assert set(re.findall(r"headrace-[\d.]+-x86_64-linux", text)) == {f"headrace-{version}-x86_64-linux"}, text
    for manifest in (PACKAGING / "kubernetes").iterdir():
        assert f"image: headrace:{version}" in manifest.read_text(), manifest
