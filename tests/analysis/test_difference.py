"""`analysis.diff`: regions with their witnesses, rules and traffic, and the proof that policies are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bobcat import Policy, Request
from bobcat.analysis import Diff, diff, summary_lines
from bobcat.analysis.difference import compare
from bobcat.analysis.engine import Questions
from bobcat.analysis.summary import markdown_lines, region_lines
from bobcat.errors import PolicyCompileError

OLD = """
rules:
  - {id: no-secrets, match: {tool: read, args.path.starts_with: /etc/}, decision: deny, priority: 5}
  - {id: reads, match: {tool: read, args.path.matches: "^/"}, decision: allow}
  - {id: small, match: {tool: pay, args.amount.le: 100}, decision: allow}
  - {id: large, match: {tool: pay, args.amount.gt: 100}, decision: approve_required}
"""


def changed(*replacements: tuple[str, str]) -> str:
    text = OLD
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


def rows(found: Diff) -> list[tuple[str | None, str, str, str, str]]:
    return [(item.tool, item.old.verdict, item.old.rule.id, item.new.verdict, item.new.rule.id) for item in found.found]


def test_a_narrower_denial_opens_what_it_no_longer_takes() -> None:
    found = diff(OLD, changed(("/etc/}", "/etc/ssh/}")))
    assert ("read", "deny", "no-secrets", "allow", "reads") in rows(found)
    assert not found.tightening
    assert found.may_loosen
    (region,) = found.loosening
    assert region.witness is not None
    path = region.witness.request.args["path"]
    assert path.startswith("/etc/")
    assert not path.startswith("/etc/ssh/")
    assert [item.verdict.value for item in region.witness.decisions] == ["deny", "allow"]


def test_a_changed_bound_is_shown_by_a_number_between_the_two() -> None:
    found = diff(OLD, changed(("le: 100", "le: 200"), ("gt: 100", "gt: 200")))
    assert rows(found) == [("pay", "approve_required", "large", "allow", "small")]
    (region,) = found.loosening
    assert region.witness is not None
    assert 100 < region.witness.request.args["amount"] <= 200


def test_another_order_of_rules_that_do_not_meet_is_proved_to_change_nothing() -> None:
    lines = OLD.strip().splitlines()
    moved = "\n".join([lines[0], lines[1], lines[4], lines[2], lines[3]])
    found = diff(OLD, moved)
    assert found.same
    assert not found.may_differ
    assert summary_lines(found) == ["proved: both policies decide every call alike"]


def test_a_pattern_written_in_another_way_is_proved_the_same() -> None:
    found = diff(OLD, changed(('args.path.matches: "^/"', "args.path.starts_with: /")))
    assert found.same


def test_a_pattern_that_is_a_little_wider_is_shown_by_a_text_of_the_difference() -> None:
    narrow = 'rules: [{id: a, match: {tool: t, args.x.matches: "^[a-z]{1,3}$"}, decision: allow}]'
    wide = 'rules: [{id: a, match: {tool: t, args.x.matches: "^[a-z]{1,4}$"}, decision: allow}]'
    for region in diff(narrow, wide).loosening:
        assert region.witness is not None
        text = region.witness.request.args["x"]
        assert len(text) == 4
        assert text.islower()


def test_regions_that_permit_more_come_first() -> None:
    found = diff(OLD, changed(("/etc/}", "/etc/ssh/}"), ("le: 100", "le: 50")))
    changes = [region.change for region in found.regions]
    assert changes == sorted(changes, key=["loosening", "arguments", "tightening"].index)
    assert {"loosening", "tightening"} <= set(changes)


def test_the_largest_step_comes_first_and_other_terms_last() -> None:
    rules = """
rules:
  - {id: a, match: {tool: a}, decision: %s}
  - {id: b, match: {tool: b}, decision: approve_required, approvers: [ann], approvals_needed: 1, timeout_seconds: %d}
  - {id: c, match: {tool: c}, decision: %s}
  - {id: d, match: {tool: d}, decision: %s}
