"""Cases of suites at work: verdicts, rules, reasons, arguments, errors, tables and sequences."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import Policy
from bobcat.testing.suites.session import SessionResult, collect, run, select
from unit.policy_suites import MEMORY, POLICY, TOOLS, write


def outcome(directory: Path, cases: str, *, policy: str = POLICY, head: str = "") -> SessionResult:
    suite = write(directory, cases, policy=policy, head=head)
    collected = collect([str(directory / suite)])
    assert collected.errors == ()
    return run(select(collected))


def differing(result: SessionResult) -> list[list[tuple[str, object, object]]]:
    return [
        [(item.key, item.expected, item.actual) for step in case.steps for item in step.differences]
        for case in result.results
    ]


@pytest.mark.parametrize(
    "expect",
    [
        "{verdict: allow}",
        "{rule: small}",
        "{verdict: allow, rule: small, error: null}",
        "{args: {amount: 20, to: acct-1}}",
        "{args: {to: acct-1, amount: 20.0}}",
        "{reason_matches: '^$'}",
    ],
)
def test_an_expectation_that_holds_passes(tmp_path: Path, expect: str) -> None:
    case = f"  - {{name: a, request: {{tool: pay, args: {{amount: 20, to: acct-1}}}}, expect: {expect}}}\n"
    assert outcome(tmp_path, case).failed == 0


@pytest.mark.parametrize(
    ("expect", "difference"),
    [
        ("{verdict: deny}", ("verdict", "deny", "allow")),
        ("{rule: large}", ("rule", "large", "small")),
        ("{reason_matches: blocked}", ("reason_matches", "blocked", "")),
        ("{args: {amount: 20}}", ("args", {"amount": 20}, {"amount": 20, "to": "acct-1"})),
        (
            "{args: {amount: true, to: acct-1}}",
            ("args", {"amount": True, "to": "acct-1"}, {"amount": 20, "to": "acct-1"}),
        ),
        ("{error: wrong_type}", ("error", "wrong_type", None)),
    ],
)
def test_an_expectation_that_does_not_hold_names_the_part(
    tmp_path: Path, expect: str, difference: tuple[str, object, object]
) -> None:
    case = f"  - {{name: a, request: {{tool: pay, args: {{amount: 20, to: acct-1}}}}, expect: {expect}}}\n"
    assert differing(outcome(tmp_path, case)) == [[difference]]


def test_arguments_of_a_transform_are_those_that_run(tmp_path: Path) -> None:
    case = """\
  - name: a
    request: {tool: pay, args: {amount: 5000, to: acct-1}}
    expect: {verdict: transform, rule: capped, args: {amount: 1000, to: acct-1}}
"""
    assert outcome(tmp_path, case).failed == 0


def test_an_error_is_known_by_its_code_and_its_rule(tmp_path: Path) -> None:
    case = """\
  - name: a
    request: {tool: pay, args: {amount: 20, to: [acct-666]}}
    expect: {verdict: deny, rule: blocked, error: wrong_type}
  - name: b
    request: {tool: pay, args: {amount: 20, to: [acct-666]}}
    expect: {rule: "<rule_error:blocked:wrong_type>", reason_matches: could not}
  - name: c
    request: {tool: pay, args: {amount: 20, to: [acct-666]}}
    expect: {error: null}
"""
    assert differing(outcome(tmp_path, case)) == [[], [], [("error", None, "wrong_type")]]


def test_a_skipped_rule_with_an_error_is_not_the_one_that_decided(tmp_path: Path) -> None:
    policy = "rules: [{id: a, match: {args.n.gt: 1}, decision: allow}]"
    case = "  - {name: a, request: {tool: x, args: {n: y}, declared: {reversible: true}}, expect: {rule: a}}\n"
    assert differing(outcome(tmp_path, case, policy=policy)) == [[("rule", "a", "<default:on_no_match>")]]


def test_the_tools_give_declarations_defaults_and_refusals(tmp_path: Path) -> None:
    policy = "rules: [{id: a, match: {tool: pay, declared.cost: low, args.to: acct-1}, decision: allow}]"
    cases = """\
  - {name: defaults, request: {tool: pay, args: {amount: 20}}, expect: {verdict: allow, args: {amount: 20, to: acct-1}}}
  - {name: unknown, request: {tool: buy}, expect: {verdict: deny, rule: <unknown_tool>, error: unknown_tool}}
  - {name: refused, request: {tool: pay, args: {amount: x}}, expect: {verdict: allow}}
"""
    result = outcome(tmp_path, cases, policy=policy, head="tools: policy_tools.py\n")
    assert [case.passed for case in result.results] == [True, True, False]


def test_declarations_hold_for_the_tools_that_they_name(tmp_path: Path) -> None:
    policy = "rules: [{id: a, match: {declared.cost: low}, decision: allow}]"
    cases = """\
  - {name: a, request: {tool: pay}, expect: {verdict: allow}}
  - {name: b, request: {tool: other}, expect: {verdict: approve_required, rule: <default:on_missing_shadow>}}
