"""Runs cases that are data: each YAML file below this folder says what a user has, what he types, and what he must get.
docs/how-to/report-a-case.md describes the keys. `run` in this folder selects cases by name and label."""

import difflib
import functools
import importlib.machinery
import importlib.util
import json
import math
import operator
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest
import yaml

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path.insert(0, str(HERE))
import made_files  # noqa: E402

loader = importlib.machinery.SourceFileLoader("e2e", str(TESTS / "e2e/conftest.py"))
e2e = importlib.util.module_from_spec(importlib.util.spec_from_loader("e2e", loader))
loader.exec_module(e2e)
BUILD = pathlib.Path(e2e.BINARY).resolve().parent
PATH = os.pathsep.join(map(str, [HERE / "tools", BUILD, BUILD / "tests", TESTS / "net", TESTS / "rdma/vm", os.environ["PATH"], "/usr/sbin", "/sbin"]))
GUARD_S = 150
LABELS = ("fast", "slow", "long")

STEP = {"before", "run", "code", "out", "err", "says", "never", "empty", "lines", "verdict", "fields", "exists", "missing", "limit"}
CASE = STEP | {"source", "right", "label", "needs", "possible", "env", "files", "setup", "hosts", "net", "columns", "rows", "steps", "replay", "open"}


class Bad(Exception):
    """A case file that cannot be read, with its place."""


def succeeds(*words):
    return lambda: subprocess.run(words, capture_output=True, env=os.environ | {"PATH": PATH}).returncode == 0


def program(name, package):
    return lambda: shutil.which(name, path=PATH), f"needs {name} (Debian: {package})"


# What a case may need: whether it is here, and the reason of the skip.
NEEDS = {
    "root": (lambda: os.geteuid() == 0, "needs root"),
    "mounts": (succeeds("unshare", "-m", "true"), "mount namespaces cannot be made here (root)"),  # and the case runs in one
    "hosts": (succeeds("with-net-hosts", "2", "--", "true"), "network namespaces cannot be made here (root, Debian: iproute2)"),
    "mpi": (lambda: shutil.which("mpirun") and (BUILD / "plugins/headrace_mpi.so").exists(), "needs mpirun and the MPI plugin (Debian: openmpi-bin)"),
    "faults": (lambda: (BUILD / "tests/faulty_fs").exists() and os.path.exists("/dev/fuse"), "needs FUSE (Debian: libfuse3-dev, fuse3)"),
    "images": (lambda: importlib.util.find_spec("PIL"), "needs Pillow (Debian: python3-pil)"),
    "nft": program("nft", "nftables"), "setfacl": program("setfacl", "acl"), "mksquashfs": program("mksquashfs", "squashfs-tools"),
    "mkfs.ext4": program("mkfs.ext4", "e2fsprogs"), "qemu-system-x86_64": program("qemu-system-x86_64", "qemu-system-x86"),
}


@functools.lru_cache(None)
def here(need):
    return bool(NEEDS[need][0]())


# --- reading a case file ----------------------------------------------------------------------------------------------

def nearest(word, known):
    return "".join(f"; did you mean '{near}'?" for near in difflib.get_close_matches(str(word), known, 1))


def data(node, place, keys=None, inside=()):
    """A YAML node as Python data; `keys`: those that a map may have; `inside`: of its values that are maps, or lists of maps."""
    if isinstance(node, yaml.SequenceNode):
        return [data(one, place, keys) for one in node.value]
    if not isinstance(node, yaml.MappingNode):
        return yaml.SafeLoader("").construct_object(node)
    found = {}
    for key, value in node.value:
        at = f"{place}:{key.start_mark.line + 1}"
        if keys and key.value not in keys:
            raise Bad(f"{at}: no key '{key.value}'{nearest(key.value, keys)}; keys here: {', '.join(sorted(keys))}")
        if key.value in found:
            raise Bad(f"{at}: '{key.value}' is here twice")
        if key.value == "files" and "files" in inside:  # any name, and below it the keys of a file
            found["files"] = {name.value: data(file, place, made_files.KEYS) for name, file in value.value}
        else:
            found[key.value] = data(value, place, STEP if key.value == "steps" and "steps" in inside else None)
    return found


