"""Each thing that can be wrong is named in the server's own words, with what to do, and never with a secret."""

import json
import signal
import socket
import ssl
import subprocess
import threading

import pytest
from conftest import made
from faulty_store import FaultyStore, error

OBJECTS = {"use": "small_file_read", "path": "s3://bucket/set", "repeat": 1, "workers": 2}
RANGES = {"use": "random_read", "path": "s3://bucket/set", "block_size": "10kB", "repeat": 1, "workers": 2}
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDHIDDEN", "AWS_SECRET_ACCESS_KEY": "theverysecret"}


@pytest.mark.parametrize("status, body, words", [
    (403, error("InvalidAccessKeyId", "The key does not exist"), ["403 InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"]),
    (403, error("SignatureDoesNotMatch"), ["SignatureDoesNotMatch", "the environment"]),
    (403, error("RequestTimeTooSkewed"), ["RequestTimeTooSkewed", "clock", "2026"]),
    (301, error("PermanentRedirect", "", "<Region>eu-west-9</Region>"), ["PermanentRedirect", "AWS_REGION=eu-west-9"]),
    (400, error("AuthorizationHeaderMalformed", "", "<Region>eu-west-9</Region>"), ["AWS_REGION=eu-west-9"]),
    (403, error("AccessDenied", "Access Denied"), ["AccessDenied (Access Denied)", "s3:ListBucket"]),
    (400, error("ExpiredToken"), ["ExpiredToken", "get new keys"]),
    (404, b"<html>nothing here</html>", ["404", "not as an S3 store does", "AWS_ENDPOINT_URL"]),
    (200, b"<html>welcome</html>", ["not as an S3 store does", "AWS_ENDPOINT_URL"]),
    (200, b"not even markup", ["not as an S3 store does"]),
], ids=["key", "signature", "skew", "region", "malformed", "denied", "expired", "not-s3", "page", "text"])
def test_refused_listings(headrace, status, body, words):
    with FaultyStore(made(), listing=(status, [("Date", "Tue, 24 Nov 2026 10:00:00 GMT")], body)) as store:
        run = headrace(store.endpoint, OBJECTS, env=KEYS)
        assert run.code == 1, run
        for word in words:
            assert word in run.why, run.why
        assert "theverysecret" not in run.reported + str(run.data) and "AKIDHIDDEN" not in run.reported + str(run.data)


def test_store_that_lists_foreign_keys(headrace):
    for key in ("x", "another/thing"):
        page = f"<ListBucketResult><Contents><Key>{key}</Key><Size>10</Size><ETag>a</ETag></Contents></ListBucketResult>"
        with FaultyStore(made(), listing=(200, [], page.encode())) as store:
            for entry in (OBJECTS, {"use": "metadata", "path": "s3://bucket/set", "repeat": 1}):
                why = headrace(store.endpoint, entry).why
                assert f"it lists {key}, which is outside the requested prefix" in why, why


def test_no_keys_are_reported_where_some_are_needed(headrace):
    with FaultyStore(made(), listing=(403, [], error("AccessDenied"))) as store:
        assert "no keys were found" in headrace(store.endpoint, OBJECTS).why


def test_there_is_nothing_to_read(headrace):
    with FaultyStore(made() | {"hollow/a": b""}) as store:
        assert "NoSuchBucket" in headrace(store.endpoint, {**OBJECTS, "path": "s3://other/set"}).why
        assert "no object lies below it" in headrace(store.endpoint, {**OBJECTS, "path": "s3://bucket/sets"}).why
        assert "but empty ones" in headrace(store.endpoint, {**OBJECTS, "path": "s3://bucket/hollow"}).why


def test_keys_that_may_list_but_not_read(headrace):
    with FaultyStore(made(), refuse_each=1, refusal=(403, error("AccessDenied"))) as store:
        run = headrace(store.endpoint, OBJECTS, env=KEYS)
        assert run.code == 1 and "get s3://bucket/set/" in run.why and "AccessDenied" in run.why, run


