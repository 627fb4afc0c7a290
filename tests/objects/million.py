"""A bucket of a million keys, s3://bucket/set/d0000/sample-00000000.jpg and so on, whose pages are made as they are asked for."""

import contextlib
import http.server
import threading
import urllib.parse

SIZE = 130_000  # of an object, as it is reported [B]
FOLDER = 1000  # keys in each


def page_of(folder):
    """Of one folder, with another one's number to be put in."""
    return "".join(f"<Contents><Key>set/dNNNN/sample-NNNN{i:04}.jpg</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                   f"<ETag>&quot;{i:032x}&quot;</ETag><Size>{SIZE}</Size></Contents>" for i in range(folder)).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *words):
        pass

    def do_HEAD(self):
        self.answer(b"", SIZE)

    def answer(self, body, length=None):
        self.send_response_only(200)
        self.send_header("ETag", '"x"')
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        server = self.server
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        prefix, at = query.get("prefix", ""), int(query.get("continuation-token", 0))
        with server.lock:
            server.pages += 1
        if "delimiter" in query and prefix == "set/":
            found = "".join(f"<CommonPrefixes><Prefix>set/d{i:04}/</Prefix></CommonPrefixes>" for i in range(server.folders))
            return self.answer(f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode())
        first, last = (int(prefix[5:9]),) * 2 if prefix.startswith("set/d") else (0, server.folders - 1)
        body = server.page.replace(b"NNNN", b"%04d" % (first + at))
        more = f"<NextContinuationToken>{at + 1}</NextContinuationToken>" if first + at < last else ""
        return self.answer(b"<ListBucketResult><IsTruncated>%s</IsTruncated>%s%s</ListBucketResult>" %
                           (b"true" if more else b"false", more.encode(), body))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


@contextlib.contextmanager
def bucket(keys):
    server = Server(("127.0.0.1", 0), Handler)
    server.folders, server.page = keys // FOLDER, page_of(FOLDER)
    server.lock, server.pages = threading.Lock(), 0
    server.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
