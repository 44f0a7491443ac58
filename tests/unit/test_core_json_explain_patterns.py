"""The Rust module's other doors: JSON Lines, explain, and single patterns."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bobcat import _core
from bobcat.ir import construct
from bobcat.model.decision import Decision, Verdict
from bobcat.model.frozen import FrozenDict
from programs import EVERY, SHELL, host_rule, program_of, request_of


def test_json_lines_are_decided_like_requests() -> None:
    rules = [
        construct.rule("big", construct.leaf("args", ("n",), "gt", 2**70), "deny", reason="too big"),
        construct.rule("bad", construct.leaf("args", ("n",), "contains", "x"), "allow"),
        construct.rule(
            "rewrite",
            construct.leaf("args", ("sql",), "exists", True),
            "transform",
            transform=construct.transform("append", ("sql",), " LIMIT 1"),
        ),
    ]
    program = program_of(*rules)
    data = b'{"tool": "t", "args": {"n": 100000000000000000000000000}}\n{"tool": "t", "args": {"sql": "\\u00e9"}}\r\n'
    data += b'{"tool": "t", "args": {"n": 1}, "declared": {"reversible": true}}'
    big, rewritten, none = _core.evaluate_json(program, data)
    assert big == Decision(Verdict.DENY, "too big", ("big",))
    assert rewritten.verdict is Verdict.TRANSFORM
    assert rewritten.transform_args == {"sql": "é LIMIT 1"}
    assert type(rewritten.transform_args) is FrozenDict
    assert none.matched_rules == ("<rule_error:bad:wrong_type>", "<default:on_no_match>")
    assert _core.evaluate_json(program, b"") == []


def test_new_arguments_that_the_core_does_not_keep_are_read_by_python() -> None:
    program = program_of(
        construct.rule("set", construct.TRUE, "transform", transform=construct.transform("set", ("new",), "é")),
    )
    odd = {"a": "\ud800", "b": [10**2_000, {"\udfff": 1}], "c": math.inf}
    data = b'{"tool": "t"}\r\n{"tool": "t", "args": {"a": "\\ud800", "b": [1%s, {"\\udfff": 1}], "c": 1e999}}\n'
    first, second, third = _core.evaluate_json(program, data % (b"0" * 2_000) + b'{"tool": "t"}')
    assert first == third
    assert first.transform_args == {"new": "é"}
    assert second.transform_args == {**odd, "new": "é"}
    assert type(second.transform_args) is FrozenDict
    assert second == replace(first, transform_args=second.transform_args)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'{"tool": "t"}\n{"tool": 5}\n', "line 2"),
        (b"nonsense", "line 1"),
        (b" \r\n", "line 1: it is empty; each line is one request"),
        (b'{"tool": "t"}\n\n{"tool": "t"}\n', "line 2: it is empty; each line is one request"),
        (b'\xef\xbb\xbf{"tool": "t"}\n', "line 1: it begins with a byte order mark; leave it out"),
        (b'{"tool": "t"}\n\n{"tool": "t"}\n', "line 2"),
        (b'{"tool": "t", "extra": 1}', "line 1"),
        (b'{"tool": "\xff"}', "line 1"),
    ],
)
def test_a_line_that_is_no_request_is_named(data: bytes, line: str) -> None:
    with pytest.raises(_core.CoreError, match=line) as caught:
        _core.evaluate_json(SHELL, data)
    assert caught.value.code == "bad_request"


def test_json_is_not_decided_by_host_rules() -> None:
    with pytest.raises(_core.CoreError) as caught:
        _core.evaluate_json(program_of(host_rule("one"), host_rules=(print,)), b"")
    assert caught.value.code == "host_rules"


def test_explain_lists_the_outcome_of_every_rule() -> None:
    first = construct.rule("first", construct.leaf("args", ("n",), "gt", 5), "deny")
    second = construct.rule(
        "second", construct.not_(construct.any_([construct.leaf("args", ("a", "b"), "eq", "x")])), "deny"
    )
    program = program_of(first, second, construct.rule("third", EVERY, "allow"))
    decision, rules = _core.explain(program, request_of(n=3, a={"b": "y"}))
    assert decision == program.evaluate(request_of(n=3, a={"b": "y"}))
    assert [(index, outcome, error) for index, outcome, error, _, _ in rules] == [
        (0, "false", None),
        (1, "true", None),
        (2, "not_reached", None),
    ]
    assert rules[0][3] == ("leaf", "false", "args", ("n",), "gt", "5", "3", None, 0, None)
    assert rules[1][3] == ("not", "true", (("leaf", "false", "args", ("a", "b"), "eq", '"x"', '"y"', None, 0, None),))
    assert rules[2][3] is None


def test_explain_names_errors_and_absence() -> None:
    wrong = construct.rule("wrong", construct.leaf("args", ("n",), "gt", 5), "allow")
    absent = construct.rule("absent", construct.leaf("args", ("m",), "gt", 5), "allow")
    _, rules = _core.explain(program_of(wrong, absent), request_of(n="3"))
    assert rules[0][:3] == (0, "error", "wrong_type")
    assert rules[0][3][1:] == ("error", "args", ("n",), "gt", "5", '"3"', "wrong_type", 0, None)
    assert rules[1][:3] == (1, "absent", None)
    assert rules[1][3][6] is None


def test_patterns_are_checked_as_data() -> None:
    assert _core.check_pattern("a+b", "re2") == []
    ((code, start, end, message),) = _core.check_pattern("é(", "re2")
    assert code
    assert 0 <= start <= end <= 2
    assert message
    assert _core.check_pattern("\ud800", "re2")[0][0] == "bad_unicode"
    with pytest.raises(ValueError, match="dialect"):
        _core.check_pattern("a", "perl")  # type: ignore[arg-type]


def test_a_pattern_searches_anywhere() -> None:
    pattern = _core.Pattern("b+$", "re2")
    assert pattern.search("abb")
    assert not pattern.search("abba")
    with pytest.raises(ValueError, match=r"."):
        _core.Pattern("(", "re2")
