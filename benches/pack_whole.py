"""Is every image packed exactly once, whatever its folder looks like and whenever packing is killed? As real loaders read it.

    python3 benches/pack_whole.py [--kills 500] [--folders 200] [--seed 1] [--at DIR]

Two parts, for each of tar, TFRecord and MDS. Kills: `headrace pack` is killed (SIGKILL) again and again, half of the times in
its first moments, then left to end. Shards, mark and list must be all that lies there. Folders: made with odd names, doubled
names, links, empty, hidden and unreadable folders, files without a byte. Each is packed, or refused for a reason that this
script sees, too, with the file's name. Then each image, as its bytes or its pixels, must be found once with its class in torchvision's ImageFolder.

Readers: webdataset, protobuf (a tf.train.Example) and mosaicml-streaming of PyPI; classes by torchvision, where it is installed.
Missing packages are skipped and named. Needs Pillow and numpy. Unreadable folders need root, which then packs as an unprivileged user.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import importlib.util
import io
import json
import os
import pathlib
import random
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time

import numpy
from PIL import Image

BINARY = os.environ.get("HEADRACE", str(pathlib.Path(__file__).parents[1] / "build/release/headrace"))
FORMATS = ("tar", "tfrecord", "mds")
ENDINGS = {"tar": ".tar", "tfrecord": ".tfrecord", "mds": ".mds"}
IMAGES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")  # of torchvision's ImageFolder
NOBODY = 65534
Seen = collections.Counter  # of (an image's identity, class)


def pixels(image) -> str:
    return hashlib.sha1(repr((image.size, image.convert("RGB").tobytes())).encode()).hexdigest()


def known_by(data: bytes, decoded: bool) -> str:
    if decoded and data:
        return pixels(Image.open(io.BytesIO(data)))
    return hashlib.sha1(data).hexdigest()


# --- readers ---------------------------------------------------------------------------------------------------------


def is_image(part: str) -> bool:
    return "." + part in IMAGES


def read_tar(shards: pathlib.Path) -> Seen:
    import webdataset

    seen = Seen()
    for url in sorted(map(str, shards.glob("*.tar"))):
        for sample in webdataset.WebDataset(url, shardshuffle=False, empty_check=False):
            label = int(sample["cls"]) if "cls" in sample else -1
            for part, data in sample.items():
                if is_image(part):
                    seen[known_by(data, False), label] += 1
    return seen


def example_type():
    """tf.train.Example, as its .proto has it."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="t", syntax="proto3")

    def message(name, *fields):
        made = file.message_type.add(name=name)
        for number, (field, kind, repeated, of) in enumerate(fields, 1):
            made.field.add(name=field, number=number, type=kind, label=3 if repeated else 1, type_name=of)
        return made

    bytes_, float_, int64, inner = 12, 2, 3, 11
    message("BytesList", ("value", bytes_, True, None))
    message("FloatList", ("value", float_, True, None))
    message("Int64List", ("value", int64, True, None))
    feature = message("Feature", ("bytes_list", inner, False, ".t.BytesList"), ("float_list", inner, False, ".t.FloatList"),
                      ("int64_list", inner, False, ".t.Int64List"))
    feature.oneof_decl.add(name="kind")
    for field in feature.field:
        field.oneof_index = 0
    features = message("Features", ("feature", inner, True, ".t.Features.FeatureEntry"))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=9, label=1)
    entry.field.add(name="value", number=2, type=inner, label=1, type_name=".t.Feature")
    message("Example", ("features", inner, False, ".t.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Example"))


