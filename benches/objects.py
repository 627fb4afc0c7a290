"""What asking an object store costs, and whether a known store is told truly: headrace beside a minimal libcurl program.

    python3 benches/objects.py cost [--turns 9] [--headrace build/release/headrace]     nginx on loopback, objects of 130 kB
    python3 benches/objects.py known                                            a held rate and a known latency
    python3 benches/objects.py throttled [--turns 20]                           is throttling named in every verdict?
    python3 benches/objects.py listing                                          a bucket of a million keys

`cost`: requests of headrace, signed and not, and of the program, by turns; the server's processor time is not counted. Needs nginx, a C++ compiler and libcurl's header. Nothing of the user's AWS settings is read.
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
from faulty_store import FaultyStore  # noqa: E402
from servers import environment, free_port, wait_for  # noqa: E402

MINIMAL = ROOT / "benches/peers/minimal/get_objects.cc"
OBJECT = 130_000
KEYS = 1_000_000
NGINX = """\
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; default_type application/octet-stream;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{port}; root {folder}/served;
    location = /bucket {{ default_type application/xml; alias {folder}/list.xml; }}
    location /bucket/ {{ }}
  }}
}}
"""


@contextlib.contextmanager
def nginx(folder: pathlib.Path, sizes: list[int]):
    """Serves objects s3://bucket/set/NUMBER; its listing is a file, without ETags."""
    served = folder / "served/bucket/set"
    served.mkdir(parents=True)
    draw = random.Random(1)
    for number, size in enumerate(sizes):
        (served / f"{number:06}").write_bytes(draw.randbytes(size))
    listed = "".join(f"<Contents><Key>set/{n:06}</Key><Size>{size}</Size></Contents>" for n, size in enumerate(sizes))
    (folder / "list.xml").write_text(f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>")
    port = free_port()
    (folder / "nginx.conf").write_text(("user root; " if os.geteuid() == 0 else "") +
                                      NGINX.format(folder=folder, port=port))
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
        cpu: dict[str, list[float]] = {side: [] for side in rates}

        def own(side: str) -> None:
            run, _ = headrace(arguments.headrace, folder, endpoint,
                              {"use": "small_file_read", "workers": 1, "repeat": passes}, keys=side == "headrace, signed")
            repetitions = run["points"][0]["repetitions"]
            operations = sum(r["phases"][0]["operations"] for r in repetitions)
            rates[side].append(operations / sum(r["metrics"]["elapsed_s"] for r in repetitions))
            cpu[side].append(sum(r["metrics"]["cpu_s"] for r in repetitions) / operations)

        def other(side: str) -> None:
            told = json.loads(subprocess.run([program, "1", "1"], input=urls, check=True, capture_output=True, text=True).stdout)
            rates[side].append(told["operations"] / told["elapsed_s"])
            cpu[side].append(told["cpu_s"] / told["operations"])

        for turn in range(arguments.turns):
            # Each other turn the other way round, so that a machine that becomes slower favours none.
            for side in list(rates)[::-1 if turn % 2 else 1]:
                (other if side.startswith("minimal") else own)(side)
        print(f"GET of {OBJECT} B from nginx on loopback, one connection, {arguments.turns} turns")
        base = "minimal, not signed"
        for side in rates:
            print(f"  {side:21} {statistics.median(rates[side]):7.0f}/s  {ratio_text(rates[side], rates[base])}   "
                  f"{1e6 * statistics.median(cpu[side]):5.1f} us of processor time each  {ratio_text(cpu[side], cpu[base])}")


def known(arguments: argparse.Namespace, folder: pathlib.Path) -> None:
    held, size, count = 4 << 20, 8 << 20, 6
    with FaultyStore({f"set/{n}": bytes(size) for n in range(count)}, rate=held) as store:
        run, _ = headrace(arguments.headrace, folder, store.endpoint, {"use": "small_file_read", "workers": 2, "repeat": 1})
        last = sorted(store.served)[-count:]  # of one repetition: a disturbed one is taken again
    own = size * count / (max(end for _, _, end in last) - min(begin for begin, _, _ in last))
    told = run["points"][0]["repetitions"][-1]["metrics"]["read_bandwidth"]
    print(f"two connections held at {held} B/s each: the store sent {own:.0f} B/s, told {told:.0f} B/s, {told / own - 1:+.2%}")
    for latency in (0.0, 0.002, 0.01, 0.05):
        with FaultyStore({f"set/{n:04}": bytes(1000) for n in range(200)}, latency=latency) as store:
            run, _ = headrace(arguments.headrace, folder, store.endpoint, {"use": "small_file_read", "workers": 1, "repeat": 1})
            last = sorted(store.served)[-200:]
        took = 1e3 * statistics.median(first - begin for begin, first, _ in last)
        told = run["points"][0]["repetitions"][-1]["metrics"]["first_byte_latency_p50_ns"] / 1e6
        print(f"first byte: the store waited {took:.3f} ms, told {told:.3f} ms: {told - took:+.3f} ms "
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
    parser.add_argument("--headrace", default=str(ROOT / "build/release/headrace"))
    arguments = parser.parse_args()
    arguments.headrace = os.path.abspath(arguments.headrace)
    arguments.turns = arguments.turns or {"cost": 9, "throttled": 20}.get(arguments.what, 1)
    with tempfile.TemporaryDirectory() as name:
        {"cost": cost, "known": known, "throttled": throttled, "listing": listing}[arguments.what](arguments, pathlib.Path(name))


if __name__ == "__main__":
    main()