def as_list(value):
    return value if isinstance(value, list) else [value]


def filled(value, row):
    """`value` with each @NAME@ replaced; what is nothing but @NAME@ becomes the row's value itself."""
    if isinstance(value, dict):
        return {filled(k, row): filled(v, row) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(one, row) for one in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"@(\w+)@", value)
    return row[whole[1]] if whole and whole[1] in row else re.sub(r"@(\w+)@", lambda m: str(row.get(m[1], m[0])), value)


def check(case, place):
    def must(good, what):
        if not good:
            raise Bad(f"{place}: {what}")
    must(isinstance(case.get("right"), str), "'right' is missing: a sentence that says what is right")
    for address in as_list(case.get("source", [])):
        must(re.match(r"https://\S+$", str(address)), f"source: '{address}' is no address (https://...)")
    for key, known in (("label", LABELS), ("needs", NEEDS)):
        for word in as_list(case.get(key, [])):
            must(word in known, f"{key}: '{word}' is none of {', '.join(known)}{nearest(word, known)}")
    must(("columns" in case) == ("rows" in case), "'columns' and 'rows' go together")
    for row in case.get("rows", []):
        must(isinstance(row, list) and len(row) == len(case["columns"]), f"rows: {row} has not one value for each of {case['columns']}")
    must("steps" not in case or not STEP & set(case), f"{', '.join(sorted(STEP & set(case)))}: belongs into a step, for there are steps")
    for step in case.get("steps", [case]):
        must(isinstance(step.get("run"), str), "'run' is missing: what the user types")
        for key in ("out", "err", "says", "never"):
            must(not any(isinstance(one, dict) for one in as_list(step.get(key, []))), f"{key}: text with ': ' in it needs quotes")
        must((STEP - {"before", "run", "limit"}) & set(step), f"'{step['run']}' has no expectation (code, says, ...); what only prepares belongs into 'setup'")


def read(file):
    """(name, case) of each case in the file. A document with nothing but `every` is what the following ones begin with."""
    place, every = os.path.relpath(file, TESTS.parent), {}
    try:
        documents = [node for node in yaml.compose_all(file.read_text(), yaml.SafeLoader) if node]
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        raise Bad(f"{place}:{mark.line + 1 if mark else 1}: {getattr(e, 'problem', e)}") from None
    for node in documents:
        at = f"{place}:{node.start_mark.line + 1}"
        if not isinstance(node, yaml.MappingNode):
            raise Bad(f"{at}: a case is a map of keys")
        if [key.value for key, _ in node.value] == ["every"]:
            every = data(node.value[0][1], place, CASE, ("files",))
            continue
        own = data(node, place, CASE, ("files", "steps"))
        case = {**every, **own, **{key: {**every[key], **own[key]} for key in ("files", "env") if key in every and key in own}}
        if "steps" in own:
            case = {k: v for k, v in case.items() if k not in STEP or k in own}
            case["steps"] = [{**{k: v for k, v in every.items() if k in STEP}, **step} for step in own["steps"]]
        check(case, at)
        for number, values in enumerate(case.pop("rows", [None]), 1):
            row = dict(zip(case.get("columns", []), values or []))
            name = f"{file.parent.name}/{file.stem}:{node.start_mark.line + 1}" + (f"[{number}]" if row else "")
            yield name, {**filled(case, row), "place": at, "row": row}


def collected():
    wanted, label = os.environ.get("HEADRACE_CASES", ""), os.environ.get("HEADRACE_CASES_LABEL")
    for file in sorted(pathlib.Path(os.environ.get("HEADRACE_CASES_IN", HERE)).glob("*/*.yaml")):
        if file.parent.name == "inputs":
            continue
        try:
            yield from (pytest.param(case, id=name) for name, case in read(file)
                        if wanted in f"{name} {case['right']}" and (not label or label == case.get("label", "slow")))
        except Bad as e:
            yield pytest.param({"bad": str(e)}, id=f"{file.parent.name}/{file.stem}")


# --- running -----------------------------------------------------------------------------------------------------------

