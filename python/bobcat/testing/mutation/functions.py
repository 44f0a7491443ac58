"""Changes of a Python rule that is compiled: its comparisons, conditions, constants and decisions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from bobcat.ir import code as ir
from bobcat.ir.pretty_code import code_text
from bobcat.ir.schema import FunctionRule
from bobcat.testing.mutation.operands import patterns

_COMPARE: dict[str, str] = {
    "lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq", "in": "not_in", "not_in": "in",
    "is": "is_not", "is_not": "is",
}  # fmt: skip
_PLAIN = ("allow", "deny", "dry_run")
"""Decisions whose only argument is a reason."""


class ChangedCode(NamedTuple):
    """A changed part of a function: the name of the mutation, the change in words, and the part."""

    mutation: str
    change: str
    node: Any


def changed_functions(rule: FunctionRule, names: tuple[str, ...] = ()) -> Iterator[tuple[str, str, FunctionRule]]:
    """Yield the changes of a function: the mutation, the change in words, and the rule."""
    for mutation, change, body in _variants(rule.body, names):
        yield mutation, change, msgspec.structs.replace(rule, body=body)


def _variants(node: Any, names: tuple[str, ...]) -> Iterator[ChangedCode]:  # Any: a node, or a tuple of nodes and names
    if isinstance(node, tuple):
        for index, item in enumerate(node):
            for found in _variants(item, names):
                yield found._replace(node=(*node[:index], found.node, *node[index + 1 :]))
        return
    if not isinstance(node, ir.CodePart) or isinstance(node, ir.Constant):
        return
    for mutation, new in _here(node):
        yield ChangedCode(mutation, f"{_text(node, names)} -> {_text(new, names)}", new)
    for name in node.__struct_fields__:
        for found in _variants(getattr(node, name), names):
            yield found._replace(node=msgspec.structs.replace(node, **{name: found.node}))


def _here(node: ir.CodePart) -> Iterator[tuple[str, Any]]:
    """Yield the changes of one node."""
    match node:
        case ir.Compare():
            yield from _compare(node)
        case ir.And(items) | ir.Or(items):
            for index in range(len(items)):
                rest = (*items[:index], *items[index + 1 :])
                new = rest[0] if len(rest) == 1 else msgspec.structs.replace(node, items=rest)
                yield "drop-clause", new
        case ir.NotTrue(item):
            yield "negate", item
        case ir.If(test):
            if not isinstance(test, ir.NotTrue):
                yield "negate", msgspec.structs.replace(node, test=ir.NotTrue(test))
        case ir.Regex(_, pattern):
            for text in patterns(pattern, "python"):
                yield "pattern", msgspec.structs.replace(node, pattern=text)
        case ir.MakeDecision(verdict, args, _):
            for other in _PLAIN:
                if other != verdict:
                    kept = tuple(pair for pair in args if pair[0] == "reason")
                    yield "verdict", ir.MakeDecision(other, kept)  # type: ignore[arg-type]  # one of the literals
        case _:
            return


def _compare(node: ir.Compare) -> Iterator[tuple[str, ir.Compare]]:
    for index, operator in enumerate(node.operators):
        operators: Any = (*node.operators[:index], _COMPARE[operator], *node.operators[index + 1 :])
        mutation = "bound" if operator in ("lt", "le", "gt", "ge") else "negate"
        yield mutation, msgspec.structs.replace(node, operators=operators)
    for mutation, new in _operand(node.first):
        yield mutation, msgspec.structs.replace(node, first=new)
    for index, other in enumerate(node.others):
        for mutation, new in _operand(other):
            yield mutation, msgspec.structs.replace(node, others=(*node.others[:index], new, *node.others[index + 1 :]))


def _operand(node: ir.Code) -> Iterator[tuple[str, ir.Code]]:
    match node:
        case ir.Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
            yield "bound", ir.Constant(value - 1)
            yield "bound", ir.Constant(value + 1)
        case ir.Constant(dict() as value):
            for kind in ("tuple", "set", "list"):
                items = value.get(kind, [])
                for index in range(len(items) if len(items) > 1 else 0):
                    yield "list", ir.Constant({kind: [*items[:index], *items[index + 1 :]]})
        case ir.Display(kind, items) if len(items) > 1:
            for index in range(len(items)):
                yield "list", ir.Display(kind, (*items[:index], *items[index + 1 :]))
        case _:
            return


def _text(node: Any, names: tuple[str, ...]) -> str:  # Any: a node
    if isinstance(node, ir.If):
        return f"if {code_text(node.test, names)}"
    return code_text(node, names)
