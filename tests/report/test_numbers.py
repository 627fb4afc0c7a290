"""Units, histograms and words with answers known beforehand."""

import numpy as np
import pytest
import sample_run
import sample_sizing
from matplotlib.collections import LineCollection

from headrace_report import documents, units, words
from headrace_report.histogram import Merged, Typical, bucket_value
from headrace_report.load import read, read_run
from headrace_report.plots import tail, timeline
from headrace_report.plots.tail import percentile_of, stretch
from headrace_report.schema import Histogram


@pytest.mark.parametrize("value, unit, reported", [
    (1.3312e9, "B/s", "1.33 GB/s"), (999.6e6, "B/s", "1.00 GB/s"), (10240, "1/s", "10.2 k/s"), (0.2, "s", "200 ms"),
    (1.2e6, "ns", "1.20 ms"), (640, "ns", "640 ns"), (5, "1/s", "5.00 /s"), (0.27431, "ratio", "0.274"),
    (128, "count", "128"), (0, "B", "0 B"), (130000, "B", "130 kB"), (None, "B", "\u2013"), (-2.5, "", "\u22122.50"),
    (0, "s", "0 s"), (95, "s", "95.0 s"),
])
def test_quantities(value, unit, reported):
    assert units.quantity(value, unit).replace("\u00a0", " ") == reported


def test_memory_is_binary():
    assert units.quantity(2**30 * 1.5, "B", binary=True) == "1.50\u00a0GiB"


def test_bounds_share_the_scale_of_their_value():
    scale = units.scale_of(0.912e9, "B/s")
    assert units.bounds(0.896e9, 1.02e9, scale) == "[896, 1020]"
    assert units.bounds(None, 0.9e9, scale) == "[no bound, 900]"
    assert units.bounds(None, None, scale) == ""


@pytest.mark.parametrize("ratio, reported", [(1.45, "+45 %"), (0.571, "\u221243 %"), (1.0, "\u00b10 %"), (34.04, "34 \u00d7"),
                                         (None, "\u2013")])
def test_headroom(ratio, reported):
    assert units.headroom(ratio).replace("\u00a0", " ") == reported


@pytest.mark.parametrize("seconds, reported", [(4.25, "4.25 s"), (65, "1 min 05 s"), (7380, "2 h 03 min"), (59.96, "1 min 00 s")])
def test_durations(seconds, reported):
    assert units.duration(seconds).replace("\u00a0", " ") == reported


@pytest.mark.parametrize("ns", [1, 63, 64, 65, 127, 128, 1000, 123456, 10**9, 2**41])
def test_buckets_hold_their_values_within_the_stated_error(ns):
    assert bucket_value(sample_run.bucket_of(ns)) == pytest.approx(ns, rel=1 / 128)


def test_percentiles_of_merged_histograms():
    one = sample_run.histogram(iter(range(1, 501)).__next__, 500)
    two = sample_run.histogram(iter(range(501, 1001)).__next__, 500)
    merged = Merged(Histogram(h["min_ns"], h["max_ns"], [tuple(b) for b in h["buckets"]]) for h in (one, two))
    assert merged.total == 1000
    for share in (0.01, 0.5, 0.9, 0.99, 0.999):
        assert merged.percentile(share) == pytest.approx(1000 * share, rel=1 / 128)
    assert merged.percentile(1.0) <= 1000
    assert np.allclose(merged.curve(np.array([0.5, 0.99])), [merged.percentile(0.5), merged.percentile(0.99)])


def test_an_empty_histogram_has_no_percentile():
    assert Merged([Histogram()]).percentile(0.5) == 0.0


def test_each_nine_takes_the_same_room():
    assert np.allclose(stretch([0.0, 0.9, 0.99, 0.999, 0.9999]), [0, 1, 2, 3, 4])


@pytest.mark.parametrize("metric, share", [("w.open_latency_p99_ns", 0.99), ("w.latency_p50_ns", 0.5),
                                           ("w.latency_p999_ns", 0.999), ("w.latency_p99.9_ns", 0.999),
                                           ("w.read_bandwidth", None), ("p99.read_bandwidth", None)])
def test_percentile_metrics(metric, share):
    assert percentile_of(metric) == share


@pytest.mark.parametrize("sample, reported", [
    ("failing", ("node17 is not ready for \u201cresnet50-imagenet\u201d",
                 "2 of 9 requirements missed, 2 inconclusive, 1 skipped. Files opened: 7.01\u00a0k/s of 12.3\u00a0k/s needed")),
    ("passing", ("node17 is ready for \u201cresnet50-imagenet\u201d", "Both needs asked of it are met")),
    ("without_needs", ("1 of 1 point measured on node17", "No need was declared, so nothing was judged")),
    ("interrupted", ("Stopped by SIGINT (Ctrl-C) before the end", "0 of 1 requirement met, 1 in error")),
])
def test_headlines(sample, reported):
    assert words.headline(read_run(sample_run.SAMPLES[sample]())) == reported


