"""Text from outside made safe for a page or a terminal: nothing in it directs, reverses or hides its neighbours."""

from __future__ import annotations

import re

# As harness/base/printable.cc: controls, invisible formats, separators of lines and paragraphs, fillers.
_HIDDEN = ("\\x00-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e"
           "\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a"
           "\\U000e0000-\\U000e0fff\\ud800-\\udfff")
_ANY = re.compile(f"[{_HIDDEN}]")
_WITHIN_LINES = re.compile(f"(?![\\t\\n])[{_HIDDEN}]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _escape(match: re.Match) -> str:
    """As JSON writes it: above 16 bits as a pair of surrogates."""
    character = match[0]
    if character in _SHORT:
        return _SHORT[character]
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def printable(text: str) -> str:
    """Every such character as an escape, line breaks too: "\\n", "\\u001b", "\\u202e"."""
    return _ANY.sub(_escape, text)


def printable_lines(text: str) -> str:
    """The same for a text whose line breaks are its own. JSON in it stays the same value."""
    return _WITHIN_LINES.sub(_escape, text)
