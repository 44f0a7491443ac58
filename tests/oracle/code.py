"""The nodes of a lowered Python function, evaluated slowly and obviously, by Python itself.

Tests compare the lowering with the function it came from, and the Rust core with this module. What a node means is
what the operator, the builtin or the method of its name does; only control flow is written out here.
"""

from __future__ import annotations

import builtins
import dataclasses
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, assert_never

import msgspec

from bobcat.ir import code as ir
from bobcat.ir.constants import from_const
from bobcat.ir.schema import FunctionRule
from bobcat.model import constructors
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Obligation, Verdict

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "is": operator.is_, "is_not": operator.is_not,
    "in": lambda one, other: one in other, "not_in": lambda one, other: one not in other,
}  # fmt: skip
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor,
}  # fmt: skip
_UNARY = {"neg": operator.neg, "pos": operator.pos, "invert": operator.invert}
_TYPES: dict[str, Any] = {
    "bool": bool, "bytes": bytes, "dict": dict, "float": float, "int": int, "list": list, "Mapping": Mapping,
    "NoneType": type(None), "Sequence": Sequence, "set": set, "str": str, "tuple": tuple,
}  # fmt: skip
_DECISIONS: dict[str, Callable[..., Decision]] = {
    "allow": constructors.allow, "deny": constructors.deny, "dry_run": constructors.dry_run,
    "approve_required": constructors.approve_required, "transform": constructors.transform,
}  # fmt: skip


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class CodeError(BaseException):
    """A node that the front end must not make."""


def run(rule: FunctionRule, request: ActionRequest, context: ExecutionContext) -> Any:
    """The rule's return value; its exceptions propagate."""
    return _Run({"request": request, "context": context}, {}).function(rule.body)


def as_rule(rule: FunctionRule) -> Callable[[ActionRequest, ExecutionContext], Any]:
    """The rule as a callable."""
    return lambda request, context: run(rule, request, context)


