"""Never a foreign file touched: whatever lies around and inside headrace's folders is the same afterwards, whichever verb ran,
and whether it was killed."""

import json
import os
import signal
import stat
import subprocess
import time

import pytest
from foreign import MINE, Planted, kill_all, started, state

# Every workload that writes.
ALL = """\
schema: 1
name: all
target: {path: scratch, max_write: 200MiB}
workloads:
  - {use: small_file_read, files: 40, file_size: 8KiB, files_per_folder: 20, workers: 2, cache: asis, repeat: 2}
  - {use: checkpoint_write, ranks: 2, shard_size: 256KiB, repeat: 2}
  - {use: metadata, width: 3, files_per_folder: 20, workers: 2, cache: asis, repeat: 2}
"""
SET = "data/40x8192B-spread0-per20-seed1"
JOB = """\
schema: 1
job: small
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 1000, sample_size: 8kB}
loader: {workers_per_gpu: 1}
"""


@pytest.fixture
def planted(headrace):
    headrace.write("all.yaml", ALL)
    headrace.write("job.yaml", JOB)
    return Planted(headrace.path("outside"))


def left_by_a_kill(headrace, config, there):
    """Starts `config` again and again and kills it when `there`, a pattern in the scratch folder, holds something."""
    for _ in range(20):
        process = started(headrace, "run", "-c", config, "--no-report", "--out", "killed")
        end = time.monotonic() + 150
        while time.monotonic() < end and process.poll() is None:
            if any(headrace.path("scratch").glob(there)):
                break
        kill_all(process)
        headrace("clean", "killed", "--yes")
        if any(headrace.path("scratch").glob(there)):
            return
    raise AssertionError(f"nothing was left at {there}")


def every_verb(headrace):
    """What can be done to the folders `scratch`, `results`, `others` and `blocks`."""
    run = ("-c", "all.yaml", "--no-report")
    page = ("--no-report", "--out")
    return [
        ("doctor",), ("list",), ("run", "--dry-run", "-c", "all.yaml"), ("run", "--check", "all.yaml"), ("require", "job.yaml"),
        ("require", "job.yaml", "--sweep", "loader.workers_per_gpu=1..8*2", "--plot", "needs.svg"),
        ("run", *run, "--out", "results"), ("run", *run, "--out", "again"),
        ("qualify", *run, "--job", "job.yaml", "--out", "qualified"),
        ("run", *run, "--against", "other-scratch", "--blocks", "1", "--out", "blocks"),
        ("run", "--against-itself", *run, "--blocks", "2", "--only", "metadata*", "--out", "noise"),
        ("report", "results"), ("verdict", "results"), ("summary", "results"),
        ("report", "results", "--format", "csv", "-o", "exported.csv"),
        ("compare", "results", "others", *page, "results"), ("compare", "results", "others", *page, "compared"),
        ("size", "job.yaml", "--runs", "results", *page, "sized"), ("fleet", "results", "others", *page, "fleet"),
        ("history", "results", "others", *page, "history"),
        ("clean", "results"), ("clean", "results", "--yes"), ("clean", "blocks", "--yes"), ("clean", "compared", "--yes"),
        ("clean", "scratch"), ("clean", "scratch", "--yes"), ("clean",), ("clean", "outside", "--yes"), ("clean", ".", "--yes"),
    ]


def test_every_verb_leaves_foreign_files_alone(headrace, planted):
    quick = ("--only", "small_file_read*")
    for out in ("results", "others"):
        assert headrace.run("all.yaml", *quick, out=out).code == 0
    left_by_a_kill(headrace, headrace.write("names.yaml", """\
schema: 1
target: {path: scratch}
workloads: [{use: metadata, width: 3, files_per_folder: 3000, cache: asis, repeat: 50}]
"""), "metadata/d*/f*")
    scratch = headrace.path("scratch")
    planted.put(headrace.path("."))
    planted.put(scratch, ["checkpoint", "rank-00001", "metadata.new"])
    planted.put(scratch / "data")
    planted.put(scratch / SET)
    planted.put(scratch / SET / "d000", [f"f{n:06}.bin" for n in range(20)])
    planted.put(scratch / SET / "d001", ["f000020.bin", "f000099.bin"], every=False)
    planted.put(scratch / "metadata", ["d007", "f00000001"])
    planted.put(scratch / "metadata/d001", [f"f{n:08}" for n in range(20, 40)], every=False)
    planted.put(headrace.path("results"), ["report.html", "results.csv", "junit.xml", "comparison.json"])
    planted.put(headrace.path("others"), [".headrace.0123456789abcdef.new", "gbench.json"])
    assert not planted.changed()
    for words in every_verb(headrace):
        done = headrace(*words)
        assert done.code >= 0 and "terminate called" not in done.err, (words, done)
        assert not planted.changed(), (words, done)
    for words in (("run", "-c", "all.yaml", "--no-report", "--out", "last"), ("clean", "scratch")):
        for delay in (0.02, 0.1):
            process = started(headrace, *words)
            time.sleep(delay)
            kill_all(process)
            assert not planted.changed(), words


