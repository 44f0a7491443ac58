"""Nodes of code as Python source: what the core runs and what CPython runs are then the same function."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec import UnsetType

from bobcat.ir import code
from bobcat.ir.constants import from_const
from bobcat.model.constructors import allow, approve_required, deny, dry_run, transform
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Obligation

_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "in": "in", "not_in": "not in",
            "is": "is", "is_not": "is not"}  # fmt: skip
_UNARY = {"neg": "-", "pos": "+", "invert": "~"}
_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**", "and": "&",
           "or": "|", "xor": "^"}  # fmt: skip
_INDENT = "    "

Rule = Callable[[ActionRequest, ExecutionContext], Decision | None]


def function(body: tuple[code.Statement, ...], slots: int) -> Rule:
    """The function that these statements are."""
    namespace: dict[str, Any] = {
        "re": re, "datetime": datetime, "append": _append, "Mapping": __import__("collections.abc").abc.Mapping,
        "Sequence": __import__("collections.abc").abc.Sequence, "NoneType": type(None), "allow": allow, "deny": deny,
        "dry_run": dry_run, "approve_required": approve_required, "transform": transform,
        "Obligation": Obligation, "with_obligations": _with_obligations,
    }  # fmt: skip
    exec(source(body, slots), namespace)
    made: Rule = namespace["rule"]
    return made


def _with_obligations(decision: Decision, obligations: tuple[Obligation, ...]) -> Decision:
    return dataclasses.replace(decision, obligations=obligations)


def source(body: tuple[code.Statement, ...], slots: int) -> str:
    """The source of a function `rule`."""
    printer = _Printer()
    lines = printer.body(body, 1)
    head = ["def rule(request, context):"]
    for inline in printer.inlines:
        head.extend(inline)
    # Every slot is a local, whether it is assigned or not.
    unbound = [f"{_INDENT}if False: {' = '.join(f's{slot}' for slot in range(slots))} = None"] if slots else []
    return "\n".join([*head, *lines, *unbound]) + "\n"


def _append(owner: Any, value: Any) -> None:
    if isinstance(owner, set):
        owner.add(value)
    else:
        owner.append(value)


class _Printer:
    def __init__(self) -> None:
        self.inlines: list[list[str]] = []

    def body(self, body: tuple[code.Statement, ...], depth: int) -> list[str]:
        lines = [line for statement in body for line in self.statement(statement, depth)]
        return lines or [_INDENT * depth + "pass"]

    def statement(self, node: code.Statement, depth: int) -> list[str]:
        pad = _INDENT * depth
        match node:
            case code.Assign(target, value):
                return [f"{pad}{self.target(target)} = {self.code(value)}"]
            case code.AppendItem(slot, value):
                return [f"{pad}append(s{slot}, {self.code(value)})"]
            case code.Store(slot, key, value):
                return [f"{pad}s{slot}[{self.code(key)}] = {self.code(value)}"]
            case code.If(test, then, otherwise):
                lines = [f"{pad}if {self.code(test)}:", *self.body(then, depth + 1)]
                return [*lines, f"{pad}else:", *self.body(otherwise, depth + 1)]
            case code.For(target, over, body, otherwise):
                lines = [f"{pad}for {self.target(target)} in {self.code(over)}:", *self.body(body, depth + 1)]
                return [*lines, f"{pad}else:", *self.body(otherwise, depth + 1)]
            case code.Break():
                return [f"{pad}break"]
            case code.Continue():
                return [f"{pad}continue"]
            case code.Return(value):
                return [f"{pad}return {self.code(value)}"]
            case code.Evaluate(value):
                return [f"{pad}{self.code(value)}"]
            case code.Raise(name):
                return [f"{pad}raise {name}('raised')"]
            case code.Try(body, handlers, otherwise):
                lines = [f"{pad}try:", *self.body(body, depth + 1)]
                for handler in handlers:
                    lines += [f"{pad}except ({''.join(f'{name}, ' for name in handler.names)}):"]
                    lines += self.body(handler.body, depth + 1)
                return [*lines, f"{pad}else:", *self.body(otherwise, depth + 1)] if handlers else self.body(body, depth)

    def target(self, node: code.Target) -> str:
        match node:
            case code.SlotTarget(slot):
                return f"s{slot}"
            case code.Unpack(targets):
                return f"[{', '.join(map(self.target, targets))}]"

    def args(self, args: tuple[code.Code, ...]) -> str:
        return ", ".join(map(self.code, args))

    def code(self, node: code.Code) -> str:
        match node:
            case code.Constant(value):
                return f"({constant(value)})"
            case code.Local(slot):
                return f"s{slot}"
            case code.Root(name):
                return name
            case code.Attribute(of, name):
                return f"{self.code(of)}.{name}"
            case code.Item(of, key):
                return f"{self.code(of)}[{self.code(key)}]"
            case code.Slice(of, start, stop, step):
                bounds = ":".join("" if bound is None else self.code(bound) for bound in (start, stop, step))
                return f"{self.code(of)}[{bounds}]"
            case code.CallFunction(name, args):
                return f"{name}({self.args(args)})"
            case code.IsInstance(of, types):
                return f"isinstance({self.code(of)}, ({''.join(f'{name}, ' for name in types)}))"
            case code.Method(of, name, args):
                return f"{self.code(of)}.{name}({self.args(args)})"
            case code.Regex(how, pattern, flags, text):
                return f"re.{how}({pattern!r}, {self.code(text)}, {flags})"
            case code.Compare(first, operators, others):
                rest = zip(operators, others, strict=True)
                return f"({self.code(first)}{''.join(f' {_COMPARE[op]} {self.code(other)}' for op, other in rest)})"
            case code.And(items):
                return f"({' and '.join(map(self.code, items))})"
            case code.Or(items):
                return f"({' or '.join(map(self.code, items))})"
            case code.NotTrue(item):
                return f"(not {self.code(item)})"
            case code.Unary(operator, item):
                return f"({_UNARY[operator]}{self.code(item)})"
            case code.Binary(operator, left, right):
                return f"({self.code(left)} {_BINARY[operator]} {self.code(right)})"
            case code.IfElse(test, then, otherwise):
                return f"({self.code(then)} if {self.code(test)} else {self.code(otherwise)})"
            case code.Display(kind, items):
                inner = "".join(f"{self.code(item)}, " for item in items)
                return {"list": f"[{inner}]", "tuple": f"({inner})", "set": f"{{{inner}}}" if items else "set()"}[kind]
            case code.Mapping(entries):
                parts = [
                    f"**{self.code(value)}" if key is None else f"{self.code(key)}: {self.code(value)}"
                    for key, value in entries
                ]
                return f"{{{', '.join(parts)}}}"
            case code.Collect():
                return self.collect(node)
            case code.Text(parts):
                return f"''.join(({''.join(f'{self.part(part)}, ' for part in parts)}))"
            case code.Bind(slot, value):
                return f"(s{slot} := {self.code(value)})"
            case code.Inline(parameters, body):
                name = f"inline{len(self.inlines)}"
                self.inlines.append([])
                place = len(self.inlines) - 1
                lines = self.body(body, 2)
                slots = ", ".join(f"s{slot}" for slot, _ in parameters)
                self.inlines[place] = [f"{_INDENT}def {name}({slots}):", *lines]
                return f"{name}({self.args(tuple(value for _, value in parameters))})"
            case code.MakeDecision(verdict, args, obligations):
                made = f"{verdict}({', '.join(f'{name}={self.code(value)}' for name, value in args)})"
                if isinstance(obligations, UnsetType):
                    return made
                duties = ", ".join(
                    f"Obligation({each.name!r}, {from_const(each.value)!r}, {each.phase!r})" for each in obligations
                )
                return f"with_obligations({made}, ({duties},))"

    def part(self, part: str | code.Shown) -> str:
        if isinstance(part, str):
            return repr(part)
        shown = self.code(part.value)
        if part.conversion:
            shown = f"{ {'r': 'repr', 's': 'str', 'a': 'ascii'}[part.conversion] }({shown})"
        return f"format({shown}, {part.spec!r})"

    def collect(self, node: code.Collect) -> str:
        loops = ""
        for loop in node.loops:
            loops += f" for {self.target(loop.target)} in {self.code(loop.over)}"
            loops += "".join(f" if {self.code(condition)}" for condition in loop.conditions)
        value = self.code(node.value)
        default = "" if node.default is None else self.code(node.default)
        match node.kind:
            case "list":
                return f"[{value}{loops}]"
            case "set":
                return f"{{{value}{loops}}}"
            case "dict":
                assert node.key is not None
                return f"{{{self.code(node.key)}: {value}{loops}}}"
            case "first":
                return f"next(({value}{loops}), {default})"
            case "min" | "max" if default:
                return f"{node.kind}(({value}{loops}), default={default})"
            case _:
                return f"{node.kind}({value}{loops})"


def constant(value: Any) -> str:
    """A constant as an expression."""
    if isinstance(value, list):
        return f"[{', '.join(map(constant, value))}]"
    if not isinstance(value, dict):
        return repr(value)
    ((tag, body),) = value.items()
    match tag:
        case "tuple":
            return f"({''.join(f'{constant(item)}, ' for item in body)})"
        case "set":
            return f"frozenset(({''.join(f'{constant(item)}, ' for item in body)}))"
        case "pairs":
            return f"{{{', '.join(f'{constant(key)}: {constant(item)}' for key, item in body)}}}"
        case "float":
            return f"float({body!r})"
        case "bytes":
            return repr(base64.b64decode(body))
        case "datetime":
            return f"datetime.fromisoformat({body!r})"
        case _:
            raise AssertionError(f"no constant of code has the tag {tag}")
