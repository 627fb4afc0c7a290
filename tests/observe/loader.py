"""A training loop with a loader as PyTorch's DataLoader is made, of plain Python: worker processes take lists of files from a queue
each, read and "decode" them one after the other, and hand batches over by a queue; the main process takes them in order, and
computes for a step. Says as its last line, as JSON, what was true of it.

    loader.py DATA [--workers N] [--prefetch N] [--batch N] [--step SECONDS] [--steps N] [--decode SECONDS] [--cold] [--direct]
              [--save PATH --save-bytes N --save-every STEPS [--save-async]] [--spawn] [--own SECONDS] [--spin]

--own: processor time of the main process for each batch. --spin: the step is waited for on a processor, in no call, as CUDA does.
"""

import argparse
import json
import mmap
import multiprocessing
import os
import pathlib
import random
import threading
import time


def read(path, direct):
    if direct:  # around the page cache, as large as the file
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        try:
            size = os.fstat(fd).st_size
            buffer = mmap.mmap(-1, -(-size // 4096) * 4096)
            os.readv(fd, [buffer])
            return buffer[:size]
        finally:
            os.close(fd)
    with open(path, "rb") as file:
        return file.read()


def compute(seconds):
    """Of this process's own processor time, as decoding takes."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        sum(range(200))


def spin(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def work(tasks, done, given):
    cpu = 0
    while (task := tasks.get()) is not None:
        number, files = task
        size = 0
        for path in files:
            size += len(read(path, given.direct))
            if given.decode:
                compute(given.decode)
            if given.cold:
                with open(path, "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        done.put((number, size))
    times = os.times()
    done.put((-1, times.user + times.system))


def save(given, number):
    path = pathlib.Path(given.save)
    part = os.urandom(1 << 20)
    with open(path.with_suffix(".part"), "wb") as file:
        for _ in range(given.save_bytes >> 20):
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    path.with_suffix(".part").rename(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    for name, kind, usual in (("workers", int, 2), ("batch", int, 8), ("step", float, 0.05), ("steps", int, 100),
                              ("decode", float, 0.0), ("own", float, 0.0), ("save", str, ""), ("save-bytes", int, 32 << 20), ("save-every", int, 40), ("prefetch", int, 2)):
        parser.add_argument("--" + name, type=kind, default=usual)
    for name in ("cold", "direct", "save-async", "spawn", "spin"):
        parser.add_argument("--" + name, action="store_true")
    given = parser.parse_args()
    files = sorted(str(f) for f in pathlib.Path(given.data).rglob("*.bin"))
    context = multiprocessing.get_context("spawn" if given.spawn else "fork")
    done = context.Queue()
    queues = [context.Queue() for _ in range(given.workers)]
    workers = [context.Process(target=work, args=(q, done, given)) for q in queues]
    for worker in workers:
        worker.start()

    order, drawn = [], random.Random(1)
    sent = 0

    def send():
        nonlocal sent
        if sent == given.steps:
            return
        while len(order) < given.batch:
            epoch = files[:]
            drawn.shuffle(epoch)
            order.extend(epoch)
        queues[sent % given.workers].put((sent, [order.pop(0) for _ in range(given.batch)]))
        sent += 1

    for _ in range(given.prefetch * given.workers):
        send()
    ready, sizes, saves, waited, computed, beside = {}, 0, [], 0.0, 0.0, 0.0
    saver = None
    begin, had = time.monotonic(), time.thread_time()
    for number in range(given.steps):
        asked = time.monotonic()
        while number not in ready:
            got, size = done.get()
            ready[got] = size
        sizes += ready.pop(number)
        send()
        waited += time.monotonic() - asked
        compute(given.own)
        before, began = time.thread_time(), time.monotonic()
        (spin if given.spin else time.sleep)(given.step)
        beside += time.thread_time() - before
        computed += time.monotonic() - began
        if given.save and number % given.save_every == given.save_every - 1:
            saves.append(time.monotonic() - begin)
            if given.save_async:
                if saver:
                    saver.join()
                saver = threading.Thread(target=save, args=(given, number))
                saver.start()
            else:
                before = time.thread_time()
                save(given, number)
                beside += time.thread_time() - before
    lasted, own = time.monotonic() - begin, time.thread_time() - had - beside
    for queue in queues:
        queue.put(None)
    cpu = sum(done.get()[1] for _ in workers)
    for worker in workers:
        worker.join()
    if saver:
        saver.join()
    samples = given.steps * given.batch
    print(json.dumps({"steps": given.steps, "samples": samples, "bytes": sizes, "lasted": lasted, "step": computed / given.steps,
                      "starved": waited / lasted, "cpu_per_sample": cpu / samples, "saves": saves, "files": len(files),
                      "workers": given.workers, "prefetch": given.prefetch, "own": own / given.steps}))


if __name__ == "__main__":
    main()
