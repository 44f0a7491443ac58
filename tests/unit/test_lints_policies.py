"""Lints about what a policy permits, and the registry they stand in."""

from __future__ import annotations

import pytest

from bobcat.diagnostics.catalogue import CODES
from bobcat.lint.check import check_source
from bobcat.lint.pattern_syntax import is_anchored
from bobcat.lint.registry import all_lints


def codes(text: str) -> list[str]:
    return [item.code for item in check_source(text, "p")]


def test_every_lint_has_codes_of_the_catalogue_and_none_is_shared() -> None:
    listed = [code for lint in all_lints() for code in lint.codes]
    assert len(set(listed)) == len(listed)
    families = ("lynx-permissive", "tool-mismatch")
    assert all(CODES[lint.codes[0]].name == lint.name for lint in all_lints() if lint.name not in families)


def test_lints_are_silent_on_a_policy_with_errors() -> None:
    assert codes("defaults: {on_no_match: allow}\nrules: [{match: {arg.x: 1}, decision: deny}]") == ["E0301"]


def test_lynx_agents_starter_policy_is_found_out() -> None:
    text = """
rules:
  - {id: read-only-allow, match: {declared.scope.contains: "filesystem:read"}, decision: allow}
  - {id: shell-rm-rf-root, match: {tool: shell, args.cmd.matches: "rm -rf /"}, decision: deny}
  - {id: irreversible-needs-approval, match: {declared.reversible: false}, decision: approve_required}
"""
    assert codes(text) == ["W0102", "N0104", "W0102"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("match: {tool: ls}, decision: allow", "match: {tool: shell, args.cmd: rm}, decision: deny"),
        ("match: {tool: shell, args.cmd: ls}, decision: allow", "match: {tool: shell, args.cmd: rm}, decision: deny"),
        ("match: {args.a: 1}, decision: allow", "match: {args.b: 1}, decision: deny, priority: 1"),
        ("match: {args.a: 1}, decision: deny", "match: {args.b: 1}, decision: allow"),
        (
            "match: {tool: shell, args.text.matches: ^ls$}, decision: allow",
            "match: {args.text.matches: rm}, decision: deny",
        ),
    ],
)
def test_an_allow_that_cannot_hide_the_deny_is_fine(first: str, second: str) -> None:
    assert codes(f"rules:\n  - {{{first}}}\n  - {{{second}}}\n") == []


def test_an_operator_within_a_part_of_a_facet_is_looked_at() -> None:
    permit = "{id: fetch, match: {tool: fetch, args.path.path.within: .}, decision: allow}"
    hidden = "{id: hidden, match: {args.path.path.components.any.starts_with: .}, decision: deny}"
    assert codes(f"rules:\n  - {permit}\n  - {hidden}\n") == []


def test_an_allow_that_looks_at_the_path_a_deny_compares_with_is_not_blind() -> None:
    mine = "{id: mine, match: {args.owner.eq: {ref: context.principal.id}}, decision: allow}"
    theirs = "{id: root, match: {args.owner.eq: {ref: args.actor}}, decision: deny}"
    assert codes(f"rules:\n  - {mine}\n  - {theirs}\n") == ["W0102"]
    same = "{id: root, match: {context.principal.id: root}, decision: deny}"
    assert codes(f"rules:\n  - {mine}\n  - {same}\n") == []


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("args.cmd.lower.matches: ^ls", ["W0106"]),
        ("args.cmds.all: {matches: ls, length.lt: 9}", ["W0106"]),
        ("args.cmds.none.matches: rm", []),
        ("not: {args.cmds.none.matches: rm}", ["W0106"]),
        ("args.cmds.all.matches: ^ls$", []),
        ("args.path.glob: /srv/**", []),
        ("args.path.starts_with: /srv/", []),
    ],
)
def test_patterns_inside_of_other_operators_are_looked_at(clause: str, found: list[str]) -> None:
    assert [code for code in codes(f"rules: [{{match: {{{clause}}}, decision: allow}}]") if code == "W0106"] == found


@pytest.mark.parametrize(
    "pattern",
    [
        "^a$",
        r"\Aa\z",
        "^(?:a|b)$",
        "(?i)^a$",
        "^$",
        r"^[$|]\$$",
        r"^a\|b$",
        "^[]|]$",
        r"^\Q|\E$",
        "(?s)^.*$",
        "^(a)(b|c)$",
        "^(a$|b$)",
        "(^a|^b)$",
        "^+a$",
        "(^){1,3}a$",
        r"(?m)\Aa\z",
        "(?m)(?-m:^a$)",
        "(?P<whole>^a$)",
        "()^^a$$",
        r"^[[:alpha:]\]]$",
    ],
)
def test_patterns_with_both_anchors_are_anchored(pattern: str) -> None:
    assert is_anchored(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "a",
        "^a",
        "a$",
        "^a|b$",
        r"^a\$",
        "(?m)^a$",
        "(?im)^a$",
        "(^a$)|b",
        "",
        "^",
        "[$]",
        "^a[$]",
        r"^a\Q$",
        "x^a$",
        "(?m:^a$)",
        "^*a$",
        "^?a$",
        "(^)?a$",
        "^{0}a$",
        "(|^)a$",
        "^a$*",
        "^a($)?",
        "^(a$|b)",
        "(^a|b)$",
    ],
)
def test_patterns_without_them_are_not(pattern: str) -> None:
    assert not is_anchored(pattern)


def test_only_patterns_that_lead_to_permission_need_anchors() -> None:
    assert codes("rules: [{match: {args.c.matches: rm}, decision: deny}]") == []
    assert codes("rules: [{match: {args.c: ls, not: {args.c.matches: rm}}, decision: allow}]") == []
    assert codes("rules: [{match: {not: {not: {args.c.matches: rm}}}, decision: allow}]") == ["W0106"]


def test_a_rule_that_asks_for_two_values_at_once_never_fires() -> None:
    assert codes("rules: [{match: {args.a: 1, all_of: [{args.a.in: [2, 3]}]}, decision: deny}]") == ["W0112"]
    assert codes("rules: [{match: {args.a: 1, all_of: [{args.a.in: [1, 3]}]}, decision: deny}]") == []


def test_findings_of_the_front_end_and_of_lints_come_in_source_order() -> None:
    text = (
        "defaults: {on_no_match: allow}\npredicates: {p: {tool: x}}\n"
        "rules: [{match: {args.c.matches: ls}, decision: allow}]"
    )
    assert codes(text) == ["W0103", "W0107", "W0106"]


def test_the_lynx_profile_has_findings_of_its_own() -> None:
    found = check_source("rules: [{id: a, mtach: {}, decision: allow}]", "p", profile="lynx")
    assert {item.code for item in found} >= {"W0201"}


@pytest.mark.parametrize(
    ("tool", "found"),
    [
        ("tool.starts_with: notes.", []),
        ("tool.starts_with: [notes., she]", ["W0102"]),
        ('tool.glob: "kb_*"', []),
        ('tool.glob: "sh*"', ["W0102"]),
        ('tool.matches: "^(?i:SH)"', ["W0102"]),
    ],
)
def test_a_rule_about_tools_with_another_beginning_is_not_overridden(tool: str, found: list[str]) -> None:
    text = f"""
rules:
  - id: programs
    match: {{tool: shell, args.cmd.shell.all.program.in: [ls], args.cmd.shell.length.gt: 0}}
    decision: allow
  - {{id: others, match: {{{tool}, args.q.exists: true}}, decision: dry_run}}
"""
    assert [code for code in codes(text) if code == "W0102"] == found
