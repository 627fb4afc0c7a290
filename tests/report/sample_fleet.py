"""fleet.json and history.json samples, made by hand from seeded numbers."""

from __future__ import annotations

import random

import sample_run

HOSTILE = sample_run.MARKUP
HEAD = {"schema": 1, "headrace": {"version": "0.1.0", "revision": "abc123", "compiler": "GCC 12.2.0"}}
METRICS = [("shard_stream", "read_bandwidth", 2.4e9), ("checkpoint_write", "durable_bandwidth", 1.5e9),
           ("memory_copy", "copy_bandwidth", 1.1e11)]


def fleet(count: int = 64) -> dict:
    """One confirmed outlier, one suspect, a slow rack, a missing node, a matrix with a slow node and a slow link."""
    draw = random.Random(5)
    nodes = []
    for number in range(1, count + 1):
        rack = (number - 1) // 8
        values = [usual * draw.gauss(1, 0.012) for _, _, usual in METRICS]
        if rack == 3:
            values[0] *= 0.92
        if number == 17:
            values[1] *= 0.76
        if number == 41:
            values[2] *= 0.9
        deviation = [value / usual / (0.92 if rack == 3 and m == 0 else 1) - 1 for m, (value, (_, _, usual)) in enumerate(zip(values, METRICS))]
        nodes.append({"node": f"node{number:02}", "attributes": {"rack": f"r{rack}"}, "group": "g1", "run": f"run-{number}",
                      "path": f"runs/node{number:02}/run.json", "started_utc": "2026-03-02T12:00:00Z", "runs": 2 if number == 17 else 1,
                      "word": "MEASURED", "values": values, "deviation": deviation})
    nodes[4]["values"][2] = nodes[4]["deviation"][2] = None
    outliers = [{"node": "node17", "metric": 1, "value": nodes[16]["values"][1], "median": 1.5e9, "deviation": nodes[16]["deviation"][1],
                 "z": -18.2, "status": "confirmed", "again": 1.15e9, "again_run": "run-17-before",
                 "explanation": "durable_bandwidth of checkpoint_write: 1.14 GB/s, usual 1.50 GB/s; 1.15 GB/s in another run.",
                 "next_step": "Take node17 out and look at it: headrace doctor"},
                {"node": "node41", "metric": 2, "value": nodes[40]["values"][2], "median": 1.1e11, "deviation": nodes[40]["deviation"][2],
                 "z": -8.0, "status": "suspected", "explanation": "copy_bandwidth of memory_copy: 99 GB/s; nobody measured it again.",
                 "next_step": "on node41: headrace run -c node.yaml --only 'memory_copy'"}]
    matrix = [[-1 if i == j else 5e10 * draw.gauss(1, 0.004) for j in range(8)] for i in range(8)]
    for j in range(8):
        if j != 2:
            matrix[2][j] = matrix[j][2] = 2e10
    matrix[5][6] = 3e10
    return {**HEAD, "kind": "headrace.fleet",
            "summary": {"word": "FAIL", "exit_code": 10, "expected": count + 1, "reported": count, "judged": count, "outliers": 1,
                        "suspects": 1, "passing": 0, "group_effects": 1, "suspected_effects": 1, "slow_pairs": 1, "suspected_pairs": 1,
                        "needs_failed": 0, "words": {"MEASURED": count},
                        "sentence": f"{count} judged of {count + 1}; 1 node is an outlier, confirmed; 1 node is suspected; 1 shift that nodes "
                                    "share, confirmed; 1 node is missing."},
            "hosts_file": "hosts.txt", "delta_rate": 0.05, "delta_tail": 0.1, "limit_z": 3.5, "mad_floor": 0.005, "fewest_alike": 8,
            "missing": [{"node": "node65", "why": "expected, and no run was found", "next_step": "on node65: headrace run -c node.yaml"}],
            "unreadable": [{"path": "runs/x/run.json", "node": "x", "why": "runs/x/run.json: the file is empty"}],
            "groups": [{"id": "g1", "nodes": count - 8, "judged": True, "why": "", "differs": [], "shifts": []},
                       {"id": "g2", "nodes": 8, "judged": True, "why": "", "shifts": [{"metric": 2, "shift": -0.2}],
                        "differs": [{"key": "nic0.model", "value": "X520", "usual": "X710"}]}],
            "metrics": [{"workload": point, "point": point, "params": {}, "metric": metric, "unit": "B/s", "better": "higher",
                         "description": "", "delta": 0.05} for point, metric, _ in METRICS],
            "limits": [{"group": "g1", "metric": m, "n": count, "median": usual, "spread": usual * 0.012, "low": usual / 1.05}
                       for m, (_, _, usual) in enumerate(METRICS)],
            "nodes": nodes, "outliers": outliers,
            "noise_floor": {"nodes": 12, "median": 0.013, "false_alarm_rate": 0.004, "highest": 0.05, "highest_node": "node07"},
            "group_effects": [{"attribute": "rack", "name": "r3", "metric": 0, "usual": 2.4e9, "level": 2.2e9, "again": 2.2e9, "shift": -0.08,
                               "z": -19.0, "status": "confirmed", "nodes": [f"node{n:02}" for n in range(25, 33)], "next_step": "",
                               "explanation": "8 of 8 nodes of rack r3: read_bandwidth of shard_stream is -8.0 % from the rest."},
                              {"attribute": "", "name": "", "metric": 2, "usual": 1.1e11, "level": 0.9e11, "again": None, "shift": -0.18,
                               "z": -9.0, "status": "suspected", "nodes": [f"node{n:02}" for n in range(33, 41)],
                               "next_step": "measure 3 or more of these nodes once more: --rerun",
                               "explanation": "8 of 16 like nodes are -18 % from the rest in copy_bandwidth of memory_copy."}],
            "pairs": [{"workload": "tcp_stream", "point": "tcp_stream", "run": "net", "path": "runs/net/run.json",
                       "started_utc": "2026-03-02T12:00:00Z",
                       "pairs": {"names": [f"node{n:02}" for n in range(1, 9)], "rate": matrix, "reference": 5e10, "blamed_nodes": [2],
                                 "blamed_links": [[5, 6]]},
                       "findings": [{"kind": "slow node", "subject": "node03", "status": "confirmed",
                                     "explanation": "20.0 GB/s with its 7 partners, where others reach 50.0 GB/s"},
                                    {"kind": "slow link", "subject": "node06 to node07", "status": "suspected",
                                     "explanation": "30.0 GB/s, where others reach 50.0 GB/s"}]}]}


