"""`# bobcat: ignore CODE because REASON`: one finding, in one place, with a reason."""

from __future__ import annotations

import json

import pytest

from bobcat.compiler import compile_policy
from bobcat.diagnostics.render import render_json, render_text
from bobcat.diagnostics.sarif import render_sarif
from bobcat.lint.check import check_source

RULE = "{id: reads, match: {tool.starts_with: read_}, decision: allow}"
BLOCK = """\
rules:
  - id: sources{rule}
    match:
      tool: read_file{tool}
      args.path.glob: 'src/**'{clause}
    decision: allow
"""


def outcome(text: str) -> tuple[list[str], list[str]]:
    """The codes of the findings that remain, and of those that are ignored."""
    found = [item for item in check_source(text, "p") if item.code != "N0104"]
    return [item.code for item in found if item.suppressed is None], [
        item.code for item in found if item.suppressed is not None
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"rules:\n  - {RULE}  # bobcat: ignore W0131 because we name all tools\n",
        f"rules:\n  # bobcat: ignore W0131 because we name all tools\n  - {RULE}\n",
        f"rules:\n  # bobcat: ignore W0131 because we name all tools\n\n  # and more\n  - {RULE}\n",
        f"rules:\n  -  {RULE} #bobcat:ignore W0131   because  of this\n",
        f"rules: [{RULE}]  # bobcat: ignore W0131 because we name all tools\n",
        f"\ufeffrules: [{RULE}]  # bobcat: ignore W0131 because we name all tools\n",
        f"rules:\r\n  - {RULE}  # bobcat: ignore W0131 because we name all tools\r\n",
    ],
)
def test_a_comment_on_the_line_or_above_ignores_the_finding(text: str) -> None:
    assert outcome(text) == ([], ["W0131"])


@pytest.mark.parametrize("place", ["rule", "clause"])
def test_the_line_of_the_rule_and_that_of_the_clause_count(place: str) -> None:
    places = {"rule": "", "tool": "", "clause": "", place: "  # bobcat: ignore W0122 because the tool resolves paths"}
    assert outcome(BLOCK.format(**places)) == ([], ["W0122"])


def test_the_first_of_several_comments_that_apply_is_used() -> None:
    places = {place: "  # bobcat: ignore W0122 because of the " + place for place in ("rule", "clause")}
    found = check_source(BLOCK.format(tool="", **places), "p")
    assert [(item.code, item.suppressed) for item in found if item.code != "N0104"] == [
        ("W0122", "of the rule"),
        ("W0136", None),
    ]


def test_another_line_of_the_rule_does_not_count() -> None:
    text = BLOCK.format(rule="", tool="  # bobcat: ignore W0122 because of something", clause="")
    assert outcome(text) == (["W0136", "W0122"], [])


def test_a_comment_for_one_rule_leaves_the_others_alone() -> None:
    other = RULE.replace("reads", "others").replace("read_", "get_")
    text = f"rules:\n  - {RULE}  # bobcat: ignore W0131 because we name all tools\n  - {other}\n"
    assert outcome(text) == (["W0131"], ["W0131"])


def test_several_codes_are_separated_by_commas() -> None:
    rule = "{id: a, match: {tool.starts_with: read_, args.path.starts_with: /srv/}, decision: allow}"
    text = f"rules:\n  - {rule}  # bobcat: ignore W0131, W0122 because we name all tools\n"
    assert outcome(text) == ([], ["W0131", "W0122"])
    assert outcome(text.replace("W0122", "W0119")) == (["W0122", "W0136"], ["W0131"])


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("ignore W0131", "it gives no reason"),
        ("ignore W0131 because", "it gives no reason"),
        ("ignore", "it names no finding"),
        ("ignore because I say so", "it names no finding"),
        ("ignore W9999 because of this", "there is no finding `W9999`"),
        ("ignore w0131 because of this", "there is no finding `w0131`; did you mean `W0131`?"),
        ("ignore E0301 because of this", "`E0301` is an error, and cannot be ignored"),
        ("ignore W0136 because of this", "`W0136` is about ignore comments, and cannot be ignored"),
    ],
)
def test_a_comment_that_can_ignore_nothing_is_a_finding(comment: str, problem: str) -> None:
    found = check_source(f"rules:\n  - {RULE}  # bobcat: {comment}\n", "p")
    assert [item.code for item in found] == ["W0131", "W0137"]
    assert found[1].message == f"invalid ignore comment: {problem}"


