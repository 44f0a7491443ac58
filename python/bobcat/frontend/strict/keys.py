"""Keys of a match's leaves: parse the text to head, path and operator, and check them against the known paths.

A key is parsed once, however many rules use it. See `docs/reference/policy-language.md`, "Keys of a leaf".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bobcat.frontend.strict.facet_keys import Step, facet_tail, first_facet
from bobcat.frontend.strict.key_syntax import KeySyntaxError, Segment, split, written
from bobcat.frontend.strict.vocabulary import CONNECTIVE_SYNONYMS, CONNECTIVES, HEAD_SYNONYMS, NEGATED, not_an_operator
from bobcat.frontend.suggest import closest, listed
from bobcat.language.facets import FACETS, PARTS, RANGE
from bobcat.language.kinds import OperandKind
from bobcat.language.operators import LEADING, LOWERED_TO, NESTING, OPERATORS
from bobcat.language.paths import HEADS, LEDGER_FIELDS, LEDGER_SCOPES, Head, fields, values_at

_OUTSIDE = {
    "result": "write it in `result` of a formula: `run.formerly: {result: {tool: NAME, result.exit_code: 0}}`",
    "record": "write it in `where` of a source",
}
"""Help about heads outside of their places."""


@dataclass(frozen=True, slots=True)
class Key:
    """A valid key. `base` is the key without its operators; `bare` is true if it has no operators.

    `chain` holds the operators between the path and the last one: `any` in `args.tags.any.eq`. `facet` is the last
    segment of a key without operators, if it names a facet or `first`: an operand that is a mapping tests what it
    derives; `part` is true for a part of a derived value. `values` are the strings that the path can hold, if they are
    a closed set. `quoted` is the key with an argument as its last segment, if earlier versions read it so.
    """

    head: Head
    path: tuple[str, ...]
    op: str
    bare: bool
    kind: OperandKind
    base: str
    chain: tuple[Step, ...] = ()
    values: tuple[str, ...] = ()
    quoted: str = ""
    facet: str = ""
    part: bool = False


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """An invalid key: the code, its parameters, and a help line that replaces the catalogue's."""

    code: str
    params: dict[str, str]
    help: str | None = None


def parse_key(text: str, own: Head | None = None) -> Key | KeyProblem:
    """Parse a key of a match, or return the reason that it is invalid.

    `own` is the head that only the place of the match has. In the scope of `record`, a path without a head is one of
    the record.
    """
    try:
        segments = split(text)
    except KeySyntaxError as problem:
        return KeyProblem("E0305", {"key": text, "problem": str(problem)})
    head, rest = segments[0].text, segments[1:]
    match head:
        case "tool":
            return _closed(text, "tool", [], rest, OperandKind.STRING)
        case "args":
            return _open(text, "args", [], rest)
        case "declared":
            return _fields(text, "declared", rest)
        case "context":
            if rest and rest[0].text == "extra":
                return _open(text, "context", rest[:1], rest[1:])
            if rest and rest[0].text == "principal":
                return _fields(text, "context", rest, group=1)
            return _fields(text, "context", rest)
        case "ledger":
            return _ledger(text, rest)
        case "result" | "record" if head == own:
            return _open(text, own, [], rest, 0)
        case "result" | "record":
            return KeyProblem("E1009", {"key": text, "head": head}, _OUTSIDE[head])
        case _ if own == "record":
            return _open(text, own, [], segments)
        case _:
            return _unknown_head(text, head, rest)


def _ledger(text: str, rest: list[Segment]) -> Key | KeyProblem:
    """Parse `ledger.daily.remaining`: a number among the facts that a run with a ledger adds to `context.extra`."""
    names: list[Segment] = []
    for known, segment in zip((tuple(LEDGER_SCOPES), LEDGER_FIELDS), (*rest[:2], None, None), strict=False):
        base = ".".join(["ledger", *(name.text for name in names)])
        if segment is None:
            return KeyProblem("E0309", {"base": base, "known": listed(f"{base}.{name}" for name in known)})
        if segment.text not in known:
            near = closest(segment.text, known)
            help = f"did you mean `{base}.{near}`?" if near else None
            return KeyProblem("E0302", {"base": base, "field": segment.text, "known": listed(known)}, help)
        names.append(segment)
    path = ("extra", "ledger", LEDGER_SCOPES[names[0].text], names[1].text)
    return _closed(text, "context", [Segment(step, True) for step in path], rest[2:], OperandKind.NUMBER)


