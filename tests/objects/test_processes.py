"""Several processes under mpirun over one store: they share what is read, and save side by side."""

import json
import shutil
import subprocess
from collections import Counter

import pytest
from conftest import BINARY, made
from faulty_store import FaultyStore
from servers import environment

MACHINE = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_pml": "ob1",
           "OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1", "RES_OPTIONS": "timeout:1 attempts:1"}
RANKS = 3


@pytest.fixture
def together(headrace):
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun (Debian: openmpi-bin)")
    if "mpi       not" in headrace.command("--version").stdout:
        pytest.skip("headrace was built without MPI")

    def run(store, *workloads):
        (headrace.folder / "c.yaml").write_text(json.dumps(
            {"schema": 1, "name": "several", "target": {"path": "s3://bucket/mine"}, "workloads": list(workloads)}))
        done = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(RANKS), BINARY, "run", "-c", "c.yaml",
                               "--out", "out", "--no-report", "--progress", "none"], cwd=headrace.folder, text=True,
                              capture_output=True, timeout=240, env=environment(store.endpoint, **MACHINE))
        file = headrace.folder / "out/run.json"
        return done.returncode, done.stdout + done.stderr, json.loads(file.read_text()) if file.exists() else {}
    return run


def test_each_object_is_read_by_one_of_them(together):
    objects = made(31)
    with FaultyStore(dict(objects)) as store:
        code, reported, run = together(store, {"use": "small_file_read", "path": "s3://bucket/set", "workers": 2, "repeat": 2})
        assert code == 0, reported
        repetitions = run["points"][0]["repetitions"]
        assert all(one["phases"][0]["operations"] == len(objects) for one in repetitions), reported
        read = Counter(path for command, path, headers in store.seen
                       if command == "GET" and "list-type" not in path and "Range" not in headers)
        assert len(read) == len(objects) and set(read.values()) == {len(repetitions)}, read


def test_they_save_side_by_side_and_leave_nothing(together):
    with FaultyStore({}) as store:
        code, reported, run = together(store, {"use": "checkpoint_write", "ranks": 2, "shard_size": "6MiB", "block_size": "5MiB",
                                           "repeat": 2, "verify": True},
                                   {"use": "small_file_read", "files": 30, "file_size": "20KiB", "repeat": 1, "verify": True})
        assert code == 0 and reported.count("every byte as it should be") == 2, reported
        saves, reads = run["points"]
        assert store.begun == 2 * RANKS * len(saves["repetitions"]) and not store.uploads, store.begun
        assert reads["repetitions"][0]["phases"][0]["operations"] == 30, reads
        assert not [key for key in store.below("mine/") if "/checkpoint/" in key or "/users/" in key], store.below("mine/")


def test_one_store_that_refuses_ends_them_all(together):
    with FaultyStore(made(31), refuse_each=7) as store:
        code, reported, run = together(store, {"use": "small_file_read", "path": "s3://bucket/set", "workers": 2, "repeat": 1,
                                           "retries": 0})
        assert code == 1 and "the server answered 503" in reported, reported
