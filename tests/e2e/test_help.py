"""What the command line reports on itself: help, manual pages, completion, and examples that work as they stand."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time

import pytest

GUARD_S = 120  # a deadline, on machines that are busy


def verbs(headrace):
    return headrace("help", "--verbs").out.split()


def test_verbs_that_people_try(headrace):
    assert headrace("help").out == headrace("--help").out
    assert headrace("help", "run").out == headrace("run", "--help").out
    assert {"run", "qualify", "measure", "help"} <= set(verbs(headrace)) and len(verbs(headrace)) <= 19


def test_help_of_an_unknown_verb(headrace):
    result = headrace("help", "qualfy")
    assert result.code == 2 and "help: no verb 'qualfy'; did you mean 'qualify'?" in result.err, result


def test_help_is_one_screen(headrace):
    """Of 80 columns and 44 lines; rare options are in --help-all, on the manual page and in completion alone."""
    for verb in verbs(headrace):
        assert len(headrace("help", verb, COLUMNS="80").out.splitlines()) <= 44, verb
    short, whole = headrace("measure", "--help").out, headrace("measure", "--help-all").out
    assert "\n  --block-size" not in short and "headrace measure --help-all lists" in short and "--block-size" in whole
    assert headrace("help", "--all", "measure").out == whole
    assert re.search(r"^Hosts\n(.*\n)*^Tests\n", headrace("bringup", "--help").out, re.M)


def test_names_of_other_tools(headrace):
    """Whoever knows fio or elbencho types its options."""
    for words, hint in ((["random_read", "--bs", "4k"], "no option '--bs'; here it is --block-size, such as 4KiB"),
                        (["random_read", "--size", "1GB"], "here it is --file-size, of each of --files files"),
                        (["random_read", "--threads", "4"], "no option '--threads'; here it is --workers"),
                        (["random_read", "--block-size", "4k", "--dry-run"], "write KiB (powers of 1024) or kB (powers of 1000)"),
                        (["random_read", "--workers", "1-8", "--dry-run"], "is no range: write 1..8"),
                        (["random_read", "--direct", "1", "--dry-run"], "1: no such file or folder"),
                        (["random_read", "--file-size", "2GB", "--dry-run"], "max_write allows"),
                        (["seq_read"], "here it is shard_stream reads front to back"), (["small_read"], "here it is small_file_read")):
        result = headrace("measure", *words)
        assert result.code == 2 and hint in result.err and len(result.err.splitlines()) == 1, (words, result)
    reported = headrace("bringup", "hosts")
    assert reported.code == 2 and "--out DIR is needed" in reported.err, reported


def test_exit_codes_are_reported_once(headrace):
    assert "Exit codes" in headrace("help").out
    for verb in verbs(headrace):
        assert "Exit codes" not in headrace("help", verb).out, verb


@pytest.mark.parametrize("files, said", [
    ([], ["doctor", "resnet50-imagenet.yaml --at headrace-scratch", "observe -- python3 train.py"]),
    (["cats/a.JPEG", "dogs/b.jpg", "notes.txt"], ["doctor", "resnet50-imagenet.yaml --data ", "observe"]),
    (["train-000.tar", "train-001.tar", "one.png"], ["doctor", "image-generation-webdataset.yaml --data ", "observe"]),
    (["hosts", "x.parquet"], ["doctor", "parquet-recommender.yaml --data ", "bringup --hosts hosts"])])
def test_without_a_verb_three_commands_fit_the_folder(headrace, files, said):
    for name in files:
        headrace.path(name).parent.mkdir(exist_ok=True)
        headrace.path(name).write_text("")
    result = headrace()
    commands = [line.strip() for line in result.out.replace(" \\\n     ", "").splitlines() if line.startswith(("  headrace", "  cd && headrace"))]
    assert result.code == 0 and len(commands) == 3 and not result.err, result
    assert all(want in command for want, command in zip(said, commands)), commands
    for command in commands:
        words = shlex.split(command.removeprefix("cd && ").split(" -- ")[0])  # what follows is another program's
        assert headrace(*words[1:], "--help").code == 0, command
    job = re.search(r"configs/\S+", commands[1])[0]
    assert headrace("require", job).code == 0, job


def test_without_a_verb_slurm_names_the_hosts(headrace):
    assert "scontrol show hostnames > hosts && headrace bringup --hosts hosts" in headrace(SLURM_JOB_NODELIST="n[1-4]").out


def examples(headrace):
    """Of every verb's help: (verb, command)."""
    for verb in verbs(headrace):
        text = headrace("help", verb).out
        after = re.split(r"^Examples?$", text, flags=re.M)
        assert len(after) == 2 and len(after[0].splitlines()) <= 4, (verb, "does not begin with an example")
        found = re.findall(r"^  (headrace .*)$", after[1], re.M)
        assert found, (verb, after[1])
        yield from ((verb, command) for command in found)


TRACE = """\
100 1700000000.000100 openat(AT_FDCWD, "/data/a.bin", O_RDONLY) = 3 <0.000100>
100 1700000000.000300 read(3, "", 65536) = 65536 <0.000200>
100 1700000000.000700 close(3) = 0 <0.000010>
"""


