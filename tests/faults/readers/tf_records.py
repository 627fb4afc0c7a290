"""tf.data over TFRecord shards: interleave(TFRecordDataset, cycle_length=workers, num_parallel_calls=workers).
tf_records.py WORKERS FILE...   As files.py.   tf_records.py write FOLDER SHARDS SAMPLES BYTES   makes them."""

import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf  # noqa: E402


def write(folder, shards, samples, size):
    for number in range(shards):
        with tf.io.TFRecordWriter(f"{folder}/shard{number:03}.bin") as shard:
            for _ in range(samples):
                shard.write(os.urandom(size))


def main():
    workers, paths = int(sys.argv[1]), sys.argv[2:]
    records = tf.data.Dataset.from_tensor_slices(paths).interleave(
        tf.data.TFRecordDataset, cycle_length=workers, num_parallel_calls=workers, deterministic=True)
    options = tf.data.Options()
    options.threading.private_threadpool_size = workers + 1  # else as many threads as the machine has cores wait for storage
    records = records.with_options(options)
    for _ in records.take(workers):  # starts the runtime
        pass
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.monotonic()
        for _ in records:
            pass
        print(begin, time.monotonic(), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2], *map(int, sys.argv[3:6]))
    else:
        main()
