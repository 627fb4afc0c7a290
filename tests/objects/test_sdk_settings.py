"""The same configuration, read by botocore and by headrace: where the first request goes, and who signs it."""

import http.server
import os
import re
import socketserver
import subprocess
import threading

import pytest

botocore = pytest.importorskip("botocore.session", reason="botocore is not installed")

KEYS = "[default]\naws_access_key_id = DEFAULTKEY\naws_secret_access_key = s1\n[dev]\naws_access_key_id = DEVKEY\naws_secret_access_key = s2\n"
CASES = {
    "profile": ({"AWS_PROFILE": "dev"}, "[profile dev]\nregion = eu-west-1\nendpoint_url = {A}\n", KEYS),
    "default": ({}, "[default]\nregion = ap-south-1\nendpoint_url = {A}\n", KEYS),
    "services": ({}, "[default]\nservices = mine\nendpoint_url = {B}\n[services mine]\nec2 =\n  endpoint_url = {B}\ns3 =\n  endpoint_url = {A}\n", KEYS),
    "services of another": ({}, "[default]\nservices = mine\nendpoint_url = {A}\n[services mine]\nec2 =\n  endpoint_url = {B}\n", KEYS),
    "environment": ({"AWS_ENDPOINT_URL": "{A}"}, "[default]\nservices = m\nendpoint_url = {B}\n[services m]\ns3 =\n  endpoint_url = {B}\n", KEYS),
    "environment of s3": ({"AWS_ENDPOINT_URL": "{B}", "AWS_ENDPOINT_URL_S3": "{A}"}, "", KEYS),
    "keys of the environment": ({"AWS_ACCESS_KEY_ID": "ENVKEY", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL": "{A}"}, "", KEYS),
    "keys in the configuration": ({"AWS_PROFILE": "c"}, "[profile c]\naws_access_key_id = CKEY\naws_secret_access_key = s\nendpoint_url = {A}\n", ""),
    "both files": ({"AWS_PROFILE": "dev"}, "[profile dev]\naws_access_key_id = OTHER\naws_secret_access_key = s\nendpoint_url = {A}\n", KEYS),
    "path in the endpoint": ({"AWS_ENDPOINT_URL": "{A}/storage/v1/s3"}, "", KEYS),
    "token": ({"AWS_ENDPOINT_URL": "{A}"}, "", "[default]\naws_access_key_id = T\naws_secret_access_key = s\naws_session_token = token\n"),
    "path style": ({"AWS_ENDPOINT_URL": "{A}"}, "[default]\ns3 =\n  addressing_style = path\n", KEYS),
    "comments": ({}, "# one\n[default]\n; two\nregion = us-west-2\nendpoint_url = {A}\n", KEYS),
    "other files": ({"AWS_CONFIG_FILE": "conf", "AWS_SHARED_CREDENTIALS_FILE": "cred"}, "", ""),
}


class Store:
    """Refuses everything, and keeps the first request."""

    def __enter__(self):
        seen = self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append((self.path.split("?")[0], dict(self.headers)))
                self.send_response(403)
                self.send_header("Content-Length", "0")
                self.end_headers()
            do_HEAD = do_GET

            def log_message(self, *words):
                pass

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def reported(store):
    assert store.seen, "no request came"
    path, headers = store.seen[0]
    signed = re.search(r"Credential=([^/]+)/\d+/([^/]+)/s3/", headers.get("Authorization", "")) or [None, None, None]
    return {"path": path.rstrip("/"), "key": signed[1], "region": signed[2], "token": headers.get("X-Amz-Security-Token", headers.get("x-amz-security-token"))}


@pytest.mark.parametrize("case", CASES)
def test_both_ask_the_same_store_with_the_same_keys(tmp_path, monkeypatch, case):
    variables, config, keys = CASES[case]
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
                 "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.delenv(name, raising=False)
    with Store() as right, Store() as wrong:
        def filled(text):
            return text.replace("{A}", right.url).replace("{B}", wrong.url)
        home = tmp_path / "home"
        (home / ".aws").mkdir(parents=True)
        (home / ".aws/config").write_text(filled(config))
        (home / ".aws/credentials").write_text(keys)
        if "AWS_CONFIG_FILE" in variables:
            (tmp_path / "conf").write_text(f"[default]\nendpoint_url = {right.url}\nregion = eu-north-1\n")
            (tmp_path / "cred").write_text(KEYS)
            variables = {name: str(tmp_path / value) for name, value in variables.items()}
        environment = {"HOME": str(home), **{name: filled(value) for name, value in variables.items()}}
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        session = botocore.Session()
        if session.get_config_variable("region") is None:
            session.set_config_variable("region", "us-east-1")
        try:
            session.create_client("s3").list_objects_v2(Bucket="bucket", Prefix="set")
        except Exception:
            pass
        theirs = reported(right)
        right.seen.clear()
        subprocess.run([os.environ["HEADRACE"], "measure", "shard_stream", "s3://bucket/set", "--repeat", "1", "--no-store"], cwd=tmp_path,
                       capture_output=True, timeout=120)
        assert reported(right) == theirs
        assert not wrong.seen, wrong.seen
