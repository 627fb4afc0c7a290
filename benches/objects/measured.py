"""What the parts of this bench share: nginx with objects, and headrace over a store."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/objects"))
from servers import environment, free_port, wait_for  # noqa: E402

KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
NGINX = """\
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
  log_format served '$msec $request_time $body_bytes_sent'; access_log {log}; sendfile on; tcp_nopush on;
  keepalive_requests 1000000000; default_type application/octet-stream; client_max_body_size 0;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{port}; root {folder}/served;
    {places}
  }}
}}
"""
OBJECTS = """\
location = /bucket {{ default_type application/xml; alias {folder}/list.xml; }}
    location /bucket/ {{ {more} }}"""
# Parts go to nginx, and all other requests to a store of the tests.
PARTS = """\
location /bucket {{ if ($arg_partNumber) {{ rewrite ^ /parts/$arg_partNumber last; }}
      proxy_pass {store}; proxy_set_header Host $http_host; }}
    location /parts/ {{ internal; dav_methods PUT; add_header ETag '"taken"' always; }}"""


@contextlib.contextmanager
def started(folder: pathlib.Path, places: str, log: str = "off"):
    """nginx with `places` of its configuration, and its data below `folder`."""
    port = free_port()
    (folder / "served").mkdir(parents=True, exist_ok=True)
    text = NGINX.format(folder=folder, port=port, places=places, log=log)
    (folder / "nginx.conf").write_text(("user root; " if os.geteuid() == 0 else "") + text)
    process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)], stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def nginx(folder: pathlib.Path, sizes: list[int], more: str = ""):
    """Serves objects s3://bucket/set/NUMBER; its listing is a file, without ETags. `more`: of its configuration for objects."""
    served = folder / "served/bucket/set"
    served.mkdir(parents=True)
    draw = random.Random(1)
    for number, size in enumerate(sizes):
        (served / f"{number:06}").write_bytes(draw.randbytes(size))
    listed = "".join(f"<Contents><Key>set/{n:06}</Key><Size>{size}</Size></Contents>" for n, size in enumerate(sizes))
    (folder / "list.xml").write_text(f"<ListBucketResult><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>")
    with started(folder, OBJECTS.format(folder=folder, more=more), f"{folder}/served.log served" if more else "off") as endpoint:
        yield endpoint


def headrace(binary: str, folder: pathlib.Path, endpoint: str, workload: dict, needs: list | None = None, keys: bool = True,
             at: str | None = None) -> tuple[dict, str]:
    """The run file, and the printed output. `at`: where it writes; else it reads s3://bucket/set."""
    place = {"target": {"path": at}} if at else {}
    entry = workload if at else {"path": "s3://bucket/set", **workload}
    config = folder / "config.yaml"
    config.write_text(json.dumps({"schema": 1, "needs": needs or [], "workloads": [entry], **place}))
    out = folder / f"out-{time.monotonic_ns()}"
    done = subprocess.run([binary, "run", "-c", str(config), "--no-report", "--out", str(out), "--progress", "none"],
                          cwd=folder, capture_output=True, text=True, env=environment(endpoint, **(KEYS if keys else {})))
    if not (out / "run.json").exists():
        raise SystemExit(done.stdout + done.stderr)
    return json.loads((out / "run.json").read_text()), done.stdout + done.stderr
