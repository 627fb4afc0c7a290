"""A data set of one's own in its real format: each sample is found, and what is wrong is named and counted. The shards are
made by Python's tarfile, and by a writer of TFRecord that shares nothing with headrace."""

import io
import json
import struct
import tarfile

import pytest

RUN = """\
schema: 1
target: {path: scratch}
workloads:
  - {use: input_pipeline, layout: shards, loader: pytorch_iterable, path: own, workers: 2, batch_size: 1, step_time: 0s,
     repeat: 1, cache: asis, on_error: ON_ERROR}
"""
SAMPLES = 25  # of a shard


def tar(path, samples=SAMPLES, name="c{}/image_{}", without=(), form=tarfile.PAX_FORMAT):
    with tarfile.open(path, "w", format=form) as out:
        for number in range(samples):
            for part, data in (("jpg", bytes([number]) * (700 + 97 * number)), ("cls", b"3")):
                if (number, part) in without:
                    continue
                info = tarfile.TarInfo(name.format(number % 3, number) + "." + part)
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))


def offset_of(path, member):
    with tarfile.open(path) as archive:
        return archive.getmember(member).offset


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def tfrecord(path, records=SAMPLES):
    with open(path, "wb") as out:
        for number in range(records):
            data, length = bytes([number]) * 300, struct.pack("<Q", 300)
            out.write(length + struct.pack("<I", crc32c(length)) + data + struct.pack("<I", crc32c(data)))


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)


def read(headrace, on_error="skip", workers=2):
    headrace.write("own.yaml", RUN.replace("ON_ERROR", on_error).replace("workers: 2", f"workers: {workers}"))
    outcome = headrace.run("own.yaml", out=on_error)
    return outcome, headrace.results(out=on_error)["points"][0]


def metric(point, name):
    return next(m["median"] for m in point["metrics"] if m["name"] == name)


def operations(point):
    return point["repetitions"][0]["phases"][0]["operations"]


@pytest.fixture
def own(headrace):
    folder = headrace.path("own")
    folder.mkdir()
    return folder


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("name", ["{}_{}", "c{}/" + "d" * 90 + "/{}", "c{}/" + "n" * 200 + "{}"], ids=["short", "long", "longer"])
def test_every_sample_of_a_tar_is_found(headrace, own, form, name):
    if form == tarfile.USTAR_FORMAT and "n" * 200 in name:
        pytest.skip("ustar has no such names")
    for shard in "ab":
        tar(own / f"{shard}.tar", name=name, form=form)
    outcome, point = read(headrace)
    assert outcome.code == 0 and operations(point) == 2 * SAMPLES and metric(point, "bad_samples") == 0, (outcome, point)
    assert any("2 tar shards, parsed; each has to have: cls, image" in note for note in point["notes"]), point["notes"]


def test_every_record_of_a_tfrecord_is_found(headrace, own):
    for shard in "ab":
        tfrecord(own / f"train-{shard}-of-2")
    outcome, point = read(headrace)
    assert outcome.code == 0 and operations(point) == 2 * SAMPLES and metric(point, "bad_samples") == 0, (outcome, point)


def cut_tar(own):
    path = own / "b.tar"
    at = offset_of(path, "c0/image_12.jpg")
    path.write_bytes(path.read_bytes()[:at + 900])
    return path, at, "ends in the middle of a sample", SAMPLES - 12


def broken_header(own):
    path = own / "b.tar"
    at = offset_of(path, "c0/image_12.jpg")
    flip(path, at + 3)
    return path, at, "no tar header, or a damaged one", SAMPLES - 12


def missing_label(own):
    path = own / "b.tar"
    tar(path, without=[(12, "cls")])
    return path, offset_of(path, "c0/image_12.jpg"), "without a part that the others have", 1


def compressed(own):
    with tarfile.open(own / "b.tar", "w:gz") as out:
        out.addfile(tarfile.TarInfo("a.jpg"))
    return own / "b.tar", 0, "compressed, which is not read", SAMPLES


def wrong_crc(own):
    for name in ("a", "b"):
        (own / f"{name}.tar").unlink()
        tfrecord(own / f"{name}.tfrecord")
    flip(own / "b.tfrecord", 12 * 316 + 100)
    return own / "b.tfrecord", 12 * 316, "wrong CRC of a record's bytes", 1


def wrong_length(own):
    wrong_crc(own)
    flip(own / "b.tfrecord", 12 * 316 + 100)  # as it was
    flip(own / "b.tfrecord", 12 * 316)
    return own / "b.tfrecord", 12 * 316, "wrong CRC of a record's length", SAMPLES - 12


