"""The document, its rules and their operands: what is refused, what it says, and what the rest lowers to."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from bobcat.frontend.result import LoweringResult
from bobcat.frontend.strict import document
from bobcat.frontend.strict.policy import compile_strict
from bobcat.ir.schema import AnyExpr, IrPolicy, IrRule, Leaf, NotExpr, Transform
from bobcat.lint.observed import reported


def lower(text: str) -> LoweringResult:
    return compile_strict(text, "p.yaml")


def codes(text: str) -> list[str]:
    return [item.code for item in reported(lower(text).findings)]


def policy(source: Any) -> IrPolicy:
    lowered = compile_strict(source, "p.yaml")
    assert lowered.policy is not None, lowered.findings
    return lowered.policy


def rule(text: str) -> IrRule:
    found = policy(f"rules: [{{{text}}}]").rules[0]
    assert isinstance(found, IrRule)
    return found


def match(text: str) -> Any:
    return rule(f"match: {{{text}}}, decision: deny").match


def operand_codes(leaf: str) -> list[str]:
    return codes(f"rules: [{{match: {{{leaf}}}, decision: deny}}]")


def test_all_findings_of_a_file_are_reported_at_once_in_source_order() -> None:
    lowered = lower(
        "version: 99\nruels: []\ndefaults: {on_no_mtach: deny}\n"
        "rules:\n  - {id: a, match: {arg.x: 1}, decision: Deny}\n"
        "  - {id: a, mtach: {}, priority: true, decision: deny}\n"
    )
    assert [item.code for item in reported(lowered.findings)] == [
        "E0205",
        "E0202",
        "E0202",
        "E0301",
        "E0206",
        "E0210",
        "E0202",
        "E0204",
    ]
    assert lowered.policy is None
    assert lowered.source_map is None


def test_a_finding_says_where_it_is() -> None:
    (found,) = reported(lower("rules:\n  - match: {tool: x}\n    decision: maybe\n").findings)
    assert found.span is not None
    assert (found.span.file, found.span.line, found.span.column, found.span.end_column) == ("p.yaml", 3, 15, 20)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E0201"),
        ("# nothing", "E0201"),
        ("null", "E0201"),
        ("5", "E0201"),
        ("[]", "E0201"),
        ("rules:", "E0204"),
        ("rules: {a: 1}", "E0204"),
        ("rules: [5]", "E0204"),
        ("version: '1'", "E0204"),
        ("version: true", "E0204"),
        ("version: 1.0", "E0204"),
        ("version: 0", "E0205"),
        ("defaults: []", "E0204"),
        ("defaults: {on_no_match: transform}", "E0206"),
        ("defaults: {on_no_match: no}", "E0206"),
        ("defaults: {on_missing_shadow: dry_run}", "E0206"),
        ("defaults: {on_rule_error: allow}", "E0206"),
        ("predicates: [a]", "E0204"),
        ("on_no_match: deny", "E0202"),
        ("rules: []\nrules: []", "E0111"),
    ],
)
def test_a_document_that_is_not_a_policy_is_refused(text: str, code: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("priority: true", "E0204"),
        ("priority: 1.5", "E0204"),
        ("priority: '1'", "E0204"),
        ("priority: null", "E0204"),
        ("priority: 99999999999", "E0209"),
        ("id: 5", "E0204"),
        ("id: ''", "E0211"),
        ("id: '<a>'", "E0211"),
        ('id: "a\\tb"', "E0211"),
        ("id: [a]", "E0204"),
        ("reason: 5", "E0204"),
        ("reason: null", "E0204"),
        ("description: [a]", "E0204"),
        ("approvers: alice", "E0207"),
        ("approvers: {a: b}", "E0204"),
        ("approvers: [5]", "E0204"),
        ("approvers: ['']", "E0204"),
        ("timeout_seconds: '30'", "E0204"),
        ("timeout_seconds: -1", "E0209"),
        ("timeout_seconds: .nan", "E0209"),
        ("timeout_seconds: .inf", "E0209"),
        pytest.param(f"timeout_seconds: {10**400}", "E0209", id="timeout_seconds beyond floats"),
        pytest.param(f"priority: {10**400}", "E0209", id="priority beyond floats"),
        ("timeout_seconds: true", "E0204"),
        ("timeout_seconds: null", "E0204"),
        ("transform: {set: {}}", "E0208"),
        ("effect: deny", "E0202"),
    ],
)
def test_a_rule_key_of_the_wrong_type_is_refused(entry: str, code: str) -> None:
    assert codes(f"rules: [{{match: {{}}, decision: approve_required, {entry}}}]") == [code]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("rules: [{match: {}, verdict: deny}]", "did you mean `decision`?"),
        ("rules: [{match: {}, effect: deny}]", "did you mean `decision`?"),
        ("rules: [{when: {tool: x}, decision: deny}]", "did you mean `match`?"),
        ("rules: [{if: {tool: x}, decision: deny}]", "did you mean `match`?"),
        ("rules: [{match: {}, decision: DENY}]", "did you mean `deny`?"),
        ("rules: [{match: {}, decision: block}]", "did you mean `deny`?"),
        ("rules: [{match: {}, decision: approve}]", "did you mean `approve_required`?"),
        ("ruels: []", "did you mean `rules`?"),
        ("default: {}", "did you mean `defaults`?"),
        ("on_no_match: deny", "it belongs under `defaults`: `defaults: {on_no_match: ...}`"),
        ("rules: [{match: {tool: [a, b]}, decision: deny}]", "write `tool.in` for one of these values"),
        (
            "rules: [{match: {args: {cmd: rm}}, decision: deny}]",
            "write `args.cmd: rm`; to compare the whole, write `args.eq`",
        ),
        (
            "rules: [{match: {declared.scope: fs}, decision: deny}]",
            "write `declared.scope.contains: fs`",
        ),
        ("rules: [{match: {args.k.in: abc}, decision: deny}]", "write `args.k.in: [abc]`"),
        ("rules: [{match: {all_of: in_prod}, decision: deny}]", "write `all_of: [in_prod]`"),
        ("rules: [{match: {}, decision: approve_required, approvers: null}]", "write `approvers: []`"),
        (
            "rules: [{match: {args.in: x}, decision: deny}]",
            'name an argument before `in`; one that is called `in` is `args["in"]`',
        ),
        (
            "rules: [{match: {context.extra.eq: x}, decision: deny}]",
            'name an argument before `eq`; one that is called `eq` is `context.extra["eq"]`',
        ),
        (
            "rules: [{match: {args.tags.contains: [a, b]}, decision: deny}]",
            "write `args.tags.contains_any` for one of these, `args.tags.contains_all` for all of them",
        ),
        (
            "rules: [{match: {}, decision: transform, transform: {jsonpath: args.q, delete: true}}]",
            "write `$.args.q`",
        ),
    ],
)
def test_the_help_says_what_was_meant(text: str, help: str) -> None:
    assert [item.help for item in reported(lower(text).findings)] == [help]


def test_a_misspelt_key_is_not_reported_as_missing_too() -> None:
    assert codes("rules: [{mtach: {}, desicion: deny}]") == ["E0202", "E0202"]


@pytest.mark.parametrize(
    ("leaf", "code"),
    [
        ("args.x.in: abc", "E0401"),
        ("args.x.in: [[1]]", "E0401"),
        ("args.x.in: {a: 1}", "E0401"),
        ("args.x.gt: null", "E0401"),
        ("args.x.gt: true", "E0401"),
        ("args.x.gt: [1]", "E0401"),
        ("args.x.gt: .nan", "E0404"),
        ("args.x.gt: .inf", "E0404"),
        ("args.x.gt: 1e999", "E0404"),
        ("args.x.eq: .nan", "E0404"),
        ("args.x.in: [.nan]", "E0404"),
        ("args.x.eq: [.nan]", "E0404"),
        ("args.x.between: [5, 1]", "E0403"),
        ("args.x.not_between: [5, 1]", "E0403"),
        ("args.x.between: [b, a]", "E0403"),
        ("args.x.between: [1]", "E0402"),
        ("args.x.between: 5", "E0401"),
        ("args.x.between: [1, b]", "E0408"),
        ("args.x.between: [null, 1]", "E0401"),
        ("args.x.matches: 5", "E0401"),
        ("args.x.matches: [a]", "E0401"),
        ("args.x.contains: [a]", "E0401"),
        ("args.x.contains_any: abc", "E0401"),
        ("args.x.contains_all: []", "E0409"),
        ("args.x.exists: 1", "E0401"),
        ("args.x.exists: no", "E0401"),
        ("args.x: [a]", "E0308"),
        ("args.x: {a: 1}", "E0307"),
        ("args: {}", "E0307"),
        ("args: 5", "E0405"),
        ("args.gt: 5", "E0406"),
        ("tool: 5", "E0405"),
        ("tool: null", "E0405"),
        ("tool.in: [a, 5]", "E0405"),
        ("tool.gt: 5", "E0401"),
        ("declared.reversible: 0", "E0405"),
        ("declared.reversible.contains: a", "E0406"),
        ("declared.has_shadow: 'true'", "E0405"),
        ("declared.scope: [a]", "E0308"),
        ("declared.scope.eq: a", "E0405"),
        ("declared.scope.eq: [1]", "E0405"),
        ("declared.scope.contains: 5", "E0401"),
        ("declared.scope.in: [a]", "E0406"),
        ("declared.blast_radius_hint: a", "E0405"),
        ("declared.blast_radius_hint.gt: '5'", "E0401"),
        ("context.step_seq.matches: a", "E0406"),
        ("context.timestamp: 5", "E0405"),
        ("context.timestamp.gt: 2026-01-01", "E0407"),
        ("context.timestamp.gt: '2026-01-01T00:00:00'", "E0407"),
        ("context.timestamp.gt: '2026-02-30T00:00:00Z'", "E0407"),
        ("context.timestamp.gt: '2026-01-01T00:00:00.1234567Z'", "E0407"),
        ("context.timestamp.between: ['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z']", "E0403"),
        ("context.timestamp.matches: a", "E0406"),
        ("context.extra: 5", "E0405"),
        ("context.environment: null", "E0405"),
        ("all_of: {tool: a}", "E0204"),
        ("any_of: [5]", "E0306"),
        ("not: [a]", "E0306"),
        ("not: null", "E0306"),
    ],
)
def test_an_operand_that_the_operator_or_the_path_cannot_have_is_refused(leaf: str, code: str) -> None:
    assert operand_codes(leaf) == [code]


@pytest.mark.parametrize(
    "leaf",
    [
        "args.x: null",
        "args.x: {}",
        "args.x.eq: [1, {a: null}]",
        "args.eq: {}",
        "args.contains: cmd",
        "args.exists: true",
        "tool.matches: ^a$",
        "tool.gt: m",
        "declared.blast_radius_hint: null",
        "declared.isolation: null",
        "declared.scope.eq: [a]",
        "declared.scope.contains_all: [a, b]",
        "context.extra.contains: k",
        "args.x.contains: null",
        "context.principal.name: null",
        "context.timestamp.exists: true",
        "args.x.in: [1, a, null, true, 1.5]",
    ],
)
def test_an_operand_of_a_type_that_fits_is_accepted(leaf: str) -> None:
    assert operand_codes(leaf) == (["E0307"] if leaf == "args.x: {}" else [])


def test_a_point_in_time_becomes_microseconds() -> None:
    found = match("context.timestamp.ge: 2026-01-31T14:00:00.5+02:00")
    assert found == Leaf("context", ("timestamp",), "ge", {"timestamp": 1769860800500000})
    assert match("args.x: 2026-01-31T12:00:00Z") == Leaf("args", ("x",), "eq", "2026-01-31T12:00:00Z")


def test_predicates_stand_wherever_a_match_may_and_use_each_other() -> None:
    found = policy(
        "predicates:\n  prod: {context.environment: prod}\n  risky: {all_of: [prod], not: safe}\n  safe: {tool: ls}\n"
        "rules:\n  - {match: risky, decision: deny}\n  - {match: {any_of: [safe, {not: prod}]}, decision: allow}\n"
    )
    prod, safe = Leaf("context", ("environment",), "eq", "prod"), Leaf("tool", (), "eq", "ls")
    first, second = found.rules
    assert isinstance(first, IrRule)
    assert isinstance(second, IrRule)
    assert set(first.match.items) == {prod, NotExpr(safe)}  # type: ignore[union-attr]
    assert isinstance(second.match, AnyExpr)
    assert set(second.match.items) == {safe, NotExpr(prod)}


def test_the_body_of_an_unused_predicate_is_checked() -> None:
    assert codes("predicates: {p: {arg.x: 1}}") == ["E0301"]


@pytest.mark.parametrize(
    ("predicates", "chain"),
    [
        ("{a: a}", "`a` -> `a`"),
        ("{a: {not: a}}", "`a` -> `a`"),
        ("{a: b, b: c, c: {any_of: [a, {tool: x}]}}", "`a` -> `b` -> `c` -> `a`"),
    ],
)
def test_a_cycle_of_predicates_is_shown(predicates: str, chain: str) -> None:
    found = reported(lower(f"predicates: {predicates}").findings)
    assert [item.code for item in found] == ["E0502"]
    assert chain in found[0].message


def test_a_long_chain_of_predicates_is_refused_whatever_its_order() -> None:
    names = [f"p{i}" for i in range(2_000)]
    chain = {**dict(pairwise(names)), names[-1]: {"tool": "x"}}
    for predicates in (chain, dict(reversed(chain.items()))):
        lowered = compile_strict({"predicates": predicates}, "p")
        assert lowered.policy is None
        assert {item.code for item in reported(lowered.findings)} <= {"E0504"}


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ("jsonpath: $.args.a.b, set: {x: [1.0]}", Transform("set", ("a", "b"), {"map": {"x": [1.0]}})),
        ("jsonpath: $.args.q, append: ' LIMIT 1'", Transform("append", ("q",), " LIMIT 1")),
        ("jsonpath: $.args.q, delete: true", Transform("delete", ("q",), None)),
        ("set: {a: 1}", Transform("set", (), {"map": {"a": 1}})),
        ("jsonpath: '$.args[\"a.b\"].in', set: null", Transform("set", ("a.b", "in"), None)),
    ],
)
def test_transforms_lower(transform: str, expected: Transform) -> None:
    assert rule(f"match: {{}}, decision: transform, transform: {{{transform}}}").transform == expected


@pytest.mark.parametrize(
    ("transform", "code"),
    [
        ("{}", "E0601"),
        ("{set: 1, delete: true, jsonpath: $.args.x}", "E0601"),
        ("{append: x}", "E0603"),
        ("{delete: true}", "E0603"),
        ("{set: 5}", "E0604"),
        ("{jsonpath: $.args.x, delete: false}", "E0604"),
        ("{jsonpath: $.args.x, delete: yes}", "E0604"),
        ("{jsonpath: $.argsfoo, set: 1}", "E0602"),
        ("{jsonpath: args.x, set: 1}", "E0602"),
        ("{jsonpath: $, set: 1}", "E0602"),
        ("{jsonpath: '$.args[0]', set: 1}", "E0602"),
        ("{jsonpath: 5, set: 1}", "E0204"),
        ("{sets: 1}", "E0202"),
        ("5", "E0204"),
        ("{jsonpath: $.args.x, set: .nan}", "E0404"),
    ],
)
def test_a_transform_that_does_nothing_certain_is_refused(transform: str, code: str) -> None:
    assert code in codes(f"rules: [{{match: {{}}, decision: transform, transform: {transform}}}]")


def test_rules_without_an_id_are_numbered_and_ordered_by_priority() -> None:
    found = policy("rules: [{match: {}, decision: deny}, {match: {}, decision: allow, priority: 5}]")
    assert [rule.id for rule in found.rules if isinstance(rule, IrRule)] == ["rule_1", "rule_0"]


def test_everything_a_rule_may_say_reaches_the_ir() -> None:
    found = rule(
        "id: r, priority: -3, description: d, match: {tool: x}, decision: approve_required, reason: why, "
        "approvers: [alice, bob], timeout_seconds: 1.5"
    )
    assert found == IrRule("r", -3, Leaf("tool", (), "eq", "x"), "approve_required", "why", ("alice", "bob"), 1.5, None)


def test_names_are_suggested_and_never_guessed() -> None:
    lowered = lower("predicates: {in_prod: {tool: x}}\nrules: [{match: in_prd, decision: deny}]")
    assert [item.code for item in lowered.errors] == ["E0501"]
    assert lowered.errors[0].help == "did you mean `in_prod`?"


@pytest.mark.parametrize("match", ["p", "{}"])
def test_predicates_may_come_after_their_rules(match: str) -> None:
    rules = f"rules: [{{match: {match}, decision: deny}}, {{match: {match}, decision: deny}}]\n"
    assert len(policy(rules + "predicates: {p: {tool: x}}").rules) == 2


@pytest.mark.parametrize(
    "text",
    [
        "? [1, 2]\n: [3, 4]\n",
        "? {rules: x}\n: [3, 4]\n",
        "{rules: [a, b], rules: [c, d]}",
        "rules: {rules: [{match: {}, decision: deny}, {match: {}, decision: deny}]}",
        "rules: [[{match: {}, decision: deny}, {match: {}, decision: deny}]]",
        "rules: [{match: {}, decision: deny}]\n---\nrules: [{}, {}]",
        "rules: [{match: {}, decision: deny}]\nrules",
        "rules: [{match: {}, decision: deny}, {match: {}, decision: [",
    ],
)
def test_a_misshapen_document_is_refused(text: str) -> None:
    assert lower(text).policy is None


def test_too_many_rules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_RULES", 2)
    assert codes("rules: [{}, {}, {}]") == ["E0212"]
