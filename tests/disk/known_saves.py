"""A disk that writes at a known rate: a job whose checkpoints take longer than its target leaves room for misses it, and only
because of them: exit code 10, and the sentence says so. Usage: known_saves.py HEADRACE"""

import json
import subprocess
import sys

import bench

RATE = 20e6
disk = bench.limited("--size", "1G", "--in-memory", "--write-bps", "20M")
# 60 MB every 6 s of computing: 3 s of saving beside 6 s.
JOB = {"schema": 1, "job": "saving", "cluster": {"nodes": 1, "gpus_per_node": 1},
       "step": {"time": "20ms", "micro_batch": 4, "target_utilization": 0.85},
       "model": {"parameters": 60e6 / 14}, "checkpoint": {"interval": "6s", "stall": "3s", "mode": "sync"},
       "dataset": {"layout": "files", "sample_size": "16kB"}, "loader": {"workers_per_gpu": 2}}


def rehearse():
    with bench.folder() as work:
        job = work / "job.yaml"
        job.write_text(json.dumps(JOB))
        done = subprocess.run([sys.argv[1], "rehearse", job, "--at", f"{disk}/scratch", "--budget", "120s", "--out", work / "run",
                               "--max-write", "128MiB", "--only", "input_pipeline/job", "--only", "input_pipeline/no-checkpoint",
                               "--no-report", "--progress", "none"], capture_output=True, text=True)
        bench.RUNS.append(bench.Run(done.returncode, done.stdout, work / "run"))
    run = bench.RUNS[-1].data
    told = run["rehearsal"]
    print("\n".join(told["told"]), done.stdout.splitlines()[-1], sep="\n")
    saves, judged = told["checkpoints"], run["judgements"][0]
    # So many bytes per second of computing take so much longer to write than the target allows.
    assert 0.55 < told["utilization"]["value"] < 0.80, told["utilization"]
    assert saves["utilization_without"]["low"] >= 0.85 and saves["decide"] and told["limit"] == "checkpoints", told
    assert judged["point"] == "input_pipeline/job" and judged["outcome"] == "FAIL" and done.returncode == 10, (judged, done.stdout)
    assert "without them the job's utilization would be reached, with them it is not" in " ".join(told["told"]), told


bench.on_a_quiet_moment(rehearse)
