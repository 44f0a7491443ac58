"""The reference evaluator and the Rust core on generated policies and requests: one decision, whichever way in."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import campaign
from bobcat import _core
from bobcat.bundle.model import PolicyBundle
from bobcat.ir import construct
from bobcat.ir.schema import HostRule, IrPolicy, IrRule
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Principal, ToolMetadata, Verdict
from bobcat.model.request_json import request_to_json
from oracle.corpus import plain, typed
from oracle.reference import HostFn, decide, evaluate_match
from strategies import exprs, json_requests, policies, requests

SETTINGS = settings(
    max_examples=campaign.examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def shown(decision: Decision) -> Any:
    return {
        "verdict": str(decision.verdict),
        "reason": decision.reason,
        "matched_rules": list(decision.matched_rules),
        "approvers": list(decision.approvers),
        "timeout_seconds": repr(decision.timeout_seconds),
        "transform_args": None if decision.transform_args is None else repr(typed(plain(decision.transform_args))),
    }


@SETTINGS
@given(policies(), st.lists(requests, min_size=1, max_size=5))
def test_the_core_decides_as_the_reference_does(policy: IrPolicy, calls: list[ActionRequest]) -> None:
    bundle = PolicyBundle.from_policy(policy)
    for call in calls:
        assert shown(_core.evaluate(bundle, call)) == shown(decide(policy, call))


class NamedRequest(ActionRequest):
    """Not the very type: the core asks for its attributes by name, and takes no short way in."""


class NamedMetadata(ToolMetadata):
    """As `NamedRequest`."""


class NamedContext(ExecutionContext):
    """As `NamedRequest`."""


class NamedPrincipal(Principal):
    """As `NamedRequest`."""


def named(call: ActionRequest) -> ActionRequest:
    def again(kind: Any, value: Any, **changes: Any) -> Any:
        return kind(**{field.name: getattr(value, field.name) for field in dataclasses.fields(value)} | changes)

    context = again(NamedContext, call.context, principal=again(NamedPrincipal, call.context.principal))
    return again(NamedRequest, call, declared=again(NamedMetadata, call.declared), context=context)


@SETTINGS
@given(policies(), st.lists(requests, min_size=1, max_size=5))
def test_attributes_read_by_name_and_from_slots_make_the_same_decision(
    policy: IrPolicy, calls: list[ActionRequest]
) -> None:
    bundle = PolicyBundle.from_policy(policy)
    for call in calls:
        expected = shown(_core.evaluate(bundle, call))
        assert shown(_core.evaluate(bundle, named(call))) == expected
        assert shown(_core.evaluate(bundle=bundle, request=call)) == expected
        assert shown(_core.evaluate(bundle, named(call), named(call).context)) == expected


@SETTINGS
@given(policies(), st.lists(requests, min_size=1, max_size=5))
def test_many_are_decided_as_each_alone(policy: IrPolicy, calls: list[ActionRequest]) -> None:
    bundle = PolicyBundle.from_policy(policy)
    assert [shown(item) for item in _core.evaluate_many(bundle, calls)] == [
        shown(_core.evaluate(bundle, call)) for call in calls
    ]


@SETTINGS
@given(policies(), st.lists(json_requests, min_size=1, max_size=5))
def test_a_request_as_json_is_decided_as_the_request(policy: IrPolicy, calls: list[ActionRequest]) -> None:
    bundle = PolicyBundle.from_policy(policy)
    lines = "\n".join(json.dumps(json.loads(request_to_json(call))) for call in calls).encode()
    assert [shown(item) for item in _core.evaluate_json(bundle, lines)] == [
        shown(_core.evaluate(bundle, call)) for call in calls
    ]


@SETTINGS
@given(policies(), requests)
def test_an_explanation_has_the_decision_and_evaluates_every_rule_as_the_reference_does(
    policy: IrPolicy, call: ActionRequest
) -> None:
    bundle = PolicyBundle.from_policy(policy)
    decision, traces = _core.explain(bundle, call)
    assert shown(decision) == shown(_core.evaluate(bundle, call))
    assert [trace[0] for trace in traces] == list(range(len(policy.rules)))
    for rule, (_, outcome, code, *_) in zip(policy.rules, traces, strict=True):
        if outcome == "not_reached" or not isinstance(rule, IrRule):
            continue
        if rule.mode == "monitor":
            assert (outcome, code) == ("false", None)
            continue
        truth = evaluate_match(rule.match, call, rule.verdict in ("allow", "transform"))
        if code != "cannot_transform":
            assert (outcome, code) == (truth.kind.value, truth.code)


@SETTINGS
@given(st.lists(exprs, min_size=1, max_size=12), st.lists(requests, min_size=1, max_size=4))
def test_many_rules_on_the_same_paths_are_evaluated_separately(matches: list[Any], calls: list[ActionRequest]) -> None:
    """The index, the shared clauses and the automata of a larger program change nothing."""
    rules = [
        construct.rule(f"r{index}", match, "deny" if index % 3 else "allow") for index, match in enumerate(matches)
    ]
    policy = construct.policy(rules)
    bundle = PolicyBundle.from_policy(policy)
    for call in calls:
        decision = _core.evaluate(bundle, call)
        assert shown(decision) == shown(decide(policy, call))
        assert isinstance(decision.verdict, Verdict)


def _host_rules() -> list[HostFn]:
    """One Python rule of every kind of answer."""

    def abstains(request: Any, context: Any) -> Any:
        return None

    def allows(request: Any, context: Any) -> Any:
        return Decision(Verdict.ALLOW, "fine", ("other",), ("eve",), {"a": "dropped"}, 5)

    def denies_prod(request: Any, context: Any) -> Any:
        return Decision(Verdict.DENY, "prod") if context.environment == "prod" else None

    def raises(request: Any, context: Any) -> Any:
        if "b" in request.args:
            raise LookupError("b")

    def answers_text(request: Any, context: Any) -> Any:
        return "deny" if "a" in request.args else None

    def has_no_verdict(request: Any, context: Any) -> Any:
        return Decision("deny") if "c" in request.args else None  # type: ignore[arg-type]

    def transforms(request: Any, context: Any) -> Any:
        if request.args.get("a") == "made":
            return None
        return Decision(Verdict.TRANSFORM, "made", ("transforms",), transform_args={"a": "made", "b": [1]})

    def transforms_nothing(request: Any, context: Any) -> Any:
        return Decision(Verdict.TRANSFORM, transform_args=[1]) if "c" in request.args else None  # type: ignore[arg-type]

    def asks(request: Any, context: Any) -> Any:
        return Decision(Verdict.APPROVE_REQUIRED, "ask", (), ("bob",), None, 9) if "b" in request.args else None

    return [
        abstains, allows, denies_prod, raises, answers_text, has_no_verdict, transforms, transforms_nothing, asks,
    ]  # fmt: skip


@st.composite
def _with_host_rules(draw: st.DrawFn) -> tuple[IrPolicy, tuple[HostFn, ...]]:
    policy = draw(policies())
    chosen = draw(st.lists(st.sampled_from(_host_rules()), max_size=4))
    hosts = [
        HostRule(f"{fn.__name__}_{index}", draw(st.integers(-1, 2)), "m", fn.__name__, "0" * 64)
        for index, fn in enumerate(chosen)
    ]
    order = sorted(range(len(hosts)), key=lambda index: -hosts[index].priority)
    mixed = construct.policy([*policy.rules, *hosts], defaults=policy.defaults)
    return mixed, tuple(chosen[index] for index in order)


@SETTINGS
@given(_with_host_rules(), st.lists(requests, min_size=1, max_size=4))
def test_host_rules_are_heard_as_the_reference_hears_them(
    mixed: tuple[IrPolicy, tuple[HostFn, ...]], calls: list[ActionRequest]
) -> None:
    policy, functions = mixed
    bundle = PolicyBundle.from_policy(policy, host_rules=functions)
    for call in calls:
        assert shown(_core.evaluate(bundle, call)) == shown(decide(policy, call, host_rules=functions))


@SETTINGS
@given(policies(), requests, requests)
def test_the_context_that_is_passed_replaces_that_of_the_request(
    policy: IrPolicy, call: ActionRequest, other: ActionRequest
) -> None:
    bundle = PolicyBundle.from_policy(policy)
    assert shown(_core.evaluate(bundle, call, other.context)) == shown(decide(policy, call, other.context))
