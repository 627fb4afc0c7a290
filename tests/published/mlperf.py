"""MLPerf Storage: utilization by the wall clock, rates, data sets, accelerators fed, checkpoints."""
import collections
import re
import statistics

from predictions import Prediction, Skipped, kind
from tables import having, number

MODELS = {name: dict(vocabulary_count=128256, hidden_count=hidden, layers_count=layers, ffn_count=ffn, heads_count=heads, kv_heads_count=8)
          for name, hidden, layers, ffn, heads in (("llama3-8b", 4096, 32, 14336, 32), ("llama3-70b", 8192, 80, 28672, 128),
                                                   ("llama3-405b", 16384, 126, 53248, 128))}
PLENTY = 1e15  # no limit is known


def family(row):
    """The system without what its name says of accelerator, workload and hosts."""
    name = row["system"]
    for pattern in (r"[-_](a100|h100)\b", r"[-_](unet3d|resnet50|cosmoflow)", r"[-_](a100|h100)\b",
                    r"[-_]?\d+-?hosts?\b|[-_]\d+clients\b|[-_]Nclient\d+|[-_]\d+Client\b"):
        name = re.sub(pattern, "", name, flags=re.I)
    return row["organization"] + "/" + name


NEEDED = ("n_accelerators", "batch_samples", "n_hosts", "step_s", "sample_bytes", "au_percent", "au_limit_percent", "samples_per_s",
          "read_threads", "files", "samples_per_file", "io_mib_per_s")


class Run:
    def __init__(self, row):
        self.row, self.family = row, family(row)
        self.n, self.batch, self.hosts = int(row["n_accelerators"]), int(row["batch_samples"]), int(row["n_hosts"])
        self.step, self.bytes, self.au = float(row["step_s"]), float(row["sample_bytes"]), float(row["au_percent"]) / 100
        self.limit, self.samples_per_s = float(row["au_limit_percent"]) / 100, float(row["samples_per_s"])
        self.threads = int(row["read_threads"])
        self.asked = self.threads if row["data_loader"] == "pytorch" else 1
        self.samples = int(row["files"]) * int(row["samples_per_file"])
        self.steps = self.samples // (self.n * self.batch)
        self.share = self.samples_per_s * self.step / (self.n * self.batch)
        self.place = (self.family, row["workload"], self.hosts)
        self.cell = (*self.place, row["accelerator"], self.n)
        self.name = f"{row['system']} {row['workload']} {self.n} {row['accelerator'].upper()} run {row['run']}"


@kind("mlperf_storage_v1")
def training_v1(table, tables):
    rows, without = having(table.rows, *NEEDED)
    runs, found = [Run(row) for row in rows], [Skipped(table.name, "a part of the configuration or of the result is not published", without)]
    if not runs:
        yield []
        return found
    rates = collections.defaultdict(dict)  # place -> cell -> the best samples/s
    for r in runs:
        rates[r.place][r.cell] = max(rates[r.place].get(r.cell, 0), r.samples_per_s)

    def add(r, quantity, published, predicted, unit, formulas, **more):
        found.append(Prediction(table.name, f"{r.row['workload']}: {quantity}", r.name, published, predicted, unit, formulas,
                                origin=r.row["organization"], **more))

    bound = yield [("A28", dict(steps_count=r.steps, requested_batches_count=r.asked, au_ratio=r.au)) for r in runs]
    # The fill is served by what storage showed elsewhere, where that is more than this run's own mean.
    faster = [max((rate for cell, rate in rates[r.place].items() if cell != r.cell), default=0) for r in runs]
    own = [u * r.n * r.batch / r.step for u, r in zip(bound, runs)]
    fill = yield [("A26", dict(accelerators_count=r.n, requested_batches_count=r.asked, batch_samples_count=r.batch, sample_bytes=r.bytes,
                               supply_bytes_per_s=max(f, o) * r.bytes)) for r, f, o in zip(runs, faster, own)]
    wall = yield [("A27", dict(steps_count=r.steps, step_time_s=r.step, fill_time_s=t, au_ratio=r.au)) for r, t in zip(runs, fill)]
    for r, f, o, by_bound, by_fill in zip(runs, faster, own, bound, wall):
        add(r, "utilization of the wall clock", r.share, by_fill if f > o else by_bound, "ratio", "A27 with A26" if f > o else "A28",
            points=True)
    read = yield [("A3", dict(sample_rate_per_s=r.samples_per_s, sample_bytes=r.bytes)) for r in runs]
    for r, value in zip(runs, read):
        add(r, "read bandwidth", float(r.row["io_mib_per_s"]) * 2**20, value, "B/s", "A3")
    with_memory = [r for r in runs if r.row["host_memory_gib"]]
    least = yield [("A20", dict(accelerators_count=r.n, batch_samples_count=r.batch, sample_bytes=r.bytes, hosts_count=r.hosts,
                                host_memory_bytes=float(r.row["host_memory_gib"]) * 2**30)) for r in with_memory]
    for r, value in zip(with_memory, least):  # a lower bound: more is as good
        add(r, "samples of the data set, at least", r.samples, r.samples if value <= 1.001 * r.samples else value, "count", "A20")
    yield from fed_pairs(table, runs, found)
    yield from more_accelerators(table, runs, found)
    return found