def test_foreign_file_survives_the_failed_run_and_clean(headrace, planted):
    victim = headrace.path("scratch") / SET / "d000" / "f000003.bin"
    assert headrace.run("all.yaml", "--only", "small*", out="first").code == 0
    victim.unlink()
    victim.write_bytes(MINE)
    planted.watch(victim)
    failed = headrace.run("all.yaml", "--only", "small*", out="second")
    assert failed.code == 1 and f"{victim.name}: refusing to overwrite: headrace did not make this file" in failed.out + failed.err
    cleaned = headrace("clean", "scratch")
    assert f"{victim.name}: not as headrace made it" in cleaned.out, cleaned
    assert not planted.changed()
    victim.unlink()
    assert headrace.run("all.yaml", "--only", "small*", out="third").code == 0
    headrace("clean", "scratch")
    assert not headrace.path("scratch").exists()


@pytest.mark.parametrize("how", ["in place", "another file"])
def test_a_file_of_the_same_size_in_a_finished_set_stays(headrace, planted, how):
    assert headrace.run("all.yaml", "--only", "small*", out="first").code == 0
    victim = headrace.path("scratch") / SET / "d001" / "f000033.bin"
    if how == "another file":
        victim.unlink()
    victim.write_bytes(b"x" * 8192)
    planted.watch(victim)
    cleaned = headrace("clean", "scratch")
    assert f"{victim.name}: not as headrace made it" in cleaned.out, cleaned
    assert not planted.changed()


def test_a_checkpoint_that_the_user_put_there_stays(headrace, planted):
    left_by_a_kill(headrace, headrace.write("save.yaml", """\
schema: 1
target: {path: scratch}
workloads: [{use: checkpoint_write, ranks: 2, shard_size: 8MiB, repeat: 50}]
"""), "checkpoint/*rank*")
    folder = headrace.path("scratch/checkpoint")
    for name in ("rank-00042.bin", ".rank-00043.bin.new", "rank-00044.bin"):
        (folder / name).write_bytes(MINE if name != "rank-00044.bin" else b"")
        planted.watch(folder / name)
    run = headrace.run("save.yaml", out="again")
    assert run.code == 1 and "not made by headrace" in run.out + run.err, run
    cleaned = headrace("clean", "scratch")
    assert "rank-00042.bin: not made by headrace" in cleaned.out, cleaned
    assert not planted.changed()
    assert sorted(path.name for path in folder.iterdir()) == [".headrace", ".rank-00043.bin.new", "rank-00042.bin", "rank-00044.bin"]


@pytest.mark.parametrize("plant", ["link", "hard-link-to-an-empty-file"])
def test_nothing_is_written_through_planted_names(headrace, planted, plant):
    """A name that headrace is about to use leads to a file outside."""
    folder = headrace.path("scratch/checkpoint")
    assert headrace.run("all.yaml", "--only", "small*", out="first").code == 0
    mark = json.loads(headrace.path("scratch/.headrace").read_text())
    folder.mkdir()
    (folder / ".headrace").write_text(json.dumps(mark | {"kind": "headrace.checkpoint"}))
    place = folder / ".rank-00000.bin.new"
    planted.kinds[plant](place)
    planted.watch(place, headrace.path("outside/target"), headrace.path("outside/empty"))
    run = headrace.run("all.yaml", "--only", "checkpoint*", out="second")
    assert run.code == 1 and place.name in run.out + run.err, run
    assert not planted.changed()

    victim = headrace.path("scratch") / SET / "d000" / "f000000.bin"
    victim.unlink()
    planted.kinds[plant](victim)
    planted.put(headrace.path("."), every=False)
    planted.watch(victim, headrace.path("outside/target"), headrace.path("outside/empty"))
    run = headrace.run("all.yaml", "--only", "small*", out="third")
    assert run.code == 1 and victim.name in run.out + run.err, run
    assert not planted.changed()


