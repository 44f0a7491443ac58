"""Conditions that read the run, built in Python: the same policy as in YAML, and errors while building."""

from __future__ import annotations

from typing import Any

import pytest

from bobcat.build import Condition, Policy, args, context, record, result, run, tool, when
from bobcat.frontend.builder.rules import take_built
from bobcat.frontend.profiles import lower
from bobcat.frontend.result import LoweringResult
from bobcat.ir.canonical import encode

SOURCES = {
    "directory": {"tool": "search", "fields": ["email"], "asked_with": "task"},
    "mine": {"tool": "list", "fields": ["id"], "where": (record.name == "a.txt") & (args.q == 5)},
}
YAML_SOURCES = """
sources:
  directory: {tool: search, fields: [email], asked_with: task}
  mine: {tool: list, fields: [id], where: {record.name: a.txt, args.q: 5}}
"""


def built(*conditions: Condition, sources: Any = None) -> LoweringResult:
    source, rules, _ = take_built(Policy(when(conditions).allow(id="r"), sources=sources), ())
    return lower(source, "p", "strict", rules)


def of_yaml(match: str) -> LoweringResult:
    text = f"{YAML_SOURCES}\nrules: [{{id: r, match: {match}, decision: allow}}]"
    return lower(text, "p", "strict", ())


CALL: dict[str, Any] = {"call": tool == "edit"}
TESTED: dict[str, Any] = {"result": (tool == "test") & (result.exit_code == 0)}
_CALL, _TESTED = "{call: {tool: edit}}", "{result: {tool: test, result.exit_code: 0}}"
SAME = [
    (run.count("pay") < 3, "{run.count.pay.lt: 3}"),
    (run.count("pay") == 0, "{run.count.pay: 0}"),
    (run.count("pay") != 0, "{not: {run.count.pay: 0}}"),
    (run.count("fs.write") <= context.extra.most, "{'run.count[\"fs.write\"].le': {ref: context.extra.most}}"),
    (run.count("pay", with_this=True).in_(1, 2), "{run.count.pay.with_this.in: [1, 2]}"),
    (run.count("pay", within="1h", by="principal") < 3, "{run.count.pay: {lt: 3, within: 1h, by: principal}}"),
    (run.count("pay", within=90, with_this=True) < 3, "{run.count.pay: {with_this: {lt: 3}, within: 90}}"),
    (run.count(of=tool.in_("pay", "send")) < 3, "{run.count: {of: {tool.in: [pay, send]}, lt: 3}}"),
    (
        run.count(of=tool == "pay", with_this=True).between(1, 2),
        "{run.count: {of: {tool: pay}, with_this: {between: [1, 2]}}}",
    ),
    (run.sum("pay", "amount") <= 9.5, "{run.sum.pay.amount.le: 9.5}"),
    (run.sum(of=tool == "pay", argument="a.b") <= 9, "{run.sum: {of: {tool: pay}, field: a.b, le: 9}}"),
    (args.n == run.count("pay"), "{run.count.pay.eq: {ref: args.n}}"),
    (args.n >= run.count("pay", within="1h"), "{run.count.pay: {le: {ref: args.n}, within: 1h}}"),
    (run.after(tool == "edit"), "{run.after: {tool: edit}}"),
    (run.after(tool == "edit", args.x == 1), "{run.after: {tool: edit, args.x: 1}}"),
    (run.last(tool == "edit"), "{run.last: {tool: edit}}"),
    (run.formerly(CALL), f"{{run.formerly: {_CALL}}}"),
    (~run.formerly(CALL, within="1h"), "{not: {run.formerly: {call: {tool: edit}, within: 1h}}}"),
    (run.formerly({"any_of": [CALL, TESTED]}), f"{{run.formerly: {{any_of: [{_CALL}, {_TESTED}]}}}}"),
    (run.previous(TESTED, within=60), "{run.previous: {result: {tool: test, result.exit_code: 0}, within: 60}}"),
    (run.since(holds={"not": CALL}, start=TESTED), f"{{run.since: {{holds: {{not: {_CALL}}}, start: {_TESTED}}}}}"),
    (run.never(CALL, since=TESTED), f"{{run.never: {{event: {_CALL}, since: {_TESTED}}}}}"),
    (args.who.to.from_("task", "directory"), "{args.who.to.from: [task, directory]}"),
    (args.to.all().from_("mine"), "{args.to.all: {from: mine}}"),
    (args.to.from_("mine", "directory"), "{'args.to.from': [mine, directory]}"),
]


@pytest.mark.parametrize(("condition", "match"), SAME[:-1], ids=repr)
def test_a_built_condition_is_the_one_of_yaml(condition: Condition, match: str) -> None:
    own, other = built(condition, sources=SOURCES), of_yaml(match)
    assert own.policy is not None, own.errors
    assert other.policy is not None, other.errors
    assert encode(own.policy) == encode(other.policy)


def test_what_a_builder_shows_builds_the_same_again() -> None:
    for condition, _ in SAME:
        assert eval(repr(condition)) == condition


def test_definitions_beside_a_file_are_those_of_both() -> None:
    text = "rules: [{id: a, match: {run.count.x.lt: 1}, decision: allow}]"
    source, rules, _ = take_built(text, [when(run.count("y") < 2).allow(id="b")])
    found = lower(source, "p", "strict", rules)
    assert found.policy is not None
    assert isinstance(found.policy.memory, dict)
    assert len(found.policy.memory) == 2


def test_a_mistake_has_the_line_of_the_program() -> None:
    found = built(args.who.to.from_("directry"), sources=SOURCES)
    assert [item.code for item in found.errors] == ["E1001"]
    assert found.errors[0].span is not None
    assert found.errors[0].span.file == __file__
    wrong = built(sources={"s": {"tool": "x"}})
    assert [item.code for item in wrong.errors] == ["E0203"]
    assert [item.code for item in built(run.count("x", within="soon") < 3).errors] == ["E1006"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: run.count(),
        lambda: run.count("x", of=tool == "y"),
        lambda: run.count("x").length(),
        lambda: run.count("x").amount,
        lambda: run.count("x")["amount"],
        lambda: run.after(),
        lambda: run.formerly(tool == "x"),  # type: ignore[arg-type]
        lambda: bool(run.count("x")),
        lambda: run.after(tool),
        lambda: Policy(sources={"a": {"x": 1}}) + Policy(sources={"a": {"x": 2}}),
    ],
)
def test_building_a_condition_wrongly_is_a_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError):
        wrong()


def test_an_operand_has_no_options() -> None:
    with pytest.raises(TypeError):
        built(args.n.contains(run.count("x", within="1h")))
