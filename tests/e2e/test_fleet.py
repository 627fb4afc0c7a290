"""headrace fleet and history: folders of many runs, from a run of this machine with its values changed."""

import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys

import pytest

from conftest import TINY

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    from conftest import Headrace
    runner = Headrace(tmp_path_factory.mktemp("fleet"))
    runner.write("tiny.yaml", TINY)
    assert runner.run("tiny.yaml", out="a").code == 0
    return runner


def copy(runner, folder, node, factor, day=1, change=lambda run: None, source="a"):
    """A run of that node on that day of March, its rates that many times 1000/s."""
    run = runner.results(out=source)
    run["run"].update(id=f"{node}-{day}", node=node, started_utc=f"2026-03-{day:02}T12:00:00Z")
    for metric in run["points"][0]["metrics"]:
        if metric["name"] == "sample_rate":
            values = [1000 * factor * (1 + 0.001 * i) for i in (-1, 0, 1)]
            metric.update(values=values, median=values[1], low=values[0], high=values[2])
    for repetition in run["points"][0]["repetitions"]:  # what else this machine does is not the question
        repetition["disturbance"]["disturbed"] = False
        repetition["cache"]["proven"] = True
    change(run)
    path = runner.path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / "run.json").write_text(json.dumps(run))


@pytest.fixture(scope="module")
def fleet(made):
    draw = random.Random(1)
    lines = []
    for number in range(1, 25):
        node = f"node{number:02}"
        lines.append(f"{node} rack=r{(number - 1) // 8}")
        copy(made, f"fleet/{node}", node, draw.gauss(1, 0.01) * (0.75 if number == 17 else 1), day=2)
    made.write("hosts.txt", "\n".join(lines) + "\n")
    return made


def test_a_suspect_and_its_confirmation(fleet):
    reported = fleet("fleet", "fleet", "--hosts", "hosts.txt")
    assert reported.code == 11, reported
    assert "node17 suspected" in reported.out and "VERDICT INCONCLUSIVE expected=24 reported=24" in reported.out
    # A copy of the run, under any name, is no other session.
    shutil.copytree(fleet.path("fleet/node17"), fleet.path("copies/again"))
    copied = fleet("fleet", "fleet", "copies", "--hosts", "hosts.txt")
    assert copied.code == 11 and "node17 suspected" in copied.out, copied
    # Measured again by the command that the user gives: a copy of a slow run stands for the second one.
    copy(fleet, "second", "node17", 0.76, day=3)
    again = fleet("fleet", "fleet", "--hosts", "hosts.txt", "--out", "out", "--no-report", "--rerun",
                  "test {node} = node17 && test {points} = small_file_read && cp -r second {out}")
    assert again.code == 10 and "node17 confirmed" in again.out, again
    data = json.loads(fleet.path("out/fleet.json").read_text())
    assert [(o["node"], o["status"]) for o in data["outliers"]] == [("node17", "confirmed")]
    assert data["summary"]["judged"] == 24 and len(data["nodes"]) == 24
    # The same files give the same bytes, however the threads took turns.
    first = fleet("fleet", "fleet", "--json").out
    assert all(fleet("fleet", "fleet", "--json").out == first for _ in range(3))
    assert fleet("fleet", "fleet", "--rerun", "true").code == 2
    failed = fleet("fleet", "fleet", "--out", "out2", "--no-report", "--rerun", "exit 3")
    assert failed.code == 11 and "no out2/again-node17/run.json (the command ended with 3)" in failed.err


