"""A broken GPU ends a run and a bring-up with FAIL, whatever else ran, and a sound one is accused of nothing. The GPUs are host memory."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from bringup_hosts import TOOLS, hosts, named, states  # noqa: F401

BURN = """\
schema: 1
name: burn
target: {path: scratch}
needs: [{id: gpu.wrong_elements, metric: gpu_burn.wrong_elements, at_most: 0}%s]
defaults: {repeat: %d, rest: 0s, verify: %s}
workloads:
  - {use: gpu_burn, size: 16, number: fp32, time: 100ms, batch: 3, memory: 0.0001}
  - {use: h2d, size: 64KiB, copies: 8}
"""


@pytest.fixture
def fleet(headrace):
    """Headrace with plugins of the tests' own in the place of cuda's and nccl's; `fleet(lines)` says what is not as usual."""
    here = pathlib.Path(headrace.binary).parent
    headrace.fakes = here / "tests/fakes/gpus"
    fakes = [headrace.fakes / name for name in ("headrace_cuda.so", "headrace_nccl.so")]
    if not all(plugin.exists() for plugin in fakes):
        pytest.skip("the tests' GPUs are not built")
    tree = headrace.path("tree")
    (tree / "plugins").mkdir(parents=True)
    for name in ("headrace", "headrace.tree"):
        shutil.copy2(here / name, tree / name)
    for one in (here / "plugins").glob("*.so"):
        if one.name not in [plugin.name for plugin in fakes]:
            (tree / "plugins" / one.name).symlink_to(one)
    for plugin in fakes:
        (tree / "plugins" / plugin.name).symlink_to(plugin)
    headrace.binary = str(tree / "headrace")

    def environment(*lines):
        headrace.path("gpus").write_text("\n".join(("* * count 4", *lines)) + "\n")
        return {"HEADRACE_FAKE_GPUS": str(headrace.path("gpus"))}
    return environment


def assert_sound(headrace, done):
    """A PASS; or undecided beside others that keep the processors busy, with not one wrong element."""
    (need,) = headrace.results("run.json", "results")["judgements"]
    if done.code == 11:
        assert need["reason"] in ("disturbed", "not-steady") and need["measured"] == 0, (need, done)
        return
    assert done.code == 0 and need["outcome"] == "PASS" and "VERDICT PASS" in done.out, done


def judged(headrace):
    return {j["scope"]: j for j in headrace.results("run.json", "results")["judgements"]}


MAPS = {"headrace": 10, "slurm-prolog": 1, "nhc": 1, "npd": 1, "nagios": 2, "posix": 1}


@pytest.mark.parametrize("line, words", [
    ("* 3 wrong_after 5", "elements of its products were wrong"),
    ("* 3 corrupts_h2d 1", "the copy differs from the sent data"),
    ("* 3 lost_after 4", "fallen off the bus"),
    ("* 3 ecc_uncorrected 12", "12 uncorrected memory errors"),
    ("* 3 remap_failed 1", "no spare row was left"),
    ("* 3 remap_pending 1", "waits to be remapped"),
    ("* 3 xid 79", "Xid 79"),
    ("* 3 fabric failed to register this GPU (NVML status 999)", "NVML status 999"),
])
@pytest.mark.parametrize("verify", ["true", "false"])
def test_a_broken_gpu_is_a_fail_and_named(headrace, fleet, line, words, verify):
    if verify == "false" and "corrupts" in line:
        pytest.skip("its products are wrong alike, which the data check finds alone")
    headrace.write("burn.yaml", BURN % ("", 3, verify))
    done = headrace("run", "-c", "burn.yaml", "--no-report", "--out", "results", **fleet(line))
    assert done.code == 10 and re.search(r'VERDICT FAIL .*bad="gpu3".* exit=10', done.out), done
    all = judged(headrace)
    assert all["gpu3"]["outcome"] == "FAIL" and words in all["gpu3"]["explanation"] and "drain" in all["gpu3"]["next_step"], all
    if "wrong_after" in line:
        assert all["node"]["outcome"] == "FAIL" and "gpu3" in all["node"]["explanation"], all
    points = {p["id"]: p for p in headrace.results("run.json", "results")["points"]}
    for other in range(3):  # the others' values are kept
        assert any(m["name"] == f"flop_rate_gpu{other}" for m in points["gpu_burn"]["metrics"]), points["gpu_burn"]["reason"]
    for name, code in MAPS.items() if "xid" in line else ():
        reported = headrace("verdict", "results", "--exit-map", name)
        assert reported.code == code, (name, reported)
    assert headrace("verdict", "results", "--replay").code == 10


