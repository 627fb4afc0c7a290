"""Data that is not as it should be, disks that are full, and that nothing of the user's is ever touched."""

import contextlib
import json
import os
import re
import shutil
import subprocess

import pytest


def reads(headrace, folder, *more):
    """A configuration that reads an existing data set."""
    return headrace.write("own.yaml", f"""\
schema: 1
target: {{path: scratch}}
workloads:
  - {{use: small_file_read, path: {folder}, workers: 2, cache: asis, repeat: 5{''.join(', ' + m for m in more)}}}
""")


@pytest.fixture
def own_data(headrace):
    folder = headrace.path("mine")
    for n in range(20):
        file = folder / f"d{n % 3}" / f"f{n}.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(os.urandom(5000 + n))
    return folder


def state_of(folder):
    return {str(p): (p.stat().st_mtime_ns, p.stat().st_mode, p.read_bytes() if p.is_file() else None)
            for p in sorted(folder.rglob("*"))}


def failed(result, *said):
    assert result.code == 1, result
    for words in said:
        assert words in result.out + result.err, result


def test_reads_the_users_files_and_leaves_them_alone(headrace, own_data):
    before = state_of(own_data)
    result = headrace.run(reads(headrace, own_data))
    assert result.code == 0, result
    assert state_of(own_data) == before
    phase = headrace.results()["points"][0]["repetitions"][0]["phases"][0]
    assert phase["operations"] == 20 and phase["bytes"] == sum(5000 + n for n in range(20))


def test_asks_for_the_users_names_and_leaves_them_alone(headrace, own_data):
    before = state_of(own_data)
    config = headrace.write("names.yaml", f"""\
schema: 1
target: {{path: scratch}}
workloads: [{{use: metadata, path: {own_data}, workers: 2, cache: asis, repeat: 3}}]
""")
    result = headrace.run(config)
    assert result.code == 0, result
    assert state_of(own_data) == before
    phases = headrace.results()["points"][0]["repetitions"][0]["phases"]
    assert [(phase["name"], phase["operations"]) for phase in phases] == [("list", 4), ("stat", 20), ("open", 20)]
    assert "read-only: nothing is created" in result.out


def test_empty(headrace):
    headrace.path("empty").mkdir()
    failed(headrace.run(reads(headrace, "empty")), "empty", "no file that can be read")


def test_not_there(headrace):
    result = headrace.run(reads(headrace, "nowhere"))
    assert result.code == 2 and "path: nothing is at " in result.err and "nowhere" in result.err, result


