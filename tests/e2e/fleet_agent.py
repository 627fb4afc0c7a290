"""What `headrace bringup` starts on a host, of a fleet that is made up: fleet_agent.py VERSION FLEET HOST. FLEET is a JSON
document: "rates" by host, or "host port" [B/s]; "dark": hosts, or "host interface", that nobody gets through to; "closed": hosts that call others, and that nobody can call; "rdma": the ports of each host;
"errors" that they count, by "host port"; "answers": what a host says in
place of the right answer, by what it is asked ("hello", "facts"..., "run together": a run on several hosts); "hang": it says nothing at all."""

import json
import pathlib
import sys
import time

version, fleet, me = sys.argv[1:4]
fleet = json.loads(pathlib.Path(fleet).read_text())


def say(what, right):
    answer = fleet.get("answers", {}).get(me, {}).get(what, right)
    print("headrace-agent " + json.dumps(answer), flush=True)


def is_dark(host, interface):
    dark = fleet.get("dark", [])
    return host in dark or f"{host} {interface}" in dark


def is_closed(host):
    return host in fleet.get("closed", [])


def end(other):
    return {"received": min(fleet.get("rates", {}).get(one, 1e9) for one in (me, other)), "segments": 1000, "retransmitted": 0,
            "latency_s": {"least": 1e-4, "median": 1e-4, "p99": 1e-4}}


def rdma_end(port, other):
    rates = fleet.get("rates", {})
    return {"sent": min(rates.get(one, 1e9) for one in (f"{me} {port}", other)), "sent_again": 0,
            "own_errors": fleet.get("errors", {}).get(f"{me} {port}", {}),
            "damaged": fleet.get("damaged", {}).pop(f"{me} {port}", ""), "latency_s": {"least": 1e-5, "median": 1e-5, "p99": 1e-5}}


def run(hosts):
    text = json.loads(pathlib.Path(fleet["run"]).read_text())
    share = shares.pop(0) if hosts and shares else 1
    for metric in (metric for point in text["points"] for metric in point["metrics"]):
        metric["values"] = [value * share for value in metric["values"]]
        metric |= {key: metric[key] * share for key in ("median", "mean_over_time", "low", "high") if metric.get(key) is not None}
    return {"run": json.dumps(text)}


shares = fleet.get("share", {}).get(me, [])
if me in fleet.get("gone", []):
    sys.exit(255)
if fleet.get("hang"):
    time.sleep(600)
say("hello", {"agent": 1, "version": version})
for line in sys.stdin:
    asked = json.loads(line)
    interface = asked.get("plan", {}).get("interface", "")
    if asked["do"] == "facts":
        ports = fleet.get("rdma", {}).get(me, [])
        say("facts", {"host": me, "machine": me, "facts": {}, "paths": [], "rdma_counters": True,
                      "rdma_ports": [{"name": port, "place": ""} for port in ports]}
            | ({} if ports else {"no_rdma": "no RDMA device"}))
    elif asked["do"] == "clock":
        say("clock", {"now_s": time.time()})
    elif asked["do"] == "open":
        say("open", {"door": me})
    elif asked["do"] == "answer":
        say("answer", end(me) | ({"back": "timed out"} if is_closed(asked["door"]) else {}))
    elif asked["do"] == "open rdma":
        port = asked["plan"]["port"]
        say("open rdma", {"card": f"{me} {port}"} if not is_dark(me, port) else {"error": "memlock is 64 KiB"})
    elif asked["do"] == "connect rdma":
        other = asked["card"]
        say("connect rdma", {})
    elif asked["do"] == "measure rdma":
        say("measure rdma", rdma_end(port, other))
    elif asked["do"] == "run" and "run" in fleet:
        say("run together" if asked["hosts"] else "run", run(asked["hosts"]))
    elif asked["do"] in ("place", "take away"):
        say(asked["do"], {})
    elif asked["do"] != "call":
        say(asked["do"], {"error": "nothing else is made up"})
    elif not isinstance(asked["door"], str):
        say("call", {"error": "that is no door"})
    elif is_dark(me, interface) or is_dark(asked["door"], interface):
        say("call", {"error": "no way there"})
    elif is_closed(asked["door"]):
        say("call", {"error": "timed out"})
    else:
        say("call", end(asked["door"]))