"""
    first = ("approve_required", 60, "deny", "deny"), ("allow", 90, "approve_required", "allow")
    old, new = (rules % values for values in first)
    assert [line.split(" (")[0] for line in summary_lines(diff(old, new))[1:]] == [
        "+ d: deny -> allow",
        "+ a: approve_required -> allow",
        "+ c: deny -> approve_required",
        "+ b: approve_required, timeout 60 s -> 90 s",
    ]
    assert [line[:4] for line in summary_lines(diff(new, old))[1:]] == ["- d:", "- c:", "- a:", "- b:"]


def test_a_rule_that_decides_by_its_error_is_shown_as_such() -> None:
    old = "rules: [{id: a, match: {tool: x}, decision: allow}]"
    new = "rules: [{id: m, match: {tool: x, args.n.gt: 5}, decision: deny}, {id: a, match: {tool: x}, decision: allow}]"
    found = diff(old, new)
    (region,) = found.tightening
    assert region.witness is not None
    by_error = "<rule_error:m:" in str(region.witness.decisions[1].matched_rules)
    assert any("deny by `m` in error (wrong_type)" in line for line in region_lines(found)) == by_error


def test_other_arguments_of_a_transform_are_a_difference() -> None:
    text = "rules: [{id: t, match: {tool: t}, decision: transform, transform: {jsonpath: $.args.mode, set: safe}}]"
    found = diff(text, text.replace("set: safe", "set: fast"))
    assert [region.change for region in found.regions] == ["arguments"]
    assert found.may_loosen


def test_a_rule_of_another_layer_has_its_place() -> None:
    top = Policy.compile("rules: [{id: no, match: {tool: x}, decision: deny}]", source_path="top.yaml")
    base = Policy.compile("rules: [{id: all, match: {tool.in: [x, y]}, decision: allow}]", source_path="base.yaml")
    found = diff(Policy.layered({"top": top, "base": base}), Policy.layered({"base": base}))
    (region,) = [region for region in found.loosening if region.tool == "x"]
    assert (region.old.verdict, region.new.verdict) == ("deny", "allow")
    assert region.new.rule.span is not None
    assert region.new.rule.span.file == "base.yaml"


def test_reasons_are_no_difference() -> None:
    text = "rules: [{id: a, match: {tool: t}, decision: allow, reason: %s}]"
    assert diff(text % "one", text % "two").same


def test_a_monitored_rule_takes_no_part() -> None:
    text = "rules: [{id: a, match: {tool: t}, decision: allow, mode: monitor}]"
    assert diff(text, "rules: []").same


def test_recorded_calls_are_counted_by_region() -> None:
    traffic = [
        Request("read", {"path": "/etc/hosts"}),
        Request("read", {"path": "/etc/passwd"}),
        Request("read", {"path": "/etc/ssh/key"}),
        Request("pay", {"amount": 5}),
    ]
    found = diff(OLD, changed(("/etc/}", "/etc/ssh/}")), traffic=traffic)
    assert found.traffic is not None
    assert (found.traffic.calls, found.traffic.changed) == (4, 2)
    assert [region.recorded for region in found.loosening] == [2]


def test_recorded_calls_of_layers_are_counted_by_the_rule_that_decides() -> None:
    """Several layers give one verdict, and its names are in the order of the layers."""

    def layers(lowest: str, limit: int) -> Policy:
        org = Policy.compile(f"""
