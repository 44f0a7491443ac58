"""The API reference is what its generator makes, and has every public name once.

`BOBCAT_UPDATE_API=1 pytest tests/docs/test_api_reference.py` rewrites it.
"""

from __future__ import annotations

import os
from collections import Counter

import bobcat
from docs.api_groups import GROUPS
from docs.api_reference import REFERENCE, pages


def test_every_public_name_stands_in_one_group() -> None:
    grouped = Counter(name for names in GROUPS.values() for name in names.split())
    assert grouped == Counter(bobcat.__all__)


def test_the_api_reference_is_made_from_the_docstrings() -> None:
    made = pages()
    if os.environ.get("BOBCAT_UPDATE_API") == "1":
        for path in (REFERENCE / "api").glob("*.md"):
            path.unlink()
        for path, text in made.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    committed = {REFERENCE / "api.md", *(REFERENCE / "api").glob("*.md")}
    assert {path: path.read_text(encoding="utf-8") for path in committed} == made
