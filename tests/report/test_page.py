"""The page as a text: self-contained, stable, small, escaped, complete without scripts."""

import base64
import dataclasses
import hashlib
import json
import re

import pytest
import sample_run
import sample_sizing
from conftest import Reader, program

from headrace_report import schema, words
from headrace_report.html import embed, views
from headrace_report.load import load_run, read_run


def test_needs_nothing_from_outside(pages, sample):
    reader = pages.reader(sample)
    for tag, key, value in reader.attributes:
        if key in ("src", "srcset", "action", "data", "poster", "xlink:href"):
            pytest.fail(f"{tag} {key}={value}")
        if key == "href":
            assert value.startswith("data:image/png;base64," if tag == "image" else "#"), value[:80]
        assert not key.startswith("on") and key != "style", f"{tag} {key}"
        for target in re.findall(r"url\(([^)]*)\)", value):
            assert target.startswith("#")
    style = re.search(r"<style>(.*?)</style>", pages.text(sample), re.S)[1]
    assert "@import" not in style
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", style))
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(reader.elements)


def test_references_have_targets_and_ids_are_unique(pages, sample):
    text, reader = pages.text(sample), pages.reader(sample)
    assert len(reader.ids) == len(set(reader.ids))
    wanted = {value[1:] for tag, key, value in reader.attributes if key == "href" and tag != "image"}
    wanted |= set(re.findall(r"url\(#([^)]+)\)", text))
    wanted |= {id for _, key, value in reader.attributes if key == "aria-labelledby" for id in value.split()}
    assert wanted <= set(reader.ids)


def test_content_policy_allows_exactly_the_content(pages, sample):
    text = pages.text(sample)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy

    def digest(body):
        return base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    script = re.search(r"<script>(.*?)</script>", text, re.S)[1]
    assert f"style-src 'sha256-{digest(style)}'" in policy
    assert f"script-src 'sha256-{digest(script)}'" in policy
    assert len(script.encode()) <= 10 * 1024


@pytest.mark.parametrize("sample", ["failing", "comparison_worse", "sizing_golden", "fleet_found", "history_change"])
def test_same_run_same_bytes(pages, sample, tmp_path):
    again = tmp_path / "again.html"
    done = program(pages.run_file(sample), "-o", again, PYTHONHASHSEED="7", LC_ALL="C", TZ="Asia/Tokyo")
    assert done.returncode == 0, done.stderr
    assert again.read_bytes() == pages.page(sample).read_bytes()


def test_size(pages, sample):
    assert pages.page(sample).stat().st_size <= 2_000_000


def test_a_long_run_stays_within_the_budget(tmp_path):
    data = sample_run.passing()
    first = data["points"][0]
    data["points"] = []
    for number in range(12):
        point = json.loads(json.dumps(first))
        point["id"] = f"small_file_read/workers:{number}"
        point["repetitions"] = point["repetitions"] * 3
        for index, repetition in enumerate(point["repetitions"]):
            repetition["index"] = index
            for phase in repetition["phases"]:
                phase["series"] = {key: [value + n * 0.000123 for n in range(512)] for key, value in
                                   (("time_s", 0.01), ("bytes_per_s", 9.1e8), ("operations_per_s", 7e3),
                                    ("latency_p99_ns", 1e6))}
        data["points"].append(point)
    run_file = tmp_path / "run.json"
    run_file.write_text(json.dumps(data))
    done = program(run_file)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "report.html").read_text()
    assert len(page.encode()) <= 2_000_000
    assert "without its time series" in page


def test_work_that_moves_no_bytes_is_reported_in_operations(tmp_path):
    data = sample_run.passing()
    point = data["points"][0]
    for repetition in point["repetitions"]:
        first, second = repetition["phases"][0], json.loads(json.dumps(repetition["phases"][0]))
        for phase, name, latency in ((first, "list", 1_000), (second, "stat", 64_000)):
            rates = phase["series"]["operations_per_s"]
            phase.update(name=name, bytes=0, elapsed_s=2.0, operations=len(rates))
            phase["series"]["bytes_per_s"] = [0.0] * len(rates)
            phase["latency"] = {"min_ns": latency, "max_ns": latency,
                                "buckets": [[sample_run.bucket_of(latency), 20_000]]}
        repetition["phases"] = [first, second]
    run_file = tmp_path / "run.json"
    run_file.write_text(json.dumps(data))
    done = program(run_file)
    assert done.returncode == 0, done.stderr
    text = Reader((tmp_path / "report.html").read_text()).text.replace("\u00a0", " ")
    assert "One after the other: list and stat" in text and f"{len(rates) / 2:.1f} /s" in text
    assert "The longest tail is that of stat: 99 % of operations end within 64" in text


