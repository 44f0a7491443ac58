"""Memory of runs in the IR: normal forms of formulas, and the definitions that rules read.

A leaf or a reference with the head `run` reads the definition that its first step names. An operand of `from` reads
the sources that it lists, except `task`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import UNSET, UnsetType

from bobcat.ir.canonical import encode_each
from bobcat.ir.code import ArgumentOrigin, ReadRun, ValueOrigin
from bobcat.ir.schema import (
    AllFormula,
    AnyFormula,
    AnyRule,
    CallEvent,
    Const,
    Definition,
    Expr,
    Formula,
    FunctionRule,
    IrRule,
    Leaf,
    NotFormula,
    ResultEvent,
    Since,
    Source,
)
from bobcat.ir.visit import children, code_nodes, formula_parts, leaves

TASK = "task"
"""The source that is the user's own text."""
NEVER = AnyFormula(())
"""The formula that is true at no event."""


def all_(items: Iterable[Formula]) -> Formula:
    """Return the normal form of a conjunction of normal forms."""
    return _joined(items, AllFormula, AnyFormula)


def any_(items: Iterable[Formula]) -> Formula:
    """Return the normal form of a disjunction of normal forms."""
    return _joined(items, AnyFormula, AllFormula)


def _joined(
    items: Iterable[Formula], own: type[AllFormula | AnyFormula], other: type[AllFormula | AnyFormula]
) -> Formula:
    flat: list[Formula] = []
    for item in items:
        if isinstance(item, own):
            flat.extend(item.items)
        elif isinstance(item, other) and not item.items:
            return item
        else:
            flat.append(item)
    by_bytes = dict(zip(encode_each(flat), flat, strict=True))
    distinct = tuple([by_bytes[key] for key in sorted(by_bytes)])
    return distinct[0] if len(distinct) == 1 else own(distinct)


def not_(item: Formula) -> Formula:
    """Return the normal form of the negation of a normal form."""
    match item:
        case NotFormula(inner):
            return inner
        case AllFormula(()):
            return AnyFormula(())
        case AnyFormula(()):
            return AllFormula(())
        case _:
            return NotFormula(item)


def at_latest(item: Formula, within: int | UnsetType = UNSET) -> Formula:
    """Return the formula that is true if `item` was true at the latest event, at most `within` microseconds ago.

    It is false before the first event. Windows in `item` end at the latest event, not at the decision.
    """
    if isinstance(within, UnsetType) and isinstance(item, CallEvent | ResultEvent):
        return item
    return Since(NEVER, item, within)


def size(formula: Formula) -> tuple[int, int]:
    """Return the nesting of a formula and its number of operators and events, without the matches of the events."""
    deepest, nodes = 0, 0
    waiting: list[tuple[Formula, int]] = [(formula, 1)]
    while waiting:
        item, depth = waiting.pop()
        deepest, nodes = max(deepest, depth), nodes + 1
        waiting.extend((part, depth + 1) for part in formula_parts(item))
    return deepest, nodes


def names_of(expr: Expr) -> Iterator[str]:
    """Yield the names of the definitions that an expression reads."""
    for leaf in leaves(expr):
        if leaf.head == "run":
            yield leaf.path[0]
        yield from names_in_operand(leaf.operand)


def names_in_operand(operand: Const) -> Iterator[str]:
    """Yield the names of the definitions that an operand reads."""
    if not isinstance(operand, dict):
        return
    if operand.get("ref", ("",))[0] == "run":
        yield operand["ref"][1]
    for name in operand.get("sources", ()):
        if name != TASK:
            yield name
    for item in operand.get("tests", ()):
        yield from names_in_operand(item["operand"])
    for item in operand.get("places", ()):
        yield from names_in_operand(item)


def reads_memory(expr: Expr) -> bool:
    """Return true if an expression reads the state of a run: a definition, or the task as a source."""
    if isinstance(expr, Leaf):
        return expr.head == "run" or _reads(expr.operand)
    return any(map(reads_memory, children(expr)))


def _reads(operand: Const) -> bool:
    if not isinstance(operand, dict):
        return False
    if "sources" in operand or operand.get("ref", ("",))[0] == "run":
        return True
    parts = (*(item["operand"] for item in operand.get("tests", ())), *operand.get("places", ()))
    return any(map(_reads, parts))


def used(rules: Iterable[AnyRule], definitions: Mapping[str, Definition]) -> dict[str, Definition]:
    """Return the definitions that some rules read, directly or through a source, ordered by name."""
    found: dict[str, Definition] = {}
    if not definitions:
        return found
    waiting = [name for rule in rules for name in _names_of_rule(rule)]
    while waiting:
        name = waiting.pop()
        if name in found or name not in definitions:
            continue
        found[name] = definition = definitions[name]
        if isinstance(definition, Source):
            waiting.extend(asked for asked in definition.asked_with if asked != TASK)
    return dict(sorted(found.items()))


def _names_of_rule(rule: AnyRule) -> Iterator[str]:
    if isinstance(rule, IrRule):
        yield from names_of(rule.match)
    elif isinstance(rule, FunctionRule):
        yield from names_in_code(rule)


def names_in_code(rule: FunctionRule) -> Iterator[str]:
    """Yield the names of the definitions that a function reads."""
    for node in code_nodes(rule.body):
        if isinstance(node, ReadRun):
            yield node.name
        elif isinstance(node, ArgumentOrigin | ValueOrigin):
            yield from (name for name in node.sources if name != TASK)
