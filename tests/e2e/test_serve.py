"""`headrace run --serve`, and who meets it: strangers, leaders that send what is no step, and one that has the token and means ill."""

import concurrent.futures
import contextlib
import json
import socket
import struct
import time

import pytest

MARK, HELLO, WELCOME, FAILURE, STEP = 0x68647263, 0, 1, 4, 8


def frame(kind, data, length=None):
    return struct.pack("<IIQ", kind, MARK, len(data) if length is None else length) + data


def text(data):
    return struct.pack("<Q", len(data)) + data


def step(**what):
    return frame(STEP, struct.pack("<Q", 1) + text(json.dumps(what).encode()))


def answer(connection):
    """Kind and content of the next frame; nothing when the other end hangs up."""
    def take(count):
        data = b""
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                return None
            data += more
        return data
    head = take(16)
    if head is None:
        return None
    kind, mark, length = struct.unpack("<IIQ", head)
    assert mark == MARK
    return kind, take(length)


class Server:
    def __init__(self, headrace):
        version = headrace("--version").out.split()[1]
        self.greeting = {"token": "sixteen-letters-or-more", "host": "a stranger", "version": version, "protocol": 1, "refused": ""}
        self.process = headrace.start("run", "--serve", "127.0.0.1:0", "--timeout", "60s", HEADRACE_TOKEN="sixteen-letters-or-more")
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def greet(self, connection, **changes):
        connection.sendall(frame(HELLO, json.dumps(self.greeting | changes).encode()))
        kind, data = answer(connection)
        assert kind == WELCOME
        return json.loads(data)

    @contextlib.contextmanager
    def leader(self):
        with self.connect() as connection:
            deadline = time.monotonic() + 150
            while (welcome := self.greet(connection))["refused"].startswith("busy") and time.monotonic() < deadline:
                connection = self.connect()  # who led before is not quite gone
            assert welcome["refused"] == "", welcome
            yield connection


@pytest.fixture
def server(headrace):
    one = Server(headrace)
    yield one
    assert one.process.poll() is None, one.process.communicate()
    one.process.terminate()
    one.process.communicate(timeout=180)


@pytest.mark.parametrize("data", [
    frame(STEP, b"{}"),
    frame(STEP, b"{}", 1 << 63),
    frame(STEP, struct.pack("<QQ", 1, 1 << 62) + b"x"),
    b"GET / HTTP/1.1\r\n\r\n",
])
def test_no_leader_ends_serve(server, data):
    for _ in range(2):
        with server.leader() as leader:
            leader.sendall(data)
            assert answer(leader) is None, "the connection stays after that"


@pytest.mark.parametrize("data", [b"{}", b"[]", b"{", b'{"step": 7}', b'{"step": "run"}', b'{"step": "prepare", "workload": []}'])
def test_invalid_steps_are_refused_and_the_leader_stays(server, data):
    with server.leader() as leader:
        for _ in range(2):
            leader.sendall(frame(STEP, struct.pack("<Q", 1) + text(data)))
            kind, _ = answer(leader)
            assert kind == FAILURE


def test_a_long_step_is_taken(server):
    with server.leader() as leader:
        leader.sendall(step(step="prepare", workload="x" * 100_000, parameters=""))
        kind, data = answer(leader)
        assert kind == FAILURE and b"there is no workload" in data


def test_a_leader_learns_nothing_of_the_hosts_files(server, headrace):
    headrace.write("file", "")
    reported = set()
    with server.leader() as leader:
        for path in ("/dev/null", headrace.path("file"), "/nowhere", "/dev/sda", "/dev/vda", "/"):
            leader.sendall(step(step="prepare", workload="random_read", parameters=f"path: {path}\nallow_device: true\n"))
            reported.add(answer(leader))
    (one,) = reported
    assert b"random_read has no other end" in one[1]


def test_a_peer_that_sends_the_token_back_is_not_quoted(headrace):
    token = "0123456789abcdef-secret"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)

        def echo():
            there, _ = listening.accept()
            with there:
                kind, data = answer(there)
                assert kind == HELLO
                reported = json.loads(data)
                said = json.dumps(reported | {"refused": f"no: {reported['token']} or {reported['token'].upper()}"})
                there.sendall(frame(WELCOME, said.replace("secret", "\\u0073ecret").encode()))
        with concurrent.futures.ThreadPoolExecutor() as other:
            done = other.submit(echo)
            outcome = headrace("measure", "rdma_write", "--peer", f"127.0.0.1:{listening.getsockname()[1]}", "--at", "scratch", "--no-report",
                               "--out", "results", HEADRACE_TOKEN=token)
            done.result(timeout=120)
    assert outcome.code == 1 and "no: ****" in outcome.err, outcome
    assert token not in (outcome.err + outcome.out).lower(), outcome


def test_clients_without_token_learn_nothing_of_the_host(server):
    with server.connect() as stranger:
        reported = server.greet(stranger, token="wort")
    assert reported["refused"].startswith("wrong token")
    assert reported["host"] == "" and reported["version"] == "", reported


def test_silent_strangers_delay_no_other(server):
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(server.connect())
        begin = time.monotonic()
        with server.leader():
            assert time.monotonic() - begin < 20, "each of them is given 5 s, which is 30 s one after the other"
