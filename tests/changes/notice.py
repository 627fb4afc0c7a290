#!/usr/bin/env python3
"""Shows which small changes of the code that decides the unit tests would not notice (mutation testing).

Takes a finished build with unit tests, finds operators, constants and conditions of the decision code by its syntax
tree, and draws a sample. All changes of the sample are compiled at once into a second copy of the library that the test
programs share, each behind a switch that an environment variable sets; nothing in the source tree or the build is
touched. A first run of each test records which switches it asks; then each change is made in turn, and the tests that
ask for it run, the fastest first, until one fails. A change that no test fails for is unnoticed.

  cmake -S . -B build/changes -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-O1 && ninja -C build/changes unit_tests
  tests/changes/notice.py --build build/changes                # all of the sample
  tests/changes/notice.py --build build/changes --list         # what it would change
  tests/changes/notice.py --build build/changes --unnoticed    # again what went unnoticed the last time
  tests/changes/notice.py --build build/changes --room rehearsal,observation --count 120
  tests/changes/notice.py --build build/changes --only 17,23   # these, with what the tests say

Any build will do; one with sanitizers takes five times as long.

Changes that make no difference stand in no_difference.txt, with the reason. Needs libclang's Python bindings (Debian:
python3-clang). Ends with 0 when at least 90 % are noticed and each other one is explained; with 1 when not; with 2 when
it cannot be decided.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Rooms of decisions, and the files of each. What only puts into words or draws is left out.
ROOMS = {
    "statistics": ["harness/judge/statistics/*.cc"],
    "verdict": ["harness/judge/verdict/*.cc"],
    "expectations": ["harness/judge/expectations/*.cc"],
    "evidence": ["harness/engine/explain/evidence.cc", "harness/engine/explain/questions.cc",
                 "harness/engine/explain/fits.cc", "harness/engine/explain/collective_fit.cc",
                 "harness/engine/explain/scaling*.cc", "harness/engine/explain/client_headroom.cc",
                 "harness/engine/explain/rules_kept.cc", "harness/engine/phase_result.cc",
                 "harness/engine/look_by_look.cc", "harness/engine/ledger.cc", "harness/engine/first_touch.cc",
                 "harness/engine/search.cc"],
    "ranks": ["harness/engine/rank_*.cc", "harness/engine/explain/rank_findings.cc", "harness/record/pair_*.cc"],
    "rehearsal": ["harness/engine/explain/rehearsal.cc", "harness/engine/explain/limit_proof.cc",
                  "harness/engine/explain/prediction.cc", "harness/engine/explain/loader_*.cc",
                  "harness/engine/explain/epoch_rate.cc", "harness/engine/explain/measured_point.cc",
                  "harness/engine/point_order.cc"],
    "plan": ["harness/engine/plan/[!r]*.cc", "harness/engine/plan/room.cc", "harness/engine/plan/benchmark/*.cc",
             "harness/engine/plan/job_points/*.cc"],
    "rehearsal plan": ["harness/engine/plan/rehearsal.cc", "harness/engine/plan/rehearsal/*.cc"],
    "needs": ["harness/job/need*.cc", "harness/job/way.cc", "harness/job/uncertainty.cc", "harness/job/job_derived.cc",
              "harness/job/formulas/*/*.cc"],
    "observation": ["harness/observe/learning/*.cc"],
    "observed ranks": ["harness/observe/nccl/*.cc"],
    "replay": ["harness/observe/calls/recorded.cc", "harness/observe/replay/*.cc", "harness/observe/data_survey.cc"],
    "comparison": ["harness/analysis/comparison/*.cc"],
    "fleet": ["harness/analysis/fleet/*.cc"],
    "history": ["harness/analysis/history/*.cc"],
    "sizing": ["harness/analysis/sizing/*.cc"],
    "simulation": ["harness/analysis/simulate/*.cc"],
    "bring-up": ["harness/bringup/blame/*.cc", "harness/bringup/pairing.cc", "harness/bringup/rails.cc",
                 "harness/bringup/groups.cc", "harness/bringup/job_points.cc", "harness/bringup/hand_over.cc",
                 "harness/bringup/as_runs.cc", "harness/bringup/tests/judge_tests.cc",
                 "harness/bringup/tests/preflight.cc"],
    "bring-up run": ["harness/bringup/bring_up.cc", "harness/bringup/pair_round.cc", "harness/bringup/asking.cc",
                     "harness/bringup/tests/*node*.cc"],
    "examination": ["harness/machine/examine/examine*.cc", "harness/machine/limits.cc", "harness/machine/lost_gpus.cc"],
    "stages": ["harness/workload/data/pipeline/step_account.cc", "harness/workload/data/tuning.cc",
               "harness/workload/data/ramp.cc", "harness/workload/data/hit_ratio.cc"],
    "cache proof": ["harness/record/cache_state.cc", "harness/workload/data/residency.cc",
                    "harness/workload/data/file_survey.cc", "harness/workload/data/cache_control.cc"],
    "verification": ["harness/workload/data/data_set/*.cc", "harness/workload/data/data_set.cc"],
    "marked folders": ["harness/base/files/*.cc", "harness/base/system/open_beneath.cc"],
}
WORDS = re.compile(r"(_json|_tables|_words|advice|commands|assumptions)\.cc$")

LIBRARY = "tests/libheadrace_tested.so"
SHARE = 0.9          # of the changes that tests must notice
FLAGS = ["-w", "-O1", "-Wno-narrowing", "-D_GLIBCXX_ASSERTIONS", "-I", str(ROOT), "-include", str(HERE / "switches.h")]


def fail(why):
    print(f"notice.py: {why}", file=sys.stderr)
    sys.exit(2)


def plain(text):
    return " ".join(text.split())


def files_of(globs):
    """The files of `globs`; one that matches none is an error, for then a file moved that still decides."""
    for g in globs:
        if not any(ROOT.glob(g)):
            fail(f"no file matches {g}")
    return sorted({str(p.relative_to(ROOT)) for g in globs for p in ROOT.glob(g) if not WORDS.search(p.name)})


class Build:
    """A finished build: how its objects are compiled and the library of the tests is linked."""

    def __init__(self, path):
        self.path = path.resolve()
        database = self.path / "compile_commands.json"
        if not database.exists():
            fail(f"{path} is no build: cmake --preset dev, then ninja -C build/dev unit_tests")
        self.commands, self.unit_of = {}, {}
        for entry in json.loads(database.read_text()):
            unit = pathlib.Path(entry["file"])
            of_folder = re.findall(r'#include "(.*)"', unit.read_text()) if unit.name.startswith("unity_") else [unit]
            for source in of_folder:
                relative = os.path.relpath(source, ROOT)
                self.commands[relative], self.unit_of[relative] = entry["command"], unit
        if not (self.path / LIBRARY).exists():
            fail(f"{path} has no {LIBRARY}: ninja -C {path} unit_tests")

    def last_command(self, target):
        out = subprocess.run(["ninja", "-C", str(self.path), "-t", "commands", target], check=True, text=True,
                             capture_output=True).stdout
        return [line for line in out.splitlines() if line.strip() and not line.startswith("ninja:")][-1]

    def object_of(self, relative):
        words = shlex.split(self.commands[relative])
        return words[words.index("-o") + 1]

    def compile(self, relative, source, output, more=()):
        words = shlex.split(self.commands[relative])
        original = str(self.unit_of[relative])
        kept, skip = [], False
        for word in words:
            if skip:
                skip = False
            elif word in ("-o", "-MF", "-MT", "-Xclang"):  # (-Xclang: precompiled headers)
                skip = True
            elif word not in ("-MD", "-Werror", "-c", original):
                kept.append(word)
        compiler = [p for p in [shutil.which("ccache")] if p and "ccache" not in kept[0]] + kept
        command = compiler + FLAGS + list(more) + ["-c", str(source), "-o", str(output)]
        return subprocess.run(command, cwd=self.path, text=True, capture_output=True)

    def programs(self):
        return sorted(p for p in (self.path / "tests").glob("*_test") if os.access(p, os.X_OK))


def named(new_change):
    """The changes of named.txt."""
    found = []
    for number, line in enumerate((HERE / "named.txt").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        glob, _, rest = line.partition(": ")
        before, _, after = rest.rpartition(" -> ")
        if "[[" not in before:
            before = f"[[{before}]]"
        left, _, rest = before.partition("[[")
        middle, _, right = rest.partition("]]")
        pattern = re.compile(r"\s*".join(
            "(" + r"\s+".join(re.escape(w) for w in part.split()) + ")" for part in (left, middle, right)))
        places = [(f, m) for f in files_of([glob]) for m in pattern.finditer((ROOT / f).read_text())]
        if len(places) != 1:
            fail(f"named.txt:{number}: what is to be changed stands in {len(places)} places of {glob}")
        (path, match), = places
        text = (ROOT / path).read_text()
        start, end = (len(text[:at].encode()) for at in match.span(2))
        shown = f"{left}{middle}{right} -> {left}{after}{right}"
        found.append(new_change(path, start, end, match.group(2), after, "named", shown, "named"))
    return found


def candidates(build, rooms, jobs, scratch):
    """The named changes, and every one that could be made, by room."""
    import find_changes  # needs libclang, which --help does not
    first = named(find_changes.Change)
    room_of = {f: room for room in rooms for f in files_of(ROOMS[room])}
    for f in [f for f in room_of if f not in build.commands]:
        fail(f"{f} is not in the build")
    own = hashlib.sha256((HERE / "find_changes.py").read_bytes()).hexdigest()
    kept_at = scratch / "found.json"
    kept = json.loads(kept_at.read_text()) if kept_at.exists() else {}
    key_of = {f: own + hashlib.sha256((ROOT / f).read_bytes()).hexdigest() for f in room_of}
    missing = [f for f, key in key_of.items() if key not in kept]
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        work = [(str(ROOT), f, build.commands[f]) for f in missing]
        for f, found in zip(missing, pool.map(find_changes.changes_in_path, work)):
            kept[key_of[f]] = found
    kept_at.write_text(json.dumps(kept))
    every = collections.defaultdict(list)
    for f, room in room_of.items():
        seen = collections.Counter()
        for values in kept[key_of[f]]:
            change = find_changes.Change(**{**values, "path": f, "room": room})
            seen[change.shown] += 1
            if seen[change.shown] > 1:  # alike, further down
                change.shown += f" ({seen[change.shown]})"
            every[room].append(change)
    return first, every


def sample(first, every, seed, count):
    """`first`, and as many of each room; in an order of files and places."""
    chosen, taken = list(first), collections.defaultdict(list)

    def overlaps_in_part(a, b):
        return a.start < b.end and b.start < a.end and not (
            (a.start <= b.start and b.end <= a.end) or (b.start <= a.start and a.end <= b.end))

    for c in first:
        taken[c.path].append(c)
    rooms = {room: sorted(changes, key=lambda c: c.rank(seed)) for room, changes in every.items()}
    while len(chosen) < count and any(rooms.values()):
        for changes in rooms.values():
            while changes and len(chosen) < count:
                c = changes.pop(0)
                if any(overlaps_in_part(c, o) or (c.start, c.end, plain(c.after)) == (o.start, o.end, plain(o.after))
                       for o in taken[c.path]):
                    continue
                taken[c.path].append(c)
                chosen.append(c)
                break
    return sorted(chosen, key=lambda c: (c.path, c.start, c.end, c.after))


def instrumented(text, changes):
    """The bytes `text` with every change, (number, Change), behind its switch. What a change replaces stands once as it
    was, so that inner changes lie in the unchanged side of outer ones. Line numbers stay."""
    def render(start, end, inside):
        out, at = b"", start
        inside = sorted(inside, key=lambda nc: (nc[1].start, -nc[1].end))
        while inside:
            number, outer = inside[0]
            within = [nc for nc in inside[1:] if nc[1].start < outer.end]
            inside = [nc for nc in inside[1:] if nc[1].start >= outer.end]
            kept = render(outer.start, outer.end, within)
            out += text[at:outer.start]
            # A condition may be of a class, to which the change would be converted.
            same = b"static_cast<bool>(" if outer.kind == "condition" else b"("
            out += f"(headrace_change({number}) ? ({outer.after}) : ".encode() + same + kept + b"))"
            at = outer.end
        return out + text[at:end]
    return render(0, len(text), changes)


def compile_copies(build, chosen, scratch, jobs):
    """Compiles the copies; answers the copies of objects, and the numbers of changes that no compiler takes."""
    by_unit = collections.defaultdict(lambda: collections.defaultdict(list))
    for number, c in enumerate(chosen):
        by_unit[build.unit_of[c.path]][c.path].append((number, c))
    newest = max(p.stat().st_mtime for p in [HERE / "switches.h", *ROOT.glob("harness/**/*")])

    def one(unit):
        left, dropped = by_unit[unit], []
        some = next(iter(left))
        output = (scratch / "copies" / some).with_suffix(".o")
        # What no compiler took the last time is left out at once.
        remembered = output.with_suffix(".dropped")
        key = hashlib.sha256(b"".join(instrumented((ROOT / path).read_bytes(), changes)
                                      for path, changes in left.items())).hexdigest()
        if remembered.exists() and (known := json.loads(remembered.read_text()))["key"] == key:
            dropped = known["dropped"]
            left = {path: [nc for nc in changes if nc[0] not in dropped] for path, changes in left.items()}
        while True:
            fresh = output.exists() and output.stat().st_mtime > newest
            texts = {scratch / "copies" / path: instrumented((ROOT / path).read_bytes(), changes)
                     for path, changes in left.items()}
            copy = next(iter(texts))
            if unit != ROOT / some:  # the source of a whole folder
                copy = scratch / "copies" / (re.sub(r"\W", "_", os.path.relpath(unit, build.path)) + ".cc")
                text = unit.read_text()
                for path in left:
                    text = re.sub(rf'#include "[^"]*{re.escape(path)}"', f'#include "{scratch}/copies/{path}"', text)
                texts[copy] = text.encode()
            for place, text in texts.items():
                if not place.exists() or place.read_bytes() != text:
                    fresh = False
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(text)
            if fresh:
                return unit, output, dropped
            done = build.compile(some, copy, output, ["-ferror-limit=0"] if "clang" in build.commands[some] else [])
            if done.returncode == 0:
                remembered.write_text(json.dumps({"key": key, "dropped": dropped}))
                return unit, output, dropped
            output.unlink(missing_ok=True)
            bad = []
            for path, changes in left.items():
                wrong = {int(n) for n in re.findall(rf"copies/{re.escape(path)}:(\d+):", done.stderr)}
                text = (ROOT / path).read_bytes()
                bad += [nc for nc in changes if text.count(b"\n", 0, nc[1].start) + 1 in wrong or
                        text.count(b"\n", 0, nc[1].end) + 1 in wrong]
            if not bad:
                fail(f"the copy of {unit} does not compile:\n{done.stderr[:3000]}")
            dropped += [number for number, _ in bad]
            left = {path: [nc for nc in changes if nc not in bad] for path, changes in left.items()}

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(one, by_unit))
    made_of = {build.object_of(next(iter(by_unit[unit]))): output for unit, output, _ in results}
    return made_of, {n for _, _, dropped in results for n in dropped}


def link(build, objects, any_file, scratch):
    """The tests' library with copies of `objects` in place of them."""
    switches = scratch / "switches.o"
    done = build.compile(any_file, HERE / "switches.cc", switches)
    if done.returncode:
        fail(done.stderr)
    archive = scratch / "libharness.a"
    archive.unlink(missing_ok=True)
    members = [w for w in shlex.split(build.last_command("libheadrace_harness.a")) if w.endswith(".o")]
    if not set(objects) <= set(members):
        fail(f"not part of the library: {', '.join(set(objects) - set(members))}")
    named_in = [str(objects.get(member, build.path / member)) for member in members]
    subprocess.run(["ar", "qcs", str(archive), *named_in, str(switches)], check=True)
    (scratch / "lib").mkdir(exist_ok=True)
    command = build.last_command(LIBRARY)
    copy = str(scratch / "lib" / pathlib.Path(LIBRARY).name)
    for before, after in ((str(build.path / "libheadrace_harness.a"), str(archive)),
                          ("libheadrace_harness.a", str(archive)), (LIBRARY, copy)):
        command = re.sub(rf"(?<![\w/.-]){re.escape(before)}(?![\w.])", after, command)
    done = subprocess.run(command, shell=True, cwd=build.path, text=True, capture_output=True)
    if done.returncode:
        fail(f"cannot link: {done.stderr[:2000]}")


