"""observe.json samples, made by hand from seeded numbers."""

from __future__ import annotations

import random

import sample_run

WAITS = ("running", "storage_read", "storage_names", "storage_write", "page_fault", "hand_over", "gpu", "sleep", "other")


def share(value, half=0.02):
    return {"share": value, "low": max(0.0, value - half), "high": min(1.0, value + half)}


def learned(key, text, confidence, evidence, **more):
    return {"key": key, "text": text, "confidence": confidence, "evidence": evidence, **more}


def observation(slices: int = 400) -> dict:
    """A job that starves while checkpoints are written; one value is a guess, and the command holds markup."""
    draw = random.Random(7)
    saving = [(n // 100) % 2 == 1 and n % 100 < 30 for n in range(slices)]
    starving = [min(1.0, max(0.0, draw.gauss(0.9 if one else 0.03, 0.03))) for one in saving]
    none = [0.0] * slices
    lists = {name: none for name in WAITS}
    return {
        "schema": 1, "kind": "headrace.observation", "headrace": {"version": "0.1.0", "revision": "abc123"},
        "command": ["python3", "train.py", sample_run.MARKUP], "elapsed_s": slices * 0.25,
        "looked": {"per_s": 99.5, "cpu_share": 0.02, "most_processes": 3},
        "batches": {"begin_s": 1.0, "end_s": slices * 0.25 - 1, "steps": 900.0, "samples_per_s": 73.5},
        "limit": {"id": "checkpoint_interference", "sentence": "Checkpoints limit: while one is written, reads are too slow",
                  "proof": ["the main thread waited for data 16 % [9, 23] of the time"], "advice": ["write checkpoints to other storage"],
                  "command": "headrace qualify job.yaml"},
        "consumer": {"waiting_for_loader": share(0.16), "pause": share(0.8)}, "workers": {"reading": share(0.7), "consumer": share(0.3)},
        "standing_still": share(0.0, 0.0), "storage": {"device": "254:0"},
        "learned": [learned("step.time", "80.2ms", "high", "900 batches were taken", value=0.0802, low=0.079, high=0.0815, unit="s"),
                    learned("dataset.layout", "files", "medium", "12 were seen"),
                    learned("loader.prefetch_factor", "2", "guess", "DataLoader's default", value=2, low=2, high=2, unit=""),
                    learned("step.micro_batch", "8", "low", "8.1 each", value=8, low=6.5, high=9.5, unit="")],
        "saves": [{"begin_s": 25.0, "end_s": 32.5, "bytes": 200e6, "path": "/out/model.pt"}, {"begin_s": 75.0, "end_s": 82.5, "bytes": 200e6, "path": "/out/model.pt"}],
        "processes": [{"pid": 10, "name": "python3", "role": "consumer"}, {"pid": 11, "name": "python3", "role": "worker"}, {"pid": 12, "name": "python3", "role": "worker"}],
        "notes": ["the data set was read 2.10 times while batches were taken"],
        "series": {"time_s": [(n + 1) * 0.25 for n in range(slices)], "read_bytes_per_s": [draw.gauss(8e6, 4e5) for _ in range(slices)],
                   "written_bytes_per_s": [2.6e7 if one else 0.0 for one in saving], "device_bytes_per_s": [draw.gauss(7e6, 4e5) for _ in range(slices)],
                   "device_reads_per_s": [draw.gauss(70, 4) for _ in range(slices)], "device_wait_s": [draw.gauss(0.004, 2e-4) for _ in range(slices)],
                   "batches_per_s": [max(0.0, draw.gauss(1.0 if one else 11.0, 0.5)) for one in saving],
                   "consumer": {**lists, "hand_over": starving, "sleep": [1 - one for one in starving]},
                   "workers": {**lists, "storage_read": [0.9 if one else 0.5 for one in saving], "hand_over": [0.1 if one else 0.5 for one in saving]}}}


def short() -> dict:
    """Nobody was seen taking batches: nothing is drawn, and that is reported."""
    seen = observation(1)
    seen.update(consumer={}, workers={}, learned=[], saves=[], command=[],
                limit={"id": "unknown", "sentence": "The limit is unknown", "proof": [], "advice": ["watch for longer"], "command": ""},
                batches={"begin_s": 0.0, "end_s": 0.0, "steps": 0.0, "samples_per_s": 0.0})
    return seen


def client(slices: int = 120) -> dict:
    """A job of one GPU that starves over NFS, or over FUSE where the key is taken out: as many as clients and drivers report on."""
    draw = random.Random(9)
    seen = observation(slices)
    seen.update(saves=[], gpus=[{"pci_address": "0000:17:00.0", "name": "NVIDIA H100 80GB HBM3", "memory_bytes": 41e9, "shared": False,
                                 "busy": share(0.31), "memory_busy": 0.2, "own_busy": 0.3}])
    seen["series"].update(gpu_busy=[min(1.0, max(0.0, draw.gauss(0.31, 0.05))) for _ in range(slices)],
                          client_bytes_per_s=[draw.gauss(8e6, 4e5) for _ in range(slices)], client_read_s=[draw.gauss(0.066, 0.004) for _ in range(slices)],
                          client_queue_s=[draw.gauss(0.05, 0.004) for _ in range(slices)], daemon_requests=[draw.uniform(1.5, 2.5) for _ in range(slices)])
    return seen


def traced() -> dict:
    """The same job with a trace of its calls: reads of 1 ms, one of a hundred of 8 ms, and fast opens."""
    seen = observation()

    def times(*counted):
        return {"min_ns": min(ns for ns, _ in counted), "max_ns": max(ns for ns, _ in counted),
                "buckets": [[sample_run.bucket_of(ns), count] for ns, count in counted]}
    seen["calls"] = {"read": times((1_000_000, 19_780), (8_000_000, 220)), "open": times((20_000, 300)), "mean_in_flight": 3.2, "most_in_flight": 8,
                     "part_s": seen["elapsed_s"] / 400, "in_flight": [6.0 if 100 <= n < 130 else 2.0 for n in range(400)]}
    return seen


SAMPLES = {"observation_traced": traced, "observation_client": client, "observation_saves": observation, "observation_short": short}