def cut_record(own):
    wrong_length(own)
    path = own / "b.tfrecord"
    path.write_bytes(path.read_bytes()[:12 * 316 + 5])
    return path, 12 * 316, "ends in the middle of a sample", SAMPLES - 12


FLAWS = [cut_tar, broken_header, missing_label, compressed, wrong_crc, wrong_length, cut_record]


@pytest.mark.parametrize("loader", ["pytorch_iterable", "tfdata"])
def test_rest_of_a_cut_shard_is_no_part_of_the_next(headrace, own, loader):
    """One worker reads all, in an order of its own: whole shards follow the cut one."""
    for shard in "abcdefgh":
        tar(own / f"{shard}.tar")
    for shard in "bcde":
        path = own / f"{shard}.tar"
        at = offset_of(path, "c0/image_12.jpg")
        path.write_bytes(path.read_bytes()[:at + 900])
    headrace.write("own.yaml", RUN.replace("ON_ERROR", "skip").replace("workers: 2", "workers: 1")
                   .replace("pytorch_iterable", loader))
    outcome = headrace.run("own.yaml")
    point = headrace.results()["points"][0]
    assert outcome.code == 0 and metric(point, "bad_samples") == 4, (outcome, point["notes"])
    assert operations(point) == 4 * SAMPLES + 4 * 12, point["notes"]
    assert all("middle of a sample" in n for n in point["notes"] if n.startswith("bad sample")), point["notes"]


@pytest.mark.parametrize("spoil", FLAWS, ids=[f.__name__ for f in FLAWS])
def test_errors_are_named_and_counted(headrace, own, spoil):
    for shard in "ab":
        tar(own / f"{shard}.tar")
    path, at, words, lost = spoil(own)
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and metric(point, "bad_samples") == 1, (outcome, point["metrics"])
    assert operations(point) == 2 * SAMPLES - lost, "the others are read"
    reported = f"bad sample: own/{path.name} at offset {at}: "
    notes = [n for n in point["notes"] if n.startswith("bad sample")]
    assert len(notes) == 1 and reported.split(": ", 1)[1] in notes[0] and words in notes[0], notes
    assert f"{path.name} at offset {at}" in " ".join(outcome.out.split()), outcome

    outcome, point = read(headrace, "fail")
    assert outcome.code == 1 and point["status"] == "error", outcome
    error = " ".join((outcome.out + outcome.err).split())
    assert f"{path.name} at offset {at}: " in error and words in error and "1 bad sample" in error, outcome


def test_a_shard_of_no_bytes_is_named(headrace, own):
    for shard in "ab":
        tar(own / f"{shard}.tar")
    (own / "c.tar").touch()
    outcome, point = read(headrace, "skip")
    assert outcome.code == 0 and metric(point, "bad_samples") == 1 and operations(point) == 2 * SAMPLES, (outcome, point)
    assert any("c.tar: the shard is empty" in n for n in point["notes"]), point["notes"]
    outcome, point = read(headrace, "fail")
    assert outcome.code == 1 and "c.tar: the shard is empty" in " ".join(outcome.out.split()), outcome


def test_fewer_shards_than_workers_are_reported(headrace, own):
    tar(own / "a.tar")
    (own / "LICENSE").write_text("mine\n")
    outcome, point = read(headrace, "skip", workers=4)
    assert outcome.code == 0 and metric(point, "idle_workers") == 3 and operations(point) == SAMPLES, (outcome, point)
    assert any("3 of 4 workers have no shard" in n for n in point["notes"]), point["notes"]
    assert any("1 other files beside the shards" in n for n in point["notes"]), point["notes"]
    outcome, point = read(headrace, "fail", workers=4)
    assert outcome.code == 1 and "3 of 4 workers have no shard" in " ".join(outcome.out.split()), outcome


def test_other_files_are_read_for_their_bytes(headrace, own):
    for name in "ab":
        (own / f"{name}.bin").write_bytes(bytes(300_000))
    headrace.write("own.yaml", RUN.replace("ON_ERROR", "fail").replace("step_time: 0s", "step_time: 0s, sample_size: 100kB"))
    outcome = headrace.run("own.yaml")
    point = headrace.results()["points"][0]
    assert outcome.code == 0 and operations(point) == 6 and not any(m["name"] == "bad_samples" for m in point["metrics"]), point


def test_on_error_is_of_ones_own_shards(headrace):
    headrace.write("own.yaml", RUN.replace("ON_ERROR", "skip").replace("path: own, ", ""))
    outcome = headrace("run", "--check", "-c", "own.yaml")
    assert outcome.code == 2 and "on_error: skip goes with a path, and layout shards or a codec" in " ".join(outcome.err.split()), outcome


