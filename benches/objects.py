"""What asking an object store costs, and whether a known store is told truly: headrace beside a minimal libcurl program.

    python3 benches/objects.py cost [--turns 9] [--headrace build/release/headrace]     nginx on loopback, objects of 130 kB
    python3 benches/objects.py known [--turns 5]                                a held rate and a known latency
    python3 benches/objects.py throttled [--turns 20]                           is throttling named in every verdict?
    python3 benches/objects.py listing                                          a bucket of a million keys

`cost`: requests of headrace, signed and not, of the program, and of obstore and s3torchconnector where --python has them, by turns; the server's processor time is not counted. Needs nginx, a C++ compiler and libcurl's header. Nothing of the user's AWS settings is read.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/objects"))
import million  # noqa: E402
from exact_store import ExactStore  # noqa: E402
from faulty_store import FaultyStore  # noqa: E402
from servers import environment, free_port, wait_for  # noqa: E402

MINIMAL = ROOT / "benches/peers/minimal/get_objects.cc"
PYTHON = ROOT / "benches/peers/get_objects.py"
PYTHON_CLIENTS = {"obstore": "obstore", "s3torchconnectorclient": "s3torchconnector"}
OBJECT = 130_000
KEYS = 1_000_000
NGINX = """\
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
  log_format served '$msec $request_time $body_bytes_sent'; access_log {log}; sendfile on; tcp_nopush on; keepalive_requests 1000000000; default_type application/octet-stream;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{port}; root {folder}/served;
    location = /bucket {{ default_type application/xml; alias {folder}/list.xml; }}
    location /bucket/ {{ {more} }}
  }}
}}
"""


@contextlib.contextmanager
def nginx(folder: pathlib.Path, sizes: list[int], more: str = ""):
    """Serves objects s3://bucket/set/NUMBER; its listing is a file, without ETags. `more`: of its configuration for objects."""
    served = folder / "served/bucket/set"
    served.mkdir(parents=True)
    draw = random.Random(1)
    for number, size in enumerate(sizes):
        (served / f"{number:06}").write_bytes(draw.randbytes(size))
    listed = "".join(f"<Contents><Key>set/{n:06}</Key><Size>{size}</Size></Contents>" for n, size in enumerate(sizes))
    (folder / "list.xml").write_text(f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>")
    port = free_port()
    (folder / "nginx.conf").write_text(("user root; " if os.geteuid() == 0 else "") +
                                      NGINX.format(folder=folder, port=port, more=more, log=f"{folder}/served.log served" if more else "off"))
    process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)], stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def headrace(binary: str, folder: pathlib.Path, endpoint: str, workload: dict, needs: list | None = None,
             keys: bool = True) -> tuple[dict, str]:
    config = folder / "config.yaml"
    config.write_text(json.dumps({"schema": 1, "needs": needs or [], "workloads": [{"path": "s3://bucket/set", **workload}]}))
    out = folder / f"out-{time.monotonic_ns()}"
    signed = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"} if keys else {}
    done = subprocess.run([binary, "run", "-c", str(config), "--no-report", "--out", str(out), "--progress", "none"],
                          cwd=folder, capture_output=True, text=True, env=environment(endpoint, **signed))
    if not (out / "run.json").exists():
        raise SystemExit(done.stdout + done.stderr)
    return json.loads((out / "run.json").read_text()), done.stdout + done.stderr


def medians(run: dict) -> dict[str, float]:
    return {metric["name"]: metric["median"] for metric in run["points"][0]["metrics"]}


def ratio_text(own: list[float], other: list[float]) -> str:
    ratios = [a / b for a, b in zip(own, other)]
    return f"{statistics.median(ratios):.2f} x [{min(ratios):.2f}, {max(ratios):.2f}]"


