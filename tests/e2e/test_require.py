"""What a described job needs, reported at every width, and drawn."""

import json
import re
import xml.dom.minidom

import pytest

RESNET = "configs/jobs/resnet50-imagenet.yaml"
LLM = "configs/jobs/llm-70b.yaml"


def test_needs_can_be_checked_by_hand(headrace):
    reported = headrace("require", RESNET, "--explain")
    assert reported.code == 0, reported
    assert reported.out.startswith(headrace("require", RESNET, "-v").out.split("\n\n", maxsplit=1)[0]), "-v explains, too"
    assert "A3: sample rate * sample bytes * read amplification * (1 - cache hit)\n    = 10240/s * 130 kB * 1 * (1 - 0)\n" in reported.out, reported.out
    assert "1.331 GB/s      1.331 GB/s      166.4 MB/s" in reported.out, reported.out
    unsure = headrace("require", RESNET, "--explain", "--set", "step.time=200ms +- 10%")
    assert "known within 10 % (one standard deviation)" in unsure.out and "with margin 1.2 and uncertainty" in unsure.out, unsure


def test_each_requirement_is_a_row_with_its_plain_name(headrace):
    reported = headrace("require", RESNET, COLUMNS="80")
    rows = [re.split(r"  +", line.strip()) for line in reported.out.splitlines()]
    assert ["Bytes read", "1.60 GB/s", "1.60 GB/s", "200 MB/s"] in rows and ["Names looked up", "49.2 k/s", "49.2 k/s"] in rows, reported.out
    assert "ingest.sample_rate" not in reported.out and "A3" not in reported.out, reported.out
    needs = json.loads(headrace("require", RESNET, "--json").out)["needs"]
    judged = {need["id"] for need in needs if not need.get("informative")}
    assert f"has {len(judged)} requirements" in reported.out, reported.out
    start = next(number for number, row in enumerate(rows) if row[0].startswith("requirement, with margin"))
    assert rows.index([""], start) - start - 1 == len(judged), reported.out
    for need in needs:
        assert need["id"] not in reported.out, need["id"]
    assert any(row[0] == "Ingest: epoch time" for row in rows), reported.out


COMMANDS = [["require", RESNET], ["require", LLM], ["require", RESNET, "--explain"], ["require", "--keys"],
            ["require", LLM, "--set", "parallelism.sharding=zero3", "--compare"],
            ["require", RESNET, "--sweep", "cluster.nodes=1..1024*2", "--sweep", "step.time=100ms,200ms"],
            ["require", LLM, "--sweep", "cluster.nodes=1..8*2"],
            ["require", "--formula"], ["require", "--formula", "A3"], ["require", "--formula", "F1"], ["require", "--formula", "C3"],
            ["require", "--formula", "read_bandwidth_required", "sample_rate_per_s=10240/s", "sample_bytes=130kB"]]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("width", [60, 100])
def test_every_table_fits_the_terminal(headrace, words, width):
    reported = headrace(*words, COLUMNS=str(width))
    assert reported.code == 0, reported
    too_long = [line for line in reported.out.splitlines() if len(line) > width]
    # A command is not broken, nor a word that is longer than the line.
    assert not [line for line in too_long if " " in line.strip() and not line.startswith("Next: headrace ")], too_long


def numbers(text):
    return sorted(re.findall(r"\d+(?:\.\d+)? [kMGT]?i?B(?:/s)?", text))


def test_a_narrow_terminal_hides_nothing(headrace):
    narrow, wide = (headrace("require", RESNET, "--explain", COLUMNS=width).out for width in ("60", "120"))
    assert numbers(" ".join(narrow.split())) == numbers(" ".join(wide.split())) and len(numbers(wide)) > 20


def test_changes_are_listed_and_the_rest_is_counted(headrace):
    reported = headrace("require", LLM, "--set", "parallelism.sharding=zero3", "--compare")
    line = next(line for line in reported.out.splitlines() if line.startswith("network.gradient_busbw"))
    assert line.split() == ["network.gradient_busbw", "gpu", "2.826", "GB/s", "33.91", "GB/s", "x", "12"], reported.out
    assert "ingest." not in reported.out and re.search(r"^\d+ of \d+ stay the same\.$", reported.out, re.M), reported.out


