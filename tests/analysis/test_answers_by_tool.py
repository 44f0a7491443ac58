"""The tools that answers are about: those that rules name, in Python too, and what a rule says of others."""

from __future__ import annotations

import pytest

from analysis.generated_functions import policy_of
from bobcat import Policy
from bobcat.analysis import Unknown, Witness, can, dead, diff, nearest, surface
from bobcat.analysis.summary import region_lines, tool_text
from bobcat.analysis.tool_names import tools_of
from bobcat.model.request_json import request_from_data

EMPTY = {"rules": [], "defaults": {"on_no_match": "deny", "on_missing_shadow": "deny"}}


def policy(match: str, decision: str = "allow") -> Policy:
    return Policy.compile(
        "defaults: {on_no_match: deny, on_missing_shadow: deny}\n"
        f"rules: [{{id: r, match: {match}, decision: {decision}}}]"
    )


@pytest.mark.parametrize(
    ("match", "text"),
    [
        ('{tool.glob: "kb_*"}', "any other tool that matches kb_*"),
        ('{tool.glob: "{a,b}/**/x?.y"}', "any other tool that matches {a,b}/**/x?.y"),
        ('{tool.matches: "^k[0-9]+$"}', "any other tool that matches ^k[0-9]+$"),
        ("{tool.starts_with: notes.}", 'any other tool that starts with "notes."'),
        ("{tool.not_in: [a, b]}", 'any other tool that not in ["a", "b"]'),
        ("{args.x: 1}", "any other tool"),
    ],
)
def test_a_region_says_which_tools_its_rules_are_about(match: str, text: str) -> None:
    found = diff(policy(match, "deny"), policy(match))
    assert [tool_text(region) for region in found.regions if region.tool is None] == [text]


def test_a_region_of_terms_is_about_the_tools_of_its_rules() -> None:
    old, new = (policy("{args.x: 1}", f"approve_required, approvals_needed: {number}") for number in (2, 1))
    lines = list(region_lines(diff(old, new)))
    assert "  any other tool: approve_required, 2 -> 1 approvals" in lines


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ('request.tool == "a"', {"a"}),
        ('request.tool in ("a", "b") and request.args["x"] == "c"', {"a", "b"}),
        ('request.args["x"] == "c"', set()),
    ],
)
def test_a_function_names_the_tools_that_it_compares(test: str, names: set[str]) -> None:
    found = policy_of(f"def rule(request, context):\n    return allow() if {test} else None\n", EMPTY)
    assert tools_of(found.ir) == names
    assert {row.tool for row in surface(found).rows} == names | {None}


def test_a_function_of_another_tool_takes_no_part_in_the_answer_about_one() -> None:
    source = """def rule(request, context):
    if request.tool == "batch":
        return allow() if sum(item["n"] for item in request.args["items"]) < 9 else None
    return None
"""
    found = policy_of(source, {**EMPTY, "rules": [{"id": "pay", "match": {"tool": "pay"}, "decision": "allow"}]})
    unknown = {row.tool for row in surface(found).rows if isinstance(row.answer, Unknown)}
    assert unknown == {"batch"}
    assert not dead(found).unknown or {item.rule.id for item in dead(found).unknown} == {"rule"}


def test_the_rule_nearest_to_allowing_a_call_is_one_about_its_tool() -> None:
    found = Policy.compile("""
rules:
  - {id: kb, match: {tool.glob: "kb_*"}, decision: allow}
  - {id: pay, match: {tool: pay, args.to: a, args.amount.le: 5}, decision: allow}
""")
    near = nearest(found, request_from_data({"tool": "pay"}))
    assert near is not None
    assert near.rule.id == "pay"
    assert nearest(found, request_from_data({"tool": "other"})) is None


def test_a_policy_may_name_the_tool_that_stands_for_any_other() -> None:
    found = surface(policy("{tool.in: [other_tool, other_tool2]}"))
    (row,) = [row for row in found.rows if row.tool is None]
    assert isinstance(row.answer, Witness)
    assert row.answer.request.tool not in ("other_tool", "other_tool2")


def test_a_tool_with_the_empty_name_is_one_of_its_own() -> None:
    found = policy('{tool: ""}')
    answer = can(found, tool="")
    assert isinstance(answer, Witness)
    assert answer.request.tool == ""
    denied = can(policy("{tool: a}"), tool="", verdict="deny")
    assert isinstance(denied, Witness)
    assert denied.request.tool == ""


def test_an_answer_has_one_decision_for_each_policy_in_question() -> None:
    answer = can(policy("{tool: a}"), when="args.x: 1")
    assert isinstance(answer, Witness)
    assert len(answer.decisions) == 1