@pytest.mark.parametrize("sample", ["hostile", "comparison_hostile", "sizing_hostile", "fleet_hostile", "history_hostile"])
def test_markup_in_names_stays_text(pages, sample):
    text, reader = pages.text(sample), pages.reader(sample)
    assert sample_run.MARKUP in "".join(reader.seen)
    assert reader.elements.count("script") == 2 and "img" not in reader.elements
    assert not any(key.startswith("on") for _, key, _ in reader.attributes)


def test_everything_is_there_without_scripts(pages):
    reader = pages.reader("failing")
    text = reader.text
    data = sample_run.failing()
    for judgement in data["judgements"]:
        assert judgement["id"] in text and judgement["explanation"] in text and judgement["equation"] in text
        if judgement["outcome"] != "PASS":
            assert judgement["next_step"] in text
    for point in data["points"]:
        assert point["id"] in text and point["reason"] in text
    for word in ("FAIL", "2 of 9 requirements missed", "9f2c61e07ab85d34", "3f9c1d2", "not readable", "gpu.h2d_bandwidth",
                 "GDC5602Q", "95 % bootstrap interval", "headrace qualify -c configs/quickstart.yaml"):
        assert word in text.replace("\u00a0", " "), word
    # What scripts alone can do is hidden until they run.
    controls = [attributes for tag, key, attributes in reader.attributes if key == "class" and attributes == "controls"]
    assert controls and pages.text("failing").count('<div class="controls"') == len(re.findall(
        r'<div class="controls"[^>]* hidden>', pages.text("failing")))


def test_the_row_of_a_need_reports_how_it_was_measured(pages):
    rows = re.findall(r"<tbody data-outcome.*?</tbody>", pages.text("failing").split('id="needs-table"')[1].split("</table>")[0], re.S)
    reported = {re.search(r'data-sort="([^"]*)"', row)[1]: Reader(row).text for row in rows}
    assert "as the job reads: 64 blocking workers, whole files" in reported["Bytes read"]
    assert "measured by: small_file_read/engine:io_uring" in reported["Samples read"]  # a file without ways
    assert "measured by:" not in reported["Read calls"] and "as the job" not in reported["Read calls"]  # was skipped
    # One test answers both alike: one row, by plain names; ids are in the details.
    assert "The same test: Files opened 7.01 k/s of 12.3 k/s" in reported["Bytes read"].replace("\u00a0", " "), reported["Bytes read"]
    assert "Files opened" not in reported and "id ingest.read_bandwidth" in reported["Bytes read"], reported.keys()


def test_needs_that_another_test_answers_or_that_differ_are_rows_of_their_own():
    first, second = (schema.Judgement(id=j["id"], name=j["name"], outcome=j["outcome"], point=j["point"], headroom=j["headroom"])
                     for j in sample_run.failing()["judgements"][:2])
    assert [len(group) for group in words.same_tests([first, second])] == [2]
    for change in ({"point": "small_file_read/engine:io_uring"}, {"outcome": "INCONCLUSIVE"}, {"headroom": 0.2}, {"reason": "disturbed"}):
        other = dataclasses.replace(second, **change)
        assert [len(group) for group in words.same_tests([first, other])] == [1, 1], change
    assert words.need_name(dataclasses.replace(first, name="")) == "ingest.read_bandwidth", "older files have no names"


def test_next_steps_appear_once_and_before_the_needs(pages):
    text = pages.reader("failing").text
    for judgement in sample_run.failing()["judgements"]:
        if judgement["next_step"] and judgement["outcome"] != "PASS":
            headline, _, below = text.partition("Do next ")[2].partition("Do next ")
            assert headline.count(judgement["next_step"]) <= 1  # of the first need alone
            assert below.count(judgement["next_step"]) == 1
            assert below.index(judgement["next_step"]) < below.index("What the job needs")