defaults: {{on_no_match: allow, on_missing_shadow: allow}}
rules: [{{id: two, match: {{tool: pay}}, decision: approve_required, approvers: [ann, bob], approvals_needed: {limit}}}]
""")
        return Policy.layered({"org": org, "team": Policy.compile(lowest)})

    asks = "rules: [{id: ask, match: {tool: pay, args.n.ge: 5}, decision: approve_required, approvers: [ann, bob]}]"
    denies = asks + "\ndefaults: {on_missing_shadow: deny}"
    traffic = [Request("pay", {"n": 9}), Request("pay", {"n": 1}), Request("pay", {})]
    found = diff(layers(asks, 1), layers(denies, 2), traffic=traffic)
    assert found.traffic is not None
    assert found.traffic.changed == 3
    counts = {(region.old.rule.id, region.new.verdict): region.recorded for region in found.regions if region.tool}
    assert counts == {("org:two", "deny"): 2, ("org:two", "approve_required"): 1}


def test_a_policy_is_given_by_text_path_bundle_or_value(tmp_path: Path) -> None:
    source, bundle = tmp_path / "policy.yaml", tmp_path / "policy.bobcat"
    source.write_text(OLD)
    policy = Policy.compile(OLD)
    bundle.write_bytes(policy.to_bytes())
    for given in (OLD, source, bundle, policy):
        assert diff(given, policy).same


def test_a_policy_with_an_error_is_refused() -> None:
    with pytest.raises(PolicyCompileError):
        diff(OLD, "rules: [{match: {}}]")


def test_text_and_markdown_show_the_call_and_the_rules_of_both_sides() -> None:
    old = Policy.compile(OLD, source_path="old.yaml")
    new = Policy.compile(changed(("/etc/}", "/etc/ssh/}")), source_path="new.yaml")
    found = diff(old, new)
    text = "\n".join(region_lines(found))
    assert "read: deny -> allow" in text
    assert "old.yaml:3:5" in text
    assert "new.yaml:4:5" in text
    markdown = "\n".join(markdown_lines(found, "old.yaml", "new.yaml"))
    assert "| read | deny -> allow | `read {" in markdown
    assert summary_lines(found)[0] == "1 loosened"


def test_a_text_of_the_policy_cannot_break_out_of_a_table() -> None:
    text = 'rules: [{id: a, match: {tool: "x|y`z"}, decision: %s}]'
    found = diff(text % "deny", text % "allow")
    rows_of_table = [line for line in markdown_lines(found, "a", "b") if line.startswith("| ")]
    for row in rows_of_table:
        assert row.replace("\\|", "").count("|") == 6


def test_json_has_a_call_that_eval_reads() -> None:
    from bobcat.model.request_json import request_from_json

    old = Policy.compile(OLD)
    for region in diff(old, changed(("/etc/}", "/etc/ssh/}"))).to_json()["regions"]:
        assert old.evaluate(request_from_json(region["call"])).verdict.value == region["old"]["verdict"]


def test_a_difference_with_more_regions_than_the_limit_excludes_nothing() -> None:
    """Regions beyond the limit may permit more, whatever those before it do."""
    old = Policy.compile(
        {"rules": [{"id": f"r{n}", "match": {"tool": f"t{n}"}, "decision": "allow"} for n in range(9)]}
    )
    questions = Questions([old, Policy.compile("rules: []")])
    assert not compare(questions).may_loosen
    found = compare(questions, limit=3)
    assert len(found.regions) == 3
    assert [reason.code for reason in found.reasons] == ["regions"]
    assert found.may_loosen


def test_text_and_markdown_show_the_first_regions_of_many() -> None:
    rules = [{"id": f"r{n}", "match": {"tool": f"t{n}"}, "decision": "allow"} for n in range(130)]
    found = diff("rules: []", {"rules": rules})
    for lines in (list(region_lines(found)), list(markdown_lines(found, "a", "b"))):
        assert any("t1:" in line or "| t1 |" in line for line in lines)
        assert any("more" in line and "and " in line for line in lines)
        assert len(lines) < 600
    assert len(found.to_json()["regions"]) >= 130


@pytest.mark.parametrize("others", [0, 5])
@pytest.mark.parametrize("verdict", ["approve_required", "dry_run"])
def test_arguments_that_an_approver_or_a_preview_gets_are_compared(verdict: str, others: int) -> None:
    rule: dict[str, Any] = {
        "id": "decides", "match": {"tool": "t", "args.a.matches": "^x"}, "decision": verdict, "priority": 1,
    }  # fmt: skip
    if verdict == "approve_required":
        rule["approvers"] = ["ann"]
    more = [{"id": f"o{n}", "match": {"tool": "t", "args.z": n}, "decision": "deny"} for n in range(others)]

    def policy(value: str) -> Policy:
        write = {"jsonpath": "$.args.a", "set": value}
        change = {"id": "writes", "match": {"tool": "t"}, "decision": "transform", "transform": write}
        return Policy.compile({"rules": [rule, *more, change]})

    found = diff(policy("x"), policy("xy"))
    (region,) = found.regions
    assert (region.change, region.old.verdict, region.new.verdict) == ("arguments", verdict, verdict)
    assert not found.same
    assert not found.reasons
    assert region.witness is not None
    assert [decision.transform_args for decision in region.witness.decisions] == [{"a": "x"}, {"a": "xy"}]
    assert diff(policy("x"), policy("x")).same


@pytest.mark.parametrize("others", [0, 300])
def test_a_call_that_a_rule_denies_is_shown_before_one_on_which_it_is_in_error(others: int) -> None:
    deny = {"id": "deny", "match": {"tool": "t", "args.n.gt": 5}, "decision": "deny"}
    more = [{"id": f"o{n}", "match": {"tool": "t", "args.z": n}, "decision": "deny"} for n in range(others)]
    allow = {"id": "allow", "match": {"tool": "t"}, "decision": "allow"}
    found = diff({"rules": [*more, allow]}, {"rules": [*more, deny, allow]})
    (region,) = found.tightening
    assert region.witness is not None
    assert region.witness.decisions[1].matched_rules == ("deny",)


def test_a_call_on_which_a_rule_is_in_error_is_shown_where_it_denies_no_other_one() -> None:
    deny = {"id": "deny", "match": {"tool": "t", "args.n.gt": 5, "args.n.lt": 3}, "decision": "deny"}
    allow = {"id": "allow", "match": {"tool": "t"}, "decision": "allow"}
    (region,) = diff({"rules": [allow]}, {"rules": [deny, allow]}).tightening
    assert region.witness is not None
    assert region.witness.decisions[1].matched_rules == ("<rule_error:deny:wrong_type>",)