def test_every_example_works(headrace):
    """Each is typed as it is, but that what would measure for minutes only shows its plan, or does so for seconds, and
    nobody is waited for."""
    for out in ("before", "after"):
        assert headrace.run("tiny.yaml", out=out).code == 0
    assert headrace.run("tiny.yaml", out="runs/one").code == 0
    headrace.path("images/cat").mkdir(parents=True)
    headrace.path("images/cat/one.jpg").write_bytes(b"image")
    headrace.write("train.strace", TRACE)
    headrace.write("hosts", "node1 rack=r1\nnode2 rack=r1\nnode3 rack=r2\n")
    assert headrace("bringup", "--simulate", "16", "--bad", "0%", "--out", "cluster", "--no-report").code == 0
    shortened = {"run": ["--dry-run"], "qualify": ["--dry-run"], "rehearse": ["--dry-run"], "measure": ["--dry-run"]}
    for verb, command in examples(headrace):
        typed = command.replace("$(openssl rand -hex 16)", "5f3c9a7be1d24680").replace("$(hostname -s)", "node1")  # what a shell would put there
        words = ["5s" if verb == "size" and word == "2min" else word for word in shlex.split(typed)]
        if verb == "bringup" and "--dry-run" in words:
            words = ["new" if word == "cluster" else word for word in words]  # before there is one
        assert words[:2] == ["headrace", verb] or words[1] == verb, command
        result = headrace(*words[1:], *shortened.get(verb, []))
        if verb == "report" and "no Python" in result.err:
            continue
        if verb == "size" and "the runs measured nothing that this job needs" in result.err:
            continue  # tiny files are not its samples
        # Tiny runs decide little.
        allowed = {"compare": {0, 10, 11}, "size": {0, 10, 11, 12}, "fleet": {0, 11, 12}, "history": {0, 11, 12},
                   "verdict": {0, 12}, "bringup": {0, 11}, "simulate": {10, 11}}.get(verb, {0})
        assert result.code in allowed, (command, result)


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_manual_pages(headrace):
    for verb in [None, *verbs(headrace)]:
        page = headrace("help", "--man", *([verb] if verb else []))
        assert page.code == 0 and page.out.startswith(".TH"), page
        shown = subprocess.run(["groff", "-ww", "-man", "-Tascii", "-P-cbou"], input=page.out, capture_output=True, text=True, timeout=GUARD_S)
        assert shown.returncode == 0 and shown.stderr == "", (verb, shown.stderr)
        text = re.sub(r"\s+", " ", shown.stdout)
        assert ("headrace-" + verb if verb else "headrace") in text and "NAME" in text, (verb, shown.stdout)
        listed = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", headrace("help", *([verb] if verb else [])).out, re.M)
        assert listed, verb
        for option in listed:
            assert option in text, (verb, option)


def typed(headrace, shell, ready, keys, wanted):
    """What a terminal of `shell` shows after `keys` are typed, once `wanted` is there; polls, for machines may be slow."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(headrace.folder)
        os.execvpe(shell[0], shell, headrace.environment(HR=str(headrace.binary), TERM="dumb", PS1="", HISTFILE="",
                                                          PATH=f"{os.path.dirname(headrace.binary)}:{os.environ['PATH']}"))
    shown, deadline = "", time.monotonic() + GUARD_S

    def until(words):
        nonlocal shown
        while words not in shown and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    shown += os.read(terminal, 4096).decode(errors="replace")
                except OSError:
                    break
        return words in shown

    try:
        os.write(terminal, (ready + "; echo IS''READY\n").encode())
        assert until("ISREADY"), shown
        os.write(terminal, keys.encode())
        assert until(wanted), shown
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_a_person_completes_in_bash(headrace):
    typed(headrace, ["bash", "--norc", "--noprofile", "-i"], 'source <("$HR" completion bash)', "headrace qual\t", "headrace qualify")


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh")
def test_a_person_completes_in_zsh(headrace):
    headrace.path("site").mkdir()
    headrace.path("site/_headrace").write_text(headrace("help", "--completion", "zsh").out)
    headrace.path("folder").mkdir()
    ready = "fpath=($PWD/site $fpath); autoload -Uz compinit && compinit -u -D"
    for keys, wanted in (("headrace qual\t", "headrace qualify"), ("headrace run --dry\t", "headrace run --dry-run"),
                         ("headrace list shard\t", "headrace list shard_stream"), ("headrace doctor fol\t", "headrace doctor folder")):
        typed(headrace, ["zsh", "-f", "-i"], ready, keys, wanted)


def widest(text):
    return max(text.splitlines(), key=len)


def test_lines_fit_a_narrow_terminal(headrace):
    config = headrace.write("asked.yaml", """\
schema: 1
target: {path: /tmp/x}
needs: [{id: rate, metric: small_file_read.sample_rate, at_least: 1e12/s}]
workloads: [{use: small_file_read, files: 10, file_size: 8KiB, workers: [1, 2], cache: asis, repeat: 2}]
""")
    for words in (["help"], ["help", "compare"], ["run", "--dry-run", "-c", config], ["list"], ["list", "small_file_read"]):
        result = headrace(*words, COLUMNS="60")
        assert result.code == 0 and len(widest(result.out)) <= 60, (words, widest(result.out))
        assert any(len(line) > 60 for line in headrace(*words, COLUMNS="100").out.splitlines()), words
    result = headrace("run", "-c", config, "--no-report", "--out", "r", "--set", "target.path=s", COLUMNS="60")
    assert result.code in (10, 11) and len(widest(result.out.split("files   ")[0])) <= 60, (widest(result.out), result)


def test_explained_needs_fit_a_terminal(headrace):
    result = headrace("require", "configs/jobs/resnet50-imagenet.yaml", "--explain")
    assert result.code == 0 and len(widest(result.out)) <= 100, widest(result.out)
