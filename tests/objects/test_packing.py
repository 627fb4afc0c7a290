"""Images of an object store, packed into shards of a folder: complete, resumable, and of one state of the store."""

import json
import random
import tarfile

import pytest
from faulty_store import FaultyStore


def images(count=40):
    draw = random.Random(5)
    objects = {f"set/c{i % 4}/é {i:03} +.jpg": draw.randbytes(3000 + i) for i in range(count)}
    objects |= {f"set/c{i % 4}/é {i:03} +.json": b'{"id": %d}' % i for i in range(count)}
    return objects | {"set/c0/": b"", "set/empty/": b"", "set/c1/.DS_Store": b"x", "set/c2/README": b"x", "other/a.jpg": b"x"}


def pack(headrace, store, *more, source="s3://bucket/set"):
    return headrace.command("pack", source, "--to", "shards", "--shard-size", "1MiB", *more, endpoint=store.endpoint)


def members(folder):
    found = {}
    for shard in sorted(folder.glob("*.tar")):
        with tarfile.open(shard) as tar:
            for one in tar:
                assert one.name not in found
                found[one.name] = tar.extractfile(one).read()
    return found


def test_every_object_comes_with_its_class(headrace):
    objects = images()
    with FaultyStore(dict(objects)) as store:
        done = pack(headrace, store)
    assert done.returncode == 0 and "40 samples of 5 classes in 80 files" in done.stdout, done
    assert "class without a file: empty" in done.stdout and "left out: 2 (marker of a folder)" in done.stdout, done.stdout
    packed = members(headrace.folder / "shards")
    wanted = {key[4:]: body for key, body in objects.items() if key.startswith("set/") and key.endswith((".jpg", ".json"))}
    assert {name: body for name, body in packed.items() if not name.endswith(".cls")} == wanted
    labels = {name: body for name, body in packed.items() if name.endswith(".cls")}
    assert len(labels) == 40 and all(body == name[1].encode() for name, body in labels.items()), labels


def test_requests_that_fail_are_sent_again(headrace):
    with FaultyStore(images()) as store:
        store.faults.refuse_each, store.faults.short_each, store.faults.reset_each = 5, 7, 11
        done = pack(headrace, store)
    assert done.returncode == 0, done
    assert len(members(headrace.folder / "shards")) == 120


@pytest.mark.parametrize("fault, says", [({"changes": True}, "was changed while it was read"),
                                         ({"refuse_each": 1, "refusal": (403, b"")}, "403")])
def test_an_object_that_is_not_the_listed_one_ends_the_packing(headrace, fault, says):
    with FaultyStore(images()) as store:
        for name, value in fault.items():
            setattr(store.faults, name, value)
        done = pack(headrace, store)
    assert done.returncode == 1 and "s3://bucket/set/c" in done.stderr and says in done.stderr, done
    assert not list((headrace.folder / "shards").glob("*.tar"))


def test_a_second_try_keeps_shards_and_refuses_another_data_set(headrace):
    objects = {f"set/a/{i:02}.jpg": random.Random(i).randbytes(300_000) for i in range(12)}
    with FaultyStore(dict(objects)) as store:
        store.faults.after, store.faults.refuse_each, store.faults.refusal = 11, 1, (403, b"")
        assert pack(headrace, store, "--order", "listed").returncode == 1
        kept = len(list((headrace.folder / "shards").glob("*.tar")))
        store.faults.refuse_each = 0
        done = pack(headrace, store, "--order", "listed")
        assert done.returncode == 0 and (kept == 0 or f"{kept} shards were there already" in done.stdout), (kept, done)
        assert len(members(headrace.folder / "shards")) == 24
        assert json.loads((headrace.folder / "shards/.headrace-pack.json").read_text())["source"] == "s3://bucket/set"
        store.objects["set/a/00.jpg"] = b"another"
        again = pack(headrace, store, "--order", "listed")
        assert again.returncode == 2 and "s3://bucket/set was changed since" in again.stderr, again


@pytest.mark.parametrize("more, code, says", [(["--rehearse"], 2, "--rehearse reads files of a folder"),
                                              (["--dry-run"], 0, "40 samples of 5 classes")])
def test_nothing_is_written_unless_asked(headrace, more, code, says):
    with FaultyStore(images()) as store:
        done = pack(headrace, store, *more)
    assert done.returncode == code and says in done.stdout + done.stderr, done
    assert not (headrace.folder / "shards").exists()


def test_a_key_that_is_no_path_is_refused(headrace):
    """Its member of a tar would be an absolute path, or two keys one path."""
    for key in ("set//c0/a.jpg", "set/c0//a.jpg"):
        with FaultyStore(images() | {key: b"x"}) as store:
            done = pack(headrace, store)
        assert done.returncode == 2 and "has an empty folder name" in done.stderr, done
    with FaultyStore(images() | {"set/c0/../../up.jpg": b"x"}) as store:
        done = pack(headrace, store)
    assert done.returncode == 0 and "(hidden)" in done.stdout, done
    assert not [name for name in members(headrace.folder / "shards") if ".." in name]


def test_a_place_without_objects_is_named(headrace):
    with FaultyStore(images()) as store:
        nothing = pack(headrace, store, source="s3://bucket/nowhere")
        target = headrace.command("pack", "s3://bucket/set", "--to", "s3://bucket/shards", endpoint=store.endpoint)
    assert nothing.returncode == 1 and "s3://bucket/nowhere: no object lies below it" in nothing.stderr, nothing
    assert target.returncode == 2 and "--to is a folder" in target.stderr, target
