"""Points over an object store side by side: which reaches what is needed with the least processor time."""

import json

import sample_run
from headrace_report.html.objects import object_tables
from headrace_report.load import load_run


def point(id, workload, rate, cores, asked=True, **params):
    made = sample_run.small_files(1, id, "s3", rate, 3, 1000)
    made.update(workload=workload, params={"workers": 4, "queue_depth": 2, "block_size": 1 << 20, **params})
    for repetition in made["repetitions"]:
        repetition["metrics"] |= {"cpu_s": cores * 2.0, "elapsed_s": 2.0}
    if asked:
        for name, value in (("throttled_share", 0.0), ("requests_in_flight", 7.5)):
            made["metrics"].append({"name": name, "unit": "", "values": [value] * 3, "median": value})
    return made


def tables(tmp_path, points, need=1e9, word="PASS"):
    judgements = [sample_run.judgement("shards", word, need, "B/s", 2e9, 1.9e9, 2.1e9, point=points[0]["id"],
                                       metric="shard_stream.read_bandwidth", explanation="so it is")] if need else []
    file = tmp_path / "run.json"
    file.write_text(json.dumps(sample_run.run_file(word if need else "MEASURED", 0, judgements, points)))
    run = load_run(file)
    return object_tables(run, {one.id: f"point-{n}" for n, one in enumerate(run.points)})


def test_the_least_processor_time_of_those_that_reach_the_need(tmp_path):
    [table] = tables(tmp_path, [point("deep", "shard_stream", 2e9, 4.0), point("wide", "shard_stream", 1.5e9, 1.5),
                                point("slow", "shard_stream", 0.2e9, 0.1), point("files", "shard_stream", 3e9, 0.1, asked=False)])
    assert [(row.id, row.meets, row.least) for row in table.rows] == [
        ("deep", "yes", False), ("wide", "yes", True), ("slow", "no", False)], table
    wide = table.rows[1]
    assert wide.at_once == "4 × 2, 7.5 in flight" and float(wide.cores) == 1.5 and wide.anchor == "point-1", wide
    assert wide.requests.replace("\u00a0", " ") == "1 MiB" and wide.cost.replace("\u00a0", " ").startswith("1."), wide


def test_without_a_need_the_least_of_all(tmp_path):
    [table] = tables(tmp_path, [point("deep", "shard_stream", 2e9, 4.0), point("slow", "shard_stream", 0.2e9, 0.1)], need=None)
    assert [row.least for row in table.rows] == [False, True] and table.need == "" and table.rows[0].meets == "", table


def test_one_point_or_files_alone_make_no_table(tmp_path):
    assert tables(tmp_path, [point("deep", "shard_stream", 2e9, 4.0)]) == []
    assert tables(tmp_path, [point(name, "shard_stream", 2e9, 4.0, asked=False) for name in ("a", "b")]) == []
