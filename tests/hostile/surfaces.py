"""What attempts.py tries: a table of areas, each a generator of (what was tried, promises that it broke)."""

import base64
import html
import http.server
import itertools
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
import urllib.parse
import xml.etree.ElementTree

from attempts import CONTROL, STRANGER, Page, cells_that_run, tree

TINY = """schema: 1
name: tiny
target: {path: scratch, max_write: 200MiB}
workloads:
  - {use: small_file_read, files: 4, file_size: 8KiB, workers: 1, cache: asis, repeat: 2, rest: 0s}
"""
PAYLOADS = ["=cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\uff1d1", "a;=1", "a\n=1", '","=1', "<script>alert(1)</script>",
            '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "{{7*7}}", "\x1b[2J", "\x1b]0;x\x07", "\u202egnp", "\u2028=1", "\x00", "\x9b31m",
            "%s%n", "$(touch RAN)", "`touch RAN`", "; touch RAN", "../../RAN", "A" * 3000, "\ud800", "]]>", "--><b>", "'", '"', "\\", "{host}"]
ODD = [None, True, -1, 0, 1e308, 2**64, "", "x" * 100000, [], {}, [[[[]]]], "\u202e", "\x00", "../..", "/etc", {"a": {"b": None}}]


def drawn(rng, choices, count):
    """`count` of the choices, each as often as the others."""
    all_ = list(choices)
    rng.shuffle(all_)
    return list(itertools.islice(itertools.cycle(all_), count))


def owned(path, text=None, mode=0o644, user=STRANGER):
    """A file of a stranger, or a folder where there is no text."""
    path.mkdir(exist_ok=True) if text is None else path.write_text(text)
    path.chmod(mode)
    os.chown(path, user, user)
    return path


def mark(kind, **more):
    return json.dumps({"kind": "headrace." + kind, "schema": 1, "version": "0.1.0", "made": True} | more) + "\n"


def mutated(rng, value):
    """The same JSON with one value changed, gone, or under another key."""
    value = json.loads(json.dumps(value))
    at = value
    while True:
        keys = list(at) if isinstance(at, dict) else range(len(at))
        key = rng.choice(list(keys)) if keys else None
        if key is None:
            return value
        if isinstance(at[key], (dict, list)) and at[key] and rng.random() < 0.7:
            at = at[key]
            continue
        what = rng.randrange(4)
        if what == 0 and isinstance(at, dict):
            del at[key]
        elif what == 1 and isinstance(at, dict):
            at[rng.choice(PAYLOADS)] = at.pop(key)
        else:
            at[key] = rng.choice(ODD + PAYLOADS)
        return value


def agent(box, scale):
    """Lines to an agent: it answers each, goes on, and writes into no folder of a stranger."""
    plan = {"own_address": "127.0.0.1", "rails": ["lo"], "time_s": 0.001, "streams": 1, "message": 65536}
    asked = [{"do": "facts", "paths": [str(box.folder)], "rdma": "none"}, {"do": "clock"}, {"do": "open", "plan": plan},
             {"do": "call", "plan": plan, "door": "00"}, {"do": "open rdma", "plan": plan}, {"do": "connect rdma", "card": "00"},
             {"do": "measure rdma", "leads": True}, {"do": "take away", "folder": str(box.path("none"))}, {"do": "x" * 1000}]
    broken_text = ["", "{", "[" * 50000, '{"do":' * 3000, "\x00", "null", "[]", '"do"', "9" * 5000, "\udcff", '{"do":"clock"}}', "{}" * 500]
    for number in range(int(20 * scale)):
        lines = [json.dumps(mutated(box.rng, box.rng.choice(asked))) for _ in range(6)] + box.rng.sample(broken_text, 2)
        box.rng.shuffle(lines)
        text = "".join(line.replace("\n", " ") + "\n" for line in lines) + '{"do":"clock"}\n'
        done = box("bringup", "--agent", text=text)
        answers = [line for line in done.out.splitlines() if line.startswith("headrace-agent ")]
        wrong = list(done.wrong())
        if len(answers) != len(lines) + 2 or "now_s" not in answers[-1]:
            wrong.append(f"{len(answers)} answers to {len(lines) + 1} lines: {text[:300]!r}")
        for i in range(len(lines)):
            yield f"lines {number}.{i}", wrong if i == 0 else []
    # Places for what mpirun runs: as strangers can make them ready in a folder that everybody can write.
    for number, (base, folder, marked) in enumerate(itertools.product((0o1777, 0o777), (0o1755, 0o1777, 0o700, "link", "file"),
                                                                      ("agent", "scratch", "none"))):
        top = box.fresh(f"place{number}")
        top.mkdir()
        top.chmod(base)
        target = top / "headrace-bringup-1-2"
        if folder == "link":
            target.symlink_to(owned(top / "far", mode=0o1755))
        elif folder == "file":
            owned(target, "mine")
        else:
            owned(target, mode=folder)
        if marked != "none" and target.is_dir():
            owned(target / ".headrace", mark(marked))
        before = tree(top)
        done = box("bringup", "--agent", text=json.dumps({"do": "place", "folder": str(target), "config": "schema: 1\n"}) + "\n")
        yield f"place {base:o} {folder} {marked}", [*done.wrong(), *(["wrote into it"] if tree(top) != before else []),
                                                    *(["did not refuse"] if '"error"' not in done.out else [])]


