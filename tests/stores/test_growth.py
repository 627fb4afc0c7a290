"""Real shared stores: `headrace simulate` predicts six clients from runs of one, two and four, and six are measured, too.
HEADRACE_GROWTH=FILE keeps the figures there, for tests/published/scaling.py."""

import csv
import datetime
import itertools
import json
import os
import pathlib
import statistics
import subprocess
from dataclasses import dataclass

import pytest

from test_stores import BINARY, PROGRAMS, Store, missing

MEASURED, MORE, SESSIONS = (1, 2, 4), 6, (1, 2, 3)
GOOD = (0.9, 1.1)
RANKS, SHARD = 16, 1_500_000  # of a node
CHECKPOINT = MORE * RANKS * SHARD  # [B]
DEMAND = 40e6  # [B/s] of a node: more than its cable, so that the store is the limit
CONFIG = {"growth": f"""\
defaults: {{repeat: {{looks: [1], budget: 1s}}}}  # takes longer, and is not taken again: clients keep what they read
workloads:
  - {{use: shard_stream, files: {MORE * RANKS}, file_size: {SHARD}B, workers: 8, cache: cold}}
  - {{use: checkpoint_write, ranks: {RANKS}, shard_size: {SHARD}B, repeat: {{looks: [2], budget: 1min}}}}
  - {{use: checkpoint_read, ranks: {RANKS}, shard_size: {SHARD}B, cache: cold}}
"""}
JOB = f"""\
schema: 1
job: growth
cluster: {{nodes: {MORE}, gpus_per_node: {RANKS}}}
step: {{time: 1s, micro_batch: 25}}
dataset: {{layout: shards, read_profile: ranged, sample_size: {DEMAND / RANKS / 25:.0f}B}}
model: {{parameters: {CHECKPOINT // 4}}}
checkpoint: {{interval: 1h, stall: 1min, restore: 10min, bytes_per_parameter: 4}}
"""
FIGURES = {  # by the figure of simulation.json
    "first_epoch_busy": ("first epoch", "shard_stream", "read_bandwidth"),
    "save_time": ("save", "checkpoint_write", "durable_bandwidth"),
    "restore_time": ("restart", "checkpoint_read", "read_bandwidth"),
}


@dataclass
class Row:
    """Rates of all clients together [B/s]."""
    store: str
    figure: str
    clients: str
    rates: str  # of those clients
    predicted: float
    low: float
    high: float
    measured: float
    why: str = ""  # of a miss; added by hand

    ratio = property(lambda self: self.predicted / self.measured)
    within = property(lambda self: GOOD[0] <= self.ratio <= GOOD[1])


def rate_of(runs, workload, name):
    """The mean of the sessions."""
    points = [point for run in runs for point in run["points"] if point["workload"] == workload]
    metrics = [metric for point in points for metric in point["metrics"] if metric["name"] == name]
    return statistics.mean(metric.get("mean_over_time", metric["median"]) for metric in metrics)


def seconds(utc):
    return datetime.datetime.fromisoformat(utc.replace("Z", "+00:00")).timestamp()


class Cables:
    """Bytes that the clients' cables brought them, over time."""

    def __init__(self, file):
        lines = [[float(one) for one in line.split()] for line in file.read_text().splitlines()]
        self.samples = [(line[0], sum(line[1:])) for line in lines if len(line) == len(lines[0])]

    def between(self, begin, end):
        before = max((s for s in self.samples if s[0] <= begin), default=self.samples[0])
        after = min((s for s in self.samples if s[0] >= end), default=self.samples[-1])
        return after[1] - before[1]


def cold_repetitions(run):
    return [repetition for point in run["points"] if point["cache"] == "cold" for repetition in point["repetitions"]]


def prove(run, cables):
    """Proves cold reads by the bytes on the clients' cables, as headrace does by a client's counter. These mounts have none."""
    for repetition in cold_repetitions(run):
        begin, [phase] = seconds(repetition["began_utc"]), repetition["phases"]
        share = cables.between(begin, begin + phase["elapsed_s"]) / phase["bytes"]
        repetition["cache"].update(proven=share >= 0.95, why=f"{share:.1%} of the bytes came over the clients' cables")
    return run


