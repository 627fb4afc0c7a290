#!/usr/bin/python3
"""Published rows of growing systems, each simulated from the smallest one: makes docs/explanation/simulation-accuracy.md."""
import argparse
import collections
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

from mlperf import NEEDED, Run  # noqa: E402
from tables import HERE, having, load  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/explanation/simulation-accuracy.md"
STORES = ROOT / "tests/stores/growth.csv"
BINARY = os.environ.get("HEADRACE", str(ROOT / "build/release/headrace"))
GOOD = (0.9, 1.1)


@dataclass
class Row:
    """One published size of a system."""
    hosts: int
    gpus: int
    samples_per_s: float
    au: float
    limit: float
    batch: int
    step_s: float
    sample_bytes: float
    samples: int = 0  # of the data set; 0: not published
    readers: int = 0  # batches that an accelerator asks for at once
    name: str = ""


@dataclass
class Predicted:
    table: str
    small: Row
    large: Row
    predicted: float
    had_room: bool

    ratio = property(lambda self: self.predicted / self.large.samples_per_s)
    within = property(lambda self: GOOD[0] <= self.ratio <= GOOD[1])


def systems(tables):
    """(table, name of the system and its job) -> its rows, by hosts and accelerators."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for table in tables:
        if table.kind == "mlperf_storage_v1":
            for r in map(Run, having(table.rows, *NEEDED)[0]):
                found[table.name, f"{r.family} {r.row['workload']} {r.row['accelerator']}"][r.hosts, r.n].append(
                    Row(r.hosts, r.n, r.samples_per_s, r.au, r.limit, r.batch, r.step, r.bytes, r.samples, r.asked))
        elif table.kind == "mlperf_v3_training":
            for r in having(table.rows, "n_hosts", "n_accelerators", "samples_per_s", "au_percent", "step_s", "sample_bytes")[0]:
                hosts, gpus = int(r["n_hosts"]), int(r["n_accelerators"])
                found[table.name, f"{r['organization']} {r['system']} {r['job']} {r['accelerator']}"][hosts, gpus].append(
                    Row(hosts, gpus, float(r["samples_per_s"]), float(r["au_percent"]) / 100, float(r["au_limit_percent"]) / 100,
                        int(r["batch_samples"]), float(r["step_s"]), float(r["sample_bytes"])))
    return {key: [mean(key[1], runs) for _, runs in sorted(by.items())] for key, by in sorted(found.items()) if len(by) > 1}


def mean(name, runs):
    row = runs[0]
    row.name = name
    row.samples_per_s, row.au = (statistics.mean(getattr(r, what) for r in runs) for what in ("samples_per_s", "au"))
    return row


def simulated(folder, small, large):
    """The larger row from the smaller one: a step is as long as it was there, and each host brings as much of the store as its
    hosts had, at least. Its store was not what limited the smaller row if that fed one accelerator more at its limit (A22), or was
    busier than halfway between the limit and all of the time."""
    had_room = int(small.gpus * small.au / small.limit) > small.gpus or small.au > (1 + small.limit) / 2
    step = small.step_s / small.au
    of_gpu = small.batch * small.sample_bytes / step
    of_host = of_gpu * small.gpus / small.hosts
    if had_room:
        of_host = max(of_host, of_gpu * large.gpus / large.hosts)
    data = f", samples: {large.samples}" if large.samples else ""
    loader = f"loader: {{workers_per_gpu: {large.readers}}}\n" if large.readers and large.samples else ""
    (folder / "job.yaml").write_text(
        f"schema: 1\njob: published\ncluster: {{nodes: {large.gpus}, gpus_per_node: 1}}\nstep: {{time: {step!r}s, micro_batch: {large.batch}}}\n"
        f"dataset: {{layout: files, sample_size: {large.sample_bytes!r}B{data}}}\n{loader}")
    (folder / "sheet.yaml").write_text(
        f"schema: 1\nsheet: published\nsource: the smallest row\nstore: {{read: {of_host!r}B/s, servers: {large.hosts}}}\n")
    done = subprocess.run([BINARY, "simulate", str(folder / "job.yaml"), "--sheet", str(folder / "sheet.yaml"), "--seeds", "1", "--json"],
                          capture_output=True, text=True, timeout=600)
    if done.returncode not in (10, 11):
        raise RuntimeError(f"headrace simulate: {done.returncode}: {done.stderr}")
    figures = {f["figure"]: f["median"] for f in json.loads(done.stdout)["scales"][0]["figures"]}
    busy = figures.get("wall_clock_busy", figures["first_epoch_busy"])
    return large.gpus * large.batch / step * busy, had_room


def predict(tables):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for (table, _), rows in systems(tables).items():
            for large in rows[1:]:
                found.append(Predicted(table, rows[0], large, *simulated(pathlib.Path(folder), rows[0], large)))
    return found


def why(p):
    if p.within:
        return ""
    if p.had_room and p.ratio > 1:
        return "the smaller row had room left: how much its store gives is not published, and this is an upper bound"
    if p.ratio > 1:
        return "each host got less than in the smaller row: the store did not grow with the hosts"
    return "each host got more than in the smaller row: its store or its loader had room that the limit of utilization does not show"


def real_stores():
    """The figures that tests/stores/test_growth.py kept."""
    rows = list(csv.DictReader(STORES.open()))
    most = max(rows, key=lambda r: len(r["clients"]))["clients"]
    ratios = [float(r["predicted"]) / float(r["measured"]) for r in rows]
    of_most = [ratio for r, ratio in zip(rows, ratios) if r["clients"] == most]
    within = sum(GOOD[0] <= ratio <= GOOD[1] for ratio in of_most)
    lines = [
        "## Real stores", "",
        "Here six clients of MooseFS and of GlusterFS are predicted from runs of fewer. Each store has two servers. All are hosts in network",
        "namespaces of one machine, each with a cable of 20 MB/s. Clients read a data set (first epoch), save a checkpoint and restore",
        f"one (restart). {within} of {len(of_most)} predictions from {most} clients lie within {GOOD[0]} to {GOOD[1]} (predicted / measured). "
        "Rates are of all clients together.", "",
        "Where one and two clients show no limit yet, predictions from them alone are far too high. `simulate` marks them as extrapolated.",
        "These mounts prove no cold reads, and unproven reads are not simulated. `tests/stores/test_growth.py` proves them by the bytes on the",
        "clients' cables. It measures these figures, and fails outside of the limits.", "",
        "| store | use | from clients | with MB/s | predicted MB/s of six [5 %, 95 %] | measured | ratio | why it misses |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | --- |"]
    for r, ratio in zip(rows, ratios):
        predicted, low, high, measured = (f"{float(r[key]) / 1e6:.1f}" for key in ("predicted", "low", "high", "measured"))
        lines.append(f"| {r['store']} | {r['figure']} | {r['clients']} | {r['rates']} | {predicted} [{low}, {high}] | {measured} | {ratio:.3f} | {r['why']} |")
    return lines


def markdown(found):
    within = sum(p.within for p in found)
    lines = [
        "# How good simulations are", "",
        f"Here are {len(found)} published rows of growing systems, each simulated by `headrace simulate` from the smallest row of its system.",
        f"{within} of {len(found)} ({100 * within / len(found):.0f} %) lie within {GOOD[0]} to {GOOD[1]} (predicted / published). No constant was fitted",
        "to a table. `tests/published/scaling.py` makes this page, and a test keeps it up to date.", "",
        "A step is as long as in the smallest row, where it includes the loader's overhead. Each host brings as much storage as a host of",
        "that row had. The store did not limit that row if it fed one accelerator more at its limit (A22), or was busier than halfway",
        "between the limit and all of the time. The larger row then gets what it needs. Data set and readers are those of the larger row, and its result is not used.", "",
        "| table | system and job | from hosts × accelerators | to | published samples/s | predicted | ratio | why it misses |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"]
    for p in found:
        per = [f"{r.hosts} × {r.gpus / r.hosts:g}" for r in (p.small, p.large)]
        lines.append(f"| {p.table} | {p.large.name} | {per[0]} | {per[1]} | {p.large.samples_per_s:.4g} | {p.predicted:.4g} | {p.ratio:.3f} | {why(p)} |")
    lines += ["", *real_stores(), "", "## Assumptions of a simulation", "",
              "- All nodes train in step, loaders read ahead without limit, and a step's time is constant.",
              "- Storms are fluid: rates are shared at once and fairly (max-min), without packets, queues or protocol timeouts.",
              "  `tests/simgrid/` compares up to 800 flows with SimGrid: all end within 0.05 % of its time.",
              "- A sheet's figures are taken as they are. A store whose limit nothing shows grows between its law and in proportion.",
              "- Reads and writes share the store's time in proportion to their rates.",
              "- Failures are independent, with exponential times between them.", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", action="append", metavar="DIR", help="tables instead of those carried: prints the page")
    a = parser.parse_args()
    text = markdown(predict(load(*(a.tables or [HERE]))))
    if a.tables:
        print(text)
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
