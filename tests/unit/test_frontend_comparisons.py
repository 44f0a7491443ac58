"""Operators that nest, other paths as operands, globs: what they become, and what is refused with which help."""

from __future__ import annotations

from typing import Any

import pytest

from bobcat import _core
from bobcat.compiler import compile_policy
from bobcat.diagnostics.model import Diagnostic
from bobcat.errors import PolicyCompileError
from bobcat.frontend.strict import patterns
from bobcat.ir.pretty import leaf_text
from bobcat.ir.schema import IrRule, Leaf
from bobcat.model.request_json import request_from_json


def leaf(clause: str) -> Leaf:
    bundle = compile_policy(f"rules: [{{id: r, match: {{{clause}}}, decision: deny}}]")
    rule = bundle.ir.rules[0]
    assert isinstance(rule, IrRule)
    assert isinstance(rule.match, Leaf)
    return rule.match


def refused(clause: str) -> Diagnostic:
    with pytest.raises(PolicyCompileError) as caught:
        leaf(clause)
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("args.x.length: 5", "args.x.length.eq: 5"),
        ("args.x.length: 5", "args.x.length: {in: [5]}"),
        ("args.x.length: 5.0", "args.x.length: 5"),
        ("args.x.any.eq: a", "args.x.any: {eq: a}"),
        ("args.x.any: {lower: {eq: a}}", "args.x.any.lower.eq: a"),
        ("args.x.any: {lower.eq: a}", "args.x.any.lower.eq: a"),
        ("args.x.all: {gt: 1, lt: 5}", "args.x.all: {lt: 5, gt: 1}"),
        ("args.x.starts_with: [a]", "args.x.starts_with: a"),
        ("args.x.ends_with: [b, a, b]", "args.x.ends_with: [a, b]"),
        ("args.x.glob: /srv/*.py", r"args.x.matches: '^/srv/[^/]*\.py$'"),
        ("args.x.lower.glob: '*.exe'", r"args.x.lower.matches: '^[^/]*\.exe$'"),
        ("args.x.eq: {ref: 'args[\"y\"]'}", "args.x.eq: {ref: args.y}"),
        ("args.x.eq: {ref: args.length}", "args.x.eq: {ref: 'args[\"length\"]'}"),
    ],
)
def test_two_spellings_are_one_leaf(one: str, other: str) -> None:
    assert leaf(one) == leaf(other)


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        ("args.x.starts_with: [/etc, /usr]", 'args.x starts_with ["/etc", "/usr"]'),
        ("args.x.any.lower: {eq: a, starts_with: b}", 'args.x any lower (== "a" and starts_with "b")'),
        ("args.owner.eq: {ref: context.principal.id}", "args.owner == context.principal.id"),
        ("args.x.length.between: [1, 5]", "args.x length between [1, 5]"),
        ("args.x.none.in: {ref: args.a b.c}", 'args.x none in args["a b"].c'),
    ],
)
def test_a_listing_shows_them_readably(clause: str, text: str) -> None:
    assert leaf_text(leaf(clause)) == text


@pytest.mark.parametrize(
    ("clause", "code", "words"),
    [
        ("args.x.starts_with: 5", "E0401", "`starts_with` takes a string or a list of strings, not a number"),
        ("args.x.starts_with: [a, 5]", "E0401", "not a number"),
        ("args.x.ends_with: []", "E0409", "`ends_with` needs at least one value"),
        ("args.x.length: -1", "E0405", "can never be `-1`"),
        ("args.x.length.gt: 2.5", "E0405", "can never be `2.5`"),
        ("args.x.length.gt: abc", "E0401", "a whole number, not a string"),
        ("args.x.length: '5'", "E0405", "can never be a string"),
        ("args.x.length.contains: 5", "E0406", "`contains` does not apply to `args.x.length`"),
        ("args.x.length.exists: true", "E0406", "`exists` does not apply to"),
        ("args.x.any.exists: true", "E0406", "`exists` does not apply to"),
        ("args.x.any: a", "E0401", "write `args.x.any.eq: a`"),
        ("args.x.any: [a, b]", "E0401", "write `args.x.any.in`"),
        ("args.x.any: {}", "E0401", "not an empty one"),
        ("args.x.any: {equals: a}", "E0303", "did you mean `eq`"),
        ("args.x.any: {startsWith: a}", "E0303", "did you mean `starts_with`"),
        ("args.x.any: {eq.lower: a}", "E0303", "`eq` is not an operator|did you mean"),
        ("args.x.any.price.gt: 5", "E0303", "write the keys of elements as a mapping"),
        ("args.x.lower.eq: Bob", "E0405", "write `bob`"),
        ("args.x.lower: {contains_any: [a, DROP]}", "E0405", "write `drop`"),
        ("args.x.lower.glob: '*.EXE'", "E0405", "write `*.exe`"),
        ("args.x.lower.any.eq: a", "E0406", "`any` does not apply to `args.x.lower`"),
        ("tool.any.eq: a", "E0406", "`any` does not apply to `tool`"),
        ("declared.scope.lower.eq: a", "E0406", "`lower` does not apply to `declared.scope`"),
        ("declared.scope.any.gt: 5", "E0401", "a string"),
        ("context.step_seq.length: 5", "E0406", "`length` does not apply to"),
        ("args.x.any.any.any.any.any.eq: 5", "E0410", "more than 4 levels"),
        ("args.x.glob: '[a'", "E0703", "is not closed"),
        ("args.x.glob: [a]", "E0401", "a glob"),
        (f"args.x.glob: {'a' * 1001}", "E0703", "1000|1,000"),
        ("args.x: {ref: args.y}", "E0307", "write `args.x.eq`"),
        ("args.x: {length: 5}", "E0307", "write `args.x.length: 5`"),
        ("args.x.matches: {ref: args.y}", "E0414", "the operators that do"),
        ("args.x.between: {ref: args.y}", "E0414", "`between` takes a constant"),
        ("args.x.any: {contains_any: {ref: args.y}}", "E0414", "`contains_any`"),
        ("args.x.eq: {ref: arg.y}", "E0301", "did you mean `args.y`"),
        ("args.x.eq: {ref: args.y.gt}", "E0413", "it ends with an operator"),
        ("args.x.eq: {ref: args.y.any.eq}", "E0413", "it ends with an operator"),
        ("args.x.eq: {ref: args}", "E0413", "it is a mapping"),
        ("args.x.eq: {ref: declared.scope}", "E0413", "it is a list of strings"),
        ("args.x.gt: {ref: ''}", "E0401", "`ref` takes a path"),
        ("args.x.in: {ref: [args.y]}", "E0401", "`ref` takes a path"),
        ("tool.eq: {ref: context.step_seq}", "E0413", "it is a number, and `tool.eq` takes a string"),
        ("args.x.starts_with: {ref: declared.reversible}", "E0413", "takes a string"),
        ("context.step_seq.in: {ref: declared.scope}", "E0413", "it holds strings"),
        ("context.timestamp.gt: {ref: tool}", "E0413", "takes a point in time"),
        ("args.x.length.gt: {ref: tool}", "E0413", "takes a number of characters"),
    ],
)
def test_what_means_nothing_is_an_error_with_a_way_out(clause: str, code: str, words: str) -> None:
    found = refused(clause)
    assert found.code == code, found
    text = f"{found.message} {found.help}"
    assert any(part in text for part in words.split("|")), text


