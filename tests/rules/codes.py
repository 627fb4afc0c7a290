"""The codes that programs read: one page lists them all. They are taken from the source, so a new one cannot be left out.

  codes.py --write      writes docs/reference/codes.md anew

A code is stable: a later version may add codes, and gives no code another name.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/codes.md"

# Title, member of which document, source files, pattern of a code there (or of the list, and of a code in it), page that
# explains it.
KINDS = [
    ("Words of a verdict", "`word`, `outcome`, and the last line of standard output", ["harness/judge/verdict/word.cc"],
     r'\{Outcome::\w+, "([A-Z]+)"', "glossary.md"),
    ("Reasons of an INCONCLUSIVE result", "`reason` of run.json, comparison.json and size.json", ["harness/judge/verdict/word.cc"],
     r'case Reason::\w+:\n +return "([a-z-]+)"', "../explanation/statistics.md"),
    ("Faults of a part", "`faults[].count` of run.json; metrics of that name", ["harness/record/fault_counts.h"],
     r'^    \{"([a-z_]+)", "', "gpus.md"),
    ("Changes of a metric", "`rows[].status` of comparison.json", ["harness/analysis/comparison/comparison.cc"],
     r'case Change::\w+:\n +return "([a-z]+)"', "comparison-json.md"),
    ("Deviations of a node, group or pair", "`status` of fleet.json", ["harness/analysis/fleet/fleet.cc"],
     r'case Status::\w+:\n +return "([a-z]+)"', "fleet-json.md"),
    ("States of a node", "`nodes[].state` of bringup.json", ["harness/bringup/blame/judge.cc"],
     (r'kNodeStates\.size\(\)> kWords\{([^}]*)\}', r'"([a-z]+)"'), "bringup-json.md"),
    ("Limits of a watched job", "`limit.id` of observe.json", ["harness/observe/learning", "harness/observe/nccl"],
     r'\.id = (?:[^;,"]*\? )?"([a-z_]+)"(?: : "([a-z_]+)")?', "observe.md"),
    ("Fixes", "`fixes[].fix` of size.json", ["harness/analysis/sizing/fixes.cc"],
     r'fix\.fix = "([a-z_]+)"', "size-json.md"),
]


def codes_of(places, pattern):
    """In the order in which the source has them."""
    files = [file for place in places for file in
             ([ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*.cc")))]
    found = {}
    for file in files:
        text = file.read_text()
        if isinstance(pattern, tuple):
            text, pattern = " ".join(re.findall(pattern[0], text)), pattern[1]
        for match in re.finditer(pattern, text, re.M):
            found.update((code, None) for code in match.groups() if code)
    return list(found)


def listed(text):
    return {code for line in text.splitlines() if line.startswith("`") and ";" not in line for code in re.findall(r"`([\w-]+)`", line)}


def page():
    parts = ["# Codes\n\nScripts can rely on these words: a later version may add codes, and gives no code another name. The\n"
             "sentences that explain them may change. This page is generated from the source (`tests/rules/codes.py --write`).\n"]
    for title, member, places, pattern, where in KINDS:
        rows = ", ".join(f"`{code}`" for code in codes_of(places, pattern))
        parts.append(f"## {title}\n\n{member}; [meanings]({where}).\n\n{rows}\n")
    return "\n".join(parts)


def problems():
    """Kinds without codes, codes that their page does not explain, and a page that is not of this source."""
    for title, _, places, pattern, where in KINDS:
        codes = codes_of(places, pattern)
        if len(codes) < 3:
            yield f"{title}: only {len(codes)} codes were found in {', '.join(places)}"
        text = (PAGE.parent / where).read_text()
        for code in codes:
            if not re.search(rf"(?<![\w-]){re.escape(code)}(?![\w-])", text):
                yield f"{title}: {code} is not explained in docs/reference/{where}"
    before = PAGE.read_text() if PAGE.exists() else ""
    if before != page():
        gone = listed(before) - listed(page())
        if gone:
            yield f"codes that scripts rely on are gone: {', '.join(sorted(gone))}"
        yield f"{PAGE.relative_to(ROOT)} lists other codes: run tests/rules/codes.py --write"


if __name__ == "__main__":
    found = list(problems())
    if sys.argv[1:] == ["--write"] and not any(problem.startswith("codes that") for problem in found):
        PAGE.write_text(page())
        found = list(problems())
    print("\n".join(found) or "kept")
    sys.exit(bool(found))
