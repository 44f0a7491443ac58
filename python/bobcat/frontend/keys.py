"""The keys of a match's leaves: text to head, path and operator, against what exists to be looked at.

A key is parsed once, however many rules use it. See `docs/reference/policy-language.md`, "Keys of a leaf".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, get_args

from bobcat.frontend.suggest import closest, distance, listed
from bobcat.ir.schema import Head, Operator

OPERATORS: tuple[Operator, ...] = get_args(Operator)
CONNECTIVES = ("all_of", "any_of", "not")
HEADS: tuple[Head, ...] = get_args(Head)
MAX_STEPS = 64
"""Steps of one key, its head and its operator included."""


class Kind(Enum):
    """The declared type of what a path reads. The value names it with its article."""

    ANY = "a value of any type"
    STRING = "a string"
    NULLABLE_STRING = "a string or null"
    BOOL = "a bool"
    NUMBER = "a number"
    NULLABLE_NUMBER = "a number or null"
    STRINGS = "a list of strings"
    MAPPING = "a mapping"
    TIME = "a point in time"

    __hash__ = object.__hash__  # PERF: members are singletons; the inherited hash is a Python call


_DECLARED = {
    "cost": Kind.STRING,
    "reversible": Kind.BOOL,
    "scope": Kind.STRINGS,
    "blast_radius_hint": Kind.NULLABLE_NUMBER,
    "has_shadow": Kind.BOOL,
    "isolation": Kind.NULLABLE_STRING,
}
_PRINCIPAL = {"kind": Kind.STRING, "id": Kind.STRING, "name": Kind.NULLABLE_STRING}
_CONTEXT = {
    "environment": Kind.STRING,
    "workspace": Kind.STRING,
    "correlation_id": Kind.STRING,
    "step_seq": Kind.NUMBER,
    "timestamp": Kind.TIME,
    "extra": Kind.MAPPING,
    "principal": Kind.MAPPING,
}
VALUES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("declared", "cost"): ("low", "medium", "high"),
    ("context", "principal", "kind"): ("user", "service", "agent"),
}
"""Closed paths whose strings are a closed set."""

_OPERATOR_SET = frozenset(OPERATORS)
_LONG_OPERATORS = tuple(name for name in OPERATORS if len(name) >= 6)
_FOREIGN = {
    "regex": "matches",
    "regexp": "matches",
    "match_regex": "matches",
    "like": "matches",
    "ilike": "matches",
    "glob": "matches",
    "startswith": "matches",
    "starts_with": "matches",
    "endswith": "matches",
    "ends_with": "matches",
    "not_in": "in",
    "notin": "in",
    "nin": "in",
    "one_of": "in",
    "oneof": "in",
    "is_in": "in",
    "any": "contains_any",
    "ne": "eq",
    "neq": "eq",
    "not_eq": "eq",
    "equals": "eq",
    "equal": "eq",
    "not_equals": "eq",
    "==": "eq",
    "!=": "eq",
    "gte": "ge",
    "lte": "le",
    ">": "gt",
    ">=": "ge",
    "<": "lt",
    "<=": "le",
    "greater_than": "gt",
    "less_than": "lt",
    "not_contains": "contains",
    "includes": "contains",
    "contains_none": "contains_any",
    "not_matches": "matches",
    "in_range": "between",
    "not": "eq",
    "not_equal": "eq",
}
_NEGATED = frozenset(
    {
        "not",
        "not_equal",
        "not_in",
        "notin",
        "nin",
        "ne",
        "neq",
        "not_eq",
        "not_equals",
        "!=",
        "not_contains",
        "not_matches",
        "contains_none",
    }
)
_FOREIGN_CONNECTIVES = {
    "and": "all_of",
    "all": "all_of",
    "or": "any_of",
    "any": "any_of",
    "one_of": "any_of",
    "oneof": "any_of",
    "either": "any_of",
    "none_of": "not",
    "noneof": "not",
    "unless": "not",
}
_FOREIGN_HEADS = {
    "arg": "args",
    "arguments": "args",
    "argument": "args",
    "params": "args",
    "parameters": "args",
    "input": "args",
    "inputs": "args",
    "kwargs": "args",
    "ctx": "context",
    "env": "context.environment",
    "tool_name": "tool",
    "name": "tool",
    "meta": "declared",
    "metadata": "declared",
    "principal": "context.principal",
    "user": "context.principal.id",
    "extra": "context.extra",
}

_QUOTED = re.compile(r"""\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]""")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


class Segment(NamedTuple):
    """One step of a key. A quoted one is never an operator."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Key:
    """A key that means something. `base` is the key without its operator; `bare` that it has none."""

    head: Head
    path: tuple[str, ...]
    op: Operator
    bare: bool
    kind: Kind
    base: str


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """A key that means nothing: the code, its parameters, and a help line that replaces the catalogue's."""

    code: str
    params: dict[str, str]
    help: str | None = None