JOB = """\
schema: 1
job: mine
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 10ms, micro_batch: 2}
dataset: {layout: shards, samples: 75, sample_size: 2kB, samples_per_file: 25, path: own}
loader: {kind: pytorch_iterable, workers_per_gpu: 2, on_error: skip}
"""


def test_rehearsal_skips_the_files_that_the_loader_skips(headrace, own):
    for shard in "abc":
        tar(own / f"{shard}.tar")
    path, at, _, _ = missing_label(own)
    headrace.write("job.yaml", JOB)
    outcome = headrace("rehearse", "job.yaml", "--at", "scratch", "--budget", "5s", "--no-report", "--out", "results",
                       "--set", "job.step.time=20ms")
    assert outcome.code in (0, 10, 11, 12), outcome
    run = headrace.results()
    point = next(p for p in run["points"] if p["id"] == "input_pipeline/job")
    assert point["params"]["on_error"] == "skip" and point["status"] == "ok", point
    assert any(f"b.tar at offset {at}" in n for n in point["notes"]), point["notes"]
    assert not any(p["id"] == "input_pipeline/double-workers" for p in run["points"]), "there is no shard for a fourth"


def mixed(headrace, more, out="results"):
    headrace.write("own.yaml", RUN.replace("ON_ERROR", "skip").replace("step_time: 0s", "step_time: 0s, " + more))
    outcome = headrace.run("own.yaml", out=out)
    return outcome, headrace.results(out=out)["points"][0]


@pytest.mark.parametrize("make", [tar, tfrecord], ids=["tar", "tfrecord"])
def test_a_shuffle_buffer_hands_over_every_sample_once_and_holds_no_more(headrace, own, make):
    """Sample n of a tar has 700 + 97 n bytes of image and one of label, a record 300: two workers hold ten each at most."""
    for shard in "ab":
        make(own / f"{shard}.{'tar' if make is tar else 'tfrecord'}")
    outcome, point = mixed(headrace, "shuffle_buffer: 10, shuffle_initial: 4")
    assert outcome.code == 0 and operations(point) == 2 * SAMPLES and metric(point, "bad_samples") == 0, (outcome, point)
    held = metric(point, "shuffle_held_bytes")
    if make is tfrecord:
        assert held == 2 * 10 * 300, held
    else:
        assert 2 * 10 * 701 < held <= 2 * sum(701 + 97 * n for n in range(SAMPLES - 10, SAMPLES)), held
    assert not any("ended before their shuffle buffers" in note for note in point["notes"]), point["notes"]


def test_a_shuffle_buffer_larger_than_the_shards_is_reported(headrace, own):
    for shard in "ab":
        tfrecord(own / f"{shard}.tfrecord")
    outcome, point = mixed(headrace, "shuffle_buffer: 1000")
    assert outcome.code == 0 and operations(point) == 2 * SAMPLES, (outcome, point)
    assert metric(point, "shuffle_held_bytes") == 2 * SAMPLES * 300, point["metrics"]
    assert "the data of 2 of 2 workers ended before their shuffle buffers of 1000 samples were full" in " ".join(outcome.out.split())


def test_a_broken_shard_behind_a_shuffle_buffer_is_named_where_it_is_broken(headrace, own):
    for shard in "ab":
        tar(own / f"{shard}.tar")
    path, at, words, lost = cut_tar(own)
    outcome, point = mixed(headrace, "shuffle_buffer: 5")
    assert outcome.code == 0 and metric(point, "bad_samples") == 1 and operations(point) == 2 * SAMPLES - lost, (outcome, point)
    assert any(f"{path.name} at offset {at}: " in note and words in note for note in point["notes"]), point["notes"]


def test_a_shuffle_buffer_without_memory_is_skipped(headrace, own):
    tfrecord(own / "a.tfrecord")
    outcome, point = mixed(headrace, "sample_size: 10MB, shuffle_buffer: 100000000")
    assert point["status"] == "skipped" and "shuffle buffers of 100000000 samples take" in point["reason"], point


