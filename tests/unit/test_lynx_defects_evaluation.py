"""Fail-open evaluation, rows U-1 to U-10: the strict profile does none of it."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from bobcat.compiler import compile_policy
from bobcat.errors import PolicyCompileError
from bobcat.model.decision import Decision, Verdict
from bobcat.tools.decorator import tool
from bobcat.tools.signature import bind_arguments
from lynx_defects import ALLOWING, call, context, decide, one_rule, refusal, verdict


@pytest.mark.parametrize("amount", ["9999", [9999], {"value": 9999}, None, True, b"9999", Decimal(9999)])
# lynx-agent defect 01
def test_a_deny_rule_that_cannot_be_evaluated_denies(amount: Any) -> None:
    policy = ALLOWING + (
        "rules:\n"
        "- {id: large, match: {args.amount.gt: 500}, decision: deny}\n"
        "- {id: rest, match: {}, decision: allow, priority: -1}\n"
    )
    decision = decide(policy, call(args={"amount": amount}))
    assert decision.verdict is Verdict.DENY
    assert decision.matched_rules == ("<rule_error:large:wrong_type>",)


@pytest.mark.parametrize("command", [["rm -rf /"], b"rm -rf /", {"cmd": "rm -rf /"}, ("rm", "-rf"), "rm \ud800"])
# lynx-agent defect 02
def test_a_change_of_type_does_not_slip_past_a_pattern(command: Any) -> None:
    assert verdict(one_rule("{args.cmd.matches: rm}"), cmd=command) is Verdict.DENY


@pytest.mark.parametrize("command", [b"rm -rf /", {"rm -rf /"}, 5, None, "rm \udfff", ["x", b"rm"]])
# lynx-agent defect 02
def test_a_change_of_type_does_not_slip_past_a_substring(command: Any) -> None:
    assert verdict(one_rule("{args.cmd.contains: rm}"), cmd=command) is Verdict.DENY


@pytest.mark.parametrize("command", [["rm"], {"cmd": "rm"}])
# lynx-agent defect 02
def test_a_wrapped_argument_does_not_slip_past_an_equality(command: Any) -> None:
    assert verdict(one_rule("{args.cmd: rm}"), cmd=command) is Verdict.DENY
    assert verdict(one_rule("{args.cmd.in: [rm, dd]}"), cmd=command) is Verdict.DENY


# lynx-agent defect 02
def test_nan_does_not_slip_past_a_comparison() -> None:
    assert verdict(one_rule("{args.n.gt: 500}"), n=math.nan) is Verdict.DENY


# lynx-agent defect 03
def test_a_missing_argument_is_no_evidence_for_an_allow() -> None:
    policy = "rules: [{id: r, match: {args.mode.in: [read, list]}, decision: allow}]"
    assert verdict(policy) is Verdict.DENY
    assert verdict(policy, mode="read") is Verdict.ALLOW


# lynx-agent defect 03
def test_the_default_of_a_signature_is_bound_before_the_decision() -> None:
    @tool()
    async def remove(path: str, *, force: bool = True) -> None: ...

    policy = one_rule("{args.force: true}")
    args = bind_arguments(remove.__lynx_meta__, {"path": "/"})  # type: ignore[attr-defined]
    assert decide(policy, call("remove", args)).verdict is Verdict.DENY


def _raising(request: Any, context: Any) -> Any:
    raise ZeroDivisionError


def _text(request: Any, context: Any) -> Any:
    return request.args.get("verdict", "deny")


def _certain_text(request: Any, context: Any) -> Any:
    return "deny"


async def _asynchronous(request: Any, context: Any) -> Any:
    return None


# lynx-agent defect 04
def test_a_python_rule_that_raises_denies() -> None:
    decision = decide(ALLOWING + "rules: []", call(), _raising)
    assert decision.verdict is Verdict.DENY
    assert decision.matched_rules == ("<rule_error:_raising:ZeroDivisionError>",)


# lynx-agent defect 04
def test_a_python_rule_that_returns_something_else_denies() -> None:
    decision = decide(ALLOWING + "rules: []", call(), _text)
    assert decision.verdict is Verdict.DENY
    assert decision.matched_rules == ("<rule_error:_text:not_a_decision>",)


# lynx-agent defect 04
def test_a_python_rule_that_can_only_return_something_else_denies() -> None:
    decision = decide(ALLOWING + "rules: []", call(), _certain_text)
    assert decision.verdict is Verdict.DENY
    assert decision.matched_rules == ("<rule_error:_certain_text:not_a_decision>",)


# lynx-agent defect 04
def test_an_async_python_rule_is_refused() -> None:
    with pytest.raises(PolicyCompileError, match="async"):
        compile_policy("rules: []", python_rules=(_asynchronous,))


# lynx-agent defect 05
def test_a_negation_over_a_missing_argument_does_not_allow() -> None:
    policy = "rules: [{id: r, match: {not: {args.amount.gt: 500}}, decision: allow}]"
    assert verdict(policy) is Verdict.DENY
    assert verdict(policy, amount=5) is Verdict.ALLOW


# lynx-agent defect 05
def test_a_negation_over_a_misspelt_path_is_refused() -> None:
    error = refusal("rules: [{id: r, match: {not: {contex.environment: prod}}, decision: allow}]")
    assert "context" in str(error)


@pytest.mark.parametrize("said", ["deny", "DENY", None, 5, "allow"])
# lynx-agent defect 06
def test_a_decision_with_an_unknown_verdict_denies(said: Any) -> None:
    def rule(request: Any, context: Any) -> Decision:
        return Decision(said)

    decision = decide(ALLOWING + "rules: []", call(), rule)
    assert decision.verdict is Verdict.DENY
    assert decision.matched_rules == ("<rule_error:rule:not_a_decision>",)


@pytest.mark.parametrize(
    "match",
    [
        "{args.n.gt: .nan}",
        "{args.n: .nan}",
        "{args.n.between: [.nan, 1]}",
        "{args.n.between: [5, 1]}",
        "{args.n.not_between: [5, 1]}",
    ],
)
# lynx-agent defect 07
def test_nan_and_empty_ranges_are_refused_as_operands(match: str) -> None:
    refusal(one_rule(match))


@pytest.mark.parametrize("match", ["{args.n.gt: 1}", "{args.n.between: [0, 1]}", "{args.n.not_between: [0, 1]}"])
# lynx-agent defect 07
def test_nan_as_a_value_denies(match: str) -> None:
    decision = decide(one_rule(match), call(args={"n": math.nan}))
    assert decision.matched_rules == ("<rule_error:r:nan>",)


# lynx-agent defect 08
def test_a_bool_is_not_a_number() -> None:
    assert verdict(one_rule("{args.n: 1}"), n=True) is Verdict.ALLOW
    for flag in (1, 1.0):  # neither true nor a mismatch: a tool may take it for true
        decision = decide(one_rule("{args.flag: true}"), call(args={"flag": flag}))
        assert (decision.verdict, decision.matched_rules) == (Verdict.DENY, ("<rule_error:r:wrong_type>",))
    assert verdict(one_rule("{args.n.gt: 0}", "allow"), n=True) is Verdict.ALLOW
    decision = decide(one_rule("{args.n.gt: 0}"), call(args={"n": True}))
    assert decision.matched_rules == ("<rule_error:r:wrong_type>",)


# lynx-agent defect 09
def test_numbers_and_strings_do_not_compare() -> None:
    assert verdict(one_rule("{args.n.gt: 10}"), n="9") is Verdict.DENY
    assert verdict(one_rule("{args.n.gt: '10'}"), n=9) is Verdict.DENY


@pytest.mark.parametrize("operand", ["null", "[1]", "{a: 1}", "true"])
# lynx-agent defect 09
def test_an_operand_without_an_order_is_refused(operand: str) -> None:
    refusal(one_rule(f"{{args.n.gt: {operand}}}"))


# lynx-agent defect 09
def test_a_number_in_quotes_is_warned_about() -> None:
    bundle = compile_policy(one_rule("{args.n.gt: '10'}"))
    assert "W0111" in {item.code for item in bundle.warnings}


@pytest.mark.parametrize("moment", [datetime(2030, 1, 1), "2030-01-01T00:00:00Z", 1893456000, None])
# lynx-agent defect 10
def test_a_time_that_is_no_instant_denies(moment: Any) -> None:
    policy = one_rule("{context.timestamp.gt: '2026-06-01T00:00:00Z'}")
    decision = decide(policy, call(at=context(timestamp=moment)))
    assert decision.matched_rules == ("<rule_error:r:wrong_type>",)


@pytest.mark.parametrize("operand", ["2026-06-01", "'2026-06-01T00:00:00'", "'noon'", "5"])
# lynx-agent defect 10
def test_a_time_operand_without_an_offset_is_refused(operand: str) -> None:
    refusal(one_rule(f"{{context.timestamp.gt: {operand}}}"))
