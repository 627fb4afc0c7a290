"""A loader that is watched, and what headrace makes of it, compared with the loader's own truth."""

import json
import pathlib
import random
import sys

import pytest

LOADER = pathlib.Path(__file__).parents[1] / "observe/loader.py"
GUARD = 120


def drawn_files(folder, count):
    """Files of 60 to 140 kB in four folders."""
    drawn = random.Random(3)
    for number in range(count):
        (folder / f"c{number % 4}").mkdir(exist_ok=True)
        (folder / f"c{number % 4}/{number}.bin").write_bytes(drawn.randbytes(int(drawn.uniform(60e3, 140e3))))
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return drawn_files(tmp_path_factory.mktemp("data"), 120)


class Seen:
    """One observation: the loader's own truth, what headrace wrote."""

    def __init__(self, headrace, out, outcome):
        self.outcome = outcome
        self.truth = json.loads(outcome.out.splitlines()[-1])
        self.reported = json.loads((headrace.path(out) / "observe.json").read_text())
        self.learned = {one["key"]: one for one in self.reported["learned"]}

    @property
    def limit(self):
        return self.reported["limit"]["id"]

    def near(self, key, truth):
        """Within 5 % of the truth, or said to be unknown. Then it is a guess, or the confidence is low, and the truth is at most 5 %
        outside of the bounds that are reported."""
        one = self.learned[key]
        if one["confidence"] == "guess":  # of what is not known there is no value
            return
        right = abs(one["value"] - truth) <= 0.05 * truth
        assert right or (one["confidence"] == "low" and 0.95 * one["low"] <= truth <= 1.05 * one["high"]), (one, truth)


def limits(seen, *right):
    """One of those. Or the processors, or nothing is concluded, where other programs leave the job or the watcher none."""
    queued = max(seen.reported[side].get("queued", {"share": 0})["share"] for side in ("consumer", "workers"))
    busy = queued > 0.2 or seen.reported["idle_cpus"] < 0.1
    shown = {key: seen.reported[key] for key in ("limit", "consumer", "workers")}
    assert seen.limit in right + (("processor", "unknown") if busy else ()), shown


def observe(headrace, data, *options, out="seen", page=("--no-report",)):
    outcome = headrace("observe", *page, "--out", out, "--", sys.executable, str(LOADER), str(data), *options)
    assert outcome.code == 0, outcome
    return Seen(headrace, out, outcome)
