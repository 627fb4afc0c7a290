"""headrace observe where a driver reports on GPUs: NVIDIA's library as the tests have it, described by a file."""

import json
import pathlib
import sys

import pytest
from observed import LOADER, Seen, data, limits

DECODING = ("--workers", "1", "--decode", "0.008", "--step", "0.02", "--steps", "30")


def observe(headrace, data, busy, *options, user="$$"):
    """The loader with a GPU that is so busy [%]; `user` has memory of it."""
    library = pathlib.Path(headrace.binary).parent / "tests/machines/libnvidia-ml.so.1"
    if not library.exists():
        pytest.skip("the tests' library of a driver was not built")
    state = headrace.path("gpu")
    state.write_text(f"0000:17:00.0 {busy} 20\n")
    job = " ".join(map(str, [sys.executable, LOADER, data, *options]))
    outcome = headrace("observe", "--no-report", "--out", "seen", "--", "sh", "-c", f'echo "{user} 41000000000 {busy}" >>{state}; exec {job}',
                       LD_LIBRARY_PATH=str(library.parent), NVML_MOCK_FILE=str(state))
    assert outcome.code == 0, outcome
    return Seen(headrace, "seen", outcome)


def test_gpu_load_is_shown_with_the_cause_of_starving(headrace, data):
    seen = observe(headrace, data, 30, *DECODING)
    [gpu] = seen.reported["gpus"]
    assert gpu["pci_address"] == "0000:17:00.0" and gpu["memory_bytes"] == 41e9 and not gpu["shared"], gpu
    assert gpu["busy"]["share"] == pytest.approx(0.3) and gpu["own_busy"] == pytest.approx(0.3), gpu
    limits(seen, "processor", "workers")
    limit = seen.reported["limit"]
    assert seen.limit == "unknown" or any("its GPU was busy 30 %" in one for one in limit["proof"]), limit
    assert "busy 30 % of the time" in seen.outcome.err and "41.0 GB of its memory" in seen.outcome.err, seen.outcome
    gpus = seen.learned["cluster.gpus_per_node"]
    assert gpus["value"] == 1 and gpus["confidence"] == "high" and "the driver names" in gpus["evidence"], gpus
    assert max(seen.reported["series"]["gpu_busy"]) == pytest.approx(0.3)


def test_a_gpu_that_computes_while_its_main_thread_waits_does_not_starve(headrace, data):
    seen = observe(headrace, data, 98, *DECODING)
    assert seen.reported["consumer"]["waiting_for_loader"]["share"] > 0.3
    assert seen.limit == "consumer" and "computes while the main thread waits" in seen.reported["limit"]["sentence"], seen.reported["limit"]
    step = seen.learned["step.time"]
    assert step["confidence"] != "high" and step["low"] <= seen.truth["step"] <= step["high"] and "its GPU computed 98" in step["evidence"], step


def test_a_process_that_is_busy_while_its_gpu_idles_takes_batches(headrace, data):
    seen = observe(headrace, data, 1, "--own", "0.04", "--step", "0.002", "--steps", "60")
    own = seen.learned["loader.cpu_time_per_batch"]
    assert "its GPU computed for 1.0 %" in own["evidence"], own
    seen.near("loader.cpu_time_per_batch", seen.truth["own"])


def test_a_process_that_spins_while_its_gpu_computes_may_do_nothing_else(headrace, data):
    seen = observe(headrace, data, 95, "--spin", "--step", "0.04", "--steps", "60")
    own = seen.learned["loader.cpu_time_per_batch"]
    assert own["confidence"] == "guess" and own["low"] <= seen.truth["own"] <= own["high"] and "its GPU computed for 95.0 %" in own["evidence"], own
    assert "\n  cpu_time_per_batch" not in (headrace.path("seen") / "job.yaml").read_text()


def test_a_gpu_of_others_is_not_the_jobs(headrace, data):
    seen = observe(headrace, data, 98, *DECODING, user="1")
    assert seen.reported["gpus"] == [], seen.reported["gpus"]
    limits(seen, "processor", "workers")
    assert any("no process of the job" in note for note in seen.reported["notes"]), seen.reported["notes"]
    assert "gpu_busy" not in seen.reported["series"]