def read_tfrecord(shards: pathlib.Path) -> Seen:
    seen, kind = Seen(), example_type()
    for path in sorted(shards.glob("*.tfrecord")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            example = kind.FromString(data[at + 12:at + 12 + length]).features.feature
            at += 16 + length
            label = example["image/class/label"].int64_list.value[0] if "image/class/label" in example else -1
            if "image/encoded" in example and is_image(example["image/format"].bytes_list.value[0].decode()):
                seen[known_by(example["image/encoded"].bytes_list.value[0], False), label] += 1
    return seen


def read_mds(shards: pathlib.Path) -> Seen:
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    data, seen = StreamingDataset(local=str(shards), shuffle=False, batch_size=1, allow_unsafe_types=True), Seen()
    for sample in (data[i] for i in range(data.num_samples)):
        image = sample.get("x")
        if image is not None:
            seen[known_by(image, False) if isinstance(image, bytes) else pixels(image), int(sample.get("y", -1))] += 1
    return seen


READERS = {"tar": ("webdataset", read_tar), "tfrecord": ("google.protobuf", read_tfrecord), "mds": ("streaming", read_mds)}


def installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


# --- what must be there ----------------------------------------------------------------------------------------------


def classes_of(folder: pathlib.Path) -> dict[str, int]:
    if installed("torchvision"):
        from torchvision.datasets.folder import find_classes

        try:
            return find_classes(str(folder))[1]
        except FileNotFoundError:
            return {}
    return {name: i for i, name in enumerate(sorted(e.name for e in os.scandir(folder) if e.is_dir()))}


def files_of(folder: pathlib.Path):
    """Paths below the folder that `pack` does not leave out."""
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            ending = name.rpartition(".")[2] if "." in name else ""
            if not name.startswith(".") and ending and ending.isascii() and ending.isprintable() and not ending.startswith("__"):
                yield pathlib.Path(at) / name


def expected(folder: pathlib.Path, decoded: bool) -> Seen:
    classes, seen = classes_of(folder), Seen()
    for path in files_of(folder):
        if path.suffix.lower() in IMAGES and stat.S_ISREG(path.lstat().st_mode):
            parts = path.relative_to(folder).parts
            seen[known_by(path.read_bytes(), decoded), classes[parts[0]] if len(parts) > 1 else -1] += 1
    return seen


def key_of(path: pathlib.Path, folder: pathlib.Path) -> str:
    stem = str(path.relative_to(folder)).rpartition(".")[0]
    head, slash, base = stem.rpartition("/")
    key = (head + slash + base.replace(".", "_")).replace("\n", "_")
    return key[1:] if key.startswith("__") else key


def reasons_to_refuse(folder: pathlib.Path, form: str) -> list[str]:
    """In this script's own words; empty where the folder has to be packed."""
    reasons, stems, keys = [], collections.defaultdict(list), collections.defaultdict(set)
    top = list(os.scandir(folder))
    shown = [e for e in top if e.is_dir() and not e.name.startswith(".")]
    if shown and any(e.is_dir() and e.name.startswith(".") for e in top):
        reasons.append("hidden folder")
    files = list(files_of(folder))
    if any(p.is_symlink() and not p.name.startswith(".") for p in folder.rglob("*")):
        reasons.append("link")
    for at, _, _ in os.walk(folder):
        if not os.stat(at).st_mode & stat.S_IROTH:
            reasons.append("unreadable folder")
    for path in files:
        if path.is_symlink() or not stat.S_ISREG(path.lstat().st_mode):
            continue
        if not path.stat().st_mode & stat.S_IROTH:
            reasons.append("unreadable file")
        if shown and path.parent == folder:
            reasons.append("file beside the classes")
        stem, _, ending = str(path).rpartition(".")
        image = "." + ending.lower() in IMAGES + (".gif", ".pbm", ".pnm", ".jp2")
        stems[stem].append("image" if image else ending.lower())
        keys[key_of(path, folder)].add(stem)
    reasons += ["two parts of one name" for parts in stems.values() if len(parts) != len(set(parts))]
    reasons += ["two samples of one key" for some in keys.values() if len(some) > 1]
    if not stems:
        reasons.append("nothing to pack")
    if form == "mds" and len({tuple(sorted(parts)) for parts in stems.values()}) > 1:
        reasons.append("other columns")
    return reasons


# --- running ---------------------------------------------------------------------------------------------------------


def command(source, target, form, size="1MiB"):
    return [BINARY, "--progress", "none", "pack", source, "--to", target, "--format", form, "--shard-size", size]


def check(source: pathlib.Path, target: pathlib.Path, form: str) -> str:
    """The fault of the shards, or ""."""
    module, reader = READERS[form]
    left = [p.name for p in target.iterdir() if p.suffix != ENDINGS[form] and p.name not in (
        ".headrace", ".headrace-pack.json", "index.json")]
    if left:
        return f"left beside the shards: {left}"
    if any(p.stat().st_mode & 0o7000 for p in target.glob("*" + ENDINGS[form])):
        return "a shard bears a mark"
    if not installed(module):
        return ""
    decoded = form == "mds" and json.loads((target / "index.json").read_text())["shards"][0]["column_encodings"][
        json.loads((target / "index.json").read_text())["shards"][0]["column_names"].index("x")] != "bytes"
    seen, wanted = reader(target), expected(source, decoded)
    lost, more = wanted - seen, seen - wanted
    return f"{sum(lost.values())} of {sum(wanted.values())} images not as they were, {sum(more.values())} others" if lost or more else ""


def draw_image(draw: random.Random, ending: str) -> bytes:
    data = numpy.frombuffer(draw.randbytes(12 * 12 * 3), numpy.uint8).reshape(12, 12, 3)
    out = io.BytesIO()
    Image.fromarray(data).save(out, "JPEG" if ending.lower() in ("jpg", "jpeg") else "PNG")
    return out.getvalue()


def kills(at: pathlib.Path, count: int, draw: random.Random) -> collections.Counter:
    source = at / "images"
    for label in range(6):
        (source / f"class {label}").mkdir(parents=True)
        for number in range(30):
            data = draw_image(draw, "jpg")
            (source / f"class {label}" / f"{number}.jpg").write_bytes(data + draw.randbytes(30_000))  # readers stop at its end
    done = collections.Counter()
    whole = {}
    for form in FORMATS:
        begin = time.monotonic()
        subprocess.run(command(source, at / f"whole-{form}", form), check=True, capture_output=True)
        whole[form] = time.monotonic() - begin
    while done["kills"] < count:
        form = FORMATS[done["targets"] % 3]
        target = at / "shards"
        shutil.rmtree(target, ignore_errors=True)
        for _ in range(draw.randint(1, 8)):
            process = subprocess.Popen(command(source, target, form), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if draw.random() < 0.5:
                end = time.monotonic() + whole[form]
                while not target.is_dir() and time.monotonic() < end:
                    pass
                time.sleep(draw.uniform(0, 0.003))
            else:
                time.sleep(draw.uniform(0, 1.2 * whole[form]))
            process.kill()
            done["kills"] += process.wait() < 0
        left = sorted(p.name for p in target.iterdir()) if target.is_dir() else []
        done["left by a kill"] += any(name.endswith((".new", ".part")) for name in left)
        ended = subprocess.run(command(source, target, form), capture_output=True, text=True)
        wrong = f"exit {ended.returncode}: {ended.stderr.strip()}" if ended.returncode else check(source, target, form)
        done["targets"] += 1
        done["wrong"] += bool(wrong)
        if wrong:
            print(f"  {form}, after {left}: {wrong}")
    return done


NAMES = ["a", "b", "x", "img 1", "x.y", "x_y", "-n", "ä", "日本", "😀", "q'\"", "a\\b", "l\nb", "caf\udce9", "__m__", "_m__", "x" * 200,
         "%20", "*", "..a", "a.", "tab\t", "A", "é", "e\u0301", "0001", "n01440764_10026", "key.cls", "{0..1}"]
ENDS = ["jpg", "JPG", "jpeg", "JPEG", "png", "PNG", "Jpg"]
SIDE = ["txt", "json", "JSON", "cls", "xml", "jpg~", "bak", "__key__", "é"]
FOLDERS = ["n0", "n1", "cat", "Cat", "dog.v1", "l\nb.2", "caf\udce9", "日本", "😀", "\udcff", "__back__", "_back__", " ", "-c", "x" * 120, "é", "z"]


def put(path: pathlib.Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(data)


def add_oddity(draw: random.Random, folder: pathlib.Path, places: list[pathlib.Path]) -> None:
    kind, place = draw.randrange(15), draw.choice(places)
    some = [p for p in files_of(folder) if p.is_file()]
    if kind == 0 and some:
        one = draw.choice(some)
        put(one.with_suffix("." + draw.choice(ENDS)), draw_image(draw, "png"))
    elif kind == 1:
        (folder / ("empty" + draw.choice(FOLDERS)[:50])).mkdir(exist_ok=True)
    elif kind == 2:
        put(folder / ".ipynb_checkpoints" / "x.jpg", draw_image(draw, "jpg"))
    elif kind == 3 and some and not (place / "link.jpg").exists():
        (place / "link.jpg").symlink_to(some[0])
    elif kind == 4 and not (folder / "linked").exists():
        (folder / "linked").symlink_to(places[0])
    elif kind == 5:
        put(place / "nothing.jpg", b"")
    elif kind == 6:
        put(place / ".hidden.jpg", draw_image(draw, "jpg"))
    elif kind == 7:
        put(place / draw.choice(["README", "Makefile.", "x.é", "x.__key__"]), b"x")
    elif kind == 8 and not (place / "pipe").exists():
        os.mkfifo(place / "pipe")
    elif kind == 9 and os.geteuid() == 0:
        place.chmod(0o700)
    elif kind == 10 and os.geteuid() == 0 and some:
        draw.choice(some).chmod(0o600)
    elif kind == 11:
        put(folder / "loose.jpg", draw_image(draw, "jpg"))
    elif kind == 12:
        put(place / "deep" / "er" / "x.jpg", draw_image(draw, "jpg"))
    elif kind == 13:
        put(place / ".thumbs" / "x.jpg", draw_image(draw, "jpg"))
    elif kind == 14 and not (place / "dangling.png").is_symlink():
        (place / "dangling.png").symlink_to("nowhere")


def hostile(folder: pathlib.Path, draw: random.Random) -> None:
    flat = draw.random() < 0.1
    places = [folder] if flat else [folder / name for name in draw.sample(FOLDERS, draw.randint(1, 5))]
    side = draw.choice([None, None, *SIDE])
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        for name in draw.sample(NAMES, draw.randint(1, 8)):
            ending = draw.choice(ENDS)
            put(place / f"{name}.{ending}", draw_image(draw, ending))
            if side:
                put(place / f"{name}.{side}", b"1" if side == "xcls" else draw.randbytes(draw.choice([0, 1, 20])))
    if side == "cls":  # its own label goes before the folder's
        for path in folder.rglob("*.cls"):
            path.unlink()
    for _ in range(draw.choice([0, 0, 1, 1, 2, 3])):
        add_oddity(draw, folder, places)


def folders(at: pathlib.Path, count: int, draw: random.Random) -> collections.Counter:
    done = collections.Counter()
    under = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    for number in range(count):
        folder, target = at / "hostile", at / "out" / "shards"
        shutil.rmtree(folder, ignore_errors=True)
        hostile(folder, draw)
        folder.chmod(0o755)
        for form in FORMATS:
            shutil.rmtree(at / "out", ignore_errors=True)
            (at / "out").mkdir()
            (at / "out").chmod(0o777)
            reasons = reasons_to_refuse(folder, form)
            ended = subprocess.run([*under, *command(folder, target, form)], capture_output=True, text=True, errors="replace")
            if ended.returncode == 0:
                wrong = f"packed in spite of: {reasons}" if reasons else check(folder, target, form)
            elif not reasons:
                wrong = f"refused without a reason: {ended.stderr.strip()}"
            else:
                wrong = "" if ended.returncode in (1, 2) and folder.name in ended.stderr else f"refused without a name: {ended.stderr.strip()}"
                wrong = wrong or (f"refused, and left {os.listdir(target)}" if target.exists() else "")
            done["packed" if ended.returncode == 0 else "refused"] += 1
            done["wrong"] += bool(wrong)
            if wrong:
                kept = at / f"wrong-{number}-{form}"
                shutil.copytree(folder, kept, symlinks=True, ignore=lambda _, names: [n for n in names if n == "pipe"])
                print(f"  folder {number}, {form}: {wrong} (kept in {kept})")
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--folders", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", type=pathlib.Path, help="where folders and shards are made (default: a temporary folder)")
    given = parser.parse_args()
    for form, (module, _) in READERS.items():
        print(f"{form}: read by {module}" if installed(module) else f"{form}: not read, {module} is not installed")
    print("classes: as torchvision numbers them" if installed("torchvision") else "classes: by sorted names, torchvision is not installed")
    at = pathlib.Path(tempfile.mkdtemp(prefix="headrace-pack-", dir=given.at))
    at.chmod(0o755)
    draw = random.Random(given.seed)
    one = kills(at, given.kills, draw)
    print(f"{one['kills']} kills of {one['targets']} packings: {one['wrong']} wrong; "
          f"{one['left by a kill']} had left something beside the shards")
    two = folders(at, given.folders, draw)
    print(f"{given.folders} folders in {len(FORMATS)} formats: {two['packed']} packed, {two['refused']} refused, {two['wrong']} wrong")
    wrong = one["wrong"] + two["wrong"]
    if not wrong:
        shutil.rmtree(at)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
