"""`match` statements: tests in the order of the cases, and the names that a case binds once it is chosen."""

from __future__ import annotations

import ast
import dataclasses
from typing import TYPE_CHECKING

from bobcat.frontend.pyrules.kinds import OBJECTS
from bobcat.frontend.pyrules.ways import leaves, met
from bobcat.ir import code as ir

if TYPE_CHECKING:
    from bobcat.frontend.pyrules.function import Function

_CLASSES = {bool: "bool", bytes: "bytes", dict: "dict", float: "float", int: "int", list: "list", set: "set",
            str: "str", tuple: "tuple"}  # fmt: skip


_MOST_SHOWN = 60
"""Characters of a subject that an explanation shows what it was."""


class _Case:
    """One case on its way: what must hold, in order, and which temporaries its names will be taken from."""

    def __init__(self, f: Function) -> None:
        self.f = f
        self.captures: dict[str, int] = {}

    def capture(self, name: str, value: ir.Code) -> ir.Code:
        """A test that always holds and keeps a value for a name."""
        if name not in self.captures:
            self.captures[name] = self.f.session.new_slot()
        return ir.Display("tuple", (ir.Bind(self.captures[name], value),))

    def tests(self, pattern: ast.pattern, subject: ir.Code) -> list[ir.Code]:
        """What must hold for a subject to match, in the order in which Python asks."""
        f = self.f
        f.count(pattern)
        match pattern:
            case ast.MatchValue(value=value):
                return [ir.Compare(subject, ("eq",), (f.value(value),))]
            case ast.MatchSingleton(value=value):
                return [ir.Compare(subject, ("is",), (ir.Constant(value),))]
            case ast.MatchAs(pattern=None, name=None):
                return []
            case ast.MatchAs(pattern=None, name=str() as name):
                return [self.capture(name, subject)]
            case ast.MatchAs(pattern=ast.pattern() as inner, name=str() as name):
                return [*self.tests(inner, subject), self.capture(name, subject)]
            case ast.MatchOr(patterns=patterns):
                return [ir.Or(tuple(_all(self.tests(item, subject)) for item in patterns))]
            case ast.MatchSequence(patterns=patterns):
                return self._sequence(patterns, subject)
            case ast.MatchMapping():
                return self._mapping(pattern, subject)
            case ast.MatchClass():
                return self._class(pattern, subject)
            case _:
                raise f.cannot(pattern, "holds a pattern that has no lowered form", "write `if`")

    def _sequence(self, patterns: list[ast.pattern], subject: ir.Code) -> list[ir.Code]:
        stars = [index for index, item in enumerate(patterns) if isinstance(item, ast.MatchStar)]
        length = ir.Call("len", (subject,))
        least = len(patterns) - len(stars)
        tests: list[ir.Code] = [
            ir.IsInstance(subject, ("list", "tuple")),
            ir.Compare(length, ("ge",) if stars else ("eq",), (ir.Constant(least),)),
        ]
        for index, item in enumerate(patterns):
            after = index - len(patterns) if stars and index > stars[0] else index
            if isinstance(item, ast.MatchStar):
                if item.name is not None:
                    stop = index - len(patterns) + 1
                    rest = ir.Slice(subject, ir.Constant(index), ir.Constant(stop) if stop else None, None)
                    tests.append(self.capture(item.name, ir.Call("list", (rest,))))
                continue
            tests += self._inner(item, ir.Item(subject, ir.Constant(after)))
        return tests

    def _mapping(self, pattern: ast.MatchMapping, subject: ir.Code) -> list[ir.Code]:
        tests: list[ir.Code] = [ir.IsInstance(subject, ("dict",))]
        keys = [self.f.value(key) for key in pattern.keys]
        if any(not isinstance(key, ir.Constant) for key in keys):
            raise self.f.cannot(pattern, "has a key that is only known when the rule runs", "write a constant key")
        # Python looks for every key before it looks at a value.
        tests += [ir.Compare(key, ("in",), (subject,)) for key in keys]
        for key, item in zip(keys, pattern.patterns, strict=True):
            tests += self._inner(item, ir.Item(subject, key))
        if pattern.rest is not None:
            (key_slot, name), (value_slot, value) = self.f.temporary(), self.f.temporary()
            others = tuple(ir.Compare(name, ("ne",), (key,)) for key in keys)
            target = ir.Unpack((ir.Slot(key_slot), ir.Slot(value_slot)))
            loop = ir.Loop(target, ir.Method(subject, "items", ()), others)
            tests.append(self.capture(pattern.rest, ir.Collect("dict", name, value, (loop,))))
        return tests

    def _class(self, pattern: ast.MatchClass, subject: ir.Code) -> list[ir.Code]:
        cls = self.f.static(pattern.cls)
        if not isinstance(cls, type) or cls not in _CLASSES or pattern.kwd_attrs or len(pattern.patterns) > 1:
            raise self.f.cannot(pattern, "matches an object by its class", "match its fields: `match request.tool:`")
        tests: list[ir.Code] = [ir.IsInstance(subject, (_CLASSES[cls],))]
        for item in pattern.patterns:
            tests += self.tests(item, subject)
        return tests

    def _inner(self, pattern: ast.pattern, value: ir.Code) -> list[ir.Code]:
        """The tests of a part; a part that is looked at more than once is read once."""
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            return self.tests(pattern, value)
        slot, local = self.f.temporary()
        return [ir.Display("tuple", (ir.Bind(slot, value),)), *self.tests(pattern, local)]


