"""Reads that fail, come back short or late: reported with file, offset, errno and number, and never counted as throughput."""

import pytest
from conftest import BLOCK

SIZE = 64 * 1024
FILES = 12
DATA = {"files": FILES, "file_size": f"{SIZE}B", "workers": 2, "cache": "cold", "repeat": 1}
WHOLE = [("small_file_read", "posix"), ("small_file_read", "io_uring")]
EPOCHS = [("epochs", "posix"), ("epochs", "io_uring")]  # by the readers of small_file_read
BLOCKS = [("shard_stream", "posix"), ("shard_stream", "io_uring"), ("random_read", "posix"),
          ("random_read", "io_uring"), ("random_read", "mmap")]


def reading(use, engine, **more):
    return {"use": use, "engine": engine, **DATA, **more}


def reported(result):
    assert result.code == 1, result
    assert result.point["status"] == "error" and not result.point["metrics"], result
    return result.point["reason"]


@pytest.mark.parametrize("use, engine", WHOLE + EPOCHS + BLOCKS)
def test_an_unreadable_block_is_reported_with_its_place(headrace, faults, use, engine):
    bad = 5 * BLOCK
    faults.set(f"error f000007.bin op=read errno=5 at={bad}")
    result = headrace(reading(use, engine))
    reason = reported(result)
    assert "/d000/f000007.bin at offset " in reason and "Input/output error (EIO)" in reason, reason
    assert "1 operation failed" in reason, reason
    # Blocks are asked to the page, whole files to the block that was asked for.
    assert f"offset {bad}:" in reason or (use in ("small_file_read", "epochs") and "offset 0:" in reason), reason
    for repetition in result.point["repetitions"]:
        phase = repetition["phases"][0]
        assert repetition["status"] == "error" and not repetition["counted"] and phase["errors"] == 1
        lost = BLOCK if use == "random_read" else SIZE
        assert phase["bytes"] == FILES * SIZE - lost, "what failed is no throughput"


@pytest.mark.parametrize("use, engine", WHOLE + BLOCKS)
def test_every_failure_is_counted(headrace, faults, use, engine):
    faults.set(f"error f000003.bin op=read errno=5 at=0", f"error f000007.bin op=read errno=121 at={2 * BLOCK}")
    result = headrace(reading(use, engine))
    assert "2 operations failed" in reported(result), result
    phase = result.point["repetitions"][0]["phases"][0]
    lost = 2 * (BLOCK if use == "random_read" else SIZE)
    assert phase["errors"] == 2 and phase["bytes"] == FILES * SIZE - lost


@pytest.mark.parametrize("layout", ["sharded", "same"])
@pytest.mark.parametrize("engine", ["posix", "io_uring", "mmap"])
def test_a_restore_that_fails_is_no_restore(headrace, faults, engine, layout):
    bad = 5 * BLOCK
    file = "f000000.bin" if layout == "same" else "f000001.bin"
    faults.set(f"error {file} op=read errno=5 at={bad}")
    result = headrace({"use": "checkpoint_read", "engine": engine, "layout": layout, "ranks": 2, "block_size": "16KiB",
                       "shard_size": f"{SIZE}B", "cache": "cold", "repeat": 1})
    reason = reported(result)
    assert f"{file} at offset {bad}: " in reason and "Input/output error (EIO)" in reason, reason
    failures = 2 if layout == "same" else 1
    phase = result.point["repetitions"][0]["phases"][0]
    assert phase["errors"] == failures and phase["bytes"] == 2 * SIZE - failures * 4 * BLOCK


@pytest.mark.parametrize("use, engine", WHOLE)
def test_files_that_cannot_be_opened(headrace, faults, use, engine):
    faults.set("error f000004.bin op=open errno=23")  # ENFILE
    reason = reported(headrace(reading(use, engine, cache="cold")))
    assert "open" in reason and "f000004.bin" in reason and "Too many open files in system (ENFILE)" in reason, reason


