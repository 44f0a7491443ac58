"""The page about lynx-agent names every difference that the code has."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from bobcat.runtime.compat import DEFAULTS, LYNX_2_5, CompatOptions
from lynx_differences import EXTRA_FIELDS

PAGE = (Path(__file__).parents[2] / "docs" / "migrating-from-lynx.md").read_text()
SWITCHES = [cells.rsplit("|", 2)[1] for cells in PAGE.splitlines() if cells.startswith("| ")]


@pytest.mark.parametrize("field", CompatOptions.__struct_fields__)
def test_every_habit_of_a_run_is_a_switch_on_the_page(field: str) -> None:
    assert any(re.search(rf"`{field}`", cell) for cell in SWITCHES)


def test_the_two_manners_differ_in_every_habit() -> None:
    safe, incumbent = msgspec.structs.asdict(DEFAULTS), msgspec.structs.asdict(LYNX_2_5)
    assert {name for name in safe if safe[name] == incumbent[name]} == set()


@pytest.mark.parametrize("kind", sorted(EXTRA_FIELDS))
def test_every_field_that_lynx_does_not_have_is_on_the_page(kind: str) -> None:
    row = next(line for line in PAGE.splitlines() if "values have more fields" in line)
    said = row.partition(f"`{kind}`")[2]
    assert said
    for field in EXTRA_FIELDS[kind]:
        assert f"`{field}`" in said
