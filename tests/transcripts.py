"""Transcripts of commands on pages of docs/, and whether a command still prints them."""

import pathlib
import re
import shlex

DOCS = pathlib.Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)  # language, text
NUMBER = re.compile(r"(?<![\w.-])[+-]?\d+(?:[.,]\d+)*(?: ?(?:[kMGTmµn]?i?[Bs](?:/s)?|[kMGT]?/s|[kMGT]|min|h|%)(?![\w/]))?")


def transcripts(page):
    """(words of a command, lines that it prints) of blocks with a prompt; `...` is a line for lines that are left out."""
    for language, text in BLOCK.findall(page):
        for part in re.split(r"^\$ ", text, flags=re.M)[1:] if language in ("", "text") else []:
            command, *lines = part.rstrip("\n").split("\n")
            yield shlex.split(command), [line for line in lines if line.strip()]


def shape(text):
    """Without its numbers with their units, and however it is wrapped."""
    return " ".join(NUMBER.sub("N", text).split())


def missing(shown, printed):
    """The first part of `shown`, between lines that are left out, that is not printed after those before; "" = none is missing."""
    assert NUMBER.sub("N", "node3: 1.65 MB/s, 65 % of 2 [1.5, 3.2 ms], 3 pairs") == "node3: N, N of N [N, N], N pairs"
    rest = shape(printed)
    for part in "\n".join(shown).split("..."):
        _, found, rest = rest.partition(shape(part)) if shape(part) else ("", " ", rest)
        if not found:
            return f"{shape(part)!r} is not in {rest!r}"
    return ""
