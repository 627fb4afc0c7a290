"""All-reduce by size, from link rates alone and from two measured sizes; rails; host links."""
import collections
import math

from predictions import Prediction, Skipped, kind, nothing
from tables import having, number

# What NCCL counts of a GPU's NVLinks, one way [B/s]: src/graph/topo.h, 12, 18 and 18 links.
LINKS = {"ampere": 12 * 20.0e9, "hopper": 18 * 20.6e9, "blackwell": 18 * 40.1e9}
GENERATIONS = (("A100", "ampere"), ("GH200", "hopper"), ("H100", "hopper"), ("H200", "hopper"), ("H20", "hopper"), ("GB200", "blackwell"),
               ("GB300", "blackwell"), ("B200", "blackwell"), ("B300", "blackwell"))
RACK = 72           # GPUs of an NVLink domain of GB200 and GB300
LINE_SHARE = 0.96   # F22: what large messages reach of a NIC's line rate
MOST_SMALL, LEAST_LARGE = 65536, 64 << 20  # sizes that show latency and bandwidth alone
SLOW = 0.8           # of the links: less is slow
SLOWEST_LATENCY = 2  # times NCCL's own


class Cluster:
    def __init__(self, rows):
        first = rows[0]
        words = first["hardware"].replace("(", " ").replace(",", " ").split()
        self.generation = next((g for word, g in GENERATIONS if word in words), None)
        nics, rate = number(first["nics_per_node"]), number(first["nic_gbit_per_s"])
        # A source without a number of nodes that has NICs used them: two nodes at least.
        self.ranks, self.nodes = int(first["ranks"]), int(first["nodes"] or (2 if nics else 1))
        per_node = self.ranks // self.nodes
        if any(w.startswith(("GB200", "GB300")) for w in words):  # hosts of a rack are one node to NCCL
            self.nodes = math.ceil(self.ranks / RACK)
        # A rank uses the NICs next to it: of a node with eight places, an eighth, but one at least.
        used = nics and min(nics, per_node * max(1, nics / 8))
        self.network = used * rate / 8 * 1e9 * LINE_SHARE if nics and rate else None
        how = first["algorithm"].lower()
        self.algorithm = next((a for a in ("ring", "tree", "nvls") if how.startswith(a)), "any")
        self.modelled = "collnet" not in how and "rccl" not in how

    def inputs(self, size, **changes):
        asked = dict(message_bytes=size, ranks_count=self.ranks, nodes_count=self.nodes, algorithm=self.algorithm,
                     gpu_generation=self.generation, intra_bytes_per_s=LINKS[self.generation])
        if self.nodes > 1:
            asked["node_network_bytes_per_s"] = self.network or 1e13
        return asked | changes

    def slowest(self, size):
        """As `headrace doctor --expect` has it (harness/judge/expectations/collectives.h)."""
        changes = dict(intra_bytes_per_s=SLOW * LINKS[self.generation], latency_scale_ratio=SLOWEST_LATENCY, estimate="most")
        if self.nodes > 1:
            changes["node_network_bytes_per_s"] = SLOW * self.network
        return self.inputs(size, **changes)


@kind("all_reduce")
def all_reduce(table, tables):
    found = []
    sources = collections.defaultdict(list)
    for row in table.rows:
        sources[row["source"]].append(row)
    for source, rows in sources.items():
        rows, without = having(rows, "ranks", "bytes")
        found.append(Skipped(table.name, "ranks or size not published", without))
        if not rows:
            yield []
            continue
        found += yield from one_cluster(table, source, sorted(rows, key=lambda r: float(r["bytes"])))
    return found


def one_cluster(table, source, rows):
    cluster = Cluster(rows)
    if cluster.generation is None or not cluster.modelled:
        return [Skipped(table.name, "NCCL has no constants for this hardware or algorithm (RCCL, CollNet)", len(rows))]
    factor = 2 * (cluster.ranks - 1) / cluster.ranks
    points = [(float(r["bytes"]), number(r["time_us"]) * 1e-6 if r["time_us"] else factor * float(r["bytes"]) / float(r["busbw_gb_per_s"]) / 1e9)
              for r in rows if r["time_us"] or r["busbw_gb_per_s"]]
    found = yield from from_links(table, source, cluster, points)
    found += yield from from_two_sizes(table, source, cluster, points)
    return found


def prediction(table, source, what, point, value, following, named=(), within=(), one_node=True):
    named = list(named)
    if following is not None and point[1] > following[1]:
        named.append("slower than a larger one")
    return Prediction(table.name, what, f"{source} {int(point[0])} B", point[1], value, "s", "F28", named=", ".join(named), origin=source,
                      within=within, one_node=one_node)


