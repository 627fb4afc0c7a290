"""The page is up to date, what it claims holds, and a table that is wrong is named."""
import json
import math
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import evaluate  # noqa: E402
import network  # noqa: E402
import page  # noqa: E402
import scaling  # noqa: E402
from predictions import Prediction, Skipped  # noqa: E402
from tables import HERE, HEADER, load  # noqa: E402
from validate import BINARY, PAGE, ROOT, grade  # noqa: E402

VALIDATE = [sys.executable, "-B", str(pathlib.Path(__file__).resolve().parent / "validate.py")]


@pytest.fixture(scope="module")
def carried():
    tables = load(HERE)
    return tables, grade(tables)


def of(found, quantity):
    return [p for p in found if isinstance(p, Prediction) and p.quantity == quantity]


def test_every_table_says_where_it_is_from_and_is_graded_or_skipped(carried):
    tables, found = carried
    assert len(tables) >= 25 and sum(len(t.rows) for t in tables) >= 800
    for table in tables:
        assert all(table.header.get(key) for key in HEADER), table.name
        assert any(f.table == table.name for f in found), table.name
        assert all(f.why for f in found if isinstance(f, Skipped)), table.name


def test_the_page_is_up_to_date(carried):
    assert PAGE.read_text() == page.markdown(*carried), "run tests/published/validate.py"


def test_numbers_that_hold_go_on_holding(carried):
    _, found = carried
    for workload in ("unet3d", "resnet50", "cosmoflow"):
        runs = of(found, f"{workload}: utilization of the wall clock")
        assert len(runs) > 100 and sum(abs(p.error) <= 0.01 for p in runs) >= 0.8 * len(runs)
    assert max(abs(p.error) for p in of(found, "checkpoint size")) <= 0.001
    assert max(abs(p.error) for p in of(found, "unet3d: read bandwidth")) <= 0.001
    reduces = of(found, "all-reduce from link rates")
    errors = sorted(abs(p.error) for p in reduces if not p.named)
    assert len(errors) > 60 and page.quantile(errors, 0.5) <= 0.08 and page.quantile(errors, 0.9) <= 0.2
    for one_node in (True, False):
        sound = [p for p in reduces if p.one_node == one_node and "slow links" not in p.named]
        inside = sum(p.within[0] * 0.97 <= p.published <= p.within[1] * 1.03 for p in sound)
        assert len(sound) >= 30 and inside >= 0.9 * len(sound), [p.row for p in sound]
    pairs = of(found, "accelerators fed (H100 from A100)")
    missed = [p for p in pairs if abs(p.predicted - p.published) > max(1, 0.1 * p.published) and not p.named]
    assert len(pairs) >= 30 and len(missed) <= 0.1 * len(pairs), [p.row for p in missed]


@pytest.mark.parametrize("ranks, nodes, nics, used", [(2, "2", "4", 1), (8, "2", "4", 4), (8, "2", "8", 4), (16, "2", "32", 32), (8, "", "4", 4)])
def test_a_rank_uses_the_nics_next_to_it(ranks, nodes, nics, used):
    row = {"hardware": "H100", "ranks": str(ranks), "nodes": nodes, "nics_per_node": nics, "nic_gbit_per_s": "100", "algorithm": "Ring"}
    assert network.Cluster([row]).network == pytest.approx(used * 12.5e9 * network.LINE_SHARE)
    assert network.Cluster([row | {"nodes": "", "nics_per_node": ""}]).nodes == 1


def test_a_cluster_that_is_slower_than_its_links_is_named_and_a_sound_one_is_not(carried, tmp_path):
    _, found = carried
    named = {p.table for p in of(found, "all-reduce from link rates") if "slow links" in p.named}
    assert "all_reduce-azure-h200-8" not in named and "all_reduce-nccl-tests-290-2node" in named, named
    sound = HERE / "all_reduce-azure-h200-8.csv"
    lines = sound.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    at = lines[begin].split(",").index("busbw_gb_per_s")
    for i in range(begin + 1, len(lines)):
        cells = lines[i].split(",")
        cells[at] = str(float(cells[at]) / 2)
        lines[i] = ",".join(cells)
    (tmp_path / "halved.csv").write_text("\n".join(lines) + "\n")
    halved = of(grade(load(tmp_path)), "all-reduce from link rates")
    assert halved and all("slow links" in p.named for p in halved)


def test_other_tables_are_graded_alone(tmp_path):
    shutil.copy(HERE / "vector_search.csv", tmp_path)
    lines = (HERE / "all_reduce-azure-h200-8.csv").read_text().splitlines()
    (tmp_path / "all_reduce.csv").write_text("\n".join(line for line in lines if not line.startswith("#")) + "\n")  # the kind by its name
    before = PAGE.read_text()
    reported = subprocess.run([*VALIDATE, "--tables", str(tmp_path), "--html", str(tmp_path / "page.html")], capture_output=True, text=True)
    assert reported.returncode == 0, reported.stderr
    assert "2 published tables with 30 rows" in reported.stdout and "queries in flight" in reported.stdout, reported.stdout[:500]
    assert (tmp_path / "page.html").read_text().count("<img ") >= 3 and PAGE.read_text() == before


