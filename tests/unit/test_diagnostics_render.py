"""Diagnostics as text, JSON and SARIF."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobcat.diagnostics.catalogue import diagnose
from bobcat.diagnostics.model import Diagnostic, Related, Span
from bobcat.diagnostics.render import WIDTH, place, render_json, render_text
from bobcat.diagnostics.sarif import render_sarif
from bobcat.frontend.strict.policy import compile_strict
from bobcat.lint.observed import reported


def at(line: int, column: int, end_column: int, end_line: int | None = None, file: str = "p.yaml") -> Diagnostic:
    return diagnose("E0110", Span(file, line, column, end_line or line, end_column))


def carets(source: str, item: Diagnostic) -> tuple[str, str]:
    lines = render_text([item], {"p.yaml": source}).split("\n")
    return lines[3].partition("| ")[2], lines[4].partition("| ")[2]


def test_a_finding_is_shown_with_its_line_its_caret_and_its_help() -> None:
    source = "rules:\n  - match: {tool: x}\n    decision: Deny\n"
    found = reported(compile_strict(source, "p.yaml").findings)
    assert render_text(found, {"p.yaml": source}).split("\n") == [
        "error[E0206]: `Deny` is not a value of `decision`",
        "  --> p.yaml:3:15",
        "  |",
        "3 |     decision: Deny",
        "  |               ^^^^",
        "  = help: did you mean `deny`?",
    ]


def test_findings_are_set_apart_and_none_is_nothing() -> None:
    assert render_text([at(1, 1, 2), at(1, 1, 2)], {"p.yaml": "x"}).count("\n\n") == 1
    assert render_text([], {}) == ""


def test_a_source_that_is_not_at_hand_is_named_without_a_line() -> None:
    assert render_text([at(3, 1, 2)], {}).split("\n")[1] == "  --> p.yaml:3:1"
    assert "|" not in render_text([at(3, 1, 2)], {})


def test_a_place_in_plain_data_is_a_path() -> None:
    span = Span("p.yaml", 0, 0, 0, 0, "$.rules[0].match")
    assert place(span) == "p.yaml: $.rules[0].match"
    assert "p.yaml: $.rules[0].match" in render_text([diagnose("E0110", span)], {"p.yaml": "x"})


def test_a_related_place_is_a_note() -> None:
    item = diagnose("E0111", Span("p", 2, 1, 2, 2), key="a", related=[Related(Span("p", 1, 1, 1, 2), "the first")])
    assert "  = note: the first: p:1:1" in render_text([item], {}).split("\n")


@pytest.mark.parametrize(
    ("source", "span", "text", "mark"),
    [
        ("a日本b: x", (2, 4), "a日本b: x", " ^^^^"),
        ("\tx: y", (2, 3), "    x: y", "    ^"),
        ("e\u0301: x", (4, 5), "e\u0301: x", "  ^"),
        ("a\u202eb: x", (3, 4), "a\ufffdb: x", "  ^"),
        ("ab", (3, 3), "ab", "  ^"),
        ("ab", (9, 12), "ab", "  ^"),
        ("ab", (1, 1), "ab", "^"),
    ],
)
def test_carets_stand_under_what_a_terminal_shows(source: str, span: tuple[int, int], text: str, mark: str) -> None:
    assert carets(source, at(1, *span)) == (text, mark)


def test_a_span_of_several_lines_is_marked_on_its_first() -> None:
    assert carets("ab: c  \nd", at(1, 5, 2, end_line=2)) == ("ab: c", "    ^")


def test_a_long_line_is_cut_around_the_finding() -> None:
    source = "x" * 10_000 + "HERE" + "y" * 10_000
    text, mark = carets(source, at(1, 10_001, 10_005))
    assert len(text) <= WIDTH + 6
    assert text.startswith("...")
    assert text.endswith("...")
    start = len(mark) - 4
    assert text[start : start + 4] == "HERE"


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_yaml_counts_them(line_break: str) -> None:
    source = f"version: 1{line_break}ruels: []"
    (found,) = reported(compile_strict(source, "p.yaml").findings)
    assert carets(source, found) == ("ruels: []", "^^^^^")


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\u2029"])
def test_what_only_yaml_1_1_takes_for_a_line_break_is_a_character(char: str) -> None:
    source = f"version: 1\n# {char}\nruels: [{{id: 'a{char}b'}}]"
    found, *_ = reported(compile_strict(source, "p.yaml").findings)
    assert found.span is not None
    assert (found.span.line, found.span.column) == (3, 1)
    assert carets(source, found)[1] == "^^^^^"


def test_a_megabyte_in_one_line_is_shown_a_thousand_times_without_delay() -> None:
    rule = '{"id": "r%d", "mtach": {}, "decision": "deny"}'
    source = '{"rules": [' + ", ".join(rule % number for number in range(20_000)) + "]}"
    found = reported(compile_strict(source, "p.yaml").findings)
    started = time.process_time()
    text = render_text(found, {"p.yaml": source})
    assert time.process_time() - started < 2
    assert len(found) > 1_000
    for block in text.split("\n\n")[:100]:
        if "E0202" in block:
            line, mark = block.split("\n")[3:5]
            assert line[mark.index("^") : mark.rindex("^") + 1] == '"mtach"'


def test_a_line_of_wide_characters_is_cut_where_it_is_too_wide() -> None:
    source = "日" * 700 + "HERE" + "\t" * 700
    text, mark = carets(source, at(1, 701, 705))
    assert text.startswith("...日")
    assert len(mark) - 4 == 3 + 2 * text.index("HERE") - 6


def test_a_byte_order_mark_moves_nothing() -> None:
    source = "\ufeffruels: []"
    (found,) = reported(compile_strict(source, "p.yaml").findings)
    assert carets(source, found) == ("ruels: []", "^^^^^")


def test_colour_adds_escape_codes_and_nothing_else() -> None:
    import re

    plain, coloured = (render_text([at(1, 1, 2)], {"p.yaml": "x: y"}, color=color) for color in (False, True))
    assert "\x1b[" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert coloured != plain


def test_json_has_everything() -> None:
    item = diagnose("E0111", Span("p", 2, 1, 2, 2), key="a", related=[Related(Span("p", 1, 1, 1, 2), "the first")])
    document = json.loads(render_json([item, diagnose("W0109", Span("p", 0, 0, 0, 0, "$.x"))]))
    assert (document["version"], document["errors"], document["warnings"]) == (1, 1, 1)
    assert document["diagnostics"][0] == {
        "code": "E0111",
        "name": "duplicate-key",
        "severity": "error",
        "message": "the key `a` is written twice",
        "help": "keep one of the two",
        "span": {"file": "p", "line": 2, "column": 1, "end_line": 2, "end_column": 2},
        "related": [
            {"message": "the first", "span": {"file": "p", "line": 1, "column": 1, "end_line": 1, "end_column": 2}}
        ],
    }
    assert document["diagnostics"][1]["span"] == {"file": "p", "path": "$.x"}


@pytest.mark.parametrize(
    ("file", "uri"),
    [("<stdin>", "%3Cstdin%3E"), ("my rules/a#1.yaml", "my%20rules/a%231.yaml"), ("é.yaml", "%C3%A9.yaml")],
)
def test_sarif_names_files_by_valid_uris(file: str, uri: str) -> None:
    (result,) = json.loads(render_sarif([at(1, 1, 2, file=file)]))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri}


def test_sarif_has_the_shape_that_code_scanning_reads() -> None:
    item = diagnose("E0111", Span("a\\p", 2, 1, 2, 2), key="a", related=[Related(Span("p", 1, 1, 1, 2), "the first")])
    log: dict[str, Any] = json.loads(render_sarif([item, diagnose("W0109", None)]))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["E0111", "W0109"]
    first, second = run["results"]
    assert (first["ruleId"], first["level"], second["level"]) == ("E0111", "error", "warning")
    (location,) = first["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "a/p"},
        "region": {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 2},
    }
    assert first["relatedLocations"][0]["message"] == {"text": "the first"}
    assert "locations" not in second


@given(st.text(max_size=40), st.integers(1, 5), st.integers(1, 50), st.integers(1, 50), st.integers(0, 2))
def test_no_source_and_no_span_make_the_renderers_fail(
    source: str, line: int, column: int, end: int, more: int
) -> None:
    item = at(line, column, end, line + more)
    assert render_text([item], {"p.yaml": source}).startswith("error[E0110]: ")
    json.loads(render_json([item]))
    json.loads(render_sarif([item]))
