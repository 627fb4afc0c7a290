"""tf.data over files: map(tf.io.read_file, num_parallel_calls=workers).  tf_files.py WORKERS FILE...   As files.py."""

import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf  # noqa: E402

workers, paths = int(sys.argv[1]), sys.argv[2:]
files = tf.data.Dataset.from_tensor_slices(paths).map(tf.io.read_file, num_parallel_calls=workers, deterministic=True)
options = tf.data.Options()
options.threading.private_threadpool_size = workers + 1  # else as many threads as the machine has cores wait for storage
files = files.with_options(options)
for _ in files.take(workers):  # starts the runtime
    pass
print("ready", flush=True)
for _ in sys.stdin:
    begin = time.monotonic()
    for _ in files:
        pass
    print(begin, time.monotonic(), flush=True)