def test_a_table_of_an_unknown_kind_is_refused(tmp_path):
    (tmp_path / "other.csv").write_text("# kind: tape\na,b\n1,2\n")
    reported = subprocess.run([*VALIDATE, "--tables", str(tmp_path)], capture_output=True, text=True)
    assert reported.returncode == 1 and "no grader for tables of the kind tape" in reported.stderr, reported


def test_an_input_outside_its_range_is_not_passed_over():
    assert evaluate.evaluate(BINARY, [("A1", {"global_batch_samples_count": 8, "step_time_s": 2})]) == [4]
    with pytest.raises(evaluate.Rejected, match="step_time_s"):
        evaluate.evaluate(BINARY, [("A1", {"global_batch_samples_count": 8, "step_time_s": 2}),
                                   ("A1", {"global_batch_samples_count": 8, "step_time_s": 0})])


def test_thousands_of_rows_take_one_process():
    many = [("A1", {"global_batch_samples_count": n, "step_time_s": 0.5}) for n in range(20000)]
    assert evaluate.evaluate(BINARY, many) == [2 * n for n in range(20000)]


def made(origin, *factors):
    return [Prediction("t", "q", str(f), f * 100.0, 100.0, "s", "A1", origin=origin) for f in factors]


def test_intervals_come_from_other_origins_alone():
    inside, width = page.coverage(made("a", 1.0, 1.1) + made("b", 1.05, 1.02))
    assert inside == 0.5 and 1.02 < math.exp(width) < 1.11, "b lies in a's interval, a not in b's"
    assert page.coverage(made("a", 1, 2)) is None, "nothing but its own errors"
    inside, _ = page.coverage(made("a", 3.0) + made("b", 1.0) + made("c", 1.0))
    assert inside == pytest.approx(2 / 3)


def test_mlperf_jobs_match_their_source():
    """What mlcommons/storage#692 publishes for an accelerator of unet3d; sizes of checkpoints of the results of 3.0, and of 8B and 1T
    of table 2 of the rules."""
    def needs(job, *words):
        reported = subprocess.run([BINARY, "require", str(ROOT / f"configs/jobs/{job}.yaml"), "--json", *words], capture_output=True, text=True)
        assert reported.returncode == 0, reported.stderr
        return {(n["id"], n["scope"]): n for n in json.loads(reported.stdout)["needs"]}
    for job, gib_per_s in (("mlperf-unet3d-b200", 5.90), ("mlperf-unet3d-h100", 2.96)):
        assert needs(job)["ingest.read_bandwidth", "gpu"]["required"] / 2**30 == pytest.approx(gib_per_s, abs=0.005), job
    # Rates of the results of 3.0: what the job needs, at the utilization that was reached.
    for table in load(HERE):
        for r in table.rows if table.kind == "mlperf_v3_training" else ():
            need = needs(f"mlperf-{r['job']}-{r['accelerator']}", "--set", "cluster.nodes=1", "--set", f"cluster.gpus_per_node={r['n_accelerators']}")
            reached = need["ingest.read_bandwidth", "cluster"]["required"] * float(r["au_percent"]) / 100
            assert reached == pytest.approx(float(r["io_mib_per_s"]) * 2**20, rel=0.01), r["system"]
    for model, gib, within in (("8b", 105, 0.005), ("70b", 911.2121, 0.001), ("405b", 5292.2487, 0.001), ("1t", 17997, 0.001)):
        size = next(v for (name, _), v in needs(f"mlperf-checkpoint-llama3-{model}").items() if name == "checkpoint.size")
        assert size["required"] / 2**30 == pytest.approx(gib, rel=within), model


@pytest.fixture(scope="module")
def grown():
    return scaling.predict(load(HERE))


def test_growing_systems_are_predicted_from_their_smallest_row(grown):
    assert scaling.PAGE.read_text() == scaling.markdown(grown), "run tests/published/scaling.py"
    assert len(grown) >= 15 and sum(p.within for p in grown) >= 0.8 * len(grown), [(p.large.name, p.ratio) for p in grown if not p.within]
    assert all(scaling.why(p) for p in grown if not p.within)


def test_a_system_that_did_not_grow_is_seen(grown, tmp_path):
    """The prediction uses nothing of the larger row's result: with another result it is the same, and misses."""
    table = next(t for t in load(HERE) if t.kind == "mlperf_v3_training")
    source = (HERE / f"{table.name}.csv").read_text()
    (tmp_path / f"{table.name}.csv").write_text(source.replace("845.5,", "422.75,"))
    (other,) = [p for p in scaling.predict(load(tmp_path)) if p.large.hosts == 20]
    (real,) = [p for p in grown if p.table == table.name and p.large.hosts == 20]
    assert other.predicted == real.predicted and real.within and other.ratio == pytest.approx(2 * real.ratio)
    assert "had room" in scaling.why(other)