def test_a_listing_that_never_ends(headrace):
    with FaultyStore(made(), endless=True) as store:
        assert "the listing does not end" in headrace(store.endpoint, OBJECTS).why


def test_a_server_that_ignores_ranges(headrace):
    with FaultyStore(made(), ignores_ranges=True) as store:
        run = headrace(store.endpoint, RANGES)
        assert run.point["status"] == "skipped" and "200 instead of 206" in run.why, run
        assert headrace(store.endpoint, OBJECTS).code == 0  # whole objects can be had


def test_an_object_that_changes(headrace):
    with FaultyStore(made(), changes=True) as store:
        run = headrace(store.endpoint, OBJECTS)
        assert run.code == 1 and "another object than was listed" in run.reported, run


def test_bodies_that_are_too_short(headrace):
    with FaultyStore(made(), wrong_length=10) as store:
        run = headrace(store.endpoint, OBJECTS)
        assert run.code == 1 and "bytes came" in run.reported, run
    with FaultyStore(made(), short_each=3) as store:  # not of the first two, by which the workers see that they may read
        run = headrace(store.endpoint, {**OBJECTS, "retries": 0})
        assert run.code == 1 and "fewer bytes came than the object had" in run.reported, run


def test_endpoint_without_a_server(headrace):
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        run = headrace(f"http://127.0.0.1:{taken.getsockname()[1]}", {**OBJECTS, "retries": 0})
        assert run.code == 1 and "nothing answers at http://127.0.0.1" in run.why, run
    run = headrace("http://no-such-host.invalid", OBJECTS)
    assert run.code == 1 and "no address is known for the host no-such-host.invalid" in run.why, run
    run = headrace("http://127.0.0.1:1", OBJECTS, env={"http_proxy": "http://no-such-proxy.invalid:3128"})
    assert run.code == 1 and "no address is known for the proxy" in run.why, run


def test_a_proxy_is_asked(headrace):
    """It is used, and what it refuses is reported as its own."""
    with FaultyStore(made()) as store:  # takes whole URLs, as a proxy does
        run = headrace("http://far.invalid", OBJECTS, env={"http_proxy": store.endpoint})
        assert run.code == 0 and all(path.startswith("http://far.invalid/bucket") for _, path, _ in store.seen), run
        run = headrace("http://far.invalid", OBJECTS, env={"http_proxy": store.endpoint, "no_proxy": "far.invalid"})
        assert run.code == 1 and "no address is known for the host far.invalid" in run.why, run
    for status, body, words in ((407, b"<html>who are you</html>", ["407", "the proxy wants to know who asks"]),
                                (502, b"<html>bad gateway</html>", ["502", "not as an S3 store does"])):
        with FaultyStore(made(), listing=(status, [("Proxy-Authenticate", "Basic")], body)) as store:
            run = headrace("http://far.invalid", {**OBJECTS, "retries": 0}, env={"http_proxy": store.endpoint})
            assert run.code == 1 and all(word in run.why for word in words), run
    with FaultyStore(made()) as store:  # knows no CONNECT
        run = headrace("https://far.invalid", OBJECTS, env={"https_proxy": store.endpoint})
        assert run.code == 1 and "the proxy answered 501" in run.why and "https_proxy" in run.why, run


def test_an_endpoint_that_speaks_something_else(headrace):
    def greet(listening):
        while True:
            try:
                one, _ = listening.accept()
            except OSError:
                return
            with one:
                one.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
                one.shutdown(socket.SHUT_WR)
                one.recv(65536)

    listening = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=greet, args=(listening,), daemon=True).start()
    run = headrace(f"http://127.0.0.1:{listening.getsockname()[1]}", {**OBJECTS, "retries": 0})
    listening.close()
    assert run.code == 1 and "AWS_ENDPOINT_URL" in run.why, run


@pytest.fixture
def certificates(tmp_path):
    """Makes one of its own: of a subject, valid for that many days."""
    def make(name, subject="IP:127.0.0.1", days="2"):
        done = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out",
                               f"{name}.pem", "-days", days, "-subj", "/CN=test", "-addext", f"subjectAltName={subject}"],
                              cwd=tmp_path, capture_output=True)
        if done.returncode != 0:
            pytest.skip(f"openssl makes no such certificate here: {done.stderr[-200:]}")
        return tmp_path / f"{name}.pem", tmp_path / f"{name}.key"
    return make