def _fields(text: str, head: Head, rest: list[Segment], group: int = 0) -> Key | KeyProblem:
    known = fields(head, *(segment.text for segment in rest[:group]))
    base = ".".join([head, *(segment.text for segment in rest[:group])])
    below = rest[group:]
    if not below or (not below[0].quoted and below[0].text in OPERATORS):
        return KeyProblem("E0309", {"base": base, "known": listed(f"{base}.{name}" for name in known)})
    name = below[0].text
    if name not in known:
        near = closest(name, known) or _completed(name, known)
        tail = "".join(f".{segment.text}" for segment in below[1:])
        help = f"did you mean `{base}.{near}{tail}`?" if near else None
        return KeyProblem("E0302", {"base": base, "field": name, "known": listed(known)}, help)
    return _closed(text, head, rest[: group + 1], below[1:], known[name])


def _completed(name: str, fields: Iterable[str]) -> str | None:
    """Return the one field that starts with `name`."""
    found = [field for field in fields if len(name) > 2 and field.startswith(name.lower())]
    return found[0] if len(found) == 1 else None


def _closed(text: str, head: Head, path: list[Segment], rest: list[Segment], kind: OperandKind) -> Key | KeyProblem:
    steps = tuple(segment.text for segment in path)
    base = ".".join((head, *steps))
    values = values_at((head, *steps))
    at = first_facet(rest, 0)
    if at is not None and len(_elements(rest[:at], 0)) == at:
        return _facet(text, (head, steps, kind), rest, at, at)
    if not rest:
        return Key(head, steps, "eq", True, kind, base, (), values)
    operators = _operators(rest, 0)
    if len(operators) == len(rest):
        return Key(head, steps, operators[-1], False, kind, base, _chain(operators), values)
    last = rest[-1]
    if not last.quoted and all(not step.quoted and step.text in NESTING for step in rest[:-1]):
        intended = not_an_operator(last.text) or closest(last.text, OPERATORS)
        if intended:
            whole = ".".join((base, *(step.text for step in rest[:-1])))
            return KeyProblem("E0303", {"operator": last.text, "quoted": ""}, _suggestion(whole, last.text, intended))
    return KeyProblem(
        "E0302",
        {"base": base, "field": ".".join(segment.text for segment in rest), "known": ""},
        f"`{base}` is {kind.value}; its operators are written `{base}.OPERATOR`",
    )


def _open(text: str, head: Head, path: list[Segment], rest: list[Segment], least: int = 1) -> Key | KeyProblem:
    """Parse the steps and operators below a head whose entries a policy names. The first `least` segments are steps."""
    whole_kind = OperandKind.MAPPING if least else OperandKind.ANY
    steps = [segment.text for segment in path]
    last = rest[-1] if rest else None
    at = first_facet(rest, least)
    if at is not None:
        outer = len(_elements(rest[:at], least))
        argument = (*steps, *(segment.text for segment in rest[: at - outer]))
        return _facet(text, (head, argument, OperandKind.ANY), rest, at, outer)
    operators = _operators(rest, least)
    if operators:
        within = _within_elements(head, steps, rest[: -len(operators)])
        if within is not None:
            return within
        below = [segment.text for segment in rest[: -len(operators)]]
        whole = tuple(steps + below)
        kind = OperandKind.ANY if below else whole_kind
        base, name = _base(text, ".".join(operators)), operators[-1]
        was_argument = OPERATORS[name].recent and not any(OPERATORS[outer].elements for outer in operators[:-1])
        quoted = f'{_base(text, name)}["{name}"]' if was_argument else ""
        return Key(head, whole, name, False, kind, base, _chain(operators), quoted=quoted)
    whole = tuple(steps + [segment.text for segment in rest])
    if last is not None and not last.quoted and len(rest) > 1:
        intended = not_an_operator(last.text)
        if intended:
            base = _base(text, last.text)
            quoted = f'{base}["{last.text}"]'
            help = f"{_suggestion(base, last.text, intended)} For an argument of that name write `{quoted}`"
            return KeyProblem("E0303", {"operator": last.text, "quoted": quoted}, help)
    derives = last is not None and len(rest) > 1 and not last.quoted and (last.text in FACETS or last.text in LEADING)
    facet = last.text if last is not None and derives else ""
    return _within_elements(head, steps, rest) or Key(
        head, whole, "eq", True, OperandKind.ANY if rest else whole_kind, text, facet=facet
    )


