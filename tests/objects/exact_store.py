"""A store of a known latency to the first byte: it spins instead of sleeping, so that waking up does not count in it.

One processor is its own while it is there. Each answer begins `latency` after the last byte of the request was taken from the
socket, and how long that really was, it keeps."""

import contextlib
import select
import socket
import threading
import time


class ExactStore:
    def __init__(self, count, size, latency):
        self.latency, self.served, self.stop = latency, [], threading.Event()
        listed = "".join(f"<Contents><Key>set/{n:06}</Key><Size>{size}</Size></Contents>" for n in range(count))
        page = f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>".encode()
        self.answers = {False: self.whole(200, page), True: self.whole(200, bytes(size))}
        self.first = self.whole(206, b"\0")  # what a worker asks for before the clock starts
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.endpoint = f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    @staticmethod
    def whole(status, body):
        return b"HTTP/1.1 %d OK\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)

    def serve(self):
        self.listening.setblocking(False)
        asked = {}
        while not self.stop.is_set():
            with contextlib.suppress(BlockingIOError):
                one, _ = self.listening.accept()
                one.setblocking(False)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                asked[one] = b""
            for one in list(asked):
                try:
                    came = one.recv(65536)
                except BlockingIOError:
                    continue
                except OSError:
                    came = b""
                at = time.perf_counter()
                if not came:
                    one.close()
                    del asked[one]
                    continue
                asked[one] += came
                if not asked[one].endswith(b"\r\n\r\n"):
                    continue
                request, asked[one] = asked[one], b""
                self.answer(one, request, at)

    def answer(self, one, request, at):
        is_object = b"list-type" not in request
        text = self.first if b"Range: bytes=0-0" in request else self.answers[is_object]
        while is_object and time.perf_counter() - at < self.latency:
            pass
        begun = time.perf_counter()
        while text:
            try:
                text = text[one.send(text):]
            except BlockingIOError:
                select.select([], [one], [])
        if is_object and b"Range" not in request:
            self.served.append(begun - at)

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.listening.close()
