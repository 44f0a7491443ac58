"""Identity is meaning: two spellings of one policy have one digest, any change of meaning another."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bobcat import compile_policy

BASE = """\
version: 1
defaults: {on_no_match: deny, on_missing_shadow: deny, on_rule_error: deny}
predicates:
  in_prod: {context.environment: prod}
rules:
  - id: push
    priority: 10
    description: no force
    match:
      tool: git_push
      args.force: true
      any_of:
        - in_prod
        - args.branch.in: [main, release]
      not: {args.dry: true}
    decision: deny
    reason: no force
  - id: ask
    match: {tool: deploy, args.amount.between: [1, 10]}
    decision: approve_required
    approvers: [alice, bob]
    timeout_seconds: 600
  - id: limit
    match: {tool: sql}
    decision: transform
    transform: {jsonpath: $.args.query, append: " LIMIT 100"}
"""


def changed(old: str, new: str, text: str = BASE) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


Edit = tuple[str, str]
SAME_EDITS: dict[str, list[Edit]] = {
    "comments and blank lines": [("version: 1\n", "# a comment\n\nversion: 1\n"), ("rules:", "rules:   # here")],
    "a description": [("description: no force", "description: never")],
    "no description": [("    description: no force\n", "")],
    "the name of a predicate": [("  in_prod: {", "  production: {"), ("- in_prod", "- production")],
    "an inlined predicate": [("        - in_prod\n", "        - {context.environment: prod}\n")],
    "an unused predicate": [("predicates:\n", "predicates:\n  unused: {tool: x}\n")],
    "left out defaults": [("version: 1\n", ""), (", on_rule_error: deny", "")],
    "key order in a match": [
        ("      tool: git_push\n", ""),
        ("      args.force: true\n", "      args.force: true\n      tool: git_push\n"),
    ],
    "key order in a rule": [
        ("    priority: 10\n", ""),
        ("    reason: no force", "    reason: no force\n    priority: 10"),
    ],
    "the order of alternatives": [("[main, release]", "[release, main]")],
    "a repeated alternative": [("[main, release]", "[main, release, main]")],
    "an explicit operator": [("tool: git_push", "tool.eq: git_push")],
    "nested conjunctions": [
        ("      args.force: true\n", "      all_of: [{args.force: true}, {all_of: [{tool: git_push}]}]\n")
    ],
    "a double negation": [("      args.force: true\n", "      all_of: [{not: {not: {args.force: true}}}]\n")],
    "a single alternative": [("{tool: sql}", "{tool.in: [sql]}")],
    "an always true clause": [("{tool: sql}", "{all_of: [{tool: sql}, {}]}")],
    "floats for integers": [("[1, 10]", "[1.0, 10.0]"), ("600", "600.0")],
    "block style": [("match: {tool: sql}", "match:\n      tool: sql")],
    "quotes": [("tool: sql", "'tool': \"sql\"")],
    "bracketed segments": [("args.force", 'args["force"]')],
    "anchors and aliases": [
        ("{context.environment: prod}", "{context.environment: &prod prod}"),
        ("predicates:\n", "predicates:\n  same: &same {tool: sql}\n"),
        ("match: {tool: sql}", "match: *same"),
    ],
    "a priority of zero": [("  - id: ask\n", "  - id: ask\n    priority: 0\n")],
}


def edited(edits: list[Edit]) -> str:
    text = BASE
    for old, new in edits:
        text = changed(old, new, text)
    return text


SAME = {name: edited(edits) for name, edits in SAME_EDITS.items()}
_push, _others = BASE[BASE.index("  - id: push") : BASE.index("  - id: ask")], BASE[BASE.index("  - id: ask") :]
SAME["rules of other priorities in another order"] = BASE[: BASE.index("  - id: push")] + _others + _push


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_another_spelling_has_the_same_digest(text: str) -> None:
    assert text != BASE
    assert compile_policy(text, "other.yaml").id == compile_policy(BASE).id


def test_json_and_mappings_have_the_digest_of_their_yaml() -> None:
    source: dict[str, Any] = {
        "rules": [
            {"id": "a", "match": {"tool": "t", "args.x.in": [1, "b", None, True]}, "decision": "deny", "reason": "é\n"},
            {
                "id": "b",
                "match": {},
                "decision": "transform",
                "transform": {"jsonpath": "$.args.q", "set": {"k": [1.0]}},
            },
        ]
    }
    yaml = """