class Place:
    """A folder of its own and, for a case that mounts, a mount namespace; what was started there ends with it."""

    def __init__(self, case, folder):
        self.folder = folder
        self.env = e2e.Headrace(folder).environment(PATH=PATH, **{k: str(v) for k, v in case.get("env", {}).items()})
        self.hosts, self.started, self.enter = [], [], []
        if "hosts" in case:
            self.hosts = ["with-net-hosts", str(case["hosts"]), *case.get("net", "--rate 40mbit").split()]
            (folder / "hosts").write_text("".join(f"node{n}\n" for n in range(1, case["hosts"] + 1)))
        if "mounts" in as_list(case.get("needs", [])):
            keeper = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-c", "echo; exec sleep infinity"],
                                      stdout=subprocess.PIPE, start_new_session=True)
            keeper.stdout.readline()
            self.started.append(keeper)
            self.enter = ["nsenter", "-t", str(keeper.pid), "-m"]

    def __call__(self, command, limit=GUARD_S, on_hosts=False):
        hosts = [*self.hosts, "-t", str(limit - 10), "--"] if on_hosts and self.hosts else []  # it takes its hosts away itself
        words = [*hosts, "bash", "-c", f"cd {self.folder}; NS=${{NET_HOSTS_ID-}}\n{command}"]
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([*self.enter, *words], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=err, start_new_session=True)
            self.started.append(process)
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = f"none: it had not ended after {limit} s"
            texts = [(file.seek(0), file.read().decode(errors="replace"))[1] for file in (out, err)]
        return e2e.Outcome(128 - code if isinstance(code, int) and code < 0 else code, *texts)

    def end(self):
        for process in reversed(self.started):
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


# --- what he must get -------------------------------------------------------------------------------------------------

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "!=": operator.ne,
           "~": lambda got, wanted: math.isclose(got, wanted, rel_tol=1e-7)}


def is_rule(wanted):
    return isinstance(wanted, dict) and set(wanted) <= {"some", "none", "count"}


def fits(wanted, got):
    """/regex/, '< 3', '~ 3' (to seven digits), a list of allowed values, {some: X}, {none: X}, {count: N} of several values, or the value itself."""
    if is_rule(wanted):
        rules = {"some": lambda w: any(fits(w, one) for one in got), "none": lambda w: not any(fits(w, one) for one in got),
                 "count": lambda w: fits(w, len(got))}
        return all(rules[rule](w) for rule, each in wanted.items() for w in as_list(each))
    if isinstance(wanted, list):
        return got == wanted or any(fits(one, got) for one in wanted)
    if isinstance(wanted, str) and len(wanted) > 1 and wanted[0] == wanted[-1] == "/":
        return re.search(wanted[1:-1], str(got), re.M) is not None
    if isinstance(wanted, str) and (found := re.fullmatch(r"(<=?|>=?|!=|~) *(-?[\d.e+-]+)", wanted)):
        return isinstance(got, (int, float)) and COMPARE[found[1]](got, float(found[2]))
    return got == wanted


def at_path(values, path):
    """The values at a path such as points.0.metrics[name=read_rate].values.*; * and [key=value] may give several or none."""
    for key, name, value in re.findall(r"([^.\[\]]+)|\[([^=\]]+)=([^\]]*)\]", path):
        if name:
            values = [one for v in values for one in (v if isinstance(v, list) else [v]) if str(one.get(name)) == value]
        elif key == "*":
            values = [one for v in values for one in (v.values() if isinstance(v, dict) else v)]
        else:
            values = [v[int(key)] if isinstance(v, list) else v[key] for v in values
                      if (isinstance(v, list) and int(key) < len(v)) or (isinstance(v, dict) and key in v)]
    return values


def holds(text, wanted):
    """Literal text, or /regex/; where lines are broken does not matter for literal text."""
    if len(wanted) > 1 and wanted[0] == wanted[-1] == "/":
        return re.search(wanted[1:-1], text, re.M) is not None
    return wanted in text or wanted in " ".join(text.split())


