"""Reasons with characters that act on a screen compile, are linted, and are shown as escapes."""

from __future__ import annotations

import pytest

from bobcat import compile_policy
from bobcat.diagnostics.model import Diagnostic
from bobcat.diagnostics.render import render_text
from bobcat.lint.check import check_source


def policy(reason: str, approver: str = "alice") -> dict[str, object]:
    rule = {"id": "r", "match": {"tool": "pay"}, "decision": "approve_required", "reason": reason}
    return {"rules": [{**rule, "approvers": [approver]}]}


def lint(reason: str, approver: str = "alice") -> list[Diagnostic]:
    compile_policy(policy(reason, approver))
    return [item for item in check_source(policy(reason, approver)) if item.code == "W0220"]


@pytest.mark.parametrize("character", ["\x1b", "\x00", "\x07", "\x7f", "\x9b", "\u202e", "\u200b", "\u2028", "\u3164"])
def test_a_reason_with_a_hidden_character_compiles_with_a_finding(character: str) -> None:
    (found,) = lint(f"a{character}b")
    assert character not in render_text([found], {})
    escape = f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
    assert f"displayed as escapes: `{escape}`" in found.message


def test_a_name_of_an_approver_is_looked_at_as_well() -> None:
    (found,) = lint("plain", "al\u202eice")
    assert found.message.startswith("the name of an approver of the rule `r` has characters")


@pytest.mark.parametrize("reason", ["plain", "one line\n", "naïve café — “q”", "東京", "файл"])
def test_an_ordinary_reason_has_no_finding(reason: str) -> None:
    assert lint(reason) == []


def test_a_reason_over_several_lines_is_reported() -> None:
    assert lint("one\ntwo\n")[0].message.endswith("`\\n`")
