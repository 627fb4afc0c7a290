"""A training loop whose process answers as NCCL's RAS service does, at the port of NCCL_RAS_ADDR, and writes what NCCL's Inspector
does into NCCL_INSPECTOR_DUMP_DIR. Ends when it was asked often enough. Its last line says as JSON how often that was.

    ras_job.py DATA MODE [--asks N]

MODE: in_step, stopped (rank 1 has launched one operation less, and nobody goes on), silent (rank 1 does not answer), foreign (of
another job), text (before 2.28.7), version, garbage, endless, mute, none (nobody listens), slow (by Inspector's lines), alike.
"""

import argparse
import json
import os
import pathlib
import socket
import sys
import threading
import time

GUARD = 120
RANKS = 4


def rank(number, launched, pid):
    return {"rank": number, "host": "127.0.0.1", "pid": pid, "cuda_dev": number, "nvml_dev": number,
            "status": {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False},
            "collective_counts": {"Broadcast": 3, "Reduce": 0, "AllGather": 0, "ReduceScatter": 0, "AllReduce": launched}}


def answer(mode, asked):
    own = 1 << 22 if mode == "foreign" else os.getpid()
    ranks = [rank(number, 50 if mode in ("stopped", "silent") else 50 + asked, own + number) for number in range(RANKS)]
    missing = []
    if mode == "stopped":
        ranks[1]["collective_counts"]["AllReduce"] -= 1
    if mode == "silent":
        del ranks[1]
        missing = [{"rank": 1, "host": "10.9.8.7", "pid": 4711, "cuda_dev": 1, "nvml_dev": 1,
                    "status": {"unresponsive": True, "considered_dead": False}}]
    return json.dumps({"nccl_version": "2.29.1", "cuda_runtime_version": 13000, "cuda_driver_version": 13000, "timestamp": "2025-12-19 13:06:53",
                       "communicators_count": 1,
                       "communicators": [{"hash": "0xae94", "secondary_hash": "0xb7:0xb8", "size": RANKS, "ranks_count": len(ranks),
                                          "missing_ranks_count": len(missing), "ranks": ranks, "missing_ranks": missing}],
                       "ras": {"collection_time_sec": 0.0, "timeouts_count": 0}}, indent=2)


class Service:
    def __init__(self, mode):
        self.mode = mode
        self.asked = 0
        address, port = os.environ["NCCL_RAS_ADDR"].rsplit(":", 1)
        self.listener = socket.create_server((address, int(port)))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                try:
                    self.speak(connection)
                except OSError:
                    pass

    def speak(self, connection):
        if self.mode == "mute":
            self.asked += 1
            while connection.recv(1024):
                pass
            return
        for line in connection.makefile("r", newline="\n"):
            command = line.strip().upper()
            if command.startswith("CLIENT PROTOCOL"):
                connection.sendall(b"SERVER PROTOCOL 9\n" if self.mode == "version" else b"SERVER PROTOCOL 2\n")
            elif command.startswith("TIMEOUT "):
                connection.sendall(b"OK\n")
            elif command.startswith("SET FORMAT ") and self.mode != "text":
                connection.sendall(b"OK\n")
            elif command == "STATUS":
                self.status(connection)
                return
            else:
                connection.sendall(f"ERROR: Unknown command {command}\n".encode())
        self.asked += 1  # whoever asked has gone away before

    def status(self, connection):
        if self.mode == "endless":
            try:
                while True:
                    connection.sendall(b"[" * 65536)
            finally:  # whoever asked has had enough
                self.asked += 1
        connection.sendall(b"\x00\xff\x1b[31m{{{" if self.mode == "garbage" else answer(self.mode, self.asked).encode())
        self.asked += 1


def write_inspector(folder, mode, step, began_us):
    """An operation of every rank: all are in it for 200 ms, the slow one for 10 ms."""
    pathlib.Path(folder).mkdir(exist_ok=True)
    for number in range(RANKS):
        took = 10_000 if mode == "slow" and number == 2 else 200_000
        line = {"header": {"id": "0x7f8c", "comm_name": "unknown", "rank": number, "n_ranks": RANKS, "nnodes": 2},
                "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "nccl_profiler_interface",
                             "dump_timestamp_us": began_us + step * 250_000, "hostname": f"node{number}", "pid": os.getpid() + number},
                "coll_perf": {"coll": "AllReduce", "coll_sn": step, "coll_msg_size_bytes": 1 << 20, "coll_exec_time_us": took,
                              "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 1.0, "coll_busbw_gbs": 1.5}}
        with open(f"{folder}/node{number}-pid{os.getpid() + number}.log", "a") as file:
            file.write(json.dumps(line) + "\n")


def main():
    words = argparse.ArgumentParser()
    words.add_argument("data", type=pathlib.Path)
    words.add_argument("mode")
    words.add_argument("--asks", type=int, default=1)
    given = words.parse_args()
    service = Service(given.mode) if "NCCL_RAS_ADDR" in os.environ and given.mode != "none" else None
    inspected = os.environ.get("NCCL_INSPECTOR_DUMP_DIR")
    if inspected:
        began_us = int(time.time() * 1e6)
        for step in range(40):
            write_inspector(inspected, given.mode, step, began_us)
    files = sorted(path for path in given.data.rglob("*") if path.is_file())
    until, enough, step = time.monotonic() + GUARD, None, 0
    while time.monotonic() < until and (enough is None or time.monotonic() < enough + 2):
        if enough is None and (service is None or service.asked >= given.asks):
            enough = time.monotonic()  # what was asked last is still being read
        files[step % len(files)].read_bytes()
        time.sleep(0.02)
        step += 1
    print(json.dumps({"asked": service.asked if service else 0, "pid": os.getpid()}), flush=True)
    sys.stdout.flush()
    os._exit(0)  # whoever is still being answered need not be waited for


if __name__ == "__main__":
    main()
