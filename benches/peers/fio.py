"""Runs fio: a job file made from the work, results from its JSON."""

import json
import shutil

from outside import time_to_durable
from work import Measured, Missing, Peer, Place, Work, succeed


def version() -> str:
    if not shutil.which("fio"):
        raise Missing("fio is not installed (Debian: apt install fio)")
    return succeed(["fio", "--version"]).strip()


def job_file(work: Work, peer: Peer, place: Place) -> str:
    options = {"thread": 1, "group_reporting": 1, "loops": work.passes, "bs": work.block, "direct": int(work.direct),
               "clat_percentiles": 0, "lat_percentiles": 1, "percentile_list": "50:99"}
    files = place.data(work) if work.pattern != "save" else []
    if work.pattern == "files":
        options |= {"rw": "read", "openfiles": 1}
    elif work.pattern == "random":
        options |= {"rw": "randread", "norandommap": 1, "io_size": work.reads_per_pass * work.block}
    elif work.pattern == "stream":
        options |= {"rw": "read", "file_service_type": "sequential"}
    else:
        options |= {"rw": "write", "size": work.file_size, "end_fsync": 1, "refill_buffers": 1}
        files = [place.peers_save / "fio.bin"]
    if work.cache == "warm":
        options["invalidate"] = 0  # fio empties the cache of its files first unless asked not to
    lines = ["[global]"] + [f"{key}={value}" for key, value in (options | peer.settings).items()]
    for job in range(work.threads):
        mine = files[job :: work.threads]
        # A folder when there are too many names for a line. fio then also reads two small files of the data set.
        names = f"opendir={place.folder(work)}" if len(mine) > 32 else "filename=" + ":".join(map(str, mine))
        lines += [f"[job{job}]", names]
    return "\n".join(lines) + "\n"


def run(work: Work, peer: Peer, place: Place) -> Measured:
    version()
    path, out = place.temporary / "peers.fio", place.temporary / "fio.json"
    command = ["fio", "--output-format=json", f"--output={out}", path]
    if work.pattern == "save":
        place.peers_save.mkdir(exist_ok=True)
        path.write_text(job_file(work, peer, place))
        try:
            seconds = time_to_durable(command, place.peers_save, place.temporary)
        finally:
            shutil.rmtree(place.peers_save)
    else:
        path.write_text(job_file(work, peer, place))
        succeed([*command[:1], "--readonly", *command[1:]])
    text = out.read_text()
    job = json.loads(text[text.index("{") :])["jobs"][0]
    if job["error"]:
        raise RuntimeError(f"fio: error {job['error']}")
    done = job["write" if work.pattern == "save" else "read"]
    elapsed = seconds if work.pattern == "save" else done["runtime"] / 1000
    counted = done["io_bytes"] if work.pattern in ("stream", "save") else done["total_ios"]
    cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
    percentiles = done["lat_ns"]["percentile"]
    return Measured(counted / elapsed, cpu / done["total_ios"],
                    1e-9 * percentiles["50.000000"], 1e-9 * percentiles["99.000000"])