class _SyntaxProblem(ValueError):
    pass


def split(text: str) -> list[Segment]:
    """The segments of a key, quoted ones unescaped. Raises ValueError with the problem."""
    if not text.isprintable():
        raise _SyntaxProblem("it holds an invisible character; in brackets `\\uXXXX` writes it")
    segments = [_bare(part) for part in text.split(".")] if "[" not in text else _bracketed(text)
    if len(segments) > MAX_STEPS:
        raise _SyntaxProblem(f"it has more than {MAX_STEPS} steps")
    return segments


def _bracketed(text: str) -> list[Segment]:
    segments: list[Segment] = []
    position = 0
    while position < len(text):
        if text[position] == "[":
            quoted = _QUOTED.match(text, position)
            if quoted is None:
                raise _SyntaxProblem('brackets hold one quoted name, like `["in"]`; lists are judged whole')
            if not segments:
                raise _SyntaxProblem("it begins with a bracket")
            segments.append(Segment(_unescape(quoted[1] if quoted[1] is not None else quoted[2]), True))
            position = quoted.end()
            if position < len(text) and text[position] not in ".[":
                raise _SyntaxProblem("a dot or a bracket must follow a bracket")
            continue
        if segments:
            position += 1  # the dot after a segment
        end = next((i for i in range(position, len(text)) if text[i] in ".["), len(text))
        segments.append(_bare(text[position:end]))
        position = end
        if text[position : position + 1] == "." and position + 1 == len(text):
            raise _SyntaxProblem("it ends with a dot")
    return segments


def _bare(part: str) -> Segment:
    if not part:
        raise _SyntaxProblem("it has an empty part")
    if part != part.strip():
        raise _SyntaxProblem("it has a space beside a dot")
    return Segment(part, False)


