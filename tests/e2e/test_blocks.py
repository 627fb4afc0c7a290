"""headrace run --against and headrace run --against-itself: interleaved blocks, each turn in a process and folder of its own."""

import json
import math
import signal
import stat

import pytest

SIDES = "A B B A B A A B A B B A B A A B".split()


@pytest.fixture(scope="module")
def against(tmp_path_factory):
    """tiny.yaml against the same with another request size, two blocks."""
    from conftest import TINY, Headrace
    runner = Headrace(tmp_path_factory.mktemp("against"))
    runner.write("tiny.yaml", TINY)
    runner.write("other.yaml", TINY.replace("workers: 2", "workers: 1"))
    runner.result = runner("run", "-c", "tiny.yaml", "--against", "other.yaml", "--blocks", "2", "--no-report", "--out", "blocks")
    return runner


def test_turns_alternate_each_in_its_own_folder(against):
    blocks = json.loads(against.path("blocks/blocks.json").read_text())
    assert [turn["side"] for turn in blocks["turns"]] == SIDES[:8]
    for turn in blocks["turns"]:
        folder = against.path("blocks") / turn["folder"]
        assert folder.name == f"{turn['turn']}-{turn['side']}" and folder.parent.name == f"block-0{turn['block']}"
        run = json.loads((folder / "run.json").read_text())
        assert sum(repetition["counted"] for repetition in run["points"][0]["repetitions"]) == 1  # disturbed ones come again
        assert run["points"][0]["params"]["workers"] == (2 if turn["side"] == "A" else 1)
    starts = [json.loads((against.path("blocks") / t["folder"] / "run.json").read_text())["run"]["started_utc"]
              for t in blocks["turns"]]
    assert starts == sorted(starts)


def test_keys_compared_on_purpose_do_not_join(against):
    data = json.loads(against.path("blocks/comparison.json").read_text())
    assert data["design"]["kind"] == "interleaved" and data["design"]["blocks"] == 2 and data["design"]["look"] == 0
    rows = data["pairs"][0]["rows"]
    assert rows and all(len(row["blocks"]) == 2 and row["base"]["n"] == 4 for row in rows)
    assert data["pairs"][0]["compared"] == ["workers: 2 -> 1"] and "compared workers: 2 -> 1\n" in against.result.out
    # Two blocks are before the first look: nothing is decided, and it is said why.
    disturbed = {row["reason"] for row in rows} & {"disturbed"}  # by other programs: then that is said
    assert against.result.code == 11 and (disturbed or "few-reps" in against.result.out and "--blocks 6" in against.result.out)
    assert against.result.out.splitlines()[-1].startswith("VERDICT INCONCLUSIVE")


def test_progress_reports_blocks_and_time_left(against):
    lines = [line for line in against.result.err.splitlines() if line.startswith("block ")]
    assert len(lines) == 8 and lines[4].startswith("block 2/2  turn 1/4  B") and "ETA" in lines[0]


def test_the_folder_is_compared_again_with_other_gates(against):
    again = against("compare", "blocks", "--json", "--gate", "*.read_bandwidth", "--across", "workers")
    data = json.loads(again.out)
    assert data["design"]["kind"] == "interleaved" and len(data["sides"]) == 2
    assert {row["metric"] for row in data["pairs"][0]["rows"] if row["gated"]} == {"read_bandwidth"}


def test_resume_continues_where_it_stopped(against):
    before = {path: path.stat().st_mtime_ns for path in against.path("blocks").glob("block-0[12]/*/run.json")}
    done = against("run", "-c", "tiny.yaml", "--against", "other.yaml", "--blocks", "3", "--no-report", "--out", "blocks")
    assert done.code == 11, done
    assert "block 3/3" in done.err and "block 2/3" not in done.err
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert json.loads(against.path("blocks/comparison.json").read_text())["design"]["blocks"] == 3
    other = against("run", "-c", "tiny.yaml", "--against", "tiny.yaml", "--blocks", "3", "--no-report", "--out", "blocks")
    assert other.code == 2 and "blocks of other sides" in other.err


def test_clean_removes_every_run(against):
    kept = against.path("blocks/block-01/1-A/mine.txt")
    kept.write_text("not headrace's")
    assert against("clean", "blocks").code == 2
    first = against("clean", "blocks", "--yes")
    assert kept.exists() and "mine.txt: not made by headrace" in first.out, first
    kept.unlink()
    against("clean", "blocks", "--yes")
    assert not against.path("blocks").exists()


