"""headrace simulate: stated and measured stores, where a job breaks on them, and what cannot be simulated."""

import copy
import csv
import io
import json

import pytest

JOB = """\
schema: 1
job: little
cluster: {nodes: 1, gpus_per_node: 2}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 40000, sample_size: 8KiB}
loader: {workers_per_gpu: 1}
model: {parameters: 1e6}
checkpoint: {interval: 10min, stall: 10s, restore: 1h}
"""
SHEET = """\
schema: 1
sheet: little-store
source: figures of this test
store: {read: 320KiB/s, write: 10MB/s}
client: {read: 80KiB/s, write: 5MB/s}
"""
CONFIG = """\
schema: 1
name: tiny
target: {path: scratch, max_write: 200MiB}
workloads:
  - {use: small_file_read, files: 40, file_size: 8KiB, workers: 2, cache: asis, repeat: 6}
  - {use: checkpoint_write, ranks: 1, shard_size: 4MiB, repeat: 6}
  - {use: host_facts}
"""


def even(point):
    """As if each repetition had been the fastest: one that waits for other programs widens the bounds a thousand times."""
    counted = [repetition for repetition in point["repetitions"] if repetition["counted"]]
    fastest = min(counted, key=lambda repetition: repetition["timed_s"])
    for repetition in counted:
        repetition.update(copy.deepcopy({key: fastest[key] for key in ("metrics", "phases", "timed_s")}))
    for metric in point["metrics"]:
        value = fastest["metrics"][metric["name"]]
        metric.update(dict.fromkeys(metric.keys() & {"median", "low", "high", "mean_over_time"}, value),
                      values=[value] * len(metric["values"]))


def as_cold(run, **mount):
    """A run of this machine as if its caches had been made cold and nothing had disturbed it, which not every machine lets one
    do; `mount`: as if on that file system."""
    run = json.loads(json.dumps(run))
    run["environment"]["file_system"].update(mount)
    for point in run["points"]:
        even(point)
        for repetition in point["repetitions"]:
            repetition["steady"] = True
            repetition["disturbance"]["disturbed"] = False
        if point["workload"] == "small_file_read":
            point["cache"] = "cold"
            for repetition in point["repetitions"]:
                repetition["cache"]["proven"] = True
    return run


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    from conftest import Headrace
    runner = Headrace(tmp_path_factory.mktemp("simulate"))
    runner.write("job.yaml", JOB)
    runner.write("sheet.yaml", SHEET)
    runner.write("tiny.yaml", CONFIG)
    assert runner.run("tiny.yaml", out="local").code == 0
    run = runner.results(out="local")
    other = as_cold(run, type="nfs4", source="another:/export")
    other["run"].update(id="later-run", started_utc="2030-01-31T12:00:00Z")
    for folder, changed in (("cold", as_cold(run)), ("shared", as_cold(run, type="nfs4", source="server:/export")), ("other", other)):
        runner.path(folder).mkdir()
        runner.write(f"{folder}/run.json", json.dumps(changed))
    return runner


def test_a_stated_store_breaks_where_its_figures_say(made):
    """16 KiB/s a node: 20 nodes take all of the store, and at 90 % of the time 22 nodes do."""
    done = made("simulate", "job.yaml", "--sheet", "sheet.yaml", "--nodes", "1,16,22,23,64", "--seeds", "40", "--json")
    data = json.loads(done.out)
    assert done.code == data["summary"]["exit_code"] == 10 and data["summary"]["word"] == "FAIL"
    first = data["breaks"][0]
    assert (first["nodes"], first["holds_to"], first["limit"]) == (23, 22, "the store")
    busy = {s["nodes"]: {f["figure"]: f for f in s["figures"]}["first_epoch_busy"]["median"] for s in data["scales"]}
    assert busy[16] == 1 and busy[64] == pytest.approx(20 / 64) and busy[22] == pytest.approx(20 / 22)
    assert data["gains"][0]["key"] in ("store.read", "store.servers") and data["gains"][0]["gain"] == pytest.approx(0.1)
    assert any("figures of this test" in one for one in data["from"])


