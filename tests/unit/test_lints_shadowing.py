"""Rules that shadow one another: found where it is certain, silent where it is not."""

from __future__ import annotations

import time

import pytest

from bobcat.lint.check import check_source


def findings(*rules: str) -> list[tuple[str, str]]:
    text = "rules:\n" + "".join(f"  - {{id: r{index}, {rule}}}\n" for index, rule in enumerate(rules))
    return [(item.code, item.message.split("`")[1]) for item in check_source(text, "p")]


SHADOWED = [
    ("{}", "{tool: x}"),
    ("{tool: x}", "{tool: x, args.a: 1}"),
    ("{tool.in: [x, y]}", "{tool: x}"),
    ("{tool.in: [x, y, z]}", "{tool.in: [y, x]}"),
    ("{args.n.gt: 5}", "{args.n.gt: 6}"),
    ("{args.n.ge: 5}", "{args.n.gt: 5}"),
    ("{args.n.ge: 5}", "{args.n: 5}"),
    ("{args.n.lt: 5}", "{args.n.le: 4}"),
    ("{args.n.between: [1, 9]}", "{args.n.between: [2, 3]}"),
    ("{args.n.exists: true}", "{args.n.matches: a}"),
    ("{args.n.exists: true}", "{args.n.any: {eq: {ref: args.m}}}"),
    ("{args.p.starts_with: /etc}", "{args.p.starts_with: /etc/ssh}"),
    ("{args.p.starts_with: [/etc, /usr]}", "{args.p.in: [/etc/a, /usr/b]}"),
    ("{args.p.ends_with: .pem}", "{args.p: id.pem}"),
    ("{args.o.eq: {ref: args.p}}", "{args.o.eq: {ref: args.p}, tool: x}"),
    ("{args.s.ge: a}", "{args.s.ge: b}"),
    ("{any_of: [{tool: x}, {tool: y}]}", "{tool: x, args.a: 1}"),
    ("{context.timestamp.ge: '2026-01-01T00:00:00Z'}", "{context.timestamp.ge: '2026-01-02T00:00:00Z'}"),
]


@pytest.mark.parametrize(("wide", "narrow"), SHADOWED)
def test_a_rule_that_an_earlier_one_covers_is_found(wide: str, narrow: str) -> None:
    assert findings(f"match: {wide}, decision: deny", f"match: {narrow}, decision: deny") == [("W0101", "r1")]


@pytest.mark.parametrize(("wide", "narrow"), SHADOWED)
def test_the_narrower_rule_may_stand_first(wide: str, narrow: str) -> None:
    assert findings(f"match: {narrow}, decision: deny", f"match: {wide}, decision: deny") == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("{args.n.gt: 5}", "{args.n.ge: 5}"),
        ("{args.p.starts_with: /etc/ssh}", "{args.p.starts_with: /etc}"),
        ("{args.p.starts_with: /etc}", "{args.p.ends_with: /etc}"),
        ("{args.p.starts_with: /etc}", "{args.p.in: [/etc, 5]}"),
        ("{args.o.eq: {ref: args.p}}", "{args.o.eq: {ref: args.q}}"),
        ("{args.n.gt: {ref: args.m}}", "{args.n.gt: 5}"),
        ("{args.n.gt: 5}", "{args.n.gt: {ref: args.m}}"),
        ("{args.n.in: {ref: args.m}}", "{args.n.in: [1, 2]}"),
        ("{args.n.gt: 5}", "{args.s.gt: 6}"),
        ("{args.n.gt: 5}", "{args.n.gt: a}"),
        ("{tool.in: [x, y]}", "{tool.in: [y, z]}"),
        ("{tool: x, args.a: 1}", "{tool: x}"),
        ("{args.a: 1}", "{args.a: true}"),
        ("{args.a.exists: true}", "{args.a.exists: false}"),
        ("{not: {args.a: 1}}", "{args.b: 1}"),
    ],
)
def test_rules_that_differ_are_not_reported(first: str, second: str) -> None:
    assert findings(f"match: {first}, decision: deny", f"match: {second}, decision: deny") == []


def test_absence_makes_a_difference_between_rules_that_permit_and_rules_that_restrict() -> None:
    negated = "match: {not: {args.a: 1}}"
    assert findings(f"{negated}, decision: allow", f"{negated}, decision: deny")[:1] != [("W0108", "r1")]
    assert findings(f"{negated}, decision: deny", f"{negated}, decision: allow") == [("W0108", "r1")]


def test_a_transform_shadows_nothing_for_it_may_be_impossible() -> None:
    transform = "match: {tool: x}, decision: transform, transform: {jsonpath: $.args.q, append: x}"
    assert findings(transform, "match: {tool: x}, decision: allow") == []


def test_the_same_match_twice_has_a_code_of_its_own() -> None:
    assert findings("match: {tool: x}, decision: deny", "match: {tool.in: [x]}, decision: allow") == [("W0108", "r1")]


def test_priority_decides_which_is_first() -> None:
    assert findings("match: {tool: x}, decision: deny", "match: {}, decision: deny, priority: 1") == [("W0101", "r0")]


def test_thousands_of_rules_are_compared_in_seconds() -> None:
    match = "{{tool: t{}, args.n.gt: {}, args.k: k{}}}"
    rules = "".join(
        f"  - {{id: r{i}, match: {match.format(i % 50, i, i % 7)}, decision: {'allow' if i % 2 else 'deny'}}}\n"
        for i in range(3_000)
    )
    started = time.process_time()
    assert check_source("rules:\n" + rules, "p")
    assert time.process_time() - started < 10
