"""Gets whole objects with a client of Python's, one after the other; prints the times. Run by benches/objects.

    get_objects.py obstore|s3torchconnector ENDPOINT BUCKET PASSES < KEYS

Signed with the environment's AWS keys; the first pass, in which connections are opened, does not count.
"""

import json
import os
import resource
import sys
import time


def obstore_get(endpoint, bucket):
    import obstore
    from obstore.store import S3Store

    store = S3Store(bucket, endpoint=endpoint, region="us-east-1", client_options={"allow_http": True},
                    access_key_id=os.environ["AWS_ACCESS_KEY_ID"], secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"])
    return lambda key: len(obstore.get(store, key).bytes())


def s3torchconnector_get(endpoint, bucket):
    from s3torchconnectorclient._mountpoint_s3_client import MountpointS3Client

    client = MountpointS3Client(region="us-east-1", user_agent_prefix="b", endpoint=endpoint, force_path_style=True)
    return lambda key: sum(map(len, client.get_object(bucket, key)))


def spent():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    client, endpoint, bucket, passes = sys.argv[1:]
    get = {"obstore": obstore_get, "s3torchconnector": s3torchconnector_get}[client](endpoint, bucket)
    keys = sys.stdin.read().split()
    for number in range(int(passes) + 1):
        if number == 1:
            begin, cpu = time.monotonic(), spent()
        received = sum(map(get, keys))
    print(json.dumps({"operations": len(keys) * int(passes), "bytes": received * int(passes),
                      "elapsed_s": time.monotonic() - begin, "cpu_s": spent() - cpu}))


main()
