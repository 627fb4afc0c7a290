"""A simulation as headrace writes it: a job on 1 to 1,024 nodes whose store is too small from 64 on."""

from __future__ import annotations


def _figure(figure, scenario, title, unit, low, median, high, limit, required=None, more=True):
    one = {"figure": figure, "scenario": scenario, "title": title, "unit": unit, "median": median, "low": low, "high": high, "limit": limit}
    if required is not None:
        one.update(required=required, expected_to_meet=median >= required if more else median <= required,
                   fails=high < required if more else low > required)
    return one


def _scale(nodes):
    busy = min(1.0, 48 / nodes)
    limit = "nothing" if busy == 1 else "the store"
    return {"nodes": nodes, "gpus": 8 * nodes, "basis": "modelled" if nodes <= 256 else "extrapolated", "figures": [
        _figure("first_epoch_busy", "first epoch", "GPUs busy", "ratio", 0.9 * busy, 0.95 * busy, busy, limit, 0.9),
        _figure("later_epochs_busy", "later epochs", "GPUs busy", "ratio", 0.95 * busy, busy, min(1.0, 1.1 * busy), limit, 0.9),
        _figure("step_time", "later epochs", "step time", "s", 0.35, 0.35 / busy, 0.4 / busy, limit),
        _figure("save_time", "save, all ranks", "time to save", "s", 8.0 + nodes / 100, 9.0 + nodes / 100, 11.0 + nodes / 100, "the store", 12.0, False),
        _figure("restore_time", "restart storm", "time to restore", "s", 20.0, 25.0, 40.0, "refused clients", 60.0, False),
        _figure("goodput", "failures of the run", "goodput", "ratio", 0.8 * busy, 0.85 * busy, 0.9 * busy, "input")]}


def golden():
    at = [0.0, 1.0, 2.0, 10.0, 20.0, 25.0]
    return {
        "schema": 1, "kind": "headrace.simulation", "headrace": {"version": "1.0.0", "revision": "0123abc"},
        "job": {"name": "sample", "description": "A sample job", "gpus_per_node": 8, "values": {"step.time": "0.35s"}},
        "summary": {"word": "FAIL", "exit_code": 10,
                    "sentence": "on 1024 nodes, GPUs busy: expected 4.69 % [4.45, 5.16], needed 90 %.",
                    "cause": "First limit: the store at 64 nodes (32 still work), in the first epoch."},
        "seed": 1, "seeds": 1000, "from": ["Cold epoch: 1 GB/s, 4 GB/s from 1, 4 clients (measured: run/point.read_bandwidth); it still grew"],
        "missing": ["opening of files: neither measured nor stated"], "scales": [_scale(2 ** n) for n in range(11)],
        "breaks": [{"figure": "first_epoch_busy", "scenario": "first epoch", "nodes": 64, "holds_to": 32, "limit": "the store"},
                   {"figure": "save_time", "scenario": "save, all ranks", "holds_from": 4, "limit": "one client"}],
        "gained": "later_epochs_busy",
        "gains": [{"key": "store.read", "from": 0.047, "to": 0.0517, "gain": 0.1, "price_usd": 12000.0},
                  {"key": "client.read", "from": 0.047, "to": 0.0472, "gain": 0.004}],
        "storm": {"scenario": "restart storm", "nodes": 1024, "at_s": at, "rate": [1e9, 20e9, 40e9, 40e9, 10e9, 0.0],
                  "client": [20, 0, 0, 0, 200, 0], "uplink": [0, 400, 0, 0, 0, 0], "store": [0, 600, 900, 800, 0, 0],
                  "waiting": [0, 0, 124, 24, 0, 0]}}


def alone():
    """One number of nodes, nothing of a storm, nothing missed."""
    one = golden()
    one.update(scales=[_scale(4)], breaks=[], gains=[], missing=[])
    one["summary"] = {"word": "INCONCLUSIVE", "exit_code": 11, "sentence": "no limit of the job could be simulated on 4 nodes.", "cause": ""}
    del one["storm"]
    return one


SAMPLES = {"simulation_golden": golden, "simulation_alone": alone}
