"""The Rust module as Python sees it: who may call what with what, and what comes back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from bobcat import _core, compile_policy, request_from_json
from bobcat.ir import construct
from bobcat.ir.canonical import encode
from bobcat.model.decision import ActionRequest, Decision, ExecutionContext, Principal, Verdict
from bobcat.model.frozen import FrozenDict
from programs import CONTEXT, EVERY, METADATA, SHELL, host_rule, program_of, request_of, tool_is


def test_the_version_is_that_of_the_package() -> None:
    assert _core.__version__.count(".") == 2


def test_a_decision_says_what_its_rule_says() -> None:
    rule = tool_is("shell", "approve_required", reason="ask", approvers=("alice", "bob"), timeout_seconds=2.5)
    decision = program_of(rule).evaluate(request_of())
    expected = Decision(
        Verdict.APPROVE_REQUIRED, "ask", ("shell-approve_required",), ("alice", "bob"), timeout_seconds=2.5
    )
    assert decision == expected
    assert decision.verdict is Verdict.APPROVE_REQUIRED


def test_static_decisions_are_the_same_object_every_time() -> None:
    assert SHELL.evaluate(request_of()) is SHELL.evaluate(request_of())
    assert SHELL.evaluate(request_of("other")) is SHELL.evaluate(request_of("another"))


def test_the_three_ways_to_evaluate_agree() -> None:
    requests = [request_of(), request_of("other")]
    expected = [SHELL.evaluate(request) for request in requests]
    assert [_core.evaluate(SHELL, request) for request in requests] == expected
    assert [_core.evaluate(bundle=SHELL, request=request, context=None) for request in requests] == expected
    assert _core.evaluate_many(SHELL, iter(requests)) == expected


def test_evaluate_is_called_by_position_or_by_name() -> None:
    rule = construct.rule("prod", construct.leaf("context", ("environment",), "eq", "prod"), "allow")
    prod = ExecutionContext(Principal("user", "u"), "prod", ".", "", 0, CONTEXT.timestamp)
    program, request = program_of(rule), request_of()
    plain = [
        _core.evaluate(program, request),
        _core.evaluate(program, request, None),
        _core.evaluate(program, request=request),
        program.evaluate(request),
        program.evaluate(request, None),
        program.evaluate(request=request),
        program.evaluate(request, context=None),
    ]
    assert {decision.verdict for decision in plain} == {Verdict.DENY}
    moved = [
        _core.evaluate(program, request, prod),
        _core.evaluate(program, request, context=prod),
        _core.evaluate(context=prod, request=request, bundle=program),
        program.evaluate(request, prod),
        program.evaluate(request, context=prod),
        program.evaluate(context=prod, request=request),
    ]
    assert {decision.verdict for decision in moved} == {Verdict.ALLOW}


def test_arguments_that_do_not_fit_are_type_errors_that_name_them() -> None:
    evaluate: Any = _core.evaluate
    request = request_of()
    for wrong, message in (
        (lambda: evaluate(), "bundle"),
        (lambda: evaluate(SHELL), "request"),
        (lambda: evaluate(SHELL, request, None, None, None), "4 positional arguments"),
        (lambda: evaluate(SHELL, request, request=request), "request"),
        (lambda: evaluate(SHELL, request, contxt=None), "contxt"),
        (lambda: evaluate(request, SHELL), "bundle must be a Policy, got ActionRequest"),
    ):
        with pytest.raises(TypeError, match=message):
            wrong()


def test_a_program_can_be_subclassed_with_arguments_of_its_own() -> None:
    class Bundle(_core.Program):
        def __init__(self, ir: bytes, host_rules: tuple[Any, ...], name: str, *, more: int) -> None:
            self.name, self.more = name, more

    bundle = Bundle(encode(construct.policy([tool_is("shell", "allow")])), (), "mine", more=1)
    assert (bundle.name, bundle.more, bundle.rule_count, bundle.profile) == ("mine", 1, 1, "strict")
    assert _core.evaluate(bundle, request_of()).verdict == Verdict.ALLOW


def test_a_program_cannot_be_changed() -> None:
    for name in ("rule_count", "profile", "extra"):
        with pytest.raises(AttributeError):
            setattr(SHELL, name, 1)


def test_invalid_ir_is_refused_with_a_code() -> None:
    for data in (b"", b"{", b"[]", b"{}", b"\xff", b"\x00" * 100, b'{"ir_version": 1}'):
        with pytest.raises(_core.CoreError) as caught:
            _core.Program(data)
        assert isinstance(caught.value, ValueError)
        assert caught.value.code
        assert str(caught.value)


@pytest.mark.parametrize("data", ["{}", None, bytearray(b"{}"), 5])
def test_ir_must_be_bytes(data: Any) -> None:
    with pytest.raises(TypeError):
        _core.Program(data)


def test_host_rules_must_be_as_many_as_the_policy_has() -> None:
    with pytest.raises(_core.CoreError) as caught:
        program_of(host_rule("one"), host_rules=())
    assert caught.value.code == "host_rules"
    with pytest.raises(_core.CoreError):
        program_of(host_rules=(print,))
    with pytest.raises(TypeError, match="callable"):
        program_of(host_rule("one"), host_rules=("one",))


@pytest.mark.parametrize("thing", [None, 5, "shell", {}, object(), SimpleNamespace(tool="t", args={})])
def test_an_invalid_request_is_a_type_error(thing: Any) -> None:
    for evaluate in (SHELL.evaluate, lambda it: _core.evaluate(SHELL, it), lambda it: _core.explain(SHELL, it)):
        with pytest.raises(TypeError, match="ActionRequest"):
            evaluate(thing)
    with pytest.raises(TypeError):
        _core.evaluate_many(SHELL, [thing])


def test_an_invalid_program_is_a_type_error() -> None:
    for function in (_core.evaluate, _core.evaluate_many, _core.evaluate_json, _core.explain):
        with pytest.raises(TypeError):
            function(object(), b"")  # type: ignore[call-overload]


def test_anything_with_the_four_attributes_is_a_request() -> None:
    duck = SimpleNamespace(tool="shell", args={}, declared=None, context=None)
    assert SHELL.evaluate(duck).verdict == Verdict.ALLOW  # type: ignore[arg-type]
    program = program_of(construct.rule("r", construct.leaf("declared", ("cost",), "exists", False), "allow"))
    assert program.evaluate(duck).verdict == Verdict.ALLOW  # type: ignore[arg-type]


def test_the_context_passed_wins_over_that_of_the_request() -> None:
    rule = construct.rule("prod", construct.leaf("context", ("environment",), "eq", "prod"), "allow")
    prod = ExecutionContext(Principal("user", "u"), "prod", ".", "", 0, CONTEXT.timestamp)
    program = program_of(rule)
    assert program.evaluate(request_of(), prod).verdict == Verdict.ALLOW
    assert program.evaluate(request_of()).verdict == Verdict.DENY


def test_transformed_arguments_are_read_only_and_share_what_did_not_change() -> None:
    shared, opaque = {"deep": [1]}, object()
    rewrite = construct.transform("set", ("new", "key"), {"map": {"list": [1]}})
    program = program_of(construct.rule("r", EVERY, "transform", transform=rewrite))
    request = request_of(shared=shared, opaque=opaque)
    args: Any = program.evaluate(request).transform_args
    assert args == {"shared": {"deep": [1]}, "opaque": opaque, "new": {"key": {"list": [1]}}}
    assert args["shared"] is shared
    assert args["opaque"] is opaque
    assert type(args) is FrozenDict
    for change in (lambda: args.update(a=1), lambda: args["new"].clear(), lambda: args["new"]["key"]["list"].append(2)):
        with pytest.raises(TypeError):
            change()
    assert request.args == {"shared": {"deep": [1]}, "opaque": opaque}


def test_requests_may_come_from_a_generator_that_fails() -> None:
    def requests() -> Iterator[ActionRequest]:
        yield request_of()
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        _core.evaluate_many(SHELL, requests())


@dataclass(frozen=True)
class Wider(ActionRequest):
    """A request with a field more."""

    note: str = ""


def test_a_subclass_of_request_reaches_host_rules_as_itself() -> None:
    seen: list[Any] = []
    rewrite = construct.rule("r", EVERY, "transform", priority=-1, transform=construct.transform("set", ("a",), 1))
    program = program_of(
        host_rule("spy"), rewrite, host_rules=(lambda request, context: seen.append((request, context)),)
    )
    program.evaluate(Wider("t", {}, METADATA, CONTEXT, "mine"))
    assert [(type(request), request.note, dict(request.args)) for request, _ in seen] == [
        (Wider, "mine", {}),
        (Wider, "mine", {"a": 1}),
    ]
    assert all(context is CONTEXT for _, context in seen)


def test_a_prepared_bundle_decides_as_before() -> None:
    def rule(id: str, operator: str, value: str, decision: str) -> dict[str, Any]:
        return {"id": id, "match": {"tool": "shell", f"args.cmd.{operator}": value}, "decision": decision}

    source = {
        "rules": [
            *(rule(f"m{number}", "matches", rf"\brm -r{number}\b", "deny") for number in range(9)),
            *(rule(f"c{number}", "contains", f"host-{number}", "dry_run") for number in range(9)),
            {
                "id": "t",
                "match": {"tool": "http"},
                "decision": "transform",
                "transform": {"jsonpath": "$.args.timeout", "set": 5},
            },
        ]
    }
    calls = [
        *({"tool": "shell", "args": {"cmd": text}} for text in ("rm -r3", "ping host-4", "ls", "")),
        {"tool": "http", "args": {"url": "x"}},
        {"tool": "another"},
    ]
    late, prepared = (compile_policy(source) for _ in range(2))
    assert prepared.prepare() is None
    prepared.prepare()
    requests = [request_from_json(call) for call in calls]
    assert [prepared.evaluate(request) for request in requests] == [late.evaluate(request) for request in requests]
    assert {prepared.evaluate(request).verdict for request in requests} > {Verdict.DENY, Verdict.DRY_RUN}


def test_a_policy_of_callables_and_unusual_texts_is_prepared_too() -> None:
    def odd(request: Any, context: Any) -> Decision | None:
        return None

    lynx = compile_policy(
        {"rules": [{"id": 7, "match": {"tool": "shell"}, "decision": "deny", "reason": ["odd"]}]},
        profile="lynx",
        python_rules=[odd],
    )
    lynx.prepare()
    assert lynx.evaluate(request_of()).verdict is Verdict.DENY


@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_each_error_of_a_rule_has_its_own_marker_however_often_it_is_made(decision: str) -> None:
    policy = compile_policy(
        {
            "rules": [
                {"id": "limit", "match": {"args.amount.gt": 100}, "decision": decision},
                {"id": "rest", "match": {}, "decision": "approve_required", "approvers": ["alice"]},
            ]
        }
    )
    codes: dict[str, object] = {"wrong_type": "many", "nan": math.nan, "bad_unicode": "\ud800"}
    for code, amount in [*codes.items(), *codes.items()]:
        made = policy.evaluate(replace(request_of(), args={"amount": 1}))
        assert made.matched_rules == ("rest",)
        decided = policy.evaluate(replace(request_of(), args={"amount": amount}))
        marker = f"<rule_error:limit:{code}>"
        if decision == "deny":
            assert decided.verdict is Verdict.DENY
            assert decided.reason == f"rule `limit` could not be judged ({code}); denied"
            assert decided.matched_rules == (marker,)
        else:
            assert decided == replace(made, matched_rules=(marker, "rest"))
