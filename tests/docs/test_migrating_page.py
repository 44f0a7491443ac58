"""The page about lynx-agent has a line for every difference of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from bobcat.runtime.compat import DEFAULTS, LYNX_2_5, CompatOptions
from lynx_differences import EXTRA_FIELDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "migrating-from-lynx.md").read_text(encoding="utf-8")
ROWS = [line.split("|") for line in PAGE.splitlines() if line.count("|") == 4]
REASONS = {row[3].strip(): row[2].strip() for row in ROWS}


@pytest.mark.parametrize("option", CompatOptions.__struct_fields__)
def test_every_compatibility_option_has_its_line_with_a_reason(option: str) -> None:
    assert REASONS.get(f"`{option}`")


@pytest.mark.parametrize("option", CompatOptions.__struct_fields__)
def test_the_two_presets_differ_in_every_option(option: str) -> None:
    assert getattr(DEFAULTS, option) != getattr(LYNX_2_5, option)


@pytest.mark.parametrize("kind", sorted(EXTRA_FIELDS))
def test_every_field_that_lynx_does_not_have_is_on_the_page(kind: str) -> None:
    row = next(line for line in PAGE.splitlines() if "values have more fields" in line)
    fields = row.partition(f"`{kind}`")[2]
    assert fields
    assert all(f"`{field}`" in fields for field in EXTRA_FIELDS[kind])