def test_text_is_short_and_fits(made):
    done = made("simulate", "job.yaml", "--sheet", "sheet.yaml", "--nodes", "1..64*2", "--seeds", "40", COLUMNS="80")
    lines = done.out.splitlines()
    assert done.code == 10 and lines[0] == "FAIL: on 64 nodes, GPUs busy: expected 31.2 % [31.2, 31.2], needed 90 %."
    assert all(len(line) <= 80 for line in lines), lines
    assert lines.index("") <= 3 and lines[-1].startswith("VERDICT FAIL nodes=64 breaks_at=32 ")
    assert "PASS" not in done.out
    assert lines[1] == "  First limit: the store at 32 nodes (16 still work), in the first epoch."
    text = " ".join(done.out.split())
    assert "Next: raising store.read by 10 % helps most" in text or "Next: raising store.servers by 10 % helps most" in text, done
    assert "GPUs busy: is missed from 32 nodes on; 16 nodes still meet it; cause: the store" in text, done
    assert " + 10 %: 10.0 % better (GPUs busy, " in text and "median over all seeds [5th to 95th percentile]" in text, done


def test_it_never_passes(made):
    done = made("simulate", "job.yaml", "--sheet", "sheet.yaml", "--nodes", "1,2,4", "--seeds", "40")
    assert done.code == 11 and done.out.startswith("INCONCLUSIVE:") and "No limit is missed; only a measurement" in " ".join(done.out.split())


def test_the_answer_of_a_time_is_short_too(made):
    """A store that refuses most clients, so that a restart takes longer than the job allows."""
    made.write("narrow.yaml", SHEET.replace("read: 320KiB/s, write: 10MB/s", "read: 40MB/s, write: 1GB/s, most_clients: 8").replace("80KiB/s, write: 5MB/s", "40MB/s, write: 1GB/s"))
    done = made("simulate", "job.yaml", "--sheet", "narrow.yaml", "--nodes", "1024", "--seeds", "20", "--set", "checkpoint.restore=10s",
                "--set", "checkpoint.stall=9min", "--set", "model.parameters=1e9", COLUMNS="80")
    lines = done.out.splitlines()
    assert done.code == 10 and lines[0].startswith("FAIL: on 1024 nodes, restore: expected ") and lines[0].endswith("needed 10 s."), done
    assert lines.index("") == 3 and "refused clients" in lines[1] and all(len(line) <= 80 for line in lines), lines


def test_the_same_seed_gives_the_same(made):
    words = ("simulate", "job.yaml", "--sheet", "sheet.yaml", "--nodes", "3,30", "--seeds", "30", "--json")
    made.write("uneven.yaml", SHEET.replace("write: 5MB/s", "write: 5MB/s, variation: 0.2, save_spread: 1s"))
    words = tuple("uneven.yaml" if w == "sheet.yaml" else w for w in words)
    first = made(*words).out
    assert made(*words, "--seed", "1").out == first and made(*words, "--seed", "2").out != first


def test_csv_and_files(made):
    done = made("simulate", "job.yaml", "--sheet", "sheet.yaml", "--nodes", "1,8", "--seeds", "20", "--format", "csv", "--out", "kept", "--no-report")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert {r["nodes"] for r in rows} == {"1", "8"} and {"first_epoch_busy", "save_time", "restore_time"} <= {r["figure"] for r in rows}
    assert made.path("kept/simulation.csv").read_text() == done.out
    assert json.loads(made.path("kept/simulation.json").read_text())["kind"] == "headrace.simulation"
    assert made("clean", "kept", "--yes").code == 0


def test_a_local_disk_is_no_shared_store(made):
    for folder in ("local", "cold"):
        done = made("simulate", "job.yaml", "--runs", folder, "--nodes", "1..64*2")
        assert done.code == 2 and "no shared store" in done.err and "that node's own" in done.err, done
        assert not done.out
    done = made("simulate", "job.yaml")
    assert done.code == 2 and "give --runs DIR (measured) or --sheet FILE (stated)" in done.err


def test_measured_runs_are_continued_with_their_doubt(made):
    done = made("simulate", "job.yaml", "--runs", "shared", "--nodes", "1,64", "--seeds", "60", "--json")
    data = json.loads(done.out)
    assert done.code in (10, 11), done
    assert any("one count shows no growth" in one and "measured:" in one for one in data["from"]), data["from"]
    assert [s["basis"] for s in data["scales"]] == ["modelled", "extrapolated"]
    saves = [{f["figure"]: f for f in s["figures"]}["save_time"] for s in data["scales"]]
    assert saves[1]["high"] / saves[1]["low"] > saves[0]["high"] / saves[0]["low"], "more nodes than were measured: a wider interval"
    assert any("restores: neither measured nor stated" in one for one in data["missing"])
    # A job that one measured node cannot feed fails on many, too.
    large = made("simulate", "job.yaml", "--runs", "shared", "--nodes", "64", "--seeds", "60", "--set", "step.time=1us")
    assert large.code == 10 and "FAIL" in large.out
    text = made("simulate", "job.yaml", "--runs", "shared", "--nodes", "1,64", "--seeds", "20").out
    assert "64*" in text and "* extrapolated" in text


