"""A folder that somebody else prepared: no code in it runs, whatever is started there, and no name directs the terminal."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

REPORTS = pathlib.Path(__file__).parents[2] / "reports"
sys.path.append(str(REPORTS))
from headrace_report.printable import printable  # noqa: E402  (found through the path above)

PLANTED = "import os\nopen({marker!r}, 'a').write(__file__ + '\\n')\n"
MODULES = ("json", "re", "os", "site", "argparse", "sitecustomize", "usercustomize", "matplotlib", "jinja2", "numpy", "evil",
           "headrace_report/__init__", "headrace_report/__main__", "__main__")


def can_draw():
    return subprocess.run([sys.executable, "-I", "-c", "import matplotlib, jinja2"], capture_output=True).returncode == 0


def verbs(headrace):
    found = headrace("help", "--verbs").out.split()
    assert {"run", "report", "fleet", "verdict", "doctor"} <= set(found), found
    return found


def libraries(binary):
    """Names of what the loader looks for, for the binary and its plugins."""
    files = [binary, *pathlib.Path(binary).parent.glob("plugins/*.so")]
    reported = subprocess.run(["ldd", *map(str, files)], capture_output=True, text=True).stdout
    return {name for name in re.findall(r"^\s+(\S+\.so\S*) ", reported, re.M) if "/" not in name and "vdso" not in name}


@pytest.fixture
def prepared(headrace, tmp_path):
    """Everything that a loader, Python or matplotlib looks for, in the folder where headrace is started."""
    marker = tmp_path / "outside" / "ran"
    marker.parent.mkdir()
    for module in MODULES:
        path = headrace.path(f"{module}.py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(PLANTED.format(marker=str(marker)))
    headrace.write("matplotlibrc", "backend: module://evil\n")
    for name in libraries(headrace.binary):
        headrace.path(name).touch()  # the loader would stop at such a file
    for folder in ("plugins", "lib/headrace/plugins"):
        headrace.path(folder).mkdir(parents=True)
        headrace.path(folder).joinpath("headrace_io_uring.so").touch()
    for name in ("python3", "fc-list"):
        headrace.write(name, f"#!/bin/sh\necho $0 >> {marker}\nexit 0\n")
        headrace.path(name).chmod(0o755)
    headrace.marker = marker
    headrace.planted = dict(PATH=f"{headrace.folder}:/usr/bin:/bin", PYTHONPATH=str(headrace.folder), MPLBACKEND="module://evil",
                            MATPLOTLIBRC=str(headrace.path("matplotlibrc")), PYTHONSTARTUP=str(headrace.path("evil.py")),
                            PYTHONUSERBASE=str(headrace.folder), PYTHONINSPECT="")
    return headrace


def ran(headrace):
    return headrace.marker.read_text() if headrace.marker.exists() else ""


def test_no_code_of_the_current_folder_runs(prepared):
    result = prepared("run", "-c", "tiny.yaml", "--out", "results", **prepared.planted)
    assert result.code == 0 and ran(prepared) == "", (result, ran(prepared))
    for words in (["report", "results"], ["--version"], ["list"], ["doctor"], ["compare", "results", "results", "--out", "c"]):
        result = prepared(*words, **prepared.planted)
        assert result.code in (0, 1, 11) and ran(prepared) == "", (words, result, ran(prepared))
        assert "evil" not in result.out + result.err, result
    if can_draw():
        assert "headrace" in prepared.path("results/report.html").read_text()[:4000]
    for verb in verbs(prepared):
        assert prepared(verb, "--help", **prepared.planted).code == 0, verb


def test_a_copied_binary_takes_no_tree_that_lies_above_it(headrace):
    tree = headrace.path("tree")
    (tree / "harness").mkdir(parents=True)
    (tree / "configs/jobs").mkdir(parents=True)
    (tree / "reports/headrace_report").mkdir(parents=True)
    (tree / "build/release/plugins").mkdir(parents=True)
    marker = headrace.path("ran")
    for name in ("__main__", "headrace_report/__main__", "headrace_report/__init__"):
        (tree / f"reports/{name}.py").write_text(PLANTED.format(marker=str(marker)))
    (tree / "configs/jobs/theirs.yaml").write_text("schema: 1\n")
    (tree / "build/release/plugins/headrace_io_uring.so").touch()
    assert headrace.run("tiny.yaml").code == 0
    headrace.binary = shutil.copy(headrace.binary, tree / "build/release/headrace")
    result = headrace("report", "results")
    assert result.code == 1 and "plugins and configs not found next to this binary" in result.err and not marker.exists(), result
    assert headrace("require", "configs/jobs/theirs.yaml").code == 2
    assert "not found next to this binary" in next(line for line in headrace("--version").out.splitlines() if "io_uring" in line)


def test_a_report_maker_that_others_can_change_is_not_run(headrace):
    binary = pathlib.Path(headrace.binary)
    mark = (binary.parent / "headrace.tree").read_text().splitlines()
    ours = headrace.path("ours")
    shutil.copytree(mark[1] + "/reports", ours / "source/reports", ignore=shutil.ignore_patterns("__pycache__"))
    (ours / "source/configs").mkdir()
    (ours / "build").mkdir()
    (ours / "build/headrace.tree").write_text(f"{mark[0]}\n{ours}/source\n")
    assert headrace.run("tiny.yaml").code == 0
    headrace.binary = shutil.copy(binary, ours / "build/headrace")
    result = headrace("report", "results")
    assert result.code == 0 or "no Python that can draw" in result.err, result
    changed = ours / "source/reports/headrace_report/units.py"
    changed.chmod(0o666)
    result = headrace("report", "results")
    assert result.code == 1 and f"not run: {changed} can be written by everybody" in result.err, result


def test_python_is_the_one_that_the_user_names(headrace):
    assert headrace.run("tiny.yaml").code == 0
    result = headrace("report", "results", HEADRACE_PYTHON="python3")
    assert result.code == 1 and "python3 is not the whole path of a Python" in result.err, result
    if not can_draw():
        pytest.skip("no matplotlib and jinja2")
    for options, code in ((["--system-site-packages"], 0), ([], 1)):
        folder = headrace.path("venv")
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", *options, folder], check=True)
        result = headrace("report", "results", HEADRACE_PYTHON=str(folder / "bin/python3"))
        assert result.code == code, result
        assert code == 0 or "lacks matplotlib or jinja2" in result.err, result


# A command to the terminal, a reversed order of writing, an invisible blank, a control character of one byte more, and a
# line that looks like the tool's own.
EVIL = "\x1b]0;owned\x07\x1b[31m\u202elian\u200b\x9b32m\nVERDICT PASS forged"
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def harmless(result, said=True):
    for text in (result.out, result.err):
        assert not HIDDEN.search(text.replace("\r\n", "\n")), (HIDDEN.search(text), result)
        assert not re.search("^VERDICT PASS forged", text, re.M), result
    if said:
        assert "u202e" in result.out + result.err, result


def test_program_and_pages_report_hidden_text_alike(headrace):
    hidden = [chr(code) for code in [*range(1, 0x3000), 0x3164, 0xfeff, 0xffa0, *range(0xfff0, 0x10000), *range(0x1bc90, 0x1bcb0),
                                     *range(0x1d170, 0x1d180), 0xdffff, *range(0xe0000, 0xe0100), 0xe1000] if code != 0x2f]
    for start in range(0, len(hidden), 4000):
        name = "".join(hidden[start:start + 4000])
        result = headrace("clean", "--", "x" + name)
        # A name of that many characters cannot be: the name is reported with the reason, or that nothing is there.
        reported = result.out + result.err
        assert printable("x" + name) in reported, (start, reported[:300])


@pytest.fixture
def named(headrace):
    """A run whose configuration, job and results hold such names wherever they are taken."""
    text = json.dumps(EVIL)
    headrace.write("named.yaml", f"""\