"""
    assert outcome(tmp_path, cases, policy=policy, head="tools: {pay: {cost: low}}\n").failed == 0


def test_contexts_of_suite_case_and_request_add_up(tmp_path: Path) -> None:
    policy = """
rules:
  - id: a
    match: {context.environment: prod, context.principal.id: ada, context.extra.team: red}
    decision: allow
"""
    cases = """\
  - name: all
    context: {principal: {kind: user, id: ada}}
    request: {tool: x, context: {extra: {team: red}}}
    expect: {rule: a}
  - name: own
    context: {principal: {kind: user, id: ada}, extra: {team: red}}
    request: {tool: x, context: {environment: dev}}
    expect: {rule: <default:on_missing_shadow>}
"""
    assert outcome(tmp_path, cases, policy=policy, head="context: {environment: prod}\n").failed == 0


def test_rows_of_a_table_are_cases_with_typed_values(tmp_path: Path) -> None:
    cases = """\
  - name: amounts
    parameters: [amount, verdict, rule]
    table:
      - [20, allow, small]
      - [500, approve_required, large]
      - ["20", deny, <default:on_missing_shadow>]
    request: {tool: pay, args: {amount: $amount, note: "${amount} for $$5"}}
    expect: {verdict: $verdict, rule: $rule}
  - name: to $to
    table: [{to: acct-666}, {to: acct-666x}]
    request: {tool: pay, args: {amount: 5, to: $to}}
    expect: {verdict: deny}
"""
    result = outcome(tmp_path, cases)
    assert [case.case.name for case in result.results] == [
        "amounts [amount=20, verdict=allow, rule=small]",
        "amounts [amount=500, verdict=approve_required, rule=large]",
        'amounts [amount="20", verdict=deny, rule=<default:on_missing_shadow>]',
        "to acct-666",
        "to acct-666x",
    ]
    assert result.results[0].steps[0].request.args["note"] == "20 for $5"
    assert [case.passed for case in result.results] == [True, True, False, True, False]
    assert [case.case.span.line for case in result.results[:3]] == [6, 7, 8]


def test_a_sequence_is_decided_with_the_state_of_its_run(tmp_path: Path) -> None:
    cases = """\
  - name: payments
    context: {task: pay DE01}
    sequence:
      - {call: {tool: pay, args: {to: DE02, amount: 5}}, expect: {verdict: deny}}
      - {call: {tool: read_bill}, result: [{iban: DE02}]}
      - {call: {tool: pay, args: {to: DE02, amount: 5}}, expect: {rule: pay}, failed: true}
      - {call: {tool: pay, args: {to: DE01, amount: 5}}, expect: {rule: pay}, result: ok}
      - {call: {tool: pay, args: {to: DE01, amount: 5}}, expect: {verdict: deny}}
      - {call: {tool: refund}, after: 1h, expect: {verdict: allow}}
      - {call: {tool: refund}, after: 1s, expect: {verdict: deny}}
"""
    assert differing(outcome(tmp_path, cases, policy=MEMORY)) == [[]]


def test_counts_over_runs_have_the_calls_of_the_sequence_for_each_scope(tmp_path: Path) -> None:
    policy = """
rules:
  - {id: own, match: {tool: pay, run.count.pay: {lt: 1, within: 1h, by: principal}}, decision: allow}
  - {id: rich, match: {tool: buy, run.sum.buy.price: {with_this: {le: 10}, by: tenant}}, decision: allow}
defaults: {on_missing_shadow: deny}
"""
    ada, bob = (f"context: {{principal: {{kind: user, id: {name}}}}}" for name in ("ada", "bob"))
    red = "context: {extra: {tenant: red}}"
    cases = f"""\
  - name: principals
    sequence:
      - {{call: {{tool: pay, {ada}}}, expect: {{verdict: allow}}}}
      - {{call: {{tool: pay, {ada}}}, expect: {{verdict: deny}}}}
      - {{call: {{tool: pay, {bob}}}, expect: {{verdict: allow}}}}
      - {{call: {{tool: pay, {ada}}}, after: 61m, expect: {{verdict: allow}}}}
  - name: tenants
    sequence:
      - {{call: {{tool: buy, args: {{price: 6}}, {red}}}, expect: {{verdict: allow}}}}
      - {{call: {{tool: buy, args: {{price: 6}}, {red}}}, expect: {{verdict: deny, error: null}}}}
      - {{call: {{tool: buy, args: {{price: 6}}}}, expect: {{verdict: deny, error: no_state}}}}
"""
    assert differing(outcome(tmp_path, cases, policy=policy)) == [[], []]


def test_calls_of_one_reply_do_not_see_its_results(tmp_path: Path) -> None:
    cases = """\
  - name: one reply
    sequence:
      - {call: {tool: read_bill}, result: [{iban: DE02}]}
      - {call: {tool: pay, args: {to: DE02, amount: 5}}, same_reply: true, expect: {verdict: deny}}
      - {call: {tool: pay, args: {to: DE02, amount: 5}}, expect: {verdict: allow}}
