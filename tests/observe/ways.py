"""Training loops whose loaders are made in many ways, each with the limit that its name says. Says as its last line, as JSON, what was
true of it.

    ways.py DATA WAY [--batch N] [--step SECONDS] [--steps N] [--decode SECONDS] [--threads N] [--workers N]
              [--own SECONDS] [--busy SECONDS] [--pause SECONDS]

What decodes "in C" lets go of Python's interpreter lock. A step is a pause, as long as a GPU would take, unless the way says otherwise.
"""

import argparse
import hashlib
import json
import mmap
import multiprocessing
import os
import pathlib
import queue
import random
import signal
import socket
import struct
import threading
import time

SAMPLE = 65536


def compute(seconds):
    """Of this thread's own processor time, under the interpreter lock."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(200))


def compute_in_c(seconds):
    until, block = time.thread_time() + seconds, bytes(1 << 20)
    while time.thread_time() < until:
        hashlib.sha256(block).digest()


def paths_of(given):
    """Of all files without end, in an order that is drawn anew each time."""
    files, drawn = sorted(str(path) for path in pathlib.Path(given.data).rglob("*.bin")), random.Random(1)
    while True:
        drawn.shuffle(files)
        yield from files


def read(path):
    with open(path, "rb") as file:
        return file.read()


def batches_of(given, samples):
    while True:
        yield [next(samples) for _ in range(given.batch)]


def own_samples(given, decode=compute):
    """The main thread reads them itself."""
    for path in paths_of(given):
        sample = read(path)
        decode(given.decode)
        yield sample


def pool(given, decode):
    """Threads take files from one queue and put samples into another."""
    tasks, done, paths = queue.Queue(4 * given.threads), queue.Queue(2 * given.batch), paths_of(given)

    def feed():
        while True:
            tasks.put(next(paths))

    def work():
        while True:
            sample = read(tasks.get())
            decode(given.decode)
            done.put(sample)

    for each in [feed] + [work] * given.threads:
        threading.Thread(target=each, daemon=True).start()
    while True:
        yield done.get()


def mapped(given):
    drawn = random.Random(1)
    with open(given.data, "rb") as file:
        memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        memory.madvise(mmap.MADV_RANDOM)
    while True:
        at = drawn.randrange(len(memory) // SAMPLE) * SAMPLE
        yield memory[at:at + SAMPLE]
        memory.madvise(mmap.MADV_DONTNEED, at, SAMPLE)
        compute(given.decode)


def generator_in_a_thread(given):
    done, samples = queue.Queue(2), own_samples(given)

    def work():
        while True:
            done.put([next(samples) for _ in range(given.batch)])

    threading.Thread(target=work, daemon=True).start()
    while True:
        yield done.get()


def two_loaders(given):
    """The second one's threads read a few files, and wait for room from then on."""
    other = argparse.Namespace(**{**vars(given), "data": given.other})
    validation = pool(other, compute)
    next(validation)
    for number, batch in enumerate(batches_of(given, pool(given, compute))):
        if number % 20 == 0:
            next(validation)
        yield batch


def over_a_socket(given):
    """From a server that is no process of this job."""
    with socket.create_connection(("127.0.0.1", given.port)) as server:
        while True:
            batch = []
            for _ in range(given.batch):
                size, got = struct.unpack("!I", server.recv(4, socket.MSG_WAITALL))[0], 0
                while got < size:
                    got += len(server.recv(size - got))
                batch.append(got)
            yield batch


def process_workers(given, collate=lambda seconds: None, carry=None):
    """Two processes read, and hand batches over by pipes; `carry`: what a thread of the main process does with each between."""
    done, paths = [multiprocessing.Queue(2) for _ in range(2)], paths_of(given)

    def work(number):
        while True:
            batch = []
            for _ in range(given.batch):
                batch.append(len(read(next(paths))))
                compute(given.decode)
            collate(given.pause)
            done[number].put(batch)

    for number in range(2):
        multiprocessing.Process(target=work, args=(number,), daemon=True).start()
    carried = queue.Queue(1)

    def carrying():
        turn = 0
        while True:
            batch = done[turn % 2].get()
            carry(given.own)
            carried.put(batch)
            turn += 1

    if carry:
        threading.Thread(target=carrying, daemon=True, name="pin_memory").start()
    turn = 0
    while True:
        yield carried.get() if carry else done[turn % 2].get()
        turn += 1