def test_the_headline_of_a_sized_run_says_how_many_gpus_are_fed():
    run, sized = read_run(sample_run.failing()), read(sample_sizing.golden(), documents.TYPES)
    fed = int(sized.summary.gpus_fed)
    assert words.headline(run, sized)[0] == f"node17 feeds {fed} of {sized.summary.gpus:.0f} GPUs of \u201cresnet50-imagenet\u201d"
    passing = read_run(sample_run.passing())
    assert words.headline(passing, sized) == words.headline(passing), "that it is ready says more"


def with_part(sample, outcome, scope="node node3"):
    """What pairs say of a part, beside the sample's needs."""
    data = sample()
    data["judgements"].insert(0, {"id": "network.pair_rate", "scope": scope, "outcome": outcome, "need": 0.75, "required": 0.75,
                                  "unit": "ratio", "measured": 0.5})
    data["summary"].update(word=outcome, exit_code={"FAIL": 10, "INCONCLUSIVE": 11}[outcome])
    data["summary"][outcome.lower()] = data["summary"].get(outcome.lower(), 0) + 1
    return data


@pytest.mark.parametrize("sample, outcome, reported", [
    ("without_needs", "FAIL", ("Bad: node3", "Compared with what their like reached in the same repetitions; no need was declared")),
    ("without_needs", "INCONCLUSIVE", ("It is open whether there is something wrong with node3", "No node is blamed; no need was declared")),
    ("passing", "FAIL", ("Bad: node3", "2 of 2 requirements met; bad: node3")),
    ("failing", "FAIL", ("node17 is not ready for \u201cresnet50-imagenet\u201d",
                         "2 of 9 requirements missed, 2 inconclusive, 1 skipped; bad: node3. Files opened: 7.01\u00a0k/s of "
                         "12.3\u00a0k/s needed")),
])
def test_headlines_name_the_parts_that_are_bad(sample, outcome, reported):
    assert words.headline(read_run(with_part(sample_run.SAMPLES[sample], outcome))) == reported


def test_the_noise_floor_is_reported_or_that_there_is_none():
    data = sample_run.passing()
    assert words.noise_line(read_run(data).noise_floor) == "not measured: headrace run --against-itself"
    data["noise_floor"] = {"source": "runs/aa/aa.json", "median": 0.0132, "false_alarm_rate": 0.004}
    reported = words.noise_line(read_run(data).noise_floor).replace("\u00a0", " ")
    assert reported == "\u00b11.3 %; 0.4 % false alarms (runs/aa/aa.json)"


def passing_point(change):
    """The first point of a sample run that reads files, changed and read back."""
    data = sample_run.passing()
    point = next(p for p in data["points"] if p["workload"] == "small_file_read")
    change(point)
    return next(p for p in read_run(data).points if p.id == point["id"])


def test_a_point_has_one_rate_and_one_tail():
    """Figures are of the repetitions that count, by the statistic that tables have."""
    def left_out(point):
        slow = point["repetitions"][1]
        slow["counted"] = False
        for phase in slow["phases"]:
            phase["bytes"] *= 50
            phase["latency"]["buckets"] = [[index + 256, count] for index, count in phase["latency"]["buckets"]]
            phase["latency"]["max_ns"] = 10**10
        point["metrics"] = sample_run.summaries([r for r in point["repetitions"] if r["counted"]])

    point = passing_point(left_out)
    counted = [r for r in point.repetitions if r.counted]
    assert len(counted) == len(point.repetitions) - 1
    phases = [phase for r in counted for phase in r.phases]
    rate = sum(phase.bytes for phase in phases) / sum(phase.elapsed_s for phase in phases)
    assert units.quantity(rate, "B/s") in timeline.draw(point, []).finding
    each = [Merged([r.phases[0].latency]).percentile(0.99) for r in counted]
    assert units.quantity(float(np.median(each)), "ns") in tail.draw(point, []).finding


@pytest.mark.parametrize("count, lines", [(1, 0), (3, 2), (300, 299), (301, 0)])
def test_repetitions_are_separated_unless_they_are_too_many(count, lines):
    """A line of its own for each would take minutes."""
    def repeated(point):
        point["repetitions"] = [{**point["repetitions"][0], "index": index} for index in range(count)]

    figure = timeline.draw(passing_point(repeated), [])
    for axes in figure.drawing.axes:
        separators = [one for one in axes.collections if isinstance(one, LineCollection)]
        assert len(separators) <= 2 and sum(len(one.get_segments()) for one in separators) == lines
    means = [line for line in figure.drawing.axes[0].lines if line.get_marker() == "o"]
    assert len(means) <= 2 and sum(len(line.get_xdata()) for line in means) == count


def test_a_tail_is_that_of_a_typical_repetition():
    def of(values):
        return [Histogram(min(values), max(values), [(value, values.count(value)) for value in sorted(set(values))])]

    quiet, stalled = [10] * 99 + [20], [10] * 80 + [60] * 20
    typical = Typical([of(quiet), of(quiet), of(stalled)])
    assert typical.percentile(0.99) == 10 and typical.percentile(1.0) == 20
    assert Merged(of(quiet) + of(quiet) + of(stalled)).percentile(0.99) == 60
    assert typical.total == 300 and typical.fewest == 100
    assert list(typical.curve(np.array([0.5, 1.0]))) == [10, 20]