def lower(node: ast.Match, f: Function) -> tuple[ir.Statement, ...]:
    """The code of a `match` statement."""
    subject_code = f.value(node.subject)
    if f.kind(node.subject) in OBJECTS:
        raise f.cannot(node.subject, "matches an object of the call", "match one of its fields")
    text = ast.unparse(node.subject)
    slot, subject = f.temporary(text if len(text) <= _MOST_SHOWN else "")
    first = ir.Assign(ir.Slot(slot), subject_code)
    return (first, *_chain(node.cases, subject, f))


def _chain(cases: list[ast.match_case], subject: ir.Code, f: Function) -> tuple[ir.Statement, ...]:
    if not cases:
        return ()
    case, *rest = cases
    made = _Case(f)
    tests = made.tests(case.pattern, subject)
    _check_alternatives(case.pattern, f)
    before = set(f.assigned)
    bound: list[ir.Code] = []
    for name, slot in made.captures.items():
        f.assigned.add(name)
        bound.append(ir.Display("tuple", (ir.Bind(f.slot_of(name), ir.Local(slot)),)))
    # The names of a case are bound before its guard is asked, and stay bound when it says no.
    guard = [] if case.guard is None else [f.raw(case.guard)]
    body = f.body(case.body)
    after = None if leaves(case.body) else f.assigned
    f.assigned = set(before)
    conditions = [*tests, *bound, *guard]
    if not conditions:
        f.assigned = before if after is None else after
        return body
    otherwise = _chain(rest, subject, f)
    left = None if rest and leaves(rest[-1].body) and _catches_all(rest[-1]) and _all_leave(rest) else f.assigned
    f.assigned = met(after, left, before)
    chosen = ir.If(_all(conditions), body, otherwise)
    span = f.source.place.span(case.pattern)
    if case.guard is not None:
        end = f.source.place.span(case.guard)
        span = dataclasses.replace(span, end_line=end.end_line, end_column=end.end_column)
    f.session.stands(chosen, span)
    return (chosen,)


def _all_leave(cases: list[ast.match_case]) -> bool:
    return all(leaves(case.body) for case in cases)


def _catches_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _check_alternatives(pattern: ast.pattern, f: Function) -> None:
    """Names in alternatives share their temporaries, which is right as long as each alternative binds them all."""
    for item in ast.walk(pattern):
        if isinstance(item, ast.MatchMapping | ast.MatchSequence | ast.MatchClass) and len(list(ast.walk(item))) > 400:
            raise f.cannot(item, "is too large a pattern", "write `if`")


def _all(tests: list[ir.Code]) -> ir.Code:
    if not tests:
        return ir.Constant(True)
    return tests[0] if len(tests) == 1 else ir.And(tuple(tests))
