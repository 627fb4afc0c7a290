"""The part of faulty_store.py that takes objects: puts, multipart uploads, removals, and what fails there to order."""

import base64
import hashlib
import socket
import urllib.parse
import uuid
from xml.sax.saxutils import escape


def error(code, message="", more=""):
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message>{more}</Error>'.encode()


def etag_of(data):
    return f'"{hashlib.md5(data).hexdigest()}"'


class WriteFaults:
    """Of the bodies that are put: parts of uploads and whole objects below a run or a data set, marks and words are not."""

    put_refuse_each = 0  # of that many, one is refused
    put_refuse_from = None  # from that many on, all are
    put_refusal = (503, error("SlowDown", "Please reduce your request rate."))
    put_reset_each = 0  # of that many, one is cut off by a reset when half of its body has come
    put_garbles = False  # a byte changes on the way
    put_other_etag = False  # the answer reports another ETag than the body's
    put_no_etag = False
    put_latency = 0.0  # s, before a body is answered
    all_writes = None  # (status, body) of whatever writes, marks too
    begin_refusal = None  # (status, body) when an upload is begun
    complete_error = None  # body that an answer of 200 to a completion has
    complete_lost = None  # what became of the upload before the first answer to its completion is lost: "done", "aborted",
    # "other" (aborted, and something else of its size is there)
    word_lost = None  # likewise of a user's word: "done", or "other" (somebody else's is there)
    parts_elsewhere = False  # another server takes the parts: any completion is right
    uploads_know_no_prefix = False  # all of the bucket are listed
    late_parts = 0  # that many aborts leave parts behind, as of ones that were still on their way
    quiet_put = None  # that many bodies are answered; then none is


