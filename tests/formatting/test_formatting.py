"""Formatting: the same meaning, all comments, one result; and the layout of the common constructs."""

from __future__ import annotations

import re
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bobcat.formatting import POLICY, FormatError, formatted
from formatting.written import Writer, random_policy


def fmt(text: str) -> str:
    return formatted(text, "p.yaml", POLICY).text


def comments_of(text: str) -> list[str]:
    return sorted(match[0].rstrip() for match in re.finditer(r"# c\d+ - .*", text))


@given(st.integers(0, 2**32))
def test_any_policy_keeps_its_data_and_its_comments_and_settles_at_once(seed: int) -> None:
    random = Random(seed)
    data, writer = random_policy(random), Writer(random)
    text = writer.text(data)
    try:
        result = fmt(text)
    except FormatError as error:
        raise AssertionError(f"{error} {error.findings}\n{text}") from error
    assert yaml.safe_load(result) == yaml.safe_load(text), text
    assert comments_of(result) == sorted(writer.comments), text
    assert fmt(result) == result
    if "|" not in result:
        assert not re.search(r"[ \t]$|\n\n\n", result, re.MULTILINE), result


LAYOUTS = {
    "spaces": ("rules:\n-   {match:   {tool: x},decision: deny}\n", "rules:\n  - {match: {tool: x}, decision: deny}\n"),
    "order": (
        "rules:\n- decision: deny\n  match: {}\n  id: a\n", "rules:\n  - id: a\n    match: {}\n    decision: deny\n",
    ),
    "order in a line": ("rules: [{decision: deny, match: {}, id: a}]", "rules: [{id: a, match: {}, decision: deny}]\n"),
    "order of other mappings": ("predicates:\n  b: {tool: x, args.a: 1}\n  a: {}\n",) * 2,
    "unknown keys": ("rules:\n- {x: 1, decision: deny, id: a}\n", "rules:\n  - {id: a, decision: deny, x: 1}\n"),
    "quotes": ("rules: ['a', \"b\", 'it''s', '\\d', '\"', \"\\u00e9\", 'é', \"\\t\"]\n",
               'rules: ["a", "b", "it\'s", \'\\d\', \'"\', "\\u00e9", "é", "\\t"]\n'),
    "numbers": ("rules: ['5', 5, 0x1F, 1.50, ~, null, no, Yes, 017]\n",
                'rules: ["5", 5, 0x1F, 1.50, ~, null, no, Yes, 017]\n'),
    "comments move with their entries": (
        "rules:\n- decision: deny # on decision\n  # above id\n  id: a\n  # above match\n  match: {}\n",
        "rules:\n  # above id\n  - id: a\n    # above match\n    match: {}\n    decision: deny  # on decision\n",
    ),
    "empty lines": ("\n\nrules:\n\n\n  - {id: a}\n\n\n\n  - {id: b}\n\n\n", "rules:\n  - {id: a}\n\n  - {id: b}\n"),
    "a comment with an empty line below": ("# one\n\nrules: []\n",) * 2,
    "a comment at the end": ("rules: []\n# one\n\n# two\n",) * 2,
    "comments at the end of collections": ("rules:\n  - id: a\n    # in a\n  # in rules\n# in all\n",) * 2,
    "anchors": ("predicates:\n  a: &x {tool: t}\n  b: *x\nrules:\n  - &r\n    match: *x\n    id: a\n",) * 2,
    "an anchor on the line above": ("predicates:\n  a: &x\n     [a,\n      b]\n", "predicates:\n  a: &x [a, b]\n"),
    "literal": ("rules:\n  - reason: |\n      a\n        b\n\n      c\n    id: a\n",
                "rules:\n  - id: a\n    reason: |\n      a\n        b\n\n      c\n"),
    "indented literal": ("rules:\n- reason: |1-\n    a\n   b\n", "rules:\n  - reason: |2-\n       a\n      b\n"),
    "kept lines": ("predicates:\n  a: |+\n    x\n\n\n  b: 1\n",) * 2,
    "kept lines at the end": ("predicates:\n  a: |+\n    x\n\n\n",) * 2,
    "folded": ("predicates:\n    a: >\n        x\n        y\n\n          z\n",
               "predicates:\n  a: >\n    x\n    y\n\n      z\n"),
    "folded without a mark": ("predicates:\n  a: x\n    y\n  b: 'x\n\n    y'\n",
                              'predicates:\n  a: x y\n  b: "x\\ny"\n'),
    "long flow": (
        f"predicates: {{a: [{', '.join(['word' * 5] * 8)}]}}\n",
        "predicates:\n  a:\n" + f"    - {'word' * 5}\n" * 8,
    ),
    "comments in flow": ("rules: [ # one\n {id: a}, # two\n # three\n {id: b} # four\n ] # five\n",
                         "# one\nrules:  # five\n  - {id: a}  # two\n  # three\n  - {id: b}  # four\n"),
    "a comment in an empty list": ("rules: [ # none yet\n ]\n", "rules: []  # none yet\n"),
    "nothing": ("rules:\n  -\n  - a:\n    b: ~\n",) * 2,
    "a document mark": ("# license\n---\nrules: []\n...\n", "---\n# license\nrules: []\n"),
    "lists of lists": ("rules:\n- - a\n  - - b\n", "rules:\n  - - a\n    - - b\n"),
    "json": ('{"rules": [{"match": {}, "decision": "deny"}]}', '{"rules": [{"match": {}, "decision": "deny"}]}\n'),
    "explicit keys": ("? rules\n: []\n", "rules: []\n"),
    "an ignored finding": (
        "rules:\n  - id: a # bobcat: ignore W0134 because it is a test\n    decision: allow\n    match: {}\n",
        "rules:\n  - id: a  # bobcat: ignore W0134 because it is a test\n    match: {}\n    decision: allow\n",
    ),
    "an ignored finding of a rule": (
        "rules:\n  - decision: allow # bobcat: ignore W0134 because it is a test\n    id: a\n    match: {}\n",
        "rules:\n  - decision: allow  # bobcat: ignore W0134 because it is a test\n    id: a\n    match: {}\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout(name: str) -> None:
    text, wanted = LAYOUTS[name]
    assert fmt(text) == wanted
    assert fmt(wanted) == wanted
    assert formatted(wanted, "p.yaml", POLICY).changed is False


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_line_ends_are_those_of_the_first_line(end: str) -> None:
    result = formatted(f"rules:{end}- {{id:  a}}{end}", "p.yaml", POLICY).text
    assert result == "rules:\n  - {id: a}\n".replace("\n", "\r\n" if end == "\r\n" else "\n")


def test_a_byte_order_mark_is_removed() -> None:
    assert formatted("\ufeffrules: []\n", "p.yaml", POLICY).text == "rules: []\n"
    assert formatted("\ufeffrules: []\n", "p.yaml", POLICY).changed


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "E0201", 1),
        ("# only\n", "E0201", 1),
        ("rules: [\n", "E0101", 1),
        ("rules:\n\t- a\n", "E0101", 2),
        ("rules: []\nrules: []\n", "E0111", 2),
        ("a: 1\n---\nb: 1\n", "E0104", 3),
        ("a: !!str 1\n", "E0105", 1),
        ("<<: {}\n", "E0106", 1),
        ("5: a\n", "E0112", 1),
        ("[a]: b\n", "E0112", 1),
        ("a: \x07\n", "E0103", 1),
        ("a: *b\n", "E0101", 1),
    ],
)
def test_a_text_with_errors_is_refused_with_their_places(text: str, code: str, line: int) -> None:
    with pytest.raises(FormatError) as caught:
        fmt(text)
    assert [(item.code, item.span.line if item.span else 0) for item in caught.value.findings] == [(code, line)]


@pytest.mark.parametrize("text", ["- a\n", "text\n", "5\n", "%YAML 1.2\n---\na: 1\n"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(FormatError):
        fmt(text)
