"""What benches/regression.py decides, on made-up series whose truth is known."""

import importlib.util
import pathlib
import random

import pytest

FILE = pathlib.Path(__file__).parents[2] / "benches/regression.py"
spec = importlib.util.spec_from_file_location("regression", FILE)
gate = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gate)


def series(truth, noise, count, seed, spike=0.0):
    """Ratios of turns; `spike` is the share of turns that something disturbed."""
    rng = random.Random(seed)
    return [rng.lognormvariate(0, noise) * truth * (rng.choice([0.4, 2.0]) if rng.random() < spike else 1) for _ in range(count)]


@pytest.mark.parametrize("truth, noise, count, word", [
    (1.0, 0.02, 40, "kept"), (1.05, 0.02, 20, "kept"), (0.93, 0.02, 40, "slower"), (0.8, 0.05, 20, "slower"), (0.97, 0.03, 80, "open"),
    (0.99, 0.10, 20, "open"), (1.0, 0.02, 5, "open"), (0.8, 0.02, 3, "open"),  # that few turns decide nothing
])
def test_the_decision(truth, noise, count, word):
    assert gate.decide(series(truth, noise, count, 7)) == word


def test_one_slow_work_among_two_is_slower_and_an_open_one_is_not_kept():
    good, slow, unclear = series(1.0, 0.02, 80, 1), series(0.9, 0.02, 80, 2), series(0.97, 0.03, 80, 3)
    assert gate.verdict({"a": good, "b": good}) == 0
    assert gate.verdict({"a": good, "b": slow}) == 1
    assert gate.verdict({"a": unclear, "b": slow}) == 1
    assert gate.verdict({"a": good, "b": unclear}) == 12


def test_disturbed_turns_change_nothing():
    assert gate.decide(series(1.0, 0.02, 80, 4, spike=0.15)) == "kept"
    assert gate.decide(series(0.92, 0.02, 80, 5, spike=0.15)) == "slower"


def looked(truth, noise, seed):
    """The word at the look that ends it."""
    ratios = series(truth, noise, gate.LOOKS[-1], seed)
    return next((word for look in gate.LOOKS if (word := gate.decide(ratios[:look])) != "open"), "open")


def test_how_often_it_is_wrong():
    """Of 400 builds each: at the limit itself at most 5 % are called slower, or kept; none as fast as the base is called slower."""
    at_limit = [looked(gate.LEAST, 0.03, seed) for seed in range(400)]
    assert at_limit.count("slower") + at_limit.count("kept") <= 400 * gate.RISK, at_limit
    assert "slower" not in {looked(1.0, 0.03, seed) for seed in range(400)}
    slow = [looked(0.93, 0.03, seed) for seed in range(400)]
    assert "kept" not in slow and slow.count("slower") >= 395, slow.count("slower")


def test_the_interval_is_that_of_the_binomial_distribution():
    low, high = gate.interval([float(i) for i in range(1, 21)], 0.05)
    assert (low, high) == (6, 15)  # of 20 values the 6th and the 15th hold the median with 95.9 %
    assert gate.interval([1.0, 2.0, 3.0], 0.05) == (0.0, float("inf"))