def _facet(
    text: str,
    path: tuple[Head, tuple[str, ...], OperandKind],
    rest: list[Segment],
    at: int,
    outer: int,
) -> Key | KeyProblem:
    """Return the key with a facet at the segment `at`, after `outer` operators that test elements."""
    head, steps, kind = path
    found = facet_tail(rest[at:])
    base = written(head, steps)
    if found.unknown:
        name = rest[at].text
        known = listed(PARTS.get(FACETS[name].kind, {})) or "operators"
        near = not_an_operator(found.unknown) or closest(found.unknown, (*OPERATORS, RANGE))
        quoted = written(head, (*steps, *(segment.text for segment in rest[at - outer :])))
        help = f"did you mean `{near}`?" if near else f"the parts of `{name}` are {known}"
        help += f"; for an entry of that name write `{quoted}`" if head == "args" else ""
        return KeyProblem("E0303", {"operator": found.unknown, "quoted": quoted}, help)
    chain = (*(segment.text for segment in rest[at - outer : at]), *found.steps)
    return Key(head, steps, found.op, False, kind, base, chain)


def _elements(rest: list[Segment], least: int) -> list[Segment]:
    """Return the operators at the end of some segments that test the elements of a list."""
    start = len(rest)
    while start > least and not rest[start - 1].quoted and _tests_elements(rest[start - 1].text):
        start -= 1
    return rest[start:]


def _tests_elements(name: str) -> bool:
    return name in OPERATORS and OPERATORS[name].elements


def _within_elements(head: Head, steps: list[str], rest: list[Segment]) -> KeyProblem | None:
    """Return the problem with path steps after `any`, `all` or `none`."""
    for index, segment in enumerate(rest[1:-1], 1):
        if not segment.quoted and _tests_elements(segment.text) and segment.text not in LEADING:
            quoted = written(head, (*steps, *(step.text for step in rest[: index + 1])))
            within = f"{{{'.'.join(step.text for step in rest[index + 1 :])}: ...}}"
            help = f"write the keys of elements as a mapping below `{segment.text}`: `{within}`; "
            help += f"if `{segment.text}` is the name of an argument, write `{quoted}`"
            return KeyProblem("E0303", {"operator": rest[index + 1].text, "quoted": quoted}, help)
    return None


def _base(text: str, operator: str) -> str:
    return text[: -len(operator) - 1]


def _operators(rest: list[Segment], least: int) -> tuple[str, ...]:
    """Return the operators at the end of a key: the last one, and those that derive its input.

    The first `least` segments are steps, unless the operator there tests mappings of arguments.
    """
    if not rest or rest[-1].quoted or rest[-1].text not in OPERATORS or rest[-1].text in LEADING:
        return ()
    if not OPERATORS[rest[-1].text].whole and len(rest) <= least:
        return ()
    start = len(rest) - 1
    while start > least and not rest[start - 1].quoted and rest[start - 1].text in NESTING:
        start -= 1
    return tuple(segment.text for segment in rest[start:])


def _chain(operators: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(operator for operator in operators[:-1] if operator not in LOWERED_TO)


def _suggestion(base: str, operator: str, intended: str) -> str:
    if operator.lower() in NEGATED:
        return f"did you mean `not: {{{base}.{intended}: ...}}`?"
    return f"did you mean `{base}.{intended}`?"


def _unknown_head(text: str, head: str, rest: list[Segment]) -> KeyProblem:
    if not rest:
        connective = CONNECTIVE_SYNONYMS.get(head.lower()) or closest(head, CONNECTIVES)
        if connective:
            return KeyProblem("E0304", {"key": head}, f"did you mean `{connective}`?")
    tail = text[len(head) :]
    intended = HEAD_SYNONYMS.get(head.lower()) or closest(head, HEADS)
    if intended:
        return KeyProblem("E0301", {"head": head}, f"did you mean `{intended}{tail}`?")
    for group in (("declared",), ("context",), ("context", "principal")):
        if head in fields(*group):
            return KeyProblem("E0301", {"head": head}, f"did you mean `{'.'.join(group)}.{text}`?")
    return KeyProblem("E0301", {"head": head}, f"if it is an argument, write `args.{text}`")
