"""Finds the small changes that can be made in a C++ file: by its syntax tree, so that comments, strings and types stay.

Needs libclang's Python bindings (Debian: python3-clang).
"""

import hashlib
import pathlib
import re
import shlex
from dataclasses import dataclass

from clang import cindex
from clang.cindex import CursorKind, TypeKind

BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*"}
SWAPPED = {"min": "max", "max": "min", "ceil": "floor", "floor": "ceil", "min_element": "max_element",
           "max_element": "min_element"}
FLOATING = (TypeKind.FLOAT, TypeKind.DOUBLE, TypeKind.LONGDOUBLE)
INTEGERS = (TypeKind.USHORT, TypeKind.UINT, TypeKind.ULONG, TypeKind.ULONGLONG, TypeKind.SHORT, TypeKind.INT,
            TypeKind.LONG, TypeKind.LONGLONG)
# What only shapes text or memory, or says how long to wait for others, decides nothing.
NO_DECISION = re.compile(r"^(format\w*|reserve|explain\w*|advise\w*|printf|substr)$")
ROUNDING = 1e-6  # what is smaller absorbs rounding
WAITING = re.compile(r"Alive|[Tt]imeout|[Dd]eadline|Patience|Poll")


@dataclass
class Change:
    """One change: the bytes [start, end) of `path`, `before`, become `after`."""
    path: str
    start: int
    end: int
    before: str
    after: str
    kind: str
    shown: str = ""  # enough around it to be found again, before -> after
    room: str = ""

    @property
    def name(self):
        return f"{self.path}: {self.shown}"

    def rank(self, seed):
        """A place in a random order that moving other code does not change."""
        return hashlib.sha256(f"{seed} {self.name}".encode()).hexdigest()


def plain(text):
    return " ".join(text.split())


