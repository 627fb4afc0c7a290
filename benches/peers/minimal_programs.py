"""Runs the minimal programs: one loop around the system calls, and a histogram."""

import json

from work import Measured, Missing, Peer, Place, Work, succeed


def run(work: Work, peer: Peer, place: Place) -> Measured:
    program = place.minimal / {"files": "minimal_whole_files", "random": "minimal_random_reads"}[work.pattern]
    if not program.exists():
        raise Missing(f"{program} is not built (target peers_minimal)")
    if work.pattern == "files":
        folder = place.folder(work)
        names = "\n".join(str(file.relative_to(folder)) for file in place.data(work))
        reported = succeed([program, folder, work.passes], input=names + "\n")
    else:
        (file,) = place.data(work)
        reported = succeed([program, file, work.block, work.reads_per_pass * work.passes])
    found = json.loads(reported)
    return Measured(found["operations"] / found["elapsed_s"], found["cpu_s"] / found["operations"],
                    1e-9 * found["p50_ns"], 1e-9 * found["p99_ns"])
