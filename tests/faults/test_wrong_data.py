"""Storage that says all is well and gives wrong bytes: --verify names each block: file, offset, what it claims to be."""

import pytest
from conftest import BLOCK

SIZE = 64 * 1024
DATA = {"files": 12, "file_size": f"{SIZE}B", "workers": 2, "cache": "cold", "repeat": 1, "verify": True}
READERS = [("small_file_read", "posix"), ("small_file_read", "io_uring"), ("epochs", "posix"), ("epochs", "io_uring"),
           ("shard_stream", "posix"), ("shard_stream", "io_uring"), ("random_read", "posix"),
           ("random_read", "io_uring"), ("random_read", "mmap")]


def wrong(result):
    """{(file, offset): why}"""
    assert result.code == 1 and result.point["status"] == "error" and result.point["verified"], result
    first = result.point["wrong_blocks"][0]
    assert result.point["reason"].startswith(f"verify found wrong data: {first['file']} at offset {first['offset']}: ")
    return {(w["file"].rsplit("/", 1)[1], w["offset"]): w["why"] for w in result.point["wrong_blocks"]}


@pytest.mark.parametrize("use, engine", READERS)
def test_torn_swapped_and_stale_blocks_are_named(headrace, faults, use, engine):
    old = headrace({"use": "shard_stream", **DATA, "data_seed": 9})
    assert old.code == 0, old
    stale = next(p for p in faults.files() if "seed9" in p and p.endswith("f000004.bin"))
    faults.set(f"torn *seed1/*f000002.bin at={3 * BLOCK}", f"swapped *seed1/*f000007.bin at={BLOCK} with={9 * BLOCK}",
               f"stale *seed1/*f000004.bin at={5 * BLOCK} from={stale}")
    need = {"id": "rate", "metric": f"{use}.latency_max_ns", "at_most": "1h"}
    result = headrace({"use": use, "engine": engine, **DATA}, needs=[need])
    assert wrong(result) == {
        ("f000002.bin", 3 * BLOCK): "torn: 4 of 8 sectors are wrong",
        ("f000004.bin", 5 * BLOCK): "stale: holds a block of another data set",
        ("f000007.bin", BLOCK): "holds block 9 of d000/f000007.bin",
        ("f000007.bin", 9 * BLOCK): "holds block 1 of d000/f000007.bin",
    }
    assert result.judged("rate")["outcome"] == "ERROR", "wrong data is no result"


@pytest.mark.parametrize("layout", ["sharded", "same"])
@pytest.mark.parametrize("engine", ["posix", "io_uring", "mmap"])
def test_a_restore_of_other_bytes(headrace, faults, engine, layout):
    faults.set(f"torn f000000.bin at={3 * BLOCK}", f"swapped f000000.bin at={BLOCK} with={9 * BLOCK}")
    result = headrace({"use": "checkpoint_read", "engine": engine, "layout": layout, "ranks": 2,
                       "shard_size": f"{SIZE}B", "cache": "cold", "repeat": 1, "verify": True})
    assert wrong(result) == {
        ("f000000.bin", 3 * BLOCK): "torn: 4 of 8 sectors are wrong",
        ("f000000.bin", BLOCK): "holds block 9 of d000/f000000.bin",
        ("f000000.bin", 9 * BLOCK): "holds block 1 of d000/f000000.bin",
    }


def test_without_faults_all_is_right(headrace):
    result = headrace({"use": "shard_stream", **DATA})
    assert result.code == 0 and result.point["verified"] and result.point["wrong_blocks"] == []


SAVE = {"use": "checkpoint_write", "ranks": 2, "shard_size": "256KiB", "block_size": "64KiB", "repeat": 2,
        "verify": True}


@pytest.mark.parametrize("engine", ["posix", "io_uring"])
def test_checkpoint_with_wrong_data(headrace, faults, engine):
    faults.set(f"torn rank-00000.bin at={3 * BLOCK}", f"swapped rank-00001.bin at={BLOCK} with={9 * BLOCK}",
               f"lost .rank-00000.bin.new at={20 * BLOCK}")
    assert wrong(headrace({**SAVE, "engine": engine})) == {
        ("rank-00000.bin", 3 * BLOCK): "torn: only its start is the saved data",
        ("rank-00000.bin", 20 * BLOCK): "all zero",
        ("rank-00001.bin", BLOCK): "holds block 9 of rank 1",
        ("rank-00001.bin", 9 * BLOCK): "holds block 1 of rank 1",
    }


@pytest.mark.parametrize("engine", ["posix", "io_uring"])
def test_a_block_of_the_save_before(headrace, faults, engine):
    faults.set(f"stale rank-00001.bin at={7 * BLOCK}")
    assert wrong(headrace({**SAVE, "engine": engine})) == {
        ("rank-00001.bin", 7 * BLOCK): "stale: a block of another save"}


def test_wrong_data_during_a_save_is_named_on_both_sides(headrace, faults):
    faults.set(f"torn f000007.bin at={BLOCK}", f"torn rank-00001.bin at={3 * BLOCK}")
    result = headrace({"use": "mixed", "files": 30, "file_size": "8KiB", "workers": 2, "rate": "100/s", "around": "100ms",
                       "checkpoint_shard_size": "256KiB", "cache": "cold", "repeat": 1, "verify": True})
    assert wrong(result) == {("f000007.bin", BLOCK): "torn: 4 of 8 sectors are wrong",
                             ("rank-00001.bin", 3 * BLOCK): "torn: only its start is the saved data"}
