"""A small object store in this process that fails to order: of objects in memory, lists, heads, gets whole or in ranges, and
takes new ones (faulty_writes.py)."""

import http.server
import re
import socket
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

from faulty_writes import WriteFaults, Writes, error, etag_of


class Faults(WriteFaults):
    """What is done otherwise than well, each for the requests of objects alone unless asked otherwise."""

    after = 0  # that many requests of objects are answered as they should be first
    latency = 0.0  # s, before the answer begins
    slow_start = 0.0  # s, between headers and body
    rate = 0  # B/s of each answer's body: each piece comes at its time
    refuse_each = 0  # of that many requests one is refused
    refusal = (503, error("SlowDown", "Please reduce your request rate."))
    refuse_first = 0  # the first that many of each object
    reset_each = 0  # of that many requests one is answered by the connection's reset
    short_each = 0  # of that many, one gets half of its body, and the connection ends
    wrong_length = 0  # so much is taken off what Content-Length reports on the object
    ignores_ranges = False
    changes = False  # each answer is of a new version of the object
    listing = None  # (status, headers, body) of every listing
    endless = False  # every page of a listing names a next one, and it is itself
    growing = False  # every page has new keys, and names another one
    page = 1000  # keys of a page
    silent_after = None  # that many requests of objects; then none is answered, listings neither


FOLDER = "\uffff"  # after the names of folders in a listing with a delimiter: behind all that lies there


