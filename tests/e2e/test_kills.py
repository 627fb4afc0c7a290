"""SIGKILL at random moments: nothing of anybody's is lost, and nothing is left that `headrace clean` does not take.

HEADRACE_KILLS=200 HEADRACE_SEED=7 tests/e2e/run.py kills    does it two hundred times, from another seed."""

import os
import random
import shutil
import time

from foreign import Planted, kill_all, started

KILLS = int(os.environ.get("HEADRACE_KILLS", "10"))
SEED = int(os.environ.get("HEADRACE_SEED", "1"))

CONFIG = """\
schema: 1
name: killed
target: {path: scratch, max_write: 200MiB}
workloads:
  - {use: small_file_read, files: 300, file_size: 8KiB, files_per_folder: 50, workers: 2, cache: asis, repeat: 2}
  - {use: small_file_read, label: large, files: 6, file_size: 1MiB, cache: asis, repeat: 1}
  - {use: checkpoint_write, ranks: 2, shard_size: 1MiB, repeat: 3}
  - {use: checkpoint_write, label: shared, ranks: 3, shard_size: 700000B, layout: shared, repeat: 3}
  - {use: metadata, depth: 2, width: 3, files_per_folder: 40, workers: 2, cache: asis, repeat: 3}
"""
JOB = """\
schema: 1
job: small
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 1s, micro_batch: 1}
dataset: {layout: files, samples: 1000, sample_size: 8kB}
loader: {workers_per_gpu: 1}
"""
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader",
       "OMPI_MCA_mpi_yield_when_idle": "1", "RES_OPTIONS": "timeout:1 attempts:1"}
RUN = ("-c", "killed.yaml", "--no-report", "--out", "out")


def scenarios(headrace):
    """Name, what is killed (under what), and for about how long it runs [s]."""
    found = [("run", (), ("run", *RUN), 1.2), ("qualify", (), ("qualify", *RUN, "--job", "job.yaml"), 1.2),
             ("against", (), ("run", *RUN, "--against", "other", "--blocks", "1"), 4),
             ("aa", (), ("run", "--against-itself", *RUN, "--blocks", "2", "--only", "*read*"), 3),
             ("clean", (), ("clean", "scratch"), 0.1), ("serve", (), ("run", *RUN, "--peer", "127.0.0.1:{port}"), 1.5)]
    if shutil.which("mpirun") and "mpi       not" not in headrace("--version").out:
        found.append(("mpi", ("mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"), ("run", *RUN), 2.5))
    return found


def entries(headrace):
    return sorted(path.name for path in headrace.folder.iterdir())


def clean_up(headrace, what):
    """`clean` takes all of it, at once or, killed itself, the second time. The kernel may take a while to end a process,
    and until then the folder is its own: that is said, and nothing is touched."""
    for folder in ("scratch", "other", "out"):
        for _ in range(50):
            done = headrace("clean", folder, "--yes")
            if "in use by another headrace" not in done.out:
                break
            time.sleep(0.2)
        assert done.code == 0 and "left:" not in done.out, (what, folder, done)


def test_nothing_is_lost_and_nothing_is_left(headrace):
    headrace.write("killed.yaml", CONFIG)
    headrace.write("job.yaml", JOB)
    planted = Planted(headrace.path("outside"))
    assert headrace.run("tiny.yaml", "--set", "target.path=kept-scratch", out="kept").code == 0
    planted.watch(*(path for name in ("kept", "kept-scratch") for path in sorted(headrace.path(name).rglob("*"))))
    before = entries(headrace)
    dice = random.Random(SEED)
    choices = scenarios(headrace)
    count = {name: 0 for name, *_ in choices}
    for kill in range(KILLS):
        name, under, words, seconds = choices[kill % len(choices)]
        delay = dice.uniform(0, seconds)
        port = 20000 + dice.randrange(10000)
        what = f"kill {kill} of seed {SEED}: {name} after {delay:.3f} s"
        if name == "clean":
            assert headrace.run("killed.yaml", "--only", "*read*", out="out").code == 0, what
        server = started(headrace, "run", "--serve", f"127.0.0.1:{port}", HEADRACE_TOKEN="sixteen-letters-or-more") if name == "serve" else None
        headrace.under = list(under)
        process = started(headrace, *(word.format(port=port) for word in words), HEADRACE_TOKEN="sixteen-letters-or-more", **MPI)
        headrace.under = []
        time.sleep(delay)
        for one in dice.sample([process, server], 2):  # either end first
            if one:
                kill_all(one)
        assert not planted.changed(), what
        clean_up(headrace, what)
        assert entries(headrace) == before, what
        count[name] += 1
    print(f"{KILLS} kills of seed {SEED}: {count}")
