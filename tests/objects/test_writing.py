"""What is written into a store: checkpoints and data sets below a marked prefix, and nothing anywhere else."""

import json
import os
import re
import signal
import socket
import subprocess

import pytest
from conftest import ROOT, made
from faulty_store import FaultyStore, error

AT = "s3://bucket/mine"
SAVE = {"use": "checkpoint_write", "ranks": 2, "shard_size": "12MiB", "block_size": "5MiB", "repeat": 1}
SMALL = {"use": "checkpoint_write", "ranks": 2, "shard_size": "40kB", "repeat": 1}
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDHIDDEN", "AWS_SECRET_ACCESS_KEY": "theverysecret"}


@pytest.fixture
def save(headrace):
    def run(store, *entries, at=AT, env=None, **top):
        headrace.runs += 1
        out = headrace.folder / f"out{headrace.runs}"
        (headrace.folder / "c.yaml").write_text(
            json.dumps({"schema": 1, "name": "saves", "target": {"path": at}, "workloads": list(entries), **top}))
        done = headrace.command("run", "-c", "c.yaml", "--out", str(out), "--no-report", "--progress", "none",
                                endpoint=store.endpoint, **(env or KEYS))
        file = out / "run.json"
        return done.returncode, done.stdout + done.stderr, json.loads(file.read_text()) if file.exists() else {}
    return run


def metrics(run, point=0):
    return run["points"][point]["repetitions"][0]["metrics"]


def foreign(store, before):
    """Everything that was there is there, and what is new lies below the prefix."""
    assert {k: v for k, v in store.objects.items() if not k.startswith("mine/")} == before


def test_a_checkpoint_in_parts(headrace, save):
    before = made(3, 100) | {"mine-beside/x": b"y"}
    with FaultyStore(dict(before)) as store:
        code, reported, run = save(store, {**SAVE, "repeat": 2, "verify": True})
        assert code == 0 and "every byte as it should be" in reported, reported
        values = metrics(run)
        assert values["durable_bandwidth"] > 0 and values["connections"] > 0 and values["throttled_share"] == 0, values
        assert values["create_latency_max_ns"] > 0 and values["publish_latency_max_ns"] > 0, values
        assert "sync_latency_max_ns" not in values, values
        repetitions = len(run["points"][0]["repetitions"])
        assert store.begun == 2 * repetitions and store.puts == 3 * store.begun and not store.uploads
        assert store.below("mine/") == ["mine/.headrace"], store.below("mine/")
        foreign(store, before)
        puts = [(path, headers) for command, path, headers in store.seen if command == "PUT" and "partNumber" in path]
        assert all("Content-MD5" in h and "content-md5;host;" in h["Authorization"] and "Expect" not in h for _, h in puts)
        cleaned = headrace.command("clean", AT, endpoint=store.endpoint, **KEYS)
        assert cleaned.returncode == 0 and "and the mark" in cleaned.stdout, cleaned
        assert store.objects == before
        again = headrace.command("clean", AT, endpoint=store.endpoint, **KEYS)
        assert again.returncode == 2 and "not a prefix that headrace marked" in again.stderr, again


def test_small_asynchronous_and_cut_checkpoints(save):
    with FaultyStore({}) as store:
        code, reported, run = save(store, {**SMALL, "verify": True}, {**SMALL, "label": "async", "mode": "async", "verify": True},
                               {**SMALL, "label": "within", "shard_size": "64MiB", "save_within": "300ms", "verify": True})
        assert code == 0 and reported.count("every byte as it should be") == 3, reported
        assert metrics(run, 1)["stall_s"] < metrics(run, 1)["time_to_durable_s"], run
        assert store.below("mine/") == ["mine/.headrace"] and not store.uploads


