"""Runs headrace and perftest on soft-RoCE by turns, in one boot of the virtual machine, and prints ratios.

    python3 benches/peers/rdma.py [--headrace build/release/headrace] [--turns 7] [--only write|send|PART] [--limit 900]

Both move the same messages between the same two devices with equally many in flight, from one buffer.
Everything takes about six minutes; `--only write` and `--only send` are the halves. Ratios are headrace / perftest of the
same turn; bandwidths should reach at least 0.95, latencies at most 1.05. Needs perftest and what
tests/rdma/vm/run-in-rdma-vm needs; no RDMA hardware.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

VM = pathlib.Path(__file__).parents[2] / "tests/rdma/vm/run-in-rdma-vm"

# name, perftest program and its options, headrace's entry
CONTESTS = [
    (f"{op} {size}", f"ib_{op}_bw", f"-s {size} -n {count}",
     {"use": f"rdma_{op}", "message_size": f"{size}B", "buffer": f"{size}B", "time": "600ms"})
    for op in ("write", "send") for size, count in ((65536, 1000), (1 << 20, 140))
] + [
    (f"{op} latency", f"ib_{op}_lat", "-s 8 -n 12000",
     {"use": f"rdma_{op}", "measure": "latency", "message_size": "8B", "time": "600ms"})
    for op in ("write", "send")
]

GUEST = """
export HEADRACE_TOKEN=sixteen-letters-or-more
{headrace} run --serve 10.77.0.2 --timeout 10min >listening 2>/dev/null &
for _ in $(seq 100); do grep -q listening listening && break; sleep 0.1; done
ours() {{ timeout 90 {headrace} --progress none run -c $1.yaml --peer 10.77.0.2 --no-report --out $2 >$2.out 2>&1; }}
theirs() {{  # OUT PROGRAM OPTION...
  local out=$1 program=$2
  shift 2
  timeout 25 $program -d rxe1 -x 1 -F "$@" >/dev/null 2>&1 &
  for _ in $(seq 100); do grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6 && break; sleep 0.05; done  # port 18515
  timeout 25 $program -d rxe0 -x 1 -F "$@" 10.77.0.2 >$out 2>&1
  kill $! 2>/dev/null; wait $!
}}
{turns}
"""


def configuration(contests):
    more = {"device": "rxe0", "gid_index": 1, "repeat": {"looks": [1]}}
    workloads = [entry | more | {"label": name.replace(" ", "_")} for name, _, _, entry in contests]
    return json.dumps({"schema": 1, "name": "peers", "target": {"path": "scratch"}, "workloads": workloads})


def perftest_value(text, latency):
    """MiB/s, or us, of the line that begins with the message's size."""
    row = next((line.split() for line in text.splitlines() if re.match(r"\s*\d+\s+\d+\s", line)), None)
    if row is None:
        raise RuntimeError(f"perftest failed:\n{text}")
    return float(row[4]) * 1e-6 if latency else float(row[3]) * 2**20


def headrace_value(folder, number, latency):
    point = json.loads((folder / "run.json").read_text())["points"][number]
    if point["status"] != "ok":
        raise RuntimeError(f"headrace: {point['reason']}")
    name = "latency_p50_ns" if latency else "bandwidth"
    value = next(m["median"] for m in point["metrics"] if m["name"] == name)
    return value * 1e-9 if latency else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headrace", type=pathlib.Path, default=pathlib.Path("build/release/headrace"))
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--limit", type=int, default=900, help="of the whole in seconds: later turns are left out")
    parser.add_argument("--only", default="", help="part of a contest's name")
    args = parser.parse_args()
    chosen = [c for c in CONTESTS if args.only in c[0]]
    with tempfile.TemporaryDirectory() as temporary:
        folder, turns = pathlib.Path(temporary), []
        (folder / "all.yaml").write_text(configuration(chosen))
        # The turn before the first is not counted: the emulator has seen none of the code yet.
        for turn in range(args.turns + 1):
            theirs = [f"theirs theirs-{number}-{turn} {program} {options}" for number, (_, program, options, _) in enumerate(chosen)]
            turns += [f"ours all ours-{turn}", *theirs] if turn % 2 == 0 else [*theirs, f"ours all ours-{turn}"]
        (folder / "guest").write_text(GUEST.format(headrace=args.headrace.absolute(), turns="\n".join(turns)))
        done = subprocess.run([VM, "-d", folder, "-t", str(args.limit), "--", "bash", "guest"])
        if done.returncode not in (0, 124):  # 124: the time is over; the turns that were done count
            sys.exit(f"the virtual machine ended with {done.returncode}")
        print("| work | headrace | perftest | ratio of each turn | median | to reach | |\n|---|---|---|---|---|---|---|")
        all_reached = True
        for number, (name, program, _, _) in enumerate(chosen):
            latency = program.endswith("_lat")
            pairs = []
            for turn in range(1, args.turns + 1):
                try:
                    pairs.append((headrace_value(folder / f"ours-{turn}", number, latency),
                                  perftest_value((folder / f"theirs-{number}-{turn}").read_text(), latency)))
                except (RuntimeError, OSError) as e:  # soft-RoCE loses a connection now and then
                    print(f"{name}: turn {turn} does not count: {e}", file=sys.stderr)
            if not pairs:
                all_reached = False
                continue
            ratios = [ours / theirs for ours, theirs in pairs]
            middle = statistics.median(ratios)
            reached = middle <= 1.05 if latency else middle >= 0.95
            all_reached &= reached
            scale, unit = (1e6, "us") if latency else (1e-6, "MB/s")
            ours, theirs = (statistics.median(values) * scale for values in zip(*pairs))
            print(f"| {name} | {ours:.1f} {unit} | {theirs:.1f} {unit} | {', '.join(f'{r:.2f}' for r in ratios)} | {middle:.2f} "
                  f"| {'<= 1.05' if latency else '>= 0.95'} | {'reached' if reached else 'missed'} |")
    return 0 if all_reached else 1


if __name__ == "__main__":
    sys.exit(main())
