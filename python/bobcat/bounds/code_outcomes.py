"""The verdicts that a compiled Python function can give when only a part of a request is known.

Only tests of known fields against constants are evaluated; everything else may have any result, an exception included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bobcat.bounds.known import Exactly, Known, Path
from bobcat.ir import code as ir
from bobcat.ir.constants import from_const
from bobcat.ir.schema import FunctionRule
from bobcat.ir.visit import code_nodes

ALL = frozenset(("allow", "deny", "dry_run", "approve_required", "transform"))
ABSTAINS, RAISES = "abstains", "raises"
_NEXT = "next"
"""The next statement runs."""
_EQUALITY = ("eq", "ne", "in", "not_in")
_EITHER = frozenset((True, False, None))
"""The results of a test: true, false, or an exception."""


def verdicts_of(rule: FunctionRule, known: Known) -> frozenset[str]:
    """The verdicts that a function may give, with `ABSTAINS` and `RAISES` if it may do that."""
    return _ended(_body(rule.body, known))


def compared_texts(rule: FunctionRule) -> Iterator[tuple[Path, str]]:
    """Yield the texts that a function compares with fields of a request, with their paths."""
    for node in code_nodes(rule.body):
        if isinstance(node, ir.Compare) and len(node.others) == 1:
            path = _path(node.first)
            if path is not None and node.operators[0] in _EQUALITY:
                yield from ((path, value) for value in _texts(node.operators[0], node.others[0]) or ())


def _ended(found: frozenset[str]) -> frozenset[str]:
    """The end of a body without a `return` is that of one with None."""
    return frozenset((found - {_NEXT}) | {ABSTAINS}) if _NEXT in found else found


def _body(body: tuple[ir.Statement, ...], known: Known) -> frozenset[str]:
    found: set[str] = set()
    for statement in body:
        result = _statement(statement, known)
        found |= result - {_NEXT}
        if _NEXT not in result:
            return frozenset(found)
    return frozenset(found | {_NEXT})


def _statement(statement: ir.Statement, known: Known) -> frozenset[str]:
    match statement:
        case ir.If(test, then, otherwise):
            return _branches(test, _body(then, known), _body(otherwise, known), known)
        case ir.Return(value):
            return _value(value, known)
        case ir.Raise():
            return frozenset((RAISES,))
        case _:
            returns = any(isinstance(node, ir.Return) for node in code_nodes((statement,)))
            return frozenset((_NEXT, RAISES, *((*ALL, ABSTAINS) if returns else ())))


def _branches(test: ir.Code, then: frozenset[str], otherwise: frozenset[str], known: Known) -> frozenset[str]:
    truth = _truth(test, known)
    found = then if True in truth else frozenset()
    found |= otherwise if False in truth else frozenset()
    return found | {RAISES} if None in truth else found


def _value(value: ir.Code, known: Known) -> frozenset[str]:
    """The decisions that an expression may be."""
    match value:
        case ir.Constant(None):
            return frozenset((ABSTAINS,))
        case ir.MakeDecision(verdict, args, _):
            plain = verdict in ("allow", "deny") and all(isinstance(given, ir.Constant) for _, given in args)
            return frozenset((verdict,) if plain else (verdict, RAISES))
        case ir.IfElse(test, then, otherwise):
            return _branches(test, _value(then, known), _value(otherwise, known), known)
        case ir.Inline(_, body):
            return _ended(_body(body, known)) | {RAISES}
        case _:
            return ALL | {ABSTAINS, RAISES}


def _truth(test: ir.Code, known: Known) -> frozenset[bool | None]:
    match test:
        case ir.NotTrue(item):
            return frozenset(None if truth is None else not truth for truth in _truth(item, known))
        case ir.And(items):
            return _short_circuit(items, known, stops=False)
        case ir.Or(items):
            return _short_circuit(items, known, stops=True)
        case ir.Compare(first, (operator,), (other,)):
            return _compared(_path(first), operator, other, known)
        case _:
            return _EITHER


def _short_circuit(items: tuple[ir.Code, ...], known: Known, *, stops: bool) -> frozenset[bool | None]:
    """The truth of operands of which the first with the truth `stops` ends the evaluation."""
    found: set[bool | None] = set()
    goes_on = not stops
    for item in items:
        truth = _truth(item, known)
        found |= truth - {goes_on}
        if goes_on not in truth:
            return frozenset(found)
    return frozenset(found | {goes_on})


def _compared(path: Path | None, operator: str, other: ir.Code, known: Known) -> frozenset[bool | None]:
    fact = None if path is None else known.facts.get(path)
    texts = _texts(operator, other)
    if fact is None or texts is None:
        return _EITHER
    negated = operator in ("ne", "not_in")
    if isinstance(fact, Exactly):
        return frozenset(((fact.value in texts) is not negated,)) if isinstance(fact.value, str) else _EITHER
    return frozenset((negated,)) if fact.texts >= texts else _EITHER


def _texts(operator: str, other: ir.Code) -> frozenset[str] | None:
    """The texts that a value is compared with; None for any other comparison."""
    if operator not in _EQUALITY:
        return None
    operand = _constant(other)
    one = operator in ("eq", "ne")
    values = [operand] if one else operand if isinstance(operand, list | tuple | set | frozenset) else [None]
    texts = frozenset(value for value in values if isinstance(value, str))
    return texts if all(isinstance(value, str) for value in values) else None


def _constant(node: ir.Code) -> Any:  # Any: a value of Python
    """The value of a constant, or of a display of constants; None for other nodes."""
    if isinstance(node, ir.Display):
        return [_constant(item) for item in node.items]
    return from_const(node.value) if isinstance(node, ir.Constant) else None


def _path(node: ir.Code) -> Path | None:
    """The path of a request that an attribute reads."""
    steps: list[str] = []
    while isinstance(node, ir.Attribute):
        steps.insert(0, node.name)
        node = node.of
    if not isinstance(node, ir.Root) or not steps:
        return None
    # The context of the request is another object than the second parameter, where a caller passes one.
    if node.name == "context":
        return ("context", *steps)
    return tuple(steps) if steps[0] in ("tool", "declared") else None
