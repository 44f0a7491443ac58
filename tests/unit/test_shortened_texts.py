"""A text that is cut for people says how many characters it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat import (
    ApprovalError,
)
from bobcat.approvals.record import approval_from_json
from bobcat.model.exact import path_text
from bobcat.text.display import safe_text
from bobcat.text.shortening import shortened
from unit.cli_runner import runner


def test_a_long_condition_of_a_python_rule_says_how_much_is_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from bobcat.bundle.explanation import MOST_SHOWN

    test = " or ".join(f"request.tool == 'tool number {number}'" for number in range(20))
    assert shortened(test, MOST_SHOWN) == f"{test[:MOST_SHOWN]}... [{len(test) - MOST_SHOWN} more characters]"
    head = "from bobcat import deny, rule\n\n@rule()\ndef long(request, context):\n"
    source = f"{head}    if {test}:\n        return deny('x')\n"
    (tmp_path / "long_rule.py").write_text(source)
    done = runner(capsys, monkeypatch)("explain", str(tmp_path / "long_rule.py"), "--tool", "t", "--format", "json")
    (condition,) = done.json()["rules"][0]["function"]["conditions"]
    assert condition["text"] == shortened(test, MOST_SHOWN)


def test_errors_about_long_things_say_how_much_is_left_out() -> None:
    assert path_text(["x" * 300]) == "x" * 200 + "... [100 more characters]"
    with pytest.raises(ApprovalError, match=r"\.\.\. \[[0-9]+ more characters\]$"):
        approval_from_json({"status": "x" * 500})
    assert safe_text("x" * 7, limit=5) == shortened("x" * 7, 5) == "xxxxx... [2 more characters]"