class _Run:
    def __init__(self, roots: dict[str, Any], slots: dict[int, Any]) -> None:
        self.roots = roots
        self.slots = slots

    def function(self, body: tuple[ir.Statement, ...]) -> Any:
        try:
            self.body(body)
        except _Returned as returned:
            return returned.value
        return None

    # --- statements ---

    def body(self, body: tuple[ir.Statement, ...]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ir.Statement) -> None:
        match node:
            case ir.Assign(target, value):
                self.assign(target, self.value(value))
            case ir.AppendItem(slot, value):
                item = self.value(value)
                held = self.slots[slot]
                # A new object: no other reference to the old one may exist, and a test would observe one.
                self.slots[slot] = [*held, item] if isinstance(held, list) else held | {item}
            case ir.Store(slot, key, value):
                item, at = self.value(value), self.value(key)
                changed = self.slots[slot].copy()
                changed[at] = item
                self.slots[slot] = changed
            case ir.If(test, then, otherwise):
                self.body(then if self.value(test) else otherwise)
            case ir.For():
                self.loop(node)
            case ir.Break():
                raise _Break
            case ir.Continue():
                raise _Continue
            case ir.Return(value):
                raise _Returned(self.value(value))
            case ir.Evaluate(value):
                self.value(value)
            case ir.Raise(name):
                raise getattr(builtins, name)
            case ir.Try(body, handlers, otherwise):
                self.guarded(body, handlers, otherwise)
            case _:
                assert_never(node)

    def loop(self, node: ir.For) -> None:
        for item in self.value(node.over):
            self.assign(node.target, item)
            try:
                self.body(node.body)
            except _Continue:
                continue
            except _Break:
                return
        self.body(node.otherwise)

    def guarded(
        self, body: tuple[ir.Statement, ...], handlers: tuple[ir.Handler, ...], otherwise: tuple[ir.Statement, ...]
    ) -> None:
        try:
            self.body(body)
        except (_Returned, _Break, _Continue):
            raise
        except Exception as error:
            for handler in handlers:
                if isinstance(error, tuple(getattr(builtins, name) for name in handler.names)):
                    self.body(handler.body)
                    return
            raise
        self.body(otherwise)

    def assign(self, target: ir.Target, value: Any) -> None:
        match target:
            case ir.SlotTarget(slot):
                self.slots[slot] = value
            case ir.Unpack(targets):
                items = list(value)
                if len(items) != len(targets):
                    raise ValueError("unpack")
                for inner, item in zip(targets, items, strict=True):
                    self.assign(inner, item)
            case _:
                assert_never(target)

    # --- expressions ---

    def value(self, node: ir.Code) -> Any:
        match node:
            case ir.Constant(value):
                return from_const(value)
            case ir.Local(slot):
                if slot not in self.slots:
                    raise UnboundLocalError
                return self.slots[slot]
            case ir.Root(name):
                return self.roots[name]
            case ir.Attribute(of, name):
                return getattr(self.value(of), name)
            case ir.Item(of, key):
                owner = self.value(of)
                return owner[self.value(key)]
            case ir.Slice(of, start, stop, step):
                owner = self.value(of)
                return owner[slice(*(None if part is None else self.value(part) for part in (start, stop, step)))]
            case ir.CallFunction(function, args):
                if function == "sorted_by":
                    items, keys = (self.value(item) for item in args)
                    order = sorted(range(len(items)), key=list(keys).__getitem__)
                    return [items[index] for index in order]
                if function not in ir.BUILTINS:
                    raise CodeError(function)
                return getattr(builtins, function)(*[self.value(item) for item in args])
            case ir.IsInstance(of, types):
                return isinstance(self.value(of), tuple(_TYPES[name] for name in types))
            case ir.Method(of, name, args):
                if name not in ir.METHODS:
                    raise CodeError(name)
                method = getattr(self.value(of), name)
                return method(*[self.value(item) for item in args])
            case ir.Regex(how, pattern, flags, text):
                return getattr(re, how)(pattern, self.value(text), flags)
            case ir.Compare(first, operators, others):
                return self.compare(first, operators, others)
            case ir.And(items):
                return self.first(items, wanted=False)
            case ir.Or(items):
                return self.first(items, wanted=True)
            case ir.NotTrue(item):
                return not self.value(item)
            case ir.Unary(name, item):
                return _UNARY[name](self.value(item))
            case ir.Binary(name, left, right):
                one = self.value(left)
                return _BINARY[name](one, self.value(right))
            case ir.IfElse(test, then, otherwise):
                return self.value(then) if self.value(test) else self.value(otherwise)
            case ir.Display(kind, items):
                made = [self.value(item) for item in items]
                return made if kind == "list" else tuple(made) if kind == "tuple" else set(made)
            case ir.Mapping(entries):
                return self.mapping(entries)
            case ir.Collect():
                return self.collect(node)
            case ir.Text(parts):
                return "".join(part if isinstance(part, str) else self.shown(part) for part in parts)
            case ir.Bind(slot, value):
                self.slots[slot] = self.value(value)
                return self.slots[slot]
            case ir.Inline(parameters, body):
                for slot, given in parameters:
                    self.slots[slot] = self.value(given)
                return _Run(self.roots, self.slots).function(body)
            case ir.MakeDecision(verdict, args, obligations):
                decided = self.decide(verdict, args)
                if isinstance(obligations, msgspec.UnsetType):
                    return decided
                duties = tuple([Obligation(each.name, from_const(each.value), each.phase) for each in obligations])
                return dataclasses.replace(decided, obligations=duties)
            case _:
                assert_never(node)

    def first(self, items: tuple[ir.Code, ...], *, wanted: bool) -> Any:
        value: Any = None
        for item in items:
            value = self.value(item)
            if bool(value) is wanted:
                break
        return value

    def compare(self, first: ir.Code, operators: tuple[str, ...], others: tuple[ir.Code, ...]) -> Any:
        left = self.value(first)
        answer: Any = True
        for name, other in zip(operators, others, strict=True):
            right = self.value(other)
            answer = _COMPARE[name](left, right)
            if not answer:
                break
            left = right
        return answer

    def mapping(self, entries: tuple[tuple[ir.Code | None, ir.Code], ...]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, value in entries:
            if key is None:
                made = {**made, **self.value(value)}
            else:
                at = self.value(key)
                made[at] = self.value(value)
        return made

    def shown(self, part: ir.Shown) -> str:
        value = self.value(part.value)
        converted = {"": lambda item: item, "r": repr, "s": str, "a": ascii}[part.conversion](value)
        return format(converted, part.spec)

    def decide(self, verdict: str, args: tuple[tuple[str, ir.Code], ...]) -> Decision:
        given = {name: self.value(item) for name, item in args}
        if verdict == "approve_required" and "timeout_seconds" not in given:
            raise CodeError("timeout_seconds")
        if verdict in ("deny", "transform") and not {"reason", "transform_args"} & set(given):
            return Decision(Verdict(verdict), **given)
        return (
            _DECISIONS[verdict](**given) if verdict != "deny" or "reason" in given else Decision(Verdict.DENY, **given)
        )

    # --- comprehensions ---

    def collect(self, node: ir.Collect) -> Any:
        items = self.items(node, node.loops)
        match node.kind:
            case "list":
                return list(items)
            case "set":
                return set(items)
            case "dict":
                return dict(items)
            case "any":
                return any(items)
            case "all":
                return all(items)
            case "sum":
                return sum(items)
            case "min" | "max":
                choose = min if node.kind == "min" else max
                return choose(items) if node.default is None else choose(items, default=self.value(node.default))
            case "first":
                assert node.default is not None
                return next(items, self.value(node.default))

    def items(self, node: ir.Collect, loops: tuple[ir.Loop, ...]) -> Iterator[Any]:
        if not loops:
            yield self.value(node.value) if node.key is None else (self.value(node.key), self.value(node.value))
            return
        loop, rest = loops[0], loops[1:]
        for item in self.value(loop.over):
            self.assign(loop.target, item)
            if all(self.value(test) for test in loop.conditions):
                yield from self.items(node, rest)
