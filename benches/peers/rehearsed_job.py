"""A real loader with its consumer, over samples of a few kinds: the job that `headrace rehearse` predicts.

    rehearsed_job.py LOADER DATA FOLDER WORKERS BATCH PREFETCH
    rehearsed_job.py modules LOADER DATA          ends with the error where a module is missing
    rehearsed_job.py write LOADER FOLDER SHARDS SAMPLES BYTES      makes `mds` and `records`

LOADER: `map`, `iterable` and `main` are PyTorch's DataLoader with worker processes, over an IterableDataset, and with
num_workers=0. `threads` is a ThreadPoolExecutor; `webdataset`, `streaming` (Mosaic), `tfdata`, `grain`, `dali` and `spdl` are those
libraries. DATA is `images` (Pillow and torchvision's RandomResizedCrop, flip and normalization; DALI by its own decoder). Or it is
`files` (read whole, not decoded), `tar`, `tarimages`, `mds` or `records` (TFRecord).

Prints "ready". Then for each line `STEP_S COLD` on standard input a line of one epoch, read cold where COLD is 1. It has accelerator
utilization and samples per second, without the steps that the start of the pipeline prepared. Then the processor time of the main thread
for a batch, and of workers or threads for a sample [s]. The GPU is emulated by deadlines: it computes while the host takes the next batch.
Ends with its input.
"""

from __future__ import annotations

import collections
import concurrent.futures
import importlib.util
import itertools
import multiprocessing
import os
import pathlib
import random
import resource
import sys
import time
import warnings

warnings.filterwarnings("ignore")
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")


def read(path):
    with open(path, "rb") as file:
        return len(file.read())