def test_data_that_is_made_is_read_and_kept(headrace, save):
    entries = [{"use": "small_file_read", "files": 50, "file_size": "20KiB", "file_size_spread": "2KiB", "files_per_folder": 20},
               {"use": "random_read", "files": 2, "file_size": "17MiB", "block_size": "64KiB"},
               {"use": "shard_stream", "files": 2, "file_size": "1MiB", "label": "s"},
               {"use": "checkpoint_read", "ranks": 2, "shard_size": "2MiB"},
               {"use": "metadata"}]
    entries = [entry | {"repeat": 1, "verify": True} for entry in entries]
    with FaultyStore({}) as store:
        code, reported, run = save(store, *entries)
        assert reported.count("every byte as it should be") == 4, reported
        assert run["points"][4]["status"] == "skipped" and "no folder" in run["points"][4]["reason"], reported
        assert metrics(run, 0)["file_rate"] > 0 and metrics(run, 3)["time_to_restored_s"] > 0
        held, puts = dict(store.objects), store.puts
        assert sum(key.endswith(".bin") for key in held) == 50 + 2 + 2 + 2 and not store.uploads
        code, reported, run = save(store, *entries[:4])
        assert code == 0 and store.puts == puts and store.objects == held, reported  # as it stood there
        # One that somebody replaced, and one that is gone, are made anew.
        first, second = [key for key in store.below("mine/") if "/50x" in key and key.endswith(".bin")][20:22]
        store.objects[first] = bytes(len(held[first]))
        del store.objects[second]
        code, reported, run = save(store, entries[0])
        assert code == 0 and "every byte as it should be" in reported and store.objects == held, reported
        cleaned = headrace.command("clean", AT, endpoint=store.endpoint, **KEYS)
        assert cleaned.returncode == 0 and store.objects == {}, cleaned


def test_existing_checkpoints_are_read(headrace):
    objects = {f"set/{i}": bytes([i]) * 3_000_000 for i in range(3)}
    with FaultyStore(objects) as store:
        run = headrace(store.endpoint, {"use": "checkpoint_read", "path": "s3://bucket/set", "ranks": 3, "repeat": 1})
        assert run.code == 0 and run.repetition["phases"][0]["bytes"] == 9_000_000, run
        same = headrace(store.endpoint, {"use": "checkpoint_read", "path": "s3://bucket/set/1", "ranks": 2, "layout": "same",
                                         "repeat": 1, "queue_depth": 4})
        assert same.code == 0 and same.repetition["phases"][0]["bytes"] == 6_000_000, same


def test_clean_removes_only_proven_objects(headrace, save):
    with FaultyStore({}) as store:
        assert save(store, {"use": "small_file_read", "files": 4, "file_size": "20KiB", "repeat": 1})[0] == 0
        base = next(key for key in store.below("mine/") if "/data/" in key).split("/data/")[0]
        files = [key for key in store.below("mine/") if key.endswith(".bin")]
        foreign = {"mine/notes.txt": b"n", f"{base}/data/notes": b"n", f"{base}/run-0/checkpoint/rank-00000.bin": b"x" * 100,
                   files[0].replace("f000000", "f000099"): b"n", files[1]: b"replaced by somebody " * 10}
        store.objects |= foreign
        upload = {"key": "mine/theirs", "parts": {}}
        store.uploads["theirs"] = dict(upload)
        store.uploads["ours"] = {"key": f"{base}/run-dead/checkpoint/rank-00000.bin", "parts": {1: b"x"}}
        cleaned = headrace.command("clean", AT, endpoint=store.endpoint, **KEYS)
        assert cleaned.returncode == 0, cleaned
        for key, data in foreign.items():
            assert store.objects[key] == data and key in cleaned.stdout, (key, cleaned.stdout)
        assert not set(files) - {files[1]} & set(store.objects), store.objects.keys()
        assert store.uploads == {"theirs": upload} and "mine/.headrace" in store.objects
        store.objects = {key: data for key, data in store.objects.items() if key not in foreign}
        cleaned = headrace.command("clean", AT, endpoint=store.endpoint, **KEYS)
        assert store.objects == {} and "left" not in cleaned.stdout, cleaned


def test_only_a_prefix_of_its_own(headrace, save):
    with FaultyStore({"mine/theirs": b"x"}) as store:
        code, reported, _ = save(store, SMALL)
        assert code == 2 and "holds what headrace did not make (theirs" in reported, reported
        code, reported, _ = save(store, SMALL, at="s3://bucket")
        assert code == 2 and "below a prefix of its own" in reported, reported
        store.objects["mine/.headrace"] = b"not a mark"
        code, reported, _ = save(store, SMALL)
        assert code == 2 and "holds what headrace did not make" in reported, reported
        assert store.objects == {"mine/theirs": b"x", "mine/.headrace": b"not a mark"} and store.puts == 0
        assert headrace.command("clean", AT, endpoint=store.endpoint, **KEYS).returncode == 2


