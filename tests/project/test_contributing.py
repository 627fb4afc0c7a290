"""What contributors and reporters meet: the files can be read, and what they name is there."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
GUIDE = ROOT / "docs/how-to/report-a-case.md"
TEXTS = [*TEMPLATES, ROOT / ".github/pull_request_template.md", GUIDE, ROOT / ".pre-commit-config.yaml"]
HOOKS = [hook for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"] for hook in repo["hooks"]]


@pytest.mark.parametrize("file", [f for f in TEMPLATES if f.name != "config.yml"], ids=lambda f: f.stem)
def test_issue_forms_have_the_keys_of_the_site(file):
    form = yaml.safe_load(file.read_text())
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "title", "labels", "assignees", "body"}, form
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0, ids
    for part in form["body"]:
        assert part["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"} and part["attributes"], part
        assert set(part) <= {"type", "id", "attributes", "validations"} and (part["type"] == "markdown" or part["attributes"]["label"]), part
    assert any(part.get("validations", {}).get("required") for part in form["body"]), "nothing is required"


def test_hooks_are_of_this_tree_and_their_commands_are_there():
    assert {repo["repo"] for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]} == {"local"}
    assert len({hook["id"] for hook in HOOKS}) == len(HOOKS)
    for hook in HOOKS:
        words = shlex.split(hook["entry"])
        assert hook["language"] == "system" and (shutil.which(words[0]) or os.access(ROOT / words[0], os.X_OK)), hook
        for word in words[1:]:
            assert "/" not in word or (ROOT / word).exists(), hook


def test_every_rule_of_the_house_that_needs_no_build_is_a_hook():
    usage = re.search(r"rules\.py ([a-z|]+)", (ROOT / "tests/rules/rules.py").read_text())[1].split("|")
    hooked = {words[2] for hook in HOOKS if len(words := hook["entry"].split()) == 3 and words[1] == "tests/rules/rules.py"}
    assert hooked == set(usage), (hooked, usage)


def commands():
    for file in TEXTS:
        for command in re.findall(r"`(headrace [^`\n]*)`", file.read_text()):
            yield pytest.param(command, id=f"{file.name}: {command}")


@pytest.mark.parametrize("command", list(commands()))
def test_commands_that_are_named_exist(command):
    program = os.environ.get("HEADRACE", str(ROOT / "build/release/headrace"))
    words = shlex.split(command)[1:]
    if words[0].startswith("-"):
        assert subprocess.run([program, *words], capture_output=True).returncode == 0, command
        return
    shown = subprocess.run([program, "help", words[0]], capture_output=True, text=True)
    assert shown.returncode == 0, (command, shown.stderr)
    for option in re.findall(r"--[a-z-]+", command):
        assert option in shown.stdout, (command, option)


def test_paths_that_are_named_exist():
    for file in TEXTS:
        for path in re.findall(r"(?<![\w/.<-])(?:tests|tools|docs|benches)/[\w./-]*\w", file.read_text()):
            assert (ROOT / path).exists() or path in GUIDE_MAKES, (file.name, path)


GUIDE_MAKES = {"tests/cases/storage/my_report.yaml"}  # the file that the guide has its reader write


def test_the_case_of_the_guide_can_be_read(tmp_path):
    text = re.search(r"```yaml\n(.*?)```", GUIDE.read_text(), re.S)[1]
    (tmp_path / "storage").mkdir()
    (tmp_path / "storage/my_report.yaml").write_text(text)
    done = subprocess.run([sys.executable, "-B", ROOT / "tests/cases/run"], capture_output=True, text=True,
                          env=os.environ | {"HEADRACE_CASES_IN": str(tmp_path)})
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout


def test_the_guide_lists_every_key_and_need_and_is_short():
    sys.path.insert(0, str(ROOT / "tests/cases"))
    import test_cases
    text = GUIDE.read_text()
    for word in [*test_cases.CASE, *test_cases.made_files.KEYS, *test_cases.NEEDS, *test_cases.LABELS]:
        assert f"`{word}`" in text, word
    assert len(text.splitlines()) <= 80


def test_tidy_names_missing_files():
    done = subprocess.run([ROOT / "tools/tidy", "no-such-revision"], capture_output=True, text=True)
    assert done.returncode == 77 or (done.returncode == 1 and "no revision no-such-revision" in done.stderr), done
    assert subprocess.run([ROOT / "tools/tidy", "--frob"], capture_output=True).returncode == 1
