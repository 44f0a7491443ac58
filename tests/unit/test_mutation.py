"""Mutation testing: the changes of a policy, their outcomes, and the missing cases, which kill what survived."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import campaign as sizes
from bobcat import Policy, rule
from bobcat.testing.mutation.campaign import Campaign, CampaignResult, WorkerKilled
from bobcat.testing.mutation.mutants import compiled, mutants
from bobcat.testing.mutation.operands import patterns
from bobcat.testing.suites.session import LoadedSuite, collect, run, select
from bobcat.testing.suites.subjects import Subject
from unit.policy_suites import MEMORY, POLICY, write

SMALL = "  - {name: a, request: {tool: pay, args: {amount: 20, to: acct-1}}, expect: {verdict: allow}}\n"
BILLS = """\
  - name: bills
    sequence:
      - {call: {tool: read_bill}, result: [{iban: DE02}]}
      - {call: {tool: pay, args: {to: DE02, amount: 5}}, expect: {verdict: allow}, result: paid}
      - {call: {tool: refund}, expect: {verdict: allow}}
"""
FUNCTION = """\
from bobcat import allow, deny, rule


@rule
def limits(request, ctx):
    amount = request.args.get("amount", 0)
    if request.tool == "pay" and amount <= 100:
        return allow("small")
    if request.tool in ("refund", "void"):
        return deny("never")
    return None