class Writes:
    """Mixed into the handler."""

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def place(self):
        url = urllib.parse.urlsplit(self.path)
        bucket, _, key = urllib.parse.unquote(url.path).lstrip("/").partition("/")
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        with self.server.store.lock:
            self.server.store.seen.append((self.command, self.path, dict(self.headers)))
        return bucket, key, query

    def refused(self, bucket):
        store = self.server.store
        if store.faults.all_writes:
            self.body()
            self.send(*store.faults.all_writes)
        elif bucket != store.bucket:
            self.body()
            self.send(404, error("NoSuchBucket", "The specified bucket does not exist"))
        else:
            return False
        return True

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.close_connection = True
        self.connection.close()

    def faulty_body(self, key):
        """The body; None: it was answered, or cut off."""
        store, faults = self.server.store, self.server.store.faults
        if "/users/" in key or key.endswith("/.headrace"):
            return self.body()
        with store.lock:
            store.puts += 1
            number = store.puts
        if faults.put_reset_each and number % faults.put_reset_each == 0:
            self.rfile.read(int(self.headers["Content-Length"]) // 2)
            self.reset()
            return None
        data = self.body()
        if faults.quiet_put is not None and number > faults.quiet_put:
            store.silent.set()
            self.close_connection = True
            store.ended.wait()
            return None
        if faults.put_latency:
            store.ended.wait(faults.put_latency)
        if (faults.put_refuse_each and number % faults.put_refuse_each == 0) or (
                faults.put_refuse_from is not None and number > faults.put_refuse_from):
            self.send(*faults.put_refusal)
            return None
        if faults.put_garbles:
            data = bytes([data[0] ^ 1]) + data[1:]
        reported = self.headers.get("Content-MD5")
        if reported and base64.b64decode(reported) != hashlib.md5(data).digest():
            self.send(400, error("BadDigest", "The Content-MD5 you specified did not match what we received."))
            return None
        return data

    def etag_header(self, data):
        faults = self.server.store.faults
        if faults.put_no_etag:
            return []
        return [("ETag", etag_of(data + b"x" if faults.put_other_etag else data))]

    def do_PUT(self):
        store = self.server.store
        bucket, key, query = self.place()
        if self.refused(bucket):
            return None
        data = self.faulty_body(key)
        if data is None:
            return None
        if "uploadId" in query:
            with store.lock:
                upload = store.uploads.get(query["uploadId"])
                if upload and upload["key"] == key:
                    upload["parts"][int(query["partNumber"])] = data
            if not upload:
                return self.send(404, error("NoSuchUpload", "The specified upload does not exist."))
            return self.send(200, b"", self.etag_header(data))
        only_new = self.headers.get("If-None-Match") == "*"
        with store.lock:
            taken = only_new and key in store.objects
            if not taken:
                store.objects[key] = data
            lost = "/users/" in key and not taken and store.faults.word_lost
            if lost == "other":
                store.objects[key] = b"somebody else's"
        if lost:
            return self.reset()
        if taken:
            return self.send(412, error("PreconditionFailed"))
        own = "/users/" in key or key.endswith("/.headrace")
        return self.send(200, b"", [("ETag", etag_of(data))] if own else self.etag_header(data))

    def do_POST(self):
        store = self.server.store
        bucket, key, query = self.place()
        if self.refused(bucket):
            return None
        body = self.body()
        if "uploads" in query:
            if store.faults.begin_refusal:
                return self.send(*store.faults.begin_refusal)
            number = uuid.uuid4().hex + "+/="
            with store.lock:
                store.uploads[number] = {"key": key, "parts": {}}
                store.begun += 1
            return self.send(200, f"<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>"
                                  f"{number}</UploadId></InitiateMultipartUploadResult>".encode())
        return self.complete(key, query.get("uploadId"), body)

    def complete(self, key, number, body):
        store = self.server.store
        if store.faults.complete_error:
            return self.send(200, store.faults.complete_error)
        with store.lock:
            upload = store.uploads.get(number)
            if not upload:
                return self.send(404, error("NoSuchUpload"))
            parts = [upload["parts"][n] for n in sorted(upload["parts"])]
            if store.faults.parts_elsewhere:
                parts = []
            elif body.count(b"<Part>") != len(parts):
                return self.send(400, error("InvalidPart"))
            if any(len(part) < 5 << 20 for part in parts[:-1]):
                return self.send(400, error("EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size"))
            store.objects[key] = b"".join(parts)
            tag = hashlib.md5(b"".join(hashlib.md5(p).digest() for p in parts)).hexdigest() + f"-{len(parts)}"
            store.tags[key] = f'"{tag}"'
            del store.uploads[number]
            lost = store.faults.complete_lost
            if lost in ("aborted", "other"):
                del store.objects[key], store.tags[key]
            if lost == "other":
                store.objects[key] = bytes(sum(map(len, parts)))
                store.tags[key] = f'"{"0" * 32}-{len(parts)}"'
        if lost:
            return self.reset()
        return self.send(200, f"<CompleteMultipartUploadResult><Key>{escape(key)}</Key><ETag>&quot;{tag}&quot;</ETag>"
                              f"</CompleteMultipartUploadResult>".encode())

    def do_DELETE(self):
        store = self.server.store
        bucket, key, query = self.place()
        if self.refused(bucket):
            return None
        with store.lock:
            if "uploadId" in query:
                if query["uploadId"] not in store.uploads:
                    return self.send(404, error("NoSuchUpload"))
                store.aborts += 1
                if store.aborts > store.faults.late_parts:
                    del store.uploads[query["uploadId"]]
                return self.send(204)
            if self.headers.get("If-Match", store.tag(key)) != store.tag(key):
                return self.send(412, error("PreconditionFailed"))
            store.objects.pop(key, None)
            store.tags.pop(key, None)
        return self.send(204)

    def list_uploads(self, query):
        store = self.server.store
        with store.lock:
            found = sorted((u["key"], number) for number, u in store.uploads.items()
                           if store.faults.uploads_know_no_prefix or u["key"].startswith(query["prefix"]))
        after = [one for one in found if one > (query.get("key-marker", ""), query.get("upload-id-marker", ""))]
        page, more = after[:2], len(after) > 2  # pages of two, so that more than one is asked for
        text = "".join(f"<Upload><Key>{escape(k)}</Key><UploadId>{n}</UploadId></Upload>" for k, n in page)
        if more:
            text += f"<NextKeyMarker>{escape(page[-1][0])}</NextKeyMarker><NextUploadIdMarker>{page[-1][1]}</NextUploadIdMarker>"
        self.send(200, f"<ListMultipartUploadsResult><IsTruncated>{'true' if more else 'false'}</IsTruncated>{text}"
                       f"</ListMultipartUploadsResult>".encode())

    def list_parts(self, number):
        if number not in self.server.store.uploads:
            return self.send(404, error("NoSuchUpload"))
        return self.send(200, b"<ListPartsResult/>")
