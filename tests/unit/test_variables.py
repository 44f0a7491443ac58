"""Variables of a policy: types, references, identity, values from outside, and errors with both places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bobcat import Policy, PolicyCompileError, Request, compile_policy
from bobcat.frontend.files import VariableText
from bobcat.frontend.strict.json_schema import policy_schema
from unit.cli_runner import Run, runner

RULE = "rules: [{id: a, match: {tool: pay, args.x.%s: %s}, decision: deny, reason: '%s'}]\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return runner(capsys, monkeypatch)


def refusal(source: Any, **options: Any) -> list[str]:
    with pytest.raises(PolicyCompileError) as caught:
        compile_policy(source, **options)
    return [item.code for item in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("value", "operator", "reason"),
    [("500", "le", "at 500"), ("1.5", "gt", "at 1.5"), ("a.example", "eq", "at a.example"), ("'500'", "eq", "at 500"),
     ("true", "eq", "at true"), ("-3", "lt", "at -3"), ("[a, b]", "in", ""), ("[1, 2.5]", "between", ""),
     ("[]", "in", ""),
     ("'^a$'", "matches", ""), ("'/srv/*'", "glob", ""), ("[a, b]", "all.in", ""), ("''", "eq", "at ")],
)  # fmt: skip
def test_a_reference_is_the_value_with_its_type(value: str, operator: str, reason: str) -> None:
    plain = compile_policy(RULE % (operator, value, reason))
    written = "at ${v}" if reason else ""
    for reference in ('"${v}"', "'${v}'"):
        named = compile_policy(f"vars: {{v: {value}}}\n" + RULE % (operator, reference, written))
        assert named.ir_bytes == plain.ir_bytes
    block = f"vars:\n  v: {value}\nrules:\n- id: a\n  match:\n    tool: pay\n    args.x.{operator}: ${{v}}\n"
    block += "  decision: deny\n"
    assert compile_policy(f"{block}  reason: '{written}'\n").id == plain.id


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.one_of(st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False))


@given(st.one_of(NUMBERS, st.booleans(), TEXTS))
def test_any_value_of_plain_data_is_substituted(value: Any) -> None:
    def rule(operand: Any) -> dict[str, Any]:
        return {"match": {"args.x.eq": operand}, "decision": "deny"}

    source = {"vars": {"v": value}, "rules": [rule("${v}")]}
    if isinstance(value, str) and "${" in value:
        assert refusal(source) == ["E1212"]
    else:
        assert compile_policy(source).id == compile_policy({"rules": [rule(value)]}).id


@pytest.mark.parametrize("text", ["${x}", "$${x}", "a ${", "$x", "${HOME}/x", "$.args.a"])
def test_without_variables_every_text_is_itself(text: str) -> None:
    policy = compile_policy({"rules": [{"match": {"args.x": text}, "decision": "allow"}]})
    assert policy.evaluate(Request("t", {"x": text})).verdict == "allow"


@pytest.mark.parametrize(
    ("written", "meant"),
    [("$${x}", "${x}"), ("$$${x}", "$${x}"), ("a$b", "a$b"), ("$x ${v}", "$x 5"), ("${v}${v}", "55"),
     ("$$${v}", "$${v}"), ("${v}$", "5$"), ("{${v}}", "{5}")],
)  # fmt: skip
def test_a_text_with_references(written: str, meant: str) -> None:
    source = {"vars": {"v": 5}, "rules": [{"match": {"args.x": written, "args.y.lt": "${v}"}, "decision": "deny"}]}
    plain = {"rules": [{"match": {"args.x": meant, "args.y.lt": 5}, "decision": "deny"}]}
    assert compile_policy(source).id == compile_policy(plain).id


def test_references_stand_in_every_section() -> None:
    source = """\