def test_folders_that_the_user_made_stay(headrace, planted):
    for name in ("scratch", "results"):
        headrace.path(name).mkdir()
    assert headrace.run("all.yaml", "--only", "small*").code == 0
    mine = headrace.path("scratch") / SET / "d005"
    mine.mkdir()
    assert "d005: not made by headrace" in headrace("clean", "scratch").out
    assert mine.is_dir()
    mine.rmdir()
    headrace("clean", "scratch")
    headrace("clean", "results", "--yes")
    for name in ("scratch", "results"):
        assert headrace.path(name).is_dir() and not any(headrace.path(name).iterdir())


def test_blocks_behind_a_link_stay(headrace, planted):
    done = headrace("run", "-c", "tiny.yaml", "--against", "elsewhere", "--blocks", "1", "--no-report", "--out", "blocks")
    assert done.code == 11, done
    block = headrace.path("blocks/block-01")
    block.rename(headrace.path("moved"))
    block.symlink_to(headrace.path("moved"))
    planted.watch(block, *sorted(headrace.path("moved").rglob("*")))
    cleaned = headrace("clean", "blocks", "--yes")
    assert "block-01: not made by headrace" in cleaned.out, cleaned
    assert not planted.changed()


@pytest.mark.parametrize("kind, code", [("link", 2), ("pipe", 0), ("socket", 1), ("device", 0), ("block-device", 1),
                                        ("folder", 1), ("link-to-nothing", 1), ("hard-link", 2)])
def test_export_writes_into_an_existing_folder(headrace, planted, kind, code):
    if kind not in planted.kinds:
        pytest.skip("devices cannot be made here (root)")
    assert headrace.run("tiny.yaml").code == 0
    place = headrace.path("place")
    planted.kinds[kind](place)
    before = state(place)
    reader = subprocess.Popen(["cat", place], stdout=subprocess.PIPE) if kind == "pipe" else None
    done = headrace("report", "results", "--format", "csv", "-o", "place")
    assert done.code == code, done
    assert stat.S_IFMT(os.lstat(place).st_mode) == before[0]
    if reader:
        assert reader.communicate(timeout=180)[0].startswith(b"run,")
    if code != 0:
        assert state(place) == before and "place" in done.err, done
    assert not list(headrace.folder.glob(".place.*"))


def test_two_starts_at_once(headrace):
    """Into one scratch folder that is not there yet, both run; into one folder for results, one does and the other says why
    it does not."""
    for attempt in range(3):
        both = [headrace.start("run", "-c", "tiny.yaml", "--no-report", "--out", f"r{attempt}-{i}", "--set",
                               f"target.path=s{attempt}") for i in range(2)]
        for process in both:
            out, err = process.communicate(timeout=180)
            assert process.returncode == 0, (out, err)
        both = [headrace.start("run", "-c", "tiny.yaml", "--no-report", "--out", f"same{attempt}") for i in range(2)]
        reported = [process.communicate(timeout=180) for process in both]
        codes = sorted(process.returncode for process in both)
        assert codes[0] == 0 and codes[1] in (1, 2), reported
        loser = reported[0 if both[0].returncode else 1]
        assert "already holds a run" in loser[1] or "in use by another headrace (pid " in loser[1], reported


def test_owner_of_a_folder_is_reported(headrace):
    process = headrace.start_measuring("tiny.yaml")
    second = headrace("run", "-c", "tiny.yaml", "--no-report", "--out", "results")
    assert second.code == 1 and "results is in use by another headrace (pid " in second.err and " since 20" in second.err, second
    cleaned = headrace("clean", "results", "--yes")
    assert "in use by another headrace (pid " in cleaned.out and headrace.path("results/.headrace").exists(), cleaned
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=180)


