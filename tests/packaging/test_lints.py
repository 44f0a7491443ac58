"""Lints have one home: every warning belongs to one file of `lint/lints`, and a front end reports errors only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bobcat.diagnostics.catalogue import CODES
from bobcat.lint.registry import Lint, all_lints

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "bobcat"
IGNORES = {"W0136", "W0137"}
"""Findings about the comments that ignore findings."""
HEADINGS = ("What it does:", "Why:", "Example:", "Use instead:", "Fix:")


def test_every_warning_belongs_to_one_lint() -> None:
    owned = [code for lint in all_lints() for code in lint.codes]
    assert len(owned) == len(set(owned))
    assert {code for code in CODES if code.startswith("W")} - IGNORES == {code for code in owned if code[0] == "W"}


@pytest.mark.parametrize("lint", all_lints(), ids=lambda lint: lint.name)
def test_a_lint_is_a_file_with_one_entry_and_a_description(lint: Lint) -> None:
    assert [lint.check, lint.check_tools, lint.report].count(None) == 2
    path = PACKAGE / "lint" / "lints" / f"{lint.name.replace('-', '_')}.py"
    head = path.read_text(encoding="utf-8").split("from __future__")[0]
    assert [heading for heading in HEADINGS if heading not in head] == []


@pytest.mark.parametrize("part", ["frontend", "bundle", "build", "compiler.py"])
def test_a_front_end_reports_errors_only(part: str) -> None:
    files = [PACKAGE / part] if part.endswith(".py") else sorted((PACKAGE / part).rglob("*.py"))
    assert files
    assert [path.name for path in files if re.search(r"\bW\d{4}\b", path.read_text(encoding="utf-8"))] == []


def test_every_observation_has_a_lint_that_reports_it() -> None:
    reporting = {lint.name for lint in all_lints() if lint.report is not None}
    sources = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "frontend").rglob("*.py"))
    assert set(re.findall(r'\bobserved?\(\s*"([a-z0-9-]+)"', sources)) == reporting
