"""The values of an explanation: of a long one the beginning, and how many characters it lacks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bobcat import (
    ActionRequest,
    ExecutionContext,
    Principal,
    ToolMetadata,
    compile_policy,
)
from unit.cli_runner import Run, runner

CONTEXT = ExecutionContext(Principal("user", "p"), "test", "/", "c", 0, datetime(2030, 1, 1, tzinfo=UTC))
OPERAND = "b" * 250
POLICY = f"""
rules:
  - id: long
    match: {{tool: t, any_of: [{{args.text.eq: {OPERAND}}}, {{args.items.contains: 1}}, {{args.nested.eq: 1}}]}}
    decision: deny
"""


def read(args: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    """The operand of each leaf and the value that it read, by path."""
    (explained,) = (
        compile_policy(POLICY).explain(ActionRequest("t", args, ToolMetadata("low", True, ()), CONTEXT)).rules
    )
    leaves = explained.clause.children[-1].children  # type: ignore[union-attr]
    return {leaf.path: (leaf.operand, leaf.value) for leaf in leaves}


def cut(text: str) -> str:
    return f"{text[:200]}... [{len(text) - 200:,} more characters]"


@pytest.mark.parametrize("length", [0, 198, 199, 1_300, 100_198])
def test_a_value_of_an_explanation_says_how_much_of_it_is_left_out(length: int) -> None:
    text = json.dumps("é" * length, ensure_ascii=False)
    items = json.dumps([7] * length)
    found = read({"text": "é" * length, "items": [7] * min(length, 30_000), "nested": {"a": ["é" * length]}})
    assert found["args.text"] == (cut(json.dumps(OPERAND)), text if length <= 198 else cut(text))
    if length <= 1_300:
        assert found["args.items"][1] == (items if len(items) <= 200 else cut(items))
        nested = json.dumps({"a": ["é" * length]}, ensure_ascii=False)
        assert found["args.nested"][1] == (nested if len(nested) <= 200 else cut(nested))


def test_a_value_without_end_is_not_counted_to_it() -> None:
    many: list[Any] = []
    for _ in range(7):
        many = [many] * 50
    found = read({"text": "x" * 2_000_000, "nested": many})
    assert found["args.text"][1] == '"' + "x" * 199 + "... [more than 100,000 more characters]"


def test_the_command_line_says_it_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run: Run = runner(capsys, monkeypatch)
    (tmp_path / "p.yaml").write_text(POLICY + "# \n" * 3)
    line = ("explain", str(tmp_path / "p.yaml"), "--tool", "t", "--args", json.dumps({"text": "x" * 1_500}), "--all")
    assert "[1,302 more characters]" in " ".join(run(*line).out.split())
    leaves = run(*line, "--format", "json").json()["rules"][0]["match"]["clauses"][-1]["clauses"]
    (leaf,) = (leaf for leaf in leaves if leaf["path"] == "args.text")
    assert leaf["value"] == cut(json.dumps("x" * 1_500))
    assert leaf["operand"] == cut(json.dumps(OPERAND))