def test_a_comment_without_a_finding_is_one() -> None:
    text = "rules:\n  - {id: a, match: {tool: x}, decision: allow}  # bobcat: ignore W0131 because of this\n"
    assert outcome(text) == (["W0136"], [])


@pytest.mark.parametrize(
    "reason",
    [
        'reason: "x # bobcat: ignore W0131 because of this"',
        "reason: x#bobcat: ignore W0131 because of this",
    ],
)
def test_a_text_that_looks_like_a_comment_is_not_one(reason: str) -> None:
    text = f"rules:\n  - id: reads\n    {reason}\n    match: {{tool.starts_with: read_}}\n    decision: allow\n"
    found = [item for item in check_source(text, "p") if not item.code.startswith("E")]
    assert all(item.suppressed is None and item.code == "W0131" for item in found)


def test_a_block_of_text_holds_no_comment() -> None:
    text = (
        "rules:\n  - id: reads\n    description: |\n      # bobcat: ignore W0131 because of this\n      more\n"
        "    match: {tool.starts_with: read_}\n    decision: allow\n"
    )
    assert outcome(text) == (["W0131"], [])


def test_comments_change_no_digest() -> None:
    bare = f"rules:\n  - {RULE}\n"
    assert compile_policy(bare).id == compile_policy(bare.replace("}\n", "}  # bobcat: ignore W0131 because x\n")).id


def test_json_and_sarif_have_the_reason() -> None:
    found = check_source(f"rules:\n  - {RULE}  # bobcat: ignore W0131 because we name all\n", "p")
    document = json.loads(render_json(found))
    assert (document["warnings"], document["diagnostics"][0]["suppressed"]) == (0, "we name all")
    (result,) = json.loads(render_sarif(found))["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "inSource", "justification": "we name all"}]
    assert "suppressed" not in json.loads(render_json(check_source(f"rules:\n  - {RULE}\n", "p")))["diagnostics"][0]
    assert "W0131" in render_text(found, {})


def test_comments_in_the_lynx_profile_count_too() -> None:
    text = "rules:\n  - {id: a, mtach: {}, decision: allow}  # bobcat: ignore W0201 because it is meant\n"
    found = check_source(text, "p", profile="lynx")
    assert {item.code for item in found if item.suppressed == "it is meant"} <= {"W0201"}


@pytest.mark.parametrize("anchor", ["", "&a "])
@pytest.mark.parametrize(
    ("reason", "is_comment"),
    [
        ('"x # bobcat: ignore W0131 because of this"', False),
        ("'x\n      # bobcat: ignore W0131 because of this\n      y'", False),
        ("|\n      # bobcat: ignore W0131 because of this", False),
        (">-\n      x\n      # bobcat: ignore W0131 because of this", False),
        ("x # bobcat: ignore W0131 because of this", True),
        ("'x' # bobcat: ignore W0131 because of this", True),
        ('"it\'s \\x23"  # bobcat: ignore W0131 because of this', True),
    ],
)
def test_comments_are_recognised_beside_texts_of_every_style(anchor: str, reason: str, *, is_comment: bool) -> None:
    rule = "  - {id: reads, match: {tool.starts_with: read_}, decision: allow}\n"
    text = f"rules:\n{rule}  - id: b\n    match: {{tool: x}}\n    decision: deny\n    reason: {anchor}{reason}\n"
    assert outcome(text) == (["W0131", *["W0136"] * is_comment], [])
