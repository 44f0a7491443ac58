"""The strict profile, evaluated slowly and obviously: what `docs/reference/semantics.md` says, in the order it says it.

Tests compare the Rust core with this module. It imports the IR's nodes and the value types, and nothing that decides:
no index, no cache, no early exit beyond those the page defines. It must never import `bobcat._core`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from types import MappingProxyType
from typing import Any

from bobcat.ir import schema as ir
from bobcat.model import ActionRequest, Decision, ExecutionContext, Verdict

MAX_INT_BITS = 4096
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

HostFn = Callable[[ActionRequest, ExecutionContext], Any]


class Kind(Enum):
    """The four truth values."""

    TRUE = "true"
    FALSE = "false"
    ABSENT = "absent"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Truth:
    """How a clause came out; `code` is set for errors and only there."""

    kind: Kind
    code: str | None = None


TRUE, FALSE, ABSENT = Truth(Kind.TRUE), Truth(Kind.FALSE), Truth(Kind.ABSENT)


def truth(value: bool) -> Truth:
    return TRUE if value else FALSE


class Unjudgeable(Exception):
    """A value is there and cannot be judged; `code` says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class _Missing(Exception):
    """The path is not there."""


@dataclass(frozen=True, slots=True)
class Timestamp:
    """An instant, in microseconds since the epoch."""

    micros: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of a type that policies cannot judge."""


# --- Values -----------------------------------------------------------------------------------------------------------


def view(value: Any) -> Any:
    """A Python value as one of: None, bool, int, float, str, list, a mapping, Timestamp, Opaque. Not deep."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, list):
        return list(list.__iter__(value))
    if isinstance(value, tuple):
        return list(tuple.__iter__(value))
    if isinstance(value, datetime):
        return _timestamp(value)
    if isinstance(value, Mapping):
        return value
    return Opaque()


