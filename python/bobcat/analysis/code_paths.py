"""The paths of a request that compiled Python rules read, and the tools that they name, from their code.

Both direct a search: a path that is missed makes an answer less useful, never wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bobcat.analysis.paths import Path
from bobcat.ir.code import Assign, Attribute, Code, Compare, Constant, Display, Item, Local, Method, Root, SlotTarget
from bobcat.ir.schema import FunctionRule, IrPolicy
from bobcat.ir.visit import code_nodes

_TOOL = ("tool",)


def function_paths(rule: FunctionRule) -> tuple[Path, ...]:
    """Return the paths that a function reads, heads included, each once, sorted."""
    locals = _locals(rule)
    found = {path for node in code_nodes(rule.body) for path in _paths(node, locals)}
    return tuple(sorted(path for path in found if path))


def function_tools(rule: FunctionRule) -> tuple[str, ...]:
    """Return the texts that a function compares the tool with, sorted."""
    locals = _locals(rule)
    found: set[str] = set()
    for node in code_nodes(rule.body):
        if isinstance(node, Compare):
            operands = (node.first, *node.others)
            if any(_TOOL in _paths(operand, locals) for operand in operands):
                found.update(text for operand in operands for text in _texts(operand))
    return tuple(sorted(found))


def functions_read(policy: IrPolicy, tool: str) -> Iterator[Path]:
    """Yield the paths that functions of a policy read which name a tool, or none at all."""
    for rule in policy.rules:
        if isinstance(rule, FunctionRule) and tool in (function_tools(rule) or (tool,)):
            yield from function_paths(rule)


def _locals(rule: FunctionRule) -> Mapping[int, frozenset[Path]]:
    """Return the paths that locals hold, by their slots: locals of locals in the order of their numbers."""
    found: dict[int, frozenset[Path]] = {}
    bound = [
        (node.target.slot, node.value)
        for node in code_nodes(rule.body)
        if isinstance(node, Assign) and isinstance(node.target, SlotTarget)
    ]
    for slot, value in sorted(bound, key=lambda pair: pair[0]):
        found[slot] = found.get(slot, frozenset()) | _paths(value, found)
    return found


def _paths(node: object, locals: Mapping[int, frozenset[Path]]) -> frozenset[Path]:
    """Return the paths that an expression stands for; the request itself is the empty one."""
    match node:
        case Root(name):
            return frozenset([("context",) if name == "context" else ()])
        case Local(slot):
            return locals.get(slot, frozenset())
        case Attribute(of, name) | Item(of, Constant(str() as name)) | Method(of, "get", (Constant(str() as name), *_)):
            return frozenset((*path, name) for path in _paths(of, locals))
        case _:
            return frozenset()


def _texts(node: Code) -> Iterator[str]:
    match node:
        case Constant(str() as text):
            yield text
        case Constant(dict(value)):
            yield from (text for items in value.values() if isinstance(items, list) for text in items if _is_text(text))
        case Display(items=items):
            yield from (text for item in items for text in _texts(item))
        case _:
            pass


def _is_text(value: object) -> bool:
    return isinstance(value, str)
