"""The documentation says who does what: phrases that hide the subject or deny it are not in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
MADE = ROOT / "docs" / "reference" / "api.md"
"""Made from docstrings, so its words are those of the code."""

BANNED = re.compile(r"\b(?:is none|are none|[Nn]obody|[Ww]hoever|is told|are told|[Ww]hat is no)\b")


@pytest.mark.parametrize("page", [page for page in PAGES if page != MADE], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_no_banned_phrase(page: Path) -> None:
    lines = enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
    assert [f"{number}: {line}" for number, line in lines if BANNED.search(line)] == []