def test_a_rehearsal_fills_the_jobs_shuffle_buffer(headrace, own):
    """A hundredth of it, as there are that few samples; the plan says what the job's own would be."""
    for shard in "ab":
        tar(own / f"{shard}.tar", samples=160)
    job = JOB.replace("workers_per_gpu: 2", "workers_per_gpu: 2, shuffle_buffer: 1000").replace("sample_size: 2kB", "sample_size: 9kB")
    headrace.write("job.yaml", job.replace("samples: 75", "samples: 320").replace("samples_per_file: 25", "samples_per_file: 160"))
    outcome = headrace("rehearse", "job.yaml", "--at", "scratch", "--budget", "8s", "--no-report", "--out", "results",
                       "--set", "job.step.time=20ms")
    assert outcome.code in (0, 10, 11, 12), outcome
    run = headrace.results()
    point = next(p for p in run["points"] if p["id"] == "input_pipeline/job")
    assert 1 <= point["params"]["shuffle_buffer"] <= 20 and metric(point, "shuffle_held_bytes") > 0, point
    assert any("instead of 1000 and 100" in " ".join(s.split()) for s in point["unproven"]), point["unproven"]


COUNTED_JOB = """\
schema: 1
job: small
cluster: {nodes: 1, gpus_per_node: 1}
step: {time: 5ms, micro_batch: 4}
dataset: {layout: shards, samples: SAMPLES, sample_size: SIZE}
loader: {kind: pytorch_iterable, workers_per_gpu: 2}
safety: 1
"""


def small_samples(headrace, samples=200):
    """Tar shards whose headers and padding are two thirds of their bytes; what a sample takes in them."""
    own = headrace.path("own")
    own.mkdir()
    for shard in range(2):
        with tarfile.open(own / f"{shard}.tar", "w") as out:
            for number in range(samples):
                for part, data in (("bin", bytes(1000)), ("cls", b"3")):
                    info = tarfile.TarInfo(f"{shard}-{number:05d}.{part}")
                    info.size = len(data)
                    out.addfile(info, io.BytesIO(data))
    return sum(path.stat().st_size for path in own.iterdir()) / (2 * samples)


def test_samples_per_second_count_samples(headrace):
    stored = small_samples(headrace)
    headrace.write("job.yaml", COUNTED_JOB.replace("SAMPLES", "400").replace("SIZE", "1001B"))
    result = headrace("qualify", "job.yaml", "--data", "own", "--at", "scratch", "--budget", "5s", "--only", "shard_stream/job",
                      "--out", "out", "--no-report")
    assert result.code in (0, 10, 11, 12), result
    run = headrace.results(out="out")
    point = run["points"][0]
    # One of which no start was cut off as a warm-up.
    whole = next(r for r in point["repetitions"] if r["counted"] and r["phases"][0]["steady_from_s"] == 0)
    (phase,) = whole["phases"]
    seconds, read, rate = phase["elapsed_s"], phase["bytes"], whole["metrics"]["sample_rate"]
    assert rate * seconds == pytest.approx(read / stored, rel=0.02), (rate, seconds, read)
    needs = {q["id"]: q["need"] for q in run["questions"] if q["scope"] == "node"}
    assert needs["ingest.read_bandwidth"] == pytest.approx(needs["ingest.sample_rate"] * stored, rel=0.02)
    assert any("samples were counted in the tar shards" in note for note in point["notes"]), point["notes"]
    # The job's file does not say what tar adds: who judges or sizes the run takes it from there.
    judged = headrace("verdict", "out", "--job", "job.yaml", "--json")
    asked = {j["id"]: j["need"] for j in json.loads(judged.out)["judgements"] if j["scope"] == "node"}
    assert asked["ingest.read_bandwidth"] == pytest.approx(needs["ingest.read_bandwidth"], rel=0.02), judged


@pytest.mark.parametrize("samples, size, code, reported", [
    ("400", "1001B", 0, "tar adds 1.6"), ("400", "100B", 0, "tar adds"), ("100", "1001B", 2, "set dataset.samples"),
    ("400", "2560B", 0, "")])
def test_the_true_job_of_small_samples_is_not_refused(headrace, samples, size, code, reported):
    small_samples(headrace)
    headrace.write("job.yaml", COUNTED_JOB.replace("SAMPLES", samples).replace("SIZE", size))
    planned = headrace("run", "--dry-run", "job.yaml", "--data", "own", "--at", "scratch")
    assert planned.code == code and reported in planned.out + planned.err, planned


def test_samples_of_another_size_are_refused(headrace):
    own = headrace.path("own")
    own.mkdir()
    with tarfile.open(own / "a.tar", "w") as out:
        for number in range(8):
            info = tarfile.TarInfo(f"{number}.bin")
            info.size = 100_000
            out.addfile(info, io.BytesIO(bytes(100_000)))
    headrace.write("job.yaml", COUNTED_JOB.replace("SAMPLES", "8").replace("SIZE", "10kB"))
    planned = headrace("run", "--dry-run", "job.yaml", "--data", "own", "--at", "scratch")
    assert planned.code == 2 and "for each sample, and the job's samples are of 10 kB" in planned.err, planned