def fleet_quiet() -> dict:
    data = fleet()
    data["outliers"] = data["group_effects"] = data["missing"] = data["unreadable"] = data["pairs"] = []
    data["summary"].update(word="PASS", exit_code=0, outliers=0, suspects=0, group_effects=0, suspected_effects=0, slow_pairs=0,
                           suspected_pairs=0, words={"PASS": 64}, expected=64,
                           sentence="64 judged of 64; nothing stands out.")
    return data


def fleet_hostile() -> dict:
    data = fleet()
    data["nodes"][16]["node"] = data["outliers"][0]["node"] = HOSTILE
    data["nodes"][16]["attributes"] = {"rack": HOSTILE}
    data["metrics"][0].update(metric=HOSTILE, point=HOSTILE, workload=HOSTILE)
    data["outliers"][0].update(explanation=HOSTILE, next_step=HOSTILE)
    data["noise_floor"]["highest_node"] = HOSTILE
    data["missing"][0].update(node=HOSTILE, why=HOSTILE, next_step=HOSTILE)
    data["unreadable"][0].update(node=HOSTILE, why=HOSTILE, path=HOSTILE)
    data["groups"][0]["differs"] = [{"key": HOSTILE, "value": HOSTILE, "usual": HOSTILE}]
    data["group_effects"][0].update(attribute=HOSTILE, name=HOSTILE, explanation=HOSTILE)
    data["pairs"][0]["pairs"]["names"][2] = HOSTILE
    data["pairs"][0]["findings"][0].update(kind=HOSTILE, subject=HOSTILE, explanation=HOSTILE)
    for count, name in ((4, "WWWWMMMMWW{:03}"), (32, "gpu-cluster-a-node{:02}.example.com")):  # of wide and of many long names
        rate = [[-1 if a == b else 5e10 for b in range(count)] for a in range(count)]
        data["pairs"].append({**data["pairs"][0], "findings": [], "pairs": {
            "names": [name.format(n) for n in range(count)], "rate": rate, "reference": 5e10, "blamed_nodes": [1], "blamed_links": []}})
    data["summary"]["words"] = {HOSTILE: 64}
    data["summary"]["sentence"] = HOSTILE
    data["hosts_file"] = HOSTILE
    return data