def largest(runs):
    """place -> accelerator -> the runs with the most accelerators."""
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for r in runs:
        cells[r.place][r.row["accelerator"]].append(r)
    return {place: {a: [r for r in v if r.n == max(x.n for x in v)] for a, v in by.items()} for place, by in cells.items()}


def mean(runs, what):
    return statistics.mean(what(r) for r in runs)


def supply(r):
    return r.samples_per_s * r.bytes


def fed_pairs(table, runs, found):
    """Accelerators of the faster kind, from the run of the slower one on the same hosts."""
    best_of_system = collections.defaultdict(dict)
    for r in runs:
        place = best_of_system[(r.family, r.hosts)]
        place[r.row["workload"]] = max(place.get(r.row["workload"], 0), supply(r))
    pairs = [(by["a100"], by["h100"]) for by in largest(runs).values() if "a100" in by and "h100" in by]

    def demand(r, rate, target):
        return dict(supply_bytes_per_s=rate, demand_per_gpu_bytes_per_s=r.batch * r.bytes / r.step, au_target_ratio=target)

    # The limit leaves the fill out, the mean rate of a run does not: the demand is that of the wall clock, with the loader of
    # the run that is known.
    share = yield [("A28", dict(steps_count=a[0].steps, requested_batches_count=a[0].asked, au_ratio=h[0].limit)) for a, h in pairs]
    fed = yield [("A30", demand(h[0], mean(a, supply), u) | dict(client_bytes_per_s=PLENTY)) for (a, h), u in zip(pairs, share)]
    own = yield [("A22", demand(a[0], mean(a, supply), u)) for (a, _), u in zip(pairs, share)]
    for i, (a, h) in enumerate(pairs):
        named = []
        if own[i] >= a[0].n + 1:
            named.append("below its limit")
        others = [rate for job, rate in best_of_system[(a[0].family, a[0].hosts)].items() if job != a[0].row["workload"]]
        if others and max(others) > 1.1 * min(mean(a, supply), mean(h, supply)):
            named.append("host-bound, other job")
        # tf.data's readers also parse; PyTorch's only wait.
        processors = number(a[0].row["cpus_per_host"]) if a[0].row["data_loader"] == "tensorflow" else None
        if processors and a[0].n * a[0].threads > a[0].hosts * processors:
            named.append("more readers than processors")
        found.append(Prediction(table.name, "accelerators fed (H100 from A100)", f"{a[0].family} {a[0].row['workload']}, {a[0].hosts} hosts",
                                h[0].n, fed[i], "count", "A30 with A28", named=", ".join(named), origin=h[0].row["organization"]))


def more_accelerators(table, runs, found):
    """Samples per second with more accelerators on the same hosts, from the smallest number."""
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for r in runs:
        cells[(*r.place, r.row["accelerator"])][r.n].append(r)
    steps = [(by[min(by)], by[n]) for by in cells.values() for n in sorted(by)[1:]]
    rates = yield [("G6", dict(clients_count=b[0].n, per_client_bytes_per_s=mean(a, supply) / a[0].n, backend_bytes_per_s=PLENTY,
                               fabric_bytes_per_s=PLENTY)) for a, b in steps]
    for (a, b), rate in zip(steps, rates):
        found.append(Prediction(table.name, "rate of more accelerators, same hosts", f"{b[0].name}, from {a[0].n}", mean(b, supply), rate,
                                "B/s", "G6", origin=b[0].row["organization"]))


