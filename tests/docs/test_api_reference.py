"""The API reference is what its generator makes, and has every public name once.

`BOBCAT_UPDATE_API=1 pytest tests/docs/test_api_reference.py` rewrites it.
"""

from __future__ import annotations

import os
from collections import Counter

import bobcat
from docs.api_reference import GROUPS, PAGE, page


def test_every_public_name_stands_in_one_group() -> None:
    grouped = Counter(name for names in GROUPS.values() for name in names.split())
    assert grouped == Counter(bobcat.__all__)


def test_the_api_reference_is_made_from_the_docstrings() -> None:
    made = page()
    if os.environ.get("BOBCAT_UPDATE_API") == "1":
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made
