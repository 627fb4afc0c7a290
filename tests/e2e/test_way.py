"""Which point answers for a job: the one that reads as the job does. Faster ones advise, others say nothing."""

import json
import re
import pathlib

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
FILES = "files: 64, file_size: 8KiB, engine: posix, cache: cold, repeat: 6"
JOB = """\
schema: 1
job: little
cluster: {{nodes: 1, gpus_per_node: 2}}
step: {{time: {step}, micro_batch: 1}}
dataset: {{layout: files, samples: 64, sample_size: {size}}}
loader: {{workers_per_gpu: 1}}
"""
EASY, HARD = "1000s", "1us"  # needs that any storage meets, and that none does


@pytest.fixture
def judged(headrace):
    """judged(entries, step, size) -> the judgement of the need of samples, and the run's outcome."""
    def run(*entries, step, size="8KiB"):
        headrace.write("job.yaml", JOB.format(step=step, size=size))
        headrace.write("way.yaml", "schema: 1\ntarget: {path: scratch, max_write: 64MiB}\nneeds: [ingest.sample_rate]\n"
                       "workloads:\n" + "".join(f"  - {{use: small_file_read, {e}}}\n" for e in entries))
        outcome = headrace.run("way.yaml", "--job", "job.yaml", "-v", verb="qualify")
        (need,) = headrace.results()["judgements"]
        if need.get("reason") in ("cache-unproven", "disturbed", "not-steady"):
            pytest.skip("this machine does not let it be measured: " + need["explanation"])
        return need, outcome
    return run


def test_the_point_that_reads_as_the_job_does_answers(judged):
    need, outcome = judged(f"{FILES}, workers: [2, 8]", step=EASY)
    assert need["point"] == "small_file_read/workers:2" and need["outcome"] == "PASS", need
    assert need["way"] == "2 blocking workers, whole files", need
    assert "as the job reads: 2 blocking workers, whole files" in outcome.out, outcome


@pytest.mark.parametrize("more", ["workers: 8", "workers: 2, engine: io_uring, queue_depth: 16"])
def test_more_at_work_than_the_job_has_never_passes(judged, more):
    need, outcome = judged(f"{FILES.replace('engine: posix, ', '')}, {more}", step=EASY)
    if need["outcome"] == "SKIPPED":
        pytest.skip(need["explanation"])
    assert (need["outcome"], need["reason"]) == ("INCONCLUSIVE", "other-settings"), need
    assert outcome.code == 11 and "that is how the job does it" in outcome.out, outcome
    assert not need.get("way"), need


def test_less_at_work_than_the_job_has_never_fails(judged):
    need, outcome = judged(f"{FILES}, workers: 1", step=HARD)
    assert (need["outcome"], need["reason"]) == ("INCONCLUSIVE", "other-settings"), need
    assert outcome.code == 11, outcome


def test_miss_with_more_workers_is_a_miss(judged):
    need, outcome = judged(f"{FILES}, workers: 8", step=HARD)
    assert need["outcome"] == "FAIL" and outcome.code == 10, need


def test_other_sizes_answer_nothing(judged):
    need, outcome = judged(f"{FILES}, workers: 2", step=EASY, size="4MB")
    assert need["outcome"] == "SKIPPED" and "No point reads as the job does" in need["explanation"], need
    assert outcome.code in (12, 77), outcome  # nothing at all was answered


def test_qualify_and_size_never_contradict(headrace):
    """From the same run both name the same point, and one never says PASS where the other says FAIL."""
    for step, word in ((EASY, "PASS"), (HARD, "FAIL")):
        out = f"run-{word}"
        headrace.write("job.yaml", JOB.format(step=step, size="8KiB"))
        result = headrace("qualify", "job.yaml", "--at", "scratch", "--budget", "5s", "--max-write", "64MiB", "--no-report",
                          "--out", out)
        assert result.code in (0, 10, 11, 12), result
        sized = headrace("size", "job.yaml", "--runs", out, "--out", f"sized-{word}", "--no-report", "--json")
        needs = {j["id"]: j for j in headrace.results(out=out)["judgements"]}
        if sized.code == 2 and needs["ingest.read_bandwidth"].get("reason") == "cache-unproven":  # neither has a cold read
            assert "measured nothing that this job needs" in sized.err, sized
            continue
        assert sized.code in (0, 10, 11, 12), sized
        phases = {p["phase"]: p for p in json.loads(sized.out)["phases"]}
        need, phase = needs["ingest.read_bandwidth"], phases["cold_epoch"]
        assert need["point"] == "small_file_read/job", need
        assert phase["supply"]["point"] == need["point"], phase
        assert {need["outcome"], phase["outcome"]} != {"PASS", "FAIL"}, (need, phase)


def shipped_jobs():
    """All of them; what is not the first of its layout is long."""
    layouts = set()
    for job in sorted((ROOT / "configs" / "jobs").glob("*.yaml")):
        layout = (yaml.safe_load(job.read_text()).get("dataset") or {}).get("layout")
        yield pytest.param(job, id=job.stem, marks=[pytest.mark.long] if layout in layouts else [])
        layouts.add(layout)


