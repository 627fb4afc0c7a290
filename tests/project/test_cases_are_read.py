"""Mistakes in a case file are reported with their line, and each expectation is really checked."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

CASES = pathlib.Path(__file__).parents[1] / "cases"
spec = importlib.util.spec_from_file_location("test_cases", CASES / "test_cases.py")
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)


def tried(folder, text):
    """What the runner says of each case of such a file: what it raises, or what is wrong."""
    (folder / "group").mkdir(exist_ok=True)
    file = folder / "group/made.yaml"
    file.write_text(text)
    try:
        found = list(runner.read(file))
    except runner.Bad as e:
        return str(e)
    said = []
    for number, (name, case) in enumerate(found):
        case["replay"] = False
        own = folder / f"run{number}{len(list(folder.iterdir()))}"
        own.mkdir()
        try:
            runner.test_case(case, own)
            said.append(f"{name} is right")
        except (pytest.fail.Exception, pytest.xfail.Exception, pytest.skip.Exception) as e:
            said.append(f"{name}: {type(e).__name__}: {e}")
    return "\n".join(said)


@pytest.mark.parametrize("text, said", [
    ("right: yes\nrun: true\ncode: 0\nfield: {}\n", "made.yaml:4: no key 'field'; did you mean 'fields'?; keys here: before, code,"),
    ("right: yes\nfiles:\n  a: {jpg: 3}\nrun: true\ncode: 0\n", "made.yaml:3: no key 'jpg'; did you mean 'jpeg'?; keys here: copy,"),
    ("right: yes\nsteps:\n  - {run: true}\n  - {rum: x}\n", "made.yaml:4: no key 'rum'; did you mean 'run'?"),
    ("right: yes\nright: no\n", "made.yaml:2: 'right' is here twice"),
    ("run: 'true'\ncode: 0\n", "made.yaml:1: 'right' is missing"),
    ("right: a\n---\nright: b\ncode: 0\n", "made.yaml:1: 'run' is missing"),
    ("right: b\nrun: 'true'\n", "made.yaml:1: 'true' has no expectation"),
    ("right: b\nrun: 'true'\ncode: 0\nneeds: rooot\n", "needs: 'rooot' is none of root, mounts"),
    ("right: b\nrun: 'true'\ncode: 0\nlabel: fats\n", "label: 'fats' is none of fast, slow, long; did you mean 'fast'?"),
    ("right: b\nrun: 'true'\ncode: 0\nsource: some forum\n", "source: 'some forum' is no address"),
    ("right: b\nrun: 'true'\ncode: 0\ncolumns: [a, b]\nrows: [[1]]\n", "rows: [1] has not one value for each of ['a', 'b']"),
    ("right: b\nrun: 'true'\nsays: [a: b]\n", "says: text with ': ' in it needs quotes"),
    ("right: [b\ncode: 0\n", "made.yaml:2: "),
])
def test_a_bad_file_is_reported_with_its_line(tmp_path, text, said):
    assert said in tried(tmp_path, text)


STEP = "right: it is so\nrun: 'echo VERDICT FAIL needs=2 exit=10; echo {} >a.json; echo oh >&2; exit 10'\n".replace("{}", '"{\\"p\\": [{\\"n\\": \\"x\\", \\"v\\": 3}, {\\"n\\": \\"y\\", \\"v\\": 5}]}"')


@pytest.mark.parametrize("right, wrong", [
    ("code: 10", "code: 0"), ("code: [0, 10]", "code: [0, 1]"), ("code: ['< 134']", "code: ['< 10']"),
    ("out: needs=2", "out: oh"), ("err: oh", "err: needs"), ("says: [needs, oh]", "says: [needs, ah]"), ("says: /n.+=2/", "says: /^needs/"),
    ("never: ah", "never: oh"), ("never: /^needs/", "never: /needs/"), ("lines: {out: 1}", "lines: {err: 2}"),
    ("verdict: {word: FAIL, needs: 2}", "verdict: {word: FAIL, needs: 1}"), ("verdict: {exit: '> 9'}", "verdict: {passed: 1}"),
    ("exists: a.json", "exists: b.json"), ("missing: b.json", "missing: '*.json'"), ("lines: {err: 1}", "empty: err"),
    ("fields: {a.json: {p.0.v: 3}}", "fields: {a.json: {p.0.v: 5}}"), ("fields: {a.json: {'p[n=y].v': 5}}", "fields: {a.json: {'p[n=z].v': 5}}"),
    ("fields: {a.json: {p.0.v: ~ 3.0000001}}", "fields: {a.json: {p.0.v: ~ 3.000001}}"), ("fields: {a.json: {'p[n=y][v=5].v': 5}}", "fields: {a.json: {'p[n=y][v=3].v': 3}}"),
    ("fields: {a.json: {p.*.v: '> 2'}}", "fields: {a.json: {p.*.v: '> 3'}}"), ("fields: {a.json: {p.*.n: {some: x}}}", "fields: {a.json: {p.*.n: {some: z}}}"),
    ("fields: {a.json: {p.*.n: {none: z}}}", "fields: {a.json: {p.*.n: {none: y}}}"), ("fields: {a.json: {p.*.n: {count: 2}}}", "fields: {a.json: {p.*.n: {count: 1}}}"),
    ("fields: {a.json: {p.0.n: /^x$/}}", "fields: {b.json: {p.0.n: x}}"),
])
def test_each_kind_of_expectation_can_fail(tmp_path, right, wrong):
    assert tried(tmp_path, STEP + right) == "group/made:1 is right"
    out = tried(tmp_path, STEP + wrong)
    assert "made.yaml:1: it is so" in out and f"WRONG {wrong.split(':')[0]}" in out, out


def test_rows_are_cases_of_their_own(tmp_path):
    out = tried(tmp_path, "right: b\ncolumns: [n, more]\nrows: [[3, [a, b]], [4, [c]]]\nrun: echo a b; exit @n@\ncode: 3\nout: '@more@'\n")
    assert "made:1[1] is right" in out and "made:1[2]: Failed" in out and "row: {'n': 4" in out, out


def test_common_part_and_rows_of_a_file(tmp_path):
    out = tried(tmp_path, "every: {code: 3, files: {a: x}, run: exit 3}\n---\nright: b\n---\nright: c\nfiles: {b: y}\nrun: cat a b; exit 3\nout: xy\n"
                          "---\nright: d\nsteps: [{run: exit 0, code: 0}, {run: exit 3}]\n---\nright: e\nrun: exit 4\n")
    assert [line.split(" ", 1)[0] for line in out.splitlines() if " is right" in line] == ["group/made:3", "group/made:5", "group/made:10"], out
    assert "group/made:13: Failed" in out, out


def test_open_cases_may_fail_and_must_not_pass(tmp_path):
    text = "right: b\nopen: it ends with 1\nrun: exit @n@\ncode: 0\n"
    assert "XFailed: known and open: it ends with 1" in tried(tmp_path, text.replace("@n@", "1"))
    assert "this is right now: remove its 'open'" in tried(tmp_path, text.replace("@n@", "0"))


def test_failed_setup_is_a_failure_and_a_missing_requirement_a_skip(tmp_path):
    assert "Failed: " in (out := tried(tmp_path, "right: b\nsetup: exit 3\nrun: 'true'\ncode: 0\n")) and "setup: 'exit 3' failed" in out
    assert "Skipped: no such kernel" in tried(tmp_path, "right: b\npossible: {run: exit 3, otherwise: no such kernel}\nrun: 'true'\ncode: 0\n")


def test_files_are_made_as_they_are_described(tmp_path):
    out = tried(tmp_path, """right: b
files: {"d/{a,b}{1..2}": {random: 7}, x: {repeat: [ab, 3]}, l: {link: x}, p: {fifo: }, s: {text: "#!/bin/sh\\necho ran", mode: 0755}, n: 3}
run: stat -c %s d/a1 d/b2; cat l n; test -p p && ./s
code: 0
out: ["7\\n7\\nababab3ran"]
""")
    assert out == "group/made:1 is right", out


def test_the_program_runs_a_part_and_ends_with_1_where_one_is_wrong(tmp_path):
    (tmp_path / "group").mkdir()
    (tmp_path / "group/made.yaml").write_text("right: ends well\nrun: exit 0\ncode: 0\n---\nright: ends badly\nrun: exit 1\ncode: 0\n")
    for pattern, code, said in (("well", 0, "1 passed"), ("badly", 1, "made.yaml:5: ends badly"), ("nothing", 1, "no case has 'nothing'")):
        done = subprocess.run([sys.executable, "-B", CASES / "run", pattern], capture_output=True, text=True,
                              env=os.environ | {"HEADRACE_CASES_IN": str(tmp_path), "HEADRACE": "/bin/true"})
        assert done.returncode == code and said in done.stdout, done