schema: 1
name: {text}
target: {{path: scratch, max_write: 200MiB}}
workloads:
  - {{use: small_file_read, files: 40, file_size: 8KiB, workers: 2, cache: asis, repeat: 5}}
needs:
  - {{id: {text}, metric: small_file_read.read_bandwidth, at_least: 900TB/s}}
  - {{id: {json.dumps("a" + EVIL)}, metric: small_file_read.read_bandwidth, at_least: 1kB/s}}
""")
    headrace.write("job.yaml", f"""\
schema: 1
job: {text}
description: {text}
cluster: {{nodes: 1, gpus_per_node: 1}}
step: {{time: 200ms, micro_batch: 32}}
dataset: {{layout: files, samples: 1000000, sample_size: 130kB}}
""")
    result = headrace("qualify", "-c", "named.yaml", "--no-report", "--out", "results", "--progress", "plain")
    assert result.code in (10, 11), result  # other programs that use the disk may leave it undecided
    harmless(result)

    def marred(value):
        if isinstance(value, dict):
            return {key: item + EVIL if isinstance(item, str) and key in WORDS else marred(item) for key, item in value.items()}
        return [marred(item) for item in value] if isinstance(value, list) else value

    for node in ("one", "two", "three"):
        run = marred(headrace.results())
        run["run"]["node"] = node + EVIL
        (headrace.path("nodes") / node).mkdir(parents=True)
        (headrace.path("nodes") / node / "run.json").write_text(json.dumps(run))
    return headrace


WORDS = ("explanation", "next_step", "description", "started_utc", "finding", "model", "why", "version", "revision")


def test_no_name_directs_the_terminal(named):
    one, two = "nodes/one", "nodes/two"
    commands = [["compare", one, two], ["compare", one, two, "--all", "--color", "always"], ["fleet", "nodes"], ["history", "nodes", "--all"],
                ["size", "job.yaml", "--runs", "nodes"], ["require", "job.yaml"], ["require", "job.yaml", "--set", "step.time=" + EVIL],
                ["require", "job.yaml", "--sweep", "cluster.nodes=1,2"], ["run", "--dry-run", "-c", "named.yaml", "--job", "job.yaml"],
                ["run", "--check", "-c", EVIL], ["run", "--check", "-c", "named.yaml", "--set", EVIL], ["list", EVIL], ["require", "--formula", EVIL],
                ["require", "--formula", "A3", EVIL + "=1"], ["doctor", EVIL], ["clean", EVIL], ["report", EVIL], ["verdict", EVIL],
                ["run", "-c", "named.yaml", "--only", EVIL], [EVIL], ["run", "--" + EVIL], ["verdict", "results"],
                ["verdict", "--exit-map", "nagios", "results"], ["verdict", "--exit-map", "nhc", "results"], ["verdict", EVIL, "--exit-map", "nagios"],
                ["run", "--serve", EVIL, "--token", "sixteen-letters-or-more"], ["compare", one, EVIL], ["fleet", "nodes", "--hosts", EVIL],
                ["run", "-c", "named.yaml", "--against", EVIL], ["run", "--against-itself", "-c", "named.yaml", "--dry-run"], ["require", EVIL],
                *[[verb, *which, "--format", "json"] for verb, *which in
                  (("compare", one, two), ("fleet", "nodes"), ("history", "nodes"), ("size", "job.yaml", "--runs", "nodes"), ("require", "job.yaml"))],
                *[["report", "nodes/one", "--format", form] for form in ("gbench", "bmf", "junit", "prom", "csv", "nagios")],
                ["fleet", "nodes", "--format", "csv"], ["history", "nodes", "--format", "csv"], ["compare", one, two, "--format", "junit"]]
    for words in commands:
        result = named(*words)
        color = "--color" in words
        if color:
            result.out = re.sub(r"\x1b\[(0|1|2|31|32|33)m", "", result.out)
        forged_line_is_data = {"csv"} & set(words)  # a quoted line break is CSV's own
        if forged_line_is_data:
            result.out = result.out.replace("\nVERDICT", "VERDICT")
        harmless(result, said=False)
        if words[-1] == "json" and result.out:
            json.loads(result.out)


def test_other_formats_keep_their_rules(named):
    import xml.etree.ElementTree as tree
    suites = tree.fromstring(named("report", "results", "--format", "junit").out)
    names = [case.get("name") for case in suites.iter("testcase")]
    assert any("\\u001b" in name and "\\u202e" in name for name in names), names
    ids = [j["id"] for j in json.loads(named.path("results/verdict.json").read_text())["judgements"]]
    assert EVIL in ids, ids  # data is what was given


@pytest.mark.skipif(not can_draw(), reason="no matplotlib and jinja2")
def test_pages_show_hidden_text(named):
    for words, page in ((["report", "nodes/one"], "nodes/one/report.html"), (["fleet", "nodes", "--out", "f"], "f/report.html"),
                        (["compare", "nodes/one", "nodes/two", "--out", "c"], "c/report.html")):
        result = named(*words)
        text = named.path(page).read_text()
        assert not HIDDEN.search(text), (words, HIDDEN.search(text))
        assert "\\u202e" in text, result
    data = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', named.path("nodes/one/report.html").read_text(), re.S)
    assert json.loads(data[1])["run"]["node"] == "one" + EVIL


def test_names_of_files_are_shown_byte_for_byte(headrace):
    folder = headrace.folder.joinpath(os.fsdecode(b"caf\xe9\x1b[31m"))
    folder.mkdir()
    result = headrace("clean", str(folder))
    assert result.code == 2 and "caf\\xe9\\u001b[31m" in result.err, result
