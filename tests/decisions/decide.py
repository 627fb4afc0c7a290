"""Runs the decision set: is headrace's word the right one?  decide.py [--seeds 1,2,3] [--verb VERB] [--keep FOLDER] [--headrace PROGRAM]

Prints a table by verb and each case that went wrong. Ends with 1 when less than 97 % are right, or when anything bad passed or anything
sound was accused. One seed is the test; several are run by hand.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
from typing import Dict, Tuple

from cases import FAIL, PASS, Case, all_cases

ENOUGH = 0.97
CODES = {0: "PASS", 1: "ERROR", 2: "usage", 10: "FAIL", 11: "INCONCLUSIVE", 12: "INCOMPLETE", 77: "SKIPPED"}


def ended_with(words, folder: pathlib.Path) -> Tuple[int, str]:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120, env=os.environ | {"LC_ALL": "C.UTF-8"})
    code = done.returncode
    if "--replay" in words and done.stdout:  # the word that the file held before is not the question
        code = int(done.stdout.rstrip().rsplit("exit=", 1)[-1])
    if words[1] == "size" and done.stdout:
        phases = [phase["outcome"] for phase in json.loads(done.stdout)["phases"] if phase["phase"] == "cold_epoch"]
        code = {word: code for code, word in CODES.items()}[phases[0] if phases else "INCOMPLETE"]
    return code, done.stdout or done.stderr


def tried(case: Case, seed: int, program: str, folder: pathlib.Path) -> Tuple[str, str]:
    """What went wrong with it ("" = nothing), and what was printed."""
    folder.mkdir(parents=True)
    words = case.make(folder, random.Random(f"{seed} {case.verb} {case.name}"))
    code, text = ended_with([program, *case.verb.split()[:1], *words], folder)
    if case.bad and code == PASS:
        return "false PASS", text
    if code == FAIL and (case.good or FAIL not in case.right):
        return "false accusation", text
    if code not in case.right:
        return f"{CODES.get(code, code)}, not {' or '.join(CODES[c] for c in case.right)}", text
    try:
        why = case.check(text) if case.check else ""
    except (ValueError, KeyError) as e:
        why = f"unreadable: {e!r}"
    return ("false accusation: " if why.startswith("accuses") else "") + why, text


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", default="1", help="as in 1,2,3")
    options.add_argument("--verb", help="those of this verb alone")
    options.add_argument("--keep", help="leave the run folders there")
    options.add_argument("--headrace", default=os.environ.get("HEADRACE", str(pathlib.Path(__file__).parents[2] / "build/release/headrace")))
    given = options.parse_args()
    count: Dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory(prefix="headrace-decisions-") as temporary:
        root = pathlib.Path(given.keep or temporary)
        for seed in map(int, given.seeds.split(",")):
            for number, case in enumerate(all_cases()):
                if given.verb and given.verb != case.verb:
                    continue
                why, text = tried(case, seed, str(pathlib.Path(given.headrace).resolve()), root / f"{seed}-{number:03}")
                of_verb = count[case.verb]
                of_verb.update(cases=1, right=not why, passed="false PASS" in why, accused="false accusation" in why)
                if why:
                    print(f"{seed}-{number:03} {case.verb}: {case.name}: {why}\n    " + text.strip().replace("\n", "\n    ")[-1500:])
    print(f"{'verb':<18}{'cases':>7}{'right':>7}{'':>8}{'false PASS':>12}{'accused':>9}")
    total = sum(count.values(), collections.Counter())
    for verb, of_verb in [*count.items(), ("all", total)]:
        print(f"{verb:<18}{of_verb['cases']:>7}{of_verb['right']:>7}{of_verb['right'] / max(1, of_verb['cases']):>8.1%}{of_verb['passed']:>12}{of_verb['accused']:>9}")
    return int(total["right"] < ENOUGH * total["cases"] or total["passed"] > 0 or total["accused"] > 0)


if __name__ == "__main__":
    sys.exit(main())
