"""Keys as the SDKs find them: each source is a small server, file or program of the test's, and the store sees who signs."""

import hashlib
import http.server
import json
import os
import re
import threading
import time
import urllib.parse

import pytest
from faulty_store import FaultyStore

MEASURE = ("measure", "small_file_read", "s3://bucket/set", "--repeat", "1", "--no-store")
OBJECTS = {f"set/{i}.bin": bytes([i]) * 2000 for i in range(4)}


def when(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


class Aws:
    """STS, SSO, a container's service and an instance's, at one port: lends LENT1, LENT2 ... and keeps each request."""

    def __init__(self, life=3600, status=200, role="my-role"):
        self.life, self.status, self.role, self.seen, self.lent = life, status, role, [], 0

    def keys(self):
        self.lent += 1
        return f"LENT{self.lent}"

    def answer(self, method, path, headers, body):
        if self.status != 200:
            return self.status, b"<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>"
        if path == "/latest/api/token":
            return (200, b"IMDS") if method == "PUT" else (405, b"")
        if path.startswith("/latest/"):
            if headers.get("x-aws-ec2-metadata-token") != "IMDS":
                return 401, b""
            if path.endswith("/security-credentials/"):
                return (200, self.role.encode()) if self.role else (404, b"")
        if path.startswith("/federation/"):
            lent = {"accessKeyId": self.keys(), "secretAccessKey": "S", "sessionToken": "T",
                    "expiration": int(1000 * (time.time() + self.life))}
            return 200, json.dumps({"roleCredentials": lent}).encode()
        if path == "/token":
            right = {"grantType": "refresh_token", "clientId": "ID", "clientSecret": "HUSH", "refreshToken": "AGAIN"}
            if json.loads(body) != right:
                return 400, json.dumps({"error": "invalid_grant", "error_description": f"of {body}"}).encode()
            return 200, json.dumps({"accessToken": "NEWLOGIN", "expiresIn": 3600, "refreshToken": "LATER"}).encode()
        if method == "POST":
            action = urllib.parse.parse_qs(body)["Action"][0]
            return 200, (f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result><Credentials>'
                         f"<AccessKeyId>{self.keys()}</AccessKeyId><SecretAccessKey>S</SecretAccessKey><SessionToken>T</SessionToken>"
                         f"<Expiration>{when(self.life)}</Expiration></Credentials></{action}Result></{action}Response>").encode()
        return 200, json.dumps({"AccessKeyId": self.keys(), "SecretAccessKey": "S", "Token": "T",
                                "Expiration": when(self.life)}).encode()

    def __enter__(self):
        aws = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                aws.seen.append((self.command, self.path, dict(self.headers), dict(urllib.parse.parse_qsl(body))))
                status, text = aws.answer(self.command, self.path, self.headers, body)
                self.send_response_only(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
            do_PUT = do_POST = do_GET

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def signers(store):
    """Of the requests that the store saw: key, and whether there was a session token."""
    found = set()
    for _, _, headers in store.seen:
        key = re.search(r"Credential=([^/]+)/", headers.get("Authorization", ""))
        found.add((key and key[1], "T" if headers.get("x-amz-security-token") == "T" else None))
    return found


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home/.aws/sso/cache").mkdir(parents=True)
    return tmp_path / "home"


def write(home, config="", credentials=""):
    (home / ".aws/config").write_text(config)
    (home / ".aws/credentials").write_text(credentials)
    return {"HOME": str(home)}


NEAR = "[near]\naws_access_key_id = NEAR\naws_secret_access_key = S\n"


def web_identity(home, aws):
    (home / "token").write_text("JWT\n")
    return {"AWS_WEB_IDENTITY_TOKEN_FILE": str(home / "token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/x",
            "AWS_ENDPOINT_URL_STS": aws.url}


def assumed(home, aws):
    return write(home, "[profile far]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = near\n", NEAR) | {
        "AWS_PROFILE": "far", "AWS_ENDPOINT_URL_STS": aws.url}


def sso(home, aws):
    name = hashlib.sha1(b"my").hexdigest()
    (home / f".aws/sso/cache/{name}.json").write_text(json.dumps({"accessToken": "LOGIN", "expiresAt": when(3600)}))
    return write(home, "[default]\nsso_session = my\nsso_account_id = 1\nsso_role_name = R\n[sso-session my]\nsso_region = eu-west-1\n"
                       "sso_start_url = https://x\n") | {"AWS_ENDPOINT_URL_SSO": aws.url}


def ended_login(home, aws, refresh="AGAIN"):
    name = hashlib.sha1(b"my").hexdigest()
    settings, login = sso(home, aws), home / f".aws/sso/cache/{name}.json"
    login.write_text(json.dumps({"accessToken": "LOGIN", "expiresAt": when(-60), "clientId": "ID", "clientSecret": "HUSH",
                                 "refreshToken": refresh, "registrationExpiresAt": when(3600), "startUrl": "https://x"}))
    login.chmod(0o600)
    return settings | {"AWS_ENDPOINT_URL_SSO_OIDC": aws.url}, login


def process(home, aws):
    program = home / "keys.sh"
    program.write_text("#!/bin/sh\ncat <<'E'\n" + json.dumps({"Version": 1, "AccessKeyId": "LENT1", "SecretAccessKey": "S",
                                                             "SessionToken": "T", "Expiration": when(3600)}) + "\nE\n")
    program.chmod(0o755)
    return write(home, f"[default]\ncredential_process = {program} --a 'b c'\n")


def container(home, aws):
    (home / "token").write_text("POD")
    return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{aws.url}/v1/credentials",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(home / "token")}


def instance(home, aws):
    return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": aws.url + "/"}


SOURCES = [web_identity, assumed, sso, process, container, instance]


@pytest.mark.parametrize("source", SOURCES, ids=lambda one: one.__name__)
def test_each_source_signs(headrace, home, source):
    with Aws() as aws, FaultyStore(OBJECTS) as store:
        done = headrace.command(*MEASURE, endpoint=store.endpoint, **source(home, aws))
        assert done.returncode == 0, done
        assert signers(store) == {("LENT1", "T")}, (signers(store), done)
        seen = " ".join(f"{method} {path} {headers} {body}" for method, path, headers, body in aws.seen)
        assert {web_identity: "'WebIdentityToken': 'JWT'", assumed: "Credential=NEAR/", sso: "'x-amz-sso_bearer_token': 'LOGIN'",
                process: "", container: "'Authorization': 'POD'", instance: "PUT /latest/api/token"}[source] in seen, seen


@pytest.mark.parametrize("source", [web_identity, assumed, sso, container], ids=lambda one: one.__name__)
def test_a_source_that_refuses_is_named_with_its_answer(headrace, home, source):
    with Aws(status=403) as aws, FaultyStore(OBJECTS) as store:
        done = headrace.command(*MEASURE, endpoint=store.endpoint, **source(home, aws))
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 1 and f"{aws.url}" in said and "answered: 403" in said, done
        assert {web_identity: "web identity of AWS_WEB_IDENTITY_TOKEN_FILE", assumed: "role arn:aws:iam::1:role/x of profile far",
                sso: "SSO of profile default", container: "the container's role"}[source] in said, said
        assert not store.seen, "nothing is asked without keys"
        assert not any(secret in said for secret in ("JWT", "POD", "LOGIN")), said


def test_an_expired_login_is_renewed_once_and_kept(headrace, home):
    with Aws() as aws, FaultyStore(OBJECTS) as store:
        settings, login = ended_login(home, aws)
        for _ in range(2):
            done = headrace.command(*MEASURE, endpoint=store.endpoint, **settings)
            assert done.returncode == 0 and "NEWLOGIN" not in done.stdout + done.stderr, done
        assert [path for _, path, *_ in aws.seen].count("/token") == 1, aws.seen
        bearers = {headers["x-amz-sso_bearer_token"] for _, path, headers, _ in aws.seen if path.startswith("/federation/")}
        kept = json.loads(login.read_text())
        assert bearers == {"NEWLOGIN"} and (kept["accessToken"], kept["refreshToken"], kept["startUrl"]) == ("NEWLOGIN", "LATER", "https://x")
        assert login.stat().st_mode & 0o777 == 0o600 and len(list(login.parent.iterdir())) == 1


def test_a_login_that_cannot_be_renewed_names_the_command(headrace, home):
    with Aws() as aws, FaultyStore(OBJECTS) as store:
        settings, login = ended_login(home, aws, refresh="USEDUP")
        before = login.read_bytes()
        done = headrace.command(*MEASURE, endpoint=store.endpoint, **settings)
        said = " ".join((done.stdout + done.stderr).split())
        assert done.returncode == 1 and "400 invalid_grant" in said and "run `aws sso login --profile default`" in said, done
        assert not store.seen and login.read_bytes() == before
        assert not any(secret in said for secret in ("LOGIN", "HUSH", "USEDUP")), said


def test_an_instance_without_a_role_does_not_sign(headrace, home):
    with Aws(role="") as aws, FaultyStore(OBJECTS) as store:
        done = headrace.command(*MEASURE, endpoint=store.endpoint, **instance(home, aws))
        assert done.returncode == 0 and signers(store) == {(None, None)}, done


def test_a_process_that_fails_is_named(headrace, home):
    with FaultyStore(OBJECTS) as store:
        for command, words in (("false", "ended with 1"), ("/nonexistent/keys", "ended with 127"), ("echo no", "no JSON object"),
                               ("kill -9 $$", "signal 9")):
            done = headrace.command(*MEASURE, endpoint=store.endpoint, **write(home, f"[default]\ncredential_process = {command}\n"))
            said = " ".join((done.stdout + done.stderr).split())
            assert done.returncode == 1 and "credential_process of profile default: " in said and words in said, (command, done)


def test_a_program_that_others_can_name_is_not_run(headrace, home):
    with Aws() as aws, FaultyStore(OBJECTS) as store:
        settings = process(home, aws)
        config = home / ".aws/config"
        (home / "keys.sh").write_text(f"#!/bin/sh\ntouch {home}/ran\n")
        for change in (lambda: config.chmod(0o666), lambda: (config.chmod(0o600), config.parent.chmod(0o777)),
                       lambda: (config.parent.chmod(0o700), os.chown(config, 65534, -1))):
            if os.geteuid() != 0 and "chown" in change.__code__.co_names:
                continue
            change()
            done = headrace.command(*MEASURE, endpoint=store.endpoint, **settings)
            said = " ".join((done.stdout + done.stderr).split())
            assert done.returncode == 1 and "is not run: " in said and ("can be written by" in said or "belongs to" in said), done
            assert not (home / "ran").exists() and not store.seen, done


def test_keys_are_renewed_before_they_expire(headrace, home):
    with Aws(life=2) as aws, FaultyStore(OBJECTS, latency=0.4) as store:
        done = headrace.command("measure", "random_read", "s3://bucket/set", "--block-size", "512B", "--reads", "200", "--workers", "1",
                                "--repeat", "1", "--no-store", endpoint=store.endpoint, **web_identity(home, aws))
        assert done.returncode == 0, done
        keys = signers(store)
        assert len(keys) >= 3 and len(keys) == aws.lent, (keys, aws.lent)


def test_nothing_of_another_host_is_asked_in_the_open(headrace, home):
    with FaultyStore(OBJECTS) as store:
        done = headrace.command(*MEASURE, endpoint=store.endpoint, AWS_CONTAINER_CREDENTIALS_FULL_URI="http://keys.example.com/")
        assert done.returncode == 1 and "neither https:// nor on this host" in " ".join((done.stdout + done.stderr).split()), done
        assert not store.seen


def test_throttling_is_counted_in_the_table(headrace):
    with FaultyStore(OBJECTS, refuse_each=3) as store:
        done = headrace.command(*MEASURE, "--export-json", "t.json", endpoint=store.endpoint)
        assert done.returncode == 0, done
        said = " ".join(done.stdout.split())
        counted = re.search(r"(\d+) answers of 503 SlowDown or 429; (\d+) requests sent again, after pauses of [\d.]+ m?s", said)
        assert counted and int(counted[1]) == int(counted[2]) > 0, said
        (point,) = json.loads((headrace.folder / "t.json").read_text())["points"]
        assert point["retried"].startswith(counted[0]), point
    with FaultyStore(OBJECTS) as store:
        done = headrace.command(*MEASURE, endpoint=store.endpoint)
        assert done.returncode == 0 and "sent again" not in done.stdout, done


@pytest.mark.parametrize("source", [web_identity, assumed, container, process], ids=lambda one: one.__name__)
def test_botocore_takes_the_same_source(home, monkeypatch, source):
    """What the tests above expect is what the SDK does with the same configuration."""
    session = pytest.importorskip("botocore.session", reason="botocore is not installed")
    for name in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(name)
    with Aws() as aws:
        for name, value in ({"HOME": str(home), "AWS_DEFAULT_REGION": "us-east-1"} | source(home, aws)).items():
            monkeypatch.setenv(name, value)
        assert session.Session().get_credentials().get_frozen_credentials().access_key == "LENT1"
