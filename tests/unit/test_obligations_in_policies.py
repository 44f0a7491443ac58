"""Obligations in policies: what is accepted, what is refused with a place, and what the decisions have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat import (
    Decision,
    Obligation,
    Policy,
    PolicyCompileError,
    Request,
    Verdict,
    evaluate,
    rule,
)
from bobcat._core import RunState
from bobcat.build import Policy as Built
from bobcat.build import args, tool, when
from bobcat.bundle.explanation import decision_json
from bobcat.frontend.strict.json_schema import policy_schema
from bobcat.ir.pretty import policy_text

RULE = "rules: [{id: pay, match: {tool: pay}, decision: %s, obligations: %s}]"


def policy(obligations: str, decision: str = "allow") -> Policy:
    return Policy.compile(RULE % (decision, obligations))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("[{redact: args.card}]", Obligation("redact", [["args", "card"]], "before")),
        ("[{redact: [args.card, 'args.items.*.secret', result.token]}]",
         Obligation("redact", [["args", "card"], ["args", "items", "*", "secret"], ["result", "token"]], "before")),
        ("[{redact: [result]}]", Obligation("redact", [["result"]], "before")),
        ("[{tag: {team: pay, level: 2, urgent: true}}]",
         Obligation("tag", {"team": "pay", "level": 2, "urgent": True}, "before")),
        ("[{notify: security}]", Obligation("notify", "security", "after")),
        ("[{notify: security, phase: before}]", Obligation("notify", "security", "before")),
        ("[{page: {room: 4, who: [a, b]}}]", Obligation("page", {"room": 4, "who": ["a", "b"]}, "before")),
        ("[{page: null, phase: after}]", Obligation("page", None, "after")),
        ("[{phase: after, page-2.b_c: 1.5}]", Obligation("page-2.b_c", 1.5, "after")),
    ],
)  # fmt: skip
def test_a_decision_has_the_obligations_of_its_rule(written: str, expected: Obligation) -> None:
    compiled = policy(written)
    for loaded in (compiled, Policy.load(compiled.to_bytes())):
        decision = evaluate(loaded, Request("pay"))
        assert decision.obligations == (expected,)
        assert decision_json(decision)["obligations"] == [
            {"name": expected.name, "phase": expected.phase, "value": expected.value}
        ]
    assert f"obligation {expected.name} {expected.phase}" in policy_text(compiled.ir)


@pytest.mark.parametrize(
    ("written", "decision", "code", "text"),
    [
        ("[]", "allow", "E0219", "the list is empty"),
        ("{notify: a}", "allow", "E0204", "must be a list"),
        ("[notify]", "allow", "E0204", "a list of mappings"),
        ("[{notify: a, page: b}]", "allow", "E0219", "one name"),
        ("[{phase: after}]", "allow", "E0219", "one name"),
        ("[{Notify: a}]", "allow", "E0219", "small letters"),
        ("[{notify: a, phase: during}]", "allow", "E0206", "during"),
        ("[{tag: {a: b}, phase: after}]", "allow", "E0219", "before the call only"),
        ("[{redact: []}]", "allow", "E0219", "names no path"),
        ("[{redact: [card]}]", "allow", "E0219", "write `args.card`"),
        ("[{redact: 5}]", "allow", "E0204", "a path"),
        ("[{tag: security}]", "allow", "E0204", "a mapping"),
        ("[{tag: {a: [1]}}]", "allow", "E0219", "must be a text"),
        ("[{notify: 5}]", "allow", "E0204", "the name of"),
        ("[{require_reason: false}]", "allow", "E0204", "`true`"),
        ("[{require_reason: context.task}]", "allow", "E0219", "context.extra"),
        ("[{require_reason: args}]", "allow", "E0219", "an argument"),
        ("[{rate_limit: 5}]", "allow", "E0204", "a mapping with `max`"),
        ("[{rate_limit: {within: 1h}}]", "allow", "E0203", "no `max`"),
        ("[{rate_limit: {max: -1}}]", "allow", "E0209", "between"),
        ("[{rate_limit: {max: 5, within: soon}}]", "allow", "E1006", "soon"),
        ("[{rate_limit: {max: 5, by: user}}]", "allow", "E0206", "did you mean `principal`?"),
        ("[{rate_limit: {max: 5, per: 1h}}]", "allow", "E0202", "did you mean `within`?"),
        ("[{rate_limit: {max: 5}}]", "deny", "E0219", "no effect to hold back"),
        ("[{require_reason: true}]", "deny", "E0219", "no effect to hold back"),
        ("[{notify: a}, {notify: b}]", "allow", "E0219", "has it already"),
        (str([{"page": index} for index in range(17)]), "allow", "E0219", "at most 16"),
    ],
)
def test_a_mistake_is_reported_at_its_place(written: str, decision: str, code: str, text: str) -> None:
    with pytest.raises(PolicyCompileError) as caught:
        policy(written, decision)
    found = [item for item in caught.value.diagnostics if item.code == code]
    assert found, caught.value
    assert text in str(caught.value)
    assert all(item.span is not None and item.span.line == 1 for item in found)


@pytest.mark.parametrize("mode", ["shadow", "off", "5", "[monitor]"])
def test_an_unknown_mode_is_refused(mode: str) -> None:
    with pytest.raises(PolicyCompileError, match=r"E0206|E0204"):
        Policy.compile(f"rules: [{{match: {{}}, decision: deny, mode: {mode}}}]")


def test_rules_without_obligations_keep_their_bytes() -> None:
    plain = Policy.compile("rules: [{id: pay, match: {tool: pay}, decision: allow}]")
    enforced = Policy.compile("rules: [{id: pay, match: {tool: pay}, decision: allow, mode: enforce}]")
    assert b"obligations" not in plain.ir_bytes
    assert b"mode" not in plain.ir_bytes
    assert enforced.ir_bytes == plain.ir_bytes
    assert policy("[{notify: a}]").id != plain.id
    assert decision_json(evaluate(plain, Request("pay"))).keys() == {
        "verdict", "reason", "matched_rules", "approvers", "approvals_needed", "timeout_seconds", "transform_args",
    }  # fmt: skip


def test_the_builder_gives_the_same_policy() -> None:
    obligations: list[dict[str, Any]] = [{"notify": "security"}, {"page": {"room": 4}, "phase": "after"}]
    built = Built(
        when(tool == "pay", args.amount <= 5).allow(id="pay", obligations=obligations),
        when(tool == "pay").deny(id="no", mode="monitor", obligations=[{"notify": "police"}]),
        when(tool == "pay").transform(args.amount.set(1), id="cut", obligations=[{"tag": {"a": "b"}}]),
        when(tool == "ask").approve_required(id="ask", obligations=[{"require_reason": True}]),
        when(tool == "try").dry_run(id="try", obligations=[{"page": 1}]),
    ).compile()
    written = Policy.compile(
        """
        rules:
          - id: pay
            match: {tool: pay, args.amount.le: 5}
            decision: allow
            obligations: [{notify: security}, {page: {room: 4}, phase: after}]
          - {id: 'no', match: {tool: pay}, decision: deny, mode: monitor, obligations: [{notify: police}]}
          - id: cut
            match: {tool: pay}
            decision: transform
            transform: {jsonpath: $.args.amount, set: 1}
            obligations: [{tag: {a: b}}]
          - {id: ask, match: {tool: ask}, decision: approve_required, obligations: [{require_reason: true}]}
          - {id: try, match: {tool: try}, decision: dry_run, obligations: [{page: 1}]}
        """
    )
    assert built.id == written.id


def test_a_permission_has_the_obligations_of_its_transforms_and_a_denial_has_its_own() -> None:
    compiled = Policy.compile(
        """
        rules:
          - id: cut
            match: {tool: pay, args.amount.gt: 10}
            decision: transform
            transform: {jsonpath: $.args.amount, set: 10}
            priority: 0
            obligations: [{notify: cutter}]
          - id: eve
            match: {args.to: eve, args.amount: 10}
            decision: deny
            priority: 2
            obligations: [{notify: police}]
          - {id: ten, match: {args.to: bob, args.amount: 10}, decision: allow, priority: 1, obligations: [{page: 1}]}
        """
    )

    def names(to: str) -> tuple[Verdict, list[str]]:
        decision = evaluate(compiled, Request("pay", {"to": to, "amount": 50}))
        return decision.verdict, [each.name for each in decision.obligations]

    assert names("carol") == (Verdict.TRANSFORM, ["notify"])
    assert names("bob") == (Verdict.TRANSFORM, ["notify", "page"])
    assert names("eve") == (Verdict.DENY, ["notify"])
    denied = evaluate(compiled, Request("pay", {"to": "eve", "amount": 50}))
    assert [each.value for each in denied.obligations] == ["police"]
    assert evaluate(compiled, Request("other")).obligations == ()


def test_a_callable_gives_obligations_with_its_decision() -> None:
    @rule
    def host(request: Any, context: Any) -> Any:
        return Decision(Verdict.ALLOW, obligations=request.args["obligations"])

    compiled = Policy.compile({"rules": []}, python_rules=[host], uncompiled="callable")
    good = (Obligation("page", 4),)
    assert evaluate(compiled, Request("pay", {"obligations": good})).obligations == good
    for bad in ("page", ["page"], [None], {"page": 4}):
        decision = evaluate(compiled, Request("pay", {"obligations": bad}))
        assert (decision.verdict, decision.matched_rules) == (Verdict.DENY, ("<rule_error:host:not_a_decision>",))


@pytest.mark.parametrize(
    ("written", "request_", "allowed"),
    [
        ("true", Request("pay", extra={"reason": "rent"}), True),
        ("true", Request("pay", extra={"reason": " \n"}), False),
        ("true", Request("pay", extra={"reason": ""}), False),
        ("true", Request("pay", extra={"reason": 5}), False),
        ("true", Request("pay", extra={"reason": None}), False),
        ("true", Request("pay"), False),
        ("args.why", Request("pay", {"why": "rent"}), True),
        ("args.why", Request("pay", {"why": "\t"}), False),
        ("args.why", Request("pay", extra={"reason": "rent"}), False),
        ("context.extra.ticket.id", Request("pay", extra={"ticket": {"id": "T-1"}}), True),
        ("context.extra.ticket.id", Request("pay", extra={"ticket": {}}), False),
    ],
)
@pytest.mark.parametrize("on_rule_error", ["deny", "continue"])
def test_a_reason_is_required(written: str, request_: Any, allowed: bool, on_rule_error: str) -> None:
    compiled = Policy.compile(
        {
            "defaults": {"on_rule_error": on_rule_error},
            "rules": [{
                "id": "pay", "match": {"tool": "pay"}, "decision": "allow",
                "obligations": [{"require_reason": True if written == "true" else written}],
            }],
        }
    )  # fmt: skip
    decision = evaluate(compiled, request_)
    assert (decision.verdict is Verdict.ALLOW) is allowed
    assert decision.obligations == ()
    if not allowed and on_rule_error == "deny":
        assert "pay:require_reason" in decision.matched_rules[-1]


@given(st.lists(st.sampled_from(["pay", "send", "other"]), max_size=12), st.integers(0, 4))
def test_a_rate_limit_holds_for_the_calls_of_its_match(calls: list[str], most: int) -> None:
    compiled = Policy.compile(
        {
            "rules": [
                {"id": "pay", "match": {"tool.in": ["pay", "send"]}, "decision": "allow",
                 "obligations": [{"rate_limit": {"max": most}}, {"tag": {"a": "b"}}]},
                {"id": "other", "match": {"tool": "other"}, "decision": "allow"},
            ]
        }
    )  # fmt: skip
    state, made = RunState(compiled), 0
    for index, name in enumerate(calls):
        request = Request(name)
        decision = evaluate(compiled, request, request.context, state)
        expected = name == "other" or made < most
        assert (decision.verdict is Verdict.ALLOW) is expected
        if not expected:
            assert decision.matched_rules == ("pay:rate_limit",)
            assert decision.reason == f"rate limit: at most {most} calls of this run"
            assert [each.name for each in decision.obligations] == ["tag"]
            continue
        state.call(request, f"call-{index}")
        made += name != "other"


def test_a_guard_that_cannot_be_evaluated_denies() -> None:
    text = "rules: [{id: pay, match: {tool: pay}, decision: allow, obligations: [{rate_limit: {max: 9, by: tenant}}]}]"
    decision = evaluate(Policy.compile(text), Request("pay"))
    assert (decision.verdict, decision.matched_rules) == (Verdict.DENY, ("<rule_error:pay:rate_limit:no_state>",))
    lenient = evaluate(Policy.compile(f"defaults: {{on_rule_error: continue}}\n{text}"), Request("pay"))
    assert lenient.verdict is not Verdict.ALLOW
    assert lenient.matched_rules[-1] == "<default:on_missing_shadow>"


@pytest.mark.parametrize("match", ["{tool: pay, run.count.pay.lt: 3}", "{tool: pay, args.to.from: task}"])
def test_a_limited_rule_reads_only_the_call(match: str) -> None:
    with pytest.raises(PolicyCompileError, match="E0219"):
        Policy.compile(
            f"rules: [{{id: r, match: {match}, decision: allow, obligations: [{{rate_limit: {{max: 5}}}}]}}]"
        )


def test_the_id_of_a_guard_is_unique() -> None:
    with pytest.raises(PolicyCompileError, match="E0210"):
        Policy.compile(
            "rules: [{id: r, match: {}, decision: allow, obligations: [{require_reason: true}]},"
            "{id: 'r:require_reason', match: {}, decision: deny}]"
        )


def test_the_schema_knows_obligations() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(policy_schema())
    good = [{"notify": "a"}, {"page": {"room": 4}, "phase": "after"}, {"rate_limit": {"max": 5, "within": "1h"}}]
    base = {"match": {}, "decision": "allow"}
    assert validator.is_valid({"rules": [{**base, "obligations": good, "mode": "monitor"}]})
    for bad in ([], [{}], "page", [{"rate_limit": {}}], [{"notify": ""}], [{"a": 1, "b": 2, "c": 3}], [{"Page": 1}]):
        assert not validator.is_valid({"rules": [{**base, "obligations": bad}]}), bad
