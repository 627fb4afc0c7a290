#!/usr/bin/env python3
"""How reliably a bring-up names faults: each fault is injected several times into eight hosts of network namespaces.

  benches/bringup_faults.py [--times 20] [--only GLOB] [--headrace build/release/headrace]

Prints a line per fault: in how many runs it was named, and in how many another node was accused. Exit code 1 where one of both is wrong.
Needs root, iproute2, a C compiler; about 15 s a run. The hosts share this machine's processors: run nothing else at the same time.
"""

import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
NET = ROOT / "tests/net"
HOSTS = 8
JOB = """\
schema: 1
job: shared
cluster: {{nodes: 8, gpus_per_node: 1}}
step: {{time: 1s, micro_batch: 1}}
dataset: {{layout: files, samples: 64, sample_size: 8KiB, path: "{data}"}}
loader: {{workers_per_gpu: 1}}
model: {{parameters: 1e7}}
"""


def worse(node, *options):
    return f'"{NET}/worse-cable" {node} {" ".join(options)} >up & until grep -q up up; do sleep 0.1; done'


# Value: options of with-net-hosts, a command that runs on node1 first, node3's arguments, and the expected faults.
FAULTS = {
    "nothing": ([], "", "", set()),
    "a way half as fast": (["--slow", "node2-node5:20mbit"], "", "", {"link node2 to node5"}),
    "a host half as fast": (["--slow", "node3:20mbit"], "", "", {"node node3"}),
    "a host 12 % slower": (["--slow", "node3:35mbit"], "", "", {"node node3"}),
    "two hosts half as fast": (["--slow", "node3:20mbit", "--slow", "node6:20mbit"], "", "", {"node node3", "node node6"}),
    "1 % lost": ([], worse("node3", "--loss", "0.01"), "", {"node node3"}),
    "3 % lost": ([], worse("node3", "--loss", "0.03"), "", {"node node3"}),
    "20 ms more": ([], worse("node3", "--delay", "0.01"), "", {"node node3"}),
    "a mount missing": ([], "", "mount -t tmpfs none {shared}; ", {"node node3"}),
    "less memory": ([], "", "mount --bind {folder}/meminfo /proc/meminfo; ", {"node node3"}),
    "a clock 3 s behind": ([], "", "export LD_PRELOAD={folder}/clock.so HOST_CLOCK_S=-3; ", {"node node3"}),
    "a host that is dead": (["--down", "node3"], "", "", {"missing node3"}),
}


def prepare(folder):
    (folder / "shared/data").mkdir(parents=True)
    (folder / "job.yaml").write_text(JOB.format(data=folder / "shared/data"))
    info = pathlib.Path("/proc/meminfo").read_text().splitlines()
    (folder / "meminfo").write_text("\n".join([f"MemTotal: {int(info[0].split()[1]) // 2} kB", *info[1:]]) + "\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "clock.so", NET / "shifted_clock.c", "-ldl"], check=True)
    (folder / "hosts").write_text("".join(f"node{n}\n" for n in range(1, HOSTS + 1)))


def named(headrace, folder, number, net, before, agent):
    """The faults that one run names, and the missing nodes."""
    reach = folder / "reach"
    reach.write_text(f"""#!/bin/sh
host=$1; shift
[ "$host" = node3 ] && set -- "{agent.format(folder=folder, shared=folder / 'shared')}exec $*"
exec {NET}/on-host "$host" "$@"
""")
    reach.chmod(0o755)
    out = folder / f"cluster-{number}"
    done = subprocess.run(
        [NET / "with-net-hosts", str(HOSTS), "--rate", "40mbit", *net, "-t", "280", "--", "sh", "-c", f'{before}\nexec "$@"', "sh",
         headrace, "bringup", "--hosts", "hosts", "--job", "job.yaml", "--out", out, "--pairs-only", "--time", "300ms", "--streams", "2",
         "--launch", f"{reach} {{host}}"], cwd=folder, capture_output=True, text=True)
    if not (out / "bringup.json").exists():
        sys.exit(f"no result: {done.stderr}")
    record = json.loads((out / "bringup.json").read_text())
    return ({f"{one['scope']} {one['subject']}" for one in record["faults"]}
            | {f"missing {node['name']}" for node in record["nodes"] if "missing" in node})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--only", default="*")
    parser.add_argument("--headrace", type=pathlib.Path, default=ROOT / "build/release/headrace")
    given = parser.parse_args()
    good = True
    print(f"{'fault':<24}  named  others accused", flush=True)
    for what, (net, before, agent, truth) in FAULTS.items():
        if not fnmatch.fnmatch(what, given.only):
            continue
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            prepare(folder)
            runs = [named(given.headrace.resolve(), folder, n, net, before, agent) for n in range(given.times)]
        found, others = sum(truth <= one for one in runs), sum(bool(one - truth) for one in runs)
        good = good and found == given.times and others == 0
        wrong = sorted(set().union(*runs) - truth)
        print(f"{what:<24}  {found:2} of {given.times:<3} {others:2} of {given.times}{'  ' + ', '.join(wrong) if wrong else ''}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
