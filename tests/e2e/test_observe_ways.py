"""headrace observe of loaders that are made in many ways, threads and main threads among them: the stage that limits is named."""

import importlib.util
import subprocess
import sys

import pytest
from observed import LOADER, Seen, data, limits

WAYS = LOADER.parent / "ways.py"
# As the tests' own Python may have no torch.
HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch (Debian: python3-torch)")

SERVER = """
import socket, struct, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
job, _ = server.accept()
while True:
    time.sleep(0.01)
    job.sendall(struct.pack("!I", 60000) + bytes(60000))
"""


def watched(headrace, data, way, *options):
    outcome = headrace("observe", "--no-report", "--out", "seen", "--", sys.executable, WAYS, data, way, *map(str, options))
    assert outcome.code == 0, outcome
    return Seen(headrace, "seen", outcome)


def is_fed(seen):
    assert seen.reported["consumer"]["waiting_for_loader"]["share"] < 0.1 or seen.limit == "processor", seen.reported["consumer"]


def test_threads_that_feed_training_do_not_limit(headrace, data):
    seen = watched(headrace, data, "threads", "--step", "0.08", "--steps", "40")
    limits(seen, "consumer")
    is_fed(seen)


def test_threads_that_compute_are_no_training(headrace, data):
    seen = watched(headrace, data, "threads_in_c", "--step", "0.01", "--steps", "40", "--decode", "0.02")
    limits(seen, "workers", "processor")
    assert seen.reported["consumer"]["waiting_for_loader"]["share"] > 0.5 and seen.reported["workers"]["processor"]["share"] > 0.3


def test_threads_that_wait_for_the_interpreter_lock(headrace, data):
    seen = watched(headrace, data, "threads", "--step", "0.01", "--steps", "40", "--decode", "0.01", "--threads", "8")
    limits(seen, "interpreter_lock")
    assert seen.limit == "processor" or seen.reported["workers"]["interpreter_lock"]["share"] > seen.reported["workers"]["processor"]["share"]


def test_a_generator_in_a_thread(headrace, data):
    limits(watched(headrace, data, "generator", "--step", "0.02", "--steps", "40", "--decode", "0.01"), "workers", "processor")


def test_a_main_thread_that_decodes(headrace, data):
    seen = watched(headrace, data, "alone", "--steps", "40", "--decode", "0.01", "--step", "0.02")
    limits(seen, "main_process")
    assert "decodes" in seen.reported["limit"]["sentence"] or seen.limit == "processor", seen.reported["limit"]
    assert seen.reported["workers"] == {}


@pytest.mark.long
def test_a_main_thread_that_decodes_and_trains(headrace, data):
    """Where looks come late, stretches between reads run together, and which of both they are is not known."""
    limits(watched(headrace, data, "alone", "--steps", "40", "--decode", "0.01", "--step", "0", "--busy", "0.12"), "main_process", "unknown")


def test_a_main_thread_that_trains(headrace, data):
    limits(watched(headrace, data, "alone", "--steps", "16", "--step", "0", "--busy", "0.4", "--decode", "0.004"), "consumer", "unknown")


def test_making_and_training_that_look_alike_are_not_reported(headrace, data):
    """One sample a step, or samples that memory serves at once: between two reads lie both."""
    seen = watched(headrace, data, "alone", "--steps", "60", "--step", "0", "--busy", "0.05", "--batch", "1", "--decode", "0.02")
    limits(seen, "unknown")
    assert seen.limit != "unknown" or "num_workers=1" in seen.reported["limit"]["advice"][0]


def test_network_data_is_not_reported(headrace, data):
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        seen = watched(headrace, data, "socket", "--step", "0.03", "--steps", "40", "--port", server.stdout.readline().strip())
    finally:
        server.kill()
        server.wait()
    limits(seen, "unknown")
    assert "network" in seen.reported["limit"]["sentence"] or seen.limit == "processor", seen.reported["limit"]


def test_workers_that_pause_by_themselves(headrace, data):
    limits(watched(headrace, data, "workers_pause", "--step", "0.02", "--steps", "40", "--pause", "0.15"), "workers")


def test_a_thread_that_carries_batches(headrace, data):
    seen = watched(headrace, data, "carried", "--step", "0.01", "--steps", "50", "--own", "0.05")
    limits(seen, "hand_over")
    assert "A thread of the main process" in seen.reported["limit"]["sentence"] or seen.limit == "processor", seen.reported["limit"]


@needs_torch
@pytest.mark.long
def test_collation_in_the_main_process(headrace, data):
    limits(watched(headrace, data, "torch_collate", "--step", "0.02", "--steps", "40", "--own", "0.06"), "main_process")


@needs_torch
@pytest.mark.long
def test_augmentation_in_the_main_process_with_workers(headrace, data):
    limits(watched(headrace, data, "torch_workers", "--step", "0.02", "--steps", "40", "--own", "0.05"), "main_process")


@needs_torch
@pytest.mark.long
def test_training_on_processors_with_workers(headrace, data):
    limits(watched(headrace, data, "torch_workers", "--step", "0", "--steps", "40", "--busy", "0.1"), "consumer")


@needs_torch
def test_workers_that_decode(headrace, data):
    limits(watched(headrace, data, "torch_workers", "--step", "0.02", "--steps", "40", "--decode", "0.02"), "workers", "processor")
