"""Walks and listings of the IR."""

from __future__ import annotations

from bobcat.ir import construct, pretty, visit
from bobcat.ir.schema import AllExpr, AnyExpr, HostRule, Leaf, NotExpr

A = Leaf("args", ("a",), "eq", 1)
B = Leaf("args", ("b c", "d"), "matches", "^x", "re2")
C = Leaf("context", ("timestamp",), "gt", {"timestamp": 0})
TREE = AllExpr((A, NotExpr(AnyExpr((B, C)))))


def test_leaves_come_in_pre_order() -> None:
    assert list(visit.leaves(TREE)) == [A, B, C]
    assert list(visit.walk(TREE))[:3] == [TREE, A, TREE.items[1]]


def test_a_listing_shows_every_part_of_a_rule() -> None:
    rule = construct.rule(
        "ask first",
        TREE,
        "approve_required",
        priority=3,
        reason="a reason",
        approvers=["alice", "bob"],
        timeout_seconds=60,
        transform=construct.transform("append", ("q",), {"map": {"k": [1.0]}}),
    )
    assert pretty.rule_text(rule).splitlines() == (
        [
            "ask first: approve_required, priority 3",
            '  reason "a reason"',
            '  approvers "alice", "bob"',
            "  timeout 60 s",
            '  append args.q {"k": [1.0]}',
            "  all",
            "    args.a == 1",
            "    not",
            "      any",
            '        args["b c"].d =~ "^x"',
            "        context.timestamp > 1970-01-01T00:00:00Z",
        ]
    )


def test_a_listing_shows_defaults_constants_and_host_rules() -> None:
    policy = construct.policy(
        [
            construct.rule("r", construct.TRUE, "transform", transform=construct.transform("delete", ("a",), None)),
            construct.rule("never", construct.FALSE, "deny"),
            HostRule("h", 0, "module", "outer.h", "cpython-311:" + "0" * 64),
        ]
    )
    text = pretty.policy_text(policy)
    assert text.startswith("policy profile=strict language=1 on_no_match=deny on_missing_shadow=approve_required")
    assert "r: transform, priority 0\n  delete args.a\n  true" in text
    assert "never: deny, priority 0\n  false" in text
    assert "h: host rule, priority 0\n  module:outer.h code cpython-311:0000" in text
