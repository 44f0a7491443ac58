"""Words of the documentation: no phrase that hides or denies the subject."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

BANNED = re.compile(r"\b(?:is none|are none|[Nn]obody|[Ww]hoever|is told|are told|[Ww]hat is no)\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_no_banned_phrase(page: Path) -> None:
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    assert [f"{number}: {line}" for number, line in lines if BANNED.search(line)] == []


def test_the_changelog_has_no_entry_twice() -> None:
    lines = [line for line in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines() if line.startswith("* ")]
    beginnings = [line[:60] for line in lines]
    assert sorted(beginnings) == sorted(set(beginnings))