"""
    assert outcome(tmp_path, cases, policy=MEMORY).failed == 0


def test_a_call_that_waits_for_approval_counts_if_it_is_approved(tmp_path: Path) -> None:
    cases = """\
  - name: approved
    sequence:
      - {call: {tool: ask}, expect: {verdict: approve_required}, approved: true}
      - {call: {tool: note}, expect: {verdict: allow}}
  - name: not approved
    sequence:
      - {call: {tool: ask}, expect: {verdict: approve_required}}
      - {call: {tool: note}, expect: {verdict: deny}}
"""
    assert outcome(tmp_path, cases, policy=MEMORY).failed == 0


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("{call: {tool: note}}", "step 1 has no `expect`, so it must run: deny by <default:on_missing_shadow>"),
        ("{call: {tool: note}, result: 1}", "step 1 has `result`, but did not run"),
        ("{call: {tool: ask}, failed: true, expect: {verdict: approve_required}}", "`approved: true` approves it"),
    ],
)
def test_a_step_that_must_run_and_does_not_fails_the_case(tmp_path: Path, step: str, problem: str) -> None:
    cases = f"  - {{name: a, sequence: [{step}, {{call: {{tool: read_bill}}, expect: {{verdict: allow}}}}]}}\n"
    (case,) = outcome(tmp_path, cases, policy=MEMORY).results
    assert not case.passed
    assert problem in (case.problem or "")
    assert len(case.steps) == 1


def test_a_single_request_is_the_first_call_of_a_run(tmp_path: Path) -> None:
    cases = """\
  - name: a
    request: {tool: pay, args: {to: DE01, amount: 5}, context: {task: pay DE01}}
    expect: {verdict: allow, error: null}
"""
    assert outcome(tmp_path, cases, policy=MEMORY).failed == 0


def test_a_case_without_an_expectation_fails(tmp_path: Path) -> None:
    (case,) = outcome(tmp_path, "  - {name: a, request: {tool: pay}}\n").results
    assert (case.passed, "--update" in (case.problem or "")) == (False, True)


def test_a_failure_has_the_explanation_of_the_state_before_the_call(tmp_path: Path) -> None:
    cases = """\
  - name: a
    context: {task: pay DE01}
    sequence:
      - {call: {tool: pay, args: {to: DE01, amount: 5}}, expect: {verdict: deny}}
"""
    (case,) = outcome(tmp_path, cases, policy=MEMORY).results
    explanation = case.steps[0].explanation
    assert explanation is not None
    assert "run.count.pay < 2   [value 0]" in explanation.to_text()


def test_a_policy_may_be_a_bundle_or_a_module(tmp_path: Path) -> None:
    Policy.compile(POLICY).save(tmp_path / "policy.bobcat")
    (tmp_path / "rules.py").write_text(
        "from bobcat import deny, rule\n\n\n@rule\ndef no_pay(request, context):\n"
        "    if request.tool == 'pay':\n        return deny('no')\n"
    )
    for name, expected in (("policy.bobcat", "small"), ("rules.py", "no_pay")):
        suite = tmp_path / "s.policytest.yaml"
        case = f"{{name: a, request: {{tool: pay, args: {{amount: 5}}}}, expect: {{rule: {expected}}}}}"
        suite.write_text(f"policy: {name}\ncases: [{case}]")
        collected = collect([str(suite)])
        assert collected.errors == ()
        assert run(select(collected)).failed == 0


def test_a_policy_of_the_lynx_profile_is_named_as_one(tmp_path: Path) -> None:
    policy = "rules: [{match: {tool: x}, decision: allow}]"
    cases = "  - {name: a, request: {tool: x}, expect: {verdict: allow}}\n"
    assert outcome(tmp_path, cases, policy=policy, head="profile: lynx\n").failed == 0


def test_tools_may_be_a_list_of_functions(tmp_path: Path) -> None:
    (tmp_path / "fns.py").write_text(TOOLS.replace("tools = ToolSet.from_functions(pay)", "fns = [pay]"))
    cases = "  - {name: a, request: {tool: pay, args: {amount: 5}}, expect: {args: {amount: 5, to: acct-1}}}\n"
    assert outcome(tmp_path, cases, head="tools: fns.py:fns\n").failed == 0


def test_two_suites_share_one_policy(tmp_path: Path) -> None:
    write(tmp_path, "  - {name: a, request: {tool: pay}, expect: {verdict: deny}}\n", name="a")
    write(tmp_path, "  - {name: a, request: {tool: pay}, expect: {verdict: deny}}\n", name="b")
    one, two = collect([str(tmp_path)]).suites
    assert one.subject.policy is two.subject.policy


def test_tools_in_a_module_are_found_beside_the_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    (tmp_path / "tools_of_a_suite.py").write_text(TOOLS)
    cases = "  - {name: a, request: {tool: pay, args: {amount: 5}}, expect: {args: {amount: 5, to: acct-1}}}\n"
    assert outcome(tmp_path, cases, head="tools: tools_of_a_suite:tools\n").failed == 0
