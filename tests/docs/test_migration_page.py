"""The page about lynx-agent has a line for every way in which a run can differ."""

from __future__ import annotations

from pathlib import Path

from bobcat.runtime.compat import DEFAULTS, LYNX_2_5, CompatOptions

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "migrating-from-lynx.md").read_text(encoding="utf-8")


def test_every_field_of_a_manner_has_its_line_with_a_reason() -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if line.count("|") == 4]
    switches = {row[3].strip(): row[2].strip() for row in rows}
    for name in CompatOptions.__struct_fields__:
        assert switches.get(f"`{name}`"), name


def test_the_two_manners_differ_in_every_field() -> None:
    for name in CompatOptions.__struct_fields__:
        assert getattr(DEFAULTS, name) != getattr(LYNX_2_5, name), name