"""


def judged(directory: Path, cases: str, *, policy: str = POLICY, head: str = "", **options: int) -> CampaignResult:
    suite = write(directory, cases, policy=policy, head=head)
    campaign = Campaign(select(collect([str(directory / suite)])))
    assert campaign.failed == []
    return campaign.run(**options)


def check_missing(directory: Path, result: CampaignResult, suite: str = "pay.policytest.yaml") -> int:
    """Add each missing case to its suite, alone: it passes with the policy and fails with the mutant."""
    path = directory / suite
    before = path.read_text()
    survivors = [item for item in result.results if item.outcome.kind == "survived"]
    for item in survivors:
        assert item.outcome.missing is not None
        path.write_text(before + item.outcome.missing.text)
        collected = collect([str(path)])
        assert collected.errors == ()
        found = run(select(collected))
        assert found.failed == 0
        loaded = collected.suites[0]
        mutant = compiled(item.mutant.ir(loaded.subject.policy.ir), loaded.subject.policy)
        assert mutant is not None
        changed = LoadedSuite(loaded.suite, Subject(mutant, loaded.subject.tools))
        failed = run(select(type(collected)((changed,), (), {}))).results
        assert [case.case.name for case in failed if not case.passed] == [item.outcome.missing.name]
    path.write_text(before)
    return len(survivors)


def changes(policy: Policy) -> set[tuple[str, str]]:
    return {(item.mutation, item.change) for item in mutants(policy)}


def one(match: str, more: str = "decision: allow") -> Policy:
    return Policy.compile(f"rules:\n  - {{id: r, match: {match}, {more}}}\n")


@pytest.mark.parametrize(
    ("match", "mutation", "change"),
    [
        ("{tool: a}", "drop-rule", "without the rule"),
        ("{tool: a}", "verdict", "allow -> approve_required"),
        ("{tool: a}", "drop-clause", 'without tool == "a"'),
        ("{tool: a}", "negate", 'tool == "a" -> not tool == "a"'),
        ("{args.n.lt: 5}", "bound", "args.n < 5 -> args.n <= 5"),
        ("{args.n.lt: 5}", "bound", "args.n < 5 -> args.n < 4"),
        ("{args.n.between: [1, 9]}", "bound", "args.n between [1, 9] -> args.n between [1, 10]"),
        ("{args.x.in: [a, b, c]}", "list", 'args.x in ["a", "b", "c"] -> args.x in ["a", "c"]'),
        ("{args.x.starts_with: /tmp/}", "prefix", 'args.x starts_with "/tmp/" -> args.x starts_with "/tmp"'),
        ("{args.x.matches: '^a+$'}", "pattern", 'args.x =~ "^a+$" -> args.x =~ "a+$"'),
        ("{args.x.length.le: 5}", "bound", "args.x length <= 5 -> args.x length < 5"),
        ("{args.x.any.eq: b}", "quantifier", 'args.x any == "b" -> args.x all == "b"'),
        ("{args.x.empty: true}", "negate", "args.x empty true -> args.x empty false"),
        ("{}", "default", "on_no_match: deny -> allow"),
        ("{}", "default", "on_rule_error: deny -> continue"),
    ],
)
def test_each_part_of_a_rule_is_changed(match: str, mutation: str, change: str) -> None:
    assert (mutation, change) in changes(one(match))


def test_an_approver_and_a_field_of_a_transform_are_dropped() -> None:
    asks = one("{tool: a}", "decision: approve_required, approvers: [alice, bob]")
    assert ("approver", 'without the approver "alice"') in changes(asks)
    sets = one("{tool: a}", "decision: transform, transform: {jsonpath: $.args.x, set: {a: 1, b: 2}}")
    assert ("transform", 'without the field "a"') in changes(sets)


def test_rules_that_overlap_and_differ_are_swapped() -> None:
    found = changes(Policy.compile(POLICY))
    assert ("swap", "after small") in found
    apart = "rules:\n  - {id: a, match: {tool: x}, decision: allow}\n  - {id: b, match: {tool: y}, decision: deny}\n"
    assert not [change for mutation, change in changes(Policy.compile(apart)) if mutation == "swap"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^a{1,3}$", {"a{1,3}$", "^a{1,3}", "^a{2,3}$", "^a{1,4}$"}),
        ("(git|hg) x", {"(git) x"}),
        (r"a\.b", {"a.b"}),
        ("[0-9]+", {"[^0-9]+", "[0-9]*"}),
        ("a[", set()),
        ("", set()),
    ],
)
def test_patterns_are_widened_and_narrowed(pattern: str, expected: set[str]) -> None:
    assert set(patterns(pattern, "re2")) == expected


def test_every_mutant_is_a_policy_and_differs_from_the_original() -> None:
    for text in (POLICY, MEMORY):
        policy = Policy.compile(text)
        programs = [compiled(item.ir(policy.ir), policy) for item in mutants(policy)]
        assert all(program is not None and program.id != policy.id for program in programs)


def test_every_missing_case_kills_its_mutant(tmp_path: Path) -> None:
    assert check_missing(tmp_path, judged(tmp_path, SMALL)) > 20


def test_a_shared_context_does_not_change_a_missing_case(tmp_path: Path) -> None:
    head = "context: {environment: staging, task: pay the bill, principal: {kind: agent, id: bot}}\n"
    assert check_missing(tmp_path, judged(tmp_path, SMALL, head=head)) > 20


def test_missing_cases_with_tools_have_the_arguments_and_declarations_of_the_tools(tmp_path: Path) -> None:
    result = judged(tmp_path, SMALL, head="tools: policy_tools.py\n")
    assert check_missing(tmp_path, result) > 10
    texts = [item.outcome.missing.text for item in result.results if item.outcome.missing is not None]
    assert not any("declared" in text for text in texts)


def test_missing_sequences_kill_the_mutants_of_rules_that_remember(tmp_path: Path) -> None:
    result = judged(tmp_path, BILLS, policy=MEMORY)
    assert check_missing(tmp_path, result) > 10
    windows = [item for item in result.results if item.mutant.mutation == "window"]
    assert {item.outcome.kind for item in windows} == {"survived"}


def test_python_rules_are_changed_as_far_as_they_are_compiled(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text(FUNCTION)
    (tmp_path / "pay.policytest.yaml").write_text(f"policy: policy.py\ncases:\n{SMALL}")
    campaign = Campaign(select(collect([str(tmp_path / "pay.policytest.yaml")])))
    result = campaign.run()
    found = {item.mutant.mutation for item in result.results}
    assert found >= {"drop-rule", "bound", "negate", "drop-clause", "verdict", "list"}
    assert check_missing(tmp_path, result) > 0


def test_a_callable_is_dropped_and_named() -> None:
    @rule
    def odd(request, ctx):  # type: ignore[no-untyped-def]
        return eval("None")

    policy = Policy.compile("rules: []", python_rules=[odd], uncompiled="callable")
    about = [item for item in mutants(policy) if item.rule is not None]
    assert [item.mutation for item in about] == ["drop-rule"]
    assert compiled(about[0].ir(policy.ir), policy) is not None


@settings(
    max_examples=sizes.examples(15), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(low=st.integers(-50, 50), size=st.integers(3, 50), verdict=st.sampled_from(["allow", "deny", "dry_run"]))
def test_a_case_on_each_side_of_each_clause_kills_all_mutants(
    tmp_path: Path, low: int, size: int, verdict: str
) -> None:
    high = low + size
    rules = f"rules:\n  - {{id: r, match: {{tool: pay, args.n.between: [{low}, {high}]}}, decision: {verdict}}}\n"
    other = "defaults: {on_no_match: approve_required, on_missing_shadow: approve_required}\n"
    lines = [
        f"  - {{name: n{n}, request: {{tool: pay, args: {{n: {n}}}}}, expect: {{verdict: {v}}}}}\n"
        for n, v in (
            (low - 1, "approve_required"), (low, verdict), (high, verdict), (high + 1, "approve_required"),
        )
    ]  # fmt: skip
    lines.append(
        f"  - {{name: other, request: {{tool: x, args: {{n: {low}}}}}, expect: {{verdict: approve_required}}}}\n"
    )
    reversible = f"request: {{tool: x, args: {{n: {low}}}, declared: {{reversible: true}}}}"
    lines.append(f"  - {{name: safe, {reversible}, expect: {{verdict: approve_required}}}}\n")
    error = "expect: {verdict: deny}" if verdict != "allow" else "expect: {verdict: approve_required}"
    lines.append(f"  - {{name: text, request: {{tool: pay, args: {{n: '5'}}}}, {error}}}\n")
    result = judged(tmp_path, "".join(lines), policy=rules + other)
    assert [item.mutant for item in result.results if item.outcome.kind == "survived"] == []
    assert result.score == 100


_CLAUSES = st.sampled_from(
    [
        "args.n.gt: 3", "args.n.between: [1, 5]", "args.s.in: [a, b]", "args.s.matches: '^a{1,2}$'", "tool: pay",
        "args.s.starts_with: ab", "args.l.any.eq: x", "args.s.exists: true", "context.environment: production",
        "declared.cost: high", "args.s.length.le: 3", "args.n.not_between: [2, 3]",
    ]
)  # fmt: skip
_VERDICTS = st.sampled_from(["allow", "deny", "approve_required", "dry_run"])


@settings(
    max_examples=sizes.examples(12), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(rules=st.lists(st.tuples(st.lists(_CLAUSES, unique=True, max_size=3), _VERDICTS), min_size=1, max_size=3))
def test_missing_cases_of_any_policy_kill_their_mutants(tmp_path: Path, rules: list[tuple[list[str], str]]) -> None:
    text = "".join(
        f"  - {{id: r{number}, match: {{{', '.join(clauses)}}}, decision: {verdict}}}\n"
        for number, (clauses, verdict) in enumerate(rules)
    )
    case = "  - {name: a, request: {tool: pay, args: {n: 2, s: ab}}, expect: {reason_matches: ''}}\n"
    check_missing(tmp_path, judged(tmp_path, case, policy=f"rules:\n{text}"))


def test_processes_do_not_change_the_outcomes(tmp_path: Path) -> None:
    alone, both = judged(tmp_path, SMALL, jobs=1), judged(tmp_path, SMALL, jobs=2)
    assert alone.results == both.results


def die(*_: object) -> None:
    os._exit(9)


def test_a_killed_process_is_an_error_and_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bobcat.testing.mutation.campaign._work", die)
    with pytest.raises(WorkerKilled, match="killed"):
        judged(tmp_path, SMALL, jobs=2)