@pytest.fixture
def bound_by_modes(headrace):
    """headrace without root's right to read what its mode forbids."""
    if os.geteuid() != 0:
        return
    headrace.under = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    tried = subprocess.run([*headrace.under, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        pytest.skip(f"root can read everything, and that cannot be taken away here: {tried.stderr.strip()}")


def test_unreadable_data_set(headrace, own_data, bound_by_modes):
    own_data.chmod(0)
    failed(headrace.run(reads(headrace, own_data)), str(own_data), "Permission denied")
    own_data.chmod(0o755)


def test_unreadable_files_are_left_out_and_counted(headrace, own_data, bound_by_modes):
    (own_data / "d0" / "f0.bin").chmod(0)
    result = headrace.run(reads(headrace, own_data))
    assert result.code == 0, result
    assert sum(headrace.results()["points"][0]["left_out"].values()) == 1


@pytest.mark.parametrize("at_least, code, outcome", [("1e-6/s", 11, "INCONCLUSIVE"), ("1e12/s", 10, "FAIL")])
def test_a_data_set_with_an_unreadable_file_never_passes(headrace, own_data, bound_by_modes, at_least, code, outcome):
    (own_data / "d0" / "f0.bin").chmod(0)
    config = headrace.write("needs.yaml", headrace.path(reads(headrace, own_data)).read_text() +
                            f"needs: [{{id: rate, metric: small_file_read.sample_rate, at_least: {at_least}}}]\n")
    result = headrace.run(config, verb="qualify")
    [judged] = headrace.results()["judgements"]
    if outcome == "FAIL" and judged["reason"] == "disturbed":  # other programs leave a miss open
        code, outcome = 11, "INCONCLUSIVE"
        assert judged["high"] < judged["need"], judged
    assert result.code == code, result
    assert judged["outcome"] == outcome, judged
    if at_least == "1e-6/s":
        assert "1 file of the data set cannot be read" in judged["explanation"], judged


def test_a_data_set_with_an_unreadable_folder_never_passes(headrace, own_data, bound_by_modes):
    (own_data / "d0").chmod(0)
    config = headrace.write("needs.yaml", headrace.path(reads(headrace, own_data)).read_text() +
                            "needs: [{id: rate, metric: small_file_read.sample_rate, at_least: 1/s}]\n")
    failed(headrace.run(config, verb="qualify"), "d0", "Permission denied")
    (own_data / "d0").chmod(0o755)


def test_foreign_folder_is_refused(headrace, own_data):
    before = state_of(own_data)
    result = headrace.run("tiny.yaml", "--set", f"target.path={own_data}")
    assert result.code == 2 and "headrace did not make" in result.err, result
    cleaned = headrace("clean", str(own_data), "--yes")
    assert cleaned.code == 2, cleaned
    assert state_of(own_data) == before and not headrace.path("results").exists()


def test_clean_keeps_foreign_files(headrace):
    assert headrace.run("tiny.yaml").code == 0
    headrace.path("scratch/notes.txt").write_text("mine")
    result = headrace("clean", "scratch")
    assert result.code == 0 and "notes.txt" in result.out, result
    assert headrace.path("scratch/notes.txt").read_text() == "mine"
    assert not list(headrace.folder.glob("scratch/data/*/*"))


def test_clean_follows_no_link(headrace, own_data):
    assert headrace.run("tiny.yaml").code == 0
    before = state_of(own_data)
    os.symlink(own_data, headrace.path("scratch/data/link"))
    headrace("clean", "scratch")
    assert state_of(own_data) == before


def test_results_keep_until_asked(headrace):
    assert headrace.run("tiny.yaml").code == 0
    assert headrace("clean", "results").code == 2
    assert headrace.path("results/run.json").exists()
    assert headrace("clean", "results", "--yes").code == 0
    assert not headrace.path("results").exists()


def test_verify_finds_a_wrong_byte(headrace):
    assert headrace.run("tiny.yaml", "--set", "workloads.0.verify=true", out="good").code == 0
    assert headrace.results(out="good")["points"][0]["verified"]
    victim = max((p for p in headrace.path("scratch/data").rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    stamp = victim.stat()
    victim.write_bytes(data)
    os.utime(victim, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    result = headrace.run("tiny.yaml", "--set", "workloads.0.verify=true")
    assert result.code == 1, result
    wrong = headrace.results()["points"][0]["wrong_blocks"]
    assert len(wrong) == 1 and wrong[0]["file"] in str(victim), wrong


@pytest.mark.parametrize("harm, said", [("vanish", "No such file or directory"), ("shrink", "short")])
def test_file_changes_in_the_middle_of_a_run(headrace, own_data, harm, said):
    process = headrace.start_measuring(reads(headrace, own_data))
    victim = own_data / "d1" / "f1.bin"
    victim.unlink() if harm == "vanish" else os.truncate(victim, 100)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1, (out, err)
    run = headrace.results()
    broken = [r for r in run["points"][0]["repetitions"] if r["status"] == "error"]
    assert broken and "f1.bin" in broken[0]["error"] and said in broken[0]["error"], broken[:1]
    assert len(list(own_data.rglob("*.bin"))) == (19 if harm == "vanish" else 20)


def test_more_than_may_be_written(headrace):
    result = headrace.run("tiny.yaml", "--set", "target.max_write=10KiB")
    assert result.code in (1, 2) and "max_write" in result.out + result.err, result
    assert not list(headrace.path("scratch").rglob("*.bin"))


@pytest.fixture
def small_disk(headrace):
    """mount(OPTIONS) puts a small file system at `disk`; skipped where this user may not mount."""
    disk = headrace.path("disk")
    disk.mkdir()

    def mount(options):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", disk], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"cannot mount a small file system: {done.stderr.strip()}")

    if not shutil.which("mount"):
        pytest.skip("no mount command")
    yield mount
    subprocess.run(["umount", disk], capture_output=True)


def test_too_little_disk_is_reported_before_anything_is_written(headrace, small_disk):
    small_disk("size=1m")
    result = headrace.run("tiny.yaml", "--set", "target.path=disk/scratch", "--set", "workloads.0.files=4000")
    assert result.code in (1, 2), result
    assert "free" in result.out + result.err, result
    assert not list(headrace.path("disk").rglob("*.bin"))


def test_too_few_inodes_are_reported_before_anything_is_written(headrace, small_disk):
    small_disk("size=64m,nr_inodes=30")  # space enough, but not for that many files
    result = headrace.run("tiny.yaml", "--set", "target.path=disk/scratch")
    assert result.code == 2 and "the run would make 41 files and folders" in result.err and "29 inodes left" in result.err, result
    assert not list(headrace.path("disk").rglob("*.bin"))


def nearly_full(disk, mount):
    """A small file system at `disk` with 24 KiB left: the files of a run take more."""
    mount("size=1m")
    with (disk / "fill").open("wb", buffering=0) as fill:
        try:
            while True:
                fill.write(bytes(4096))
        except OSError:
            fill.truncate(fill.tell() - 6 * 4096)


def test_no_room_for_the_results(headrace, small_disk):
    small_disk("size=1m")
    headrace.path("disk/fill").write_bytes(b"x" * (1 << 20))
    failed(headrace.run("tiny.yaml", out="disk/results"), "No space left on device")


@pytest.mark.parametrize("verb, words, code", [
    ("run", [], 1), ("run", ["--json"], 1), ("qualify", ["--set", "needs.0.at_least=1"], 1),
    ("qualify", ["--set", "needs.0.at_least=1e6"], 10)])
def test_a_disk_that_becomes_full_loses_no_figure(headrace, small_disk, verb, words, code):
    """There is room for the mark of the run folder, and none for its files."""
    nearly_full(headrace.path("disk"), small_disk)
    # A fact is met or missed whatever else the machine does.
    headrace.write("needs.yaml", headrace.path("tiny.yaml").read_text() + "  - {use: host_facts}\n"
                   "needs: [{id: cores, metric: host_facts.cpu_cores, at_least: 1}]\n")
    result = headrace(verb, "-c", "needs.yaml", "--no-report", "--out", "disk/results", *words)
    word = "FAIL" if code == 10 else "ERROR"  # a PASS that nothing keeps is none
    assert result.code == code and "PASS:" not in result.out and "VERDICT PASS" not in result.out, result
    last = result.err.splitlines()[-1]
    assert re.fullmatch(r"headrace: the results could not be stored: \w+ \S*disk/results/\S+: No space left on device \(ENOSPC\)", last), result
    if "--json" in words:
        summary = json.loads(result.out)["summary"]
        assert summary["exit_code"] == code and summary["word"] == word, result
    else:
        assert result.out.splitlines()[-1].startswith(f"VERDICT {word} ") and result.out.endswith(f" exit={code}\n"), result
        assert "sample_rate" in result.out and not re.search("^files ", result.out, re.M), result
        assert re.match(rf"{word}: ([^.]*; )?the results were lost\.\n", result.out), result
    assert not headrace.path("disk/results/verdict.json").exists()


def test_a_lost_trace_shows_in_the_document_too(headrace, small_disk):
    nearly_full(headrace.path("disk"), small_disk)
    with headrace.path("disk/rest").open("wb", buffering=0) as rest, contextlib.suppress(OSError):
        while True:
            rest.write(bytes(4096))
    headrace.write("job.yaml", "schema: 1\njob: a\ncluster: {nodes: 1, gpus_per_node: 1}\nstep: {time: 20ms, micro_batch: 4}\n"
                               "dataset: {layout: files, samples: 64, sample_size: 10kB}\nloader: {workers_per_gpu: 1}\n")
    result = headrace("rehearse", "job.yaml", "--at", "s", "--out", "run", "--budget", "4s", "--json", "--no-report", "--trace", "disk/trace.json")
    assert result.code in (1, 10) and "disk/trace.json: No space left on device" in result.err, result
    assert json.loads(result.out)["summary"]["exit_code"] == result.code, result


def test_a_measurement_on_a_full_disk_prints_its_table(headrace, small_disk):
    nearly_full(headrace.path("disk"), small_disk)
    result = headrace("measure", "small_file_read", "--files", "40", "--file-size", "8KiB", "--cache", "asis", "--repeat", "5",
                      "--no-report", "--out", "disk/results")
    assert result.code == 1 and "sample_rate" in result.out, result
    assert "could not be stored" in result.err.splitlines()[-1] and "(ENOSPC)" in result.err, result


def test_far_too_little_disk_is_reported_at_once(headrace):
    """A hundred million files are not looked for one by one before their size is added up."""
    result = headrace.run("tiny.yaml", "--set", "target.max_write=900TiB", "--set", "workloads.0.files=100000000",
                          "--set", "workloads.0.file_size=1MiB")
    assert result.code == 2 and "the run would write 105 TB, and only " in result.err and "are free" in result.err, result


def test_a_sample_of_generated_data_is_always_checked(headrace):
    """Without `verify`: what was measured must have been the data that headrace made."""
    assert headrace.run("tiny.yaml").code == 0
    files = sorted(headrace.path("scratch/data").rglob("*.bin"))
    assert len(files) == 40
    for file in files:
        before = file.stat()
        with open(file, "r+b") as data:
            data.write(bytes(before.st_size))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    wrong = headrace.run("tiny.yaml", out="again")
    failed(wrong, "a sample that is always read found wrong data: ", "f0000", "at offset ", "all zero")
    point = headrace.results(out="again")["points"][0]
    assert point["status"] == "error" and not point["verified"] and len(point["wrong_blocks"]) > 10, point["wrong_blocks"]