@pytest.mark.parametrize("faults, words", [
    ({"all_writes": (403, error("AccessDenied", "Access Denied"))}, ["put s3://bucket/mine/.headrace", "403 AccessDenied",
                                                                     "s3:PutObject"]),
    ({"put_refuse_from": 2, "put_refusal": (403, error("AccessDenied"))}, ["put part", "AccessDenied", "s3:PutObject"]),
    ({"put_refuse_from": 1, "put_refusal": (507, error("InsufficientStorage", "No space left"))},
     ["507 InsufficientStorage (No space left)", "the store is full"]),
    ({"begin_refusal": (403, error("QuotaExceeded"))}, ["begin the upload of", "QuotaExceeded", "quota"]),
    ({"begin_refusal": (501, error("NotImplemented"))}, ["NotImplemented", "without multipart uploads"]),
    ({"put_garbles": True}, ["put part", "BadDigest", "the data arrived damaged"]),
    ({"put_other_etag": True}, ["the store's ETag is", "the stored object differs"]),
    ({"put_no_etag": True}, ["without an ETag"]),
    ({"complete_error": error("InternalError", "We encountered an internal error.")},
     ["complete the upload of", "InternalError"]),
    ({"complete_error": b"<html>proxy</html>"}, ["not as an S3 store does"]),
    ({"all_writes": (403, error("RequestTimeTooSkewed"))}, ["RequestTimeTooSkewed", "clock"]),
    ({"all_writes": (403, error("InvalidAccessKeyId"))}, ["InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"]),
    ({"all_writes": (301, error("PermanentRedirect", "", "<Region>eu-west-9</Region>"))}, ["AWS_REGION=eu-west-9"]),
    ({"put_refuse_from": 1, "put_refusal": (400, error("ExpiredToken"))}, ["put part", "ExpiredToken", "get new keys"]),
    ({"all_writes": (404, b"<html>no</html>")}, ["404", "not as an S3 store does"]),
], ids=["denied", "part-denied", "full", "quota", "no-multipart", "garbled", "etag", "no-etag", "late-error", "no-store", "skew",
        "key", "region", "expired", "not-s3"])
def test_refusals_of_a_store(save, faults, words):
    before = made(2, 100)
    with FaultyStore(dict(before), **faults) as store:
        code, reported, run = save(store, SAVE)
        assert code in (1, 2), reported
        for word in words:
            assert word in reported, reported
        assert "theverysecret" not in reported + str(run)
        assert not store.uploads, store.uploads.keys()  # nothing of it stays
        assert store.below("mine/") in ([], ["mine/.headrace"]), store.below("mine/")
        foreign(store, before)


def test_a_bucket_that_is_not_there(save):
    with FaultyStore({}) as store:
        code, reported, _ = save(store, SMALL, at="s3://other/mine")
        assert code == 1 and "NoSuchBucket" in reported and "there is no such bucket" in reported, reported


def test_stores_that_are_not_there(save):
    class Nowhere:
        endpoint = "http://no-such-host.invalid"

    code, reported, _ = save(Nowhere, SMALL)
    assert code == 1 and "no address is known for the host no-such-host.invalid" in reported, reported
    code, reported, _ = save(Nowhere, SMALL, env={**KEYS, "http_proxy": "http://no-such-proxy.invalid:3128"})
    assert code == 1 and "no address is known for the proxy" in reported, reported
    with FaultyStore({}) as store:
        Nowhere.endpoint = store.endpoint.replace("http:", "https:")
        code, reported, _ = save(Nowhere, SMALL)
        assert code == 1 and "TLS" in reported, reported


def test_parts_that_are_throttled_or_cut_off_are_sent_again(save):
    for faults, share in (({"put_refuse_each": 4}, "throttled_share"), ({"put_reset_each": 4}, "refused_share")):
        with FaultyStore({}, **faults) as store:
            code, reported, run = save(store, {**SAVE, "verify": True})
            assert code == 0 and "every byte as it should be" in reported, reported
            values = metrics(run)
            assert values[share] > 0 and values["retry_share"] > 0 and not store.uploads, values
        alone = {key: 2 for key in faults}  # so that a second try of all of it meets one, too
        with FaultyStore({}, **alone) as store:
            code, reported, run = save(store, {**SAVE, "retries": 0})
            assert code == 1 and ("SlowDown" in reported and "throttles" in reported or "reset" in reported.lower()), reported
            assert not store.uploads and store.below("mine/") == ["mine/.headrace"]


def test_upload_with_unknown_completion_is_complete(save):
    with FaultyStore({}, complete_lost="done") as store:
        code, reported, _ = save(store, {**SAVE, "verify": True})
        assert code == 0 and "every byte as it should be" in reported, reported
        assert store.below("mine/") == ["mine/.headrace"] and not store.uploads, store.below("mine/")