def _timestamp(value: datetime) -> Timestamp | Opaque:
    try:
        if value.utcoffset() is None:
            return Opaque()
        return Timestamp((value - _EPOCH) // timedelta(microseconds=1))
    except Exception:
        return Opaque()


def checked(value: Any) -> Any:
    """`view`, with the errors that hold whatever the operator."""
    seen = view(value)
    if isinstance(seen, float) and seen != seen:
        raise Unjudgeable("nan")
    if isinstance(seen, str) and any(0xD800 <= ord(c) <= 0xDFFF for c in seen):
        raise Unjudgeable("bad_unicode")
    if isinstance(seen, int) and seen.bit_length() > MAX_INT_BITS:
        raise Unjudgeable("out_of_range")
    if isinstance(seen, Opaque):
        raise Unjudgeable("wrong_type")
    return seen


def step(value: Any, key: str) -> Any:
    """The entry `key` of a mapping; raises `_Missing` or `Unjudgeable`."""
    if value is None:
        raise _Missing
    if isinstance(value, dict):
        for candidate, item in dict.items(value):
            if isinstance(candidate, str) and str.__str__(candidate) == key:
                return item
        raise _Missing
    if isinstance(value, Mapping):
        try:
            return value[key]
        except KeyError:
            raise _Missing from None
        except Exception:
            raise Unjudgeable("wrong_type") from None
    raise Unjudgeable("wrong_type")


def read(leaf: ir.Leaf, request: ActionRequest, context: ExecutionContext) -> Any:
    """The value a leaf is about; raises `_Missing` or `Unjudgeable`."""
    path = leaf.path
    match leaf.head:
        case "tool":
            return request.tool
        case "args":
            value: Any = request.args
        case "declared":
            return _attribute(request.declared, path[0])
        case "context" if path[0] == "extra":
            value, path = _attribute(context, "extra"), path[1:]
        case "context":
            value = context
            for name in path:
                value = _attribute(value, name)
            return value
    for key in path:
        value = step(value, key)
    return value


def _attribute(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        raise _Missing from None
    except Exception:
        raise Unjudgeable("wrong_type") from None


def constant(const: ir.Const) -> Any:
    """The value of a constant of the strict profile."""
    if isinstance(const, list | tuple):
        return [constant(item) for item in const]
    if isinstance(const, Mapping):
        ((tag, body),) = const.items()
        if tag == "map":
            return {key: constant(item) for key, item in body.items()}
        if tag == "timestamp":
            return Timestamp(body)
        raise AssertionError(f"no constant of the strict profile: {tag}")
    return const


def type_name(value: Any) -> str:
    """The page's type of a viewed value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "list"
    if isinstance(value, Timestamp):
        return "timestamp"
    return "mapping"


# --- Operators --------------------------------------------------------------------------------------------------------


def scalars_equal(left: Any, right: Any) -> bool:
    return type_name(left) == type_name(right) and bool(left == right)


def deep_equal(value: Any, operand: Any) -> bool:
    """Deep equality of a value with a constant; raises at an unjudgeable value met before the answer."""
    seen = checked(value)
    if isinstance(operand, list):
        if not isinstance(seen, list) or len(seen) != len(operand):
            return False
        return all(deep_equal(a, b) for a, b in zip(seen, operand, strict=True))
    if isinstance(operand, dict):
        if type_name(seen) != "mapping":
            return False
        try:
            size = dict.__len__(seen) if isinstance(seen, dict) else len(list(seen.keys()))
        except Exception:
            raise Unjudgeable("wrong_type") from None
        if size != len(operand):
            return False
        for key in sorted(operand):
            try:
                item = step(seen, key)
            except _Missing:
                return False
            if not deep_equal(item, operand[key]):
                return False
        return True
    return scalars_equal(seen, operand)


def equals(value: Any, operand: Any) -> bool:
    seen = checked(value)
    kind = type_name(seen)
    if isinstance(operand, list | dict):
        if kind in ("list", "mapping"):
            return deep_equal(seen, operand)
        if kind == "null":
            return False
        raise Unjudgeable("wrong_type")
    if kind in ("list", "mapping"):
        raise Unjudgeable("wrong_type")
    return scalars_equal(seen, operand)


def contains(value: Any, operand: Any) -> bool:
    seen = checked(value)
    kind = type_name(seen)
    if kind == "string" and isinstance(operand, str):
        return operand in seen
    if kind == "mapping" and isinstance(operand, str):
        try:
            step(seen, operand)
        except _Missing:
            return False
        return True
    if kind == "list":
        return any(scalars_equal(checked(item), operand) for item in seen)
    raise Unjudgeable("wrong_type")


def compare(value: Any, op: str, operand: Any) -> bool:
    seen = checked(value)
    if type_name(seen) != type_name(operand):
        raise Unjudgeable("wrong_type")
    left, right = (seen.micros, operand.micros) if isinstance(operand, Timestamp) else (seen, operand)
    match op:
        case "gt":
            return bool(left > right)
        case "ge":
            return bool(left >= right)
        case "lt":
            return bool(left < right)
        case _:
            return bool(left <= right)


@functools.lru_cache(maxsize=4096)
def _pattern(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def search(value: Any, pattern: str) -> bool:
    seen = checked(value)
    if type_name(seen) != "string":
        raise Unjudgeable("wrong_type")
    return _pattern(pattern).search(seen) is not None


def _attempt(test: Callable[[], bool]) -> Truth:
    try:
        return truth(test())
    except Unjudgeable as failure:
        return Truth(Kind.ERROR, failure.code)


def operate(value: Any, op: str, operand: Any) -> Truth:
    """One operator on a value that is there."""
    match op:
        case "eq":
            return _attempt(lambda: equals(value, operand))
        case "in":
            tests = [_attempt(lambda: equals(value, ""))]
            if tests[0].kind is Kind.ERROR:
                return tests[0]
            return any_of([_attempt(lambda item=item: equals(value, item)) for item in operand])
        case "matches":
            return _attempt(lambda: search(value, operand))
        case "contains":
            return _attempt(lambda: contains(value, operand))
        case "contains_any":
            return _containing(value, operand, any_of)
        case "contains_all":
            return _containing(value, operand, all_of)
        case "gt" | "ge" | "lt" | "le":
            return _attempt(lambda: compare(value, op, operand))
        case "between" | "not_between":
            lo, hi = operand
            inside = all_of([_attempt(lambda: compare(value, "ge", lo)), _attempt(lambda: compare(value, "le", hi))])
            return inside if op == "between" else negate(inside)
    raise AssertionError(op)


def _containing(value: Any, operand: list[Any], fold: Callable[[list[Truth]], Truth]) -> Truth:
    """`contains_any` and `contains_all`: the type of the value is judged even when the operand is empty."""
    if not operand:
        try:
            kind = type_name(checked(value))
        except Unjudgeable as failure:
            return Truth(Kind.ERROR, failure.code)
        if kind not in ("string", "list", "mapping"):
            return Truth(Kind.ERROR, "wrong_type")
    return fold([_attempt(lambda item=item: contains(value, item)) for item in operand])


# --- Connectives ------------------------------------------------------------------------------------------------------


def all_of(items: list[Truth]) -> Truth:
    return _first(items, (Kind.FALSE, Kind.ERROR, Kind.ABSENT)) or TRUE


def any_of(items: list[Truth]) -> Truth:
    return _first(items, (Kind.TRUE, Kind.ERROR, Kind.ABSENT)) or FALSE


def negate(item: Truth) -> Truth:
    return {Kind.TRUE: FALSE, Kind.FALSE: TRUE}.get(item.kind, item)


def _first(items: list[Truth], kinds: tuple[Kind, ...]) -> Truth | None:
    for kind in kinds:
        for item in items:
            if item.kind is kind:
                return item
    return None


def judge(expr: ir.Expr, request: ActionRequest, permits: bool, context: ExecutionContext | None = None) -> Truth:
    """How `expr` comes out on `request`, in a rule that permits or in one that restricts."""
    here = request.context if context is None else context
    match expr:
        case ir.All(items):
            return all_of([judge(item, request, permits, here) for item in items])
        case ir.AnyOf(items):
            return any_of([judge(item, request, permits, here) for item in items])
        case ir.Not(item):
            return negate(judge(item, request, permits, here))
        case ir.Leaf():
            return _judge_leaf(expr, request, permits, here)


def _judge_leaf(leaf: ir.Leaf, request: ActionRequest, permits: bool, context: ExecutionContext) -> Truth:
    operand = constant(leaf.operand)
    try:
        value = read(leaf, request, context)
    except _Missing:
        if leaf.op == "exists":
            return truth(operand is False)
        return ABSENT if permits else FALSE
    except Unjudgeable as failure:
        if leaf.op == "exists":
            return truth(operand is False)
        return Truth(Kind.ERROR, failure.code)
    if leaf.op == "exists":
        return truth(operand is True)
    return operate(value, leaf.op, operand)


# --- Transform --------------------------------------------------------------------------------------------------------


def rewrite(transform: ir.Transform, args: Any) -> dict[str, Any]:
    """The arguments after `transform`; raises `Unjudgeable("cannot_transform")`."""
    if not isinstance(args, Mapping):
        raise Unjudgeable("cannot_transform")
    value = constant(transform.value)
    if not transform.path:
        return dict(value)
    return _rewrite_at(args, transform.path, transform.op, value)


def _rewrite_at(owner: Any, path: tuple[str, ...], op: str, value: Any) -> dict[str, Any]:
    if not isinstance(owner, Mapping):
        raise Unjudgeable("cannot_transform")
    copy = dict(dict.items(owner)) if isinstance(owner, dict) else {key: owner[key] for key in owner}
    key, rest = path[0], path[1:]
    there = key in copy
    if rest:
        if there:
            copy[key] = _rewrite_at(copy[key], rest, op, value)
        elif op == "set":
            copy[key] = _rewrite_at({}, rest, op, value)
        elif op == "append":
            raise Unjudgeable("cannot_transform")
    elif op == "set":
        copy[key] = value
    elif op == "delete":
        copy.pop(key, None)
    else:
        copy[key] = _extended(view(copy[key]) if there else None, value)
    return copy


def _extended(current: Any, value: Any) -> Any:
    if isinstance(current, str) and isinstance(value, str):
        return current + value
    if isinstance(current, list):
        return [*current, value]
    raise Unjudgeable("cannot_transform")


# --- Rules and decisions ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fired:
    """What one rule says: a decision whose `matched_rules` names it, `args` set when it transforms."""

    decision: Decision
    args: Mapping[str, Any] | None = None


@dataclass(slots=True)
class _Run:
    policy: ir.Policy
    host_rules: dict[int, HostFn]
    context: ExecutionContext
    markers: list[str]

    def skip(self, marker: str) -> None:
        if marker not in self.markers:
            self.markers.append(marker)

    def look(self, request: ActionRequest, below: int) -> tuple[int, _Fired] | None:
        """The first of the rules ranked above `below` that fires."""
        for index, rule in enumerate(self.policy.rules[:below]):
            fired = self.host(index, rule, request) if isinstance(rule, ir.HostRule) else self.rule(rule, request)
            if fired is not None:
                return index, fired
        return None

    def in_error(self, name: str, code: str, *, permits: bool) -> _Fired | None:
        marker = f"<rule_error:{name}:{code}>"
        if permits or self.policy.defaults.on_rule_error == "continue":
            self.skip(marker)
            return None
        reason = f"rule `{name}` could not be judged ({code}); denied"
        return _Fired(Decision(Verdict.DENY, reason, (marker,)))

    def rule(self, rule: ir.Rule, request: ActionRequest) -> _Fired | None:
        permits = rule.verdict in ("allow", "transform")
        outcome = judge(rule.match, request, permits, self.context)
        if outcome.kind is Kind.ERROR:
            return self.in_error(rule.id, str(outcome.code), permits=permits)
        if outcome.kind is not Kind.TRUE:
            return None
        args = None
        if rule.transform is not None:
            try:
                args = rewrite(rule.transform, request.args)
            except Unjudgeable as failure:
                return self.in_error(rule.id, failure.code, permits=True)
        decision = Decision(
            Verdict(rule.verdict), rule.reason, (rule.id,), tuple(rule.approvers), args, rule.timeout_seconds
        )
        return _Fired(decision, args)

    def host(self, index: int, rule: ir.HostRule, request: ActionRequest) -> _Fired | None:
        try:
            answer = self.host_rules[index](request, self.context)
        except Exception as failure:
            return self.in_error(rule.name, type(failure).__name__, permits=False)
        if answer is None:
            return None
        if not isinstance(answer, Decision) or not isinstance(answer.verdict, Verdict):
            if inspect.iscoroutine(answer):
                answer.close()
            return self.in_error(rule.name, "not_a_decision", permits=False)
        args = None
        if answer.verdict is Verdict.TRANSFORM:
            if not isinstance(answer.transform_args, Mapping):
                return self.in_error(rule.name, "cannot_transform", permits=False)
            args = answer.transform_args
        named = answer.matched_rules if rule.name in answer.matched_rules else (*answer.matched_rules, rule.name)
        return _Fired(dataclasses.replace(answer, matched_rules=named, transform_args=args), args)


def decide(
    policy: ir.Policy,
    request: ActionRequest,
    context: ExecutionContext | None = None,
    host_rules: tuple[HostFn, ...] = (),
) -> Decision:
    """The decision of a strict policy. `host_rules` holds one callable per host rule, in the policy's order."""
    assert policy.profile == "strict"
    indexes = [index for index, rule in enumerate(policy.rules) if isinstance(rule, ir.HostRule)]
    here = request.context if context is None else context
    run = _Run(policy, dict(zip(indexes, host_rules, strict=True)), here, [])
    found = run.look(request, len(policy.rules))
    if found is None:
        return _default(policy, request, run.markers)
    index, fired = found
    names: tuple[str, ...] = ()
    args: Mapping[str, Any] | None = None
    decision = fired.decision
    while True:
        decision, names = fired.decision, (*names, *fired.decision.matched_rules)
        if fired.args is None:
            break
        args = fired.args
        again = run.look(dataclasses.replace(request, args=args), index)
        if again is None:
            break
        index, fired = again
    verdict = decision.verdict
    if args is not None and verdict is Verdict.ALLOW:
        verdict = Verdict.TRANSFORM
    effective = None if args is None or verdict is Verdict.DENY else MappingProxyType(dict(args))
    return Decision(
        verdict, decision.reason, (*run.markers, *names), decision.approvers, effective, decision.timeout_seconds
    )


def _default(policy: ir.Policy, request: ActionRequest, markers: list[str]) -> Decision:
    flags = [getattr(request.declared, name, None) for name in ("reversible", "has_shadow")]
    if not all(isinstance(flag, bool) for flag in flags) or flags == [False, False]:
        return Decision(
            Verdict(policy.defaults.on_missing_shadow),
            "irreversible action with no shadow; default policy",
            (*markers, "<default:on_missing_shadow>"),
        )
    return Decision(
        Verdict(policy.defaults.on_no_match),
        "no rule matched; default policy",
        (*markers, "<default:on_no_match>"),
    )