rules:
- {id: a, match: {tool: t, args.x.in: [1, b, ~, true]}, decision: deny, reason: "é\\n"}
- {id: b, match: {}, decision: transform, transform: {jsonpath: $.args.q, set: {k: [1.0]}}}
"""
    ids = {compile_policy(text).id for text in (source, json.dumps(source), json.dumps(source, indent=2), yaml)}
    assert len(ids) == 1


DIFFERENT = {
    "a rule id": ("id: push", "id: pull"),
    "a priority": ("priority: 10", "priority: 11"),
    "a tool": ("git_push", "git_pull"),
    "a path": ("args.force", "args.forced"),
    "a nested path": ("args.force", "args.force.d"),
    "a path with a dot in a segment": ("args.force", 'args["force.d"]'),
    "an operand": ("args.force: true", "args.force: false"),
    "the type of an operand": ("args.force: true", 'args.force: "true"'),
    "an operator": ("args.branch.in:", "args.branch.contains_any:"),
    "an alternative": ("[main, release]", "[main, releases]"),
    "a bound": ("[1, 10]", "[1, 11]"),
    "a bound by a half": ("[1, 10]", "[1, 10.5]"),
    "a predicate's body": ("{context.environment: prod}", "{context.environment: dev}"),
    "a negation": ("not: {args.dry: true}", "all_of: [{args.dry: true}]"),
    "a connective": ("      any_of:", "      all_of:"),
    "a verdict": ("decision: deny", "decision: dry_run"),
    "a reason": ("reason: no force", "reason: no Force"),
    "an approver": ("[alice, bob]", "[alice, carol]"),
    "the order of approvers": ("[alice, bob]", "[bob, alice]"),
    "a timeout": ("600", "601"),
    "no timeout": ("    timeout_seconds: 600\n", ""),
    "an operation": ('append: " LIMIT 100"', 'set: " LIMIT 100"'),
    "a written value": ('" LIMIT 100"', '" LIMIT 10"'),
    "the type of a written value": ('append: " LIMIT 100"', "append: [1]"),
    "a target": ("$.args.query", "$.args.sql"),
    "on_no_match": ("on_no_match: deny", "on_no_match: allow"),
    "on_missing_shadow": ("on_missing_shadow: deny", "on_missing_shadow: allow"),
    "on_rule_error": ("on_rule_error: deny", "on_rule_error: continue"),
    "a missing rule": (BASE[BASE.index("  - id: limit") :], ""),
}


@pytest.mark.parametrize(("old", "new"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_a_change_of_meaning_changes_the_digest(old: str, new: str) -> None:
    assert compile_policy(changed(old, new)).id != compile_policy(BASE).id


def test_all_changes_have_digests_of_their_own() -> None:
    ids = [compile_policy(changed(old, new)).id for old, new in DIFFERENT.values()]
    assert len(set(ids)) == len(ids)


def test_the_rule_digests_name_the_rule_that_changed() -> None:
    before, after = compile_policy(BASE), compile_policy(changed("[1, 10]", "[1, 11]"))
    differing = [view.id for view, other in zip(before.rules, after.rules, strict=True) if view.digest != other.digest]
    assert differing == ["ask"]


def test_the_two_profiles_are_two_policies() -> None:
    text = "rules: [{id: r, match: {tool: t}, decision: deny}]"
    assert compile_policy(text).id != compile_policy(text, profile="lynx").id
