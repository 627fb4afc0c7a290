"""One archive of what a machine is, to be sent: it opens, it reports on the devices, and no secret is in it."""

import json
import os
import tarfile

import pytest

SECRET = "correct-horse-battery"


def bundled(headrace, *words, **environment):
    result = headrace("doctor", *words, "--bundle", "bundle.tar.gz", **environment)
    assert result.code == 0 and "bundle  bundle.tar.gz" in result.out, result
    with tarfile.open(headrace.path("bundle.tar.gz"), "r:gz") as archive:
        return {member.name.split("/", 1)[1]: archive.extractfile(member).read().decode() for member in archive}


def test_no_secret_of_the_environment_or_of_a_path(headrace):
    folder = headrace.path(f"{SECRET}-data")
    folder.mkdir()
    job = headrace.path(f"{SECRET}-jobs")
    job.mkdir()
    # A run whose command, target and job have the secret in their paths.
    (job / "config.yaml").write_text(headrace.path("tiny.yaml").read_text().replace("path: scratch", f"path: {folder}/scratch"))
    run = headrace("run", "-c", str(job / "config.yaml"), "--no-report", "--out", f"{SECRET}-run",
                   "--set", "workloads.0.repeat=2", DB_PASSWORD=SECRET)
    assert run.code == 0 and SECRET in (headrace.path(f"{SECRET}-run") / "run.json").read_text(), run
    files = bundled(headrace, str(folder), "--run", f"{SECRET}-run", DB_PASSWORD=SECRET, AWS_SECRET_ACCESS_KEY="AKIA" + SECRET,
                    NCCL_DEBUG="WARN", HEADRACE_TOKEN="token-" + SECRET)
    for name, text in files.items():
        assert SECRET not in text and "AKIA" not in text, name
        assert str(headrace.folder) not in text, name
    assert "NCCL_DEBUG=WARN" in files["environment.txt"]
    assert "PASSWORD" not in files["environment.txt"] and "TOKEN" not in files["environment.txt"]
    point = json.loads(files["figures.json"])["points"][0]
    assert point["metrics"]["read_bandwidth"][0] > 0 and point["number"] == 1 and "id" not in point, point


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_is_read_by_its_owner_alone(headrace, umask):
    made = headrace.path("bundle.tar.gz")
    bundled(headrace, ".")  # it is replaced
    made.chmod(0o666)
    before = os.umask(umask)
    try:
        done = headrace("doctor", ".", "--bundle", "bundle.tar.gz")
    finally:
        os.umask(before)
    assert done.code == 0 and made.stat().st_mode & 0o777 == 0o600, (done, oct(made.stat().st_mode))


def test_reports_of_the_machine(headrace):
    files = bundled(headrace, ".")
    document = json.loads(files["doctor.json"])
    sections = {finding["section"] for finding in document["findings"]}
    assert {"machine", "limits", "backends", "workloads"} <= sections
    assert "path" not in document["environment"].get("file_system", {}) and "name" not in document["environment"]["host"]
    assert {"disk", "memory"} <= {part["kind"] for part in json.loads(files["parts.json"])}
    assert "headrace" in files["version.txt"] and "MemTotal" in files["memory.txt"] and "processors.txt" in files


def test_names_the_command_for_any_name(headrace):
    done = headrace("doctor", ".", "--bundle", "a b;$(x).tar.gz")
    assert done.code == 0 and "tar -xzf 'a b;$(x).tar.gz'" in " ".join(done.out.split()), done


def test_impossible_bundles(headrace):
    assert headrace("doctor", ".", "--run", "results").code == 2
    assert headrace("doctor", ".", "--bundle", "b.tar.gz", "--run", "no-such-run").code == 2
    assert not headrace.path("b.tar.gz").exists()
    result = headrace("doctor", ".", "--bundle", "no/such/folder/b.tar.gz")
    assert result.code == 1 and "no/such/folder" in result.err, result
