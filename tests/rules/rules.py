"""Rules of the house that no compiler keeps. Usage: rules.py includes|workloads|files|words|links|printing|format|house, or rules.py libraries TREE
with a build folder or an installed tree (from anywhere; stdlib only, and binutils for libraries)."""

import importlib.machinery
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import codes
import language

ROOT = Path(__file__).resolve().parents[2]

# Folders of backends that nobody outside includes; headers of backends/ itself, its decoders and formats are for all.
APART = r"backends/(cuda|jpeg|mpi|nccl|npz|nvml|parquet|png|posix|s3|uring|verbs|zstd)/"


def linked_rooms():
    """Room of harness/ -> the rooms that it links, from its CMakeLists.txt: it includes no other."""
    for file in sorted((ROOT / "harness").glob("*/CMakeLists.txt")):
        words = re.search(r"headrace_room\((?:LINKS ((?:[a-z]+ ?)+))?", file.read_text())
        yield file.parent.name, [file.parent.name, *(words[1] or "").split()]


# (who, may include): the first pattern that fits a file decides; system headers are judged by VENDOR_HEADERS.
PROJECT_INCLUDES = [
    (r"tests/", r"."),
    (r"workloads/", rf"(harness/(?!{APART})(backends|base|machine|record|workload)/.*\.h|harness/job/formula\.h|workloads/.*\.h)$"),
    (r"benches/", r"(harness|benches)/"),
    (r"harness/job/", r"harness/(job/|base/([^/]+|config/[^/]+)$)"),
    # Judged is what was recorded: nothing here may ask what lives only while something is measured.
    (r"harness/judge/verdict/", r"harness/(judge/(verdict|statistics)/.*|job/(needs|need_kinds|way)|base/.*|"
                                r"record/(params|ranks/rank_groups|metric|highest_rate|cache_state|connections|fault_counts|pair_matrix))(\.h)?$"),
    (r"harness/backends/engines\.cc", r"harness/(base|record)/|harness/backends/([^/]+|[^/]+/traits\.h)$"),
    (r"harness/backends/(?P<own>[^/]+)/", rf"harness/(base|record)/|harness/(?!{APART})backends/|harness/backends/{{own}}/"),
    *((rf"harness/{room}/", rf"harness/(?!{APART})({'|'.join(linked)})/|headrace_revision\.h$") for room, linked in linked_rooms()),
]

# Libraries that only the named files may see.
VENDOR_HEADERS = [
    (r"benchmark/", r"harness/engine/|benches/(?!headrace/)|tests/"),
    (r"yaml-cpp/", r"harness/base/config/document\.cc$"),
    (r"CLI/", r"benches/headrace/"),
    (r"nlohmann/(?!json_fwd)", r".*\.cc$|harness/results/fields_codec\.h$"),
    (r"liburing", r"harness/backends/uring/"),
    (r"cuda_runtime", r"harness/backends/(cuda|nccl)/"),
    (r"(cuda(?!_runtime_api)|cublas|cufile|nvml)", r"harness/backends/cuda/"),
    (r"nccl", r"harness/backends/nccl/"),
    (r"(infiniband|rdma)/", r"(harness/backends/verbs|tests/unit/fakes)/"),
    (r"(jpeglib|jerror|jmorecfg)\.h", r"(harness/backends/jpeg|benches/peers/minimal)/"),
    (r"png\.h", r"harness/backends/png/"),
    (r"zstd\.h", r"harness/backends/zstd/"),
    (r"zlib\.h", r"(harness/backends/npz/|harness/machine/examine/bundle\.cc$|harness/observe/calls/|tests/)"),
    (r"(arrow|parquet)/", r"harness/backends/parquet/"),
    (r"(curl|openssl)/", r"(harness/backends/s3|benches/peers/minimal)/"),
    (r"pugixml", r"harness/backends/s3/"),
    (r"mpi\.h", r"(harness/backends/mpi|benches/peers/minimal)/"),
]

# Marks of unfinished work, and paths of one person's machine.
UNWANTED = re.compile(
    r"\b(TODO|FIXME|XXX|HACK|placeholder(?!=)|not implemented|for now)\b|(?<![\w.])/(work|root|home|Users)/\w"
)


def tracked(*patterns):
    """Files of the tree; from an unpacked archive, all that are not built or made by runs."""
    listed = shutil.which("git") and subprocess.run(["git", "-C", ROOT, "ls-files", "--", *patterns],
                                                    capture_output=True, text=True)
    if listed and listed.returncode == 0:
        files = [ROOT / name for name in listed.stdout.splitlines()]
    else:
        made = {".git", "build", "headrace-runs", "headrace-scratch", "__pycache__"}
        files = [f for p in patterns or ["*"] for f in ROOT.rglob(p) if not made & set(f.relative_to(ROOT).parts)]
    return [f for f in files if f.is_file()]


