"""Files as a case describes them: text, random bytes, images, links."""

import io
import os
import pathlib
import re
import shutil

INPUTS = pathlib.Path(__file__).resolve().parent / "inputs"
TREE = INPUTS.parents[2]
KEYS = {"text", "mode", "copy", "repeat", "random", "link", "fifo", "jpeg", "png"}


def spread(name):
    """a{0..2}{x,y}: as a shell has it."""
    found = re.search(r"\{(?:(\d+)\.\.(\d+)|([^{}]*,[^{}]*))\}", name)
    if not found:
        return [name]
    first, last, words = found.groups()
    parts = words.split(",") if words else [str(i).zfill(len(first)) for i in range(int(first), int(last) + 1)]
    return [one for part in parts for one in spread(name[:found.start()] + part + name[found.end():])]


def image(form, how, rng):
    """An image of `size` pixels squared; mode and save: Pillow's; lost: bytes missing before the end; tail: bytes behind it."""
    from PIL import Image
    how = how if isinstance(how, dict) else {"size": how}
    drawn, mode = Image.frombytes("RGB", (how["size"], how["size"]), rng.randbytes(3 * how["size"] ** 2)), how.get("mode", "RGB")
    picture = Image.frombytes("I;16", drawn.size, rng.randbytes(2 * how["size"] ** 2)) if mode == "I;16" else drawn.convert(mode)
    options = dict(how.get("save", {}))
    if "orientation" in how:
        options["exif"] = Image.Exif()
        options["exif"][0x112] = how["orientation"]
    if "frames" in how:
        options |= {"save_all": True, "append_images": [picture.rotate(90 * i) for i in range(1, how["frames"])]}
    into = io.BytesIO()
    picture.save(into, how.get("format", form), **options)
    kept, end = into.getvalue()[:-2], into.getvalue()[-2:]
    return kept[:len(kept) - how.get("lost", 0)] + end + rng.randbytes(how.get("tail", 0))


def make(path, what, rng):
    path.parent.mkdir(parents=True, exist_ok=True)
    what = what if isinstance(what, dict) else {"text": what}
    if "link" in what:
        return path.symlink_to(what["link"])
    if "fifo" in what:
        return os.mkfifo(path)
    if "copy" in what:
        shutil.copy(next(p for p in (INPUTS / what["copy"], TREE / what["copy"]) if p.exists()), path)
    elif "random" in what:
        path.write_bytes(rng.randbytes(what["random"]))
    elif form := next((form for form in ("jpeg", "png") if form in what), None):
        path.write_bytes(image(form, what[form], rng))
    else:
        path.write_text(what["repeat"][0] * what["repeat"][1] if "repeat" in what else str("" if what["text"] is None else what["text"]))
    path.chmod(what.get("mode", 0o644))