class Finder:
    def __init__(self, path, relative, arguments):
        self.relative = relative
        self.bytes = path.read_bytes()
        self.found = []
        self.unit = cindex.Index.create().parse(str(path), args=arguments)
        worst = [d for d in self.unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
        if worst:
            raise SystemExit(f"{relative} cannot be parsed: {worst[0].spelling}; is python3-clang as new as its code?")
        for cursor in self.unit.cursor.get_children():
            if cursor.location.file and cursor.location.file.name == str(path):
                self.walk(cursor, [])

    def text(self, start, end):
        return self.bytes[start:end].decode()

    def extent(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def add(self, cursor, parents, after, kind):
        start, end = self.extent(cursor)
        before = self.text(start, end)
        if "//" in before or "#" in before or not before.strip():
            return
        # The whole of a small expression around it shows which of many alike is meant.
        around_start, around_end = start, end
        for parent in reversed(parents):
            first, last = self.extent(parent)
            if last - first > 90 or not (parent.kind.is_expression() or parent.kind.is_statement() or
                                         parent.kind == CursorKind.VAR_DECL) or first > start or last < end:
                break
            around_start, around_end = first, last
        left, right = self.text(around_start, start), self.text(end, around_end)
        shown = f"{plain(left + before + right)} -> {plain(left + after + right)}"
        self.found.append(Change(self.relative, start, end, before, plain(after), kind, shown))

    def operator(self, left, right):
        between = self.text(left.extent.end.offset, right.extent.start.offset)
        return between.strip(" \n()")

    def walk(self, cursor, parents):
        kind = cursor.kind
        if kind in (CursorKind.STATIC_ASSERT, CursorKind.CXX_THROW_EXPR, CursorKind.ENUM_DECL):
            return
        if kind == CursorKind.CALL_EXPR and NO_DECISION.match(cursor.spelling or ""):
            return
        children = list(cursor.get_children())
        if kind == CursorKind.BINARY_OPERATOR and len(children) == 2:
            self.binary(cursor, parents, *children)
        elif kind == CursorKind.UNARY_OPERATOR and len(children) == 1:
            start, _ = self.extent(cursor)
            if self.text(start, start + 1) == "!":
                self.add(cursor, parents, f"static_cast<bool>({self.text(*self.extent(children[0]))})", "condition")
        elif kind == CursorKind.IF_STMT and children and children[0].kind.is_expression():
            self.condition(children[0], parents + [cursor], "false")
        elif kind == CursorKind.CONDITIONAL_OPERATOR and children:
            self.condition(children[0], parents + [cursor], f"!({self.text(*self.extent(children[0]))})")
        elif kind == CursorKind.CALL_EXPR and cursor.spelling in SWAPPED:
            text = self.text(*self.extent(cursor))
            swapped = re.sub(rf"^((?:std::)?(?:ranges::)?){cursor.spelling}\b",
                             lambda m: m.group(1) + SWAPPED[cursor.spelling], text)
            if swapped != text:
                self.add(cursor, parents, swapped, "swapped")
        elif kind in (CursorKind.INTEGER_LITERAL, CursorKind.FLOATING_LITERAL):
            self.constant(cursor, parents, self.text(*self.extent(cursor)))
        elif kind == CursorKind.DECL_REF_EXPR and cursor.referenced is not None:
            declared = cursor.referenced
            if declared.kind == CursorKind.VAR_DECL and re.match(r"k[A-Z]", declared.spelling or "") \
                    and not WAITING.search(declared.spelling):
                self.constant(cursor, parents, self.text(*self.extent(cursor)))
        for child in children:
            if kind == CursorKind.VAR_DECL and child.kind == CursorKind.INTEGER_LITERAL and \
                    cursor.type.kind == TypeKind.CONSTANTARRAY:
                continue  # the size of an array: it would have to be known before the switch is
            self.walk(child, parents + [cursor])

    def condition(self, cursor, parents, after):
        """A condition that is no comparison itself: those have changes of their own."""
        inner = cursor
        while inner.kind in (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR):
            below = list(inner.get_children())
            if len(below) != 1:
                break
            inner = below[0]
        if inner.kind not in (CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR):
            self.add(cursor, parents, after, "condition")

    def binary(self, cursor, parents, left, right):
        operator = self.operator(left, right)
        a, b = (self.text(*self.extent(c)) for c in (left, right))
        kinds = [c.type.get_canonical().kind for c in (left, right)]
        floating = any(k in FLOATING for k in kinds)
        if operator in ("&&", "||"):
            self.add(cursor, parents, f"static_cast<bool>({a})", "condition")
            self.add(cursor, parents, f"static_cast<bool>({b})", "condition")
            return
        if operator in OPPOSITE:
            # Floating-point values seldom meet: there, only the direction decides.
            replacement = OPPOSITE[operator] if floating else BOUNDARY.get(operator, OPPOSITE[operator])
            self.add(cursor, parents, self.replaced(cursor, left, right, operator, replacement), "relation")
        elif operator in ARITHMETIC and all(k in FLOATING + INTEGERS for k in kinds):
            self.add(cursor, parents, self.replaced(cursor, left, right, operator, ARITHMETIC[operator]), "arithmetic")

    def replaced(self, cursor, left, right, operator, by):
        start, end = self.extent(cursor)
        here, there = left.extent.end.offset, right.extent.start.offset
        return (self.text(start, here) + self.text(here, there).replace(operator, by, 1) + self.text(there, end))

    def constant(self, cursor, parents, text):
        kind = cursor.type.get_canonical().kind
        if kind not in FLOATING + INTEGERS or not text:
            return
        if text[0].isdigit() or text[0] == ".":
            number = re.sub(r"[uUlLfFzZ]+$", "", text.replace("'", ""))
            if "_" in number:  # 4_MiB: a size with its unit
                return
            value = float.fromhex(number) if number.lower().startswith("0x") else float(number)
            if 0 < value < ROUNDING:
                return
            if value == 0:
                after = text.replace("0", "1", 1) if kind in INTEGERS else "1.0"
            elif kind in INTEGERS and value < 16:
                after = f"({text} + 1)"
            else:
                after = f"({text} * 2)"
        else:
            after = f"({text} * 2)" if kind in FLOATING else f"({text} + 1)"
        self.add(cursor, parents, after, "constant")


def compiler_arguments(command):
    """What libclang needs of a compile command."""
    words = shlex.split(command)
    kept, take, skip = [], 0, False
    for word, following in zip(words, [*words[1:], ""]):
        if word == "-include" and "cmake_pch" in following:  # gcc's; sources include what they need
            continue
        if skip or word == "-Xclang":  # precompiled headers
            skip = not skip
        elif take:
            kept.append(word)
            take -= 1
        elif word in ("-isystem", "-I", "-include"):
            kept.append(word)
            take = 1
        elif word.startswith(("-I", "-D", "-std=", "-isystem")):
            kept.append(word)
    return kept


def changes_in(root, relative, command):
    """All changes that could be made in `relative`, by the compile command of the build."""
    return Finder(root / relative, relative, compiler_arguments(command)).found


def changes_in_path(arguments):
    """For a pool of processes."""
    root, relative, command = arguments
    return [vars(c) for c in changes_in(pathlib.Path(root), relative, command)]
