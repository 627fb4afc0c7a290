"""A training loop over PyTorch's DataLoader, whose GPU is a pause: images of torchvision's ImageFolder, or shards of an iterable data
set, each a tar of images. Says as its last line, as JSON, what was true of it.

    torch_loop.py DATA folder|shards [--workers N] [--batch N] [--step SECONDS] [--steps N] [--raw]
"""

import argparse
import io
import json
import os
import pathlib
import random
import tarfile
import time

import PIL.Image
import torch
import torchvision


class Shards(torch.utils.data.IterableDataset):
    def __init__(self, paths, transform):
        self.paths, self.transform = paths, transform

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        own = self.paths[worker.id::worker.num_workers]
        while True:
            random.shuffle(own)
            for path in own:
                with open(path, "rb") as file:
                    with tarfile.open(fileobj=file, mode="r|*") as archive:
                        for member in archive:
                            if member.name.endswith(".jpg"):
                                yield self.transform(PIL.Image.open(io.BytesIO(archive.extractfile(member).read())).convert("RGB")), 0
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cold_image(path):
    with open(path, "rb") as file:
        image = PIL.Image.open(file).convert("RGB")
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return image


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("kind", choices=["folder", "shards"])
    for name, kind, usual in (("workers", int, 2), ("batch", int, 16), ("step", float, 0.1), ("steps", int, 100)):
        parser.add_argument("--" + name, type=kind, default=usual)
    given = parser.parse_args()
    torch.set_num_threads(1)
    transform = torchvision.transforms.Compose([torchvision.transforms.RandomResizedCrop(128), torchvision.transforms.ToTensor()])
    paths = sorted(str(p) for p in pathlib.Path(given.data).rglob("*.tar" if given.kind == "shards" else "*.jpg"))
    if given.kind == "shards":
        data, more = Shards(paths, transform), {}
        sizes = 0
    else:
        data, more = torchvision.datasets.ImageFolder(given.data, transform, loader=cold_image), {"shuffle": True, "drop_last": True}
        sizes = sum(os.path.getsize(p) for p in paths)
    loader = torch.utils.data.DataLoader(data, batch_size=given.batch, num_workers=given.workers, **more)
    steps, waited, computed = 0, 0.0, 0.0
    begin = asked = time.monotonic()
    while steps < given.steps:
        for images, _ in loader:
            taken = time.monotonic()
            waited += taken - asked
            time.sleep(given.step)
            asked = time.monotonic()
            computed += asked - taken
            steps += 1
            if steps == given.steps:
                break
    lasted = time.monotonic() - begin
    print(json.dumps({"steps": steps, "samples": steps * given.batch, "step": computed / steps, "starved": waited / lasted,
                      "lasted": lasted, "files": len(paths), "sample_size": sizes / len(paths) if sizes else None,
                      "workers": given.workers, "prefetch": loader.prefetch_factor}))
    os._exit(0)  # as after a scheduler's time is over


if __name__ == "__main__":
    main()
