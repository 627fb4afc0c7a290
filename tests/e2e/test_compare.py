"""headrace compare: runs of this machine, and files that are not what they should be."""

import json
import xml.etree.ElementTree

import pytest


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One small run, and copies of it whose rates a test may change."""
    from conftest import TINY, Headrace
    runner = Headrace(tmp_path_factory.mktemp("compare"))
    runner.write("tiny.yaml", TINY)
    assert runner.run("tiny.yaml", out="a").code == 0
    return runner


def copy(runner, name, change=lambda run: None):
    run = runner.results(out="a")
    run["run"]["id"] = name
    for repetition in (repetition for point in run["points"] for repetition in point["repetitions"]):
        repetition["disturbance"]["disturbed"] = False  # what else this machine does is not the question
    change(run)
    runner.path(name).mkdir(parents=True, exist_ok=True)
    runner.write(f"{name}/run.json", json.dumps(run))
    return name


def scale(factor):
    """All rates times `factor`; both sides so even that only the factor distinguishes them."""
    def change(run):
        for point in run["points"]:
            for metric in point["metrics"]:
                values = [metric["median"] * (1 + 0.001 * i) for i in (-2, -1, 0, 1, 2)]
                f = factor if metric["better"] == "higher" else 1
                metric["values"] = [v * f for v in values]
                for key in ("median", "low", "high"):
                    metric[key] *= f
                metric["low"], metric["high"] = min(metric["values"]), max(metric["values"])
    return change


def history(runner):
    """Options that give eight past runs a tenth of a percent apart."""
    for n in range(8):
        copy(runner, f"past/{n}", scale(1 + 0.001 * (n % 3)))
    return "--history", "past"


def test_a_loss_fails_and_the_same_passes(made):
    base, loss, same = copy(made, "base", scale(1)), copy(made, "loss", scale(0.8)), copy(made, "same", scale(1.001))
    worse = made("compare", base, loss, "--gate", "*.sample_rate")
    assert worse.code == 10, worse
    assert worse.out.splitlines()[-1].startswith("VERDICT FAIL") and "exit=10" in worse.out
    assert "-20 %" in worse.out and "1 of 1 gate is worse: sample_rate of small_file_read" in worse.out
    assert made("compare", base, same, "--gate", "*.sample_rate", *history(made)).code == 0
    # One session each: nobody knows whether they are the same.
    alone = made("compare", base, same, "--gate", "*.sample_rate")
    assert alone.code == 11 and "single-session" in alone.out and "the spread between sessions is unknown" in " ".join(alone.out.split())
    three = made("compare", base, same, loss, "--gate", "*.sample_rate", "--format", "json", *history(made))
    assert [p["summary"]["exit_code"] for p in json.loads(three.out)["pairs"]] == [0, 10]
    assert three.code == 10


def test_a_run_and_itself_end_with_the_warning(made):
    base = copy(made, "base", scale(1))
    itself = made("compare", base, base, "--gate", "*.sample_rate")
    assert itself.code == 11 and "warning  both sides are the same run\nVERDICT INCONCLUSIVE" in itself.out, itself
    assert "no recorded difference that matters" in itself.out and "interleave them" not in itself.out, itself
    assert json.loads(made("compare", base, base, "--json").out)["pairs"][0]["rows"]


def test_no_change_is_no_finding(made):
    base, alike = copy(made, "base", scale(1)), copy(made, "alike", scale(1.001))
    undecided = made("compare", base, alike, "--gate", "*.sample_rate")
    assert undecided.code == 11 and " metrics undecided" in undecided.out and "expected by chance" not in undecided.out, undecided


def test_every_format_and_the_folder(made):
    base, loss = copy(made, "base", scale(1)), copy(made, "loss", scale(0.8))
    data = json.loads(made("compare", base, loss, "--json", "--out", "out").out)
    assert json.loads(made.path("out/comparison.json").read_text()) == data
    assert data["kind"] == "headrace.comparison" and data["design"]["kind"] == "stored"
    suites = xml.etree.ElementTree.fromstring(made("compare", base, loss, "--format", "junit").out)
    assert int(suites.get("tests")) == len(data["pairs"][0]["rows"])
    assert made("compare", base, loss, "--format", "csv").out.count("\n") == len(data["pairs"][0]["rows"]) + 1
    assert made("clean", "out").code == 2
    assert made("clean", "out", "--yes").code == 0 and not made.path("out").exists()


def test_the_page(made):
    if made("report", "a", "--out", "page.html").code != 0:
        pytest.skip("no Python here can draw pages")
    base, loss = copy(made, "base", scale(1)), copy(made, "<b>loss", scale(0.8))
    assert made("compare", base, loss, "--gate", "*.sample_rate", "--out", "drawn").code == 10
    page = made.path("drawn/report.html").read_text()
    assert "sample_rate is worse" in page and "&lt;b&gt;loss" in page and "<b>loss" not in page
    made.path("drawn/report.html").unlink()
    assert made("report", "drawn").code == 0 and made.path("drawn/report.html").read_text() == page
    assert made("report", "drawn", "--print", "full").code == 0 and made.path("drawn/report.html").read_text() != page
    printed = made("compare", base, loss, "--gate", "*.sample_rate", "--format", "html")
    assert printed.code == 10 and "sample_rate is worse" in printed.out and printed.out.endswith("</html>")
    assert made("compare", base, loss, "--out", "plain", "--no-report").code in (10, 11)
    assert not made.path("plain/report.html").exists()


def test_differences_of_the_machine_come_first(made):
    def other(run):
        scale(0.8)(run)
        run["environment"]["kernel"]["release"] = "9.9.9"
    base, loss = copy(made, "base", scale(1)), copy(made, "other", other)
    open_ = made("compare", base, loss, "--gate", "*.sample_rate")
    assert open_.code == 11 and "fingerprint-differs" in open_.out
    assert "compared kernel.release: " in open_.out and "-> 9.9.9 (not declared)" in open_.out
    assert "--differs kernel" in open_.out
    assert made("compare", base, loss, "--gate", "*.sample_rate", "--differs", "kernel").code == 10


@pytest.mark.parametrize("change, words", [
    (lambda r: r.update(schema=2), "schema 2: this headrace reads schema 1"),
    (lambda r: r.update(kind="x"), "not a run file"),
    (lambda r: r["points"][0]["metrics"][0].update(unit="MB/s"), "other units"),
    (lambda r: r["points"][0]["metrics"][0].update(median=1e12), "not the median of the values"),
    (lambda r: r["points"][0]["metrics"].clear(), "measured nothing in common"),
    (lambda r: r["points"][0]["params"].update(workers=7), "measured with other parameters: workers 2 / 7"),
])
def test_odd_files_are_reported_plainly(made, change, words):
    odd = copy(made, "odd", change)
    done = made("compare", "a", odd)
    assert words in done.out + done.err
    assert done.code == (2 if words not in ("other units",) else done.code)


@pytest.mark.parametrize("gate, words", [
    ("nosuch.*", "--gate 'nosuch.*' matches no metric (metrics: small_file_read."),
    ("*.sample_rat", "did you mean '*.sample_rate'?"),
    ("sample_rate", "did you mean '*.sample_rate'?"),
])
def test_a_gate_that_matches_nothing_is_an_error(made, gate, words):
    done = made("compare", copy(made, "base", scale(1)), copy(made, "loss", scale(0.8)), "--gate", gate)
    assert done.code == 2 and words in done.err and not done.out, done


def test_equivalent_metrics_are_reported_once(made):
    done = made("compare", "a", copy(made, "again", lambda run: None), "--json")
    pair = json.loads(done.out)["pairs"][0]
    follows = {row["metric"]: row["says_same_as"] for row in pair["rows"]}
    for metric in ("read_bandwidth", "file_rate", "open_rate", "read_iops"):
        assert follows[metric] == "sample_rate", follows
    assert follows["sample_rate"] == "" and follows["latency_p50_ns"] == ""
    assert pair["summary"]["compared"] == sum(not head for head in follows.values())
    assert "more that say the same: read_bandwidth, file_rate, open_rate" in made("compare", "a", "again").out


def test_facts_are_compared_exactly(headrace):
    headrace.write("facts.yaml", "schema: 1\nname: f\ntarget: {path: scratch}\nworkloads: [{use: host_facts}]\n")
    assert headrace.run("facts.yaml", out="a").code == headrace.run("facts.yaml", out="b").code == 0
    first, second = headrace.results(out="a"), headrace.results(out="b")
    for one, other in zip(first["points"][0]["metrics"], second["points"][0]["metrics"], strict=True):
        assert one["name"] == other["name"]
        if one["unit"] != "count" or one["name"] == "processes_available":  # other programs take and give back room
            other.update({key: one[key] for key in ("median", "low", "high", "values")})
    headrace.write("b/run.json", json.dumps(second))
    done = headrace("compare", "a", "b", "--json")
    rows = {row["metric"]: row for row in json.loads(done.out)["pairs"][0]["rows"]}
    assert rows["cpu_cores"]["status"] == "same" and rows["cpu_cores"]["fact"] and "elapsed_s" not in rows
    assert done.code == 0, done

    def fewer(run):
        metric = run["points"][0]["metrics"][0]
        assert metric["name"] == "cpu_cores"
        metric.update({key: metric["median"] / 2 for key in ("median", "low", "high")}, values=[metric["median"] / 2])
    run = headrace.results(out="b")
    fewer(run)
    headrace.path("c").mkdir()
    headrace.write("c/run.json", json.dumps(run))
    done = headrace("compare", "a", "c")
    assert done.code == 10 and "-50 %" in done.out and "worse (gate)" in done.out, done


def values(point, name, numbers):
    metric = next(m for m in point["metrics"] if m["name"] == name)
    metric.update(values=numbers, median=sorted(numbers)[len(numbers) // 2], low=min(numbers), high=max(numbers))


@pytest.mark.parametrize("change, words", [
    (lambda p: p["metrics"].pop(1), "only in A"),
    (lambda p: values(p, "sample_rate", [-1.0] * 5), "a value below 0 has no ratio"),
    (lambda p: p["metrics"].append(dict(p["metrics"][0], name="unheard_of")), "only in B"),
])
def test_metrics_without_partner_or_ratio_are_named(made, change, words):
    odd = copy(made, "odd", lambda run: change(run["points"][0]))
    done = made("compare", copy(made, "base", scale(1)), odd)
    assert "not compared  small_file_read" in done.out and words in done.out and done.code in (0, 10, 11, 12), done


def test_a_rate_of_zero_is_worse(made):
    base = copy(made, "base", scale(1))
    dead = copy(made, "dead", lambda run: values(run["points"][0], "sample_rate", [0.0] * 5))
    done = made("compare", base, dead, "--gate", "*.sample_rate", "--out", "died")
    assert done.code == 10 and "worse (gate)" in done.out, done
    assert "worse: one side gave nothing" in made.path("died/comparison.json").read_text()
    assert "one side gave nothing" in made.path("died/report.html").read_text()
    back = made("compare", dead, base, "--gate", "*.sample_rate")
    assert back.code == 0 and "better (gate)" in back.out, back


def test_wild_values_are_reported(made):
    base = copy(made, "base", lambda run: values(run["points"][0], "sample_rate", [1e-300, 1e300, 1e-300, 1e300, 1e-300]))
    odd = copy(made, "odd", lambda run: values(run["points"][0], "sample_rate", [1e300, 1e-300, 1e300, 1e-300, 1e300]))
    done = made("compare", base, odd, "--gate", "*.sample_rate")
    assert done.code == 12 and "sample_rate: its values lie too far apart for a ratio" in done.out, done
    wide = copy(made, "wide", lambda run: values(run["points"][0], "sample_rate", [1e-100, 1e-30, 1.0, 1e30, 1e100]))
    done = made("compare", wide, wide, "--gate", "*.sample_rate", "--json")
    row = next(row for row in json.loads(done.out)["pairs"][0]["rows"] if row["metric"] == "sample_rate")
    assert done.code == 11 and row["status"] == "inconclusive", done


def test_thousands_of_points(made):
    def many(factor):
        def change(run):
            scale(factor)(run)
            point = run["points"][0]
            point["repetitions"] = point["repetitions"][:1]
            run["points"] = [dict(point, id=f"small_file_read/files:{n}", params=dict(point["params"], files=n))
                             for n in range(800)]
            run["judgements"], run["summary"] = [], dict(run["summary"])
        return change
    base, loss = copy(made, "base", many(1)), copy(made, "loss", many(0.8))
    done = made("compare", base, loss, "--gate", "small_file_read/files:7.sample_rate", "--json")
    pair = json.loads(done.out)["pairs"][0]
    assert done.code == 10 and pair["summary"]["gated"] == 1 and pair["summary"]["metrics"] > 8_000, done.err
    assert pair["rows"][0]["points"][0] == "small_file_read/files:7" and pair["rows"][0]["status"] == "worse"


def test_markup_in_names_stays_text(made):
    markup = "<script>alert(1)</script>&\"'"

    def change(run):
        scale(1)(run)
        point = run["points"][0]
        point.update(id=markup, description=markup)
        point["metrics"][0].update(description=markup)
        run["run"].update(name=markup, node=markup)
        run["environment"]["kernel"]["release"] = markup + run["run"]["id"]
    base, odd = copy(made, "base", change), copy(made, "odd", change)
    suites = xml.etree.ElementTree.fromstring(made("compare", base, odd, "--format", "junit").out)
    assert any(markup in case.get("name") for case in suites.iter("testcase"))
    assert markup in json.loads(made("compare", base, odd, "--json").out)["pairs"][0]["rows"][0]["points"]
    page = made("compare", base, odd, "--format", "html")
    if "no Python that can draw it" not in page.err:
        assert "&lt;script&gt;alert(1)" in page.out and page.out.count("<script>") == 1, page.err


def test_broken_files(made):
    text = made.path("a/run.json").read_text()
    for name, content, words in (("cut", text[:len(text) // 2], "truncated"),
                                 ("nan", text.replace('"elapsed_s": ', '"elapsed_s": NaN, "x": ', 1), "NaN is not a number"),
                                 ("empty", "", "the file is empty")):
        made.path(name).mkdir(exist_ok=True)
        made.write(f"{name}/run.json", content)
        done = made("compare", "a", name)
        assert done.code == 2 and words in done.err and f"{name}/run.json" in done.err, done
    both = made("compare", "cut", "nan")
    assert both.err.count("\n") == 2  # all problems at once
    assert made("compare", "a").code == 2
    assert made("compare", "a", "nowhere").code == 2


NEW_PARAMETERS = ("loader", "batch_size", "prefetch_factor", "read_profile")


def before_loaders(run):
    """As a version wrote it that did not have these parameters yet."""
    for point in run["points"]:
        for name in NEW_PARAMETERS:
            point["params"].pop(name, None)
    run["headrace"] = {**run.get("headrace", {}), "revision": "0f90068"}
    run["run"]["config_hash"] = "0" * 16


def test_a_parameter_that_an_older_version_did_not_have_counts_as_its_default(made):
    base = copy(made, "base", scale(1))
    params = {p["workload"]: p["params"] for p in made.results(out="a")["points"]}
    assert "loader" in params["small_file_read"], params

    def older(run):
        scale(0.8)(run)
        before_loaders(run)
    old = copy(made, "old", older)
    pair = json.loads(made("compare", old, base, "--format", "json").out)["pairs"][0]
    assert not [n for n in pair["not_compared"] if n["point"].startswith("small_file_read")], pair["not_compared"]
    row = next(r for r in pair["rows"] if r["metric"] == "sample_rate")
    assert 1.24 < row["ratio"] < 1.26, row

    def another_loader(run):
        for point in run["points"]:
            if point["workload"] == "small_file_read":
                point["params"]["loader"] = "pytorch"
    new = copy(made, "new", another_loader)
    reported = made("compare", old, new, "--format", "json")
    assert reported.code == 2 or [n for n in json.loads(reported.out)["pairs"][0]["not_compared"]
                              if n["point"].startswith("small_file_read")], reported


def test_a_history_goes_on_across_versions_with_further_parameters(made):
    def at(number, old):
        def change(run):
            scale(1 + 0.001 * (number % 3))(run)
            run["run"]["started_utc"] = f"2026-01-{number + 1:02}T00:00:00Z"
            if old:
                before_loaders(run)
        return change
    for number in range(8):
        copy(made, f"versions/{number}", at(number, number < 4))
    reported = json.loads(made("history", "versions", "--metric", "small_file_read.sample_rate", "--format", "json").out)
    series, = reported["series"]
    assert len(series["run"]) + len(series["left_out"]) == 8, series
    assert not [one for one in series["left_out"] if one["why"] == "missing"], series
