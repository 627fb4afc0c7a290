"""A disk of known rate that gives half, nine tenths and one and a half times what GPUs take: input_pipeline's accelerator
utilization is the truth within 0.02. At half, `headrace rehearse` shows that storage limits, and had predicted it; at one and a
half times it does not. Usage: known_rehearsal.py HEADRACE RATE
"""

import json
import subprocess
import sys

import bench

AHEAD_S, LASTS_S = 0.1, 8
FILE, BATCH, WORKERS = 262144, 4, 4
rate = {"40M": 40e6, "20M": 20e6}[sys.argv[2]]
disk = bench.limited("--size", "2G", "--read-bps", sys.argv[2])
files = int(rate * (LASTS_S + 1) / FILE)


def step_s(share):
    """So long that the disk gives this share of what a GPU takes."""
    return BATCH * FILE * share / rate


def check(share):
    result = bench.run({"use": "input_pipeline", "files": files, "file_size": f"{FILE}B", "workers": WORKERS,
                        "batch_size": BATCH, "step_time": f"{step_s(share)}s", "cache": "cold", "duration": f"{LASTS_S}s",
                        "repeat": bench.ONCE}, f"{disk}/scratch")
    assert result.code == 0, result.reported
    bench.proven(result)
    measured, truth = result.metric("accelerator_utilization"), min(1, share)
    # The throttle may hand out a slice ahead: so much more the disk may give.
    high = min(1, truth * (1 + AHEAD_S / LASTS_S))
    print(f"disk at {share} of the need: {measured:.4f}, truth {truth:.4f} to {high:.4f} "
          f"(over windows {result.metric('accelerator_utilization_low'):.4f} to {result.metric('accelerator_utilization_high'):.4f})")
    assert truth - 0.02 <= measured <= high + 0.02


def rehearse(share, limits):
    with bench.folder() as work:
        job = work / "job.yaml"
        job.write_text(json.dumps({"schema": 1, "job": "known", "cluster": {"nodes": 1, "gpus_per_node": 1},
                                   "step": {"time": f"{step_s(share)}s", "micro_batch": BATCH},
                                   "dataset": {"layout": "files", "sample_size": f"{FILE}B"},
                                   "loader": {"workers_per_gpu": WORKERS}}))
        done = subprocess.run([sys.argv[1], "rehearse", job, "--at", f"{disk}/scratch", "--budget", "90s", "--out", work / "run",
                               "--max-write", f"{int(rate * 8)}B", "--no-report", "--progress", "none"], capture_output=True, text=True)
        run = json.loads((work / "run/run.json").read_text())["rehearsal"]
    print("\n".join(run["told"]))
    assert run["limit"] in limits, (run["limit"], done.stdout)
    # Storage alone was measured for a second or so at a time, of which a slice that is handed out ahead is a tenth.
    assert abs(run["prediction"]["error"]) <= 0.03 + AHEAD_S / 1.0 * min(1, share), run["prediction"]


for share in (0.5, 0.9, 1.5):
    bench.on_a_quiet_moment(lambda: check(share))
bench.on_a_quiet_moment(lambda: rehearse(0.5, ["storage"]))
bench.on_a_quiet_moment(lambda: rehearse(1.5, ["gpus"]))
