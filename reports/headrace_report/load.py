"""Reads headrace's JSON files into their types; every problem is a RunFileError with the place in the file."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import typing
from typing import Any, Dict, List, Mapping, Tuple

from . import schema
from .errors import Inconsistent, RunFileError
from .schema import Run


MOST_BYTES = 256 << 20  # as the program itself reads
MOST_VALUES = 16_000_000


def load_run(path: str) -> Run:
    """Reads a run file as load() does."""
    return load(path, {schema.KIND: Run})


def load(path: str, types: Mapping[str, type]) -> Any:
    """Reads, checks the kind and the schema version, then everything else. Returns an object of the type that `types` has for
    the file's kind. Raises RunFileError."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise RunFileError(f"{path}: has more than {MOST_BYTES >> 20} MiB, the most that is read")
        text = data.decode("utf-8")
    except OSError as problem:
        raise RunFileError(f"{path}: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise RunFileError(f"{path}: not UTF-8 text: byte {problem.start}") from problem
    try:
        return read(parse(text), types)
    except RunFileError as problem:
        raise RunFileError(f"{path}: {problem}") from problem


def parse(text: str) -> Any:
    """Strict JSON: no NaN, no infinity, no duplicate key."""
    if not text.strip():
        raise RunFileError("the file is empty")
    if sum(text.count(begin) for begin in "[{,") > MOST_VALUES:
        raise RunFileError(f"has more than {MOST_VALUES // 1_000_000} million values")
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique)
    except json.JSONDecodeError as problem:
        if text[problem.pos:].strip() == "" or problem.msg.startswith("Unterminated"):
            raise RunFileError(f"line {problem.lineno}: the file ends in the middle (truncated)") from problem
        raise RunFileError(f"line {problem.lineno}, column {problem.colno}: not JSON: {problem.msg}") from problem
    except RecursionError as problem:
        raise RunFileError("nested too deeply to be a run file") from problem


def read_run(data: Any) -> Run:
    return read(data, {schema.KIND: Run})


def read(data: Any, types: Mapping[str, type]) -> Any:
    """From parsed JSON. The version is looked at first: another schema's other problems would only confuse."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in types:
        words = {name.partition(".")[2] for name in types}
        raise RunFileError(f"not a {' or '.join(sorted(words))} file: no \"kind\": \"{next(iter(types))}\"")
    if data.get("schema") != schema.SCHEMA or isinstance(data.get("schema"), bool):
        raise RunFileError(f"schema {data.get('schema')!r}: this report reads schema {schema.SCHEMA}; "
                           "use the report of the headrace that wrote the file")
    return _read(types[kind], data, "")


def _refuse_constant(word: str) -> None:
    raise RunFileError(f"{word} is not a number: a run file holds only finite values")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise RunFileError(f"{text} is too large to be a number")
    return value


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RunFileError(f"key \"{twice}\" is twice in one object")
    return result


def _fail(where: str, what: str) -> None:
    raise RunFileError(f"{where.lstrip('.') or 'the file'}: {what}")


def _reported(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _read(kind: Any, value: Any, where: str) -> Any:
    """`value` as `kind`, a type of schema.py; `where` is its place, as in points[0].metrics."""
    if dataclasses.is_dataclass(kind):
        return _read_object(kind, value, where)
    if kind is Any:
        return value
    if kind == schema.Scalar:
        if isinstance(value, (bool, int, float, str)):
            return value
        _fail(where, f"{_reported(value)}: a text, number or boolean is expected")
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:  # Optional
        return None if value is None else _read(inner[0], value, where)
    if origin is list:
        if not isinstance(value, list):
            _fail(where, f"{_reported(value)}: a list is expected")
        if inner[0] is float and all(type(item) is float for item in value):
            return value  # most of a file; they were all found finite when it was parsed
        return [_read(inner[0], item, f"{where}[{number}]") for number, item in enumerate(value)]
    if origin is tuple:
        if not isinstance(value, list) or len(value) != len(inner):
            _fail(where, f"{_reported(value)}: a list of {len(inner)} is expected")
        return tuple(_read(part, item, f"{where}[{i}]") for i, (part, item) in enumerate(zip(inner, value)))
    if origin is dict:
        if not isinstance(value, dict):
            _fail(where, f"{_reported(value)}: an object is expected")
        return {key: _read(inner[1], item, f"{where}.{key}") for key, item in value.items()}
    return _read_plain(kind, value, where)


def _read_plain(kind: type, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            _fail(where, "too large to be a number")
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind is int and isinstance(value, int) and abs(value) >= 2**64:
        _fail(where, "too large for a count")
    if type(value) is not kind:
        words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
        _fail(where, f"{_reported(value)}: {words[kind]} is expected")
    return value


@functools.lru_cache(maxsize=None)
def _fields(kind: type) -> List[Tuple[str, str, Any, bool]]:
    """Of a dataclass: attribute, JSON key, type, whether it may be absent."""
    types = typing.get_type_hints(kind)
    names = getattr(kind, "JSON_NAMES", {})
    return [(f.name, names.get(f.name, f.name), types[f.name],
             f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING)
            for f in dataclasses.fields(kind)]


def _read_object(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        _fail(where, f"{_reported(value)}: an object is expected")
    read = {}
    for attribute, key, field_type, optional in _fields(kind):
        if key in value and not (optional and value[key] is None):
            read[attribute] = _read(field_type, value[key], f"{where}.{key}")
        elif not optional:
            _fail(f"{where}.{key}", "missing")
    result = kind(**read)
    if hasattr(result, "check"):
        try:
            result.check()
        except Inconsistent as problem:
            _fail(f"{where}.{problem.at}" if problem.at else where, str(problem))
    return result