@kind("mlperf_v1_step_traces")
def traces(table, tables):
    configured = {(r.row["organization"], r.row["system"], r.row["workload"], r.row["accelerator"]): r
                  for t in tables if t.kind == "mlperf_storage_v1" for r in map(Run, having(t.rows, *NEEDED)[0])}
    rows = [(row, configured.get((row["organization"], row["system"], row["workload"], row["accelerator"]))) for row in table.rows]
    found = [Skipped(table.name, "the configuration of the run is in no other table", sum(c is None for _, c in rows))]
    rows = [(row, c) for row, c in rows if c is not None]
    fill = yield [("A26", dict(accelerators_count=int(row["ranks"]), requested_batches_count=c.asked, batch_samples_count=c.batch,
                               sample_bytes=c.bytes, supply_bytes_per_s=float(row["samples_per_s"]) * c.bytes)) for row, c in rows]
    wall = yield [("A27", dict(steps_count=int(row["steps"]), step_time_s=float(row["nominal_step_s"]), au_ratio=float(row["au_published"]),
                               fill_time_s=float(row["first_step_mean_s"]) - float(row["nominal_step_s"]))) for row, _ in rows]
    for (row, c), predicted, share in zip(rows, fill, wall):
        name = f"{row['system']} run {row['run']} epoch {row['epoch']}"
        found.append(Prediction(table.name, "first step of an epoch", name, float(row["first_step_mean_s"]), predicted, "s", "A26",
                                origin=row["organization"]))
        seen = float(row["samples_per_s"]) * float(row["nominal_step_s"]) / (int(row["ranks"]) * c.batch)
        found.append(Prediction(table.name, "wall clock from the traced first step", name, seen, share, "ratio", "A27", points=True,
                                origin=row["organization"]))
    return found


@kind("mlperf_v3_training")
def training_v3(table, tables):
    rows, without = having(table.rows, "n_accelerators", "batch_samples", "step_s", "sample_bytes", "au_percent", "samples_per_s", "io_mib_per_s")
    found = [Skipped(table.name, "a part of the configuration or of the result is not published", without)]
    rate = yield [("A1", dict(global_batch_samples_count=int(r["n_accelerators"]) * int(r["batch_samples"]), step_time_s=float(r["step_s"])))
                  for r in rows]
    read = yield [("A3", dict(sample_rate_per_s=float(r["samples_per_s"]), sample_bytes=float(r["sample_bytes"]))) for r in rows]
    for r, full, bandwidth in zip(rows, rate, read):
        name = f"{r['system']} {r['job']} {r['n_accelerators']} {r['accelerator']}"
        found.append(Prediction(table.name, "samples per second from AU", name, float(r["samples_per_s"]), full * float(r["au_percent"]) / 100,
                                "1/s", "A1 with AU", origin=r["organization"]))
        found.append(Prediction(table.name, "read bandwidth", name, float(r["io_mib_per_s"]) * 2**20, bandwidth, "B/s", "A3",
                                origin=r["organization"]))
    return found


@kind("mlperf_v3_checkpoints")
def checkpoints_v3(table, tables):
    found = [Skipped(table.name, "size not published, or a shape that E2 does not give (1T)",
                     sum(r["model"] not in MODELS or not r["checkpoint_gib"] for r in table.rows))]
    rows = [r for r in table.rows if r["model"] in MODELS and r["checkpoint_gib"]]
    params = yield [("E2", MODELS[r["model"]]) for r in rows]
    sizes = yield [("E1", dict(params_count=p, bytes_per_param=14)) for p in params]
    timed = [r for r in rows if r["duration_s"] and r["gib_per_s"]]
    times = yield [("E6", dict(transfer_bytes=float(r["checkpoint_gib"]), path_bytes_per_s=float(r["gib_per_s"]))) for r in timed]
    for r, size in zip(rows, sizes):
        found.append(Prediction(table.name, "checkpoint size", f"{r['organization']} {r['model']}", float(r["checkpoint_gib"]) * 2**30, size,
                                "B", "E1 with E2", origin=r["source"]))
    for r, time in zip(timed, times):
        found.append(Prediction(table.name, "time of a save from its rate", f"{r['organization']} {r['model']}", float(r["duration_s"]), time,
                                "s", "E6", origin=r["source"]))
    return found
