"""Pipelines of a host, and the accelerators that its processors feed."""
import collections
import re

from predictions import Prediction, Skipped, kind, nothing
from tables import number

# configs/jobs/mlperf-retinanet-b200.yaml: batch, step [s], bytes of a sample, utilization asked for
RETINANET = dict(batch=24, step=0.04755, bytes=322957, limit=0.85)


@kind("host_bound")
def host_bound(table, tables):
    """From each number of accelerators that the host fed with processors left: how many it feeds at most."""
    rows = [r for r in table.rows if r["job"] == "retinanet" and number(r["min_cpu_idle_percent"]) and r["au_percent"]]
    fed = [int(r["n_accelerators"]) for r in table.rows if r["job"] == "retinanet" and number(r["au_percent"] or "0") >= 100 * RETINANET["limit"]]
    others = len(table.rows) - len(rows)
    if not rows:
        yield []
        return [Skipped(table.name, "no share of idle processors published", others)]
    j, reported = RETINANET, rows[0]["host"]
    threads, disk = re.search(r"(\d+) threads", reported), re.search(r"disk about (\d+) GB/s", reported)
    if not threads or not disk or not fed:
        yield []
        return [Skipped(table.name, "threads of the host, rate of its disk or a passing row not published", len(table.rows))]
    threads, disk = int(threads[1]), float(disk[1]) * 1e9
    rate = [float(r["au_percent"]) / 100 * int(r["n_accelerators"]) * j["batch"] / j["step"] for r in rows]
    busy = [(1 - float(r["min_cpu_idle_percent"]) / 100) * threads for r in rows]
    clients = yield [("A29", dict(hosts_count=1, cores_per_host_count=threads, sample_bytes=j["bytes"], cpu_time_per_sample_s=b / v,
                                  nic_bytes_per_s=disk, readers_per_host_count=1e6, read_time_s=1)) for b, v in zip(busy, rate)]
    gpus = yield [("A30", dict(supply_bytes_per_s=disk, client_bytes_per_s=w, au_target_ratio=j["limit"],
                               demand_per_gpu_bytes_per_s=j["batch"] * j["bytes"] / j["step"])) for w in clients]
    storage = yield [("A22", dict(supply_bytes_per_s=disk, au_target_ratio=j["limit"],
                                  demand_per_gpu_bytes_per_s=j["batch"] * j["bytes"] / j["step"]))]
    found = [Prediction(table.name, "accelerators that a host feeds", f"{table.rows[0]['source']} from {r['n_accelerators']}", max(fed), g,
                        "count", f"A30 with A29 (storage alone: {storage[0]:.0f})", origin=r["source"]) for r, g in zip(rows, gpus)]
    return found + [Skipped(table.name, "no processors left, or no share of idle ones published", others)]


@kind("spdl_pipelines")
def pipelines(table, tables):
    def rates(row):
        times, many = [float(t) for t in row["stage_measured_ms"].split(";")], [int(c) for c in row["stage_concurrency"].split(";")]
        rates = [1e3 * c / t for c, t in zip(many, times)]
        rates[0] /= int(row["batch_items"])
        return (rates + [1e12] * 3)[:3] + [1e3 / float(row["consumer_ms"])]
    values = yield [("B12", dict(zip(("fetch_per_s", "prep_per_s", "h2d_per_s", "gpu_per_s"), rates(r)))) for r in table.rows]
    return [Prediction(table.name, "batches of a pipeline of stages", r["pipeline"], float(r["sink_batches_per_s"]), v, "1/s", "B12", origin=table.name)
            for r, v in zip(table.rows, values)]


@kind("spdl_threads")
def threads(table, tables):
    """Threads that B3 asks for at the published rate, from the time of one."""
    groups = collections.defaultdict(dict)
    for r in table.rows:
        groups[(r["library"], r["stages"])][int(r["threads"])] = float(r["images_per_s"])
    rows = [(key, n, rate, by[1]) for key, by in groups.items() for n, rate in by.items() if n > 1 and 1 in by]
    needed = yield [("B3", dict(rank_sample_rate_per_s=rate, wall_time_per_sample_s=1 / one, target_utilization_ratio=1))
                    for _, _, rate, one in rows]
    return [Prediction(table.name, "threads of one process", f"{' '.join(key)}, {n} threads", n, v, "count", "B3", origin=key[0])
            for (key, n, _, _), v in zip(rows, needed)]


nothing("spdl_noisy_neighbour", "no formula lowers a rate for a busy host: published 0.92, 0.88 and 0.74 of it at 55 to 80, 80 to 92 and "
                                "above 92 % of the processors' time")