def test_missing_node_makes_it_incomplete(fleet):
    fleet.path("part").mkdir()
    for number in (1, 2, 3, 4, 5, 6, 7, 8, 9):
        shutil.copytree(fleet.path(f"fleet/node{number:02}"), fleet.path(f"part/node{number:02}"))
    reported = fleet("fleet", "part", "--hosts", "hosts.txt")
    assert reported.code == 12 and "VERDICT INCOMPLETE expected=24 reported=9" in reported.out
    assert "node24" in reported.out or "more missing" in reported.out
    assert fleet("fleet", "part").code == 0
    text = fleet.path("part/node03/run.json").read_text()
    fleet.path("part/node03/run.json").write_text(text[:len(text) // 2])
    cut = fleet("fleet", "part")
    assert cut.code == 12 and "part/node03/run.json" in cut.out and "truncated" in cut.out
    fleet.path("nothing").mkdir()
    assert "no run.json below it" in fleet("fleet", "nothing").err
    assert fleet("fleet", "fleet", "--hosts", "tiny.yaml").code == 2
    assert fleet("fleet", "fleet", "--metric", "no.such").code == 2
    assert fleet("fleet", "fleet", "--format", "csv").out.count("\n") == 25


def test_a_change_in_history(made):
    draw = random.Random(2)

    def firmware(version):
        return lambda run: run["environment"].setdefault("device", {}).update(firmware=version)
    for day in range(1, 21):
        copy(made, f"past/{day:02}", "node17", draw.gauss(1, 0.01) * (0.88 if day > 11 else 1), day,
             firmware("1.4" if day > 11 else "1.3"))
    reported = made("history", "past", "--out", "trend", "--no-report")
    assert reported.code == 10, reported
    assert "device.firmware 1.3 -> 1.4" in reported.out and "worse" in reported.out
    assert reported.out.splitlines()[-1] == "VERDICT FAIL runs=20 series=1 changes=1 unusual=0 missing=0 left_out=0 too_short=0 exit=10"
    data = json.loads(made.path("trend/history.json").read_text())
    assert data["series"][0]["changes"][0]["between"] == ["2026-03-11T12:00:00Z", "2026-03-12T12:00:00Z"]
    short = made("history", "past", "--since", "2026-03-12")
    assert short.code == 12 and "too_short=1" in short.out
    assert "9 runs; 1 series, too short to judge." in short.out and "\n1 too short to judge (--all shows them)\n" in short.out, short
    assert made("history", "past", "--metric", "no.such").code == 2
    assert made("history", "past", "--json").out == made.path("trend/history.json").read_text()
    assert made("clean", "trend", "--yes").code == 0


def test_common_loss_of_a_day_is_one_sentence(made):
    """Twelve nodes, of which ten lose a tenth on one day, give or take one; one more is slow since another day."""
    draw = random.Random(4)
    for number in range(1, 13):
        since, level = (6, 0.8) if number == 12 else (10 + number % 2, 0.9) if number <= 10 else (99, 1)
        for day in range(1, 17):
            copy(made, f"all/{number}/{day:02}", f"node{number:02}", draw.gauss(1, 0.01) * (level if day >= since else 1), day)
    reported = made("history", "all", "--out", "together", "--no-report")
    (one,) = json.loads(made.path("together/history.json").read_text())["together"]
    assert reported.code == 10 and one["of"] == 12 and one["nodes"] == [f"node{number:02}" for number in range(1, 11)], (one, reported)
    assert "10 of 12 nodes changed together: sample_rate" in reported.out and -0.12 < one["change"] < -0.08, one
    shutil.rmtree(made.path("all"))
    for number in range(1, 13):  # two of twelve are no fleet
        for day in range(1, 17):
            copy(made, f"all/{number}/{day:02}", f"node{number:02}", draw.gauss(1, 0.01) * (0.9 if day > 10 and number < 3 else 1), day)
    few = made("history", "all", "--out", "together", "--no-report")
    assert few.code == 10 and json.loads(made.path("together/history.json").read_text())["together"] == [], few


def test_a_fleet_that_lost_a_tenth_since_is_no_pass(made):
    draw = random.Random(5)
    for number in range(1, 13):
        for day in (1, 2):
            copy(made, f"lost/{number}/{day}", f"node{number:02}", draw.gauss(1, 0.005) * (0.9 if day == 2 else 1), day)
    reported = made("fleet", "lost")
    said = " ".join(reported.out.split())
    assert reported.code == 11 and "from what the same 12 nodes reached in the session before" in said and "suspected_effects=1" in said, reported
    assert "outliers=0" in reported.out and made("fleet", *(f"lost/{number}/2" for number in range(1, 13))).code == 0, reported


def test_bring_ups_over_time(made):
    """Records that the program wrote of a simulated cluster, on sixteen days; one node is slow from the tenth on."""
    def brought_up(day, slower):
        folder = f"clusters/{day}"
        assert made("bringup", "--simulate", "12", "--nodes-per-switch", "0", "--bad", "0", "--transient", "0", "--seed", str(100 + day), "--no-report",
                    "--out", folder).code == 0
        record = json.loads(made.path(f"{folder}/bringup.json").read_text())
        record["sessions"][0]["started_utc"] = f"2026-03-{day:02}T12:00:00Z"
        for one in record["sessions"][0]["rounds"]:
            for pair in one["pairs"]:
                if 4 in pair["nodes"]:
                    pair["rate"] = [rate * slower for rate in pair["rate"]]
        made.path(f"{folder}/bringup.json").write_text(json.dumps(record))
    for day in range(1, 17):
        brought_up(day, 0.7 if day >= 10 else 1)
    reported = made("history", "clusters", "--out", "over-time", "--no-report")
    data = json.loads(made.path("over-time/history.json").read_text())
    changed = {one["metric"] for one in data["series"] if one["changes"] and one["changes"][-1]["status"] == "worse"}
    assert reported.code in (10, 11) and "rate of node00005" in changed, (changed, reported)  # 11: it may drift, too
    assert all("node00005" in metric for metric in changed) and {one["node"] for one in data["series"]} == {"node[00001-00012]"}, changed
    worse = made("compare", "clusters/9", "clusters/10", "--gate", "bringup.rate of node00005")
    assert worse.code == 10, worse
    assert made("compare", "clusters/8", "clusters/9", "--gate", "bringup.rate of node00005").code in (0, 11)
    assert made("fleet", "clusters").code == 2  # bring-ups are no runs of nodes
    refused = made("bringup", "--out", "clusters/1", "--resume")
    assert refused.code == 2 and "this fleet was simulated" in refused.err, refused


def ended(runner, how):
    """A run of this machine that really ended so."""
    if how == "INCONCLUSIVE":  # one repetition decides nothing
        runner.write("asks.yaml", TINY.replace("repeat: 5", "repeat: 1") +
                     "needs: [{id: rate, metric: small_file_read.sample_rate, at_least: 1e-6/s}]\n")
        assert runner.run("asks.yaml", verb="qualify", out=how).code == 11
    elif how == "ERROR":  # the second point loses its data on the way
        runner.write("loses.yaml", TINY + "  - {use: random_read, path: no_data, cache: warm, repeat: 1}\n")
        runner.path("no_data").mkdir(exist_ok=True)
        (runner.path("no_data") / "empty").write_bytes(b"")
        assert runner.run("loses.yaml", out=how).code == 1
    else:  # a second point that takes long is interrupted
        runner.write("long.yaml", TINY + "  - {use: random_read, file_size: 16MiB, rate: 60/s, cache: asis, duration: 60s, repeat: 1}\n")
        process = runner.start("--progress", "json", "run", "-c", "long.yaml", "--no-report", "--out", how)
        for line in process.stderr:
            if json.loads(line)["event"] == "live" and "random_read" in line:
                break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=180)
        assert process.returncode == 130


@pytest.mark.parametrize("word, code, reported", [("INCONCLUSIVE", 11, "INCONCLUSIVE"), ("ERROR", 1, "ERROR"),
                                              ("INTERRUPTED", 12, "INCOMPLETE")])
def test_warnings_of_nodes_end_the_fleet(made, word, code, reported):
    ended(made, word)
    assert made.results(out=word)["summary"]["word"] == word
    for number in range(1, 11):
        copy(made, f"said-{word}/node{number:02}", f"node{number:02}", 1 + number / 1000, source=word)
    outcome = made("fleet", f"said-{word}")
    assert outcome.code == code and f"VERDICT {reported} " in outcome.out and "no node differs" not in outcome.out, outcome


def test_a_metric_that_is_gone_is_reported(made):
    def nothing(run):
        run["points"][0]["metrics"] = [m for m in run["points"][0]["metrics"] if m["name"] != "sample_rate"]
    for day in range(1, 16):
        copy(made, f"gone/{day:02}", "node17", 1 + day % 3 / 100, day, nothing if day > 12 else lambda run: None)
    reported = made("history", "gone", "--metric", "*.sample_rate")
    assert reported.code == 12 and "missing=1" in reported.out and "1 missing from the newest run" in reported.out, reported


def test_ten_thousand_in_small(made, tmp_path):
    """The program that measures large fleets, on few nodes: it finds what it has put there."""
    done = subprocess.run([sys.executable, "-B", ROOT / "benches/fleet.py", "--nodes", "700", "--repetitions", "2", "--headrace",
                           made.binary], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "found    1 of 1 slow nodes confirmed, 0 others" in done.stdout and "group effects ['r3']" in done.stdout, done.stdout


def test_a_simulated_bring_up(made):
    """The same seed says the same; what cannot be decided in time is no PASS, and neither is what breaks the guarantee."""
    few = ["bringup", "--simulate", "100", "--fleets", "3", "--loss", "15%"]
    reported = made(*few)
    assert reported.code == 0 and "VERDICT PASS fleets=3 false=0 missed=0 undecided=0 exit=0" in reported.out, reported
    one, again = (json.loads(made(*few, "--json").out) for _ in range(2))
    one.pop("slowest_decision_s"), again.pop("slowest_decision_s")
    assert one == again and one["bad_nodes"] == {"there": 6, "missed": 0, "undecided_of_all": 0} and one["rounds"]["most"] <= 20
    soon = made(*few, "--most-rounds", "1")
    assert soon.code == 11 and "VERDICT INCONCLUSIVE" in soon.out, soon
    wild = made(*few, "--transient", "60%", "--transient-loss", "15%")  # most rates are low for once: nobody can decide
    assert wild.code in (10, 11) and "VERDICT PASS" not in wild.out, wild
    for wrong in (["--loss", "3%"], ["--bad", "40%"], ["--switches", "3"], ["--noise", "much"], ["--rails", "0"]):
        refused = made(*few, *wrong)
        assert refused.code == 2 and wrong[0] in refused.err, refused
