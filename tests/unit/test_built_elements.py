"""Conditions on the elements of a list, built in Python: the same policy as in YAML."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bobcat import Policy as Compiled
from bobcat.build import Condition, Policy, args, context, element, tool, when
from bobcat.ir.canonical import encode

SOURCES = {"mine": {"tool": "list", "fields": ["id"]}}
EITHER = {"any_of": [{"email.domain": "a.example"}, {"occurs_in": {"ref": "context.task"}}]}
SAME: list[tuple[Condition, dict[str, Any]]] = [
    (args.files.all(element.id.from_("mine")), {"args.files.all": {"id.from": "mine"}}),
    (
        args.files.all(element.id.from_("mine"), element["size"] < 5),
        {"args.files.all": {"id.from": "mine", '["size"].lt': 5}},
    ),
    (args.files.any((element.a == 1) & (element["b.c"] != 2)), {"args.files.any": {"a": 1, "not": {'["b.c"]': 2}}}),
    (args.files.any((element.a > 1) & (element.a < 9)), {"args.files.any": {"a.gt": 1, "a.lt": 9}}),
    (args.to.all((element.email().domain == "a.example") | element.occurs_in(context.task)), {"args.to.all": EITHER}),
    (args.to.any(~(element == "a"), starts_with="b"), {"args.to.any": {"not": {"eq": "a"}, "starts_with": "b"}}),
    (args.to.none(element.link.url().host == "b.example"), {"args.to.none": {"link.url.host": "b.example"}}),
    (args.to.none(element.cc.empty(), element.to != 5), {"args.to.none": {"cc.empty": True, "not": {"to": 5}}}),
    (args.rows.first(element.tags.any(element == "x")), {"args.rows.first": {"tags.any": {"eq": "x"}}}),
    (args.rows.all(element.name.lower().contains("x")), {"args.rows.all": {"name.lower.contains": "x"}}),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "match"), SAME, ids=repr)
def test_a_built_condition_on_elements_is_the_one_of_yaml(condition: Condition, match: dict[str, Any]) -> None:
    built = Policy(when(condition).allow(id="r"), sources=SOURCES).compile()
    text = json.dumps({"sources": SOURCES, "rules": [{"id": "r", "match": match, "decision": "allow"}]})
    assert encode(built.ir) == encode(Compiled.compile(text).ir)


def test_what_a_condition_on_elements_shows_builds_the_same_again() -> None:
    for condition, _ in SAME:
        assert eval(repr(condition)) == condition


def test_a_condition_on_something_else_is_refused() -> None:
    for wrong in (lambda: args.to.all(tool == "x"), lambda: args.to.any((element == "a") | (args.y == 1))):
        with pytest.raises(TypeError, match="not about `element`"):
            wrong()  # type: ignore[no-untyped-call]  # a lambda
    for outside in (args.to == element.x, element.x == 1, element.x.in_(args.y)):
        with pytest.raises(TypeError, match="is about an element"):
            Policy(when(outside).allow()).compile()
    with pytest.raises(TypeError, match="cannot be an operand"):
        Policy(when(args.to.in_(element.x)).allow()).compile()