def includes():
    for file in tracked("*.cc", "*.h"):
        name = file.relative_to(ROOT).as_posix()
        # A header with a .cc is the first that it includes, and so compiles alone.
        first = file.with_suffix(".h").relative_to(ROOT).as_posix() if file.suffix == ".cc" and file.with_suffix(".h").exists() else None
        for number, line in enumerate(file.read_text().splitlines(), 1):
            found = re.match(r'\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', line)
            if not found:
                continue
            ours, system = found.groups()
            if first and ours != first:
                yield f"{name}:{number}: includes {ours or system} before {first}"
            first = None
            if ours:
                rule = next((m, allowed) for who, allowed in PROJECT_INCLUDES if (m := re.match(who, name)))
                allowed = rule[1].replace("{own}", rule[0].groupdict().get("own", ""))
                if not re.match(allowed, ours):
                    yield f"{name}:{number}: must not include {ours}"
            else:
                for header, where in VENDOR_HEADERS:
                    if re.match(header, system) and not re.match(where, name):
                        yield f"{name}:{number}: must not include <{system}>"


MOST_VIRTUAL = 16  # of the contract that every workload has; what few can do is in abilities.h


def workloads():
    contract = (ROOT / "harness/workload/workload.h").read_text()
    found = len(re.findall(r"^ *virtual ", contract, re.M))
    if not 0 < found <= MOST_VIRTUAL:
        yield f"harness/workload/workload.h: {found} virtual functions; 1 to {MOST_VIRTUAL} are allowed"
    configs = "\n".join(f.read_text() for f in tracked("configs/*.yaml"))
    for file in tracked("workloads/*.cc"):
        name = file.relative_to(ROOT).as_posix()
        registered = re.findall(r'\bRegister<[\w:<>]+>\s+\w+\s*[({]\s*"(\w+)"', file.read_text())
        words = file.stem.split("_")  # code that workloads share has a header: rdma_pair.h of rdma_pair_ends.cc, too
        headers = ["_".join(words[:n]) + ".h" for n in {max(len(words) - 1, 2), len(words)}]
        if not registered and not any((file.parent / header).exists() for header in headers):
            yield f"{name}: registers no workload"
        for workload in registered:
            if not re.search(rf"\buse:\s*{workload}\b", configs):
                yield f"{name}: no file in configs/ uses {workload}"


# Ways to make, replace, change the names of, or remove files; of each an example, which must be caught.
FILE_CALLS = [
    (r"\bO_(CREAT|TRUNC|TMPFILE|WRONLY|RDWR)\b", "::open(path, O_CREAT)"),
    (r"\bcreat\(", "::creat(path, 0644)"),
    (r"\bfopen\([^;]*\"[^\"]*[wa+]", 'std::fopen(path, "w")'),
    (r"\bstd::o?fstream\b", "std::ofstream out(path)"),
    (r"\b(mkd?temp|mks?temp|mkostemp|tmpfile|mkfifo|mknod(at)?|mkdir(at)?|rmdir|unlink(at)?|renameat2?|linkat|symlink(at)?)\(",
     "unlinkat(folder, name, 0)"),
    (r"(?<![\w>])::(rename|link|truncate|remove|chmod|chown|fchmodat|fchownat|utimensat)\(|\bstd::rename\(|std::remove\([^,]*\)",
     "::rename(from, to)"),
    (r"\b(fs|filesystem)::(remove|remove_all|create_\w+|rename|copy\w*|resize_file|permissions|last_write_time)\b",
     "std::filesystem::remove_all(folder)"),
]

# What is opened for writing elsewhere, and is no file of anybody's.
NO_FILES = {
    "harness/workload/data/cache_control.cc": "/proc/sys/vm/drop_caches",
    "benches/headrace/console.cc": "/dev/null",
    "harness/base/system/spawn.cc": "/dev/null",
}


def files():
    """Only harness/base/files/ makes, replaces and removes files: it proves first that they are headrace's."""
    for pattern, example in FILE_CALLS:
        if not re.search(pattern, example):
            yield f"the rule does not catch: {example}"
    for file in tracked("*.cc", "*.h", "*.cu"):
        name = file.relative_to(ROOT).as_posix()
        # What is loaded into other programs passes their calls on, and makes none of its own.
        if name.startswith(("harness/base/files/", "harness/observe/preload/", "tests/")):
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            code = line.split("//")[0]
            if name in NO_FILES and f'"{NO_FILES[name]}"' in code:
                continue
            for pattern, _ in FILE_CALLS:
                if re.search(pattern, code):
                    yield f"{name}:{number}: {code.strip()}: only harness/base/files/ may"