def test_a_formula_is_explained(headrace):
    reported = headrace("require", "--formula", "A3")
    for part in ("A3 read_bandwidth_required: Required read bandwidth [B/s]", "equation  R * S * alpha * (1 - h)",
                 "at least 1 (default 1)", "= 1.3312 GB/s"):
        assert part in reported.out, (part, reported.out)
    assert "NCCL-T: nccl-tests" in headrace("require", "--formula", "F1").out


def test_jobs_that_cannot_be_stay_in_a_sweep(headrace):
    reported = headrace("require", LLM, "--sweep", "cluster.nodes=1..8*2")
    assert reported.code == 0 and "cannot be: cluster.gpus_per_node" in reported.out, reported
    assert headrace("require", LLM, "--sweep", "cluster.nodes=1,2").code == 2


def swept(headrace, *words):
    return json.loads(headrace("require", *words, "--json").out)


def test_a_sweep_is_drawn_a_figure_per_need_that_changes(headrace):
    words = [RESNET, "--sweep", "cluster.nodes=1..1024*2", "--need", "ingest.*@cluster", "--need", "host.cpu_cores"]
    reported = headrace("require", *words, "--plot", "needs.svg")
    assert reported.code == 0 and "wrote needs.svg" in reported.err, reported
    sweep = swept(headrace, *words)
    changing = [need["id"] for number, need in enumerate(sweep["needs"])
                if len({point["needs"][number] for point in sweep["points"]} - {None}) > 1]
    assert "host.cpu_cores" in [need["id"] for need in sweep["needs"]] and "host.cpu_cores" not in changing
    picture = xml.dom.minidom.parse(str(headrace.path("needs.svg")))
    titles = [node.firstChild.data for node in picture.getElementsByTagName("text") if node.getAttribute("class") == "title"]
    assert len(titles) == len(changing) + 1 and all(any(need in title for title in titles) for need in changing), titles
    assert not re.search(r"\b(nan|inf)\b", headrace.path("needs.svg").read_text())
    assert headrace("require", *words, "--plot", "needs.html").code == 0
    page = headrace.path("needs.html").read_text()
    assert page.count("<figure") == len(changing) and "host.cpu_cores" in page


def test_an_object_store_needs_no_guesses_of_the_user(headrace):
    text = """schema: 1
job: s3job
cluster: {nodes: 64, gpus_per_node: 8}
step: {time: 500ms, micro_batch: 16}
dataset: {layout: shards, samples: 10e6, sample_size: 400kB, samples_per_file: 640}
object_store: {first}
"""
    needs = {}
    for first in ("{}", "{first_byte_latency: 100ms, stream_rate: 87.5MB/s}", "{first_byte_latency: 10ms}"):
        reported = headrace("require", headrace.write("job.yaml", text.replace("{first}", first)), "--json")
        assert reported.code == 0, reported
        needs[first] = {(need["id"], need["scope"]): need["required"] for need in json.loads(reported.out)["needs"]}
    least, stated, faster = needs.values()
    assert least == stated, "the defaults are those of the vendor's guidelines"
    assert faster["object_store.concurrency", "cluster"] < least["object_store.concurrency", "cluster"] == 700, least


def test_words_on_an_axis_stay_as_written(headrace):
    assert headrace("require", LLM, "--sweep", "parallelism.sharding=none,zero1,zero3", "--plot", "words.svg").code == 0
    assert "zero3" in headrace.path("words.svg").read_text()


def test_without_a_python_that_can_draw_nothing_is_written(headrace):
    reported = headrace("require", RESNET, "--sweep", "cluster.nodes=1,2", "--plot", "needs.svg", HEADRACE_PYTHON="/bin/false")
    assert reported.code == 1 and "not drawn" in reported.err and not headrace.path("needs.svg").exists(), reported
