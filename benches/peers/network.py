"""Runs headrace's network workloads, iperf3 and a minimal MPI program by turns, and prints ratios.

    python3 benches/peers/network.py --headrace build/release/headrace [--minimal build/release] [--turns 7]

TCP over loopback, by either engine, and iperf3 with the same number of streams and the same block size. Rates: more is better.
MPI all-reduce and the target minimal_mpi_all_reduce, the same calls: times, less is better. A turn runs all,
the order changes from turn to turn, and ratios are of the same turn. Needs mpirun, iperf3, and Python's standard
library.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"]
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                            "OMPI_MCA_btl": "self,vader"}
SECONDS = 1


def measured(headrace, entry, metric):
    with tempfile.TemporaryDirectory() as folder:
        config = {"schema": 1, "name": "peers", "target": {"path": "scratch"}, "workloads": [entry]}
        (Path(folder) / "peers.yaml").write_text(json.dumps(config))  # JSON is YAML
        done = subprocess.run([*MPIRUN, headrace, "--progress", "none", "run", "-c", "peers.yaml", "--no-report", "--out", "run"],
                              cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        point = json.loads((Path(folder) / "run/run.json").read_text())["points"][0]
        return statistics.median(next(m["values"] for m in point["metrics"] if m["name"] == metric))


def tcp_headrace(headrace, streams, engine):
    return measured(headrace, {"use": "tcp_stream", "interface": "lo", "streams": streams, "block_size": "128KiB",
                               "engine": engine, "time": f"{SECONDS}s", "repeat": 1}, "bandwidth")


def tcp_iperf3(streams):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    server = subprocess.Popen(["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", port], stdout=subprocess.DEVNULL)
    try:
        for _ in range(20):
            time.sleep(0.1)
            done = subprocess.run(["iperf3", "-c", "127.0.0.1", "-p", port, "-P", str(streams), "-t", str(2 * SECONDS),
                                   "-l", "128K", "-J"], capture_output=True, text=True)
            reported = json.loads(done.stdout)
            if "error" not in reported:
                return reported["end"]["sum_received"]["bits_per_second"] / 8
        raise RuntimeError(reported["error"])
    finally:
        server.terminate()
        server.wait()


def reduce_headrace(headrace, size, calls):
    return measured(headrace, {"use": "mpi_all_reduce", "message_size": f"{size}B", "calls": calls, "repeat": 1}, "time_s")


def reduce_minimal(minimal, size, calls):
    done = subprocess.run([*MPIRUN, minimal / "minimal_mpi_all_reduce", str(size), str(calls)], env=ENVIRONMENT,
                          capture_output=True, text=True, check=True)
    return float(done.stdout)


def contest(title, ours, theirs, turns, shown):
    """`ours`: name -> call, all compared with the same peer of the same turn; the order rotates."""
    calls = [*ours.items(), (None, theirs)]
    reported = {name: [] for name, _ in calls}
    for turn in range(turns):
        for name, call in calls[turn % len(calls):] + calls[:turn % len(calls)]:
            reported[name].append(call())
    for name in ours:
        ratios = [own / other for own, other in zip(reported[name], reported[None])]
        low, middle, high = statistics.quantiles(ratios, n=4) if turns > 1 else ratios * 3
        print(f"{title + name:52} {shown(statistics.median(reported[name])):>12} {shown(statistics.median(reported[None])):>12} "
              f"{middle:6.3f} [{low:.3f}, {high:.3f}]", flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--headrace", default="build/release/headrace", type=Path)
    options.add_argument("--minimal", default="build/release", type=Path)
    options.add_argument("--turns", default=7, type=int)
    options.add_argument("--only", default="", help="tcp or mpi")
    options.add_argument("--streams", default=[1, 2, 4], type=int, nargs="+", help="of TCP")
    asked = options.parse_args()
    headrace = asked.headrace.resolve()
    print(f"{'':52} {'headrace':>12} {'peer':>12}  ratio [quartiles]")
    if asked.only in ("", "tcp") and shutil.which("iperf3"):
        for streams in asked.streams:
            contest(f"TCP over loopback, {streams} stream(s), iperf3, ",
                    {engine: lambda engine=engine: tcp_headrace(headrace, streams, engine) for engine in ("posix", "io_uring")},
                    lambda: tcp_iperf3(streams), asked.turns, lambda rate: f"{rate / 1e9:.3g} GB/s")
    if asked.only in ("", "mpi"):
        for size, calls in ((8, 50_000), (4096, 20_000), (1 << 20, 1000), (25 << 20, 40)):
            contest(f"MPI all-reduce, 2 ranks, {size} B, minimal", {"": lambda: reduce_headrace(headrace, size, calls)},
                    lambda: reduce_minimal(asked.minimal.resolve(), size, calls), asked.turns,
                    lambda seconds: f"{seconds * 1e6:.4g} us")


if __name__ == "__main__":
    main()