def test_aa_is_stored_and_used_by_later_comparisons(headrace):
    done = headrace("run", "--against-itself", "-c", "tiny.yaml", "--blocks", "6", "--no-report", "--out", "aa")
    assert done.code in (0, 10, 11), done  # a busy machine differs from itself
    aa = json.loads(headrace.path("aa/aa.json").read_text())
    assert aa["kind"] == "headrace.aa" and aa["blocks"] == 6 and aa["summary"]["metrics"] == len(aa["rows"]) > 3
    for row in aa["rows"]:
        assert row["noise_floor"] >= 0 and 0 <= row["false_alarm_rate"] <= 1 and len(row["blocks"]) == 6
    assert any(row["noise_floor"] > 0 for row in aa["rows"])
    assert "noise floor" in done.out and done.out.splitlines()[-1].startswith(f"VERDICT {aa['summary']['word']}")
    # Later comparisons beside it find it.
    for name in ("a", "b"):
        assert headrace.run("tiny.yaml", out=name).code == 0
    assert headrace.results(out="a")["noise_floor"]["median"] == pytest.approx(aa["summary"]["noise_floor"])
    data = json.loads(headrace("compare", "a", "b", "--json").out)
    assert data["noise_floor"]["source"].endswith("aa/aa.json")
    assert data["noise_floor"]["median"] == pytest.approx(aa["summary"]["noise_floor"])
    floors = {row["metric"]: row["noise_floor"] for row in aa["rows"]}
    assert {row["metric"]: row["noise_floor"] for row in data["pairs"][0]["rows"]} == {
        row["metric"]: floors[row["metric"]] for row in data["pairs"][0]["rows"]}
    # And so do pages about one run or many.
    history = json.loads(headrace("history", "a", "b", "--format", "json").out)
    assert history["noise_floor"] == data["noise_floor"]
    for row in data["pairs"][0]["rows"]:  # a change within the noise is not called one
        if row["status"] in ("worse", "better"):
            assert abs(math.log(row["ratio"])) > math.log1p(row["noise_floor"])
    named = json.loads(headrace("compare", "a", "b", "--json", "--aa", "aa").out)
    assert named["noise_floor"]["median"] == data["noise_floor"]["median"]


def test_another_place_and_another_program(headrace):
    own = f"#!/bin/sh\nexec {headrace.binary} \"$@\"\n"
    program = headrace.path("other-headrace")
    program.write_text(own)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    done = headrace("run", "-c", "tiny.yaml", "--against", "./other-headrace", "--blocks", "1", "--no-report", "--out", "p")
    assert done.code == 11, done
    assert json.loads(headrace.path("p/blocks.json").read_text())["declared"] == ["headrace"]
    done = headrace("run", "-c", "tiny.yaml", "--against", "elsewhere", "--blocks", "1", "--no-report", "--out", "q")
    assert done.code == 11 and headrace.path("elsewhere/.headrace").exists(), done
    assert json.loads(headrace.path("q/blocks.json").read_text())["declared"] == ["device", "file_system"]
    words = " ".join(done.out.split())  # long paths are wrapped
    assert "compared file_system.path: " in words and "elsewhere (declared)" in words, done


def test_a_gate_that_nothing_measures_is_reported_before_anything_runs(headrace):
    for verb in (("run", "-c", "tiny.yaml", "--against", "elsewhere"), ("run", "--against-itself", "-c", "tiny.yaml")):
        done = headrace(*verb, "--gate", "*.sample_rat", "--out", "x")
        assert done.code == 2 and "did you mean '*.sample_rate'?" in done.err and not headrace.path("x").exists(), done


def test_a_dry_run_reports_both_plans(headrace):
    done = headrace("run", "-c", "tiny.yaml", "--against", "elsewhere", "--dry-run")
    assert done.code == 0 and "6, each A B B A: 24 runs" in done.out and done.out.count("target ") == 2, done
    assert not headrace.path("elsewhere").exists() and not headrace.path("headrace-runs").exists()
    assert "24 runs in all" in headrace("run", "--against-itself", "-c", "tiny.yaml", "--dry-run").out


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stops_cleanly_keeps_finished_blocks_and_goes_on(headrace, number, code):
    command = ["--progress", "json", "run", "-c", "tiny.yaml", "--against", "elsewhere", "--no-report", "--out", "b",
               "--set", "workloads.0.rest=100ms"]
    process = headrace.start(*command)
    for line in process.stderr:
        event = json.loads(line)
        if event["event"] == "turn_started" and (event["block"], event["turn"]) == (2, 2):
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=180)
    assert process.returncode == code, (out, err)
    assert f"VERDICT INTERRUPTED blocks=1 exit={code}" == out.splitlines()[-1] and "goes on after block 1" in out
    assert json.loads(headrace.path("b/comparison.json").read_text())["design"]["blocks"] == 1
    again = headrace(*command, "--blocks", "2")
    assert again.code == 11, again
    blocks = json.loads(headrace.path("b/blocks.json").read_text())
    assert [turn["side"] for turn in blocks["turns"]] == SIDES[:8]


def test_hand_edited_blocks_are_refused(headrace):
    headrace.path("x").mkdir()
    for text, words in (("{", "truncated"), ('{"kind": "headrace.blocks", "schema": 2}', "schema 2"),
                        (json.dumps({"kind": "headrace.blocks", "schema": 1, "name": "n", "planned": 6, "turns": [],
                                     "sides": [{"label": "../..", "command": []}, {"label": "B", "command": []}]}),
                         "sides[0].label: a letter from A to Z is expected")):
        headrace.write("x/blocks.json", text)
        done = headrace("compare", "x")
        assert done.code == 2 and words in done.err, done