class Handler(Writes, http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *words):
        pass

    def send(self, status, body=b"", headers=(), length=None):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        store, faults = self.server.store, self.server.store.faults
        url = urllib.parse.urlsplit(self.path)
        bucket, _, key = urllib.parse.unquote(url.path).lstrip("/").partition("/")
        with store.lock:
            store.seen.append((self.command, self.path, dict(self.headers)))
        if self.command == "HEAD" and bucket == store.bucket:  # untimed: nothing fails
            if key not in store.objects:
                return self.send(404)
            return self.send(200, b"", [("ETag", store.tag(key))], len(store.objects[key]))
        if faults.silent_after is not None and store.total >= faults.silent_after:
            store.silent.set()
            self.close_connection = True
            return store.ended.wait()
        if "list-type" in url.query:
            return self.list(bucket, dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)))
        if bucket != store.bucket:
            return self.send(404, error("NoSuchBucket", "The specified bucket does not exist"))
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        if "uploads" in query:
            return self.list_uploads(query)
        if "uploadId" in query:
            return self.list_parts(query["uploadId"])
        if key not in store.objects:
            return self.send(404, error("NoSuchKey", "The specified key does not exist."))
        number, mine = store.count(key)
        if number <= faults.after:
            faults = Faults()
        begin = time.monotonic()
        if faults.latency:
            time.sleep(faults.latency)
        fails = store.fails(number, key, self.headers.get("Range"), faults)
        if mine <= faults.refuse_first or fails == "refuse_each":
            return self.send(faults.refusal[0], faults.refusal[1])
        if fails == "reset_each":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.close_connection = True
            return self.connection.close()
        first = time.monotonic()
        self.get(key, store.objects[key], faults, mine, fails == "short_each")
        if "Range" not in self.headers:
            store.served.append((begin, first, time.monotonic()))

    def get(self, key, body, faults, mine, short):
        etag = etag_of(body + bytes(mine)) if faults.changes else self.server.store.tag(key)
        status, headers = 200, [("ETag", etag)]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted and not faults.ignores_ranges:
            first, last = int(wanted[1]), min(int(wanted[2]), len(body) - 1)
            if first >= len(body):
                return self.send(416, error("InvalidRange"))
            headers.append(("Content-Range", f"bytes {first}-{last}/{len(body)}"))
            body, status = body[first:last + 1], 206
        if faults.wrong_length:
            body = body[:-faults.wrong_length]
        if short:
            self.send(status, body[:len(body) // 2], headers, len(body))
            self.close_connection = True
            return
        if faults.rate:
            self.send(status, b"", headers, len(body))
            begin, piece = time.monotonic(), 32 << 10
            for at in range(0, len(body), piece):  # a piece has come when its last byte is due
                time.sleep(max(0.0, begin + min(at + piece, len(body)) / faults.rate - time.monotonic()))
                self.wfile.write(body[at:at + piece])
            return
        if faults.slow_start:
            self.send(status, b"", headers, len(body))
            self.wfile.flush()
            time.sleep(faults.slow_start)
            self.wfile.write(body)
            return
        self.send(status, body, headers)

    def list(self, bucket, query):
        store, faults = self.server.store, self.server.store.faults
        if faults.listing:
            status, headers, body = faults.listing
            return self.send(status, body, headers)
        if bucket != store.bucket:
            return self.send(404, error("NoSuchBucket", "The specified bucket does not exist"))
        with store.lock:
            objects = dict(store.objects)
        if faults.growing:
            number = int(query.get("continuation-token", 0))
            return self.send(200, f"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{number + 1}"
                                  f"</NextContinuationToken><Contents><Key>{query['prefix']}{number:09}</Key><Size>9</Size>"
                                  f"</Contents></ListBucketResult>".encode())
        keys = sorted((k for k in objects if k.startswith(query["prefix"])), key=str.encode)
        if "delimiter" in query:
            cut = len(query["prefix"])
            keys = sorted({k if "/" not in k[cut:] else k[:k.index("/", cut) + 1] + FOLDER for k in keys})
        after = query.get("continuation-token", "")  # the last key, so that removals between pages do no harm
        left = [k for k in keys if not after or k.encode() > after.encode()] if not faults.endless else keys
        page = left[:faults.page]
        more = faults.page < len(left) or faults.endless
        following = escape(page[-1]) if page else ""
        folders = [k for k in page if k.endswith(FOLDER)]
        page = [k for k in page if not k.endswith(FOLDER)]
        text = "".join(f"<Contents><Key>{escape(k)}</Key><Size>{len(objects[k])}</Size>"
                       f"<ETag>{escape(store.tag(k))}</ETag></Contents>" for k in page)
        text += "".join(f"<CommonPrefixes><Prefix>{escape(k[:-1])}</Prefix></CommonPrefixes>" for k in folders)
        text += f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>"
        if more:
            text += f"<NextContinuationToken>{following}</NextContinuationToken>"
        self.send(200, f'<?xml version="1.0"?><ListBucketResult>{text}</ListBucketResult>'.encode(),
                  [("Content-Type", "application/xml")])


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, address):
        pass


class FaultyStore:
    handler = Handler

    def __init__(self, objects, bucket="bucket", port=0, **faults):
        self.bucket, self.objects, self.port, self.faults = bucket, objects, port, Faults()
        for name, value in faults.items():
            assert hasattr(Faults, name), name
            setattr(self.faults, name, value)
        self.lock = threading.RLock()
        self.uploads, self.tags = {}, {}  # open ones by their numbers; ETags of objects that were uploaded in parts
        self.puts = self.begun = self.aborts = 0
        self.silent, self.ended = threading.Event(), threading.Event()
        self.seen, self.numbers, self.total = [], {}, 0
        self.in_a_row = {}  # failures of a key and range since its last success
        self.served = []  # of whole objects: when it was asked for, when the answer began, and when all was sent [s]

    def count(self, key):
        with self.lock:
            self.total += 1
            self.numbers[key] = self.numbers.get(key, 0) + 1
            return self.total, self.numbers[key]

    def fails(self, number, key, part, faults):
        """Which fault meets this request, or None. A fault that meets some requests never meets the same one three times in
        a row: several clients at once would otherwise use up the retries of one request by chance."""
        due = [each for each in ("refuse_each", "reset_each", "short_each")
               if getattr(faults, each) and number % getattr(faults, each) == 0]
        with self.lock:
            row = self.in_a_row.get((key, part), 0)
            if not due or (row >= 2 and getattr(faults, due[0]) > 1):
                self.in_a_row[key, part] = 0
                return None
            self.in_a_row[key, part] = row + 1
        return due[0]

    def tag(self, key):
        return self.tags.get(key) or etag_of(self.objects.get(key, b""))

    def below(self, prefix):
        with self.lock:
            return sorted(key for key in self.objects if key.startswith(prefix))

    def __enter__(self):
        self.server = Server(("127.0.0.1", self.port), self.handler)
        self.server.store = self
        self.endpoint = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
