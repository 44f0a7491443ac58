"""Host rules: when they are asked, what they are given, and what becomes of what they answer."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from bobcat.ir import construct, schema
from bobcat.model.decision import Decision, ExecutionContext, Principal, Verdict
from bobcat.model.frozen import FrozenDict, FrozenList
from programs import CONTEXT, EVERY, host_rule, program_of, request_of, tool_is

ALLOW_ALL = construct.rule("allow-all", EVERY, "allow", priority=-1)
CONTINUE = schema.Defaults("deny", "approve_required", "continue")


def decide(answer: Any, *, request: Any = None, context: Any = None, **options: Any) -> Decision:
    """The decision of a policy of one host rule that answers `answer`, and then a rule that allows everything."""

    def host(request: Any, context: Any) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    program = program_of(host_rule("host"), ALLOW_ALL, host_rules=(host,), **options)
    return program.evaluate(request or request_of(), context)


def test_none_abstains() -> None:
    assert decide(None).matched_rules == ("allow-all",)


def test_a_decision_gets_the_name_of_its_rule() -> None:
    assert decide(Decision(Verdict.DENY, "no")) == Decision(Verdict.DENY, "no", ("host",))
    named = Decision(Verdict.APPROVE_REQUIRED, "ask", ("mine",), ("alice",), None, 5)
    assert decide(named) == dataclasses.replace(named, matched_rules=("mine", "host"))


def test_a_name_that_is_there_is_not_added() -> None:
    assert decide(Decision(Verdict.DENY, matched_rules=("host", "other"))).matched_rules == ("host", "other")


def test_a_rule_gets_the_request_and_the_context_passed() -> None:
    seen: list[Any] = []
    program = program_of(host_rule("spy"), host_rules=(lambda *given: seen.append(given),))
    request = request_of()
    other = ExecutionContext(Principal("user", "v"), "prod", ".", "", 0, CONTEXT.timestamp)
    program.evaluate(request)
    program.evaluate(request, other)
    assert seen[0][0] is request
    assert seen[0][1] is CONTEXT
    assert seen[1][1] is other


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (ValueError("x"), "ValueError"),
        (TypeError("x"), "TypeError"),
        (RecursionError(), "RecursionError"),
        (True, "not_a_decision"),
        ("allow", "not_a_decision"),
        (Verdict.ALLOW, "not_a_decision"),
        (SimpleNamespace(verdict=Verdict.ALLOW, matched_rules=()), "not_a_decision"),
        (Decision("allow"), "not_a_decision"),  # type: ignore[arg-type]
        (Decision(None), "not_a_decision"),  # type: ignore[arg-type]
        (Decision(Verdict.ALLOW, matched_rules="host"), "not_a_decision"),  # type: ignore[arg-type]
        (Decision(Verdict.ALLOW, matched_rules=(1,)), "not_a_decision"),  # type: ignore[arg-type]
        (Decision(Verdict.ALLOW, approvers="alice"), "not_a_decision"),  # type: ignore[arg-type]
        (Decision(Verdict.ALLOW, reason=5), "not_a_decision"),  # type: ignore[arg-type]
        (Decision(Verdict.ALLOW, timeout_seconds="5"), "not_a_decision"),  # type: ignore[arg-type]
        (Decision(Verdict.TRANSFORM), "cannot_transform"),
        (Decision(Verdict.TRANSFORM, transform_args=[("a", 1)]), "cannot_transform"),  # type: ignore[arg-type]
    ],
)
def test_a_rule_in_error_denies_and_leaves_a_marker(answer: Any, code: str) -> None:
    decision = decide(answer)
    assert decision.verdict is Verdict.DENY
    assert decision.matched_rules == (f"<rule_error:host:{code}>",)
    assert decision.reason == f"rule `host` could not be judged ({code}); denied"
    skipped = decide(answer, defaults=CONTINUE)
    assert skipped.verdict is Verdict.ALLOW
    assert skipped.matched_rules == (f"<rule_error:host:{code}>", "allow-all")


def test_a_missing_reason_is_empty() -> None:
    assert decide(Decision(Verdict.ALLOW, None)).reason == ""  # type: ignore[arg-type]


def test_an_async_rule_denies_without_a_warning() -> None:
    async def answer() -> None:
        return None

    assert decide(answer()).matched_rules == ("<rule_error:host:not_a_decision>",)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_of_a_rule_is_raised(interrupt: type[BaseException]) -> None:
    with pytest.raises(interrupt):
        decide(interrupt())


def test_arguments_of_a_verdict_that_is_no_transform_are_dropped() -> None:
    assert decide(Decision(Verdict.ALLOW, transform_args={"a": 1})).transform_args is None


def test_transformed_arguments_are_frozen_and_the_answer_is_not_aliased() -> None:
    args: dict[str, Any] = {"a": [1], "b": MappingProxyType({"c": {}})}
    decision = decide(Decision(Verdict.TRANSFORM, "new", transform_args=args))
    args["a"].append(2)
    assert decision == Decision(Verdict.TRANSFORM, "new", ("host",), (), {"a": [1], "b": {"c": {}}})
    made: Any = decision.transform_args
    assert type(made) is FrozenDict
    assert type(made["a"]) is FrozenList
    assert type(made["b"]["c"]) is FrozenDict


def test_transformed_arguments_that_contain_themselves_are_refused() -> None:
    cyclic: dict[str, Any] = {}
    cyclic["a"] = cyclic
    assert decide(Decision(Verdict.TRANSFORM, transform_args=cyclic)).matched_rules == (
        "<rule_error:host:cannot_transform>",
    )


def test_transformed_arguments_are_evaluated_by_the_rules_above() -> None:
    guard = construct.rule("guard", construct.leaf("args", ("a",), "eq", 1), "deny", reason="no ones", priority=1)
    made: Any = {"a": 1}
    program = program_of(
        guard, host_rule("host"), host_rules=(lambda *_: Decision(Verdict.TRANSFORM, transform_args=made),)
    )
    assert program.evaluate(request_of()) == Decision(Verdict.DENY, "no ones", ("host", "guard"))
    made = {"a": 2}
    assert program.evaluate(request_of()) == Decision(Verdict.TRANSFORM, "", ("host",), (), {"a": 2})


def test_an_allow_above_a_transform_stays_a_transform() -> None:
    above = construct.rule("above", construct.leaf("args", ("a",), "eq", 1), "allow", reason="ones", priority=1)
    program = program_of(
        above, host_rule("host"), host_rules=(lambda *_: Decision(Verdict.TRANSFORM, transform_args={"a": 1}),)
    )
    assert program.evaluate(request_of()) == Decision(Verdict.TRANSFORM, "ones", ("host", "above"), (), {"a": 1})


def test_a_rule_may_evaluate_the_program_it_belongs_to() -> None:
    programs: list[Any] = []

    def host(request: Any, context: Any) -> Any:
        if request.tool == "outer":
            inner: Decision = programs[0].evaluate(request_of("inner"))
            return Decision(Verdict.DENY, f"inner said {inner.verdict}")
        return None

    rules = [host_rule("host"), tool_is("inner", "dry_run")]
    programs.append(program_of(*rules, host_rules=(host,)))
    assert programs[0].evaluate(request_of("outer")).reason == "inner said dry_run"


def test_a_rule_that_changes_the_arguments_does_not_break_the_evaluation() -> None:
    def host(request: Any, context: Any) -> None:
        request.args.clear()

    below = construct.rule("below", construct.leaf("args", ("a", "b"), "eq", 1), "allow", priority=-1)
    above = construct.rule("above", construct.leaf("args", ("a", "b"), "eq", 2), "allow", priority=1)
    program = program_of(above, host_rule("host"), below, host_rules=(host,))
    assert program.evaluate(request_of(a={"b": 1})).verdict in (Verdict.ALLOW, Verdict.DENY)
