"""The comparison with peers: what it derives from what tools print. The tools themselves need not be there."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import BINARY

PEERS = Path(__file__).resolve().parents[2] / "benches" / "peers"
sys.path.insert(0, str(PEERS))

import contests  # noqa: E402  (found through the path above)
import elbencho  # noqa: E402
import fio  # noqa: E402
import headrace  # noqa: E402
import outside  # noqa: E402
import results  # noqa: E402
from work import MiB, Measured, Place, Work  # noqa: E402

SAVE = """\
7 100.000000 openat(AT_FDCWD</>, "/s/checkpoint/.headrace.new", O_WRONLY|O_CREAT, 0644) = 4</s/checkpoint/.headrace.new> <0.000010>
7 101.000000 close(4</s/checkpoint/.headrace.new>) = 0 <0.000010>
8 110.000000 openat(3</s/checkpoint>, ".rank-00000.bin.new", O_WRONLY|O_CREAT, 0644) = 5</s/checkpoint/.rank-00000.bin.new> <0.000100>
8 111.000000 fsync(5</s/checkpoint/.rank-00000.bin.new> <unfinished ...>
7 111.200000 close(9</etc/passwd>) = 0 <0.000010>
8 111.900000 <... fsync resumed>) = 0 <0.900000>
8 112.000000 renameat(3</s/checkpoint>, ".rank-00000.bin.new", 3</s/checkpoint>, "rank-00000.bin") = 0 <0.000100>
8 112.100000 fsync(3</s/checkpoint>) = 0 <0.400000>
7 115.000000 close(3</s/checkpoint>) = 0 <0.000010>
7 116.000000 close(5</s/checkpoint/.headrace>) = 0 <0.000010>
"""


def test_a_save_lasts_until_its_name_is_durable():
    assert outside.span(SAVE, Path("/s/checkpoint")) == pytest.approx(2.5)
    with pytest.raises(RuntimeError, match="nobody created"):
        outside.span(SAVE, Path("/elsewhere"))


def test_space_set_aside_beforehand_counts():
    before = ("7 109.000000 fallocate(5</s/checkpoint/.rank-00000.bin.new>, 0, 0, 4096) = 0 <0.250000>\n"
              "7 109.500000 fallocate(5</s/checkpoint/other>, 0, 0, 4096) = 0 <0.250000>\n")
    assert outside.span(before + SAVE, Path("/s/checkpoint")) == pytest.approx(2.75)


def test_an_interrupted_call_counts_until_it_returned():
    (sync,) = [call for call in outside.calls(SAVE) if call[0] == "fsync" and "rank" in call[1]]
    assert sync[2:] == (111.0, pytest.approx(111.9))


@pytest.fixture
def contest():
    return next(contest for contest in contests.contests() if contest.name == "stream-direct")


def turn(**rates):
    return {name.replace("_", " "): Measured(rate * 1e6, cpu=2e-6) for name, rate in rates.items()}


def test_of_a_group_only_the_fastest_counts(contest):
    kept = results.Results(None)
    for factor in (1, 2, 3):
        kept.add(contest, turn(headrace=300 * factor, psync=90 * factor, libaio=200 * factor))
    ((line, reached),) = kept.rows(contest)
    assert reached and "fio: libaio (best of 2)" in line and "**1.500** [1.500, 1.500] n=3" in line
    for _ in range(4):
        kept.add(contest, turn(headrace=210, libaio=200))
    ((line, reached),) = kept.rows(contest)
    assert not reached and line.endswith("| ≥ 1.3 | missed |")


def test_hopeless_contestant_stops(contest):
    kept = results.Results(None)
    kept.add(contest, turn(headrace=1, psync=50, libaio=100))
    assert kept.hopeless(contest, 0.6) == set()  # one turn says nothing
    kept.add(contest, turn(headrace=1, psync=50, libaio=100))
    assert kept.hopeless(contest, 0.6) == {"psync"}


def test_turns_are_kept(contest, tmp_path):
    file = tmp_path / "results.json"
    results.Results(file).add(contest, turn(headrace=1, libaio=2))
    results.Results(file).add(contest, turn(headrace=1, libaio=2))
    assert len(results.Results(file).pairs(contest, contest.against[2])) == 2


def test_percentiles_over_all_repetitions():
    phases = [{"latency": {"buckets": [[10, 50]]}}, {"latency": {"buckets": [[10, 49], [64 * 3, 1]]}}]
    assert headrace.percentile(phases, 0.5) == pytest.approx(10e-9)
    assert headrace.percentile(phases, 0.999) == pytest.approx(256e-9)


def test_elbencho_is_read():
    first, second = ({"last_done": {"iops": iops, "entries/s": "500", "bytes/s": "1", "bytes": str(10 * MiB)}}
                     for iops in ("1000", "500"))
    work = Work("random", 1, 10 * MiB, MiB, "warm")
    reported = "IO lat % us      : [ 1%<=2.4 50%<=64 75%<=70 99%<=215 ]\n"
    found = elbencho.measured([first, second], reported * 2, work, cpu_s=0.2)
    # As much again at half the rate: 20 operations in 10 / 1000 s and 10 / 500 s.
    assert found == Measured(pytest.approx(20 / 0.03), pytest.approx(0.01), pytest.approx(64e-6), pytest.approx(215e-6))


def test_every_contest_makes_a_configuration_that_is_valid(tmp_path):
    place = Place(tmp_path / "scratch", tmp_path, Path(BINARY), tmp_path)
    for contest in contests.contests():
        work = replace(contest.work, file_size=MiB)
        config = tmp_path / "peers.yaml"
        config.write_text(json.dumps(headrace.configuration(work, contest.ours, place)))
        done = subprocess.run([BINARY, "run", "--check", "-c", config], capture_output=True, text=True)
        assert done.returncode == 0, contest.name + done.stdout + done.stderr


def test_fio_reads_the_same_files_warm(tmp_path):
    work = Work("stream", 2, MiB, MiB, "warm", threads=2)
    folder = tmp_path / "data" / f"2x{MiB}B-seed1" / "d000"
    folder.mkdir(parents=True)
    for name in ("a.bin", "b.bin"):
        (folder / name).touch()
    text = fio.job_file(work, contests.fio("psync", ioengine="psync").peer, Place(tmp_path, tmp_path, tmp_path, tmp_path))
    assert "invalidate=0" in text and f"[job0]\nfilename={folder}/a.bin\n[job1]\nfilename={folder}/b.bin\n" in text


def test_lists_available_peers():
    done = subprocess.run([sys.executable, PEERS, "--list"], capture_output=True, text=True)
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()] == [
        contest.name for contest in contests.contests()]