@pytest.mark.parametrize("lost", ["aborted", "other"])
def test_aborted_upload_is_incomplete(save, lost):
    """Not even where something else of the same size is under its name."""
    with FaultyStore({}, complete_lost=lost) as store:
        code, reported, _ = save(store, SAVE)
        assert code == 1 and "complete the upload of" in reported and "NoSuchUpload" in reported and "it was aborted" in reported, reported


def test_mark_with_a_lost_answer_is_its_own(save):
    with FaultyStore({}, word_lost="done") as store:
        code, reported, _ = save(store, SMALL)
        assert code == 0 and store.below("mine/") == ["mine/.headrace"], reported
    with FaultyStore({}, word_lost="other") as store:
        code, reported, _ = save(store, SMALL)
        assert code != 0 and "something lies there already" in reported and store.puts == 0, reported


def test_throttling_is_in_the_verdict(save):
    need = {"id": "durable", "metric": "checkpoint_write.durable_bandwidth", "at_least": "1e12B/s"}
    with FaultyStore({}, put_refuse_each=3) as store:
        code, reported, run = save(store, {**SMALL, "ranks": 8, "repeat": 5}, needs=[need])
        assert code in (10, 11) and "The store throttled" in run["judgements"][0]["explanation"], reported


def test_parts_that_arrive_after_the_abort(save):
    with FaultyStore({}, put_refuse_from=1, put_refusal=(403, error("AccessDenied")), late_parts=2) as store:
        code, reported, _ = save(store, SAVE)
        assert code == 1 and store.aborts > 2 and not store.uploads, (reported, store.aborts)


def test_uploads_of_others_stay_where_a_store_reports_all(headrace, save):
    """Of a bucket's uploads those below the own prefix are headrace's; some stores report all of them whatever is asked."""
    with FaultyStore({}, uploads_know_no_prefix=True) as store:
        store.uploads["theirs"] = {"key": "backup/night.tar", "parts": {1: b"x"}}
        code, reported, _ = save(store, SAVE)
        assert code == 0 and list(store.uploads) == ["theirs"], (reported, store.uploads)
        cleaned = headrace.command("clean", AT, endpoint=store.endpoint, **KEYS)
        assert cleaned.returncode == 0 and list(store.uploads) == ["theirs"], cleaned


def test_a_data_set_that_the_store_does_not_take(save):
    with FaultyStore({}, put_refuse_from=30, put_refusal=(507, error("InsufficientStorage"))) as store:
        code, reported, _ = save(store, {"use": "small_file_read", "files": 50, "file_size": "20KiB", "files_per_folder": 10,
                                     "repeat": 1})
        assert code == 1 and "the store is full" in reported, reported
        assert store.below("mine/") == ["mine/.headrace"] and not store.uploads, store.below("mine/")


def started(headrace, store):
    (headrace.folder / "c.yaml").write_text(json.dumps({"schema": 1, "target": {"path": AT}, "workloads": [
        {**SAVE, "repeat": 500}]}))
    return headrace.start("run", "-c", "c.yaml", "--out", "out", "--no-report", endpoint=store.endpoint)


def test_ctrl_c_leaves_no_parts(headrace):
    with FaultyStore({}, put_latency=0.05) as store:
        process = started(headrace, store)
        while store.puts < 3:
            assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        reported, _ = process.communicate(timeout=240)
        assert process.returncode == 130, reported
        assert not store.uploads and store.below("mine/") == ["mine/.headrace"], (store.uploads.keys(), store.below("mine/"))


def test_ctrl_c_while_a_store_takes_a_part_and_says_nothing(headrace):
    with FaultyStore({}, quiet_put=9) as store:
        process = started(headrace, store)
        assert store.silent.wait(120)
        process.send_signal(signal.SIGINT)
        reported, _ = process.communicate(timeout=240)
        assert process.returncode == 130 and "TIMEOUT" not in reported, reported
        assert not store.uploads and store.below("mine/") == ["mine/.headrace"], (store.uploads.keys(), store.below("mine/"))


def killed(headrace, store):
    """In the middle of a save, with parts in the store."""
    process = started(headrace, store)
    assert store.silent.wait(120)
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True).stdout.split()
    for pid in (*map(int, children), process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=240)
    assert store.uploads and any("/users/" in key for key in store.below("mine/"))
    store.ended.set()
    store.faults.quiet_put = None


