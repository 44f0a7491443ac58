"""Definitions of memory in one line, as traces show them."""

from __future__ import annotations

import pytest

from bobcat.frontend.strict.policy import compile_strict
from bobcat.ir.schema import IrRule, Leaf
from bobcat.ir.spelling import MAX_CHARS, run_path

TEXTS = {
    "{run.count.pay.lt: 3}": "run.count.pay",
    "{'run.count[\"fs.write\"].lt': 3}": 'run.count["fs.write"]',
    "{run.sum.pay.amount.with_this.le: 3}": "run.sum.pay.amount.with_this",
    "{run.count.pay: {lt: 3, within: 90s, by: tenant}}": "run.count.pay within 90s by tenant",
    "{run.count: {of: {tool.in: [a, b], args.x: 1}, lt: 3, within: 0.5}}": (
        'run.count of (args.x == 1 and tool in ["a", "b"]) within 0.5 seconds'
    ),
    "{run.sum: {of: {not: {tool: a}}, field: n, with_this: {lt: 3}}}": (
        'run.sum args.n of (not (tool == "a")) with_this'
    ),
    "{run.count: {of: {any_of: [{tool: a}, {all_of: [{tool: b}, {args.x: 1}]}]}, lt: 3}}": (
        'run.count of (tool == "a" or (args.x == 1 and tool == "b"))'
    ),
    "{run.count: {of: {}, lt: 3}}": "run.count of (any)",
    "{run.after: {tool: a}}": 'run: formerly call (tool == "a")',
    "{run.last: {tool: a}}": 'run: not call (any) since call (tool == "a")',
    "{run.previous: {result: {tool: a}, within: 2d}}": 'run: last within 2d result (tool == "a")',
    "{run.formerly: {not: {any_of: [{call: {tool: a}}, {previous: {call: {tool: b}}}]}}}": (
        'run: formerly not (previous call (tool == "b") or call (tool == "a"))'
    ),
    "{run.never: {event: {call: {tool: a}}, since: {call: {tool: b}}}}": (
        'run: not call (tool == "a") since call (tool == "b")'
    ),
    "{run.formerly: {all_of: [{call: {tool: a}}, {call: {tool: b}}], within: 1m}}": (
        'run: formerly within 1m (call (tool == "a") and call (tool == "b"))'
    ),
}


def shown(match: str) -> str:
    policy = compile_strict(f"rules: [{{match: {match}, decision: deny}}]", "p").policy
    assert policy is not None
    (rule,) = policy.rules
    assert isinstance(rule, IrRule)
    assert isinstance(rule.match, Leaf)
    return run_path(rule.match.path[0], policy.memory)


@pytest.mark.parametrize("match", TEXTS)
def test_a_definition_has_one_line(match: str) -> None:
    assert shown(match) == TEXTS[match]


def test_a_long_definition_is_cut() -> None:
    text = shown(f"{{run.count: {{of: {{tool.in: [{', '.join(f'tool_{i}' for i in range(50))}]}}, lt: 3}}}}")
    assert len(text) == MAX_CHARS
    assert text.endswith("...")


def test_an_unknown_name_stays() -> None:
    assert run_path("count-1", {}) == "run.count-1"
