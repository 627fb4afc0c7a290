#!/usr/bin/env python3
"""Records how packages were made: an in-toto statement with SLSA provenance, which a release signs.

  packaging/provenance.py FILE BUILT PACKAGE... -- LIBRARY...
      FILE: written; BUILT: the build folder; PACKAGE: files of the release;
      LIBRARY: Debian packages that the build needs, by name or file"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def words(*command):
    """Its output; "" where it fails or is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def used(library):
    query = "dpkg-deb" if library.endswith(".deb") else "dpkg-query"
    uri = words(query, "-W", "--showformat=pkg:deb/debian/${Package}@${Version}?arch=${Architecture}\\n", library).partition("\n")[0]
    return {"uri": uri} if uri and "@?" not in uri else None


def statement(built, packages, libraries):
    revision, changed = words("git", "rev-parse", "HEAD"), words("git", "status", "--porcelain")
    source = {"uri": "git+headrace", "digest": {"gitCommit": revision}, "annotations": {"changed": bool(changed)}}
    compiled = words(*os.environ.get("HEADRACE_EMULATOR", "").split(), str(pathlib.Path(built) / "headrace"), "--version").splitlines()
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": pathlib.Path(one).name, "digest": {"sha256": hashlib.sha256(pathlib.Path(one).read_bytes()).hexdigest()}}
                    for one in packages],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:headrace:tools/package", "externalParameters": {"build": pathlib.Path(built).name},
                "internalParameters": {"headrace": compiled[:3]},
                "resolvedDependencies": [source, *filter(None, map(used, libraries))]},
            "runDetails": {"builder": {"id": "urn:headrace:tools/package"}}}}


if __name__ == "__main__":
    if len(sys.argv) < 5 or "--" not in sys.argv:
        sys.exit(__doc__)
    to, build_folder, *rest = sys.argv[1:]
    at = rest.index("--")
    pathlib.Path(to).write_text(json.dumps(statement(build_folder, rest[:at], rest[at + 1:]), indent=1) + "\n")