def from_links(table, source, cluster, points):
    if cluster.nodes > 1 and cluster.network is None:
        return [Skipped(table.name, "the rate of the NICs is not published", len(points))]
    values = yield [("F28", cluster.inputs(size)) for size, _ in points]
    fastest = yield [("F28", cluster.inputs(size, launch_time_s=0, estimate="least")) for size, _ in points]
    slowest = yield [("F28", cluster.slowest(size)) for size, _ in points]
    slow = points[-1][0] >= LEAST_LARGE and values[-1] < SLOW * points[-1][1]
    # Sizes at which latency is half of the time or more.
    late = 2 * values[0] if points[0][0] <= MOST_SMALL and values[0] < SLOW * points[0][1] else 0

    def named(value):
        return ["slow links"] * slow + ["slow hops"] * (value <= late)
    return [prediction(table, source, "all-reduce from link rates", p, v, following, named(v), (best, worst), cluster.nodes == 1)
            for p, v, best, worst, following in zip(points, values, fastest, slowest, points[1:] + [None])]


def from_two_sizes(table, source, cluster, points):
    """Latency scaled by the smallest size, bandwidth by the largest one; the sizes between are predicted."""
    if len(points) < 3 or points[-1][0] < 4 * points[0][0]:
        return [Skipped(table.name, "fewer than three sizes", len(points))]
    small, large = points[0], points[-1]
    nominal = LINKS[cluster.generation]
    # Switches that reduce give more than a ring can: less than that was a ring or a tree.
    may_reduce = cluster.nodes > 1 or 2 * (cluster.ranks - 1) / cluster.ranks * large[0] / large[1] > nominal
    algorithm = "ring" if cluster.algorithm == "any" and not may_reduce else cluster.algorithm
    links, network, scale = nominal, 1e13, 1.0

    def ask(size):
        changes = dict(algorithm=algorithm, intra_bytes_per_s=links, latency_scale_ratio=scale)
        return "F28", cluster.inputs(size, **changes, **({"node_network_bytes_per_s": network} if cluster.nodes > 1 else {}))

    (unlimited,) = yield [ask(large[0])]
    by_network = cluster.nodes > 1 and unlimited < large[1]
    if by_network:
        network = large[0] / large[1]
    for _ in range(12):
        at_small, at_large = yield [ask(small[0]), ask(large[0])]
        if small[0] <= MOST_SMALL:
            scale *= small[1] / at_small
        if by_network:
            network *= at_large / large[1]
        else:
            links *= at_large / large[1]
    values = yield [ask(size) for size, _ in points]
    return [prediction(table, source, "all-reduce from two sizes", p, v, following)
            for p, v, following in list(zip(points, values, points[1:] + [None]))[1:-1]]


@kind("node_bandwidth")
def host_links(table, tables):
    rows = [r for r in table.rows if r["what"] in ("host_to_device", "device_to_host") and ("H200" in r["machine"] or "H100" in r["machine"])]
    raw = yield [("B6", dict(lane_transfers_per_s=32e9, lanes_count=16)) for _ in rows]
    rate = yield [("B7", dict(raw_bytes_per_s=w, max_payload_bytes=256, packet_overhead_bytes=24)) for w in raw]
    found = [Prediction(table.name, "copies between host and GPU", f"{r['machine']} {r['what']}", float(r["gb_per_s"]) * 1e9, v, "B/s",
                        "B7 with B6", origin=r["source"]) for r, v in zip(rows, rate)]
    return found + [Skipped(table.name, "the devices behind it are not published", len(table.rows) - len(rows))]


@kind("nic_chunks")
def rails(table, tables):
    """NICs that would carry what was measured over one."""
    rows = [(r, number(r["gb_per_s"]) or (number(r["gbit_per_s"]) or 0) / 8) for r in table.rows]
    rows = [(r, rate) for r, rate in rows if rate]
    needed = yield [("F22", dict(node_bytes_per_s=rate * 1e9, line_rate_bits_per_s=400e9, efficiency_ratio=LINE_SHARE)) for _, rate in rows]
    # F22 rounds up: the rate that its one NIC carries is the prediction.
    found = [Prediction(table.name, "rate of one rail", f"{r['tool']} {r['chunk_bytes']} B chunks", rate * 1e9, 50e9 * LINE_SHARE * min(1, n),
                        "B/s", "F22", named="" if r["results_right"] == "yes" else "wrong data", origin=r["source"])
             for (r, rate), n in zip(rows, needed)]
    return found + [Skipped(table.name, "no rate published", len(table.rows) - len(rows))]


nothing("anchor_errors", "errors that another simulator states for itself: 20.6, 12.0 and 9.7 % (2, 4 and 8 H100)")
