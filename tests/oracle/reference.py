"""The strict profile, evaluated slowly and obviously: what `docs/reference/semantics.md` says, in the order it says it.

Tests compare the Rust core with this module. It imports the IR's nodes and the value types, and nothing that decides:
no index, no cache, no early exit beyond those the page defines. It must never import `bobcat._core`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bobcat.ir import schema as ir
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Obligation, Verdict
from oracle.operators import ABSENT, FALSE, Kind, Truth, all_of, any_of, negate, operate, truth
from oracle.values import CannotEvaluate, Missing, Ref, constant, read, view

HostFn = Callable[[ActionRequest, ExecutionContext], Any]


def evaluate_match(
    expr: ir.Expr, request: ActionRequest, permits: bool, context: ExecutionContext | None = None
) -> Truth:
    """The outcome of `expr` on `request`, in a rule that permits or in one that restricts."""
    here = request.context if context is None else context
    match expr:
        case ir.AllExpr(items):
            return all_of([evaluate_match(item, request, permits, here) for item in items])
        case ir.AnyExpr(items):
            return any_of([evaluate_match(item, request, permits, here) for item in items])
        case ir.NotExpr(item):
            return negate(evaluate_match(item, request, permits, here))
        case ir.Leaf():
            return _judge_leaf(expr, request, permits, here)


def _judge_leaf(leaf: ir.Leaf, request: ActionRequest, permits: bool, context: ExecutionContext) -> Truth:
    if reads_run(leaf.head, leaf.operand):
        return Truth(Kind.ERROR, "no_state")
    operand = constant(leaf.operand)
    try:
        value = read(leaf.head, leaf.path, request, context)
    except Missing:
        if leaf.op == "exists":
            return truth(operand is False)
        return ABSENT if permits else FALSE
    except CannotEvaluate as failure:
        if leaf.op == "exists":
            return truth(operand is False)
        return Truth(Kind.ERROR, failure.code)
    if leaf.op == "exists":
        return truth(operand is True)

    def at(ref: Ref) -> Any:
        return read(ref.head, ref.path, request, context)

    outcome = operate(value, leaf.op, operand, at)
    return FALSE if outcome.kind is Kind.ABSENT and not permits else outcome


def reads_run(head: str, operand: Any) -> bool:
    """Whether a clause reads the state of a run, which a decision of this module never has."""
    parts = operand if isinstance(operand, dict) else {}
    inside = any(reads_run("", item["operand"]) for item in parts.get("tests", ()))
    return head == "run" or "sources" in parts or parts.get("ref", ("",))[0] == "run" or inside


def rewrite(transform: ir.Transform, args: Any) -> dict[str, Any]:
    """The arguments after `transform`; raises `CannotEvaluate("cannot_transform")`."""
    if not isinstance(args, Mapping):
        raise CannotEvaluate("cannot_transform")
    value = constant(transform.value)
    if not transform.path:
        return dict(value)
    return _rewrite_at(args, transform.path, transform.op, value)


def _rewrite_at(owner: Any, path: tuple[str, ...], op: str, value: Any) -> dict[str, Any]:
    if not isinstance(owner, Mapping):
        raise CannotEvaluate("cannot_transform")
    copy = dict(dict.items(owner)) if isinstance(owner, dict) else {key: owner[key] for key in owner}
    key, rest = path[0], path[1:]
    there = key in copy
    if rest:
        if there:
            copy[key] = _rewrite_at(copy[key], rest, op, value)
        elif op == "set":
            copy[key] = _rewrite_at({}, rest, op, value)
        elif op == "append":
            raise CannotEvaluate("cannot_transform")
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
    raise CannotEvaluate("cannot_transform")


@dataclass(frozen=True, slots=True)
class _Fired:
    """The result of one rule: a decision whose `matched_rules` names it, `args` set when it transforms."""

    decision: Decision
    args: Mapping[str, Any] | None = None


@dataclass(slots=True)
class _Run:
    policy: ir.IrPolicy
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

    def rule(self, rule: ir.IrRule, request: ActionRequest) -> _Fired | None:
        if rule.mode == "monitor":
            return None
        permits = rule.verdict in ("allow", "transform")
        outcome = evaluate_match(rule.match, request, permits, self.context)
        if outcome.kind is Kind.ERROR:
            return self.in_error(rule.id, str(outcome.code), permits=permits)
        if outcome.kind is not Kind.TRUE:
            return None
        args = None
        if rule.transform is not None:
            try:
                args = rewrite(rule.transform, request.args)
            except CannotEvaluate as failure:
                return self.in_error(rule.id, failure.code, permits=True)
        decision = Decision(
            Verdict(rule.verdict),
            rule.reason,
            (rule.id,),
            tuple(rule.approvers),
            args,
            rule.timeout_seconds,
            rule.approvals_needed if isinstance(rule.approvals_needed, int) else 1,
            tuple(
                Obligation(each.name, each.value, each.phase)
                for each in (rule.obligations if isinstance(rule.obligations, tuple) else ())
            ),
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
    policy: ir.IrPolicy,
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
    obligations: tuple[Obligation, ...] = ()
    while True:
        decision, names = fired.decision, (*names, *fired.decision.matched_rules)
        obligations = (
            decision.obligations if decision.verdict is Verdict.DENY else (*obligations, *decision.obligations)
        )
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
        verdict,
        decision.reason,
        (*run.markers, *names),
        decision.approvers,
        effective,
        decision.timeout_seconds,
        decision.approvals_needed,
        obligations,
    )


def _default(policy: ir.IrPolicy, request: ActionRequest, markers: list[str]) -> Decision:
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
