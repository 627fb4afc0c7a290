"""Run files with odd but lawful numbers: the page is drawn, or the problem is named; nothing falls over."""

import random

import pytest
import sample_run

from headrace_report.errors import RunFileError
from headrace_report.html.qualification import render
from headrace_report.load import read_run

NUMBERS = (0, 1, -1, 1e-12, 0.5, 1e300, -1e300, 2**62)


def places(value, path=()):
    """Every place of a number or a list in the data."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        yield path
        for number, item in enumerate(value[:3]):
            yield from places(item, (*path, number))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path


def mutate(data, chance):
    every = [path for path in places(data) if path and path[0] not in ("schema", "summary") and "buckets" not in path]
    for path in chance.sample(every, 6):
        place = data
        try:
            for key in path[:-1]:
                place = place[key]
            old = place[path[-1]]
        except (IndexError, KeyError, TypeError):
            continue  # an earlier change took it away
        if isinstance(old, list):
            place[path[-1]] = chance.choice([old, old[:1]])
        else:
            number = chance.choice(NUMBERS)
            place[path[-1]] = int(number) if isinstance(old, int) else float(number)
    return data


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("seed", range(12))
def test_odd_numbers(seed):
    chance = random.Random(seed)
    for make in (sample_run.golden, sample_run.passing):
        try:
            assert render(read_run(mutate(make(), chance))).startswith("<!DOCTYPE html>")
        except RunFileError:
            pass


@pytest.mark.parametrize("path, value", [
    (("phases", 0, "elapsed_s"), 0.0), (("phases", 0, "operations"), 0), (("phases", 0, "bytes"), 0),
    (("phases",), []), (("phases", 0, "series"), {}), (("phases", 0, "latency"), {}), (("metrics",), {}),
])
def test_empty_parts(path, value):
    data = sample_run.passing()
    for repetition in data["points"][0]["repetitions"]:
        place = repetition
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    assert "</html>" in render(read_run(data))


def test_needs_without_anything_measured():
    data = sample_run.passing()
    for judgement in data["judgements"]:
        for key in ("measured", "low", "high", "headroom"):
            judgement.pop(key, None)
    assert "</html>" in render(read_run(data))


def test_no_point_at_all():
    data = sample_run.without_needs()
    data["points"] = []
    data["environment"] = {}
    assert "Nothing was recorded" in render(read_run(data))
