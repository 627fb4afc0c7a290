#!/usr/bin/env python3
"""Lists what an installed tree brings, as an SPDX document: headrace itself, and each library with the package it came from.

  packaging/sbom.py TREE VERSION FILE"""

import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys


def words(*command):
    """The words of its output; none where it fails or is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return []


def places():
    """Where this machine has each shared library, by its file name."""
    return {pathlib.Path(path).name: path for path in words("ldconfig", "-p") if path.startswith("/")}


def origin(path):
    """Name, version and architecture of the Debian package that has the file; None where none has."""
    for name in {str(path), str(path.resolve())}:
        owner = words("dpkg-query", "-S", name)
        if owner:
            return words("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}", owner[0].rstrip(":")) or None
    return None


def package(name, version, file=None, deb=None):
    one = {"SPDXID": "SPDXRef-" + "".join(c if c.isalnum() else "-" for c in name), "name": name, "versionInfo": version,
           "downloadLocation": "NOASSERTION", "filesAnalyzed": False}
    if file is not None:
        one["packageFileName"] = file.name
        one["checksums"] = [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(file.read_bytes()).hexdigest()}]
    if deb is not None:
        locator = f"pkg:deb/debian/{deb[0]}@{deb[1]}?arch={deb[2]}"
        one["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]
        one["comment"] = f"from the Debian package {deb[0]}"
    return one


def main(tree, version, to):
    tree, known = pathlib.Path(tree), places()
    root = package("headrace", version, tree / "bin/headrace")
    packages = [root]
    for file in sorted(one for one in (tree / "lib/headrace").glob("*.so*") if not one.is_symlink()):
        deb = origin(pathlib.Path(known.get(file.name, file.name)))
        packages.append(package(file.name, deb[1] if deb else "NOASSERTION", file, deb))
    program = [*os.environ.get("HEADRACE_EMULATOR", "").split(), tree / "bin/headrace"]
    made = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True).stdout
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"headrace-{version}",
        "documentNamespace": f"urn:headrace:{version}:{root['checksums'][0]['checksumValue']}", "comment": made,
        "creationInfo": {"created": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": ["Tool: headrace-sbom"]},
        "packages": packages,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": root["SPDXID"]}]
        + [{"spdxElementId": root["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": one["SPDXID"]} for one in packages[1:]]}
    pathlib.Path(to).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
