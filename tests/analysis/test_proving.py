"""`analysis.prove`: invariants of each kind, proved and violated, and the document that holds them."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bobcat import Policy
from bobcat.analysis import Proof, Proved, Witness, prove, read_invariants
from bobcat.analysis.invariants import within
from bobcat.analysis.invariants_schema import invariants_schema
from bobcat.errors import PolicyCompileError

POLICY = """
rules:
  - {id: no-prod, match: {tool: delete, context.environment: prod}, decision: deny, priority: 5}
  - {id: deletes, match: {tool: delete}, decision: allow}
  - {id: reads, match: {tool: read, args.path.starts_with: /data/}, decision: allow}
  - {id: pays, match: {tool: pay}, decision: approve_required}
"""
INVARIANTS = """
predicates:
  prod: {context.environment: prod}
invariants:
  - id: no-deletes-in-prod
    reason: a person deletes in production
    never: {tool: delete, all_of: [prod]}
  - id: reads-stay-in-the-workspace
    only_if: {match: {tool: read}, when: {args.path.starts_with: /data}}
  - id: payments-need-approval
    always: {match: {tool: pay}, verdict: approve_required}
  - {id: no-other-tools, only_if: {when: {tool.in: [delete, read]}}}
"""


def results(policy: str, invariants: str) -> dict[str, Proved]:
    return {item.invariant.id: item for item in prove(policy, invariants)}


def test_invariants_that_hold_are_proved() -> None:
    found = results(POLICY, INVARIANTS)
    assert list(found) == [
        "no-deletes-in-prod", "reads-stay-in-the-workspace", "payments-need-approval", "no-other-tools",
    ]  # fmt: skip
    assert all(item.holds for item in found.values())


@pytest.mark.parametrize(
    ("old", "new", "violated"),
    [
        ("context.environment: prod}, decision: deny", "context.environment: Prod}, decision: deny",
         "no-deletes-in-prod"),
        ("/data/}", "/}", "reads-stay-in-the-workspace"),
        ("decision: approve_required", "decision: allow", "payments-need-approval"),
        ("tool: read,", "tool.in: [read, list],", "no-other-tools"),
    ],
)  # fmt: skip
def test_a_change_that_violates_an_invariant_is_shown_by_a_call(old: str, new: str, violated: str) -> None:
    assert old in POLICY
    found = results(POLICY.replace(old, new), INVARIANTS)
    answer = found[violated].answer
    assert isinstance(answer, Witness)
    assert not found[violated].holds


def test_an_error_in_the_match_of_never_counts_as_a_match() -> None:
    policy = "rules: [{id: a, match: {tool: sh}, decision: allow}]"
    found = results(policy, "invariants: [{id: a, never: {tool: sh, args.cmd.matches: ^rm$}}]")
    assert isinstance(found["a"].answer, Witness)
    denial = "{id: n, match: {tool: sh, args.cmd.matches: ^rm$}, decision: deny, priority: 1}"
    guarded = policy.replace("rules: [", f"rules: [{denial}, ")
    assert results(guarded, "invariants: [{id: a, never: {tool: sh, args.cmd.matches: ^rm$}}]")["a"].holds


def test_verdicts_of_a_claim_can_be_chosen() -> None:
    policy = "rules: [{id: a, match: {tool: pay}, decision: approve_required}]"
    never = "invariants: [{id: a, never: {tool: pay}%s}]"
    assert results(policy, never % "")["a"].holds
    assert not results(policy, never % ", verdicts: [allow, approve_required]")["a"].holds


def test_a_policy_stays_within_an_envelope(tmp_path: Path) -> None:
    (tmp_path / "max.yaml").write_text("rules: [{id: r, match: {tool: read}, decision: allow}]")
    file = tmp_path / "invariants.yaml"
    file.write_text("invariants: [{id: envelope, within: max.yaml}]")
    inside = "rules: [{id: r, match: {tool: read, args.path: /a}, decision: allow}]"
    outside = "rules: [{id: r, match: {tool.in: [read, write]}, decision: allow}]"
    assert prove(inside, file)[0].holds
    (found,) = prove(outside, file)
    assert isinstance(found.answer, Witness)
    assert found.answer.request.tool == "write"
    assert [item.verdict.value for item in found.answer.decisions] == ["allow", "deny"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[]", "E1301"),
        ("", "E1301"),
        ("rules: []", "E0202"),
        ("invariants: {a: 1}", "E0204"),
        ("invariants: [{never: {}}]", "E0203"),
        ("invariants: [{id: a}]", "E1303"),
        ("invariants: [{id: a, never: {}, within: x}]", "E1303"),
        ("invariants: [{id: a, never: {}}, {id: a, never: {}}]", "E1302"),
        ("invariants: [{id: a, within: no/such.yaml}]", "E1304"),
        ("invariants: [{id: a, always: {match: {}}}]", "E0203"),
        ("invariants: [{id: a, always: {match: {}, verdict: permit}}]", "E0206"),
        ("invariants: [{id: a, always: {match: {}, verdict: []}}]", "E1105"),
        ("invariants: [{id: a, only_if: {match: {}}}]", "E0203"),
        ("invariants: [{id: a, never: {args.x: {gt: 1}}}]", "E0307"),
        ("invariants: [{id: a, within: x.yaml, verdicts: [allow]}]", "E1104"),
        ("invariants: [{id: a, nevr: {}}]", "E0202"),
    ],
)
def test_a_mistake_has_a_code_and_a_place(text: str, code: str) -> None:
    found = read_invariants(text, "invariants.yaml")
    assert found.invariants is None
    assert code in {item.code for item in found.diagnostics}
    assert all(item.span is not None and item.span.line >= 1 for item in found.diagnostics)
    with pytest.raises(PolicyCompileError):
        prove("rules: []", text)


def test_every_mistake_of_a_file_is_reported_at_once() -> None:
    text = "invariants:\n  - {id: a}\n  - {never: {}}\n  - {id: b, never: {args.x.gt: nope, tol: 1}}\n"
    assert len(read_invariants(text, "f").diagnostics) >= 3


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    import yaml

    validator = Draft202012Validator(invariants_schema())
    Draft202012Validator.check_schema(invariants_schema())
    validator.validate(yaml.safe_load(INVARIANTS))
    for text in ("invariants: [{id: a}]", "invariants: [{id: a, never: {}, within: x}]", "rules: []"):
        assert not validator.is_valid(yaml.safe_load(text))


def test_nothing_is_claimed_by_a_list_of_all_verdicts() -> None:
    text = "invariants: [{id: a, always: {match: {}, verdict: [allow, deny, dry_run, transform, approve_required]}}]"
    assert results("rules: []", text)["a"].answer == Proof()


def test_a_transform_of_a_call_that_the_envelope_allows_is_not_within_it() -> None:
    """The call runs with other arguments, of which the envelope permits none."""
    allows = {"id": "r", "match": {"tool": "read", "args.path.starts_with": "/tmp/"}, "decision": "allow"}
    moves = {**allows, "decision": "transform", "transform": {"jsonpath": "$.args.path", "set": "/etc/passwd"}}
    envelope, policy = (Policy.compile({"rules": [rule]}) for rule in (allows, moves))
    (found,) = prove(policy, within(envelope, "envelope"))
    assert isinstance(found.answer, Witness)
    assert [decision.verdict.value for decision in found.answer.decisions] == ["transform", "allow"]
    (same,) = prove(policy, within(policy, "itself"))
    assert same.holds
