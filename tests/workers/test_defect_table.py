"""The table of defects names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
TABLE = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")


def test_every_defect_has_tests_and_all_of_them_exist() -> None:
    rows = re.findall(r"^\| D(\d+): .*? \| (.*) \|$", TABLE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 17))
    for number, tests in rows:
        named = re.findall(r"`(\w+/\w+\.py)::(\w+)`", tests)
        assert named, f"D{number} has no test"
        for path, name in named:
            assert f"def {name}(" in (TESTS / path).read_text(encoding="utf-8"), f"{path}::{name}"