def test_next_run_or_clean_removes_the_rest_of_a_killed_run(headrace, save):
    with FaultyStore({}, quiet_put=9) as store:  # one save is whole, and the next one has parts
        killed(headrace, store)
        cleaned = headrace.command("clean", AT, endpoint=store.endpoint, **KEYS)
        assert cleaned.returncode == 0 and not store.uploads and store.objects == {}, (cleaned, store.below("mine/"))
    with FaultyStore({}, quiet_put=9) as store:
        killed(headrace, store)
        code, reported, _ = save(store, SMALL)
        assert code == 0 and not store.uploads and store.below("mine/") == ["mine/.headrace"], (reported, store.below("mine/"))


def test_data_in_use_stays(headrace, save):
    with FaultyStore({}) as store:
        assert save(store, {"use": "small_file_read", "files": 4, "file_size": "20KiB", "repeat": 1})[0] == 0
        base = next(key for key in store.below("mine/") if "/data/" in key).split("/data/")[0]
        held = set(store.objects)
        store.uploads["far"] = {"key": f"{base}/run-far/checkpoint/rank-00000.bin", "parts": {}}
        word = {"kind": "headrace.user", "schema": 1, "holder": {"pid": os.getpid(), "host": "far-away", "since_utc": "then"}}
        store.objects[f"{base}/users/far"] = json.dumps(word).encode()
        cleaned = headrace.command("clean", AT, endpoint=store.endpoint, **KEYS)
        assert "in use by another headrace (pid" in cleaned.stdout and "far-away" in cleaned.stdout, cleaned
        assert held <= set(store.objects) and "far" in store.uploads
        cleaned = headrace.command("clean", "--yes", AT, endpoint=store.endpoint, **KEYS)  # it is gone, says who asks
        assert store.objects == {} and not store.uploads, (cleaned, store.below("mine/"))
        assert save(store, {"use": "small_file_read", "files": 4, "file_size": "20KiB", "repeat": 1})[0] == 0
        base = next(key for key in store.below("mine/") if "/data/" in key).split("/data/")[0]
        word["holder"]["host"] = f"{socket.gethostname()}, {os.readlink('/proc/self/ns/pid')}"  # one of this machine lives, whoever says otherwise
        store.objects[f"{base}/users/here"] = json.dumps(word).encode()
        held = dict(store.objects)
        cleaned = headrace.command("clean", "--yes", AT, endpoint=store.endpoint, **KEYS)
        assert "in use by another headrace" in cleaned.stdout and store.objects == held, cleaned
        # Of a container of the same name, whose processes cannot be seen, nothing is known, however dead its number is.
        word["holder"] |= {"host": f"{socket.gethostname()}, pid:[1]", "pid": 1 << 22}
        store.objects[f"{base}/users/here"] = json.dumps(word).encode()
        held = dict(store.objects)
        assert "in use by another headrace" in headrace.command("clean", AT, endpoint=store.endpoint, **KEYS).stdout
        assert store.objects == held


def test_the_plan_reports_where(headrace, save):
    (headrace.folder / "c.yaml").write_text(json.dumps({"schema": 1, "target": {"path": AT}, "workloads": [SAVE]}))
    plan = headrace.command("plan", "-c", "c.yaml", endpoint="http://127.0.0.1:1")
    assert plan.returncode == 0 and "(object store)" in plan.stdout, plan
    assert "below this prefix only" in " ".join(plan.stdout.split()), plan.stdout


def test_results_go_into_folders(headrace):
    (headrace.folder / "c.yaml").write_text(json.dumps({"schema": 1, "workloads": [{"use": "host_facts"}]}))
    done = headrace.command("run", "-c", "c.yaml", "--out", "s3://bucket/mine/out", endpoint="http://127.0.0.1:1")
    assert done.returncode == 2 and "leads into an object store; give a folder" in done.stderr, done
    assert not (headrace.folder / "s3:").exists()


def test_the_page_of_object_stores(headrace):
    """Its commands, with less to write; its configurations, as they stand there."""
    page = (ROOT / "docs/reference/object-stores.md").read_text()
    for block in re.findall(r"```yaml\n(.*?)```", page, re.S):
        (headrace.folder / "page.yaml").write_text("schema: 1\n" + block)
        plan = headrace.command("validate", "-c", "page.yaml", endpoint="http://127.0.0.1:1")
        assert plan.returncode == 0, (block, plan)
    with FaultyStore(made(), bucket="training") as store:
        for line in re.findall(r"^headrace (?:measure checkpoint_write|clean) .*", page, re.M):
            words = line.replace("2GiB", "40kB").split()[1:]
            done = headrace.command(*words, *(["--repeat", "1"] if words[0] == "measure" else []), endpoint=store.endpoint, **KEYS)
            assert done.returncode == 0, (line, done)
        assert store.objects == made()