def cost(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    program = folder / "minimal"
    subprocess.run(["c++", "-std=c++20", "-O3", f"-I{ROOT}", "-o", str(program), str(MINIMAL), "-lcurl"], check=True)
    count, passes = 1000, 5
    with nginx(folder, [OBJECT] * count) as endpoint:
        urls = "".join(f"{endpoint}/bucket/set/{n:06}\n" for n in range(count)) * passes
        rates: dict[str, list[float]] = {"headrace, signed": [], "headrace, not signed": [], "minimal, not signed": []}
        for module, client in PYTHON_CLIENTS.items():
            if subprocess.run([arguments.python, "-c", f"import {module}"], capture_output=True).returncode == 0:
                rates[f"{client}, signed"] = []
            else:
                print(f"{client} is left out: {arguments.python} has no {module}")
        cpu: dict[str, list[float]] = {side: [] for side in rates}

        def own(side: str) -> None:
            run, _ = headrace(arguments.headrace, folder, endpoint,
                              {"use": "small_file_read", "workers": 1, "repeat": passes}, keys=side == "headrace, signed")
            repetitions = run["points"][0]["repetitions"]
            operations = sum(r["phases"][0]["operations"] for r in repetitions)
            rates[side].append(operations / sum(r["metrics"]["elapsed_s"] for r in repetitions))
            cpu[side].append(sum(r["metrics"]["cpu_s"] for r in repetitions) / operations)

        keys = "".join(f"set/{n:06}\n" for n in range(count))

        def other(side: str) -> None:
            command, given = [program, "1", "1"], urls
            if not side.startswith("minimal"):
                command, given = [arguments.python, PYTHON, side.split(",")[0], endpoint, "bucket", str(passes)], keys
            done = subprocess.run(command, input=given, check=True, capture_output=True, text=True,
                                  env=environment(endpoint, AWS_ACCESS_KEY_ID="id", AWS_SECRET_ACCESS_KEY="secret"))
            told = json.loads(done.stdout)
            rates[side].append(told["operations"] / told["elapsed_s"])
            cpu[side].append(told["cpu_s"] / told["operations"])

        for turn in range(arguments.turns):
            # Each other turn the other way round, so that a machine that becomes slower favours none.
            for side in list(rates)[::-1 if turn % 2 else 1]:
                (own if side.startswith("headrace") else other)(side)
        print(f"GET of {OBJECT} B from nginx on loopback, one connection, {arguments.turns} turns")
        base = "minimal, not signed"
        for side in rates:
            print(f"  {side:24} {statistics.median(rates[side]):7.0f}/s  {ratio_text(rates[side], rates[base])}   "
                  f"{1e6 * statistics.median(cpu[side]):5.1f} us of processor time each  {ratio_text(cpu[side], cpu[base])}")


def known(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    size, count, held = 12 << 20, 6, 2 << 20
    rates = []
    for turn in range(arguments.turns):
        place = folder / f"held{turn}"
        place.mkdir()
        with nginx(place, [size] * count, f"limit_rate {held};") as endpoint:
            run, _ = headrace(arguments.headrace, place, endpoint, {"use": "small_file_read", "workers": 2, "repeat": 1})
            told = run["points"][0]["repetitions"][-1]["metrics"]["read_bandwidth"]
        served = [tuple(map(float, line.split())) for line in (place / "served.log").read_text().splitlines()]
        last = sorted(one for one in served if one[2] == size)[-count:]  # of one repetition: a disturbed one is taken again
        own = size * count / (max(end for end, _, _ in last) - min(end - took for end, took, _ in last))
        rates.append(told / own - 1)
        print(f"nginx holds two connections at {held} B/s: by its log it sent {own:.0f} B/s, told {told:.0f} B/s, {rates[-1]:+.2%}")
    print(f"  at most {max(map(abs, rates)):.2%} (1 % is wanted)")
    for latency in (0.0, 0.001, 0.002, 0.01, 0.05):
        off = []
        for _ in range(arguments.turns):
            with ExactStore(200, 1000, latency) as store:
                run, _ = headrace(arguments.headrace, folder, store.endpoint,
                                  {"use": "small_file_read", "workers": 1, "repeat": 1}, keys=False)
                took = 1e3 * statistics.median(store.served[-200:])
            told = run["points"][0]["repetitions"][-1]["metrics"]["first_byte_latency_p50_ns"] / 1e6
            off.append(told - took)
        print(f"first byte after {took:.3f} ms: told {', '.join(f'{one:+.3f}' for one in off)} ms more "
              f"(2 % + 0.1 ms are {0.02 * took + 0.1:.3f})")


def throttled(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    objects = {f"set/{n:04}": bytes(100) for n in range(60)}
    need = [{"id": "rate", "metric": "small_file_read.file_rate", "at_least": "1e6/s"}]
    named = wrongly = 0
    for turn in range(arguments.turns):
        for each in (7, 0):
            with FaultyStore(objects, refuse_each=each) as store:
                run, _ = headrace(arguments.headrace, folder, store.endpoint,
                                  {"use": "small_file_read", "workers": 1 + turn % 4, "repeat": 5}, need)
            told = "The store throttled" in run["judgements"][0]["explanation"]
            named += told and each > 0
            wrongly += told and each == 0
    print(f"throttling named in {named} of {arguments.turns} verdicts of a throttled bucket, in {wrongly} of as many others")


def listing(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    job = {"schema": 1, "job": "million", "cluster": {"nodes": 1, "gpus_per_node": 1}, "step": {"time": "1s", "micro_batch": 64},
           "dataset": {"layout": "files", "samples": KEYS, "sample_size": f"{OBJECT}B"}, "loader": {"workers_per_gpu": 2}}
    (folder / "job.yaml").write_text(json.dumps(job))
    entry = {"use": "metadata", "path": "s3://bucket/set", "workers": 8, "repeat": 1}
    (folder / "names.yaml").write_text(json.dumps({"schema": 1, "workloads": [entry]}))
    for words in (["plan", "job.yaml", "--data", "s3://bucket/set"], ["run", "-c", "names.yaml", "--no-report", "--out", "out"]):
        with million.bucket(KEYS) as server:
            begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([arguments.headrace, *words], cwd=folder, capture_output=True, text=True,
                                  env=environment(server.endpoint))
            took, used = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)
        cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        print(f"headrace {words[0]} lists {KEYS} keys in {took:.1f} s, of them {cpu:.2f} s of its processor time; "
              f"{used.ru_maxrss / 1024:.0f} MiB of memory at most until here")
    repetition = json.loads((folder / "out/run.json").read_text())["points"][0]["repetitions"][-1]
    print(f"  by 8 at once: {repetition['metrics']['list_rate']:.0f} keys/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["cost", "known", "throttled", "listing"])
    parser.add_argument("--turns", type=int)
    parser.add_argument("--python", default=sys.executable, help="that has obstore and s3torchconnectorclient")
    parser.add_argument("--headrace", default=str(ROOT / "build/release/headrace"))
    arguments = parser.parse_args()
    arguments.headrace = os.path.abspath(arguments.headrace)
    arguments.turns = arguments.turns or {"cost": 9, "known": 5, "throttled": 20}.get(arguments.what, 1)
    with tempfile.TemporaryDirectory() as name:
        {"cost": cost, "known": known, "throttled": throttled, "listing": listing}[arguments.what](arguments, pathlib.Path(name))


if __name__ == "__main__":
    main()