class Growth:
    def __init__(self, store, folder):
        self.store, self.folder = store, folder
        scenarios = Store(store, folder, hosts=2 + MORE, rate="160mbit", limit_s=900, configs=CONFIG, scenario=("growth",))
        cables = Cables(folder / "cables")
        (folder / "job.yaml").write_text(JOB)
        self.runs = {clients: [] for clients in (*MEASURED, MORE)}
        for clients, session in itertools.product(self.runs, SESSIONS):
            name = f"clients{clients}-{session}"
            run = prove(scenarios.run(name), cables)
            assert all(point["status"] == "ok" for point in run["points"]), scenarios.reported(name)
            self.runs[clients].append(run)
            (folder / f"proven-{name}").mkdir()
            (folder / f"proven-{name}/run.json").write_text(json.dumps(run))

    def simulated(self, clients, kind="proven-"):
        runs = [f"{kind}clients{n}-{session}" for n in clients for session in SESSIONS]
        done = subprocess.run([BINARY, "simulate", "job.yaml", "--runs", *runs, "--nodes", str(MORE), "--json"],
                              capture_output=True, text=True, cwd=self.folder)
        assert done.returncode in (10, 11), done.stdout + done.stderr
        return json.loads(done.stdout)

    def rows(self, clients):
        figures = {f["figure"]: f for f in self.simulated(clients)["scales"][0]["figures"]}
        for figure, (title, *metric) in FIGURES.items():
            values = [figures[figure][key] for key in ("median", "low", "high")]
            rates = [v * MORE * DEMAND if figure == "first_epoch_busy" else CHECKPOINT / v for v in values]
            yield Row(self.store, title, ", ".join(map(str, clients)),
                      ", ".join(f"{rate_of(self.runs[n], *metric) / 1e6:.1f}" for n in clients),
                      rates[0], min(rates), max(rates), rate_of(self.runs[MORE], *metric))


@pytest.fixture(scope="module", params=list(PROGRAMS))
def growth(request, tmp_path_factory):
    if reason := missing(request.param):
        pytest.skip(f"{request.param}: {reason}")
    return Growth(request.param, tmp_path_factory.mktemp(f"{request.param}-growth"))


def keep(rows):
    """The figures of these stores, and of others the kept ones."""
    file = pathlib.Path(os.environ["HEADRACE_GROWTH"])
    kept = list(csv.DictReader(file.open())) if file.exists() else []
    with file.open("w", newline="") as to:
        out = csv.DictWriter(to, list(vars(rows[0])), lineterminator="\n")
        out.writeheader()
        out.writerows(one for one in kept if not one["store"].startswith(rows[0].store))
        for row in rows:
            out.writerow({k: f"{v:.4g}" if isinstance(v, float) else v for k, v in vars(row).items()})


def test_reads_from_the_clients_cables_are_all_cold(growth):
    for clients, runs in growth.runs.items():
        proofs = [repetition["cache"] for run in runs for repetition in cold_repetitions(run) if repetition["counted"]]
        assert proofs and all(proof["proven"] for proof in proofs), (clients, [proof["why"] for proof in proofs])


def test_unproven_reads_are_not_simulated(growth):
    """Without the proof of the cables, a store of these mounts is known by its saves alone."""
    simulated = growth.simulated(MEASURED, kind="")
    assert {f["figure"] for f in simulated["scales"][0]["figures"]} & set(FIGURES) == {"save_time"}
    assert any("restores: neither measured nor stated" in one for one in simulated["missing"]), simulated["missing"]


def test_six_clients_are_predicted_from_fewer(growth):
    few, rows = (list(growth.rows(clients)) for clients in (MEASURED[:-1], MEASURED))
    for row in (*few, *rows):
        predicted, low, high, measured = (rate / 1e6 for rate in (row.predicted, row.low, row.high, row.measured))
        print(f"{row.store}, {row.figure}, of {row.clients} clients ({row.rates} MB/s): predicted {predicted:.1f} "
              f"[{low:.1f}, {high:.1f}] MB/s, measured {measured:.1f} MB/s, ratio {row.ratio:.3f}")
    if "HEADRACE_GROWTH" in os.environ:
        keep([*few, *rows])
    for row in rows:
        multiplied = float(row.rates.split()[-1]) * 1e6 * MORE / MEASURED[-1]
        assert multiplied > 1.2 * row.measured, f"more clients got as much each: {row}"
    assert all(row.within for row in rows), [(row.figure, row.ratio) for row in rows]


def test_more_than_the_runs_show_is_marked(growth):
    """Two clients do not show the limit of two servers."""
    assert growth.simulated(MEASURED[:-1])["scales"][0]["basis"] == "extrapolated"