def history() -> dict:
    """A change for the worse with a new firmware, an unusual newest run, a quiet and a short series."""
    draw = random.Random(6)
    count = 24
    runs = [{"run": f"nightly-{i:02}", "path": f"past/{i:02}/run.json", "node": "node17", "started_utc": f"2026-03-{i + 1:02}T02:00:00Z",
             "config_hash": "c0ffee", "word": "MEASURED", "events": ["device.firmware GDC5602Q -> GDC5603"] if i == 14 else []}
            for i in range(count)]

    def series(point, metric, usual, at=None, factor=1.0, last=1.0, length=count, out=(), wanders=False):
        out = list(out)
        median = [usual * draw.gauss(1, 0.012) * (factor if at is not None and i >= at else 1) for i in range(length)]
        median[-1] *= last
        levels = [{"from": 0, "to": length, "median": usual}] if at is None else [
            {"from": 0, "to": at, "median": usual}, {"from": at, "to": length, "median": usual * factor}]
        changes = [] if at is None else [
            {"at": at, "before": usual, "after": usual * factor, "change": factor - 1, "p": 0.0005, "status": "worse",
             "between": [runs[at - 1]["started_utc"], runs[at]["started_utc"]], "certain": not wanders, "events": runs[at]["events"],
             "explanation": f"-10 % of {metric} of {point}"}]
        short = length < 10
        newest = {"unusual": last != 1.0, "z": -9.0 if last != 1.0 else 0.3, "left_out": "",
                  "explanation": "the newest run lies -9.0 robust deviations from the 23 before it" if last != 1.0 else ""}
        if out:
            newest.update(left_out=out[-1]["why"], explanation=f"the newest run says nothing of it: {out[-1]['why']}")
        return {"node": "node17", "config_hash": "c0ffee", "workload": point, "point": point, "params": {}, "metric": metric, "unit": "B/s",
                "better": "higher", "description": "", "delta": 0.05, "run": list(range(count - length, count)), "median": median,
                "low": [m * 0.99 for m in median], "high": [m * 1.01 for m in median], "levels": [] if short else levels, "changes": changes,
                "newest": newest, "left_out": out, "correlation": 0.4 if wanders else 0.0, "wanders": wanders, "gone": False, "superseded": False,
                "why": "5 runs; 10 tell of changes" if short else ""}
    return {**HEAD, "kind": "headrace.history",
            "summary": {"word": "FAIL", "exit_code": 10, "runs": count, "series": 7, "too_short": 1, "changes": 2, "unusual": 1, "missing": 1,
                        "left_out": 0, "sentence": "24 runs, 7 series: 2 changes, the newest run of 1 unusual, 1 too short to tell. durable_bandwidth fell."},
            "p_limit": 0.001, "permutations": 1999, "min_runs": 10, "min_segment": 3, "runs": runs,
            "series": [series("checkpoint_write", "durable_bandwidth", 1.5e9, 14, 0.9), series("memory_copy", "copy_bandwidth", 1.1e11, last=0.88),
                       series("shard_stream", "read_bandwidth", 2.4e9), series("random_read", "read_bandwidth", 6e8, length=5),
                       series("metadata", "operation_rate", 5e4, 12, 0.9, wanders=True),
                       {**series("memory_copy", "read_bandwidth", 9e10),
                        "two_levels": {"lower": 7.2e10, "upper": 9e10, "at_lower": 11, "at_upper": 13,
                                       "explanation": "read_bandwidth of memory_copy: the last 24 runs are at two levels"}},
                       {**series("h2d", "bandwidth", 5e10, length=20, out=[{"run": 22, "why": "cache-unproven", "median": 9e10},
                                                                           {"run": 23, "why": "missing", "median": None}]),
                        "run": list(range(20))}],
            "unreadable": []}


def history_hostile() -> dict:
    data = history()
    for run in data["runs"]:
        run.update(node=HOSTILE, run=HOSTILE, events=[HOSTILE] if run["events"] else [])
    data["series"][0].update(metric=HOSTILE, point=HOSTILE, node=HOSTILE)
    data["series"][0]["changes"][0].update(explanation=HOSTILE, events=[HOSTILE])
    data["summary"]["sentence"] = HOSTILE
    data["unreadable"] = [{"path": HOSTILE, "why": HOSTILE}]
    return data


SAMPLES = {"fleet_found": fleet, "fleet_quiet": fleet_quiet, "fleet_hostile": fleet_hostile, "history_change": history,
           "history_hostile": history_hostile}