def secured(store, certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    store.server.socket = context.wrap_socket(store.server.socket, server_side=True)
    return store.endpoint.replace("http:", "https:")


def test_certificates_of_another_host_are_refused(headrace, certificates):
    certificate, key = certificates("other", subject="DNS:store.example")
    with FaultyStore(made()) as store:
        run = headrace(secured(store, certificate, key), OBJECTS, env={"AWS_CA_BUNDLE": str(certificate)})
        assert run.code == 1 and "certificate" in run.why and "127.0.0.1" in run.why, run


def test_certificates_are_checked(headrace, certificates, tmp_path):
    with FaultyStore(made()) as store:
        secure = secured(store, *certificates("cert"))
        run = headrace(secure, OBJECTS)
        assert run.code == 1 and "certificate is not trusted" in run.why, run
        assert headrace(secure, OBJECTS, env={"AWS_CA_BUNDLE": str(tmp_path / "cert.pem")}).code == 0
    with FaultyStore(made()) as store:
        run = headrace(store.endpoint.replace("http:", "https:"), OBJECTS)
        assert run.code == 1 and "TLS" in run.why, run


def test_settings_that_cannot_be(headrace):
    run = headrace("127.0.0.1:9000", OBJECTS)
    assert run.code == 1 and "no URL of a host" in run.why, run
    run = headrace("http://127.0.0.1:1", OBJECTS, env={"AWS_ACCESS_KEY_ID": "AKIDHIDDEN"})
    assert run.code == 1 and "only one of the two keys" in run.why and "AKIDHIDDEN" not in run.reported, run


@pytest.mark.parametrize("answered, asked", [(0, "list s3://bucket/set"), (1, "get s3://bucket/set/"), (100, "")])
def test_ctrl_c_while_a_store_is_silent(headrace, answered, asked):
    """As it lists, as the first bytes are asked for, and as it is measured."""
    with FaultyStore(made(), silent_after=answered) as store:
        (headrace.folder / "c.yaml").write_text(json.dumps(
            {"schema": 1, "name": "objects", "workloads": [OBJECTS | {"repeat": 100}, RANGES]}))
        process = headrace.start("run", "-c", "c.yaml", "--out", "out", "--no-report", endpoint=store.endpoint)
        assert store.silent.wait(150)
        process.send_signal(signal.SIGINT)
        reported, _ = process.communicate(timeout=240)
        reported += (headrace.folder / "out/run.json").read_text()
    assert process.returncode == 130 and "TIMEOUT" not in reported, reported
    assert f"127.0.0.1:{store.endpoint.rpartition(':')[2]} had not answered when headrace was asked to stop" in reported, reported
    assert asked in reported and "interrupted before" in reported, reported  # what comes after it is not begun


def test_secrets_are_written_nowhere(headrace):
    """Neither in what a run leaves nor in the list of processes while it goes on."""
    seen = set()
    with FaultyStore(made(30, 1000), latency=0.02) as store:
        stop = threading.Event()

        def watch():
            while not stop.is_set():
                seen.update(subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout.splitlines())
        watcher = threading.Thread(target=watch)
        watcher.start()
        run = headrace(store.endpoint, OBJECTS, env={**KEYS, "AWS_SESSION_TOKEN": "theverytoken"})
        stop.set()
        watcher.join()
        assert run.code == 0, run
        assert any("Credential=AKIDHIDDEN/" in headers.get("Authorization", "") for _, _, headers in store.seen)
        assert all(headers.get("x-amz-security-token") == "theverytoken" for _, _, headers in store.seen)
    left = "".join(p.read_text(errors="replace") for p in headrace.folder.rglob("*") if p.is_file())
    for text in ("theverysecret", "theverytoken", "AKIDHIDDEN"):
        assert text not in left + run.reported + "\n".join(seen), text
