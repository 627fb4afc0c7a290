"""The pages of docs/: the tutorial's commands run and print what it shows; every command anywhere has the options that it names."""

import pathlib
import re

from transcripts import BLOCK, DOCS, transcripts

ROOT = pathlib.Path(__file__).parents[2]
QUOTED = re.compile(r"'([^']*\bheadrace [^']*)'")
LITTLE = {"90s": "5s", "1GiB": "200MB"}  # time and data that a test may take


def test_the_tutorial(headrace):
    page = (DOCS / "tutorial/first-verdict.md").read_text()
    headrace.write("my-job.yaml", next(text for language, text in BLOCK.findall(page) if language == "yaml"))
    ran = []
    for (program, verb, *words), shown in transcripts(page):
        assert program == "headrace"
        result = headrace(verb, *[LITTLE.get(word, word) for word in words], COLUMNS="100")
        print("$", program, verb, *words, "\n" + result.out)  # run.py pages -s: to bring the page up to date
        ran.append(verb)
        if verb == "size" and result.code == 2:  # where not every cold read was proven
            assert "measured nothing that this job needs" in result.err, result
            continue
        assert result.code in {0, 10, 11, 12}, (verb, result)
        if verb == "require":  # computed, the same on any machine
            missing = set(shown) - {"..."} - set(result.out.split("\n"))
            assert not missing, missing
        if verb in {"qualify", "size"}:
            last, now = shown[-1].split(), result.out.rstrip("\n").split("\n")[-1].split()
            keys = [[word.split("=")[0] for word in line if "=" in word] for line in (last, now)]
            assert last[0] == now[0] == "VERDICT" and keys[0] == keys[1], (last, now)
            rows = [re.split("  +", line[2:])[0] for line in shown if line[0] in "✔✘?–!"]
            printed = " ".join(result.out.split())  # in rows of their own, or in that of the test that answers them
            assert len(rows) >= 2 and all(row in printed for row in rows), (rows, result.out)
            if verb == "qualify":
                assert last[2] == now[2], (last, now)  # as many needs
    assert ran == ["require", "require", "qualify", "size", "clean"], ran
    assert not headrace.path("scratch").exists()


def commands():
    """(page, words after `headrace`) of code in all pages, also behind mpirun and the like."""
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        text = page.read_text()
        code = [line for _, block in BLOCK.findall(text) for line in block.replace("\\\n", " ").split("\n")]
        text = BLOCK.sub("", text)
        code += re.findall(r"^    (\S.*)$", text, re.M) + [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", text)]
        for line in code:
            # A command in quotes (`--rerun 'headrace ...'`) has options of its own.
            for command in [QUOTED.sub("COMMAND", line), *QUOTED.findall(line)]:
                for found in re.finditer(r"(?:^|[\s/])headrace (?=[a-z]+(?:\s|$))([^#|;&)]*)", command):
                    yield page.relative_to(ROOT), found[1].replace("'", "").replace('"', "").split()


def test_options_of_every_command(headrace):
    known, seen = {}, 0
    verbs = set(re.findall(r"^  (\w+)\b", headrace("--help").out, re.M))

    def options(*words):
        if words not in known:
            result = headrace(*words)
            known[words] = result.out if result.code == 0 else ""
        return known[words]

    wrong = []
    for page, (verb, *words) in commands():
        if verb not in verbs:
            if words:  # `headrace home` names a verb; "headrace prints" is a sentence
                wrong.append(f"{page}: headrace {verb}")
            continue
        seen += 1
        # Behind `--` is another program's command.
        for word in words[: words.index("--")] if "--" in words else words:
            option = re.match(r"\[?(--[a-z][\w-]*)", word)
            if not option:
                continue
            parameter = option[1][2:].replace("-", "_")
            there = re.search(rf"{option[1]}\b(?!-)", options(verb, "--help-all")) or option[1] in ("--exit-map", "--help", "--color", "--progress")
            if verb == "measure" and words:
                there = there or re.search(rf"^  {parameter}\b", options("list", words[0]), re.M)
            if not there:
                wrong.append(f"{page}: headrace {verb} {option[1]}")
    assert not wrong, "\n".join(sorted(set(wrong)))
    assert seen > 150, seen
