"""`match` statements: tests in case order, and the names that a chosen case binds."""

from __future__ import annotations

import ast
import dataclasses

from bobcat.frontend.python.analysis.control_flow import always_exits, assigned_on_both
from bobcat.frontend.python.analysis.kinds import OBJECTS
from bobcat.frontend.python.analysis.scope import Scope
from bobcat.frontend.python.lowering.builtin_calls import TYPES
from bobcat.frontend.python.lowering.comprehensions import conjunction
from bobcat.frontend.python.lowering.operators import without_keys
from bobcat.ir import code as ir

_CLASSES = {cls: name for cls, name in TYPES.items() if cls is not type(None)}
_MOST_SHOWN = 60
"""Characters of the subject in an explanation."""


class _Case:
    """A case being lowered: the tests in order, and the temporaries that its names are bound from."""

    def __init__(self, f: Scope) -> None:
        self.f = f
        self.captures: dict[str, int] = {}

    def capture(self, name: str, value: ir.Code) -> ir.Code:
        """Return a test that is always true and stores a value for a name."""
        if name not in self.captures:
            self.captures[name] = self.f.session.new_slot()
        return ir.Display("tuple", (ir.Bind(self.captures[name], value),))

    def tests(self, pattern: ast.pattern, subject: ir.Code) -> list[ir.Code]:
        """Return the tests of a pattern in Python's evaluation order."""
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
                return [ir.Or(tuple(conjunction(self.tests(item, subject)) for item in patterns))]
            case ast.MatchSequence(patterns=patterns):
                return self._sequence(patterns, subject)
            case ast.MatchMapping():
                return self._mapping(pattern, subject)
            case ast.MatchClass():
                return self._class(pattern, subject)
            case _:
                raise f.error_at(pattern, "holds a pattern that has no lowered form", "write `if`")

    def _sequence(self, patterns: list[ast.pattern], subject: ir.Code) -> list[ir.Code]:
        stars = [index for index, item in enumerate(patterns) if isinstance(item, ast.MatchStar)]
        length = ir.CallFunction("len", (subject,))
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
                    tests.append(self.capture(item.name, ir.CallFunction("list", (rest,))))
                continue
            tests += self._inner(item, ir.Item(subject, ir.Constant(after)))
        return tests

    def _mapping(self, pattern: ast.MatchMapping, subject: ir.Code) -> list[ir.Code]:
        tests: list[ir.Code] = [ir.IsInstance(subject, ("dict",))]
        keys = [self.f.value(key) for key in pattern.keys]
        if any(not isinstance(key, ir.Constant) for key in keys):
            raise self.f.error_at(pattern, "has a key that is only known at run time", "write a constant key")
        # Python tests for every key before it tests a value.
        tests += [ir.Compare(key, ("in",), (subject,)) for key in keys]
        for key, item in zip(keys, pattern.patterns, strict=True):
            tests += self._inner(item, ir.Item(subject, key))
        if pattern.rest is not None:
            tests.append(self.capture(pattern.rest, without_keys(subject, keys, self.f)))
        return tests

    def _class(self, pattern: ast.MatchClass, subject: ir.Code) -> list[ir.Code]:
        cls = self.f.static(pattern.cls)
        if not isinstance(cls, type) or cls not in _CLASSES or pattern.kwd_attrs or len(pattern.patterns) > 1:
            raise self.f.error_at(pattern, "matches an object by its class", "match its fields: `match request.tool:`")
        tests: list[ir.Code] = [ir.IsInstance(subject, (_CLASSES[cls],))]
        for item in pattern.patterns:
            tests += self.tests(item, subject)
        return tests

    def _inner(self, pattern: ast.pattern, value: ir.Code) -> list[ir.Code]:
        """Return the tests of a subpattern; a value that several tests use is read once."""
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            return self.tests(pattern, value)
        slot, local = self.f.temporary()
        return [ir.Display("tuple", (ir.Bind(slot, value),)), *self.tests(pattern, local)]


def lower(node: ast.Match, f: Scope) -> tuple[ir.Statement, ...]:
    """Lower a `match` statement."""
    subject_code = f.value(node.subject)
    if f.kind(node.subject) in OBJECTS:
        raise f.error_at(node.subject, "matches an object of the call", "match one of its fields")
    text = ast.unparse(node.subject)
    slot, subject = f.temporary(text if len(text) <= _MOST_SHOWN else "")
    first = ir.Assign(ir.SlotTarget(slot), subject_code)
    return (first, *_chain(node.cases, subject, f))


def _chain(cases: list[ast.match_case], subject: ir.Code, f: Scope) -> tuple[ir.Statement, ...]:
    if not cases:
        return ()
    case, *rest = cases
    lowering = _Case(f)
    tests = lowering.tests(case.pattern, subject)
    _check_alternatives(case.pattern, f)
    before = set(f.assigned)
    bound: list[ir.Code] = []
    for name, slot in lowering.captures.items():
        f.assigned.add(name)
        bound.append(ir.Display("tuple", (ir.Bind(f.slot_of(name), ir.Local(slot)),)))
    # A case binds its names before it evaluates its guard, and the names stay bound if the guard is false.
    guard = [] if case.guard is None else [f.raw(case.guard)]
    body = f.body(case.body)
    after = None if always_exits(case.body) else f.assigned
    f.assigned = set(before)
    conditions = [*tests, *bound, *guard]
    if not conditions:
        f.assigned = before if after is None else after
        return body
    otherwise = _chain(rest, subject, f)
    never_left = bool(rest) and _catches_all(rest[-1]) and all(always_exits(case.body) for case in rest)
    left = None if never_left else f.assigned
    f.assigned = assigned_on_both(after, left, before)
    chosen = ir.If(conjunction(conditions), body, otherwise)
    span = f.source.place.span(case.pattern)
    if case.guard is not None:
        end = f.source.place.span(case.guard)
        span = dataclasses.replace(span, end_line=end.end_line, end_column=end.end_column)
    f.session.note_span(chosen, span)
    return (chosen,)


def _catches_all(case: ast.match_case) -> bool:
    return case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def _check_alternatives(pattern: ast.pattern, f: Scope) -> None:
    """Check that alternatives bind the same names: they share their temporaries."""
    for item in ast.walk(pattern):
        if isinstance(item, ast.MatchMapping | ast.MatchSequence | ast.MatchClass) and len(list(ast.walk(item))) > 400:
            raise f.error_at(item, "is too large a pattern", "write `if`")