vars: {verdict: approve_required, root: ./ws, host: a.example, tool: read, name: known, level: 5, seconds: 60, who: [a]}
defaults: {on_missing_shadow: "${verdict}"}
resources: {ws: {kind: path, root: "${root}"}, api: {kind: http, base: "https://${host}/v1"}}
sources: {seen: {tool: "${tool}", fields: [id]}}
predicates: {known: {args.n.lt: "${level}"}}
capabilities: [{action: net.http, resource: "api:/users/**", timeout_seconds: "${seconds}"}]
rules:
  - {id: "r-${level}", priority: "${level}", match: "${name}", decision: "${verdict}", approvers: "${who}",
     timeout_seconds: "${seconds}"}
  - {match: {tool: q}, decision: transform, transform: {set: "${level}", jsonpath: $.args.limit}}
"""
    plain = source.partition("\n")[2]
    for name, value in {"verdict": "approve_required", "root": "./ws", "host": "a.example", "tool": "read",
                        "name": "known"}.items():  # fmt: skip
        plain = plain.replace(f"${{{name}}}", value)
    for name, data in {"level": "5", "seconds": "60", "who": "[a]"}.items():
        plain = plain.replace(f'"${{{name}}}"', data).replace(f"${{{name}}}", data)
    named = compile_policy(source)
    assert named.ir_bytes == compile_policy(plain).ir_bytes
    assert [item.code for item in named.warnings] == [item.code for item in compile_policy(plain).warnings]


@pytest.mark.parametrize(
    ("vars", "operand", "codes"),
    [
        ("{limit: 5}", "${limt}", ["E1211"]),
        ("{}", "${limit}", ["E1211"]),
        ("{a: 1}", "${a", ["E1214"]),
        ("{a: 1}", "${}", ["E1214"]),
        ("{a: 1}", "${a b}", ["E1214"]),
        ("{a: 1}", "${1}", ["E1214"]),
        ("{a: [1]}", "x${a}", ["E1214"]),
        ("{a: {b: 1}}", "${a}", ["E1212"]),
        ("{a: [[1]]}", "${a}", ["E1212"]),
        ("{a: }", "${a}", ["E1212"]),
        ("{a: [~]}", "${a}", ["E1212"]),
        ("{a: 1, b: '${a}'}", "${b}", ["E1212"]),
        ("{a-b: 1}", "${a-b}", ["E1212", "E1211"]),
        ("[a]", "1", ["E0204"]),
        ("5", "1", ["E0204"]),
    ],
)
def test_bad_variables_and_references_are_errors(vars: str, operand: str, codes: list[str]) -> None:
    assert refusal(f"vars: {vars}\n" + RULE % ("eq", f'"{operand}"', "")) == codes


def test_keys_hold_no_variables() -> None:
    assert refusal({"vars": {"a": "x"}, "rules": [{"match": {"args.${a}": "${a}"}, "decision": "deny"}]}) == ["E1214"]


def test_a_finding_about_a_value_has_the_place_of_the_use_and_of_the_definition() -> None:
    source = "vars:\n  pattern: '['\n" + RULE % ("matches", '"${pattern}"', "")
    with pytest.raises(PolicyCompileError) as caught:
        compile_policy(source, "p.yaml")
    (found,) = caught.value.diagnostics
    assert found.span is not None
    assert (found.span.line, found.span.column) == (3, 52)
    assert [(item.span.line, item.message) for item in found.related] == [(2, "the variable `pattern` is defined here")]


def test_unused_variables_are_reported() -> None:
    policy = compile_policy("vars: {used: 5, unused: 6}\n" + RULE % ("lt", '"${used}"', ""))
    assert [(item.code, item.span.column if item.span else 0) for item in policy.warnings] == [("W0155", 17)]


@pytest.mark.parametrize(
    ("declared", "value", "text"),
    [(500, 100, "100"), (500, 1.5, "1.5"), ("a", "b", "b"), ("a", "100", "100"), (True, False, "false"),
     ([1], [2, 3], "[2, 3]"),
     ([], ["a"], "[a]"), (["a"], [], "[]"), ("a", "true", "true"), ("a", "", "")],
)  # fmt: skip
def test_a_value_from_outside_replaces_the_declared_one(declared: Any, value: Any, text: str) -> None:
    def source(item: Any) -> dict[str, Any]:
        return {"vars": {"v": item}, "rules": [{"match": {"args.x.eq": "${v}"}, "decision": "deny"}]}

    wanted = compile_policy(source(value)).id
    assert compile_policy(source(declared), vars={"v": value}).id == wanted
    assert compile_policy(source(declared), vars={"v": VariableText(text)}).id == wanted


@pytest.mark.parametrize(
    ("declared", "value"),
    [(500, "100"), (500, True), (500, None), ("a", 5), (True, 1), ([1], 1), ([1], ["a"]), (1, [1]), ("a", ["a"]),
     ("a", {}),
     ("a", "${b}"), (500, object()), (5, VariableText("5 5")), (5, VariableText("")), ([1], VariableText("[1")),
     (5, VariableText("a: 1")), (5, float), (["a"], [["a"]]), (["a"], [None])],
)  # fmt: skip
def test_a_value_of_another_type_is_an_error(declared: Any, value: Any) -> None:
    source = {"vars": {"v": declared}, "rules": [{"match": {"args.x.eq": "${v}"}, "decision": "deny"}]}
    assert refusal(source, vars={"v": value}) == ["E1213"]


def test_only_declared_variables_can_be_set() -> None:
    with pytest.raises(PolicyCompileError, match=r"did you mean `max_payment`\?"):
        compile_policy("vars: {max_payment: 5}\nrules: []\n", vars={"max_paymnet": 5})
    assert refusal("rules: []", vars={"a": 1}) == ["E1213"]
    with pytest.raises(ValueError, match="has no variables"):
        compile_policy("rules: []", profile="lynx", vars={"a": 1})


def test_the_command_line_sets_variables(run: Run, tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    policy.write_text("vars: {limit: 500, host: a}\n" + RULE % ("le", '"${limit}"', "${host}"))
    ids = [
        run("bundle-id", str(policy), *options).out for options in ((), ("--var", "limit=100"), ("--var", "host=1=2"))
    ]
    assert len(set(ids)) == 3
    assert ids[1].strip() == Policy.compile(policy, vars={"limit": 100}).id
    assert run("check", str(policy), "--var", "limit=many").code == 1
    assert run("bundle-id", str(policy), "--var", "limit").code == 2
    assert run("bundle-id", str(policy), "--var", "limit=1", "--var", "limit=2").code == 2
    assert run("bundle-id", str(policy), "--var", "limit=1", "--profile", "lynx").code == 2
    output = tmp_path / "out.bobcat"
    assert run("compile", str(policy), "-o", str(output), "--var", "limt=1").code == 1
    assert not output.exists()


def test_the_schema_takes_references_and_both_sections() -> None:
    schema = Draft202012Validator(policy_schema())
    rule = {"match": {"args.n.between": "${range}", "declared.reversible": "${flag}", "args.t.in": "${hosts}"},
            "decision": "${verdict}", "priority": "${level}", "timeout_seconds": "${t}"}  # fmt: skip
    good = {"include": ["a.yaml", {"file": "b.yaml", "prefix": "b"}], "vars": {"a": 1, "b": ["x"]}, "rules": [rule]}
    assert list(schema.iter_errors(good)) == []
    for bad in (
        {"include": "a.yaml"}, {"include": [{"prefix": "a"}]}, {"vars": {"a": {}}}, {"vars": {"a-b": 1}},
        {"vars": {"a": None}},
        {"rules": [{**rule, "priority": "5"}]}, {"rules": [{**rule, "decision": "$verdict"}]},
    ):  # fmt: skip
        assert list(schema.iter_errors(bad)), bad


def test_what_variables_add_is_limited() -> None:
    big = "x" * 1_000_000
    rules = [{"match": {"args.x.in": ["${v}"] * 20}, "decision": "deny"}]
    assert "E1214" in refusal({"vars": {"v": big}, "rules": rules})
