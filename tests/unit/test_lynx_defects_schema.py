"""Schema laxness, rows U-11 to U-22: in the strict profile the policy that is written is the one that is enforced."""

from __future__ import annotations

from importlib.resources import files

import pytest

from bobcat.compiler import compile_policy
from bobcat.model.decision import ToolMetadata, Verdict
from bobcat.tools.decorator import tool
from lynx_defects import ALLOWING, call, context, decide, one_rule, refusal, verdict


@pytest.mark.parametrize("rule", ["{id: r, decision: allow}", "{id: r, mtach: {tool: t}, decision: allow}"])
# lynx-agent defect 11
def test_a_missing_or_misspelt_match_is_refused(rule: str) -> None:
    assert "match" in str(refusal(f"rules: [{rule}]"))


@pytest.mark.parametrize(
    ("source", "meant"),
    [
        ("rules: [{id: r, match: {}, decision: deny, priorty: 5}]", "priority"),
        ("rules: [{id: r, match: {}, desicion: allow}]", "decision"),
        ("ruels: []", "rules"),
        ("default: {on_no_match: deny}", "defaults"),
        ("defaults: {on_no_mtach: deny}", "on_no_match"),
        ("rules: [{id: r, match: {}, decision: transform, transform: {sett: 1}}]", "set"),
    ],
)
# lynx-agent defect 12
def test_unknown_keys_are_refused_with_the_key_that_was_meant(source: str, meant: str) -> None:
    assert meant in str(refusal(source))


@pytest.mark.parametrize(
    "source",
    [
        "rules:\n- id: r\n  match: {}\n  decision: deny\n  decision: allow\n",
        "rules: [{id: r, match: {}, decision: deny}]\nrules: []\n",
        "rules: [{id: r, match: {args.a: 1, args.a: 2}, decision: deny}]",
        "defaults: {on_no_match: deny, on_no_match: allow}",
        "predicates: {p: {tool: a}, p: {tool: b}}",
    ],
)
# lynx-agent defect 13
def test_duplicate_keys_are_refused(source: str) -> None:
    refusal(source)


# lynx-agent defect 14
def test_duplicate_rule_ids_are_refused() -> None:
    refusal("rules: [{id: r, match: {tool: a}, decision: deny}, {id: r, match: {tool: b}, decision: deny}]")
    refusal("rules: [{id: rule_1, match: {tool: a}, decision: deny}, {match: {tool: b}, decision: deny}]")


@pytest.mark.parametrize(
    "key",
    [
        "arg.cmd.matches",
        "Args.cmd",
        "ctx.environment",
        "environment",
        "contex.environment",
        "declared.scop",
        "declare.scope",
        "context.enviroment",
        "context.principal.idd",
        "tools",
        "tool.name",
        "declared.__class__",
    ],
)
# lynx-agent defect 15
def test_unknown_heads_and_fields_are_refused(key: str) -> None:
    refusal(one_rule(f"{{{key}: x}}"))


@pytest.mark.parametrize("key", ["anyof", "or", "ANY_OF", "allOf", "and", "Not", "any-of"])
# lynx-agent defect 16
def test_misspelt_combinators_are_refused(key: str) -> None:
    refusal(one_rule(f"{{{key}: [{{tool: a}}]}}"))


@pytest.mark.parametrize("name", ["regex", "nin", "ne", "startswith", "equals", "any", "GT", "MATCHES", "matchs"])
# lynx-agent defect 16
def test_operators_of_other_languages_are_refused(name: str) -> None:
    refusal(one_rule(f"{{args.cmd.{name}: x}}"))


@pytest.mark.parametrize(
    "name",
    ["age", "min", "pin", "bin", "int", "get", "let", "seq", "req", "win", "contents", "match", "lat", "max", "line"],
)
# lynx-agent defect 17
def test_ordinary_argument_names_are_names(name: str) -> None:
    policy = one_rule(f"{{args.{name}: 1}}")
    assert verdict(policy, **{name: 1}) is Verdict.DENY
    assert verdict(policy, **{name: 2}) is Verdict.ALLOW


@pytest.mark.parametrize("text", ["NO", "no", "yes", "on", "off", "0123", "1_000", "12:30:45", "2026-01-31"])
# lynx-agent defect 18
def test_yaml_1_1_scalars_are_the_text_that_is_written(text: str) -> None:
    assert verdict(one_rule(f"{{args.x: {text}}}"), x=text) is Verdict.DENY


# lynx-agent defect 18
def test_a_typed_field_says_how_to_write_the_value() -> None:
    assert "false" in str(refusal(one_rule("{declared.reversible: no}")))
    refusal("rules: [{id: r, match: {}, decision: deny, priority: 1_000}]")


# lynx-agent defect 18
def test_a_key_that_yaml_1_1_reads_as_a_bool_is_a_key() -> None:
    error = refusal(one_rule("{on: x}"))
    assert all(item.span is not None for item in error.diagnostics)


# lynx-agent defect 19
def test_a_string_where_a_list_is_meant_is_refused() -> None:
    refusal("rules: [{id: r, match: {}, decision: approve_required, approvers: alice}]")
    refusal(one_rule("{args.x.contains_any: abc}"))
    refusal(one_rule("{args.x.contains_all: abc}"))
    refusal(one_rule("{args.x.in: abc}"))


# lynx-agent defect 19
def test_a_tool_with_a_string_for_its_scope_is_refused() -> None:
    with pytest.raises(TypeError, match="scope"):
        tool(scope="fs:write")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("match", "meant"),
    [("{args: {cmd: rm}}", "args.cmd"), ("{tool: [shell, bash]}", "in"), ("{args.cmd: [rm, dd]}", "in")],
)
# lynx-agent defect 20
def test_whole_value_equality_by_mistake_is_refused_with_what_was_meant(match: str, meant: str) -> None:
    assert meant in str(refusal(one_rule(match)))


@pytest.mark.parametrize(
    "source",
    [
        "version: 99",
        "version: '1'",
        "version: 1.9",
        "version: true",
        "rules: [{id: r, match: {}, decision: null}]",
        "rules: [{id: r, match: {}, decision: ''}]",
        "rules: [{id: r, match: {}, decision: 0}]",
        "predicates: {unused: {arg.x: 1}}",
        "predicates: {unused: {args.x.gt: null}}",
    ],
)
# lynx-agent defect 21
def test_versions_decisions_and_unused_predicates_are_checked(source: str) -> None:
    refusal(source)


# lynx-agent defect 22
def test_the_starter_policy_denies_before_it_allows() -> None:
    source = files("bobcat.cli").joinpath("starter", "policy.yaml").read_text(encoding="utf-8")
    declared = ToolMetadata("low", True, ("filesystem:read",), None, True)
    for environment in ("dev", "prod"):
        for argument in ("cmd", "command"):
            request = call("shell", {argument: "rm -rf /"}, declared=declared, at=context(environment=environment))
            assert decide(source, request).verdict is Verdict.DENY


# lynx-agent defect 22
def test_an_allow_that_hides_a_deny_is_warned_about() -> None:
    from bobcat.lint.check import check_source

    source = (
        "rules:\n"
        "- {id: read, match: {tool: shell}, decision: allow}\n"
        "- {id: rm, match: {tool: shell, args.cmd.matches: rm}, decision: deny}\n"
    )
    codes = {item.code for item in check_source(source, "p.yaml")}
    assert codes & {"W0101", "W0102"}


def test_a_policy_that_is_only_safe_defaults_compiles() -> None:
    assert compile_policy(ALLOWING + "rules: []").rules == ()