def _unescape(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        escape = found[1]
        if escape in ('"', "'", "\\"):
            return escape
        if escape[0] == "u" and len(escape) == 5:
            code = int(escape[1:], 16)
            if not 0xD800 <= code <= 0xDFFF:
                return chr(code)
            raise _SyntaxProblem(f"`\\{escape}` is half a character; write the character itself")
        raise _SyntaxProblem(f"`\\{escape}` is not an escape")

    return _ESCAPE.sub(one, text)


def written(head: str, path: tuple[str, ...], op: str | None = None) -> str:
    """The key for a path and an operator, quoted where it has to be."""
    parts = [head]
    for index, step in enumerate(path):
        last = index == len(path) - 1 and op is None
        ordinary = step.isprintable() and step == step.strip() and step and not re.search(r"[.\[\]]", step)
        if ordinary and not (last and (step in _OPERATOR_SET or (len(path) > 1 and not_an_operator(step)))):
            parts.append(f".{step}")
        else:
            parts.append(f'["{"".join(_escaped(char) for char in step)}"]')
    return "".join(parts) + (f".{op}" if op else "")


def _escaped(char: str) -> str:
    if char in ('"', "\\"):
        return f"\\{char}"
    return char if char.isprintable() or ord(char) > 0xFFFF else f"\\u{ord(char):04x}"


def not_an_operator(text: str) -> str | None:
    """The operator that `text` was meant to be, when it is one of another language, another case, or a near miss."""
    lower = text.lower()
    if lower in _OPERATOR_SET:
        return lower
    if lower in _FOREIGN:
        return _FOREIGN[lower]
    return next((name for name in _LONG_OPERATORS if distance(lower, name) == 1), None)


def parse_key(text: str) -> Key | KeyProblem:
    """What a key of a match means, or why it means nothing."""
    try:
        segments = split(text)
    except _SyntaxProblem as problem:
        return KeyProblem("E0305", {"key": text, "problem": str(problem)})
    head, rest = segments[0].text, segments[1:]
    match head:
        case "tool":
            return _closed(text, "tool", [], rest, Kind.STRING)
        case "args":
            return _open(text, "args", [], rest)
        case "declared":
            return _fields(text, "declared", rest, _DECLARED)
        case "context":
            if rest and rest[0].text == "extra":
                return _open(text, "context", rest[:1], rest[1:])
            if rest and rest[0].text == "principal":
                return _fields(text, "context", rest, _PRINCIPAL, group=1)
            return _fields(text, "context", rest, _CONTEXT)
        case _:
            return _unknown_head(text, head, rest)


def _fields(text: str, head: Head, rest: list[Segment], fields: dict[str, Kind], group: int = 0) -> Key | KeyProblem:
    base = ".".join([head, *(segment.text for segment in rest[:group])])
    below = rest[group:]
    if not below or (not below[0].quoted and below[0].text in _OPERATOR_SET):
        return KeyProblem("E0309", {"base": base, "known": listed(f"{base}.{name}" for name in fields)})
    name = below[0].text
    if name not in fields:
        near = closest(name, fields)
        tail = "".join(f".{segment.text}" for segment in below[1:])
        help = f"did you mean `{base}.{near}{tail}`?" if near else None
        return KeyProblem("E0302", {"base": base, "field": name, "known": listed(fields)}, help)
    return _closed(text, head, rest[: group + 1], below[1:], fields[name])


def _closed(text: str, head: Head, path: list[Segment], rest: list[Segment], kind: Kind) -> Key | KeyProblem:
    steps = tuple(segment.text for segment in path)
    base = ".".join((head, *steps))
    if not rest:
        return Key(head, steps, "eq", True, kind, base)
    operator = rest[0].text
    if len(rest) == 1 and not rest[0].quoted:
        if operator in _OPERATOR_SET:
            return Key(head, steps, _operator(operator), False, kind, base)
        meant = not_an_operator(operator) or closest(operator, OPERATORS)
        if meant:
            return KeyProblem("E0303", {"operator": operator, "quoted": ""}, _meant(base, operator, meant))
    return KeyProblem(
        "E0302",
        {"base": base, "field": ".".join(segment.text for segment in rest), "known": ""},
        f"`{base}` is {kind.value}; its operators are written `{base}.OPERATOR`",
    )


def _open(text: str, head: Head, path: list[Segment], rest: list[Segment]) -> Key | KeyProblem:
    steps = [segment.text for segment in path]
    last = rest[-1] if rest else None
    if last is not None and not last.quoted and last.text in _OPERATOR_SET:
        below = [segment.text for segment in rest[:-1]]
        whole = tuple(steps + below)
        return Key(
            head, whole, _operator(last.text), False, Kind.ANY if below else Kind.MAPPING, _base(text, last.text)
        )
    whole = tuple(steps + [segment.text for segment in rest])
    if last is not None and not last.quoted and len(rest) > 1:
        meant = not_an_operator(last.text)
        if meant:
            base = _base(text, last.text)
            quoted = f'{base}["{last.text}"]'
            help = f"{_meant(base, last.text, meant)} For an argument of that name write `{quoted}`"
            return KeyProblem("E0303", {"operator": last.text, "quoted": quoted}, help)
    return Key(head, whole, "eq", True, Kind.ANY if rest else Kind.MAPPING, text)


def _base(text: str, operator: str) -> str:
    return text[: -len(operator) - 1]


def _operator(name: str) -> Operator:
    return OPERATORS[OPERATORS.index(name)]


def _meant(base: str, operator: str, meant: str) -> str:
    if operator.lower() in _NEGATED:
        return f"did you mean `not: {{{base}.{meant}: ...}}`?"
    return f"did you mean `{base}.{meant}`?"


def _unknown_head(text: str, head: str, rest: list[Segment]) -> KeyProblem:
    if not rest:
        connective = _FOREIGN_CONNECTIVES.get(head.lower()) or closest(head, CONNECTIVES)
        if connective:
            return KeyProblem("E0304", {"key": head}, f"did you mean `{connective}`?")
    tail = text[len(head) :]
    meant = _FOREIGN_HEADS.get(head.lower()) or closest(head, HEADS)
    if meant:
        return KeyProblem("E0301", {"head": head}, f"did you mean `{meant}{tail}`?")
    for group, fields in (("declared", _DECLARED), ("context", _CONTEXT), ("context.principal", _PRINCIPAL)):
        if head in fields:
            return KeyProblem("E0301", {"head": head}, f"did you mean `{group}.{text}`?")
    return KeyProblem("E0301", {"head": head}, f"if it is an argument, write `args.{text}`")


def closed_paths() -> dict[str, Kind]:
    """The paths with a declared type, as keys."""
    return {
        "tool": Kind.STRING,
        **{f"declared.{name}": kind for name, kind in _DECLARED.items()},
        **{f"context.{name}": kind for name, kind in _CONTEXT.items() if kind is not Kind.MAPPING},
        **{f"context.principal.{name}": kind for name, kind in _PRINCIPAL.items()},
    }
