"""Object stores, queries, checkpoints of frameworks, failures."""
import collections

from predictions import Prediction, Skipped, kind, nothing
from tables import having

LINE = 1e15  # no other limit
# E14's reference in configs/jobs: 419 interruptions of 16,384 GPUs in 54 days (LLAMA3).
REFERENCE = dict(reference_mtbf_s=54 * 86400 / 419, reference_gpus_count=16384)


@kind("object_concurrency")
def objects(table, tables):
    found, groups, reported = [], collections.defaultdict(list), 0
    for r in table.rows:
        groups[(r["source"], r["direction"], r["concurrency_kind"])].append(r)
    for (source, direction, what), rows in groups.items():
        if what == "objects a batch":
            found += yield from batches(table, source, direction, rows)
        elif what == "threads" and len(rows) > 1 and all(r["gbit_per_s"] for r in rows):
            rows.sort(key=lambda r: int(r["concurrency"]))
            first, line = rows[0], max(float(r["gbit_per_s"]) for r in rows)
            rates = yield [("G6", dict(clients_count=int(r["concurrency"]), per_client_bytes_per_s=float(first["gbit_per_s"]) / int(first["concurrency"]),
                                       backend_bytes_per_s=LINE, fabric_bytes_per_s=line)) for r in rows[1:]]
            found += [Prediction(table.name, "object rate of more threads", f"{source} {r['concurrency']} threads", float(r["gbit_per_s"]), v, "Gbit/s",
                                 "G6, the NIC as fabric", origin=source) for r, v in zip(rows[1:], rates)]
        else:
            reported += len(rows)
    return found + [Skipped(table.name, "the number of requests in flight is not published", reported)]


def batches(table, source, direction, rows):
    """t0 and w1 from the smallest and largest single object; a batch shares one line."""
    one = sorted((r for r in rows if r["concurrency"] == "1"), key=lambda r: float(r["object_bytes"]))
    if len(one) < 3:
        return [Skipped(table.name, "fewer than three sizes of single objects", len(rows))]
    (s0, t0), (s1, t1) = ((float(r["object_bytes"]), float(r["latency_ms"]) / 1e3) for r in (one[0], one[-1]))
    w1 = (s1 - s0) / (t1 - t0)
    rest = [r for r in rows if r not in (one[0], one[-1])]
    size = [float(r["object_bytes"]) * int(r["concurrency"]) for r in rest]
    rates = yield [("D1", dict(request_bytes=s, first_byte_latency_s=max(0.0, t0 - s0 / w1), stream_bytes_per_s=w1)) for s in size]
    return [Prediction(table.name, "time of objects over one line", f"{source} {direction} {r['concurrency']} x {int(float(r['object_bytes']))} B",
                       float(r["latency_ms"]) / 1e3, s / v, "s", "D1", origin=source + direction) for r, s, v in zip(rest, size, rates)]


@kind("vector_search")
def queries(table, tables):
    """Workers that Little's law finds in rate and latency: a query is one byte."""
    found = yield [("D2", dict(target_bytes_per_s=float(r["queries_per_s"]), request_bytes=1, first_byte_latency_s=float(r["mean_latency_ms"]) / 1e3,
                               stream_bytes_per_s=LINE)) for r in table.rows if r["workers"]]
    return [Prediction(table.name, "queries in flight", f"{r['index']} list {r['search_list']}", int(r["workers"]), v, "count", "D2", origin=r["source"])
            for r, v in zip((r for r in table.rows if r["workers"]), found)]


@kind("checkpoints")
def checkpoints(table, tables):
    rows = [r for r in table.rows if r["device_bytes_per_s"] and r["params_count"] and r["blocking_s"]]
    sizes = yield [("E1", dict(params_count=float(r["params_count"]), bytes_per_param=14)) for r in rows]
    times = yield [("E6", dict(transfer_bytes=s, path_bytes_per_s=float(r["device_bytes_per_s"]))) for s, r in zip(sizes, rows)]
    return [Prediction(table.name, "blocking save of a framework", f"{r['source']} {r['what']}", float(r["blocking_s"]), t, "s", "E6 with E1",
                       origin=r["source"]) for r, t in zip(rows, times)] + [
        Skipped(table.name, "the rate of the storage is not published", len(table.rows) - len(rows))]


@kind("model_loading")
def loading(table, tables):
    rows, without = having(table.rows, "weights_bytes", "storage_nominal_bytes_per_s", "seconds")
    times = yield [("E6", dict(transfer_bytes=float(r["weights_bytes"]), path_bytes_per_s=float(r["storage_nominal_bytes_per_s"]))) for r in rows]
    return [Prediction(table.name, "loading of weights", f"{r['source']} {r['loader']}", float(r["seconds"]), t, "s", "E6", origin=r["source"])
            for r, t in zip(rows, times)] + [Skipped(table.name, "the rate of the storage is not published", without)]


@kind("mttf_by_gpus")
def failures(table, tables):
    rows = [r for r in table.rows if r["mttf_hours"]]
    times = yield [("E14", REFERENCE | dict(gpus_count=int(r["gpus_count"]))) for r in rows]
    return [Prediction(table.name, "time between failures", f"{r['source']} {r['gpus_count']} GPUs", float(r["mttf_hours"]) * 3600, t, "s", "E14",
                       origin=r["source"]) for r, t in zip(rows, times)] + [
        Skipped(table.name, "modelled by its source, not measured", len(table.rows) - len(rows))]


nothing("mlperf_v3_kv_cache", "an open queue that grows during the whole run: its latency is not the storage's")
nothing("cache_artifacts", "results that came from memory: a proof of the cache state finds them, no formula")
nothing("interruptions", "shares of causes: no formula")
nothing("io500", "the score is a definition, and what a client gave is not published")