def read_reasons():
    """no_difference.txt: a line that names a change, then indented lines that say why it makes no difference."""
    reasons, name = {}, None
    path = HERE / "no_difference.txt"
    for line in path.read_text().splitlines() if path.exists() else []:
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            reasons[name] = (reasons[name] + " " + line.strip()).strip()
        else:
            name = line.strip()
            reasons[name] = ""
    return reasons


def check_table():
    """Each glob matches a file, each named change one place, and what no_difference.txt explains is in its file."""
    for globs in ROOMS.values():
        files_of(globs)
    named(lambda *values: values)
    of_rooms = {f for globs in ROOMS.values() for f in files_of(globs)}
    for name in read_reasons():
        path, _, shown = name.partition(": ")
        before = shown.partition(" -> ")[0]
        if path not in of_rooms or before not in plain((ROOT / path).read_text()):
            fail(f"no_difference.txt explains what is not there: {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="a finished build with unit tests")
    parser.add_argument("--check", action="store_true", help="only check that the tables fit the sources; needs no build")
    parser.add_argument("--scratch", type=pathlib.Path, help="folder for copies and results (default: BUILD/changes)")
    parser.add_argument("--seed", default="1", help="another sample (default: 1)")
    parser.add_argument("--count", type=int, default=220, help="changes to draw, named ones among them (default: 220)")
    parser.add_argument("--room", help="only of these rooms, with commas, and no named ones")
    parser.add_argument("--programs", help="only the tests of these programs, with commas: engine_test,observe_test")
    parser.add_argument("--tests", default="", help="only tests whose name this pattern fits: others could only notice more")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at a time")
    parser.add_argument("--list", action="store_true", help="print the sample and end")
    parser.add_argument("--only", help="numbers of changes, with commas; prints what failing tests say")
    parser.add_argument("--unnoticed", action="store_true", help="only what went unnoticed before")
    options = parser.parse_args()
    check_table()
    if options.check:
        return 0
    import programs
    for tool in ("ninja", "ar", "prlimit"):
        shutil.which(tool) or fail(f"{tool} is not found")
    build = Build(options.build or fail("--build BUILD is missing"))
    scratch = (options.scratch or build.path / "changes").resolve()
    scratch.mkdir(parents=True, exist_ok=True)

    rooms = options.room.split(",") if options.room else list(ROOMS)
    for room in rooms:
        room in ROOMS or fail(f"no room {room}: there are {', '.join(ROOMS)}")
    first, every = candidates(build, rooms, options.jobs, scratch)
    if options.room:
        first = []
    reasons = read_reasons()
    known = {c.name for changes in every.values() for c in changes}
    read = {f for room in rooms for f in files_of(ROOMS[room])}
    for name in [n for n in reasons if n.partition(": ")[0] in read and n not in known]:
        fail(f"no_difference.txt explains a change that cannot be made: {name}")
    chosen = sample(first, every, options.seed, options.count)
    if options.list:
        for number, c in enumerate(chosen):
            print(f"{number:4} {c.kind:10} {c.name}")
        print(f"{len(chosen)} of {len(first) + sum(map(len, every.values()))} changes that could be made")
        return 0

    objects, dropped = compile_copies(build, chosen, scratch, options.jobs)
    lost = [n for n in dropped if chosen[n].kind == "named"]
    if lost:
        fail("a named change does not compile: " + "; ".join(chosen[n].name for n in lost))
    link(build, objects, chosen[0].path, scratch)

    results_at = scratch / "results.json"
    before = json.loads(results_at.read_text()) if results_at.exists() else {}
    wanted = [n for n in range(len(chosen)) if n not in dropped]
    if options.only:
        wanted = [int(n) for n in options.only.split(",")]
    elif options.unnoticed:
        wanted = [n for n in wanted if before.get(chosen[n].name, {}).get("noticed_by", "") == ""]

    sanitized = any("-fsanitize=" in c for c in build.commands.values())
    runner = programs.Runner(scratch / "lib", scratch / "tmp", len(chosen), sanitized, options.tests)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        wished = options.programs.split(",") if options.programs else [p.name for p in build.programs()]
        parts = runner.all_parts([p for p in build.programs() if p.name in wished], scratch / "asked.json", pool)
        for part in parts:
            if part.why_not:
                print(f"{part.program.name} {part.tests[0]} fails without any change ({part.why_not}): left out",
                      file=sys.stderr)
        if not any(part.reached for part in parts):
            fail("no test comes by any change: do the programs load the library from LD_LIBRARY_PATH?")

        results = {}
        for number, (program, test, tests, out) in zip(
                wanted, pool.map(lambda n: programs.noticed(runner, parts, n), wanted)):
            c = chosen[number]
            results[c.name] = {"noticed_by": program, "test": test, "tests": tests}
            word = f"{program} {test}" if program else f"UNNOTICED by {tests} tests" if tests else "NOT REACHED"
            explained = " (explained)" if not program and c.name in reasons else ""
            print(f"{number:4} {c.name}\n     {word}{explained}", flush=True)
            if options.only and out:
                print(out)
    shutil.rmtree(scratch / "tmp", ignore_errors=True)
    merged = {**before, **results}
    results_at.write_text(json.dumps({c.name: merged[c.name] for c in chosen if c.name in merged}, indent=1))
    return report(chosen, dropped, merged, reasons)


def report(chosen, dropped, results, reasons):
    rooms = collections.defaultdict(lambda: [0, 0, 0])
    for number, c in enumerate(chosen):
        if number in dropped or c.name not in results:
            continue
        row = rooms[c.room]
        row[0] += 1
        row[1] += bool(results[c.name]["noticed_by"])
        row[2] += not results[c.name]["noticed_by"] and c.name in reasons
    print(f"\n{'':16} {'changes':>8} {'noticed':>8} {'explained':>10} {'open':>6}")
    total = [sum(r[i] for r in rooms.values()) for i in range(3)]
    for room, row in [*rooms.items(), ("all", total)]:
        print(f"{room:16} {row[0]:8} {row[1]:8} {row[2]:10} {row[0] - row[1] - row[2]:6}")
    stale = [n for n in reasons if n not in {c.name for c in chosen} or results.get(n, {}).get("noticed_by")]
    for name in stale:
        print(f"no_difference.txt explains what is not drawn, or noticed: {name}")
    print(f"noticed: {100 * total[1] / max(1, total[0]):.1f} % ({len(dropped)} drawn changes do not compile)")
    good = total[1] >= SHARE * total[0] and total[0] == total[1] + total[2] and total[0] > 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.dont_write_bytecode = True
    sys.exit(main())
