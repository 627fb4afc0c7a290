"""A file that vanishes, or shrinks, in the middle of a run is named, and the run goes on. Usage: changing_files.py HEADRACE"""

import bench


def changed(workload, change):
    with bench.folder() as work:
        data = work / "mine"
        data.mkdir()
        for number in range(50):
            (data / f"{number:02}.bin").write_bytes(b"x" * 200_000)
        started = bench.Started({"path": str(data), "cache": "asis", "repeat": 400, **workload}, str(work / "scratch"),
                                work)
        started.wait_for_repetition(1)
        change(data / "07.bin")
        result = started.end()
        left = sorted(file.name for file in data.iterdir())
        return result, left


def check(result, *words):
    assert result.code == 1, (result.code, result.reported)
    errors = [repetition["error"] for repetition in result.point["repetitions"] if repetition["status"] == "error"]
    assert errors, result.reported
    print(errors[0])
    for word in words:
        assert word in errors[0], (word, errors[0])
    good = [repetition for repetition in result.point["repetitions"] if repetition["status"] == "ok"]
    assert good, "the repetitions before were kept"


for engine in ("posix", "io_uring"):
    result, left = changed({"use": "small_file_read", "engine": engine, "workers": 2}, lambda file: file.unlink())
    check(result, "open", "07.bin", "No such file")
    assert len(left) == 49
    result, left = changed({"use": "small_file_read", "engine": engine, "workers": 2},
                           lambda file: file.write_bytes(b"x" * 5000))
    check(result, "07.bin", "5000")
    result, left = changed({"use": "shard_stream", "engine": engine, "workers": 2},
                           lambda file: file.write_bytes(b"x" * 5000))
    check(result, "07.bin")
