"""Brings SeaweedFS up with one bucket until this program's input ends; prints, as a shell reads it, how to ask it.

    serve.py FOLDER BUCKET      FOLDER: empty, for what it stores
"""

import pathlib
import signal
import sys

from servers import KEY, SECRET, seaweedfs

VOLUMES = 96  # 6 GB: more than a quick start writes


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the script that holds the input; that script then closes it
    folder, bucket = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with seaweedfs(folder, VOLUMES) as store:
        store.put(bucket, "made-by/headrace-quickstart", b"so that there is a bucket\n")
        print(f"AWS_ENDPOINT_URL={store.endpoint} AWS_ACCESS_KEY_ID={KEY} AWS_SECRET_ACCESS_KEY={SECRET}", flush=True)
        sys.stdin.read()


main()
