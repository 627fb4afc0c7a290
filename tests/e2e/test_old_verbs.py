"""Verbs of earlier versions: each does what its new form does, and names that form once."""

import re

import pytest

JOB = "configs/jobs/resnet50-imagenet.yaml"
TRACE = """\
100 1700000000.000100 openat(AT_FDCWD, "/data/a.bin", O_RDONLY) = 3 <0.000100>
100 1700000000.000300 read(3, "", 65536) = 65536 <0.000200>
100 1700000000.000700 close(3) = 0 <0.000010>
"""
# Old words, new words, what the notice names, exit code.
FORMS = [
    ("plan -c tiny.yaml --json", "run -c tiny.yaml --json --dry-run", "run --dry-run", 0),
    (f"plan {JOB} --at new --max-write 200MB", f"run {JOB} --at new --max-write 200MB --dry-run", "run --dry-run", 0),
    ("plan -c nowhere.yaml", "run -c nowhere.yaml --dry-run", "run --dry-run", 2),
    ("validate -c tiny.yaml", "run -c tiny.yaml --check", "run --check", 0),
    ("validate -c tiny.yaml --set workloads.0.filse=1", "run --check -c tiny.yaml --set workloads.0.filse=1", "run --check", 2),
    ("version", "--version", "--version", 0),
    (f"judge results {JOB} --set step.time=1s cluster.nodes=1 --json", f"verdict results --job {JOB} --set step.time=1s cluster.nodes=1 --json",
     "verdict RUN --job JOB", 12),
    (f"judge --set step.time=1s results {JOB}", f"verdict results --job {JOB} --set step.time=1s", "verdict RUN --job JOB", 12),
    (f"judge -- results {JOB}", f"verdict results --job {JOB}", "verdict RUN --job JOB", 12),
    ("judge results", "verdict results --job", "verdict RUN --job JOB", 2),
    ("aa -c tiny.yaml --pairs 3 --dry-run", "run --against-itself -c tiny.yaml --blocks 3 --dry-run", "run --against-itself", 0),
    ("aa -c tiny.yaml --pairs=1", "run --against-itself -c tiny.yaml --blocks=1", "run --against-itself", 2),
    ("replay train.strace --data copies --tries 1 other.strace", "observe --replay train.strace other.strace --data copies --tries 1",
     "observe --replay FILE", 2),
    ("replay --at new", "observe --at new --replay", "observe --replay FILE", 2),
    ("expect .", "doctor . --expect", "doctor --expect", 0),
    ("expect --json", "doctor --expect --json", "doctor --expect", 0),
    ("expect --show-table", "doctor --expect --show-table", "doctor --expect", 0),
    ("expect . --run results --json", "verdict results --expect --json", "verdict RUN --expect", 12),
    ("expect --run=results", "verdict results --expect", "verdict RUN --expect", 12),
    ("formula", "require --formula", "require --formula", 0),
    ("formula A3 --json", "require --formula A3 --json", "require --formula", 0),
    ("formula C2 --format text cache_ratio=0.5", "require --formula C2 cache_ratio=0.5", "require --formula", 0),
    ("formula C2 cache_ratio=2", "require --formula C2 cache_ratio=2", "require --formula", 2),
    ("formula --format markdown", "require --formula --format markdown", "require --formula", 0),
    ("formula --lines lines.json", "require --formula --lines lines.json", "require --formula", 0),
    ("export results --format csv", "report results --format csv", "report RUN --format WORD", 0),
    ("export results", "report results --format", "report RUN --format WORD", 2),
    ("completion bash", "help --completion bash", "help --completion SHELL", 0),
    ("completion", "help --completion", "help --completion SHELL", 2),
    ("serve --listen 127.0.0.1:0 --token sixteen-letters-or-more --timeout 1s",
     "run --serve 127.0.0.1:0 --token sixteen-letters-or-more --timeout 1s", "run --serve ADDRESS", 1),
    ("serve --once", "run --once --serve", "run --serve ADDRESS", 2),
    ("--color never --progress none plan -c tiny.yaml", "--color never --progress none run -c tiny.yaml --dry-run", "run --dry-run", 0),
    ("help judge", "help verdict", "verdict RUN --job JOB", 0),
    ("aa --help", "run --help", "run --against-itself", 0),
]


@pytest.fixture
def measured(headrace):
    assert headrace.run("tiny.yaml").code == 0
    headrace.write("train.strace", TRACE)
    headrace.write("other.strace", TRACE)
    headrace.write("lines.json", '{"formula": "C2", "inputs": {"cache_ratio": 0.5}}\n')
    return headrace


def plain(text):
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)


def test_old_verbs(measured):
    for old, new, named, code in FORMS:
        verb = re.sub(r"^(--\w+ \w+ )*(help )?", "", old).split()[0]
        notice = f"headrace {verb} is now headrace {named}; the old name goes away in version 0.3\n"
        before, now = measured(*old.split()), measured(*new.split())
        assert now.code == code and notice not in now.err, (new, now)
        assert before.code == code and plain(before.out) == plain(now.out), (old, before, now)
        assert plain(before.err) == notice + plain(now.err), (old, before, now)


def test_quiet_words_have_no_notice(measured):
    for words in (["-q", "plan", "-c", "tiny.yaml"], ["export", "results", "--format", "csv", "-q"]):
        result = measured(*words)
        assert result.code == 0 and result.out and not result.err, result


def test_old_verbs_are_listed_nowhere(headrace):
    listed = headrace("help", "--verbs").out.split()
    old = {form[0].split()[0] for form in FORMS} - {"--color", "help"}
    assert len(old) == 11 and not old & set(listed) and len(listed) <= 19, listed
    for words in (["help"], ["help", "--man"], ["help", "--completion", "zsh"]):
        assert not re.search(rf"^ *'?({'|'.join(old)})\b[ :)]", headrace(*words).out, re.M), words
    for wrong, near in (("serv", "run --serve ADDRESS"), ("validat", "run --check"), ("qualfy", "qualify"), ("verson", "--version")):
        result = headrace(wrong)
        assert result.code == 2 and f"no verb '{wrong}'; did you mean '{near}'?" in result.err, result
