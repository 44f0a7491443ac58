"""Origins of values in Python rules: `"directory" in request.origin("to")`, `request.origin("to") & {"task"}`.

`request.origin(NAME)` is the set of the names of the sources, `task` among them, that an argument came from, and
`request.origin_of(VALUE)` that of any value. Each test of the set is lowered to tests of some sources, with the meaning
of the operator `from`; the set itself is no value.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from bobcat.diagnostics.catalogue import diagnose
from bobcat.frontend.python.analysis.bindings import MISSING, Parameter
from bobcat.frontend.python.analysis.kinds import ORIGINS
from bobcat.frontend.python.analysis.scope import KEPT, Scope
from bobcat.frontend.report import shown
from bobcat.frontend.strict.key_syntax import KeySyntaxError, split
from bobcat.frontend.suggest import closest, listed
from bobcat.ir import code as ir
from bobcat.ir.memory import TASK

FALSE = ir.Constant(False)
_EMPTY = (set, frozenset)
_NO_SOURCES = (
    "define it under `sources` of the policy: `sources: {directory: {tool: search_contacts, fields: [email]}}`"
)


@dataclass(frozen=True, slots=True)
class OriginSet:
    """The sources among `names`, by the author's names, that a value came from.

    `path` is that of an argument; empty: the value is `of`.
    """

    path: tuple[str, ...]
    of: ir.Code | None
    lower: bool
    names: frozenset[str]
    known: tuple[tuple[str, str], ...]

    def any(self, names: frozenset[str]) -> ir.Code:
        """Return the test that it has one of these names."""
        known = {TASK: TASK, **dict(self.known)}
        sources = tuple(sorted(known[name] for name in names & self.names if name in known))
        if not sources:
            return FALSE
        if self.of is None:
            return ir.ArgumentOrigin(self.path, sources, self.lower)
        return ir.ValueOrigin(self.of, sources, self.lower)

    def all(self, names: frozenset[str]) -> ir.Code:
        """Return the test that it has all of these names."""
        return _and([self.any(frozenset({name})) for name in sorted(names)])

    def only(self, names: frozenset[str]) -> ir.Code:
        """Return the test that it has no other names."""
        return ir.NotTrue(self.any(self.names - names))


def truth(node: ast.expr, f: Scope) -> ir.Code:
    """Lower an origin to its truth: the value came from one of its sources."""
    found = _origin(node, f)
    return found.any(found.names)


def compared(node: ast.Compare, f: Scope) -> ir.Code:
    """Lower a comparison with an origin."""
    if len(node.ops) > 1:
        raise f.error_at(node, "compares an origin in a chain", "write the comparisons one by one, with `and`")
    left, op, right = node.left, node.ops[0], node.comparators[0]
    if isinstance(op, ast.In | ast.NotIn) and f.kind(right) == "origin":
        test = _origin(right, f).any(_known_names([(_name(left, f), left)], f))
        return test if isinstance(op, ast.In) else ir.NotTrue(test)
    if isinstance(op, ast.GtE):
        left, op, right = right, ast.LtE(), left
    if f.kind(left) == f.kind(right):
        raise f.error_at(node, "compares two origins", "compare one with names: `request.origin(...) & {...}`")
    if isinstance(op, ast.Eq | ast.NotEq):
        origin, names = (left, right) if f.kind(left) == "origin" else (right, left)
        found, given = _origin(origin, f), _names(names, f)
        test = _and([found.all(given), found.only(given)])
        return test if isinstance(op, ast.Eq) else ir.NotTrue(test)
    if isinstance(op, ast.LtE):
        return _subset(node, left, right, f)
    instead = '`request.origin("to") & {"task", "directory"}` is true of a value that came from one of them'
    raise f.error_at(node, "compares an origin in a way that has no lowered form", instead)


def method(node: ast.Call, func: ast.Attribute, f: Scope) -> ir.Code:
    """Lower a method of an origin whose result is a bool."""
    if len(node.args) == 1 and not node.keywords:
        match func.attr:
            case "isdisjoint":
                return ir.NotTrue(_origin(func.value, f).any(_names(node.args[0], f)))
            case "issuperset":
                return _subset(node, node.args[0], func.value, f)
            case "issubset":
                return _subset(node, func.value, node.args[0], f)
    raise f.error_at(func, f"calls `{func.attr}` of an origin", KEPT["origin"][1])


def check_lasting(node: ast.expr, f: Scope) -> None:
    """Reject a name for an origin whose value may change before it is tested."""
    names = [item for item in ast.walk(node) if isinstance(item, ast.Name)]
    if all(_is_lasting(name, f) for name in names):
        return
    raise f.error_at(node, *KEPT["origin"])


def _is_lasting(name: ast.Name, f: Scope) -> bool:
    if any(name.id in scope for scope in f.scopes):
        return False
    return name.id not in f.own or name.id in f.once or isinstance(f.resolve(name), Parameter)


def _subset(node: ast.expr, left: ast.expr, right: ast.expr, f: Scope) -> ir.Code:
    if f.kind(left) != "origin":
        return _origin(right, f).all(_names(left, f))
    f.warn_at(
        node,
        "tests that a value came from no other source, which holds for a value from nowhere, too",
        'write `request.origin("to") & {"task", "directory"}`',
    )
    return _origin(left, f).only(_names(right, f))


def _origin(node: ast.expr, f: Scope) -> OriginSet:
    """Return the set that an expression stands for."""
    match node:
        case ast.Name():
            alias = f.alias(node)
            if alias is not None:
                return _origin(alias, f)
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right) if f.kind(left) != f.kind(right):
            origin, names = (left, right) if f.kind(left) == "origin" else (right, left)
            return _narrowed(_origin(origin, f), _names(names, f))
        case ast.BinOp(left=left, op=ast.Sub(), right=right) if f.kind(left) == "origin" != f.kind(right):
            found = _origin(left, f)
            return _narrowed(found, found.names - _names(right, f))
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=[names], keywords=[]) if f.kind(of) == "origin":
            found, given = _origin(of, f), _names(names, f)
            return _narrowed(found, given if name == "intersection" else found.names - given)
        case ast.Call(func=ast.Attribute(value=of, attr=name)) if f.kind(of) == "request" and name in ORIGINS:
            return _written(node, name, f)
        case _:
            pass
    raise f.error_at(node, *KEPT["origin"])


def _narrowed(found: OriginSet, names: frozenset[str]) -> OriginSet:
    return replace(found, names=found.names & names)


def _written(node: ast.Call, name: str, f: Scope) -> OriginSet:
    """Return the set of `request.origin(...)` and `request.origin_of(...)`."""
    f.session.reads_run = True
    lower = False
    for keyword in node.keywords:
        if keyword.arg != "lower" or not isinstance(keyword.value, ast.Constant):
            raise f.error_at(keyword.value, f"calls `request.{name}` in another way", "write `lower=True`")
        lower = bool(keyword.value.value)
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        raise f.error_at(node, f"calls `request.{name}` without one argument", 'write `request.origin("to")`')
    known = tuple((f.session.sources or {}).items())
    names = frozenset({TASK, *dict(known)})
    if name == "origin_of":
        return OriginSet((), f.value(node.args[0]), lower, names, known)
    return OriginSet(_path(node.args[0], f), None, lower, names, known)


def _path(node: ast.expr, f: Scope) -> tuple[str, ...]:
    """Return the steps to an argument, written as in YAML: `to`, `mail.to`, `["reply.to"]`."""
    text = node.value if isinstance(node, ast.Constant) else f.static(node)
    if not isinstance(text, str):
        instead = f"for a value, write `request.origin_of({ast.unparse(node)})`; for an argument, its name as a text"
        raise f.error_at(node, "passes `request.origin` something other than the name of an argument", instead)
    try:
        # A head in front makes a bracket at the start a step like any other.
        return tuple(step.text for step in split(f"args{text}" if text.startswith("[") else f"args.{text}")[1:])
    except KeySyntaxError as problem:
        raise f.error_at(
            node, f"names no argument by `{shown(text)}`: {problem}", 'write `request.origin("to")`'
        ) from None


def _names(node: ast.expr, f: Scope) -> frozenset[str]:
    """Return the names of sources in a set."""
    match node:
        case ast.Set(elts=items) | ast.Tuple(elts=items) | ast.List(elts=items):
            return _known_names([(_name(item, f), item) for item in items], f)
        case ast.Call(func=func, args=[], keywords=[]) if f.static(func) in _EMPTY:
            return frozenset()
        case _:
            found = f.static(node)
    if found is MISSING or type(found) not in (set, frozenset, tuple, list):
        instead = 'write the names of sources: `request.origin("to") & {"task", "directory"}`'
        raise f.error_at(node, "compares an origin with something other than names of sources", instead)
    f.constant(node, found, ast.unparse(node))
    return _known_names([(item, node) for item in found], f)


def _name(node: ast.expr, f: Scope) -> object:
    code = f.value(node)
    if isinstance(code, ir.Constant):
        return code.value
    instead = 'write the name: `"directory" in request.origin("to")`, `request.origin("to") & {"task", "directory"}`'
    raise f.error_at(node, "names a source by a value that is known at run time only", instead)


def _known_names(given: list[tuple[object, ast.expr]], f: Scope) -> frozenset[str]:
    """Return names after checking that the policy has each of them."""
    names = []
    for name, node in given:
        if not isinstance(name, str):
            raise f.error_at(node, "names a source by something other than a text", 'write `"directory"`')
        known = f.session.sources
        if known is not None and name != TASK and name not in known:
            near = closest(name, (*known, TASK))
            help = f"did you mean `{near}`?" if near else _NO_SOURCES
            if known and not near:
                help = f"the sources are {listed((TASK, *known))}"
            f.session.diagnostics.append(diagnose("E1001", f.source.place.span(node), help=help, name=shown(name)))
        names.append(name)
    return frozenset(names)


def _and(items: list[ir.Code]) -> ir.Code:
    if not items:
        return ir.Constant(True)
    return items[0] if len(items) == 1 else ir.And(tuple(items))
