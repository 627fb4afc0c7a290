"""Listing and asking for heads: prefixes at once, and nothing of a listing kept."""

import json
import subprocess

import million
from conftest import made
from faulty_store import FaultyStore, error

NAMES = {"use": "metadata", "path": "s3://bucket/set", "workers": 3, "repeat": 1}


def test_folders_are_listed_at_once_and_heads_asked_for(headrace):
    objects = made(30, 10) | {"set/beside": b"x", "other/a": b"y"}
    with FaultyStore(objects, page=4) as store:
        run = headrace(store.endpoint, NAMES)
        assert run.code == 0, run
        listing, heads = run.repetition["phases"]
        assert heads["operations"] == 31 and run.metric("list_rate") > 0 and run.metric("stat_rate") > 0, run
        assert run.metric("scan_time_s") > 0 and "open_rate" not in run.repetition["metrics"]
        assert run.metric("list_latency_max_ns") > 0 and run.metric("throttled_share") == 0
        # d0, d1 and d2 with ten keys each, in pages of four, and a page of what lies beside them
        assert listing["operations"] == 3 * 3 + 1, listing
        assert any("4 prefixes were listed, 3 at once" in note for note in run.point["notes"]), run.point["notes"]
        wanted = run.metric("list_rate") * listing["elapsed_s"]
        assert abs(wanted - 31) < 1e-6, (wanted, listing)


def test_no_folders_are_no_prefixes(headrace):
    with FaultyStore({f"set/{i:03}": b"x" for i in range(50)}, page=20) as store:
        run = headrace(store.endpoint, {**NAMES, "heads": 7})
        assert run.code == 0 and run.repetition["phases"][1]["operations"] == 7, run
        assert any("page after page, by one worker alone" in note for note in run.point["notes"]), run.point["notes"]
        assert run.metric("list_rate") * run.repetition["phases"][0]["elapsed_s"] - 50 < 1e-6


def test_invalid_names(headrace):
    with FaultyStore(made(), listing=(403, [], error("AccessDenied"))) as store:
        run = headrace(store.endpoint, NAMES)
        assert run.code == 1 and "AccessDenied" in run.why, run
    with FaultyStore({f"set/{i}": b"x" for i in range(5)}, endless=True) as store:
        run = headrace(store.endpoint, NAMES)
        assert run.code == 1 and "the listing does not end" in run.why, run
    with FaultyStore(made()) as store:
        assert "no object lies below it" in headrace(store.endpoint, {**NAMES, "path": "s3://bucket/sets"}).why
    for wrong, words in (({"cache": "cold"}, "cold"), ({"depth": 2}, "makes files"), ({"path": "/tmp", "heads": 5}, "is of objects"),
                         ({"path": "/tmp", "retries": 5}, "only requests to an object store")):
        run = headrace("http://127.0.0.1:1", {**NAMES, **wrong})
        assert run.code == 2 and words in run.reported, run


def most_memory(headrace, keys):
    """Of the command that lists that many, and of its pages [MiB]."""
    with million.bucket(keys) as server:
        (headrace.folder / "c.yaml").write_text(json.dumps({"schema": 1, "workloads": [{**NAMES, "workers": 8}]}))
        out = headrace.folder / f"out{keys}"
        limited = subprocess.run(
            ["/usr/bin/env", "python3", "-c", "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]); "
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(done.returncode)", headrace.binary, "run", "-c",
             "c.yaml", "--no-report", "--out", str(out), "--progress", "none"], cwd=headrace.folder, capture_output=True, text=True,
            env=headrace.environment(server.endpoint))
        assert limited.returncode == 0, limited
        run = json.loads((out / "run.json").read_text())
        repetition = run["points"][0]["repetitions"][-1]
        assert abs(repetition["metrics"]["list_rate"] * repetition["phases"][0]["elapsed_s"] - keys) < 1, repetition["metrics"]
        return int(limited.stdout.splitlines()[-1]) / 1024, server.pages


def test_a_million_keys_take_no_more_memory_than_a_few(headrace):
    few, _ = most_memory(headrace, 20_000)
    all_of_them, pages = most_memory(headrace, 1_000_000)
    assert pages >= 1000
    assert all_of_them < few + 16, (few, all_of_them)  # a name of 27 bytes each would be 26 MiB