def test_a_scratch_folder_that_is_swapped_is_named(headrace, planted):
    headrace.write("two.yaml", """\
schema: 1
target: {path: scratch}
workloads:
  - {use: small_file_read, label: one, files: 10, file_size: 8KiB, cache: asis, repeat: 40, rest: 100ms}
  - {use: small_file_read, label: two, files: 300, file_size: 8KiB, cache: asis, repeat: 1}
  - {use: checkpoint_write, ranks: 2, shard_size: 64KiB, repeat: 1}
  - {use: metadata, width: 2, files_per_folder: 10, cache: asis, repeat: 1}
""")
    process = headrace.start("--progress", "json", "run", "-c", "two.yaml", "--no-report", "--out", "results")
    for line in process.stderr:
        if json.loads(line)["event"] == "repetition_done":
            break
    headrace.path("scratch").rename(headrace.path("moved"))
    headrace.path("scratch").symlink_to(headrace.path("outside"))
    out, err = process.communicate(timeout=180)
    assert process.returncode == 1 and "scratch: is a symbolic link now" in out + err, (out, err)
    assert not planted.changed()
    assert sorted(path.name for path in headrace.path("outside").iterdir()) == ["empty", "folder", "target"]


def test_data_files_that_are_swapped_for_links_are_named(headrace, planted):
    process = headrace.start_measuring("tiny.yaml")
    for victim in headrace.path("scratch/data").glob("*/d000/f00000[0-9].bin"):
        victim.unlink()
        victim.symlink_to(headrace.path("outside/target"))
    out, err = process.communicate(timeout=180)
    assert process.returncode == 1, (out, err)
    broken = [r["error"] for r in headrace.results()["points"][0]["repetitions"] if r["status"] == "error"]
    assert broken and "d000/f00000" in broken[0] and "ELOOP" in broken[0], broken[:1]
    assert not planted.changed()


@pytest.mark.parametrize("key, value", [("files", 10**18), ("files", "many"), ("state", 7), ("schema", {}), (None, "{")])
def test_a_damaged_manifest_hinders_nothing(headrace, key, value):
    assert headrace.run("tiny.yaml", out="first").code == 0
    [manifest] = headrace.path("scratch/data").glob("*/manifest.json")
    text = manifest.read_text()
    kept = {path: path.stat().st_ino for path in manifest.parent.glob("d000/*")}
    manifest.write_text(json.dumps(json.loads(text) | {key: value}) if key else text.replace("{", "{{", 1))
    again = headrace.run("tiny.yaml", out="second")
    if key:
        assert again.code == 0, again
        assert kept == {path: path.stat().st_ino for path in kept}, "what is right is not made again"
    else:  # nothing says any more that it is headrace's
        assert again.code == 1 and "manifest.json: refusing to overwrite: headrace did not make this file" in again.out + again.err
    manifest.write_text(json.dumps(json.loads(text) | {key: value}) if key else text.replace("{", "{{", 1))
    begin = time.monotonic()
    cleaned = headrace("clean", "scratch")
    assert cleaned.code == 0 and time.monotonic() - begin < 20, cleaned
    assert not list(headrace.path("scratch").rglob("*.bin"))
    assert headrace.path("scratch").exists() == (key is None)


def test_files_of_a_killed_writer_go(headrace):
    """Results are written aside; what a killed writer left of that is headrace's own."""
    assert headrace.run("tiny.yaml").code == 0
    aside = headrace.path("results/.headrace.0123456789abcdef.new")
    aside.write_text("half of a file")
    assert "new: not made by headrace" in headrace("clean", "results", "--yes").out and aside.exists()
    aside.chmod(0o1644)  # as headrace makes its own
    headrace("clean", "results", "--yes")
    assert not headrace.path("results").exists()


def test_no_verdict_exists_without_its_run(headrace):
    """The disk fills up while results are written: what an earlier run left there does not speak for this one."""
    disk = headrace.path("disk")
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small file system (root)")
    try:
        assert headrace.run("tiny.yaml", out="disk/results").code == 0
        results = headrace.path("disk/results")
        assert (results / "verdict.json").exists()
        for path in results.iterdir():
            if path.name not in (".headrace", "verdict.json"):
                path.unlink()
        with (disk / "fill").open("wb", buffering=0) as fill:
            try:
                while True:
                    fill.write(b"x" * 512)
            except OSError:
                pass
        failed = headrace.run("tiny.yaml", out="disk/results")
        assert failed.code == 1 and "No space left on device" in failed.out + failed.err, failed
        assert not (results / "verdict.json").exists()
    finally:
        subprocess.run(["umount", disk], check=True)
