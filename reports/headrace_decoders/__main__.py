"""Processor time that a training framework's decoder takes for a sample, out of memory.

    python3 -I -B reports/headrace_decoders DECODER SIDE BATCH PASS FILE...

DECODER is pillow, torchvision, opencv or dali. Each image is decoded. With a SIDE (pixels) a random part is resized
to a square, flipped by chance and normalized. BATCH of them are collated. PASS is 1 where a worker process passes
batches on. It collates
each in new shared memory, as PyTorch's workers do; the kernel clears that memory first. FILEs are images.
Prints the seconds of one sample, without a first turn over all of them.
"""

import io
import math
import mmap
import random
import sys
import time

LEAST_S = 2  # that are measured
MOST = 64 << 20  # bytes of samples that are held
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]  # of ImageNet


def samples(paths):
    """The images, a file each."""
    held = 0
    for path in paths:
        with open(path, "rb") as file:
            data = file.read()
        held += len(data)
        yield data
        if held > MOST:
            return


def part(width, height):
    """Left, upper, width and height of a random part, as RandomResizedCrop draws it."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    least = min(width, height)
    return (width - least) // 2, (height - least) // 2, least, least


def pillow(side):
    import numpy
    from PIL import Image

    mean, deviation = numpy.array(MEAN, numpy.float32), numpy.array(DEVIATION, numpy.float32)

    def decode(data):
        image = Image.open(io.BytesIO(data)).convert("RGB")
        if not side:
            return numpy.asarray(image)
        left, upper, width, height = part(*image.size)
        image = image.crop((left, upper, left + width, upper + height)).resize((side, side), Image.BILINEAR)
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        pixels = (numpy.asarray(image, numpy.float32) / 255 - mean) / deviation
        return numpy.ascontiguousarray(pixels.transpose(2, 0, 1))

    return decode, collate_arrays


def collate_arrays(arrays, shared):
    import numpy

    shape = (len(arrays), *arrays[0].shape)
    numpy.stack(arrays, out=numpy.frombuffer(shared(4 * math.prod(shape)), numpy.float32).reshape(shape) if shared else None)


def collate_tensors(tensors, shared):
    import torch

    shape = (len(tensors), *tensors[0].shape)
    torch.stack(tensors, out=torch.frombuffer(shared(4 * math.prod(shape)), dtype=torch.float32).reshape(shape) if shared else None)


def torchvision(side):
    import torch
    from PIL import Image
    from torchvision import transforms

    torch.set_num_threads(1)
    steps = [transforms.RandomResizedCrop(side), transforms.RandomHorizontalFlip()] if side else []
    steps += [transforms.ToTensor()] + ([transforms.Normalize(MEAN, DEVIATION)] if side else [])
    transform = transforms.Compose(steps)
    return lambda data: transform(Image.open(io.BytesIO(data)).convert("RGB")), collate_tensors


def opencv(side):
    import cv2
    import numpy

    cv2.setNumThreads(0)
    mean, deviation = numpy.array(MEAN, numpy.float32), numpy.array(DEVIATION, numpy.float32)

    def decode(data):
        image = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR)
        if not side:
            return image
        left, upper, width, height = part(image.shape[1], image.shape[0])
        image = cv2.resize(image[upper : upper + height, left : left + width], (side, side), interpolation=cv2.INTER_LINEAR)
        if random.random() < 0.5:
            image = cv2.flip(image, 1)
        pixels = (image[:, :, ::-1].astype(numpy.float32) / 255 - mean) / deviation
        return numpy.ascontiguousarray(pixels.transpose(2, 0, 1))

    return decode, collate_arrays


def shared_memory(size):
    return mmap.mmap(-1, size)


def turn(decode, collate, data, batch, side, shared):
    for begin in range(0, len(data), batch):
        decoded = [decode(one) for one in data[begin : begin + batch]]
        if side:  # images of their own sizes are not collated
            collate(decoded, shared)


def dali_turn(side, batch, data):
    """The same by DALI's operators on the processor, in one thread."""
    import numpy
    from nvidia.dali import fn, pipeline_def, types

    arrays = [numpy.frombuffer(one, numpy.uint8) for one in data]

    @pipeline_def(batch_size=batch, num_threads=1, device_id=None)
    def pipeline():
        encoded = fn.external_source(source=lambda sample: arrays[sample.idx_in_epoch % len(arrays)], batch=False, dtype=types.UINT8)
        if not side:
            return fn.decoders.image(encoded, device="cpu")
        image = fn.resize(fn.decoders.image_random_crop(encoded, device="cpu"), size=[side, side])
        return fn.crop_mirror_normalize(image, dtype=types.FLOAT, output_layout="CHW", mean=[255 * m for m in MEAN],
                                        std=[255 * d for d in DEVIATION], mirror=fn.random.coin_flip())

    built = pipeline()
    built.build()
    runs = math.ceil(len(data) / batch)

    def run():
        for _ in range(runs):
            built.run()
        return runs * batch

    return run


def cost(run):
    """Seconds of a processor for each of the samples that run() decodes and counts."""
    run()
    begin, count = time.process_time(), 0
    while time.process_time() - begin < LEAST_S:
        count += run()
    return (time.process_time() - begin) / count


def main():
    decoder, side, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    shared = shared_memory if sys.argv[4] == "1" else None
    data = list(samples(sys.argv[5:]))
    if not data:
        sys.exit(f"{decoder}: no image is in the files that were given")
    try:
        if decoder == "dali":
            run = dali_turn(side, batch, data)
        else:
            decode, collate = {"pillow": pillow, "torchvision": torchvision, "opencv": opencv}[decoder](side)

            def run():
                turn(decode, collate, data, batch, side, shared)
                return len(data)

        print(cost(run))
    except ImportError as error:
        sys.exit(f"{decoder}: {error}")


main()
