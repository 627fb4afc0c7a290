"""Shared stores for real, in network namespaces: several clients saturate the servers, and a slow server is found."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
BINARY = os.environ.get("HEADRACE", str(HERE.parents[1] / "build/release/headrace"))
PROGRAMS = {"moosefs": ("mfsmaster", "mfschunkserver", "mfsmount"), "glusterfs": ("glusterfsd", "glusterfs")}
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
CABLE = 10e6  # [B/s]: 80 Mbit/s


def missing(store):
    """Why this store cannot run here, or "". MOOSEFS or GLUSTERFS may name a folder into which its packages were unpacked."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        return "needs root and /dev/fuse"
    root = os.environ.get(store.upper(), "")
    path = f"{root}/usr/sbin:{root}/usr/bin:{os.environ['PATH']}:/usr/sbin:/sbin"
    absent = [program for program in (*PROGRAMS[store], "mpirun", "tc") if not shutil.which(program, path=path)]
    return f"not installed: {', '.join(absent)}" if absent else ""


def configs_of_faults(folder):
    return {
        "reads": "needs:\n  - {id: fast, metric: shard_stream.read_bandwidth, at_least: 5MB/s}\n"
                 "workloads:\n  - {use: shard_stream, files: 12, file_size: 3MB, workers: 4, cache: cold, repeat: 1}\n",
        "tier": f"workloads:\n  - {{use: local_cache, files: 24, file_size: 1MB, workers: 4, tier: {folder}/ssd, tier_ratio: 0.5, "
                "epochs: 2, cache: cold, repeat: 1}\n",
        "pairs": "workloads:\n  - {use: tcp_stream, schedule: all_pairs, time: 300ms, repeat: {looks: [3]}}\n",
    }


class Store:
    """The scenarios' runs of a store; `net`: options of with-net-hosts."""

    def __init__(self, name, folder, *net, hosts=5, rate="80mbit", limit_s=400, configs=None, scenario=()):
        self.folder = folder
        for config, text in (configs or configs_of_faults(folder)).items():
            where = folder / ("." if config == "pairs" else "mnt") / "scratch"
            (folder / f"{config}.yaml").write_text(f"schema: 1\nname: {name}\ntarget: {{path: {where}}}\n{text}")
        command = [HERE.parent / "net/with-net-hosts", str(hosts), "--rate", rate, *net, "-t", str(limit_s), "--",
                   HERE / "scenarios", f"serve-{name}", BINARY, folder, *scenario]
        if root := os.environ.get(name.upper()):  # unpacked, not installed: programs look for their libraries where those would be
            show = f'mount -t overlay overlay -o lowerdir="$0{LIBRARIES}:{LIBRARIES}" {LIBRARIES} && exec "$@"'
            command = ["unshare", "--mount", "/bin/bash", "-c", show, root, *command]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def reported(self, name):
        return (self.folder / f"{name}.out").read_text()

    def code(self, name):
        return int((self.folder / f"{name}.code").read_text())

    def run(self, name):
        return json.loads((self.folder / name / "run.json").read_text())

    def point(self, name):
        [point] = self.run(name)["points"]
        assert point["status"] == "ok", (point["reason"], self.reported(name))
        return point

    def rate(self, clients):
        # Of the first reads alone: what a client has read, it keeps in 16 MiB of its own and gives again.
        [rate] = [m["median"] for m in self.point(f"clients{clients}")["metrics"] if m["name"] == "read_bandwidth"]
        return rate


@pytest.fixture(scope="module", params=list(PROGRAMS))
def stores(request, tmp_path_factory):
    if reason := missing(request.param):
        pytest.skip(f"{request.param}: {reason}")
    return {kind: Store(request.param, tmp_path_factory.mktemp(f"{request.param}-{kind}"), *options)
            for kind, options in {"healthy": (), "slow": ("--slow", "node3:16mbit")}.items()}


def test_clients_saturate_the_servers(stores):
    one, two, three = (stores["healthy"].rate(clients) for clients in (1, 2, 3))
    print(f"read_bandwidth of 1, 2, 3 clients: {one / 1e6:.3g}, {two / 1e6:.3g}, {three / 1e6:.3g} MB/s")
    assert one < 1.3 * CABLE       # a client's own cable
    assert two > 1.4 * one
    assert three < 1.3 * two       # of two servers; each cable gives what it gives


def test_data_kept_by_the_client_leaves_cold_unproven(stores):
    for clients in (1, 2, 3):
        for repetition in stores["healthy"].point(f"clients{clients}")["repetitions"]:
            assert not repetition["cache"]["proven"] and "the client's cache is not seen" in repetition["cache"]["why"]
        [judged] = stores["healthy"].run(f"clients{clients}")["judgements"]
        assert stores["healthy"].code(f"clients{clients}") == 11 and judged["reason"] == "cache-unproven"


def test_a_cache_tier_on_the_node_pays_after_some_epochs(stores):
    """Half of the files come from the tier, at once; the store gives the others."""
    reported = {kind: {m["name"]: m["median"] for m in stores[kind].point("tier")["metrics"]} for kind in stores}
    for kind, metrics in reported.items():
        assert metrics["hit_ratio"] == metrics["hit_ratio_predicted_c5"] == 0.5, (kind, metrics)
        assert metrics["cached_sample_rate"] > 1.2 * metrics["storage_sample_rate"], (kind, metrics)
        assert metrics["break_even_epochs"] >= 0, (kind, metrics)  # 0: filling it cost nothing
        print(kind, {name: round(metrics[name], 2) for name in
                     ("storage_sample_rate", "fill_sample_rate", "cached_sample_rate", "break_even_epochs")})


def test_a_slow_server_is_found(stores):
    assert stores["slow"].rate(3) < 0.6 * stores["healthy"].rate(3)
    healthy, slow = ([judged["scope"] for judged in stores[kind].run("pairs")["judgements"]] for kind in ("healthy", "slow"))
    assert (healthy, slow) == ([], ["node node3"])
