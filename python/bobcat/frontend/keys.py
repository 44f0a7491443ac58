"""The keys of a match's leaves: text to head, path and operator, against what exists to be looked at.

A key is parsed once, however many rules use it. See `docs/reference/policy-language.md`, "Keys of a leaf".
"""

from __future__ import annotations

from dataclasses import dataclass

from bobcat.frontend.key_syntax import KeySyntaxError, Segment, split
from bobcat.frontend.suggest import closest, listed
from bobcat.frontend.vocabulary import (
    CONNECTIVES,
    CONNECTIVES_MEANT,
    CONTEXT,
    DECLARED,
    HEADS,
    HEADS_MEANT,
    NEGATED,
    OPERATOR_NAMES,
    OPERATORS,
    PRINCIPAL,
    Kind,
    not_an_operator,
)
from bobcat.ir.schema import Head, Operator


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


def parse_key(text: str) -> Key | KeyProblem:
    """What a key of a match means, or why it means nothing."""
    try:
        segments = split(text)
    except KeySyntaxError as problem:
        return KeyProblem("E0305", {"key": text, "problem": str(problem)})
    head, rest = segments[0].text, segments[1:]
    match head:
        case "tool":
            return _closed(text, "tool", [], rest, Kind.STRING)
        case "args":
            return _open(text, "args", [], rest)
        case "declared":
            return _fields(text, "declared", rest, DECLARED)
        case "context":
            if rest and rest[0].text == "extra":
                return _open(text, "context", rest[:1], rest[1:])
            if rest and rest[0].text == "principal":
                return _fields(text, "context", rest, PRINCIPAL, group=1)
            return _fields(text, "context", rest, CONTEXT)
        case _:
            return _unknown_head(text, head, rest)


def _fields(text: str, head: Head, rest: list[Segment], fields: dict[str, Kind], group: int = 0) -> Key | KeyProblem:
    base = ".".join([head, *(segment.text for segment in rest[:group])])
    below = rest[group:]
    if not below or (not below[0].quoted and below[0].text in OPERATOR_NAMES):
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
        if operator in OPERATOR_NAMES:
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
    if last is not None and not last.quoted and last.text in OPERATOR_NAMES:
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
    if operator.lower() in NEGATED:
        return f"did you mean `not: {{{base}.{meant}: ...}}`?"
    return f"did you mean `{base}.{meant}`?"


def _unknown_head(text: str, head: str, rest: list[Segment]) -> KeyProblem:
    if not rest:
        connective = CONNECTIVES_MEANT.get(head.lower()) or closest(head, CONNECTIVES)
        if connective:
            return KeyProblem("E0304", {"key": head}, f"did you mean `{connective}`?")
    tail = text[len(head) :]
    meant = HEADS_MEANT.get(head.lower()) or closest(head, HEADS)
    if meant:
        return KeyProblem("E0301", {"head": head}, f"did you mean `{meant}{tail}`?")
    for group, fields in (("declared", DECLARED), ("context", CONTEXT), ("context.principal", PRINCIPAL)):
        if head in fields:
            return KeyProblem("E0301", {"head": head}, f"did you mean `{group}.{text}`?")
    return KeyProblem("E0301", {"head": head}, f"if it is an argument, write `args.{text}`")
