"""Sources: hostile and unusual text, plain data, aliases; refusals are quick."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import date
from itertools import count
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.frontend.strict.policy import compile_strict
from bobcat.lint.observed import reported
from bobcat.model.decision import Verdict
from stable_ids import stable_id

RULES = "rules: [{id: a, match: {tool: x}, decision: deny}]"


def codes(source: Any) -> list[str]:
    return [item.code for item in reported(compile_strict(source, "p").findings)]


@pytest.mark.parametrize(
    "text", [RULES, "\ufeff" + RULES, RULES.replace(" ", "  "), "---\n" + RULES + "\n...\n", "%YAML 1.2\n---\n" + RULES]
)
def test_one_document_is_a_policy(text: str) -> None:
    assert compile_strict(text, "p").policy == compile_strict(RULES, "p").policy


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("rules: [", "E0101"),
        ("a: b: c", "E0101"),
        ("rules:\n\t- a", "E0101"),
        ("x: *nowhere", "E0101"),
        ('"\\ud800"', "E0101"),
        ("rules: []\n---\nrules: []", "E0104"),
        ("a\x00b", "E0103"),
        ("a\x7fb", "E0103"),
        ("# a\x9fb", "E0103"),
        ("a: 'b\x80'\nc: \uffff", "E0103"),
        ("|\n a\x80", "E0103"),
        ("\ud800", "E0102"),
        ("rules: !!python/object:os.system []", "E0105"),
        ("rules: !mine []", "E0105"),
        ("rules: !!set {a}", "E0105"),
        ("<<: {rules: []}", "E0106"),
        ("[" * 100_000, "E0108"),
        ("- " * 100_000, "E0108"),
        ("{a: " * 100_000, "E0108"),
        ("? " * 50_000, "E0108"),
        ("&a [*a]", "E0110"),
        ("{&a a: {*a : *a}}", "E0202"),
        ("? [a]\n: b", "E0112"),
        ("? {a: b}\n: b", "E0112"),
        ("5: x", "E0112"),
        ("true: x", "E0112"),
        ("~: x", "E0112"),
    ],
)
def test_text_that_is_no_policy_is_refused_at_once(text: str, code: str) -> None:
    started = time.process_time()
    assert code in codes(text)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("rules: [{", "E0101", 1, 10),
        ("rules: [{\n\n", "E0101", 1, 10),
        ("rules: []\n--- [\n", "E0101", 2, 6),
        ("a: &x b\nc: &x d", "E0101", 2, 4),
        ("[" * 70, "E0108", 1, 64),
        ("\n".join(" " * depth + "a:" for depth in range(100)), "E0108", 64, 64),
        ("a: 'x'\nb: '\x7f'\nc: d\x7f", "E0103", 3, 5),
    ],
)
def test_text_that_is_no_policy_is_refused_at_its_place(text: str, code: str, line: int, column: int) -> None:
    (found,) = reported(compile_strict(text, "p").findings)
    assert found.span is not None
    assert (found.code, found.span.line, found.span.column) == (code, line, column)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.booleans(), st.sampled_from([None, 2]))
def test_a_policy_that_json_wrote_is_read_as_json_reads_it(value: str, escaped: bool, indent: int | None) -> None:
    key = "k" + value[:80]  # YAML limits a key on one line to 1,024 characters, those of escapes included
    source = {"rules": [{"id": "a", "match": {"args.x.eq": [value, {key: 1}]}, "decision": "deny"}]}
    lowered = compile_strict(json.dumps(source, ensure_ascii=escaped, indent=indent), "p")
    assert lowered.policy is not None, lowered.findings
    assert lowered.policy == compile_strict(source, "p").policy


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        (r'"\\ud83d\\ude00"', r"\ud83d\ude00"),
        (r"'\\ud83d\\ude00'", r"\\ud83d\\ude00"),
        (r"'\ud83d\ude00'", r"\ud83d\ude00"),
        (r"\ud83d\ude00", r"\ud83d\ude00"),
        (r'"\uD83D\uDE00\ud83d\udc08 \ud83d\ude00"', "\U0001f600\U0001f408 \U0001f600"),
        (r'"\\\ud83d\ude00"', "\\\U0001f600"),
        ("'a \u2028 b'", "a \u2028 b"),
        ("a \x85 b", "a \x85 b"),
        ('"\U00100000\u2028\U0010ff00"', "\U00100000\u2028\U0010ff00"),
        ("'\x7f'", "\x7f"),
    ],
)
def test_characters_that_libyaml_reads_otherwise_are_read_as_yaml_1_2_does(scalar: str, value: str) -> None:
    text = f"rules: [{{id: a, match: {{args.x: {scalar}, args.y: &y {scalar}, args.z: *y}}, decision: deny}}]"
    match = {"args.x": value, "args.y": value, "args.z": value}
    wanted = {"rules": [{"id": "a", "match": match, "decision": "deny"}]}
    assert compile_strict(text, "p").policy == compile_strict(wanted, "p").policy


def bomb(levels: int, width: int) -> str:
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join(lines)


def test_an_alias_bomb_is_refused_before_it_goes_off() -> None:
    started = time.process_time()
    assert codes(bomb(40, 10)) == ["E0109"]
    assert time.process_time() - started < 0.5


def test_aliases_cannot_nest_deeper_than_text_can() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 100)]
    assert codes("\n".join(lines)) == ["E0108"]


def test_anchors_and_aliases_mean_what_they_stand_for() -> None:
    anchored = (
        "predicates: {p: &p {tool: x}}\nrules:\n  - {id: a, match: *p, decision: deny}\n"
        "  - {id: b, match: {not: *p}, decision: allow}"
    )
    plain = anchored.replace("&p ", "").replace("*p", "{tool: x}")
    assert compile_strict(anchored, "p").policy == compile_strict(plain, "p").policy


def test_a_mapping_is_the_same_policy_as_its_text() -> None:
    source = {"rules": [{"id": "a", "match": {"tool": "x"}, "decision": "deny"}]}
    wanted = compile_strict(RULES, "p").policy
    assert compile_strict(source, "p").policy == wanted
    assert compile_strict(MappingProxyType(source), "p").policy == wanted
    assert compile_strict(OrderedDict(source), "p").policy == wanted
    rules = ({"id": "a", "match": {"tool": "x"}, "decision": Verdict.DENY},)
    assert compile_strict({"rules": rules}, "p").policy == wanted


def test_strings_of_a_mapping_are_strings_whatever_they_look_like() -> None:
    assert codes({"version": "1"}) == ["E0204"]
    assert codes({"rules": [{"match": {"args.x": "no"}, "decision": "deny"}]}) == []
    assert codes({"rules": [{"match": {"<<": {}}, "decision": "deny"}]}) == ["E0301"]


class Odd(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Iterator[str]:
        return iter(["rules"])

    def __len__(self) -> int:
        return 1


class Pairless(Odd):
    def items(self) -> Any:
        return [1, 2]


class Endless(Odd):
    def items(self) -> Any:
        return ((str(number), 1) for number in count())


class Uncounted(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("no")


def test_lists_are_read_by_their_storage() -> None:
    source = {"rules": [{"id": "a", "match": {"tool.in": Uncounted(["x"])}, "decision": "deny"}]}
    assert compile_strict(source, "p").policy is not None


def test_a_mapping_without_end_is_refused() -> None:
    assert codes({"rules": Endless()}) == ["E0109"]


@pytest.mark.parametrize("value", [{1, 2}, b"x", object(), date(2026, 1, 1), 1j, Odd(), Pairless()], ids=stable_id)
def test_what_json_does_not_have_is_refused_with_its_place(value: Any) -> None:
    (found,) = reported(compile_strict({"rules": [{"match": {"args.x.eq": value}, "decision": "deny"}]}, "p").findings)
    assert found.code == "E0113"
    assert found.span is not None
    assert found.span.path == '$.rules[0].match["args.x.eq"]'


def test_a_mapping_that_contains_itself_is_refused() -> None:
    source: dict[str, Any] = {}
    source["rules"] = [source]
    assert codes(source) == ["E0108"]


def test_a_mapping_that_shares_its_parts_a_million_times_is_refused() -> None:
    value: list[Any] = []
    for _ in range(30):
        value = [value, value]
    assert codes({"rules": value}) == ["E0109"]


def test_changing_the_mapping_afterwards_changes_nothing() -> None:
    operand = ["a"]
    source = {"rules": [{"id": "r", "match": {"tool.in": operand}, "decision": "deny"}]}
    lowered = compile_strict(source, "p")
    before = repr(lowered.policy)
    operand.append("b")
    assert repr(lowered.policy) == before
    assert lowered.data is not None
    assert lowered.data() == {"rules": [{"id": "r", "match": {"tool.in": ["a"]}, "decision": "deny"}]}


def test_the_plain_data_of_a_text_are_read_when_they_are_wanted() -> None:
    lowered = compile_strict("rules: [{id: a, match: {args.x: 0o17, args.y: no}, decision: deny}]", "p")
    assert lowered.data is not None
    assert lowered.data() == {"rules": [{"id": "a", "match": {"args.x": 15, "args.y": "no"}, "decision": "deny"}]}


TOKENS = [
    "rules",
    "match",
    ":",
    "-",
    "\n",
    "  ",
    "{",
    "}",
    "[",
    "]",
    ",",
    "&a",
    "*a",
    "tool",
    "args.x",
    "not",
    "all_of",
    "deny",
    "5",
    "'",
    '"',
    "|",
    ">",
    "!!x",
    "<<",
    "decision",
    "?",
    "#",
    "null",
    "~",
    ".nan",
    "%",
    "\t",
    "é",
    "\u2028",
    "---",
]


@given(st.lists(st.sampled_from(TOKENS), max_size=40).map("".join) | st.text(max_size=60))
def test_no_text_makes_the_front_end_fail(text: str) -> None:
    lowered = compile_strict(text, "p")
    assert (lowered.policy is None) is bool(lowered.errors)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["deny", "tool", "$.args"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.sampled_from(TOKENS), inner, max_size=3)
    ),
    max_leaves=12,
)
rule_keys = st.sampled_from(
    ["id", "priority", "match", "decision", "reason", "approvers", "timeout_seconds", "transform", "x"]
)


@given(
    st.fixed_dictionaries(
        {"rules": st.lists(st.dictionaries(rule_keys, json_values, max_size=5), max_size=3)},
        optional={"version": json_values, "defaults": json_values, "predicates": json_values},
    )
)
def test_no_data_makes_the_front_end_fail(source: dict[str, Any]) -> None:
    lowered = compile_strict(source, "p")
    assert (lowered.policy is None) is bool(lowered.errors)


def test_the_parser_without_libyaml_gives_the_same_policy_and_findings() -> None:
    program = """