def test_counts_of_repetitions_are_of_one_kind():
    run = read_run(sample_run.failing())
    facts = dict(views.facts(run))
    counted = [r for point in run.points for r in point.repetitions if r.counted and r.status == "ok"]
    others = sum(len(point.repetitions) for point in run.points) - len(counted)
    assert others > 0  # or there is nothing to mix up
    declared = sum(r.cache.declared != "asis" for r in counted)
    disturbed = sum(r.disturbance.disturbed for r in counted)
    assert facts["repetitions"].startswith(f"{len(counted)} count") and f"{others} more do" in facts["repetitions"]
    assert f"of {declared} that declare one" in facts["cache state"] or f"all {declared} that" in facts["cache state"]
    assert facts["disturbed"].startswith(f"{disturbed or 'none'} of {len(counted)} that count")


def test_verdict_is_word_and_symbol(pages):
    text = pages.reader("failing").text
    for reported in ("\u2718 FAIL", "\u2714 PASS", "? INCONCLUSIVE", "\u2013 SKIPPED", "! ERROR"):
        assert reported in text


@pytest.mark.parametrize("sample, least", [("failing", 8),  # needs; time and tail of four points; epochs
                                           ("comparison_worse", 5),  # ratios, blocks, visible; two shifts
                                           ("sizing_golden", 9), ("fleet_found", 3), ("history_change", 4)])
def test_every_figure_is_complete(pages, sample, least):
    text = pages.text(sample)
    figures = re.findall(r"<figure.*?</figure>", text, re.S)
    assert len(figures) >= least
    for figure in figures:
        assert re.search(r"<h4[^>]*>\S.*?</h4>", figure) and re.search(r'class="question">\S', figure)
        assert re.search(r"<title[^>]*>\S", figure) and re.search(r"<desc[^>]*>\S", figure)
        assert "<text" in figure  # real text, no outlines
        assert re.search(r"<details.*<table", figure, re.S)
        assert not re.search(r"#[0-9a-f]{6}\b", re.sub(r'id="[^"]*"|url\(#[^)]*\)|href="#[^"]*"|href="data:[^"]*"', "", figure))


@pytest.mark.parametrize("sample", sorted(sample_run.SAMPLES))
def test_the_page_carries_its_data(pages, sample):
    stored = re.search(r'<script type="application/json" id="headrace-run">(.*?)</script>', pages.text(sample), re.S)[1]
    run = read_run(json.loads(stored))
    original = load_run(str(pages.run_file(sample)))
    assert [j.id for j in run.judgements] == [j.id for j in original.judgements]
    for mine, theirs in zip(run.points, original.points):
        for one, other in zip(mine.repetitions, theirs.repetitions):
            assert [phase.latency for phase in one.phases] == [phase.latency for phase in other.phases]


def test_embedding_leaves_out_the_least_first():
    run = read_run(sample_run.passing())
    whole, nothing = embed.embedded(run)
    small, reported = embed.embedded(run, budget=len(whole) - 1)
    assert nothing == "" and reported == "time series" and len(small) < len(whole)


def luminance(colour):
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def palettes(text):
    """The light palette, and the dark one on top of it."""
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    blocks = re.findall(r":root \{(.*?)\}", style, re.S)[:2]
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in blocks)
    return {"light": light, "dark": {**light, **dark}}


@pytest.mark.parametrize("medium", ["light", "dark"])
def test_contrast(pages, medium):
    palette = palettes(pages.text("interrupted"))[medium]
    tints = [f"{outcome}-tint" for outcome in ("pass", "fail", "inconclusive", "skipped", "error")]
    for ground in ("paper", "surface", *tints):
        for text in ("ink", "quiet", "link", "pass", "fail", "inconclusive", "skipped", "error"):
            assert contrast(palette[text], palette[ground]) >= 4.5, (medium, text, ground)
    for mark in ("muted", "thin", "pass", "fail", "inconclusive", "error", *(f"series-{n}" for n in range(1, 7))):
        assert contrast(palette[mark], palette["paper"]) >= 3.0, (medium, mark)