BURN_IN = ("workloads.0.time=10ms", "workloads.1.number=bf16", "workloads.2.pulse=20ms",
           "workloads.5.size=1MiB", "workloads.5.copies=4",
           *(f"workloads.{i}.{one}" for i in (1, 2, 3) for one in ("size=16", "time=100ms", "memory=0.02")))


@pytest.mark.parametrize("line, code, need, words", [
    (None, 0, None, None),
    ("* 5 wrong_after 20", 10, "gpu.wrong_elements", "gpu5 ("),
    ("* 2 flips_after 700", 10, "gpu.wrong_memory", "gpu2 (1)"),
    ("* 6 product_ns 90000000", 10, "gpu.pace", "not gpu6"),
    ("* 3 lost_after 300", 10, "gpu.fault", "fallen off the bus"),
    ("* 7 product_hangs_after 9", 10, "gpu.fault", "TIMEOUT"),
])
def test_a_burn_in_finds_the_one_bad_gpu_of_eight(headrace, fleet, line, code, need, words):
    environment = fleet("* * count 8", "* * memory 16777216", "* * power_limit_w 700", "* * runs_hot 1", "* * fabric_group c/1", "* * product_ns 20000000", *([line] if line else []))
    config = pathlib.Path(__file__).parents[2] / "configs/burn-in.yaml"
    settings = BURN_IN if need == "gpu.pace" else (*BURN_IN, "defaults.repeat=3")
    done = headrace("run", "-c", str(config), "--no-report", "--out", "results", *(w for one in settings for w in ("--set", one)), **environment)
    run = headrace.results("run.json", "results")
    failed = [j for j in run["judgements"] if j["outcome"] in (("FAIL", "INCONCLUSIVE") if need == "gpu.pace" else ("FAIL",))]
    if line is None:
        assert done.code in (0, 11) and not failed, done  # 11: three repetitions fail no rate
        left_out = [p for p in run["points"] if p["status"] != "ok"]
        assert all(p["id"].startswith("nic_loopback") and "RDMA" in p["reason"] for p in left_out), [(p["id"], p["status"], p["reason"]) for p in left_out]
        return
    # 11: beside busy programs no rate decides, and the slow GPU is named all the same.
    assert done.code in ((code, 11) if need == "gpu.pace" else (code,)) and any(j["id"] == need and words in j["explanation"] for j in failed), (done, failed)
    bad = line.split()[1]
    named = {j["scope"] for j in failed if j["id"] == "gpu.fault"}
    assert named <= {f"gpu{bad}"}, named
    for metric in ("memory_rate", "flop_rate"):  # the seven others have their values
        values = {m["name"] for p in run["points"] for m in p["metrics"] if m["name"].startswith(metric + "_gpu")}
        assert {f"{metric}_gpu{i}" for i in range(8) if str(i) != bad} <= values, values


@pytest.mark.parametrize("held, code", [("power limit", 10), ("thermal, by hardware", 10), (None, 10)])
def test_clocks_that_are_held_back_save_no_gpu(headrace, fleet, held, code):
    headrace.write("burn.yaml", BURN % (", {id: burn, metric: gpu_burn.flop_rate, at_least: 1e15}", 5, "true"))
    lines = [f"* * held_back {held}"] if held else []
    done = headrace("run", "-c", "burn.yaml", "--only", "gpu_burn", "--no-report", "--out", "results", **fleet(*lines))
    (missed,) = [j for j in headrace.results("run.json", "results")["judgements"] if j["id"] == "burn"]
    if done.code == 11:  # others keep the processors busy
        assert missed["reason"] in ("disturbed", "not-steady") and missed["measured"] < missed["need"], (missed, done)
    else:
        assert done.code == code and missed["outcome"] == "FAIL", done
    assert "held back" not in missed["explanation"], done
    notes = headrace.results("run.json", "results")["points"][0]["notes"]
    assert held is None or f"gpu0 was held back: {held}" in notes, notes


