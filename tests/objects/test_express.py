"""Directory buckets of S3 Express One Zone: one session serves all threads, is renewed, and never leaves a trace."""

import pytest
from conftest import made
from express_store import KEY, SECRET, ExpressStore
from faulty_store import FaultyStore

KEYS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-west-2"}
READ = {"use": "small_file_read", "path": "s3://data--usw2-az1--x-s3/set", "repeat": 1, "workers": 4}


def test_all_threads_read_in_one_session(headrace):
    with ExpressStore(made(count=40)) as store:
        run = headrace(store.endpoint, READ, env=KEYS)
        assert run.code == 0 and not store.refused, (run, store.refused)
        assert len(store.sessions) < 5 < store.total, (store.sessions, store.total)
    text = run.reported + str(run.data)
    assert "signed with the keys of a session" in str(run.data)
    assert SECRET not in text and KEY not in text and "secretofsession" not in text and "token/0+" not in text


def test_a_session_is_renewed_before_it_ends(headrace):
    with ExpressStore(made(count=40), life=3, latency=0.1) as store:  # 4 s of requests, one after the other
        run = headrace(store.endpoint, {**READ, "workers": 1}, env=KEYS)
        assert run.code == 0 and not store.refused and len(store.sessions) >= 2, (run, store.refused, store.sessions)


def test_keys_that_may_only_read_read(headrace):
    with ExpressStore(made(), modes=("ReadOnly",)) as store:
        run = headrace(store.endpoint, READ, env=KEYS)
        assert run.code == 0 and {code for code, *_ in store.refused} == {"AccessDenied"}, (run, store.refused)


def test_images_are_packed_from_a_directory_bucket(headrace):
    with ExpressStore({f"set/c0/{i}.jpg": b"\xff\xd8\xff" + bytes(99 + i) for i in range(8)}) as store:
        done = headrace.command("pack", "s3://data--usw2-az1--x-s3/set", "--to", "shards", endpoint=store.endpoint, **KEYS)
        assert done.returncode == 0 and "8 samples" in done.stdout and not store.refused, (done, store.refused)


@pytest.mark.parametrize("keys, modes, says", [
    ({"AWS_SECRET_ACCESS_KEY": "wrong"}, ("ReadWrite",), ["open a session of s3://data--usw2-az1--x-s3", "403"]),
    ({}, (), ["403 AccessDenied", "the keys need s3express:CreateSession"]),
    ({"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, ("ReadWrite",), ["403 AccessDenied", "no keys were found"])])
def test_without_a_session_nothing_is_read(headrace, keys, modes, says):
    with ExpressStore(made(), modes=modes) as store:
        run = headrace(store.endpoint, READ, env=KEYS | keys)
        assert run.code == 1 and store.total == 0 and not store.sessions, run
        assert all(word in run.why for word in says) and SECRET not in run.reported, run.why


def test_another_bucket_has_no_session(headrace):
    with FaultyStore(made()) as store:
        run = headrace(store.endpoint, {**READ, "path": "s3://bucket/set"}, env=KEYS)
        assert run.code == 0 and not [path for _, path, _ in store.seen if "session" in path], run
        assert all("/s3/aws4_request" in headers["Authorization"] for _, _, headers in store.seen)