def test_a_mapping_that_only_looks_like_a_reference_is_compared_as_a_mapping() -> None:
    assert leaf("args.x.eq: {ref: [1]}").operand == {"map": {"ref": [1]}}
    assert leaf("args.x.eq: {ref: args.y, more: 1}").operand == {"map": {"ref": "args.y", "more": 1}}


def test_plain_data_takes_the_same_operands_as_text() -> None:
    match: dict[str, Any] = {"args.to.all.in": {"ref": "context.extra.known"}, "args.to": {"length": 1}}
    with pytest.raises(PolicyCompileError, match=r"args\.to\.length"):
        compile_policy({"rules": [{"id": "r", "match": match, "decision": "allow"}]})
    match["args.to.length"] = match.pop("args.to")["length"]
    text = "rules: [{id: r, match: {args.to.all.in: {ref: context.extra.known}, args.to.length: 1}, decision: allow}]"
    data = {"rules": [{"id": "r", "match": match, "decision": "allow"}]}
    assert compile_policy(data).id == compile_policy(text).id


def test_an_explanation_shows_the_tests_and_what_stood_at_the_other_path() -> None:
    bundle = compile_policy(
        "rules:\n"
        "  - {id: mine, match: {args.owner.eq: {ref: context.principal.id}}, decision: allow}\n"
        "  - {id: long, match: {args.tags.any: {length: {gt: 3}}, args.x.gt: {ref: args.y}}, decision: deny}\n"
    )
    request = request_from_json({"tool": "t", "args": {"owner": "eve", "tags": ["abcd"], "x": 1}})
    text = bundle.explain(request).to_text()
    assert '{"ref": "context.principal.id", "value": "anonymous"}   [value "eve"]' in text
    assert 'args.tags any {"length": {"gt": 3}}' in text
    assert 'args.x > {"ref": "args.y"}   [value 1]' in text


@pytest.mark.parametrize("clause", ["args.x.any.in: {ref: args.y}", "args.x.all.contains: {ref: args.z}"])
def test_inside_of_elements_only_so_much_of_another_value_is_read(clause: str) -> None:
    bundle = compile_policy(f"rules: [{{id: r, match: {{{clause}}}, decision: allow}}]")

    def marker(size: int) -> str:
        args = {"x": ["b" * size], "y": ["a"] * (size - 1) + ["b" * size], "z": "b" * size}
        return str(bundle.evaluate(request_from_json({"tool": "t", "args": args})).matched_rules[0])

    assert marker(1000) == "r"
    assert marker(1001) == "<rule_error:r:out_of_range>"


def test_a_pattern_that_the_core_alone_would_take_is_refused_by_google_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parsers must agree; where one is wrong the other one says so."""
    monkeypatch.setattr(_core, "check_pattern", lambda pattern, dialect: [])
    patterns._check.cache_clear()
    try:
        (finding,) = patterns.check_pattern("a(?=b)", "re2")
        assert (finding.code, finding.start, finding.end) == ("google_re2", 0, 6)
        assert patterns.check_pattern("a(?=b)", "python") == []
    finally:
        patterns._check.cache_clear()