def unmet(step, got, folder):
    """Each expectation of the step that is not met."""
    both = got.out + got.err
    streams = {"out": got.out, "err": got.err, "says": both}
    if not fits(step.get("code", got.code), got.code):
        yield f"code: {got.code}, not {step['code']}"
    for key, text in streams.items():
        yield from (f"{key}: it holds no '{one}'" for one in as_list(step.get(key, [])) if not holds(text, str(one)))
    yield from (f"never: it holds '{one}'" for one in as_list(step.get("never", [])) if holds(both, str(one)))
    yield from (f"empty: '{one}' is not" for one in as_list(step.get("empty", [])) if streams[one].strip())
    yield from (f"lines: {key} has {len(streams[key].splitlines())}, not {n}" for key, n in step.get("lines", {}).items()
                if not fits(n, len(streams[key].splitlines())))
    if "verdict" in step:
        line = ([line for line in got.out.splitlines() if line.startswith("VERDICT ")] or ["VERDICT (none)"])[-1]
        named = {"word": line.split()[1], **{k: yaml.safe_load(v) for k, v in re.findall(r" (\w+)=(\S+)", line)}}
        yield from (f"verdict: {key} is {named.get(key)}, not {wanted}" for key, wanted in step["verdict"].items() if not fits(wanted, named.get(key)))
    for file, wants in step.get("fields", {}).items():
        try:
            text = got.out if file == "stdout" else (folder / file).read_text()
            root = json.loads(text) if file == "stdout" or file.endswith(".json") else yaml.safe_load(text)
        except (OSError, ValueError, yaml.YAMLError) as e:
            yield f"fields: {file}: {e}"
            continue
        for path, wanted in wants.items():
            found = at_path([root], path)
            if not (fits(wanted, found) if is_rule(wanted) else found and all(fits(wanted, one) for one in found)):
                yield f"fields: {file}: {path} is {found[0] if len(found) == 1 else found}, not {wanted}"
    yield from (f"exists: nothing is at {one}" for one in as_list(step.get("exists", [])) if not list(folder.glob(one)))
    yield from (f"missing: {one} is there" for one in as_list(step.get("missing", [])) if list(folder.glob(one)))


def wrong_of(case, folder, place):
    """What is not as it must be; "" = all is right."""
    rng = random.Random(case["right"])
    for names, what in case.get("files", {}).items():
        for name in made_files.spread(names):
            made_files.make(folder / name, what, rng)
    for one in as_list(case.get("possible", [])):
        if place(one["run"]).code != 0:
            pytest.skip(one["otherwise"])
    for command in as_list(case.get("setup", [])):
        if (done := place(command)).code != 0:
            pytest.fail(f"{case['place']}: setup: '{command}' failed: {done}", pytrace=False)
    for step in case.get("steps", [case]):
        done = place(f"{step.get('before', '')}\n{step['run']}", step.get("limit", GUARD_S), on_hosts=True)
        if wrong := list(unmet(step, done, folder)):
            row = [f"  row: {case['row']}"] if case["row"] else []
            return "\n".join([f"{case['place']}: {case['right']}", *row, f"  typed: {step['run'].strip()}", *(f"  WRONG {one}" for one in wrong), str(done)])
    return ""


NONE = {"bad": f"no case has '{os.environ.get('HEADRACE_CASES')}' in its name or sentence"}


@pytest.mark.parametrize("case", list(collected()) or [NONE])
def test_case(case, tmp_path):
    if "bad" in case:
        pytest.fail(case["bad"], pytrace=False)
    for need in as_list(case.get("needs", [])):
        if not here(need):
            pytest.skip(NEEDS[need][1])
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # other users, whom some cases play, come in
    place = Place(case, tmp_path)
    try:
        wrong = wrong_of(case, tmp_path, place)
        if wrong and case.get("open"):
            pytest.xfail(f"known and open: {case['open']}")
        if wrong:
            pytest.fail(wrong, pytrace=False)
        if case.get("open"):
            pytest.fail(f"{case['place']}: this is right now: remove its 'open'", pytrace=False)
        if case.get("replay", True):
            e2e.replay(e2e.BINARY, tmp_path)
    finally:
        place.end()
