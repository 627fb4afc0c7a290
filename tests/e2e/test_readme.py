"""Every command of README.md, as it is there. A measurement is given less time and data, and each place below /mnt is one
below the test's folder."""

import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.S | re.M)  # language, text

# Run by tools/test's callers and by tests/install: they build, and take minutes.
BY_OTHERS = ("tools/quickstart", "tools/test", "tools/package", "cmake --preset release", "cmake --install build/release")
LITTLE = ["--budget", "5s", "--max-write", "200MB"]
# What a command is given beside its own words, and the exit codes that are right on any machine.
VERDICTS = {0, 10, 11, 12}
ADDED = {"qualify": (LITTLE, VERDICTS), "size": ([], VERDICTS), "require": ([], {0}), "doctor": ([], {0, 1}),
         "run": (["--dry-run"], {0})}


def commands():
    """In the order of the page: words after the prompt, or whole lines of a block of commands."""
    for block in (text for language, text in BLOCKS if not language):
        lines = [line for line in block.splitlines() if line.strip()]
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        for line in prompted or lines:
            yield shlex.split(line, comments=True)


def test_every_command_of_the_readme(headrace):
    headrace.path("configs").symlink_to(ROOT / "configs")
    for text in (text for language, text in BLOCKS if language == "yaml"):
        named = re.match(r"# (\S+\.yaml)\n", text)
        headrace.write(named[1] if named else "my-job.yaml", text.replace("/mnt/", f"{headrace.folder}/mnt/"))
    ran = []
    for program, *words in commands():
        if " ".join([program, *words]).startswith(BY_OTHERS):
            assert program == "cmake" or (ROOT / program).stat().st_mode & 0o100, program
            continue
        assert program == "headrace", (program, words)
        verb, *rest = (word.replace("/mnt/", f"{headrace.folder}/mnt/") for word in words)
        for word in rest:
            if word.startswith(f"{headrace.folder}/mnt/"):
                pathlib.Path(word).parent.mkdir(parents=True, exist_ok=True)
        more, right = ADDED[verb]
        result = headrace(verb, *rest, *more)
        # Where not every cold read was proven.
        unmeasured = verb == "size" and result.code == 2 and "measured nothing that this job needs" in result.err
        assert result.code in right or unmeasured, (verb, rest, result)
        ran.append(verb)
    assert {"qualify", "size", "run", "require", "doctor"} <= set(ran), ran


def test_files_named_in_the_text_exist(headrace):
    for name in re.findall(r"`((?:configs|docs|tools|tests|reports|benches|workloads|harness)/[\w./-]*)`", PAGE):
        assert (ROOT / name).exists(), name
    for target in re.findall(r"\]\(([^)#]+)\)|srcset=\"([^\"]+)\"|src=\"([^\"]+)\"", PAGE):
        assert (ROOT / next(filter(None, target))).exists(), target
    known = headrace("--help").out
    for verb in set(re.findall(r"headrace ([a-z]+)\b(?= [A-Zc-])", PAGE)):
        assert re.search(rf"^  {verb}\b", known, re.M), verb