def forms(text):
    quoted = urllib.parse.quote(text, safe="")
    return [text, text.upper(), text.lower(), quoted, quoted.lower(), html.escape(text), "".join(f"&#{ord(c)};" for c in text),
            "".join(f"&#x{ord(c):x};" for c in text), json.dumps(text), text.replace("/", "\\/"), "".join(f"\\u{ord(c):04x}" for c in text),
            text[:40], text[8:], text + text, "x" * (4090 - len(text) // 2) + text]


class Store(http.server.ThreadingHTTPServer):
    """Answers each request by `reply(headers, path)`: status, headers, body."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply, self.heads = None, []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_GET(self):
        self.server.heads.append(dict(self.headers.items()))
        status, headers, body = self.server.reply(self.headers, self.path)
        body = body.encode("utf-8", "surrogatepass")
        self.send_response_only(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if self.command == "GET" else b"")

    do_HEAD = do_PUT = do_POST = do_DELETE = do_CONNECT = do_GET


SECRETS = {"AWS_ACCESS_KEY_ID": "AKIAQ7XAMPLEKEYID42Z", "AWS_SECRET_ACCESS_KEY": "wJa/rXUtnFEMI+K7MDENGbPxRfiCYEXAMPLEKEY",
           "AWS_SESSION_TOKEN": "FwoGZXIvYXdzEJr//////////wEaDKx+Qm7PbV3tSuperSecretTail9=="}
PROXY_PASSWORD = "pr0xy-p4ssw0rd"


def leaks(text, secrets):
    """Twelve characters in a row of a secret, plain or in one of the usual escapes, are one too many."""
    plain = html.unescape(urllib.parse.unquote(text, errors="replace").replace("\\/", "/")).lower()
    for secret in secrets:
        for i in range(max(1, len(secret) - 11)):
            if secret[i:i + 12].lower() in plain or secret[i:i + 12].lower() in text.lower():
                return [f"printed or kept {secret[i:i + 12]!r}"]
    return []


def stores(box, scale):
    """Object stores and proxies that send back what was sent to them."""
    store = Store()
    box.write("tiny.yaml", TINY.replace("small_file_read, files: 4, file_size: 8KiB", "small_file_read, path: 's3://bucket/data'"))

    def bodies(echo):
        yield lambda: (403, {}, f"<Error><Code>AccessDenied</Code><Message>{echo}</Message></Error>")
        yield lambda: (400, {}, f"<Error><Code>{echo}</Code><Message>no</Message></Error>")
        yield lambda: (301, {}, f"<Error><Code>PermanentRedirect</Code><Region>{echo[:200]}</Region></Error>")
        yield lambda: (301, {"x-amz-bucket-region": echo[:60]}, "<Error><Code>PermanentRedirect</Code></Error>")
        yield lambda: (403, {"Date": echo[:60]}, "<Error><Code>RequestTimeTooSkewed</Code></Error>")
        yield lambda: (404, {"Server": echo[:60]}, f"<html>{echo}")
        yield lambda: (200, {}, f"<ListBucketResult><Contents><Key>{echo}</Key><Size>1</Size></Contents></ListBucketResult>")
        yield lambda: (200, {}, f"<ListBucketResult><Contents><Key>data/{echo}</Key><Size>1</Size><ETag>&quot;a&#13;&#10;X-Evil: 1&quot;</ETag>"
                                "</Contents></ListBucketResult>")
        yield lambda: (200, {}, f"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{echo}</NextContinuationToken>"
                                "<Contents><Key>data/a</Key><Size>1</Size></Contents></ListBucketResult>")
        yield lambda: (200, {}, f"<{re.sub('[^A-Za-z]', '', echo)[:100] or 'x'}>")

    echoes = ["key", "token", "signature", "request", "proxy", "basic"]
    tried = drawn(box.rng, itertools.product(echoes, range(15), range(10)), int(150 * scale))
    for number, (what, form, body) in enumerate(tried):
        seen = []
        pages = itertools.count()

        def reply(headers, path):
            signature = headers.get("Authorization", "").rpartition("Signature=")[2]
            seen.append(signature)
            text = {"key": SECRETS["AWS_ACCESS_KEY_ID"], "token": SECRETS["AWS_SESSION_TOKEN"], "signature": signature,
                    "request": str(headers), "proxy": PROXY_PASSWORD, "basic": headers.get("Proxy-Authorization", "")}[what] or "none"
            if next(pages) > 20:
                return 403, {}, "<Error><Code>AccessDenied</Code></Error>"
            text = forms(text.replace("\r", " ").replace("\n", " "))[form]
            if body in (3, 4, 5):
                text = CONTROL.sub(" ", text).encode("latin-1", "replace").decode("latin-1")
            return list(bodies(text))[body]()

        store.reply = reply
        store.heads.clear()
        box.fresh("out")
        at = f"http://127.0.0.1:{store.server_address[1]}"
        proxy = {"http_proxy": at.replace("//", f"//me:{PROXY_PASSWORD}@")} if what in ("proxy", "basic") else {}
        endpoint = "http://store.invalid" if proxy else at
        done = box("run", "-c", "tiny.yaml", "--no-report", "--out", "out", AWS_ENDPOINT_URL=endpoint, **SECRETS, **proxy)
        basic = base64.b64encode(f"me:{PROXY_PASSWORD}".encode()).decode()
        texts = done.out + done.err + (box.text_of_files("out") if box.path("out").exists() else "")
        wrong = [*done.wrong(), *leaks(texts, [*SECRETS.values(), PROXY_PASSWORD, basic, *filter(None, seen)]),
                 *(["sent a header of the store's making"] if any("X-Evil" in heads for heads in store.heads) else [])]
        if not store.heads:
            wrong.append("never asked: this tried nothing")
        yield f"{number}: {what}, form {form}, body {body}", wrong
    store.shutdown()


def variables(box, scale):
    """Control characters in variables and profiles: no request may hold a line of theirs."""
    store = Store()
    store.reply = lambda headers, path: (403, {}, "<Error><Code>AccessDenied</Code></Error>")
    box.write("tiny.yaml", TINY.replace("small_file_read, files: 4, file_size: 8KiB", "small_file_read, path: 's3://bucket/data'"))
    names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT_URL", "AWS_CA_BUNDLE", "AWS_PROFILE"]
    evil = ["\r", "\n", "\r\nX-Evil: 1", "\nX-Evil: 1\n", "\x01", "\x1b[2J", "\x7f", "\t", "\x0b", "\r\n\r\nGET /evil HTTP/1.1\r\n"]
    keys = {"aws_access_key_id": SECRETS["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": SECRETS["AWS_SECRET_ACCESS_KEY"],
            "aws_session_token": SECRETS["AWS_SESSION_TOKEN"], "region": "eu-1"}
    for number, (name, text, where, file) in enumerate(drawn(box.rng, itertools.product([*names, *keys], evil, ("begin", "middle", "end"), (0, 1)),
                                                             int(110 * scale))):
        place = {"begin": lambda v: text + v, "middle": lambda v: v[:5] + text + v[5:], "end": lambda v: v + text}[where]
        at = f"http://127.0.0.1:{store.server_address[1]}"
        env = {"AWS_ENDPOINT_URL": at, "HOME": str(box.folder)}
        shutil.rmtree(box.path(".aws"), ignore_errors=True)
        if name in keys:
            values = {k: place(v) if k == name else v for k, v in keys.items()}
            box.write(".aws/" + ("config" if file else "credentials"), "[default]\n" + "".join(f"{k} = {v}\n" for k, v in values.items()))
        else:
            env |= SECRETS
            env[name] = place(env.get(name, "default"))
        store.heads.clear()
        box.fresh("out")
        done = box("run", "-c", "tiny.yaml", "--no-report", "--out", "out", **env)
        wrong = [*done.wrong(), *leaks(done.out + done.err, list(SECRETS.values()))]
        if any("X-Evil" in heads for heads in store.heads):
            wrong.append("sent a header that a value made")
        if name in names and not re.search(f"{name}, character .* control character", " ".join((done.out + done.err).split())):
            wrong.append(f"did not name {name}: {done.out[:300]!r}")
        yield f"{number}: {name} {text!r} {where}", wrong
    store.shutdown()


def hosts(box, scale):
    """Hosts files: problems have line and column, and what is kept runs in no spreadsheet."""
    for number in range(int(90 * scale)):
        lines = []
        for node in range(box.rng.randrange(1, 5)):
            words = [box.rng.choice([f"n{node}", f"n{node}", f"me@n{node}", "n0", "-n", "@n", "n:22", "[n]", "\u202en", "=n"])]
            for key in box.rng.sample(["rack", "switch", "rail", "rdma", "ra\u0441k", ""], box.rng.randrange(0, 4)):
                words.append(f"{key}={box.rng.choice(PAYLOADS + ['eth0', 'r1'])}".replace("\n", "").replace(" ", ""))
            lines.append(box.rng.choice(["", "  ", "\t"]) + " ".join(words))
        text = box.rng.choice(["\n", "\r\n", "\r"]).join(lines)
        box.write("hosts", text.encode("utf-8", "surrogatepass") if box.rng.random() < 0.9 else text.encode("utf-16", "surrogatepass"))
        box.fresh("c")
        done = box("bringup", "--hosts", "hosts", "--out", "c", "--launch", "false {host};:", "--pairs-only", "--no-report")
        wrong = list(done.wrong())
        if (file := box.path("c") / "bringup.csv").exists():
            wrong += cells_that_run(file.read_text(errors="replace"))
        if done.code == 2 and "hosts:" in done.err and not re.search(r"hosts:\d+:\d+: ", done.err) and "two hosts" not in done.err:
            wrong.append(f"no place: {done.err[:200]!r}")
        if box.path("RAN").exists():
            wrong.append("ran a word of it")
        yield f"{number}: {text[:200]!r}", wrong


def payloads_in(rng, value, share):
    if isinstance(value, dict):
        return {k: payloads_in(rng, v, share) for k, v in value.items()}
    if isinstance(value, list):
        return [payloads_in(rng, v, share) for v in value]
    return rng.choice(PAYLOADS) if isinstance(value, str) and rng.random() < share else value


def stored(box, scale):
    """Run files of others: each format keeps its rules, terminals get no commands, pages run nothing."""
    box.write("tiny.yaml", TINY)
    assert box("run", "-c", "tiny.yaml", "--no-report", "--out", "good").code in (0, 12)
    good = json.loads((box.path("good") / "run.json").read_text())
    usual = None
    for number in range(int(40 * scale)):
        run = payloads_in(box.rng, good, box.rng.choice([0.02, 0.1, 0.5]))
        run |= {"kind": good["kind"], "schema": 1}
        if box.rng.random() < 0.3:
            run = mutated(box.rng, run)
        box.write("bad/run.json", json.dumps(run))
        for words in (["csv"], ["junit"], ["prom"], ["nagios"], ["gbench"]):
            done = box("export", "bad", "--format", *words)
            wrong = list(done.wrong(printable=words != ["csv"] and words != ["gbench"]))
            if done.code == 0 and words == ["csv"]:
                wrong += cells_that_run(done.out)
            if done.code == 0 and words == ["junit"]:
                xml.etree.ElementTree.fromstring(done.out)
            yield f"{number}: export {words[0]}", wrong
        for words in (["verdict", "bad", "--replay"], ["compare", "good", "bad"], ["history", "good", "bad"]):
            yield f"{number}: {words[0]}", box(*words).wrong()
        if number % 4 == 0:
            done = box("report", "bad/run.json", "--out", "bad.html")
            wrong = list(done.wrong())
            if done.code == 0:
                runs = Page(box.path("bad.html").read_text(errors="replace")).runs
                if usual is None:
                    box("report", "good/run.json", "--out", "good.html")
                    usual = Page(box.path("good.html").read_text()).runs
                if [one for one in runs if one not in usual] or len(runs) > len(usual):
                    wrong.append(f"the page runs or loads {runs[:3]}")
            yield f"{number}: report", wrong


def texts(box, scale):
    """YAML: reported with a place, or taken; of files that are no configuration nothing is repeated."""
    parts = TINY.splitlines() + ["extends: /etc/shadow", "extends: secret", "a: &a [*a]", "? [x]: y", "%TAG ! x", "--- !!python/object:x", "- - - -",
                                 "name: " + "z" * 5000, "workloads: !!binary x", "\t", "\ufeff", "...", "<<: *x", "seed: 0x1p9", "needs: [{}]"]
    secret = "line-of-another-file-7Q"
    box.write("secret", box.rng.choice([f"{secret}: {secret}\nuser x: {secret}\n", f"root:{secret}:1:\n", f"[{secret}]\nkey = {secret}\n"]))
    for number in range(int(130 * scale)):
        lines = box.rng.sample(parts, box.rng.randrange(1, 9))
        if box.rng.random() < 0.4:
            lines = TINY.splitlines() + ["extends: secret"]
            box.write("secret", "".join(f"{box.rng.choice(['', 'a b ', '- ', '  '])}{secret}{box.rng.choice([': ', '=', ' ', ':'])}{secret}\n"
                                        for _ in range(box.rng.randrange(1, 4))))
        text = "\n".join(lines)
        text = "".join(c for c in text if box.rng.random() > 0.002) + box.rng.choice(["", "\n", "\0", "\n\u202e"])
        box.write("c.yaml", text)
        done = box("validate", "-c", "c.yaml")
        yield f"{number}: {text[:300]!r}", [*done.wrong(), *(["repeats another file"] if secret in done.out + done.err else [])]
    box.write("f", f"user {secret}: {secret}\nother {secret}: x\n")
    for words in (["validate", "-c", "f"], ["validate", "f"], ["plan", "-c", "f"], ["require", "f"], ["run", "-c", "f"], ["validate", "--job", "f"]):
        done = box(*words)
        yield f"{words} of another file", [*done.wrong(), *(["repeats another file"] if secret in done.out + done.err else [])]


def traces(box, scale):
    """Logs of strace: damaged, of processes in circles, of very many."""
    whole = """10  100.000000 openat(AT_FDCWD, "/data/a", O_RDONLY|O_CLOEXEC) = 3</data/a> <0.000010>
10  100.000100 read(3</data/a>, "x"..., 4096) = 4096 <0.000050>
10  100.000200 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID) = 11 <0.000100>
11  100.000400 read(3</data/a>, "x"..., 4096) = 4096 <0.000050>
11  100.000500 futex(0x7f, FUTEX_WAIT, 1, NULL <unfinished ...>
10  100.000600 write(4</out/b>, "x"..., 100) = 100 <0.000050>
11  100.000700 <... futex resumed>) = 0 <0.000200>
10  100.000800 rename("/out/b", "/out/c") = 0 <0.000020>
11  100.000900 dup2(3, 9) = 9 <0.000001>
10  100.001000 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0}, NULL) = 0 <0.010000>
"""
    for number in range(int(60 * scale)):
        lines = whole.splitlines() * box.rng.randrange(1, 4)
        for _ in range(box.rng.randrange(1, 12)):
            i = box.rng.randrange(len(lines))
            old, new = box.rng.choice([("10", "11"), ("11", "10"), ("100.", "-100."), ("4096", str(2**63)), ("= 3", "= -1"), ("/data/a", box.rng.choice(PAYLOADS)),
                                       ("0.0000", "9e99"), ("(", ""), ("= 11", "= 10"), ("CLONE_CHILD", "CLONE_THREAD"), ("100.0", "1e12")])
            lines[i] = lines[i].replace(old, new)
        box.write("t", "\n".join(lines))
        box.fresh("o")
        done = box("observe", *(["--no-report"] if number else []), "--from", "t", "--out", "o")
        made = box.path("o") / "job.yaml"
        wrong = list(done.wrong())
        if made.exists() and CONTROL.search(made.read_text()):
            wrong.append("job.yaml holds control characters")
        yield f"{number}", wrong
    count = 200_000
    for name, line in [("threads", lambda i: f'{1000 + i}  {100 + i * 1e-5:.6f} read(3</data/f>, ""..., 100) = 100 <0.000010>'),
                       ("at once", lambda i: f'{1000 + i % (count // 2)}  {100 + i * 1e-2:.6f} read(3</data/f>, ""..., 100) = 100 <0.000010>'),
                       ("a chain", lambda i: f"{1000 + i}  {100 + i * 1e-5:.6f} fork() = {1001 + i} <0.000010>"),
                       ("a ring", lambda i: f"{1000 + i}  {100 + i * 1e-5:.6f} fork() = {1000 + (i + 1) % count} <0.000010>"),
                       ("heirs", lambda i: f'10  100.{i:06} openat(AT_FDCWD, "/f{i}", 0) = {i + 3} <0.000001>' if i < 2000
                        else f"10  101.{i:06} fork() = {i + 100} <0.000001>")]:
        box.write("t", "\n".join(map(line, range(count))) + "\n")
        box.fresh("o")
        yield f"200,000 lines: {name}", box("observe", "--no-report", "--from", "t", "--out", "o").wrong()


def folders(box, scale):
    """Folders that a stranger made ready, or can write: no mark of theirs counts, and nothing of theirs changes."""
    box.write("tiny.yaml", TINY)
    box.write("hosts", "n1\nn2\n")
    box.write("images/cat/a.jpg", b"\xff\xd8\xff\xd9")
    assert box("run", "-c", "tiny.yaml", "--no-report", "--out", "good").code in (0, 12)
    verbs = {"scratch": ["run", "-c", "tiny.yaml", "--no-report", "--out", "results", "--at", "DIR"],
             "run": ["run", "-c", "tiny.yaml", "--no-report", "--out", "DIR"],
             "comparison": ["compare", "good", "good", "--out", "DIR"], "fleet": ["fleet", "good", "--out", "DIR"],
             "history": ["history", "good", "--out", "DIR"], "bringup": ["bringup", "--hosts", "hosts", "--out", "DIR", "--launch", "false {host};:",
                                                                         "--pairs-only", "--no-report"],
             "shards": ["pack", "images", "--to", "DIR"], "observation": ["observe", "--no-report", "--out", "DIR", "--", "true"],
             "clean": ["clean", "DIR", "--yes"]}

    def acl(path, *spec):
        return subprocess.run(["setfacl", *spec, path], capture_output=True).returncode == 0 if shutil.which("setfacl") else False

    shapes = {"all of it": lambda d, k: (owned(d), owned(d / ".headrace", mark(k))),
              "the folder": lambda d, k: (d.mkdir(), (d / ".headrace").write_text(mark(k)), os.chown(d, STRANGER, STRANGER)),
              "the mark": lambda d, k: (d.mkdir(), owned(d / ".headrace", mark(k))),
              "sticky, the mark": lambda d, k: (d.mkdir(), d.chmod(0o1777), owned(d / ".headrace", mark(k))),
              "open": lambda d, k: (d.mkdir(), (d / ".headrace").write_text(mark(k)), d.chmod(0o777)),
              "open mark": lambda d, k: (d.mkdir(), (d / ".headrace").write_text(mark(k)), (d / ".headrace").chmod(0o666)),
              "a group's": lambda d, k: (d.mkdir(), (d / ".headrace").write_text(mark(k)), os.chown(d, 0, STRANGER), d.chmod(0o775)),
              "a list": lambda d, k: (owned(d), owned(d / ".headrace", mark(k, files={"../victim": ["0-cbf29ce484222325"]}))),
              "acl": lambda d, k: (d.mkdir(), (d / ".headrace").write_text(mark(k)), acl(d, "-m", f"u:{STRANGER}:rwx")),
              "acl of the mark": lambda d, k: (d.mkdir(), (d / ".headrace").write_text(mark(k)), acl(d / ".headrace", "-m", f"u:{STRANGER}:rw")),
              "a link": lambda d, k: (owned(d.parent / "far"), owned(d.parent / "far" / ".headrace", mark(k)), d.symlink_to("far"))}
    for number, (shape, verb) in enumerate(drawn(box.rng, itertools.product(shapes, verbs), int(99 * scale))):
        top = box.fresh(f"top{number}")
        top.mkdir()
        top.chmod(0o1777 if shape == "the folder" else box.rng.choice([0o755, 0o1777]))  # else root put it there for its owner
        (top / "victim").touch()
        target = top / "dir"
        made = shapes[shape](target, "run" if verb == "clean" else verb)
        if "acl" in shape and not made[-1]:
            yield f"{shape} {verb}: no ACLs here", []
            continue
        before = tree(top)
        done = box(*[str(target) if word == "DIR" else word for word in verbs[verb]])
        wrong = list(done.wrong())
        if tree(top) != before:
            wrong.append(f"changed it: {done.err[:200]!r}")
        if done.code not in (1, 2):
            wrong.append(f"took it ({done.code})")
        yield f"{shape} {verb}", wrong
        shutil.rmtree(box.path("results"), ignore_errors=True)
    yield from resumed(box, scale, acl)


def resumed(box, scale, acl):
    """bringup --resume: what a stranger may have written is not run."""
    ways = {"mode of the file": lambda c: (c / "bringup.json").chmod(0o666), "owner of the file": lambda c: os.chown(c / "bringup.json", STRANGER, 0),
            "owner of all": lambda c: [os.chown(p, STRANGER, STRANGER) for p in (c, *c.iterdir())], "mode of the folder": lambda c: c.chmod(0o777),
            "group": lambda c: (os.chown(c / "bringup.json", 0, STRANGER), (c / "bringup.json").chmod(0o664)),
            "acl of the file": lambda c: acl(c / "bringup.json", "-m", f"u:{STRANGER}:rw"), "acl of the folder": lambda c: acl(c, "-m", f"u:{STRANGER}:rwx"),
            "acl of a group": lambda c: acl(c / "bringup.json", "-m", f"g:{STRANGER}:rw"), "acl of all": lambda c: acl(c, "-R", "-m", f"u:{STRANGER}:rwX"),
            "default acl": lambda c: acl(c, "-d", "-m", f"u:{STRANGER}:rwx")}
    for number, (way, verb) in enumerate(drawn(box.rng, itertools.product(ways, ("--resume", "--retest")), int(20 * scale))):
        c = box.fresh("c")
        box("bringup", "--hosts", "hosts", "--out", "c", "--launch", "false {host};:", "--pairs-only", "--no-report")
        data = json.loads((c / "bringup.json").read_text())
        data["launch"] = "touch RAN; : {host}"
        text = json.dumps(data)
        digest = 0xcbf29ce484222325
        for byte in text.encode():
            digest = ((digest ^ byte) * 0x100000001b3) & 0xffffffffffffffff
        (c / "bringup.json").write_text(text)
        marked = json.loads((c / ".headrace").read_text())
        marked["files"]["bringup.json"] = [f"{len(text)}-{digest:016x}"]
        (c / ".headrace").write_text(json.dumps(marked) + "\n")
        if ways[way](c) is False:
            yield f"{way}: no ACLs here", []
            continue
        done = box("bringup", "--out", "c", verb, *(["n1"] if verb == "--retest" else []), "--pairs-only", "--no-report")
        wrong = list(done.wrong())
        if box.path("RAN").exists():
            box.path("RAN").unlink()
            wrong.append("ran what a stranger can have written")
        yield f"resume {number}: {way} {verb}", wrong


def endless(box, scale):
    """Files without an end, or with very much in them: refused, in bounds."""
    with open(box.path("sparse"), "wb") as file:
        file.truncate(5 << 30)
    box.write("deep", '{"kind": "headrace.run", "schema": 1, "run": ' + "[" * 500_000 + "]" * 500_000 + "}")
    box.write("many", '{"kind": "headrace.run", "schema": 1, "run": [' + "[]," * 20_000_000 + "[]]}")
    box.write("wide", '{"kind": "headrace.run", "schema": 1, "run": {' + ",".join(f'"{i}": 0' for i in range(500_000)) + "}}")
    os.mkfifo(box.path("yes"))
    os.mkfifo(box.path("silent"))
    job = os.path.join(os.path.dirname(__file__), "../../configs/jobs/resnet50.yaml")
    verbs = [["verdict", "FILE"], ["verdict", "FILE", "--replay"], ["compare", "FILE", "FILE"], ["judge", job, "--run", "FILE"], ["report", "FILE", "--out", "x.html"],
             ["export", "FILE", "--format", "csv"], ["history", "FILE"], ["fleet", "FILE"], ["bringup", "--hosts", "FILE", "--out", "c"], ["validate", "-c", "FILE"]]
    names = ["/dev/zero", "/dev/urandom", "sparse", "deep", "many", "wide", "yes", "silent"]
    # Of each file two verbs at least, and each verb once.
    least = [(name, verbs[(2 * i + j) % len(verbs)]) for i, name in enumerate(names) for j in range(2)]
    others = [pair for pair in itertools.product(names, verbs) if pair not in least]
    for name, words in [*least, *drawn(box.rng, others, int(64 * min(scale, 1)))]:
        writer = None
        if name == "yes":
            writer = subprocess.Popen(["sh", "-c", "exec yes 2>/dev/null >yes"], cwd=box.folder)
        done = box(*[name if word == "FILE" else word for word in words])
        if writer:
            writer.kill()
            writer.wait()
        yield f"{words[0]} {name}", [*done.wrong(), *(["took it"] if done.code in (0, 10, 11, 12) else [])]


def peers(box, scale):
    """A leader that meets a peer which sends the token back, or nonsense; a follower that is given short tokens."""
    token = "hostile-token-of-many-letters"
    version = box("--version").out.split()[1]
    says = [lambda t: {"host": t}, lambda t: {"refused": f"no {t}"}, lambda t: {"version": t}, lambda t: {"host": t.upper()}, lambda t: {"protocol": 2, "host": t},
            lambda t: {"refused": urllib.parse.quote(t, safe="")}, lambda t: {"refused": "".join(f"&#{ord(c)};" for c in t)},
            lambda t: {"refused": "\x1b[2J\u202e"}, lambda t: {"host": "A" * 100000}, lambda t: {"protocol": -1}, lambda t: {"host": None}]
    for number, (say, escaped) in enumerate(drawn(box.rng, itertools.product(says, (False, True)), int(22 * scale))):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            def serve():
                there, _ = listening.accept()
                with there:
                    data = there.recv(1 << 16)
                    reported = json.dumps({"token": "", "host": "h", "version": version, "protocol": 1, "refused": ""} | say(token))
                    if escaped:
                        reported = reported.replace(token, "".join(f"\\u{ord(c):04x}" for c in token))
                    there.sendall(struct.pack("<I", struct.unpack("<I", data[:4])[0] + 1) + data[4:8] + struct.pack("<Q", len(reported)) + reported.encode())
                    there.settimeout(5)
                    try:
                        there.recv(1)
                    except OSError:
                        pass
            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            box.fresh("out")
            done = box("measure", "tcp_stream", "--peer", f"127.0.0.1:{listening.getsockname()[1]}", "--out", "out", HEADRACE_TOKEN=token)
            thread.join(30)
        texts_ = done.out + done.err + (box.text_of_files("out") if box.path("out").exists() else "")
        yield f"{number}", [*done.wrong(), *leaks(texts_, [token])]
    for length in range(16):
        done = box("serve", "--listen", "127.0.0.1:0", "--timeout", "1s", HEADRACE_TOKEN="t" * length)
        yield f"a token of {length} characters", [*done.wrong(), *(["took it"] if "at least 16 characters" not in done.err else [])]


AREAS = {"agent": agent, "stores": stores, "variables": variables, "hosts": hosts, "stored": stored, "texts": texts, "traces": traces,
         "folders": folders, "endless": endless, "peers": peers}
