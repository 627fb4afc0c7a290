"""The cost and accuracy of requests to an object store, by headrace and a minimal libcurl program.

    python3 benches/objects cost [--turns 9] [--headrace build/release/headrace]     objects of 130 kB from nginx on loopback
    python3 benches/objects ranges                                              1 MiB of larger ones
    python3 benches/objects puts                                                parts of 8 MiB to nginx
    python3 benches/objects known [--turns 5]                                   a held rate and a known latency
    python3 benches/objects throttled [--turns 20]                              is throttling named in every verdict?
    python3 benches/objects listing                                             a bucket of a million keys

`cost`: requests by turns of headrace, signed and not, of the program, and of obstore and s3torchconnector (--python). The server's
processor time is not counted. Needs nginx, a C++ compiler and libcurl's header. Nothing of the user's AWS settings is read.
"""

import argparse
import os
import pathlib
import sys
import tempfile

from cost import cost, puts, ranges
from known import known, listing
from measured import ROOT
from throttled import throttled

PARTS = {"cost": (cost, 9), "ranges": (ranges, 9), "puts": (puts, 9), "known": (known, 5), "throttled": (throttled, 20),
         "listing": (listing, 1)}

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("what", choices=list(PARTS))
parser.add_argument("--turns", type=int)
parser.add_argument("--python", default=sys.executable, help="that has obstore and s3torchconnectorclient")
parser.add_argument("--headrace", default=str(ROOT / "build/release/headrace"))
arguments = parser.parse_args()
arguments.headrace = os.path.abspath(arguments.headrace)
part, turns = PARTS[arguments.what]
arguments.turns = arguments.turns or turns
# In memory, where there is such a folder: otherwise disks would limit uploads to nginx.
with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
    part(arguments, pathlib.Path(name))