class Decoded:
    """A sample of an image, from its path or its bytes."""

    def __init__(self):
        from PIL import Image
        from torchvision import transforms

        self.open = Image.open
        self.transform = transforms.Compose([
            transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __call__(self, path):
        with open(path, "rb") as file:
            return self.transform(self.open(file).convert("RGB"))

    def of(self, data):
        import io

        return self.transform(self.open(io.BytesIO(data)).convert("RGB"))


class Torch:
    def __init__(self, what, data, paths, workers, batch, prefetch):
        import torch
        from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

        torch.set_num_threads(1)
        sample = Decoded() if data == "images" else read

        class Map(Dataset):
            def __len__(self):
                return len(paths)

            def __getitem__(self, index):
                return sample(paths[index])

        class Stream(IterableDataset):
            def __iter__(self):
                worker = get_worker_info()
                own = paths[worker.id::worker.num_workers]
                return map(sample, random.sample(own, len(own)))

        ahead = dict(num_workers=workers, prefetch_factor=prefetch, persistent_workers=True) if workers else {}
        shared = dict(batch_size=batch, drop_last=True, **ahead)
        if what == "webdataset":
            import webdataset

            decode = Decoded().of if data == "tarimages" else len
            self.loader = DataLoader(webdataset.WebDataset(list(map(str, paths)), shardshuffle=False).map(
                lambda one: decode(one["jpg"])), **shared)
        elif what == "streaming":
            import streaming

            self.loader = DataLoader(streaming.StreamingDataset(local=str(paths[0].parent), shuffle=True, batch_size=batch),
                                     collate_fn=lambda batch: [len(one["x"]) for one in batch], **shared)
        elif what == "iterable":
            self.loader = DataLoader(Stream(), **shared)
        else:
            self.loader = DataLoader(Map(), shuffle=True, **shared)
        self.settling = max(1, workers)

    def batches(self):
        return iter(self.loader)


class Threads:
    def __init__(self, what, data, paths, workers, batch, prefetch):
        self.sample = Decoded() if data == "images" else read
        self.paths, self.workers, self.batch, self.prefetch = paths, workers, batch, prefetch
        self.settling = prefetch

    def batches(self):
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            order = iter(random.sample(self.paths, len(self.paths)))
            ahead = collections.deque(pool.submit(self.sample, path)
                                      for path in itertools.islice(order, self.batch * self.prefetch))
            while len(ahead) >= self.batch:
                batch = []
                for _ in range(self.batch):
                    batch.append(ahead.popleft().result())
                    ahead.extend(pool.submit(self.sample, path) for path in itertools.islice(order, 1))
                yield batch


class TfData:
    def __init__(self, what, data, paths, workers, batch, prefetch):
        import tensorflow as tf

        names = tf.data.Dataset.from_tensor_slices(list(map(str, paths)))
        if data == "records":
            samples = names.interleave(tf.data.TFRecordDataset, cycle_length=workers, num_parallel_calls=workers,
                                       deterministic=True)
        else:
            samples = names.map(tf.io.read_file, num_parallel_calls=workers, deterministic=True)
        options = tf.data.Options()
        options.threading.private_threadpool_size = workers + 1  # else as many threads as the machine has cores wait for storage
        self.dataset = samples.batch(batch, drop_remainder=True).prefetch(prefetch).with_options(options)
        self.settling = prefetch

    def batches(self):
        return iter(self.dataset)


class Grain:
    def __init__(self, what, data, paths, workers, batch, prefetch):
        import grain
        import numpy

        class Source:
            def __len__(self):
                return len(paths)

            def __getitem__(self, index):
                return numpy.int64(read(paths[index]))

        self.dataset = grain.MapDataset.source(Source()).shuffle(seed=1).to_iter_dataset(
            grain.ReadOptions(num_threads=workers, prefetch_buffer_size=prefetch * batch)).batch(batch, drop_remainder=True)
        self.settling = prefetch

    def batches(self):
        return iter(self.dataset)


class Dali:
    """Its reader is one thread; WORKERS threads decode."""

    def __init__(self, what, data, paths, workers, batch, prefetch):
        from nvidia.dali import fn, pipeline_def, types

        @pipeline_def(batch_size=batch, num_threads=workers, device_id=None, prefetch_queue_depth=prefetch)
        def pipeline():
            raw, _ = fn.readers.file(files=list(map(str, paths)), shuffle_after_epoch=True, name="reader")
            if data != "images":
                return raw
            cropped = fn.resize(fn.decoders.image_random_crop(raw, device="cpu"), resize_x=224, resize_y=224)
            return fn.crop_mirror_normalize(cropped, dtype=types.FLOAT, mirror=fn.random.coin_flip(),
                                            mean=[123.7, 116.3, 103.5], std=[58.4, 57.1, 57.4])

        self.pipeline, self.count = pipeline(), len(paths) // batch
        self.pipeline.build()
        self.settling = 2 * prefetch

    def batches(self):
        return (self.pipeline.run() for _ in range(self.count))


class Spdl:
    def __init__(self, what, data, paths, workers, batch, prefetch):
        self.paths, self.workers, self.batch, self.prefetch = paths, workers, batch, prefetch
        self.settling = prefetch + 1

    def batches(self):
        from spdl.pipeline import PipelineBuilder

        pipeline = (PipelineBuilder().add_source(random.sample(self.paths, len(self.paths)))
                    .pipe(read, concurrency=self.workers, output_order="input").aggregate(self.batch, drop_last=True)
                    .add_sink(self.prefetch).build(num_threads=self.workers))
        with pipeline.auto_stop():
            yield from pipeline


LOADERS = {"threads": Threads, "tfdata": TfData, "grain": Grain, "dali": Dali, "spdl": Spdl}
MODULES = {"map": "torch", "iterable": "torch", "main": "torch", "threads": "concurrent.futures", "webdataset": "webdataset",
           "streaming": "streaming", "tfdata": "tensorflow", "grain": "grain", "dali": "nvidia.dali", "spdl": "spdl.pipeline"}


def evict(paths):
    """Root drops caches without opening each file."""
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w") as drop:
        drop.write("3")


def others_used():
    """Processor time of worker processes and of this process's other threads so far, without the kernel's [s]."""
    ticks = 0
    for worker in multiprocessing.active_children():
        with open(f"/proc/{worker.pid}/stat") as stat:
            ticks += int(stat.read().rpartition(")")[2].split()[11])
    of_all, own = (resource.getrusage(whose).ru_utime for whose in (resource.RUSAGE_SELF, resource.RUSAGE_THREAD))
    return ticks / os.sysconf("SC_CLK_TCK") + of_all - own


def epoch(loader, step_s, batch):
    end = time.monotonic()
    ends, used, others = [], time.thread_time(), others_used()
    for _ in loader.batches():
        start = max(end, time.monotonic())
        end = start + step_s
        time.sleep(max(0.0, start - time.monotonic()))
        ends.append(end)
    used, others = time.thread_time() - used, others_used() - others
    time.sleep(max(0.0, end - time.monotonic()))
    settled = ends[min(loader.settling, len(ends) // 2):]
    took_s = settled[-1] - settled[0]
    return step_s * (len(settled) - 1) / took_s, batch * (len(settled) - 1) / took_s, used / len(ends), others / len(ends) / batch


def write(loader, folder, shards, samples, size):
    if loader == "streaming":
        import streaming

        limit = 4 * (samples + 2) + 400 + samples * (size + 4)
        with streaming.MDSWriter(out=folder, columns={"x": "bytes"}, size_limit=limit) as out:
            for _ in range(shards * samples):
                out.write({"x": os.urandom(size)})
        return
    import tensorflow as tf

    pathlib.Path(folder).mkdir()
    for number in range(shards):
        with tf.io.TFRecordWriter(f"{folder}/shard{number:03}.tfrecord") as shard:
            for _ in range(samples):
                shard.write(os.urandom(size))


def is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of its parent
        return False


def main():
    if sys.argv[1] == "write":
        return write(*sys.argv[2:4], *map(int, sys.argv[4:]))
    if sys.argv[1] == "modules":
        needed = [MODULES[sys.argv[2]]] + ["torchvision"] * ("images" in sys.argv[3] and sys.argv[2] != "dali")
        missing = [name for name in needed if not is_there(name)]
        return f"no {', '.join(missing)}" if missing else None
    what, data, folder = sys.argv[1:4]
    workers, batch, prefetch = map(int, sys.argv[4:7])
    paths = sorted(p for p in pathlib.Path(folder).rglob("*") if p.is_file() and p.name != "index.json")
    loader = LOADERS.get(what, Torch)(what, data, paths, workers, batch, prefetch)
    batches = iter(loader.batches())  # starts workers and runtimes
    next(batches)
    del batches
    print("ready", flush=True)
    for line in sys.stdin:
        step_s, cold = line.split()
        if int(cold):
            evict(paths)
        print(*epoch(loader, float(step_s), batch), flush=True)


if __name__ == "__main__":
    sys.exit(main())