@pytest.mark.parametrize("use, engine", WHOLE + BLOCKS)
def test_a_file_that_ends_early(headrace, faults, use, engine):
    faults.set(f"end f000007.bin at={3 * BLOCK}")
    reason = reported(headrace(reading(use, engine)))
    assert "f000007.bin at offset" in reason and ("shorter" in reason or "Input/output" in reason), reason


@pytest.mark.parametrize("use, engine", [one for one in WHOLE + BLOCKS if one[1] != "mmap"])
def test_short_reads_are_continued(headrace, faults, use, engine):
    faults.set("uncached *", "short *")
    result = headrace(reading(use, engine, cache="cold", verify=True))
    assert result.code == 0 and result.point["verified"], result
    phases = result.point["repetitions"][0]["phases"]
    assert phases[0]["bytes"] == FILES * SIZE
    assert faults.used()[1] > FILES, "there were short reads"


@pytest.mark.parametrize("use, engine", WHOLE + BLOCKS)
def test_delay_is_latency(headrace, faults, use, engine):
    faults.set("delay f000005.bin op=read ms=150")
    result = headrace(reading(use, engine))
    assert result.code == 0, result
    latency = result.point["repetitions"][0]["phases"][0]["latency"]
    assert latency["max_ns"] >= 150e6, latency["max_ns"]


def test_a_bad_repetition_is_not_counted_and_the_others_are(headrace, faults):
    """What fails once is taken again; the failure is reported in the notes."""
    headrace(reading("shard_stream", "posix"))
    process = headrace.start([reading("shard_stream", "posix", repeat=400, rest="10ms")])
    faults.set("error f000002.bin op=read errno=5 at=0")
    result = headrace.end(process)
    assert result.code == 1 and "EIO" in result.point["reason"], result
    counted = [r for r in result.point["repetitions"] if r["counted"]]
    assert all(r["phases"][0]["bytes"] == FILES * SIZE for r in counted)


def test_other_points_go_on(headrace, faults):
    faults.set("error f000007.bin op=read errno=5 at=0")
    result = headrace(reading("shard_stream", "posix"),
                      reading("random_read", "posix", files=2, data_seed=2, file_size="128KiB"))
    assert result.code == 1, result
    assert [p["status"] for p in result.points] == ["error", "ok"]


def test_an_unreadable_file_decides_no_need(headrace, faults):
    faults.set("error f000007.bin op=read errno=5 at=0")
    need = {"id": "rate", "metric": "shard_stream.read_bandwidth", "at_least": "1B/s"}
    result = headrace(reading("shard_stream", "posix", repeat=5), needs=[need])
    assert result.code == 1 and result.judged("rate")["outcome"] == "ERROR", result


def test_a_file_that_is_read_whole_is_read_to_its_end(headrace, faults):
    """As open().read() of Python does: where nothing is cached, storage is asked once more, and says that there is no more."""
    faults.set("uncached *", "delay * op=read ms=1")
    run = headrace({"use": "small_file_read", "files": 40, "file_size": "16KiB", "workers": 2, "cache": "asis", "verify": False,
                    "repeat": 2})
    assert run.code in (0, 12), run
    data_is_checked = 40  # after the last repetition
    asked, taken = faults.used()[1], len(run.point["repetitions"])  # more than 2 beside other programs
    assert 2 * 40 * taken <= asked <= 2 * 40 * taken + 2 * data_is_checked, (asked, taken)


def test_dropping_caches_opens_no_file(headrace, faults):
    """Root drops them all at once; only what is looked at is opened."""
    run = headrace({"use": "small_file_read", "files": 200, "file_size": "4KiB", "workers": 2, "cache": "cold", "repeat": 1})
    assert run.code in (0, 11, 12), run
    faults.set("delay * op=open ms=1")
    run = headrace({"use": "small_file_read", "files": 200, "file_size": "4KiB", "workers": 2, "cache": "cold", "repeat": 3})
    assert run.code in (0, 11, 12), run
    # Each repetition reads them, and looks before and after what is in memory; once it is looked what they are made of, and once
    # what they hold.
    taken = len(run.point["repetitions"])  # more than 3 beside other programs
    assert faults.used()[0] <= taken * (200 + 2 * 200) + 2 * 200 + 20, faults.used()
