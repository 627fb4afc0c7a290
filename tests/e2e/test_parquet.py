"""The user's own Parquet files: row groups read and decoded by Apache Arrow, where the build has it; where not, that is reported. The
files are written by pyarrow."""

import re

import pytest

RUN = """\
schema: 1
target: {path: scratch}
workloads:
  - {use: input_pipeline, layout: indexed, read_profile: row_group, loader: pytorch_iterable, path: own, table: parquet, workers: 2,
     batch_size: 100, step_time: 0s, cache: asis, repeat: 1, on_error: ON_ERRORMORE}
"""
GROUPS, ROWS = 4, 100  # of a file; of a group


def usable(headrace):
    return re.search(r"^ +parquet +usable", headrace("--version").out, re.MULTILINE)


def read(headrace, on_error="fail", more="", out=None):
    text = RUN.replace("ON_ERROR", on_error).replace("MORE", more)
    headrace.write("own.yaml", text.replace("cache: asis, ", "") if "source: memory" in more else text)
    outcome = headrace("run", "-c", "own.yaml", "--out", out or on_error, "--no-report")
    return outcome, headrace.results(out=out or on_error)["points"][0]


def metric(point, name):
    return next(m["median"] for m in point["metrics"] if m["name"] == name)


def phase(point):
    return point["repetitions"][0]["phases"][0]


def test_without_arrow_it_is_skipped_and_reported_how_to_get_it(headrace):
    if usable(headrace):
        pytest.skip("Arrow is here")
    headrace.path("own").mkdir()
    headrace.path("own/a.parquet").write_bytes(bytes(100_000))
    outcome, point = read(headrace)
    assert point["status"] == "skipped" and "parquet" in point["reason"] and "HEADRACE_ARROW_ROOT" in point["reason"], point
    assert "sample_rate" not in {m["name"] for m in point["metrics"]}


@pytest.mark.parametrize("more, reported", [
    (", layout: shards, read_profile: wds", "row groups are read by layout indexed"),
    (", path: ''", "goes with a path"),
    (", cpu_time_per_sample: 1ms", "arrays are made of the row groups"),
    (", shuffle_buffer: 100", "table raw holds their bytes"),
    (", table: raw, columns: a", "goes with table parquet"),
])
def test_incompatible_options_are_refused(headrace, more, reported):
    text = RUN.replace("ON_ERROR", "fail")
    for key in re.findall(r"(\w+):", more):
        text = re.sub(rf"\b{key}: [^,}}]+, ?", "", text)
    headrace.write("own.yaml", text.replace("MORE", more))
    outcome = headrace("run", "--check", "-c", "own.yaml")
    assert outcome.code == 2 and reported in " ".join(outcome.err.split()), outcome


@pytest.fixture
def own(headrace):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    if not usable(headrace):
        pytest.skip("headrace was built without Arrow")
    folder = headrace.path("own")
    folder.mkdir()
    for number in range(3):
        rows = range(number * GROUPS * ROWS, (number + 1) * GROUPS * ROWS)
        table = pa.table({"a": list(rows), "b": [bytes([i % 251]) * 300 + str(i).encode() for i in rows], "c": [{"x": i * 0.5, "y": "s"} for i in rows]})
        parquet.write_table(table, folder / f"{number}.parquet", row_group_size=ROWS, compression=["none", "zstd", "snappy"][number],
                            use_dictionary=False)
    return folder


def test_every_row_group_is_read_and_decoded_once(headrace, own):
    outcome, point = read(headrace)
    assert outcome.code == 0 and phase(point)["operations"] == 3 * GROUPS and metric(point, "bad_samples") == 0, (outcome, point)
    assert metric(point, "decoding_share") > 0 and any("rows of 12 row groups, 100 in each" in n for n in point["notes"]), point["notes"]
    outcome, undecoded = read(headrace, more=", table_decoded: false", out="undecoded")
    assert outcome.code == 0 and metric(undecoded, "decoding_share") == 0 and phase(undecoded)["bytes"] == phase(point)["bytes"]
    outcome, memory = read(headrace, more=", source: memory, duration: 1s", out="memory")
    assert outcome.code == 0 and metric(memory, "decoding_share") > metric(memory, "reading_share") and phase(memory)["bytes"] == 0, memory


def test_only_the_columns_that_are_asked_for_are_read(headrace, own):
    everything, few = read(headrace)[1], read(headrace, more=", columns: 'a,c'", out="few")[1]
    # Each row group is read with the footer; column b of the file that is not packed has 300 bytes a row.
    assert 0 < phase(few)["bytes"] <= phase(everything)["bytes"] - GROUPS * ROWS * 300, (phase(few), phase(everything))
    outcome, point = read(headrace, more=", columns: d", out="none")
    assert outcome.code == 1 and "0.parquet at offset" in outcome.out and "it has no column 'd'" in " ".join(outcome.out.split()), outcome


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at:at + 64] = bytes(255 - byte for byte in data[at:at + 64])
    path.write_bytes(data)


def test_a_broken_row_group_is_named_and_counted(headrace, own):
    parquet = pytest.importorskip("pyarrow.parquet")
    chunk = parquet.ParquetFile(own / "1.parquet").metadata.row_group(2).column(1)
    flip(own / "1.parquet", chunk.data_page_offset)
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and metric(point, "bad_samples") == 1 and phase(point)["operations"] == 3 * GROUPS - 1, (outcome, point)
    assert any("bad sample:" in n and "own/1.parquet at offset" in n for n in point["notes"]), point["notes"]
    outcome, point = read(headrace, "fail")
    assert outcome.code == 1 and "1.parquet at offset" in outcome.out, outcome


@pytest.mark.parametrize("spoil", [lambda data: data[:-5000], lambda data: data[:-8] + bytes(8), lambda data: b"no table" * 100],
                         ids=["cut", "no-magic", "another"])
def test_a_file_without_its_footer_is_named(headrace, own, spoil):
    (own / "2.parquet").write_bytes(spoil((own / "2.parquet").read_bytes()))
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and metric(point, "bad_samples") == 1 and phase(point)["operations"] == 2 * GROUPS, (outcome, point)
    assert any("own/2.parquet at offset" in n and "the file is left out" in n for n in point["notes"]), point["notes"]
    outcome, point = read(headrace, "fail")
    assert outcome.code == 1 and "2.parquet at offset" in " ".join((outcome.out + outcome.err).split()), outcome


JOB = """\
schema: 1
job: rows
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 20ms, micro_batch: 50}
dataset: {layout: shards, samples: 1200, sample_size: 330B, samples_per_file: 400, read_profile: row_group, request_size: 33kB, path: own}
loader: {kind: pytorch_iterable, workers_per_gpu: 1}
"""


def test_a_rehearsal_reads_the_users_row_groups(headrace, own):
    headrace.write("job.yaml", JOB)
    outcome = headrace("rehearse", "job.yaml", "--at", "scratch", "--budget", "6s", "--no-report", "--out", "results")
    assert outcome.code in (0, 10, 11, 12), outcome
    points = {p["id"]: p for p in headrace.results()["points"]}
    assert points["input_pipeline/job"]["params"]["table"] == "parquet" and points["input_pipeline/job"]["status"] == "ok"
    assert points["input_pipeline/no-decode"]["params"]["table_decoded"] is False
    assert "prediction" not in headrace.results()["rehearsal"], "what making arrays costs was not measured alone"
