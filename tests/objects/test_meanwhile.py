"""What goes wrong after a good beginning, while it is measured: named as well, and nothing is measured of it."""

import json
import signal

import pytest
from conftest import made
from faulty_store import FaultyStore, error

OBJECTS = {"use": "small_file_read", "path": "s3://bucket/set", "repeat": 1, "workers": 2, "retries": 0}
RANGES = {"use": "random_read", "path": "s3://bucket/set", "block_size": "10kB", "repeat": 1, "workers": 2, "retries": 0}
SHARDS = {"use": "shard_stream", "path": "s3://bucket/set", "block_size": "16KiB", "repeat": 1, "workers": 2, "retries": 0}
PIPELINE = {"use": "input_pipeline", "path": "s3://bucket/set", "workers": 2, "batch_size": 2, "step_time": "0s", "repeat": 1,
            "retries": 0}
INDEXED = {**PIPELINE, "layout": "indexed", "sample_size": "10kB", "block_size": "10kB"}
WAYS = [OBJECTS, RANGES, SHARDS, PIPELINE, INDEXED]
NAMES = ["objects", "ranges", "shards", "pipeline", "indexed"]


@pytest.mark.parametrize("faults, words", [
    ({"changes": True}, "was replaced after the data set was opened"),
    ({"refuse_each": 1, "refusal": (403, error("RequestTimeTooSkewed"))}, "the server answered 403"),
    ({"refuse_each": 1, "refusal": (400, error("ExpiredToken"))}, "the server answered 400"),
    ({"refuse_each": 1, "refusal": (301, error("PermanentRedirect"))}, "the server answered 301"),
    ({"refuse_each": 1}, "the store throttles"),
    ({"short_each": 1}, "fewer bytes came"),
], ids=["changes", "skew", "expired", "region", "throttles", "short"])
@pytest.mark.parametrize("entry", WAYS, ids=NAMES)
def test_it_is_named(headrace, entry, faults, words):
    with FaultyStore(made(), after=6, **faults) as store:
        run = headrace(store.endpoint, entry)
        assert run.code == 1 and run.repetition["status"] == "error" and words in run.reported, run
        assert "s3://bucket/set/" in run.repetition["error"], run.repetition["error"]


@pytest.mark.parametrize("entry", [RANGES, SHARDS, INDEXED], ids=["ranges", "shards", "indexed"])
def test_ranges_that_are_ignored_later(headrace, entry):
    with FaultyStore(made(), after=6, ignores_ranges=True) as store:
        run = headrace(store.endpoint, entry)
        assert run.code == 1 and "200 instead of 206" in run.repetition["error"], run


def test_code_of_the_server_is_in_the_notes(headrace):
    with FaultyStore(made(), after=6, refuse_each=1, refusal=(403, error("RequestTimeTooSkewed", "clock"))) as store:
        notes = " ".join(headrace(store.endpoint, OBJECTS).point["notes"])
        assert "RequestTimeTooSkewed" in notes and "clock" in notes, notes


def test_a_listing_that_goes_on_and_on_ends_with_ctrl_c(headrace):
    """Each page names new keys and another next page, as a bucket that is written without end has them."""
    with FaultyStore({}, growing=True) as store:
        (headrace.folder / "c.yaml").write_text(json.dumps({"schema": 1, "workloads": [OBJECTS]}))
        process = headrace.start("run", "-c", "c.yaml", "--out", "out", "--no-report", endpoint=store.endpoint)
        while len(store.seen) < 20:
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        reported, _ = process.communicate(timeout=240)
        assert process.returncode == 130, reported
