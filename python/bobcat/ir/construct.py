"""Smart constructors: the front ends create IR nodes only through them; they produce the normal form of the strict
profile.

Every rewrite preserves the semantics of `docs/reference/semantics.md` for all four truth values, and for rules that
permit and rules that restrict; `tests/property/test_ir_laws.py` checks each against the reference evaluator.

    all, any    flattened; neutral items dropped; `false` in `all` and `true` in `any` decide; duplicates dropped;
                items sorted by canonical bytes; a single item replaces the connective
    not         double negation and negated constants removed; `not exists: x` is `exists: not x`
    leaf        `in [x]` is `eq x`, `contains_any [x]` and `contains_all [x]` are `contains x`; operand
                lists with set semantics are sorted without duplicates, tests too; an integral float becomes the
                integer; `length: 5` is `length: {eq: 5}`

Two nodes are equal if their canonical bytes are. In Python, `1 == True`: compare and key with `canonical.encode`.
The `lynx` profile keeps the order and the spelling of its source: it creates `AllExpr`, `AnyExpr`, `NotExpr` and `Leaf`
directly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from bobcat.ir.canonical import EncodingError, check_const, encode_each
from bobcat.ir.schema import (
    IR_VERSION,
    AllExpr,
    AnyExpr,
    AnyRule,
    Const,
    Defaults,
    Definition,
    Dialect,
    Expr,
    Head,
    IrPolicy,
    IrRule,
    Leaf,
    NotExpr,
    Obligation,
    Operator,
    Profile,
    Transform,
    VerdictName,
)
from bobcat.language.facets import IR_NESTING, IR_OPERATORS

TRUE = AllExpr(())
FALSE = AnyExpr(())
DEFAULTS = Defaults(on_no_match="deny", on_missing_shadow="approve_required", on_rule_error="deny")

_EXACT = frozenset({str, int, bool, type(None)})
_UNORDERED = {row.name: row.single for row in IR_OPERATORS.values() if row.unordered}


def all_(items: Iterable[Expr]) -> Expr:
    """Return the normal form of a conjunction of normal forms."""
    return _joined(items, AllExpr, AnyExpr)


def any_(items: Iterable[Expr]) -> Expr:
    """Return the normal form of a disjunction of normal forms."""
    return _joined(items, AnyExpr, AllExpr)


def _joined(items: Iterable[Expr], own: type[AllExpr | AnyExpr], other: type[AllExpr | AnyExpr]) -> Expr:
    flat: list[Expr] = []
    for item in items:
        if type(item) is own:
            flat.extend(item.items)
        elif type(item) is other and not item.items:
            return item
        else:
            flat.append(item)
    distinct = _distinct(flat)
    return distinct[0] if len(distinct) == 1 else own(distinct)


def not_(item: Expr) -> Expr:
    """Return the normal form of the negation of a normal form."""
    if type(item) is NotExpr:
        return item.item
    if type(item) is AllExpr and not item.items:
        return FALSE
    if type(item) is AnyExpr and not item.items:
        return TRUE
    if type(item) is Leaf and item.op == "exists":
        return Leaf(item.head, item.path, "exists", not item.operand)
    return NotExpr(item)


def leaf(head: Head, path: tuple[str, ...], op: Operator, operand: Const, dialect: Dialect | None = None) -> Leaf:
    """Return the normal form of one comparison. `operand` is a `Const` of the schema; the caller has checked its type.

    Raises `EncodingError` for an operand that has no canonical form.
    """
    if type(operand) is not str or op in IR_NESTING:  # PERF: most operands are strings in normal form
        op, operand = _comparison(op, _number_free_of_spelling(operand))
    return Leaf(head, path, op, operand, dialect)


def reference(head: Head, path: Sequence[str]) -> Const:
    """Return the operand that refers to the value at another path."""
    return {"ref": [head, *path]}


def places(items: Iterable[Const]) -> Const:
    """Return the operand of a search in several texts: each a text or a reference; one alone is itself."""
    found = _as_set(list(items))
    return found[0] if len(found) == 1 else {"places": found}


def sources(names: Iterable[str]) -> Const:
    """Return the operand of `from`: names of sources, `task` among them."""
    return {"sources": sorted(set(names))}


def check(op: Operator, operand: Const, dialect: Dialect | None = None) -> dict[str, Const]:
    """Return one test of a nesting operator."""
    return {"op": op, "operand": operand} if dialect is None else {"op": op, "operand": operand, "dialect": dialect}


def checks(items: Iterable[dict[str, Const]]) -> Const:
    """Return the operand of a nesting operator: the conjunction of tests."""
    return {"tests": list(items)}


def part(path: Sequence[str], items: Iterable[dict[str, Const]]) -> Const:
    """Return the operand of `part`: the names that lead to a part, and the conjunction of its tests."""
    return {"path": list(path), "tests": list(items)}


def _comparison(op: Operator, value: Const) -> tuple[Operator, Const]:
    """Return the normal form of an operator with its operand."""
    if op in _UNORDERED and type(value) is list:
        value = _as_set(value)
        single = _UNORDERED[op]
        return (single, value[0]) if single is not None and len(value) == 1 else (op, value)
    if op in IR_NESTING:
        items = value["tests"] if type(value) is dict else [check("eq", value)]
        path = {"path": value["path"]} if type(value) is dict and "path" in value else {}
        value = path | {"tests": _as_set([_test(item) for item in items])}
    return op, value


def _test(item: dict[str, Any]) -> dict[str, Const]:  # Any: an operator, its operand, its dialect
    op, value = _comparison(item["op"], item["operand"])
    return check(op, value, item.get("dialect"))


def transform(op: str, path: tuple[str, ...], value: Const) -> Transform:
    """Return a transform of the arguments. `value` is kept as written: `1.0` stays a float. `delete` has no value."""
    check_const(value)
    match op:
        case "set" | "append":
            return Transform(op, path, value)
        case "delete":
            return Transform("delete", path, None)
        case _:
            raise ValueError(f"`{op}` is not a transform operation")


def rule(
    id: Const,
    match: Expr,
    verdict: VerdictName,
    *,
    priority: int = 0,
    reason: Const = "",
    approvers: Sequence[Const] = (),
    timeout_seconds: Const = None,
    transform: Transform | None = None,
    approvals_needed: int = 1,
    obligations: Sequence[Obligation] = (),
    monitored: bool = False,
) -> IrRule:
    """Return a rule of the strict profile, from a match in normal form."""
    timeout = _number_free_of_spelling(timeout_seconds)
    needed = UNSET if approvals_needed == 1 else approvals_needed
    duties = tuple(obligations) or UNSET
    mode: Literal["monitor"] | UnsetType = "monitor" if monitored else UNSET
    return IrRule(id, priority, match, verdict, reason, tuple(approvers), timeout, transform, needed, duties, mode)


def obligation(name: str, value: Const, phase: Literal["before", "after"]) -> Obligation:
    """Return an obligation of a rule. `value` is kept as written."""
    check_const(value)
    return Obligation(name, phase, value)


def policy(
    rules: Iterable[AnyRule],
    *,
    profile: Profile = "strict",
    defaults: Defaults = DEFAULTS,
    language_version: int = 1,
    memory: Mapping[str, Definition] = MappingProxyType({}),
) -> IrPolicy:
    """Return a policy from rules in file order and host rules in argument order, sorted into evaluation order."""
    ordered = tuple(sorted(rules, key=evaluation_key))
    return IrPolicy(IR_VERSION, profile, language_version, defaults, ordered, dict(memory) if memory else UNSET)


def evaluation_key(rule: AnyRule) -> tuple[int, bool]:
    """Sort key for the evaluation order (stable): higher priority first, Python rules after others of equal
    priority.
    """
    return -rule.priority, type(rule) is not IrRule


def _distinct(items: list[Expr]) -> tuple[Expr, ...]:
    if len(items) < 2:
        return tuple(items)
    # PERF: most rules test one value of each head, which is the first of the canonical bytes that differs.
    by_head: dict[str, Expr] = {}
    for item in items:
        if type(item) is not Leaf or item.dialect is not None or by_head.setdefault(item.head, item) is not item:
            break
    else:
        return tuple([by_head[head] for head in sorted(by_head)])
    by_bytes = dict(zip(encode_each(items), items, strict=True))
    return tuple([by_bytes[key] for key in sorted(by_bytes)])


def _as_set(items: list[Const]) -> list[Const]:
    by_bytes = dict(zip(encode_each(items), items, strict=True))
    return [by_bytes[key] for key in sorted(by_bytes)]


def _number_free_of_spelling(value: Const) -> Const:
    """Return `value` with integral floats as integers at every depth: comparisons are exact, so `1.0` equals `1`."""
    kind = type(value)
    if kind in _EXACT:
        return value
    if kind is float:
        if not math.isfinite(value):
            raise EncodingError(f"`{value}` has no JSON form")
        return int(value) if value.is_integer() else value
    if kind is list or kind is tuple:
        return [_number_free_of_spelling(item) for item in value]
    check_const(value)
    return {key: _number_free_of_spelling(item) for key, item in value.items()}