def torch_batches(given, workers, **more):
    import numpy
    import torch

    torch.set_num_threads(1)
    files = sorted(str(path) for path in pathlib.Path(given.data).rglob("*.*") if path.suffix in (".bin", ".jpg"))

    class Files(torch.utils.data.Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, index):
            if files[index].endswith(".jpg"):
                import PIL.Image
                with open(files[index], "rb") as file:
                    image = numpy.asarray(PIL.Image.open(file).convert("RGB").resize((64, 64)))
                return torch.from_numpy(image.copy())
            sample = torch.frombuffer(bytearray(read(files[index])[:SAMPLE // 2]), dtype=torch.uint8)
            compute(given.decode)
            return sample

    loader = torch.utils.data.DataLoader(Files(), batch_size=given.batch, shuffle=True, drop_last=True, num_workers=workers, **more)
    while True:
        yield from loader


def torch_collate(given):
    import torch

    def collate(samples):
        compute(given.own)
        return torch.utils.data.default_collate(samples)

    return torch_batches(given, 0, collate_fn=collate)


def spdl_batches(given):
    from spdl.pipeline import PipelineBuilder

    pipeline = (PipelineBuilder().add_source(paths_of(given)).pipe(read, concurrency=given.threads).aggregate(given.batch)
                .add_sink(2).build(num_threads=given.threads))
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


def arrow_batches(given):
    """One Arrow file, mapped; the first column of a row is a sample."""
    import pyarrow

    table = pyarrow.ipc.open_file(pyarrow.memory_map(given.data, "r")).read_all().column(0)
    drawn = random.Random(1)
    while True:
        yield [table[drawn.randrange(len(table))].as_buffer().to_pybytes() for _ in range(given.batch)]


WAYS = {
    "threads": lambda given: batches_of(given, pool(given, compute)),
    "threads_in_c": lambda given: batches_of(given, pool(given, compute_in_c)),
    "alone": lambda given: batches_of(given, own_samples(given)),
    "mapped": lambda given: batches_of(given, mapped(given)),
    "generator": generator_in_a_thread,
    "two_loaders": two_loaders,
    "socket": over_a_socket,
    "workers": process_workers,
    "workers_pause": lambda given: process_workers(given, collate=time.sleep),
    "carried": lambda given: process_workers(given, carry=compute),
    "torch_alone": lambda given: torch_batches(given, 0),
    "torch_collate": torch_collate,
    "torch_workers": lambda given: torch_batches(given, given.workers, persistent_workers=True),
    "spdl": spdl_batches,
    "arrow": arrow_batches,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("way", choices=WAYS)
    for name, kind, usual in (("batch", int, 8), ("step", float, 0.05), ("steps", int, 60), ("decode", float, 0.0), ("own", float, 0.0),
                              ("threads", int, 4), ("workers", int, 2), ("other", str, ""), ("port", int, 0), ("busy", float, 0.0), ("pause", float, 0.0)):
        parser.add_argument("--" + name, type=kind, default=usual)
    given = parser.parse_args()
    batches = WAYS[given.way](given)
    waited, computed = 0.0, 0.0
    next(batches)
    begin = time.monotonic()
    for _ in range(given.steps):
        asked = time.monotonic()
        batch = next(batches)
        taken = time.monotonic()
        if given.way in ("workers", "torch_workers"):
            compute(given.own)  # augmentation in the main process
        if given.busy:
            compute(given.busy)  # the step, where there is no GPU
        time.sleep(given.step)
        waited += taken - asked
        computed += time.monotonic() - taken
    lasted = time.monotonic() - begin
    print(json.dumps({"steps": given.steps, "samples": given.steps * given.batch, "lasted": lasted, "step": computed / given.steps,
                      "starved": waited / lasted}), flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # torch's handler raises an error when a worker is killed
    for worker in multiprocessing.active_children():
        worker.kill()
    os._exit(0)  # threads would go on


if __name__ == "__main__":
    main()
