"""A file system that keeps data in its own memory, where nobody sees it: never proven, however empty the page cache is."""

import pytest

FILES = {"files": 12, "file_size": "64KiB", "workers": 2, "repeat": 1}
READS = [
    {"use": "small_file_read", **FILES, "cache": "cold", "engine": ["posix", "io_uring"]},
    {"use": "shard_stream", **FILES, "label": "direct", "direct": True},
    {"use": "random_read", **FILES, "block_size": "16KiB", "cache": "cold"},
    {"use": "shard_stream", **FILES, "cache": "cold"},
    {"use": "epochs", **FILES, "epochs": 2},
    {"use": "mixed", **FILES, "rate": "100/s", "around": "100ms", "checkpoint_shard_size": "64KiB", "cache": "cold"},
    {"use": "checkpoint_read", "ranks": 2, "shard_size": "256KiB", "cache": "cold", "repeat": 1},
]


@pytest.mark.parametrize("rules", [["kept *.bin"], ["kept *.bin", "uncached *.bin"]], ids=["cached", "uncached"])
def test_cache_of_the_client_proves_nothing(headrace, faults, rules):
    faults.set(*rules)
    needs = [{"id": "small", "metric": "small_file_read.read_bandwidth", "at_least": "1kB/s"},
             {"id": "shards", "metric": "shard_stream.read_bandwidth", "at_least": "1kB/s"}]
    result = headrace(*READS, needs=needs)
    assert result.code == 11, result
    assert [result.judged(need)["reason"] for need in ("small", "shards")] == ["cache-unproven"] * 2, result
    assert all(faults.used()), "the file system was asked"
    for point in result.points:
        if point["status"] == "skipped":  # no io_uring here
            continue
        cache = point["repetitions"][0]["cache"]
        assert cache["required"] and not cache["proven"] and "the client's cache is not seen" in cache["why"], cache


def test_names_of_a_client_are_not_proven(headrace, faults):
    result = headrace({"use": "metadata", "workers": 2, "width": 2, "files_per_folder": 20, "cache": "cold", "repeat": 1},
                      needs=[{"id": "stat", "metric": "metadata.stat_rate", "at_least": "1/s"}])
    assert result.code == 11 and result.judged("stat")["reason"] == "cache-unproven", result