# Pages that people read.
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG*", "docs/*.md"]
LONGEST_PAGE = {"README.md": 120}  # lines; others: 250


def words():
    """No marks of unfinished work; pages, printed texts and comments in plain English; pages short, and listed in their index."""
    yield from language.unseen()
    index = (ROOT / "docs/README.md").read_text()
    for page in tracked(*PAGES):
        name, text = page.relative_to(ROOT).as_posix(), page.read_text()
        yield from language.faults(name, text)
        if (lines := text.count("\n")) > LONGEST_PAGE.get(name, 250):
            yield f"{name}: {lines} lines, at most {LONGEST_PAGE.get(name, 250)}"
        if name.startswith("docs/") and name != "docs/README.md" and f"({name.removeprefix('docs/')})" not in index:
            yield f"{name} is not in docs/README.md"
    for file in tracked("harness/*", "workloads/*", "benches/headrace/*", "reports/*"):
        if file.suffix in {".cc", ".h", ".py", ".html"}:
            yield from language.text_faults(file.relative_to(ROOT).as_posix(), file.read_text())
    for file in tracked("harness/*", "workloads/*", "benches/*", "reports/*"):
        if file.suffix in {".cc", ".h", ".cu", ".py", ".cmake"} or file.name == "CMakeLists.txt":
            yield from language.comment_faults(file.relative_to(ROOT).as_posix(), file.read_text())
    for file in tracked("tests/*.cc", "tests/*.cu", "tests/*.py"):
        yield from language.test_name_faults(file.relative_to(ROOT).as_posix(), file.read_text(errors="replace"))
    for file in tracked("*.cc", "*.h", "*.cu", "*.py"):
        if "rules" not in file.parts:
            yield from language.name_faults(file.relative_to(ROOT).as_posix(), file.read_text())
    for file in tracked():
        if file == Path(__file__).resolve() or file.suffix in {".png", ".svg"}:
            continue
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
            if found := UNWANTED.search(line):
                yield f"{file.relative_to(ROOT)}:{number}: '{found.group()}'"


# Paths of pages as text anywhere in the tree, and links of Markdown pages. Addresses elsewhere are not followed.
PAGE_PATH = re.compile(r"(?<![\w./-])docs/[\w./-]*\.(?:md|html|png|svg)\b")
SOURCE = re.compile(r"`((?:configs|tests|tools|reports|benches|workloads|harness)/[a-z0-9_./-]*[a-z0-9_]/?)`")  # in pages
TO_BE_MADE = {"docs/how-to/add-a-workload.md", "docs/how-to/report-a-case.md"}  # they show files to write
LINK = re.compile(r"\]\(([^()\s]+)\)|(?:srcset|src)=\"([^\"]+)\"")


def anchors(page):
    """The names that headings of a page get on its host: lower case, no punctuation, hyphens for blanks, numbered when repeated."""
    text, names = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M), {}
    for heading in re.findall(r"^#+ +(.+)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        names[name] = names.get(name, -1) + 1
        if names[name]:
            names[f"{name}-{names[name]}"] = 0
    return names


def broken_links(page, text):
    """Relative links of a Markdown page that lead nowhere: (line, target)."""
    plain = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.S | re.M)
    plain = re.sub(r"`[^`\n]*`", "", plain)
    for found in LINK.finditer(plain):
        target, _, anchor = (found[1] or found[2]).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        aim = (page.parent / target) if target else page
        if not aim.exists() or anchor and anchor not in anchors(aim):
            yield plain.count("\n", 0, found.start()) + 1, found[1] or found[2]


def links():
    """Every page that the tree names is there, and every heading that a link names; and the page of codes is that of the source."""
    yield from codes.problems()
    readme = ROOT / "README.md"
    if len(list(broken_links(readme, "[a](README.md) [b](no.md)\n[c](#no-heading) [d](https://x.org/no.md)"))) != 2:
        yield "the rule does not catch a dangling link"
    if PAGE_PATH.findall("see docs/no/such.md, not https://x.org/docs/a.md") != ["docs/no/such.md"]:
        yield "the rule does not catch a dangling path"
    if SOURCE.findall("`tests/no/such_test.cc` and `configs/jobs/NAME.yaml`") != ["tests/no/such_test.cc"]:
        yield "the rule does not catch a source that is gone"
    for file in tracked("*.cc", "*.h", "*.cu", "*.py"):
        if "rules" not in file.parts:
            yield from language.name_faults(file.relative_to(ROOT).as_posix(), file.read_text())
    for file in tracked():
        if file == Path(__file__).resolve() or file.suffix in {".png", ".svg", ".html"}:
            continue
        name, text = file.relative_to(ROOT), file.read_text(errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            for path in PAGE_PATH.findall(line):
                if not (ROOT / path).exists() and not (file.parent / path).exists():
                    yield f"{name}:{number}: {path} is not there"
        if file.suffix == ".md":
            for number, target in broken_links(file, text):
                yield f"{name}:{number}: {target} leads nowhere"
            if name.as_posix() not in TO_BE_MADE:
                yield from (f"{name}: {path} is not there" for path in SOURCE.findall(text) if not (ROOT / path).exists())


# What reaches a terminal goes through one place, which makes foreign text harmless.
PRINTS = re.compile(r"\b(printf|fprintf|puts|fputs|putchar|fputc|perror|dprintf|cout|cerr|clog)\b|\bfmt::print|\bText::own\(")
MAY_PRINT = dict.fromkeys(("text.h", "text.cc", "terminal.cc"), "Text::own(")  # blanks and colours


def printing():
    for file in tracked("benches/headrace/*", "harness/*", "workloads/*"):
        if file.suffix not in {".cc", ".h"} or file.name == "console.cc":
            continue
        lines = file.read_text().splitlines()
        for number, line in enumerate(lines):
            found = PRINTS.search(line.split("//")[0])
            if not found or found[0] == MAY_PRINT.get(file.name):
                continue
            # Our own bugs end in words to whoever debugs them.
            if found[0] == "fprintf" and any("abort()" in later for later in lines[number:number + 5]):
                continue
            yield f"{file.relative_to(ROOT)}:{number + 1}: {found[0]}: what is shown goes through benches/headrace/console.h"


def layout():
    """The code is laid out as .clang-format says. Other versions of the tool have other tastes: then nothing is said."""
    tool = shutil.which("clang-format")
    told = tool and subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    if not told or not re.search(r"version 14\.", told):
        print(f"clang-format 14 is needed: {(told or 'it is not installed').strip()}")
        sys.exit(77)
    files = [str(f) for f in tracked("*.cc", "*.h", "*.cu")]
    found = subprocess.run([tool, "--dry-run", *files], capture_output=True, text=True, cwd=ROOT).stderr
    yield from sorted({line for line in found.splitlines() if "[-Wclang-format" in line})


def house():
    """No arrow runs back up, no circle; the picture in the docs is of these rooms and arrows."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("house", str(ROOT / "tools/house"))
    spec = importlib.util.spec_from_loader("house", loader)
    drawing = importlib.util.module_from_spec(spec)
    loader.exec_module(drawing)
    knows = drawing.house()
    if around := drawing.circles(knows):
        yield from ("a circle: " + ", ".join(circle) for circle in around)
        return
    if not drawing.circles({"a": {"b"}, "b": {"a"}}):
        yield "the rule does not see a circle"
    if drawing.PICTURE.read_text() != drawing.picture(knows):
        yield f"{drawing.PICTURE.relative_to(ROOT)} shows another house: run tools/house --draw"


def libraries():
    """The loader takes an empty or relative entry of a library path for the current directory, whoever's that is."""
    tree, seen = Path(sys.argv[2]), 0
    for file in sorted(tree.rglob("*")):
        if file.is_symlink() or not file.is_file() or "CMakeFiles" in file.parts or file.suffix in {".o", ".a"}:
            continue
        with file.open("rb") as start:
            if start.read(4) != b"\x7fELF":
                continue
        seen += 1
        told = subprocess.run(["readelf", "-dW", file], capture_output=True, text=True, check=True).stdout
        for kind, path in re.findall(r"\((RPATH|RUNPATH)\).*\[(.*)\]", told):
            for entry in path.split(":"):
                if not re.match(r"\$ORIGIN(/|$)", entry):
                    yield f"{file}: {kind} [{path}]: entry '{entry}' does not begin with $ORIGIN"
    if not seen:
        yield f"{tree}: no program or library there"


if __name__ == "__main__":
    rules = {"includes": includes, "workloads": workloads, "files": files, "words": words, "links": links, "printing": printing,
             "format": layout, "house": house, "libraries": libraries}
    problems = list(rules[sys.argv[1]]())
    print("\n".join(problems) or "kept")
    sys.exit(bool(problems))