def test_sound_gpus_are_accused_of_nothing(headrace, fleet):
    headrace.write("burn.yaml", BURN % ("", 3, "true"))
    done = headrace("run", "-c", "burn.yaml", "--no-report", "--out", "results", **fleet("* * held_back power limit"))
    assert_sound(headrace, done)
    assert "bad=" not in done.out, done


def laid(headrace, listed):
    """A command that sees eight functions of NVIDIA on the PCI bus, of which `listed` are the GPUs of the plugin."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("mount namespaces cannot be made here (root)")
    tree = headrace.path("sys/bus/pci/devices")
    for i in range(8):
        (tree / f"0000:{10 + i}:00.0").mkdir(parents=True)
        for name, text in (("vendor", "0x10de"), ("class", "0x030200"), ("device", "0x2330")):
            (tree / f"0000:{10 + i}:00.0" / name).write_text(text + "\n")
    headrace.under = ["unshare", "-m", "--propagation", "private", "sh", "-c",
                      f'mount --bind {headrace.path("sys/bus/pci")} /sys/bus/pci && exec "$@"', "sh"]
    return [f"* * count {listed}"] + [f"* {i} address 0000:{10 + i}:00.0" for i in range(listed)]


def test_a_gpu_that_the_driver_has_lost_is_missed(headrace, fleet):
    headrace.write("burn.yaml", BURN % ("", 3, "true"))
    lines = laid(headrace, 7)
    warned = json.loads(headrace("doctor", "--json", **fleet(*lines)).out)["findings"]
    assert [f["subject"] for f in warned if f["section"] == "gpus" and f["level"] == "warning"] == ["GPU at 0000:17:00.0 device"], warned
    done = headrace("run", "-c", "burn.yaml", "--no-report", "--out", "results", **fleet(*lines))
    assert done.code == 10 and list(judged(headrace)) == ["GPU at 0000:17:00.0", "node"], done


def test_eight_gpus_of_eight_are_all(headrace, fleet):
    headrace.write("burn.yaml", BURN % ("", 3, "true"))
    done = headrace("run", "-c", "burn.yaml", "--no-report", "--out", "results", **fleet(*laid(headrace, 8)))
    assert_sound(headrace, done)


NODE = """\
schema: 1
name: node
target: {path: scratch}
defaults: {repeat: 3, rest: 0s, verify: true}
workloads:
  - {use: gpu_burn, size: 16, number: fp32, time: 50ms, batch: 3, memory: 0.0001}
"""


NET = ("--rate", "1gbit")  # far below what busy processors carry, and enough for collectives


def launch(headrace, environment):
    wrapper = headrace.path("reach")
    wrapper.write_text(f"#!/bin/sh\nexport HEADRACE_FAKE_GPUS={environment['HEADRACE_FAKE_GPUS']}\nexec {TOOLS}/on-host \"$@\"\n")
    wrapper.chmod(0o755)
    return ["--launch", f"{wrapper} {{host}}"]


@pytest.mark.parametrize("count, line, words", [
    pytest.param(8, "node3 1 wrong_after 3", "elements of its products were wrong", marks=pytest.mark.long),
    (2, "node2 1 wrong_after 3", "elements of its products were wrong"),
    (3, "node3 0 xid 79", "Xid 79"),
])
def test_bring_up_names_the_node_with_a_broken_gpu(hosts, headrace, fleet, count, line, words):
    headrace.write("node.yaml", NODE)
    bad = line.split()[0]
    done = hosts(count, "--node-tests", "node.yaml", net=NET, launch=launch(headrace, fleet(line)), only=["--no-rdma"])
    assert done.returncode == 10 and named(done) == [("node", bad)], (done, done.record["faults"])
    assert words in done.record["faults"][0]["told"] and f"gpu{line.split()[1]}" in done.record["faults"][0]["told"], done.record["faults"]
    assert states(done)[bad] == "confirmed" and f"nodename={bad} state=drain" in done.stdout, done


def test_bring_up_of_sound_gpus_names_no_node(hosts, headrace, fleet):
    headrace.write("node.yaml", NODE)
    done = hosts(3, "--node-tests", "node.yaml", net=NET, launch=launch(headrace, fleet("* * held_back power limit")), only=["--no-rdma"])
    # 11: beside busy programs no rate decides.
    assert done.returncode in (0, 11) and named(done) == [], (done, done.record["faults"])
    assert len(done.record["sessions"][0]["tests"][0]["nodes"]) == 3, "few nodes are tested, too"