@pytest.mark.parametrize("job", shipped_jobs())
def test_qualify_and_size_report_the_same_of_every_shipped_job(headrace, job):
    """From one run, with little data: the same points, no contrary words, and the same help, in the same order."""
    reported = headrace("qualify", job, "--at", "scratch", "--budget", "1s", "--max-write", "64MB", "--no-report",
                    "--out", headrace.path("run"))
    assert reported.code in (0, 10, 11, 12), reported
    sized = headrace("size", job, "--runs", headrace.path("run"), "--json")
    if sized.code == 2:
        assert "measured nothing that this job needs" in sized.err and "what would help" not in reported.out, (sized, reported)
        return
    size = json.loads(sized.out)
    needs = {j["id"]: j for j in headrace.results(out="run")["judgements"] if j["scope"] == "node"}
    compared = 0
    for phase in size["phases"]:
        need = needs.get(phase["need"])
        if need is None or not need.get("point"):
            continue
        compared += 1
        assert phase["supply"]["point"] == need["point"], (phase, need)
        assert {need["outcome"], phase["outcome"]} != {"PASS", "FAIL"}, (phase, need)
    assert compared > 0, (size["phases"], needs)
    text = headrace("size", job, "--runs", headrace.path("run")).out
    begin = "what would help\n"
    of_size = re.split(r"\n\n|\nVERDICT ", text[text.index(begin):])[0] if begin in text else ""
    assert bool(of_size) == bool(size["fixes"]), text
    assert of_size in reported.out, (of_size, reported.out)
    for fix in size["fixes"]:  # the job is no configuration
        assert fix["command"].startswith((f"headrace qualify {job} --at", "headrace size", "headrace run -c configs/sizing.yaml")), fix
    kept = headrace.path("run/size.json")  # the page reads it
    assert (json.loads(kept.read_text())["fixes"] if kept.exists() else []) == size["fixes"]


def test_a_stored_run_is_judged_for_another_job(judged, headrace):
    need, _ = judged(f"{FILES}, workers: 2", step=EASY)
    assert need["outcome"] == "PASS", need

    def judge(*words):
        outcome = headrace("verdict", "results", "--job", "job.yaml", "--json", *words)
        reported = json.loads(outcome.out)
        assert reported["kind"] == "headrace.judge" and reported["summary"]["exit_code"] == outcome.code, outcome
        return outcome.code, {j["id"]: j for j in reported["judgements"]}, {u["id"]: u["why"] for u in reported["unanswered"]}

    code, same, _ = judge()
    headrace.write("read.yaml", headrace.path("job.yaml").read_text())
    asked = headrace("run", "--dry-run", "read.yaml", "--at", "elsewhere").out.split("needs that will be judged")[1]
    for name in same:  # each once, as qualify asks
        assert asked.count(name + " ") == 1, (name, asked)
    both = json.loads(headrace("verdict", "results", "--job", "job.yaml", "--json").out)
    assert len(both["judgements"]) == len(same) and {j["scope"] for j in both["judgements"]} == {"node"}, both
    assert same["ingest.sample_rate"]["outcome"] == "PASS" and same["ingest.sample_rate"]["way"] == need["way"], same
    code, faster, _ = judge("--set", f"step.time={HARD}")
    missed = faster["ingest.sample_rate"]  # where all repetitions were disturbed, a miss is not sure
    assert (missed["outcome"], code) == ("FAIL", 10) or (missed["reason"], code) == ("disturbed", 11), faster
    _, more, _ = judge("--set", "loader.workers_per_gpu=8", "--set", f"step.time={HARD}")
    other = more["ingest.sample_rate"]
    assert other["reason"] == "other-settings" or (other["reason"] == "disturbed" and "the job has 16" in other["explanation"]), more
    code, larger, unanswered = judge("--set", "dataset.sample_size=4MB")
    assert "ingest.sample_rate" not in larger and "No point reads as the job does" in unanswered["ingest.sample_rate"]
    assert code == 12, larger
    text = headrace("verdict", "results", "--job", "job.yaml", "--set", "dataset.sample_size=4MB")
    assert "not answered by this run" in text.out and "headrace qualify job.yaml" in text.out, text


def test_past_sessions_that_lie_far_apart_take_a_pass_back(judged, headrace):
    need, _ = judged(f"{FILES}, workers: 2", step=EASY)
    assert need["outcome"] == "PASS" and "of one session" in need["explanation"], need

    def judge_beside(folder, count, factor):
        """Beside `count` past runs that gave `factor` times as much, or that part of it, in turns."""
        for n in range(count):
            run = headrace.results()
            run["run"].update(id=f"{folder}-{n}", started_utc=f"2026-01-0{n + 1}T00:00:00Z")
            times = factor if n % 2 else 1 / factor
            for metric in run["points"][0]["metrics"]:
                metric["values"] = [value * times for value in metric["values"]]
                for key in ("median", "low", "high"):
                    metric[key] *= times
            for repetition in run["points"][0]["repetitions"]:
                repetition["disturbance"]["disturbed"] = False  # whatever else runs while this is tested
            headrace.path(f"{folder}/{n}").mkdir(parents=True)
            headrace.write(f"{folder}/{n}/run.json", json.dumps(run))
        outcome = headrace("verdict", "results", "--job", "job.yaml", "--history", folder)
        return outcome.code, " ".join(outcome.out.split())  # wherever its lines were broken

    code, reported = judge_beside("quiet", 8, 1.001)
    assert code in (0, 12) and "INCONCLUSIVE" not in reported, reported
    code, reported = judge_beside("wild", 8, 1e8)
    assert code == 11 and "INCONCLUSIVE" in reported and "needed; single-session" in reported and "8 past sessions scatter by" in reported, reported
    code, reported = judge_beside("few", 7, 1e8)
    assert code in (0, 12) and "INCONCLUSIVE" not in reported, reported
    assert headrace("verdict", "results", "--job", "job.yaml", "--history", "nowhere").code == 2


def test_invalid_run_is_reported(headrace):
    headrace.write("job.yaml", JOB.format(step=EASY, size="8KiB"))
    outcome = headrace("verdict", "nowhere", "--job", "job.yaml")
    assert outcome.code == 2 and "nowhere" in outcome.err, outcome
