"""headrace under Slurm: processes that srun started, one that is killed, and the prolog of the documentation."""

import os
import pathlib
import re
import signal
import subprocess

import pytest
from test_ranks import measuring_child
from test_verdict import failed, made, stored  # noqa: F401  (made is a fixture)

ROOT = pathlib.Path(__file__).parents[2]
WITH_SLURM = ROOT / "tests/slurm/with-slurm"
SRUN = ["srun", "-n", "3", "--overcommit", "--mpi=pmix"]
RANKS = """\
schema: 1
name: ranks
target: {path: scratch, max_write: 10MiB}
workloads:
  - {use: mpi_all_reduce, message_size: 64KiB, calls: 20, repeat: 2}
  - {use: small_file_read, files: 30, file_size: 8KiB, cache: asis, repeat: 2}
"""

JOB = """\
schema: 1
job: small
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 1s, micro_batch: 8}
dataset: {layout: files, samples: 100, sample_size: 8KiB}
loader: {workers_per_gpu: 1}
model: {parameters: 1e6}
"""


def short_headrace(runner, folder):
    """A `headrace` in that folder that qualifies within seconds."""
    (folder / "headrace").write_text(f'#!/bin/sh\n[ "$1" = qualify ] && set -- "$@" --budget 2s --no-report\nexec {runner.binary} "$@"\n')
    (folder / "headrace").chmod(0o755)


@pytest.fixture(scope="module", autouse=True)
def slurm():
    if os.geteuid() != 0:
        pytest.skip("needs root")
    reported = subprocess.run([WITH_SLURM, "--", "srun", "--mpi=list"], capture_output=True, text=True, timeout=180)
    if reported.returncode != 0:
        pytest.skip(f"Slurm does not run here: {reported.stderr.strip()}")
    if "pmix" not in reported.stdout + reported.stderr:
        pytest.skip("this srun cannot introduce processes to each other by PMIx")


def with_mpi(headrace):
    if "mpi       not" in headrace("--version").out:
        pytest.skip("headrace was built without MPI")
    headrace.write("ranks.yaml", RANKS)
    return headrace


def test_processes_of_srun_measure_together(headrace):
    with_mpi(headrace).under = [WITH_SLURM, "--", *SRUN]
    outcome = headrace.run("ranks.yaml")
    assert outcome.code == 0, outcome
    reduce, read = headrace.results()["points"]
    assert reduce["status"] == read["status"] == "ok", outcome
    assert [len(r["phases"][0]["ranks"]) for r in read["repetitions"] if r["counted"]] == [3, 3]  # disturbed ones come again
    assert sum(rank["operations"] for rank in read["repetitions"][0]["phases"][0]["ranks"]) == 30


def test_one_that_is_killed_is_named_and_ends_the_job(headrace):
    with_mpi(headrace).under = [WITH_SLURM, "--", *SRUN]
    process = headrace.start("--progress", "plain", "run", "-c", "ranks.yaml", "--no-report", "--out", "results",
                             "--set", "workloads.1.repeat=1000", "--set", "workloads.1.rest=100ms")
    for line in process.stderr:
        if "small_file_read  started" in line:
            break
    os.kill(measuring_child(headrace.folder, 2, "SLURM_PROCID"), signal.SIGKILL)
    out, err = process.communicate(timeout=180)
    assert process.returncode != 0, (out, err)
    reduce, read = headrace.results()["points"]
    assert reduce["status"] == "ok" and read["status"] == "error"
    assert re.search(r"rank 2 \(node1\).* ended without a word", read["reason"]), read["reason"]


def prolog_of_the_documentation(runner, folder, verdict):
    """As it is there; a prolog finds nothing in its environment."""
    first, rest = (ROOT / "packaging/slurm/prolog.sh").read_text().split("\n", 1)
    (folder / "headrace").symlink_to(runner.binary)
    prolog = folder / "prolog"
    prolog.write_text(f"{first}\nexport PATH={folder}:$PATH HEADRACE_VERDICT={runner.path(verdict)}\n{rest}")
    prolog.chmod(0o755)
    return prolog


@pytest.mark.parametrize("change, state, code", [(lambda verdict: None, "idle", 0), (failed, "drain", 1)])
def test_the_prolog_of_the_documentation(made, tmp_path, change, state, code):  # noqa: F811
    prolog = prolog_of_the_documentation(made, tmp_path, stored(made, "verdict.json", change=change))
    reported = subprocess.run(
        [WITH_SLURM, "--prolog", prolog, "-t", "170", "--", "sh", "-c",
         "timeout 60 sbatch --quiet --no-requeue --wrap 'touch ran' --chdir . --output /dev/null\n"
         "for i in $(seq 1200); do [ -e ran ] || sinfo -h -o %t | grep -q drain && break; sleep 0.1; done\n"
         "for i in $(seq 1200); do sinfo -h -o %t | grep -q comp || break; sleep 0.1; done\n"
         "sinfo -h -o '%t %E'"], cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert reported.stdout.startswith(state), reported
    assert (tmp_path / "ran").exists() == (code == 0)
    assert code == 0 or "Prolog error" in reported.stdout


def test_the_batch_script_qualifies_each_node_and_compares_them(headrace):
    headrace.write("job.yaml", JOB)
    short_headrace(headrace, headrace.folder)
    done = subprocess.run(
        [WITH_SLURM, "-t", "280", "--", "sh", "-c",
         f'export PATH="$PWD:$PATH"; sbatch --wait -N 1 -o batch.log "{ROOT}/packaging/slurm/qualify.sbatch"'],
        cwd=headrace.folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "JOB": "job.yaml", "AT": "scratch", "OUT": "runs"})
    said = headrace.path("batch.log").read_text()
    assert (headrace.folder / "runs/node1/verdict.json").exists(), (done, said)
    assert "VERDICT" in said and "1 nodes" in said.replace("1 node ", "1 nodes "), said