import sys, yaml
if "without" in sys.argv:
    del yaml.CSafeLoader
from bobcat.frontend.strict.policy import compile_strict
from bobcat.lint.observed import reported
sources = ["rules: [{id: a, match: {tool: x, args.n: 0o17}, decision: deny}]", "[" * 9999,
           "rules: [{match: {arg.x: no}, decision: Deny}]",
           "rules:\\n  - match: {}\\n    decision: deny\\n    decision: allow\\n", "a: !!str 5", "a: *b", "x: &a [*a]"]
for source in sources:
    found = compile_strict(source, "p")
    shown = reported(found.findings)
    print(found.policy, [(item.code, item.span and (item.span.line, item.span.column)) for item in shown])
"""
    with_it, without = (
        subprocess.run([sys.executable, "-c", program, word], capture_output=True, text=True, check=True).stdout
        for word in ("with", "without")
    )
    assert with_it == without
    assert with_it.count("\n") == 7


@pytest.mark.parametrize("value", [False, None, 5, 2**99, 1.5, "true", [], {}])
def test_a_mapping_can_delete_an_argument_by_true_and_nothing_else(value: object) -> None:
    def deleting(what: object) -> dict[str, Any]:
        transform = {"jsonpath": "$.args.x", "delete": what}
        return {"rules": [{"id": "r", "match": {}, "decision": "transform", "transform": transform}]}

    assert codes(deleting(True)) == []
    assert codes(deleting(value)) == ["E0604"]
