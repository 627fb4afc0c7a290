"""A directory bucket of S3 Express One Zone: it opens sessions, and refuses requests that are not signed with one's keys. The
signature is computed here from AWS's description alone."""

import datetime
import hashlib
import hmac
import re
import time
import urllib.parse

from faulty_store import FaultyStore, Handler
from faulty_writes import error

KEY, SECRET = "AKIDHIDDEN", "theverysecret"


def signature(handler, secret, day, region, service, names):
    url = urllib.parse.urlsplit(handler.path)
    query = "&".join(sorted(part if "=" in part else part + "=" for part in url.query.split("&") if part))
    headers = "".join(f"{name}:{handler.headers.get(name, '').strip()}\n" for name in names.split(";"))
    request = "\n".join((handler.command, url.path, query, headers, names, handler.headers["x-amz-content-sha256"]))
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", handler.headers["x-amz-date"], scope, hashlib.sha256(request.encode()).hexdigest()))
    key = ("AWS4" + secret).encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


class ExpressHandler(Handler):
    def parse_request(self):
        """Before each method: a request that is refused gets no further."""
        if not super().parse_request():
            return False
        code = self.refusal()
        if code:
            with self.server.store.lock:
                self.server.store.refused.append((code, self.command, self.path))
            self.close_connection = True
            self.send(403, error(code, "Access Denied"))
        return not code

    def opens(self):
        return urllib.parse.urlsplit(self.path).query in ("session", "session=")

    def refusal(self):
        store = self.server.store
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3express/aws4_request, "
                             r"SignedHeaders=([^,]+), Signature=([0-9a-f]{64})", self.headers.get("Authorization", ""))
        if not found:
            return "AccessDenied"
        key, day, region, names, reported = found.groups()
        if {n.lower() for n in self.headers if n.lower().startswith("x-amz-")} - set(names.split(";")):
            return "HeadersNotSigned"
        if self.opens():
            known, secret = KEY, SECRET
            if self.headers.get("x-amz-create-session-mode") not in store.modes:
                return "AccessDenied"
        else:
            known, secret, until = store.sessions.get(self.headers.get("x-amz-s3session-token"), (None, "", 0))
            if "x-amz-security-token" in self.headers or "Content-MD5" in self.headers:
                return "NotImplemented"
            if known and time.monotonic() > until:
                return "ExpiredToken"
        if key != known:
            return "InvalidAccessKeyId"
        return "" if signature(self, secret, day, region, "s3express", names) == reported else "SignatureDoesNotMatch"

    def do_GET(self):
        if not self.opens():
            return super().do_GET()
        store = self.server.store
        with store.lock:
            number = len(store.sessions)
            token, key, secret = f"token/{number}+==", f"ASIA{number}", f"secretofsession{number}"
            # Enforced late, so that a slow machine does not matter.
            store.sessions[token] = (key, secret, time.monotonic() + store.life + 600)
        end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=store.life)
        return self.send(200, f"<?xml version=\"1.0\"?><CreateSessionResult><Credentials><SessionToken>{token}</SessionToken>"
                              f"<SecretAccessKey>{secret}</SecretAccessKey><AccessKeyId>{key}</AccessKeyId>"
                              f"<Expiration>{end:%Y-%m-%dT%H:%M:%SZ}</Expiration></Credentials></CreateSessionResult>".encode())


class ExpressStore(FaultyStore):
    handler = ExpressHandler

    def __init__(self, objects, life=300, modes=("ReadWrite", "ReadOnly"), **more):
        super().__init__(objects, bucket="data--usw2-az1--x-s3", **more)
        self.life, self.modes = life, modes  # s; the sessions that may be opened
        self.sessions, self.refused = {}, []