def test_time_lines_have_their_values_under_the_pointer(pages):
    titles = re.findall(r'<path d="M[^"]*"><title>([^<]*)</title>', pages.text("passing").replace("\u00a0", " "))
    point = sample_run.passing()["points"][0]
    assert 40 <= len(titles) <= 102, len(titles)  # rounded for each repetition
    assert {title.split(",")[0] for title in titles} == {f"repetition {one['index'] + 1}" for one in point["repetitions"]}
    assert all(re.match(r"repetition \d+, [\d.]+ s to [\d.]+ s: [\d.]+ .B/s, p99 [\d.]+ .?s(, warm-up)?$", title) for title in titles), titles[:3]
    # Areas follow each other from the left to the right edge, and nothing else of the figure differs.
    lefts = [float(left) for left in re.findall(r'<path d="M([\d.]+) [\d.]+h[\d.]+v[\d.]+h-[\d.]+"><title>', pages.text("passing"))]
    assert lefts == sorted(lefts) and lefts[0] == 56 and lefts[-1] < 470
    assert "fill=\"none\" pointer-events=\"all\"" in pages.text("passing")


def test_marks_a_checkpoint_saved_during_reads(pages):
    text = pages.reader("saving").text
    before, during = re.search(r"p99 of the reads: (\S+ ms) alone, (\S+ ms) while a checkpoint is saved", text).groups()
    assert float(during.split()[0]) > 4 * float(before.split()[0])
    assert "during: 52.4 MB/s while a checkpoint of 1.07 GB is saved, for 3.05 s at 352 MB/s" in text
    assert "a checkpoint is saved" in text and "save 352 MB/s" in text
    assert "while a checkpoint" not in pages.reader("failing").text


def test_needs_report_unproven_data(pages):
    text = pages.reader("failing").text
    assert "Not proven: 5,000 of 1,281,167 files: caches hold more of them" in text
    assert "Not proven" not in pages.reader("passing").text


def test_fixes_are_on_the_page_of_a_sized_run(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(sample_run.failing()))
    assert program(tmp_path).returncode == 0
    assert "What would help" not in (tmp_path / "report.html").read_text()
    sizing = sample_sizing.golden()
    (tmp_path / "size.json").write_text(json.dumps(sizing))
    done = program(tmp_path)  # of other runs: it says nothing of this one
    assert done.returncode == 2 and "not of" in done.stderr, done.stderr
    sizing["runs"] = [{**sizing["runs"][0], "run": sample_run.failing()["run"]["id"]}]
    (tmp_path / "size.json").write_text(json.dumps(sizing))
    assert program(tmp_path).returncode == 0
    text = Reader((tmp_path / "report.html").read_text()).text
    reported = [text.index(fix["title"], text.index("What would help")) for fix in sizing["fixes"]]
    assert reported and reported == sorted(reported)
    (tmp_path / "size.json").write_text("{")
    done = program(tmp_path)
    assert done.returncode == 2 and "size.json" in done.stderr, done.stderr


def test_requests_of_a_client_are_reported(tmp_path):
    data = sample_run.passing()

    def page():
        run_file = tmp_path / "run.json"
        run_file.write_text(json.dumps(data))
        done = program(run_file)
        assert done.returncode == 0, done.stderr
        return (tmp_path / "report.html").read_text()

    assert "sent again" not in page()  # on file systems without such a client
    data["points"][0]["repetitions"][0]["client"] = {
        "connections": 4, "most_slots": 31, "sent": 130, "in_flight": 7.5, "waiting": 0.25,
        "operations": [{"operation": "READ", "requests": 1280, "repeats": 2, "errors": 0, "queue_s": 1.28, "round_trip_s": 2.56,
                        "execution_s": 5.12}]}
    [row] = re.findall(r"<tr>(?:(?!</tr>).)*>READ<.*?</tr>", page(), re.S)
    words = " ".join(re.sub(r"<[^>]*>", " ", row).split())
    assert words == "1 READ 1,280 2 0 1.00 ms 2.00 ms 4.00 ms 7.5 of at most 31; 0.25 waiting; 4 connections", words
    data["points"][0]["repetitions"][0]["client"] = {  # a client that counts less
        "counter": ".stats", "operations": [{"operation": "object GET", "requests": 1280, "round_trip_s": 2.56}]}
    [row] = re.findall(r"<tr>(?:(?!</tr>).)*>object GET<.*?</tr>", page(), re.S)
    words = " ".join(re.sub(r"<[^>]*>", " ", row).split())
    assert words == "1 object GET 1,280 – – – 2.00 ms – by .stats (parsed, never run here)", words