def test_two_stores_contradict_each_other(made):
    first = made("simulate", "job.yaml", "--runs", "shared", "other", "--nodes", "4", "--seeds", "10")
    run = json.loads(made.path("other/run.json").read_text())
    run["points"] = [p for p in run["points"] if p["workload"] != "small_file_read"]
    made.path("saves").mkdir(exist_ok=True)
    made.write("saves/run.json", json.dumps(run))
    run = json.loads(made.path("shared/run.json").read_text())
    run["points"] = [p for p in run["points"] if p["workload"] == "small_file_read"]
    made.path("reads").mkdir(exist_ok=True)
    made.write("reads/run.json", json.dumps(run))
    done = made("simulate", "job.yaml", "--runs", "reads", "saves", "--nodes", "4")
    for one in (first, done):
        assert one.code == 2 and "2 stores" in one.err and "another:/export" in one.err and "server:/export" in one.err, one


@pytest.mark.parametrize("words,said", (
    (("--nodes", "0"), "--nodes: '0': must be whole numbers of 1 to 65536, as in 1..4096*2 or 8,60,504; nearest: 1"),
    (("--nodes", "2.5"), "nearest: 3"),
    (("--nodes", "1..x"), "--nodes"),
    (("--nodes", "1..1e9*2"), "--nodes"),
    (("--nodes", "4", "--seeds", "0"), "--seeds"),
    (("--nodes", "4", "--set", "checkpoint.stall=1ms"), "checkpoint.stall: 1.00 ms is impossible"),
    (("--nodes", "4", "--set", "checkpoint.restore=1ms"), "checkpoint.restore: 1.00 ms is impossible"),
    (("--nodes", "2,3,4", "--set", "parallelism.tensor=4"), "--nodes: 3: "),
))
def test_wrong_words_are_named_before_anything_runs(made, words, said):
    done = made("simulate", "job.yaml", "--sheet", "sheet.yaml", *words)
    assert done.code == 2 and said in done.err and not done.out, done


@pytest.mark.parametrize("body,said", (
    ("store: {read: 0B/s}", "bad.yaml:4:15: store.read: 0B/s is out of range: must be above 0"),
    ("store: {read: 3}", "bad.yaml:4:15: store.read: "),
    ("store: {wirte: 1GB/s}", "bad.yaml:4:9: store: unknown key 'wirte'; did you mean 'write'?"),
    ("store: {read: 1GB/s}\nclient: {read: 2GB/s}", "bad.yaml:5:16: client.read: one client gets no more than all together: at most 1 GB/s"),
    ("store: {read: 1GB/s}\nclient: {nic: 1GB/s}\nnetwork: {nodes_per_switch: 4}", "nodes do not divide into switches of 4: nearest are 4 and 8"),
    ("client: {variation: 0.1}", "nothing is known of a shared store"),
))
def test_wrong_sheets_are_named_with_their_place(made, body, said):
    made.write("bad.yaml", f"schema: 1\nsheet: bad\nsource: this test\n{body}\n")
    done = made("simulate", "job.yaml", "--sheet", "bad.yaml", "--nodes", "6")
    assert done.code == 2 and said in done.err and not done.out, done


def test_a_measured_client_is_not_faster_than_its_link(made):
    made.write("slow.yaml", "schema: 1\nsheet: slow\nsource: this test\nclient: {nic: 1kB/s}\n")
    done = made("simulate", "job.yaml", "--runs", "shared", "--sheet", "slow.yaml", "--nodes", "4")
    assert done.code == 2 and "slow.yaml:4:15: client.nic: 1.00 kB/s contradicts the measured" in done.err, done


def test_the_page_is_drawn(made):
    done = made("simulate", "job.yaml", "--sheet", "sheet.yaml", "--nodes", "1..64*2", "--seeds", "20", "--out", "paged")
    if "report.html" not in done.out and "report" in done.err:
        pytest.skip(done.err.strip())
    page = made.path("paged/report.html").read_text()
    assert "On how many nodes is a limit missed, and why?" in page and "headrace-simulation" in page
    assert made("clean", "paged", "--yes").code == 0
